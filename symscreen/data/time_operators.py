"""Operators of time: functions of a column in this row and in the rows before it.

``lag1``, ``lag2`` and so on are the values one and two rows before, ``diff`` is the difference to the row
before, and ``mean7`` is the mean of this row and the six before. They act on columns, before the first layer
of a space; what they compute is an input such as ``lag1(x)``. No operator uses a later row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import GrammarError

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Values


MAX_WINDOW = 1000  # rows that an operator looks back
_NAME = re.compile(r"(lag|mean)([0-9]{1,9})|diff", re.ASCII)
_CALL = re.compile(r"(\w+)\((.*)\)", re.ASCII | re.DOTALL)
_LEAST = {"lag": 1, "mean": 2}


@dataclass(frozen=True, slots=True)
class TimeOperator:
    """An operator of time.

    Parameters
    ----------
    name : str
        Its name, such as ``mean7``.
    kind : {"lag", "diff", "mean"}
        What it computes.
    n_before : int
        How many rows it looks back.

    Examples
    --------
    >>> TimeOperator("mean7", "mean", 6).n_before
    6
    """

    name: str
    kind: str
    n_before: int

    @property
    def uses_own_row(self) -> bool:
        """Whether the value depends on the column in the row itself, and not on earlier rows alone."""
        return self.kind != "lag"

    def compute(self, shift: Callable[[int], Values]) -> Values:
        """Compute the values of n rows.

        `shift` returns the column, shape (n,), a number of rows before; NaN where there is no such row.
        """
        if self.kind == "lag":
            return shift(self.n_before)
        if self.kind == "diff":
            return np.asarray(shift(0) - shift(1))
        total = shift(self.n_before)
        for n_back in range(self.n_before - 1, -1, -1):  # one fixed order of the sum
            total = total + shift(n_back)
        return np.asarray(total / (self.n_before + 1))


def parse_time_operator(name: str) -> TimeOperator | None:
    """Read the name of an operator of time; None if it is the name of something else.

    Raises
    ------
    GrammarError
        If its number is out of range.

    Examples
    --------
    >>> parse_time_operator("lag2"), parse_time_operator("log")
    (TimeOperator(name='lag2', kind='lag', n_before=2), None)
    """
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    kind = match[1]
    if kind is None:
        return TimeOperator(name, "diff", 1)
    number = int(match[2])
    if not _has_valid_number(kind, match[2]):
        raise GrammarError(f"the operator {name!r} needs a number from {_LEAST[kind]} to {MAX_WINDOW}")
    return TimeOperator(name, kind, number if kind == "lag" else number - 1)


def _has_valid_number(kind: str, digits: str) -> bool:
    return _LEAST[kind] <= int(digits) <= MAX_WINDOW and not digits.startswith("0")


def split_time_column(name: str) -> tuple[str, str] | None:
    """Split the name of a column that an operator of time computes into operator and column.

    Examples
    --------
    >>> split_time_column("lag1(a b)"), split_time_column("x")
    (('lag1', 'a b'), None)
    """
    match = _CALL.fullmatch(name)
    operator = None if match is None else _NAME.fullmatch(match[1])
    if match is None or operator is None or (operator[1] and not _has_valid_number(operator[1], operator[2])):
        return None
    return match[1], match[2]
