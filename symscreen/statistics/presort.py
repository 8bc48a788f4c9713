"""The order of the rows under a feature by sorting many short rows of 32-bit keys at once.

Sorting by value is fast where a row fits the registers of the processor: 256 numbers of 32 bits are sorted by
a network, without a branch. So the values of a feature are dealt into bins of equal width, neighbouring bins
make up rows of at most 256 keys, and all rows of all features of a block are sorted together. A key is the
place of a value in its row's range, in 24 bits, and the slot it was dealt to, in 8, which tells the row of
the table. Keys only pre-sort: where places are equal, values decide.

A feature whose values bunch up, so that a bin overflows, is left to `symscreen.statistics.order`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.runs import rank, sort_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Keys = NDArray[np.uint32]
    Numbers = NDArray[np.int64]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["presorted"]

WIDTH = 256  # keys in a row
_SLOT_BITS = 8
_PLACE_BITS = 32 - _SLOT_BITS
_FINE_BITS = 44  # of a value's place in its feature's range, before it is cut to that in a row's
_FEWEST = 1500  # rows of the table, below which one sort of 64-bit keys is as fast on most processors
_BIN_BITS = 2  # a bin holds four values on average
_MOST_BIN_BITS = 20
_SAMPLE = 32
_BEYOND = 4.0  # how far, in spreads of the sample, the bins reach beyond it
_EMPTY = np.uint32(0xFFFFFFFF)


def presorted(
    values: NDArray[np.float64],
    order: NDArray[np.int32],
    doubled_ranks: NDArray[np.int32],
    tied: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Put the rows of features in order where their values spread.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row, C-contiguous, finite.
    order, doubled_ranks : int32 array, shape (m, n)
        Filled, for the features that are put in order, as `order_features` says.
    tied : bool array, shape (m,)
        The same.

    Returns
    -------
    int64 array
        The features that are left, whose values bunch up.
    """
    m, n = values.shape
    if n < _FEWEST:
        return np.arange(m)
    rows = -(-2 * n // WIDTH) + 1  # two neighbouring rows hold more than WIDTH together
    keys = np.empty((m * rows, WIDTH), dtype=np.uint32)
    source = np.empty((m * rows, WIDTH), dtype=np.int32)
    counts = np.empty(m * rows, dtype=np.int32)
    first = np.empty(m + 1, dtype=np.int64)
    bin_bits = int(np.clip(int(n - 1).bit_length() - _BIN_BITS, 4, _MOST_BIN_BITS))
    _deal(values, bin_bits, keys, source, counts, first)
    keys[: first[m]].sort(axis=1)
    _read(keys, source, counts, first, values, order, doubled_ranks, tied)
    return np.flatnonzero(first[1:] == first[:-1])


@kernel
def _deal(values: Values, bin_bits: int, keys: Keys, source: Rows, counts: Rows, first: Numbers) -> None:
    """Deal the values of each feature into rows of keys; a feature that cannot be dealt gets none."""
    m, n = values.shape
    bins = 1 << bin_bits
    shift = _FINE_BITS - bin_bits
    fine = np.empty(n, dtype=np.int64)
    held = np.empty(bins, dtype=np.int32)
    place = np.empty(bins, dtype=np.int64)
    start = np.empty(bins, dtype=np.int64)
    cut = np.empty(bins, dtype=np.int64)
    sample = np.empty(_SAMPLE)
    row = 0
    for f in range(m):
        first[f] = row
        z = values[f]
        low, high = _reach(z, sample)
        scale = float((1 << _FINE_BITS) - 1) / (high - low) if high > low else 0.0
        if not (0.0 < scale < np.inf):
            continue
        _place(z, low, scale, fine)
        held[:] = 0
        for i in range(n):
            held[fine[i] >> shift] += 1
        end = _group(held, shift, row, counts, place, start, cut)
        if end < 0:
            continue
        for r in range(row, end):
            for slot in range(counts[r], WIDTH):
                keys[r, slot] = _EMPTY
        flat_keys, flat_source = keys.reshape(-1), source.reshape(-1)
        for i in range(n):
            b = fine[i] >> shift
            p = place[b]
            place[b] = p + 1
            flat_keys[p] = np.uint32((((fine[i] - start[b]) >> cut[b]) << _SLOT_BITS) | (p & (WIDTH - 1)))
            flat_source[p] = np.int32(i)
        row = end
    first[m] = row


@kernel
def _reach(z: Values, sample: Values) -> tuple[float, float]:
    """Say from where to where the bins reach: all values, or most of them where few lie far out."""
    n = z.size
    low = high = z[0]
    for i in range(n):
        low, high = min(low, z[i]), max(high, z[i])
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
def _place(z: Values, low: float, scale: float, fine: Numbers) -> None:
    """Place values in the range, what lies beyond at its ends; a larger value never stands before."""
    top = float((1 << _FINE_BITS) - 1)
    for i in range(z.size):
        fine[i] = np.int64(min(max((z[i] - low) * scale, 0.0), top))


@kernel
def _group(
    held: Rows, shift: int, row: int, counts: Rows, place: Numbers, start: Numbers, cut: Numbers
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
            while (wide - 1) >> spare >> _PLACE_BITS:
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


@kernel
def _read(
    keys: Keys,
    source: Rows,
    counts: Rows,
    first: Numbers,
    values: Values,
    order: Rows,
    doubled_ranks: Rows,
    tied: Flags,
) -> None:
    """Read the rows of the table and their ranks off the sorted keys."""
    m, n = values.shape
    spare = np.empty(n, dtype=np.int32)
    same = np.empty(n, dtype=np.bool_)
    for f in range(m):
        if first[f] == first[f + 1]:
            continue
        rows, doubled = order[f], doubled_ranks[f]
        k = 0
        any_same = False
        for r in range(first[f], first[f + 1]):
            before = ~keys[r, 0]  # neighbouring rows of keys differ by their bins
            for j in range(counts[r]):
                key = keys[r, j]
                row = source[r, key & np.uint32(WIDTH - 1)]
                rows[k] = row
                doubled[row] = np.int32(2 * k + 2)
                same[k] = (key ^ before) < np.uint32(WIDTH)
                any_same |= same[k]
                before = key
                k += 1
        tied[f] = any_same and _settle(rows, values[f], same, doubled, spare)


@kernel
def _settle(rows: Rows, z: Values, same: Flags, doubled: Rows, spare: Rows) -> bool:
    """Put runs of rows whose places are equal in order by their values; say whether any are tied."""
    n = rows.size
    any_tied = False
    k = 1
    while k < n:
        if not same[k]:
            k += 1
            continue
        start = k - 1
        while k < n and same[k]:
            k += 1
        sort_run(rows, z, start, k, spare)
        doubled[rows[start]] = np.int32(2 * start + 2)
        for j in range(start + 1, k):
            doubled[rows[j]] = np.int32(2 * j + 2)
            any_tied |= z[rows[j]] == z[rows[j - 1]]
    if any_tied:
        rank(rows, z, doubled)
    return any_tied
