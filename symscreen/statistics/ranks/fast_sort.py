"""The order of rows by sorting short rows of 32-bit keys.

Sorting is fast if a row of keys fits the processor's registers: up to 512 32-bit integers are sorted by a
network without branches. The high bits of a key hold the position of a value in the range of its row of keys;
the low ⌈log2 n⌉ bits hold the row index. The keys only pre-sort: rows with equal positions are sorted by
their values.

The values of a longer column are partitioned into bins of equal width, and adjacent bins form rows of at most
`KEYS_PER_ROW` keys. The position is then relative to the range of the row of keys, which needs fewer bits
than the range of the feature.

Positions are too coarse if values are concentrated. Such a feature is tried again with signed logarithms of
its values (`write_signed_log_keys`). The features that remain are sorted by
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


KEYS_PER_ROW = 512
NO_TIES, TIED, UNDECIDED = 0, 1, 2

_MAGNITUDE_MASK = np.int64(0x7FFFFFFFFFFFFFFF)
_N_SAMPLED_ROWS = 32  # rows whose smallest magnitude sets the floor of the logarithmic keys
_ZERO_GAP_BITS = 1 << 52  # gap between zero, which may be frequent, and the smallest magnitude
_FLOOR_OFFSET_BITS = 8 << 52  # difference between the bits of a float64 and of one 2⁸ times smaller
_MAX_INSERTION_RUN = 24  # rows; longer runs of equal truncated keys are merge-sorted
_KEY_BITS = 32
_FINE_BITS = 31  # bits of a position in the range of a feature
_SPARE_BITS = np.uint32(_KEY_BITS - _FINE_BITS)
_COARSE_BITS = 11  # bits of a row index up to which positions in the feature's range suffice
_VALUES_PER_BIN_BITS = 3  # eight values per bin on average
_MAX_BIN_BITS = 20
_RANGE_SAMPLE_SIZE = 32  # values
_RANGE_MARGIN_SPREADS = 4.0  # margin of the bins around the sample, in spreads of the sample
_EMPTY_KEY = np.uint32(0xFFFFFFFF)
_MAX_SINGLE_ROW_LENGTH = KEYS_PER_ROW  # values; longer columns need several rows of keys
_MAX_ROW_BITS = 22  # bits of a row index; with more, positions are too coarse
_UNDECIDED_DIVISOR = 16  # at most n / 16 adjacent rows may be sorted by value


@compile_kernel
def write_signed_log_keys(bits: Numbers, features: Numbers, out: Values) -> None:
    """Map values to numbers that are non-decreasing in them and approximately linear in their logarithms.

    The bits of a positive float64, read as an integer, are approximately linear in its logarithm. Magnitudes
    below 2⁻⁸ times the smallest of a sample are set to this floor; otherwise the distance to zero would use
    most of the range.

    Parameters
    ----------
    bits : int64 array, shape (q, n)
        The bits of the values of features; finite.
    features : int64 array, shape (m,)
        Indices of the features to map.
    out : float64 array, shape (m, n)
        Overwritten.
    """
    n = bits.shape[1]
    for f in range(features.size):
        z = bits[features[f]]
        smallest = _MAGNITUDE_MASK
        for k in range(_N_SAMPLED_ROWS):
            magnitude = z[(k * n + n // 2) // _N_SAMPLED_ROWS] & _MAGNITUDE_MASK
            if magnitude > 0:
                smallest = min(smallest, magnitude)
        floor = max(smallest - _FLOOR_OFFSET_BITS, 0) if smallest < _MAGNITUDE_MASK else 0
        for i in range(n):
            magnitude = z[i] & _MAGNITUDE_MASK
            if magnitude > 0:
                magnitude = max(magnitude - floor, 0) + _ZERO_GAP_BITS
            out[f, i] = float(magnitude if z[i] >= 0 else -magnitude)


@compile_kernel
def write_doubled_ranks(rows: Rows, z: Values, doubled: Rows) -> bool:
    """Write twice the mid-ranks of sorted rows, shape (n,); return whether any are tied."""
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
    """Extract rows from the low bits of sorted keys, and flag keys whose high bits equal the previous key's.

    Returns
    -------
    bool
        Whether any key is flagged.
    """
    mask = keys.dtype.type(row_mask)
    rows[0], equals_previous[0] = np.int32(keys[0] & mask), False
    n_equal = 0
    for k in range(1, keys.size):
        rows[k] = np.int32(keys[k] & mask)
        equals_previous[k] = (keys[k] ^ keys[k - 1]) <= mask
        n_equal += equals_previous[k]
    return n_equal > 0


@compile_kernel
def resolve_ties(
    equals_previous: Flags, rows: Rows, z: Values, buffer: Rows, max_differing: int
) -> tuple[int, int]:
    """Sort runs of rows whose truncated keys are equal by their values.

    Returns
    -------
    status : int
        NO_TIES or TIED; UNDECIDED if values differ at more than `max_differing` positions in runs, which are
        then left unsorted.
    differing : int
        The number of these positions.
    """
    n = rows.size
    differing = 0
    previous = z[rows[0]]
    for k in range(1, n):
        value = z[rows[k]]
        differing += equals_previous[k] & (value != previous)
        previous = value
    if differing == 0:  # equal values, whose rows ascend
        return TIED, 0
    if differing > max_differing:
        return UNDECIDED, differing
    status = NO_TIES
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
                status = TIED
    return status, differing


@compile_kernel
def sort_run(rows: Rows, z: Values, start: int, stop: int, buffer: Rows) -> None:
    """Sort rows[start:stop], which ascend by row index, by value; the sort is stable."""
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
    while width < stop - start:  # bottom-up merge sort
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


def compute_max_key_rows(n: int) -> int:
    """Return the maximum number of rows of keys that a column of n values needs."""
    # Two adjacent rows hold more than KEYS_PER_ROW keys together, except after a bin that fills several rows.
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
    """Partition the values of each feature into rows of keys.

    Parameters
    ----------
    sort_values : float64 array, shape (m, n)
        The values, or non-decreasing functions of them, that positions are computed from.
    features : int64 array, shape (m,)
        The indices of these features in `values`.
    values : float64 array, shape (q, n)
        The values of all features; finite.
    low, high : float64 arrays, shape (m,)
        The smallest and the largest of `sort_values` for each feature.
    row_bits : int
        The number of low bits of a key that hold the row index.
    keys : uint32 array, shape (m · compute_max_key_rows(n), KEYS_PER_ROW)
        Overwritten. The rows of keys are in the order of the features, and within a feature in that of the
        values.
    key_counts : int32 array, shape (m · compute_max_key_rows(n),)
        Overwritten with the number of keys of each row. The other keys of a row are the largest integer.
    first_key_rows : int64 array, shape (m + 1,)
        Overwritten with the first row of keys of each feature, and the end. A feature that cannot be
        partitioned has no rows.
    """
    m, n = sort_values.shape
    bin_bits = 4
    while bin_bits < _MAX_BIN_BITS and (1 << (bin_bits + _VALUES_PER_BIN_BITS)) < n:
        bin_bits += 1
    n_bins = 1 << bin_bits
    shift = _FINE_BITS - bin_bits
    positions = np.empty(n, dtype=np.int32)
    bin_counts = np.empty(n_bins, dtype=np.int32)
    next_slots = np.empty(n_bins, dtype=np.int32)
    range_starts = np.empty(n_bins, dtype=np.int32)
    dropped_bits = np.empty(n_bins, dtype=np.int32)
    row = 0
    for f in range(m):
        first_key_rows[f] = row
        begin, end = _find_bin_range(sort_values[f], low[f], high[f])
        scale = float((1 << _FINE_BITS) - 1) / (end - begin) if end > begin else 0.0
        if not (0.0 < scale < np.inf):
            continue
        _compute_positions(sort_values[f], begin, scale, positions)
        bin_counts[:] = 0
        for i in range(n):
            bin_counts[np.uint32(positions[i] >> shift)] += 1
        if bin_counts.max() > KEYS_PER_ROW and not _has_uniform_large_bins(
            values[features[f]], positions, shift, bin_counts
        ):
            continue
        stop = _group_bins(bin_counts, row, key_counts, next_slots)
        for r in range(row, stop):
            keys[r, key_counts[r] :] = _EMPTY_KEY
        if row_bits <= _COARSE_BITS:
            _write_keys(positions, shift, row_bits, next_slots, keys.reshape(-1))
        else:
            _find_row_ranges(next_slots, shift, _KEY_BITS - row_bits, range_starts, dropped_bits)
            _write_keys_by_row(
                positions, shift, row_bits, next_slots, range_starts, dropped_bits, keys.reshape(-1)
            )
        row = stop
    first_key_rows[m] = row


@compile_kernel
def _find_bin_range(z: Values, low: float, high: float) -> tuple[float, float]:
    """Return the range of the bins: that of all values, or of most if a few are far outside."""
    n = z.size
    low1 = low2 = low3 = np.inf  # the three smallest values of a sample, and the three largest
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
    """Write the non-decreasing positions, shape (n,), of values in the range; values outside are clipped."""
    top = float((1 << _FINE_BITS) - 1)
    for i in range(z.size):
        positions[i] = np.int32(min(max((z[i] - range_start) * scale, 0.0), top))


@compile_kernel
def _has_uniform_large_bins(z: Values, positions: Rows, shift: int, bin_counts: Rows) -> bool:
    """Check whether each bin with more than `KEYS_PER_ROW` values is constant, so it needs no sorting."""
    bin_values = np.full(bin_counts.size, np.nan)
    for i in range(z.size):
        b = positions[i] >> shift
        if bin_counts[b] > KEYS_PER_ROW:
            if np.isnan(bin_values[b]):
                bin_values[b] = z[i]
            elif z[i] != bin_values[b]:
                return False
    return True


@compile_kernel
def _group_bins(bin_counts: Rows, row: int, key_counts: Rows, next_slots: Rows) -> int:
    """Assign adjacent bins to rows of keys; a bin that does not fit one row fills several.

    Returns
    -------
    int
        The index after the last row.
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
            if filled <= KEYS_PER_ROW:
                # The next bin starts a new row, because its positions are relative to a different range.
                key_counts[row] = filled
                row += 1
                filled = 0
    if filled:
        key_counts[row] = filled
        row += 1
    return row


