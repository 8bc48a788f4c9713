"""Files, frames, dicts and arrays, each into one frame of named columns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import TableError, printable
from symscreen.table.column import Column, arrow_column, python_column
from symscreen.table.delimited import MOST_COLUMNS
from symscreen.table.files import read_file, read_standard_input
from symscreen.table.wording import count, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["Frame", "read_frame"]


@dataclass(frozen=True, eq=False)
class Frame:
    """The columns of a source, in its own order of rows and columns.

    Parameters
    ----------
    where : str
        The source, as messages name it.
    columns : dict of str to Column
        All columns, at least one.
    n : int
        The number of data rows.

    Examples
    --------
    >>> read_frame({"a": [1, 2], "b": ["p", "q"]}).columns["b"].holds
    'text'
    """

    where: str
    columns: dict[str, Column]
    n: int


def read_frame(source: object) -> Frame:
    """Read every column of a source.

    Parameters
    ----------
    source : path, ``"-"``, pandas DataFrame, dict of columns, array of shape (n, d), or Frame
        A path ends in .csv, .tsv, .parquet, .feather or .arrow; ``"-"`` is standard input, in any of
        these formats. The columns of an array are named x1 to xd. Labels of other types become text.

    Returns
    -------
    Frame

    Raises
    ------
    TableError
        If the source cannot be read, or its columns differ in length, share a name, or are too many.

    Examples
    --------
    >>> frame = read_frame(np.eye(3))
    >>> list(frame.columns), frame.n
    (['x1', 'x2', 'x3'], 3)
    """
    if isinstance(source, Frame):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _from_path(os.fspath(source))
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if isinstance(source, np.ndarray):
        return _from_array(source)

    import pandas as pd

    if isinstance(source, pd.DataFrame):
        cells = [series for _, series in source.items()]
        return _framed(
            "the frame", [str(label) for label in source.columns], cells, len(source), python_column
        )
    raise TableError(
        f"a table cannot be read from an object of type {type(source).__name__}: give a path, a pandas "
        "DataFrame, a dict of columns, or a numpy array of shape (rows, columns)"
    )


def _framed(
    where: str, names: list[str], cells: Sequence[Any], n: int, convert: Callable[[Any], Column]
) -> Frame:
    """Check the names, then convert the columns."""
    if not names:
        raise TableError(f"{where} has no columns: a target and at least one input are needed")
    if len(names) > MOST_COLUMNS:
        raise TableError(f"{where} has {len(names)} columns, more than {MOST_COLUMNS}: keep fewer in it")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(
            f"{where} has more than one column named {listed(twice)}: rename or remove the others"
        )
    return Frame(where, {name: convert(each) for name, each in zip(names, cells, strict=True)}, n)


def _from_path(path: str) -> Frame:
    if path == "-":
        where, table = "standard input", read_standard_input()
    else:
        where, table = printable(str(Path(path))), read_file(Path(path))
    return _framed(where, table.column_names, table.columns, table.num_rows, arrow_column)


def _from_mapping(source: Mapping[Any, Any]) -> Frame:
    where = "the dict"
    lengths = {}
    for name, cells in source.items():
        if isinstance(cells, (str, bytes)) or not hasattr(cells, "__len__") or getattr(cells, "ndim", 1) != 1:
            raise TableError(
                f"{where}: the column {quoted(name)} is not a sequence of one value for each row"
            )
        lengths[str(name)] = len(cells)
    n = max(lengths.values(), default=0)
    for name, length in lengths.items():
        if length != n:
            raise TableError(
                f"{where}: the column {quoted(name)} has {count(length, 'value')} where others have {n}"
            )
    return _framed(where, [str(name) for name in source], list(source.values()), n, python_column)


def _from_array(source: NDArray[Any]) -> Frame:
    if source.ndim != 2:
        raise TableError(f"the array has shape {source.shape}: two dimensions are needed, (rows, columns)")
    n, d = source.shape
    plain = (
        source if isinstance(source, np.ma.MaskedArray) else np.asarray(source)
    )  # np.matrix has no 1-D columns
    return _framed("the array", [f"x{j}" for j in range(1, d + 1)], list(plain.T), n, python_column)
