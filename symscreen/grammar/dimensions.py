"""What operators make of units, for many arguments at once.

A unit is a vector of exponents of base units, each a whole multiple of 1/`WHOLE`, so that roots of roots are
exact and equal units are equal integers. Operators combine units as they combine values: by their `UnitRule`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from symscreen._typing import Flags
    from symscreen.grammar.operator import Operator

    Exponents = NDArray[np.int64]

__all__ = [
    "EXPONENT_DENOMINATOR",
    "TRUE",
    "Dimensions",
    "is_dimensionless",
    "make_number_dimensions",
    "propagate_dimensions",
]

EXPONENT_DENOMINATOR = 2**12 * 3**8 * 5**2 * 7
_MAX_EXPONENT = 1 << 52  # up to which floating point counts
_EXPONENT_TOLERANCE = 1e-6  # of 1/WHOLE: an exponent written 0.3333333333333333 is a third

_NO_LITERAL = np.array(np.nan)
TRUE = np.ones((), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Dimensions:
    """The units of m features, or of one for all.

    Parameters
    ----------
    exponents : int64 array, shape (m, D) or (D,) or (1,)
        Of the base units, times `WHOLE`; all 0 for a pure number.
    number : float64 array, shape (m,) or ()
        The value of a number that is written as such, else NaN.
    sound : bool array, shape (m,) or ()
        Whether there is a unit at all; where there is none, `exponents` means nothing.
    """

    exponents: Exponents
    literal: NDArray[np.float64]
    valid: Flags


def make_number_dimensions(value: float) -> Dimensions:
    """Return the unit of a number: none, for constants are pure numbers."""
    return Dimensions(np.zeros(1, dtype=np.int64), np.array(float(value)), TRUE)


def is_dimensionless(exponents: Exponents) -> Flags:
    """Say which units are those of pure numbers; shape (m,)."""
    return np.asarray((exponents == 0).all(axis=-1))


def propagate_dimensions(operator: Operator, *arguments: Dimensions) -> Dimensions:
    """Work out the units of an operator's values from those of its arguments.

    Parameters
    ----------
    operator : Operator
        Its `units` say what it asks and makes.
    arguments : Measure
        One for each argument; their shapes must broadcast.

    Returns
    -------
    Measure
        Not sound where an argument is not, or where the operator's rule is broken.

    Examples
    --------
    >>> from symscreen.grammar import OPERATORS
    >>> metre = Dimensions(np.array([WHOLE]), np.array(np.nan), np.array(True))
    >>> area = propagate_dimensions(OPERATORS["square"], metre)
    >>> (area.exponents // WHOLE).tolist(), bool(propagate_dimensions(OPERATORS["sin"], metre).valid)
    ([2], False)
    """
    first, last = arguments[0], arguments[-1]
    sound, rule = np.asarray(first.valid & last.valid), operator.units
    exponents = first.exponents
    match rule.kind:
        case "like":
            sound = sound & (exponents == last.exponents).all(axis=-1)
        case "product":
            exponents = exponents + last.exponents
        case "quotient":
            exponents = exponents - last.exponents
        case "pure":
            sound = sound & is_dimensionless(exponents) & is_dimensionless(last.exponents)
        case "power":
            exponents, exact = _raise_to_fixed_power(exponents, rule.power)
            sound = sound & exact
        case "exponent":
            exponents, exact = _raise_to_argument(first, last)
            sound = sound & exact
        case "composed":
            assert rule.definition is not None  # noqa: S101  # what is composed has one
            made: Dimensions = rule.definition(*arguments)
            exponents, sound = made.exponents, sound & made.valid
    small = (np.abs(exponents) < _MAX_EXPONENT).all(axis=-1)
    return Dimensions(exponents, _NO_LITERAL, np.asarray(sound & small))


def _raise_to_fixed_power(exponents: Exponents, power: Fraction) -> tuple[Exponents, Flags]:
    raised = exponents * power.numerator
    exact = (raised % power.denominator == 0).all(axis=-1)
    return raised // power.denominator, np.asarray(exact)


def _raise_to_argument(base: Dimensions, power: Dimensions) -> tuple[Exponents, Flags]:
    """Raise a pure number to a pure number; what has a unit, to a number that is written as such."""
    wanted = base.exponents * np.nan_to_num(power.literal)[..., None]
    nearest = np.rint(wanted)
    exact = ((np.abs(wanted - nearest) <= _EXPONENT_TOLERANCE) & (np.abs(nearest) < _MAX_EXPONENT)).all(
        axis=-1
    )
    known = is_dimensionless(base.exponents) | (~np.isnan(power.literal) & exact)
    exponents = np.where(np.abs(nearest) < _MAX_EXPONENT, nearest, 0).astype(np.int64)
    return exponents, np.asarray(known & is_dimensionless(power.exponents))
