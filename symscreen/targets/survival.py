"""A response that is a time until an event, which some rows have not met when their time ends.

Two rows are comparable where it is known which of them met the event first: where the one with the shorter
time met it; of two equal times, where one met it there and the other had not by then (Harrell et al. 1982).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError, escape_control_chars

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.targets.numeric import TargetType


__all__ = ["HARRELL_C", "SurvivalTarget"]

HARRELL_C = "harrell_c"  # the column of a ranking


@dataclass(frozen=True, eq=False)
class SurvivalTarget:
    """A response of n rows: a time, and whether the event was met then; in the order of what is known.

    Parameters
    ----------
    times : float64 array, shape (n,)
        Ascending, finite.
    events : bool array, shape (n,)
        Whether the event was met at that time; else the row was seen no longer. Of rows with one time those
        that met it come first.
    name, event : str
        What the two are called, for messages and results.

    Raises
    ------
    TableError
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
            met = int(self.events.sum())
            raise DataError(
                f"no two of {self.n} rows can be compared by {escape_control_chars(repr(self.name))}, for "
                f"{escape_control_chars(repr(self.event))} was met in {met} of them, and none outlasts one "
                "of those: "
                "give times and events that can be compared"
            )

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.times.size)

    @lockfree_cached_property
    def comparable_from(self) -> NDArray[np.int64]:
        """For each row, the place behind the last row that is not comparable with it and before; shape (n,).

        A row that met the event is comparable with all rows from this place on: those behind the rows that
        met it at the same time.
        """
        new = np.ones(self.n, dtype=np.bool_)
        new[1:] = (np.diff(self.times) > 0) | (self.events[1:] != self.events[:-1])
        starts = np.append(np.flatnonzero(new), self.n)
        return starts[np.cumsum(new)]

    @property
    def scaled_times(self) -> NDArray[np.float64]:
        """The times divided by the largest magnitude; shape (n,)."""
        return np.asarray(self.times / max(float(np.abs(self.times).max()), np.finfo(np.float64).tiny))

    @lockfree_cached_property
    def n_comparable_pairs(self) -> int:
        """The number of pairs of rows that are comparable."""
        return int((self.n - self.comparable_from)[self.events].sum())
