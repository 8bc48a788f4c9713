"""Units of what is fitted: targets in base units, and the units of a model's coefficients."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import TableError
from symscreen.grammar.measures import WHOLE
from symscreen.response import Response
from symscreen.response.several import SeveralResponse, several_of
from symscreen.units.column_unit import ColumnUnit, column_unit, converted, written
from symscreen.units.meaning import measure_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.expression import Expression
    from symscreen.table import Table
    from symscreen.units.meaning import Units

__all__ = ["coefficient_units", "target_unit", "with_targets_in_base_units"]

_PURE = column_unit("1")


def target_unit(name: str, units: Units) -> ColumnUnit:
    """Return what a target is measured in.

    Parameters
    ----------
    name : str
        The target's.
    units : Units
        Those of the columns, and what was asked for of a result.

    Returns
    -------
    ColumnUnit
        Where the target's own is not told, the one asked for of a result; else a pure number.

    Examples
    --------
    >>> from symscreen.units import Units
    >>> target_unit("E", Units({"E": column_unit("kJ")})).base, target_unit("p", Units({})).base
    ('kg*m**2/s**2', '1')
    """
    return units.columns.get(name) or units.target or _PURE


def with_targets_in_base_units(table: Table, units: Units) -> tuple[Table, dict[str, dict[str, str]]]:
    """Bring the response of a table, of one target or several, into base units.

    Parameters
    ----------
    table : Table
        Its inputs are in base units already.
    units : Units
        Those of its columns.

    Returns
    -------
    Table
        With notices of what was converted, and of targets whose unit is not told.
    dict of str to dict
        For the record: of each target ``given``, ``base``, ``factor`` and ``offset``.

    Raises
    ------
    TableError
        If values overflow in base units.
    """
    response = table.numbers
    names = response.names if isinstance(response, SeveralResponse) else (response.name,)
    told = {name: target_unit(name, units) for name in names}
    values = {
        name: _in_base(name, own, told[name])
        for name, own in zip(names, np.atleast_2d(response.values), strict=True)
    }
    moved = several_of(values) if isinstance(response, SeveralResponse) else Response(*_only(values))
    lines = [
        f"the target {name!r} goes from {unit.given} to {unit.base}"
        for name, unit in told.items()
        if unit.converts
    ]
    lines += [
        f"no unit given for the target {name!r}, taken as a pure number"
        for name in names
        if name not in units.columns and units.target is None
    ]
    record = {
        name: {"given": one.given, "base": one.base, "factor": str(one.factor), "offset": str(one.offset)}
        for name, one in told.items()
    }
    return replace(table, response=moved, notices=(*table.notices, *lines)), record


def coefficient_units(terms: Sequence[Expression], target: str, units: Units) -> list[str]:
    """Write the units of a model's numbers in base units: the target's over the term's.

    Parameters
    ----------
    terms : sequence of Expression, length k
        Each has a unit.
    target : str
        The target's name.
    units : Units
        Those of the columns.

    Returns
    -------
    list of str, length k + 1
        The intercept's first.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> from symscreen.units import Units
    >>> units = Units({"m": column_unit("g"), "v": column_unit("km/h"), "E": column_unit("J")})
    >>> coefficient_units([parse("m*v**2"), parse("m")], "E", units)
    ['kg*m**2/s**2', '1', 'm**2/s**2']
    """
    above = units.exponents(target_unit(target, units))
    below = [np.zeros_like(above), *(measure_of(term, units).exponents for term in terms)]
    return [_written(above - own, units) for own in below]


def _written(exponents: NDArray[np.int64], units: Units) -> str:
    powers = zip(units.symbols, exponents.tolist(), strict=True)
    return written({name: Fraction(power, WHOLE) for name, power in powers if power})


def _in_base(name: str, values: NDArray[np.float64], unit: ColumnUnit) -> NDArray[np.float64]:
    if not unit.converts:
        return values
    with np.errstate(over="ignore"):
        moved = converted(values, unit.factor, unit.offset)
    if not np.isfinite(moved).all():
        raise TableError(f"the target {name!r} overflows when {unit.given} becomes {unit.base}")
    return moved


def _only(values: dict[str, Any]) -> tuple[Any, str]:
    ((name, own),) = values.items()
    return own, name
