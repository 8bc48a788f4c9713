"""Consensus ranking trees (CRIT) and forests of them (Clémençon et al. 2018, section 4.3 and appendix).

A tree splits the inputs into cells whose rankings have a small dispersion, and predicts the consensus of each
cell. A forest predicts the consensus of its trees. The trees are grown by `symscreen.statistics.crit_tree`.
"""

from __future__ import annotations

from math import ceil, isfinite
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from symscreen.errors import OptionError
from symscreen.label_ranking.base import (
    Ranker,
    draw_seeds,
    encode_categories,
    encode_training_data,
    is_integer,
    is_real,
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
from symscreen.messages import suggest
from symscreen.statistics.crit_tree import compute_importances, find_leaves, grow_tree
from symscreen.targets.ranking_ranks import compute_pair_signs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from symscreen._typing import Integers, Values
    from symscreen.label_ranking.base import EncodedTrainingData
    from symscreen.statistics.crit_splits import RankingSample
    from symscreen.statistics.crit_tree import TreeNodes


def parse_tree_limits(
    max_depth: Any, min_samples_leaf: Any, min_impurity_decrease: Any, n_rows: int
) -> dict[str, Any]:
    """Validate the limits of the growth of a tree.

    Parameters
    ----------
    max_depth : int or None
        At least 1; None for no limit.
    min_samples_leaf : int or float
        Number or share of rows; see `parse_row_count`.
    min_impurity_decrease : float
        At least 0.
    n_rows : int
        Number of rows.

    Returns
    -------
    dict
        Arguments of `symscreen.statistics.crit_tree.grow_tree`.

    Raises
    ------
    OptionError
        If a limit is invalid.

    Examples
    --------
    >>> parse_tree_limits(3, 0.1, 0.0, 700)
    {'max_depth': 3, 'min_leaf': 70, 'min_decrease': 0.0}
    """
    if max_depth is not None and not (is_integer(max_depth) and max_depth >= 1):
        raise OptionError(f"max_depth is {max_depth!r}: give an integer ≥ 1, or None for no limit")
    min_decrease = min_impurity_decrease
    if not (is_real(min_decrease) and isfinite(min_decrease) and min_decrease >= 0):
        raise OptionError(f"min_impurity_decrease is {min_decrease!r}: give a number ≥ 0")
    min_leaf = parse_row_count("min_samples_leaf", min_samples_leaf, n_rows)
    return {"max_depth": max_depth, "min_leaf": min_leaf, "min_decrease": float(min_decrease)}


def parse_row_count(name: str, value: Any, n_rows: int) -> int:
    """Convert a number of rows or a share of all rows, rounded up, to a number.

    Parameters
    ----------
    name : str
        Name of the option, for the error message.
    value : int or float
        An integer ≥ 1, or a float above 0 and up to 1.
    n_rows : int
        Number of rows.

    Returns
    -------
    int

    Raises
    ------
    OptionError
        If the value is invalid.

    Examples
    --------
    >>> parse_row_count("min_samples_leaf", 0.1, 55)
    6
    """
    if is_integer(value) and value >= 1:
        return int(value)
    if is_real(value) and not isinstance(value, Integral) and 0.0 < value <= 1.0:
        return ceil(round(float(value) * n_rows, 9))  # 0.1 · 70 is 7.000000000000001 in float64
    raise OptionError(f"{name} is {value!r}: give an integer ≥ 1, or a share above 0 and up to 1.0")


def parse_max_features(max_features: Any, n_features: int) -> int:
    """Convert the option `max_features` to a number of features.

    Parameters
    ----------
    max_features : {"sqrt", "log2"}, int, float or None
        A rule, a number, a share of all features, or None for all.
    n_features : int
        Number of features d.

    Returns
    -------
    int
        From 1 to d.

    Raises
    ------
    OptionError
        If the value is invalid.

    Examples
    --------
    >>> parse_max_features("sqrt", 24), parse_max_features(0.5, 24), parse_max_features(None, 24)
    (4, 12, 24)
    """
    rules = {"sqrt": int(n_features**0.5), "log2": n_features.bit_length() - 1}
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        if max_features not in rules:
            raise OptionError(f"max_features is {max_features!r}{suggest(max_features, rules)}")
        return max(rules[max_features], 1)
    return min(parse_row_count("max_features", max_features, n_features), n_features)


class ConsensusRankingTree(Ranker):
    """Consensus ranking tree (CRIT): a tree whose leaves predict the consensus of their rankings.

    Parameters
    ----------
    max_depth : int, optional
        Maximum depth.
    min_samples_leaf : int or float
        Minimum number of training rows of a leaf, or their share of all rows, rounded up.
    min_impurity_decrease : float
        Minimum decrease of the γ̂ of the tree by a split (see Notes); at most k(k − 1)/8 is possible.
    ccp_lambda : float or "cv"
        Cost λ of a leaf, eq. (52); see `symscreen.label_ranking.learners.tree_pruning`. "cv" selects it by
        cross-validation.
    folds : int
        Number of folds of the cross-validation, at least 2 and limited to the number of rows.
    categorical_features : None, bool array of shape (d,), or sequence of int or str
        Columns with categories. Each distinct number in such a column is a category.
    max_features : {"sqrt", "log2"}, int, float or None
        Number of features considered at a node; None for all.
    random_state : int, RandomState or None
        Random state of the folds, and of the features drawn if `max_features` is below d.

    Attributes
    ----------
    tree_ : TreeNodes
        The nodes, as arrays.
    rankings_ : float64 array, shape (N, k)
        Consensus of each leaf; NaN at inner nodes.
    labels_ : tuple of str
        Names of the k labels: the columns of y if it was a data frame, else "0", "1", ….
    categories_ : list of (float64 array or None)
        Categories of each feature; None for a numeric one.
    feature_importances_ : float64 array, shape (d,)
        Decrease of γ̂ by the splits on each feature. They sum to the γ̂ of all rows minus that of the tree.
    ccp_lambda_ : float
        The λ used.
    penalties_, risks_ : float64 arrays
        With "cv": the values of λ, and the mean Kendall distance on held-out rows.
    n_features_in_, feature_names_in_
        See scikit-learn.

    Notes
    -----
    The split search is exact: all thresholds of all features, and all subsets of up to ten categories. More
    categories are split along their principal axis (`symscreen.statistics.crit_splits`). Thresholds are
    values of the training rows, and x ≤ threshold goes left, so predictions are invariant under increasing
    functions of an input. Among equally good splits the first feature and its smallest threshold are
    selected. A node is a leaf if no split decreases the dispersion (Remark 19). A category that does not
    occur in a node goes to its heavier child. The order of the training rows does not matter.

    Incomplete rankings and ties are supported: a pair counts in the rows that rank both labels, and a tie
    counts half for each order. The γ̂ of a node is Σ_{i<j} S_ij p̂_ij(1 − p̂_ij)/W, where S_ij is the weight
    of its rows that rank both labels and W the weight of all its rows. The γ̂ of a tree is the mean over its
    leaves weighted by W. For complete rankings S_ij = W, and γ̂ is the dispersion of Remark 2,
    `symscreen.label_ranking.dispersion`. A pair that is missing in half of the rows contributes half as much.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1]]
    >>> tree = ConsensusRankingTree(max_depth=1).fit(X, y)
    >>> tree.predict([[0.5], [9.0]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    max_abs_input: ClassVar[float] = np.inf  # inputs are only compared

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
        """Grow and prune the tree.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            Inputs; finite numbers.
        y : array or data frame of shape (n, k)
            Rankings; NaN for a missing label.
        sample_weight : array of shape (n,), optional
            Non-negative row weights.

        Returns
        -------
        ConsensusRankingTree
            The fitted estimator.

        Raises
        ------
        InputError, ValueError
            If the data or an option is invalid.
        """
        training = encode_training_data(self, X, y, sample_weight, self.categorical_features)
        n, d = len(training.ranks), len(training.sample.columns)
        limits = parse_tree_limits(self.max_depth, self.min_samples_leaf, self.min_impurity_decrease, n)
        seed, fold_seed = draw_seeds(self.random_state, 2)
        limits |= {"max_features": parse_max_features(self.max_features, d), "seed": seed}
        nodes = grow_tree(training.sample, **limits)
        self.tree_: TreeNodes = self._prune(nodes, training, limits, fold_seed)
        leaves = np.flatnonzero(self.tree_.feature < 0)
        self.rankings_: Values = compute_node_rankings(self.tree_, leaves, training.ranks.shape[1])
        self.categories_ = training.categories
        self.feature_importances_: Values = compute_importances(self.tree_, d)
        return self

    def _prune(
        self, nodes: TreeNodes, training: EncodedTrainingData, limits: Mapping[str, Any], fold_seed: int
    ) -> TreeNodes:
        """Prune the tree with the given or the cross-validated penalty."""
        path, n = build_pruning_path(nodes), len(training.ranks)
        penalty: Any = self.ccp_lambda
        if isinstance(penalty, str) and penalty == "cv":
            if not is_integer(self.folds) or self.folds < 2:
                raise OptionError(f"folds is {self.folds!r}: give an integer ≥ 2")
            self.penalties_ = compute_penalties(path)
            self.risks_ = np.zeros(self.penalties_.size)
            if path.merged_nodes.size and n > 1:
                self.risks_ = cross_validate_penalties(
                    training, self.penalties_, limits, min(self.folds, n), fold_seed
                )
            self.ccp_lambda_ = select_penalty(self.penalties_, self.risks_)
        elif is_real(penalty) and np.isfinite(penalty) and penalty >= 0:
            self.ccp_lambda_ = float(penalty)
        else:
            raise OptionError(f"ccp_lambda is {penalty!r}: give a number ≥ 0, or 'cv'")
        return prune_tree(nodes, find_optimal_leaves(nodes, path, self.ccp_lambda_))

    def apply(self, X: Any) -> Integers:  # noqa: N803  # scikit-learn's name
        """Find the leaf of each row.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Inputs.

        Returns
        -------
        int64 array, shape (m,)
            Indices of nodes of `tree_`.
        """
        values = self._check_rows(X)
        return find_leaves(self.tree_, encode_categories(values, self.categories_))

    def predict(self, X: Any) -> Values:  # noqa: N803  # scikit-learn's name
        """Predict the ranking of each row.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Inputs.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k.
        """
        leaves = self.apply(X)
        return self.rankings_[leaves]


class ForestTree(NamedTuple):
    """One tree of a forest."""

    nodes: TreeNodes  # without the pair sums
    rankings: Values  # (N, k): NaN at inner nodes
    importances: Values  # (d,)


class ConsensusRankingForest(Ranker):
    """Forest of consensus ranking trees on bootstrap samples; it predicts the consensus of the trees.

    Parameters
    ----------
    n_estimators : int
        Number of trees B.
    max_depth, min_samples_leaf, min_impurity_decrease, categorical_features
        Options of each tree; see `ConsensusRankingTree`.
    max_features : {"sqrt", "log2"}, int, float or None
        Number of features considered at a node, drawn for each node; None for all (bagging).
    bootstrap : bool
        Whether the rows of each tree are drawn with replacement. Otherwise each tree uses all rows.
    max_samples : int, float or None
        Number or share of the rows drawn; None for as many as there are rows.
    random_state : int, RandomState or None
        Random state of all draws.
    n_jobs : int, optional
        Number of threads; see scikit-learn. Does not affect the result.

    Attributes
    ----------
    trees_ : list of ForestTree
        The trees.
    labels_, categories_
        See `ConsensusRankingTree`.
    feature_importances_ : float64 array, shape (d,)
        Mean over the trees of the decrease of γ̂ by the splits on each feature.
    n_features_in_, feature_names_in_
        See scikit-learn.

    Notes
    -----
    The prediction at x is the pseudo-empirical median of the B rankings that the trees predict at x. These
    rankings are constant in every joint cell C_1 ∩ … ∩ C_B of the trees, so one consensus is computed per
    joint cell.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1]]
    >>> forest = ConsensusRankingForest(n_estimators=20, random_state=0).fit(X, y)
    >>> forest.predict([[0.0], [9.0]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    max_abs_input: ClassVar[float] = np.inf  # inputs are only compared

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
            Inputs; finite numbers.
        y : array or data frame of shape (n, k)
            Rankings; NaN for a missing label.
        sample_weight : array of shape (n,), optional
            Non-negative row weights. The bootstrap samples do not depend on them.

        Returns
        -------
        ConsensusRankingForest
            The fitted estimator.

        Raises
        ------
        InputError, ValueError
            If the data or an option is invalid.
        """
        training = encode_training_data(self, X, y, sample_weight, self.categorical_features)
        (n, k), d = training.ranks.shape, len(training.sample.columns)
        if not is_integer(self.n_estimators) or self.n_estimators < 1:
            raise OptionError(f"n_estimators is {self.n_estimators!r}: give an integer ≥ 1")
        n_samples = n if self.max_samples is None else parse_row_count("max_samples", self.max_samples, n)
        limits = parse_tree_limits(self.max_depth, self.min_samples_leaf, self.min_impurity_decrease, n)
        limits["max_features"] = parse_max_features(self.max_features, d)
        seeds = draw_seeds(self.random_state, self.n_estimators)
        n_drawn = n_samples if self.bootstrap else None
        self.trees_: list[ForestTree] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_grow_tree)(training.sample, limits, k, n_drawn, seed) for seed in seeds
        )
        self.categories_ = training.categories
        self.feature_importances_ = np.mean([tree.importances for tree in self.trees_], axis=0)
        return self

    def apply(self, X: Any) -> Integers:  # noqa: N803  # scikit-learn's name
        """Find the leaf of each row in each tree.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Inputs.

        Returns
        -------
        int64 array, shape (m, B)
            Node indices.
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
            Inputs.

        Returns
        -------
        float64 array, shape (m, k)
            Ranks 1 to k.
        """
        cells, inverse = np.unique(self.apply(X), axis=0, return_inverse=True)
        k = self.n_labels_
        votes = np.zeros((len(cells), k * (k - 1) // 2))
        for tree, leaf in zip(self.trees_, cells.T, strict=True):
            votes += compute_pair_signs(tree.rankings)[leaf]
        return compute_median_rankings(votes, np.full(votes.shape, float(len(self.trees_))), k)[
            inverse.reshape(-1)
        ]


def _grow_tree(
    sample: RankingSample, limits: Mapping[str, Any], n_labels: int, n_drawn: int | None, seed: int
) -> ForestTree:
    """Grow one tree; the result does not depend on other trees or on the thread."""
    if n_drawn is not None:
        n = sample.weights.size
        counts = np.bincount(np.random.default_rng(seed).integers(n, size=n_drawn), minlength=n)
        rows = np.flatnonzero(counts)
        sample = take_rows(sample, rows, counts[rows])
    nodes = grow_tree(sample, **limits, seed=seed)
    rankings = compute_node_rankings(nodes, np.flatnonzero(nodes.feature < 0), n_labels)
    importances = compute_importances(nodes, len(sample.columns))
    empty = np.empty((len(nodes.feature), 0))  # the pair sums of many deep trees would exceed the memory
    return ForestTree(nodes._replace(sign_sums=empty, pair_weights=empty), rankings, importances)
