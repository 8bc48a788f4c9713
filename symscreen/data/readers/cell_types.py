"""Find the type of a column of a text: integers, numbers, true and false, dates, times, or texts.

A type is given only if all cells have it. What remains text may still be read by later rules, with a notice.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from symscreen.data.readers.raw_table import DecimalMark
    from symscreen.data.text_cells import TextCells

NULL_TEXTS = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA"),
    *("NULL", "NaN", "n/a", "nan", "null", "None", "<NA>"),
)
_BLANKS = "[ \t]*"
_INTEGER = re.compile(rf"{_BLANKS}(?:-?[0-9]+|0[xX][0-9a-fA-F]{{1,16}}){_BLANKS}")
_FLOAT = re.compile(
    rf"{_BLANKS}[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|infinity|nan){_BLANKS}",
    re.IGNORECASE,
)
_BOOLEANS = {
    **dict.fromkeys(("1", "true", "True", "TRUE"), True),
    **dict.fromkeys(("0", "false", "False", "FALSE"), False),
}
_TIME_OF_DAY = re.compile(rf"{_BLANKS}(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9])?{_BLANKS}")
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_HOUR_MINUTE_SECOND = r"[0-9]{2}(?::[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)?"
_DATE = re.compile(f"{_BLANKS}{_DAY}{_BLANKS}")
_TIMESTAMP = re.compile(f"{_DAY}(?:[ T]{_HOUR_MINUTE_SECOND})?")
_ZONED_TIMESTAMP = re.compile(
    f"(?P<local>{_DAY}[ T]{_HOUR_MINUTE_SECOND})"
    "(?:Z|(?P<sign>[+-])(?P<hours>[0-9]{2})(?::?(?P<minutes>[0-9]{2}))?)"
)
_FIRST_NANOSECONDS, _LAST_NANOSECONDS = np.datetime64("1678-01-01"), np.datetime64("2262-01-01")


def convert_cells(cells: TextCells, decimal_mark: DecimalMark = "point") -> NDArray[Any] | TextCells:
    """Convert the cells of a column to the one type that all of them have.

    Parameters
    ----------
    cells : TextCells
        The n cells.
    decimal_mark : {"point", "comma"}
        What numbers are written with.

    Returns
    -------
    array of shape (n,), or TextCells
        Integers as int64, booleans, other numbers as float64, dates as datetime64, and times of the day
        as objects; integers and booleans as objects, too, if some are missing. The cells themselves if
        they are texts.

    Examples
    --------
    >>> from symscreen.data.text_cells import TextCells
    >>> convert_cells(TextCells.from_objects(["0x10", "7"])).tolist()
    [16, 7]
    >>> convert_cells(TextCells.from_objects(["2021-01-31", "2021-02-01 12:30"])).dtype
    dtype('<M8[s]')
    """
    converters: tuple[Callable[[Sequence[str]], NDArray[Any] | None], ...] = (
        _convert_integers,
        _convert_booleans,
        lambda texts: _convert_floats(texts, decimal_mark),
        _convert_dates,
        _convert_times_of_day,
        _convert_timestamps,
    )
    for convert in converters:
        if (values := convert(cells.distinct)) is not None:
            return _take_values(values, cells)
    return cells


def _take_values(values: NDArray[Any], cells: TextCells) -> NDArray[Any]:
    """Return the value of each cell; `values` has one for each distinct text."""
    if not cells.n_missing:
        return values[cells.codes]
    if values.dtype.kind in "bi":
        values = values.astype(object)  # exact, which float64 is not
    missing: Any = {"f": np.nan, "M": np.datetime64("NaT"), "O": None}[values.dtype.kind]
    return np.append(values, np.array([missing], dtype=values.dtype))[cells.codes]


def _match_all(pattern: re.Pattern[str], texts: Sequence[str]) -> bool:
    """Return whether all texts match; the first that does not match ends the search."""
    return all(map(pattern.fullmatch, texts))


def _convert_integers(texts: Sequence[str]) -> NDArray[np.int64] | None:
    """Convert integers of 64 bits, also hexadecimal ones."""
    if not _match_all(_INTEGER, texts):
        return None
    try:
        return np.array([int(text, 16 if "x" in text.lower() else 10) for text in texts], dtype=np.int64)
    except OverflowError:
        return None


def _convert_booleans(texts: Sequence[str]) -> NDArray[np.bool_] | None:
    """Convert true and false, which may also be written 1 and 0."""
    if not all(text in _BOOLEANS for text in texts):
        return None
    return np.array([_BOOLEANS[text] for text in texts], dtype=np.bool_)


def _convert_floats(texts: Sequence[str], decimal_mark: DecimalMark) -> NDArray[np.float64] | None:
    """Convert numbers."""
    if decimal_mark == "comma":
        if any("." in text for text in texts):
            return None
        texts = [text.replace(",", ".") for text in texts]
    return np.array([float(text) for text in texts]) if _match_all(_FLOAT, texts) else None


def _convert_dates(texts: Sequence[str]) -> NDArray[np.datetime64] | None:
    """Convert dates, year first."""
    return _parse_times([text.strip() for text in texts], "D") if _match_all(_DATE, texts) else None


def _parse_times(texts: Sequence[str], unit: str) -> NDArray[np.datetime64] | None:
    """Parse ISO 8601; None if a date or a time does not exist."""
    try:
        return np.array(texts, dtype=f"datetime64[{unit}]")
    except ValueError:
        return None


def _convert_times_of_day(texts: Sequence[str]) -> NDArray[np.object_] | None:
    """Convert hours, minutes and seconds."""
    if not _match_all(_TIME_OF_DAY, texts):
        return None
    return np.array([dt.time.fromisoformat(text.strip()) for text in texts], dtype=object)


def _convert_timestamps(texts: Sequence[str]) -> NDArray[np.datetime64] | None:
    """Convert dates with times, which may all have offsets from UTC; they are converted to it."""
    if _match_all(_TIMESTAMP, texts):
        return _parse_timestamps(texts)
    matches = [match for text in texts if (match := _ZONED_TIMESTAMP.fullmatch(text)) is not None]
    if (
        len(matches) < len(texts)
        or (local := _parse_timestamps([match["local"] for match in matches])) is None
    ):
        return None
    minutes = [
        int(f"{match['sign']}1") * (60 * int(match["hours"]) + int(match["minutes"] or 0))
        if match["sign"]
        else 0
        for match in matches
    ]
    instants: NDArray[np.datetime64] = local - np.array(minutes, dtype="timedelta64[m]")
    return instants


def _parse_timestamps(texts: Sequence[str]) -> NDArray[np.datetime64] | None:
    """Parse dates with times, to the nanosecond if seconds have fractions."""
    if not any("." in text for text in texts):
        return _parse_times(texts, "s")
    times = _parse_times(texts, "us")
    if times is None or times.min() < _FIRST_NANOSECONDS or times.max() >= _LAST_NANOSECONDS:
        return None
    return _parse_times(texts, "ns")
