"""Compiled kernels of random numbers and of trees.

**Random numbers.** splitmix64 is equal on every platform and in every thread (Steele, Lea and Flood 2014,
"Fast splittable pseudorandom number generators", OOPSLA).

**The best split of a feature in a node of a CRIT tree** (Clémençon et al. 2018, eq. 36–37). The rows of the
node are passed in ascending order of a numeric feature. Each row moves from the right to the left child and
changes only its own terms of the pair sums, so the cost is linear in the rows.

With up to ten categories in the node every subset of them is tried. With more, the categories are sorted by
their shares p_ij along the first principal axis of the shares, and cut like a numeric feature (Coppersmith,
Hong and Hosking 1999, Data Min. Knowl. Discov. 3, 197–217). With two labels there is one share, and the best
of all subsets is one of these cuts (Breiman et al. 1984, theorem 4.5). With more labels a better subset may
exist.

**Level splits** are those of `symscreen.statistics.level_splits`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.column_arithmetic import compute_simd_dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values
    from symscreen.statistics.crit_tree import RankingSample, TreeLimits, TreeNodes

    Indices = NDArray[np.int64]
    RngState = NDArray[np.uint64]
    Signs = NDArray[np.int8]


_STATE_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32, _11 = (np.uint64(bits) for bits in (30, 27, 31, 32, 11))
_UNIT_SCALE = 2.0**-53
# Both are relative to the node's weight.
RELATIVE_GAIN_TOLERANCE = 1e-12  # gains that differ by less (times the number of pairs) are tied
_MIN_CHILD_WEIGHT_SHARE = 1e-9  # the gain of a lighter child is dominated by rounding errors
MAX_EXHAUSTIVE_CATEGORIES = 10  # up to this number all subsets are tried: 511 of them
_POWER_ITERATIONS = 50  # an approximate axis is enough: it only orders the categories


def seed_stream(*key: int) -> RngState:
    """Return the state, shape (1,), of a stream of random numbers; different keys give independent ones."""
    return np.random.SeedSequence(key).generate_state(1, np.uint64).astype(np.uint64)


@compile_kernel
def draw_bits(state: RngState) -> np.uint64:
    """Draw 64 random bits."""
    state[0] += _STATE_INCREMENT
    x: np.uint64 = state[0]
    x = (x ^ (x >> _30)) * _MIX_1
    x = (x ^ (x >> _27)) * _MIX_2
    x ^= x >> _31
    return x


@compile_kernel
def draw_integer(state: RngState, high: int) -> np.int64:
    """Draw an integer in [0, high), high < 2³¹; the bias is below high · 2⁻³²."""
    # Not int: numba would infer an unsigned type, and signed minus unsigned is a float.
    return np.int64(((draw_bits(state) >> _32) * np.uint64(high)) >> _32)


@compile_kernel
def draw_uniform(state: RngState) -> float:
    """Draw a number in (0, 1)."""
    return (np.float64(draw_bits(state) >> _11) + 0.5) * _UNIT_SCALE


@compile_kernel
def draw_normal(state: RngState) -> float:
    """Draw a standard normal number (Box and Muller 1958)."""
    radius = math.sqrt(-2.0 * math.log(draw_uniform(state)))
    return radius * math.cos(2.0 * math.pi * draw_uniform(state))


class SplitWorkspace(NamedTuple):
    """Scratch arrays for the split search."""

    left: Values  # (P,): Σ w·sign over the rows of the left child
    left_weights: Values  # (P,): Σ w over those rows that observe the pair
    right: Values  # (P,)
    right_weights: Values  # (P,)
    gains: Values  # (n,): by position in the feature's order


@compile_kernel
def compute_agreement(sign_sums: Values, pair_weights: Values) -> float:
    """Sum D²/S over pairs: four times the difference of the node's dispersion from its maximum, ΣS/4.

    With p = (1 − D/S)/2 the weighted dispersion S·p(1 − p) of a pair is (S − D²/S)/4. The split with the
    smallest dispersion is therefore the one with the largest sum of agreements.
    """
    total = 0.0
    for pair in range(sign_sums.size):
        if pair_weights[pair] > 0.0:
            total += sign_sums[pair] * sign_sums[pair] / pair_weights[pair]
    return total


@compile_kernel
def compute_split_agreement(pair_weights: Values, workspace: SplitWorkspace) -> float:
    """Sum the agreements of the left and the right child."""
    total = 0.0
    for pair in range(pair_weights.size):
        floor = RELATIVE_GAIN_TOLERANCE * pair_weights[pair]  # below it a difference is a rounding error
        if workspace.left_weights[pair] > floor:
            total += workspace.left[pair] * workspace.left[pair] / workspace.left_weights[pair]
        if workspace.right_weights[pair] > floor:
            total += workspace.right[pair] * workspace.right[pair] / workspace.right_weights[pair]
    return total


@compile_kernel
def find_first_best(gains: Values, n_gains: int, tolerance: float) -> int:
    """Find the first gain that is within the tolerance of the largest."""
    best = gains[0]
    for i in range(1, n_gains):
        best = max(best, gains[i])
    for i in range(n_gains):
        if gains[i] >= best - tolerance:
            return i
    return 0


@compile_kernel
def scan_thresholds(
    sample: RankingSample,
    rows: Rows,
    values: Values,
    sign_sums: Values,
    pair_weights: Values,
    weight: float,
    min_leaf: int,
    tolerance: float,
    workspace: SplitWorkspace,
) -> tuple[float, int]:
    """Find the best threshold for the rows of a node.

    Parameters
    ----------
    sample : RankingSample
        The data of the tree.
    rows : int32 array, shape (m,)
        The node's rows in ascending order of their values.
    values : float64 array, shape (n,)
        The feature's value of each row of the sample.
    sign_sums, pair_weights : float64 arrays, shape (P,)
        The node's sums of w·sign and of w for each pair.
    weight : float
        The node's total weight.
    min_leaf : int
        Minimum number of rows of a child.
    tolerance : float
        Agreements that differ by less are tied, and the first position wins.
    workspace : SplitWorkspace
        Scratch arrays; overwritten.

    Returns
    -------
    agreement : float
        The agreement of both children; −inf if no split is allowed.
    position : int
        The position in `rows` of the last row of the left child.
    """
    complete = len(sample.observed) == 0
    last = rows.size - 1
    _move_all_right(sign_sums, pair_weights, workspace)
    on_left = 0.0
    for i in range(last):
        row = rows[i]
        on_left += sample.weights[row]
        if complete:
            _move_row(sample.signs[row], sample.weights[row], workspace)
        else:
            _move_incomplete_row(sample.signs[row], sample.observed[row], sample.weights[row], workspace)
        workspace.gains[i] = -np.inf
        small = i + 1 < min_leaf or last - i < min_leaf
        light = min(on_left, weight - on_left) < _MIN_CHILD_WEIGHT_SHARE * weight
        if small or light or not values[row] < values[rows[i + 1]]:
            continue
        if complete:
            pairs = sign_sums.size
            left = compute_simd_dot(workspace.left, workspace.left, 0, pairs) / on_left
            workspace.gains[i] = left + compute_simd_dot(workspace.right, workspace.right, 0, pairs) / (
                weight - on_left
            )
        else:
            workspace.gains[i] = compute_split_agreement(pair_weights, workspace)
    best = find_first_best(workspace.gains, last, tolerance)
    return workspace.gains[best], best


@compile_kernel
def _move_row(signs: Signs, weight: float, workspace: SplitWorkspace) -> None:
    """Move a row that observes all pairs to the left child."""
    left, right = workspace.left, workspace.right
    for pair in range(signs.size):
        part = weight * signs[pair]
        left[pair] += part
        right[pair] -= part


@compile_kernel
def _move_incomplete_row(signs: Signs, observed: Flags, weight: float, workspace: SplitWorkspace) -> None:
    """Move a row that observes some of the pairs to the left child."""
    _move_row(signs, weight, workspace)
    for pair in range(signs.size):
        part = weight if observed[pair] else 0.0
        workspace.left_weights[pair] += part
        workspace.right_weights[pair] -= part


class _CategoryGroups(NamedTuple):
    """The c categories that occur in a node."""

    codes: Integers  # (c,): ascending
    sign_sums: Values  # (c, P): Σ w·sign
    pair_weights: Values  # (c, P): Σ w over the rows that observe the pair
    n_rows: Integers  # (c,)


@compile_kernel
def scan_categories(
    sample: RankingSample,
    rows: Rows,
    feature: int,
    sign_sums: Values,
    pair_weights: Values,
    min_leaf: int,
    tolerance: float,
    workspace: SplitWorkspace,
    goes_left: Flags,
) -> float:
    """Find the best set of categories for the left child.

    Parameters
    ----------
    sample : RankingSample
        The data of the tree.
    rows : int32 array, shape (m,)
        The node's rows in ascending order of their codes.
    feature : int
        The index of the feature.
    sign_sums, pair_weights : float64 arrays, shape (P,)
        The node's sums of w·sign and of w for each pair.
    min_leaf : int
        Minimum number of rows of a child.
    tolerance : float
        Agreements that differ by less are tied. Among tied subsets the smallest wins, read as a binary number
        whose lowest digit is the lowest code; the highest code in the node is always on the right. Among tied
        cuts along the axis the first wins.
    workspace : SplitWorkspace
        Scratch arrays; overwritten.
    goes_left : bool array, shape (categories,)
        Overwritten with True for the codes of the left child.

    Returns
    -------
    float
        The agreement of both children; −inf if no split is allowed.
    """
    groups = _group_rows_by_category(sample, rows, feature)
    n_groups = groups.codes.size
    goes_left[:] = False
    _move_all_right(sign_sums, pair_weights, workspace)
    if n_groups <= MAX_EXHAUSTIVE_CATEGORIES:
        best, subset = _find_best_subset(groups, pair_weights, min_leaf, tolerance, workspace)
        for i in range(n_groups):
            goes_left[groups.codes[i]] = (subset >> i) & 1 == 1
        return float(best)
    order = _order_along_axis(groups)
    best, cut = _find_best_cut(groups, order, pair_weights, min_leaf, tolerance, workspace)
    for i in order[: cut + 1]:
        goes_left[groups.codes[i]] = True
    return float(best)


@compile_kernel
def _group_rows_by_category(sample: RankingSample, rows: Rows, feature: int) -> _CategoryGroups:
    """Sum signs and weights of a node's rows, sorted by code, for each of its categories."""
    column = sample.columns[feature]
    n_groups = 1
    for i in range(1, rows.size):
        n_groups += column[rows[i]] != column[rows[i - 1]]
    pairs = sample.signs.shape[1]
    codes = np.empty(n_groups, dtype=np.int64)
    sign_sums, pair_weights = np.zeros((n_groups, pairs)), np.zeros((n_groups, pairs))
    sizes = np.zeros(n_groups, dtype=np.int64)
    complete = len(sample.observed) == 0
    group = -1
    for i in range(rows.size):
        row = rows[i]
        if i == 0 or column[row] != column[rows[i - 1]]:
            group += 1
            codes[group] = int(column[row])
        sizes[group] += 1
        weight = sample.weights[row]
        for pair in range(pairs):
            sign_sums[group, pair] += weight * sample.signs[row, pair]
            if complete or sample.observed[row, pair]:
                pair_weights[group, pair] += weight
    return _CategoryGroups(codes, sign_sums, pair_weights, sizes)


