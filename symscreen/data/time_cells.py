"""`TimeCells`: the cells of a column of dates, times of the day, or both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from datetime import datetime, time

    from numpy.typing import NDArray

TIME_UNITS = ("D", "s", "ms", "us", "ns")  # the units of numpy in which dates and times are read
_MICROSECONDS = "datetime64[us]"


@dataclass(frozen=True, eq=False)
class TimeCells:
    """The cells of a column of dates and times.

    Parameters
    ----------
    values : datetime64 or timedelta64 array of shape (n,)
        Dates and times, in UTC if the column has a time zone; times of the day are a timedelta64 since
        midnight. NaT where missing.
    local : datetime64 array of shape (n,), or None
        The same as shown by a clock in the time zone of the column; None if the zone is unknown, or `values`
        are times of the day.

    Examples
    --------
    >>> TimeCells.without_zone(np.array(["2021-01-31", "NaT"], "datetime64[D]")).is_missing.tolist()
    [False, True]
    """

    values: NDArray[Any]
    local: NDArray[np.datetime64] | None

    @classmethod
    def without_zone(cls, values: NDArray[Any]) -> TimeCells:
        """Wrap dates and times without a time zone."""
        return cls(values, values)

    @classmethod
    def from_times_of_day(cls, times: list[time | None]) -> TimeCells:
        """Convert n times of the day to microseconds since midnight."""
        microseconds = [
            None
            if each is None
            else ((each.hour * 60 + each.minute) * 60 + each.second) * 1_000_000 + each.microsecond
            for each in times
        ]
        return cls(np.array(microseconds, dtype="timedelta64[us]"), None)

    @classmethod
    def from_datetimes(cls, times: list[datetime | None]) -> TimeCells:
        """Convert n dates with times, shown in the time zone of the first; those without a zone are UTC."""
        from datetime import UTC

        zone = next(each.tzinfo for each in times if each is not None)
        if zone is None and all(each is None or each.tzinfo is None for each in times):
            return cls.without_zone(np.array(times, dtype=_MICROSECONDS))
        instants = [
            each.replace(tzinfo=UTC) if each is not None and each.tzinfo is None else each for each in times
        ]

        def convert(zone: Any) -> NDArray[Any]:
            shown = [each and each.astimezone(zone).replace(tzinfo=None) for each in instants]
            return np.array(shown, dtype=_MICROSECONDS)

        return cls(convert(UTC), convert(zone or UTC))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_time_of_day(self) -> bool:
        """Whether the cells are times of the day without a date."""
        return self.values.dtype.kind == "m"

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Whether each cell is missing; shape (n,)."""
        return np.asarray(np.isnat(self.values))


def convert_to_microseconds(values: NDArray[Any]) -> NDArray[np.datetime64] | None:
    """Convert dates and times to microseconds; None if one of them is out of range.

    Examples
    --------
    >>> convert_to_microseconds(np.array(["2021-01-31"], "datetime64[D]"))
    array(['2021-01-31T00:00:00.000000'], dtype='datetime64[us]')
    >>> convert_to_microseconds(np.array([2**60], "datetime64[s]")) is None
    True
    """
    unit = np.datetime_data(values.dtype)[0]
    limit = np.iinfo(np.int64).max // {"D": 86_400_000_000, "s": 1_000_000, "ms": 1000}.get(unit, 1)
    ticks = np.where(np.isnat(values), 0, values.view(np.int64))
    if ticks.size and (ticks.max() > limit or ticks.min() < -limit):
        return None
    return values.astype(_MICROSECONDS)
