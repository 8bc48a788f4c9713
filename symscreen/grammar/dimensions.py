"""Propagate physical dimensions through operators, for many features at once.

A unit is a vector of exponents of base units. Exponents are stored as integer multiples of
1/`EXPONENT_DENOMINATOR`, so that repeated roots are exact and equal units are equal integers. Each operator
combines units by its `UnitRule`.
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


EXPONENT_DENOMINATOR = 2**12 * 3**8 * 5**2 * 7
_MAX_EXPONENT = 1 << 52  # largest scaled exponent; float64 is exact below it
_EXPONENT_TOLERANCE = 1e-6  # rounding of a scaled exponent, so that 0.3333333333333333 counts as 1/3

_NO_LITERAL = np.array(np.nan)
TRUE = np.ones((), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Dimensions:
    """The units of m features, or one unit for all.

    Parameters
    ----------
    exponents : int64 array, shape (m, D) or (D,) or (1,)
        Exponents of the D base units, times `EXPONENT_DENOMINATOR`; all 0 if dimensionless.
    literal : float64 array, shape (m,) or ()
        The value of a number literal, NaN for any other expression.
    valid : bool array, shape (m,) or ()
        Whether there is a unit. If not, `exponents` has no meaning.
    """

    exponents: Exponents
    literal: NDArray[np.float64]
    valid: Flags


def make_number_dimensions(value: float) -> Dimensions:
    """Return the dimensions of a number literal, which is dimensionless."""
    return Dimensions(np.zeros(1, dtype=np.int64), np.array(float(value)), TRUE)


def is_dimensionless(exponents: Exponents) -> Flags:
    """Check which units are dimensionless, for exponents of shape (…, D); shape (…)."""
    return np.asarray((exponents == 0).all(axis=-1))


def propagate_dimensions(operator: Operator, *arguments: Dimensions) -> Dimensions:
    """Compute the dimensions of an operator's values from those of its arguments.

    Parameters
    ----------
    operator : Operator
        The operator, with its rule in `units`.
    *arguments : Dimensions
        Dimensions of each argument, with broadcastable shapes.

    Returns
    -------
    Dimensions
        Not valid if an argument is not, or if the operator's rule is violated.

    Examples
    --------
    >>> from symscreen.grammar import OPERATORS
    >>> metre = Dimensions(np.array([EXPONENT_DENOMINATOR]), np.array(np.nan), np.array(True))
    >>> area = propagate_dimensions(OPERATORS["square"], metre)
    >>> sine = propagate_dimensions(OPERATORS["sin"], metre)
    >>> (area.exponents // EXPONENT_DENOMINATOR).tolist(), bool(sine.valid)
    ([2], False)
    """
    first, last = arguments[0], arguments[-1]
    valid, rule = np.asarray(first.valid & last.valid), operator.units
    exponents = first.exponents
    match rule.kind:
        case "like":
            valid = valid & (exponents == last.exponents).all(axis=-1)
        case "product":
            exponents = exponents + last.exponents
        case "quotient":
            exponents = exponents - last.exponents
        case "pure":
            valid = valid & is_dimensionless(exponents) & is_dimensionless(last.exponents)
        case "power":
            exponents, exact = _raise_to_fixed_power(exponents, rule.power)
            valid = valid & exact
        case "exponent":
            exponents, exact = _raise_to_argument(first, last)
            valid = valid & exact
        case "composed":
            assert rule.definition is not None  # noqa: S101  # set for every composed rule
            composed: Dimensions = rule.definition(*arguments)
            exponents, valid = composed.exponents, valid & composed.valid
    in_range = (np.abs(exponents) < _MAX_EXPONENT).all(axis=-1)
    return Dimensions(exponents, _NO_LITERAL, np.asarray(valid & in_range))


def _raise_to_fixed_power(exponents: Exponents, power: Fraction) -> tuple[Exponents, Flags]:
    """Multiply exponents by a fraction; also return where the result is exact."""
    raised = exponents * power.numerator
    exact = (raised % power.denominator == 0).all(axis=-1)
    return raised // power.denominator, np.asarray(exact)


def _raise_to_argument(base: Dimensions, power: Dimensions) -> tuple[Exponents, Flags]:
    """Raise units to the values of another argument; a base with a unit requires a number literal."""
    scaled = base.exponents * np.nan_to_num(power.literal)[..., None]
    nearest = np.rint(scaled)
    exact = ((np.abs(scaled - nearest) <= _EXPONENT_TOLERANCE) & (np.abs(nearest) < _MAX_EXPONENT)).all(
        axis=-1
    )
    valid = is_dimensionless(base.exponents) | (~np.isnan(power.literal) & exact)
    exponents = np.where(np.abs(nearest) < _MAX_EXPONENT, nearest, 0).astype(np.int64)
    return exponents, np.asarray(valid & is_dimensionless(power.exponents))
