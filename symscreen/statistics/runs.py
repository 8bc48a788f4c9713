"""Rows in the order of their values: what truncated keys leave undecided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Keys = NDArray[np.uint32] | NDArray[np.uint64]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["APART", "TIED", "UNDECIDED", "rank", "read", "settle", "sort_run"]

_RUN = 24  # a run of equal truncated keys up to this long is put in order by insertion
APART, TIED, UNDECIDED = 0, 1, 2


@kernel
def rank(rows: Rows, z: Values, doubled: Rows) -> bool:
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


@kernel
def read(keys: Keys, low: int, rows: Rows, same: Flags) -> bool:
    """Read rows off the low bits of sorted keys, and say which keys else equal the one before.

    Returns
    -------
    bool
        Whether any is.
    """
    mask = keys.dtype.type(low)
    rows[0], same[0] = np.int32(keys[0] & mask), False
    count = 0
    for k in range(1, keys.size):
        rows[k] = np.int32(keys[k] & mask)
        same[k] = (keys[k] ^ keys[k - 1]) <= mask
        count += same[k]
    return count > 0


@kernel
def settle(same: Flags, rows: Rows, z: Values, spare: Rows, most: int) -> tuple[int, int]:
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
        differing += same[k] & (value != before)
        before = value
    if differing == 0:  # equal values, and their rows ascend
        return TIED, 0
    if differing > most:
        return UNDECIDED, differing
    found = APART
    k = 1
    while k < n:
        if not same[k]:
            k += 1
            continue
        start = k - 1
        while k < n and same[k]:
            k += 1
        sort_run(rows, z, start, k, spare)
        for j in range(start + 1, k):
            if z[rows[j]] == z[rows[j - 1]]:
                found = TIED
    return found, differing


@kernel
def sort_run(rows: Rows, z: Values, start: int, stop: int, spare: Rows) -> None:
    """Put rows[start:stop], which ascend by row number, in stable order of their values."""
    k = start + 1
    while k < stop and z[rows[k - 1]] <= z[rows[k]]:
        k += 1
    if k == stop:
        return
    if stop - start <= _RUN:
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
                    spare[p] = rows[i]
                    i += 1
                else:
                    spare[p] = rows[j]
                    j += 1
        for p in range(start, stop):
            rows[p] = spare[p]
        width *= 2
