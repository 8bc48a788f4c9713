"""Sums, differences, products and quotients of pairs of columns, straight from where the columns stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.bounds import ends
from symscreen.statistics.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Values = NDArray[np.float64]

__all__ = ["CODES", "combine"]

CODES: dict[np.ufunc, int] = {np.add: 0, np.subtract: 1, np.multiply: 2, np.divide: 3}
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = CODES.values()


@kernel
def combine(
    code: int, pool: Values, left: Numbers, right: Numbers, values: Values, low: Values, high: Values
) -> None:
    """Combine columns by one of the four operations, as numpy does.

    Parameters
    ----------
    code : int
        The operation, by `CODES`.
    pool : float64 array, shape (q, n)
        Columns, one a row.
    left, right : int64 arrays, shape (m,)
        Which are combined.
    values : float64 array, shape (m, n)
        Filled.
    low, high : float64 arrays, shape (m,)
        Filled as by `symscreen.statistics.bounds.bounds`, while the values are at hand.
    """
    bits, lows, highs = values.view(np.int64), low.view(np.int64), high.view(np.int64)
    m, n = values.shape
    for f in range(m):
        a, b, z = pool[left[f]], pool[right[f]], values[f]
        if code == _ADD:
            for i in range(n):
                z[i] = a[i] + b[i]
        elif code == _SUBTRACT:
            for i in range(n):
                z[i] = a[i] - b[i]
        elif code == _MULTIPLY:
            for i in range(n):
                z[i] = a[i] * b[i]
        elif code == _DIVIDE:
            for i in range(n):
                z[i] = np.divide(a[i], b[i])  # the sign raises an error for a division by zero
        lows[f], highs[f] = ends(bits[f])
