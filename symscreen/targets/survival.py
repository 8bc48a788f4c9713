"""Survival targets: times until an event, some of them censored.

Two rows are comparable if it is known which event occurred first: if the row with the shorter time had the
event, or, for equal times, if exactly one of them had it (Harrell et al. 1982).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.targets.numeric import TargetType


HARRELL_C = "harrell_c"  # column of a result table


@dataclass(frozen=True, eq=False)
class SurvivalTarget:
    """A target of times until an event, sorted by time, events before censored rows.

    Parameters
    ----------
    times : float64 array, shape (n,)
        Times in ascending order; finite.
    events : bool array, shape (n,)
        True if the event occurred at that time, False if the row is censored. Among equal times, events come
        first.
    name, event : str
        Names of the two columns, for messages and results.

    Raises
    ------
    DataError
        If no two rows are comparable.

    Examples
    --------
    >>> y = SurvivalTarget(np.array([1.0, 2.0, 2.0, 5.0]), np.array([True, True, False, True]))
    >>> y.n_comparable_pairs  # the first with three others, the second with two
    5
    """

    times: NDArray[np.float64]
    events: NDArray[np.bool_]
    name: str = "time"
    event: str = "event"
    target_type: ClassVar[TargetType] = "survival"

    def __post_init__(self) -> None:
        if not self.n_comparable_pairs:
            n_events = int(self.events.sum())
            raise DataError(
                f"no two of {self.n} rows can be compared by {escape_control_chars(repr(self.name))}: "
                f"{n_events} of them have the event {escape_control_chars(repr(self.event))}, and no row "
                "outlasts one of those; give times and events that can be compared"
            )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.times.size)

    @lockfree_cached_property
    def comparable_from(self) -> NDArray[np.int64]:
        """Index of the first row that has a later time, or is censored at the same time; shape (n,).

        A row with an event is comparable with all rows from this index on.
        """
        starts_group = np.ones(self.n, dtype=np.bool_)
        starts_group[1:] = (np.diff(self.times) > 0) | (self.events[1:] != self.events[:-1])
        starts = np.append(np.flatnonzero(starts_group), self.n)
        return starts[np.cumsum(starts_group)]

    @property
    def scaled_times(self) -> NDArray[np.float64]:
        """Times divided by the largest magnitude; shape (n,)."""
        return np.asarray(self.times / max(float(np.abs(self.times).max()), np.finfo(np.float64).tiny))

    @lockfree_cached_property
    def n_comparable_pairs(self) -> int:
        """Number of comparable pairs of rows."""
        return int((self.n - self.comparable_from)[self.events].sum())
