"""The order of a function of a feature, derived from the order of the feature.

exp(x) has the order of x, and −x the mirrored one, except where rounding creates ties: tanh(30) and tanh(40)
are both 1. The values are therefore checked along the order of the argument. A function that is not strictly
monotone on the data is sorted instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values


@dataclass(frozen=True, eq=False)
class MonotoneParents:
    """Features with known orders that are the arguments of the features of a block.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        Features whose order is known.
    order : int32 array, shape (q, n)
        Their rows by ascending value; tied rows by row index.
    tied : bool array, shape (q,)
        Whether they have tied rows.
    parent_indices : int64 array, shape (m,)
        For each feature of the block the index of its argument among the q features; −1 if there is none.
    """

    values: NDArray[np.float64]
    order: NDArray[np.int32]
    tied: NDArray[np.bool_]
    parent_indices: NDArray[np.int64]


def derive_orders(
    values: NDArray[np.float64],
    parents: MonotoneParents,
    order: NDArray[np.int32],
    tied: NDArray[np.bool_],
    is_known: NDArray[np.bool_],
) -> None:
    """Derive the order of functions that are strictly monotone in their argument.

    This takes about half the time of sorting, and a quarter with more than 512 rows.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One function per row, C-contiguous, finite.
    parents : MonotoneParents
        The arguments.
    order : int32 array, shape (m, n)
        Overwritten where the order is derived, with the same result as sorting.
    tied, is_known : bool arrays, shape (m,)
        Overwritten: whether rows tie, and whether the order was derived.

    Examples
    --------
    >>> x = np.array([[3.0, -1.0, 2.0], [1.0, 40.0, 50.0]])
    >>> orders = np.array([[1, 2, 0], [0, 1, 2]], dtype=np.int32)
    >>> parents = MonotoneParents(x, orders, np.zeros(2, dtype=bool), np.arange(2))
    >>> order, tied, known = np.empty_like(orders), np.empty(2, dtype=bool), np.empty(2, dtype=bool)
    >>> derive_orders(np.tanh(-x), parents, order, tied, known)
    >>> known.tolist(), order[0].tolist()
    ([True, False], [0, 2, 1])
    """
    _derive_orders(
        values, parents.parent_indices, parents.values, parents.order, parents.tied, order, tied, is_known
    )


@compile_kernel
def _derive_orders(
    values: Values,
    parent_indices: Integers,
    parent_values: Values,
    parent_orders: Rows,
    parent_ties: Flags,
    order: Rows,
    tied: Flags,
    is_known: Flags,
) -> None:
    """Write the orders, shape (m, n), that follow from those of the parents."""
    m, n = values.shape
    for f in range(m):
        p = parent_indices[f]
        is_known[f] = False
        if p < 0:
            continue
        z, x, rows = values[f], parent_values[p], parent_orders[p]
        tied[f] = parent_ties[p]
        if z[rows[0]] < z[rows[n - 1]]:
            is_known[f] = _is_monotone(z, x, rows, tied[f], 1.0)
            order[f] = rows
        else:
            is_known[f] = _is_monotone(z, x, rows, tied[f], -1.0)
            if is_known[f]:
                _mirror_order(x, rows, tied[f], order[f])


@compile_kernel
def _is_monotone(z: Values, x: Values, rows: Rows, tied: bool, sign: float) -> bool:
    """Check whether sign · z is strictly increasing in x, with equal ties; arrays of shape (n,)."""
    n_violations = 0
    previous = sign * z[np.uint32(rows[0])]
    for k in range(1, rows.size):
        value = sign * z[np.uint32(rows[k])]
        n_violations += not previous < value
        previous = value
    if not tied:
        return n_violations == 0
    for k in range(1, rows.size):
        row, next_row = rows[k - 1], rows[k]
        rises = (sign * z[row] < sign * z[next_row]) == (x[row] < x[next_row])
        if not rises or (z[row] == z[next_row]) != (x[row] == x[next_row]):
            return False
    return True


@compile_kernel
def _mirror_order(x: Values, rows: Rows, tied: bool, mirrored: Rows) -> None:
    """Write the reversed order, shape (n,); tied rows keep their order."""
    n = rows.size
    if not tied:
        for k in range(n):
            mirrored[k] = rows[n - 1 - k]
        return
    stop = n
    while stop > 0:
        start = stop - 1
        while start > 0 and x[rows[start - 1]] == x[rows[start]]:
            start -= 1
        for k in range(start, stop):
            mirrored[n - stop + k - start] = rows[k]
        stop = start
