"""The export formats, and the function that exports any result or formula in one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from symscreen.data import NO_INDICATORS
from symscreen.errors import FormulaError, OptionError, OutputError
from symscreen.export.c_source import to_c
from symscreen.export.excel import to_excel
from symscreen.export.matlab import to_matlab
from symscreen.export.numpy_source import to_numpy
from symscreen.export.operator_definitions import build_operators
from symscreen.export.source import (
    build_indicators_from_record,
    find_column_types,
    keep_level_indicators,
)
from symscreen.export.sql import to_duckdb, to_sql, to_sqlite
from symscreen.expressions.grouped_formula import GroupedFormula
from symscreen.expressions.linear_formula import Formula, SharedFormula
from symscreen.expressions.printing import format_column_latex, to_latex
from symscreen.expressions.system_formula import SystemFormula
from symscreen.expressions.traversal import collect_indicators, collect_inputs
from symscreen.grammar import OPERATORS
from symscreen.messages import suggest
from symscreen.units import convert_to_original_units

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.data import DerivedColumn
    from symscreen.export.source import ExportOptions, Formulas
    from symscreen.grammar import Operator
    from symscreen.results.screen_result import ScreenResult

_LATEX_DIGITS = 4  # significant digits of fitted numbers


class _FormulaWriter(Protocol):
    def __call__(self, formulas: Formulas, **options: Unpack[ExportOptions]) -> str: ...


class FittedModel(Protocol):
    """The attributes of a fit result that the export needs (see `symscreen.results.fit_result.FitResult`)."""

    @property
    def formula_in_original_units(self) -> Formula | SharedFormula | GroupedFormula:
        """The fitted formula, in the units of the user's table."""

    @property
    def operators(self) -> Mapping[str, Operator]:
        """The operators of its grammar, by name."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format in which formulas can be written.

    Parameters
    ----------
    name : str
        The name that users type.
    summary : str
        One line for listings.
    undefined_value : str
        The value of an exported formula where it is undefined.
    write : callable
        ``write(formulas, **options)`` with the options of `ExportOptions`, such as `to_sql`.
    """

    name: str
    summary: str
    undefined_value: str
    write: _FormulaWriter


def _write_latex(formulas: Formulas, **options: Unpack[ExportOptions]) -> str:
    # The name of a defined operator is printed upright, without its definition.
    if options.get("names"):
        raise OutputError("LaTeX shows the original column names; names cannot be changed")
    return _format_latex(formulas, _LATEX_DIGITS)


def _format_latex(formulas: Formulas, digits: int) -> str:
    if isinstance(formulas, Formula | GroupedFormula):
        return formulas.to_latex(digits)
    if isinstance(formulas, SharedFormula):
        return "\n".join(
            f"{format_column_latex(formula.target)} = {formula.to_latex(digits)}"
            for formula in formulas.formulas
        )
    expressions = formulas if isinstance(formulas, (tuple, list)) else (formulas,)
    return "\n".join(to_latex(expression, digits) for expression in expressions)


def _write_sympy(formulas: Formulas, **options: Unpack[ExportOptions]) -> str:
    import sympy

    from symscreen.expressions.sympy_conversion import to_sympy

    if options.get("names"):
        raise OutputError("sympy symbols have the original column names; names cannot be changed")
    if isinstance(formulas, Formula | SharedFormula):
        models = (formulas,) if isinstance(formulas, Formula) else formulas.formulas
        forms = [model.to_sympy() for model in models]
    else:
        expressions = formulas if isinstance(formulas, (tuple, list)) else (formulas,)
        forms = [to_sympy(expression) for expression in expressions]
    # Any other order compares the terms by value, which cannot be computed for towers of powers.
    return "\n".join(sympy.srepr(form, order="none") for form in forms)


EXPORT_FORMATS: dict[str, ExportFormat] = {
    export_format.name: export_format
    for export_format in (
        ExportFormat("numpy", "a Python module with numpy", "NaN", to_numpy),
        ExportFormat("sql", "expressions of standard SQL", "NULL", to_sql),
        ExportFormat("sqlite", "expressions for SQLite", "NULL", to_sqlite),
        ExportFormat("duckdb", "expressions for DuckDB", "NULL", to_duckdb),
        ExportFormat("c", "C functions of doubles", "NaN", to_c),
        ExportFormat("excel", "Excel formulas of cells", "#N/A, #NUM! or #DIV/0!", to_excel),
        ExportFormat("matlab", "a function file for MATLAB and Octave", "NaN", to_matlab),
        ExportFormat("latex", "LaTeX, for reading", "", _write_latex),
        ExportFormat("sympy", "sympy expressions (srepr)", "as in sympy", _write_sympy),
    )
}


