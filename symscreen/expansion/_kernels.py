"""Compiled walks over ranges of one operator's candidates: what rules say of each, and the keys.

Candidates are walked in runs, along which one argument stays and the other moves through the pool, so that
nothing is decoded one by one and the arithmetic on keys is done by vectors. Arrays of what differs by the
argument, left or right, have one row for each side.

Compiled searches for equal keys: suspects by one word, in tables that fit the cache; then both words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.grammar.fingerprint import multiply_residues, reduce_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Costs = NDArray[np.int32]
    Counts = NDArray[np.int32]
    Keys = NDArray[np.uint64]
    Places = NDArray[np.int64]

__all__ = [
    "CONSTANT",
    "FORBIDDEN",
    "FORBIDDEN_FLAG",
    "KEPT",
    "ONE",
    "ORDERED",
    "OUT_OF_DOMAIN_FLAG",
    "PRECOMPUTED",
    "PRODUCT",
    "SUM",
    "TOO_COMPLEX",
    "UNDEFINED",
    "UNORDERED",
    "apply_rules",
    "fill_buckets",
    "find_collisions",
    "locate_run",
    "pick_representatives",
    "recompute_keys",
]

ONE, UNORDERED, ORDERED = 0, 1, 2  # what an operator is applied to, as of `OperatorRange`
PRECOMPUTED, SUM, PRODUCT = 0, 1, 2  # where keys come from
KEPT, FORBIDDEN, TOO_COMPLEX, CONSTANT, UNDEFINED = 0, 1, 2, 3, 4  # as of `CandidateStatus`
FORBIDDEN_FLAG, OUT_OF_DOMAIN_FLAG = 1, 2  # flags of an argument: a rule bars it, it leaves the domain
_MAX_RUN_LENGTH = 1024


@compile_kernel
def locate_run(pairing: int, pair_number: int) -> tuple[int, int, int, int]:
    """Return which side moves, where it is, where the other stays, and how many are left of the run."""
    if pairing == ONE:
        return 0, pair_number, pair_number, 1
    later = int(np.sqrt(2.0 * pair_number if pairing == UNORDERED else 1.0 * pair_number))
    before = later * (later + 1) // 2 if pairing == UNORDERED else later * later
    if before > pair_number:  # the root is at most one too large, and never too small
        later -= 1
        before = later * (later + 1) // 2 if pairing == UNORDERED else later * later
    place = pair_number - before
    if place <= later:
        return 0, place, later, later + 1 - place
    place -= later + 1
    return 1, place, later, later - place


@compile_kernel
def _fill_key_word(
    key_words: Keys,
    precomputed: Keys,
    key_source: int,
    word: int,
    side: int,
    moving: int,
    staying: int,
    done: int,
    out: Keys,
) -> None:
    """Fill `out` with one word of the keys along a run."""
    n = out.size
    if key_source == PRECOMPUTED:
        for k in range(n):
            out[k] = precomputed[done + k, word]
        return
    moves, stays = key_words[side, word, moving : moving + n], key_words[1 - side, word, staying]
    if key_source == SUM:
        for k in range(n):
            out[k] = reduce_once(moves[k] + stays)
    else:
        for k in range(n):
            out[k] = multiply_residues(moves[k], stays)


@compile_kernel
def apply_rules(
    first: int, stop: int, pairing: int, key_source: int, key_words: Keys, precomputed: Keys, costs: Costs,
    max_cost: int,
    flags: Bytes, statuses: Bytes, shift: int, counts: Counts,
) -> None:  # fmt: skip
    """Decide by rule about a range of candidates, and count the keys of those kept by their leading bits.

    Parameters
    ----------
    first, stop : int
        The range, counted from the operator's first pair.
    pairs : {ONE, UNORDERED, ORDERED}
        What the operator is applied to.
    source : {GIVEN, SUM, PRODUCT}
        Whether keys are given or are sums or products, modulo 2⁶¹ − 1, of the arguments' words.
    words : uint64 array, shape (2, 2, q)
        For each side the first and the second word of each argument; empty where keys are given.
    given : uint64 array, shape (stop − first, 2)
        The candidates' keys; empty where they are worked out.
    costs : int32 array, shape (2, q)
        What each argument adds to the complexity.
    cap : int
        The most that the arguments may add.
    flags : uint8 array, shape (2, q)
        `BARRED` and `OUTSIDE`, added up, for each argument.
    fates : uint8 array, shape (stop − first,)
        Filled where they are still `KEPT`.
    shift : int
        How many bits the leading ones are followed by.
    counts : int32 array
        Added to.
    """
    spare = np.empty((2, _MAX_RUN_LENGTH), dtype=np.uint64)
    t = first
    while t < stop:
        side, moving, staying, n = locate_run(pairing, t)
        n, done = min(n, stop - t, _MAX_RUN_LENGTH), t - first
        for word in range(2):
            _fill_key_word(
                key_words, precomputed, key_source, word, side, moving, staying, done, spare[word, :n]
            )
        one, two = spare[0, :n], spare[1, :n]
        found = statuses[done : done + n]
        _set_statuses(
            one, two, costs[side, moving : moving + n], max_cost - costs[1 - side, staying],
            flags[side, moving : moving + n], flags[1 - side, staying], found,
        )  # fmt: skip
        for k in range(n):
            counts[one[k] >> np.uint64(shift)] += found[k] == KEPT
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
    for k in range(statuses.size):
        flag = flags[k] | more_flags
        fate = UNDEFINED if flag & OUT_OF_DOMAIN_FLAG else KEPT
        fate = (
            CONSTANT if first_words[k] == second_words[k] else fate
        )  # a constant is called constant wherever it is defined
        fate = TOO_COMPLEX if costs[k] > max_cost else fate
        fate = FORBIDDEN if flag & FORBIDDEN_FLAG else fate
        statuses[k] = fate if statuses[k] == KEPT else statuses[k]


@compile_kernel
def fill_buckets(
    first: int, stop: int, pairing: int, key_source: int, key_words: Keys, precomputed: Keys,
    statuses: Bytes, first_id: int,
    id_bits: int, shift: int, lowest_bucket: int, bucket_ends: Places, entries: Keys,
) -> None:  # fmt: skip
    """Sort the kept candidates of a range whose keys' leading bits are among some into buckets.

    Parameters
    ----------
    first, stop, pairs, source, words, given
        As of `sift`.
    fates : uint8 array, shape (stop − first,)
        What was decided.
    name : int
        What to call the first candidate; the others are called by the numbers that follow.
    name_bits : int
        The bits of an entry that hold a name; the others hold the bits of the key's first word that follow
        the leading ones.
    shift : int
        As of `sift`.
    lowest : int
        The lowest leading bits wanted.
    ends : int64 array
        For each bucket, leading bits `lowest` and up, where its next entry goes; moved on.
    entries : uint64 array
        Filled.
    """
    spare = np.empty(_MAX_RUN_LENGTH, dtype=np.uint64)
    chosen = np.empty(_MAX_RUN_LENGTH + 1, dtype=np.int64)
    upper = ~((np.uint64(1) << np.uint64(id_bits)) - np.uint64(1))
    width = np.uint64(bucket_ends.size)
    t = first
    while t < stop:
        side, moving, staying, n = locate_run(pairing, t)
        n, done = min(n, stop - t, _MAX_RUN_LENGTH), t - first
        one = spare[:n]
        _fill_key_word(key_words, precomputed, key_source, 0, side, moving, staying, done, one)
        found = statuses[done : done + n]
        m = 0
        for k in range(n):  # without a branch, which would be mispredicted
            chosen[m] = k
            m += ((one[k] >> np.uint64(shift)) - np.uint64(lowest_bucket) < width) & (found[k] == KEPT)
        for j in range(m):
            k = chosen[j]
            bucket = np.int64(one[k] >> np.uint64(shift)) - lowest_bucket
            entry = (one[k] << np.uint64(64 - shift)) & upper
            entries[bucket_ends[bucket]] = entry | np.uint64(first_id + done + k)
            bucket_ends[bucket] += 1
        t += n


@compile_kernel
def recompute_keys(
    indices: Places, numbers: Places, first_pair_number: int, pairing: int, key_source: int,
    key_words: Keys, costs: Costs,
    keys: Keys, complexity: Costs, left: Places, right: Places,
) -> None:  # fmt: skip
    """Decode single candidates, and work out what their arguments add and, where it is not given, their key.

    Parameters
    ----------
    places : int64 array, shape (m,)
        Which numbers are of this operator.
    numbers : int64 array
        Candidates.
    shift : int
        The number from which this operator's pairs are counted.
    pairs, source, words, costs
        As of `sift`.
    keys : uint64 array, shape (len(numbers), 2)
        Filled in those places.
    complexity : int32 array, shape (m,)
        Filled.
    left, right : int64 arrays, shape (m,)
        Filled with the places of the arguments in the pool.
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


