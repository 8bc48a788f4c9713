"""Boruta's shadow rule: a feature matters where it beats the best of all features shuffled (Kursa 2010).

In each round every feature gets a shadow, itself in random order, and all compete in one forest. A feature
has a hit where it is more important than every shadow. One that matters no more than the best of the shadows
has a hit in at most half of the rounds.

Boruta decides after every round, and drops what it has rejected. Here the number of rounds is fixed and one
test is made at the end, so that its level is what it says; features that are rejected stay in the forest.

A forest of consensus ranking trees, for the screener `forest` where the response is a ranking.

A regression forest over the signs of all pairs of labels would split alike on complete rankings: the variance
of signs is four times the dispersion p(1 − p). But it would read a label that is missing as a tie, and learn
who is missing. A CRIT tree (`symscreen.statistics.crit_tree`) judges a pair by the rows that show it.

Random forests: what each feature explains of the response, and by Boruta's rule, what is chance.

Random forests and not extremely randomised trees, for their trees are grown on samples of the rows: the rows
left out are an honest test of each tree (Breiman 2001). Where the response is a ranking, the trees are
consensus ranking trees: see `symscreen.screeners.joint.forest`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from symscreen.screeners.base import JointScores, JointScreener, ScreenerOption, transform_to_ranks
from symscreen.screeners.joint.crit import build_ranking_sample, compute_dispersion
from symscreen.statistics.crit_splits import RankingSample
from symscreen.statistics.crit_tree import compute_importances, find_leaves, grow_tree
from symscreen.targets.ranking import RankingTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.screeners.base import JointInput
    from symscreen.statistics.crit_tree import TreeNodes

    ImportanceFunction = Callable[[Values, np.random.SeedSequence], Values]
    PermutationFunction = Callable[[Values, np.random.SeedSequence, np.random.Generator], Values]

__all__ = [
    "FOREST",
    "RankingForestSettings",
    "compute_impurity_importance",
    "compute_permutation_importance",
    "confirm_features",
    "count_shadow_hits",
]

_MIN_SHADOWS = 5  # at least, as in Boruta: the best of one or two shadows is no bar


def count_shadow_hits(
    columns: Values,
    importance: Callable[[Values, np.random.SeedSequence], Values],
    rounds: int,
    seed: np.random.SeedSequence,
) -> NDArray[np.int64]:
    """Count the rounds in which each feature is more important than every shadow.

    Parameters
    ----------
    columns : float64 array, shape (n, q)
        One column a feature.
    importance : callable
        (columns, seed) to the importance of each column.
    rounds : int
        How many rounds.
    seed : SeedSequence
        From which every round draws its own.

    Returns
    -------
    int64 array, shape (q,)

    Examples
    --------
    >>> columns = np.arange(6.0)[:, None] * [1.0, 0.0]
    >>> rising = lambda shown, seed: np.diff(shown, axis=0).min(axis=0)
    >>> count_shadow_hits(columns, rising, 8, np.random.SeedSequence(0)).tolist()
    [8, 0]
    """
    q = columns.shape[1]
    hits = np.zeros(q, dtype=np.int64)
    for own in seed.spawn(rounds):
        shuffle, growth = own.spawn(2)
        originals = np.tile(columns, (1, -(-_MIN_SHADOWS // q)))
        shadows = np.random.default_rng(shuffle).permuted(originals, axis=0)
        found = importance(np.hstack([columns, shadows]), growth)
        hits += found[:q] > found[q:].max()
    return hits


def confirm_features(hits: NDArray[np.int64], rounds: int, alpha: float) -> NDArray[np.bool_]:
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
    >>> confirm_features(np.array([20, 16, 10]), rounds=20, alpha=0.05).tolist()
    [True, True, False]
    """
    from scipy.stats import binom

    return np.asarray(binom.sf(hits - 1, rounds, 0.5) <= alpha / len(hits))


_T = TypeVar("_T")
_MIN_LEAF_ROWS = 5  # rows of a leaf, Breiman's for regression


class RankingForestSettings(NamedTuple):
    """How a forest is grown."""

    seed: np.random.SeedSequence  # each tree draws from a child of its own
    n_trees: int
    feature_share: float  # of the features, that a node tries
    jobs: int  # threads, whose number changes nothing


class _BootstrapTree(NamedTuple):
    """A tree, and the rows that its sample left out."""

    nodes: TreeNodes
    out_of_bag_rows: NDArray[np.int64]


def compute_impurity_importance(sample: RankingSample, settings: RankingForestSettings) -> Values:
    """Compute the share of the dispersion that each feature's splits remove, in the mean of the trees.

    Parameters
    ----------
    sample : Sample
        n rows, q features.
    growth : Growth
        Of at least one tree.

    Returns
    -------
    float64 array, shape (q,)
    """
    q = len(sample.columns)
    removed = _map_trees(sample, settings, lambda tree, _: compute_importances(tree.nodes, q))
    return np.asarray(_sum_arrays(removed) / (settings.n_trees * compute_dispersion(sample)))


