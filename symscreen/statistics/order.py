"""The order of the rows under each feature: one value sort that every rank statistic reads.

Each float64 is mapped to a 64-bit integer of the same order; the row number replaces its lowest ⌈log2 n⌉
bits; the integers are sorted by value, which is several times faster than sorting indices. Rows whose
truncated keys are equal are then put in full order by their values: ties are exactly the equal values.
Long columns whose values spread go another way to the same order: `symscreen.statistics.presort`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.presort import presorted
from symscreen.statistics.runs import rank, sort_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Keys = NDArray[np.uint64]
    Numbers = NDArray[np.int64]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["Ordered", "order_features"]


@dataclass(frozen=True, eq=False)
class Ordered:
    """A block of features with the order of their rows.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row; finite.
    order : int32 array, shape (m, n)
        Row numbers by ascending value, tied rows by row number.
    doubled_ranks : int32 array, shape (m, n)
        Twice the mid-rank of each row, an integer between 2 and 2n.
    tied : bool array, shape (m,)
        Whether the feature has tied rows.
    """

    values: NDArray[np.float64]
    order: NDArray[np.int32]
    doubled_ranks: NDArray[np.int32]
    tied: NDArray[np.bool_]

    def take(self, rows: NDArray[np.int64]) -> Ordered:
        """Return the block of some of the features."""
        return Ordered(self.values[rows], self.order[rows], self.doubled_ranks[rows], self.tied[rows])


def order_features(values: NDArray[np.float64]) -> Ordered:
    """Sort the rows of each feature.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row, C-contiguous, finite; n < 2³⁰.

    Returns
    -------
    Ordered

    Examples
    --------
    >>> ordered = order_features(np.array([[0.5, -1.0, 0.5, 0.0]]))
    >>> ordered.order.tolist(), ordered.doubled_ranks.tolist()
    ([[1, 3, 0, 2]], [[7, 2, 7, 4]])
    """
    m, n = values.shape
    order = np.empty((m, n), dtype=np.int32)
    doubled_ranks = np.empty((m, n), dtype=np.int32)
    tied = np.empty(m, dtype=np.bool_)
    left = presorted(values, order, doubled_ranks, tied)
    if len(left):
        bits = np.uint64((n - 1).bit_length())
        keys = np.empty((len(left), n), dtype=np.uint64)
        _pack(values, left, bits, keys)
        keys.sort(axis=1)
        _read(keys, values, left, bits, order, doubled_ranks, tied)
    return Ordered(values, order, doubled_ranks, tied)


@kernel
def _pack(values: Values, left: Numbers, bits: np.uint64, keys: Keys) -> None:
    m, n = keys.shape
    top = np.uint64(1) << np.uint64(63)
    mask = ~((np.uint64(1) << bits) - np.uint64(1))
    for f in range(m):
        raw = (values[left[f]] + 0.0).view(np.uint64)  # −0 + 0 is 0: the two zeros tie
        for i in range(n):
            u = raw[i]
            u = ~u if u & top else u | top
            keys[f, i] = (u & mask) | np.uint64(i)


@kernel
def _read(
    keys: Keys, values: Values, left: Numbers, bits: np.uint64, order: Rows, doubled_ranks: Rows, tied: Flags
) -> None:
    m, n = keys.shape
    low = (np.uint64(1) << bits) - np.uint64(1)
    spare = np.empty(n, dtype=np.int32)
    for f in range(m):
        rows, z, doubled = order[left[f]], values[left[f]], doubled_ranks[left[f]]
        tied[left[f]] = False
        if _read_apart(keys[f], low, rows, doubled):
            continue
        start = 0
        for k in range(1, n + 1):
            if k == n or (keys[f, k] ^ keys[f, start]) > low:
                if k - start > 1:
                    sort_run(rows, z, start, k, spare)
                start = k
        tied[left[f]] = rank(rows, z, doubled)


@kernel
def _read_apart(keys: Keys, low: np.uint64, rows: Rows, doubled: Rows) -> bool:
    """Read rows and ranks; say whether all truncated keys differ, for only then are these the whole truth."""
    apart = True
    before = ~keys[0]
    for k in range(keys.size):
        key = keys[k]
        row = np.int32(key & low)
        rows[k] = row
        doubled[row] = np.int32(2 * k + 2)
        apart &= (key ^ before) > low
        before = key
    return apart