@compile_kernel
def _move_all_right(sign_sums: Values, pair_weights: Values, workspace: SplitWorkspace) -> None:
    """Give all rows of a node to the right child."""
    for pair in range(workspace.left.size):  # assigning arrays takes seconds to compile
        workspace.left[pair], workspace.right[pair] = 0.0, sign_sums[pair]
        workspace.left_weights[pair], workspace.right_weights[pair] = 0.0, pair_weights[pair]


@compile_kernel
def _move_category(groups: _CategoryGroups, group: int, direction: float, workspace: SplitWorkspace) -> None:
    """Move a category to the left child (direction 1) or back to the right child (direction −1)."""
    for pair in range(workspace.left.size):
        sign_sum = direction * groups.sign_sums[group, pair]
        pair_weight = direction * groups.pair_weights[group, pair]
        workspace.left[pair] += sign_sum
        workspace.right[pair] -= sign_sum
        workspace.left_weights[pair] += pair_weight
        workspace.right_weights[pair] -= pair_weight


@compile_kernel
def _find_best_subset(
    groups: _CategoryGroups, pair_weights: Values, min_leaf: int, tolerance: float, workspace: SplitWorkspace
) -> tuple[float, int]:
    """Try all subsets without the last category in Gray code order: each step moves one category."""
    n_groups = groups.codes.size
    gains = np.full(1 << (n_groups - 1), -np.inf)
    subset, on_left = 0, 0
    total = groups.n_rows.sum()
    for step in range(1, gains.size):
        group = 0
        while (step >> group) & 1 == 0:
            group += 1
        subset ^= 1 << group
        direction = 1 if (subset >> group) & 1 else -1
        _move_category(groups, group, float(direction), workspace)
        on_left += direction * groups.n_rows[group]
        if min(on_left, total - on_left) >= min_leaf:
            gains[subset] = compute_split_agreement(pair_weights, workspace)
    best = find_first_best(gains, gains.size, tolerance)
    return gains[best], best


