"""Compare each simple number of a fitted formula with its estimate from the data."""

from __future__ import annotations

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
from symscreen.linear_models.row_weights import scale_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """A simple number of a formula, and what the data say of it.

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
    p_value : float
        Two-sided p-value in [0, 1] of the hypothesis that the number is right.
    """

    term: str
    place: str
    number: float
    estimate: float
    low: float
    high: float
    p_value: float


def compute_number_evidence(
    formula: Formula,
    estimates: CoefficientEstimates,
    dataset: Dataset,
    row_weights: RowWeights | None = None,
) -> list[NumberEvidence]:
    """Estimate each simple number of a formula as if it were free, and compare both by Student's t.

    Parameters
    ----------
    formula : Formula
        The formula. Coefficients that differ from their estimates are simple numbers.
    estimates : CoefficientEstimates
        Estimates of the coefficients on these rows.
    dataset : Dataset
        The rows.
    row_weights : RowWeights, optional
        The weights that the estimates were computed with.

    Returns
    -------
    list of NumberEvidence
        Coefficients first, then the numbers inside each term, from left to right. Numbers inside are left out
        if they are fitted constants, or if the data do not tell them from a coefficient. The list is empty if
        there are too few rows.

    Notes
    -----
    A number v inside a term f with the coefficient c is estimated by a Gauss–Newton step: c·∂f/∂v is one more
    term of the linear model, and its coefficient is the change of v. All other numbers inside stay as they
    are. This is the score test (Rao 1948) of one restriction, with the coefficients as nuisance parameters.
    A number is in the formula because it passed a test on the same rows. So a p-value near 1 does not prove
    it, but a small one counts against the number.
    """
    if estimates.n_freedom <= 1:
        return []
    target, values = get_targets(dataset)[formula.target], evaluate_terms(formula.terms, dataset)
    numbers, names = [formula.intercept, *formula.coefficients], ["1", *map(to_text, formula.terms)]
    found = [
        NumberEvidence(names[place], "coefficient", *_compare(numbers[place], estimates, place))
        for place in range(0 if estimates.has_intercept else 1, len(names))
        if numbers[place] != float(estimates.coefficients[place])
    ]
    columns = get_input_columns(dataset)
    for place, term in enumerate(formula.terms):
        for index, constant in enumerate(iterate_constants(term)):
            derivative = None if constant.fitted else differentiate_term(term, index, constant, columns)
            if derivative is None:
                continue
            effect = formula.coefficients[place] * derivative
            if not _is_distinct(effect, values, row_weights, has_intercept=estimates.has_intercept):
                continue
            number = float(constant.value)
            freed = estimate_coefficients(
                np.vstack([values, effect]),
                target,
                estimates.level,
                has_intercept=estimates.has_intercept,
                row_weights=row_weights,
            )
            compared = _compare(number, freed, len(names), origin=number)
            found.append(NumberEvidence(names[place + 1], "inside", *compared))
    return found


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
    """Return whether a derivative is no combination of the terms."""
    columns = [*values, *([np.ones(len(effect))] if has_intercept else [])]
    design = np.column_stack([scale_rows(column, row_weights) for column in columns])
    design = design / np.linalg.norm(design, axis=0)
    scaled = scale_rows(effect, row_weights)
    scaled = scaled / np.linalg.norm(scaled)
    q = np.linalg.qr(design)[0]
    left = scaled - q @ (q.T @ scaled)
    return bool(np.linalg.norm(left) > _MIN_PART)
