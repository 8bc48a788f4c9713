"""Read any source of a table: a file, several files, standard input, a database, or a Python object."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from symscreen.data.readers.duckdb_tables import DUCKDB_PREFIX, read_duckdb_table
from symscreen.data.readers.file_formats import load_file, load_standard_input, parse_content
from symscreen.data.readers.file_sets import is_pattern, list_files, read_files
from symscreen.data.readers.python_objects import read_object
from symscreen.data.source_frame import SourceFrame, build_frame
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, quote

if TYPE_CHECKING:
    from symscreen.data.readers.raw_table import RawTable


_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/{1,2}[^/]")


def read_frame(source: object) -> SourceFrame:
    """Read all columns of a source.

    Parameters
    ----------
    source : path, ``"-"``, data frame, dict of columns, array of shape (n, d), list of rows, or SourceFrame
        A path names a text table (.csv, .tsv, .txt), .parquet, .feather, .json, .ndjson, .xlsx or .xls file,
        also compressed as .gz, .bz2, .xz, .zst or .zip; a sheet of a workbook, ``FILE#SHEET``; a folder of
        CSV or Parquet files, or a pattern such as ``"part-*.csv"``; or a table of a database,
        ``duckdb:FILE#TABLE``. ``"-"`` is standard input. Data frames are those of pandas, polars, Arrow and
        DuckDB. The columns of an array are named x1 to xd. Column labels are converted to text.

    Returns
    -------
    SourceFrame

    Raises
    ------
    DataError
        If the source cannot be read, its columns differ in length or share a name, or there are more than
        100,000 columns.

    Examples
    --------
    >>> import numpy as np
    >>> frame = read_frame(np.eye(3))
    >>> list(frame.columns), frame.n
    (['x1', 'x2', 'x3'], 3)
    """
    if isinstance(source, SourceFrame):
        return source
    if isinstance(source, (str, os.PathLike)):
        return build_frame(_read_path(os.fspath(source)))
    return build_frame(read_object(source))


def _read_path(path: str) -> RawTable:
    """Read what a text names."""
    if path == "-":
        return parse_content(load_standard_input())
    if path.startswith(DUCKDB_PREFIX):
        return read_duckdb_table(path)
    if (match := _ADDRESS.match(path)) is not None:
        raise DataError(
            f"{quote(path)} is an address, and nothing is fetched from a network: download it "
            f"({match['scheme']}), and name the file"
        )
    try:
        file, sheet = _split_sheet(path)
        if is_pattern(file) or Path(file).is_dir():
            return read_files(list_files(file), escape_control_chars(file))
    except (OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise DataError(f"{escape_control_chars(path)} cannot be read ({reason}): check the name") from error
    return parse_content(load_file(Path(file), sheet))


def _split_sheet(path: str) -> tuple[str, str | None]:
    """Split ``FILE#SHEET``, unless a file has this very name."""
    file, separator, sheet = path.rpartition("#")
    if separator and sheet and not Path(path).exists() and Path(file).is_file():
        return file, sheet
    return path, None
