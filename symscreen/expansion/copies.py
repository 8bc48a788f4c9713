"""Compiled searches for equal keys: suspects by one word, in tables that fit the cache; then both words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keys = NDArray[np.uint64]
    Places = NDArray[np.int64]

__all__ = ["simplest_of_equals", "suspects"]

_EMPTY = np.uint64(0)


@kernel
def suspects(
    entries: Keys, bounds: Places, start: int, stop: int, name_bits: int, table: Keys, names: Places
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
    lower = (np.uint64(1) << np.uint64(name_bits)) - np.uint64(1)
    found = 0
    for bucket in range(start, stop):
        own = entries[bounds[bucket] : bounds[bucket + 1]]
        if found + own.size > names.size:
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
                names[found] = np.int64(held & lower)
                found += 1
                own_table[slot] = held | lower
            names[found] = np.int64(entry & lower)
            found += 1
    return stop, found


@kernel
def simplest_of_equals(keys: Keys, burdens: NDArray[np.int32], names: Places, chosen: Places) -> None:
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
    m = burdens.size
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
            if burdens[k] < burdens[best] or (burdens[k] == burdens[best] and names[k] < names[best]):
                simplest[first] = k
        chosen[k] = first
    for k in range(m):
        chosen[k] = simplest[chosen[k]]
