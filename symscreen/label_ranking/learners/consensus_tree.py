"""How far trees are grown, as estimators are told.

CRIT, the consensus ranking tree, as an estimator (Clémençon et al. 2018, section 4.3).

A forest of consensus ranking trees (Clémençon et al. 2018, appendix, "Aggregation").
"""

from __future__ import annotations

from math import ceil, isfinite
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from symscreen.errors import OptionError, suggest
from symscreen.label_ranking.base import (
    Ranker,
    draw_seeds,
    encode_categories,
    encode_training_data,
    take_rows,
)
from symscreen.label_ranking.consensus.median import compute_median_rankings
from symscreen.label_ranking.learners.tree_pruning import (
    build_pruning_path,
    compute_node_rankings,
    compute_penalties,
    cross_validate_penalties,
    find_optimal_leaves,
    prune_tree,
    select_penalty,
)
from symscreen.statistics.crit_tree import compute_importances, find_leaves, grow_tree
from symscreen.targets.ranking_ranks import compute_pair_signs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from symscreen._typing import Integers, Values
    from symscreen.label_ranking.base import EncodedTrainingData
    from symscreen.statistics.crit_splits import RankingSample
    from symscreen.statistics.crit_tree import TreeNodes


__all__ = [
    "ConsensusRankingForest",
    "ConsensusRankingTree",
    "ForestTree",
    "is_integer",
    "is_real",
    "parse_max_features",
    "parse_row_count",
    "parse_tree_limits",
]


def parse_tree_limits(
    max_depth: Any, min_samples_leaf: Any, min_impurity_decrease: Any, n_rows: int
) -> dict[str, Any]:
    """Read the limits of growth.

    Parameters
    ----------
    max_depth : int or None
        ≥ 1.
    min_samples_leaf : int or float
        As `parse_row_count` takes it.
    min_impurity_decrease : float
        ≥ 0.
    n : int
        How many rows there are.

    Returns
    -------
    dict
        Arguments of `symscreen.statistics.crit_tree.grow_tree`.

    Raises
    ------
    OptionError
        If one of them has no meaning.

    Examples
    --------
    >>> parse_tree_limits(3, 0.1, 0.0, 700)
    {'max_depth': 3, 'min_leaf': 70, 'min_decrease': 0.0}
    """
    if max_depth is not None and not (is_integer(max_depth) and max_depth >= 1):
        raise OptionError(f"max_depth is {max_depth!r}: give a whole number ≥ 1, or None for no limit")
    decrease = min_impurity_decrease
    if not (is_real(decrease) and isfinite(decrease) and decrease >= 0):
        raise OptionError(f"min_impurity_decrease is {decrease!r}: give a number ≥ 0")
    leaf = parse_row_count("min_samples_leaf", min_samples_leaf, n_rows)
    return {"max_depth": max_depth, "min_leaf": leaf, "min_decrease": float(decrease)}


def parse_row_count(name: str, value: Any, n_rows: int) -> int:
    """Read a number of rows: whole, or a share of all, rounded up.

    Parameters
    ----------
    name : str
        What it is called, for the error.
    asked : int or float
        A whole number ≥ 1, or a float above 0 and up to 1.
    n : int
        How many rows there are.

    Returns
    -------
    int

    Raises
    ------
    OptionError
        If it is neither.

    Examples
    --------
    >>> parse_row_count("min_samples_leaf", 0.1, 55)
    6
    """
    if is_integer(value) and value >= 1:
        return int(value)
    if is_real(value) and not isinstance(value, Integral) and 0.0 < value <= 1.0:
        return ceil(round(float(value) * n_rows, 9))  # 0.1 · 70 is 7.000000000000001 in float64
    raise OptionError(f"{name} is {value!r}: give a whole number ≥ 1, or a share above 0 and up to 1.0")