@compile_kernel
def _find_best_cut(
    groups: _CategoryGroups,
    order: Integers,
    pair_weights: Values,
    min_leaf: int,
    tolerance: float,
    workspace: SplitWorkspace,
) -> tuple[float, int]:
    """Find the best cut of the categories in the given order; return its gain and position."""
    gains = np.full(order.size - 1, -np.inf)
    on_left, total = 0, groups.n_rows.sum()
    for i in range(gains.size):
        _move_category(groups, order[i], 1.0, workspace)
        on_left += groups.n_rows[order[i]]
        if min(on_left, total - on_left) >= min_leaf:
            gains[i] = compute_split_agreement(pair_weights, workspace)
    best = find_first_best(gains, gains.size, tolerance)
    return gains[best], best


@compile_kernel
def _order_along_axis(groups: _CategoryGroups) -> Integers:
    """Sort categories by their shares D/S projected on the first principal axis of the weighted shares."""
    shares, weights = _compute_centered_shares(groups)
    n_groups, pairs = shares.shape
    farthest, max_spread = 0, -1.0
    for group in range(n_groups):
        spread = 0.0
        for pair in range(pairs):
            spread += weights[group, pair] * shares[group, pair] ** 2
        if spread > max_spread:
            farthest, max_spread = group, spread
    axis = shares[farthest].copy()
    positions = np.empty(n_groups)
    for _ in range(_POWER_ITERATIONS):
        _project_shares(shares, axis, positions)
        axis[:] = 0.0
        for group in range(n_groups):
            for pair in range(pairs):
                axis[pair] += weights[group, pair] * positions[group] * shares[group, pair]
        norm = np.sqrt((axis * axis).sum())
        if norm == 0.0:  # all categories are equal: keep their order
            break
        axis /= norm
    _project_shares(shares, axis, positions)
    order = np.empty(n_groups, dtype=np.int64)
    for group in range(n_groups):  # by insertion, which is stable and quick to compile
        place = group
        while place > 0 and positions[order[place - 1]] > positions[group]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = group
    return order


