"""Random forests: what each feature explains of the response, and by Boruta's rule, what is chance.

Random forests and not extremely randomised trees, for their trees are grown on samples of the rows: the rows
left out are an honest test of each tree (Breiman 2001). Where the response is a ranking, the trees are
consensus ranking trees: see `symscreen.screeners.ranking_forest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from symscreen.response.rankings import RankingResponse
from symscreen.screeners.boruta import confirmed, shadow_hits
from symscreen.screeners.joint import JointScreener, Option, Verdict
from symscreen.screeners.rank_view import rank_view
from symscreen.screeners.ranking_forest import Growth, impurity_importance, permutation_importance
from symscreen.screeners.ranking_sample import sample_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen.screeners.joint import Shown

    Values = NDArray[np.float64]
    Importance = Callable[[Values, np.random.SeedSequence], Values]
    Permuted = Callable[[Values, np.random.SeedSequence, np.random.Generator], Values]

__all__ = ["FOREST"]

_SHARE_OF_FEATURES = 1 / 3  # Breiman's, tried at each split of a regression tree
_PATIENCE = 600.0  # seconds of one core


def _judge(shown: Shown, settings: Mapping[str, Any]) -> Verdict:
    q = len(shown.values)
    columns = rank_view(shown.values)
    seeds = np.random.SeedSequence(shown.seed).spawn(2)
    forest_seed, shuffle_seed = seeds[0].spawn(2)
    of_response = _of_rankings if isinstance(shown.response, RankingResponse) else _of_numbers
    plain, permuted = of_response(shown, settings["trees"])
    if settings["importance"] == "permutation":
        importance = permuted(columns, forest_seed, np.random.default_rng(shuffle_seed))
    else:
        importance = plain(columns, forest_seed)
    figures: dict[str, Values] = {}
    selected = np.zeros(q, dtype=np.bool_)
    if settings["rule"] == "boruta":
        hits = shadow_hits(
            columns,
            plain,
            settings["rounds"],
            seeds[1],
        )
        selected = confirmed(hits, settings["rounds"], settings["alpha"])
        figures["forest_hits"] = hits / settings["rounds"]
    return Verdict(
        score=importance,
        loss=np.round(1.0 - importance, 9),
        selected=selected,
        direction=np.zeros(q, dtype=np.int8),
        columns=figures,
        record={"rule": settings["rule"], "selected": int(selected.sum()), "warnings": []},
    )


def _of_numbers(shown: Shown, trees: int) -> tuple[Importance, Permuted]:
    """Return what grows regression forests: importance by impurity, and by shuffling."""
    groups, _ = shown.numeric.centred
    target = groups[shown.numeric.group]
    target = target / np.abs(target).max()

    def plain(columns: Values, seed: np.random.SeedSequence) -> Values:
        return np.asarray(_grown(columns, target, seed, trees, shown.jobs).feature_importances_)

    def permuted(columns: Values, seed: np.random.SeedSequence, rng: np.random.Generator) -> Values:
        forest = _grown(columns, target, seed, trees, shown.jobs)
        return _permutation_importance(forest, columns, target, rng)

    return plain, permuted


def _of_rankings(shown: Shown, trees: int) -> tuple[Importance, Permuted]:
    """Return the same of forests of consensus ranking trees."""
    response = cast("RankingResponse", shown.response)

    def plain(columns: Values, seed: np.random.SeedSequence) -> Values:
        growth = Growth(seed, trees, _SHARE_OF_FEATURES, shown.jobs)
        return impurity_importance(sample_of(columns, response), growth)

    def permuted(columns: Values, seed: np.random.SeedSequence, rng: np.random.Generator) -> Values:
        del rng  # every tree shuffles by its own seed
        growth = Growth(seed, trees, _SHARE_OF_FEATURES, shown.jobs)
        return permutation_importance(sample_of(columns, response), growth)

    return plain, permuted


def _grown(columns: Values, target: Values, seed: np.random.SeedSequence, trees: int, jobs: int) -> Any:
    """Grow a forest; its trees are seeded one by one, so that the number of threads changes nothing."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(
        n_estimators=trees,
        max_features=_SHARE_OF_FEATURES,
        random_state=int(seed.generate_state(1)[0] >> 1),
        n_jobs=jobs,
    )
    return forest.fit(columns, target)


def _permutation_importance(forest: Any, columns: Values, target: Values, rng: np.random.Generator) -> Values:
    """Compute the R² that trees lose on the rows left out of their samples where a feature is shuffled there.

    Tree by tree (Breiman 2001), not by the forest's own predictions, for threads add these up in any order.
    """
    n, q = columns.shape
    lost = np.zeros(q)
    tested = 0
    for one, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        tree = one.tree_
        out = np.setdiff1d(np.arange(n), sample)
        if not len(out):
            continue
        tested += 1
        unseen, aim = columns[out].astype(np.float32), target[out]
        error = _mean_square(tree, unseen, aim)
        for feature in np.unique(tree.feature[tree.feature >= 0]):
            own = unseen[:, feature].copy()
            unseen[:, feature] = rng.permutation(own)
            lost[feature] += _mean_square(tree, unseen, aim) - error
            unseen[:, feature] = own
    return lost / (max(tested, 1) * float(target.var()))


def _mean_square(tree: Any, rows: NDArray[np.float32], aim: Values) -> float:
    away = tree.predict(rows)[:, 0] - aim
    return float((away * away).mean())


def _capacity(rows: int, settings: Mapping[str, Any]) -> int:
    # a tree takes about 0.2 µs a row and feature; in a round of boruta there are twice as many features
    forests = 1 + (2 * settings["rounds"] if settings["rule"] == "boruta" else 0)
    forests += 1 if settings["importance"] == "permutation" else 0
    return int(np.clip(_PATIENCE / (2e-7 * rows * settings["trees"] * forests), 20, 5000))


FOREST = JointScreener(
    name="forest",
    judge=_judge,
    capacity=_capacity,
    blind_to="ranks",
    options=(
        Option(
            "importance",
            "permutation",
            "the R² lost on rows left out of a tree's sample where the feature is shuffled, or the share of "
            "the variance that its splits remove",
            choices=("permutation", "impurity"),
        ),
        Option(
            "rule",
            "boruta",
            "select what beats the best of all features shuffled, round after round; none only ranks",
            choices=("boruta", "none"),
        ),
        Option("rounds", 20, "rounds of boruta", least=5),
        Option("alpha", 0.05, "boruta's level, shared among the features", least=1e-6, most=0.5),
        Option("trees", 200, "trees in a forest", least=10),
    ),
    summary="importance in a random forest, for features shown together",
    assumes="the response is a function of few of the features shown, of any shape",
    fails="near copies share their importance; boruta keeps all that is relevant, copies included",
    cost="O(trees · features · rows · log rows), twice that for each round of boruta",
    source="Breiman 2001; Kursa and Rudnicki 2010 (Boruta); scikit-learn; of rankings Clémençon et al. 2018",
    accepts=("numeric", "ranking"),
)
