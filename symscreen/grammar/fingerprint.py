"""Exact algebra on fingerprints: the canonical key by which equal formulas are recognised.

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
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Residues = NDArray[np.uint64]

__all__ = [
    "PRIME",
    "add",
    "divide",
    "even",
    "inverse",
    "multiply",
    "negate",
    "odd",
    "of_column",
    "of_number",
    "opaque",
    "power",
    "subtract",
]

PRIME = (1 << 61) - 1
_P = np.uint64(PRIME)
_LARGEST_EXPONENT = 30
_LARGEST_EXACT = 1 << 30


def _reduce(a: Residues) -> Residues:
    return _folded((a & _P) + (a >> np.uint64(61)))


def _folded(a: Residues) -> Residues:
    # a − p wraps round to something huge where a < p
    return np.asarray(np.minimum(a, a - _P))


def add(a: Residues, b: Residues) -> Residues:
    """Return a + b modulo p."""
    return _folded(a + b)


def negate(a: Residues) -> Residues:
    """Return −a modulo p."""
    return _folded(_P - a)


def subtract(a: Residues, b: Residues) -> Residues:
    """Return a − b modulo p."""
    return _folded(a + (_P - b))


def multiply(a: Residues, b: Residues) -> Residues:
    """Return a·b modulo p.

    Examples
    --------
    >>> a, b = np.array([3**38 % PRIME], dtype=np.uint64), np.array([5**26 % PRIME], dtype=np.uint64)
    >>> int(multiply(a, b)[0]) == 3**38 * 5**26 % PRIME
    True
    """
    from symscreen.grammar.residues import products

    out = np.empty(np.broadcast_shapes(a.shape, b.shape), dtype=np.uint64)
    products(_flat(a, out.shape), _flat(b, out.shape), out.reshape(-1))
    return out


def _flat(a: Residues, shape: tuple[int, ...]) -> Residues:
    # one kind of array, so that the kernels are compiled once
    return np.require(a if a.shape == shape else np.broadcast_to(a, shape), requirements=["C", "W"]).reshape(
        -1
    )


def _integer_power(a: Residues, exponent: int) -> Residues:
    result = np.ones_like(a)
    while exponent:
        if exponent & 1:
            result = multiply(result, a)
        exponent >>= 1
        if exponent:
            a = multiply(a, a)
    return result


def inverse(a: Residues) -> Residues:
    """Return 1/a modulo p; 0 for 0."""
    from symscreen.grammar.residues import inverses

    out = np.empty(a.shape, dtype=np.uint64)
    inverses(_flat(a, a.shape), out.reshape(-1))
    return out


def divide(a: Residues, b: Residues) -> Residues:
    """Return a/b modulo p."""
    return multiply(a, inverse(b))


def _mixed(a: Residues) -> Residues:
    # the finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit moves every output bit
    a = (a ^ (a >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    a = (a ^ (a >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return a ^ (a >> np.uint64(31))


def _digest(text: str, purpose: bytes) -> int:
    # a column's name may be any text, halves of surrogate pairs included
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, person=purpose).digest(), "little")


def opaque(name: str) -> Callable[..., Residues]:
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
    salt = np.uint64(_digest(name, b"function"))

    def fingerprint(*arguments: Residues) -> Residues:
        state = np.full_like(arguments[0], salt)
        for argument in arguments:
            state = _mixed(state + argument)
        return _reduce(state)

    return fingerprint


def even(name: str) -> Callable[[Residues], Residues]:
    """Make the fingerprint of a function with f(−a) = f(a)."""
    mixed = opaque(name)
    return lambda a: mixed(np.minimum(a, negate(a)))


def odd(name: str) -> Callable[[Residues], Residues]:
    """Make the fingerprint of a function with f(−a) = −f(a)."""
    mixed = opaque(name)

    def fingerprint(a: Residues) -> Residues:
        mirrored = negate(a)
        value = np.where(a == 0, np.uint64(0), mixed(np.minimum(a, mirrored)))
        return np.where(a <= mirrored, value, negate(value))

    return fingerprint


_opaque_power = opaque("pow")


def power(a: Residues, b: Residues) -> Residues:
    """Return the fingerprint of a^b: exact for the integer exponents −30 … 30, opaque for others.

    A residue up to 30 that is no such integer has probability 10⁻¹⁷.
    """
    a, b = np.broadcast_arrays(a, b)
    result = _opaque_power(a, b)
    mirrored = negate(b)
    for exponent in np.unique(b[b <= _LARGEST_EXPONENT]):
        result = np.where(b == exponent, _integer_power(a, int(exponent)), result)
    for exponent in np.unique(mirrored[(mirrored <= _LARGEST_EXPONENT) & (mirrored > 0)]):
        result = np.where(mirrored == exponent, inverse(_integer_power(a, int(exponent))), result)
    return result


def of_column(name: str) -> Residues:
    """Return the fingerprint of an input: its coordinates in the two random points; shape (2,)."""
    return np.array([_digest(name, b"point A") % PRIME, _digest(name, b"point B") % PRIME], dtype=np.uint64)


def of_number(value: float) -> Residues:
    """Return the fingerprint of a number, as the decimal fraction that it is written as; shape (2,).

    Examples
    --------
    >>> of_number(7).tolist()
    [7, 7]
    >>> bool((add(of_number(0.1), of_number(0.2)) == of_number(0.3)).all())
    True
    """
    fraction = Fraction(str(value))
    if max(abs(fraction.numerator), fraction.denominator) < _LARGEST_EXACT:
        residue = fraction.numerator * pow(fraction.denominator, -1, PRIME) % PRIME
    else:
        size = _digest(str(abs(fraction)), b"number") % PRIME
        residue = size if fraction > 0 else PRIME - size
    return np.array([residue, residue], dtype=np.uint64)