@compile_kernel
def _compute_centered_shares(groups: _CategoryGroups) -> tuple[Values, Values]:
    """Compute centred shares D/S (0 where a category does not observe the pair) and weights with sum 1."""
    shares, weights = np.zeros_like(groups.pair_weights), np.zeros_like(groups.pair_weights)
    n_groups, pairs = shares.shape
    for pair in range(pairs):
        pair_weight, sign_sum = groups.pair_weights[:, pair].sum(), groups.sign_sums[:, pair].sum()
        for group in range(n_groups):
            if groups.pair_weights[group, pair] > 0.0:
                share = groups.sign_sums[group, pair] / groups.pair_weights[group, pair]
                shares[group, pair] = share - sign_sum / pair_weight
                weights[group, pair] = groups.pair_weights[group, pair] / pair_weight
    return shares, weights


@compile_kernel
def _project_shares(shares: Values, axis: Values, positions: Values) -> None:
    """Project shares, shape (c, P), on the axis, shape (P,), into `positions`, shape (c,)."""
    for group in range(positions.size):
        position = 0.0
        for pair in range(axis.size):
            position += shares[group, pair] * axis[pair]
        positions[group] = position


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
    for feature in range(d):
        splits.feature_order[feature] = feature
    state = np.array([np.uint64(limits.seed) + np.uint64(node) * np.uint64(0xD1342543DE82EF95)])
    n_tried, best = 0, -np.inf
    for position in range(d):
        if limits.max_features < d:
            drawn = position + int(draw_bits(state) % np.uint64(d - position))
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
        for moved in range(right):
            rows[left + moved] = buffer[moved]
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


