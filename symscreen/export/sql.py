"""Formulas as SQL expressions: standard, and as SQLite and DuckDB have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.export.gates import NO_GATES
from symscreen.export.source import Language, task_of, whole
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.export.gates import Gate
    from symscreen.export.source import Formulas, Task
    from symscreen.grammar import Operator

__all__ = ["to_duckdb", "to_sql", "to_sqlite"]


def _number(value: float) -> str:
    # with an exponent it is a double everywhere; 2.5 alone would be a decimal
    text = repr(value)
    return text if "e" in text else f"{text.removesuffix('.0')}e0"


_LARGEST = "1.797e308"
_STANDARD = Language(
    "standard SQL",
    ("sql",),
    _number,
    f"CASE WHEN {{0}} BETWEEN -{_LARGEST} AND {_LARGEST} THEN {{0}} END",
    finite_inputs=False,
    nan_lasts=False,
)
_SQLITE = Language(
    "SQLite", ("sqlite", "sql"), _number, "NULLIF(NULLIF({0}, 9e999), -9e999)", finite_inputs=False
)
_DUCKDB = Language(
    "DuckDB",
    ("duckdb", "sql"),
    _number,
    "CASE WHEN isfinite({0}) THEN {0} END",
    finite_inputs=False,
    nan_lasts=False,
)
_DOUBLES = {_STANDARD: "DOUBLE PRECISION", _SQLITE: "REAL", _DUCKDB: "DOUBLE"}


def to_sql(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    gates: Mapping[str, Gate] = NO_GATES,
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
    >>> from symscreen.expression import parse
    >>> print(to_sql(parse("cos(`flow rate`)")))
    CASE WHEN COS(CAST("flow rate" AS DOUBLE PRECISION)) BETWEEN -1.797e308 AND 1.797e308
    THEN COS(CAST("flow rate" AS DOUBLE PRECISION)) END
    """
    return _sql(task_of(formulas, operators, gates), names or {}, _STANDARD)


def to_sqlite(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    gates: Mapping[str, Gate] = NO_GATES,
) -> str:
    """Write formulas for SQLite, 3.35 or newer, built with its mathematical functions.

    Parameters, what is returned and errors are those of `to_sql`; NULL where a formula is undefined. Names
    stand in backticks, for SQLite takes a name in double quotes that no column has for a text.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> print(to_sqlite(parse("sin(a) - cos(b)"), names={"b": "B `side`"}))
    SIN(CAST(`a` AS REAL)) - COS(CAST(`B ``side``` AS REAL))
    """
    return _sql(task_of(formulas, operators, gates), names or {}, _SQLITE)


def to_duckdb(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    gates: Mapping[str, Gate] = NO_GATES,
) -> str:
    r"""Write formulas for DuckDB.

    Parameters, what is returned and errors are those of `to_sql`; NULL where a formula is undefined.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> print(to_duckdb([parse("sin(`a b`)")]).partition(' AS "')[0])
    CASE WHEN isfinite(SIN(CAST("a b" AS DOUBLE))) THEN SIN(CAST("a b" AS DOUBLE)) END
    """
    return _sql(task_of(formulas, operators, gates), names or {}, _DUCKDB)


def _sql(task: Task, names: Mapping[str, str], language: Language) -> str:
    called = {name: names.get(name, name) for name in task.columns}
    _check_apart(list(called.values()), language)
    kind = _DOUBLES[language]
    plain = {name: _quoted(other, language) for name, other in called.items()}
    numbers = {name: f"CAST({text} AS {kind})" for name, text in plain.items()}
    own = {
        name: _gated(task.gates[name], plain, numbers, language) if name in task.gates else numbers[name]
        for name in task.inputs
    }
    texts = [whole(expression, language, own) for expression in task.expressions]
    if task.functions[0] in {"feature", "model"}:
        return texts[0]
    return ",\n".join(
        f"{text} AS {_quoted(label, language)}" for text, label in zip(texts, task.labels, strict=True)
    )


def _gated(gate: Gate, plain: Mapping[str, str], numbers: Mapping[str, str], language: Language) -> str:
    """Write ``1[c = level]``, times a column where one passes; a blank text is missing."""
    if isinstance(gate.level, str):
        column = plain[gate.column]
        same = f"{column} = {_literal(gate.level, language)}"
        same += " COLLATE BINARY" if language is _SQLITE else ""
        missing, there = f"WHEN TRIM({column}) = '' THEN NULL ", f"{column} IS NOT NULL"
    else:
        column, missing = numbers[gate.column], ""
        same = f"{column} = {_number(float(gate.level))}"
        there = f"isfinite({column})" if language is _DUCKDB else f"{column} IS NOT NULL"
    test = f"(CASE {missing}WHEN {same} THEN 1e0 WHEN {there} THEN 0e0 END)"
    return test if gate.passes is None else f"({numbers[gate.passes]}*{test})"


def _literal(text: str, language: Language) -> str:
    if "\0" in text or any("\ud800" <= mark <= "\udfff" for mark in text):
        raise OutputError(f"the level {text!r} cannot be written in {language.title}")
    return "'" + text.replace("'", "''") + "'"


def _check_apart(names: Sequence[str], language: Language) -> None:
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


def _quoted(name: str, language: Language) -> str:
    if not name or "\0" in name or any("\ud800" <= mark <= "\udfff" for mark in name):
        raise OutputError(
            f"the column {name!r} cannot be named in {language.title}; say what it is called there"
        )
    quote = "`" if language is _SQLITE else '"'
    return quote + name.replace(quote, quote * 2) + quote
