"""Write formulas as Excel formulas with plain cell references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Unpack

from symscreen.errors import OutputError
from symscreen.export.source import (
    Language,
    build_export_job,
    find_column_types,
    is_valid_text,
    render_expression,
)
from symscreen.expressions.traversal import collect_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from symscreen.data import LevelIndicator
    from symscreen.export.source import ExportOptions, Formulas


_CELL_PATTERN = re.compile(r"(\$?)([A-Z]{1,3})(\$?)([1-9][0-9]{0,6})")
_LAST_COLUMN, _LAST_ROW = 16_384, 1_048_576  # the last cell is XFD1048576
_MAX_COUNT_ARGUMENTS = 255  # arguments of one function call


def _format_number(value: float) -> str:
    if abs(value) >= 1e308 or 0 < abs(value) < 2.2251e-308:
        raise ValueError("its numbers range from 2.2251E-308 to 9.99E+307")
    return repr(value).removesuffix(".0").upper()


_EXCEL = Language("Excel", ("excel",), _format_number, "", has_finite_inputs=True, max_characters=8_192)


def list_default_cells(columns: Iterable[str]) -> dict[str, str]:
    """Return the cell of each column in the first data row, by default.

    Examples
    --------
    >>> list_default_cells(["speed", "time"])
    {'speed': 'A2', 'time': 'B2'}
    """
    return {name: f"{_format_column_letters(number)}2" for number, name in enumerate(columns, start=1)}


def to_excel(formulas: Formulas, **options: Unpack[ExportOptions]) -> str:
    """Write formulas for Excel, LibreOffice and similar spreadsheets.

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
    **options
        ``names``: the cell of each column in the first data row, such as ``{"x1": "B2"}``. By default the
        inputs are in A2, B2, … in the order of their names. Use relative rows if the formula will be filled
        down. ``operators`` and ``indicators``: see `symscreen.export.source.ExportOptions`.

    Returns
    -------
    str
        One formula per line, each starting with ``=``. The value is an error (#N/A, #NUM!, #DIV/0!) where the
        formula is undefined, or where a cell is empty or not a number. The text contains no column names.

    Raises
    ------
    OutputError
        If a name is not a cell, or a formula cannot be written: it is longer than 8,192 characters, or
        contains a number outside Excel's range.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> to_excel(parse_expression("x1 - cos(x2)/x1"))
    '=IF(COUNT(A2,B2)<2,NA(),A2 - COS(B2)/A2)'
    >>> to_excel(parse_expression("x1**2"), names={"x1": "=cmd|' /C calc'!A0"})
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: "=cmd|' /C calc'!A0" is not a cell reference (column 'x1');
    write it as B2 or $B2
    """
    job = build_export_job(formulas, **options)
    names = options.get("names") or {}
    cells = {
        name: _check_cell(name, names.get(name, cell))
        for name, cell in list_default_cells(job.columns).items()
    }
    inputs = {
        name: _format_indicator(job.indicators[name], cells) if name in job.indicators else cells[name]
        for name in job.inputs
    }
    lines = []
    for expression in job.expressions:
        text = render_expression(expression, _EXCEL, inputs)
        types = find_column_types(sorted(collect_columns(expression)), job.indicators)
        numeric_cells = [cells[name] for name, column_type in sorted(types.items()) if column_type is float]
        n_cells = len(numeric_cells)
        if n_cells > _MAX_COUNT_ARGUMENTS:
            raise OutputError(f"the formula has {n_cells} inputs; Excel allows {_MAX_COUNT_ARGUMENTS}")
        if n_cells:  # without the check an empty cell would be 0, and a text would be converted to a number
            text = f"IF(COUNT({','.join(numeric_cells)})<{n_cells},NA(),{text})"
        if len(text) >= _EXCEL.max_characters:
            raise OutputError(
                f"the formula has {len(text) + 1:,} characters; Excel allows {_EXCEL.max_characters:,}"
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
    """Write a text in quoted pieces of at most 100 characters (the limit is 255); non-ASCII by code point."""
    if not is_valid_text(text):
        raise OutputError(f"the level {text!r} cannot be written in Excel")
    parts = re.findall(r"[ -~]{1,100}|.", text, re.DOTALL)
    quoted = (
        '"' + part.replace('"', '""') + '"' if " " <= part[0] <= "~" else f"UNICHAR({ord(part)})"
        for part in parts
    )
    return "&".join(quoted) or '""'


def _format_column_letters(column_number: int) -> str:
    """Write a column number (from 1) in letters: A to Z, AA, AB and so on."""
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
    raise OutputError(f"{cell!r} is not a cell reference (column {name!r}); write it as B2 or $B2")
