"""Arithmetic modulo the prime p = 2⁶¹ − 1, compiled: one residue at a time, and whole arrays of them.

Exact algebra on fingerprints: the canonical key by which equal formulas are recognised.

A fingerprint is the value of a formula at two fixed random points of the field of integers modulo the prime
p = 2⁶¹ − 1. Addition, multiplication and division are exact there, so formulas that are equal as rational
functions have equal fingerprints: a + b and b + a, (x + y)·(x − y) and x² − y², x/(x·y) and 1/y. Formulas
that differ share a fingerprint with probability about (degree/p)², that is 10⁻³⁵ for one pair (Schwartz 1980;
Zippel 1979). Functions that are not rational are answered by a hash of their argument, a different one for
each, with odd and even ones kept odd and even: sin(−x) = −sin(x). A formula is constant when its values at
the two points agree.

Numbers are numbers modulo p, where 2⁶¹ is 1. So that none is taken for another, only those with a numerator
and a denominator below 2³⁰ are exact, and only powers up to 30; larger ones are hashed like functions.

Arrays are uint64 with values in [0, p); every function works element by element, for any shape of at least
one dimension.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Residues


__all__ = [
    "PRIME",
    "add",
    "divide",
    "encode_column",
    "encode_number",
    "invert",
    "invert_array",
    "make_even_hash",
    "make_odd_hash",
    "make_opaque_hash",
    "multiply",
    "multiply_arrays",
    "multiply_residues",
    "negate",
    "raise_to_power",
    "reduce_once",
    "subtract",
]

_PRIME = (1 << 61) - 1
_MODULUS = np.uint64(_PRIME)
_LOW29 = np.uint64((1 << 29) - 1)
_LOW32 = np.uint64((1 << 32) - 1)


@compile_kernel
def reduce_once(a: Any) -> Any:
    """Return a modulo p, for a below 2p."""
    return min(a, a - _MODULUS)  # a − p wraps round to something huge where a < p


@compile_kernel
def multiply_residues(a: Any, b: Any) -> Any:
    """Return a·b modulo p, by halves of 32 bits, for a product needs 122 bits."""
    a1, a0 = a >> np.uint64(32), a & _LOW32
    b1, b0 = b >> np.uint64(32), b & _LOW32
    low = a0 * b0
    middle = a1 * b0 + a0 * b1
    # 2^64 = 8 and 2^61 = 1 modulo p
    total = ((a1 * b1) << np.uint64(3)) + (middle >> np.uint64(29)) + ((middle & _LOW29) << np.uint64(32))
    total += (low & _MODULUS) + (low >> np.uint64(61))
    return reduce_once((total & _MODULUS) + (total >> np.uint64(61)))


@compile_kernel
def multiply_arrays(a: Residues, b: Residues, out: Residues) -> None:
    """Fill `out` with a·b modulo p, element by element."""
    for k in range(out.size):
        out[k] = multiply_residues(a[k], b[k])


@compile_kernel
def invert_array(a: Residues, out: Residues) -> None:
    """Fill `out` with 1/a modulo p, and with 0 where a is 0.

    All are found from the inverse of their product (Montgomery's trick), three products each.
    """
    whole = np.uint64(1)
    for k in range(a.size):
        out[k] = whole  # the product of what comes before
        if a[k] != 0:
            whole = multiply_residues(whole, a[k])
    left, square, exponent = np.uint64(1), whole, _PRIME - 2  # by Fermat 1/a = a^(p−2)
    while exponent:
        if exponent & 1:
            left = multiply_residues(left, square)
        square = multiply_residues(square, square)
        exponent >>= 1
    for k in range(a.size - 1, -1, -1):
        if a[k] == 0:
            out[k] = np.uint64(0)
        else:
            out[k] = multiply_residues(out[k], left)
            left = multiply_residues(left, a[k])


PRIME = (1 << 61) - 1
_P = np.uint64(PRIME)
_MAX_EXACT_EXPONENT = 30
_MAX_EXACT_INTEGER = 1 << 30


def _reduce_mod_prime(a: Residues) -> Residues:
    return _reduce_array_once((a & _P) + (a >> np.uint64(61)))


def _reduce_array_once(a: Residues) -> Residues:
    # a − p wraps round to something huge where a < p
    return np.asarray(np.minimum(a, a - _P))


def add(a: Residues, b: Residues) -> Residues:
    """Return a + b modulo p."""
    return _reduce_array_once(a + b)


def negate(a: Residues) -> Residues:
    """Return −a modulo p."""
    return _reduce_array_once(_P - a)


def subtract(a: Residues, b: Residues) -> Residues:
    """Return a − b modulo p."""
    return _reduce_array_once(a + (_P - b))


def multiply(a: Residues, b: Residues) -> Residues:
    """Return a·b modulo p.

    Examples
    --------
    >>> a, b = np.array([3**38 % PRIME], dtype=np.uint64), np.array([5**26 % PRIME], dtype=np.uint64)
    >>> int(multiply(a, b)[0]) == 3**38 * 5**26 % PRIME
    True
    """
    out = np.empty(np.broadcast_shapes(a.shape, b.shape), dtype=np.uint64)
    multiply_arrays(_flatten(a, out.shape), _flatten(b, out.shape), out.reshape(-1))
    return out


def _flatten(a: Residues, shape: tuple[int, ...]) -> Residues:
    # one kind of array, so that the kernels are compiled once
    return np.require(a if a.shape == shape else np.broadcast_to(a, shape), requirements=["C", "W"]).reshape(
        -1
    )


def _raise_to_integer(a: Residues, exponent: int) -> Residues:
    result = np.ones_like(a)
    while exponent:
        if exponent & 1:
            result = multiply(result, a)
        exponent >>= 1
        if exponent:
            a = multiply(a, a)
    return result


def invert(a: Residues) -> Residues:
    """Return 1/a modulo p; 0 for 0."""
    out = np.empty(a.shape, dtype=np.uint64)
    invert_array(_flatten(a, a.shape), out.reshape(-1))
    return out


def divide(a: Residues, b: Residues) -> Residues:
    """Return a/b modulo p."""
    return multiply(a, invert(b))


def _mix_bits(a: Residues) -> Residues:
    # the finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit moves every output bit
    a = (a ^ (a >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    a = (a ^ (a >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return a ^ (a >> np.uint64(31))


def _hash_text(text: str, purpose: bytes) -> int:
    # a column's name may be any text, halves of surrogate pairs included
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, person=purpose).digest(), "little")


def make_opaque_hash(name: str) -> Callable[..., Residues]:
    """Make the fingerprint of a function of which nothing algebraic is known.

    Parameters
    ----------
    name : str
        The function's name; functions of different names have unrelated fingerprints.

    Returns
    -------
    callable
        Takes the arguments' fingerprints, gives the value's.
    """
    salt = np.uint64(_hash_text(name, b"function"))

    def compute_hash(*arguments: Residues) -> Residues:
        state = np.full_like(arguments[0], salt)
        for argument in arguments:
            state = _mix_bits(state + argument)
        return _reduce_mod_prime(state)

    return compute_hash


def make_even_hash(name: str) -> Callable[[Residues], Residues]:
    """Make the fingerprint of a function with f(−a) = f(a)."""
    mixed = make_opaque_hash(name)
    return lambda a: mixed(np.minimum(a, negate(a)))


def make_odd_hash(name: str) -> Callable[[Residues], Residues]:
    """Make the fingerprint of a function with f(−a) = −f(a)."""
    mixed = make_opaque_hash(name)

    def compute_hash(a: Residues) -> Residues:
        mirrored = negate(a)
        value = np.where(a == 0, np.uint64(0), mixed(np.minimum(a, mirrored)))
        return np.where(a <= mirrored, value, negate(value))

    return compute_hash


_hash_power = make_opaque_hash("pow")


def raise_to_power(a: Residues, b: Residues) -> Residues:
    """Return the fingerprint of a^b: exact for the integer exponents −30 … 30, opaque for others.

    A residue up to 30 that is no such integer has probability 10⁻¹⁷.
    """
    a, b = np.broadcast_arrays(a, b)
    result = _hash_power(a, b)
    mirrored = negate(b)
    for exponent in np.unique(b[b <= _MAX_EXACT_EXPONENT]):
        result = np.where(b == exponent, _raise_to_integer(a, int(exponent)), result)
    for exponent in np.unique(mirrored[(mirrored <= _MAX_EXACT_EXPONENT) & (mirrored > 0)]):
        result = np.where(mirrored == exponent, invert(_raise_to_integer(a, int(exponent))), result)
    return result


def encode_column(name: str) -> Residues:
    """Return the fingerprint of an input: its coordinates in the two random points; shape (2,)."""
    return np.array(
        [_hash_text(name, b"point A") % PRIME, _hash_text(name, b"point B") % PRIME], dtype=np.uint64
    )


def encode_number(value: float) -> Residues:
    """Return the fingerprint of a number, as the decimal fraction that it is written as; shape (2,).

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
        size = _hash_text(str(abs(fraction)), b"number") % PRIME
        residue = size if fraction > 0 else PRIME - size
    return np.array([residue, residue], dtype=np.uint64)