def compute_permutation_importance(sample: RankingSample, settings: RankingForestSettings) -> Values:
    """Compute the R² that trees lose on the rows left out of their samples where a feature is shuffled there.

    Parameters
    ----------
    sample : Sample
        n rows, q features.
    growth : Growth
        Of at least one tree.

    Returns
    -------
    float64 array, shape (q,)
        R² of the signs of pairs of labels, each predicted by its mean in the leaf, over the pairs that rows
        show: tied labels have the sign 0.
    """
    shown = sample.observed if len(sample.observed) else np.ones(sample.signs.shape, dtype=np.bool_)
    lost = _map_trees(sample, settings, lambda tree, rng: _compute_error_increases(tree, sample, shown, rng))
    tested = [own for own in lost if own is not None]
    if not tested:
        return np.zeros(len(sample.columns))
    variance = 4.0 * compute_dispersion(sample) * sample.weights.size / shown.sum()  # of signs −1 and 1
    return np.asarray(_sum_arrays(tested) / (len(tested) * variance))


def _map_trees(
    sample: RankingSample,
    settings: RankingForestSettings,
    function: Callable[[_BootstrapTree, np.random.Generator], _T],
) -> list[_T]:
    """Grow trees on bootstrap samples of the rows, and keep what is asked of each.

    A tree itself is not kept: its sums for every pair of labels, 16 bytes a node and pair, would fill the
    memory where labels are many.
    """

    def grow_and_apply(tree_seed: np.random.SeedSequence) -> _T:
        rng = np.random.default_rng(tree_seed)
        return function(_grow_bootstrap_tree(sample, settings, rng), rng)

    with ThreadPoolExecutor(settings.jobs) as pool:
        return list(pool.map(grow_and_apply, settings.seed.spawn(settings.n_trees)))


