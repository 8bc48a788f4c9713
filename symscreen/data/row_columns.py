"""Select the rows of a dataset, and read the columns of row weights and row groups.

Rows with missing values are rejected or dropped, rows of weight 0 are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.data.column_selection import require_columns
from symscreen.data.sources import read_frame
from symscreen.errors import DataError
from symscreen.messages import (
    Message,
    format_count,
    format_names,
    format_rows,
    hint_option,
    name_option,
    name_option_column,
    quote,
)
from symscreen.targets.weighted import MAX_WEIGHT_RATIO

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.data.source_frame import SourceFrame
    from symscreen.targets.base import RowFilter


MIN_ROWS = 5  # rows of a dataset


def count_rows_to_drop_by_default(n_rows: int) -> int:
    """Return how many rows with missing values are dropped if nothing is said: a tenth of all.

    Examples
    --------
    >>> count_rows_to_drop_by_default(59)
    5
    """
    return n_rows // 10


def find_complete_rows(
    frame: SourceFrame, columns: Mapping[str, NDArray[np.float64]], missing: str | None
) -> tuple[NDArray[np.bool_], list[str]]:
    """Find the rows without missing values.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    columns : mapping of str to float64 array, each of shape (n,)
        The columns that the dataset needs, at least those with gaps. Each is looked at once.
    missing : {"refuse", "drop"} or None
        ``"refuse"`` raises an error for missing values, ``"drop"`` drops these rows; None drops them if they
        are at most a tenth of all rows, and raises an error otherwise.

    Returns
    -------
    row_mask : bool array, shape (n,)
        True for the complete rows.
    notices : list of str
        At most one line: the number of dropped rows and the columns concerned.

    Raises
    ------
    DataError
        If a value is infinite, missing values are not to be dropped, or fewer than 5 rows are left.
    """
    is_missing = np.zeros(frame.n, dtype=bool)
    incomplete_columns = []
    for name, values in columns.items():
        if np.isfinite(values).all():
            continue
        infinite = np.isinf(values)
        if infinite.any():
            raise DataError(
                f"{frame.source}: the column {quote(name)} is infinite in {format_rows(infinite)}; "
                f"correct these values, or leave the column out{hint_option('exclude')}"
            )
        is_missing |= np.isnan(values)
        indicator = frame.columns[name].indicator if name in frame.columns else None
        incomplete_columns.append(name if indicator is None else indicator.column)
    incomplete_columns = list(dict.fromkeys(incomplete_columns))  # a category has several columns of levels
    missing_rows = f"{format_count(int(is_missing.sum()), 'row')} of {frame.n} with missing values"
    places = f"({format_rows(is_missing)}; in {format_names(incomplete_columns)})"
    if incomplete_columns and missing == "refuse":
        raise DataError(
            f"{frame.source} has {missing_rows} {places}: fill them in, leave columns "
            f"out{hint_option('exclude')}, or drop these rows{hint_option('missing', 'drop')}"
        )
    if missing is None and is_missing.sum() > count_rows_to_drop_by_default(frame.n):
        raise DataError(
            f"{frame.source} has {missing_rows} {places}, more than a tenth: fill them with "
            f"medians{hint_option('missing', 'impute')}, "
            f"mark them, too{hint_option('missing', 'indicator')}, "
            f"or drop the rows{hint_option('missing', 'drop')}"
        )
    n_left = frame.n - int(is_missing.sum())
    if n_left < MIN_ROWS:
        dropped = f" after dropping {missing_rows} {places}" if incomplete_columns else ""
        raise DataError(
            f"{frame.source} has {format_count(n_left, 'row')}{dropped}: at least {MIN_ROWS} are needed"
        )
    if not incomplete_columns:
        return ~is_missing, []
    choice = f"; choose otherwise with {name_option('missing')}" if missing is None else ""
    return ~is_missing, [Message(f"dropped: {missing_rows} {places}{choice}")]


def read_row_weights(frame: SourceFrame, name: str) -> NDArray[np.float64]:
    """Read a column of row weights.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    name : str
        A column of nonnegative numbers.

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    DataError
        If a weight is missing, negative or infinite, all weights are 0, or the largest exceeds 10¹⁸ times the
        smallest positive one.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> read_row_weights(read_frame({"times": [1, 0, 2]}), "times").tolist()
    [1.0, 0.0, 2.0]
    """
    column = frame.columns[name]
    if column.numbers is None or not column.is_numeric:
        raise DataError(
            f"{frame.source}: {name_option_column('weights', name)} holds {column.description}: "
            "give numbers of at least 0"
        )
    with np.errstate(invalid="ignore"):
        is_invalid = ~((column.numbers >= 0.0) & np.isfinite(column.numbers))
    if is_invalid.any():
        raise DataError(
            f"{frame.source}: {name_option_column('weights', name)} is negative, infinite or missing in "
            f"{format_rows(is_invalid)}: give numbers of at least 0"
        )
    if not column.numbers.any():
        raise DataError(
            f"{frame.source}: {name_option_column('weights', name)} is zero in all rows: no row is left"
        )
    min_weight, max_weight = column.numbers[column.numbers > 0.0].min(), column.numbers.max()
    if min_weight * MAX_WEIGHT_RATIO < max_weight:
        raise DataError(
            f"{frame.source}: {name_option_column('weights', name)} ranges from {min_weight:g} to "
            f"{max_weight:g}, but the largest may be at most {MAX_WEIGHT_RATIO:g} times the smallest: give "
            "negligible rows the weight 0"
        )
    return column.numbers


def find_used_rows(
    frame: SourceFrame,
    columns: dict[str, NDArray[np.float64]],
    missing: str | None,
    row_filter: RowFilter | None = None,
) -> tuple[NDArray[np.bool_], list[str]]:
    """Find the rows without missing values that the target can use, and that have enough rows before them.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    columns : dict of str to float64 array, each of shape (n,)
        The columns that the dataset needs.
    missing : {"refuse", "drop"} or None
        What to do with rows that have missing values, see `find_complete_rows`.
    row_filter : RowFilter, optional
        The rows that the target can use, for example those of positive weight.

    Returns
    -------
    row_mask : bool array, shape (n,)
        True for the rows to use.
    notices : list of str
        The numbers of rows dropped or left out, with the reasons.

    Raises
    ------
    DataError
        If `find_complete_rows` raises it, or fewer than 5 rows are left.
    """
    order = frame.row_order
    if order is not None and order.n_before:
        columns = {name: np.where(order.is_start, 0.0, values) for name, values in columns.items()}
    row_mask, notices = _find_rows_of_target(frame, columns, missing, row_filter)
    if order is None or not order.n_before:
        return row_mask, notices
    row_mask &= ~order.is_start
    n_left = int(row_mask.sum())
    starts = f"{format_count(int(order.is_start.sum()), 'row')} of {frame.n} at the start of runs"
    need = f"the operators of time need {format_count(order.n_before, 'row')} before a row"
    if n_left < MIN_ROWS:
        raise DataError(
            f"{frame.source} has {format_count(n_left, 'row')} after leaving out {starts} ({need}): at least "
            f"{MIN_ROWS} are needed"
        )
    return row_mask, [*notices, f"left out: {starts}; {need}"]


def _find_rows_of_target(
    frame: SourceFrame,
    columns: dict[str, NDArray[np.float64]],
    missing: str | None,
    row_filter: RowFilter | None,
) -> tuple[NDArray[np.bool_], list[str]]:
    """Find the rows without missing values that the target can use, wherever they are in a run."""
    if row_filter is None:
        return find_complete_rows(frame, columns, missing)
    is_used = row_filter.is_used
    if row_filter.ignores_missing:
        columns = {name: np.where(is_used, values, 0.0) for name, values in columns.items()}
    is_complete, notices = find_complete_rows(frame, columns, missing)
    row_mask, n_left_out = is_complete & is_used, int((is_complete & ~is_used).sum())
    left_out_rows = f"{format_count(n_left_out, 'row')} of {frame.n} {row_filter.reason}"
    if row_mask.sum() < MIN_ROWS:
        n_left = format_count(int(row_mask.sum()), "row")
        raise DataError(
            f"{frame.source} has {n_left} after leaving out {left_out_rows}: at least {MIN_ROWS} are needed"
        )
    return row_mask, [*notices, *([f"left out: {left_out_rows}"] if n_left_out else [])]


def read_frame_with_column(source: object, name: str, option: str = "groups") -> SourceFrame:
    """Read a source that must contain a given column, for example of groups or weights.

    Parameters
    ----------
    source : object
        A source, see `read_frame`.
    name : str
        The column.
    option : str
        The name of the option that names the column, for messages.

    Returns
    -------
    SourceFrame
        Can be passed to `read_frame` again, unlike standard input.

    Raises
    ------
    DataError
        If the source cannot be read or has no such column.
    """
    frame = read_frame(source)
    require_columns(frame, [name], name_option(option))
    return frame


def read_row_groups(
    frame: SourceFrame, name: str, rows: NDArray[np.int64], option: str = "groups"
) -> NDArray[np.int64]:
    """Read a column of group labels as group numbers.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    name : str
        A column of numbers, text, or dates or times. Rows with equal labels form a group.
    rows : int64 array, shape (n,)
        The rows of the source that are used (`Dataset.source_rows`).
    option : str
        The name of the option that names the column, for messages.

    Returns
    -------
    int64 array, shape (n,)
        Group numbers from 0 in the order of the labels, which does not depend on the order of the rows.

    Raises
    ------
    DataError
        If the column contains something else, or a used row has no label.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> read_row_groups(read_frame({"site": ["b", "a", "b"]}), "site", np.array([2, 1, 0])).tolist()
    [1, 0, 1]
    """
    column = frame.columns[name]
    if column.numbers is not None:
        labels, is_missing = column.numbers[rows], np.isnan(column.numbers[rows])
    elif column.texts is not None:
        texts = np.array(column.texts.to_list(), dtype=object)[rows]
        is_missing = np.array([text is None for text in texts], dtype=np.bool_)
        labels = np.where(is_missing, "", texts).astype(str)
    elif column.times is not None:
        labels, is_missing = column.times.values[rows].view(np.int64), column.times.is_missing[rows]
    else:
        raise DataError(
            f"{frame.source}: {name_option_column(option, name)} holds {column.description}; give labels: "
            "numbers, text or dates"
        )
    if is_missing.any():
        is_unlabeled = np.zeros(frame.n, dtype=np.bool_)
        is_unlabeled[rows[is_missing]] = True
        raise DataError(
            f"{frame.source}: {name_option_column(option, name)} has no label in "
            f"{format_rows(is_unlabeled)}: fill them in, or leave these rows out"
        )
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
