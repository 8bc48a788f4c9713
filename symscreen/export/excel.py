"""Formulas as Excel formulas of plain cell references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.export.source import (
    NO_INDICATORS,
    Language,
    build_export_job,
    find_column_types,
    render_expression,
)
from symscreen.expressions.tree import collect_columns
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.export.source import Formulas, LevelIndicator
    from symscreen.grammar import Operator


__all__ = ["to_excel"]

_CELL_PATTERN = re.compile(r"(\$?)([A-Z]{1,3})(\$?)([1-9][0-9]{0,6})")
_LAST_COLUMN, _LAST_ROW = 16_384, 1_048_576  # XFD1048576
_MAX_COUNT_ARGUMENTS = 255  # arguments of a function


def _format_number(value: float) -> str:
    if abs(value) >= 1e308 or 0 < abs(value) < 2.2251e-308:
        raise ValueError("it has numbers from 2.2251E-308 to 9.99E+307")
    return repr(value).removesuffix(".0").upper()


_EXCEL = Language("Excel", ("excel",), _format_number, "", has_finite_inputs=True, max_characters=8_192)


def to_excel(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> str:
    """Write formulas for Excel, LibreOffice and their like.

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    names : mapping of str to str, optional
        The cell of each column in the first row of data, ``{"x1": "B2"}``; by default the inputs stand in A2,
        B2, … in the order of their names. To be filled downwards, the rows are to be relative.
    operators : mapping of str to Operator
        The grammar's operators; needed where a definition calls others.
    gates : mapping of str to Gate
        Which columns came of categories: they are computed there from their own columns.

    Returns
    -------
    str
        A formula, or one a line, that begins with ``=``. An error (#N/A, #NUM!, #DIV/0!) where the formula is
        undefined, or where a cell is empty or no number. No column's name is in it.

    Raises
    ------
    OutputError
        If a name is no cell, or a formula cannot be written: it is longer than 8,192 letters, or holds a
        number beyond Excel's.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> to_excel(parse_expression("x1 - cos(x2)/x1"))
    '=IF(COUNT(A2,B2)<2,NA(),A2 - COS(B2)/A2)'
    >>> to_excel(parse_expression("x1**2"), names={"x1": "=cmd|' /C calc'!A0"})
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: "=cmd|' /C calc'!A0" is no cell for 'x1'; write it as B2 or $B2
    """
    task = build_export_job(formulas, operators, indicators)
    cells_of = {
        name: _check_cell(name, (names or {}).get(name, f"{_format_column_letters(place)}2"))
        for place, name in enumerate(task.columns, start=1)
    }
    own = {
        name: _format_indicator(task.indicators[name], cells_of)
        if name in task.indicators
        else cells_of[name]
        for name in task.inputs
    }
    lines = []
    for expression in task.expressions:
        text = render_expression(expression, _EXCEL, own)
        named = sorted(collect_columns(expression))
        cells = [
            cells_of[name]
            for name, kind in sorted(find_column_types(named, task.indicators).items())
            if kind is float
        ]
        if len(cells) > _MAX_COUNT_ARGUMENTS:
            raise OutputError(f"the formula has {len(cells)} inputs; in Excel at most {_MAX_COUNT_ARGUMENTS}")
        if cells:  # an empty cell would count as 0, and a text as what it reads as
            text = f"IF(COUNT({','.join(cells)})<{len(cells)},NA(),{text})"
        if len(text) >= _EXCEL.max_characters:
            raise OutputError(
                f"the formula comes to {len(text) + 1:,} letters; Excel reads {_EXCEL.max_characters:,}"
            )
        lines.append(f"={text}")
    return "\n".join(lines)


def _format_indicator(indicator: LevelIndicator, cells: Mapping[str, str]) -> str:
    cell = cells[indicator.column]
    if isinstance(indicator.level, str):
        test = f'IF(TRIM({cell})="",NA(),IF(EXACT({cell},{_format_literal(indicator.level)}),1,0))'
    else:
        test = f"IF({cell}={_format_number(float(indicator.level))},1,0)"
    return test if indicator.gated_column is None else f"({cells[indicator.gated_column]}*{test})"


def _format_literal(text: str) -> str:
    """Write a text in pieces, for quotes hold 255 letters; what is no ASCII by its number."""
    if "\0" in text or any("\ud800" <= mark <= "\udfff" for mark in text):
        raise OutputError(f"the level {text!r} cannot be written in Excel")
    parts = re.findall(r"[ -~]{1,100}|.", text, re.DOTALL)
    quoted = (
        '"' + part.replace('"', '""') + '"' if " " <= part[0] <= "~" else f"UNICHAR({ord(part)})"
        for part in parts
    )
    return "&".join(quoted) or '""'


def _format_column_letters(column_number: int) -> str:
    text = ""
    while column_number:
        column_number, digit = divmod(column_number - 1, 26)
        text = chr(ord("A") + digit) + text
    return text


def _check_cell(name: str, cell: str) -> str:
    match = _CELL_PATTERN.fullmatch(cell)
    if match is not None:
        column = 0
        for letter in match[2]:
            column = column * 26 + ord(letter) - ord("A") + 1
        if column <= _LAST_COLUMN and int(match[4]) <= _LAST_ROW:
            return cell
    raise OutputError(f"{cell!r} is no cell for {name!r}; write it as B2 or $B2")
