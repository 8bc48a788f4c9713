"""Units of what is fitted: targets in base units, and the units of a model's coefficients."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError
from symscreen.grammar.dimensions import EXPONENT_DENOMINATOR
from symscreen.targets import NumericTarget
from symscreen.targets.multioutput import MultiOutputTarget, build_multi_output_target
from symscreen.units.dimensional_analysis import compute_dimensions
from symscreen.units.unit_parsing import ColumnUnit, convert_to_base, format_unit, parse_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.units.dimensional_analysis import Units


__all__ = ["convert_targets_to_base_units", "format_coefficient_units", "get_target_unit"]

_DIMENSIONLESS = parse_unit("1")


def get_target_unit(name: str, units: Units) -> ColumnUnit:
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
    >>> get_target_unit("E", Units({"E": parse_unit("kJ")})).base, get_target_unit("p", Units({})).base
    ('kg*m**2/s**2', '1')
    """
    return units.columns.get(name) or units.target or _DIMENSIONLESS


def convert_targets_to_base_units(
    dataset: Dataset, units: Units
) -> tuple[Dataset, dict[str, dict[str, str]]]:
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
    response = dataset.regression_target
    names = response.names if isinstance(response, MultiOutputTarget) else (response.name,)
    told = {name: get_target_unit(name, units) for name in names}
    values = {
        name: _convert_target(name, own, told[name])
        for name, own in zip(names, np.atleast_2d(response.values), strict=True)
    }
    moved = (
        build_multi_output_target(values)
        if isinstance(response, MultiOutputTarget)
        else NumericTarget(*_get_only_item(values))
    )
    lines = [
        f"the target {name!r} goes from {unit.text} to {unit.base}"
        for name, unit in told.items()
        if unit.changes_values
    ]
    lines += [
        f"no unit given for the target {name!r}, taken as a pure number"
        for name in names
        if name not in units.columns and units.target is None
    ]
    record = {
        name: {"given": one.text, "base": one.base, "factor": str(one.factor), "offset": str(one.offset)}
        for name, one in told.items()
    }
    return replace(dataset, target=moved, notices=(*dataset.notices, *lines)), record


def format_coefficient_units(terms: Sequence[Expression], target: str, units: Units) -> list[str]:
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
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.units import Units
    >>> units = Units({"m": parse_unit("g"), "v": parse_unit("km/h"), "E": parse_unit("J")})
    >>> format_coefficient_units([parse_expression("m*v**2"), parse_expression("m")], "E", units)
    ['kg*m**2/s**2', '1', 'm**2/s**2']
    """
    above = units.get_exponents(get_target_unit(target, units))
    below = [np.zeros_like(above), *(compute_dimensions(term, units).exponents for term in terms)]
    return [_format_exponents(above - own, units) for own in below]


def _format_exponents(exponents: NDArray[np.int64], units: Units) -> str:
    powers = zip(units.symbols, exponents.tolist(), strict=True)
    return format_unit({name: Fraction(power, EXPONENT_DENOMINATOR) for name, power in powers if power})


def _convert_target(name: str, values: NDArray[np.float64], unit: ColumnUnit) -> NDArray[np.float64]:
    if not unit.changes_values:
        return values
    with np.errstate(over="ignore"):
        moved = convert_to_base(values, unit.factor, unit.offset)
    if not np.isfinite(moved).all():
        raise DataError(f"the target {name!r} overflows when {unit.text} becomes {unit.base}")
    return moved


def _get_only_item(values: dict[str, Any]) -> tuple[Any, str]:
    ((name, own),) = values.items()
    return own, name
