"""Compiled kernels of sorting, ranks and rank statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.column_arithmetic import compute_simd_dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Numbers, Rows, Values

    Keys = NDArray[np.uint64]
    TruncatedKeys = NDArray[np.uint32] | NDArray[np.uint64]
    Weights = NDArray[np.uint64]


KEYS_PER_ROW = 512
NO_TIES, TIED, UNDECIDED = 0, 1, 2
_MAGNITUDE_MASK = np.int64(0x7FFFFFFFFFFFFFFF)
_N_SAMPLED_ROWS = 32  # rows whose smallest magnitude sets the floor of the logarithmic keys
_ZERO_GAP_BITS = 1 << 52  # gap between zero, which may be frequent, and the smallest magnitude
_FLOOR_OFFSET_BITS = 8 << 52  # difference between the bits of a float64 and of one 2⁸ times smaller
_MAX_INSERTION_RUN = 24  # rows of the longest run of equal truncated keys that is not merge-sorted
_KEY_BITS = 32
_FINE_BITS = 31  # bits of a position in the range of a feature
_SPARE_BITS = np.uint32(_KEY_BITS - _FINE_BITS)
_COARSE_BITS = 11  # largest number of bits of a row index with which a coarse position in the range is enough
_VALUES_PER_BIN_BITS = 3  # eight values per bin on average
_MAX_BIN_BITS = 20
_RANGE_SAMPLE_SIZE = 32  # values of a feature from which its range is estimated
_RANGE_MARGIN_SPREADS = 4.0  # margin of the bins around the sample, in spreads of the sample
_EMPTY_KEY = np.uint32(0xFFFFFFFF)
_UNDECIDED_DIVISOR = 16  # n divided by the largest number of rows that are sorted by value
_SIGN_BIT = np.uint64(1 << 63)
_FRACTION_BITS, _EXPONENT_BIAS = 52, 1023  # layout of a float64
_MAX_MODERATE_EXPONENT = 400  # up to this power of two, sums of squares neither overflow nor underflow
_BLOCK_ROWS = 1024  # partial sums over this number of rows keep the rounding error small for any n


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
def write_centered_ranks(rows: Rows, z: Values, tied: bool, doubled: Rows) -> None:
    """Write twice the mid-ranks of sorted rows, shape (n,), minus n + 1; `tied` says whether any are tied."""
    n = rows.size
    if tied:
        write_doubled_ranks(rows, z, doubled)
        for i in range(n):
            doubled[i] -= np.int32(n + 1)
    else:
        for k in range(n):
            doubled[np.uint32(rows[k])] = np.int32(2 * k + 1 - n)


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
        largest = 0
        for each in range(n_bins):
            largest = max(largest, bin_counts[each])
        if largest > KEYS_PER_ROW and not _has_uniform_large_bins(
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
    """Return whether each bin with more than `KEYS_PER_ROW` values is constant, so it needs no sorting."""
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


@compile_kernel
def pack_short_keys(
    values: Values, low: Values, high: Values, bits: int, keys: Keys, first_key_rows: Numbers
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
        row += 1
    first_key_rows[m] = row


@compile_kernel
def mark_equal_keys(keys: Keys, first_key_rows: Numbers, bits: int, is_open: Flags) -> None:
    """Mark the features without sorted keys, or with keys that differ in their row index only."""
    row_mask = np.uint32((1 << bits) - 1)
    for f in range(is_open.size):
        n_equal = 1
        if first_key_rows[f] < first_key_rows[f + 1]:
            feature_keys = keys[first_key_rows[f]]
            n_equal = 0
            for k in range(1, feature_keys.size):
                n_equal += (feature_keys[k] ^ feature_keys[k - 1]) <= row_mask
        is_open[f] = n_equal > 0


@compile_kernel
def unpack_short_keys(
    keys: Keys,
    counts: Rows,
    first_key_rows: Numbers,
    key_features: Numbers,
    features: Numbers,
    bits: int,
    values: Values,
    order: Rows,
    tied: Flags,
    unsorted: Flags,
) -> None:
    """Extract the row indices of features from their sorted keys, and sort ties by value.

    Feature `features[i]` has the keys of entry `key_features[i]`.
    """
    n = values.shape[1]
    row_mask = (1 << bits) - 1
    buffer = np.empty(n, dtype=np.int32)
    equals_previous = np.empty(n, dtype=np.bool_)
    for i in range(features.size):
        f, entry = features[i], key_features[i]
        tied[f], unsorted[i] = False, first_key_rows[entry] == first_key_rows[entry + 1]
        k = 0
        max_differing = n // _UNDECIDED_DIVISOR
        for r in range(first_key_rows[entry], first_key_rows[entry + 1]):
            rows = order[f, k : k + counts[r]]
            k += counts[r]
            if unpack_rows(keys[r, : counts[r]], row_mask, rows, equals_previous):
                status, differing = resolve_ties(equals_previous, rows, values[f], buffer, max_differing)
                max_differing -= differing
                tied[f] |= status == TIED
                if status == UNDECIDED:
                    unsorted[i] = True
                    break


@compile_kernel
def write_key_orders(keys: Keys, first_key_rows: Numbers, bits: int, is_open: Flags, order: Rows) -> None:
    """Write the order, shape (m, n), of the features that are not open, from their sorted keys."""
    row_mask = np.uint32((1 << bits) - 1)
    for f in range(is_open.size):
        if not is_open[f]:
            feature_keys = keys[first_key_rows[f]]
            for k in range(feature_keys.size):
                order[f, k] = np.int32(feature_keys[k] & row_mask)


@compile_kernel
def pack_long_keys(raw: Keys, features: Numbers, bits: int, keys: Keys) -> None:
    """Write 64-bit keys, shape (m, n), from the bits of the values."""
    m, n = keys.shape
    mask = ~np.uint64((1 << bits) - 1)
    for f in range(m):
        z = raw[features[f]]
        for i in range(n):
            u = z[i] if z[i] != _SIGN_BIT else np.uint64(0)  # −0 becomes 0, so that the zeros tie
            u = ~u if u & _SIGN_BIT else u | _SIGN_BIT
            keys[f, i] = (u & mask) | np.uint64(i)


@compile_kernel
def unpack_long_keys(
    keys: Keys, values: Values, features: Numbers, bits: int, order: Rows, tied: Flags
) -> None:
    """Extract the order from sorted 64-bit keys, and sort ties by value."""
    m, n = keys.shape
    row_mask = (1 << bits) - 1
    buffer = np.empty(n, dtype=np.int32)
    equals_previous = np.empty(n, dtype=np.bool_)
    for f in range(m):
        rows = order[features[f]]
        tied[features[f]] = False
        if unpack_rows(keys[f], row_mask, rows, equals_previous):
            tied[features[f]] = resolve_ties(equals_previous, rows, values[features[f]], buffer, n)[0] == TIED


@compile_kernel
def fill_doubled_ranks(order: Rows, values: Values, tied: Flags, doubled_ranks: Rows) -> None:
    """Write twice the mid-ranks, shape (m, n)."""
    m, n = order.shape
    for f in range(m):
        rows, doubled = order[f], doubled_ranks[f]
        if tied[f]:
            write_doubled_ranks(rows, values[f], doubled)
        else:
            for k in range(n):
                doubled[np.uint32(rows[k])] = np.int32(2 * k + 2)


@compile_kernel
def relabel_order(order: Rows, values: Values, tied: Flags, inverse_rows: Rows, out: Rows) -> None:
    """Replace row indices by those of the permuted rows, shape (m, n), and sort tied rows by index."""
    m, n = order.shape
    for f in range(m):
        rows, relabeled = order[f], out[f]
        for k in range(n):
            relabeled[k] = inverse_rows[np.uint32(rows[k])]
        if not tied[f]:
            continue
        start = 0
        for k in range(1, n + 1):
            if k == n or values[f, rows[k]] != values[f, rows[start]]:
                if k - start > 1:
                    _sort_by_heap(relabeled[start:k])
                start = k


@compile_kernel
def _sort_by_heap(rows: Rows) -> None:
    """Sort different rows in ascending order, in place; unlike numpy's sort it is compiled in no time."""
    end = rows.size
    root = end // 2
    while end > 1:
        if root > 0:
            root -= 1
            row = rows[root]
        else:
            end -= 1
            row = rows[end]
            rows[end] = rows[0]
        parent, child = root, 2 * root + 1
        while child < end:
            if child + 1 < end and rows[child + 1] > rows[child]:
                child += 1
            if rows[child] <= row:
                break
            rows[parent] = rows[child]
            parent, child = child, 2 * child + 1
        rows[parent] = row


