"""The least and the largest value of each feature of a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = ["bounds", "ends"]

_TOP = np.int64(0x7FFFFFFFFFFFFFFF)


def bounds(values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
    """Write the least and the largest value of each feature; where one is NaN, one of the two is NaN.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        Any, C-contiguous.
    low, high : float64 arrays, shape (m,)
        Filled.
    """
    _bounds(values.view(np.int64), low.view(np.int64), high.view(np.int64))


@kernel
def _bounds(bits: Numbers, low: Numbers, high: Numbers) -> None:
    for f in range(len(bits)):
        low[f], high[f] = ends(bits[f])


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
