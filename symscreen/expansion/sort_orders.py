"""Sort the rows of each pool member once, so that monotone functions of it can reuse the order.

A layer of unary operators is applied to each member several times. A function that increases or decreases
with its argument then need not be sorted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion._kernels import CandidateStatus
from symscreen.expansion.feature_values import compute_block_size
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


_MIN_CHILDREN_PER_MEMBER = 2.0  # monotone functions per member that make sorting the pool worthwhile
_MIN_ROWS = 513  # rows; sorting a shorter column is as fast as reusing an order


@dataclass(frozen=True, eq=False)
class SortOrders:
    """Row order of features.

    Parameters
    ----------
    order : int32 array, shape (q, n)
        Row indices in ascending order of the values, tied rows in ascending order.
    tied : bool array, shape (q,)
        Whether a feature has tied rows.
    """

    order: NDArray[np.int32]
    tied: NDArray[np.bool_]


def is_monotone(operator: Operator, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for which features a unary operator keeps or reverses the order, up to rounding.

    Parameters
    ----------
    operator : Operator
        A unary operator.
    low, high : float64 arrays, shape (m,)
        Minimum and maximum of each feature.

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
    """Estimate the memory in bytes of the row orders of a space's pool; 0 if they are not worthwhile.

    Parameters
    ----------
    space : Space
        The space, with or without values.
    n_rows : int
        Number of rows of the table.

    Returns
    -------
    int
    """
    return estimate_pool_order_bytes(len(space.pool), count_monotone_children(space), n_rows)


def estimate_pool_order_bytes(n_members: int, n_monotone_children: int, n_rows: int) -> int:
    """Estimate the memory in bytes of row orders, from the size of the pool; 0 if not worthwhile."""
    if n_rows < _MIN_ROWS:
        return 0
    return n_members * (4 * n_rows + 1) if n_monotone_children >= _MIN_CHILDREN_PER_MEMBER * n_members else 0


def count_monotone_children(space: Space) -> int:
    """Count the features of a space whose row order follows from a member of its pool."""
    operators, count = space.pool.symbols.operators, len(space.pool_indices)
    for operator_range in space.candidates.operator_ranges:
        operator = operators[operator_range.code]
        if operator.arity == 1 and operator.monotone != Monotonicity.NONE:
            statuses = space.statuses[operator_range.start : operator_range.stop]
            count += int(np.count_nonzero(statuses == CandidateStatus.KEPT))
    return count


def presort_pool(space: Space, map_function: SortMapFunction) -> Space:
    """Sort the rows of the members of a space's pool, so that monotone functions can reuse the order.

    Parameters
    ----------
    space : Space
        The space. Its pool must store values.
    map_function : callable
        Maps a function over tasks, in order.

    Returns
    -------
    Space
        The same space with row orders. The order of every feature is unchanged.
    """
    values = space.pool.values
    assert values is not None  # noqa: S101  # callers check this first
    orders = SortOrders(np.empty(values.shape, dtype=np.int32), np.empty(len(values), dtype=np.bool_))
    step = compute_block_size(space.n_rows)
    tasks = [(first, min(first + step, len(values))) for first in range(0, len(values), step)]
    for (first, last), (order, tied) in zip(tasks, map_function(_RowSorter(values), tasks), strict=True):
        orders.order[first:last], orders.tied[first:last] = order, tied
    return replace(space, pool=replace(space.pool, sort_orders=orders))


@dataclass(frozen=True, eq=False)
class _RowSorter:
    """Sorts the rows of a range of features."""

    values: NDArray[np.float64]

    def __call__(self, feature_range: tuple[int, int]) -> SortedRows:
        ordered = sort_block(self.values[feature_range[0] : feature_range[1]])
        return ordered.order, ordered.tied