@compile_kernel
def fill_rank_signatures(
    order: Rows, values: Values, tied: Flags, weights: Weights, signatures: Weights
) -> None:
    """Write the sum, modulo 2⁶⁴, of the row weights times (twice the ranks − (n + 1)) for each feature."""
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)
    for f in range(m):
        rows = order[f]
        total = np.uint64(0)
        if tied[f]:
            write_doubled_ranks(rows, values[f], doubled)
            for i in range(n):
                total += weights[i] * np.uint64(np.int64(doubled[i]) - (n + 1))
        else:
            for k in range(n):
                total += weights[np.uint32(rows[k])] * np.uint64(np.int64(2 * k + 1 - n))
        signatures[f] = total


@compile_kernel
def derive_block_orders(
    values: Values,
    parent_indices: Integers,
    parent_values: Values,
    parent_orders: Rows,
    parent_ties: Flags,
    order: Rows,
    tied: Flags,
    is_known: Flags,
) -> None:
    """Write the orders, shape (m, n), that follow from those of the parents."""
    m, n = values.shape
    for f in range(m):
        p = parent_indices[f]
        is_known[f] = False
        if p < 0:
            continue
        z, x, rows = values[f], parent_values[p], parent_orders[p]
        tied[f] = parent_ties[p]
        if z[rows[0]] < z[rows[n - 1]]:
            is_known[f] = _is_monotone(z, x, rows, tied[f], 1.0)
            order[f] = rows
        else:
            is_known[f] = _is_monotone(z, x, rows, tied[f], -1.0)
            if is_known[f]:
                _mirror_order(x, rows, tied[f], order[f])


