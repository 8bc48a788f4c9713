"""The order of a function of a feature, taken from the feature's own.

exp(x) has the order of x and −x the mirrored one, as long as rounding lets them: tanh(30) and tanh(40) are
both 1. So values are looked through along the order of the argument, and a function that does not rise, or
fall, wherever its argument rises is left to be sorted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values


__all__ = ["MonotoneParents", "derive_orders"]


@dataclass(frozen=True, eq=False)
class MonotoneParents:
    """Which known orders the features of a block may follow.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        Features whose order is known.
    order : int32 array, shape (q, n)
        Their rows by ascending value, tied rows by number.
    tied : bool array, shape (q,)
        Whether they have tied rows.
    places : int64 array, shape (m,)
        For each feature of the block the one of the q that it is a function of; −1 where there is none.
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
    """Put the rows of functions in order where they rise, or fall, wherever their argument rises.

    This takes about half as long as sorting, and a quarter beyond 512 rows.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One function a row, C-contiguous, finite.
    following : Following
        The arguments.
    order : int32 array, shape (m, n)
        Filled where it is known, to the byte as by sorting.
    tied, known : bool arrays, shape (m,)
        Filled: whether rows tie, and whether the order is known.

    Examples
    --------
    >>> x = np.array([[3.0, -1.0, 2.0], [1.0, 40.0, 50.0]])
    >>> orders = np.array([[1, 2, 0], [0, 1, 2]], dtype=np.int32)
    >>> following = MonotoneParents(x, orders, np.zeros(2, dtype=bool), np.arange(2))
    >>> order, tied, known = np.empty_like(orders), np.empty(2, dtype=bool), np.empty(2, dtype=bool)
    >>> derive_orders(np.tanh(-x), following, order, tied, known)
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
    """Say whether sign · z rises wherever x does, and stands where x stands."""
    wrong = 0
    before = sign * z[np.uint32(rows[0])]
    for k in range(1, rows.size):
        value = sign * z[np.uint32(rows[k])]
        wrong += not before < value
        before = value
    if not tied:
        return wrong == 0
    for k in range(1, rows.size):
        one, other = rows[k - 1], rows[k]
        if (sign * z[one] < sign * z[other]) != (x[one] < x[other]) or (z[one] == z[other]) != (
            x[one] == x[other]
        ):
            return False
    return True


@compile_kernel
def _mirror_order(x: Values, rows: Rows, tied: bool, mirrored: Rows) -> None:
    """Turn the order round; tied rows keep theirs among themselves."""
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
