"""Judge a fitted formula: exact, a law within noise, an approximation, or none.

A formula is exact if it leaves nothing but rounding, and if the rows determine each part of it. It is an
approximation if the residuals depend on the inputs, see `symscreen.fitting.lack_of_fit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import (
    fold_expression,
    iterate_constants,
)
from symscreen.fitting.coefficients import evaluate_terms, get_input_columns, get_targets
from symscreen.fitting.formula_fits import predict_on_dataset
from symscreen.fitting.lack_of_fit import compute_formula_lack_of_fit, compute_lack_of_fit
from symscreen.fitting.laws.simple_numbers import name_number
from symscreen.fitting.number_evidence import differentiate_term
from symscreen.fitting.polynomial_rival import find_shorter_polynomial
from symscreen.fitting.undetermined_parts import (
    count_dominant_rows,
    find_local_part,
    find_undetermined_part,
)
from symscreen.grammar.error_propagation import BoundedValue, bound_number, make_error_propagator
from symscreen.linear_models.row_weights import scale_rows
from symscreen.statistics.ranks.sorted_values import compute_midranks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.expressions.linear_formula import Formula
    from symscreen.expressions.tree import Constant, Expression
    from symscreen.fitting.formula_fits import FormulaFits
    from symscreen.fitting.model_selection import ScoredModel
    from symscreen.grammar import Grammar
    from symscreen.linear_models.row_weights import RowWeights


VERDICT_LEVEL = 0.01
"""P-value of the tests of lack of fit below which a formula is an approximation."""

# this p-value where residuals are near rounding and their errors not quite independent
_ROUNDING_LEVEL = 1e-4
_EPSILON = float(np.finfo(np.float64).eps)
# rounding of a row, relative to the sizes of the terms; larger errors are tested
_MAX_SUM_ROUNDING = 2.0 * _EPSILON
_MIN_RELATIVE_SIZE = 1e-12  # rows smaller than this share of the largest one count no more than that
_MAX_CHANGE = 1e-7  # relative change of a number that counts as an error of its last digits
_MIN_DOMINANT_ROWS = 20  # if fewer rows make up most of the squares of residuals, their ranks are tested
_N_ROBUST_STEPS = 40
_TINY = 1e-300


def judge_model(
    selected: ScoredModel,
    fits: FormulaFits,
    dataset: Dataset,
    grammar: Grammar,
    row_weights: RowWeights | None = None,
) -> dict[str, Any]:
    """Build the record of the verdict.

    Parameters
    ----------
    selected : ScoredModel
        The chosen model.
    fits : FormulaFits
        Its formulas, one for each target.
    dataset : Dataset
        The rows that the coefficients were estimated on.
    grammar : Grammar
        The grammar of the formulas by which residuals are sorted.
    row_weights : RowWeights, optional
        Weights of the rows.

    Returns
    -------
    dict
        ``kind``: ``exact``, ``noise`` (a law within noise), ``approximation`` or ``none``. ``p_value``: of
        the tests of lack of fit; None without a test. With several targets, it is the smallest of their
        p-values, multiplied by their number. ``level``: the p-value below which a tested formula is an
        approximation. An approximation that leaves nothing but rounding has one of two reasons:
        ``undetermined``, the part of the formula that the rows do not determine, or ``polynomial``, the
        degree of a polynomial that is as good and has shorter numbers. ``numbers``, only for an exact
        formula: its coefficients that are fractions or multiples of π, as pairs of value and text.
    """
    if not selected.term_indices:
        return {"kind": "none", "p_value": None}
    formulas = [formula for formula, _, _ in fits]
    pairs = [(formula, compute_residuals(formula, dataset)) for formula in formulas]
    is_near_rounding = selected.is_exact
    if is_near_rounding and all(_is_rounding(formula, residuals, dataset) for formula, residuals in pairs):
        return _judge_exact_formulas(formulas, dataset)
    p_values = []
    for formula, residuals in pairs:
        tested, weights = residuals, row_weights
        if is_near_rounding:
            tested = _rank_residuals(formula, residuals, dataset)
        elif count_dominant_rows(scale_rows(residuals, row_weights)) < _MIN_DOMINANT_ROWS:
            tested, weights = _rank_robust_residuals(formula, residuals, dataset, row_weights), None
        p_values.append(compute_residual_p_value(tested, dataset, grammar, weights))
    p_value = min(1.0, min(p_values) * len(p_values))
    if is_near_rounding and p_value >= _ROUNDING_LEVEL:
        return _judge_exact_formulas(formulas, dataset)
    verdict = build_tested_verdict(p_value)
    if verdict["kind"] == "noise":
        for formula, residuals in pairs:
            part = find_local_part(formula, residuals, dataset, row_weights)
            if part is not None:
                return {**verdict, "kind": "approximation", "undetermined": to_text(part)}
    return verdict


def build_tested_verdict(p_value: float) -> dict[str, Any]:
    """Build the record of the verdict of a p-value of tests of lack of fit."""
    kind = "approximation" if p_value < VERDICT_LEVEL else "noise"
    return {"kind": kind, "p_value": p_value, "level": VERDICT_LEVEL}


def compute_residuals(formula: Formula, dataset: Dataset) -> Values:
    """Compute the target minus the prediction, shape (n,)."""
    return get_targets(dataset)[formula.target] - predict_on_dataset(formula, dataset)


def compute_residual_p_value(
    residuals: Values, dataset: Dataset, grammar: Grammar, row_weights: RowWeights | None
) -> float:
    """Compute the p-value of both tests of lack of fit: twice the smaller one; residuals have shape (n,)."""
    columns = get_input_columns(dataset)
    return min(
        1.0,
        2.0 * compute_lack_of_fit([*columns.values()], residuals, row_weights),
        2.0 * compute_formula_lack_of_fit(columns, residuals, grammar, row_weights),
    )


def _rank_robust_residuals(
    formula: Formula, residuals: Values, dataset: Dataset, row_weights: RowWeights | None
) -> Values:
    """Return the centred ranks of residuals, shape (n,), after coefficients for which Σ|r| is least.

    Where few rows make up nearly all squares, the tests see no others, and these rows have moved the
    coefficients of least squares.
    """
    rows = np.vstack([np.ones(len(residuals)), *evaluate_terms(formula.terms, dataset)])
    design = np.array([scale_rows(row / np.abs(row).max(), row_weights) for row in rows]).T
    target = scale_rows(residuals, row_weights)
    robust = target
    for _ in range(_N_ROBUST_STEPS):  # iteratively reweighted least squares
        root = 1.0 / np.sqrt(np.maximum(np.abs(robust), np.median(np.abs(robust)) * 1e-3 + _TINY))
        robust = target - design @ np.linalg.lstsq(design * root[:, None], target * root, rcond=None)[0]
    ranks = compute_midranks(robust)
    return np.asarray(ranks - ranks.mean())


def _measure_rows(formula: Formula, dataset: Dataset) -> Values:
    """Return the sum of the sizes of the target and of all terms in each row, shape (n,)."""
    terms = np.array(formula.coefficients)[:, None] * evaluate_terms(formula.terms, dataset)
    target = get_targets(dataset)[formula.target]
    return np.asarray(abs(formula.intercept) + np.abs(terms).sum(axis=0) + np.abs(target))


def _is_rounding(formula: Formula, residuals: Values, dataset: Dataset) -> bool:
    """Return whether each residual is within the rounding of the formula and the target.

    The target was computed by a formula with about the same rounding, so twice the bound is allowed. The last
    digits of the fitted numbers may be wrong.
    """
    columns = get_input_columns(dataset)
    allowed = _MAX_SUM_ROUNDING * _measure_rows(formula, dataset)
    for coefficient, term in zip(formula.coefficients, formula.terms, strict=True):
        error = bound_rounding(term, columns)
        allowed = allowed + 2.0 * abs(coefficient) * np.where(np.isfinite(error), error, 0.0)
    return any(
        bool((np.abs(each) <= allowed).all())
        for each in (residuals, remove_number_errors(formula, residuals, dataset, is_relative=True))
    )


def bound_rounding(term: Expression, columns: Mapping[str, Values]) -> Values:
    """Bound the rounding error of a term in each row, shape (n,), for exact inputs; infinite if unknown.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> x = np.array([0.5, 300.0])
    >>> error = bound_rounding(parse_expression("exp(-8500/x)"), {"x": x})
    >>> error[1] / np.exp(-8500 / x[1]) > 28 * 1.1e-16
    np.True_
    """
    n = len(next(iter(columns.values())))

    def bound_constant(number: Constant) -> BoundedValue:
        value = float(number.value)
        error = abs(value) * _EPSILON if number.fitted else float(bound_number(value).error)
        return BoundedValue(np.full(n, value), np.full(n, error))

    bounded: BoundedValue = fold_expression(
        term,
        column=lambda name: BoundedValue(columns[name], np.zeros(n)),
        number=bound_constant,
        call=lambda call, values: make_error_propagator(call.operator)(*values),
    )
    return bounded.error


def _rank_residuals(formula: Formula, residuals: Values, dataset: Dataset) -> Values:
    """Return the centred ranks of relative residuals, shape (n,), without those that numbers explain.

    The residuals of an approximation are often large in a few rows only, which would hide all others.
    """
    sizes = _measure_rows(formula, dataset)
    residuals = remove_number_errors(formula, residuals, dataset)
    ranks = compute_midranks(np.divide(residuals, sizes, out=np.zeros_like(residuals), where=sizes > 0.0))
    return np.asarray(ranks - ranks.mean())


def remove_number_errors(
    formula: Formula, residuals: Values, dataset: Dataset, *, is_relative: bool = False
) -> Values:
    """Subtract from residuals, shape (n,), what tiny changes of the numbers of a formula explain.

    A number that is off by its last digits leaves residuals that depend on the inputs. They are returned
    unchanged if a number must change by more than a ten-millionth of its size. With `is_relative`, the
    changes are those that explain most of the relative residuals: the rounding of large rows is then not
    moved into small ones.
    """
    columns = get_input_columns(dataset)
    numbers = [formula.intercept, *formula.coefficients]
    changes = [np.ones(len(residuals)), *evaluate_terms(formula.terms, dataset)]
    for coefficient, term in zip(formula.coefficients, formula.terms, strict=True):
        for index, constant in enumerate(iterate_constants(term)):
            derivative = differentiate_term(term, index, constant, columns) if constant.fitted else None
            if derivative is not None:
                numbers.append(float(constant.value))
                changes.append(coefficient * derivative)
    design = np.column_stack(changes)
    sizes = np.abs(design).max(axis=0)
    is_used = (sizes > 0.0) & np.isfinite(sizes)
    scaled = design[:, is_used] / sizes[is_used]
    weights = np.ones(len(residuals))
    if is_relative:
        rows = _measure_rows(formula, dataset)
        weights = rows.max() / np.maximum(rows, _MIN_RELATIVE_SIZE * rows.max())
    steps = np.linalg.lstsq(scaled * weights[:, None], residuals * weights, rcond=None)[0]
    allowed = _MAX_CHANGE * np.abs(numbers)[is_used] * sizes[is_used]
    allowed[0] = _MAX_CHANGE * np.abs(get_targets(dataset)[formula.target]).max()
    return residuals - scaled @ steps if (np.abs(steps) <= allowed).all() else residuals


def _judge_exact_formulas(formulas: list[Formula], dataset: Dataset) -> dict[str, Any]:
    """Build the record of formulas that leave nothing but rounding."""
    for formula in formulas:
        part = find_undetermined_part(formula, dataset)
        if part is not None:
            return {"kind": "approximation", "p_value": None, "undetermined": to_text(part)}
        degree = find_shorter_polynomial(formula, dataset)
        if degree is not None:
            return {"kind": "approximation", "p_value": None, "polynomial": degree}
    numbers = [pair for formula in formulas for pair in name_coefficients(formula)]
    return {"kind": "exact", "p_value": None, **({"numbers": numbers} if numbers else {})}


def name_coefficients(formula: Formula) -> list[tuple[float, str]]:
    """Return the coefficients that are fractions or multiples of π up to rounding, with their names.

    Examples
    --------
    >>> from symscreen.expressions.linear_formula import Formula
    >>> from symscreen.expressions.tree import parse_expression
    >>> name_coefficients(Formula("y", 0.5, (0.07957747154594767,), (parse_expression("q/r"),)))
    [(0.07957747154594767, '1/(4*pi)')]
    """
    numbers = map(float, (formula.intercept, *formula.coefficients))
    return [(value, name) for value in numbers if (name := name_number(value))]
