"""The growth of a CRIT tree, node by node (Clémençon et al. 2018, section 4.3 and figure 3).

Every feature is sorted once, before; a split parts the sorted rows of every feature and keeps their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.crit_categories import scan_categories
from symscreen.statistics.crit_scan import BLUR, Room, Sample, agreement, first_of_best, scan_thresholds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["Limits", "Nodes", "grow_nodes"]


class Limits(NamedTuple):
    """Where growth ends."""

    depth: int
    leaf: int  # the fewest rows of a child
    decrease: float  # the least decrease of the dispersion γ̂ of the whole tree
    features: int  # how many are looked at in a node
    seed: int  # of the draws where those are fewer than all


class Nodes(NamedTuple):
    """The nodes of a tree; parents before their children, the root first."""

    feature: Whole  # (N,): −1 at a leaf
    threshold: Values  # (N,): rows with x ≤ threshold go left; NaN at a leaf and where categories decide
    goes_left: Flags  # (N, codes + 1): by category; the last is for categories never seen
    left: Whole  # (N,): −1 at a leaf
    right: Whole  # (N,)
    depth: Whole  # (N,)
    rows: Whole  # (N,)
    weight: Values  # (N,)
    differences: Values  # (N, P): Σ w·sign(rank_i − rank_j)
    seen: Values  # (N, P): Σ w over the rows that show the pair
    dispersion: Values  # (N,): Σ_{i<j} S·p(1 − p)
    decrease: Values  # (N,): of the dispersion, by the split; 0 at a leaf


class _Splits(NamedTuple):
    """The best split of one node on each feature."""

    drawn: Whole  # (d,): features in the order in which they are looked at
    gains: Values  # (d,): −inf where there is none
    thresholds: Values  # (d,)
    sides: Flags  # (d, codes + 1)


@kernel
def grow_nodes(sample: Sample, limits: Limits, order: Rows, out: Nodes) -> int:
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
    room = Room(np.empty(pairs), np.empty(pairs), np.empty(pairs), np.empty(pairs), np.empty(n))
    codes = out.goes_left.shape[1]
    splits = _Splits(np.arange(d), np.empty(d), np.empty(d), np.zeros((d, codes), dtype=np.bool_))
    on_left, spare = np.zeros(n, dtype=np.bool_), np.empty(n, dtype=np.int32)
    stack = np.empty((n + 1, 3), dtype=np.int64)
    stack[0] = (0, 0, n)
    waiting, count = 1, 1
    out.depth[0] = 0
    while waiting:
        waiting -= 1
        node, start, stop = stack[waiting]
        _open(sample, order[0, start:stop], node, out)
        feature = -1
        if out.depth[node] < limits.depth and stop - start >= max(2 * limits.leaf, 2):
            feature = _search(sample, limits, order, start, stop, node, out, splits, room)
        if feature < 0:
            continue
        _split(feature, node, count, out, splits, sample.categories[feature] > 0)
        middle = start + _part(sample, order, start, stop, node, out, on_left, spare)
        _fill_unseen(sample, order[feature, start:stop], node, out, on_left)
        stack[waiting] = (count + 1, middle, stop)
        stack[waiting + 1] = (count, start, middle)
        waiting, count = waiting + 2, count + 2
    return count


@kernel
def _open(sample: Sample, rows: Rows, node: int, out: Nodes) -> None:
    """Sum up the rows of a node, for now a leaf."""
    differences, seen = out.differences[node], out.seen[node]
    differences[:], seen[:] = 0.0, 0.0
    complete = len(sample.shown) == 0
    total = 0.0
    for row in rows:
        weight = sample.weights[row]
        total += weight
        for pair in range(differences.size):
            differences[pair] += weight * sample.signs[row, pair]
        if not complete:
            for pair in range(seen.size):
                seen[pair] += weight if sample.shown[row, pair] else 0.0
    if complete:
        seen[:] = total
    out.feature[node], out.left[node], out.right[node] = -1, -1, -1
    out.threshold[node], out.decrease[node] = np.nan, 0.0
    out.rows[node], out.weight[node] = rows.size, total
    # S·p(1 − p) with p = (1 − D/S)/2                                                                   (35)
    out.dispersion[node] = (seen.sum() - agreement(differences, seen)) / 4.0
    out.goes_left[node] = False


@kernel
def _search(
    sample: Sample,
    limits: Limits,
    order: Rows,
    start: int,
    stop: int,
    node: int,
    out: Nodes,
    splits: _Splits,
    room: Room,
) -> int:
    """Find the feature to split a node on, or −1 where no split gains anything."""
    d = len(order)
    differences, seen = out.differences[node], out.seen[node]
    blur, before = BLUR * seen.sum(), agreement(differences, seen)
    if 4.0 * out.dispersion[node] <= blur:
        return -1
    splits.gains[:] = -np.inf
    splits.drawn[:] = np.arange(d)
    state = np.uint64(limits.seed) + np.uint64(node) * np.uint64(0xD1342543DE82EF95)
    looked, best = 0, -np.inf
    for turn in range(d):
        if limits.features < d:
            state += np.uint64(0x9E3779B97F4A7C15)
            other = turn + int(_mixed(state) % np.uint64(d - turn))
            splits.drawn[turn], splits.drawn[other] = splits.drawn[other], splits.drawn[turn]
        feature = splits.drawn[turn]
        rows, column = order[feature, start:stop], sample.columns[feature]
        if column[rows[0]] == column[rows[-1]]:
            continue
        looked += 1
        if sample.categories[feature] > 0:
            side = splits.sides[feature]
            gain = scan_categories(sample, rows, feature, differences, seen, limits.leaf, blur, room, side)
        else:
            weight = out.weight[node]
            gain, place = scan_thresholds(
                sample, rows, column, differences, seen, weight, limits.leaf, blur, room
            )
            splits.thresholds[feature] = column[rows[place]]
        splits.gains[feature] = gain - before
        best = max(best, gain - before)
        if looked >= limits.features and best > blur:
            break
    # min over C of Λ(C), eq. (36): Λ falls by a quarter of what the agreement gains                      (37)
    if best <= blur or best / 4.0 < limits.decrease * out.weight[0]:
        return -1
    return int(first_of_best(splits.gains, d, blur))


@kernel
def _mixed(state: np.uint64) -> np.uint64:
    """Mix the bits of a counter (splitmix64, Steele, Lea and Flood 2014)."""
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@kernel
def _split(feature: int, node: int, child: int, out: Nodes, splits: _Splits, by_category: bool) -> None:
    """Make a leaf the parent of two nodes."""
    out.feature[node], out.left[node], out.right[node] = feature, child, child + 1
    out.depth[child], out.depth[child + 1] = out.depth[node] + 1, out.depth[node] + 1
    out.decrease[node] = splits.gains[feature] / 4.0
    if by_category:
        out.goes_left[node] = splits.sides[feature]
    else:
        out.threshold[node] = splits.thresholds[feature]


@kernel
def _part(
    sample: Sample,
    order: Rows,
    start: int,
    stop: int,
    node: int,
    out: Nodes,
    on_left: Flags,
    spare: Rows,
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
                spare[right] = row
                right += 1
        rows[left:] = spare[:right]
    return left


@kernel
def _fill_unseen(sample: Sample, rows: Rows, node: int, out: Nodes, on_left: Flags) -> None:
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
