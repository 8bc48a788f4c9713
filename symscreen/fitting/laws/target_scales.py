"""Scales t(y) of a target, and power products C that are factors of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial.legendre import legval

from symscreen.fitting.laws.gauss_newton import estimate_with_errors
from symscreen.statistics.spread_places import select_spread_places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symscreen._typing import Values

    Powers = Mapping[str, Fraction]


_MIN_USED_ROWS = 0.9  # share of the rows on which a response must be defined
_MAX_WEIGHT = 4.0  # relative to the median; rows with a larger one, where t′ is near 0, would decide alone
_MAX_ERRORS = 4.0  # standard errors between a coefficient and the number that it may be
_MIN_SIGN_AGREEMENT = 0.8  # absolute mean of the signs of a target that is fitted by an exponential
_N_STEPS = 4  # of Gauss-Newton
_MAX_HALF_LIMIT = 0.2  # largest error of an exponent that may be a half
_MAX_INTEGER_LIMIT = 0.45  # largest error of an exponent
_EXPONENT_TOLERANCE = 1e-6
_MAX_EXPONENT = 6
_MAX_FACTOR_ROWS = 20_000  # rows of the regression that finds factors
_MAX_DEGREE = 6  # of the polynomial of each logarithm


@dataclass(frozen=True, eq=False)
class TargetScale:
    """A scale t of the target, and its inverse g.

    Parameters
    ----------
    inverse_name : str
        Name of g.
    transform, derivative : callable
        t and |t′|.
    inverse, inverse_derivative : callable
        g and g′.
    operators : tuple of str
        The operators of g, inner first.
    needs_positive : bool
        Whether t is only defined for positive numbers. The negative of a negative target is then used.
    """

    inverse_name: str
    transform: Callable[[Values], Values]
    derivative: Callable[[Values], Values]
    inverse: Callable[[Values], Values]
    inverse_derivative: Callable[[Values], Values]
    operators: tuple[str, ...]
    needs_positive: bool


IDENTITY = TargetScale("id", np.positive, np.ones_like, np.positive, np.ones_like, (), needs_positive=False)

SQUARE = TargetScale(
    "sqrt",
    np.square,
    lambda y: 2.0 * y,
    np.sqrt,
    lambda s: 0.5 / np.sqrt(s),
    ("sqrt",),
    needs_positive=True,
)

# the inverse waves are decreasing or increasing on the range of their principal values only
SCALES = (
    IDENTITY,
    TargetScale(
        "inv",
        np.reciprocal,
        lambda y: 1.0 / y**2,
        np.reciprocal,
        lambda s: -1.0 / s**2,
        ("inv",),
        needs_positive=False,
    ),
    SQUARE,
    TargetScale(
        "inverse sqrt",
        lambda y: 1.0 / y**2,
        lambda y: 2.0 / y**3,
        lambda s: 1.0 / np.sqrt(s),
        lambda s: -0.5 / (s * np.sqrt(s)),
        ("sqrt", "inv"),
        needs_positive=True,
    ),
    TargetScale(
        "square",
        np.sqrt,
        lambda y: 0.5 / np.sqrt(y),
        np.square,
        lambda s: 2.0 * s,
        ("square",),
        needs_positive=True,
    ),
    TargetScale("exp", np.log, lambda y: 1.0 / y, np.exp, np.exp, ("exp",), needs_positive=True),
    TargetScale("log", np.exp, np.exp, np.log, lambda s: 1.0 / s, ("log",), needs_positive=False),
    TargetScale(
        "sin",
        np.arcsin,
        lambda y: 1.0 / np.sqrt(1.0 - y**2),
        np.sin,
        np.cos,
        ("sin",),
        needs_positive=False,
    ),
    TargetScale(
        "cos",
        np.arccos,
        lambda y: 1.0 / np.sqrt(1.0 - y**2),
        np.cos,
        lambda s: -np.sin(s),
        ("cos",),
        needs_positive=False,
    ),
    TargetScale(
        "asin",
        np.sin,
        lambda y: np.abs(np.cos(y)),
        np.arcsin,
        lambda s: 1.0 / np.sqrt(1.0 - s**2),
        ("asin",),
        needs_positive=False,
    ),
    TargetScale(
        "acos",
        np.cos,
        lambda y: np.abs(np.sin(y)),
        np.arccos,
        lambda s: -1.0 / np.sqrt(1.0 - s**2),
        ("acos",),
        needs_positive=False,
    ),
)


@dataclass(frozen=True, eq=False)
class Response:
    """A target in a scale, divided by a power product and weighted.

    Parameters
    ----------
    scale : TargetScale
        The scale t.
    powers : mapping of str to Fraction
        The power product C.
    factor : float64 array, shape (n,)
        Values of C, with the sign of the target if the scale needs positive numbers.
    values : float64 array, shape (n,)
        t(y/C), or its linear expansion; 0 in rows without weight.
    weights : float64 array, shape (n,)
        |C|/|t′(y/C)| up to a limit, or 0 where the response is undefined.
    """

    scale: TargetScale
    powers: Powers
    factor: Values
    values: Values
    weights: Values


def build_response(
    scale: TargetScale,
    powers: Powers,
    columns: Mapping[str, Values],
    target: Values,
    smooth: Values | None = None,
) -> Response | None:
    """Build the response t(y/C) with weights.

    Parameters
    ----------
    scale : TargetScale
        The scale t.
    powers : mapping of str to Fraction
        The power product C of the inputs.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name.
    target : float64 array, shape (n,)
        The target y.
    smooth : float64 array, shape (n,), optional
        An approximation ŷ. The response is then t(ŷ/C) + t′(ŷ/C)·(y − ŷ)/C.

    Returns
    -------
    Response or None
        None if the response is not defined in nearly all rows.
    """
    factor = np.ones(len(target))
    with np.errstate(all="ignore"):
        for name, power in powers.items():
            factor = factor * columns[name] ** float(power)
        center = (target if smooth is None else smooth) / factor
        if scale.needs_positive and np.median(center) < 0.0:
            center, factor = -center, -factor
        values, derivative = scale.transform(center), scale.derivative(center)
        if smooth is not None:
            sign = np.sign(_differentiate(scale.transform, center))
            values = values + sign * derivative * (target - smooth) / factor
        weights = np.abs(factor) / derivative
    is_used = np.isfinite(values) & np.isfinite(weights) & (weights > 0.0)
    if scale.needs_positive:
        is_used &= center > 0.0
    if is_used.mean() < _MIN_USED_ROWS:
        return None
    weights = np.minimum(np.where(is_used, weights, 0.0), _MAX_WEIGHT * np.median(weights[is_used]))
    return Response(scale, powers, factor, np.where(is_used, values, 0.0), weights)


def predict_target(response: Response, sums: Values) -> Values:
    """Return C·g(S), and 0 where it is undefined: noise moves some S out of the domain of g."""
    with np.errstate(all="ignore"):
        predicted = response.factor * response.scale.inverse(sums)
    return np.where(np.isfinite(predicted), predicted, 0.0)


def _differentiate(function: Callable[[Values], Values], points: Values) -> Values:
    """Return a rough derivative, whose sign is used only."""
    step = 1e-6 * np.maximum(np.abs(points), 1e-6)
    return (function(points + step) - function(points - step)) / (2.0 * step)


def find_factored_powers(
    columns: Mapping[str, Values], target: Values, *, is_exact: bool = False
) -> dict[str, Fraction]:
    """Find the power product C of those inputs that only multiply the target, y = C·h(other inputs).

    A regression of log|y| on the logarithms of all inputs and their products decides. An input factors out if
    no term but its slope differs from 0 and the slope is a simple fraction, both by the standard errors. The
    inputs are independent of each other for the errors to be right; the result is a proposal only.

    The regression is quadratic first. If not all inputs factor out, it is repeated with a polynomial of each
    logarithm, because a wave or a peak is far from quadratic and makes all errors large.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name.
    target : float64 array, shape (n,)
        The target.
    is_exact : bool
        Whether the target has no error. All rows then have the same weight, since the error of log|y| does
        not depend on |y|.

    Returns
    -------
    dict of str to Fraction
        The inputs that factor out, with their exponents; 0 if the target does not depend on an input.
    """
    rows = select_spread_places(len(target), _MAX_FACTOR_ROWS)
    columns, target = {name: values[rows] for name, values in columns.items()}, target[rows]
    names = [name for name, values in columns.items() if (values != 0.0).all()]
    is_used = target != 0.0
    if not names or is_used.mean() < _MIN_USED_ROWS:
        return {}
    logs = np.column_stack([np.log(np.abs(columns[name][is_used])) for name in names])
    logs -= logs.mean(axis=0)
    used = target[is_used]
    quadratic = _select_factors(names, logs, used, 2, is_exact=is_exact)
    if len(quadratic) == len(names):
        return quadratic
    curved = _select_factors(names, logs, used, _MAX_DEGREE, is_exact=is_exact)
    other, best = sorted((curved, quadratic), key=lambda powers: sum(map(bool, powers.values())))
    return {**{name: power for name, power in other.items() if power}, **best}


def find_most_factors(*samples: tuple[Mapping[str, Values], Values]) -> dict[str, Fraction]:
    """Find the power product of the most inputs that only multiply the target, in one of several samples.

    Many rows help against noise, but they also show that the regression is an approximation. Of samples with
    equally many factors, the first one decides.

    Parameters
    ----------
    *samples : tuple of (mapping of str to float64 array, float64 array)
        The inputs and the target on some of the rows.
    """
    found = [powers for columns, target in samples if (powers := find_factored_powers(columns, target))]
    return max(found, key=lambda powers: sum(map(bool, powers.values())), default={})


def _select_factors(
    names: Sequence[str], logs: Values, target: Values, degree: int, *, is_exact: bool
) -> dict[str, Fraction]:
    """Select the inputs that factor out by a regression with powers of each logarithm up to a degree.

    The centred logarithms have shape (n, k), the target has shape (n,) and no zeros.
    """
    design, members = _build_log_design(logs, degree)
    if len(design) < 3 * design.shape[1]:
        return {}
    if is_exact:
        fitted = estimate_with_errors(design, np.log(np.abs(target)))
    else:
        fitted = _fit_logarithm(design, target)
    if fitted is None:
        return {}
    coefficients, errors = fitted
    limits = np.maximum(_MAX_ERRORS * errors, _EXPONENT_TOLERANCE)
    is_zero = (np.abs(coefficients) <= limits) & (limits <= _MAX_INTEGER_LIMIT)
    first_curved = 1 + len(names)
    curved_inputs = {
        i for own, zero in zip(members, is_zero[first_curved:], strict=True) if not zero for i in own
    }
    powers = {}
    for i, name in enumerate(names):
        power = _find_power(float(coefficients[1 + i]), float(limits[1 + i]))
        if i not in curved_inputs and power is not None:
            powers[name] = power
    return powers


def _build_log_design(logs: Values, degree: int) -> tuple[Values, list[tuple[int, ...]]]:
    """Build the columns 1, all logarithms, their products, and higher powers of each as Legendre polynomials.

    Returns
    -------
    design : float64 array, shape (n, 1 + k + t)
        The columns.
    members : list of tuple of int
        The inputs of each of the t columns that are not linear.
    """
    k = logs.shape[1]
    pairs = list(combinations_with_replacement(range(k), 2))
    curved = [logs[:, i] * logs[:, j] for i, j in pairs]
    spread = np.where(np.ptp(logs, axis=0) > 0.0, np.ptp(logs, axis=0), 1.0)
    scaled = 2.0 * (logs - logs.min(axis=0)) / spread - 1.0
    higher = [(i, power) for i in range(k) for power in range(3, degree + 1)]
    curved += [legval(scaled[:, i], [0.0] * power + [1.0]) for i, power in higher]
    return np.column_stack([np.ones(len(logs)), logs, *curved]), [*pairs, *((i,) for i, _ in higher)]


def _find_power(value: float, limit: float) -> Fraction | None:
    """Return the half or integer within a distance of a value; None if there is none or no clear one.

    An exponent of 0 leaves out an input, so it needs the smaller distance.
    """
    if limit > _MAX_INTEGER_LIMIT or abs(value) > _MAX_EXPONENT:
        return None
    parts = 2 if limit <= _MAX_HALF_LIMIT else 1
    power = Fraction(round(parts * value), parts)
    if abs(float(power) - value) > limit or (not power and limit > _MAX_HALF_LIMIT):
        return None
    return power


def _fit_logarithm(design: Values, target: Values) -> tuple[Values, Values] | None:
    """Fit log|y| = design·b; return b and its standard errors, or None if they are not determined.

    The weighted regression of log|y| is biased by noise. If all signs agree, Gauss-Newton steps for
    |y| = exp(design·b) follow.
    """
    magnitude = np.abs(target)
    weights = magnitude / magnitude.max()
    fitted = estimate_with_errors(design * weights[:, None], np.log(magnitude) * weights)
    if fitted is None or abs(np.sign(target).mean()) < _MIN_SIGN_AGREEMENT:
        return fitted
    signed = target * np.sign(np.median(target))
    for _ in range(_N_STEPS):
        predicted = np.exp(np.minimum(design @ fitted[0], np.log(2.0 * magnitude.max())))
        step = estimate_with_errors(design * predicted[:, None], signed - predicted)
        if step is None:
            break
        fitted = fitted[0] + step[0], step[1]
    return fitted
