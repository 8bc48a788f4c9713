"""Read the option `units`, and convert inputs and targets to base units.

Units come from column headers, a TOML or JSON file, or a mapping.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta

from symscreen.data import FilledColumn, TimeColumn
from symscreen.data.documents import convert_document, read_document
from symscreen.errors import DataError, OptionError
from symscreen.expressions.traversal import rebuild_expression
from symscreen.expressions.tree import Call, Column, Constant
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import to_plain_number
from symscreen.messages import Message, hint_option, name_option, quote, suggest
from symscreen.units.dimensional_analysis import Units, compute_dimensions
from symscreen.units.unit_parsing import (
    AmbiguousUnitError,
    ColumnUnit,
    MissingPintError,
    build_unit_record,
    convert_to_base,
    extract_header_unit,
    format_scaled_exponents,
    is_exact,
    parse_unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.data import Dataset, DerivedColumn
    from symscreen.expressions.tree import Expression

    UnitsOption = str | os.PathLike[str] | Mapping[str, str] | None


_MAX_BYTES = 1_000_000  # of a file of units
_UnitTexts = dict[str, Annotated[str, Meta(description="a text such as 'mm'")]]
_MAX_LISTED = 8  # names in a notice
_DIMENSIONLESS = parse_unit("1")


def read_units(
    dataset: Dataset, units: UnitsOption, target_units: str | None
) -> tuple[Dataset, Units | None]:
    """Read the units of a dataset's columns and convert its inputs to base units.

    Parameters
    ----------
    dataset : Dataset
        The data. An input that a level of a category gates has the unit of the gated column; an indicator is
        dimensionless.
    units : {"strict", "ignore"}, path, mapping of str to str, or None
        ``"strict"`` reads units from headers such as ``length (mm)`` or ``length [mm]``. A file (.toml or
        .json, with entries such as ``length = "mm"``) or a mapping takes precedence over headers. None and
        ``"ignore"`` turn units off.
    target_units : str or None
        Required unit of a result, up to a factor.

    Returns
    -------
    dataset : Dataset
        Without units the same dataset, else the converted one with notices. The digest does not change.
    units : Units or None
        None if units are off.

    Raises
    ------
    OptionError
        If a unit cannot be parsed, no column has a unit, or `units` has another value; or if a gated column
        has a unit with an offset, such as degC.
    DataError
        If values overflow in base units.
    """
    unit_texts = _read_units_option(units)
    if unit_texts is None:
        if target_units is not None:
            raise OptionError(
                f"{name_option('target_units')} requires units: give {name_option('units', 'strict')}, "
                "or a file of units"
            )
        return dataset, None
    target = None if target_units is None else _parse_target_units(target_units)
    names = (*dataset.names, *dataset.target.names)
    source_inputs = [
        name for name in dataset.names if isinstance(dataset.indicators.get(name), FilledColumn | None)
    ]
    shifted = [each.column for each in dataset.indicators.values() if isinstance(each, TimeColumn)]
    read_names = dict.fromkeys([*source_inputs, *dataset.target.names, *shifted])
    columns, unparsed = _parse_column_units([*read_names], unit_texts)
    if not any(columns[name].text for name in dataset.names if name in columns):
        raise OptionError(
            f"no column has a unit{unparsed}{_explain_unknown_column(unit_texts, names, source_inputs)}: "
            f"write it into a column's name, 'length (mm)', or give it{hint_option('units')}, length = 'mm'"
        )
    columns |= _assign_gate_units(dataset.indicators, columns)
    columns |= _assign_time_units(dataset.indicators, columns)
    known_units = Units(columns, target)
    notices = [
        *dataset.notices,
        *_format_notices(
            source_inputs, known_units, unparsed, [name for name in unit_texts if name not in names]
        ),
        *_format_target_conflicts(dataset.target.names, known_units),
    ]
    return replace(
        dataset, columns=_convert_dataset_columns(dataset, known_units), notices=tuple(notices)
    ), known_units


def convert_to_base_units(
    columns: Mapping[str, NDArray[np.float64]], record: Mapping[str, Any] | None
) -> dict[str, NDArray[np.float64]]:
    """Convert columns of new rows to the base units used by the formulas of a result.

    Parameters
    ----------
    columns : mapping of str to float64 array
        Columns in the units of the screened data.
    record : mapping or None
        The entry ``units`` of the run's metadata; None if units were off.

    Returns
    -------
    dict of str to float64 array

    Examples
    --------
    >>> record = {"columns": {"x": {"factor": "1/1000", "offset": "0"}}}
    >>> convert_to_base_units({"x": np.array([5.0]), "y": np.array([1.0])}, record)
    {'x': array([0.005]), 'y': array([1.])}
    """
    unit_records = {} if record is None else record["columns"]
    return {
        name: convert_to_base(
            values, Fraction(unit_records[name]["factor"]), Fraction(unit_records[name]["offset"])
        )
        if name in unit_records
        else values
        for name, values in columns.items()
    }


def convert_to_original_values(
    values: Mapping[str, float], record: Mapping[str, Any] | None
) -> dict[str, float]:
    """Convert one value of each column from base units: the inverse of `convert_to_base_units`.

    Examples
    --------
    >>> record = {"columns": {"x": {"factor": "1/1000", "offset": "0"}}}
    >>> convert_to_original_values({"x": 0.005, "y": 1.0}, record)
    {'x': 5.0, 'y': 1.0}
    """
    unit_records = {} if record is None else record["columns"]
    return {
        name: (value - float(Fraction(unit_records[name]["offset"])))
        * float(1 / Fraction(unit_records[name]["factor"]))
        if name in unit_records
        else value
        for name, value in values.items()
    }


def convert_to_original_units(
    expressions: Sequence[Expression], record: Mapping[str, Any] | None
) -> tuple[Expression, ...]:
    """Rewrite formulas such that they apply to columns in their original units.

    Parameters
    ----------
    expressions : sequence of Expression
        Formulas of a result, for columns in base units.
    record : mapping or None
        The entry ``units`` of the run's metadata; None if units were off.

    Returns
    -------
    tuple of Expression
        Formulas with bitwise equal values.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> record = {"columns": {"x": {"factor": "1/1000", "offset": "0"}}}
    >>> str(convert_to_original_units([parse_expression("x*t")], record)[0])
    'x/1000*t'
    """
    unit_records = {} if record is None else record["columns"]

    def convert(column: Column) -> Expression:
        if column.name not in unit_records:
            return column
        unit = unit_records[column.name]
        return _build_conversion(column, Fraction(unit["factor"]), Fraction(unit["offset"]))

    return tuple(rebuild_expression(expression, column=convert) for expression in expressions)


def _build_conversion(column: Column, factor: Fraction, offset: Fraction) -> Expression:
    """Build the expression that converts a column to base units, as `convert_to_base` computes it."""
    form: Expression = column
    exact = is_exact(factor)
    numerator: float = factor.numerator if exact else float(factor)
    denominator = factor.denominator if exact else 1
    if numerator != 1:
        form = Call(OPERATORS["mul"], (form, Constant(numerator)))
    if denominator != 1:
        form = Call(OPERATORS["div"], (form, Constant(denominator)))
    return Call(OPERATORS["add"], (form, Constant(to_plain_number(float(offset))))) if offset else form


def _read_units_option(units: UnitsOption) -> dict[str, str] | None:
    """Return the unit of each column that the option gives; None if units are off."""
    if units is None or (isinstance(units, str) and units == "ignore"):
        return None
    if isinstance(units, str) and units == "strict":
        return {}
    if isinstance(units, Mapping):
        named = {str(name): unit for name, unit in units.items()}
        return convert_document(named, _UnitTexts, "units", OptionError)
    if isinstance(units, str | os.PathLike) and Path(units).suffix in {".toml", ".json"}:
        content = read_document(Path(units), "a file of units", _MAX_BYTES, OptionError)
        return convert_document(content, _UnitTexts, str(units), OptionError)
    close = suggest(str(units), ["strict", "ignore"]) if isinstance(units, str) else ""
    raise OptionError(
        f"units is {units!r}{close}; give strict, ignore, or a file that ends in .toml or .json, in Python "
        "also a mapping of columns to units"
    )


def _parse_column_units(
    names: Iterable[str], unit_texts: Mapping[str, str]
) -> tuple[dict[str, ColumnUnit], str]:
    """Parse the unit of each column; also return a remark on headers that cannot be parsed as units."""
    units, unparsed = {}, []
    for name in names:
        if name in unit_texts:
            try:
                units[name] = parse_unit(unit_texts[name])
            except OptionError as error:
                raise OptionError(f"{name!r}: {error}") from None
            continue
        text = extract_header_unit(name)
        if text is None:
            continue
        try:
            units[name] = parse_unit(text)
        except MissingPintError:
            raise
        except AmbiguousUnitError as error:
            raise AmbiguousUnitError(f"{name!r}: {error}") from None
        except OptionError:
            unparsed.append(name)  # the brackets may contain a remark
    return units, f"; pint knows no unit in {_format_list(unparsed)}" if unparsed else ""


def _format_target_conflicts(names: Sequence[str], units: Units) -> list[str]:
    """Say which targets have headings whose unit cannot be converted to the one in the options."""
    target = units.target
    if target is None:
        return []
    return [
        Message(
            f"the unit {quote(unit.text)} of {quote(name)} cannot be converted to {quote(target.text)}, "
            f"which {name_option('target_units')} gives; its numbers are taken to be in {quote(target.text)}"
        )
        for name in names
        if (unit := units.columns.get(name)) is not None and unit.text and unit.exponents != target.exponents
    ]


def _parse_target_units(text: str) -> ColumnUnit:
    """Parse the option `target_units`."""
    try:
        return parse_unit(text)
    except OptionError as error:
        raise OptionError(f"target_units: {error}") from None


def _explain_unknown_column(
    unit_texts: Mapping[str, str], names: Sequence[str], inputs: Sequence[str]
) -> str:
    """Name the first unit that belongs to no column, if any, with similar inputs."""
    unknown = next((name for name in unit_texts if name not in names), None)
    return (
        ""
        if unknown is None
        else f"; a unit is given for {unknown!r}, but there is no such column{suggest(unknown, inputs)}"
    )


def _assign_gate_units(
    indicators: Mapping[str, DerivedColumn], columns: Mapping[str, ColumnUnit]
) -> dict[str, ColumnUnit]:
    """Assign to gated inputs the units of their gated columns."""
    units = {}
    for name, indicator in indicators.items():
        gated_column = indicator.gated_column
        if gated_column is None or gated_column not in columns:
            continue
        unit = columns[gated_column]
        if unit.offset:
            raise OptionError(
                f"{gated_column!r} has the unit {unit.text} with an offset, so that its "
                f"products with levels of {indicator.column!r} would mix 0 with 0 "
                f"{unit.text}: give {gated_column!r} in {unit.base}, or use "
                f"{name_option('categorical_as', 'onehot')}"
            )
        units[name] = unit
    return units


def _assign_time_units(
    indicators: Mapping[str, DerivedColumn], columns: Mapping[str, ColumnUnit]
) -> dict[str, ColumnUnit]:
    """Assign to the columns of operators of time the units of the columns that they act on."""
    units = {}
    for name, indicator in indicators.items():
        if not isinstance(indicator, TimeColumn) or indicator.column not in columns:
            continue
        unit = columns[indicator.column]
        if unit.offset and indicator.operator == "diff":
            raise OptionError(
                f"{indicator.column!r} has the unit {unit.text} with an offset, which differences lack: give "
                f"it in {unit.base}, or leave diff out"
            )
        units[name] = unit
    return units


def _format_notices(
    inputs: Sequence[str], units: Units, unparsed_text: str, unused_names: list[str]
) -> list[str]:
    """Format the notices: conversions, columns without units, remarks, and unused units."""
    names = [name for name in inputs if name in units.columns]
    changed = [
        f"{name!r} from {unit.text} to {unit.base}"
        for name in names
        if (unit := units.columns[name]).changes_values
    ]
    unchanged = [
        f"{name!r} in {unit.base}" for name in names if not (unit := units.columns[name]).changes_values
    ]
    notices = [
        f"units: formulas are computed in base units: {_format_list([*changed, *unchanged], quoted=False)}"
    ]
    without_unit = [name for name in inputs if name not in units.columns]
    if without_unit:
        notices.append(f"no unit given, taken as pure numbers: {_format_list(without_unit)}{unparsed_text}")
    notices += [f"units: {name!r} is {remark}" for name, remark in _iterate_remarks(names, units)]
    if unused_names:
        suggestion = suggest(unused_names[0], inputs)
        notices.append(f"units of {_format_list(unused_names)} are not used: no such input{suggestion}")
    return notices


def _iterate_remarks(names: Iterable[str], units: Units) -> Iterator[tuple[str, str]]:
    """Yield the columns whose units have remarks, with the remarks."""
    for name in names:
        unit = units.columns[name]
        if unit.degrees_are_differences:
            yield name, f"in {unit.text}: its degrees are temperature differences"
        elif unit.remark:
            yield name, unit.remark


def _format_list(names: list[str], *, quoted: bool = True) -> str:
    """Join at most 8 names, and count the others."""
    shown = [repr(name) if quoted else name for name in names[:_MAX_LISTED]]
    n_more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {n_more} more" if n_more else "")


def _convert_dataset_columns(dataset: Dataset, units: Units) -> NDArray[np.float64]:
    """Convert the inputs to base units; shape (d, n)."""
    columns = dataset.columns.copy()
    for index, name in enumerate(dataset.names):
        unit = units.columns.get(name)
        if unit is None or not unit.changes_values:
            continue
        with np.errstate(over="ignore"):
            columns[index] = convert_to_base(columns[index], unit.factor, unit.offset)
        if not np.isfinite(columns[index]).all():
            raise DataError(f"the column {name!r} overflows when {unit.text} is converted to {unit.base}")
    return columns


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
