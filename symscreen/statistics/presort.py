"""The order of the rows under a feature by sorting short rows of 32-bit keys.

Sorting by value is fast where a row fits the registers of the processor: up to 512 numbers of 32 bits are
sorted by a network, without a branch. A key is the place of a value in its row's range, and in the low
⌈log2 n⌉ bits the row of the table. Keys only pre-sort: where places are equal, values decide.

Longer columns are dealt into several such rows: `symscreen.statistics.deal`. A feature whose values bunch up,
so that places say too little, is tried once more by the places of their logarithms:
`symscreen.statistics.stretch`. What is left then is left to `symscreen.statistics.order`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.bounds import bounds
from symscreen.statistics.deal import WIDTH, deal, most_rows
from symscreen.statistics.runs import TIED, UNDECIDED, read, settle
from symscreen.statistics.stretch import stretch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.room import Room

    Flags = NDArray[np.bool_]
    Keys = NDArray[np.uint32]
    Numbers = NDArray[np.int64]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["presorted"]

_KEY_BITS = 32
_UNDEALT = WIDTH  # the longest column that is one row of keys
_MOST_BITS = 22  # of a row number; beyond, places are too coarse
_PART = 16  # values may decide between neighbours at one in so many places


def presorted(
    values: NDArray[np.float64], order: NDArray[np.int32], tied: NDArray[np.bool_], room: Room
) -> NDArray[np.int64]:
    """Put the rows of features in order where their values, or the logarithms of these, spread.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row, C-contiguous, finite.
    order : int32 array, shape (m, n)
        Filled, for the features that are put in order, as `order_features` says.
    tied : bool array, shape (m,)
        The same.
    room : Room
        For the keys.

    Returns
    -------
    int64 array
        The features that are left, whose values bunch up.
    """
    m, n = values.shape
    features = np.arange(m)
    if (n - 1).bit_length() > _MOST_BITS:
        return features
    left = features[_tried(values, features, values, order, tied, room)]
    if len(left):
        stretched = room.empty("stretched", (len(left), n), np.float64)
        stretch(values.view(np.int64), left, stretched)
        left = left[_tried(stretched, left, values, order, tied, room)]
    return left


def _tried(
    spread: NDArray[np.float64],
    features: NDArray[np.int64],
    values: NDArray[np.float64],
    order: NDArray[np.int32],
    tied: NDArray[np.bool_],
    room: Room,
) -> NDArray[np.bool_]:
    """Put features in order by the places of what never falls where values rise; say which are left."""
    m, n = spread.shape
    bits = (n - 1).bit_length()
    low, high = room.empty("low", (m,), np.float64), room.empty("high", (m,), np.float64)
    bounds(spread, low, high)
    first = room.empty("first", (m + 1,), np.int64)
    if n <= _UNDEALT:
        keys = room.empty("keys", (m, n), np.uint32)
        counts = room.empty("counts", (m,), np.int32)
        _pack(spread, low, high, bits, keys, counts, first)
    else:
        rows = m * most_rows(n)
        keys = room.empty("keys", (rows, WIDTH), np.uint32)
        counts = room.empty("counts", (rows,), np.int32)
        deal(spread, features, values, low, high, bits, keys, counts, first)
    keys[: first[m]].sort(axis=1)
    left = room.empty("left", (m,), np.bool_)
    _read(keys, counts, first, features, bits, values, order, tied, left)
    return left


@kernel
def _pack(
    values: Values, low: Values, high: Values, bits: int, keys: Keys, counts: Rows, first: Numbers
) -> None:
    """Make one row of keys of each feature; none where values differ too little or too much."""
    m, n = values.shape
    shift = np.uint32(bits)
    top = float((1 << (_KEY_BITS - bits)) - 1)
    row = 0
    for f in range(m):
        first[f] = row
        start = low[f]
        scale = top / (high[f] - start) if high[f] > start else 0.0
        if not (0.0 < scale < np.inf):
            continue
        z, key = values[f], keys[row]
        for i in range(n):
            key[i] = (np.uint32(np.int32((z[i] - start) * scale)) << shift) | np.uint32(i)
        counts[row] = n
        row += 1
    first[m] = row


@kernel
def _read(
    keys: Keys,
    counts: Rows,
    first: Numbers,
    features: Numbers,
    bits: int,
    values: Values,
    order: Rows,
    tied: Flags,
    left: Flags,
) -> None:
    """Read the rows of the table off the sorted keys."""
    n = values.shape[1]
    low = (1 << bits) - 1
    spare = np.empty(n, dtype=np.int32)
    same = np.empty(n, dtype=np.bool_)
    for place in range(features.size):
        f = features[place]
        tied[f], left[place] = False, first[place] == first[place + 1]
        k = 0
        undecided = n // _PART
        for r in range(first[place], first[place + 1]):
            rows = order[f, k : k + counts[r]]
            k += counts[r]
            if read(keys[r, : counts[r]], low, rows, same):
                found, decided = settle(same, rows, values[f], spare, undecided)
                undecided -= decided
                tied[f] |= found == TIED
                if found == UNDECIDED:
                    left[place] = True
                    break
