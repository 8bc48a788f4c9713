"""The order of the rows under each member of a pool, for the functions of one that keep or turn it.

A layer of unary operators meets each member several times. Where members are put in order once, a function
that rises or falls with its argument need not be sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.chunks import rows_per_block
from symscreen.expansion.fates import Fate
from symscreen.grammar import Monotone
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from symscreen.expansion.space import Space
    from symscreen.grammar import Operator

    Sorted = tuple[NDArray[np.int32], NDArray[np.bool_]]
    Spread = Callable[[Callable[[tuple[int, int]], Sorted], list[tuple[int, int]]], Iterable[Sorted]]

__all__ = [
    "Orders",
    "bytes_of_orders",
    "bytes_of_so_many",
    "keeps_order",
    "members_that_follow",
    "with_orders",
]

_WORTH = 2.0  # functions that follow, for each member that is put in order for them
_FEWEST_ROWS = 513  # shorter columns are sorted as fast as an order is looked through


@dataclass(frozen=True, eq=False)
class Orders:
    """The order of the rows under some features.

    Parameters
    ----------
    order : int32 array, shape (q, n)
        Row numbers by ascending value, tied rows by number.
    tied : bool array, shape (q,)
        Whether a feature has tied rows.
    """

    order: NDArray[np.int32]
    tied: NDArray[np.bool_]


def keeps_order(operator: Operator, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say of which features a unary operator keeps or turns the order, as far as rounding lets it.

    Parameters
    ----------
    operator : Operator
        Of one argument.
    low, high : float64 arrays, shape (m,)
        The least and the largest value of each.

    Returns
    -------
    bool array, shape (m,)
    """
    match operator.monotone:
        case Monotone.INCREASING | Monotone.DECREASING:
            return np.ones(len(low), dtype=np.bool_)
        case Monotone.FROM_ZERO:
            return np.asarray((low >= 0) | (high <= 0))
        case Monotone.BY_SIDE:
            return np.asarray((low > 0) | (high < 0))
        case Monotone.NONE:
            return np.zeros(len(low), dtype=np.bool_)


def bytes_of_orders(space: Space, rows: int) -> int:
    """Say what the orders of a space's pool would take, in bytes; 0 where they are not worth their while.

    Parameters
    ----------
    space : Space
        With values or without.
    rows : int
        The rows of the table.

    Returns
    -------
    int
    """
    return bytes_of_so_many(len(space.pool), members_that_follow(space), rows)


def bytes_of_so_many(members: int, follow: int, rows: int) -> int:
    """Say the same of a pool of so many members, of which so many features of the space follow one."""
    if rows < _FEWEST_ROWS:
        return 0
    return members * (4 * rows + 1) if follow >= _WORTH * members else 0


def members_that_follow(space: Space) -> int:
    """Count the features of a space that are ordered as a member of its pool."""
    operators, follow = space.pool.structure.operators, len(space.base)
    for segment in space.candidates.segments:
        operator = operators[segment.code]
        if operator.arity == 1 and operator.monotone != Monotone.NONE:
            fates = space.fates[segment.start : segment.start + segment.count]
            follow += int(np.count_nonzero(fates == Fate.KEPT))
    return follow


def with_orders(space: Space, spread: Spread) -> Space:
    """Put the rows of the members of a space's pool in order, for the functions of them that follow.

    Parameters
    ----------
    space : Space
        Whose pool holds values.
    spread : callable
        Maps a function over tasks, in order.

    Returns
    -------
    Space
        The same, and every feature is ordered as before.
    """
    values = space.pool.values
    assert values is not None  # noqa: S101  # the caller asks only then
    orders = Orders(np.empty(values.shape, dtype=np.int32), np.empty(len(values), dtype=np.bool_))
    step = rows_per_block(space.rows)
    tasks = [(first, min(first + step, len(values))) for first in range(0, len(values), step)]
    for (first, last), (order, tied) in zip(tasks, spread(_Ordering(values), tasks), strict=True):
        orders.order[first:last], orders.tied[first:last] = order, tied
    return replace(space, pool=replace(space.pool, orders=orders))


@dataclass(frozen=True, eq=False)
class _Ordering:
    """Puts the rows of some features in order."""

    values: NDArray[np.float64]

    def __call__(self, some: tuple[int, int]) -> Sorted:
        ordered = order_features(self.values[some[0] : some[1]])
        return ordered.order, ordered.tied
