"""The order of the rows under each member of a pool, for the functions of one that keep or turn it.

A layer of unary operators meets each member several times. Where members are put in order once, a function
that rises or falls with its argument need not be sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.feature_values import compute_block_size
from symscreen.expansion.pruning import CandidateStatus
from symscreen.grammar import Monotonicity
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from symscreen.expansion.space import Space
    from symscreen.grammar import Operator

    SortedRows = tuple[NDArray[np.int32], NDArray[np.bool_]]
    SortMapFunction = Callable[
        [Callable[[tuple[int, int]], SortedRows], list[tuple[int, int]]], Iterable[SortedRows]
    ]

__all__ = [
    "SortOrders",
    "count_monotone_children",
    "estimate_order_bytes",
    "estimate_pool_order_bytes",
    "is_monotone",
    "presort_pool",
]

_MIN_CHILDREN_PER_MEMBER = 2.0  # functions that follow, for each member that is put in order for them
_MIN_ROWS = 513  # shorter columns are sorted as fast as an order is looked through


@dataclass(frozen=True, eq=False)
class SortOrders:
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


def is_monotone(operator: Operator, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.bool_]:
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
        case Monotonicity.INCREASING | Monotonicity.DECREASING:
            return np.ones(len(low), dtype=np.bool_)
        case Monotonicity.INCREASING_FROM_ZERO:
            return np.asarray((low >= 0) | (high <= 0))
        case Monotonicity.DECREASING_EACH_SIDE:
            return np.asarray((low > 0) | (high < 0))
        case Monotonicity.NONE:
            return np.zeros(len(low), dtype=np.bool_)


def estimate_order_bytes(space: Space, n_rows: int) -> int:
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
    return estimate_pool_order_bytes(len(space.pool), count_monotone_children(space), n_rows)


def estimate_pool_order_bytes(n_members: int, n_monotone_children: int, n_rows: int) -> int:
    """Say the same of a pool of so many members, of which so many features of the space follow one."""
    if n_rows < _MIN_ROWS:
        return 0
    return n_members * (4 * n_rows + 1) if n_monotone_children >= _MIN_CHILDREN_PER_MEMBER * n_members else 0


def count_monotone_children(space: Space) -> int:
    """Count the features of a space that are ordered as a member of its pool."""
    operators, follow = space.pool.symbols.operators, len(space.pool_indices)
    for segment in space.candidates.operator_ranges:
        operator = operators[segment.code]
        if operator.arity == 1 and operator.monotone != Monotonicity.NONE:
            fates = space.statuses[segment.start : segment.start + segment.count]
            follow += int(np.count_nonzero(fates == CandidateStatus.KEPT))
    return follow


def presort_pool(space: Space, map_function: SortMapFunction) -> Space:
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
    orders = SortOrders(np.empty(values.shape, dtype=np.int32), np.empty(len(values), dtype=np.bool_))
    step = compute_block_size(space.n_rows)
    tasks = [(first, min(first + step, len(values))) for first in range(0, len(values), step)]
    for (first, last), (order, tied) in zip(tasks, map_function(_RowSorter(values), tasks), strict=True):
        orders.order[first:last], orders.tied[first:last] = order, tied
    return replace(space, pool=replace(space.pool, sort_orders=orders))


@dataclass(frozen=True, eq=False)
class _RowSorter:
    """Puts the rows of some features in order."""

    values: NDArray[np.float64]

    def __call__(self, feature_range: tuple[int, int]) -> SortedRows:
        ordered = sort_block(self.values[feature_range[0] : feature_range[1]])
        return ordered.order, ordered.tied
