"""How far a feature's values may be from exact ones, and which rows have the same exact value."""

from __future__ import annotations

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

__all__ = ["as_written", "identity_of_rows", "rounding_bound"]

_TILE = 1 << 13  # rows looked at together: some tens of arrays of them fit the cache
_PLACES = 22  # 10^22 is the last power of ten that a double holds
_WHOLE = 2.0**53


def rounding_bound(expression: Expression, columns: Inputs, errors: Inputs | None = None) -> Bounded:
    """Compute a feature and a bound of its error in each row.

    Parameters
    ----------
    expression : Expression
        The formula.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name; at least one.
    errors : mapping of str to float64 array, shape (n,), optional
        How far each input may be from the exact one, as `as_written` tells; without it inputs are exact.

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
        inputs = {
            name: Bounded(column[part], np.zeros_like(column[part]) if errors is None else errors[name][part])
            for name, column in columns.items()
        }
        own = _bounded(expression, inputs)
        whole.values[part], whole.error[part] = own.values, own.error
    return whole


def _bounded(expression: Expression, columns: Mapping[str, Bounded]) -> Bounded:
    if isinstance(expression, Column):
        return columns[expression.name]
    if isinstance(expression, Constant):
        number, rows = bounded_number(expression.value), len(next(iter(columns.values())).values)
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
        reads back as it: 0.1 + 0.2 is 0.3. Not all equal values have one name: √4 and 2 have not. Numbers
        that take more than 15 digits to write are alike only where they are equal. Different values share a
        name with a probability of 10⁻¹⁸ for each two.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> rows = {"a": np.array([0.1, 0.3, 0.25]), "b": np.array([0.2, 0.0, 0.1])}
    >>> names = identity_of_rows(parse("cos(-(a + b))"), rows)
    >>> bool(names[0] == names[1]), bool(names[0] == names[2])
    (True, False)
    """
    rows = len(next(iter(columns.values())))
    # at both points of a fingerprint, for operators whose formulas hold numbers
    return np.ascontiguousarray(np.broadcast_to(_named(expression, columns), (rows, 2))[:, 0])


def _named(expression: Expression, columns: Inputs) -> Residues:
    if isinstance(expression, Column):
        return np.repeat(_names_of(columns[expression.name])[:, None], 2, axis=1)
    if isinstance(expression, Constant):
        return fp.of_number(expression.value)[None, :]
    names = np.broadcast_arrays(*(_named(argument, columns) for argument in expression.arguments))
    return expression.operator.key(*names)


def as_written(values: Values) -> Values:
    """Bound how far numbers are from the decimals that they were written as.

    Parameters
    ----------
    values : float64 array, shape (n,)
        Finite.

    Returns
    -------
    float64 array, shape (n,)
        Half a unit in the last place of decimals with a fraction, such as 0.1; 0 of whole numbers, and of
        numbers that take more than 15 digits to write, which are taken as they are. 0 of all where most are
        such: one in a hundred of any numbers has 15 digits by chance.

    Examples
    --------
    >>> as_written(np.array([0.1, 2.0, 0.7, 1 / 3])) > 0
    array([ True, False,  True, False])
    """
    _, places = _decimals(values)
    if 2 * np.count_nonzero(places < 0) > len(values):
        return np.zeros(len(values))
    return np.where(places > 0, np.spacing(np.abs(values)) / 2, 0.0)


def _decimals(values: Values) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return m and the least k with the number being the double next to m·10^−k; k is −1 of others."""
    digits, places = np.zeros(len(values), dtype=np.int64), np.full(len(values), -1)
    rest = np.arange(len(values))
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(_PLACES + 1):
            whole = np.rint(values[rest] * 10.0**k)
            # m and 10^k are exact, so their quotient is the double that the decimal is read as
            found = (np.abs(whole) < _WHOLE) & (whole / 10.0**k == values[rest])
            digits[rest[found]], places[rest[found]] = whole[found].astype(np.int64), k
            rest = rest[~found & (np.abs(whole) < _WHOLE)]
    # of more than 15 digits every number is a decimal of that many places
    many = (places > 0) & (np.abs(digits) >= 10**15)
    return digits, np.where(many, -1, places)


def _names_of(values: Values) -> Residues:
    """Name numbers, shape (n,): m·10^−k modulo p of decimals, a hash of the bits of others."""
    digits, places = _decimals(values)
    whole = np.where(digits < 0, digits + fp.PRIME, digits).astype(np.uint64)
    tenths = np.array([pow(10, -k, fp.PRIME) for k in range(_PLACES + 1)], dtype=np.uint64)
    other = fp.opaque("value")((values + 0.0).view(np.uint64))  # −0 is 0
    return np.where(places < 0, other, fp.multiply(whole, tenths[np.maximum(places, 0)]))