def parse_max_features(max_features: Any, n_features: int) -> int:
    """Read how many features a node looks at.

    Parameters
    ----------
    asked : {"sqrt", "log2"}, int, float or None
        A number, a share of all, or None for all.
    d : int
        How many there are.

    Returns
    -------
    int
        From 1 to d.

    Raises
    ------
    OptionError
        If it has no meaning.

    Examples
    --------
    >>> parse_max_features("sqrt", 24), parse_max_features(0.5, 24), parse_max_features(None, 24)
    (4, 12, 24)
    """
    known = {"sqrt": int(n_features**0.5), "log2": n_features.bit_length() - 1}
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        if max_features not in known:
            raise OptionError(f"max_features is {max_features!r}{suggest(max_features, known)}")
        return max(known[max_features], 1)
    return min(parse_row_count("max_features", max_features, n_features), n_features)


def is_integer(value: Any) -> bool:
    """Tell whether an option is a whole number, and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Tell whether an option is a number, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool)


class ConsensusRankingTree(Ranker):
    """CRIT: a tree whose cells hold rankings of little dispersion, and predict their consensus.

    Parameters
    ----------
    max_depth : int, optional
        How many splits deep.
    min_samples_leaf : int or float
        The fewest training rows of a leaf, or their share of all, rounded up.
    min_impurity_decrease : float
        The least by which a split must lower γ̂ of the tree (see Notes), of which k(k − 1)/8 is the maximum.
    ccp_lambda : float or "cv"
        λ of eq. (52), the price of a leaf: see `symscreen.label_ranking.learners.tree_pruning`. "cv" chooses
        it by cross-validation.
    folds : int
        How many that has, ≥ 2; never more than rows.
    categorical_features : None, bool array of shape (d,), or sequence of int or str
        Which columns hold categories: any numbers, each of which is one.
    max_features : {"sqrt", "log2"}, int, float or None
        How many features a node looks at; None for all.
    random_state : int, RandomState or None
        Of the folds, and of the features drawn where these are not all. With neither nothing is random.

    Attributes
    ----------
    tree_ : Nodes
        The nodes, as arrays.
    rankings_ : float64 array, shape (N, k)
        The consensus at each leaf; NaN at inner nodes.
    labels_ : tuple of str
        Names of the k labels: of y's columns where it was a data frame, else "0", "1", ….
    categories_ : list of (float64 array or None)
        The categories of each feature.
    feature_importances_ : float64 array, shape (d,)
        The decrease of γ̂ by the splits on each feature; they sum to γ̂ of all rows less that of the tree.
    ccp_lambda_ : float
        The λ that was used.
    penalties_, risks_ : float64 arrays
        With "cv": the λ tried, and the mean Kendall distance on held-out rows.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The split is exact: all thresholds of all features, and all subsets of up to ten categories; more are cut
    along their principal axis (`symscreen.statistics.crit_splits`). Thresholds are values of the training
    rows, and x ≤ threshold goes left: no increasing function of an input changes a prediction. Of splits that
    are as good the first feature and its smallest threshold are taken. A node is a leaf where no split lowers
    the dispersion (Remark 19). A category that a node has not seen goes to its heavier child. The order of
    the training rows does not matter.

    Incomplete rankings and ties are welcome: a pair counts in the rows that show it, a tie half each way.
    γ̂ of a node is Σ_{i<j} S_ij p̂_ij(1 − p̂_ij)/W, S_ij the weight of its rows that show both labels and W that
    of all its rows; of a tree, the mean over leaves by W. For complete rankings S_ij = W, and γ̂ is that of
    Remark 2, `symscreen.label_ranking.dispersion`; a pair that half of the rows lack adds half as much.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1]]
    >>> tree = ConsensusRankingTree(max_depth=1).fit(X, y)
    >>> tree.predict([[0.5], [9.0]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    max_abs_input: ClassVar[float] = np.inf  # inputs are compared, and nothing else

    def __init__(
        self,
        *,
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        min_impurity_decrease: float = 0.0,
        ccp_lambda: float | str = 0.0,
        folds: int = 5,
        categorical_features: Any = None,
        max_features: float | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_lambda = ccp_lambda
        self.folds = folds
        self.categorical_features = categorical_features
        self.max_features = max_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803  # scikit-learn's names
        """Grow the tree, and prune it.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs; finite numbers.
        y : array or data frame of shape (n, k)
            Rankings; NaN where a label is missing.
        sample_weight : array of shape (n,), optional
            Weights of the rows, not negative.

        Returns
        -------
        ConsensusRankingTree
            Itself.

        Raises
        ------
        InputError, ValueError
            If the data or an option cannot be used.
        """
        training = encode_training_data(self, X, y, sample_weight, self.categorical_features)
        n, d = len(training.ranks), len(training.sample.columns)
        limits = parse_tree_limits(self.max_depth, self.min_samples_leaf, self.min_impurity_decrease, n)
        seed, deal = draw_seeds(self.random_state, 2)
        limits |= {"max_features": parse_max_features(self.max_features, d), "seed": seed}
        nodes = grow_tree(training.sample, **limits)
        self.tree_: TreeNodes = self._prune(nodes, training, limits, deal)
        leaves = np.flatnonzero(self.tree_.feature < 0)
        self.rankings_: Values = compute_node_rankings(self.tree_, leaves, training.ranks.shape[1])
        self.categories_ = training.categories
        self.feature_importances_: Values = compute_importances(self.tree_, d)
        return self

    def _prune(
        self, nodes: TreeNodes, training: EncodedTrainingData, limits: Mapping[str, Any], fold_seed: int
    ) -> TreeNodes:
        path, n = build_pruning_path(nodes), len(training.ranks)
        asked: Any = self.ccp_lambda
        if isinstance(asked, str) and asked == "cv":
            if not is_integer(self.folds) or self.folds < 2:
                raise OptionError(f"folds is {self.folds!r}: give a whole number ≥ 2")
            self.penalties_ = compute_penalties(path)
            self.risks_ = np.zeros(self.penalties_.size)
            if path.merged_nodes.size and n > 1:
                self.risks_ = cross_validate_penalties(
                    training, self.penalties_, limits, min(self.folds, n), fold_seed
                )
            self.ccp_lambda_ = select_penalty(self.penalties_, self.risks_)
        elif is_real(asked) and np.isfinite(asked) and asked >= 0:
            self.ccp_lambda_ = float(asked)
        else:
            raise OptionError(f"ccp_lambda is {asked!r}: give a number ≥ 0, or 'cv'")
        return prune_tree(nodes, find_optimal_leaves(nodes, path, self.ccp_lambda_))

    def apply(self, X: Any) -> Integers:  # noqa: N803  # scikit-learn's name
        """Find the leaf of each row.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            The inputs.

        Returns
        -------
        int64 array, shape (m,)
            Numbers of nodes of `tree_`.
        """
        values = self._check_rows(X)
        return find_leaves(self.tree_, encode_categories(values, self.categories_))

    def predict(self, X: Any) -> Values:  # noqa: N803  # scikit-learn's name
        """Predict the ranking of each row.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            The inputs.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k.
        """
        leaves = self.apply(X)
        return self.rankings_[leaves]


class ForestTree(NamedTuple):
    """One tree of a forest."""

    nodes: TreeNodes  # without pair sums: leaves keep their rankings
    rankings: Values  # (N, k): NaN at inner nodes
    importances: Values  # (d,)


class ConsensusRankingForest(Ranker):
    """Many consensus ranking trees on bootstrap samples, and the consensus of their predictions.

    Parameters
    ----------
    n_estimators : int
        How many trees.
    max_depth, min_samples_leaf, min_impurity_decrease, categorical_features
        Of each tree, as of `ConsensusRankingTree`.
    max_features : {"sqrt", "log2"}, int, float or None
        How many features a node looks at, drawn anew for each; None for all, which is bagging.
    bootstrap : bool
        Whether each tree has rows drawn with replacement; else all rows.
    max_samples : int, float or None
        How many are drawn, or their share; None for as many as there are.
    random_state : int, RandomState or None
        Of all draws.
    n_jobs : int, optional
        Threads, as scikit-learn counts them. Their number changes nothing else.

    Attributes
    ----------
    trees_ : list of Grown
        The trees.
    labels_, categories_
        As of `ConsensusRankingTree`.
    feature_importances_ : float64 array, shape (d,)
        The mean over trees of the decrease of γ̂ by the splits on each feature, γ̂ as there.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    The prediction at x is the pseudo-empirical median of the B rankings that the trees predict there. These
    are the same in every joint cell C_1 ∩ … ∩ C_B of the trees: one consensus serves all rows of one.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1]]
    >>> forest = ConsensusRankingForest(n_estimators=20, random_state=0).fit(X, y)
    >>> forest.predict([[0.0], [9.0]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    max_abs_input: ClassVar[float] = np.inf  # inputs are compared, and nothing else

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        min_impurity_decrease: float = 0.0,
        categorical_features: Any = None,
        max_features: float | str | None = "sqrt",
        bootstrap: bool = True,
        max_samples: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.categorical_features = categorical_features
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803  # scikit-learn's names
        """Grow the trees.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The inputs; finite numbers.
        y : array or data frame of shape (n, k)
            Rankings; NaN where a label is missing.
        sample_weight : array of shape (n,), optional
            Weights of the rows, not negative. Draws do not depend on them.

        Returns
        -------
        ConsensusRankingForest
            Itself.

        Raises
        ------
        InputError, ValueError
            If the data or an option cannot be used.
        """
        training = encode_training_data(self, X, y, sample_weight, self.categorical_features)
        (n, k), d = training.ranks.shape, len(training.sample.columns)
        if not is_integer(self.n_estimators) or self.n_estimators < 1:
            raise OptionError(f"n_estimators is {self.n_estimators!r}: give a whole number ≥ 1")
        drawn = n if self.max_samples is None else parse_row_count("max_samples", self.max_samples, n)
        limits = parse_tree_limits(self.max_depth, self.min_samples_leaf, self.min_impurity_decrease, n)
        limits["max_features"] = parse_max_features(self.max_features, d)
        seeds = draw_seeds(self.random_state, self.n_estimators)
        take = drawn if self.bootstrap else None
        self.trees_: list[ForestTree] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_grow_tree)(training.sample, limits, k, take, seed) for seed in seeds
        )
        self.categories_ = training.categories
        self.feature_importances_ = np.mean([tree.importances for tree in self.trees_], axis=0)
        return self

    def apply(self, X: Any) -> Integers:  # noqa: N803  # scikit-learn's name
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            The inputs.

        Returns
        -------
        int64 array, shape (m, B)
            Numbers of nodes.
        """
        values = self._check_rows(X)
        columns = encode_categories(values, self.categories_)
        leaves = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(find_leaves)(tree.nodes, columns) for tree in self.trees_
        )
        return np.stack(leaves, axis=1)

    def predict(self, X: Any) -> Values:  # noqa: N803  # scikit-learn's name
        """Predict the ranking of each row.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            The inputs.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k.
        """
        cells, where = np.unique(self.apply(X), axis=0, return_inverse=True)
        k = self.n_labels_
        votes = np.zeros((len(cells), k * (k - 1) // 2))
        for tree, leaf in zip(self.trees_, cells.T, strict=True):
            votes += compute_pair_signs(tree.rankings)[leaf]
        return compute_median_rankings(votes, np.full(votes.shape, float(len(self.trees_))), k)[
            where.reshape(-1)
        ]


def _grow_tree(
    sample: RankingSample, limits: Mapping[str, Any], n_labels: int, n_drawn: int | None, seed: int
) -> ForestTree:
    """Grow one tree; nothing of it depends on the others or on the thread."""
    if n_drawn is not None:
        n = sample.weights.size
        times = np.bincount(np.random.default_rng(seed).integers(n, size=n_drawn), minlength=n)
        rows = np.flatnonzero(times)
        sample = take_rows(sample, rows, times[rows])
    nodes = grow_tree(sample, **limits, seed=seed)
    rankings = compute_node_rankings(nodes, np.flatnonzero(nodes.feature < 0), n_labels)
    found = compute_importances(nodes, len(sample.columns))
    empty = np.empty((len(nodes.feature), 0))  # of many deep trees the pair sums would fill the memory
    return ForestTree(nodes._replace(sign_sums=empty, pair_weights=empty), rankings, found)
