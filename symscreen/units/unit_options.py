"""The option `units`: headers, a file or a mapping, read; and the table's columns in base units."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data import read_regular_file
from symscreen.errors import DataError, OptionError, suggest
from symscreen.expressions.tree import Call, Column, Constant
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import to_plain_number
from symscreen.grammar.grammar_files import parse_bounded_toml
from symscreen.targets.multioutput import MultiOutputTarget
from symscreen.units.dimensional_analysis import Units
from symscreen.units.unit_parsing import (
    AMBIGUITY_TEXT,
    DIFFERENCES_REMARK,
    ColumnUnit,
    convert_to_base,
    extract_header_unit,
    is_exact,
    parse_unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.data import CategoricalInput, Dataset
    from symscreen.expressions.tree import Expression

    UnitsOption = str | os.PathLike[str] | Mapping[str, str] | None

__all__ = ["convert_to_base_units", "convert_to_original_units", "read_units"]

_MAX_BYTES = 1_000_000
_MAX_LISTED = 8
_NO_CATEGORICAL_INPUTS: Mapping[str, Any] = MappingProxyType({})


def read_units(
    dataset: Dataset,
    units: UnitsOption,
    target_units: str | None,
    categorical_inputs: Mapping[str, CategoricalInput] = _NO_CATEGORICAL_INPUTS,
) -> tuple[Dataset, Units | None]:
    """Read the units of a table's columns, and bring the columns into base units.

    Parameters
    ----------
    table : Table
        The data.
    units : {"strict", "ignore"}, path, mapping of str to str, or None
        Units stand in headers, ``length (mm)`` or ``length [mm]``; a file (.toml or .json, column = "mm") or
        a mapping adds to these, and goes before them. None and ``"ignore"`` for no units.
    target_units : str or None
        What a result is asked to be measured in, up to a factor.
    derived : mapping of str to Derived
        Inputs that categories came to: a gate has the unit of what it lets pass, an indicator is a pure
        number.

    Returns
    -------
    Table
        As it was without units; else with a notice of what was converted. The digest stays that of the data
        as they came.
    Units or None

    Raises
    ------
    OptionError
        If a unit cannot be read, no column has one, or `units` is none of these; or if a gate would let a
        column pass whose unit does not begin at 0, such as degC.
    TableError
        If values overflow in base units.
    """
    told = _read_units_option(units)
    if told is None:
        if target_units is not None:
            raise OptionError("--target-units needs units: give --units strict, or a file of units")
        return dataset, None
    target = None if target_units is None else _parse_target_units(target_units)
    response = dataset.target
    targets = response.names if isinstance(response, MultiOutputTarget) else (response.name,)
    names = (*dataset.names, *targets)
    own = [name for name in dataset.names if name not in categorical_inputs]
    columns, doubtful = _parse_column_units([name for name in names if name not in categorical_inputs], told)
    if not any(columns[name].text for name in dataset.names if name in columns):
        raise OptionError(
            f"no column has a unit{doubtful}{_explain_unknown_column(told, names, own)}: write length (mm) "
            "in the header, "
            'or give a file of units, with lines such as length = "mm"'
        )
    columns |= _assign_gate_units(categorical_inputs, columns)
    read = Units(columns, target)
    notices = [
        *dataset.notices,
        *_format_notices(own, read, doubtful, [name for name in told if name not in names]),
    ]
    return replace(dataset, columns=_convert_dataset_columns(dataset, read), notices=tuple(notices)), read


def convert_to_base_units(
    columns: Mapping[str, NDArray[np.float64]], record: Mapping[str, Any] | None
) -> dict[str, NDArray[np.float64]]:
    """Bring columns of new rows into the units that a result's formulas are in.

    Parameters
    ----------
    columns : mapping of str to float64 array
        In the units of the data that were screened.
    record : mapping or None
        The part ``units`` of the run's record; None where there was none.

    Returns
    -------
    dict of str to float64 array

    Examples
    --------
    >>> record = {"columns": {"x": {"factor": "1/1000", "offset": "0"}}}
    >>> convert_to_base_units({"x": np.array([5.0]), "y": np.array([1.0])}, record)
    {'x': array([0.005]), 'y': array([1.])}
    """
    told = {} if record is None else record["columns"]
    return {
        name: convert_to_base(values, Fraction(told[name]["factor"]), Fraction(told[name]["offset"]))
        if name in told
        else values
        for name, values in columns.items()
    }


def convert_to_original_units(
    expressions: Sequence[Expression], record: Mapping[str, Any] | None
) -> tuple[Expression, ...]:
    """Write formulas so that they hold for columns in the units that they came in.

    Parameters
    ----------
    expressions : sequence of Expression
        Formulas of a result, of columns in base units.
    record : mapping or None
        As of `convert_to_base_units`.

    Returns
    -------
    tuple of Expression
        To the bit the same values.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> record = {"columns": {"x": {"factor": "1/1000", "offset": "0"}}}
    >>> str(convert_to_original_units([parse_expression("x*t")], record)[0])
    'x/1000*t'
    """
    told = {} if record is None else record["columns"]
    forms = {
        name: _build_conversion(name, Fraction(unit["factor"]), Fraction(unit["offset"]))
        for name, unit in told.items()
    }
    return tuple(_substitute_columns(expression, forms) for expression in expressions)


def _build_conversion(name: str, factor: Fraction, offset: Fraction) -> Expression:
    form: Expression = Column(name)
    whole = is_exact(factor)
    above: float = factor.numerator if whole else float(factor)
    below = factor.denominator if whole else 1
    if above != 1:
        form = Call(OPERATORS["mul"], (form, Constant(above)))
    if below != 1:
        form = Call(OPERATORS["div"], (form, Constant(below)))
    return Call(OPERATORS["add"], (form, Constant(to_plain_number(float(offset))))) if offset else form


def _substitute_columns(expression: Expression, replacements: Mapping[str, Expression]) -> Expression:
    if isinstance(expression, Column):
        return replacements.get(expression.name, expression)
    if isinstance(expression, Call):
        return Call(
            expression.operator, tuple(_substitute_columns(one, replacements) for one in expression.arguments)
        )
    return expression


def _read_units_option(units: UnitsOption) -> dict[str, str] | None:
    """Return what was told of columns beside their headers; None where units are not asked for."""
    if units is None or (isinstance(units, str) and units == "ignore"):
        return None
    if isinstance(units, str) and units == "strict":
        return {}
    if isinstance(units, Mapping):
        return _check_unit_texts(units, "units")
    if isinstance(units, str | os.PathLike) and Path(units).suffix in {".toml", ".json"}:
        return _read_units_file(Path(units))
    close = suggest(str(units), ["strict", "ignore"]) if isinstance(units, str) else ""
    raise OptionError(
        f"units is {units!r}{close}; give strict, ignore, or a file that ends in .toml or .json, in Python "
        "also a mapping of columns to units"
    )


def _read_units_file(path: Path) -> dict[str, str]:
    try:
        content = read_regular_file(path, _MAX_BYTES)
    except (OSError, ValueError) as error:
        raise OptionError(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from None
    if len(content) > _MAX_BYTES:
        raise OptionError(f"{path}: larger than {_MAX_BYTES} bytes; this is no file of units")
    try:
        found = (
            json.loads(content.decode("utf-8-sig")) if path.suffix == ".json" else parse_bounded_toml(content)
        )
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{path}: not valid {path.suffix[1:].upper()}: {error}") from None
    if not isinstance(found, dict):
        raise OptionError(f'{path}: a mapping of columns to units is needed, such as {{"length": "mm"}}')
    return _check_unit_texts(found, str(path))


def _check_unit_texts(mapping: Mapping[Any, Any], source: str) -> dict[str, str]:
    for name, unit in mapping.items():
        if not isinstance(unit, str):
            raise OptionError(
                f"{source}: the unit of {str(name)!r} is {unit!r}; a text such as 'mm' is needed"
            )
    return {str(name): unit for name, unit in mapping.items()}


def _parse_column_units(
    names: Iterable[str], unit_texts: Mapping[str, str]
) -> tuple[dict[str, ColumnUnit], str]:
    """Read each column's unit; say what in a header cannot be read as one."""
    found, doubtful = {}, []
    for name in names:
        if name in unit_texts:
            try:
                found[name] = parse_unit(unit_texts[name])
            except OptionError as error:
                raise OptionError(f"{name!r}: {error}") from None
            continue
        text = extract_header_unit(name)
        if text is None:
            continue
        try:
            found[name] = parse_unit(text)
        except OptionError as error:
            if "pip install" in str(error):
                raise
            if AMBIGUITY_TEXT in str(error):
                raise OptionError(f"{name!r}: {error}") from None
            doubtful.append(name)  # the brackets may hold a remark
    return found, f"; pint knows no unit in {_format_list(doubtful)}" if doubtful else ""


