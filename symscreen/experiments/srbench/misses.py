"""Find why a fit missed: the law was not found, was passed over, or has wrong numbers.

A formula has the form of the law if it equals the truth once its decimals are fitted to the truth without
noise. At most 10⁻²⁴ of the variance may be left. Laws leave about 10⁻³¹, and the best approximation in a run
of `symscreen.fit` left 6·10⁻¹⁵.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.errors import FormulaError
from symscreen.expressions.traversal import evaluate_expression, fold_expression
from symscreen.expressions.tree import Column, Constant, apply_operator, parse_printed_expression
from symscreen.fitting import EXACT_SHARE
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expressions.tree import Expression
    from symscreen.results.fit_result import FitResult

Cause = Literal[
    "not recognised", "wrong numbers", "approximation chosen", "over the time limit", "not found", "error"
]
CAUSES: Mapping[Cause, str] = {
    "not recognised": "the formula is the law, but the judge does not recognise it",
    "wrong numbers": "the formula has the form of the law, but a number differs in the first three decimals",
    "approximation chosen": "another formula was chosen, and the law is on the front or an alternative",
    "over the time limit": "the law was not found, and the fit took longer than the limit",
    "not found": "the law was not found",
    "error": "the fit failed",
}

TIME_LIMIT_S = 60.0
"""Seconds that a fit may take. Longer fits are reported, not ended."""

_MAX_ROUNDING = 0.5e-3  # largest change of a number that the judge rounds to three decimals
_MAX_ROWS = 2000
_MAX_CANDIDATES = 20
_MAX_NUMBERS = 20
_TOLERANCE = 1e-15


def diagnose_miss(
    formula: Expression,
    candidates: Iterable[Expression],
    rows: Mapping[str, NDArray[np.float64]],
    truth: NDArray[np.float64],
    seconds: float,
) -> Cause:
    """Find the cause of a miss.

    Parameters
    ----------
    formula : Expression
        The formula that was chosen.
    candidates : iterable of Expression
        The other formulas that the result names.
    rows : mapping of str to float64 array, shape (n,)
        Test rows.
    truth : float64 array, shape (n,)
        The target without noise.
    seconds : float
        Run time of the fit.

    Returns
    -------
    str
        A key of `CAUSES`.
    """
    few_rows = {name: values[:_MAX_ROWS] for name, values in rows.items()}
    few_truth = truth[:_MAX_ROWS]
    change = measure_number_change(formula, few_rows, few_truth)
    if change is not None:
        return "not recognised" if change < _MAX_ROUNDING else "wrong numbers"
    if any(measure_number_change(other, few_rows, few_truth) is not None for other in candidates):
        return "approximation chosen"
    return "over the time limit" if seconds > TIME_LIMIT_S else "not found"


def measure_number_change(
    expression: Expression, rows: Mapping[str, NDArray[np.float64]], truth: NDArray[np.float64]
) -> float | None:
    """Measure by how much the decimals of a formula change when they are fitted to the truth.

    Parameters
    ----------
    expression : Expression
        A formula; its integers stay as they are.
    rows : mapping of str to float64 array, shape (n,)
        Inputs.
    truth : float64 array, shape (n,)
        Values of the true formula.

    Returns
    -------
    float or None
        The largest change of a number; None if the formula does not have the form of the law.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> x = np.linspace(1, 3, 50)
    >>> change = measure_number_change(parse_expression("0.1 + 2.5*exp(0.9*x)"), {"x": x}, 2 * np.exp(x))
    >>> round(change, 6)
    0.5
    >>> measure_number_change(parse_expression("0.1 + 2.5*x**3"), {"x": x}, 2 * np.exp(x)) is None
    True
    """
    from scipy.optimize import least_squares

    start = np.array(_collect_decimals(expression))
    spread = float(np.linalg.norm(truth - truth.mean()))
    if len(start) > _MAX_NUMBERS or len(start) >= len(truth) or spread == 0:
        return None

    def compute_residual(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        values = evaluate_expression(_replace_decimals(expression, numbers.tolist()), rows)
        return np.nan_to_num((values - truth) / spread, nan=1.0, posinf=1.0, neginf=1.0)

    numbers = start
    if len(start) and (compute_residual(start) ** 2).sum() > _TOLERANCE**2:
        options = dict.fromkeys(("ftol", "xtol", "gtol"), _TOLERANCE)
        numbers = least_squares(compute_residual, start, method="lm", max_nfev=200, **options).x
    residual = compute_residual(numbers)
    if residual @ residual > EXACT_SHARE:
        return None
    return float(np.abs(numbers - start).max(initial=0.0))


def _is_decimal(constant: Constant) -> bool:
    """Return whether a number is fitted: neither an integer nor π."""
    return constant.value != int(constant.value) and constant.value != np.pi


def _collect_decimals(expression: Expression) -> list[float]:
    """Collect the decimals of a formula in the order in which `_replace_decimals` meets them."""
    found: list[float] = []

    def collect(constant: Constant) -> None:
        if _is_decimal(constant):
            found.append(float(constant.value))

    fold_expression(expression, column=lambda _: None, number=collect, call=lambda *_: None)
    return found


def _replace_decimals(expression: Expression, numbers: Sequence[float]) -> Expression:
    """Replace the decimals of a formula."""
    remaining = iter(numbers)

    def replace_number(constant: Constant) -> Expression:
        return Constant(next(remaining)) if _is_decimal(constant) else constant

    return fold_expression(
        expression,
        column=Column,
        number=replace_number,
        call=lambda call, arguments: apply_operator(call.operator, *arguments),
    )


def list_candidates(result: FitResult, names: Sequence[str]) -> list[Expression]:
    """List the formulas that a result names besides the chosen one.

    Parameters
    ----------
    result : FitResult
        Result of a fit of one target.
    names : sequence of str
        The inputs.

    Returns
    -------
    list of Expression
        Formulas of the Pareto front and the alternatives, the best R² first.
    """
    tables = (result.front, result.alternatives)
    texts = [(row.r2, str(row.formula)) for table in tables for row in table.itertuples()]
    expressions = []
    for text in dict.fromkeys(text for _, text in sorted(texts, reverse=True)):
        try:
            expressions.append(parse_printed_expression(text, OPERATORS, names))
        except FormulaError:
            continue
    return expressions[:_MAX_CANDIDATES]
