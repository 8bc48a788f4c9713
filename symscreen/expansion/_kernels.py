"""Compiled kernels that walk over candidates: apply rules, compute canonical keys and find equal keys.

The candidates of one operator are walked in runs. Along a run one argument is fixed and the other moves
through the pool. So candidates need not be decoded one by one, and key arithmetic is vectorised. Arrays
that depend on the side of an argument (left or right) have one row per side.

Equal keys are found in two steps. `find_collisions` compares one word of the keys, in hash tables that fit
the cache. `pick_representatives` then compares both words of the few candidates that collide.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.grammar.fingerprint import multiply_residues, reduce_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Values

    Bytes = NDArray[np.uint8]
    Costs = NDArray[np.int32]
    Counts = NDArray[np.int32]
    Keys = NDArray[np.uint64]


ONE, UNORDERED, ORDERED = 0, 1, 2  # argument pairings, see `OperatorRange.pairing`
PRECOMPUTED, SUM, PRODUCT = 0, 1, 2  # how keys are computed
ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM, MAXIMUM = range(6)  # operators of `mark_varying`
# Spread of a constant, relative to its magnitude. Each operator adds a few rounding errors of 2.2e-16.
CONSTANT_TOLERANCE = 64 * float(np.finfo(np.float64).eps)
# argument flags: forbidden by a rule, outside the domain, of a wider range than the grammar allows
FORBIDDEN_FLAG, OUT_OF_DOMAIN_FLAG, WIDE_RANGE_FLAG = 1, 2, 4
_MAX_RUN_LENGTH = 1024  # candidates processed together

_EMPTY = np.uint64(0)


class CandidateStatus(IntEnum):
    """Whether a candidate is kept, or why it is excluded."""

    KEPT = 0
    FORBIDDEN = 1
    TOO_COMPLEX = 2
    CONSTANT = 3
    UNDEFINED = 4
    DUPLICATE = 5
    NUMERIC_DUPLICATE = 6
    PRUNED = 7
    NO_UNIT = 8
    OTHER_UNITS = 9
    WIDE_RANGE = 10


# The reasons in the order of reports. Texts and records name them in these words.
EXCLUSION_REASONS: dict[CandidateStatus, str] = {
    CandidateStatus.NO_UNIT: "no unit",
    CandidateStatus.OTHER_UNITS: "other units than the target's",
    CandidateStatus.FORBIDDEN: "forbidden by rule",
    CandidateStatus.TOO_COMPLEX: "too complex",
    CandidateStatus.WIDE_RANGE: "argument of too wide a range",
    CandidateStatus.CONSTANT: "constant",
    CandidateStatus.UNDEFINED: "undefined on the data",
    CandidateStatus.DUPLICATE: "algebraic duplicate",
    CandidateStatus.NUMERIC_DUPLICATE: "numeric duplicate",
    CandidateStatus.PRUNED: "pruned between layers",
}


# kernels use plain integers
KEPT, FORBIDDEN = int(CandidateStatus.KEPT), int(CandidateStatus.FORBIDDEN)
TOO_COMPLEX = int(CandidateStatus.TOO_COMPLEX)
CONSTANT, UNDEFINED = int(CandidateStatus.CONSTANT), int(CandidateStatus.UNDEFINED)
WIDE_RANGE = int(CandidateStatus.WIDE_RANGE)
NO_UNIT, OTHER_UNITS = int(CandidateStatus.NO_UNIT), int(CandidateStatus.OTHER_UNITS)


@compile_kernel
def locate_run(pairing: int, pair_number: int) -> tuple[int, int, int, int]:
    """Return the moving side (0 left, 1 right), the moving and the fixed index, and the run length left."""
    if pairing == ONE:
        return 0, pair_number, pair_number, 1
    later = int(np.sqrt(2.0 * pair_number if pairing == UNORDERED else 1.0 * pair_number))
    n_before = later * (later + 1) // 2 if pairing == UNORDERED else later * later
    if n_before > pair_number:  # rounding makes the root at most one too large, never too small
        later -= 1
        n_before = later * (later + 1) // 2 if pairing == UNORDERED else later * later
    offset = pair_number - n_before
    if offset <= later:
        return 0, offset, later, later + 1 - offset
    offset -= later + 1
    return 1, offset, later, later - offset


@compile_kernel
def decode_pairs(pair_numbers: Integers, pairing: int, left: Integers, right: Integers) -> None:
    """Fill `left` and `right`, shape (m,), with the argument indices of pair numbers."""
    for k in range(pair_numbers.size):
        side, moving, staying, _ = locate_run(pairing, pair_numbers[k])
        left[k], right[k] = (staying, moving) if side else (moving, staying)


@compile_kernel
def _fill_key_word(
    key_words: Keys,
    precomputed: Keys,
    key_source: int,
    word: int,
    side: int,
    moving: int,
    staying: int,
    offset: int,
    out: Keys,
) -> None:
    """Fill `out` with one word of the keys along a run."""
    n = out.size
    if key_source == PRECOMPUTED:
        for k in range(n):
            out[k] = precomputed[offset + k, word]
        return
    moving_words, staying_word = (
        key_words[side, word, moving : moving + n],
        key_words[1 - side, word, staying],
    )
    if key_source == SUM:
        for k in range(n):
            out[k] = reduce_once(moving_words[k] + staying_word)
    else:
        for k in range(n):
            out[k] = multiply_residues(moving_words[k], staying_word)


@compile_kernel
def apply_rules(
    first: int, stop: int, pairing: int, key_source: int, key_words: Keys, precomputed: Keys, costs: Costs,
    max_cost: int,
    flags: Bytes, statuses: Bytes, shift: int, counts: Counts,
) -> None:  # fmt: skip
    """Apply the rules to a range of candidates and count the keys of kept ones by their leading bits.

    Parameters
    ----------
    first, stop : int
        Range of pair numbers of the operator.
    pairing : {ONE, UNORDERED, ORDERED}
        How the arguments are paired.
    key_source : {PRECOMPUTED, SUM, PRODUCT}
        Whether the keys are given, or are sums or products, modulo 2⁶¹ − 1, of the arguments' words.
    key_words : uint64 array, shape (2, 2, q)
        First and second key word of each argument, for each side. Empty if the keys are precomputed.
    precomputed : uint64 array, shape (stop − first, 2)
        Keys of the candidates. Empty unless the keys are precomputed.
    costs : int32 array, shape (2, q)
        Complexity that each argument adds.
    max_cost : int
        Maximum complexity that the arguments may add.
    flags : uint8 array, shape (2, q)
        Sum of `FORBIDDEN_FLAG`, `OUT_OF_DOMAIN_FLAG` and `WIDE_RANGE_FLAG` for each argument.
    statuses : uint8 array, shape (stop − first,)
        Status of each candidate. Entries that are `KEPT` are updated in place.
    shift : int
        Number of key bits after the leading bits.
    counts : int32 array, shape (n_buckets,)
        Number of kept keys per value of the leading bits. Increased in place.
    """
    words = np.empty((2, _MAX_RUN_LENGTH), dtype=np.uint64)
    t = first
    while t < stop:
        side, moving, staying, n = locate_run(pairing, t)
        n, offset = min(n, stop - t, _MAX_RUN_LENGTH), t - first
        for word in range(2):
            _fill_key_word(
                key_words, precomputed, key_source, word, side, moving, staying, offset, words[word, :n]
            )
        first_words, second_words = words[0, :n], words[1, :n]
        run_statuses = statuses[offset : offset + n]
        _set_statuses(
            first_words, second_words, costs[side, moving : moving + n], max_cost - costs[1 - side, staying],
            flags[side, moving : moving + n], flags[1 - side, staying], run_statuses,
        )  # fmt: skip
        for k in range(n):
            counts[first_words[k] >> np.uint64(shift)] += run_statuses[k] == KEPT
        t += n


@compile_kernel
def _set_statuses(
    first_words: Keys,
    second_words: Keys,
    costs: Costs,
    max_cost: int,
    flags: Bytes,
    more_flags: int,
    statuses: Bytes,
) -> None:
    """Update the statuses of one run, shape (n,); later rules take precedence."""
    for k in range(statuses.size):
        flag = flags[k] | more_flags
        status = UNDEFINED if flag & OUT_OF_DOMAIN_FLAG else KEPT
        status = WIDE_RANGE if flag & WIDE_RANGE_FLAG else status
        # equal words mark a constant, which is reported as constant even where it is undefined
        status = CONSTANT if first_words[k] == second_words[k] else status
        status = TOO_COMPLEX if costs[k] > max_cost else status
        status = FORBIDDEN if flag & FORBIDDEN_FLAG else status
        statuses[k] = status if statuses[k] == KEPT else statuses[k]


@compile_kernel
def fill_buckets(
    first: int, stop: int, pairing: int, key_source: int, key_words: Keys, precomputed: Keys,
    statuses: Bytes, first_id: int,
    id_bits: int, shift: int, lowest_bucket: int, bucket_ends: Integers, entries: Keys,
) -> None:  # fmt: skip
    """Distribute the kept candidates of a range over buckets, by the leading bits of their keys.

    Parameters
    ----------
    first, stop, pairing, key_source, key_words, precomputed, shift
        See `apply_rules`.
    statuses : uint8 array, shape (stop − first,)
        Status of each candidate.
    first_id : int
        Id of the first candidate. The following candidates have consecutive ids.
    id_bits : int
        Number of low bits of an entry that hold the id. The other bits hold the bits of the key's first word
        after the leading ones.
    lowest_bucket : int
        Lowest value of the leading bits to include.
    bucket_ends : int64 array, shape (n_buckets,)
        Position of the next entry of each bucket, starting with `lowest_bucket`. Advanced in place.
    entries : uint64 array
        Filled in place.
    """
    words = np.empty(_MAX_RUN_LENGTH, dtype=np.uint64)
    selected = np.empty(_MAX_RUN_LENGTH + 1, dtype=np.int64)
    upper = ~((np.uint64(1) << np.uint64(id_bits)) - np.uint64(1))
    width = np.uint64(bucket_ends.size)
    t = first
    while t < stop:
        side, moving, staying, n = locate_run(pairing, t)
        n, offset = min(n, stop - t, _MAX_RUN_LENGTH), t - first
        run_words = words[:n]
        _fill_key_word(key_words, precomputed, key_source, 0, side, moving, staying, offset, run_words)
        run_statuses = statuses[offset : offset + n]
        n_selected = 0
        for k in range(n):  # branch-free, because a branch would often be mispredicted
            selected[n_selected] = k
            n_selected += ((run_words[k] >> np.uint64(shift)) - np.uint64(lowest_bucket) < width) & (
                run_statuses[k] == KEPT
            )
        for j in range(n_selected):
            k = selected[j]
            bucket = np.int64(run_words[k] >> np.uint64(shift)) - lowest_bucket
            entry = (run_words[k] << np.uint64(64 - shift)) & upper
            entries[bucket_ends[bucket]] = entry | np.uint64(first_id + offset + k)
            bucket_ends[bucket] += 1
        t += n


@compile_kernel
def recompute_keys(
    indices: Integers, numbers: Integers, first_pair_number: int, pairing: int, key_source: int,
    key_words: Keys, costs: Costs,
    keys: Keys, complexity: Costs, left: Integers, right: Integers,
) -> None:  # fmt: skip
    """Decode single candidates; compute their arguments' complexity and, unless precomputed, their keys.

    Parameters
    ----------
    indices : int64 array, shape (m,)
        Positions in `numbers` of the candidates of this operator.
    numbers : int64 array, shape (k,)
        Candidate numbers.
    first_pair_number : int
        Candidate number at which the pair numbers of this operator are 0.
    pairing, key_source, key_words, costs
        See `apply_rules`.
    keys : uint64 array, shape (k, 2)
        Filled at `indices`.
    complexity : int32 array, shape (m,)
        Filled with the complexity that the arguments add.
    left, right : int64 arrays, shape (m,)
        Filled with the indices of the arguments in the pool.
    """
    for j in range(indices.size):
        k = indices[j]
        side, moving, staying, _ = locate_run(pairing, numbers[k] - first_pair_number)
        left[j], right[j] = (staying, moving) if side else (moving, staying)
        complexity[j] = costs[0, left[j]] + costs[1, right[j]]
        if key_source != PRECOMPUTED:
            for word in range(2):
                a, b = key_words[side, word, moving], key_words[1 - side, word, staying]
                keys[k, word] = reduce_once(a + b) if key_source == SUM else multiply_residues(a, b)


@compile_kernel
def find_collisions(
    entries: Keys, bounds: Integers, start: int, stop: int, id_bits: int, table: Keys, ids: Integers
) -> tuple[int, int]:
    """List the ids of the entries whose upper bits occur more than once in their bucket.

    Parameters
    ----------
    entries : uint64 array
        Entries written by `fill_buckets`. No id is 0 or has all bits set.
    bounds : int64 array, shape (n_buckets + 1,)
        Start of each bucket, followed by the end of the last one.
    start, stop : int
        Range of buckets to search.
    id_bits : int
        Number of low bits of an entry that hold the id.
    table : uint64 array
        Scratch array. Its size is a power of two, at least twice the largest bucket.
    ids : int64 array
        Filled with the ids. At least as long as the largest bucket.

    Returns
    -------
    int
        The bucket to continue with: `stop`, or a bucket whose collisions might not fit into `ids`.
    int
        Number of ids found.
    """
    lower = (np.uint64(1) << np.uint64(id_bits)) - np.uint64(1)
    n_found = 0
    for bucket in range(start, stop):
        bucket_entries = entries[bounds[bucket] : bounds[bucket + 1]]
        if n_found + bucket_entries.size > ids.size:
            return bucket, n_found
        bits = 1
        while 1 << bits < 2 * bucket_entries.size:
            bits += 1
        bucket_table = table[: 1 << bits]
        for slot in range(bucket_table.size):
            bucket_table[slot] = _EMPTY
        slot_mask, shift = np.uint64((1 << bits) - 1), np.uint64(64 - bits)
        for entry in bucket_entries:
            slot = entry >> shift
            slot_entry = bucket_table[slot]
            while slot_entry != _EMPTY and (slot_entry ^ entry) > lower:
                slot = (slot + np.uint64(1)) & slot_mask
                slot_entry = bucket_table[slot]
            if slot_entry == _EMPTY:
                bucket_table[slot] = entry
                continue
            if slot_entry & lower != lower:  # the first entry with these bits is not listed yet
                ids[n_found] = np.int64(slot_entry & lower)
                n_found += 1
                bucket_table[slot] = slot_entry | lower
            ids[n_found] = np.int64(entry & lower)
            n_found += 1
    return stop, n_found


@compile_kernel
def pick_representatives(
    keys: Keys, tie_break_ranks: NDArray[np.int32], ids: Integers, representatives: Integers
) -> None:
    """Find for each key the equal key with the lowest tie-break rank, then the lowest id.

    Parameters
    ----------
    keys : uint64 array, shape (m, 2)
        Canonical keys.
    tie_break_ranks : int32 array, shape (m,)
        See `compute_tie_break_rank`.
    ids : int64 array, shape (m,)
        Unique ids.
    representatives : int64 array, shape (m,)
        Filled with indices into `keys`. A representative has its own index.
    """
    m = tie_break_ranks.size
    bits = 1
    while 1 << bits < 2 * m:
        bits += 1
    table = np.empty(1 << bits, dtype=np.int32)
    for slot_index in range(table.size):
        table[slot_index] = -1
    slot_mask = np.uint64((1 << bits) - 1)
    best_of_first = np.empty(m, dtype=np.int64)
    for k in range(m):
        slot = (keys[k, 0] ^ keys[k, 1]) & slot_mask
        first_equal = table[slot]
        while first_equal >= 0 and (keys[first_equal, 0] != keys[k, 0] or keys[first_equal, 1] != keys[k, 1]):
            slot = (slot + np.uint64(1)) & slot_mask
            first_equal = table[slot]
        if first_equal < 0:
            table[slot] = first_equal = np.int32(k)
            best_of_first[k] = k
        else:
            best = best_of_first[first_equal]
            if tie_break_ranks[k] < tie_break_ranks[best] or (
                tie_break_ranks[k] == tie_break_ranks[best] and ids[k] < ids[best]
            ):
                best_of_first[first_equal] = k
        representatives[k] = first_equal
    for k in range(m):
        representatives[k] = best_of_first[representatives[k]]


@compile_kernel
def compare_units(
    first: int,
    stop: int,
    pairing: int,
    unit_ids: Counts,
    unequal_status: int,
    equal_statuses: Bytes,
    statuses: Bytes,
) -> None:
    """Update the statuses of a range of pairs by comparing the ids of the arguments."""
    t = first
    while t < stop:
        side, moving, staying, n = locate_run(pairing, t)
        n, offset = min(n, stop - t), t - first
        staying_id = unit_ids[1 - side, staying]
        moving_ids, moving_statuses = unit_ids[side, moving:], equal_statuses[moving:]
        run_statuses = statuses[offset : offset + n]
        for k in range(n):
            status = moving_statuses[k] if moving_ids[k] == staying_id else np.uint8(unequal_status)
            run_statuses[k] = status if run_statuses[k] == KEPT else run_statuses[k]
        t += n


@compile_kernel
def look_up_statuses(
    first: int, stop: int, pairing: int, unit_ids: Counts, status_table: Bytes, statuses: Bytes
) -> None:
    """Update the statuses of a range of pairs from a table of unit pairs."""
    t = first
    while t < stop:
        side, moving, staying, n = locate_run(pairing, t)
        n, offset = min(n, stop - t), t - first
        table_row, moving_ids = status_table[side, unit_ids[1 - side, staying]], unit_ids[side, moving:]
        run_statuses = statuses[offset : offset + n]
        for k in range(n):
            run_statuses[k] = table_row[moving_ids[k]] if run_statuses[k] == KEPT else run_statuses[k]
        t += n


@compile_kernel
def filter_by_range(
    low: Values, high: Values, magnitude: Values, cancels: bool, valid: Flags, suspect: Flags
) -> tuple[int, int, int]:
    """Find by their ranges which new features are finite and not constant.

    Parameters
    ----------
    low, high : float64 arrays, shape (m,)
        Minimum and maximum of each feature. One of them is not finite if the feature is undefined.
    magnitude : float64 array, shape (m,)
        Maximum magnitude of the arguments of each feature. Used only if terms may cancel.
    cancels : bool
        Whether the operator's terms may cancel, so that the result may be rounding noise.
    valid, suspect : bool arrays, shape (m,)
        Filled in place: which features are finite and vary by more than their own rounding error, and which
        of these vary by no more than the rounding error of their terms.

    Returns
    -------
    n_undefined, n_constant, n_suspects : int
        Number of undefined, constant and suspect features.
    """
    n_undefined = n_constant = n_suspects = 0
    for f in range(low.size):
        valid[f] = suspect[f] = False
        lowest, highest = low[f], high[f]
        if not (np.isfinite(lowest) and np.isfinite(highest)):
            n_undefined += 1
        elif highest - lowest <= CONSTANT_TOLERANCE * max(abs(lowest), abs(highest)):
            n_constant += 1
        else:
            valid[f] = True
            if cancels and highest - lowest <= CONSTANT_TOLERANCE * magnitude[f]:
                suspect[f] = True
                n_suspects += 1
    return n_undefined, n_constant, n_suspects


@compile_kernel
def mark_varying(
    operator: int, sample: Values, left: Integers, right: Integers, max_abs: Values, min_abs: Values,
    tolerance: float, varies: Flags,
) -> None:  # fmt: skip
    """Mark the values, shape (m,), that spread by more than a share of their bound in sample rows.

    Parameters
    ----------
    operator : int
        ADD, SUBTRACT, MULTIPLY, DIVIDE, MINIMUM or MAXIMUM.
    sample : float64 array, shape (q, rows)
        The members of the pool in some rows.
    left, right : int64 arrays, shape (m,)
        Members to which the operator is applied.
    max_abs, min_abs : float64 arrays, shape (q,)
        The largest and the smallest magnitude of each member in all rows.
    tolerance : float
        The share. A bound that is not finite proves nothing. That of a sum or difference is at least the
        magnitude of its arguments, so it also covers cancellation.
    varies : bool array, shape (m,)
        Overwritten.
    """
    for k in range(left.size):
        a, b = left[k], right[k]
        if operator == MULTIPLY:
            bound = max_abs[a] * max_abs[b]
        elif operator == DIVIDE:
            bound = max_abs[a] / min_abs[b]
        elif operator in (ADD, SUBTRACT):
            bound = max_abs[a] + max_abs[b]
        else:
            bound = max(max_abs[a], max_abs[b])
        limit = tolerance * bound
        low = high = _combine(operator, sample[a, 0], sample[b, 0])
        varies[k] = False
        for i in range(1, sample.shape[1]):
            value = _combine(operator, sample[a, i], sample[b, i])
            low, high = min(low, value), max(high, value)
            if high - low > limit:
                varies[k] = True
                break


@compile_kernel
def _combine(operator: int, a: float, b: float) -> float:
    """Apply an operator of `mark_varying` to two numbers."""
    if operator == ADD:
        return a + b
    if operator == SUBTRACT:
        return a - b
    if operator == MULTIPLY:
        return a * b
    if operator == DIVIDE:
        return a / b
    return min(a, b) if operator == MINIMUM else max(a, b)
