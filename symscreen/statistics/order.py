"""The order of the rows under each feature: one value sort that every rank statistic reads.

Each float64 is mapped to a 64-bit integer of the same order; the row number replaces its lowest ⌈log2 n⌉
bits; the integers are sorted by value, which is several times faster than sorting indices. Rows whose
truncated keys are equal are then put in full order by their values: ties are exactly the equal values.
Features whose values spread go another, faster way to the same order: `symscreen.statistics.presort`; those
that are functions of one whose order is known may follow it: `symscreen.statistics.follow`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.once import once
from symscreen.statistics.follow import followed
from symscreen.statistics.presort import presorted
from symscreen.statistics.room import Room
from symscreen.statistics.runs import TIED, rank, read, settle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.statistics.follow import Following

    Flags = NDArray[np.bool_]
    Keys = NDArray[np.uint64]
    Numbers = NDArray[np.int64]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["Ordered", "order_features", "together"]

_TOP = np.uint64(1 << 63)


@dataclass(frozen=True, eq=False)
class Ordered:
    """A block of features with the order of their rows, which are sorted when the order is first asked for.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row, C-contiguous; finite.
    known : pair of arrays, optional
        `order` and `tied`, where they are known.
    room : Room, optional
        Where rows are sorted.
    following : Following, optional
        Whose orders the features may follow.
    """

    values: NDArray[np.float64]
    known: tuple[NDArray[np.int32], NDArray[np.bool_]] | None = None
    room: Room | None = None
    following: Following | None = None

    @once
    def found(self) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """`order` and `tied`."""
        if self.known is not None:
            return self.known
        return _ordered(self.values, Room() if self.room is None else self.room, self.following)

    @property
    def order(self) -> NDArray[np.int32]:
        """Row numbers by ascending value, tied rows by row number; shape (m, n)."""
        return self.found[0]

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Whether a feature has tied rows; shape (m,)."""
        return self.found[1]

    @once
    def doubled_ranks(self) -> NDArray[np.int32]:
        """Twice the mid-rank of each row, an integer between 2 and 2n; shape (m, n)."""
        doubled_ranks = np.empty_like(self.order)
        _rank(self.order, self.values, self.tied, doubled_ranks)
        return doubled_ranks

    def take(self, rows: NDArray[np.int64]) -> Ordered:
        """Return the block of some of the features."""
        if "found" not in self.__dict__:
            return Ordered(self.values[rows])
        return Ordered(self.values[rows], (self.order[rows], self.tied[rows]))


def together(parts: Sequence[Ordered]) -> Ordered:
    """Make one block of several, at least one; what some know of their order and others do not is forgotten.

    Parameters
    ----------
    parts : sequence of Ordered
        Features over the same rows.

    Returns
    -------
    Ordered
    """
    if len(parts) == 1:
        return parts[0]
    values = np.concatenate([part.values for part in parts])
    if any(part.known is None for part in parts):
        return Ordered(values)
    order, tied = (np.concatenate(own) for own in zip(*(part.found for part in parts), strict=True))
    return Ordered(values, (order, tied))


def order_features(
    values: NDArray[np.float64], room: Room | None = None, following: Following | None = None
) -> Ordered:
    """Put the rows of each feature in order, once a statistic asks for it.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row, C-contiguous, finite; n < 2³⁰.
    room : Room, optional
        Where the result is put; it is overwritten by the next that is put there.
    following : Following, optional
        Features whose order is known, of which these are functions; the result is the same.

    Returns
    -------
    Ordered
        Pearson's correlation, which needs no order, is spared the sorting.

    Examples
    --------
    >>> ordered = order_features(np.array([[0.5, -1.0, 0.5, 0.0]]))
    >>> ordered.order.tolist(), ordered.doubled_ranks.tolist()
    ([[1, 3, 0, 2]], [[7, 2, 7, 4]])
    """
    return Ordered(values, room=room, following=following)


def _ordered(values: Values, room: Room, following: Following | None) -> tuple[Rows, Flags]:
    m, n = values.shape
    order = room.empty("order", (m, n), np.int32)
    tied = room.empty("tied", (m,), np.bool_)
    if following is None:
        _sort(values, order, tied, room)
        return order, tied
    known = room.empty("known", (m,), np.bool_)
    followed(values, following, order, tied, known)
    anew = np.flatnonzero(~known)
    if len(anew):
        order_anew = room.empty("order anew", (len(anew), n), np.int32)
        tied_anew = room.empty("tied anew", (len(anew),), np.bool_)
        _sort(values[anew], order_anew, tied_anew, room)
        order[anew], tied[anew] = order_anew, tied_anew
    return order, tied


def _sort(values: Values, order: Rows, tied: Flags, room: Room) -> None:
    n = values.shape[1]
    left = presorted(values, order, tied, room)
    if len(left):
        bits = (n - 1).bit_length()
        keys = room.empty("long keys", (len(left), n), np.uint64)
        _pack(values.view(np.uint64), left, bits, keys)
        keys.sort(axis=1)
        _read(keys, values, left, bits, order, tied)


@kernel
def _pack(raw: Keys, left: Numbers, bits: int, keys: Keys) -> None:
    m, n = keys.shape
    mask = ~np.uint64((1 << bits) - 1)
    for f in range(m):
        z = raw[left[f]]
        for i in range(n):
            u = z[i] if z[i] != _TOP else np.uint64(0)  # the bits of −0: the two zeros tie
            u = ~u if u & _TOP else u | _TOP
            keys[f, i] = (u & mask) | np.uint64(i)


@kernel
def _read(keys: Keys, values: Values, left: Numbers, bits: int, order: Rows, tied: Flags) -> None:
    m, n = keys.shape
    low = (1 << bits) - 1
    spare = np.empty(n, dtype=np.int32)
    same = np.empty(n, dtype=np.bool_)
    for f in range(m):
        rows = order[left[f]]
        tied[left[f]] = False
        if read(keys[f], low, rows, same):
            tied[left[f]] = settle(same, rows, values[left[f]], spare, n)[0] == TIED


@kernel
def _rank(order: Rows, values: Values, tied: Flags, doubled_ranks: Rows) -> None:
    m, n = order.shape
    for f in range(m):
        rows, doubled = order[f], doubled_ranks[f]
        if tied[f]:
            rank(rows, values[f], doubled)
        else:
            for k in range(n):
                doubled[np.uint32(rows[k])] = np.int32(2 * k + 2)
