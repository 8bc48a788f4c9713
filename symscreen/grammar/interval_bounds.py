"""Bounds of operators over intervals: the range of their values, and whether all of them are defined.

An argument is an interval [a, b] that contains its exact and its computed values. The function `bounds` of an
operator returns an interval for the values, and the hazard of each interval: why some value may be undefined
(Moore, Kearfott and Cloud 2009, Introduction to Interval Analysis). Every function works on many intervals at
once.

The ends are rounded outwards. numpy's functions are assumed to be accurate to four units in the last place,
as in `symscreen.grammar.error_propagation`; sums, products, quotients and square roots are rounded to the
nearest double. So an interval contains both the exact value and the one that a program computes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.grammar.operator import Operator

    BoundsRule = Callable[..., "Intervals"]


LARGEST_MAGNITUDE = 2.0**500  # about 3e150: the sum of 8 million squares of such numbers is a double
_LIBRARY_MARGIN = 16 * 2.0**-53  # relative error of numpy's values inside an interval and at its ends
_TINY = 2.0**-1074  # smallest positive double
_MAX_EXACT_ANGLE = 2.0**40  # radians; the quadrant of a larger angle counts as unknown
_ANGLE_MARGIN = 4 * 2.0**-52  # relative error of an angle in quarter turns


class Hazard(IntEnum):
    """Why an operator may have no value somewhere in an interval."""

    NONE = 0
    POLE = 1  # a denominator may be 0
    UNDEFINED = 2  # an argument may be outside the domain, for example of a logarithm
    OVERFLOW = 3  # a value may be larger than `LARGEST_MAGNITUDE`
    UNKNOWN = 4  # no bounds are known of the operator


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals of values, and their hazards.

    Parameters
    ----------
    low, high : float64 array, shape (q,)
        The ends. Where there is a hazard, they are −∞ and ∞.
    hazard : int8 array, shape (q,)
        A `Hazard` for each interval.
    """

    low: Values
    high: Values
    hazard: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.low)


def make_intervals(low: Values, high: Values, hazard: NDArray[np.int8] | None = None) -> Intervals:
    """Build intervals from ends, shape (q,), which may be equal; without hazards if none are given."""
    return Intervals(low, high, np.zeros(len(low), dtype=np.int8) if hazard is None else hazard)


def make_bounds_propagator(operator: Operator) -> Callable[..., Intervals]:
    """Return an operator as a function of intervals.

    Parameters
    ----------
    operator : Operator
        Any operator. One without a rule in `bounds` has the hazard `Hazard.UNKNOWN` everywhere.

    Returns
    -------
    callable
        Maps `Intervals` of the arguments to `Intervals` of the value. A hazard of an argument is one of the
        value; else it is that of the operator, or `Hazard.OVERFLOW`.

    Examples
    --------
    >>> from symscreen.grammar.builtin_operators import OPERATORS
    >>> invert = make_bounds_propagator(OPERATORS["inv"])
    >>> values = invert(make_intervals(np.array([2.0, -1.0]), np.array([4.0, 1.0])))
    >>> values.low.round(3).tolist(), values.high.round(3).tolist(), values.hazard.tolist()
    ([0.25, -inf], [0.5, inf], [0, 1])
    """

    def propagate(*arguments: Intervals) -> Intervals:
        if operator.bounds is None:
            q = max(map(len, arguments))
            low, high, hazard = np.zeros(q), np.zeros(q), np.full(q, Hazard.UNKNOWN, dtype=np.int8)
        else:
            with np.errstate(all="ignore"):
                found = operator.bounds(*arguments)
            low, high, hazard = found.low, found.high, found.hazard
        magnitude = np.maximum(np.abs(low), np.abs(high))
        is_too_large = (hazard == Hazard.NONE) & ~(magnitude <= LARGEST_MAGNITUDE)
        hazard = np.where(is_too_large, np.int8(Hazard.OVERFLOW), hazard)
        for argument in reversed(arguments):
            hazard = np.where(argument.hazard != Hazard.NONE, argument.hazard, hazard)
        is_safe = hazard == Hazard.NONE
        return Intervals(np.where(is_safe, low, -np.inf), np.where(is_safe, high, np.inf), hazard)

    return propagate


def bound_number(value: float) -> Intervals:
    """Return a number of a formula as an interval, shape (1,): the double, or both neighbours of π."""
    double = np.array([float(value)])
    return make_intervals(double, np.nextafter(double, np.inf) if value == math.pi else double)


def _set_hazard(bounds: Intervals, mask: Flags, hazard: Hazard) -> Intervals:
    """Return intervals with a hazard where a mask holds, shape (q,), and there is none yet."""
    is_new = mask & (bounds.hazard == Hazard.NONE)
    return Intervals(bounds.low, bounds.high, np.where(is_new, np.int8(hazard), bounds.hazard))


def _contains_zero(a: Intervals) -> Flags:
    return (a.low <= 0.0) & (a.high >= 0.0)


