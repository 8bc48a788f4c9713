"""Write formulas as SQL expressions: standard SQL, SQLite and DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from symscreen.errors import OutputError
from symscreen.export.source import Language, build_export_job, is_valid_text, render_expression

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.data import LevelIndicator
    from symscreen.export.source import ExportJob, ExportOptions, Formulas

_MAX_DOUBLE = "1.797e308"


def _format_number(value: float) -> str:
    """Write a number with an exponent, so that it is a double everywhere; 2.5 would be a decimal."""
    text = repr(value)
    return text if "e" in text else f"{text.removesuffix('.0')}e0"


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


def to_sql(formulas: Formulas, **options: Unpack[ExportOptions]) -> str:
    """Write formulas as standard SQL (ISO 9075, with the functions of the 2016 edition).

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    **options
        ``names``: names of the columns in the database, if they differ. ``operators`` and ``indicators``: see
        `symscreen.export.source.ExportOptions`.

    Returns
    -------
    str
        The text between SELECT and FROM: one expression, or one expression per line with the text of the
        formula as column name. The value is NULL where the formula is undefined or an input is NULL. Some
        engines stop with an error on overflow. Every column is cast to double, so that integer columns are
        not divided as integers.

    Raises
    ------
    OutputError
        If a formula cannot be written; the message gives the reason. Standard SQL has no ``erf`` and no
        ``asinh``.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_sql(parse_expression("cos(`flow rate`)")))
    CASE WHEN COS(CAST("flow rate" AS DOUBLE PRECISION)) BETWEEN -1.797e308 AND 1.797e308
    THEN COS(CAST("flow rate" AS DOUBLE PRECISION)) END
    """
    return _write_sql(build_export_job(formulas, **options), _STANDARD)


def to_sqlite(formulas: Formulas, **options: Unpack[ExportOptions]) -> str:
    """Write formulas for SQLite 3.35 or newer, built with its mathematical functions.

    See `to_sql` for the parameters, the returned text and the errors. Names are quoted with backticks,
    because SQLite reads a double-quoted name that matches no column as a text.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_sqlite(parse_expression("sin(a) - cos(b)"), names={"b": "B `side`"}))
    SIN(CAST(`a` AS REAL)) - COS(CAST(`B ``side``` AS REAL))
    """
    return _write_sql(build_export_job(formulas, **options), _SQLITE)


def to_duckdb(formulas: Formulas, **options: Unpack[ExportOptions]) -> str:
    r"""Write formulas for DuckDB.

    See `to_sql` for the parameters, the returned text and the errors.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_duckdb([parse_expression("sin(`a b`)")]).partition(' AS "')[0])
    CASE WHEN isfinite(SIN(CAST("a b" AS DOUBLE))) THEN SIN(CAST("a b" AS DOUBLE)) END
    """
    return _write_sql(build_export_job(formulas, **options), _DUCKDB)


def _write_sql(job: ExportJob, language: Language) -> str:
    """Write the expressions of a job: a bare expression if there is one, else a list with column aliases."""
    _check_distinct_names(list(job.names.values()), language)
    quoted = {name: _quote_name(column_name, language) for name, column_name in job.names.items()}
    numeric = {name: f"CAST({text} AS {_DOUBLE_TYPES[language]})" for name, text in quoted.items()}
    inputs = {
        name: _format_indicator(job.indicators[name], quoted, numeric, language)
        if name in job.indicators
        else numeric[name]
        for name in job.inputs
    }
    texts = [render_expression(expression, language, inputs) for expression in job.expressions]
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
    """Write ``1[column = level]``, times the gated column if there is one. A blank text is missing."""
    if isinstance(indicator.level, str):
        column = quoted_columns[indicator.column]
        equality = f"{column} = {_format_literal(indicator.level, language)}"
        equality += " COLLATE BINARY" if language is _SQLITE else ""
        missing_case, is_present = f"WHEN TRIM({column}) = '' THEN NULL ", f"{column} IS NOT NULL"
    else:
        column, missing_case = numeric_columns[indicator.column], ""
        equality = f"{column} = {_format_number(float(indicator.level))}"
        is_present = f"isfinite({column})" if language is _DUCKDB else f"{column} IS NOT NULL"
    test = f"(CASE {missing_case}WHEN {equality} THEN 1e0 WHEN {is_present} THEN 0e0 END)"
    return test if indicator.gated_column is None else f"({numeric_columns[indicator.gated_column]}*{test})"


def _format_literal(text: str, language: Language) -> str:
    if not is_valid_text(text):
        raise OutputError(f"the level {text!r} cannot be written in {language.title}")
    return "'" + text.replace("'", "''") + "'"


def _check_distinct_names(names: Sequence[str], language: Language) -> None:
    """Reject names that differ only in case; standard SQL distinguishes them if they are quoted."""
    if language is _STANDARD:
        return
    folded: dict[str, str] = {}
    for name in names:
        first_name = folded.setdefault(name.lower(), name)
        if first_name != name:
            raise OutputError(
                f"the columns {first_name!r} and {name!r} are the same in {language.title}, which ignores "
                "case; give them other names"
            )


def _quote_name(name: str, language: Language) -> str:
    if not name or not is_valid_text(name):
        raise OutputError(
            f"{name!r} is not a valid column name in {language.title}; give the column another name"
        )
    quote = "`" if language is _SQLITE else '"'
    return quote + name.replace(quote, quote * 2) + quote
