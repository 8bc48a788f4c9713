"""Compiled walks over ranges of one operator's candidates: what rules say of each, and the keys.

Candidates are walked in runs, along which one argument stays and the other moves through the pool, so that
nothing is decoded one by one and the arithmetic on keys is done by vectors. Arrays of what differs by the
argument, left or right, have one row for each side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.grammar.residues import folded, product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Costs = NDArray[np.int32]
    Counts = NDArray[np.int32]
    Keys = NDArray[np.uint64]
    Places = NDArray[np.int64]

__all__ = [
    "BARRED", "COMPLEX", "CONSTANT", "FORBIDDEN", "GIVEN", "KEPT", "ONE", "ORDERED", "OUTSIDE", "PRODUCT",
    "SUM", "UNDEFINED", "UNORDERED", "gather", "revisit", "run_of", "sift",
]  # fmt: skip

ONE, UNORDERED, ORDERED = 0, 1, 2  # what an operator is applied to, as of `Segment`
GIVEN, SUM, PRODUCT = 0, 1, 2  # where keys come from
KEPT, FORBIDDEN, COMPLEX, CONSTANT, UNDEFINED = 0, 1, 2, 3, 4  # as of `Fate`
BARRED, OUTSIDE = 1, 2  # flags of an argument: a rule bars it, it leaves the domain
_AT_A_TIME = 1024


@kernel
def run_of(pairs: int, t: int) -> tuple[int, int, int, int]:
    """Return which side moves, where it is, where the other stays, and how many are left of the run."""
    if pairs == ONE:
        return 0, t, t, 1
    later = int(np.sqrt(2.0 * t if pairs == UNORDERED else 1.0 * t))
    before = later * (later + 1) // 2 if pairs == UNORDERED else later * later
    if before > t:  # the root is at most one too large, and never too small
        later -= 1
        before = later * (later + 1) // 2 if pairs == UNORDERED else later * later
    place = t - before
    if place <= later:
        return 0, place, later, later + 1 - place
    place -= later + 1
    return 1, place, later, later - place


@kernel
def _word(
    words: Keys,
    given: Keys,
    source: int,
    word: int,
    side: int,
    moving: int,
    staying: int,
    done: int,
    out: Keys,
) -> None:
    """Fill `out` with one word of the keys along a run."""
    n = out.size
    if source == GIVEN:
        for k in range(n):
            out[k] = given[done + k, word]
        return
    moves, stays = words[side, word, moving : moving + n], words[1 - side, word, staying]
    if source == SUM:
        for k in range(n):
            out[k] = folded(moves[k] + stays)
    else:
        for k in range(n):
            out[k] = product(moves[k], stays)


@kernel
def sift(
    first: int, stop: int, pairs: int, source: int, words: Keys, given: Keys, costs: Costs, cap: int,
    flags: Bytes, fates: Bytes, shift: int, counts: Counts,
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
    spare = np.empty((2, _AT_A_TIME), dtype=np.uint64)
    t = first
    while t < stop:
        side, moving, staying, n = run_of(pairs, t)
        n, done = min(n, stop - t, _AT_A_TIME), t - first
        for word in range(2):
            _word(words, given, source, word, side, moving, staying, done, spare[word, :n])
        one, two = spare[0, :n], spare[1, :n]
        found = fates[done : done + n]
        _decide(
            one, two, costs[side, moving : moving + n], cap - costs[1 - side, staying],
            flags[side, moving : moving + n], flags[1 - side, staying], found,
        )  # fmt: skip
        for k in range(n):
            counts[one[k] >> np.uint64(shift)] += found[k] == KEPT
        t += n


@kernel
def _decide(
    one: Keys, two: Keys, costs: Costs, most: int, flags: Bytes, more_flags: int, fates: Bytes
) -> None:
    for k in range(fates.size):
        flag = flags[k] | more_flags
        fate = UNDEFINED if flag & OUTSIDE else KEPT
        fate = CONSTANT if one[k] == two[k] else fate  # a constant is called constant wherever it is defined
        fate = COMPLEX if costs[k] > most else fate
        fate = FORBIDDEN if flag & BARRED else fate
        fates[k] = fate if fates[k] == KEPT else fates[k]


@kernel
def gather(
    first: int, stop: int, pairs: int, source: int, words: Keys, given: Keys, fates: Bytes, name: int,
    name_bits: int, shift: int, lowest: int, ends: Places, entries: Keys,
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
    spare = np.empty(_AT_A_TIME, dtype=np.uint64)
    chosen = np.empty(_AT_A_TIME + 1, dtype=np.int64)
    upper = ~((np.uint64(1) << np.uint64(name_bits)) - np.uint64(1))
    width = np.uint64(ends.size)
    t = first
    while t < stop:
        side, moving, staying, n = run_of(pairs, t)
        n, done = min(n, stop - t, _AT_A_TIME), t - first
        one = spare[:n]
        _word(words, given, source, 0, side, moving, staying, done, one)
        found = fates[done : done + n]
        m = 0
        for k in range(n):  # without a branch, which would be mispredicted
            chosen[m] = k
            m += ((one[k] >> np.uint64(shift)) - np.uint64(lowest) < width) & (found[k] == KEPT)
        for j in range(m):
            k = chosen[j]
            bucket = np.int64(one[k] >> np.uint64(shift)) - lowest
            entry = (one[k] << np.uint64(64 - shift)) & upper
            entries[ends[bucket]] = entry | np.uint64(name + done + k)
            ends[bucket] += 1
        t += n


@kernel
def revisit(
    places: Places, numbers: Places, shift: int, pairs: int, source: int, words: Keys, costs: Costs,
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
    for j in range(places.size):
        k = places[j]
        side, moving, staying, _ = run_of(pairs, numbers[k] - shift)
        left[j], right[j] = (staying, moving) if side else (moving, staying)
        complexity[j] = costs[0, left[j]] + costs[1, right[j]]
        if source != GIVEN:
            for word in range(2):
                a, b = words[side, word, moving], words[1 - side, word, staying]
                keys[k, word] = folded(a + b) if source == SUM else product(a, b)