def _grow_bootstrap_tree(
    sample: RankingSample, settings: RankingForestSettings, rng: np.random.Generator
) -> _BootstrapTree:
    n, tried = sample.weights.size, max(1, int(settings.feature_share * len(sample.columns)))
    times = np.bincount(rng.integers(n, size=n), minlength=n)
    rows = np.flatnonzero(times)
    part = RankingSample(
        np.ascontiguousarray(sample.columns[:, rows]),
        sample.categories,
        sample.signs[rows],
        sample.observed[rows] if len(sample.observed) else sample.observed,
        times[rows].astype(np.float64),
    )
    leaf = max(1, min(_MIN_LEAF_ROWS, len(rows) // 4))
    nodes = grow_tree(part, min_leaf=leaf, max_features=tried, seed=int(rng.integers(2**62)))
    return _BootstrapTree(nodes, np.flatnonzero(times == 0))


def _compute_error_increases(
    tree: _BootstrapTree, sample: RankingSample, observed: Flags, rng: np.random.Generator
) -> Values | None:
    """Compute what the mean square rises by where a feature is shuffled; None where no row tests the tree."""
    nodes, out = tree
    if not observed[out].any():
        return None
    means = np.divide(
        nodes.sign_sums,
        nodes.pair_weights,
        out=np.zeros_like(nodes.pair_weights),
        where=nodes.pair_weights > 0,
    )
    unseen, signs, count = np.ascontiguousarray(sample.columns[:, out]), sample.signs[out], observed[out]
    error = _compute_pair_error(nodes, means, unseen, signs, count)
    lost = np.zeros(len(sample.columns))
    for feature in np.unique(nodes.feature[nodes.feature >= 0]):
        own = unseen[feature].copy()
        unseen[feature] = rng.permutation(own)
        lost[feature] = _compute_pair_error(nodes, means, unseen, signs, count) - error
        unseen[feature] = own
    return lost


def _sum_arrays(arrays: list[Values]) -> Values:
    total = np.zeros_like(arrays[0])
    for own in arrays:  # in the order of the trees, whichever thread was first
        total += own
    return total


def _compute_pair_error(
    nodes: TreeNodes, means: Values, columns: Values, signs: NDArray[np.int8], observed: Flags
) -> float:
    away = (signs - means[find_leaves(nodes, columns)])[observed]
    return float((away * away).mean())


_FEATURE_SHARE = 1 / 3  # Breiman's, tried at each split of a regression tree
_MAX_CORE_TIME_S = 600.0  # seconds of one core


def _score_features(inputs: JointInput, settings: Mapping[str, Any]) -> JointScores:
    q = len(inputs.values)
    columns = transform_to_ranks(inputs.values)
    seeds = np.random.SeedSequence(inputs.seed).spawn(2)
    forest_seed, shuffle_seed = seeds[0].spawn(2)
    of_response = (
        _make_ranking_importances
        if isinstance(inputs.target, RankingTarget)
        else _make_regression_importances
    )
    plain, permuted = of_response(inputs, settings["trees"])
    if settings["importance"] == "permutation":
        importance = permuted(columns, forest_seed, np.random.default_rng(shuffle_seed))
    else:
        importance = plain(columns, forest_seed)
    figures: dict[str, Values] = {}
    selected = np.zeros(q, dtype=np.bool_)
    if settings["rule"] == "boruta":
        hits = count_shadow_hits(
            columns,
            plain,
            settings["rounds"],
            seeds[1],
        )
        selected = confirm_features(hits, settings["rounds"], settings["alpha"])
        figures["forest_hits"] = hits / settings["rounds"]
    return JointScores(
        score=importance,
        loss=np.round(1.0 - importance, 9),
        selected=selected,
        direction=np.zeros(q, dtype=np.int8),
        columns=figures,
        record={"rule": settings["rule"], "selected": int(selected.sum()), "warnings": []},
    )


def _make_regression_importances(
    inputs: JointInput, trees: int
) -> tuple[ImportanceFunction, PermutationFunction]:
    """Return what grows regression forests: importance by impurity, and by shuffling."""
    groups, _ = inputs.numeric_target.centered_values
    target = groups[inputs.numeric_target.tie_groups]
    target = target / np.abs(target).max()

    def compute_impurity(columns: Values, seed: np.random.SeedSequence) -> Values:
        return np.asarray(
            _grow_regression_forest(columns, target, seed, trees, inputs.jobs).feature_importances_
        )

    def compute_permutation(
        columns: Values, seed: np.random.SeedSequence, rng: np.random.Generator
    ) -> Values:
        forest = _grow_regression_forest(columns, target, seed, trees, inputs.jobs)
        return _compute_regression_permutation_importance(forest, columns, target, rng)

    return compute_impurity, compute_permutation


def _make_ranking_importances(
    inputs: JointInput, trees: int
) -> tuple[ImportanceFunction, PermutationFunction]:
    """Return the same of forests of consensus ranking trees."""
    response = cast("RankingTarget", inputs.target)

    def compute_impurity(columns: Values, seed: np.random.SeedSequence) -> Values:
        growth = RankingForestSettings(seed, trees, _FEATURE_SHARE, inputs.jobs)
        return compute_impurity_importance(build_ranking_sample(columns, response), growth)

    def compute_permutation(
        columns: Values, seed: np.random.SeedSequence, rng: np.random.Generator
    ) -> Values:
        del rng  # every tree shuffles by its own seed
        growth = RankingForestSettings(seed, trees, _FEATURE_SHARE, inputs.jobs)
        return compute_permutation_importance(build_ranking_sample(columns, response), growth)

    return compute_impurity, compute_permutation


def _grow_regression_forest(
    columns: Values, target: Values, seed: np.random.SeedSequence, trees: int, jobs: int
) -> Any:
    """Grow a forest; its trees are seeded one by one, so that the number of threads changes nothing."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(
        n_estimators=trees,
        max_features=_FEATURE_SHARE,
        random_state=int(seed.generate_state(1)[0] >> 1),
        n_jobs=jobs,
    )
    return forest.fit(columns, target)


def _compute_regression_permutation_importance(
    forest: Any, columns: Values, target: Values, rng: np.random.Generator
) -> Values:
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
        error = _compute_tree_error(tree, unseen, aim)
        for feature in np.unique(tree.feature[tree.feature >= 0]):
            own = unseen[:, feature].copy()
            unseen[:, feature] = rng.permutation(own)
            lost[feature] += _compute_tree_error(tree, unseen, aim) - error
            unseen[:, feature] = own
    return lost / (max(tested, 1) * float(target.var()))


def _compute_tree_error(tree: Any, rows: NDArray[np.float32], target: Values) -> float:
    away = tree.predict(rows)[:, 0] - target
    return float((away * away).mean())


def _estimate_capacity(n_rows: int, settings: Mapping[str, Any]) -> int:
    # a tree takes about 0.2 µs a row and feature; in a round of boruta there are twice as many features
    forests = 1 + (2 * settings["rounds"] if settings["rule"] == "boruta" else 0)
    forests += 1 if settings["importance"] == "permutation" else 0
    return int(np.clip(_MAX_CORE_TIME_S / (2e-7 * n_rows * settings["trees"] * forests), 20, 5000))


FOREST = JointScreener(
    name="forest",
    score_function=_score_features,
    capacity=_estimate_capacity,
    equivalence="ranks",
    options=(
        ScreenerOption(
            "importance",
            "permutation",
            "the R² lost on rows left out of a tree's sample where the feature is shuffled, or the share of "
            "the variance that its splits remove",
            choices=("permutation", "impurity"),
        ),
        ScreenerOption(
            "rule",
            "boruta",
            "select what beats the best of all features shuffled, round after round; none only ranks",
            choices=("boruta", "none"),
        ),
        ScreenerOption("rounds", 20, "rounds of boruta", min_value=5),
        ScreenerOption(
            "alpha", 0.05, "boruta's level, shared among the features", min_value=1e-6, max_value=0.5
        ),
        ScreenerOption("trees", 200, "trees in a forest", min_value=10),
    ),
    summary="importance in a random forest, for features shown together",
    assumes="the response is a function of few of the features shown, of any shape",
    fails="near copies share their importance; boruta keeps all that is relevant, copies included",
    cost="O(trees · features · rows · log rows), twice that for each round of boruta",
    source="Breiman 2001; Kursa and Rudnicki 2010 (Boruta); scikit-learn; of rankings Clémençon et al. 2018",
    target_types=("numeric", "ranking"),
)
