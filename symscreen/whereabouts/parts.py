"""The parts of a formula, and the first of them that the data do not allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion.prune import constant, only_rounding
from symscreen.expression import Apply, Column, columns_of, evaluate, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from symscreen.expression import Expression

    Columns = Mapping[str, NDArray[np.float64]]

__all__ = ["Outside", "constant_on", "constant_part", "outside_of", "parts_of", "undefined_part"]


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield a formula's parts, arguments before what is made of them, itself last.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> [str(part) for part in parts_of(parse("log(a - b)"))]
    ['a', 'b', 'a - b', 'log(a - b)']
    """
    if isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from parts_of(argument)
    yield expression


@dataclass(frozen=True, slots=True)
class Outside:
    """A part that leaves its domain.

    Parameters
    ----------
    part : Expression
        The innermost such part.
    rows : int
        In how many rows it is undefined.
    row : int
        One of them, a place in the table.
    values : dict of str to float
        Its arguments there.
    """

    part: Expression
    rows: int
    row: int
    values: dict[str, float]


def undefined_part(expression: Expression, columns: Columns) -> Outside | None:
    """Find the innermost part of a formula that is undefined, or not finite, in some row.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs.

    Returns
    -------
    Outside or None
        None where the formula is defined in every row.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> found = undefined_part(parse("1 + log(a - 1)"), {"a": np.array([3.0, 0.5])})
    >>> str(found.part), found.rows, found.row, found.values
    ('log(a - 1)', 1, 1, {'a - 1': -0.5})
    """
    for part in parts_of(expression):
        bad = np.flatnonzero(np.isnan(evaluate(part, columns)))
        if len(bad):
            row = int(bad[0])
            arguments = part.arguments if isinstance(part, Apply) else ()
            values = {to_text(each): float(evaluate(each, columns)[row]) for each in arguments}
            return Outside(part, len(bad), row, values)
    return None


def constant_on(expression: Expression, columns: Columns) -> bool:
    """Say whether a formula that is defined in every row is constant up to rounding.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs.

    Returns
    -------
    bool
        By the tests that a candidate has to pass.
    """
    if not columns_of(expression):
        return True
    values = evaluate(expression, columns)[None]
    low, high = values.min(axis=1), values.max(axis=1)
    if constant(low, high, np.maximum(np.abs(low), np.abs(high)))[0]:
        return True
    if not (isinstance(expression, Apply) and expression.operator.cancels):
        return False
    terms = np.abs([evaluate(term, columns) for term in expression.arguments]).max(axis=0)[None]
    # the few that might be the rounding of their terms are looked at row by row
    suspect = constant(low, high, terms.max(axis=1))[0]
    return bool(suspect and only_rounding(values, terms)[0])


def constant_part(expression: Expression, columns: Columns) -> str:
    """Name the innermost part that holds a column and is constant; the formula itself where no part is."""
    parts = (part for part in parts_of(expression) if columns_of(part))
    found = next((part for part in parts if constant_on(part, columns)), expression)
    return to_text(found)


def outside_of(expression: Expression, columns: Columns, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Say where a formula leaves its domain, in the source's own rows.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs.
    rows : int64 array, shape (n,)
        The source's number of each row, from 0.

    Returns
    -------
    dict
        The facts of a `Why`; empty where the formula is defined in every row.
    """
    found = undefined_part(expression, columns)
    if found is None:
        return {}
    names = sorted(columns_of(found.part))
    used = {to_text(Column(name)): float(columns[name][found.row]) for name in names}
    return {
        "part": to_text(found.part),
        "rows": found.rows,
        "row": int(rows[found.row]) + 1,
        "arguments": found.values | used,
    }
