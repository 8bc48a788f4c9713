"""Propagate bounds on rounding errors through operators: running error analysis (Wilkinson 1986).

Let a be a computed argument, a* its exact value and α ≥ |a − a*| a bound on its error; b, b* and β
likewise; z the computed value. The function `rounding` of an operator returns ε ≥ |z − f(a*, b*)| for each
row. The bound covers the propagated errors of the arguments and the rounding of the operation itself.

Sums, products, quotients and square roots are rounded to the nearest double, and whether the rounding is
exact can be computed (Dekker 1971), so integers remain exact. Other numpy functions are assumed to be
accurate to four units in the last place. The bound is infinite if the exact value may be undefined.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Flags, Values
    from symscreen.grammar.operator import Operator

    ErrorRule = Callable[..., Values]


_U = 2.0**-53  # unit roundoff u
_TINY = 2.0**-1074  # smallest positive double
_LIBRARY_ERROR = 8 * _U  # relative error of a library function: four units in the last place, each at most 2u
_PI_ERROR = 1.3e-16  # π minus its double is 1.2246e-16


@dataclass(frozen=True, slots=True)
class BoundedValue:
    """Computed values and bounds on their errors.

    Parameters
    ----------
    values : float64 array, shape (n,)
        Computed values, NaN where undefined.
    error : float64 array, shape (n,)
        Upper bounds of |computed − exact|; 0 where the value is exact.
    """

    values: Values
    error: Values


def bound_number(value: float) -> BoundedValue:
    """Return a number of a formula with its error: exact is the decimal as written, or π.

    Parameters
    ----------
    value : float
        The number.

    Returns
    -------
    BoundedValue
        With arrays of shape ().

    Examples
    --------
    >>> float(bound_number(0.5).error), float(bound_number(0.1).error) < 1e-17
    (0.0, True)
    """
    double = float(value)
    if double == math.pi:
        return BoundedValue(np.array(double), np.array(_PI_ERROR))
    error = abs(Fraction(str(value)) - Fraction(double))
    return BoundedValue(
        np.array(double), np.array(float(np.nextafter(float(error), np.inf)) if error else 0.0)
    )


def make_error_propagator(operator: Operator) -> Callable[..., BoundedValue]:
    """Return an operator as a function of values with error bounds.

    Parameters
    ----------
    operator : Operator
        Any operator. If it has no rule in `rounding`, differences of its values are used, which is not a
        rigorous bound.

    Returns
    -------
    callable
        Maps `BoundedValue` arguments to a `BoundedValue`.

    Examples
    --------
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> sin = make_error_propagator(OPERATORS["sin"])
    >>> large = BoundedValue(np.array([1e200]), np.array([0.0]))
    >>> square = make_error_propagator(OPERATORS["square"])(large)
    >>> sin(large).error[0] < 1e-15, sin(square).error[0] >= 1
    (np.True_, np.True_)
    """

    def propagate(*arguments: BoundedValue) -> BoundedValue:
        with np.errstate(all="ignore"):
            computed = operator.numeric(*(argument.values for argument in arguments))
            values = np.where(np.isfinite(computed), computed, np.nan)
            rule = make_difference_rule(operator) if operator.rounding is None else operator.rounding
            error = rule(values, *arguments)
        # A value that may be undefined makes all values computed from it unbounded.
        is_unbounded = np.isnan(error)
        for argument in arguments:
            is_unbounded = is_unbounded | np.isinf(argument.error)
        return BoundedValue(values, np.where(is_unbounded, np.inf, error))

    return propagate


def _widen(error: Values, inexact: Flags) -> Values:
    """Enlarge a bound by its own rounding error; values that are exact keep the bound 0."""
    return np.where(inexact, error * (1 + 64 * _U) + 8 * _TINY, 0.0)


def copy_error(value: Values, a: BoundedValue) -> Values:
    """Bound the error of x, −x and |x|, which are exact operations."""
    del value
    return a.error


def _compute_sum_rounding(a: Values, b: Values) -> Values:
    """Return the rounding error of a + b exactly (Knuth's two-sum)."""
    total = a + b
    part = total - a
    lost = np.abs((a - (total - part)) + (b - part))
    return np.where(np.isfinite(lost), lost, 2 * _U * np.abs(total))


def bound_sum_error(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
    """Bound the error of a sum: |a + b − (a* + b*)| ≤ α + β."""
    del value
    error = a.error + b.error + _compute_sum_rounding(a.values, b.values)
    return _widen(error, error > 0)


def bound_difference_error(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
    """Bound the error of a difference or of its magnitude: |a − b − (a* − b*)| ≤ α + β."""
    return bound_sum_error(value, a, BoundedValue(-b.values, b.error))


bound_absdiff_error = bound_difference_error


def _is_exact_product(value: Values, a: Values, b: Values) -> Flags:
    """Return whether value = a·b exactly, by Dekker's product of the mantissas, which cannot overflow."""
    (x, ex), (y, ey) = np.frexp(a), np.frexp(b)
    splitter = 2.0**27 + 1
    x1, y1 = splitter * x, splitter * y
    x1, y1 = x1 - (x1 - x), y1 - (y1 - y)
    x2, y2 = x - x1, y - y1
    computed_product = x * y
    residue = ((x1 * y1 - computed_product) + x1 * y2 + x2 * y1) + x2 * y2
    # Compare mantissas and exponents, which neither overflow nor underflow.
    (z, ez), (w, ew) = np.frexp(value), np.frexp(computed_product)
    return np.asarray((residue == 0) & (z == w) & ((ez == ew + ex + ey) | (z == 0)))


def _bound_rounding(value: Values) -> Values:
    """Bound the error of rounding to the nearest double."""
    return _U * np.abs(value) + _TINY


def bound_product_error(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
    """Bound the error of a product: |ab − a*b*| ≤ |a|β + |b|α + αβ."""
    exact = _is_exact_product(value, a.values, b.values)
    error = np.abs(a.values) * b.error + np.abs(b.values) * a.error + a.error * b.error
    error = np.where(exact, error, error + _bound_rounding(value))
    return _widen(error, ~(_is_exact_zero(a) | _is_exact_zero(b)) & (~exact | (a.error > 0) | (b.error > 0)))


def _is_exact_zero(a: BoundedValue) -> Flags:
    """Check where a* is certainly 0, so that every product with it is 0."""
    return np.asarray((a.values == 0) & (a.error == 0))


def bound_square_error(value: Values, a: BoundedValue) -> Values:
    """Bound the error of a square: |a² − a*²| ≤ 2|a|α + α²."""
    return bound_product_error(value, a, a)


def bound_cube_error(value: Values, a: BoundedValue) -> Values:
    """Bound the error of (a·a)·a, the order in which a cube is computed."""
    square = a.values * a.values
    return bound_product_error(value, BoundedValue(square, bound_product_error(square, a, a)), a)


def bound_quotient_error(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
    """Bound the error of a quotient: |a/b − a*/b*| ≤ (α + |a/b| β) / (|b| − β)."""
    exact = _is_exact_product(a.values, value, b.values)
    min_divisor = np.abs(b.values) * (1 - 4 * _U) - b.error * (1 + 4 * _U)
    # Divide first: a product of tiny numbers would underflow before the division.
    relative_error = np.where(b.error > 0, np.nextafter(b.error / min_divisor, np.inf), 0.0)
    error = a.error / min_divisor + (np.abs(value) + _bound_rounding(value)) * relative_error
    # A quotient of tiny errors may underflow or become denormal.
    error = np.where(exact, error, error + _bound_rounding(value))
    error = np.where((min_divisor > 0) | (b.error == 0), error, np.inf)
    return _widen(error, ~(_is_exact_zero(a) & (min_divisor > 0)) & (~exact | (a.error > 0) | (b.error > 0)))


def bound_inverse_error(value: Values, a: BoundedValue) -> Values:
    """Bound the error of an inverse: |1/a − 1/a*| ≤ |1/a| α / (|a| − α)."""
    return bound_quotient_error(value, BoundedValue(np.ones_like(a.values), np.zeros_like(a.error)), a)


def _compute_interval(a: BoundedValue) -> tuple[Values, Values]:
    """Return the bounds a − α and a + α of a*, rounded outwards."""
    low = np.where(a.error > 0, np.nextafter(a.values - a.error, -np.inf), a.values)
    return low, np.where(a.error > 0, np.nextafter(a.values + a.error, np.inf), a.values)


def _bound_distance(value: Values, *others: Values, library_error: float = _LIBRARY_ERROR) -> Values:
    """Bound the distance from a computed value to other computed values, each with its own library error."""
    distances = [np.abs(other - value) + library_error * np.abs(other) for other in others]
    return _widen(
        np.max(distances, axis=0) + library_error * np.abs(value), np.ones(np.shape(value), dtype=np.bool_)
    )


def make_monotone_rule(
    function: ErrorRule, library_error: float = _LIBRARY_ERROR, *, exact_at: float = math.nan
) -> ErrorRule:
    """Return the rule of a monotone function, whose error is largest at an end of [a − α, a + α].

    Parameters
    ----------
    function : callable
        Computes the function element by element; NaN or infinity outside its domain.
    library_error : float
        Relative error of the computed function.
    exact_at : float
        An argument at which the function is exact, such as 1 for log; NaN if there is none.

    Returns
    -------
    callable
        A rule for `Operator.rounding`.
    """

    def apply_rule(value: Values, a: BoundedValue) -> Values:
        low, high = _compute_interval(a)
        error = _bound_distance(value, function(low), function(high), library_error=library_error)
        return np.where((a.error == 0) & (a.values == exact_at), 0.0, error)

    return apply_rule


def bound_sqrt_error(value: Values, a: BoundedValue) -> Values:
    """Bound the error of √a, which is rounded to the nearest double."""
    exact = (a.error == 0) & _is_exact_product(a.values, value, value)
    return np.where(exact, 0.0, make_monotone_rule(np.sqrt, 2 * _U)(value, a))


def make_even_rule(function: ErrorRule) -> ErrorRule:
    """Return the rule of an even function that increases with |a| and is exact at 0."""
    rule = make_monotone_rule(function)

    def apply_rule(value: Values, a: BoundedValue) -> Values:
        low, high = _compute_interval(BoundedValue(np.abs(a.values), a.error))
        error = np.maximum(
            rule(value, a), _bound_distance(value, function(np.maximum(low, 0.0)), function(high))
        )
        return np.where((a.error == 0) & (a.values == 0), 0.0, error)

    return apply_rule


def bound_sin_cos_error(value: Values, a: BoundedValue) -> Values:
    """Bound the error of sin or cos: |sin a − sin a*| ≤ min(α, 2)."""
    error = np.minimum(a.error, 2.0) + _LIBRARY_ERROR * np.abs(value)
    return _widen(error, (a.error > 0) | (a.values != 0))  # sin 0 and cos 0 are exact


def bound_tan_error(value: Values, a: BoundedValue) -> Values:
    """Bound the error of tan: tan a − tan a* = sin(a − a*) / (cos a cos a*), and |cos a*| ≥ |cos a| − α."""
    cosine = np.abs(np.cos(a.values)) * (1 - 2 * _LIBRARY_ERROR)
    min_cosine = cosine - a.error
    error = np.where(min_cosine > 0, a.error / (cosine * min_cosine), np.inf)
    error = np.where(a.error == 0, 0.0, error) + _LIBRARY_ERROR * np.abs(value)
    return _widen(error, (a.error > 0) | (a.values != 0))


def bound_power_error(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
    """Bound the error of a^b, which for a > 0 is largest at a corner, because b·log a is.

    A power with an exact integer exponent is also monotone on each side of 0. With any other exponent, a
    negative base has no real value.
    """
    (low, high), (min_exponent, max_exponent) = _compute_interval(a), _compute_interval(b)
    corners = [np.power(base, exponent) for base in (low, high) for exponent in (min_exponent, max_exponent)]
    is_integer = (b.error == 0) & (b.values == np.floor(b.values))
    spans_zero = (low < 0) & (high > 0)
    at_zero = np.where(spans_zero & (b.values > 0), 0.0, corners[0])
    defined = (low >= 0) | (is_integer & ~(spans_zero & (b.values < 0)))
    error = np.where(defined, _bound_distance(value, *corners, at_zero), np.inf)
    is_exact = (a.error == 0) & (b.error == 0)
    is_trivial = (b.values == 0) | (b.values == 1) | (a.values == 1) | ((a.values == 0) & (b.values > 0))
    return np.where(is_exact, _widen(_LIBRARY_ERROR * np.abs(value), is_exact & ~is_trivial), error)


def make_min_max_rule(*, larger: bool) -> ErrorRule:
    """Return the rule of max or min: the error of the argument that is certainly selected, else of both."""

    def apply_rule(value: Values, a: BoundedValue, b: BoundedValue) -> Values:
        del value
        (low, high), (other_low, other_high) = _compute_interval(a), _compute_interval(b)
        selects_a, selects_b = (
            (low > other_high, other_low > high) if larger else (high < other_low, other_high < low)
        )
        return np.select([selects_a, selects_b], [a.error, b.error], np.maximum(a.error, b.error))

    return apply_rule


def bound_sign_error(value: Values, a: BoundedValue) -> Values:
    """Bound the error of the sign: 2 if the exact value may be on either side of 0, else 0."""
    del value
    return np.where((a.error > 0) & (np.abs(a.values) <= a.error), 2.0, 0.0)


def bound_floor_error(value: Values, a: BoundedValue) -> Values:
    """Bound the error of ⌊a⌋: an integer, and 0 unless an integer lies within the interval."""
    low, high = _compute_interval(a)
    return np.maximum(value - np.floor(low), np.floor(high) - value)


def make_difference_rule(operator: Operator) -> ErrorRule:
    """Return a rule for an arbitrary operator: twice its largest change at ends and midpoints of intervals.

    Parameters
    ----------
    operator : Operator
        An operator without an error rule.

    Returns
    -------
    callable
        A rule for `Operator.rounding`; not a rigorous bound.
    """

    def apply_rule(value: Values, *arguments: BoundedValue) -> Values:
        points = [
            (low, (low + argument.values) / 2, argument.values, (high + argument.values) / 2, high)
            for argument in arguments
            for low, high in [_compute_interval(argument)]
        ]
        values = [operator.numeric(*point) for point in product(*points)]
        return 2 * _bound_distance(value, *values, library_error=_LIBRARY_ERROR * operator.n_primitives)

    return apply_rule
