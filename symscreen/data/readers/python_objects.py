"""Read tables that are Python objects: data frames, Arrow tables, dicts, arrays and lists of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data.readers.raw_table import RawTable
from symscreen.errors import DataError
from symscreen.messages import format_count, name_source, quote

if TYPE_CHECKING:
    from numpy.typing import NDArray


_KNOWN_OBJECTS = (
    "give a path, a data frame (pandas, polars, Arrow, DuckDB), a dict of columns, or a numpy array of shape "
    "(rows, columns)"
)


def read_object(source: object) -> RawTable:
    """Read a table from a Python object.

    Parameters
    ----------
    source : object
        A pandas or polars DataFrame, a polars LazyFrame, an Arrow table or record batch, a DuckDB relation,
        any other object with the Arrow PyCapsule interface or that narwhals knows, a dict of columns, an
        array of shape (n, d), a list of rows, or a list of records. The columns of arrays and of lists of
        rows are named x1 to xd.

    Returns
    -------
    RawTable

    Raises
    ------
    DataError
        If the object is not a table.
    """
    if isinstance(source, Mapping):
        return _read_mapping(source)
    if isinstance(source, np.ndarray):
        return _read_array(source)
    if isinstance(source, list | tuple):
        return _read_list(source)

    import pandas as pd

    if isinstance(source, pd.DataFrame):
        cells = [series for _, series in source.items()]
        return RawTable("the frame", [str(label) for label in source.columns], cells, len(source))
    if isinstance(source, pd.Series):
        raise DataError(
            f"a Series is one column, not a table: give {name_source('the data')} as a data frame"
        )
    table = _read_arrow_object(source)
    if table is None:
        table = _read_with_narwhals(source)
    if table is None:
        raise DataError(
            f"a table cannot be read from an object of type {type(source).__name__}: {_KNOWN_OBJECTS}"
        )
    return table


def _read_arrow_object(source: object) -> RawTable | None:
    """Read an object with the Arrow PyCapsule interface; None if it has none, or pyarrow is not installed."""
    if not (hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")):
        return None
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return None
    try:
        return RawTable.from_arrow(pa.table(source), "the frame")
    except (pa.ArrowException, TypeError, ValueError):  # for example a single column, or a type Arrow lacks
        return None


def _read_with_narwhals(source: object) -> RawTable | None:
    """Read a frame that narwhals knows, for example a lazy one; None for other objects."""
    import narwhals.stable.v1 as nw

    try:
        frame = nw.from_native(source)  # type: ignore[call-overload]
    except TypeError:
        return None
    try:
        collected = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    except ModuleNotFoundError as error:  # lazy frames of some libraries are collected into Arrow tables
        raise DataError(
            f"an object of type {type(source).__name__} is read by {error.name}, which is not installed: pip "
            "install 'symscreen[files]'"
        ) from error
    columns = [_take_cells(collected[name]) for name in collected.columns]
    return RawTable("the frame", collected.columns, columns, len(collected))


def _take_cells(column: Any) -> Any:
    """Take the cells of a narwhals column: numbers as an array, and others, or with gaps, as a list."""
    is_plain = (column.dtype.is_integer() or column.dtype.is_float()) and not column.null_count()
    return column.to_numpy() if is_plain else column.to_list()


def _read_mapping(source: Mapping[Any, Any]) -> RawTable:
    """Read a mapping of column names to sequences of equal length."""
    lengths = {}
    for name, cells in source.items():
        if isinstance(cells, (str, bytes)) or not hasattr(cells, "__len__") or getattr(cells, "ndim", 1) != 1:
            raise DataError(
                f"{name_source('the dict')}: the column {quote(name)} is not a sequence of one value for "
                "each row"
            )
        lengths[str(name)] = len(cells)
    n = max(lengths.values(), default=0)
    for name, length in lengths.items():
        if length != n:
            raise DataError(
                f"{name_source('the dict')}: the column {quote(name)} has "
                f"{format_count(length, 'value')}, others have {n}"
            )
    return RawTable(name_source("the dict"), [str(name) for name in source], list(source.values()), n)


def _read_array(source: NDArray[Any]) -> RawTable:
    """Read an array of shape (n, d)."""
    if source.ndim != 2:
        raise DataError(f"the array has shape {source.shape}: two dimensions are needed, (rows, columns)")
    n, d = source.shape
    # np.asarray because np.matrix has no 1-D columns.
    array = source if isinstance(source, np.ma.MaskedArray) else np.asarray(source)
    return RawTable("the array", [f"x{j}" for j in range(1, d + 1)], list(array.T), n)


def _read_list(source: Sequence[Any]) -> RawTable:
    """Read a list of rows, or of records."""
    if source and all(isinstance(record, Mapping) for record in source):
        names = list(dict.fromkeys(key for record in source for key in record))
        columns = [[record.get(name) for record in source] for name in names]
        return RawTable("the list", [str(name) for name in names], columns, len(source))
    if not source or not all(isinstance(row, list | tuple | np.ndarray) for row in source):
        raise DataError(
            f"a table cannot be read from a {type(source).__name__} that is not a list of rows: "
            f"{_KNOWN_OBJECTS}"
        )
    widths = {len(row) for row in source}
    if len(widths) > 1:
        raise DataError(
            f"the rows of the list have {min(widths)} to {max(widths)} values: equally many are needed"
        )
    names = [f"x{j}" for j in range(1, widths.pop() + 1)]
    return RawTable("the list", names, [list(cells) for cells in zip(*source, strict=True)], len(source))
