"""The best subset of the categories of a feature in one node of a CRIT tree (Clémençon et al. 2018, eq. 37).

Up to ten categories in the node: every subset is tried. With more, the categories are put in the order of
their shares p_ij along the first principal axis of these, and cut as a numeric feature is (Coppersmith, Hong
and Hosking 1999, Data Min. Knowl. Discov. 3, 197–217). With two labels there is one share, and the best of
all subsets is one of these cuts (Breiman et al. 1984, theorem 4.5); with more labels a better one may exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.crit_scan import agreement_of_sides, first_of_best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.crit_scan import Room, Sample

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["MOST_TRIED", "scan_categories"]

MOST_TRIED = 10  # categories whose subsets are all tried: 511 of them
_STEPS = 50  # of the power method: the axis is a guide, not a result


class _Groups(NamedTuple):
    """The categories in a node."""

    codes: Whole  # (c,): ascending
    differences: Values  # (c, P): Σ w·sign
    seen: Values  # (c, P)
    rows: Whole  # (c,): how many


@kernel
def scan_categories(
    sample: Sample,
    rows: Rows,
    feature: int,
    differences: Values,
    seen: Values,
    leaf: int,
    blur: float,
    room: Room,
    side: Flags,
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
    groups = _groups(sample, rows, feature)
    count = groups.codes.size
    side[:] = False
    room.left[:], room.right[:] = 0.0, differences
    room.left_seen[:], room.right_seen[:] = 0.0, seen
    if count <= MOST_TRIED:
        best, subset = _best_subset(groups, seen, leaf, blur, room)
        for place in range(count):
            side[groups.codes[place]] = (subset >> place) & 1 == 1
        return float(best)
    order = _along_axis(groups)
    best, cut = _best_cut(groups, order, seen, leaf, blur, room)
    for place in order[: cut + 1]:
        side[groups.codes[place]] = True
    return float(best)


@kernel
def _groups(sample: Sample, rows: Rows, feature: int) -> _Groups:
    column = sample.columns[feature]
    count = 1
    for place in range(1, rows.size):
        count += column[rows[place]] != column[rows[place - 1]]
    pairs = sample.signs.shape[1]
    codes = np.empty(count, dtype=np.int64)
    differences, seen = np.zeros((count, pairs)), np.zeros((count, pairs))
    sizes = np.zeros(count, dtype=np.int64)
    complete = len(sample.shown) == 0
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
            if complete or sample.shown[row, pair]:
                seen[group, pair] += weight
    return _Groups(codes, differences, seen, sizes)


@kernel
def _switch(groups: _Groups, group: int, way: float, room: Room) -> None:
    """Move a category to the left (way 1) or back to the right (way −1)."""
    for pair in range(room.left.size):
        difference, seen = way * groups.differences[group, pair], way * groups.seen[group, pair]
        room.left[pair] += difference
        room.right[pair] -= difference
        room.left_seen[pair] += seen
        room.right_seen[pair] -= seen


@kernel
def _best_subset(groups: _Groups, seen: Values, leaf: int, blur: float, room: Room) -> tuple[float, int]:
    """Try all subsets without the last category, each a single move from the one before (a Gray code)."""
    count = groups.codes.size
    gains = np.full(1 << (count - 1), -np.inf)
    subset, on_left = 0, 0
    total = groups.rows.sum()
    for step in range(1, gains.size):
        group = 0
        while (step >> group) & 1 == 0:
            group += 1
        subset ^= 1 << group
        way = 1 if (subset >> group) & 1 else -1
        _switch(groups, group, float(way), room)
        on_left += way * groups.rows[group]
        if min(on_left, total - on_left) >= leaf:
            gains[subset] = agreement_of_sides(seen, room)
    best = first_of_best(gains, gains.size, blur)
    return gains[best], best


@kernel
def _best_cut(
    groups: _Groups, order: Whole, seen: Values, leaf: int, blur: float, room: Room
) -> tuple[float, int]:
    gains = np.full(order.size - 1, -np.inf)
    on_left, total = 0, groups.rows.sum()
    for place in range(gains.size):
        _switch(groups, order[place], 1.0, room)
        on_left += groups.rows[order[place]]
        if min(on_left, total - on_left) >= leaf:
            gains[place] = agreement_of_sides(seen, room)
    best = first_of_best(gains, gains.size, blur)
    return gains[best], best


@kernel
def _along_axis(groups: _Groups) -> Whole:
    """Order categories by their shares D/S along the axis on which these, so weighted, spread the most."""
    shares, weights = _centred_shares(groups)
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
    for _ in range(_STEPS):
        _project(shares, axis, places)
        axis[:] = 0.0
        for group in range(count):
            for pair in range(pairs):
                axis[pair] += weights[group, pair] * places[group] * shares[group, pair]
        size = np.sqrt((axis * axis).sum())
        if size == 0.0:  # all categories are alike: they keep their order
            break
        axis /= size
    _project(shares, axis, places)
    return np.argsort(places, kind="mergesort")


@kernel
def _centred_shares(groups: _Groups) -> tuple[Values, Values]:
    """Compute D/S less its mean, 0 where a category never shows the pair; and S, summing to 1 a pair."""
    shares, weights = np.zeros_like(groups.seen), np.zeros_like(groups.seen)
    count, pairs = shares.shape
    for pair in range(pairs):
        seen, difference = groups.seen[:, pair].sum(), groups.differences[:, pair].sum()
        for group in range(count):
            if groups.seen[group, pair] > 0.0:
                share = groups.differences[group, pair] / groups.seen[group, pair]
                shares[group, pair] = share - difference / seen
                weights[group, pair] = groups.seen[group, pair] / seen
    return shares, weights


@kernel
def _project(shares: Values, axis: Values, places: Values) -> None:
    for group in range(places.size):
        place = 0.0
        for pair in range(axis.size):
            place += shares[group, pair] * axis[pair]
        places[group] = place
