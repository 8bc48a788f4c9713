"""Numbers that spread where values of very different size bunch up: their logarithms, with their signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Values = NDArray[np.float64]

__all__ = ["stretch"]

_SIZE = np.int64(0x7FFFFFFFFFFFFFFF)
_SAMPLE = 32
_APART = 1 << 52  # the bits by which the smallest number stands apart from zero, where many values may be
_BELOW = 8 << 52  # the bits of a number this much smaller are those of one 2⁸ times as small


@kernel
def stretch(bits: Numbers, features: Numbers, out: Values) -> None:
    """Map values to numbers that never fall where values rise, and grow as their logarithms do.

    The bits of a positive number, read as a whole number, grow so. What is 2⁸ times as small as the smallest
    of a sample counts as the smallest, lest the way from there to zero take most of the range.

    Parameters
    ----------
    bits : int64 array, shape (q, n)
        The bits of the values of features; finite.
    features : int64 array, shape (m,)
        Which of them.
    out : float64 array, shape (m, n)
        Filled.
    """
    n = bits.shape[1]
    for place in range(features.size):
        z = bits[features[place]]
        least = _SIZE
        for k in range(_SAMPLE):
            size = z[(k * n + n // 2) // _SAMPLE] & _SIZE
            if size > 0:
                least = min(least, size)
        zero = max(least - _BELOW, 0) if least < _SIZE else 0
        for i in range(n):
            size = z[i] & _SIZE
            if size > 0:
                size = max(size - zero, 0) + _APART
            out[place, i] = float(size if z[i] >= 0 else -size)