@compile_kernel
def _is_monotone(z: Values, x: Values, rows: Rows, tied: bool, sign: float) -> bool:
    """Return whether sign · z is strictly increasing in x, with equal ties; arrays of shape (n,)."""
    n_violations = 0
    previous = sign * z[np.uint32(rows[0])]
    for k in range(1, rows.size):
        value = sign * z[np.uint32(rows[k])]
        n_violations += not previous < value
        previous = value
    if not tied:
        return n_violations == 0
    for k in range(1, rows.size):
        row, next_row = rows[k - 1], rows[k]
        rises = (sign * z[row] < sign * z[next_row]) == (x[row] < x[next_row])
        if not rises or (z[row] == z[next_row]) != (x[row] == x[next_row]):
            return False
    return True


@compile_kernel
def _mirror_order(x: Values, rows: Rows, tied: bool, mirrored: Rows) -> None:
    """Write the reversed order, shape (n,); tied rows keep their order."""
    n = rows.size
    if not tied:
        for k in range(n):
            mirrored[k] = rows[n - 1 - k]
        return
    stop = n
    while stop > 0:
        start = stop - 1
        while start > 0 and x[rows[start - 1]] == x[rows[start]]:
            start -= 1
        for k in range(start, stop):
            mirrored[n - stop + k - start] = rows[k]
        stop = start


@compile_kernel
def fill_kendall(order: Rows, doubled_ranks: Rows, group: Integers, n_tied_y: int, out: Values) -> None:
    """Write τ-b of each feature, shape (m,).

    Rows are in ascending order of y, and each row of `order` has rows tied in the feature in ascending order.
    """
    m, n = order.shape
    y = np.empty(n, dtype=np.int64)
    buffer = np.empty(n, dtype=np.int64)
    n_pairs = n * (n - 1) // 2
    for f in range(m):
        tied_feature = 0
        tied_both = 0
        tie_count = 1
        both_count = 1
        y[0] = group[order[f, 0]]
        for k in range(1, n):
            y[k] = group[order[f, k]]
            is_tied = doubled_ranks[f, order[f, k]] == doubled_ranks[f, order[f, k - 1]]
            # Tied rows ascend by row number and so by y: rows tied in both are adjacent.
            tie_count = tie_count + 1 if is_tied else 1
            both_count = both_count + 1 if is_tied and y[k] == y[k - 1] else 1
            tied_feature += tie_count - 1
            tied_both += both_count - 1
        discordant = _count_inversions(y, buffer)
        difference = n_pairs - tied_feature - n_tied_y + tied_both - 2 * discordant
        out[f] = difference / np.sqrt(float(n_pairs - tied_feature)) / np.sqrt(float(n_pairs - n_tied_y))


