"""A column dealt into short rows of keys, whose order together is that of the column.

The values of a feature are dealt into bins of equal width, and neighbouring bins make up rows of at most
`WIDTH` keys. So the place of a value in its row's range takes few bits.
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
_BIN_BITS = 3  # a bin holds eight values on average
_MOST_BIN_BITS = 20
_SAMPLE = 32
_BEYOND = 4.0  # how far, in spreads of the sample, the bins reach beyond it
_EMPTY = np.uint32(0xFFFFFFFF)


def most_rows(n: int) -> int:
    """Return how many rows of keys a column of n values may take."""
    return -(-2 * n // WIDTH) + 1  # two neighbouring rows hold more than WIDTH together


@kernel
def deal(
    values: Values, low: Values, high: Values, bits: int, keys: Keys, counts: Rows, first: Numbers
) -> None:
    """Deal the values of each feature into rows of keys.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        Finite.
    low, high : float64 arrays, shape (m,)
        The least and the largest value of each feature.
    bits : int
        The low bits of a key that hold the row of the table.
    keys : uint32 array, shape (m · most_rows(n), WIDTH)
        Filled; the order of the rows is that of the features, and in a feature that of the values.
    counts : int32 array, shape (m · most_rows(n),)
        How many keys of each row there are; the others are as large as can be.
    first : int64 array, shape (m + 1,)
        The first row of keys of each feature, and of none; a feature that cannot be dealt has none.
    """
    m, n = values.shape
    bin_bits = 4
    while bin_bits < _MOST_BIN_BITS and (1 << (bin_bits + _BIN_BITS)) < n:
        bin_bits += 1
    bins = 1 << bin_bits
    shift = _FINE_BITS - bin_bits
    fine = np.empty(n, dtype=np.int32)
    held = np.empty(bins, dtype=np.int32)
    place = np.empty(bins, dtype=np.int64)
    start = np.empty(bins, dtype=np.int32)
    cut = np.empty(bins, dtype=np.int32)
    sample = np.empty(_SAMPLE)
    flat = keys.reshape(-1)
    row = 0
    for f in range(m):
        first[f] = row
        z = values[f]
        begin, end = _reach(z, low[f], high[f], sample)
        scale = float((1 << _FINE_BITS) - 1) / (end - begin) if end > begin else 0.0
        if not (0.0 < scale < np.inf):
            continue
        _place(z, begin, scale, fine)
        held[:] = 0
        for i in range(n):
            held[np.uint32(fine[i] >> shift)] += 1
        stop = _group(held, shift, _KEY_BITS - bits, row, counts, place, start, cut)
        if stop < 0:
            continue
        for r in range(row, stop):
            keys[r, counts[r] :] = _EMPTY
        for i in range(n):
            b = np.uint32(fine[i] >> shift)
            p = place[b]
            place[b] = p + 1
            flat[np.uint64(p)] = np.uint32((((fine[i] - start[b]) >> cut[b]) << bits) | i)
        row = stop
    first[m] = row


@kernel
def _reach(z: Values, low: float, high: float, sample: Values) -> tuple[float, float]:
    """Say from where to where the bins reach: all values, or most of them where few lie far out."""
    n = z.size
    for k in range(sample.size):
        value = z[(k * n + n // 2) // sample.size]
        j = k
        while j > 0 and sample[j - 1] > value:
            sample[j] = sample[j - 1]
            j -= 1
        sample[j] = value
    spread = _BEYOND * (sample[sample.size - 3] - sample[2])
    return max(low, sample[2] - spread), min(high, sample[sample.size - 3] + spread)


@kernel
def _place(z: Values, begin: float, scale: float, fine: Rows) -> None:
    """Place values in the range, what lies beyond at its ends; a larger value never stands before."""
    top = float((1 << _FINE_BITS) - 1)
    for i in range(z.size):
        fine[i] = np.int32(min(max((z[i] - begin) * scale, 0.0), top))


@kernel
def _group(
    held: Rows, shift: int, place_bits: int, row: int, counts: Rows, place: Numbers, start: Rows, cut: Rows
) -> int:
    """Give neighbouring bins to rows; return the row after the last, or −1 where a bin holds too many."""
    filled = 0
    first_bin = 0
    for b in range(held.size + 1):
        over = b < held.size and filled + held[b] > WIDTH
        if over or b == held.size:
            if b < held.size and held[b] > WIDTH:
                return -1
            wide = (b - first_bin) << shift
            spare = 0
            while (wide - 1) >> spare >> place_bits:
                spare += 1
            for own in range(first_bin, b):
                start[own] = first_bin << shift
                cut[own] = spare
            counts[row] = filled
            if filled:
                row += 1
            filled = 0
            first_bin = b
        if b < held.size:
            place[b] = row * WIDTH + filled
            filled += held[b]
    return row
