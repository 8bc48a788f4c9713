"""Sums, differences, products and quotients of pairs of columns, straight from where the columns stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.bounds import ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Values = NDArray[np.float64]

__all__ = ["FOUR", "combine"]

FOUR: tuple[np.ufunc, ...] = (np.add, np.subtract, np.multiply, np.divide)
_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE = range(4)


def combine(
    ufunc: np.ufunc,
    pool: NDArray[np.float64],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    values: NDArray[np.float64],
    ends_of: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Combine columns by one of the four operations; bit for bit as numpy does.

    Parameters
    ----------
    ufunc : ufunc
        One of `FOUR`.
    pool : float64 array, shape (q, n)
        Columns, one a row.
    pairs : pair of int64 arrays, shape (m,)
        Which are combined, the left and the right of each.
    values : float64 array, shape (m, n)
        Filled.
    ends_of : pair of float64 arrays, shape (m,)
        Filled with the least and the largest value of each, as by `symscreen.statistics.bounds.bounds`.
    """
    low, high = (some.view(np.int64) for some in ends_of)
    _combine(FOUR.index(ufunc), pool, *pairs, values, values.view(np.int64), low, high)


@kernel
def _combine(
    code: int,
    pool: Values,
    left: Numbers,
    right: Numbers,
    values: Values,
    bits: Numbers,
    low: Numbers,
    high: Numbers,
) -> None:
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
        low[f], high[f] = ends(bits[f])  # while the values are at hand
