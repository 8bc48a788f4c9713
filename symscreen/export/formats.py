"""All targets of the exports, and whatever holds formulas written for one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from symscreen.errors import FormulaError, OptionError, OutputError, suggest
from symscreen.export.c_source import to_c
from symscreen.export.excel import to_excel
from symscreen.export.matlab import to_matlab
from symscreen.export.numpy_source import to_numpy
from symscreen.export.operator_definitions import build_operators
from symscreen.export.source import NO_INDICATORS, build_indicators_from_record, find_required_columns
from symscreen.export.sql import to_duckdb, to_sql, to_sqlite
from symscreen.expressions.latex import format_column_latex, to_latex
from symscreen.expressions.linear_formula import Formula, SharedFormula
from symscreen.expressions.traversal import collect_inputs
from symscreen.grammar import OPERATORS
from symscreen.units import convert_to_original_units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.export.source import Formulas, LevelIndicator
    from symscreen.grammar import Operator
    from symscreen.results.screen_result import ScreenResult


__all__ = [
    "EXPORT_FORMATS",
    "ExportFormat",
    "build_operators_from_record",
    "export_formulas",
    "extract_formulas",
]


class _FormulaWriter(Protocol):
    def __call__(
        self,
        formulas: Formulas,
        *,
        names: Mapping[str, str] | None = None,
        operators: Mapping[str, Operator] = OPERATORS,
        indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
    ) -> str: ...


_LATEX_DIGITS = 4


class FittedModel(Protocol):
    """What a fit returns, as far as it matters here."""

    @property
    def formula_in_original_units(
        self,
    ) -> Formula | SharedFormula: ...  # told in `symscreen.results.fit_result.FitResult`
    @property
    def operators(self) -> Mapping[str, Operator]: ...


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A language that formulas can be written in.

    Parameters
    ----------
    name : str
        As users type it.
    summary : str
        One line for a listing.
    outside : str
        What it gives where a formula is undefined.
    write : callable
        ``write(formulas, *, names=None, operators=OPERATORS)``, such as `to_sql`.
    """

    name: str
    summary: str
    undefined_value: str
    write: _FormulaWriter


