"""How far a feature's values may be from exact ones, and which rows have the same exact value."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expression import Column, Constant
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.rounding import Bounded, bounded_number, carried

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.expression import Expression

    Values = NDArray[np.float64]
    Residues = NDArray[np.uint64]
    Inputs = Mapping[str, Values]

__all__ = ["identity_of_rows", "rounding_bound"]

_TILE = 1 << 13  # rows looked at together: some tens of arrays of them fit the cache
_MOST_WRITTEN = 1 << 12  # values of an input that are read as decimals


def rounding_bound(expression: Expression, columns: Inputs) -> Bounded:
    """Compute a feature and a bound of its error in each row, the inputs taken as exact.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.

    Returns
    -------
    Bounded
        The values are those of `symscreen.expression.evaluate`. The error is at least their distance from the
        formula's exact values, numbers in it being what was written; infinite where these may be undefined.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> rows = {"a": np.array([3.0, 1e20]), "b": np.array([0.5, 1.0])}
    >>> rounding_bound(parse("(a + b) - a"), rows).error.tolist()
    [0.0, 1.0000000000000142]
    """
    rows = len(next(iter(columns.values())))
    whole = Bounded(np.empty(rows), np.empty(rows))
    for first in range(0, rows, _TILE):
        part = slice(first, first + _TILE)
        own = _bounded(expression, {name: column[part] for name, column in columns.items()})
        whole.values[part], whole.error[part] = own.values, own.error
    return whole


def _bounded(expression: Expression, columns: Inputs) -> Bounded:
    if isinstance(expression, Column):
        values = columns[expression.name]
        return Bounded(values, np.zeros_like(values))
    if isinstance(expression, Constant):
        number, rows = bounded_number(expression.value), len(next(iter(columns.values())))
        return Bounded(np.full(rows, number.values), np.full(rows, number.error))
    arguments = [_bounded(argument, columns) for argument in expression.arguments]
    return carried(expression.operator)(*arguments)


def identity_of_rows(expression: Expression, columns: Inputs) -> Residues:
    """Name the exact value of a feature in each row: rows of one name have one value.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.

    Returns
    -------
    uint64 array, shape (n,)
        The formula's fingerprint where each input is the number of that row, as the shortest decimal that
        reads back as it: 0.1 + 0.2 is 0.3. Not all equal values have one name: √4 and 2 have not; and of an
        input with more than 4,096 values here only equal ones do. Different values share a name with a
        probability of 10⁻¹⁸ for each two.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> rows = {"a": np.array([0.1, 0.3, 0.25]), "b": np.array([0.2, 0.0, 0.1])}
    >>> names = identity_of_rows(parse("cos(-(a + b))"), rows)
    >>> bool(names[0] == names[1]), bool(names[0] == names[2])
    (True, False)
    """
    rows = len(next(iter(columns.values())))
    return np.ascontiguousarray(np.broadcast_to(_named(expression, columns), (rows, 1))[:, 0])


def _named(expression: Expression, columns: Inputs) -> Residues:
    if isinstance(expression, Column):
        return _names_of(columns[expression.name])
    if isinstance(expression, Constant):
        return fp.of_number(expression.value)[None, :1]
    names = np.broadcast_arrays(*(_named(argument, columns) for argument in expression.arguments))
    return expression.operator.key(*names)


def _names_of(values: Values) -> Residues:
    """Name numbers, shape (n, 1); the decimals that they are, unless there are too many."""
    distinct, place = np.unique(values + 0.0, return_inverse=True)  # −0 is 0
    if len(distinct) <= _MOST_WRITTEN:
        names = np.array([_name_of(value) for value in distinct.tolist()], dtype=np.uint64)
    else:
        names = fp.opaque("value")(distinct.view(np.uint64))
    return names[place.reshape(-1)][:, None]


@lru_cache(maxsize=1 << 14)
def _name_of(value: float) -> int:
    return int(fp.of_number(value)[0])
