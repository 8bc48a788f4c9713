"""The best threshold of one numeric feature in one node of a CRIT tree (Clémençon et al. 2018, eq. 36–37).

The rows of the node are passed in the order of the feature. Each moves from the right to the left child, and
only its own signs change the pair sums: the cost is linear in the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.lanes import dot_in_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Signs = NDArray[np.int8]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["BLUR", "Room", "Sample", "agreement", "agreement_of_sides", "first_of_best", "scan_thresholds"]

BLUR = 1e-12  # of the node's weight over all pairs: gains that differ by less are one
_LIGHT = 1e-9  # of the node's weight: what a lighter child gains drowns in rounding


class Sample(NamedTuple):
    """What a tree is grown on: n rows, d features, P = k(k − 1)/2 pairs of labels."""

    columns: Values  # (d, n): numbers, or the categories' codes
    categories: Whole  # (d,): how many codes; 0 where the feature is numeric
    signs: Signs  # (n, P): the sign of rank_i − rank_j
    shown: Flags  # (n, P): which pairs a row shows; (0, P) where every row shows all
    weights: Values  # (n,): positive


class Room(NamedTuple):
    """Arrays to work in."""

    left: Values  # (P,): Σ w·sign over the rows on the left
    left_seen: Values  # (P,): Σ w over those of them that show the pair
    right: Values  # (P,)
    right_seen: Values  # (P,)
    gains: Values  # (n,): by place in the feature's order


@kernel
def agreement(differences: Values, seen: Values) -> float:
    """Sum D²/S over pairs: four times what a node's dispersion is below its maximum, ΣS/4.

    With p = (1 − D/S)/2 the weighted dispersion S·p(1 − p) of a pair is (S − D²/S)/4, so that the split of
    the least dispersion is that of the largest sum of agreements.
    """
    total = 0.0
    for pair in range(differences.size):
        if seen[pair] > 0.0:
            total += differences[pair] * differences[pair] / seen[pair]
    return total


@kernel
def agreement_of_sides(seen: Values, room: Room) -> float:
    """Sum the agreements of the left and of the right child."""
    total = 0.0
    for pair in range(seen.size):
        floor = BLUR * seen[pair]  # what subtraction leaves of nothing
        if room.left_seen[pair] > floor:
            total += room.left[pair] * room.left[pair] / room.left_seen[pair]
        if room.right_seen[pair] > floor:
            total += room.right[pair] * room.right[pair] / room.right_seen[pair]
    return total


@kernel
def first_of_best(gains: Values, count: int, blur: float) -> int:
    """Find the first of the gains that are as good as the best."""
    best = gains[0]
    for place in range(1, count):
        best = max(best, gains[place])
    for place in range(count):
        if gains[place] >= best - blur:
            return place
    return 0


@kernel
def scan_thresholds(
    sample: Sample,
    rows: Rows,
    values: Values,
    differences: Values,
    seen: Values,
    weight: float,
    leaf: int,
    blur: float,
    room: Room,
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
    complete = len(sample.shown) == 0
    last = rows.size - 1
    room.left[:], room.right[:] = 0.0, differences
    room.left_seen[:], room.right_seen[:] = 0.0, seen
    on_left = 0.0
    for place in range(last):
        row = rows[place]
        on_left += sample.weights[row]
        if complete:
            _move(sample.signs[row], sample.weights[row], room)
        else:
            _move_shown(sample.signs[row], sample.shown[row], sample.weights[row], room)
        room.gains[place] = -np.inf
        small = place + 1 < leaf or last - place < leaf
        light = min(on_left, weight - on_left) < _LIGHT * weight
        if small or light or not values[row] < values[rows[place + 1]]:
            continue
        if complete:
            pairs = differences.size
            left = dot_in_lanes(room.left, room.left, 0, pairs) / on_left
            room.gains[place] = left + dot_in_lanes(room.right, room.right, 0, pairs) / (weight - on_left)
        else:
            room.gains[place] = agreement_of_sides(seen, room)
    best = first_of_best(room.gains, last, blur)
    return room.gains[best], best


@kernel
def _move(signs: Signs, weight: float, room: Room) -> None:
    left, right = room.left, room.right
    for pair in range(signs.size):
        part = weight * signs[pair]
        left[pair] += part
        right[pair] -= part


@kernel
def _move_shown(signs: Signs, shown: Flags, weight: float, room: Room) -> None:
    _move(signs, weight, room)
    for pair in range(signs.size):
        part = weight if shown[pair] else 0.0
        room.left_seen[pair] += part
        room.right_seen[pair] -= part
