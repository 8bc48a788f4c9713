"""The growth of a CRIT tree, node by node (Clémençon et al. 2018, section 4.3 and figure 3).

Every feature is sorted once, before; a split parts the sorted rows of every feature and keeps their order.

CRIT, the consensus ranking tree (Clémençon et al. 2018, section 4.3), on plain arrays.

A node's dispersion is Σ_{i<j} S_ij·p̂_ij(1 − p̂_ij): S_ij the weight of the rows that show both labels, p̂_ij
the share of it that places i before j, ties counting half. Where rankings are complete S is the node's weight
W, and this is W·γ̂, as in eq. (35) without its factor ½. Where they are not, a pair counts for as much as it
is seen; so no split raises the dispersion, and pairs that nobody shows are worth nothing.
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


__all__ = [
    "RankingSample",
    "TreeLimits",
    "TreeNodes",
    "compute_importances",
    "find_leaves",
    "grow_nodes",
    "grow_tree",
]


class TreeLimits(NamedTuple):
    """Where growth ends."""

    max_depth: int
    min_leaf: int  # the fewest rows of a child
    min_decrease: float  # the least decrease of the dispersion γ̂ of the whole tree
    max_features: int  # how many are looked at in a node
    seed: int  # of the draws where those are fewer than all


class TreeNodes(NamedTuple):
    """The nodes of a tree; parents before their children, the root first."""

    feature: Integers  # (N,): −1 at a leaf
    threshold: Values  # (N,): rows with x ≤ threshold go left; NaN at a leaf and where categories decide
    goes_left: Flags  # (N, codes + 1): by category; the last is for categories never seen
    left: Integers  # (N,): −1 at a leaf
    right: Integers  # (N,)
    depth: Integers  # (N,)
    n_rows: Integers  # (N,)
    weight: Values  # (N,)
    sign_sums: Values  # (N, P): Σ w·sign(rank_i − rank_j)
    pair_weights: Values  # (N, P): Σ w over the rows that show the pair
    dispersion: Values  # (N,): Σ_{i<j} S·p(1 − p)
    decrease: Values  # (N,): of the dispersion, by the split; 0 at a leaf


class _FeatureSplits(NamedTuple):
    """The best split of one node on each feature."""

    feature_order: Integers  # (d,): features in the order in which they are looked at
    gains: Values  # (d,): −inf where there is none
    thresholds: Values  # (d,)
    goes_left: Flags  # (d, codes + 1)


@compile_kernel
def grow_nodes(sample: RankingSample, limits: TreeLimits, order: Rows, out: TreeNodes) -> int:
    """Grow a tree.

    Parameters
    ----------
    sample : Sample
        What it is grown on.
    limits : Limits
        Where growth ends.
    order : int32 array, shape (d, n)
        The rows by each feature, ascending; parted in place.
    out : Nodes
        Filled; room for every node that may come.

    Returns
    -------
    int
        How many nodes there are.
    """
    (d, n), pairs = order.shape, sample.signs.shape[1]
    room = SplitWorkspace(np.empty(pairs), np.empty(pairs), np.empty(pairs), np.empty(pairs), np.empty(n))
    codes = out.goes_left.shape[1]
    splits = _FeatureSplits(np.arange(d), np.empty(d), np.empty(d), np.zeros((d, codes), dtype=np.bool_))
    on_left, spare = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32)
    stack = np.empty((n + 1, 3), dtype=np.int64)
    stack[0] = (0, 0, n)
    waiting, count = 1, 1
    out.depth[0] = 0
    while waiting:
        waiting -= 1
        node, start, stop = stack[waiting]
        _initialize_node(sample, order[0, start:stop], node, out)
        feature = -1
        if out.depth[node] < limits.max_depth and stop - start >= max(2 * limits.min_leaf, 2):
            feature = _find_split_feature(sample, limits, order, start, stop, node, out, splits, room)
        if feature < 0:
            continue
        _split_node(feature, node, count, out, splits, sample.categories[feature] > 0)
        middle = start + _partition_rows(sample, order, start, stop, node, out, on_left, spare)
        _assign_unseen_categories(sample, order[feature, start:stop], node, out, on_left)
        stack[waiting] = (count + 1, middle, stop)
        stack[waiting + 1] = (count, start, middle)
        waiting, count = waiting + 2, count + 2
    return count


@compile_kernel
def _initialize_node(sample: RankingSample, rows: Rows, node: int, out: TreeNodes) -> None:
    """Sum up the rows of a node, for now a leaf."""
    differences, seen = out.sign_sums[node], out.pair_weights[node]
    differences[:], seen[:] = 0.0, 0.0
    complete = len(sample.observed) == 0
    total = 0.0
    for row in rows:
        weight = sample.weights[row]
        total += weight
        for pair in range(differences.size):
            differences[pair] += weight * sample.signs[row, pair]
        if not complete:
            for pair in range(seen.size):
                seen[pair] += weight if sample.observed[row, pair] else 0.0
    if complete:
        seen[:] = total
    out.feature[node], out.left[node], out.right[node] = -1, -1, -1
    out.threshold[node], out.decrease[node] = np.nan, 0.0
    out.n_rows[node], out.weight[node] = rows.size, total
    # S·p(1 − p) with p = (1 − D/S)/2                                                                   (35)
    out.dispersion[node] = (seen.sum() - compute_agreement(differences, seen)) / 4.0
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
    """Find the feature to split a node on, or −1 where no split gains anything."""
    d = len(order)
    differences, seen = out.sign_sums[node], out.pair_weights[node]
    blur, before = RELATIVE_GAIN_TOLERANCE * seen.sum(), compute_agreement(differences, seen)
    if 4.0 * out.dispersion[node] <= blur:
        return -1
    splits.gains[:] = -np.inf
    splits.feature_order[:] = np.arange(d)
    state = np.uint64(limits.seed) + np.uint64(node) * np.uint64(0xD1342543DE82EF95)
    looked, best = 0, -np.inf
    for turn in range(d):
        if limits.max_features < d:
            state += np.uint64(0x9E3779B97F4A7C15)
            other = turn + int(_mix_bits(state) % np.uint64(d - turn))
            splits.feature_order[turn], splits.feature_order[other] = (
                splits.feature_order[other],
                splits.feature_order[turn],
            )
        feature = splits.feature_order[turn]
        rows, column = order[feature, start:stop], sample.columns[feature]
        if column[rows[0]] == column[rows[-1]]:
            continue
        looked += 1
        if sample.categories[feature] > 0:
            side = splits.goes_left[feature]
            gain = scan_categories(
                sample, rows, feature, differences, seen, limits.min_leaf, blur, workspace, side
            )
        else:
            weight = out.weight[node]
            gain, place = scan_thresholds(
                sample, rows, column, differences, seen, weight, limits.min_leaf, blur, workspace
            )
            splits.thresholds[feature] = column[rows[place]]
        splits.gains[feature] = gain - before
        best = max(best, gain - before)
        if looked >= limits.max_features and best > blur:
            break
    # min over C of Λ(C), eq. (36): Λ falls by a quarter of what the agreement gains                      (37)
    if best <= blur or best / 4.0 < limits.min_decrease * out.weight[0]:
        return -1
    return int(find_first_best(splits.gains, d, blur))


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
    """Make a leaf the parent of two nodes."""
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
    """Part the rows of a node under every feature; return how many go left."""
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
    """Send categories that the node has not seen to its heavier child, the left of two that weigh as much."""
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
    """Grow a tree: every node is split where the dispersion of its children is least.

    Parameters
    ----------
    sample : Sample
        n ≥ 1 rows, d ≥ 1 features; nothing checks that shapes agree.
    max_depth : int, optional
        How many splits deep.
    min_leaf : int
        The fewest rows of a leaf, ≥ 1.
    min_decrease : float
        A split must lower the dispersion of the tree by at least this, relative to the weight of the sample.
    max_features : int, optional
        How many features that vary in the node are looked at, drawn anew for each; more where none of them
        gains anything. Default all.
    seed : int
        Of these draws.

    Returns
    -------
    Nodes
        Thresholds are values of the feature, so that growing features by increasing functions changes nothing
        else. Of splits that are as good, to 12 digits, the first feature and its smallest threshold are
        taken. A node is a leaf where no split gains anything.

    Notes
    -----
    Clémençon, Korba and Sibony (2018), eq. (36) and (37), exactly: all thresholds (but where a child
    would have less than 1e-9 of its parent's weight), all subsets of up to ten categories (more:
    `symscreen.statistics.crit_splits`). After one sort a feature the cost of a node is linear in its
    rows: O(n·d·k²) a level.

    Examples
    --------
    >>> signs = np.array([[-1], [-1], [1], [1]], dtype=np.int8)
    >>> everywhere = np.empty((0, 1), dtype=bool)
    >>> sample = RankingSample(np.array([[0.0, 1.0, 2.0, 3.0]]), np.array([0]), signs, everywhere, np.ones(4))
    >>> nodes = grow_tree(sample)
    >>> nodes.threshold.tolist(), nodes.dispersion.tolist()
    ([1.0, nan, nan], [1.0, 0.0, 0.0])
    """
    d, n = sample.columns.shape
    depth = n if max_depth is None else min(max_depth, n)
    most = max(2 * (n // max(min_leaf, 1)) - 1, 1)
    if depth < most.bit_length():
        most = min(most, 2 ** (depth + 1) - 1)
    out = _allocate_nodes(most, sample.signs.shape[1], int(sample.categories.max(initial=0)) + 1)
    order = np.argsort(sample.columns, axis=1, kind="stable").astype(np.int32)
    looked_at = d if max_features is None else max_features
    limits = TreeLimits(int(depth), int(min_leaf), float(min_decrease), int(looked_at), int(seed) % 2**62)
    count = grow_nodes(RankingSample(*map(np.ascontiguousarray, sample)), limits, order, out)
    return TreeNodes._make(column[:count].copy() for column in out)


def find_leaves(nodes: TreeNodes, columns: Values) -> Integers:
    """Find the leaf of each row.

    Parameters
    ----------
    nodes : Nodes
        A tree.
    columns : float64 array, shape (d, m)
        Of m rows; categories as codes, those never seen by the largest code of the tree, plus 1.

    Returns
    -------
    int64 array, shape (m,)
        Numbers of nodes.

    Examples
    --------
    >>> signs, shown = np.array([[-1], [1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    >>> nodes = grow_tree(RankingSample(np.array([[0.0, 1.0]]), np.array([0]), signs, shown, np.ones(2)))
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
    nodes : Nodes
        A tree.
    d : int
        How many features there are.

    Returns
    -------
    float64 array, shape (d,)
        Relative to the weight of the sample: the sum is γ̂ of the root less that of the tree.

    Examples
    --------
    >>> signs, shown = np.array([[-1], [1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    >>> nodes = grow_tree(RankingSample(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([0, 0]), signs,
    ...     shown, np.ones(2)))
    >>> compute_importances(nodes, 2).tolist()
    [0.0, 0.25]
    """
    inside = nodes.feature >= 0
    summed = np.bincount(nodes.feature[inside], weights=nodes.decrease[inside], minlength=n_features)
    return np.asarray(summed / nodes.weight[0], dtype=np.float64)


def _allocate_nodes(max_nodes: int, n_pairs: int, n_codes: int) -> TreeNodes:
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