@compile_kernel
def _count_inversions(y: Integers, buffer: Integers) -> int:
    """Count the inversions of y, shape (n,), by a bottom-up merge sort, which sorts y in place."""
    n = y.size
    count = 0
    width = 1
    while width < n:
        for left in range(0, n, 2 * width):
            middle, right = min(left + width, n), min(left + 2 * width, n)
            i, j = left, middle
            for p in range(left, right):
                if i < middle and (j >= right or y[i] <= y[j]):
                    buffer[p] = y[i]
                    i += 1
                else:
                    buffer[p] = y[j]
                    j += 1
                    count += middle - i
        for p in range(n):
            y[p] = buffer[p]
        width *= 2
    return count


@compile_kernel
def sum_rank_products(
    order: Rows, values: Values, tied: Flags, target_ranks: Integers, sums: Integers, squares: Integers
) -> None:
    """Write Σ of products with the target's centred ranks, and of squares, for each feature; shapes (m,)."""
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)
    for f in range(m):
        rows = order[f]
        total, square = np.int64(0), np.int64(n) * (np.int64(n) * n - 1) // 3
        if tied[f]:
            write_doubled_ranks(rows, values[f], doubled)
            square = np.int64(0)
            for i in range(n):
                rank = np.int64(doubled[i]) - (n + 1)
                total += rank * target_ranks[i]
                square += rank * rank
        else:
            for k in range(n):
                total += (2 * k + 1 - n) * target_ranks[np.uint32(rows[k])]
        sums[f], squares[f] = total, square