def _round_outwards(low: Values, high: Values) -> Intervals:
    """Move correctly rounded ends to the next doubles."""
    return make_intervals(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))


def _widen(low: Values, high: Values, least: float = -np.inf, most: float = np.inf) -> Intervals:
    """Widen ends that numpy's functions computed, within the range of the function."""
    return make_intervals(
        np.maximum(low - _LIBRARY_MARGIN * np.abs(low) - _TINY, least),
        np.minimum(high + _LIBRARY_MARGIN * np.abs(high) + _TINY, most),
    )


def bound_identity(a: Intervals) -> Intervals:
    """Bound x."""
    return make_intervals(a.low, a.high)


def bound_negation(a: Intervals) -> Intervals:
    """Bound −x."""
    return make_intervals(-a.high, -a.low)


def bound_magnitude(a: Intervals) -> Intervals:
    """Bound |x|."""
    least = np.where(_contains_zero(a), 0.0, np.minimum(np.abs(a.low), np.abs(a.high)))
    return make_intervals(least, np.maximum(np.abs(a.low), np.abs(a.high)))


def bound_square(a: Intervals) -> Intervals:
    """Bound x², which is never negative."""
    magnitude = bound_magnitude(a)
    squares = _round_outwards(np.square(magnitude.low), np.square(magnitude.high))
    return _clip_at_zero(squares, magnitude.high == 0.0)


def _clip_at_zero(bounds: Intervals, is_zero: Flags) -> Intervals:
    """Leave out negative numbers; intervals that are 0 alone are exact."""
    return make_intervals(np.maximum(bounds.low, 0.0), np.where(is_zero, 0.0, bounds.high))


def bound_inverse(a: Intervals) -> Intervals:
    """Bound 1/x, which has a pole at 0."""
    return _set_hazard(_round_outwards(1.0 / a.high, 1.0 / a.low), _contains_zero(a), Hazard.POLE)


def bound_sqrt(a: Intervals) -> Intervals:
    """Bound √x, which needs x ≥ 0."""
    roots = _clip_at_zero(_round_outwards(np.sqrt(a.low), np.sqrt(a.high)), a.high == 0.0)
    return _set_hazard(roots, ~(a.low >= 0.0), Hazard.UNDEFINED)


def make_increasing_rule(
    function: Callable[[Values], Values],
    *,
    least: float = -np.inf,
    most: float = np.inf,
    domain: tuple[float, float] = (-np.inf, np.inf),
    is_open: bool = False,
    exact_at: float = math.nan,
) -> BoundsRule:
    """Return the rule of an increasing function: its values at the ends.

    Parameters
    ----------
    function : callable
        Computes the function element by element.
    least, most : float
        The range of the function.
    domain : tuple of two floats
        The smallest and the largest argument.
    is_open : bool
        Whether the smallest argument is itself outside the domain, as 0 for log.
    exact_at : float
        An argument at which the function is exact, such as 1 for log; NaN if there is none.

    Returns
    -------
    callable
        A rule for `Operator.bounds`.
    """

    def apply_rule(a: Intervals) -> Intervals:
        low, high = function(a.low), function(a.high)
        wide = _widen(low, high, least, most)
        bounds = make_intervals(
            np.where(a.low == exact_at, low, wide.low), np.where(a.high == exact_at, high, wide.high)
        )
        is_inside = (a.low > domain[0] if is_open else a.low >= domain[0]) & (a.high <= domain[1])
        return _set_hazard(bounds, ~is_inside, Hazard.UNDEFINED)

    return apply_rule


def bound_acos(a: Intervals) -> Intervals:
    """Bound arccos x, which decreases and needs |x| ≤ 1."""
    bounds = _widen(np.arccos(a.high), np.arccos(a.low), 0.0)
    return _set_hazard(bounds, ~((a.low >= -1.0) & (a.high <= 1.0)), Hazard.UNDEFINED)


def bound_cosh(a: Intervals) -> Intervals:
    """Bound cosh x, which increases with |x|."""
    magnitude = bound_magnitude(a)
    return _widen(np.cosh(magnitude.low), np.cosh(magnitude.high), 1.0)


def _contains_extremum(a: Intervals, quarter: int) -> Flags:
    """Say which intervals may contain an angle of π/2·(quarter + 4k) for an integer k."""
    first, last = a.low / (math.pi / 2), a.high / (math.pi / 2)
    margin = _ANGLE_MARGIN * (1.0 + np.maximum(np.abs(first), np.abs(last)))
    is_known = np.maximum(np.abs(a.low), np.abs(a.high)) <= _MAX_EXACT_ANGLE
    n_before = np.ceil((first - quarter - margin) / 4.0)
    return ~is_known | (np.floor((last - quarter + margin) / 4.0) >= n_before)


def bound_sin(a: Intervals) -> Intervals:
    """Bound sin x by its values at the ends, and by 1 and −1 where the interval contains an extremum."""
    return _bound_wave(np.sin, a, highest=1, lowest=3)