def _parse_target_units(text: str) -> ColumnUnit:
    try:
        return parse_unit(text)
    except OptionError as error:
        raise OptionError(f"target_units: {error}") from None


def _explain_unknown_column(
    unit_texts: Mapping[str, str], names: Sequence[str], inputs: Sequence[str]
) -> str:
    """Say which name that a unit was told of is no column's, if there is any, and which inputs there are."""
    idle = next((name for name in unit_texts if name not in names), None)
    return (
        ""
        if idle is None
        else f"; units are told of {idle!r}, and there is no such column{suggest(idle, inputs)}"
    )


def _assign_gate_units(
    categorical_inputs: Mapping[str, CategoricalInput], columns: Mapping[str, ColumnUnit]
) -> dict[str, ColumnUnit]:
    """Give gates the units of what they let pass."""
    found = {}
    for name, made in categorical_inputs.items():
        if made.gated_input is None or made.gated_input not in columns:
            continue
        unit = columns[made.gated_input]
        if unit.offset:
            raise OptionError(
                f"{made.gated_input!r} is in {unit.text}, whose 0 is not nothing, and a gate of "
                f"{made.category_column!r} is 0 "
                f"where it is closed: give {made.gated_input!r} in {unit.base}, or use --categorical-as "
                "onehot"
            )
        found[name] = unit
    return found


