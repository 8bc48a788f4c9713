"""The order of the rows under a feature by sorting short rows of 32-bit keys.

Sorting by value is fast where a row fits the registers of the processor: up to 512 numbers of 32 bits are
sorted by a network, without a branch. A key is the place of a value in its row's range, and in the low
⌈log2 n⌉ bits the row of the table. Keys only pre-sort: where places are equal, values decide.

Longer columns are dealt into several such rows: `symscreen.statistics.deal`. A feature whose values bunch up,
so that places say too little, is left to `symscreen.statistics.order`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.bounds import bounds
from symscreen.statistics.deal import WIDTH, deal, most_rows
from symscreen.statistics.runs import TIED, TOO_LONG, read, settle

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
_LONGEST, _PART = 24, 16  # a run of equal places that values may put in order: so many, or one in so many


def presorted(
    values: NDArray[np.float64], order: NDArray[np.int32], tied: NDArray[np.bool_], room: Room
) -> NDArray[np.int64]:
    """Put the rows of features in order where their values spread.

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
    bits = int(n - 1).bit_length()
    if bits > _MOST_BITS:
        return np.arange(m)
    low, high = room.empty("low", (m,), np.float64), room.empty("high", (m,), np.float64)
    bounds(values, low, high)
    first = room.empty("first", (m + 1,), np.int64)
    if n <= _UNDEALT:
        keys = room.empty("keys", (m, n), np.uint32)
        counts = room.empty("counts", (m,), np.int32)
        _pack(values, low, high, bits, keys, counts, first)
    else:
        rows = m * most_rows(n)
        keys = room.empty("keys", (rows, WIDTH), np.uint32)
        counts = room.empty("counts", (rows,), np.int32)
        deal(values, low, high, bits, keys, counts, first)
    keys[: first[m]].sort(axis=1)
    left = room.empty("left", (m,), np.bool_)
    _read(keys, counts, first, bits, values, order, tied, left)
    return np.flatnonzero(left)


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
    keys: Keys, counts: Rows, first: Numbers, bits: int, values: Values, order: Rows, tied: Flags, left: Flags
) -> None:
    """Read the rows of the table off the sorted keys."""
    m, n = values.shape
    low = (1 << bits) - 1
    spare = np.empty(n, dtype=np.int32)
    longest = max(_LONGEST, n // _PART)
    for f in range(m):
        tied[f], left[f] = False, first[f] == first[f + 1]
        k = 0
        for r in range(first[f], first[f + 1]):
            key, rows = keys[r, : counts[r]], order[f, k : k + counts[r]]
            k += counts[r]
            if read(key, low, rows):
                found = settle(key, low, rows, values[f], spare, longest)
                tied[f] |= found == TIED
                left[f] |= found == TOO_LONG
