"""Formulas as SQL expressions: standard, and as SQLite and DuckDB have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.export.source import NO_INDICATORS, Language, build_export_job, render_expression
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.export.source import ExportJob, Formulas, LevelIndicator
    from symscreen.grammar import Operator


__all__ = ["to_duckdb", "to_sql", "to_sqlite"]


def _format_number(value: float) -> str:
    # with an exponent it is a double everywhere; 2.5 alone would be a decimal
    text = repr(value)
    return text if "e" in text else f"{text.removesuffix('.0')}e0"


_MAX_DOUBLE = "1.797e308"
_STANDARD = Language(
    "standard SQL",
    ("sql",),
    _format_number,
    f"CASE WHEN {{0}} BETWEEN -{_MAX_DOUBLE} AND {_MAX_DOUBLE} THEN {{0}} END",
    has_finite_inputs=False,
    propagates_nan=False,
)
_SQLITE = Language(
    "SQLite", ("sqlite", "sql"), _format_number, "NULLIF(NULLIF({0}, 9e999), -9e999)", has_finite_inputs=False
)
_DUCKDB = Language(
    "DuckDB",
    ("duckdb", "sql"),
    _format_number,
    "CASE WHEN isfinite({0}) THEN {0} END",
    has_finite_inputs=False,
    propagates_nan=False,
)
_DOUBLE_TYPES = {_STANDARD: "DOUBLE PRECISION", _SQLITE: "REAL", _DUCKDB: "DOUBLE"}


def to_sql(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> str:
    """Write formulas as standard SQL (ISO 9075, with the functions of 2016).

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    names : mapping of str to str, optional
        What columns are called in the database, where that is something else.
    operators : mapping of str to Operator
        The grammar's operators; needed where a definition calls others.
    gates : mapping of str to Gate
        Which columns came of categories: they are computed there from their own columns.

    Returns
    -------
    str
        What stands between SELECT and FROM: an expression, or one a line with its text as the new column's
        name. NULL where the formula is undefined or an input is NULL; where numbers overflow, some engines
        stop with an error. Every column is cast to a double, so that whole numbers divide as numbers do.

    Raises
    ------
    OutputError
        If a formula cannot be written; the message says why: there is no ``erf`` and no ``asinh``.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_sql(parse_expression("cos(`flow rate`)")))
    CASE WHEN COS(CAST("flow rate" AS DOUBLE PRECISION)) BETWEEN -1.797e308 AND 1.797e308
    THEN COS(CAST("flow rate" AS DOUBLE PRECISION)) END
    """
    return _write_sql(build_export_job(formulas, operators, indicators), names or {}, _STANDARD)


def to_sqlite(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> str:
    """Write formulas for SQLite, 3.35 or newer, built with its mathematical functions.

    Parameters, what is returned and errors are those of `to_sql`; NULL where a formula is undefined. Names
    stand in backticks, for SQLite takes a name in double quotes that no column has for a text.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_sqlite(parse_expression("sin(a) - cos(b)"), names={"b": "B `side`"}))
    SIN(CAST(`a` AS REAL)) - COS(CAST(`B ``side``` AS REAL))
    """
    return _write_sql(build_export_job(formulas, operators, indicators), names or {}, _SQLITE)


def to_duckdb(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> str:
    r"""Write formulas for DuckDB.

    Parameters, what is returned and errors are those of `to_sql`; NULL where a formula is undefined.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_duckdb([parse_expression("sin(`a b`)")]).partition(' AS "')[0])
    CASE WHEN isfinite(SIN(CAST("a b" AS DOUBLE))) THEN SIN(CAST("a b" AS DOUBLE)) END
    """
    return _write_sql(build_export_job(formulas, operators, indicators), names or {}, _DUCKDB)


def _write_sql(job: ExportJob, names: Mapping[str, str], language: Language) -> str:
    called = {name: names.get(name, name) for name in job.columns}
    _check_distinct_names(list(called.values()), language)
    kind = _DOUBLE_TYPES[language]
    plain = {name: _quote_name(other, language) for name, other in called.items()}
    numbers = {name: f"CAST({text} AS {kind})" for name, text in plain.items()}
    own = {
        name: _format_indicator(job.indicators[name], plain, numbers, language)
        if name in job.indicators
        else numbers[name]
        for name in job.inputs
    }
    texts = [render_expression(expression, language, own) for expression in job.expressions]
    if job.function_names[0] in {"feature", "model"}:
        return texts[0]
    return ",\n".join(
        f"{text} AS {_quote_name(label, language)}" for text, label in zip(texts, job.labels, strict=True)
    )


def _format_indicator(
    indicator: LevelIndicator,
    quoted_columns: Mapping[str, str],
    numeric_columns: Mapping[str, str],
    language: Language,
) -> str:
    """Write ``1[c = level]``, times a column where one passes; a blank text is missing."""
    if isinstance(indicator.level, str):
        column = quoted_columns[indicator.column]
        same = f"{column} = {_format_literal(indicator.level, language)}"
        same += " COLLATE BINARY" if language is _SQLITE else ""
        missing, there = f"WHEN TRIM({column}) = '' THEN NULL ", f"{column} IS NOT NULL"
    else:
        column, missing = numeric_columns[indicator.column], ""
        same = f"{column} = {_format_number(float(indicator.level))}"
        there = f"isfinite({column})" if language is _DUCKDB else f"{column} IS NOT NULL"
    test = f"(CASE {missing}WHEN {same} THEN 1e0 WHEN {there} THEN 0e0 END)"
    return test if indicator.gated_column is None else f"({numeric_columns[indicator.gated_column]}*{test})"


def _format_literal(text: str, language: Language) -> str:
    if "\0" in text or any("\ud800" <= mark <= "\udfff" for mark in text):
        raise OutputError(f"the level {text!r} cannot be written in {language.title}")
    return "'" + text.replace("'", "''") + "'"


def _check_distinct_names(names: Sequence[str], language: Language) -> None:
    if language is _STANDARD:
        return
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.lower(), name)
        if other != name:
            raise OutputError(
                f"the columns {other!r} and {name!r} are one in {language.title}, where case does not count; "
                "say what they are called there"
            )


def _quote_name(name: str, language: Language) -> str:
    if not name or "\0" in name or any("\ud800" <= mark <= "\udfff" for mark in name):
        raise OutputError(
            f"the column {name!r} cannot be named in {language.title}; say what it is called there"
        )
    quote = "`" if language is _SQLITE else '"'
    return quote + name.replace(quote, quote * 2) + quote
