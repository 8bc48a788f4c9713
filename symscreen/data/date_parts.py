"""Numbers from dates and times: elapsed days, the hour, the weekday and the day of the year.

The rules depend on nothing but the cell, so that they hold for new rows as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.data.column_types import SourceColumn
from symscreen.data.time_cells import convert_to_microseconds
from symscreen.messages import format_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.data.time_cells import TimeCells

_ORIGIN = np.datetime64("2000-01-01", "us")
_DAY = np.timedelta64(1, "D")
_HOUR = np.timedelta64(1, "h")
_MONDAY = 3  # 1970-01-01, from which numpy counts days, was a Thursday
_DAYS_PER_WEEK = 7


def add_date_parts(columns: Mapping[str, SourceColumn]) -> tuple[dict[str, SourceColumn], list[str]]:
    """Insert the parts of dates and times after their columns.

    A column of dates ``d`` gets ``d: days`` (since 2000-01-01, with fractions), ``d: hour`` (0 to 24, with
    fractions), ``d: weekday`` (1, Monday, to 7) and ``d: day of year`` (1 to 366); a column of times of the
    day gets the hour.

    Parameters
    ----------
    columns : mapping of str to SourceColumn
        All columns of a source. A column that has the name of a part already stays.

    Returns
    -------
    columns : dict of str to SourceColumn
        The columns with their parts. `SourceColumn.part_of` of a part is the name of its column, and a part
        that adds nothing to the others `is_redundant`.
    notices : list of str
        At most one line, with the parts that are used.

    Examples
    --------
    >>> from symscreen.data.python_columns import convert_python_column
    >>> days = np.array(["2000-01-03", "2001-07-05", None], "datetime64[D]")
    >>> columns, notices = add_date_parts({"d": convert_python_column(days)})
    >>> {name: column.numbers.tolist() for name, column in columns.items() if column.part_of}
    {'d: days': [2.0, 551.0, nan], 'd: hour': [0.0, 0.0, nan], 'd: weekday': [1.0, 4.0, nan],
     'd: day of year': [3.0, 186.0, nan]}
    >>> notices
    ["dates as numbers: 'd: days', 'd: weekday', 'd: day of year' (days since 2000-01-01, weekday 1 is
    Monday)"]
    """
    new_columns: dict[str, SourceColumn] = {}
    used = []
    for name, column in columns.items():
        new_columns[name] = column
        if column.times is None:
            continue
        for part, values, is_useful in _compute_parts(column.times):
            part_name = f"{name}: {part}"
            if part_name not in columns:
                new_columns[part_name] = SourceColumn(
                    "numbers", values, part_of=name, is_redundant=not is_useful
                )
                used += [part_name] if is_useful else []
    if not used:
        return new_columns, []
    rule = " (days since 2000-01-01, weekday 1 is Monday)"
    return new_columns, [f"dates as numbers: {format_names(used)}{rule}"]


def _compute_parts(times: TimeCells) -> list[tuple[str, NDArray[np.float64], bool]]:
    """Compute the parts of n cells: name, values of shape (n,), and whether they add something new."""
    if times.is_time_of_day:
        return [("hour", times.values / _HOUR, True)]
    instants = convert_to_microseconds(times.values)
    local = None if times.local is None else convert_to_microseconds(times.local)
    if instants is None or local is None:  # out of range, or an unknown time zone
        return []
    is_missing = np.isnat(instants)
    if is_missing.all():
        return []
    midnight = local.astype("datetime64[D]")
    years = local.astype("datetime64[Y]")
    hours = np.where(is_missing, np.nan, (local - midnight) / _HOUR)
    weekdays = (midnight.astype(np.int64) + _MONDAY) % _DAYS_PER_WEEK + 1.0
    day_of_year = (midnight - years.astype("datetime64[D]")) / _DAY + 1.0
    known_days, known_years = midnight[~is_missing], years[~is_missing]
    span = (known_days.max() - known_days.min()) / _DAY
    return [
        ("days", (instants - _ORIGIN) / _DAY, span > 0),
        ("hour", hours, bool((hours[~is_missing] != hours[~is_missing][0]).any())),
        ("weekday", np.where(is_missing, np.nan, weekdays), span >= _DAYS_PER_WEEK),
        (
            "day of year",
            np.where(is_missing, np.nan, day_of_year),
            bool(known_years.min() != known_years.max()),
        ),
    ]
