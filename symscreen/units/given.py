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

from symscreen.errors import OptionError, TableError, nearest
from symscreen.expression import Apply, Column, Constant
from symscreen.grammar import OPERATORS
from symscreen.grammar.define import plain_number
from symscreen.grammar.toml import bounded_toml
from symscreen.response.several import SeveralResponse
from symscreen.table import plain_bytes
from symscreen.units.column_unit import ColumnUnit, column_unit, converted, is_exact, unit_in_header
from symscreen.units.customary import DIFFERENCES, TWO_MEANINGS
from symscreen.units.meaning import Units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.expression import Expression
    from symscreen.table import Derived, Table

    Given = str | os.PathLike[str] | Mapping[str, str] | None

__all__ = ["given_units", "in_base_units", "in_given_units"]

_MAX_BYTES = 1_000_000
_SHOWN = 8
_NONE: Mapping[str, Any] = MappingProxyType({})


def given_units(
    table: Table, units: Given, target_units: str | None, derived: Mapping[str, Derived] = _NONE
) -> tuple[Table, Units | None]:
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
    told = _told_units(units)
    if told is None:
        if target_units is not None:
            raise OptionError("--target-units needs units: give --units strict, or a file of units")
        return table, None
    target = None if target_units is None else _asked_unit(target_units)
    response = table.response
    targets = response.names if isinstance(response, SeveralResponse) else (response.name,)
    names = (*table.names, *targets)
    own = [name for name in table.names if name not in derived]
    columns, doubtful = _by_column([name for name in names if name not in derived], told)
    if not any(columns[name].given for name in table.names if name in columns):
        raise OptionError(
            f"no column has a unit{doubtful}{_of_none(told, names, own)}: write length (mm) in the header, "
            'or give a file of units, with lines such as length = "mm"'
        )
    columns |= _of_gates(derived, columns)
    read = Units(columns, target)
    notices = [*table.notices, *_notices(own, read, doubtful, [name for name in told if name not in names])]
    return replace(table, columns=_converted_table(table, read), notices=tuple(notices)), read


