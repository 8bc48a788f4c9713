"""The order of rows in time: runs, and the place of each row within its run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.data.column_selection import require_columns
from symscreen.data.row_columns import read_row_groups
from symscreen.errors import DataError
from symscreen.messages import format_rows, name_option, name_option_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Values
    from symscreen.data.source_frame import SourceFrame


@dataclass(frozen=True, eq=False)
class RowOrder:
    """The order of n rows in time.

    Parameters
    ----------
    run_ids : int64 array, shape (n,)
        The run of each row.
    places : int64 array, shape (n,)
        The place of each row among the rows of its run, in the order of time.
    n_before : int
        How many rows before it a row needs to be used.

    Examples
    --------
    >>> order = RowOrder(np.array([0, 0, 1]), np.array([1, 0, 0]))
    >>> order.shift(np.array([5.0, 6.0, 7.0]), 1).tolist()
    [6.0, nan, nan]
    """

    run_ids: Integers
    places: Integers
    n_before: int = 0

    @property
    def is_start(self) -> Flags:
        """True for rows with fewer than `n_before` rows before them in their run; shape (n,)."""
        return np.asarray(self.places < self.n_before)

    @lockfree_cached_property
    def sorted_rows(self) -> Integers:
        """The rows by run, then by time; shape (n,)."""
        return np.lexsort((self.places, self.run_ids)).astype(np.int64)

    @property
    def runs(self) -> tuple[Integers, ...]:
        """The rows of each run in the order of time."""
        starts = np.flatnonzero(np.diff(self.run_ids[self.sorted_rows])) + 1
        return tuple(np.split(self.sorted_rows, starts))

    def take(self, rows: Integers) -> RowOrder:
        """Return the order of some of the rows, which are given by their indices."""
        return replace(self, run_ids=self.run_ids[rows], places=self.places[rows])

    def shift(self, values: Values, n_back: int) -> Values:
        """Return for each row the value `n_back` rows before it in its run, NaN where there is none."""
        rows = self.sorted_rows
        in_order, shifted = np.full(len(rows), np.nan), np.empty(len(rows))
        in_order[n_back:] = values[rows[: max(len(rows) - n_back, 0)]]
        shifted[rows] = np.where(self.places[rows] < n_back, np.nan, in_order)
        return shifted


def read_row_order(frame: SourceFrame, time: str, trajectory: str | None) -> RowOrder:
    """Read the order of rows from a column of times, and the column of runs if there is one.

    Parameters
    ----------
    frame : SourceFrame
        The source, whose rows may be in any order.
    time : str
        A column of numbers, dates or times.
    trajectory : str or None
        A column of numbers, text or dates that distinguishes runs; None for one run.

    Returns
    -------
    RowOrder

    Raises
    ------
    DataError
        If a column does not exist or holds something else, a time or a label is missing, or a time occurs
        twice in a run.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> frame = read_frame({"t": [2.0, 1.0, 1.0], "run": ["a", "a", "b"]})
    >>> read_row_order(frame, "t", "run").places.tolist()
    [1, 0, 0]
    """
    require_columns(frame, [time], name_option("time"))
    times = _read_times(frame, time)
    run_ids = np.zeros(frame.n, dtype=np.int64)
    if trajectory is not None:
        require_columns(frame, [trajectory], name_option("trajectory"))
        run_ids = read_row_groups(frame, trajectory, np.arange(frame.n), "trajectory")
    rows = np.lexsort((times, run_ids))
    is_same_run = np.diff(run_ids[rows]) == 0
    is_repeated = is_same_run & (times[rows[1:]] == times[rows[:-1]])
    if is_repeated.any():
        _report_repeated_time(frame, time, trajectory, rows[1:][is_repeated][0])
    starts = np.flatnonzero(np.concatenate(([True], ~is_same_run)))
    places = np.empty(frame.n, dtype=np.int64)
    places[rows] = np.arange(frame.n) - np.repeat(starts, np.diff(np.append(starts, frame.n)))
    return RowOrder(run_ids, places)


def _read_times(frame: SourceFrame, name: str) -> NDArray[Any]:
    """Read a column of times as sortable numbers, shape (n,)."""
    column = frame.columns[name]
    if column.times is not None:
        values: NDArray[Any] = column.times.values.view(np.int64)
        is_bad = column.times.is_missing
    elif column.numbers is not None:
        values, is_bad = column.numbers, ~np.isfinite(column.numbers)
    else:
        raise DataError(
            f"{frame.source}: {name_option_column('time', name)} holds "
            f"{column.damage or column.description}; give numbers or dates"
        )
    if is_bad.any():
        raise DataError(
            f"{frame.source}: {name_option_column('time', name)} is missing or infinite in "
            f"{format_rows(is_bad)}; fill these times in, or leave the rows out"
        )
    return values


def _report_repeated_time(frame: SourceFrame, time: str, trajectory: str | None, row: int) -> None:
    """Refuse a time that occurs twice in a run."""
    column = frame.columns[time]
    value = f"{column.numbers[row]:g}" if column.numbers is not None else ""
    if column.times is not None:
        value = str(column.times.values[row])
    where, remedy = " in a run", "keep one row for each time"
    if trajectory is None:
        where, remedy = "", f"name the column of runs with {name_option('trajectory')}, or {remedy}"
    raise DataError(
        f"{frame.source}: {name_option_column('time', time)} has the value {value} twice{where}; {remedy}"
    )