def _write_latex(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> str:
    del operators, indicators  # a name that is defined stands as it is, upright
    if names:
        raise OutputError("LaTeX shows the columns' own names; give no others")
    return _format_latex(formulas, _LATEX_DIGITS)


def _format_latex(formulas: Formulas, digits: int) -> str:
    if isinstance(formulas, Formula):
        return formulas.to_latex(digits)
    if isinstance(formulas, SharedFormula):
        return "\n".join(
            f"{format_column_latex(one.target)} = {one.to_latex(digits)}" for one in formulas.formulas
        )
    several = formulas if isinstance(formulas, (tuple, list)) else (formulas,)
    return "\n".join(to_latex(one, digits) for one in several)


def _write_sympy(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> str:
    import sympy

    from symscreen.expressions.tree import to_sympy

    del operators, indicators  # an operator knows its own sympy form
    if names:
        raise OutputError("sympy's symbols are called as the columns are; give no other names")
    if isinstance(formulas, Formula | SharedFormula):
        models = (formulas,) if isinstance(formulas, Formula) else formulas.formulas
        forms = [one.to_sympy() for one in models]
    else:
        forms = [to_sympy(one) for one in (formulas if isinstance(formulas, (tuple, list)) else (formulas,))]
    # in any other order terms are compared by value, and a tower of powers has none that could be computed
    return "\n".join(sympy.srepr(one, order="none") for one in forms)


EXPORT_FORMATS: dict[str, ExportFormat] = {
    target.name: target
    for target in (
        ExportFormat("numpy", "a Python module with numpy", "NaN", to_numpy),
        ExportFormat("sql", "expressions of standard SQL", "NULL", to_sql),
        ExportFormat("sqlite", "expressions for SQLite", "NULL", to_sqlite),
        ExportFormat("duckdb", "expressions for DuckDB", "NULL", to_duckdb),
        ExportFormat("c", "C functions of doubles", "NaN", to_c),
        ExportFormat("excel", "Excel formulas of cells", "#N/A, #NUM! or #DIV/0!", to_excel),
        ExportFormat("matlab", "a function file for MATLAB and Octave", "NaN", to_matlab),
        ExportFormat("latex", "LaTeX, for reading", "", _write_latex),
        ExportFormat("sympy", "what builds the sympy form (srepr)", "whatever sympy says", _write_sympy),
    )
}


def export_formulas(
    source: ScreenResult | FittedModel | Formulas,
    export_format: str,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
    digits: int | None = None,
) -> str:
    """Write whatever holds formulas in another language.

    Parameters
    ----------
    thing : ScreenResult, FitResult, SharedFitResult, Formula, SharedFormula, Expression, or several of these
        All features of a ranking, a model, models of several targets, one feature or several.
    target : str
        One of `TARGETS`.
    names : mapping of str to str, optional
        What columns are called there, or their cells.
    operators : mapping of str to Operator
        The grammar's operators, where a definition calls others; results bring their own.
    gates : mapping of str to Gate
        Which columns came of categories, as `build_indicators_from_record` tells; results bring their own.
    digits : int, optional
        Of fitted numbers in LaTeX, which is for reading: 4 by default. All other targets write every digit.

    Returns
    -------
    str
        The text; what it holds, the target's own function tells.

    Raises
    ------
    OptionError
        If there is no such target, a name is given for a column that no formula needs, or digits for a target
        that writes all of them.
    OutputError
        If a formula cannot be written there; the message says why.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> export_formulas(parse_expression("x1**2"), "excel", names={"x1": "C5"})
    '=IF(COUNT(C5)<1,NA(),C5^2)'
    """
    if export_format not in EXPORT_FORMATS:
        raise OptionError(f"there is no target {export_format!r}{suggest(export_format, EXPORT_FORMATS)}")
    formulas, operators, indicators = extract_formulas(source, operators, indicators)
    _check_names(names, formulas, indicators)
    if digits is not None and export_format != "latex":
        raise OptionError(f"{export_format} is written with every digit: digits are for latex")
    if digits is not None and not names:
        return _format_latex(formulas, digits)
    return EXPORT_FORMATS[export_format].write(
        formulas, names=names, operators=operators, indicators=indicators
    )


def extract_formulas(
    source: ScreenResult | FittedModel | Formulas,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> tuple[Formulas, Mapping[str, Operator], Mapping[str, LevelIndicator]]:
    """Take the formulas out of whatever holds some, written for columns as the data have them.

    Parameters
    ----------
    thing, operators, gates
        As of `exported`.

    Returns
    -------
    formulas : Expression, Formula or sequence of Expression
        Of a result with units: for columns in the units that they came in.
    operators : mapping of str to Operator
    gates : mapping of str to Gate
    """
    held: Any = source
    # known by what they hold: importing their classes would load all that makes them
    if (expressions := getattr(source, "expressions", None)) is not None:
        record = getattr(source, "record", {})
        expressions = convert_to_original_units(expressions, record.get("units"))
        return expressions, build_operators_from_record(record), build_indicators_from_record(record)
    if (formula := getattr(source, "formula_in_original_units", None)) is not None:
        record = getattr(source, "record", {})
        return (
            formula,
            {**OPERATORS, **getattr(source, "operators", {})},
            build_indicators_from_record(record),
        )
    return held, operators, indicators


def _check_names(
    names: Mapping[str, str] | None, formulas: Formulas, indicators: Mapping[str, LevelIndicator]
) -> None:
    expressions: Any = formulas.terms if isinstance(formulas, Formula | SharedFormula) else formulas
    given = expressions if isinstance(expressions, (tuple, list)) else (expressions,)
    needed = find_required_columns(collect_inputs(given), indicators)
    for name in names or {}:
        if name not in needed:
            raise OptionError(f"no formula needs a column {name!r}{suggest(name, needed)}")


def build_operators_from_record(record: Mapping[str, Any]) -> dict[str, Operator]:
    """Build the operators that a screen's formulas may call from its record.

    Parameters
    ----------
    record : mapping
        As `ScreenResult.record` has it; what it does not tell is what ships.

    Returns
    -------
    dict of str to Operator

    Raises
    ------
    FormulaError
        If the record was changed.

    Examples
    --------
    >>> record = {"grammar": {"define": {"gauss": "exp(-x**2)"}, "costs": {"gauss": 2, "exp": 3}}}
    >>> built = build_operators_from_record(record)
    >>> built["gauss"].cost, built["exp"].cost
    (2, 3)
    """
    grammar = record.get("grammar", {})
    try:
        costs, defined = grammar.get("costs", {}), grammar.get("define", {})
        definitions = {name: {"formula": text, "cost": costs[name]} for name, text in defined.items()}
        return build_operators(definitions, {name: cost for name, cost in costs.items() if name in OPERATORS})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormulaError(f"the record's operators cannot be read: {error}") from None
