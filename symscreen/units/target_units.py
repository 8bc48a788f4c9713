"""Units in fits: targets in base units, and the units of a model's coefficients."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError
from symscreen.units.dimensional_analysis import compute_dimensions
from symscreen.units.unit_parsing import (
    ColumnUnit,
    build_unit_record,
    convert_to_base,
    format_scaled_exponents,
    parse_unit,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.units.dimensional_analysis import Units


_DIMENSIONLESS = parse_unit("1")


def get_target_unit(name: str, units: Units) -> ColumnUnit:
    """Return the unit of a target.

    Parameters
    ----------
    name : str
        Name of the target.
    units : Units
        The units of the columns.

    Returns
    -------
    ColumnUnit
        The unit of the target's column, else the required unit of a result, else dimensionless.

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
    """Convert the target of a dataset, of one or several outputs, to base units.

    Parameters
    ----------
    dataset : Dataset
        A dataset with a numeric target, whose inputs are in base units.
    units : Units
        The units of its columns.

    Returns
    -------
    Dataset
        With notices of conversions and of targets without a known unit.
    dict of str to dict
        For the record: ``given``, ``base``, ``factor`` and ``offset`` of each target.

    Raises
    ------
    DataError
        If values overflow in base units.
    """
    target = dataset.regression_target
    target_units = {name: get_target_unit(name, units) for name in target.names}
    outputs = zip(target_units.items(), np.atleast_2d(target.values), strict=True)
    converted = target.replace_values(
        [_convert_target(name, output, unit) for (name, unit), output in outputs]
    )
    notices = [
        f"the target {name!r} is converted from {unit.text} to {unit.base}"
        for name, unit in target_units.items()
        if unit.changes_values
    ]
    notices += [
        f"no unit given for the target {name!r}, taken as a pure number"
        for name in target.names
        if name not in units.columns and units.target is None
    ]
    record = {name: build_unit_record(unit) for name, unit in target_units.items()}
    return replace(dataset, target=converted, notices=(*dataset.notices, *notices)), record


def format_coefficient_units(terms: Sequence[Expression], target: str, units: Units) -> list[str]:
    """Format the units of a model's coefficients in base units: the target's unit over the term's unit.

    Parameters
    ----------
    terms : sequence of Expression, length k
        Formulas that have a unit.
    target : str
        Name of the target.
    units : Units
        The units of the columns.

    Returns
    -------
    list of str, length k + 1
        Units of the intercept and the k coefficients.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.units import Units
    >>> units = Units({"m": parse_unit("g"), "v": parse_unit("km/h"), "E": parse_unit("J")})
    >>> format_coefficient_units([parse_expression("m*v**2"), parse_expression("m")], "E", units)
    ['kg*m**2/s**2', '1', 'm**2/s**2']
    """
    target_exponents = units.get_exponents(get_target_unit(target, units))
    term_exponents = [
        np.zeros_like(target_exponents),
        *(compute_dimensions(term, units).exponents for term in terms),
    ]
    return [
        format_scaled_exponents(target_exponents - exponents, units.symbols) for exponents in term_exponents
    ]


def _convert_target(name: str, values: NDArray[np.float64], unit: ColumnUnit) -> NDArray[np.float64]:
    """Convert values of shape (n,) to base units."""
    if not unit.changes_values:
        return values
    with np.errstate(over="ignore"):
        converted = convert_to_base(values, unit.factor, unit.offset)
    if not np.isfinite(converted).all():
        raise DataError(f"the target {name!r} overflows when {unit.text} is converted to {unit.base}")
    return converted
