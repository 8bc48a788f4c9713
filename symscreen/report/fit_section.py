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
    from collections.abc import Mapping

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
        "headings": _build_headings(fit, table),
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


def format_number_table(record: Mapping[str, Any]) -> dict[str, list[str]]:
    """Format the simple numbers of a fit and those inside terms, with their intervals.

    Parameters
    ----------
    record : mapping
        The record of the result.

    Returns
    -------
    dict of str to list of str
        The cells of each column by heading, without columns that are empty.

    Examples
    --------
    >>> number = {"number": 2.0, "name": "", "estimate": 2.01, "low": 1.9, "high": 2.1, "p_value": 0.8123}
    >>> format_number_table({"level": 0.95, "numbers": [number]})
    {'number': ['2'], 'estimate': ['2.01'], 'from (95 %)': ['1.9'], 'to': ['2.1'], 'p-value': ['0.81']}
    """
    numbers = record.get("numbers", [])
    columns = {
        "number": [f"{row['number']:.{_DIGITS}g}" for row in numbers],
        "name": [row["name"] for row in numbers],
        "estimate": [f"{row['estimate']:.{_DIGITS}g}" for row in numbers],
        format_low_heading(record): [f"{row['low']:.{_DIGITS}g}" for row in numbers],
        "to": [f"{row['high']:.{_DIGITS}g}" for row in numbers],
        "p-value": ["" if row["p_value"] is None else f"{row['p_value']:.2g}" for row in numbers],
    }
    return {heading: cells for heading, cells in columns.items() if any(cells)}


def format_level(record: Mapping[str, Any]) -> str:
    """Format the level of the intervals of a fit in percent."""
    return f"{100 * record['level']:g} %"


def format_low_heading(record: Mapping[str, Any]) -> str:
    """Return the heading of the lower ends of intervals, with their level."""
    return f"from ({format_level(record)})"


def _build_number_table(fit: AnyFitResult) -> dict[str, Any]:
    """Build the headings and rows of simple numbers and those inside terms, with their intervals."""
    columns = format_number_table(fit.record)
    rows = [[_format_minus(cell) for cell in row] for row in zip(*columns.values(), strict=True)]
    return {"headings": list(columns), "rows": rows}


def _build_headings(fit: AnyFitResult, table: pd.DataFrame) -> list[str]:
    """Return the headings of the table of coefficients or constants; intervals have those of the terminal."""
    names = {"low": format_low_heading(fit.record), "high": "to"}
    return [escape_control_chars(names.get(str(name), str(name))) for name in table.columns]


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
        return _format_minus(f"{value:.{_DIGITS}g}")
    return escape_control_chars(str(value))


def _format_minus(text: str) -> str:
    """Replace the hyphens of a number by minus signs."""
    return text.replace("-", "−")
