"""The order of a function of a feature, taken from the feature's own.

exp(x) has the order of x and −x the mirrored one, as long as rounding lets them: tanh(30) and tanh(40) are
both 1. So values are looked through along the operand's order, and features whose values do not rise or fall
wherever the operand rises are sorted anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.order import Ordered, order_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["order_by_operand"]


def order_by_operand(values: NDArray[np.float64], operand: Ordered) -> tuple[Ordered, NDArray[np.int64]]:
    """Order functions of features by the order of the features.

    Where the operand's order is at hand, this takes half as long as sorting, and a quarter beyond 512 rows.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One function of the operand's feature a row, C-contiguous, finite.
    operand : Ordered
        m features.

    Returns
    -------
    ordered : Ordered
        To the byte what `symscreen.statistics.order.order_features` makes of the values.
    anew : int64 array
        The features that were sorted anew, for they do not rise, or fall, wherever the operand rises.

    Examples
    --------
    >>> x = np.array([[3.0, -1.0, 2.0], [1.0, 40.0, 50.0]])
    >>> ordered, anew = order_by_operand(np.tanh(-x), order_features(x))
    >>> ordered.order.tolist(), anew.tolist()
    ([[0, 2, 1], [1, 2, 0]], [1])
    """
    order = np.empty_like(operand.order)
    known = np.empty(len(values), dtype=np.bool_)
    _follow(values, operand.values, operand.order, operand.tied, order, known)
    tied = operand.tied.copy()
    anew = np.flatnonzero(~known)
    if len(anew):
        sorted_anew = order_features(values[anew])
        order[anew], tied[anew] = sorted_anew.order, sorted_anew.tied
    return Ordered(values, (order, tied)), anew


@kernel
def _follow(values: Values, operands: Values, orders: Rows, tied: Flags, order: Rows, known: Flags) -> None:
    m, n = values.shape
    for f in range(m):
        z, x, rows = values[f], operands[f], orders[f]
        if z[rows[0]] < z[rows[n - 1]]:
            known[f] = _rises(z, x, rows, tied[f], 1.0)
            order[f] = rows
        else:
            known[f] = _rises(z, x, rows, tied[f], -1.0)
            if known[f]:
                _mirror(x, rows, tied[f], order[f])


@kernel
def _rises(z: Values, x: Values, rows: Rows, tied: bool, sign: float) -> bool:
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


@kernel
def _mirror(x: Values, rows: Rows, tied: bool, mirrored: Rows) -> None:
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