def export_formulas(
    source: ScreenResult | FittedModel | Formulas,
    export_format: str,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, DerivedColumn] = NO_INDICATORS,
    digits: int | None = None,
) -> str:
    """Write the formulas of a result, or formulas themselves, in another language.

    Parameters
    ----------
    source : ScreenResult, FitResult, SharedFitResult, Formula, SharedFormula, or one or more Expression
        The features of a ranking, a model, models of several targets, or one or more features.
    export_format : str
        A key of `EXPORT_FORMATS`.
    names : mapping of str to str, optional
        Names of the columns in the target language, or their cells.
    operators : mapping of str to Operator
        The operators of the grammar. They are needed if the definition of one operator calls another. Results
        carry their own operators.
    indicators : mapping of str to DerivedColumn
        Inputs that are derived from categorical columns, as `build_indicators_from_record` returns them.
        Results carry their own indicators.
    digits : int, optional
        Significant digits of fitted numbers in LaTeX (default 4). All other formats write every digit.

    Returns
    -------
    str
        The text; see the writer of the format, such as `to_sql`.

    Raises
    ------
    OptionError
        If the format is unknown, a name is given for a column that no formula needs, or `digits` is given for
        a format that writes every digit.
    OutputError
        If a formula cannot be written in the format; the message gives the reason.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> export_formulas(parse_expression("x1**2"), "excel", names={"x1": "C5"})
    '=IF(COUNT(C5)<1,NA(),C5^2)'
    """
    if export_format not in EXPORT_FORMATS:
        raise OptionError(f"there is no format {export_format!r}{suggest(export_format, EXPORT_FORMATS)}")
    formulas, operators, indicators = extract_formulas(source, operators, indicators)
    if isinstance(formulas, GroupedFormula) and export_format == "sympy":
        formulas = formulas.form  # constants that vary are symbols
    _check_names(names, formulas, indicators)
    if digits is not None and export_format != "latex":
        raise OptionError(f"digits are only for latex; {export_format} is written with every digit")
    if digits is not None and not names:
        return _format_latex(formulas, digits)
    return EXPORT_FORMATS[export_format].write(
        formulas, names=names, operators=operators, indicators=indicators
    )


def extract_formulas(
    source: ScreenResult | FittedModel | Formulas,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, DerivedColumn] = NO_INDICATORS,
) -> tuple[Formulas, Mapping[str, Operator], Mapping[str, DerivedColumn]]:
    """Get the formulas of a result, in terms of the columns in their original units.

    Parameters
    ----------
    source, operators, indicators
        See `export_formulas`.

    Returns
    -------
    formulas : Expression, Formula, SharedFormula or sequence of Expression
        The formulas. Formulas of a result with units are converted to the original units of the columns.
    operators : mapping of str to Operator
        The operators of the result, or those that were passed.
    indicators : mapping of str to DerivedColumn
        The indicators of the result, or those that were passed.
    """
    # Results are recognised by their attributes: importing their classes would load most of the package.
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
    formulas: Any = source.rates if isinstance(source, SystemFormula) else source
    return formulas, operators, indicators


def _check_names(
    names: Mapping[str, str] | None, formulas: Formulas, indicators: Mapping[str, DerivedColumn]
) -> None:
    """Check that a formula needs each column for which a name is given."""
    expressions: Any = formulas
    if isinstance(formulas, Formula | SharedFormula | GroupedFormula):
        expressions = formulas.terms
    if not isinstance(expressions, (tuple, list)):
        expressions = (expressions,)
    known = keep_level_indicators({**collect_indicators(expressions), **indicators})
    required = find_column_types(collect_inputs(expressions), known) if names else {}
    for name in names or {}:
        if name not in required:
            raise OptionError(f"no formula needs a column {name!r}{suggest(name, required)}")


def build_operators_from_record(record: Mapping[str, Any]) -> dict[str, Operator]:
    """Build the operators that the formulas of a screen may call from its record.

    Parameters
    ----------
    record : mapping
        The record of a result (`ScreenResult.record`). Operators that it does not mention are the built-in
        ones.

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
        costs, formulas = grammar.get("costs", {}), grammar.get("define", {})
        definitions = {name: {"formula": text, "cost": costs[name]} for name, text in formulas.items()}
        return build_operators(definitions, {name: cost for name, cost in costs.items() if name in OPERATORS})
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormulaError(f"the operators in the record cannot be read: {error}") from None
