"""The section of the HTML page on a fitted formula."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.expressions.grouped_formula import GroupedFormula
from symscreen.expressions.linear_formula import Formula, SharedFormula
from symscreen.expressions.printing import format_mathml_body, to_text
from symscreen.expressions.tree import Column
from symscreen.messages import COMMAND_LINE, escape_control_chars, render_message
from symscreen.results.fit_result import GroupedFitResult

if TYPE_CHECKING:
    import pandas as pd

    from symscreen.results.fit_result import AnyFitResult, FitResult, SharedFitResult


_DIGITS = 6  # significant digits of numbers


def build_fit_section(fit: AnyFitResult) -> dict[str, Any]:
    """Collect what the page shows of a fit.

    Parameters
    ----------
    fit : FitResult, SharedFitResult or GroupedFitResult
        The result of `symscreen.fit`.

    Returns
    -------
    dict
        ``equations``, one for each target, as text and as markup; ``statements`` on them; the ``headings``
        and ``rows`` of the table of coefficients or, of groups, of the constants of each; ``numbers``,
        the headings and rows of the simple numbers and of those inside terms. Texts are on one line and free
        of control characters.
    """
    formula = fit.formula
    formulas = (
        [formula.get_formula(name) for name in formula.targets]
        if isinstance(formula, SharedFormula)
        else [formula]
    )
    table = fit.constants if isinstance(fit, GroupedFitResult) else fit.terms
    statements = [*fit.claims, *_describe_errors(fit)]
    return {
        "equations": [_build_equation(each.round_numbers(_DIGITS)) for each in formulas],
        "statements": [escape_control_chars(render_message(text, COMMAND_LINE)) for text in statements],
        "headings": [escape_control_chars(str(name)) for name in table.columns],
        "rows": _build_rows(fit, table),
        "numbers": _build_number_table(fit),
    }


def list_term_texts(fit: FitResult | SharedFitResult, digits: int) -> list[str]:
    """List the terms of the table of coefficients, with the numbers inside rounded for display."""
    texts = list(map(to_text, fit.formula.round_numbers(digits).terms))
    return ["1"] * (len(fit.terms) - len(texts)) + texts


def _build_rows(fit: AnyFitResult, table: pd.DataFrame) -> list[list[str]]:
    """Format the rows of the table of coefficients or of constants."""
    rows = [[_format_cell(value) for value in row] for row in table.itertuples(index=False)]
    if isinstance(fit, GroupedFitResult):
        return rows
    texts = map(escape_control_chars, list_term_texts(fit, _DIGITS))
    return [[text, *row[1:]] for text, row in zip(texts, rows, strict=True)]


def _build_number_table(fit: AnyFitResult) -> dict[str, Any]:
    """Build the headings and rows of simple numbers and those inside terms, with their intervals."""
    names = ("number", "name", "estimate", "low", "high", "p_value")
    rows = [
        ["" if row[name] is None else _format_cell(row[name]) for name in names]
        for row in fit.record.get("numbers", [])
    ]
    return {"headings": list(names), "rows": rows}


def _build_equation(formula: Formula | GroupedFormula) -> dict[str, str]:
    form = formula.form if isinstance(formula, GroupedFormula) else formula
    sides = format_mathml_body(Column(formula.target)), format_mathml_body(form.expression, _DIGITS)
    return {
        "text": escape_control_chars(formula.equation),
        "markup": f"<math>{'<mo>=</mo>'.join(sides)}</math>",
    }


def _describe_errors(fit: AnyFitResult) -> list[str]:
    """Return R² of each formula on the rows that its coefficients were fitted on."""
    if isinstance(fit.r2, dict):
        return [f"R² of {name}: {r2:.6g}." for name, r2 in fit.r2.items()]
    return [f"R²: {fit.r2:.6g}."]


def _format_cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}".replace("-", "−")
    return escape_control_chars(str(value))
