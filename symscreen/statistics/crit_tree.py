"""CRIT, the consensus ranking tree (Clémençon et al. 2018, section 4.3 and figure 3), on plain arrays.

A node's dispersion is Σ_{i<j} S_ij·p̂_ij(1 − p̂_ij), where S_ij is the weight of the rows that rank both
labels, and p̂_ij is the share of it that places i before j; ties count half. If rankings are complete, S_ij
is the node's weight W, and the dispersion is W·γ̂, as in eq. (35) without its factor ½. If they are not, each
pair is weighted by the rows that observe it, so no split increases the dispersion, and unobserved pairs
contribute nothing.

Every feature is sorted once. A split partitions the sorted rows of every feature and keeps their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.statistics._kernels import descend_tree, grow_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Values


class RankingSample(NamedTuple):
    """The data that a tree is grown on: n rows, d features and P = k(k − 1)/2 pairs of labels."""

    columns: Values  # (d, n): numeric values, or codes of categories
    categories: Integers  # (d,): number of categories; 0 if the feature is numeric
    signs: NDArray[np.int8]  # (n, P): the sign of rank_i − rank_j
    observed: Flags  # (n, P): whether the row ranks both labels; (0, P) if all rows rank all labels
    weights: Values  # (n,): positive


class TreeLimits(NamedTuple):
    """The stopping rules of a tree."""

    max_depth: int
    min_leaf: int  # minimum number of rows of a child
    min_decrease: float  # minimum decrease of the dispersion γ̂ of the whole tree by a split
    max_features: int  # number of features that are tried in a node
    seed: int  # seed of the draws of these features


class TreeNodes(NamedTuple):
    """The nodes of a tree; parents precede their children, the root is node 0."""

    feature: Integers  # (N,): −1 at a leaf
    threshold: Values  # (N,): rows with x ≤ threshold go left; NaN at a leaf and for categorical features
    goes_left: Flags  # (N, codes + 1): by category; the last column is for categories not in the sample
    left: Integers  # (N,): −1 at a leaf
    right: Integers  # (N,)
    depth: Integers  # (N,)
    n_rows: Integers  # (N,)
    weight: Values  # (N,)
    sign_sums: Values  # (N, P): Σ w·sign(rank_i − rank_j)
    pair_weights: Values  # (N, P): Σ w over the rows that observe the pair
    dispersion: Values  # (N,): Σ_{i<j} S·p(1 − p)
    decrease: Values  # (N,): of the dispersion by the split; 0 at a leaf


def grow_tree(
    sample: RankingSample,
    *,
    max_depth: int | None = None,
    min_leaf: int = 1,
    min_decrease: float = 0.0,
    max_features: int | None = None,
    seed: int = 0,
) -> TreeNodes:
    """Grow a tree: each split minimises the dispersion of the children.

    Parameters
    ----------
    sample : RankingSample
        n ≥ 1 rows, d ≥ 1 features. The shapes must agree; this is not checked.
    max_depth : int, optional
        The maximum depth, in splits. Default: no limit.
    min_leaf : int
        Minimum number of rows of a leaf, at least 1.
    min_decrease : float
        Minimum decrease of the tree's dispersion by a split, relative to the weight of the sample.
    max_features : int, optional
        Number of features, not constant in the node, that are tried at each node; drawn again for each node.
        More are tried if none of them has a gain. Default: all.
    seed : int
        The seed of these draws.

    Returns
    -------
    TreeNodes
        Thresholds are values of the feature, so increasing transformations of features change only the
        thresholds. Among splits that are equal to 12 digits, the first feature and its smallest threshold
        win. A node is a leaf if no split has a gain.

    Notes
    -----
    Clémençon, Korba and Sibony (2018), eq. (36) and (37), exactly: all thresholds (except those with a child
    of less than 1e-9 of its parent's weight) and all subsets of up to ten categories (more:
    `symscreen.statistics.crit_tree`) are tried. After sorting each feature once, the cost of a node is
    linear in its rows: O(n·d·k²) per level.

    Examples
    --------
    >>> signs = np.array([[-1], [-1], [1], [1]], dtype=np.int8)
    >>> complete = np.empty((0, 1), dtype=bool)
    >>> sample = RankingSample(np.array([[0.0, 1.0, 2.0, 3.0]]), np.array([0]), signs, complete, np.ones(4))
    >>> nodes = grow_tree(sample)
    >>> nodes.threshold.tolist(), nodes.dispersion.tolist()
    ([1.0, nan, nan], [1.0, 0.0, 0.0])
    """
    d, n = sample.columns.shape
    depth = n if max_depth is None else min(max_depth, n)
    max_nodes = max(2 * (n // max(min_leaf, 1)) - 1, 1)
    if depth < max_nodes.bit_length():
        max_nodes = min(max_nodes, 2 ** (depth + 1) - 1)
    out = _allocate_nodes(max_nodes, sample.signs.shape[1], int(sample.categories.max(initial=0)) + 1)
    order = np.argsort(sample.columns, axis=1, kind="stable").astype(np.int32)
    n_tried = d if max_features is None else max_features
    limits = TreeLimits(int(depth), int(min_leaf), float(min_decrease), int(n_tried), int(seed) % 2**62)
    n_nodes = grow_nodes(RankingSample(*map(np.ascontiguousarray, sample)), limits, order, out)
    return TreeNodes._make(column[:n_nodes].copy() for column in out)


def find_leaves(nodes: TreeNodes, columns: Values) -> Integers:
    """Find the leaf of each row.

    Parameters
    ----------
    nodes : TreeNodes
        A tree.
    columns : float64 array, shape (d, m)
        The features of m rows. Categories are codes; those not in the sample have the largest code of the
        tree plus 1.

    Returns
    -------
    int64 array, shape (m,)
        Indices of nodes.

    Examples
    --------
    >>> signs, complete = np.array([[-1], [1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    >>> nodes = grow_tree(RankingSample(np.array([[0.0, 1.0]]), np.array([0]), signs, complete, np.ones(2)))
    >>> find_leaves(nodes, np.array([[-5.0, 0.5]])).tolist()
    [1, 2]
    """
    out = np.empty(columns.shape[1], dtype=np.int64)
    descend_tree(nodes, np.ascontiguousarray(columns), out)
    return out


def compute_importances(nodes: TreeNodes, n_features: int) -> Values:
    """Sum the decrease of the dispersion over the splits on each feature.

    Parameters
    ----------
    nodes : TreeNodes
        A tree.
    n_features : int
        d, the number of features.

    Returns
    -------
    float64 array, shape (d,)
        Relative to the weight of the sample: the sum is γ̂ of the root minus γ̂ of the tree.

    Examples
    --------
    >>> signs, all_observed = np.array([[-1], [1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    >>> nodes = grow_tree(RankingSample(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([0, 0]), signs,
    ...     all_observed, np.ones(2)))
    >>> compute_importances(nodes, 2).tolist()
    [0.0, 0.25]
    """
    inside = nodes.feature >= 0
    summed = np.bincount(nodes.feature[inside], weights=nodes.decrease[inside], minlength=n_features)
    return np.asarray(summed / nodes.weight[0], dtype=np.float64)


def _allocate_nodes(max_nodes: int, n_pairs: int, n_codes: int) -> TreeNodes:
    """Allocate the arrays of a tree."""

    def allocate_integers() -> Integers:
        return np.empty(max_nodes, dtype=np.int64)

    def allocate_floats(*shape: int) -> Values:
        return np.empty((max_nodes, *shape))

    return TreeNodes(
        feature=allocate_integers(),
        threshold=allocate_floats(),
        goes_left=np.empty((max_nodes, n_codes), dtype=np.bool_),
        left=allocate_integers(),
        right=allocate_integers(),
        depth=allocate_integers(),
        n_rows=allocate_integers(),
        weight=allocate_floats(),
        sign_sums=allocate_floats(n_pairs),
        pair_weights=allocate_floats(n_pairs),
        dispersion=allocate_floats(),
        decrease=allocate_floats(),
    )