@compile_kernel
def descend_tree(nodes: TreeNodes, columns: Values, out: Integers) -> None:
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


@compile_kernel
def find_best_split(
    columns: Values, order: Indices, cells: Indices, y: Values, tie_tolerance: float
) -> tuple[int, float]:
    """Find the direction (i, c) that maximises V_n(S ∪ {i}); the feature is −1 if no direction splits a cell.

    Rows move from the right to the left part of their cell in ascending order of the feature. Each move
    changes only the two terms of that cell, so a feature costs O(n) for any number of cells.
    """
    d, n = columns.shape
    groups = 0
    for row in range(n):
        groups = max(groups, cells[row] + 1)
    n_rows, sums = np.zeros(groups), np.zeros(groups)
    for row in range(n):
        n_rows[cells[row]] += 1.0
        sums[cells[row]] += y[row]
    explained_before = 0.0
    for cell in range(groups):
        explained_before += sums[cell] * sums[cell] / n_rows[cell]
    best, feature, threshold = -np.inf, -1, 0.0
    n_left, left_sums = np.empty(groups), np.empty(groups)
    for i in range(d):
        n_left[:] = 0.0
        left_sums[:] = 0.0
        explained, n_divided = explained_before, 0
        for position in range(n - 1):
            row = order[i, position]
            cell = cells[row]
            explained -= _compute_explained_part(left_sums[cell], n_left[cell])
            explained -= _compute_explained_part(sums[cell] - left_sums[cell], n_rows[cell] - n_left[cell])
            if n_left[cell] == 0.0:
                n_divided += 1
            n_left[cell] += 1.0
            left_sums[cell] += y[row]
            if n_left[cell] == n_rows[cell]:
                n_divided -= 1
            explained += _compute_explained_part(left_sums[cell], n_left[cell])
            explained += _compute_explained_part(sums[cell] - left_sums[cell], n_rows[cell] - n_left[cell])
            value, next_value = columns[i, row], columns[i, order[i, position + 1]]
            if next_value > value and n_divided > 0 and explained > best + tie_tolerance:
                best, feature = explained, i
                threshold = value + (next_value - value) / 2.0
                if not value <= threshold < next_value:  # adjacent floats, or the difference overflows
                    threshold = value
    return feature, threshold


@compile_kernel
def _compute_explained_part(total: float, n_rows: float) -> float:
    """Compute one cell's term of n V_n(S); 0 for an empty cell."""
    return total * total / n_rows if n_rows > 0.0 else 0.0
