"""Numbers that spread where values of very different size bunch up: their logarithms, with their signs.

Rows in the order of their values: what truncated keys leave undecided.

A column dealt into short rows of keys, whose order together is that of the column.

The values of a feature are dealt into bins of equal width, and neighbouring bins make up rows of at most
`WIDTH` keys. In a long column a key holds the place of a value in its row's range, which takes fewer bits
than that in the feature's.

The order of the rows under a feature by sorting short rows of 32-bit keys.

Sorting by value is fast where a row fits the registers of the processor: up to 512 numbers of 32 bits are
sorted by a network, without a branch. A key is the place of a value in its row's range, and in the low
⌈log2 n⌉ bits the row of the table. Keys only pre-sort: where places are equal, values decide.

Longer columns are dealt into several such rows: `symscreen.statistics.partition_keys`. A feature whose
values bunch up, so that places say too little, is tried once more by the places of their logarithms:
`symscreen.statistics.write_signed_log_keys`. What is left then is left to
`symscreen.statistics.ranks.sorted_block`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.column_arithmetic import compute_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Numbers, Rows, Values
    from symscreen.statistics.workspace import Workspace

    TruncatedKeys = NDArray[np.uint32] | NDArray[np.uint64]
    Keys = NDArray[np.uint32]

__all__ = [
    "KEYS_PER_ROW",
    "NO_TIES",
    "TIED",
    "UNDECIDED",
    "compute_max_key_rows",
    "partition_keys",
    "resolve_ties",
    "sort_run",
    "sort_with_short_keys",
    "unpack_rows",
    "write_doubled_ranks",
    "write_signed_log_keys",
]

_MAGNITUDE_MASK = np.int64(0x7FFFFFFFFFFFFFFF)
_N_SAMPLED_ROWS = 32
_ZERO_GAP_BITS = (
    1 << 52
)  # the bits by which the smallest number stands apart from zero, where many values may be
_FLOOR_OFFSET_BITS = 8 << 52  # the bits of a number this much smaller are those of one 2⁸ times as small


@compile_kernel
def write_signed_log_keys(bits: Numbers, features: Numbers, out: Values) -> None:
    """Map values to numbers that never fall where values rise, and grow as their logarithms do.

    The bits of a positive number, read as a whole number, grow so. What is 2⁸ times as small as the smallest
    of a sample counts as the smallest, lest the way from there to zero take most of the range.

    Parameters
    ----------
    bits : int64 array, shape (q, n)
        The bits of the values of features; finite.
    features : int64 array, shape (m,)
        Which of them.
    out : float64 array, shape (m, n)
        Filled.
    """
    n = bits.shape[1]
    for place in range(features.size):
        z = bits[features[place]]
        least = _MAGNITUDE_MASK
        for k in range(_N_SAMPLED_ROWS):
            size = z[(k * n + n // 2) // _N_SAMPLED_ROWS] & _MAGNITUDE_MASK
            if size > 0:
                least = min(least, size)
        zero = max(least - _FLOOR_OFFSET_BITS, 0) if least < _MAGNITUDE_MASK else 0
        for i in range(n):
            size = z[i] & _MAGNITUDE_MASK
            if size > 0:
                size = max(size - zero, 0) + _ZERO_GAP_BITS
            out[place, i] = float(size if z[i] >= 0 else -size)


_MAX_INSERTION_RUN = 24  # a run of equal truncated keys up to this long is put in order by insertion
NO_TIES, TIED, UNDECIDED = 0, 1, 2


@compile_kernel
def write_doubled_ranks(rows: Rows, z: Values, doubled: Rows) -> bool:
    """Write twice the mid-ranks of rows that stand in order; say whether any are tied."""
    n = rows.size
    any_tied = False
    start = 0
    for k in range(1, n + 1):
        if k == n or z[rows[k]] != z[rows[start]]:
            for j in range(start, k):
                doubled[rows[j]] = np.int32(start + k + 1)
            any_tied |= k - start > 1
            start = k
    return any_tied


@compile_kernel
def unpack_rows(keys: TruncatedKeys, row_mask: int, rows: Rows, equals_previous: Flags) -> bool:
    """Read rows off the low bits of sorted keys, and say which keys else equal the one before.

    Returns
    -------
    bool
        Whether any is.
    """
    mask = keys.dtype.type(row_mask)
    rows[0], equals_previous[0] = np.int32(keys[0] & mask), False
    count = 0
    for k in range(1, keys.size):
        rows[k] = np.int32(keys[k] & mask)
        equals_previous[k] = (keys[k] ^ keys[k - 1]) <= mask
        count += equals_previous[k]
    return count > 0


@compile_kernel
def resolve_ties(
    equals_previous: Flags, rows: Rows, z: Values, buffer: Rows, max_differing: int
) -> tuple[int, int]:
    """Put runs of rows whose keys are equal but for their low bits in order by their values.

    Returns
    -------
    found : int
        APART or TIED; UNDECIDED where values differ at more than `most` of the places in runs, which are
        then left.
    differing : int
        At how many they do.
    """
    n = rows.size
    differing = 0
    before = z[rows[0]]
    for k in range(1, n):
        value = z[rows[k]]
        differing += equals_previous[k] & (value != before)
        before = value
    if differing == 0:  # equal values, and their rows ascend
        return TIED, 0
    if differing > max_differing:
        return UNDECIDED, differing
    found = NO_TIES
    k = 1
    while k < n:
        if not equals_previous[k]:
            k += 1
            continue
        start = k - 1
        while k < n and equals_previous[k]:
            k += 1
        sort_run(rows, z, start, k, buffer)
        for j in range(start + 1, k):
            if z[rows[j]] == z[rows[j - 1]]:
                found = TIED
    return found, differing


@compile_kernel
def sort_run(rows: Rows, z: Values, start: int, stop: int, buffer: Rows) -> None:
    """Put rows[start:stop], which ascend by row number, in stable order of their values."""
    k = start + 1
    while k < stop and z[rows[k - 1]] <= z[rows[k]]:
        k += 1
    if k == stop:
        return
    if stop - start <= _MAX_INSERTION_RUN:
        for i in range(k, stop):
            row = rows[i]
            j = i
            while j > start and z[rows[j - 1]] > z[row]:
                rows[j] = rows[j - 1]
                j -= 1
            rows[j] = row
        return
    width = 1
    while width < stop - start:  # merge sort from the bottom up
        for left in range(start, stop, 2 * width):
            middle, right = min(left + width, stop), min(left + 2 * width, stop)
            i, j = left, middle
            for p in range(left, right):
                if i < middle and (j >= right or z[rows[i]] <= z[rows[j]]):
                    buffer[p] = rows[i]
                    i += 1
                else:
                    buffer[p] = rows[j]
                    j += 1
        for p in range(start, stop):
            rows[p] = buffer[p]
        width *= 2


KEYS_PER_ROW = 512  # keys in a row
_PARTITION_KEY_BITS = 32
_FINE_BITS = 31  # of a value's place in its feature's range, before it is cut to that in a row's
_SPARE_BITS = np.uint32(_PARTITION_KEY_BITS - _FINE_BITS)
_COARSE_BITS = 11  # of a row number, up to which a place in the feature's range tells nearly all values apart
_VALUES_PER_BIN_BITS = 3  # a bin holds eight values on average
_MAX_BIN_BITS = 20
_RANGE_SAMPLE_SIZE = 32
_RANGE_MARGIN_SPREADS = 4.0  # how far, in spreads of the sample, the bins reach beyond it
_EMPTY_KEY = np.uint32(0xFFFFFFFF)


def compute_max_key_rows(n: int) -> int:
    """Return how many rows of keys a column of n values may take."""
    # two neighbouring rows hold more than WIDTH together, but for the last one of a bin that takes several
    return -(-3 * n // KEYS_PER_ROW) + 1


@compile_kernel
def partition_keys(
    sort_values: Values,
    features: Integers,
    values: Values,
    low: Values,
    high: Values,
    row_bits: int,
    keys: Keys,
    key_counts: Rows,
    first_key_rows: Integers,
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
    m, n = sort_values.shape
    bin_bits = 4
    while bin_bits < _MAX_BIN_BITS and (1 << (bin_bits + _VALUES_PER_BIN_BITS)) < n:
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
        first_key_rows[f] = row
        begin, end = _find_bin_range(sort_values[f], low[f], high[f])
        scale = float((1 << _FINE_BITS) - 1) / (end - begin) if end > begin else 0.0
        if not (0.0 < scale < np.inf):
            continue
        _compute_positions(sort_values[f], begin, scale, fine)
        held[:] = 0
        for i in range(n):
            held[np.uint32(fine[i] >> shift)] += 1
        if held.max() > KEYS_PER_ROW and not _has_uniform_large_bins(values[features[f]], fine, shift, held):
            continue
        stop = _group_bins(held, row, key_counts, place)
        for r in range(row, stop):
            keys[r, key_counts[r] :] = _EMPTY_KEY
        if row_bits <= _COARSE_BITS:
            _write_keys(fine, shift, row_bits, place, keys.reshape(-1))
        else:
            _find_row_ranges(place, shift, _PARTITION_KEY_BITS - row_bits, start, cut)
            _write_keys_by_row(fine, shift, row_bits, place, start, cut, keys.reshape(-1))
        row = stop
    first_key_rows[m] = row


@compile_kernel
def _find_bin_range(z: Values, low: float, high: float) -> tuple[float, float]:
    """Say from where to where the bins reach: all values, or most of them where few lie far out."""
    n = z.size
    low1 = low2 = low3 = np.inf  # the three least of a sample, and the three largest
    high1 = high2 = high3 = -np.inf
    for k in range(_RANGE_SAMPLE_SIZE):
        value = z[(k * n + n // 2) // _RANGE_SAMPLE_SIZE]
        low3 = min(low3, max(low2, value))
        low2 = min(low2, max(low1, value))
        low1 = min(low1, value)
        high3 = max(high3, min(high2, value))
        high2 = max(high2, min(high1, value))
        high1 = max(high1, value)
    if low3 == high3:
        return low, high
    spread = _RANGE_MARGIN_SPREADS * (high3 - low3)
    return max(low, low3 - spread), min(high, high3 + spread)


@compile_kernel
def _compute_positions(z: Values, range_start: float, scale: float, positions: Rows) -> None:
    """Place values in the range, what lies beyond at its ends; a larger value never stands before."""
    top = float((1 << _FINE_BITS) - 1)
    for i in range(z.size):
        positions[i] = np.int32(min(max((z[i] - range_start) * scale, 0.0), top))


@compile_kernel
def _has_uniform_large_bins(z: Values, positions: Rows, shift: int, bin_counts: Rows) -> bool:
    """Say whether all values are equal in each bin that takes more than a row: then there is none to sort."""
    one = np.full(bin_counts.size, np.nan)
    for i in range(z.size):
        b = positions[i] >> shift
        if bin_counts[b] > KEYS_PER_ROW:
            if np.isnan(one[b]):
                one[b] = z[i]
            elif z[i] != one[b]:
                return False
    return True


@compile_kernel
def _group_bins(bin_counts: Rows, row: int, key_counts: Rows, next_slots: Rows) -> int:
    """Give neighbouring bins to rows, and one that takes more than a row as many as it takes.

    Returns
    -------
    int
        The row after the last.
    """
    filled = 0
    for b in range(bin_counts.size):
        if filled + bin_counts[b] > KEYS_PER_ROW:
            if filled:
                key_counts[row] = filled
                row += 1
            filled = 0
        next_slots[b] = row * KEYS_PER_ROW + filled
        filled += bin_counts[b]
        while filled > KEYS_PER_ROW:
            key_counts[row] = KEYS_PER_ROW
            row += 1
            filled -= KEYS_PER_ROW
            if (
                filled <= KEYS_PER_ROW
            ):  # the next bin is not put behind, for its keys are taken of another range
                key_counts[row] = filled
                row += 1
                filled = 0
    if filled:
        key_counts[row] = filled
        row += 1
    return row


@compile_kernel
def _write_keys(positions: Rows, shift: int, row_bits: int, next_slots: Rows, flat_keys: Keys) -> None:
    """Write keys of the places in the feature's range."""
    mask = ~np.uint32((1 << row_bits) - 1)
    for i in range(positions.size):
        b = np.uint32(positions[i] >> shift)
        p = next_slots[b]
        next_slots[b] = p + 1
        flat_keys[np.uint32(p)] = ((np.uint32(positions[i]) << _SPARE_BITS) & mask) | np.uint32(i)


