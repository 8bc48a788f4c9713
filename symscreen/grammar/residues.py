"""Arithmetic modulo the prime p = 2⁶¹ − 1, compiled: one residue at a time, and whole arrays of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Residues = NDArray[np.uint64]

__all__ = ["folded", "inverses", "product", "products"]

_PRIME = (1 << 61) - 1
_P = np.uint64(_PRIME)
_LOW29 = np.uint64((1 << 29) - 1)
_LOW32 = np.uint64((1 << 32) - 1)


@kernel
def folded(a: Any) -> Any:
    """Return a modulo p, for a below 2p."""
    return min(a, a - _P)  # a − p wraps round to something huge where a < p


@kernel
def product(a: Any, b: Any) -> Any:
    """Return a·b modulo p, by halves of 32 bits, for a product needs 122 bits."""
    a1, a0 = a >> np.uint64(32), a & _LOW32
    b1, b0 = b >> np.uint64(32), b & _LOW32
    low = a0 * b0
    middle = a1 * b0 + a0 * b1
    # 2^64 = 8 and 2^61 = 1 modulo p
    total = ((a1 * b1) << np.uint64(3)) + (middle >> np.uint64(29)) + ((middle & _LOW29) << np.uint64(32))
    total += (low & _P) + (low >> np.uint64(61))
    return folded((total & _P) + (total >> np.uint64(61)))


@kernel
def products(a: Residues, b: Residues, out: Residues) -> None:
    """Fill `out` with a·b modulo p, element by element."""
    for k in range(out.size):
        out[k] = product(a[k], b[k])


@kernel
def inverses(a: Residues, out: Residues) -> None:
    """Fill `out` with 1/a modulo p, and with 0 where a is 0.

    All are found from the inverse of their product (Montgomery's trick), three products each.
    """
    whole = np.uint64(1)
    for k in range(a.size):
        out[k] = whole  # the product of what comes before
        if a[k] != 0:
            whole = product(whole, a[k])
    left, square, exponent = np.uint64(1), whole, _PRIME - 2  # by Fermat 1/a = a^(p−2)
    while exponent:
        if exponent & 1:
            left = product(left, square)
        square = product(square, square)
        exponent >>= 1
    for k in range(a.size - 1, -1, -1):
        if a[k] == 0:
            out[k] = np.uint64(0)
        else:
            out[k] = product(out[k], left)
            left = product(left, a[k])
