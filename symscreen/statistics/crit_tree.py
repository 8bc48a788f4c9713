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

from symscreen._numba import compile_kernel
from symscreen.statistics.crit_splits import (
    RELATIVE_GAIN_TOLERANCE,
    RankingSample,
    SplitWorkspace,
    compute_agreement,
    find_first_best,
    scan_categories,
    scan_thresholds,
)

if TYPE_CHECKING:
    from symscreen._typing import Flags, Integers, Rows, Values


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


class _FeatureSplits(NamedTuple):
    """The best split of one node on each feature."""

    feature_order: Integers  # (d,): features in the order in which they are tried
    gains: Values  # (d,): −inf without a split
    thresholds: Values  # (d,)
    goes_left: Flags  # (d, codes + 1)


@compile_kernel
def grow_nodes(sample: RankingSample, limits: TreeLimits, order: Rows, out: TreeNodes) -> int:
    """Grow a tree into preallocated arrays.

    Parameters
    ----------
    sample : RankingSample
        The data.
    limits : TreeLimits
        The stopping rules.
    order : int32 array, shape (d, n)
        The rows sorted by each feature; partitioned in place.
    out : TreeNodes
        Overwritten; large enough for the largest tree within the limits.

    Returns
    -------
    int
        The number of nodes.
    """
    (d, n), pairs = order.shape, sample.signs.shape[1]
    workspace = SplitWorkspace(
        np.empty(pairs), np.empty(pairs), np.empty(pairs), np.empty(pairs), np.empty(n)
    )
    codes = out.goes_left.shape[1]
    splits = _FeatureSplits(np.arange(d), np.empty(d), np.empty(d), np.zeros((d, codes), dtype=np.bool_))
    on_left, buffer = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32)
    stack = np.empty((n + 1, 3), dtype=np.int64)
    stack[0] = (0, 0, n)
    n_waiting, n_nodes = 1, 1
    out.depth[0] = 0
    while n_waiting:
        n_waiting -= 1
        node, start, stop = stack[n_waiting]
        _initialize_node(sample, order[0, start:stop], node, out)
        feature = -1
        if out.depth[node] < limits.max_depth and stop - start >= max(2 * limits.min_leaf, 2):
            feature = _find_split_feature(sample, limits, order, start, stop, node, out, splits, workspace)
        if feature < 0:
            continue
        _split_node(feature, node, n_nodes, out, splits, sample.categories[feature] > 0)
        middle = start + _partition_rows(sample, order, start, stop, node, out, on_left, buffer)
        _assign_unseen_categories(sample, order[feature, start:stop], node, out, on_left)
        stack[n_waiting] = (n_nodes + 1, middle, stop)
        stack[n_waiting + 1] = (n_nodes, start, middle)
        n_waiting, n_nodes = n_waiting + 2, n_nodes + 2
    return n_nodes


@compile_kernel
def _initialize_node(sample: RankingSample, rows: Rows, node: int, out: TreeNodes) -> None:
    """Sum up the rows of a node and make it a leaf."""
    sign_sums, pair_weights = out.sign_sums[node], out.pair_weights[node]
    sign_sums[:], pair_weights[:] = 0.0, 0.0
    complete = len(sample.observed) == 0
    total = 0.0
    for row in rows:
        weight = sample.weights[row]
        total += weight
        for pair in range(sign_sums.size):
            sign_sums[pair] += weight * sample.signs[row, pair]
        if not complete:
            for pair in range(pair_weights.size):
                pair_weights[pair] += weight if sample.observed[row, pair] else 0.0
    if complete:
        pair_weights[:] = total
    out.feature[node], out.left[node], out.right[node] = -1, -1, -1
    out.threshold[node], out.decrease[node] = np.nan, 0.0
    out.n_rows[node], out.weight[node] = rows.size, total
    # S·p(1 − p) with p = (1 − D/S)/2 (eq. 35).
    out.dispersion[node] = (pair_weights.sum() - compute_agreement(sign_sums, pair_weights)) / 4.0
    out.goes_left[node] = False


