"""Formulas as Excel formulas of plain cell references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.export.gates import NO_GATES, kinds_of
from symscreen.export.source import Language, task_of, whole
from symscreen.expression import columns_of
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen.export.gates import Gate
    from symscreen.export.source import Formulas
    from symscreen.grammar import Operator

__all__ = ["to_excel"]

_CELL = re.compile(r"(\$?)([A-Z]{1,3})(\$?)([1-9][0-9]{0,6})")
_LAST_COLUMN, _LAST_ROW = 16_384, 1_048_576  # XFD1048576
_MOST_COUNTED = 255  # arguments of a function


def _number(value: float) -> str:
    if abs(value) >= 1e308 or 0 < abs(value) < 2.2251e-308:
        raise ValueError("it has numbers from 2.2251E-308 to 9.99E+307")
    return repr(value).removesuffix(".0").upper()


_EXCEL = Language("Excel", ("excel",), _number, "", finite_inputs=True, most=8_192)


def to_excel(
    formulas: Formulas,
    *,
    names: Mapping[str, str] | None = None,
    operators: Mapping[str, Operator] = OPERATORS,
    gates: Mapping[str, Gate] = NO_GATES,
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
    >>> from symscreen.expression import parse
    >>> to_excel(parse("x1 - cos(x2)/x1"))
    '=IF(COUNT(A2,B2)<2,NA(),A2 - COS(B2)/A2)'
    >>> to_excel(parse("x1**2"), names={"x1": "=cmd|' /C calc'!A0"})
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: "=cmd|' /C calc'!A0" is no cell for 'x1'; write it as B2 or $B2
    """
    task = task_of(formulas, operators, gates)
    cells_of = {
        name: _cell(name, (names or {}).get(name, f"{_letters(place)}2"))
        for place, name in enumerate(task.columns, start=1)
    }
    own = {
        name: _gated(task.gates[name], cells_of) if name in task.gates else cells_of[name]
        for name in task.inputs
    }
    lines = []
    for expression in task.expressions:
        text = whole(expression, _EXCEL, own)
        named = sorted(columns_of(expression))
        cells = [
            cells_of[name] for name, kind in sorted(kinds_of(named, task.gates).items()) if kind is float
        ]
        if len(cells) > _MOST_COUNTED:
            raise OutputError(f"the formula has {len(cells)} inputs; in Excel at most {_MOST_COUNTED}")
        if cells:  # an empty cell would count as 0, and a text as what it reads as
            text = f"IF(COUNT({','.join(cells)})<{len(cells)},NA(),{text})"
        if len(text) >= _EXCEL.most:
            raise OutputError(f"the formula comes to {len(text) + 1:,} letters; Excel reads {_EXCEL.most:,}")
        lines.append(f"={text}")
    return "\n".join(lines)


def _gated(gate: Gate, cells: Mapping[str, str]) -> str:
    cell = cells[gate.column]
    if isinstance(gate.level, str):
        test = f'IF(TRIM({cell})="",NA(),IF(EXACT({cell},{_literal(gate.level)}),1,0))'
    else:
        test = f"IF({cell}={_number(float(gate.level))},1,0)"
    return test if gate.passes is None else f"({cells[gate.passes]}*{test})"


def _literal(text: str) -> str:
    """Write a text in pieces, for quotes hold 255 letters; what is no ASCII by its number."""
    if "\0" in text or any("\ud800" <= mark <= "\udfff" for mark in text):
        raise OutputError(f"the level {text!r} cannot be written in Excel")
    parts = re.findall(r"[ -~]{1,100}|.", text, re.DOTALL)
    quoted = (
        '"' + part.replace('"', '""') + '"' if " " <= part[0] <= "~" else f"UNICHAR({ord(part)})"
        for part in parts
    )
    return "&".join(quoted) or '""'


def _letters(place: int) -> str:
    text = ""
    while place:
        place, digit = divmod(place - 1, 26)
        text = chr(ord("A") + digit) + text
    return text


def _cell(name: str, cell: str) -> str:
    match = _CELL.fullmatch(cell)
    if match is not None:
        column = 0
        for letter in match[2]:
            column = column * 26 + ord(letter) - ord("A") + 1
        if column <= _LAST_COLUMN and int(match[4]) <= _LAST_ROW:
            return cell
    raise OutputError(f"{cell!r} is no cell for {name!r}; write it as B2 or $B2")
