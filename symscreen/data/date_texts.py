"""Read text columns of dates: year first, day first or month first, decided by the whole column."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.data.column_types import SourceColumn
from symscreen.data.time_cells import TimeCells
from symscreen.data.written_numbers import is_missing_text
from symscreen.messages import quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    DateOrder = Literal["year", "day", "month"]


_TIME = (
    r"(?P<hour>[01]?[0-9]|2[0-3]):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>[0-5][0-9])(?:\.(?P<fraction>[0-9]{1,9}))?)?Z?"
)
_DATE = re.compile(
    r"(?:(?P<year>[0-9]{4})(?P<mark>[-/.])(?P<month>[0-9]{1,2})(?P=mark)(?P<day>[0-9]{1,2})"
    r"|(?P<first>[0-9]{1,2})(?P<later_mark>[-/.])(?P<second_number>[0-9]{1,2})(?P=later_mark)(?P<last_year>[0-9]{4}))"
    rf"(?:[T ]{_TIME})?"
)
_TIME_OF_DAY = re.compile(_TIME)
_N_MONTHS = 12


def is_date_text(text: str) -> bool:
    """Return whether a text looks like a date, a time or both, written with numbers.

    Examples
    --------
    >>> is_date_text("2020-01-31"), is_date_text("31.1.2020 12:30"), is_date_text("1-2")
    (True, True, False)
    """
    return bool(_DATE.fullmatch(text.strip()) or _TIME_OF_DAY.fullmatch(text.strip()))


def read_date_texts(columns: Mapping[str, SourceColumn]) -> tuple[dict[str, SourceColumn], list[str]]:
    """Read the text columns that hold dates only.

    Parameters
    ----------
    columns : mapping of str to SourceColumn
        All columns of a source.

    Returns
    -------
    columns : dict of str to SourceColumn
        The columns in the same order. A column whose dates may have the day or the month first stays text.
    notices : list of str
        At most one line, with an example of each column that was read.

    Examples
    --------
    >>> from symscreen.data.python_columns import convert_python_column
    >>> columns = {"d": convert_python_column(["31.12.2020", "1.2.2021"])}
    >>> read_date_texts(columns)[1]
    ["read as dates: 'd' ('31.12.2020' is 2020-12-31)"]
    """
    new_columns, examples = dict(columns), []
    for name, column in columns.items():
        if column.texts is None:
            continue
        distinct = [text for text in column.texts.distinct if not is_missing_text(text)]
        if not distinct or not all(_DATE.fullmatch(text.strip()) for text in distinct[:100]):
            continue
        order = _find_order(distinct)
        if order == "unknown":
            new_columns[name] = replace(
                column,
                kind="other",
                detail=f"dates such as {quote(distinct[0])}, whose day and month are ambiguous",
            )
        elif order is not None and (read := _convert_dates(column, order)) is not None:
            new_columns[name] = read[0]
            examples.append(f"{quote(name)} ({quote(distinct[0])} is {read[1]})")
    return new_columns, [f"read as dates: {', '.join(examples)}"] if examples else []


def _find_order(texts: Sequence[str]) -> DateOrder | Literal["unknown"] | None:
    """Say what stands first in all dates of a column; None if they are no dates."""
    matches = [_DATE.fullmatch(text.strip()) for text in texts]
    if not all(matches):
        return None
    found = [match for match in matches if match is not None]
    if all(match["year"] for match in found):
        return "year"
    if any(match["year"] for match in found):
        return None
    day_may_be_first = all(int(match["second_number"]) <= _N_MONTHS for match in found)
    month_may_be_first = all(int(match["first"]) <= _N_MONTHS for match in found)
    if day_may_be_first and (not month_may_be_first or all(match["later_mark"] == "." for match in found)):
        return "day"  # with full stops the day is first everywhere
    if day_may_be_first:
        return "unknown"
    return "month" if month_may_be_first else None


def _convert_dates(column: SourceColumn, order: DateOrder) -> tuple[SourceColumn, str] | None:
    """Convert a column of dates, and its first date; None if a date does not exist."""
    assert column.texts is not None  # noqa: S101  # the caller has read them
    distinct = column.texts.distinct
    iso = ["NaT" if is_missing_text(text) else _to_iso(text.strip(), order) for text in distinct]
    has_time = any("T" in text for text in iso if text != "NaT")
    try:
        times = np.array([*iso, "NaT"], dtype="datetime64[us]" if has_time else "datetime64[D]")
    except ValueError:
        return None
    first = next(text for text in iso if text != "NaT")
    return SourceColumn("times", times=TimeCells.without_zone(times[column.texts.codes])), first


def _to_iso(text: str, order: DateOrder) -> str:
    """Write a date as ISO 8601 does."""
    match = _DATE.fullmatch(text)
    assert match is not None  # noqa: S101  # all dates match
    if order == "year":
        year, month, day = match["year"], match["month"], match["day"]
    else:
        year = match["last_year"]
        day, month = (match["first"], match["second_number"])[:: 1 if order == "day" else -1]
    date = f"{year}-{int(month):02d}-{int(day):02d}"
    if match["hour"] is None:
        return date
    fraction = f".{match['fraction'][:6]}" if match["fraction"] else ""
    return f"{date}T{int(match['hour']):02d}:{match['minute']}:{match['second'] or '00'}{fraction}"
