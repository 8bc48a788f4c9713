"""The best threshold of one numeric feature in one node of a CRIT tree (Clémençon et al. 2018, eq. 36–37).

The rows of the node are passed in the order of the feature. Each moves from the right to the left child, and
only its own signs change the pair sums: the cost is linear in the rows.

The best subset of the categories of a feature in one node of a CRIT tree (Clémençon et al. 2018, eq. 37).

Up to ten categories in the node: every subset is tried. With more, the categories are put in the order of
their shares p_ij along the first principal axis of these, and cut as a numeric feature is (Coppersmith, Hong
and Hosking 1999, Data Min. Knowl. Discov. 3, 197–217). With two labels there is one share, and the best of
all subsets is one of these cuts (Breiman et al. 1984, theorem 4.5); with more labels a better one may exist.
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

__all__ = [
    "MAX_EXHAUSTIVE_CATEGORIES",
    "RELATIVE_GAIN_TOLERANCE",
    "RankingSample",
    "SplitWorkspace",
    "compute_agreement",
    "compute_split_agreement",
    "find_first_best",
    "scan_categories",
    "scan_thresholds",
]

RELATIVE_GAIN_TOLERANCE = 1e-12  # of the node's weight over all pairs: gains that differ by less are one
_MIN_CHILD_WEIGHT_SHARE = 1e-9  # of the node's weight: what a lighter child gains drowns in rounding


class RankingSample(NamedTuple):
    """What a tree is grown on: n rows, d features, P = k(k − 1)/2 pairs of labels."""

    columns: Values  # (d, n): numbers, or the categories' codes
    categories: Integers  # (d,): how many codes; 0 where the feature is numeric
    signs: Signs  # (n, P): the sign of rank_i − rank_j
    observed: Flags  # (n, P): which pairs a row shows; (0, P) where every row shows all
    weights: Values  # (n,): positive


class SplitWorkspace(NamedTuple):
    """Arrays to work in."""

    left: Values  # (P,): Σ w·sign over the rows on the left
    left_weights: Values  # (P,): Σ w over those of them that show the pair
    right: Values  # (P,)
    right_weights: Values  # (P,)
    gains: Values  # (n,): by place in the feature's order


@compile_kernel
def compute_agreement(sign_sums: Values, pair_weights: Values) -> float:
    """Sum D²/S over pairs: four times what a node's dispersion is below its maximum, ΣS/4.

    With p = (1 − D/S)/2 the weighted dispersion S·p(1 − p) of a pair is (S − D²/S)/4, so that the split of
    the least dispersion is that of the largest sum of agreements.
    """
    total = 0.0
    for pair in range(sign_sums.size):
        if pair_weights[pair] > 0.0:
            total += sign_sums[pair] * sign_sums[pair] / pair_weights[pair]
    return total


@compile_kernel
def compute_split_agreement(pair_weights: Values, workspace: SplitWorkspace) -> float:
    """Sum the agreements of the left and of the right child."""
    total = 0.0
    for pair in range(pair_weights.size):
        floor = RELATIVE_GAIN_TOLERANCE * pair_weights[pair]  # what subtraction leaves of nothing
        if workspace.left_weights[pair] > floor:
            total += workspace.left[pair] * workspace.left[pair] / workspace.left_weights[pair]
        if workspace.right_weights[pair] > floor:
            total += workspace.right[pair] * workspace.right[pair] / workspace.right_weights[pair]
    return total


@compile_kernel
def find_first_best(gains: Values, n_gains: int, tolerance: float) -> int:
    """Find the first of the gains that are as good as the best."""
    best = gains[0]
    for place in range(1, n_gains):
        best = max(best, gains[place])
    for place in range(n_gains):
        if gains[place] >= best - tolerance:
            return place
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
    """Find the best place to cut the rows of a node.

    Parameters
    ----------
    sample : Sample
        What the tree is grown on.
    rows : int32 array, shape (m,)
        The node's rows, values ascending.
    values : float64 array, shape (n,)
        Of the feature, by row.
    differences, seen : float64 arrays, shape (P,)
        The node's sums.
    weight : float
        The node's.
    leaf : int
        The fewest rows of a child.
    blur : float
        Agreements that differ by less are one, and the first place is taken.
    room : Room
        To work in.

    Returns
    -------
    agreement : float
        Of both children; −inf where no place is allowed.
    place : int
        The last row on the left.
    """
    complete = len(sample.observed) == 0
    last = rows.size - 1
    workspace.left[:], workspace.right[:] = 0.0, sign_sums
    workspace.left_weights[:], workspace.right_weights[:] = 0.0, pair_weights
    on_left = 0.0
    for place in range(last):
        row = rows[place]
        on_left += sample.weights[row]
        if complete:
            _move_row(sample.signs[row], sample.weights[row], workspace)
        else:
            _move_incomplete_row(sample.signs[row], sample.observed[row], sample.weights[row], workspace)
        workspace.gains[place] = -np.inf
        small = place + 1 < min_leaf or last - place < min_leaf
        light = min(on_left, weight - on_left) < _MIN_CHILD_WEIGHT_SHARE * weight
        if small or light or not values[row] < values[rows[place + 1]]:
            continue
        if complete:
            pairs = sign_sums.size
            left = compute_simd_dot(workspace.left, workspace.left, 0, pairs) / on_left
            workspace.gains[place] = left + compute_simd_dot(workspace.right, workspace.right, 0, pairs) / (
                weight - on_left
            )
        else:
            workspace.gains[place] = compute_split_agreement(pair_weights, workspace)
    best = find_first_best(workspace.gains, last, tolerance)
    return workspace.gains[best], best


@compile_kernel
def _move_row(signs: Signs, weight: float, workspace: SplitWorkspace) -> None:
    left, right = workspace.left, workspace.right
    for pair in range(signs.size):
        part = weight * signs[pair]
        left[pair] += part
        right[pair] -= part


@compile_kernel
def _move_incomplete_row(signs: Signs, observed: Flags, weight: float, workspace: SplitWorkspace) -> None:
    _move_row(signs, weight, workspace)
    for pair in range(signs.size):
        part = weight if observed[pair] else 0.0
        workspace.left_weights[pair] += part
        workspace.right_weights[pair] -= part


MAX_EXHAUSTIVE_CATEGORIES = 10  # categories whose subsets are all tried: 511 of them
_POWER_ITERATIONS = 50  # of the power method: the axis is a guide, not a result


class _CategoryGroups(NamedTuple):
    """The categories in a node."""

    codes: Integers  # (c,): ascending
    sign_sums: Values  # (c, P): Σ w·sign
    pair_weights: Values  # (c, P)
    n_rows: Integers  # (c,): how many


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
    """Find the best set of categories to send to the left.

    Parameters
    ----------
    sample : Sample
        What the tree is grown on.
    rows : int32 array, shape (m,)
        The node's rows, codes ascending.
    feature : int
        Which.
    differences, seen : float64 arrays, shape (P,)
        The node's sums.
    leaf : int
        The fewest rows of a child.
    blur : float
        Agreements that differ by less are one. Of subsets the first is taken, read as binary numbers whose
        lowest digit is the lowest code; the highest code in the node is on the right. Of cuts along the axis
        the first is taken.
    room : Room
        To work in.
    side : bool array, shape (codes,)
        Receives True for the codes on the left.

    Returns
    -------
    float
        The agreement of both children; −inf where no split is allowed.
    """
    groups = _group_rows_by_category(sample, rows, feature)
    count = groups.codes.size
    goes_left[:] = False
    workspace.left[:], workspace.right[:] = 0.0, sign_sums
    workspace.left_weights[:], workspace.right_weights[:] = 0.0, pair_weights
    if count <= MAX_EXHAUSTIVE_CATEGORIES:
        best, subset = _find_best_subset(groups, pair_weights, min_leaf, tolerance, workspace)
        for place in range(count):
            goes_left[groups.codes[place]] = (subset >> place) & 1 == 1
        return float(best)
    order = _order_along_axis(groups)
    best, cut = _find_best_cut(groups, order, pair_weights, min_leaf, tolerance, workspace)
    for place in order[: cut + 1]:
        goes_left[groups.codes[place]] = True
    return float(best)


@compile_kernel
def _group_rows_by_category(sample: RankingSample, rows: Rows, feature: int) -> _CategoryGroups:
    column = sample.columns[feature]
    count = 1
    for place in range(1, rows.size):
        count += column[rows[place]] != column[rows[place - 1]]
    pairs = sample.signs.shape[1]
    codes = np.empty(count, dtype=np.int64)
    differences, seen = np.zeros((count, pairs)), np.zeros((count, pairs))
    sizes = np.zeros(count, dtype=np.int64)
    complete = len(sample.observed) == 0
    group = -1
    for place in range(rows.size):
        row = rows[place]
        if place == 0 or column[row] != column[rows[place - 1]]:
            group += 1
            codes[group] = int(column[row])
        sizes[group] += 1
        weight = sample.weights[row]
        for pair in range(pairs):
            differences[group, pair] += weight * sample.signs[row, pair]
            if complete or sample.observed[row, pair]:
                seen[group, pair] += weight
    return _CategoryGroups(codes, differences, seen, sizes)


@compile_kernel
def _move_category(groups: _CategoryGroups, group: int, direction: float, workspace: SplitWorkspace) -> None:
    """Move a category to the left (way 1) or back to the right (way −1)."""
    for pair in range(workspace.left.size):
        difference, seen = (
            direction * groups.sign_sums[group, pair],
            direction * groups.pair_weights[group, pair],
        )
        workspace.left[pair] += difference
        workspace.right[pair] -= difference
        workspace.left_weights[pair] += seen
        workspace.right_weights[pair] -= seen


@compile_kernel
def _find_best_subset(
    groups: _CategoryGroups, pair_weights: Values, min_leaf: int, tolerance: float, workspace: SplitWorkspace
) -> tuple[float, int]:
    """Try all subsets without the last category, each a single move from the one before (a Gray code)."""
    count = groups.codes.size
    gains = np.full(1 << (count - 1), -np.inf)
    subset, on_left = 0, 0
    total = groups.n_rows.sum()
    for step in range(1, gains.size):
        group = 0
        while (step >> group) & 1 == 0:
            group += 1
        subset ^= 1 << group
        way = 1 if (subset >> group) & 1 else -1
        _move_category(groups, group, float(way), workspace)
        on_left += way * groups.n_rows[group]
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
    gains = np.full(order.size - 1, -np.inf)
    on_left, total = 0, groups.n_rows.sum()
    for place in range(gains.size):
        _move_category(groups, order[place], 1.0, workspace)
        on_left += groups.n_rows[order[place]]
        if min(on_left, total - on_left) >= min_leaf:
            gains[place] = compute_split_agreement(pair_weights, workspace)
    best = find_first_best(gains, gains.size, tolerance)
    return gains[best], best


@compile_kernel
def _order_along_axis(groups: _CategoryGroups) -> Integers:
    """Order categories by their shares D/S along the axis on which these, so weighted, spread the most."""
    shares, weights = _compute_centered_shares(groups)
    count, pairs = shares.shape
    farthest, reach = 0, -1.0
    for group in range(count):
        spread = 0.0
        for pair in range(pairs):
            spread += weights[group, pair] * shares[group, pair] ** 2
        if spread > reach:
            farthest, reach = group, spread
    axis = shares[farthest].copy()
    places = np.empty(count)
    for _ in range(_POWER_ITERATIONS):
        _project_shares(shares, axis, places)
        axis[:] = 0.0
        for group in range(count):
            for pair in range(pairs):
                axis[pair] += weights[group, pair] * places[group] * shares[group, pair]
        size = np.sqrt((axis * axis).sum())
        if size == 0.0:  # all categories are alike: they keep their order
            break
        axis /= size
    _project_shares(shares, axis, places)
    return np.argsort(places, kind="mergesort")


@compile_kernel
def _compute_centered_shares(groups: _CategoryGroups) -> tuple[Values, Values]:
    """Compute D/S less its mean, 0 where a category never shows the pair; and S, summing to 1 a pair."""
    shares, weights = np.zeros_like(groups.pair_weights), np.zeros_like(groups.pair_weights)
    count, pairs = shares.shape
    for pair in range(pairs):
        seen, difference = groups.pair_weights[:, pair].sum(), groups.sign_sums[:, pair].sum()
        for group in range(count):
            if groups.pair_weights[group, pair] > 0.0:
                share = groups.sign_sums[group, pair] / groups.pair_weights[group, pair]
                shares[group, pair] = share - difference / seen
                weights[group, pair] = groups.pair_weights[group, pair] / seen
    return shares, weights


@compile_kernel
def _project_shares(shares: Values, axis: Values, positions: Values) -> None:
    for group in range(positions.size):
        place = 0.0
        for pair in range(axis.size):
            place += shares[group, pair] * axis[pair]
        positions[group] = place
