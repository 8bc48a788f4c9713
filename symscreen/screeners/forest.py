"""Random forests: what each feature explains of the response, and by Boruta's rule, what is chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.screeners.joint import JointScreener, Option, Verdict
from symscreen.statistics.folds import folds_of
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.screeners.joint import Shown

    Values = NDArray[np.float64]

__all__ = ["FOREST", "confirmed"]

_FOLDS = 5
_REPEATS = 5
_SHARE_OF_FEATURES = 1 / 3  # Breiman's, tried at each split of a regression tree


def confirmed(hits: NDArray[np.int64], rounds: int, alpha: float) -> NDArray[np.bool_]:
    """Say which features beat the best shadow more often than chance.

    Parameters
    ----------
    hits : int64 array, shape (q,)
        In how many rounds each feature was more important than every shadow.
    rounds : int
        How many rounds there were.
    alpha : float
        The level, shared among the features (Bonferroni).

    Returns
    -------
    bool array, shape (q,)
        Where P(Binomial(rounds, ½) ≥ hits) ≤ α/q (Kursa and Rudnicki 2010, J. Stat. Softw. 36(11), 3.2).

    Examples
    --------
    >>> confirmed(np.array([20, 16, 10]), rounds=20, alpha=0.05).tolist()
    [True, True, False]
    """
    from scipy.stats import binom

    return np.asarray(binom.sf(hits - 1, rounds, 0.5) <= alpha / len(hits))


def _judge(shown: Shown, settings: Mapping[str, Any]) -> Verdict:
    q, n = shown.values.shape
    if n < _FOLDS:
        raise OptionError(f"forest needs at least {_FOLDS} rows; the table has {n}")
    # trees see ranks only: members of a rank class are one and the same
    ranks = np.ascontiguousarray(order_features(shown.values).doubled_ranks.T / 2.0)
    target = np.array(shown.response.values)
    target = (target - target.mean()) / np.abs(target - target.mean()).max()
    seeds = np.random.SeedSequence(shown.seed).spawn(2)
    columns: dict[str, Values] = {}
    selected = np.zeros(q, dtype=np.bool_)
    importance = _importance(ranks, target, seeds[0], settings, shown)
    if settings["rule"] == "boruta":
        hits = _hits(ranks, target, seeds[1], settings, shown.jobs)
        selected = confirmed(hits, settings["rounds"], settings["alpha"])
        columns["forest_hits"] = hits / settings["rounds"]
    return Verdict(
        score=importance,
        loss=np.round(1.0 - importance, 9),
        selected=selected,
        direction=np.zeros(q, dtype=np.int8),
        columns=columns,
        record={"rule": settings["rule"], "selected": int(selected.sum()), "warnings": []},
    )


def _grown(
    ranks: Values, target: Values, seed: np.random.SeedSequence, settings: Mapping[str, Any], jobs: int
) -> Any:
    """Grow a forest; its trees are seeded one by one, so that the number of threads changes nothing."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(
        n_estimators=settings["trees"],
        max_features=_SHARE_OF_FEATURES,
        random_state=int(seed.generate_state(1)[0] >> 1),
        n_jobs=jobs,
    )
    return forest.fit(ranks, target)


def _importance(
    ranks: Values, target: Values, seed: np.random.SeedSequence, settings: Mapping[str, Any], shown: Shown
) -> Values:
    """Compute the share of impurity removed, or of R² lost on unseen rows where a feature is shuffled."""
    if settings["importance"] == "impurity":
        return np.asarray(_grown(ranks, target, seed, settings, shown.jobs).feature_importances_)
    dealt = folds_of(len(target), _FOLDS, shown.seed)
    variance = float(target.var())
    lost = np.zeros(ranks.shape[1])
    for fold, own in enumerate(seed.spawn(_FOLDS)):
        forest_seed, shuffle_seed = own.spawn(2)
        outside = dealt == fold
        forest = _grown(ranks[~outside], target[~outside], forest_seed, settings, shown.jobs)
        rng = np.random.default_rng(shuffle_seed)
        unseen, aim = ranks[outside], target[outside]
        error = float(((forest.predict(unseen) - aim) ** 2).mean())
        for feature in range(ranks.shape[1]):
            # all repeats in one call: calling the forest costs more than its trees
            shuffled = np.repeat(unseen[None], _REPEATS, axis=0)
            for copy in shuffled:
                copy[:, feature] = rng.permutation(copy[:, feature])
            away = forest.predict(shuffled.reshape(-1, ranks.shape[1])) - np.tile(aim, _REPEATS)
            lost[feature] += (float((away * away).mean()) - error) / variance
    return lost / _FOLDS


def _hits(
    ranks: Values, target: Values, seed: np.random.SeedSequence, settings: Mapping[str, Any], jobs: int
) -> NDArray[np.int64]:
    """Count the rounds in which each feature is more important than the best of all features shuffled."""
    q = ranks.shape[1]
    hits = np.zeros(q, dtype=np.int64)
    for own in seed.spawn(settings["rounds"]):
        shuffle_seed, forest_seed = own.spawn(2)
        shadows = np.random.default_rng(shuffle_seed).permuted(ranks, axis=0)
        forest = _grown(np.hstack([ranks, shadows]), target, forest_seed, settings, jobs)
        importance = forest.feature_importances_
        hits += importance[:q] > importance[q:].max()
    return hits


def _capacity(rows: int, settings: Mapping[str, Any]) -> int:
    forests = 1 + (settings["rounds"] if settings["rule"] == "boruta" else 0)
    most = 4e9 / (rows * settings["trees"] * forests)
    if settings["importance"] == "permutation":
        most = min(most, 2e6 / (rows * settings["trees"]) * 10)
    return int(np.clip(most, 20, 5000))


FOREST = JointScreener(
    name="forest",
    judge=_judge,
    capacity=_capacity,
    blind_to="ranks",
    options=(
        Option(
            "importance",
            "impurity",
            "the share of variance removed at its splits, or the R² lost on unseen rows where it is shuffled",
            choices=("impurity", "permutation"),
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
    cost="O(trees · features · rows · log rows), for each round of boruta",
    source="Breiman 2001; Kursa and Rudnicki 2010 (Boruta); scikit-learn",
)