@compile_kernel
def _find_split_feature(
    sample: RankingSample,
    limits: TreeLimits,
    order: Rows,
    start: int,
    stop: int,
    node: int,
    out: TreeNodes,
    splits: _FeatureSplits,
    workspace: SplitWorkspace,
) -> int:
    """Find the feature with the best split of a node, or −1 if no split is good enough."""
    d = len(order)
    sign_sums, pair_weights = out.sign_sums[node], out.pair_weights[node]
    tolerance, agreement = (
        RELATIVE_GAIN_TOLERANCE * pair_weights.sum(),
        compute_agreement(sign_sums, pair_weights),
    )
    if 4.0 * out.dispersion[node] <= tolerance:
        return -1
    splits.gains[:] = -np.inf
    splits.feature_order[:] = np.arange(d)
    state = np.uint64(limits.seed) + np.uint64(node) * np.uint64(0xD1342543DE82EF95)
    n_tried, best = 0, -np.inf
    for position in range(d):
        if limits.max_features < d:
            state += np.uint64(0x9E3779B97F4A7C15)
            drawn = position + int(_mix_bits(state) % np.uint64(d - position))
            splits.feature_order[position], splits.feature_order[drawn] = (
                splits.feature_order[drawn],
                splits.feature_order[position],
            )
        feature = splits.feature_order[position]
        rows, column = order[feature, start:stop], sample.columns[feature]
        if column[rows[0]] == column[rows[-1]]:
            continue
        n_tried += 1
        if sample.categories[feature] > 0:
            goes_left = splits.goes_left[feature]
            gain = scan_categories(
                sample,
                rows,
                feature,
                sign_sums,
                pair_weights,
                limits.min_leaf,
                tolerance,
                workspace,
                goes_left,
            )
        else:
            weight = out.weight[node]
            gain, last_left = scan_thresholds(
                sample, rows, column, sign_sums, pair_weights, weight, limits.min_leaf, tolerance, workspace
            )
            splits.thresholds[feature] = column[rows[last_left]]
        splits.gains[feature] = gain - agreement
        best = max(best, gain - agreement)
        if n_tried >= limits.max_features and best > tolerance:
            break
    # Minimise Λ(C) (eq. 36–37): Λ decreases by a quarter of the increase of the agreement.
    if best <= tolerance or best / 4.0 < limits.min_decrease * out.weight[0]:
        return -1
    return int(find_first_best(splits.gains, d, tolerance))


@compile_kernel
def _mix_bits(state: np.uint64) -> np.uint64:
    """Mix the bits of a counter (splitmix64, Steele, Lea and Flood 2014)."""
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@compile_kernel
def _split_node(
    feature: int, node: int, child: int, out: TreeNodes, splits: _FeatureSplits, by_category: bool
) -> None:
    """Make a leaf the parent of two new nodes."""
    out.feature[node], out.left[node], out.right[node] = feature, child, child + 1
    out.depth[child], out.depth[child + 1] = out.depth[node] + 1, out.depth[node] + 1
    out.decrease[node] = splits.gains[feature] / 4.0
    if by_category:
        out.goes_left[node] = splits.goes_left[feature]
    else:
        out.threshold[node] = splits.thresholds[feature]


@compile_kernel
def _partition_rows(
    sample: RankingSample,
    order: Rows,
    start: int,
    stop: int,
    node: int,
    out: TreeNodes,
    on_left: Flags,
    buffer: Rows,
) -> int:
    """Partition the rows of a node under every feature; return the number of rows on the left."""
    feature = out.feature[node]
    column, by_category = sample.columns[feature], sample.categories[feature] > 0
    for row in order[feature, start:stop]:
        if by_category:
            on_left[row] = out.goes_left[node, int(column[row])]
        else:
            on_left[row] = column[row] <= out.threshold[node]
    left = 0
    for other in range(len(order)):
        rows = order[other, start:stop]
        left, right = 0, 0
        for row in rows:
            if on_left[row]:
                rows[left] = row
                left += 1
            else:
                buffer[right] = row
                right += 1
        rows[left:] = buffer[:right]
    return left


@compile_kernel
def _assign_unseen_categories(
    sample: RankingSample, rows: Rows, node: int, out: TreeNodes, on_left: Flags
) -> None:
    """Send categories that the node does not contain to its heavier child, or left if both weigh the same."""
    column = sample.columns[out.feature[node]]
    if sample.categories[out.feature[node]] == 0:
        return
    weights = np.zeros(2)
    present = np.zeros(out.goes_left.shape[1], dtype=np.bool_)
    for row in rows:
        weights[int(on_left[row])] += sample.weights[row]
        present[int(column[row])] = True
    for code in range(present.size):
        if not present[code]:
            out.goes_left[node, code] = weights[1] >= weights[0]


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
    `symscreen.statistics.crit_splits`) are tried. After sorting each feature once, the cost of a node is
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
    _descend_tree(nodes, np.ascontiguousarray(columns), out)
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


@compile_kernel
def _descend_tree(nodes: TreeNodes, columns: Values, out: Integers) -> None:
    """Write the leaf of each row, shape (m,)."""
    for row in range(out.size):
        node = 0
        while nodes.feature[node] >= 0:
            value = columns[nodes.feature[node], row]
            if np.isnan(nodes.threshold[node]):
                goes_left = nodes.goes_left[node, int(value)]
            else:
                goes_left = value <= nodes.threshold[node]
            node = nodes.left[node] if goes_left else nodes.right[node]
        out[row] = node
