"""Rows in the order of their values: what truncated keys leave undecided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Keys = NDArray[np.uint32] | NDArray[np.uint64]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["APART", "TIED", "TOO_LONG", "rank", "read", "settle", "sort_run"]

_RUN = 24  # a run of equal truncated keys up to this long is put in order by insertion
APART, TIED, TOO_LONG = 0, 1, 2


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
def read(keys: Keys, low: int, rows: Rows) -> bool:
    """Read rows off the low bits of sorted keys; say whether keys are equal in their other bits."""
    mask = keys.dtype.type(low)
    rows[0] = np.int32(keys[0] & mask)
    same = 0
    for k in range(1, keys.size):
        rows[k] = np.int32(keys[k] & mask)
        same += int((keys[k] ^ keys[k - 1]) <= mask)
    return same > 0


@kernel
def settle(keys: Keys, low: int, rows: Rows, z: Values, spare: Rows, longest: int) -> int:
    """Put runs of rows whose keys are equal but for their low bits in order by their values.

    Returns
    -------
    int
        APART or TIED; TOO_LONG where a run of more than `longest` rows is out of order, which is then left.
    """
    mask = keys.dtype.type(low)
    n = keys.size
    found = APART
    k = 1
    while k < n:
        if (keys[k] ^ keys[k - 1]) > mask:
            k += 1
            continue
        start = k - 1
        while k < n and (keys[k] ^ keys[k - 1]) <= mask:
            k += 1
        if not sort_run(rows, z, start, k, spare, longest):
            return TOO_LONG
        for j in range(start + 1, k):
            if z[rows[j]] == z[rows[j - 1]]:
                found = TIED
    return found


@kernel
def sort_run(rows: Rows, z: Values, start: int, stop: int, spare: Rows, longest: int) -> bool:
    """Put rows[start:stop], which ascend by row number, in stable order of their values.

    Returns
    -------
    bool
        Whether they stand so; not where they are more than `longest` and were out of order.
    """
    k = start + 1
    while k < stop and z[rows[k - 1]] <= z[rows[k]]:
        k += 1
    if k == stop:
        return True
    if stop - start > longest:
        return False
    if stop - start <= _RUN:
        for i in range(k, stop):
            row = rows[i]
            j = i
            while j > start and z[rows[j - 1]] > z[row]:
                rows[j] = rows[j - 1]
                j -= 1
            rows[j] = row
        return True
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
    return True