@compile_kernel
def _find_row_ranges(
    next_slots: Rows, shift: int, position_bits: int, range_starts: Rows, dropped_bits: Rows
) -> None:
    """Say for each bin where its row's range starts and how many bits of a place in it are too many."""
    bins = next_slots.size
    stop = 0
    while stop < bins:
        first_bin = stop
        end = (next_slots[first_bin] // KEYS_PER_ROW + 1) * KEYS_PER_ROW
        while stop < bins and next_slots[stop] < end:
            stop += 1
        wide = (stop - first_bin) << shift
        spare = 0
        while (wide - 1) >> spare >> position_bits:
            spare += 1
        range_starts[first_bin:stop] = first_bin << shift
        dropped_bits[first_bin:stop] = spare


@compile_kernel
def _write_keys_by_row(
    positions: Rows,
    shift: int,
    row_bits: int,
    next_slots: Rows,
    range_starts: Rows,
    dropped_bits: Rows,
    flat_keys: Keys,
) -> None:
    """Write keys of the places in the row's range."""
    for i in range(positions.size):
        b = np.uint32(positions[i] >> shift)
        p = next_slots[b]
        next_slots[b] = p + 1
        flat_keys[np.uint32(p)] = np.uint32(
            (((positions[i] - range_starts[b]) >> dropped_bits[b]) << row_bits) | i
        )


_KEY_BITS = 32
_MAX_SINGLE_ROW_LENGTH = KEYS_PER_ROW  # the longest column that is one row of keys
_MAX_ROW_BITS = 22  # of a row number; beyond, places are too coarse
_UNDECIDED_DIVISOR = 16  # values may decide between neighbours at one in so many places


def sort_with_short_keys(
    values: NDArray[np.float64], order: NDArray[np.int32], tied: NDArray[np.bool_], workspace: Workspace
) -> NDArray[np.int64]:
    """Put the rows of features in order where their values, or the logarithms of these, spread.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row, C-contiguous, finite.
    order : int32 array, shape (m, n)
        Filled, for the features that are put in order, as `sort_block` says.
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
    if (n - 1).bit_length() > _MAX_ROW_BITS:
        return features
    left = features[_try_short_keys(values, features, values, order, tied, workspace)]
    if len(left):
        stretched = workspace.get_array("stretched", (len(left), n), np.float64)
        write_signed_log_keys(values.view(np.int64), left, stretched)
        left = left[_try_short_keys(stretched, left, values, order, tied, workspace)]
    return left


def _try_short_keys(
    key_values: NDArray[np.float64],
    features: NDArray[np.int64],
    values: NDArray[np.float64],
    order: NDArray[np.int32],
    tied: NDArray[np.bool_],
    workspace: Workspace,
) -> NDArray[np.bool_]:
    """Put features in order by the places of what never falls where values rise; say which are left."""
    m, n = key_values.shape
    bits = (n - 1).bit_length()
    low, high = workspace.get_array("low", (m,), np.float64), workspace.get_array("high", (m,), np.float64)
    compute_bounds(key_values, low, high)
    first = workspace.get_array("first", (m + 1,), np.int64)
    if n <= _MAX_SINGLE_ROW_LENGTH:
        keys = workspace.get_array("keys", (m, n), np.uint32)
        counts = workspace.get_array("counts", (m,), np.int32)
        _pack_short_keys(key_values, low, high, bits, keys, counts, first)
    else:
        rows = m * compute_max_key_rows(n)
        keys = workspace.get_array("keys", (rows, KEYS_PER_ROW), np.uint32)
        counts = workspace.get_array("counts", (rows,), np.int32)
        partition_keys(key_values, features, values, low, high, bits, keys, counts, first)
    keys[: first[m]].sort(axis=1)
    left = workspace.get_array("left", (m,), np.bool_)
    _unpack_short_keys(keys, counts, first, features, bits, values, order, tied, left)
    return left


@compile_kernel
def _pack_short_keys(
    values: Values, low: Values, high: Values, bits: int, keys: Keys, counts: Rows, first_key_rows: Numbers
) -> None:
    """Make one row of keys of each feature; none where values differ too little or too much."""
    m, n = values.shape
    shift = np.uint32(bits)
    top = float((1 << (_KEY_BITS - bits)) - 1)
    row = 0
    for f in range(m):
        first_key_rows[f] = row
        start = low[f]
        scale = top / (high[f] - start) if high[f] > start else 0.0
        if not (0.0 < scale < np.inf):
            continue
        z, key = values[f], keys[row]
        for i in range(n):
            key[i] = (np.uint32(np.int32((z[i] - start) * scale)) << shift) | np.uint32(i)
        counts[row] = n
        row += 1
    first_key_rows[m] = row


@compile_kernel
def _unpack_short_keys(
    keys: Keys,
    counts: Rows,
    first_key_rows: Numbers,
    features: Numbers,
    bits: int,
    values: Values,
    order: Rows,
    tied: Flags,
    unsorted: Flags,
) -> None:
    """Read the rows of the table off the sorted keys."""
    n = values.shape[1]
    low = (1 << bits) - 1
    spare = np.empty(n, dtype=np.int32)
    same = np.empty(n, dtype=np.bool_)
    for place in range(features.size):
        f = features[place]
        tied[f], unsorted[place] = False, first_key_rows[place] == first_key_rows[place + 1]
        k = 0
        undecided = n // _UNDECIDED_DIVISOR
        for r in range(first_key_rows[place], first_key_rows[place + 1]):
            rows = order[f, k : k + counts[r]]
            k += counts[r]
            if unpack_rows(keys[r, : counts[r]], low, rows, same):
                found, decided = resolve_ties(same, rows, values[f], spare, undecided)
                undecided -= decided
                tied[f] |= found == TIED
                if found == UNDECIDED:
                    unsorted[place] = True
                    break
