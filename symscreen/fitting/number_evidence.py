"""Estimate the numbers of a formula together, and compare each simple one with its estimate.

A number v inside a term f with the coefficient c is estimated by a Gauss–Newton step: c·∂f/∂v is one more
term of the linear model, and its coefficient is the change of v. Numbers that were fitted to the data are
free together with the coefficients, so an interval contains what the others leave uncertain.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import evaluate_expression, iterate_constants, rebuild_expression
from symscreen.expressions.tree import Constant
from symscreen.fitting.coefficients import (
    estimate_coefficients,
    evaluate_terms,
    get_input_columns,
    get_targets,
)
from symscreen.fitting.laws.simple_numbers import is_simple_number, name_number
from symscreen.linear_models.row_weights import scale_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.expressions.linear_formula import Formula
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.coefficients import CoefficientEstimates
    from symscreen.linear_models.row_weights import RowWeights


_STEP = 1e-6  # relative step of a number for its derivative
# smallest relative norm of what the terms leave of a derivative; less counts as a coefficient
_MIN_PART = 1e-6


class NumberEvidence(NamedTuple):
    """A number of a formula, and what the data say of it.

    Parameters
    ----------
    term : str
        The term of the number; ``"1"`` is the intercept.
    place : str
        ``"coefficient"``, or ``"inside"`` the term.
    number : float
        The number in the formula.
    estimate, low, high : float
        Estimate and confidence interval of a free number in this place.
    p_value : float or None
        Two-sided p-value in [0, 1] of the hypothesis that a simple number is right. None for a number that
        was fitted.
    name : str
        The number as a fraction or a multiple of π, such as ``2*pi``. Empty if it is written as a decimal.
    """

    term: str
    place: str
    number: float
    estimate: float
    low: float
    high: float
    p_value: float | None
    name: str = ""


class _InnerNumber(NamedTuple):
    """A number inside a term: the place of its term, the constant, and its effect c·∂f/∂v, shape (n,)."""

    place: int
    constant: Constant
    effect: Values


def compute_number_evidence(
    formula: Formula,
    estimates: CoefficientEstimates,
    dataset: Dataset,
    row_weights: RowWeights | None = None,
) -> list[NumberEvidence]:
    """Estimate the simple numbers of a formula and those inside terms; compare simple ones by Student's t.

    Parameters
    ----------
    formula : Formula
        The formula. Coefficients that differ from their estimates are simple numbers, or were fitted again
        because of these.
    estimates : CoefficientEstimates
        Estimates of the coefficients on these rows.
    dataset : Dataset
        The rows.
    row_weights : RowWeights, optional
        The weights that the estimates were computed with.

    Returns
    -------
    list of NumberEvidence
        Simple coefficients first, then the numbers inside each term, from left to right. Numbers inside are
        left out if the data do not tell them from a coefficient or another fitted number. The list is empty
        if there are too few rows.

    Notes
    -----
    This is the score test (Rao 1948) of one restriction. The coefficients and the fitted numbers inside are
    nuisance parameters, and the other simple numbers stay as they are. A number is in the formula because it
    passed a test on the same rows. So a p-value near 1 does not prove it, but a small one counts against the
    number.
    """
    if estimates.n_freedom <= 1:
        return []
    inner_numbers = _list_inner_numbers(formula, dataset)
    values, free, joint = _estimate_jointly(formula, estimates, dataset, inner_numbers, row_weights)
    numbers, names = [formula.intercept, *formula.coefficients], ["1", *map(to_text, formula.terms)]
    found = [
        NumberEvidence(
            names[place], "coefficient", *_compare(numbers[place], joint, place), name_number(numbers[place])
        )
        for place in range(0 if estimates.has_intercept else 1, len(names))
        if numbers[place] != float(estimates.coefficients[place]) and is_simple_number(numbers[place])
    ]
    for inner in inner_numbers:
        number, name = float(inner.constant.value), names[inner.place + 1]
        if inner.constant.fitted:
            if any(inner is each for each in free):
                index = len(names) + next(k for k, each in enumerate(free) if each is inner)
                _, estimate, low, high, _ = _compare(number, joint, index, origin=number)
                found.append(NumberEvidence(name, "inside", number, estimate, low, high, None))
        elif _is_distinct(inner.effect, values, row_weights, has_intercept=estimates.has_intercept):
            freed = estimate_coefficients(
                np.vstack([values, inner.effect]),
                get_targets(dataset)[formula.target],
                estimates.level,
                has_intercept=estimates.has_intercept,
                row_weights=row_weights,
            )
            compared = _compare(number, freed, len(names) + len(free), origin=number)
            found.append(NumberEvidence(name, "inside", *compared, name_number(number)))
    return found


def widen_intervals(
    formula: Formula,
    estimates: CoefficientEstimates,
    dataset: Dataset,
    row_weights: RowWeights | None = None,
) -> CoefficientEstimates:
    """Widen the intervals of coefficients by what the fitted numbers inside the terms leave uncertain.

    Parameters
    ----------
    formula, estimates, dataset, row_weights
        As in `compute_number_evidence`.

    Returns
    -------
    CoefficientEstimates
        The same estimates, with the intervals of a regression in which these numbers are free, too. Unchanged
        without such numbers.
    """
    if estimates.n_freedom <= 1:
        return estimates
    inner_numbers = [each for each in _list_inner_numbers(formula, dataset) if each.constant.fitted]
    _, free, joint = _estimate_jointly(formula, estimates, dataset, inner_numbers, row_weights)
    if not free:
        return estimates
    half_widths = ((joint.high - joint.low) / 2.0)[: len(estimates.coefficients)]
    return replace(
        estimates, low=estimates.coefficients - half_widths, high=estimates.coefficients + half_widths
    )


def _list_inner_numbers(formula: Formula, dataset: Dataset) -> list[_InnerNumber]:
    """List the numbers inside the terms whose derivative is defined, term by term, from left to right."""
    columns = get_input_columns(dataset)
    found = []
    for place, term in enumerate(formula.terms):
        for index, constant in enumerate(iterate_constants(term)):
            derivative = differentiate_term(term, index, constant, columns)
            if derivative is not None:
                found.append(_InnerNumber(place, constant, formula.coefficients[place] * derivative))
    return found


def _estimate_jointly(
    formula: Formula,
    estimates: CoefficientEstimates,
    dataset: Dataset,
    inner_numbers: Sequence[_InnerNumber],
    row_weights: RowWeights | None,
) -> tuple[Values, list[_InnerNumber], CoefficientEstimates]:
    """Estimate the coefficients and the changes of the fitted numbers inside the terms together.

    Returns
    -------
    float64 array, shape (k + m, n)
        The terms, and the effects of the m fitted numbers that the data tell from the rest.
    list of _InnerNumber
        These numbers.
    CoefficientEstimates
        Estimates of the coefficients, followed by those of the changes.
    """
    values, free = evaluate_terms(formula.terms, dataset), list[_InnerNumber]()
    for each in inner_numbers:
        if (
            each.constant.fitted
            and estimates.n_freedom - len(free) > 1
            and _is_distinct(each.effect, values, row_weights, has_intercept=estimates.has_intercept)
        ):
            values = np.vstack([values, each.effect])
            free.append(each)
    if not free:
        return values, free, estimates
    joint = estimate_coefficients(
        values,
        get_targets(dataset)[formula.target],
        estimates.level,
        has_intercept=estimates.has_intercept,
        row_weights=row_weights,
    )
    return values, free, joint


def _compare(
    number: float, estimates: CoefficientEstimates, index: int, *, origin: float = 0.0
) -> tuple[float, float, float, float, float]:
    """Return a number, its estimate and interval, which are relative to an origin, and the p-value."""
    from scipy.special import stdtr, stdtrit

    change, low, high = (
        float(each[index]) for each in (estimates.coefficients, estimates.low, estimates.high)
    )
    quantile = float(stdtrit(estimates.n_freedom, 0.5 + estimates.level / 2))
    standard_error = (high - low) / (2.0 * quantile)
    distance = abs(change + origin - number)
    statistic = distance / standard_error if standard_error > 0.0 else np.inf
    p_value = 1.0 if distance == 0.0 else 2.0 * float(stdtr(estimates.n_freedom, -statistic))
    return number, origin + change, origin + low, origin + high, p_value


def differentiate_term(
    term: Expression, index: int, constant: Constant, columns: Mapping[str, Values]
) -> Values | None:
    """Return the derivative of a term with respect to one of its constants, shape (n,); None if undefined."""
    number = float(constant.value)
    step = _STEP * max(abs(number), _STEP)
    with np.errstate(all="ignore"):
        high, low = (
            evaluate_expression(_change_constant(term, index, number + change), columns)
            for change in (step, -step)
        )
        derivative = (high - low) / ((number + step) - (number - step))
    return derivative if np.isfinite(derivative).all() and derivative.any() else None


def _change_constant(term: Expression, index: int, value: float) -> Expression:
    """Replace one constant of a term; they are counted from left to right."""
    places = count()
    return rebuild_expression(
        term, number=lambda constant: Constant(value) if next(places) == index else constant
    )


def _is_distinct(
    effect: Values, values: Values, row_weights: RowWeights | None, *, has_intercept: bool
) -> bool:
    """Return whether a derivative is not a combination of the terms."""
    columns = [*values, *([np.ones(len(effect))] if has_intercept else [])]
    design = np.column_stack([scale_rows(column, row_weights) for column in columns])
    design = design / np.linalg.norm(design, axis=0)
    scaled = scale_rows(effect, row_weights)
    scaled = scaled / np.linalg.norm(scaled)
    q = np.linalg.qr(design)[0]
    remainder = scaled - q @ (q.T @ scaled)
    return bool(np.linalg.norm(remainder) > _MIN_PART)
