"""Fingerprints of formulas: canonical keys that are equal for algebraically equal formulas.

A fingerprint is the value of a formula at two fixed random points in the field of integers modulo the prime
p = 2⁶¹ − 1. Addition, multiplication and division are exact in this field, so formulas that are equal as
rational functions have equal fingerprints: a + b and b + a, (x + y)·(x − y) and x² − y², x/(x·y) and 1/y.
Two different formulas have equal fingerprints with probability of about (degree/p)², or 10⁻³⁵ (Schwartz 1980;
Zippel 1979). Functions that are not rational are replaced by a hash of their argument. Odd and even functions
keep their symmetry: sin(−x) = −sin(x). A formula is constant if its values at the two points are equal.

Numbers are residues modulo p, where 2⁶¹ equals 1. To avoid confusion between numbers, only fractions with
numerator and denominator below 2³⁰ and powers up to 30 are exact; others are hashed like functions.

Arrays have dtype uint64 and values in [0, p). All functions work element by element, for arrays of at least
one dimension. The inner loops are compiled; few residues are multiplied in Python, which needs no kernel.
"""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Residues


PRIME = (1 << 61) - 1
_MODULUS = np.uint64(PRIME)
_LOW29 = np.uint64((1 << 29) - 1)  # masks of the low bits
_LOW32 = np.uint64((1 << 32) - 1)
_MAX_FEW_RESIDUES = 512  # residues that are multiplied or inverted without a kernel
_MAX_EXACT_EXPONENT = 30  # largest exponent of a power that is computed exactly
_MAX_EXACT_INTEGER = 1 << 30  # exclusive; of numerators and denominators


@compile_kernel
def reduce_once(a: Any) -> Any:
    """Return a modulo p, for a < 2p."""
    return min(a, a - _MODULUS)  # if a < p, a − p wraps around to a huge number


@compile_kernel
def multiply_residues(a: Any, b: Any) -> Any:
    """Return a·b modulo p. The product has up to 122 bits and is computed from halves of 32 bits."""
    a1, a0 = a >> np.uint64(32), a & _LOW32
    b1, b0 = b >> np.uint64(32), b & _LOW32
    low = a0 * b0
    middle = a1 * b0 + a0 * b1
    # Modulo p, 2^64 is 8 and 2^61 is 1.
    total = ((a1 * b1) << np.uint64(3)) + (middle >> np.uint64(29)) + ((middle & _LOW29) << np.uint64(32))
    total += (low & _MODULUS) + (low >> np.uint64(61))
    return reduce_once((total & _MODULUS) + (total >> np.uint64(61)))


@compile_kernel
def multiply_arrays(a: Residues, b: Residues, out: Residues) -> None:
    """Store a·b modulo p in `out`, element by element; all arrays have shape (k,)."""
    for k in range(out.size):
        out[k] = multiply_residues(a[k], b[k])


@compile_kernel
def invert_array(a: Residues, out: Residues) -> None:
    """Store 1/a modulo p in `out`, and 0 where a is 0; both arrays have shape (k,).

    All inverses are computed from the inverse of the product (Montgomery's trick), with three products each.
    """
    total = np.uint64(1)
    for k in range(a.size):
        out[k] = total  # the product of all earlier elements
        if a[k] != 0:
            total = multiply_residues(total, a[k])
    inverse, square, exponent = np.uint64(1), total, PRIME - 2  # Fermat: 1/a = a^(p−2)
    while exponent:
        if exponent & 1:
            inverse = multiply_residues(inverse, square)
        square = multiply_residues(square, square)
        exponent >>= 1
    for k in range(a.size - 1, -1, -1):
        if a[k] == 0:
            out[k] = np.uint64(0)
        else:
            out[k] = multiply_residues(out[k], inverse)
            inverse = multiply_residues(inverse, a[k])


def _reduce_mod_prime(a: Residues) -> Residues:
    """Return any 64-bit integers modulo p."""
    return _reduce_array_once((a & _MODULUS) + (a >> np.uint64(61)))


def _reduce_array_once(a: Residues) -> Residues:
    """Return a modulo p, for a < 2p."""
    return np.asarray(np.minimum(a, a - _MODULUS))  # if a < p, a − p wraps around to a huge number


def add(a: Residues, b: Residues) -> Residues:
    """Return a + b modulo p."""
    return _reduce_array_once(a + b)


def negate(a: Residues) -> Residues:
    """Return −a modulo p."""
    return _reduce_array_once(_MODULUS - a)


def subtract(a: Residues, b: Residues) -> Residues:
    """Return a − b modulo p."""
    return _reduce_array_once(a + (_MODULUS - b))


def multiply(a: Residues, b: Residues) -> Residues:
    """Return a·b modulo p.

    Examples
    --------
    >>> a, b = np.array([3**38 % PRIME], dtype=np.uint64), np.array([5**26 % PRIME], dtype=np.uint64)
    >>> int(multiply(a, b)[0]) == 3**38 * 5**26 % PRIME
    True
    """
    shape = np.broadcast_shapes(a.shape, b.shape)
    if math.prod(shape) <= _MAX_FEW_RESIDUES:
        pairs = zip(_flatten(a, shape).tolist(), _flatten(b, shape).tolist(), strict=True)
        return np.array([x * y % PRIME for x, y in pairs], dtype=np.uint64).reshape(shape)
    out = np.empty(shape, dtype=np.uint64)
    multiply_arrays(_flatten(a, out.shape), _flatten(b, out.shape), out.reshape(-1))
    return out


