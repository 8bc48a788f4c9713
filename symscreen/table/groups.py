"""Which rows belong together: a column of labels, numbers, text or dates, read beside inputs and response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import TableError
from symscreen.table.choose import require
from symscreen.table.source import read_frame
from symscreen.table.wording import first_rows, quoted

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from symscreen.table.source import Frame

__all__ = ["frame_with", "row_groups"]


def frame_with(source: object, name: str, said: str = "--groups") -> Frame:
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
    require(frame, [name], said)
    return frame


def row_groups(frame: Frame, name: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tell the groups of rows apart by numbers.

    Parameters
    ----------
    frame : Frame
        The source.
    name : str
        A column of it with labels: numbers, text, or dates or times, one for each row that is used. Equal
        ones are a group.
    rows : int64 array, shape (n,)
        The rows of the source that are used, as `Table.rows` has them.

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
    >>> from symscreen.table.source import read_frame
    >>> row_groups(read_frame({"site": ["b", "a", "b"]}), "site", np.array([2, 1, 0])).tolist()
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
        labels, missing = _whole(column.times, rows)
    else:
        raise TableError(
            f"{frame.where}: the column {quoted(name)} of --groups holds {column.holds}; give labels: "
            "numbers, text or dates"
        )
    if missing.any():
        gaps = np.zeros(frame.n, dtype=np.bool_)
        gaps[rows[missing]] = True
        raise TableError(
            f"{frame.where}: the column {quoted(name)} of --groups has no label in {first_rows(gaps)}: fill "
            "them in, or leave these rows out"
        )
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _whole(
    times: pa.Array | pa.ChunkedArray, rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Write dates or times as the whole numbers that they are stored as; say where one is missing."""
    import pyarrow as pa

    stored = times.cast(pa.int32() if times.type.bit_width == 32 else pa.int64())
    missing = np.asarray(stored.is_null())[rows]
    return np.asarray(stored.fill_null(0))[rows], missing
