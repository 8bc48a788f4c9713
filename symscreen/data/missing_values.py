"""Fill the missing values of inputs with medians, and mark where they were missing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from symscreen.data.column_types import FilledColumn, MissingIndicator
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


def fill_inputs(
    frame: SourceFrame, values: Mapping[str, Values], row_mask: Flags, *, with_indicators: bool
) -> FilledInputs:
    """Replace the missing values of inputs by the median of the column.

    Inputs that are derived from a category stay as they are.

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
    parts = []
    for name, column in values.items():
        is_missing = np.isnan(column)
        if frame.columns[name].indicator is not None or not (is_missing & row_mask).any():
            continue
        known = column[row_mask & ~is_missing]
        if not known.size:
            raise DataError(
                f"{frame.source}: the column {quote(name)} has no values in the rows that are used"
            )
        definition = FilledColumn(name, float(np.median(known)))
        filled[name], definitions[name] = np.where(is_missing, definition.fill, column), definition
        n_filled = format_count(int((is_missing & row_mask).sum()), "row")
        parts.append(f"{quote(name)} ({definition.fill:g} in {n_filled})")
        if with_indicators:
            companion = MissingIndicator(name)
            if companion.name in frame.columns:
                raise DataError(
                    f"{frame.source}: the column {quote(companion.name)} would stand for missing values of "
                    f"{quote(name)}, and exists already: rename it"
                )
            filled[companion.name] = is_missing.astype(np.float64)
            definitions[companion.name] = companion
    shown = ", ".join(parts[:10]) + (f" and {len(parts) - 10} more" if len(parts) > 10 else "")
    return FilledInputs(filled, definitions, [f"filled with the median: {shown}"] if parts else [])


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
    """
    columns, medians = dataset.columns.copy(), dict[str, float]()
    for name, is_filled in dataset.filled_cells.items():
        column = columns[dataset.names.index(name)]
        known = column[rows][~is_filled[rows]]
        if known.size:
            medians[name] = float(np.median(known))
            column[is_filled] = medians[name]
    return replace(dataset, columns=columns), medians


def count_rows_to_drop_by_default(n_rows: int) -> int:
    """Return how many rows with missing values are dropped if nothing is said: a tenth of all.

    Examples
    --------
    >>> count_rows_to_drop_by_default(59)
    5
    """
    return n_rows // 10


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
    marked = [each.column for each in definitions.values() if isinstance(each, MissingIndicator)]
    return {"imputation": {"filled": filled, "marked": marked}} if filled else {}
