"""Consensus ranking trees (CRIT) and forests of them (Clémençon et al. 2018, section 4.3 and appendix).

A tree splits the inputs into cells whose rankings have a small dispersion, and predicts the consensus of the
training rows of each cell (eq. 38). A forest predicts the consensus of its trees. The trees are grown by
`symscreen.statistics.crit_tree`.

Weakest-link pruning merges pairs of sibling leaves, always the pair whose merging increases the dispersion
the least, down to the root. The pruned tree is the tree on this path that minimises γ̂_T + λ·#T (eq. 52);
λ may be selected by cross-validation. As in `symscreen.statistics.crit_tree`, γ̂ is Σ p̂(1 − p̂) without the
factor ½ of the text, so λ is twice the λ of the text.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import ceil
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.parallel import Parallel, delayed

from symscreen._parameters import NON_NEGATIVE, POSITIVE_INTEGER, SHARE
from symscreen.label_ranking.base import (
    Ranker,
    draw_seeds,
    encode_categories,
    encode_training_data,
    take_rows,
)
from symscreen.label_ranking.consensus.distances import kendall_distance
from symscreen.label_ranking.consensus.median import MEDIAN_METHODS, compute_median_rankings
from symscreen.statistics.crit_tree import compute_importances, find_leaves, grow_tree
from symscreen.targets.ranking_ranks import compute_pair_signs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray

    from symscreen._parameters import Constraints
    from symscreen._typing import Flags, Integers, Values
    from symscreen.label_ranking.base import EncodedTrainingData
    from symscreen.statistics.crit_tree import RankingSample, TreeNodes


# penalised dispersions that differ by less than this share of the root's dispersion are equal
_RELATIVE_TOLERANCE = 1e-12

_RISK_TOLERANCE = 1e-12  # risks that differ by less are equal


class PruningPath(NamedTuple):
    """The trees obtained by merging sibling leaves one pair after the other."""

    merged_nodes: Integers  # (s,): nodes that become leaves, in order
    dispersion: Values  # (s + 1,): γ̂ of each tree
    n_leaves: Integers  # (s + 1,): number of leaves #T of each tree, descending to 1


def build_pruning_path(nodes: TreeNodes) -> PruningPath:
    """Merge sibling leaves, always those whose merging increases the dispersion the least.

    Parameters
    ----------
    nodes : TreeNodes
        Unpruned tree.

    Returns
    -------
    PruningPath
        If two pairs have the same cost, the one whose parent has the larger index is merged first.

    Examples
    --------
    >>> from symscreen.statistics.crit_tree import RankingSample, grow_tree
    >>> signs, observed = np.array([[-1], [1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    >>> path = build_pruning_path(grow_tree(RankingSample(np.array([[0.0, 1.0]]), np.array([0]), signs,
    ...     observed, np.ones(2))))
    >>> path.merged_nodes.tolist(), path.dispersion.tolist(), path.n_leaves.tolist()
    ([0], [0.0, 0.25], [2, 1])
    """
    is_leaf = nodes.feature < 0
    parents = find_parents(nodes)
    candidates = [
        (float(nodes.decrease[node]), -int(node))
        for node in np.flatnonzero(~is_leaf)
        if is_leaf[nodes.left[node]] and is_leaf[nodes.right[node]]
    ]
    heapq.heapify(candidates)
    merged, is_closed = [], is_leaf.copy()
    while candidates:
        node = -heapq.heappop(candidates)[1]
        merged.append(node)
        is_closed[node] = True
        parent = parents[node]
        if parent >= 0 and is_closed[nodes.left[parent]] and is_closed[nodes.right[parent]]:
            heapq.heappush(candidates, (float(nodes.decrease[parent]), -int(parent)))
    order = np.array(merged, dtype=np.int64)
    rises = np.concatenate(([nodes.dispersion[is_leaf].sum()], nodes.decrease[order]))
    leaves = int(is_leaf.sum()) - np.arange(order.size + 1)
    return PruningPath(order, np.cumsum(rises) / nodes.weight[0], leaves)


def find_parents(nodes: TreeNodes) -> Integers:
    """Find the parent of every node; −1 for the root.

    Parameters
    ----------
    nodes : TreeNodes
        Tree of N nodes.

    Returns
    -------
    int64 array, shape (N,)
    """
    parents = np.full(len(nodes.feature), -1, dtype=np.int64)
    inner_nodes = np.flatnonzero(nodes.feature >= 0)
    parents[nodes.left[inner_nodes]] = inner_nodes
    parents[nodes.right[inner_nodes]] = inner_nodes
    return parents


def compute_penalties(path: PruningPath) -> Values:
    """Compute one penalty for each tree that is optimal for some λ.

    Parameters
    ----------
    path : PruningPath
        Pruning path of the tree.

    Returns
    -------
    float64 array
        Ascending from 0, for which nothing is merged. Then the geometric means of neighbouring penalties at
        which the optimal tree changes (Breiman et al. 1984, section 11.5), and finally the last of these
        penalties, at which the root alone is optimal.

    Examples
    --------
    >>> path = PruningPath(np.array([1, 0]), np.array([0.0, 1.0, 5.0]), np.array([3, 2, 1]))
    >>> compute_penalties(path).tolist()
    [0.0, 2.0, 4.0]
    """
    changes = []
    stage, last = 0, path.merged_nodes.size
    while stage < last:
        later = np.arange(stage + 1, last + 1)
        slopes = (path.dispersion[later] - path.dispersion[stage]) / (later - stage)
        stage = int(later[np.flatnonzero(slopes <= slopes.min() * (1.0 + _RELATIVE_TOLERANCE))[-1]])
        changes.append(float(slopes.min()))
    change_penalties = np.array(changes)
    return np.concatenate(
        ([0.0], np.sqrt(change_penalties[:-1] * change_penalties[1:]), change_penalties[-1:])
    )


def find_optimal_leaves(nodes: TreeNodes, path: PruningPath, penalty: float) -> Flags:
    """Find the leaves of the tree on a pruning path that minimises γ̂_T + λ·#T.

    Parameters
    ----------
    nodes : TreeNodes
        Tree of N nodes.
    path : PruningPath
        Pruning path of this tree.
    penalty : float
        Penalty λ ≥ 0.

    Returns
    -------
    bool array, shape (N,)
        True at the leaves of the pruned tree. Among equally good trees the smallest is selected.
    """
    # minimiser of γ̂_T + λ·#T on the path                                                            (52)
    penalised = path.dispersion + penalty * path.n_leaves
    stage = int(
        np.flatnonzero(penalised <= penalised.min() + _RELATIVE_TOLERANCE * abs(path.dispersion[-1]))[-1]
    )
    is_closed = nodes.feature < 0
    is_closed[path.merged_nodes[:stage]] = True
    parents = find_parents(nodes)
    # Nodes are merged from the leaves up: a node with a closed parent is inside a merged cell.
    return np.asarray(is_closed & ~((parents >= 0) & is_closed[parents]))


def prune_tree(nodes: TreeNodes, is_leaf: Flags) -> TreeNodes:
    """Remove the nodes below given leaves.

    Parameters
    ----------
    nodes : TreeNodes
        Tree of N nodes.
    is_leaf : bool array, shape (N,)
        Leaves of the pruned tree, as returned by `find_optimal_leaves`.

    Returns
    -------
    TreeNodes
        Renumbered nodes; parents come before their children.
    """
    is_kept = np.zeros(is_leaf.size, dtype=np.bool_)
    front = np.zeros(1, dtype=np.int64)
    while front.size:
        is_kept[front] = True
        inner_nodes = front[~is_leaf[front]]
        front = np.concatenate((nodes.left[inner_nodes], nodes.right[inner_nodes]))
    new_indices = np.cumsum(is_kept) - 1
    pruned = nodes._replace(
        feature=np.where(is_leaf, -1, nodes.feature),
        threshold=np.where(is_leaf, np.nan, nodes.threshold),
        goes_left=nodes.goes_left & ~is_leaf[:, None],
        left=np.where(is_leaf, -1, new_indices[nodes.left]),
        right=np.where(is_leaf, -1, new_indices[nodes.right]),
        decrease=np.where(is_leaf, 0.0, nodes.decrease),
    )
    return type(nodes)._make(column[is_kept] for column in pruned)


def compute_node_rankings(
    nodes: TreeNodes, node_indices: NDArray[np.int64], n_labels: int, median_method: str
) -> Values:
    """Compute the consensus ranking of the rows in some nodes of a tree (eq. 38).

    Parameters
    ----------
    nodes : TreeNodes
        Tree of N nodes.
    node_indices : int64 array
        Indices of the nodes.
    n_labels : int
        Number of labels k.
    median_method : str
        See `find_median_ranking`.

    Returns
    -------
    float64 array, shape (N, k)
        Ranks 1 to k; NaN at all other nodes. If no row of a node ranks a pair, the nearest ancestor with such
        rows determines its order.
    """
    differences, pair_weights = nodes.sign_sums[node_indices], nodes.pair_weights[node_indices]
    ancestors, parents = node_indices, find_parents(nodes)
    while (pair_weights <= 0.0).any() and (ancestors >= 0).any():
        ancestors = np.where(ancestors >= 0, parents[ancestors], -1)
        is_unobserved = (pair_weights <= 0.0) & (ancestors >= 0)[:, None]
        differences = np.where(is_unobserved, nodes.sign_sums[ancestors], differences)
        pair_weights = np.where(is_unobserved, nodes.pair_weights[ancestors], pair_weights)
    rankings = np.full((len(nodes.feature), n_labels), np.nan)
    rankings[node_indices] = compute_median_rankings(differences, pair_weights, n_labels, median_method)
    return rankings


def cross_validate_penalties(
    training: EncodedTrainingData,
    penalties: Values,
    limits: Mapping[str, Any],
    median_method: str,
    folds: int,
    seed: int,
) -> Values:
    """Estimate the risk of the pruned trees for each penalty by cross-validation.

    Parameters
    ----------
    training : EncodedTrainingData
        Training data of n rows.
    penalties : float64 array, shape (s,)
        Penalties λ.
    limits : mapping
        Arguments of `grow_tree`.
    median_method : str
        See `find_median_ranking`.
    folds : int
        Number of folds, from 2 to n.
    seed : int
        Random seed of the assignment of rows to folds.

    Returns
    -------
    float64 array, shape (s,)
        Weighted mean Kendall distance between held-out rankings and their predictions.
    """
    weights = training.sample.weights
    total = np.zeros(penalties.size)
    for training_rows, held_out_rows in KFold(folds, shuffle=True, random_state=seed).split(training.ranks):
        distances = _compute_held_out_distances(
            training, training_rows, held_out_rows, penalties, limits, median_method
        )
        total += (distances * weights[held_out_rows]).sum(axis=1)
    return np.asarray(total / weights.sum())


def select_penalty(penalties: Values, risks: Values) -> float:
    """Select the penalty with the smallest risk; among equal risks the largest, which has the smallest tree.

    Parameters
    ----------
    penalties : float64 array, shape (s,)
        Penalties in ascending order.
    risks : float64 array, shape (s,)
        Estimated risks.

    Returns
    -------
    float

    Examples
    --------
    >>> select_penalty(np.array([0.0, 0.1, 0.2]), np.array([1.5, 1.0, 1.0]))
    0.2
    """
    return float(penalties[np.flatnonzero(risks <= risks.min() + _RISK_TOLERANCE)[-1]])


def _compute_held_out_distances(
    training: EncodedTrainingData,
    training_rows: Integers,
    held_out_rows: Integers,
    penalties: Values,
    limits: Mapping[str, Any],
    median_method: str,
) -> Values:
    """Compute the distances of held-out rankings to their predictions, shape (penalties, rows)."""
    nodes = grow_tree(take_rows(training.sample, training_rows), **limits)
    path, parents = build_pruning_path(nodes), find_parents(nodes)
    leaf_masks = np.array([find_optimal_leaves(nodes, path, penalty) for penalty in penalties])
    rankings = compute_node_rankings(
        nodes, np.flatnonzero(leaf_masks.any(axis=0)), training.ranks.shape[1], median_method
    )
    unpruned_leaves = find_leaves(nodes, training.sample.columns[:, held_out_rows])
    leaf_indices = np.empty((penalties.size, held_out_rows.size), dtype=np.int64)
    for row, is_leaf in enumerate(leaf_masks):
        nodes_of_rows = unpruned_leaves
        while not is_leaf[nodes_of_rows].all():
            nodes_of_rows = np.where(is_leaf[nodes_of_rows], nodes_of_rows, parents[nodes_of_rows])
        leaf_indices[row] = nodes_of_rows
    # Most penalties assign a row to the same leaf as the previous one: compute each distance once.
    distinct, inverse = np.unique(
        leaf_indices * held_out_rows.size + np.arange(held_out_rows.size), return_inverse=True
    )
    distances = kendall_distance(
        training.ranks[held_out_rows[distinct % held_out_rows.size]], rankings[distinct // held_out_rows.size]
    )
    return np.asarray(distances[inverse].reshape(leaf_indices.shape))


@dataclass(eq=False, repr=False, kw_only=True)
class _ConsensusRanker(Ranker):
    """Base class of the tree and the forest: the limits of the growth."""

    max_abs_input: ClassVar[float] = np.inf  # inputs are only compared

    max_depth: int | None = None
    min_samples_leaf: float = 1
    min_impurity_decrease: float = 0.0
    categorical_features: Any = None
    max_features: float | str | None = None
    median_method: str = "auto"
    random_state: Any = None

    _parameter_constraints: ClassVar[Constraints] = {
        "max_depth": (POSITIVE_INTEGER, None),
        "min_samples_leaf": (POSITIVE_INTEGER, SHARE),
        "min_impurity_decrease": (NON_NEGATIVE,),
        "max_features": (POSITIVE_INTEGER, SHARE, StrOptions({"sqrt", "log2"}), None),
        "median_method": (StrOptions(set(MEDIAN_METHODS)),),
    }

    def _prepare(
        self,
        X: Any,  # noqa: N803  # scikit-learn's name
        y: Any,
        sample_weight: Any,
    ) -> tuple[EncodedTrainingData, dict[str, Any]]:
        """Check the parameters and the data; return the encoded rows and the arguments of `grow_tree`."""
        self._validate_params()
        training = encode_training_data(self, X, y, sample_weight, self.categorical_features)
        n, d = len(training.ranks), len(training.sample.columns)
        return training, {
            "max_depth": self.max_depth,
            "min_leaf": count_rows(self.min_samples_leaf, n),
            "min_decrease": float(self.min_impurity_decrease),
            "max_features": count_features(self.max_features, d),
        }


def count_rows(size: Any, n_rows: int) -> int:
    """Convert a number of rows, or a share of all rows, rounded up, to a number."""
    if isinstance(size, Integral):
        return int(size)
    return ceil(round(float(size) * n_rows, 9))  # 0.1 · 70 is 7.000000000000001 in float64


def count_features(max_features: float | str | None, n_features: int) -> int:
    """Convert the option `max_features` to a number of features."""
    if max_features is None:
        return n_features
    if isinstance(max_features, str):
        return max(int(n_features**0.5) if max_features == "sqrt" else n_features.bit_length() - 1, 1)
    return min(count_rows(max_features, n_features), n_features)


@dataclass(eq=False, repr=False, kw_only=True)
class ConsensusRankingTree(_ConsensusRanker):
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
        Cost λ of a leaf, eq. (52); see `symscreen.label_ranking.learners.consensus_tree`. "cv" selects it by
        cross-validation.
    folds : int
        Number of folds of the cross-validation, at least 2 and limited to the number of rows.
    categorical_features : None, bool array of shape (d,), or sequence of int or str
        Columns with categories. Each distinct number in such a column is a category.
    max_features : {"sqrt", "log2"}, int, float or None
        Number of features considered at a node; None for all.
    median_method : {"auto", "pseudo_empirical", "kemeny", "copeland", "borda"}
        Consensus of the rankings of a leaf; see `find_median_ranking`. "auto" is the exact Kemeny median
        where it can be found, "pseudo_empirical" the Copeland or Borda ranking of eq. (38).
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
    categories are split along their principal axis (`symscreen.statistics.crit_tree`). Thresholds are
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

    max_features: float | str | None = None
    ccp_lambda: float | str = 0.0
    folds: int = 5

    _parameter_constraints: ClassVar[Constraints] = {
        "ccp_lambda": (NON_NEGATIVE, StrOptions({"cv"})),
        "folds": (Interval(Integral, 2, None, closed="left"),),
    }

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
        training, limits = self._prepare(X, y, sample_weight)
        seed, fold_seed = draw_seeds(self.random_state, 2)
        limits["seed"] = seed
        nodes = grow_tree(training.sample, **limits)
        self.tree_: TreeNodes = self._prune(nodes, training, limits, fold_seed)
        leaves = np.flatnonzero(self.tree_.feature < 0)
        self.rankings_: Values = compute_node_rankings(
            self.tree_, leaves, training.ranks.shape[1], self.median_method
        )
        self.categories_ = training.categories
        self.feature_importances_: Values = compute_importances(self.tree_, len(training.categories))
        return self

    def _prune(
        self, nodes: TreeNodes, training: EncodedTrainingData, limits: Mapping[str, Any], fold_seed: int
    ) -> TreeNodes:
        """Prune the tree with the given or the cross-validated penalty."""
        path, n = build_pruning_path(nodes), len(training.ranks)
        if isinstance(self.ccp_lambda, str):
            self.penalties_ = compute_penalties(path)
            self.risks_ = np.zeros(self.penalties_.size)
            if path.merged_nodes.size and n > 1:
                self.risks_ = cross_validate_penalties(
                    training, self.penalties_, limits, self.median_method, min(self.folds, n), fold_seed
                )
            self.ccp_lambda_ = select_penalty(self.penalties_, self.risks_)
        else:
            self.ccp_lambda_ = float(self.ccp_lambda)
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


@dataclass(eq=False, repr=False, kw_only=True)
class ConsensusRankingForest(_ConsensusRanker):
    """Forest of consensus ranking trees on bootstrap samples; it predicts the consensus of the trees.

    Parameters
    ----------
    n_estimators : int
        Number of trees B.
    max_depth, min_samples_leaf, min_impurity_decrease, categorical_features
        Options of each tree; see `ConsensusRankingTree`.
    max_features : {"sqrt", "log2"}, int, float or None
        Number of features considered at a node, drawn for each node; None for all (bagging).
    median_method : {"auto", "pseudo_empirical", "kemeny", "copeland", "borda"}
        Consensus of the rankings of a leaf, and of the rankings of the trees; see `ConsensusRankingTree`.
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
    The prediction at x is the consensus of the B rankings that the trees predict at x. These rankings are
    constant in every joint cell C_1 ∩ … ∩ C_B of the trees, so one consensus is computed per joint cell.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> y = [[1, 2, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1]]
    >>> forest = ConsensusRankingForest(n_estimators=20, random_state=0).fit(X, y)
    >>> forest.predict([[0.0], [9.0]]).tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]
    """

    max_features: float | str | None = "sqrt"
    n_estimators: int = 100
    bootstrap: bool = True
    max_samples: float | None = None
    n_jobs: int | None = None

    _parameter_constraints: ClassVar[Constraints] = {
        "n_estimators": (POSITIVE_INTEGER,),
        "max_samples": (POSITIVE_INTEGER, SHARE, None),
    }

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
        training, limits = self._prepare(X, y, sample_weight)
        n, k = training.ranks.shape
        n_samples = n if self.max_samples is None else count_rows(self.max_samples, n)
        seeds = draw_seeds(self.random_state, self.n_estimators)
        n_drawn = n_samples if self.bootstrap else None
        self.trees_: list[ForestTree] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_grow_tree)(training.sample, limits, k, self.median_method, n_drawn, seed)
            for seed in seeds
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
        n_votes = np.full(votes.shape, float(len(self.trees_)))
        return compute_median_rankings(votes, n_votes, k, self.median_method)[inverse.reshape(-1)]


def _grow_tree(
    sample: RankingSample,
    limits: Mapping[str, Any],
    n_labels: int,
    median_method: str,
    n_drawn: int | None,
    seed: int,
) -> ForestTree:
    """Grow one tree; the result does not depend on other trees or on the thread."""
    if n_drawn is not None:
        n = sample.weights.size
        counts = np.bincount(np.random.default_rng(seed).integers(n, size=n_drawn), minlength=n)
        rows = np.flatnonzero(counts)
        sample = take_rows(sample, rows, counts[rows])
    nodes = grow_tree(sample, **limits, seed=seed)
    rankings = compute_node_rankings(nodes, np.flatnonzero(nodes.feature < 0), n_labels, median_method)
    importances = compute_importances(nodes, len(sample.columns))
    empty = np.empty((len(nodes.feature), 0))  # the pair sums of many deep trees would exceed the memory
    return ForestTree(nodes._replace(sign_sums=empty, pair_weights=empty), rankings, importances)