def bound_cos(a: Intervals) -> Intervals:
    """Bound cos x as `bound_sin` does."""
    return _bound_wave(np.cos, a, highest=0, lowest=2)


def _bound_wave(
    function: Callable[[Values], Values], a: Intervals, *, highest: int, lowest: int
) -> Intervals:
    """Bound sin or cos from the quarter turns at which it is 1 and −1."""
    first, last = function(a.low), function(a.high)
    ends = _widen(np.minimum(first, last), np.maximum(first, last), -1.0, 1.0)
    return make_intervals(
        np.where(_contains_extremum(a, lowest), -1.0, ends.low),
        np.where(_contains_extremum(a, highest), 1.0, ends.high),
    )


def bound_tan(a: Intervals) -> Intervals:
    """Bound tan x, which increases between its poles."""
    has_pole = _contains_extremum(a, 1) | _contains_extremum(a, 3)
    return _set_hazard(_widen(np.tan(a.low), np.tan(a.high)), has_pole, Hazard.POLE)


def bound_sign(a: Intervals) -> Intervals:
    """Bound the sign."""
    return make_intervals(np.sign(a.low), np.sign(a.high))


def bound_floor(a: Intervals) -> Intervals:
    """Bound the largest integer up to x."""
    return make_intervals(np.floor(a.low), np.floor(a.high))


def _is_exact_sum(a: Values, b: Values) -> Flags:
    """Return whether a + b is a double (Knuth's two-sum)."""
    total = a + b
    part = total - a
    return np.asarray((a - (total - part)) + (b - part) == 0.0)


def bound_sum(a: Intervals, b: Intervals) -> Intervals:
    """Bound x + y; a sum that is a double is not widened."""
    low, high = a.low + b.low, a.high + b.high
    return make_intervals(
        np.where(_is_exact_sum(a.low, b.low), low, np.nextafter(low, -np.inf)),
        np.where(_is_exact_sum(a.high, b.high), high, np.nextafter(high, np.inf)),
    )


def bound_difference(a: Intervals, b: Intervals) -> Intervals:
    """Bound x − y."""
    return bound_sum(a, bound_negation(b))


def bound_absdiff(a: Intervals, b: Intervals) -> Intervals:
    """Bound |x − y|."""
    return bound_magnitude(bound_difference(a, b))


def bound_product(a: Intervals, b: Intervals) -> Intervals:
    """Bound x·y by the products of the ends; a product with a factor 0 is exact."""
    return _bound_corners(
        [
            np.where((left == 0.0) | (right == 0.0), 0.0, np.nextafter(left * right, direction))
            for left in (a.low, a.high)
            for right in (b.low, b.high)
            for direction in (-np.inf, np.inf)
        ]
    )


def bound_quotient(a: Intervals, b: Intervals) -> Intervals:
    """Bound x/y by the quotients of the ends; it has a pole where y may be 0."""
    bounds = _bound_corners(
        [
            np.where(left == 0.0, 0.0, np.nextafter(left / right, direction))
            for left in (a.low, a.high)
            for right in (b.low, b.high)
            for direction in (-np.inf, np.inf)
        ]
    )
    return _set_hazard(bounds, _contains_zero(b), Hazard.POLE)


def _bound_corners(corners: list[Values]) -> Intervals:
    """Return the intervals from the smallest to the largest of several arrays."""
    stacked = np.stack(np.broadcast_arrays(*corners))
    return make_intervals(stacked.min(axis=0), stacked.max(axis=0))


def bound_power(a: Intervals, b: Intervals) -> Intervals:
    """Bound x^y: for x > 0 its extremes are at the corners, because y·log x is.

    A negative base needs an exponent that is one integer; 0 needs an exponent that is not negative.
    """
    powers = [np.power(base, exponent) for base in (a.low, a.high) for exponent in (b.low, b.high)]
    is_integer = (b.low == b.high) & (b.low == np.floor(b.low))
    spans_zero = _contains_zero(a)
    # an even power has its minimum 0 inside, an odd one increases through 0
    corners = [*powers, np.where(spans_zero & (b.high > 0.0), 0.0, powers[0])]
    raw = _bound_corners(corners)
    wide = _widen(raw.low, raw.high)
    is_never_negative = (a.low >= 0.0) | (is_integer & (np.mod(b.low, 2.0) == 0.0))
    low = np.where(is_never_negative, np.maximum(wide.low, 0.0), wide.low)
    bounds = _set_hazard(make_intervals(low, wide.high), ~((a.low >= 0.0) | is_integer), Hazard.UNDEFINED)
    return _set_hazard(bounds, spans_zero & (b.low < 0.0), Hazard.POLE)


def bound_minimum(a: Intervals, b: Intervals) -> Intervals:
    """Bound the smaller of x and y."""
    return make_intervals(np.minimum(a.low, b.low), np.minimum(a.high, b.high))


def bound_maximum(a: Intervals, b: Intervals) -> Intervals:
    """Bound the larger of x and y."""
    return make_intervals(np.maximum(a.low, b.low), np.maximum(a.high, b.high))
