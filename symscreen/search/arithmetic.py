"""Sums, differences, products and quotients at pairs of rows, counted as they are computed.

A first look is so short that fetching the operands and storing the values would cost more than the
arithmetic. For these four operators nothing is fetched or stored; the values are those that numpy computes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.compiled import kernel
from symscreen.search.pairs import UNDEFINED
from symscreen.statistics.arithmetic import FOUR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Places = NDArray[np.int64]

__all__ = ["discordance_of_arithmetic", "is_arithmetic"]


def is_arithmetic(numeric: Any) -> bool:
    """Say whether an operator's numeric form is one of numpy's four."""
    return isinstance(numeric, np.ufunc) and numeric in FOUR


def discordance_of_arithmetic(
    numeric: Any, pool: NDArray[np.float64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count discordant pairs of rows for an operator applied to members of a pool.

    Parameters
    ----------
    numeric : numpy.ufunc
        One for which `is_arithmetic` holds.
    pool : float64 array, shape (q, 2N)
        Members at the rows of N pairs, those with the smaller response first.
    left, right : int64 arrays, shape (m,)
        The arguments' places in the pool.

    Returns
    -------
    int64 array, shape (m,)
        As `symscreen.search.pairs.doubled_discordance` of the values.

    Examples
    --------
    >>> pool = np.array([[1.0, 2.0], [3.0, 0.5]])
    >>> discordance_of_arithmetic(np.multiply, pool, np.array([0]), np.array([1])).tolist()
    [2]
    """
    out = np.empty(len(left), dtype=np.int64)
    _count(FOUR.index(numeric), pool, left, right, out)
    return out


@kernel
def _count(kind: int, pool: Values, left: Places, right: Places, out: Places) -> None:
    pairs = pool.shape[1] // 2
    for f in range(left.size):
        a, b = pool[left[f]], pool[right[f]]
        doubled = np.int64(0)
        undefined = np.int64(0)
        if kind == 0:
            for k in range(pairs):
                low, high = a[k] + b[k], a[pairs + k] + b[pairs + k]
                doubled += np.int64(low > high) + np.int64(low >= high)
                undefined |= np.int64(low - low != 0.0) | np.int64(high - high != 0.0)
        elif kind == 1:
            for k in range(pairs):
                low, high = a[k] - b[k], a[pairs + k] - b[pairs + k]
                doubled += np.int64(low > high) + np.int64(low >= high)
                undefined |= np.int64(low - low != 0.0) | np.int64(high - high != 0.0)
        elif kind == 2:
            for k in range(pairs):
                low, high = a[k] * b[k], a[pairs + k] * b[pairs + k]
                doubled += np.int64(low > high) + np.int64(low >= high)
                undefined |= np.int64(low - low != 0.0) | np.int64(high - high != 0.0)
        else:
            for k in range(pairs):
                low, high = a[k] / b[k], a[pairs + k] / b[pairs + k]
                doubled += np.int64(low > high) + np.int64(low >= high)
                undefined |= np.int64(low - low != 0.0) | np.int64(high - high != 0.0)
        out[f] = UNDEFINED if undefined else doubled
