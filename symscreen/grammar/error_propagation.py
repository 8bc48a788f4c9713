"""How rounding is carried from an operator's arguments to its value: one bound for each operator.

Let a be a computed argument and α ≥ |a − a*| a bound of its error, a* the number that exact arithmetic has
there; b and β likewise; z the computed value. A record's `rounding` returns ε ≥ |z − f(a*, b*)|, row by row:
what f makes of the arguments' errors, and what rounding adds. Sums, products, quotients and square roots are
rounded to the nearest double, and whether anything was lost at all can be computed (Dekker 1971), so that
whole numbers stay exact; of numpy's other functions at most four units in the last place are taken to be
lost. A bound is infinite where the exact value may not be defined.

It is a running error analysis (Wilkinson 1986), of actual arguments instead of worst cases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Flags, Values
    from symscreen.grammar.operator import Operator

    ErrorRule = Callable[..., Values]

__all__ = [
    "BoundedValue",
    "bound_absdiff_error",
    "bound_cube_error",
    "bound_difference_error",
    "bound_floor_error",
    "bound_inverse_error",
    "bound_number",
    "bound_power_error",
    "bound_product_error",
    "bound_quotient_error",
    "bound_sign_error",
    "bound_sin_cos_error",
    "bound_sqrt_error",
    "bound_square_error",
    "bound_sum_error",
    "bound_tan_error",
    "copy_error",
    "make_difference_rule",
    "make_error_propagator",
    "make_even_rule",
    "make_min_max_rule",
    "make_monotone_rule",
]

_U = 2.0**-53  # the unit roundoff u
_TINY = 2.0**-1074
_LIBRARY_ERROR = 8 * _U  # four units in the last place, each at most 2u of the value


@dataclass(frozen=True, slots=True)
class BoundedValue:
    """Computed values and how far they may be from the exact ones.

    Parameters
    ----------
    values : float64 array, shape (n,)
        NaN where undefined.
    error : float64 array, shape (n,)
        At least |computed − exact|; 0 where nothing was lost.
    """

    values: Values
    error: Values


def bound_number(value: float) -> BoundedValue:
    """Return a number of a formula: exact as the decimal that was written, and π as π.

    Examples
    --------
    >>> float(bound_number(0.5).error), float(bound_number(0.1).error) < 1e-17
    (0.0, True)
    """
    double = float(value)
    if double == math.pi:
        return BoundedValue(np.array(double), np.array(1.3e-16))  # π − the double is 1.2246e-16
    lost = abs(Fraction(str(value)) - Fraction(double))
    return BoundedValue(np.array(double), np.array(float(np.nextafter(float(lost), np.inf)) if lost else 0.0))


def make_error_propagator(operator: Operator) -> Callable[..., BoundedValue]:
    """Return an operator as a function of bounded arguments.

    Parameters
    ----------
    operator : Operator
        Shipped, defined by a formula, or any other; a record without a rule is looked at by differences,
        which is no proof.

    Returns
    -------
    callable
        `BoundedValue` arguments to the `BoundedValue` value.

    Examples
    --------
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> large = BoundedValue(np.array([1e200]), np.array([0.0]))
    >>> square = make_error_propagator(OPERATORS["square"])(large)
    >>> make_error_propagator(OPERATORS["sin"])(large).error[0] < 1e-15, make_error_propagator(OPERATORS["sin"])(square).error[0] >= 1
    (np.True_, np.True_)
    """

    def propagate(*arguments: BoundedValue) -> BoundedValue:
        with np.errstate(all="ignore"):
            found = operator.numeric(*(argument.values for argument in arguments))
            values = np.where(np.isfinite(found), found, np.nan)
            rule = make_difference_rule(operator) if operator.rounding is None else operator.rounding
            error = rule(values, *arguments)
        # what may not be defined stays so, whatever is made of it
        lost = np.isnan(error)
        for argument in arguments:
            lost = lost | np.isinf(argument.error)
        return BoundedValue(values, np.where(lost, np.inf, error))

    return propagate


def _widen(error: Values, inexact: Flags) -> Values:
    """Make up for the rounding of the bound itself; nothing lost stays nothing."""
    return np.where(inexact, error * (1 + 64 * _U) + 8 * _TINY, 0.0)


def copy_error(value: Values, a: BoundedValue) -> Values:
    """Carry the error of x, −x and |x|, which lose nothing."""
    del value
    return a.error


def _compute_sum_rounding(a: Values, b: Values) -> Values:
    """Return what a + b loses, to the last bit (Knuth's two-sum)."""
    total = a + b
    part = total - a
    lost = np.abs((a - (total - part)) + (b - part))
    return np.where(np.isfinite(lost), lost, 2 * _U * np.abs(total))


def bound_sum_error(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
    """Carry the errors of a sum: |a + b − (a* + b*)| ≤ α + β."""
    del value
    error = a.error + b.error + _compute_sum_rounding(a.values, b.values)
    return _widen(error, error > 0)


def bound_difference_error(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
    """Carry the errors of a difference, or of its magnitude: |a − b − (a* − b*)| ≤ α + β."""
    return bound_sum_error(value, a, BoundedValue(-b.values, b.error))


bound_absdiff_error = bound_difference_error


def _is_exact_product(value: Values, a: Values, b: Values) -> Flags:
    """Say whether value = a·b with nothing lost: Dekker's product, of mantissas, which cannot overflow."""
    (x, ex), (y, ey) = np.frexp(a), np.frexp(b)
    top = 2.0**27 + 1
    x1, y1 = top * x, top * y
    x1, y1 = x1 - (x1 - x), y1 - (y1 - y)
    x2, y2 = x - x1, y - y1
    product = x * y
    lost = ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2
    # by mantissa and exponent, which neither overflow nor vanish
    (z, ez), (w, ew) = np.frexp(value), np.frexp(product)
    return np.asarray((lost == 0) & (z == w) & ((ez == ew + ex + ey) | (z == 0)))


def _bound_rounding(value: Values) -> Values:
    """Bound what rounding to the nearest double loses."""
    return _U * np.abs(value) + _TINY


def bound_product_error(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
    """Carry the errors of a product: |ab − a*b*| ≤ |a|β + |b|α + αβ."""
    exact = _is_exact_product(value, a.values, b.values)
    error = np.abs(a.values) * b.error + np.abs(b.values) * a.error + a.error * b.error
    error = np.where(exact, error, error + _bound_rounding(value))
    return _widen(error, ~(_is_exact_zero(a) | _is_exact_zero(b)) & (~exact | (a.error > 0) | (b.error > 0)))


def _is_exact_zero(a: BoundedValue) -> Flags:
    """Say where a* is 0 for sure: whatever it is multiplied with, 0 it stays."""
    return np.asarray((a.values == 0) & (a.error == 0))


def bound_square_error(value: Values, a: BoundedValue) -> Values:
    """Carry the error of a square: |a² − a*²| ≤ 2|a|α + α²."""
    return bound_product_error(value, a, a)


def bound_cube_error(value: Values, a: BoundedValue) -> Values:
    """Carry the error of (a·a)·a, as it is computed."""
    square = a.values * a.values
    return bound_product_error(value, BoundedValue(square, bound_product_error(square, a, a)), a)


def bound_quotient_error(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
    """Carry the errors of a quotient: |a/b − a*/b*| ≤ (α + |a/b| β) / (|b| − β)."""
    exact = _is_exact_product(a.values, value, b.values)
    least = np.abs(b.values) * (1 - 4 * _U) - b.error * (1 + 4 * _U)
    # shares first: a product of tiny numbers would vanish before it is divided by another
    share = np.where(b.error > 0, np.nextafter(b.error / least, np.inf), 0.0)
    error = a.error / least + (np.abs(value) + _bound_rounding(value)) * share
    # a quotient of tiny errors may vanish, or be lost among denormal numbers
    error = np.where(exact, error, error + _bound_rounding(value))
    error = np.where((least > 0) | (b.error == 0), error, np.inf)
    return _widen(error, ~(_is_exact_zero(a) & (least > 0)) & (~exact | (a.error > 0) | (b.error > 0)))


def bound_inverse_error(value: Values, a: BoundedValue) -> Values:
    """Carry the error of an inverse: |1/a − 1/a*| ≤ |1/a| α / (|a| − α)."""
    return bound_quotient_error(value, BoundedValue(np.ones_like(a.values), np.zeros_like(a.error)), a)


def _compute_interval(a: BoundedValue) -> tuple[Values, Values]:
    """Return the least and the largest that a* may be, rounded outward."""
    low = np.where(a.error > 0, np.nextafter(a.values - a.error, -np.inf), a.values)
    return low, np.where(a.error > 0, np.nextafter(a.values + a.error, np.inf), a.values)


def _bound_distance(value: Values, *others: Values, library_error: float = _LIBRARY_ERROR) -> Values:
    """Bound the distance to what lies between computed values, each with the library's own error."""
    ends = [np.abs(other - value) + library_error * np.abs(other) for other in others]
    return _widen(
        np.max(ends, axis=0) + library_error * np.abs(value), np.ones(np.shape(value), dtype=np.bool_)
    )


def make_monotone_rule(
    function: ErrorRule, library_error: float = _LIBRARY_ERROR, *, exact_at: float = math.nan
) -> ErrorRule:
    """Make the rule of a function that keeps or turns the order: the ends of [a − α, a + α] are farthest.

    Outside of its domain the function must give NaN or infinity. `exact_at` is where nothing is lost, as of
    log at 1.
    """

    def apply_rule(value: Values, a: BoundedValue) -> Values:
        low, high = _compute_interval(a)
        error = _bound_distance(value, function(low), function(high), library_error=library_error)
        return np.where((a.error == 0) & (a.values == exact_at), 0.0, error)

    return apply_rule


def bound_sqrt_error(value: Values, a: BoundedValue) -> Values:
    """Carry the error of √a, which is rounded to the nearest double."""
    exact = (a.error == 0) & _is_exact_product(a.values, value, value)
    return np.where(exact, 0.0, make_monotone_rule(np.sqrt, 2 * _U)(value, a))


def make_even_rule(function: ErrorRule) -> ErrorRule:
    """Make the rule of an even function that grows with |a|, and loses nothing at 0."""
    rule = make_monotone_rule(function)

    def apply_rule(value: Values, a: BoundedValue) -> Values:
        low, high = _compute_interval(BoundedValue(np.abs(a.values), a.error))
        error = np.maximum(
            rule(value, a), _bound_distance(value, function(np.maximum(low, 0.0)), function(high))
        )
        return np.where((a.error == 0) & (a.values == 0), 0.0, error)

    return apply_rule


def bound_sin_cos_error(value: Values, a: BoundedValue) -> Values:
    """Carry the error of sin or cos: |sin a − sin a*| ≤ min(α, 2), so a large α leaves nothing."""
    error = np.minimum(a.error, 2.0) + _LIBRARY_ERROR * np.abs(value)
    return _widen(error, (a.error > 0) | (a.values != 0))  # sin 0 and cos 0 are exact


def bound_tan_error(value: Values, a: BoundedValue) -> Values:
    """Carry the error of tan: tan a − tan a* = sin(a − a*) / (cos a cos a*), and |cos a*| ≥ |cos a| − α."""
    cosine = np.abs(np.cos(a.values)) * (1 - 2 * _LIBRARY_ERROR)
    left = cosine - a.error
    error = np.where(left > 0, a.error / (cosine * left), np.inf)
    error = np.where(a.error == 0, 0.0, error) + _LIBRARY_ERROR * np.abs(value)
    return _widen(error, (a.error > 0) | (a.values != 0))


def bound_power_error(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
    """Carry the error of a^b, which for a > 0 is farthest at a corner, as b·log a is.

    A power with a fixed whole exponent is monotone on each side of 0, too; of any other no negative base has
    a real value.
    """
    (low, high), (least, most) = _compute_interval(a), _compute_interval(b)
    corners = [np.power(base, exponent) for base in (low, high) for exponent in (least, most)]
    whole = (b.error == 0) & (b.values == np.floor(b.values))
    across = (low < 0) & (high > 0)
    at_zero = np.where(across & (b.values > 0), 0.0, corners[0])
    defined = (low >= 0) | (whole & ~(across & (b.values < 0)))
    error = np.where(defined, _bound_distance(value, *corners, at_zero), np.inf)
    fixed = (a.error == 0) & (b.error == 0)
    simple = (b.values == 0) | (b.values == 1) | (a.values == 1) | ((a.values == 0) & (b.values > 0))
    return np.where(fixed, _widen(_LIBRARY_ERROR * np.abs(value), fixed & ~simple), error)


def make_min_max_rule(*, larger: bool) -> ErrorRule:
    """Make the rule of max, or of min: where one side wins for sure, its error is that of the value."""

    def apply_rule(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
        del value
        (low, high), (least, most) = _compute_interval(a), _compute_interval(b)
        first, second = (low > most, least > high) if larger else (high < least, most < low)
        return np.select([first, second], [a.error, b.error], np.maximum(a.error, b.error))

    return apply_rule


def bound_sign_error(value: Values, a: BoundedValue) -> Values:
    """Of a number that may be on either side of 0 nothing is known."""
    del value
    return np.where((a.error > 0) & (np.abs(a.values) <= a.error), 2.0, 0.0)


def bound_floor_error(value: Values, a: BoundedValue) -> Values:
    """Carry the error of ⌊a⌋: whole steps, and none far from them."""
    low, high = _compute_interval(a)
    return np.maximum(value - np.floor(low), np.floor(high) - value)


def make_difference_rule(operator: Operator) -> ErrorRule:
    """Make a rule for an operator of which nothing is known: how far it moves at the ends and halfway."""

    def apply_rule(value: Values, *arguments: BoundedValue) -> Values:
        sides = [
            (low, (low + argument.values) / 2, argument.values, (high + argument.values) / 2, high)
            for argument in arguments
            for low, high in [_compute_interval(argument)]
        ]
        if len(sides) == 1:
            met = [operator.numeric(a) for a in sides[0]]
        else:
            met = [operator.numeric(a, b) for a in sides[0] for b in sides[1]]
        return 2 * _bound_distance(value, *met, library_error=_LIBRARY_ERROR * operator.n_primitives)

    return apply_rule