@compile_kernel
def correlate(
    values: Values, bits: Integers, centered_target: Values, target_spread: float, out: Values
) -> None:
    """Write the correlation of each row of `values`, shape (m, n), with the target; shape (m,)."""
    m, n = values.shape
    centered = np.empty(n)
    ones = np.ones(min(n, _BLOCK_ROWS))
    for f in range(m):
        z = values[f]
        max_magnitude = np.int64(0)  # as bits, which have the order of the magnitudes and are compared faster
        for i in range(n):
            max_magnitude = max(max_magnitude, bits[f, i] & _MAGNITUDE_MASK)
        exponent = (max_magnitude >> _FRACTION_BITS) - _EXPONENT_BIAS
        if abs(exponent) > _MAX_MODERATE_EXPONENT:
            # Scale by a power of two in two steps, because the power itself may be out of range.
            half = -(exponent // 2)
            first, second = math.ldexp(1.0, int(half)), math.ldexp(1.0, int(-exponent - half))
            for i in range(n):
                centered[i] = z[i] * first * second
            z = centered
        mean = 0.0
        for start in range(0, n, _BLOCK_ROWS):
            stop = min(start + _BLOCK_ROWS, n)
            mean += compute_simd_dot(z[start:stop], ones, 0, stop - start)
        mean /= n
        for i in range(n):
            centered[i] = z[i] - mean
        square = covariance = 0.0
        for start in range(0, n, _BLOCK_ROWS):
            stop = min(start + _BLOCK_ROWS, n)
            square += compute_simd_dot(centered, centered, start, stop)
            covariance += compute_simd_dot(centered, centered_target, start, stop)
        spread = math.sqrt(square) * target_spread
        out[f] = min(1.0, max(-1.0, covariance / spread)) if spread > 0.0 else 0.0


@compile_kernel
def fill_weighted_sums(
    order: Rows, values: Values, tied: Flags, weights: Values, weighted_target: Values, out: Values
) -> None:
    """Write Σ_i w_i y_i S_i(θ) of each feature, shape (m,)."""
    m, n = order.shape
    ranks = np.empty(n)
    for f in range(m):
        fill_weighted_ranks(order[f], values[f], tied[f], weights, ranks)
        out[f] = compute_dot(weighted_target, ranks)


@compile_kernel
def fill_weighted_spearman(
    order: Rows,
    values: Values,
    tied: Flags,
    weights: Values,
    total_weight: float,
    weighted_target: Values,
    target_norm: float,
    out: Values,
) -> None:
    """Write ρ of each feature, shape (m,)."""
    m, n = order.shape
    ranks, weighted = np.empty(n), np.empty(n)
    for f in range(m):
        fill_weighted_ranks(order[f], values[f], tied[f], weights, ranks)
        for i in range(n):
            ranks[i] /= total_weight
            weighted[i] = weights[i] * ranks[i]
        norm = target_norm * np.sqrt(compute_dot(weighted, ranks))
        out[f] = min(1.0, max(-1.0, compute_dot(weighted_target, ranks) / norm)) if norm > 0.0 else 0.0


@compile_kernel
def fill_weighted_ranks(rows: Rows, z: Values, tied: bool, weights: Values, out: Values) -> None:
    """Write S, shape (n,), of a feature whose order is `rows`."""
    n, start, stop = rows.size, 0, rows.size
    below = above = 0.0
    for k in range(1, n + 1):
        if k == n or not tied or z[rows[k]] != z[rows[start]]:
            tie_weight = 0.0
            for j in range(start, k):
                tie_weight += weights[rows[j]]
                out[rows[j]] = below
            below += tie_weight
            start = k
    for k in range(n - 1, -1, -1):
        if k == 0 or not tied or z[rows[k]] != z[rows[k - 1]]:
            tie_weight = 0.0
            for j in range(k, stop):
                tie_weight += weights[rows[j]]
                out[rows[j]] -= above
            above += tie_weight
            stop = k


@compile_kernel
def fill_weighted_pearson(
    values: Values, weights: Values, weighted_target: Values, target_norm: float, out: Values
) -> None:
    """Write Pearson's correlation of each feature, shape (m,)."""
    m, n = values.shape
    centered, weighted = np.empty(n), np.empty(n)
    for f in range(m):
        for i in range(n):
            centered[i] = values[f, i]
        for _ in range(2):  # twice: a rounding error of the mean would be multiplied by the total weight
            mean = compute_dot(centered, weights)
            for i in range(n):
                centered[i] -= mean
        for i in range(n):
            weighted[i] = weights[i] * centered[i]
        norm = target_norm * np.sqrt(compute_dot(weighted, centered))
        out[f] = min(1.0, max(-1.0, compute_dot(weighted_target, centered) / norm)) if norm > 0.0 else 0.0


@compile_kernel
def compute_dot(a: Values, b: Values | Rows) -> float:
    """Compute the dot product of two arrays of equal length, by blocks of rows."""
    total = 0.0
    for start in range(0, a.size, _BLOCK_ROWS):
        total += compute_simd_dot(a, b, start, min(start + _BLOCK_ROWS, a.size))
    return total


@compile_kernel
def fill_xi(
    order: Rows, values: Values, tied: Flags, at_most: Integers, untied: bool, scale: float, out: Values
) -> None:
    """Write ξ of each feature, shape (m,).

    Rows are in ascending order of y, and each row of `order` has rows tied in the feature in ascending order.
    Without ties in y, `at_most` of a row is then its index plus 1. Ties in a feature are averaged.
    """
    m, n = order.shape
    r = np.empty(n, dtype=np.int64)
    for f in range(m):
        rows = order[f]
        if tied[f] or not untied:
            for k in range(n):
                r[k] = at_most[np.uint32(rows[k])]
        if tied[f]:
            total = _compute_expected_step_sum(r, rows, values[f])
        elif untied:  # then r is the row index plus 1
            total = _sum_steps(rows)
        else:
            total = _sum_steps(r)
        out[f] = 1.0 - n * total / scale


@compile_kernel
def _sum_steps(r: Rows | Integers) -> float:
    """Compute Σ|r_{i+1} − r_i| of an array of shape (n,)."""
    total = 0
    for k in range(r.size - 1):
        total += abs(r[k + 1] - r[k])
    return float(total)


@compile_kernel
def _compute_expected_step_sum(r: Integers, rows: Rows, z: Values) -> float:
    """Compute the expectation of Σ|r_{i+1} − r_i| over all orders of the tied rows.

    Inside a group of tied rows r is already ascending, because rows are in the order of y. Groups are
    processed from both ends inward, in pairs of mirrored positions, so that mirrored features have equal
    sums.
    """
    first = np.empty(r.size + 1, dtype=np.int64)
    n_groups = _find_tied_groups(rows, z, first)
    total = 0.0
    for g in range((n_groups + 1) // 2):
        h = n_groups - 1 - g
        a = _compute_expected_steps_within(r, first[g], first[g + 1])
        total += a if g == h else a + _compute_expected_steps_within(r, first[h], first[h + 1])
    for g in range(n_groups // 2):
        h = n_groups - 2 - g
        a = _compute_expected_step_between(r, first[g], first[g + 1], first[g + 2])
        total += a if g == h else a + _compute_expected_step_between(r, first[h], first[h + 1], first[h + 2])
    return total


@compile_kernel
def _compute_expected_steps_within(r: Integers, start: int, stop: int) -> float:
    """Compute the expected sum of the m − 1 steps inside a group of m: (2/m) Σ_{a<b} |r_a − r_b|."""
    m = stop - start
    pair_sum = 0.0
    for k in range(m):
        pair_sum += float(2 * k - m + 1) * float(r[start + k])
    return 2.0 * pair_sum / m


@compile_kernel
def _compute_expected_step_between(r: Integers, start: int, middle: int, stop: int) -> float:
    """Compute the expected step from a group to the next: the mean of |r_a − r_b|."""
    pair_sum = 0.0
    n_below = 0  # number of rows of the next group with r ≤ r_a, and the sum of their r
    sum_below = 0
    sum_all = 0
    for j in range(middle, stop):
        sum_all += r[j]
    j = middle
    for i in range(start, middle):
        while j < stop and r[j] <= r[i]:
            sum_below += r[j]
            n_below += 1
            j += 1
        pair_sum += float(r[i] * n_below - sum_below)
        pair_sum += float((sum_all - sum_below) - r[i] * (stop - middle - n_below))
    return pair_sum / (float(middle - start) * float(stop - middle))


@compile_kernel
def fill_multiclass_xi(
    order: Rows, values: Values, tied: Flags, codes: Integers, scale: Values, out: Values
) -> None:
    """Write the mean ξ_c of each feature, shape (m,)."""
    m, n = order.shape
    edges = np.empty(scale.size)
    first = np.empty(n + 1, dtype=np.int64)
    class_counts = np.empty(n, dtype=np.int64)
    for f in range(m):
        if tied[f]:
            n_groups = _find_tied_groups(order[f], values[f], first)
            for c in range(scale.size):
                edges[c] = _compute_expected_edges(order[f], codes, c, first, n_groups, class_counts)
        else:
            _count_class_edges(order[f], codes, edges)
        total = 0.0
        for c in range(scale.size):
            total += edges[c] / scale[c]
        out[f] = 1.0 - total / scale.size


@compile_kernel
def _count_class_edges(rows: Rows, codes: Integers, edges: Values) -> None:
    """Write e_c of each class, shape (C,), without ties."""
    edges[:] = 0.0
    for k in range(rows.size - 1):
        code, next_code = codes[rows[k]], codes[rows[k + 1]]
        if code != next_code:
            edges[code] += 1.0
            edges[next_code] += 1.0


@compile_kernel
def _find_tied_groups(rows: Rows, z: Values, group_starts: Integers) -> int:
    """Write the start of each group of tied rows, and the end; return the number of groups."""
    n_groups = 0
    for k in range(rows.size):
        if k == 0 or z[rows[k]] != z[rows[k - 1]]:
            group_starts[n_groups] = k
            n_groups += 1
    group_starts[n_groups] = rows.size
    return n_groups


@compile_kernel
def _compute_expected_edges(
    rows: Rows, codes: Integers, c: int, group_starts: Integers, n_groups: int, class_counts: Integers
) -> float:
    """Compute the expected e_c over all orders of tied rows, from both ends inward (as in ξ itself)."""
    for g in range(n_groups):
        class_counts[g] = 0
        for k in range(group_starts[g], group_starts[g + 1]):
            class_counts[g] += codes[rows[k]] == c
    total = 0.0
    for g in range((n_groups + 1) // 2):
        h = n_groups - 1 - g
        a = _compute_edges_inside(class_counts, group_starts, g)
        total += a if g == h else a + _compute_edges_inside(class_counts, group_starts, h)
    for g in range(n_groups // 2):
        h = n_groups - 2 - g
        a = _compute_edge_probability(class_counts, group_starts, g)
        total += a if g == h else a + _compute_edge_probability(class_counts, group_starts, h)
    return total


@compile_kernel
def _compute_edges_inside(class_counts: Integers, group_starts: Integers, g: int) -> float:
    """Compute the expected number of edges among the m − 1 steps inside a group: 2 m_c (m − m_c)/m."""
    size = group_starts[g + 1] - group_starts[g]
    return 2.0 * float(class_counts[g] * (size - class_counts[g])) / float(size)


@compile_kernel
def _compute_edge_probability(class_counts: Integers, group_starts: Integers, g: int) -> float:
    """Compute the probability that the step from a group to the next is an edge."""
    size, next_size = group_starts[g + 1] - group_starts[g], group_starts[g + 2] - group_starts[g + 1]
    crossing = (
        class_counts[g] * (next_size - class_counts[g + 1]) + (size - class_counts[g]) * class_counts[g + 1]
    )
    return float(crossing) / (float(size) * float(next_size))
