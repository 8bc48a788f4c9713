"""Fit the formula of each target to the rows of a dataset, and compute what a formula predicts on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.linear_formula import Formula
from symscreen.fitting.coefficients import estimate_coefficients, evaluate_terms, get_targets
from symscreen.fitting.simple_coefficients import snap_coefficients
from symscreen.linear_models.row_weights import center_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.coefficients import CoefficientEstimates
    from symscreen.linear_models.row_weights import RowWeights

    FormulaFits = Sequence[tuple[Formula, CoefficientEstimates, bool]]  # one entry per target


_NEGLIGIBLE_TERM_SHARE = 1e-13  # size of an intercept that is rounding, relative to the target's maximum


def fit_formulas(
    terms: Sequence[Expression],
    dataset: Dataset,
    level: float,
    *,
    snap: bool,
    has_intercept: bool = True,
    row_weights: RowWeights | None = None,
) -> FormulaFits:
    """Fit the coefficients of terms on the rows of a dataset, separately for each target.

    Parameters
    ----------
    terms : sequence of Expression
        The terms. The rows must determine their coefficients.
    dataset : Dataset
        The rows, with one or more targets.
    level : float
        Coverage of the intervals.
    snap : bool
        Whether to replace coefficients by short numbers if possible.
    has_intercept : bool
        Whether the model has an intercept. Without one, coefficients become simple numbers if possible, even
        without `snap`.
    row_weights : RowWeights, optional
        Weights of the rows.

    Returns
    -------
    tuple of (Formula, CoefficientEstimates, bool)
        For each target: the formula, the estimates, and whether the coefficients of the formula were replaced
        by simple numbers. An intercept that is only rounding is 0 in the formula. With several targets, so is
        a coefficient.
    """
    values, targets = evaluate_terms(terms, dataset), get_targets(dataset)
    return tuple(
        _build_fit(
            terms,
            values,
            name,
            target,
            estimate_coefficients(
                values, target, level, has_intercept=has_intercept, row_weights=row_weights
            ),
            snap=snap,
            row_weights=row_weights,
            is_multi_output=len(targets) > 1,
        )
        for name, target in targets.items()
    )


def _build_fit(
    terms: Sequence[Expression],
    values: NDArray[np.float64],
    name: str,
    target: NDArray[np.float64],
    estimates: CoefficientEstimates,
    *,
    snap: bool,
    row_weights: RowWeights | None,
    is_multi_output: bool,
) -> tuple[Formula, CoefficientEstimates, bool]:
    """Build the formula of one target from its estimates."""
    snapped = None
    if snap or not estimates.has_intercept:
        snapped = snap_coefficients(estimates, values, target, row_weights, only_simple=not snap)
    coefficients = estimates.coefficients if snapped is None else snapped
    # with several targets, a term may be irrelevant for one of them; with a single target, no term is
    magnitudes = np.abs(values).max(axis=1) if is_multi_output else np.full(len(values), np.inf)
    contributions = np.abs(coefficients) * np.concatenate(([1.0], magnitudes))
    coefficients = np.where(contributions <= _NEGLIGIBLE_TERM_SHARE * np.abs(target).max(), 0.0, coefficients)
    formula = Formula(name, float(coefficients[0]), tuple(coefficients[1:].tolist()), tuple(terms))
    return formula, estimates, snapped is not None


def predict_on_dataset(formula: Formula, dataset: Dataset) -> NDArray[np.float64]:
    """Predict the target on the rows of a dataset, shape (n,); NaN where a term is undefined."""
    return formula.sum_terms(evaluate_terms(formula.terms, dataset))


def compute_unexplained_share(
    formula: Formula, dataset: Dataset, row_weights: RowWeights | None = None
) -> float:
    """Compute RSS/TSS of the formula of one target on the rows of a dataset."""
    actual = get_targets(dataset)[formula.target]
    _, exponent = np.frexp(np.abs(actual).max())  # squares of values near 1 neither overflow nor underflow
    target, predicted = (
        np.ldexp(vector, -int(exponent)) for vector in (actual, predict_on_dataset(formula, dataset))
    )
    if row_weights is None:
        return float(((predicted - target) ** 2).mean() / target.var())
    residuals, centered = row_weights.scale(predicted - target), center_rows(target, row_weights)
    return float((residuals**2).sum() / (centered**2).sum())
