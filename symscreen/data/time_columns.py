"""Columns that operators of time compute: `encode_time_columns` adds them before a dataset is read.

As with categories, a derived column carries its definition, a `TimeColumn`, and so does each `Column` of a
formula. From it the column of new rows is computed, which then need the columns of times and runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from symscreen.data.column_selection import choose_inputs, require_columns
from symscreen.data.column_types import SourceColumn, TimeColumn, make_numeric_column
from symscreen.data.row_order import read_row_order
from symscreen.data.sources import read_frame
from symscreen.data.target_source import list_target_columns, to_list
from symscreen.data.time_operators import parse_time_operator
from symscreen.errors import DataError, OptionError
from symscreen.messages import name_option, quote

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from symscreen.config.screen_options import ScreenOptions
    from symscreen.data.column_types import DerivedColumn
    from symscreen.data.row_order import RowOrder
    from symscreen.data.source_frame import SourceFrame
    from symscreen.data.time_operators import TimeOperator


def exclude_order_columns(options: ScreenOptions) -> ScreenOptions:
    """Exclude the columns that order the rows, unless they are named as inputs.

    Parameters
    ----------
    options : ScreenOptions
        The options of a screen.

    Returns
    -------
    ScreenOptions
        The options with updated `exclude`.

    Raises
    ------
    OptionError
        If runs are named without times, or a column has two roles.
    """
    if options.time is None:
        if options.trajectory is not None:
            raise OptionError(
                f"{name_option('trajectory', options.trajectory)} needs the order of its rows: give "
                f"{name_option('time')}, too"
            )
        return options
    if options.time == options.trajectory:
        raise OptionError(
            f"{quote(options.time)} is in both {name_option('time')} and {name_option('trajectory')}: keep "
            "one"
        )
    names = [options.time] if options.trajectory is None else [options.time, options.trajectory]
    inputs, exclude = to_list(options.inputs), to_list(options.exclude)
    for name in names:
        if name in to_list(options.target):
            role = "time" if name == options.time else "trajectory"
            raise OptionError(
                f"{quote(name)} is in both {name_option('target')} and {name_option(role)}: keep one"
            )
    more = [name for name in names if name not in inputs and name not in exclude]
    return replace(options, exclude=[*exclude, *more])


def encode_time_columns(
    X: Any,  # noqa: N803  # as in `screen`
    y: object,
    options: ScreenOptions,
    operators: Sequence[TimeOperator],
) -> tuple[Any, ScreenOptions]:
    """Read the order of the rows, and append the columns that operators of time compute.

    Parameters
    ----------
    X : object
        The source, as for `symscreen.screen`.
    y : object
        A target that is passed separately, or None.
    options : ScreenOptions
        The options of a screen after `exclude_order_columns`.
    operators : sequence of TimeOperator
        The operators of time of the grammar.

    Returns
    -------
    X : object
        A SourceFrame with the order and the derived columns, if there is a column of times. They are NaN
        where a window reaches beyond the start of a run, or a value in it is missing.
    options : ScreenOptions
        The options with updated `inputs`.

    Raises
    ------
    DataError
        If the columns of times or runs cannot be read, or a derived name is in use.
    OptionError
        If there are operators of time and no column of times.
    """
    if options.time is None:
        if operators:
            raise OptionError(
                f"{operators[0].name} needs the order of the rows: name the column of times with "
                f"{name_option('time')}"
            )
        return X, options
    frame = read_frame(X)
    order = read_row_order(frame, options.time, options.trajectory)
    order = replace(order, n_before=max((each.n_before for each in operators), default=0))
    inputs, exclude = to_list(options.inputs), to_list(options.exclude)
    target_columns = list_target_columns(frame, y, options, exclude)
    definitions = _list_definitions(frame, options.time, options.trajectory, operators)
    named = [name for name in inputs if name in definitions and name not in frame.columns]
    plain = None if options.inputs is None else [name for name in inputs if name not in named]
    acted_on: list[str] = []
    if plain is None or plain:
        kept = [name for name in exclude if name not in definitions]
        acted_on, _ = choose_inputs(frame, target_columns, plain, kept)
    derived = {name: each for name, each in definitions.items() if each.column in acted_on or name in named}
    _check_definitions(frame, derived, target_columns)
    columns = {name: _compute_column(frame, each, order) for name, each in derived.items()}
    frame = replace(frame, columns=frame.columns | columns, row_order=order)
    return frame, replace(options, inputs=None if plain is None else [*plain, *derived])


def _list_definitions(
    frame: SourceFrame, time: str, trajectory: str | None, operators: Sequence[TimeOperator]
) -> dict[str, TimeColumn]:
    """Return what operators of time compute of each numeric column, by name."""
    definitions = [
        TimeColumn(name, operator.name, time, trajectory)
        for name, column in frame.columns.items()
        if column.is_numeric and column.indicator is None
        for operator in operators
    ]
    return {definition.name: definition for definition in definitions}


def _check_definitions(
    frame: SourceFrame, definitions: Mapping[str, TimeColumn], target_columns: Collection[str]
) -> None:
    """Refuse the names of existing columns, and what contains the target of the row itself."""
    for name, definition in definitions.items():
        if name in frame.columns:
            raise DataError(
                f"{frame.source} has a column {quote(name)}, which would be computed from "
                f"{quote(definition.column)}: rename it, or leave the operator out"
            )
        if definition.column in target_columns and _get_operator(definition).uses_own_row:
            raise DataError(
                f"{quote(name)} holds the target of its own row: of a target only lags, such as "
                f"{quote(f'lag1({definition.column})')}, can be inputs"
            )


def compute_time_column(frame: SourceFrame, definition: TimeColumn) -> SourceColumn:
    """Compute a derived column of new rows, as `encode_time_columns` does.

    Raises
    ------
    DataError
        If the rows lack the column, or the columns of times or runs, or these cannot be read.
    """
    order_columns = [name for name in (definition.time, definition.trajectory) if name is not None]
    require_columns(frame, [definition.column, *order_columns], f"the formula's {definition.name}")
    column = frame.columns[definition.column]
    if column.numbers is None:
        raise DataError(
            f"{frame.source}: the column {quote(definition.column)} holds {column.description}; "
            "numbers are needed"
        )
    return _compute_column(frame, definition, read_row_order(frame, definition.time, definition.trajectory))


def _compute_column(frame: SourceFrame, definition: TimeColumn, order: RowOrder) -> SourceColumn:
    """Compute the column of a definition from a numeric column of a frame."""
    numbers = frame.columns[definition.column].numbers
    assert numbers is not None  # noqa: S101  # the callers check it
    values = _get_operator(definition).compute(lambda n_back: order.shift(numbers, n_back))
    return replace(make_numeric_column(values), indicator=definition)


def _get_operator(definition: TimeColumn) -> TimeOperator:
    """Return the operator of a definition."""
    operator = parse_time_operator(definition.operator)
    assert operator is not None  # noqa: S101  # definitions are checked where they are made
    return operator


def build_time_record(definitions: Mapping[str, DerivedColumn]) -> dict[str, Any]:
    """Build the part of the record that says which columns operators of time compute.

    Examples
    --------
    >>> build_time_record({"lag1(x)": TimeColumn("x", "lag1", "t")})
    {'time_columns': {'lag1(x)': {'column': 'x', 'operator': 'lag1'}}}
    """
    derived = {
        name: {"column": each.column, "operator": each.operator}
        for name, each in definitions.items()
        if isinstance(each, TimeColumn)
    }
    return {"time_columns": derived} if derived else {}