@compile_kernel
def _write_keys(positions: Rows, shift: int, row_bits: int, next_slots: Rows, flat_keys: Keys) -> None:
    """Write keys with positions in the range of the feature."""
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
    """Write for each bin where the range of its row starts, and how many low bits of a position to drop."""
    n_bins = next_slots.size
    stop = 0
    while stop < n_bins:
        first_bin = stop
        end = (next_slots[first_bin] // KEYS_PER_ROW + 1) * KEYS_PER_ROW
        while stop < n_bins and next_slots[stop] < end:
            stop += 1
        width = (stop - first_bin) << shift
        spare = 0
        while (width - 1) >> spare >> position_bits:
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
    """Write keys with positions in the range of the row of keys."""
    for i in range(positions.size):
        b = np.uint32(positions[i] >> shift)
        p = next_slots[b]
        next_slots[b] = p + 1
        flat_keys[np.uint32(p)] = np.uint32(
            (((positions[i] - range_starts[b]) >> dropped_bits[b]) << row_bits) | i
        )


def sort_with_short_keys(
    values: NDArray[np.float64], order: NDArray[np.int32], tied: NDArray[np.bool_], workspace: Workspace
) -> NDArray[np.int64]:
    """Sort the rows of features whose values, or their logarithms, are spread out.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature per row, C-contiguous, finite.
    order : int32 array, shape (m, n)
        Overwritten for the sorted features, as described in `sort_block`.
    tied : bool array, shape (m,)
        Overwritten likewise.
    workspace : Workspace
        Scratch arrays for the keys.

    Returns
    -------
    int64 array
        Indices of the features that are not sorted, because their values are concentrated.
    """
    m, n = values.shape
    features = np.arange(m)
    if (n - 1).bit_length() > _MAX_ROW_BITS:
        return features
    unsorted = features[_try_short_keys(values, features, values, order, tied, workspace)]
    if len(unsorted):
        stretched = workspace.get_array("stretched", (len(unsorted), n), np.float64)
        write_signed_log_keys(values.view(np.int64), unsorted, stretched)
        unsorted = unsorted[_try_short_keys(stretched, unsorted, values, order, tied, workspace)]
    return unsorted


def _try_short_keys(
    key_values: NDArray[np.float64],
    features: NDArray[np.int64],
    values: NDArray[np.float64],
    order: NDArray[np.int32],
    tied: NDArray[np.bool_],
    workspace: Workspace,
) -> NDArray[np.bool_]:
    """Sort features by keys from `key_values`, shape (m, n); return which remain unsorted, shape (m,)."""
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
    unsorted = workspace.get_array("left", (m,), np.bool_)
    _unpack_short_keys(keys, counts, first, features, bits, values, order, tied, unsorted)
    return unsorted


@compile_kernel
def _pack_short_keys(
    values: Values, low: Values, high: Values, bits: int, keys: Keys, counts: Rows, first_key_rows: Numbers
) -> None:
    """Pack one row of keys per feature; none if the range of its values is too small or too large."""
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
    """Extract the row indices from the sorted keys, and sort ties by value."""
    n = values.shape[1]
    row_mask = (1 << bits) - 1
    buffer = np.empty(n, dtype=np.int32)
    equals_previous = np.empty(n, dtype=np.bool_)
    for i in range(features.size):
        f = features[i]
        tied[f], unsorted[i] = False, first_key_rows[i] == first_key_rows[i + 1]
        k = 0
        max_differing = n // _UNDECIDED_DIVISOR
        for r in range(first_key_rows[i], first_key_rows[i + 1]):
            rows = order[f, k : k + counts[r]]
            k += counts[r]
            if unpack_rows(keys[r, : counts[r]], row_mask, rows, equals_previous):
                status, differing = resolve_ties(equals_previous, rows, values[f], buffer, max_differing)
                max_differing -= differing
                tied[f] |= status == TIED
                if status == UNDECIDED:
                    unsorted[i] = True
                    break
