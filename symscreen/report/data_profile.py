"""The profile of the data on a page: rows, columns, missing values, ties and the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.messages import escape_control_chars
from symscreen.report.columns import format_typeset_number
from symscreen.report.figures.feature import get_dataset
from symscreen.report.figures.style import INK, MARK, PLAIN_TEXT, despine, get_unit, shorten_label
from symscreen.targets import NumericTarget
from symscreen.targets.registry import find_recorded_type

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symscreen._typing import Flags, Values
    from symscreen.data import Dataset
    from symscreen.results.screen_result import ScreenResult


_MAX_COLUMNS = 200  # columns of the table
_MAX_BINS = 24  # bars of the histogram


@dataclass(frozen=True, slots=True)
class ProfileFact:
    """A fact about the data: what it is about, a number or a name, and a remark, which may be empty."""

    title: str
    value: str
    remark: str


@dataclass(frozen=True, slots=True)
class ColumnSummary:
    """The summary of a column: its name, its unit, and numbers as text."""

    name: str
    unit: str
    distinct: str
    tied: str
    minimum: str
    median: str
    maximum: str
    filled: str


def list_profile_facts(result: ScreenResult) -> list[ProfileFact]:
    """List the facts about rows, inputs, missing values, target and ties of a screen."""
    data = result.record["data"]
    facts = [
        ProfileFact("rows", f"{data['rows']:,}", _describe_dropped(data["rows_dropped"])),
        ProfileFact("inputs", f"{len(data['inputs']):,}", "columns of numbers that formulas may use"),
        ProfileFact("formulas scored", f"{result.n_scored:,}", _describe_kept(result)),
    ]
    return [*facts, _describe_missing(result), _describe_target(result)]


def _describe_missing(result: ScreenResult) -> ProfileFact:
    """Say how many rows were dropped and, if the data are there, how many cells were filled."""
    n_dropped = result.record["data"]["rows_dropped"]
    n_filled = 0 if result.data is None else _count_filled_cells(result.data)
    parts = [f"{n_dropped:,} rows dropped"] if n_dropped else []
    parts += [f"{n_filled:,} cells filled"] if n_filled else []
    remark = "a notice below says where" if parts else "every cell that is used has a value"
    return ProfileFact("missing values", ", ".join(parts) or "none", remark)


def _count_filled_cells(dataset: Dataset) -> int:
    """Count the filled cells of the data; ``x·1[c = p]`` and ``x·1[c = q]`` are filled where x is."""
    cells: dict[str, Flags] = {}
    for name, flags in dataset.filled_cells.items():
        column = dataset.indicators[name].gated_column or name
        cells[column] = cells[column] | flags if column in cells else flags
    return sum(int(flags.sum()) for flags in cells.values())


def _describe_dropped(n_dropped: int) -> str:
    return f"{n_dropped:,} more are left out" if n_dropped else "none is left out"


def _describe_kept(result: ScreenResult) -> str:
    """Say how many features the ranking has."""
    kind = "distinct ones" if "redundancy" in result.record else "of them"
    return f"{len(result):,} {kind} in the ranking"


def _describe_target(result: ScreenResult) -> ProfileFact:
    """Describe the target: its kind, and its ties if it is a column of numbers."""
    data = result.record["data"]
    name = escape_control_chars(data["target"])
    target = None if result.data is None else result.data.target
    if not isinstance(target, NumericTarget):
        return ProfileFact("target", name, find_recorded_type(data).description)
    n_distinct, tied = count_ties(target.values)
    remark = "no two rows tie" if not tied else f"{tied:.0%} of rows tie with another"
    return ProfileFact("target", name, f"{n_distinct:,} distinct values; {remark}".replace("%", " %"))


def count_ties(values: Values) -> tuple[int, float]:
    """Count the distinct values of a column, shape (n,), and the share of rows that tie with another row.

    Examples
    --------
    >>> count_ties(np.array([1.0, 2.0, 2.0, 5.0]))
    (3, 0.5)
    """
    counts = np.unique(values, return_counts=True)[1]
    return len(counts), float(counts[counts > 1].sum() / len(values))


def summarize_columns(result: ScreenResult) -> list[ColumnSummary]:
    """Summarise the target, if it is a column of numbers, and the first inputs; empty without data."""
    dataset = result.data
    if dataset is None:
        return []
    columns = [(name, dataset.columns_by_name[name]) for name in dataset.names[:_MAX_COLUMNS]]
    if isinstance(dataset.target, NumericTarget):
        columns.insert(0, (dataset.target.name, dataset.target.values))
    return [_summarize_column(name, values, dataset, result.record) for name, values in columns]


def _summarize_column(name: str, values: Values, dataset: Dataset, record: dict[str, Any]) -> ColumnSummary:
    """Summarise a column, shape (n,)."""
    n_distinct, tied = count_ties(values)
    flags = dataset.filled_cells.get(name)
    low, middle, high = (
        format_typeset_number(float(value), 4) for value in (values.min(), np.median(values), values.max())
    )
    return ColumnSummary(
        escape_control_chars(name), get_unit(record, name), f"{n_distinct:,}", f"{100 * tied:.0f} %",
        low, middle, high, f"{0 if flags is None else int(flags.sum()):,}",
    )  # fmt: skip


def draw_target(axes: Axes, result: ScreenResult) -> None:
    """Draw the histogram of a numeric target; a bar for each value if there are few."""
    values = get_dataset(result).numeric_target.values
    distinct = np.unique(values)
    if len(distinct) <= _MAX_BINS:
        counts = [int((values == value).sum()) for value in distinct]
        width = 0.8 * float(np.diff(distinct).min()) if len(distinct) > 1 else 1.0
        axes.bar(distinct, counts, width=width, color=MARK)
    else:
        axes.hist(values, bins=_MAX_BINS, color=MARK, rwidth=0.92)
    despine(axes)
    name = result.record["data"]["target"]
    axes.set_xlabel(shorten_label(name, unit=get_unit(result.record, name)), **PLAIN_TEXT)
    axes.set_ylabel("rows", color=INK)
