"""Fill the missing values of inputs with medians, and mark where they were missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from symscreen.data.categories import compute_categorical_column
from symscreen.data.column_types import FilledColumn, LevelIndicator, MissingIndicator
from symscreen.errors import DataError
from symscreen.messages import format_count, quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.data.column_types import DerivedColumn
    from symscreen.data.dataset import Dataset
    from symscreen.data.source_frame import SourceFrame

MissingPolicy = Literal["refuse", "drop", "impute", "indicator"]
MISSING_POLICIES: tuple[MissingPolicy, ...] = ("refuse", "drop", "impute", "indicator")


class FilledInputs(NamedTuple):
    """Inputs without missing values, with the definitions that new rows need."""

    values: dict[str, Values]
    definitions: dict[str, DerivedColumn]
    notices: list[str]
    cells: dict[str, Flags]  # the rows in which each input is filled, each of shape (n,)


def fill_inputs(
    frame: SourceFrame, values: Mapping[str, Values], row_mask: Flags, *, with_indicators: bool
) -> FilledInputs:
    """Replace the missing values of inputs by the median of the column.

    In an input that is multiplied by a level, such as ``x·1[c = p]``, those of x are replaced.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    values : mapping of str to float64 array, each of shape (n,)
        The inputs, NaN where missing.
    row_mask : bool array, shape (n,)
        The rows that the medians are computed from: those that have a target.
    with_indicators : bool
        Whether each input with missing values gets a companion, ``x is missing``, which is 1 where x is
        missing and 0 elsewhere.

    Returns
    -------
    FilledInputs

    Raises
    ------
    DataError
        If an input has no values in these rows, or the name of a companion is in use.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> frame = read_frame({"a": [1.0, None, 4.0]})
    >>> filled = fill_inputs(
    ...     frame, {"a": frame.columns["a"].numbers}, np.array([True] * 3), with_indicators=True
    ... )
    >>> {name: column.tolist() for name, column in filled.values.items()}, filled.notices
    ({'a': [1.0, 2.5, 4.0], 'a is missing': [0.0, 1.0, 0.0]}, ["filled with the median: 'a' (2.5 in 1 row)"])
    """
    filled = dict(values)
    definitions: dict[str, DerivedColumn] = {}
    cells: dict[str, Flags] = {}
    texts: dict[str, str] = {}  # of the notice, by column
    has_level: dict[LevelIndicator, Values] = {}  # 1 and 0, each of shape (n,)
    for name, column in values.items():
        indicator = frame.columns[name].indicator
        gated_column = None if indicator is None else indicator.gated_column
        if indicator is not None and gated_column is None:
            continue
        filled_column = name if gated_column is None else gated_column
        numbers = column if gated_column is None else frame.columns[gated_column].numbers
        assert numbers is not None  # noqa: S101  # inputs are numbers
        is_missing = np.isnan(numbers)
        if not (is_missing & row_mask).any():
            continue
        fill = _compute_median(frame, filled_column, numbers[row_mask & ~is_missing])
        n_filled = format_count(int((is_missing & row_mask).sum()), "row")
        texts[filled_column] = f"{quote(filled_column)} ({fill:g} in {n_filled})"
        filled[name], cells[name] = np.where(is_missing, fill, numbers), is_missing
        if isinstance(indicator, LevelIndicator):
            level = replace(indicator, gated_column=None)
            if level not in has_level:
                has_level[level] = _compute_column(frame, level)
            definitions[name] = replace(indicator, fill=fill)
            filled[name] = filled[name] * has_level[level]
            cells[name] = is_missing & (has_level[level] == 1.0)
            continue
        definitions[name] = FilledColumn(name, fill)
        if with_indicators:
            companion = _make_companion(frame, name)
            filled[companion.name] = is_missing.astype(np.float64)
            definitions[companion.name] = companion
    shown = ", ".join([*texts.values()][:10]) + (f" and {len(texts) - 10} more" if len(texts) > 10 else "")
    return FilledInputs(filled, definitions, [f"filled with the median: {shown}"] if texts else [], cells)


def _compute_median(frame: SourceFrame, name: str, known: Values) -> float:
    """Return the median of the known values of a column."""
    if not known.size:
        raise DataError(f"{frame.source}: the column {quote(name)} has no values in the rows that are used")
    return float(np.median(known))


def _make_companion(frame: SourceFrame, name: str) -> MissingIndicator:
    """Return the definition of the input that marks where another one is missing."""
    companion = MissingIndicator(name)
    if companion.name in frame.columns:
        raise DataError(
            f"{frame.source}: the column {quote(companion.name)} would stand for missing values of "
            f"{quote(name)}, and exists already: rename it"
        )
    return companion


def _compute_column(frame: SourceFrame, indicator: LevelIndicator) -> Values:
    """Compute an input that depends on a level, shape (n,)."""
    column = compute_categorical_column(frame, indicator)
    assert column is not None  # noqa: S101  # the source has the column of the levels
    assert column.numbers is not None  # noqa: S101
    return column.numbers


def refill_inputs(dataset: Dataset, rows: NDArray[np.int64]) -> tuple[Dataset, dict[str, float]]:
    """Fill missing values with the medians of some rows, for models that must not see the others.

    Parameters
    ----------
    dataset : Dataset
        The dataset, whose missing values are filled with the medians of all rows.
    rows : int64 array
        Indices of the rows whose medians are taken.

    Returns
    -------
    dataset : Dataset
        The same rows in the same order.
    medians : dict of str to float
        The new medians by input. An input without a value in these rows keeps the old one, and is not here.
        ``x·1[c = p]`` has the median of x, and keeps the old one if x is not an input.
    """
    columns, medians = dataset.columns.copy(), dict[str, float]()
    gated_columns = {name: dataset.indicators[name].gated_column for name in dataset.filled_cells}
    for name, is_filled in dataset.filled_cells.items():
        known = columns[dataset.names.index(name)][rows][~is_filled[rows]]
        if gated_columns[name] is None and known.size:
            medians[name] = float(np.median(known))
    for name, gated_column in gated_columns.items():
        if gated_column is not None and gated_column in medians:
            medians[name] = medians[gated_column]
    for name, median in medians.items():
        columns[dataset.names.index(name), dataset.filled_cells[name]] = median
    return replace(dataset, columns=columns), medians


def find_rows_with_values(columns: Mapping[str, Values], n_rows: int) -> Flags:
    """Return a mask of the rows in which no column is missing; shape (n,)."""
    mask = np.ones(n_rows, dtype=np.bool_)
    for values in columns.values():
        mask &= ~np.isnan(values)
    return mask


def build_imputation_record(definitions: Mapping[str, DerivedColumn]) -> dict[str, Any]:
    """Build the part of the record that describes how missing values were filled and marked.

    Examples
    --------
    >>> build_imputation_record({"a": FilledColumn("a", 2.5), "a is missing": MissingIndicator("a")})
    {'imputation': {'filled': {'a': 2.5}, 'marked': ['a']}}
    """
    filled = {each.column: each.fill for each in definitions.values() if isinstance(each, FilledColumn)}
    for each in definitions.values():
        if isinstance(each, LevelIndicator) and each.gated_column is not None and each.fill is not None:
            filled.setdefault(each.gated_column, each.fill)
    marked = [each.column for each in definitions.values() if isinstance(each, MissingIndicator)]
    return {"imputation": {"filled": filled, "marked": marked}} if filled else {}
