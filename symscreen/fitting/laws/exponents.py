"""Exponents of power products: those that units allow, how many are as simple, and how they are rounded."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.laws.unit_lattice import find_null_space, invert_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.log_scale import LogScale
    from symscreen.grammar import Grammar


MAX_EXPONENT = 6.0
_MIN_VARIANCE = 1e-13  # smallest relative variance of an exponent given the others
_MAX_ERRORS = 4.0  # largest distance of an exponent from the fraction it is rounded to, in standard errors
_MAX_ZERO_ERRORS = 2.0  # largest distance of an exponent from 0 if 0 is preferred, in standard errors
_EXPONENT_TOLERANCE = 1e-6
_ROOTS = {1: None, 2: "sqrt", 3: "cbrt"}


def restrict_exponents(formulas: Sequence[Expression], scale: LogScale) -> tuple[Values, Values | None]:
    """Return exponents with the unit of the target, and the directions in which they are free.

    Parameters
    ----------
    formulas : sequence of Expression
        Formulas whose powers are factors besides those of the inputs.
    scale : LogScale
        Inputs and units.

    Returns
    -------
    float64 array, shape (k,)
        Exponents of the inputs and formulas; 0 without units.
    float64 array, shape (k, d), or None
        Orthonormal directions, all without units. None if the units of the formulas do not allow any.
    """
    k, lattice = len(scale.names) + len(formulas), scale.lattice
    if lattice is None or lattice.target is None:
        return np.zeros(k), np.eye(k)
    vectors = np.vstack([lattice.vectors, lattice.compute_units(formulas)])
    if not np.isfinite(vectors).all():
        return np.zeros(k), None
    return lattice.target @ invert_rows(vectors), find_null_space(vectors)


def count_allowed_exponents(
    exponents: Sequence[Fraction],
    scale: LogScale,
    formulas: Sequence[Expression] = (),
    powers: Sequence[Fraction | None] = (),
) -> float:
    """Count the lists of exponents of the inputs that are not more complex than this one.

    With units, only lists count that have the unit of the target together with the given powers of formulas.
    They are measured by the powers of dimensionless groups, besides the simplest product with this unit.
    """
    lattice = scale.lattice
    if lattice is None or lattice.target is None:
        return count_exponents(exponents)
    unit = lattice.target.copy()
    for formula_unit, power in zip(lattice.compute_units(formulas), powers, strict=True):
        unit -= formula_unit * float(power or 0)
    coordinates = lattice.find_coordinates(exponents, unit)
    n_all = count_exponents(exponents)
    return n_all if coordinates is None else min(n_all, count_exponents(coordinates))


def count_exponents(exponents: Sequence[Fraction]) -> float:
    """Count the lists of exponents that are not more complex than this one.

    The complexity of whole exponents is the sum of their absolute values, s. For k inputs, there are
    Σⱼ 2^j·C(k, j)·C(s, j) lists up to s. A fraction p/q counts as p + q − 1, and triples the number of lists.

    Examples
    --------
    >>> count_exponents([Fraction(1), Fraction(0)])
    5.0
    >>> count_exponents([Fraction(2), Fraction(-1)])
    25.0
    """
    total = sum(map(measure_exponent, exponents))
    n_lists = sum(2**j * comb(len(exponents), j) * comb(total, j) for j in range(len(exponents) + 1))
    return float(n_lists) * 3.0 ** sum(1 for exponent in exponents if exponent.denominator > 1)


def measure_exponent(exponent: Fraction) -> int:
    """Return the complexity of an exponent: 0 for 0, 1 for ±1, and 2 for ±2 and ±1/2."""
    return abs(exponent.numerator) + exponent.denominator - 1


def list_roots(grammar: Grammar) -> tuple[int, ...]:
    """Return the denominators that exponents may have."""
    names = {operator.name for operator in grammar.unary}
    return tuple(root for root, name in _ROOTS.items() if name is None or name in names)


def simplify_exponents(
    exponents: Values,
    covariance: Values,
    roots: Sequence[int],
    *,
    has_decided: bool = False,
    n_preferring_zero: int = 0,
) -> tuple[Values, list[Fraction | None]]:
    """Round exponents to simple fractions, the most certain one first.

    The others are then estimated again, given the rounded one. So the exponents of inputs that vary together
    are rounded consistently. With `has_decided`, some linear functions of the exponents are given. The first
    `n_preferring_zero` exponents become 0 if this is within their error. Where inputs vary little, the error
    is large, and the nearest integer is one of many: T³·exp(−5000/T) fits as well as exp(−6000/T).

    Returns
    -------
    float64 array, shape (k,)
        The exponents.
    list of Fraction or None
        The same as fractions, None if no simple fraction agrees with the estimate.
    """
    exponents, covariance = exponents.copy(), covariance.copy()
    simple: list[Fraction | None] = [None] * len(exponents)
    pending = list(range(len(exponents)))
    # the variances of exponents that the units or the others decide are rounding errors
    smallest = _MIN_VARIANCE * np.diag(covariance).max(initial=0.0) if has_decided else 0.0
    while pending:
        variances = np.diag(covariance)
        variances = np.where(variances > smallest, variances, 0.0)
        k = min(pending, key=lambda index: variances[index])
        pending.remove(k)
        error = float(np.sqrt(variances[k]))
        is_zero = k < n_preferring_zero and abs(exponents[k]) <= _MAX_ZERO_ERRORS * error
        fraction = Fraction(0) if is_zero else _find_simple_exponent(float(exponents[k]), error, roots)
        simple[k] = fraction
        if fraction is None:
            continue
        # conditional normal distribution given the exponent k
        shift = float(fraction) - exponents[k]
        if variances[k] > 0.0:
            column = covariance[:, k] / covariance[k, k]
            exponents[pending] += column[pending] * shift
            covariance = covariance - np.outer(column, covariance[k])
        exponents[k] = float(fraction)
    return exponents, simple


def _find_simple_exponent(value: float, error: float, roots: Sequence[int]) -> Fraction | None:
    """Return the fraction with the smallest denominator that agrees with an exponent, or None."""
    if not np.isfinite(value) or abs(value) > MAX_EXPONENT + 0.5:
        return None
    for root in roots:
        fraction = Fraction(round(value * root), root)
        if abs(value - float(fraction)) <= max(_MAX_ERRORS * error, _EXPONENT_TOLERANCE):
            return fraction
    return None
