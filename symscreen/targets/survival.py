"""Survival targets: times until an event, some of them censored.

Rows are sorted by time, events before censored rows, then by the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.messages import escape_control_chars, hint_option, name_option, name_option_column, quote
from symscreen.statistics.ranks.sorted_values import CensoredTimes
from symscreen.targets.base import Target, TargetColumns, sort_canonically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symscreen._typing import Flags, Values
    from symscreen.data.target_source import TargetSource
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.base import ColumnScreener, RowIndices


HARRELL_C = "harrell_c"  # column of a result table


@dataclass(frozen=True, eq=False)
class SurvivalTarget(CensoredTimes, Target):
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
    >>> y.n_comparable_pairs
    5
    """

    name: str = "time"
    event: str = "event"
    target_type: ClassVar[str] = "survival"
    prefix: ClassVar[str] = "the time until the event, "
    description: ClassVar[str] = "a time until an event"
    refusal: ClassVar[str] = "does not support survival targets"
    gini_mean_difference: ClassVar[float] = 1.0  # all comparable pairs have equal weight

    def __post_init__(self) -> None:
        if not self.n_comparable_pairs:
            n_events = int(self.events.sum())
            raise DataError(
                f"no two of {self.n} rows can be compared by {escape_control_chars(repr(self.name))}: "
                f"{n_events} of them have the event {escape_control_chars(repr(self.event))}, and no row "
                "outlasts one of those; give times and events that can be compared"
            )

    @classmethod
    def matches(cls, source: TargetSource) -> bool:
        """Return whether there is a column of events."""
        return source.event is not None

    @classmethod
    def list_columns(cls, source: TargetSource) -> tuple[list[str], list[str]]:
        """List the columns of times and events.

        Raises
        ------
        OptionError
            If there are several columns of times.
        """
        if source.y is not None and source.is_multicolumn:
            raise OptionError(
                f"y has several columns, and {name_option('event')} goes with one column of times"
            )
        if len(source.names) > 1:
            raise OptionError(
                f"there are {len(source.names)} targets{hint_option('target', source.names)}, and "
                f"{name_option('event', source.event)} requires one column of times"
            )
        columns, notices = super().list_columns(source)
        return [*columns, str(source.event)], notices

    @classmethod
    def read(cls, source: TargetSource) -> TargetColumns:
        """Read the columns of times and events.

        Raises
        ------
        DataError
            If a time is negative, or a cell does not say whether there was an event.
        """
        event = str(source.event)
        events = _read_events(source, event)
        name, times = source.read_numbers()
        if (times < 0).any():
            row = int(np.flatnonzero(times < 0)[0])
            raise DataError(
                f"{source.origin}: row {row + 1} of {quote(name)} holds {times[row]:g}, but a time until "
                "an event cannot be negative: correct it, or name another column of "
                f"times{hint_option('target')}"
            )
        return TargetColumns(
            {name: times, event: events},
            lambda inputs, rows: cls.build(inputs, times[rows], events[rows] == 1.0, name, event),
        )

    @classmethod
    def build(
        cls, inputs: Sequence[Values], times: Values, events: Flags, name: str, event: str
    ) -> tuple[RowIndices, SurvivalTarget]:
        """Sort times and events of shape (n,); return the order and the target."""
        order = sort_canonically([(~events).astype(np.float64), *inputs], times)
        return order, cls(times[order] + 0.0, events[order], name, event)

    def take_rows(self, inputs: Sequence[Values], rows: RowIndices) -> tuple[RowIndices, SurvivalTarget]:
        """Build the target of some of the rows."""
        return self.build(inputs, self.times[rows], self.events[rows], self.name, self.event)

    @classmethod
    def build_example(cls, z: Values) -> SurvivalTarget:
        """Build a target that a feature determines."""
        return cls(z - z[0], np.arange(z.size) % 3 > 0)

    @property
    def data(self) -> Values:
        """Times and events; shape (2, n)."""
        return np.stack([self.times, self.events.astype(np.float64)])

    @property
    def digest_metadata(self) -> list[object]:
        """The name of the event."""
        return [self.event]

    @property
    def record(self) -> dict[str, Any]:
        """The event, and the numbers of events and of comparable pairs."""
        n_events = int(self.events.sum())
        return {"survival": {"event": self.event, "met": n_events, "comparable": self.n_comparable_pairs}}

    @classmethod
    def explain_directions(cls, data: Mapping[str, Any]) -> str | None:
        """Explain the column of directions."""
        del data
        return "dir.: + longer times where it is higher, - shorter times."

    @classmethod
    def explain_gini(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> str:
        """Explain the scale of the Gini correlation."""
        del data, options
        return "of comparable pairs the share in order less the share in reverse; 0 means no relation"

    @classmethod
    def describe_target(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
        """Describe the events and the comparable pairs."""
        del options
        survival = data["survival"]
        events = f"{escape_control_chars(survival['event'])}: {survival['met']:,} events"
        comparable = f"{survival['comparable']:,} pairs of rows are comparable"
        return [f"{events} in {data['rows']:,} rows; {comparable}.", "harrell_c: Harrell's C, 1 - t0/2."]

    def compute_ranking_metric(self, ordered: SortedBlock) -> Values:
        """Compute 1 − T0 of m features."""
        from symscreen.statistics.ranks.t0 import compute_survival_ranking_metric

        return compute_survival_ranking_metric(ordered, self)

    def compute_alignment(self, ordered: SortedBlock) -> Values:
        """Compute |Pearson's r| of m features with the times."""
        from symscreen.statistics.ranks.correlations import compute_correlations

        return np.abs(compute_correlations(ordered.values, self.scaled_times))

    def compute_extra_columns(
        self,
        scores: Mapping[str, Values],
        blocks: Iterable[SortedBlock],
        screeners: Sequence[ColumnScreener],
    ) -> dict[str, Values]:
        """Compute Harrell's C if T0 is among the scores."""
        from symscreen.statistics.ranks.t0 import compute_harrell_c

        del blocks, screeners
        return {HARRELL_C: compute_harrell_c(scores["t0"])} if "t0" in scores else {}


def _read_events(source: TargetSource, name: str) -> Values:
    """Read a column of 1 (event), 0 (censored) or NaN (missing); shape (n,)."""
    source.require_columns([name], name_option("event"))
    for used_columns, option in ((source.exclude, "exclude"), (source.columns[:-1], "target")):
        if name in used_columns:
            raise DataError(
                f"{source.origin}: {quote(name)} is in both {name_option('event')} and "
                f"{name_option(option)}: keep one"
            )
    hint = "give 1 where the event was observed, 0 where the row is censored"
    column = source.get_column(name)
    if column.numbers is None or not column.is_numeric:
        raise DataError(
            f"{source.origin}: {name_option_column('event', name)} holds {column.description}: {hint}"
        )
    is_invalid = ~(np.isnan(column.numbers) | np.isin(column.numbers, (0.0, 1.0)))
    if is_invalid.any():
        row = int(np.flatnonzero(is_invalid)[0])
        raise DataError(
            f"{source.origin}: row {row + 1} of {quote(name)} holds {column.numbers[row]:g}: {hint}"
        )
    return column.numbers
