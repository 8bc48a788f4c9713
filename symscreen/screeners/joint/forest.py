"""Random forests: the importance of features together, and Boruta's test of it.

**Boruta's shadow rule** (Kursa and Rudnicki 2010). In each round every feature gets a shadow, a shuffled
copy, and all compete in one forest. A feature has a hit if it is more important than every shadow. An
irrelevant feature has a hit in at most half of the rounds. Boruta decides after every round and removes
rejected features. Here the number of rounds is fixed and one test is made at the end, so that its level is
exact; rejected features stay in the forest.

Random forests are used instead of extremely randomised trees, because their trees are grown on samples of the
rows: the out-of-bag rows are an honest test of each tree (Breiman 2001).

**Rankings.** The trees are consensus ranking trees (`symscreen.statistics.crit_tree`). On complete rankings a
regression forest over the signs of all pairs of labels would split equally, because the variance of signs is
four times the dispersion p(1 − p). But it would treat a missing label as a tie. A CRIT tree scores a pair by
the rows that observe it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np

from symscreen.screeners.base import JointScores, JointScreener, ScreenerOption, transform_to_ranks
from symscreen.screeners.joint.crit import build_ranking_sample, compute_dispersion
from symscreen.statistics.crit_tree import RankingSample, compute_importances, find_leaves, grow_tree
from symscreen.targets.ranking import RankingTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.screeners.base import JointInput
    from symscreen.statistics.crit_tree import TreeNodes

    ImportanceFunction = Callable[[Values, np.random.SeedSequence], Values]
    PermutationFunction = Callable[[Values, np.random.SeedSequence, np.random.Generator], Values]


_T = TypeVar("_T")
_MIN_SHADOWS = 5  # smallest number of shadows, as in Boruta; the best of one or two is not a useful threshold
_MIN_LEAF_ROWS = 5  # Breiman's default for regression
_FEATURE_SHARE = 1 / 3  # share of the features tried at each split, Breiman's default for regression
_MAX_CORE_TIME_S = 600.0


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
        One feature per column.
    importance : callable
        Maps (columns, seed) to the importance of each column.
    rounds : int
        Number of rounds.
    seed : SeedSequence
        The source of randomness; each round uses a child of it.

    Returns
    -------
    int64 array, shape (q,)

    Examples
    --------
    >>> columns = np.arange(6.0)[:, None] * [1.0, 0.0]
    >>> rising = lambda columns, seed: np.diff(columns, axis=0).min(axis=0)
    >>> count_shadow_hits(columns, rising, 8, np.random.SeedSequence(0)).tolist()
    [8, 0]
    """
    q = columns.shape[1]
    hits = np.zeros(q, dtype=np.int64)
    for round_seed in seed.spawn(rounds):
        shuffle_seed, forest_seed = round_seed.spawn(2)
        originals = np.tile(columns, (1, -(-_MIN_SHADOWS // q)))
        shadows = np.random.default_rng(shuffle_seed).permuted(originals, axis=0)
        importances = importance(np.hstack([columns, shadows]), forest_seed)
        hits += importances[:q] > importances[q:].max()
    return hits


def confirm_features(hits: NDArray[np.int64], rounds: int, alpha: float) -> NDArray[np.bool_]:
    """Find the features that beat the best shadow more often than by chance.

    Parameters
    ----------
    hits : int64 array, shape (q,)
        The number of rounds in which each feature was more important than every shadow.
    rounds : int
        Number of rounds.
    alpha : float
        The level, divided by the number of features (Bonferroni).

    Returns
    -------
    bool array, shape (q,)
        Whether P(Binomial(rounds, ½) ≥ hits) ≤ α/q (Kursa and Rudnicki 2010, J. Stat. Softw. 36(11), 3.2).

    Examples
    --------
    >>> confirm_features(np.array([20, 16, 10]), rounds=20, alpha=0.05).tolist()
    [True, True, False]
    """
    from scipy.stats import binom

    return np.asarray(binom.sf(hits - 1, rounds, 0.5) <= alpha / len(hits))


class RankingForestSettings(NamedTuple):
    """Settings of a forest of ranking trees."""

    seed: np.random.SeedSequence  # each tree uses a child of it
    n_trees: int
    feature_share: float  # share of the features that are tried at a node
    jobs: int  # number of threads; does not affect the result


class _BootstrapTree(NamedTuple):
    """A tree and the rows that are not in its bootstrap sample."""

    nodes: TreeNodes
    out_of_bag_rows: NDArray[np.int64]


def compute_impurity_importance(sample: RankingSample, settings: RankingForestSettings) -> Values:
    """Compute the share of the dispersion that the splits on each feature remove, averaged over the trees.

    Parameters
    ----------
    sample : RankingSample
        n rows, q features.
    settings : RankingForestSettings
        Settings with at least one tree.

    Returns
    -------
    float64 array, shape (q,)
    """
    q = len(sample.columns)
    removed = _map_trees(sample, settings, lambda tree, _: compute_importances(tree.nodes, q))
    return np.asarray(_sum_arrays(removed) / (settings.n_trees * compute_dispersion(sample)))


def compute_permutation_importance(sample: RankingSample, settings: RankingForestSettings) -> Values:
    """Compute the decrease of R² on out-of-bag rows when a feature is shuffled among them.

    Parameters
    ----------
    sample : RankingSample
        n rows, q features.
    settings : RankingForestSettings
        Settings with at least one tree.

    Returns
    -------
    float64 array, shape (q,)
        R² of the signs of pairs of labels, each predicted by its mean in the leaf, over the observed pairs.
        Tied labels have the sign 0.
    """
    observed = sample.observed if len(sample.observed) else np.ones(sample.signs.shape, dtype=np.bool_)
    increases = _map_trees(
        sample, settings, lambda tree, rng: _compute_error_increases(tree, sample, observed, rng)
    )
    tested = [increase for increase in increases if increase is not None]
    if not tested:
        return np.zeros(len(sample.columns))
    # variance of signs −1 and 1
    variance = 4.0 * compute_dispersion(sample) * sample.weights.size / observed.sum()
    return np.asarray(_sum_arrays(tested) / (len(tested) * variance))


def _map_trees(
    sample: RankingSample,
    settings: RankingForestSettings,
    function: Callable[[_BootstrapTree, np.random.Generator], _T],
) -> list[_T]:
    """Apply a function to each tree of a forest on bootstrap samples of the rows.

    Trees are discarded afterwards: their sums, 16 bytes per node and pair of labels, would fill the memory.
    """

    def grow_and_apply(tree_seed: np.random.SeedSequence) -> _T:
        """Grow a tree with its own seed and apply the function."""
        rng = np.random.default_rng(tree_seed)
        return function(_grow_bootstrap_tree(sample, settings, rng), rng)

    with ThreadPoolExecutor(settings.jobs) as pool:
        return list(pool.map(grow_and_apply, settings.seed.spawn(settings.n_trees)))


def _grow_bootstrap_tree(
    sample: RankingSample, settings: RankingForestSettings, rng: np.random.Generator
) -> _BootstrapTree:
    """Grow a CRIT tree on a bootstrap sample."""
    n, n_tried = sample.weights.size, max(1, int(settings.feature_share * len(sample.columns)))
    multiplicities = np.bincount(rng.integers(n, size=n), minlength=n)
    rows = np.flatnonzero(multiplicities)
    bootstrap = RankingSample(
        np.ascontiguousarray(sample.columns[:, rows]),
        sample.categories,
        sample.signs[rows],
        sample.observed[rows] if len(sample.observed) else sample.observed,
        multiplicities[rows].astype(np.float64),
    )
    min_leaf = max(1, min(_MIN_LEAF_ROWS, len(rows) // 4))
    nodes = grow_tree(bootstrap, min_leaf=min_leaf, max_features=n_tried, seed=int(rng.integers(2**62)))
    return _BootstrapTree(nodes, np.flatnonzero(multiplicities == 0))


def _compute_error_increases(
    tree: _BootstrapTree, sample: RankingSample, observed: Flags, rng: np.random.Generator
) -> Values | None:
    """Compute the increase of the mean squared error by shuffling each feature; None without test data."""
    nodes, test_rows = tree
    if not observed[test_rows].any():
        return None
    means = np.divide(
        nodes.sign_sums,
        nodes.pair_weights,
        out=np.zeros_like(nodes.pair_weights),
        where=nodes.pair_weights > 0,
    )
    test_columns, test_signs, test_observed = (
        np.ascontiguousarray(sample.columns[:, test_rows]),
        sample.signs[test_rows],
        observed[test_rows],
    )
    error = _compute_pair_error(nodes, means, test_columns, test_signs, test_observed)
    increases = np.zeros(len(sample.columns))
    for feature in np.unique(nodes.feature[nodes.feature >= 0]):
        column = test_columns[feature].copy()
        test_columns[feature] = rng.permutation(column)
        increases[feature] = (
            _compute_pair_error(nodes, means, test_columns, test_signs, test_observed) - error
        )
        test_columns[feature] = column
    return increases


def _sum_arrays(arrays: list[Values]) -> Values:
    """Sum arrays of equal shape in the order of the trees, so that threads do not affect the result."""
    total = np.zeros_like(arrays[0])
    for array in arrays:
        total += array
    return total


def _compute_pair_error(
    nodes: TreeNodes, means: Values, columns: Values, signs: NDArray[np.int8], observed: Flags
) -> float:
    """Compute the mean squared error of the predicted signs over the observed pairs."""
    errors = (signs - means[find_leaves(nodes, columns)])[observed]
    return float((errors * errors).mean())


def _score_features(inputs: JointInput, settings: Mapping[str, Any]) -> JointScores:
    """Score features by importance; select by Boruta's rule."""
    q = len(inputs.values)
    columns = transform_to_ranks(inputs.values)
    seeds = np.random.SeedSequence(inputs.seed).spawn(2)
    forest_seed, shuffle_seed = seeds[0].spawn(2)
    make_importances = (
        _make_ranking_importances
        if isinstance(inputs.target, RankingTarget)
        else _make_regression_importances
    )
    compute_impurity, compute_permutation = make_importances(inputs, settings["trees"])
    if settings["importance"] == "permutation":
        importance = compute_permutation(columns, forest_seed, np.random.default_rng(shuffle_seed))
    else:
        importance = compute_impurity(columns, forest_seed)
    result_columns: dict[str, Values] = {}
    selected = np.zeros(q, dtype=np.bool_)
    if settings["rule"] == "boruta":
        hits = count_shadow_hits(
            columns,
            compute_impurity,
            settings["rounds"],
            seeds[1],
        )
        selected = confirm_features(hits, settings["rounds"], settings["alpha"])
        result_columns["forest_hits"] = hits / settings["rounds"]
    return JointScores(
        score=importance,
        loss=np.round(1.0 - importance, 9),
        selected=selected,
        direction=np.zeros(q, dtype=np.int8),
        columns=result_columns,
        record={"rule": settings["rule"], "selected": int(selected.sum()), "warnings": []},
    )


def _make_regression_importances(
    inputs: JointInput, trees: int
) -> tuple[ImportanceFunction, PermutationFunction]:
    """Return importance functions of regression forests, by impurity and by permutation."""
    groups, _ = inputs.numeric_target.centered_values
    target = groups[inputs.numeric_target.tie_groups]
    target = target / np.abs(target).max()

    def compute_impurity(columns: Values, seed: np.random.SeedSequence) -> Values:
        """Compute the impurity importance of each column, shape (q,)."""
        return np.asarray(
            _grow_regression_forest(columns, target, seed, trees, inputs.jobs).feature_importances_
        )

    def compute_permutation(
        columns: Values, seed: np.random.SeedSequence, rng: np.random.Generator
    ) -> Values:
        """Compute the permutation importance of each column, shape (q,)."""
        forest = _grow_regression_forest(columns, target, seed, trees, inputs.jobs)
        return _compute_regression_permutation_importance(forest, columns, target, rng)

    return compute_impurity, compute_permutation


def _make_ranking_importances(
    inputs: JointInput, trees: int
) -> tuple[ImportanceFunction, PermutationFunction]:
    """Return importance functions of forests of ranking trees, by impurity and by permutation."""
    ranking_target = cast("RankingTarget", inputs.target)

    def compute_impurity(columns: Values, seed: np.random.SeedSequence) -> Values:
        """Compute the impurity importance of each column, shape (q,)."""
        settings = RankingForestSettings(seed, trees, _FEATURE_SHARE, inputs.jobs)
        return compute_impurity_importance(build_ranking_sample(columns, ranking_target), settings)

    def compute_permutation(
        columns: Values, seed: np.random.SeedSequence, rng: np.random.Generator
    ) -> Values:
        """Compute the permutation importance of each column, shape (q,)."""
        del rng  # every tree shuffles with its own seed
        settings = RankingForestSettings(seed, trees, _FEATURE_SHARE, inputs.jobs)
        return compute_permutation_importance(build_ranking_sample(columns, ranking_target), settings)

    return compute_impurity, compute_permutation


def _grow_regression_forest(
    columns: Values, target: Values, seed: np.random.SeedSequence, trees: int, jobs: int
) -> Any:
    """Grow a forest; its trees have their own seeds, so that the number of threads does not matter."""
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
    """Compute the decrease of R² on out-of-bag rows when a feature is shuffled among them; shape (q,).

    Errors are averaged over trees (Breiman 2001). The forest's predictions are not used, because threads sum
    them in any order.
    """
    n, q = columns.shape
    increases = np.zeros(q)
    n_tested = 0
    for estimator, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        tree = estimator.tree_
        test_rows = np.setdiff1d(np.arange(n), sample)
        if not len(test_rows):
            continue
        n_tested += 1
        test_columns, test_target = columns[test_rows].astype(np.float32), target[test_rows]
        error = _compute_tree_error(tree, test_columns, test_target)
        for feature in np.unique(tree.feature[tree.feature >= 0]):
            column = test_columns[:, feature].copy()
            test_columns[:, feature] = rng.permutation(column)
            increases[feature] += _compute_tree_error(tree, test_columns, test_target) - error
            test_columns[:, feature] = column
    return increases / (max(n_tested, 1) * float(target.var()))


def _compute_tree_error(tree: Any, rows: NDArray[np.float32], target: Values) -> float:
    """Compute the mean squared error of a tree's predictions."""
    errors = tree.predict(rows)[:, 0] - target
    return float((errors * errors).mean())


def _estimate_capacity(n_rows: int, settings: Mapping[str, Any]) -> int:
    """Estimate the number of features that take `_MAX_CORE_TIME_S` on one core."""
    # A tree takes about 0.2 µs per row and feature. A round of Boruta has twice as many features.
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
            "decrease of R² on out-of-bag rows when the feature is shuffled, or share of the variance "
            "that its splits remove",
            choices=("permutation", "impurity"),
        ),
        ScreenerOption(
            "rule",
            "boruta",
            "boruta selects features that repeatedly beat the best shuffled feature; none only ranks",
            choices=("boruta", "none"),
        ),
        ScreenerOption("rounds", 20, "number of rounds of boruta", min_value=5),
        ScreenerOption(
            "alpha", 0.05, "level of boruta, divided by the number of features", min_value=1e-6, max_value=0.5
        ),
        ScreenerOption("trees", 200, "number of trees in a forest", min_value=10),
    ),
    summary="importance in a random forest of all features together",
    assumes="the target is a function of few of the features, of any shape",
    fails="near copies share their importance; boruta selects all relevant features, including copies",
    cost="O(trees · features · rows · log rows), and twice that for each round of boruta",
    source="Breiman 2001; Kursa and Rudnicki 2010 (Boruta); scikit-learn; of rankings Clémençon et al. 2018",
    target_types=("numeric", "ranking"),
)
