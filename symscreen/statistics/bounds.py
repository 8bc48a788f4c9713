"""The least and the largest value of each feature of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["bounds"]

_TOP = np.int64(0x7FFFFFFFFFFFFFFF)


@kernel
def bounds(values: Values, low: Values, high: Values) -> None:
    """Write the least and the largest value of each feature; where one is NaN, one of the two is NaN.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        Any, C-contiguous.
    low, high : float64 arrays, shape (m,)
        Filled.
    """
    # numbers of the same bits compare as whole numbers, which a processor does several at a time
    raw = values.view(np.int64)
    m, n = raw.shape
    ends = np.empty(2, dtype=np.int64)
    for f in range(m):
        z = raw[f]
        least, largest = _TOP, ~_TOP
        for i in range(n):
            u = z[i] ^ ((z[i] >> 63) & _TOP)
            least, largest = min(least, u), max(largest, u)
        ends[0] = least ^ ((least >> 63) & _TOP)
        ends[1] = largest ^ ((largest >> 63) & _TOP)
        low[f], high[f] = ends.view(np.float64)