def in_base_units(
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
    >>> in_base_units({"x": np.array([5.0]), "y": np.array([1.0])}, record)
    {'x': array([0.005]), 'y': array([1.])}
    """
    told = {} if record is None else record["columns"]
    return {
        name: converted(values, Fraction(told[name]["factor"]), Fraction(told[name]["offset"]))
        if name in told
        else values
        for name, values in columns.items()
    }


def in_given_units(
    expressions: Sequence[Expression], record: Mapping[str, Any] | None
) -> tuple[Expression, ...]:
    """Write formulas so that they hold for columns in the units that they came in.

    Parameters
    ----------
    expressions : sequence of Expression
        Formulas of a result, of columns in base units.
    record : mapping or None
        As of `in_base_units`.

    Returns
    -------
    tuple of Expression
        To the bit the same values.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> record = {"columns": {"x": {"factor": "1/1000", "offset": "0"}}}
    >>> str(in_given_units([parse("x*t")], record)[0])
    'x/1000*t'
    """
    told = {} if record is None else record["columns"]
    forms = {
        name: _in_place_of(name, Fraction(unit["factor"]), Fraction(unit["offset"]))
        for name, unit in told.items()
    }
    return tuple(_replaced(expression, forms) for expression in expressions)


def _in_place_of(name: str, factor: Fraction, offset: Fraction) -> Expression:
    form: Expression = Column(name)
    whole = is_exact(factor)
    above: float = factor.numerator if whole else float(factor)
    below = factor.denominator if whole else 1
    if above != 1:
        form = Apply(OPERATORS["mul"], (form, Constant(above)))
    if below != 1:
        form = Apply(OPERATORS["div"], (form, Constant(below)))
    return Apply(OPERATORS["add"], (form, Constant(plain_number(float(offset))))) if offset else form


def _replaced(expression: Expression, forms: Mapping[str, Expression]) -> Expression:
    if isinstance(expression, Column):
        return forms.get(expression.name, expression)
    if isinstance(expression, Apply):
        return Apply(expression.operator, tuple(_replaced(one, forms) for one in expression.arguments))
    return expression


def _told_units(units: Given) -> dict[str, str] | None:
    """Return what was told of columns beside their headers; None where units are not asked for."""
    if units is None or (isinstance(units, str) and units == "ignore"):
        return None
    if isinstance(units, str) and units == "strict":
        return {}
    if isinstance(units, Mapping):
        return _texts(units, "units")
    if isinstance(units, str | os.PathLike) and Path(units).suffix in {".toml", ".json"}:
        return _file(Path(units))
    close = nearest(str(units), ["strict", "ignore"]) if isinstance(units, str) else ""
    raise OptionError(
        f"units is {units!r}{close}; give strict, ignore, or a file that ends in .toml or .json, in Python "
        "also a mapping of columns to units"
    )


def _file(path: Path) -> dict[str, str]:
    try:
        content = plain_bytes(path, _MAX_BYTES)
    except (OSError, ValueError) as error:
        raise OptionError(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from None
    if len(content) > _MAX_BYTES:
        raise OptionError(f"{path}: larger than {_MAX_BYTES} bytes; this is no file of units")
    try:
        found = json.loads(content.decode("utf-8-sig")) if path.suffix == ".json" else bounded_toml(content)
    except (ValueError, RecursionError) as error:
        raise OptionError(f"{path}: not valid {path.suffix[1:].upper()}: {error}") from None
    if not isinstance(found, dict):
        raise OptionError(f'{path}: a mapping of columns to units is needed, such as {{"length": "mm"}}')
    return _texts(found, str(path))


def _texts(found: Mapping[Any, Any], where: str) -> dict[str, str]:
    for name, unit in found.items():
        if not isinstance(unit, str):
            raise OptionError(
                f"{where}: the unit of {str(name)!r} is {unit!r}; a text such as 'mm' is needed"
            )
    return {str(name): unit for name, unit in found.items()}


def _by_column(names: Iterable[str], told: Mapping[str, str]) -> tuple[dict[str, ColumnUnit], str]:
    """Read each column's unit; say what in a header cannot be read as one."""
    found, doubtful = {}, []
    for name in names:
        if name in told:
            try:
                found[name] = column_unit(told[name])
            except OptionError as error:
                raise OptionError(f"{name!r}: {error}") from None
            continue
        text = unit_in_header(name)
        if text is None:
            continue
        try:
            found[name] = column_unit(text)
        except OptionError as error:
            if "pip install" in str(error):
                raise
            if TWO_MEANINGS in str(error):
                raise OptionError(f"{name!r}: {error}") from None
            doubtful.append(name)  # the brackets may hold a remark
    return found, f"; pint knows no unit in {_listed(doubtful)}" if doubtful else ""


def _asked_unit(text: str) -> ColumnUnit:
    try:
        return column_unit(text)
    except OptionError as error:
        raise OptionError(f"target_units: {error}") from None


def _of_none(told: Mapping[str, str], names: Sequence[str], inputs: Sequence[str]) -> str:
    """Say which name that a unit was told of is no column's, if there is any, and which inputs there are."""
    idle = next((name for name in told if name not in names), None)
    return (
        ""
        if idle is None
        else f"; units are told of {idle!r}, and there is no such column{nearest(idle, inputs)}"
    )


def _of_gates(derived: Mapping[str, Derived], columns: Mapping[str, ColumnUnit]) -> dict[str, ColumnUnit]:
    """Give gates the units of what they let pass."""
    found = {}
    for name, made in derived.items():
        if made.x is None or made.x not in columns:
            continue
        unit = columns[made.x]
        if unit.offset:
            raise OptionError(
                f"{made.x!r} is in {unit.given}, whose 0 is not nothing, and a gate of {made.column!r} is 0 "
                f"where it is closed: give {made.x!r} in {unit.base}, or use --categorical-as onehot"
            )
        found[name] = unit
    return found


def _notices(inputs: Sequence[str], read: Units, doubtful: str, idle: list[str]) -> list[str]:
    names = [name for name in inputs if name in read.columns]
    changed = [
        f"{name!r} from {unit.given} to {unit.base}"
        for name in names
        if (unit := read.columns[name]).converts
    ]
    kept = [f"{name!r} in {unit.base}" for name in names if not (unit := read.columns[name]).converts]
    lines = [f"units: formulas are computed in base units: {_listed([*changed, *kept], quoted=False)}"]
    without = [name for name in inputs if name not in read.columns]
    if without:
        lines.append(f"no unit given, taken as pure numbers: {_listed(without)}{doubtful}")
    lines += [f"units: {name!r} is {told}" for name, told in _remarks(names, read)]
    if idle:
        near = nearest(idle[0], inputs)
        lines.append(f"units of {_listed(idle)} are not used: no such input{near}")
    return lines


def _remarks(names: Iterable[str], read: Units) -> Iterator[tuple[str, str]]:
    for name in names:
        remark = read.columns[name].remark
        if remark == DIFFERENCES:
            yield name, f"in {read.columns[name].given}: {remark}"
        elif remark:
            yield name, remark


def _listed(names: list[str], *, quoted: bool = True) -> str:
    shown = [repr(name) if quoted else name for name in names[:_SHOWN]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _converted_table(table: Table, read: Units) -> NDArray[np.float64]:
    columns = table.columns.copy()
    for place, name in enumerate(table.names):
        unit = read.columns.get(name)
        if unit is None or not unit.converts:
            continue
        with np.errstate(over="ignore"):
            columns[place] = converted(columns[place], unit.factor, unit.offset)
        if not np.isfinite(columns[place]).all():
            raise TableError(f"the column {name!r} overflows when {unit.given} becomes {unit.base}")
    return columns