def _format_notices(
    inputs: Sequence[str], units: Units, unparsed_text: str, unused_names: list[str]
) -> list[str]:
    names = [name for name in inputs if name in units.columns]
    changed = [
        f"{name!r} from {unit.text} to {unit.base}"
        for name in names
        if (unit := units.columns[name]).changes_values
    ]
    kept = [f"{name!r} in {unit.base}" for name in names if not (unit := units.columns[name]).changes_values]
    lines = [f"units: formulas are computed in base units: {_format_list([*changed, *kept], quoted=False)}"]
    without = [name for name in inputs if name not in units.columns]
    if without:
        lines.append(f"no unit given, taken as pure numbers: {_format_list(without)}{unparsed_text}")
    lines += [f"units: {name!r} is {told}" for name, told in _iterate_remarks(names, units)]
    if unused_names:
        near = suggest(unused_names[0], inputs)
        lines.append(f"units of {_format_list(unused_names)} are not used: no such input{near}")
    return lines


def _iterate_remarks(names: Iterable[str], units: Units) -> Iterator[tuple[str, str]]:
    for name in names:
        remark = units.columns[name].remark
        if remark == DIFFERENCES_REMARK:
            yield name, f"in {units.columns[name].text}: {remark}"
        elif remark:
            yield name, remark


def _format_list(names: list[str], *, quoted: bool = True) -> str:
    shown = [repr(name) if quoted else name for name in names[:_MAX_LISTED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _convert_dataset_columns(dataset: Dataset, units: Units) -> NDArray[np.float64]:
    columns = dataset.columns.copy()
    for place, name in enumerate(dataset.names):
        unit = units.columns.get(name)
        if unit is None or not unit.changes_values:
            continue
        with np.errstate(over="ignore"):
            columns[place] = convert_to_base(columns[place], unit.factor, unit.offset)
        if not np.isfinite(columns[place]).all():
            raise DataError(f"the column {name!r} overflows when {unit.text} becomes {unit.base}")
    return columns
