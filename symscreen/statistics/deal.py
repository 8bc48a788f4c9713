"""A column dealt into short rows of keys, whose order together is that of the column.

The values of a feature are dealt into bins of equal width, and neighbouring bins make up rows of at most
`WIDTH` keys. In a long column a key holds the place of a value in its row's range, which takes fewer bits
than that in the feature's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keys = NDArray[np.uint32]
    Numbers = NDArray[np.int64]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["WIDTH", "deal", "most_rows"]

WIDTH = 512  # keys in a row
_KEY_BITS = 32
_FINE_BITS = 31  # of a value's place in its feature's range, before it is cut to that in a row's
_SPARE = np.uint32(_KEY_BITS - _FINE_BITS)
_COARSE_BITS = 11  # of a row number, up to which a place in the feature's range tells nearly all values apart
_BIN_BITS = 3  # a bin holds eight values on average
_MOST_BIN_BITS = 20
_SAMPLE = 32
_BEYOND = 4.0  # how far, in spreads of the sample, the bins reach beyond it
_EMPTY = np.uint32(0xFFFFFFFF)


def most_rows(n: int) -> int:
    """Return how many rows of keys a column of n values may take."""
    # two neighbouring rows hold more than WIDTH together, but for the last one of a bin that takes several
    return -(-3 * n // WIDTH) + 1


@kernel
def deal(
    spread: Values,
    features: Numbers,
    values: Values,
    low: Values,
    high: Values,
    bits: int,
    keys: Keys,
    counts: Rows,
    first: Numbers,
) -> None:
    """Deal the values of each feature into rows of keys.

    Parameters
    ----------
    spread : float64 array, shape (m, n)
        What places are taken of: the values, or numbers that never fall where values rise.
    features : int64 array, shape (m,)
        Which features these are.
    values : float64 array, shape (q, n)
        The values of all; finite.
    low, high : float64 arrays, shape (m,)
        The least and the largest of `spread` for each.
    bits : int
        The low bits of a key that hold the row of the table.
    keys : uint32 array, shape (m · most_rows(n), WIDTH)
        Filled; the order of the rows is that of the features, and in a feature that of the values.
    counts : int32 array, shape (m · most_rows(n),)
        How many keys of each row there are; the others are as large as can be.
    first : int64 array, shape (m + 1,)
        The first row of keys of each feature, and of none; a feature that cannot be dealt has none.
    """
    m, n = spread.shape
    bin_bits = 4
    while bin_bits < _MOST_BIN_BITS and (1 << (bin_bits + _BIN_BITS)) < n:
        bin_bits += 1
    bins = 1 << bin_bits
    shift = _FINE_BITS - bin_bits
    fine = np.empty(n, dtype=np.int32)
    held = np.empty(bins, dtype=np.int32)
    place = np.empty(bins, dtype=np.int32)
    start = np.empty(bins, dtype=np.int32)
    cut = np.empty(bins, dtype=np.int32)
    row = 0
    for f in range(m):
        first[f] = row
        begin, end = _reach(spread[f], low[f], high[f])
        scale = float((1 << _FINE_BITS) - 1) / (end - begin) if end > begin else 0.0
        if not (0.0 < scale < np.inf):
            continue
        _place(spread[f], begin, scale, fine)
        held[:] = 0
        for i in range(n):
            held[np.uint32(fine[i] >> shift)] += 1
        if held.max() > WIDTH and not _alike(values[features[f]], fine, shift, held):
            continue
        stop = _group(held, row, counts, place)
        for r in range(row, stop):
            keys[r, counts[r] :] = _EMPTY
        if bits <= _COARSE_BITS:
            _fill(fine, shift, bits, place, keys.reshape(-1))
        else:
            _refer(place, shift, _KEY_BITS - bits, start, cut)
            _fill_by_row(fine, shift, bits, place, start, cut, keys.reshape(-1))
        row = stop
    first[m] = row


@kernel
def _reach(z: Values, low: float, high: float) -> tuple[float, float]:
    """Say from where to where the bins reach: all values, or most of them where few lie far out."""
    n = z.size
    low1 = low2 = low3 = np.inf  # the three least of a sample, and the three largest
    high1 = high2 = high3 = -np.inf
    for k in range(_SAMPLE):
        value = z[(k * n + n // 2) // _SAMPLE]
        low3 = min(low3, max(low2, value))
        low2 = min(low2, max(low1, value))
        low1 = min(low1, value)
        high3 = max(high3, min(high2, value))
        high2 = max(high2, min(high1, value))
        high1 = max(high1, value)
    if low3 == high3:
        return low, high
    spread = _BEYOND * (high3 - low3)
    return max(low, low3 - spread), min(high, high3 + spread)


@kernel
def _place(z: Values, begin: float, scale: float, fine: Rows) -> None:
    """Place values in the range, what lies beyond at its ends; a larger value never stands before."""
    top = float((1 << _FINE_BITS) - 1)
    for i in range(z.size):
        fine[i] = np.int32(min(max((z[i] - begin) * scale, 0.0), top))


@kernel
def _alike(z: Values, fine: Rows, shift: int, held: Rows) -> bool:
    """Say whether all values are equal in each bin that takes more than a row: then there is none to sort."""
    one = np.full(held.size, np.nan)
    for i in range(z.size):
        b = fine[i] >> shift
        if held[b] > WIDTH:
            if np.isnan(one[b]):
                one[b] = z[i]
            elif z[i] != one[b]:
                return False
    return True


@kernel
def _group(held: Rows, row: int, counts: Rows, place: Rows) -> int:
    """Give neighbouring bins to rows, and one that takes more than a row as many as it takes.

    Returns
    -------
    int
        The row after the last.
    """
    filled = 0
    for b in range(held.size):
        if filled + held[b] > WIDTH:
            if filled:
                counts[row] = filled
                row += 1
            filled = 0
        place[b] = row * WIDTH + filled
        filled += held[b]
        while filled > WIDTH:
            counts[row] = WIDTH
            row += 1
            filled -= WIDTH
            if filled <= WIDTH:  # the next bin is not put behind, for its keys are taken of another range
                counts[row] = filled
                row += 1
                filled = 0
    if filled:
        counts[row] = filled
        row += 1
    return row


@kernel
def _fill(fine: Rows, shift: int, bits: int, place: Rows, flat: Keys) -> None:
    """Write keys of the places in the feature's range."""
    mask = ~np.uint32((1 << bits) - 1)
    for i in range(fine.size):
        b = np.uint32(fine[i] >> shift)
        p = place[b]
        place[b] = p + 1
        flat[np.uint32(p)] = ((np.uint32(fine[i]) << _SPARE) & mask) | np.uint32(i)


@kernel
def _refer(place: Rows, shift: int, place_bits: int, start: Rows, cut: Rows) -> None:
    """Say for each bin where its row's range starts and how many bits of a place in it are too many."""
    bins = place.size
    stop = 0
    while stop < bins:
        first_bin = stop
        end = (place[first_bin] // WIDTH + 1) * WIDTH
        while stop < bins and place[stop] < end:
            stop += 1
        wide = (stop - first_bin) << shift
        spare = 0
        while (wide - 1) >> spare >> place_bits:
            spare += 1
        start[first_bin:stop] = first_bin << shift
        cut[first_bin:stop] = spare


@kernel
def _fill_by_row(fine: Rows, shift: int, bits: int, place: Rows, start: Rows, cut: Rows, flat: Keys) -> None:
    """Write keys of the places in the row's range."""
    for i in range(fine.size):
        b = np.uint32(fine[i] >> shift)
        p = place[b]
        place[b] = p + 1
        flat[np.uint32(p)] = np.uint32((((fine[i] - start[b]) >> cut[b]) << bits) | i)