_EMPTY = np.uint64(0)


@compile_kernel
def find_collisions(
    entries: Keys, bounds: Places, start: int, stop: int, id_bits: int, table: Keys, ids: Places
) -> tuple[int, int]:
    """Name the entries of buckets whose upper bits occur more than once in their bucket.

    Parameters
    ----------
    entries : uint64 array
        As `gather` makes them; no name is 0, nor are all its bits set.
    bounds : int64 array
        Where each bucket starts and, last, where the last one ends.
    start, stop : int
        The buckets to look at.
    name_bits : int
        The bits of an entry that hold its name.
    table : uint64 array
        Spare room: a power of two, twice the largest bucket or more.
    names : int64 array
        Filled; holds the largest bucket.

    Returns
    -------
    int
        The bucket to go on with: `stop`, or one whose suspects may not fit.
    int
        How many names there are.
    """
    lower = (np.uint64(1) << np.uint64(id_bits)) - np.uint64(1)
    found = 0
    for bucket in range(start, stop):
        own = entries[bounds[bucket] : bounds[bucket + 1]]
        if found + own.size > ids.size:
            return bucket, found
        bits = 1
        while 1 << bits < 2 * own.size:
            bits += 1
        own_table = table[: 1 << bits]
        for slot in range(own_table.size):
            own_table[slot] = _EMPTY
        last, shift = np.uint64((1 << bits) - 1), np.uint64(64 - bits)
        for entry in own:
            slot = entry >> shift
            held = own_table[slot]
            while held != _EMPTY and (held ^ entry) > lower:
                slot = (slot + np.uint64(1)) & last
                held = own_table[slot]
            if held == _EMPTY:
                own_table[slot] = entry
                continue
            if held & lower != lower:  # the first of these, not named yet
                ids[found] = np.int64(held & lower)
                found += 1
                own_table[slot] = held | lower
            ids[found] = np.int64(entry & lower)
            found += 1
    return stop, found


