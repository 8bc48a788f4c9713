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

    from symscreen.grammar.operator import Operator

    Exponents = NDArray[np.int64]
    Flags = NDArray[np.bool_]

__all__ = ["TRUE", "WHOLE", "Measure", "is_pure", "measure_of_number", "measured"]

WHOLE = 2**12 * 3**8 * 5**2 * 7
_LARGEST = 1 << 52  # up to which floating point counts
_NEAR = 1e-6  # of 1/WHOLE: an exponent written 0.3333333333333333 is a third

_NO_NUMBER = np.array(np.nan)
TRUE = np.ones((), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Measure:
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
    number: NDArray[np.float64]
    sound: Flags


def measure_of_number(value: float) -> Measure:
    """Return the unit of a number: none, for constants are pure numbers."""
    return Measure(np.zeros(1, dtype=np.int64), np.array(float(value)), TRUE)


def is_pure(exponents: Exponents) -> Flags:
    """Say which units are those of pure numbers; shape (m,)."""
    return np.asarray((exponents == 0).all(axis=-1))


def measured(operator: Operator, *arguments: Measure) -> Measure:
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
    >>> metre = Measure(np.array([WHOLE]), np.array(np.nan), np.array(True))
    >>> area = measured(OPERATORS["square"], metre)
    >>> (area.exponents // WHOLE).tolist(), bool(measured(OPERATORS["sin"], metre).sound)
    ([2], False)
    """
    first, last = arguments[0], arguments[-1]
    sound, rule = np.asarray(first.sound & last.sound), operator.units
    exponents = first.exponents
    match rule.kind:
        case "like":
            sound = sound & (exponents == last.exponents).all(axis=-1)
        case "product":
            exponents = exponents + last.exponents
        case "quotient":
            exponents = exponents - last.exponents
        case "pure":
            sound = sound & is_pure(exponents) & is_pure(last.exponents)
        case "power":
            exponents, exact = _to_power(exponents, rule.power)
            sound = sound & exact
        case "exponent":
            exponents, exact = _raised(first, last)
            sound = sound & exact
        case "composed":
            assert rule.definition is not None  # noqa: S101  # what is composed has one
            made: Measure = rule.definition(*arguments)
            exponents, sound = made.exponents, sound & made.sound
    small = (np.abs(exponents) < _LARGEST).all(axis=-1)
    return Measure(exponents, _NO_NUMBER, np.asarray(sound & small))


def _to_power(exponents: Exponents, power: Fraction) -> tuple[Exponents, Flags]:
    raised = exponents * power.numerator
    exact = (raised % power.denominator == 0).all(axis=-1)
    return raised // power.denominator, np.asarray(exact)


def _raised(base: Measure, power: Measure) -> tuple[Exponents, Flags]:
    """Raise a pure number to a pure number; what has a unit, to a number that is written as such."""
    wanted = base.exponents * np.nan_to_num(power.number)[..., None]
    nearest = np.rint(wanted)
    exact = ((np.abs(wanted - nearest) <= _NEAR) & (np.abs(nearest) < _LARGEST)).all(axis=-1)
    known = is_pure(base.exponents) | (~np.isnan(power.number) & exact)
    exponents = np.where(np.abs(nearest) < _LARGEST, nearest, 0).astype(np.int64)
    return exponents, np.asarray(known & is_pure(power.exponents))
