"""Which rows a table takes: those without a missing value, where the others may be dropped.

What rows weigh: a column of numbers, read beside inputs and response.

Which rows belong together: a column of labels, numbers, text or dates, read beside inputs and response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data.column_selection import require_columns
from symscreen.data.files import read_frame
from symscreen.errors import DataError, format_count, format_names, format_rows, quote
from symscreen.targets.weighted import MAX_WEIGHT_RATIO

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from symscreen.data.files import SourceFrame


__all__ = [
    "MIN_ROWS",
    "find_complete_rows",
    "find_weighted_rows",
    "read_frame_with_column",
    "read_row_groups",
    "read_row_weights",
]

MIN_ROWS = 5


def find_complete_rows(
    frame: SourceFrame, columns: dict[str, NDArray[np.float64]], missing: str
) -> tuple[NDArray[np.bool_], list[str]]:
    """Find the rows without missing values; refuse infinities, and gaps unless they may be dropped.

    Parameters
    ----------
    frame : Frame
        The source.
    used : dict of str to float64 array, each of shape (n,)
        The columns that a table needs of it.
    missing : {"refuse", "drop"}
        What to do with rows that have missing values.

    Returns
    -------
    kept : bool array, shape (n,)
        The rows to take.
    notices : list of str
        For people: how many were dropped, and where.

    Raises
    ------
    TableError
        If a value is infinite, one is missing and may not be, or fewer than five rows are left.
    """
    gaps = np.zeros(frame.n, dtype=bool)
    gappy = []
    for name, values in columns.items():
        if np.isfinite(values).all():
            continue
        infinite = np.isinf(values)
        if infinite.any():
            raise DataError(
                f"{frame.source}: the column {quote(name)} is infinite in {format_rows(infinite)}; "
                "correct these values, or leave the column out with --exclude"
            )
        gaps |= np.isnan(values)
        gappy.append(name)
    what = f"{format_count(int(gaps.sum()), 'row')} of {frame.n} with missing values"
    where = f"({format_rows(gaps)}; in {format_names(gappy)})"
    if gappy and missing == "refuse":
        raise DataError(
            f"{frame.source} has {what} {where}: mend them, leave columns out with --exclude, "
            "or drop these rows with --missing drop"
        )
    left = frame.n - int(gaps.sum())
    if left < MIN_ROWS:
        after = f" after dropping {what} {where}" if gappy else ""
        raise DataError(
            f"{frame.source} has {format_count(left, 'row')}{after}: at least {MIN_ROWS} are needed"
        )
    return ~gaps, [f"dropped: {what} {where}"] if gappy else []


def read_row_weights(frame: SourceFrame, name: str) -> NDArray[np.float64]:
    """Read what rows weigh.

    Parameters
    ----------
    frame : Frame
        The source.
    name : str
        A column of it, of numbers of at least 0.

    Returns
    -------
    float64 array, shape (n,)

    Raises
    ------
    TableError
        If a row has no weight, or one that is negative or infinite, or all are 0, or one is more than 10¹⁸
        times another that is not 0.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> read_row_weights(read_frame({"times": [1, 0, 2]}), "times").tolist()
    [1.0, 0.0, 2.0]
    """
    column = frame.columns[name]
    if column.numbers is None or not column.is_numeric:
        raise DataError(
            f"{frame.source}: the column {quote(name)} of --weights holds {column.description}: give "
            "numbers of at "
            "least 0"
        )
    with np.errstate(invalid="ignore"):
        strange = ~((column.numbers >= 0.0) & np.isfinite(column.numbers))
    if strange.any():
        raise DataError(
            f"{frame.source}: the column {quote(name)} of --weights is negative, infinite or missing in "
            f"{format_rows(strange)}: give numbers of at least 0"
        )
    if not column.numbers.any():
        raise DataError(f"{frame.source}: all weights in {quote(name)} are zero: no row is left")
    least, most = column.numbers[column.numbers > 0.0].min(), column.numbers.max()
    if least * MAX_WEIGHT_RATIO < most:
        raise DataError(
            f"{frame.source}: the column {quote(name)} of --weights goes from {least:g} to {most:g}, and the "
            f"largest may be {MAX_WEIGHT_RATIO:g} times the smallest: give rows of no account the weight 0"
        )
    return column.numbers


def find_weighted_rows(
    frame: SourceFrame, columns: dict[str, NDArray[np.float64]], weights: NDArray[np.float64], missing: str
) -> tuple[NDArray[np.bool_], list[str]]:
    """Find the rows that weigh anything and miss no value: those of weight 0 say nothing, whatever they hold.

    Parameters
    ----------
    frame, used, missing
        As of `find_complete_rows`.
    weights : float64 array, shape (n,)
        As of `read_row_weights`.

    Returns
    -------
    kept : bool array, shape (n,)
        The rows to take.
    notices : list of str
        For people: how many were left out, and why.

    Raises
    ------
    TableError
        As of `find_complete_rows`, which does not look at rows of weight 0.
    """
    weighs = weights > 0.0
    complete, notices = find_complete_rows(
        frame, {name: np.where(weighs, values, 0.0) for name, values in columns.items()}, missing
    )
    left, idle = complete & weighs, int((~weighs).sum())
    what = f"{format_count(idle, 'row')} of {frame.n} of weight 0"
    if left.sum() < MIN_ROWS:
        rows = format_count(int(left.sum()), "row")
        raise DataError(f"{frame.source} has {rows} after leaving out {what}: at least {MIN_ROWS} are needed")
    return left, [*notices, *([f"left out: {what}"] if idle else [])]


def read_frame_with_column(source: object, name: str, option: str = "--groups") -> SourceFrame:
    """Read a source that must have a column, of groups or of weights.

    Parameters
    ----------
    source : object
        As of `read_frame`.
    name : str
        The column.
    said : str
        Which option named it, for messages.

    Returns
    -------
    Frame
        Which can be read again, as standard input cannot.

    Raises
    ------
    TableError
        If the source cannot be read or has no such column.
    """
    frame = read_frame(source)
    require_columns(frame, [name], option)
    return frame


def read_row_groups(frame: SourceFrame, name: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tell the groups of rows apart by numbers.

    Parameters
    ----------
    frame : Frame
        The source.
    name : str
        A column of it with labels: numbers, text, or dates or times, one for each row that is used. Equal
        ones are a group.
    rows : int64 array, shape (n,)
        The rows of the source that are used, as `Dataset.source_rows` has them.

    Returns
    -------
    int64 array, shape (n,)
        From 0 up in the order of the labels, so that neither the order of the rows nor another row decides.

    Raises
    ------
    TableError
        If the column holds nothing of this kind, or a row used has no label.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> read_row_groups(read_frame({"site": ["b", "a", "b"]}), "site", np.array([2, 1, 0])).tolist()
    [1, 0, 1]
    """
    column = frame.columns[name]
    if column.numbers is not None:
        labels, missing = column.numbers[rows], np.isnan(column.numbers[rows])
    elif column.texts is not None:
        texts = np.array(column.texts.to_pylist(), dtype=object)[rows]
        missing = np.array([text is None for text in texts], dtype=np.bool_)
        labels = np.where(missing, "", texts).astype(str)
    elif column.times is not None:
        labels, missing = _convert_times(column.times, rows)
    else:
        raise DataError(
            f"{frame.source}: the column {quote(name)} of --groups holds {column.description}; give labels: "
            "numbers, text or dates"
        )
    if missing.any():
        gaps = np.zeros(frame.n, dtype=np.bool_)
        gaps[rows[missing]] = True
        raise DataError(
            f"{frame.source}: the column {quote(name)} of --groups has no label in {format_rows(gaps)}: fill "
            "them in, or leave these rows out"
        )
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _convert_times(
    times: pa.Array | pa.ChunkedArray, rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Write dates or times as the whole numbers that they are stored as; say where one is missing."""
    import pyarrow as pa

    stored = times.cast(pa.int32() if times.type.bit_width == 32 else pa.int64())
    missing = np.asarray(stored.is_null())[rows]
    return np.asarray(stored.fill_null(0))[rows], missing