@compile_kernel
def pick_representatives(
    keys: Keys, tie_break_ranks: NDArray[np.int32], ids: Places, representatives: Places
) -> None:
    """Find for each key the least burdened, first by name, of those equal to it.

    Parameters
    ----------
    keys : uint64 array, shape (m, 2)
        Keys.
    burdens : int32 array, shape (m,)
        As of `burden`.
    names : int64 array, shape (m,)
        All different.
    chosen : int64 array, shape (m,)
        Filled with places; a key's own where it is the simplest.
    """
    m = tie_break_ranks.size
    bits = 1
    while 1 << bits < 2 * m:
        bits += 1
    table = np.empty(1 << bits, dtype=np.int32)
    for start in range(table.size):
        table[start] = -1
    last = np.uint64((1 << bits) - 1)
    simplest = np.empty(m, dtype=np.int64)
    for k in range(m):
        slot = (keys[k, 0] ^ keys[k, 1]) & last
        first = table[slot]
        while first >= 0 and (keys[first, 0] != keys[k, 0] or keys[first, 1] != keys[k, 1]):
            slot = (slot + np.uint64(1)) & last
            first = table[slot]
        if first < 0:
            table[slot] = first = np.int32(k)
            simplest[k] = k
        else:
            best = simplest[first]
            if tie_break_ranks[k] < tie_break_ranks[best] or (
                tie_break_ranks[k] == tie_break_ranks[best] and ids[k] < ids[best]
            ):
                simplest[first] = k
        representatives[k] = first
    for k in range(m):
        representatives[k] = simplest[representatives[k]]
