"""The least and the largest value of each feature of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Values = NDArray[np.float64]

__all__ = ["bounds", "ends"]

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
    raw, lows, highs = values.view(np.int64), low.view(np.int64), high.view(np.int64)
    for f in range(len(raw)):
        lows[f], highs[f] = ends(raw[f])


@kernel
def ends(bits: Numbers) -> tuple[np.int64, np.int64]:
    """Return the least and the largest of numbers, all given by their bits.

    Whole numbers of the same order are compared, which a processor does several at a time.
    """
    least, largest = _TOP, ~_TOP
    for i in range(bits.size):
        place = bits[i] ^ ((bits[i] >> 63) & _TOP)
        least, largest = min(least, place), max(largest, place)
    return least ^ ((least >> 63) & _TOP), largest ^ ((largest >> 63) & _TOP)
