"""The best split of one feature in one node of a CRIT tree (Clémençon et al. 2018, eq. 36–37).

Numeric features: the rows of the node are passed in ascending order of the feature. Each row moves from the
right to the left child and changes only its own terms of the pair sums, so the cost is linear in the rows.

Categorical features: with up to ten categories in the node every subset is tried. With more, the categories
are sorted by their shares p_ij along the first principal axis of the shares, and cut like a numeric feature
(Coppersmith, Hong and Hosking 1999, Data Min. Knowl. Discov. 3, 197–217). With two labels there is one share,
and the best of all subsets is one of these cuts (Breiman et al. 1984, theorem 4.5). With more labels a better
subset may exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.column_arithmetic import compute_simd_dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values

    Signs = NDArray[np.int8]


# Both are relative to the node's weight.
RELATIVE_GAIN_TOLERANCE = 1e-12  # gains that differ by less (times the number of pairs) are tied
_MIN_CHILD_WEIGHT_SHARE = 1e-9  # the gain of a lighter child is dominated by rounding errors
MAX_EXHAUSTIVE_CATEGORIES = 10  # up to this number all subsets are tried: 511 of them
_POWER_ITERATIONS = 50  # an approximate axis is enough: it only orders the categories


class RankingSample(NamedTuple):
    """The data that a tree is grown on: n rows, d features and P = k(k − 1)/2 pairs of labels."""

    columns: Values  # (d, n): numeric values, or codes of categories
    categories: Integers  # (d,): number of categories; 0 if the feature is numeric
    signs: Signs  # (n, P): the sign of rank_i − rank_j
    observed: Flags  # (n, P): whether the row ranks both labels; (0, P) if all rows rank all labels
    weights: Values  # (n,): positive


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
    workspace.left[:], workspace.right[:] = 0.0, sign_sums
    workspace.left_weights[:], workspace.right_weights[:] = 0.0, pair_weights
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
    workspace.left[:], workspace.right[:] = 0.0, sign_sums
    workspace.left_weights[:], workspace.right_weights[:] = 0.0, pair_weights
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
    return np.argsort(positions, kind="mergesort")


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