def _flatten(a: Residues, shape: tuple[int, ...]) -> Residues:
    """Broadcast to a shape and flatten, always to the same array type so that kernels are compiled once."""
    return np.require(a if a.shape == shape else np.broadcast_to(a, shape), requirements=["C", "W"]).reshape(
        -1
    )


def _raise_to_integer(a: Residues, exponent: int) -> Residues:
    """Return a^exponent modulo p by repeated squaring."""
    result = np.ones_like(a)
    while exponent:
        if exponent & 1:
            result = multiply(result, a)
        exponent >>= 1
        if exponent:
            a = multiply(a, a)
    return result


def invert(a: Residues) -> Residues:
    """Return 1/a modulo p, and 0 where a is 0."""
    if a.size <= _MAX_FEW_RESIDUES:
        inverses = [pow(x, -1, PRIME) if x else 0 for x in a.ravel().tolist()]
        return np.array(inverses, dtype=np.uint64).reshape(a.shape)
    out = np.empty(a.shape, dtype=np.uint64)
    invert_array(_flatten(a, a.shape), out.reshape(-1))
    return out


def divide(a: Residues, b: Residues) -> Residues:
    """Return a/b modulo p."""
    return multiply(a, invert(b))


def _mix_bits(a: Residues) -> Residues:
    """Mix the bits of 64-bit integers with the finalizer of splitmix64 (Steele, Lea, Flood 2014)."""
    a = (a ^ (a >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    a = (a ^ (a >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return a ^ (a >> np.uint64(31))


def _hash_text(text: str, purpose: bytes) -> int:
    """Return a 64-bit hash of a text."""
    data = text.encode("utf-8", "surrogatepass")  # the name of a column may contain lone surrogates
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, person=purpose).digest(), "little")


def make_opaque_hash(name: str) -> Callable[..., Residues]:
    """Return the fingerprint of a function without known algebraic properties.

    Parameters
    ----------
    name : str
        Name of the function; functions with different names have unrelated fingerprints.

    Returns
    -------
    callable
        Maps the fingerprints of the arguments to that of the value.
    """
    salt = np.uint64(_hash_text(name, b"function"))

    def compute_hash(*arguments: Residues) -> Residues:
        state = np.full_like(arguments[0], salt)
        for argument in arguments:
            state = _mix_bits(state + argument)
        return _reduce_mod_prime(state)

    return compute_hash


def make_even_hash(name: str) -> Callable[[Residues], Residues]:
    """Return the fingerprint of a function with f(−a) = f(a)."""
    compute_hash = make_opaque_hash(name)
    return lambda a: compute_hash(np.minimum(a, negate(a)))


def make_odd_hash(name: str) -> Callable[[Residues], Residues]:
    """Return the fingerprint of a function with f(−a) = −f(a)."""
    compute_opaque_hash = make_opaque_hash(name)

    def compute_hash(a: Residues) -> Residues:
        negated = negate(a)
        value = np.where(a == 0, np.uint64(0), compute_opaque_hash(np.minimum(a, negated)))
        return np.where(a <= negated, value, negate(value))

    return compute_hash


_hash_power = make_opaque_hash("pow")


def raise_to_power(a: Residues, b: Residues) -> Residues:
    """Return the fingerprint of a^b, exact for integer exponents from −30 to 30, a hash for others.

    The probability that the residue of another exponent is at most 30 is 10⁻¹⁷.
    """
    a, b = np.broadcast_arrays(a, b)
    result = _hash_power(a, b)
    negated = negate(b)
    for exponent in np.unique(b[b <= _MAX_EXACT_EXPONENT]):
        result = np.where(b == exponent, _raise_to_integer(a, int(exponent)), result)
    for exponent in np.unique(negated[(negated <= _MAX_EXACT_EXPONENT) & (negated > 0)]):
        result = np.where(negated == exponent, invert(_raise_to_integer(a, int(exponent))), result)
    return result


def encode_column(name: str) -> Residues:
    """Return the fingerprint of a column: its coordinates at the two random points; shape (2,)."""
    return np.array(
        [_hash_text(name, b"point A") % PRIME, _hash_text(name, b"point B") % PRIME], dtype=np.uint64
    )


def encode_number(value: float) -> Residues:
    """Return the fingerprint of a number, which is interpreted as its decimal representation; shape (2,).

    Parameters
    ----------
    value : float
        A finite number.

    Returns
    -------
    uint64 array, shape (2,)

    Examples
    --------
    >>> encode_number(7).tolist()
    [7, 7]
    >>> bool((add(encode_number(0.1), encode_number(0.2)) == encode_number(0.3)).all())
    True
    """
    fraction = Fraction(str(value))
    if max(abs(fraction.numerator), fraction.denominator) < _MAX_EXACT_INTEGER:
        residue = fraction.numerator * pow(fraction.denominator, -1, PRIME) % PRIME
    else:
        magnitude = _hash_text(str(abs(fraction)), b"number") % PRIME
        residue = magnitude if fraction > 0 else PRIME - magnitude
    return np.array([residue, residue], dtype=np.uint64)
