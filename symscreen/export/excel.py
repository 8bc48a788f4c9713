"""Formulas as Excel formulas of plain cell references."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.export.source import Language, task_of, whole
from symscreen.expression import columns_of
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    task = task_of(formulas, operators)
    own = {
        name: _cell(name, (names or {}).get(name, f"{_letters(place)}2"))
        for place, name in enumerate(task.inputs, start=1)
    }
    lines = []
    for expression in task.expressions:
        text = whole(expression, _EXCEL, own)
        cells = [own[name] for name in task.inputs if name in columns_of(expression)]
        if len(cells) > _MOST_COUNTED:
            raise OutputError(f"the formula has {len(cells)} inputs; in Excel at most {_MOST_COUNTED}")
        if cells:  # an empty cell would count as 0, and a text as what it reads as
            text = f"IF(COUNT({','.join(cells)})<{len(cells)},NA(),{text})"
        if len(text) >= _EXCEL.most:
            raise OutputError(f"the formula comes to {len(text) + 1:,} letters; Excel reads {_EXCEL.most:,}")
        lines.append(f"={text}")
    return "\n".join(lines)


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
