"""Read files, standard input, data frames, dicts and arrays into a `SourceFrame` of named columns.

Files are read as bytes, checked to be unchanged during the read, recognized by their content, and parsed
into an Arrow table (CSV, TSV, Parquet, Feather). Devices and oversized files are rejected. If a CSV file
is damaged, the error names the line.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from time import sleep, time
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data.column_types import SourceColumn, convert_arrow_column, convert_python_column
from symscreen.data.decompressed_size import (
    check_text_size,
    check_unpacked_size,
    estimate_parquet_bytes,
    get_max_table_bytes,
    read_bounded,
    read_feather,
)
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, format_count, format_names, name_source, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray


# Seconds since the last write before a file is read: longer than the resolution of file timestamps (at most
# 10 ms), within which two writes look like one, and than the pauses of programs that write in pieces.
_QUIET_PERIOD_S = 0.1
_BOM = b"\xef\xbb\xbf"
_HEADER_PATTERN = re.compile(rb'[\r\n]*((?:"[^"]*"|[^"\r\n]+|")*+)')
_QUOTED_PATTERN = re.compile(rb'"[^"]*"')
MAX_COLUMNS = 100_000
_MAX_BLOCK_BYTES = 2**31 - 1  # of Arrow's CSV reader
_COLUMN_BYTES = 10_000  # bytes that Arrow allocates per column while it reads, mostly for null masks
_MIN_COLUMNS_AT_ONCE = 5000  # columns per pass over a wide CSV file
_MAX_REASON_CHARS = 200  # characters of a library's error message that are quoted
_EXTRA_NULL_VALUES = ["None", "<NA>"]  # written by Python and pandas; Arrow knows NA, NaN, null and similar
_FORMAT_BY_SUFFIX = {
    ".csv": "CSV",
    ".tsv": "TSV",
    ".parquet": "Parquet",
    ".feather": "Feather",
    ".arrow": "Feather",
}
_SUFFIX_LIST = ", ".join(_FORMAT_BY_SUFFIX)
_BINARY_MAGIC = {"Parquet": b"PAR1", "Feather": b"ARROW1"}
_UNSUPPORTED_MAGIC = {
    "a Feather file of the old version 1": b"FEA1",
    "a zip archive or an Excel workbook": b"PK\x03\x04",
    "a gzip archive": b"\x1f\x8b",
    "UTF-16 text": b"\xff\xfe",
    "big-endian UTF-16 text": b"\xfe\xff",
}


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """Read a regular file without waiting for a pipe or a device.

    Parameters
    ----------
    path : Path
        The file. Symbolic links are followed.
    max_bytes : int
        Maximum size in bytes.

    Returns
    -------
    bytes
        At most ``max_bytes + 1`` bytes; the last one shows that the file is too long.

    Raises
    ------
    OSError
        If the file cannot be opened or read.
    ValueError
        If it is a pipe or a device, or the path contains a null character.

    Examples
    --------
    >>> from pathlib import Path
    >>> read_regular_file(Path("/dev/null"), 9)
    Traceback (most recent call last):
    ...
    ValueError: it is a pipe or a device, not a file
    """
    with io.BufferedReader(io.FileIO(path, opener=_open_nonblocking)) as file:
        status = os.fstat(file.fileno())
        if not S_ISREG(status.st_mode):
            raise ValueError("it is a pipe or a device, not a file")
        # file.read(max_bytes) would allocate max_bytes at once, even for a short file.
        return file.read(min(status.st_size, max_bytes) + 1)


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file such that a pipe does not block."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_stable_file(path: Path) -> bytes | None:
    """Read a file and check that it did not change during the read.

    If the last write was less than 0.1 s ago, the function waits first.

    Parameters
    ----------
    path : Path
        An existing file.

    Returns
    -------
    bytes or None
        The content, cut off slightly above `symscreen.data.get_max_table_bytes`. None if the file was
        written during the read.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with path.open("rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            return read_bounded(file, before.st_size)  # reading a pipe changes its timestamp
        # Wait before reading, so that a write during the read gets a later timestamp.
        sleep(max(_compute_wait(before, time()), 0.0))
        data = read_bounded(file, before.st_size)
        after = os.fstat(file.fileno())
    return data if _is_unchanged(before, after) else None


def _compute_wait(file_status: os.stat_result, now: float) -> float:
    """Return the seconds to wait before a read; the full period if the timestamp is in the future."""
    return min(_QUIET_PERIOD_S - (now - max(file_status.st_mtime, file_status.st_ctime)), _QUIET_PERIOD_S)


def _is_unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    """Compare size and timestamps; a program that restores mtime still changes ctime."""
    # If the file is unlinked, for example by renaming another file over it, ctime changes but the content
    # does not.
    unlinked = before.st_nlink != after.st_nlink or not after.st_nlink
    return (unlinked or before.st_ctime_ns == after.st_ctime_ns) and (before.st_mtime_ns, before.st_size) == (
        after.st_mtime_ns,
        after.st_size,
    )


def read_delimited(data: bytes, source: str, *, delimiter: str | None = None) -> pa.Table:
    r"""Read CSV or TSV text.

    Parameters
    ----------
    data : bytes
        UTF-8 text, with or without a byte order mark. The first line contains the column names.
    source : str
        The source, for messages.
    delimiter : str, optional
        One character. By default the comma; if the header contains no comma, the semicolon or the tab.

    Returns
    -------
    pyarrow.Table
        The column names are exactly those of the header, including duplicates.

    Raises
    ------
    DataError
        If the text is empty or not UTF-8, a row is too short or too long, or a quote is not closed.

    Examples
    --------
    >>> read_delimited(b"a;b\n1;2.5\n", "data.csv").to_pylist()
    [{'a': 1, 'b': 2.5}]
    """
    import pyarrow as pa
    import pyarrow.csv

    text = data.removeprefix(_BOM)
    if not text or text.isspace():
        raise DataError(f"{source} is empty: a header line and rows are needed")
    _check_utf8(text, source)
    header = _HEADER_PATTERN.match(text)
    delimiter = delimiter or _detect_delimiter(header[1] if header else b"")
    if header:  # checked here because Arrow allocates a kilobyte per column
        n_columns = _QUOTED_PATTERN.sub(b"", header[1]).count(delimiter.encode()) + 1
        if n_columns > MAX_COLUMNS:
            raise DataError(f"{source} has {n_columns} columns, more than {MAX_COLUMNS}: remove some of them")
    if text.count(b'"') % 2:  # Arrow reads an unclosed quote as one field up to the end of the file
        _check_row_widths(text, delimiter, source)
    if header and header.end() == len(text):
        data += b"\n"  # Arrow requires a line break after the header
    try:
        return _parse_csv(data, delimiter, _parse_column_names(header[1], delimiter) if header else [])
    except pa.ArrowException as error:
        if isinstance(error, MemoryError) or "Failed to launch worker thread" in str(error):
            raise MemoryError from error
        _check_row_widths(text, delimiter, source)
        reason = escape_control_chars(str(error))[:_MAX_REASON_CHARS]
        raise DataError(f"{source} cannot be read as CSV: {reason}; write it again as plain CSV") from error


def _parse_csv(data: bytes, delimiter: str, names: list[str]) -> pa.Table:
    """Parse CSV text with Arrow; a wide table is parsed in groups of columns to limit memory."""
    import pyarrow as pa
    import pyarrow.csv

    def parse_columns(columns: list[str] | None) -> pa.Table:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            # One block, so that types are inferred from all rows and not from the first megabyte.
            read_options=pa.csv.ReadOptions(block_size=min(len(data), _MAX_BLOCK_BYTES)),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                strings_can_be_null=True,
                null_values=[*pa.csv.ConvertOptions().null_values, *_EXTRA_NULL_VALUES],
                include_columns=columns,
            ),
        )

    # Large enough that parsing the text repeatedly takes no longer than converting the columns.
    n_at_once = max(_MIN_COLUMNS_AT_ONCE, len(data) // _COLUMN_BYTES)
    if len(names) <= n_at_once:
        return parse_columns(None)
    try:
        parts = [parse_columns(names[start : start + n_at_once]) for start in range(0, len(names), n_at_once)]
    except (pa.ArrowException, KeyError):  # the file is damaged, or Arrow parses the header differently
        return parse_columns(None)
    return pa.table([column for part in parts for column in part.columns], names=names)


def _parse_column_names(header: bytes, delimiter: str) -> list[str]:
    """Return the column names of a wide table; empty if there are few columns or duplicate names."""
    if header.count(delimiter.encode()) < _MIN_COLUMNS_AT_ONCE:
        return []
    try:
        (names,) = csv.reader([header.decode()], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):
        return []
    return names if len(set(names)) == len(names) else []


def _check_utf8(text: bytes, source: str) -> None:
    """Check that the text is UTF-8; the error names the line."""
    try:
        if not text.isascii():
            text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{source} is not UTF-8 text: line {line} has the byte 0x{text[error.start]:02x}; save it as "
            "UTF-8"
        ) from None


def _detect_delimiter(header: bytes) -> str:
    """Detect the delimiter from the unquoted part of the header."""
    unquoted = _QUOTED_PATTERN.sub(b"", header)
    if b"," in unquoted:
        return ","
    semicolons, tabs = unquoted.count(b";"), unquoted.count(b"\t")
    if not semicolons and not tabs:
        return ","
    return ";" if semicolons >= tabs else "\t"


def _check_row_widths(text: bytes, delimiter: str, source: str) -> None:
    """Raise an error for the first damaged row that Python's csv reader finds, if any."""
    rows = csv.reader(io.StringIO(text.decode(), newline=""), delimiter=delimiter, strict=True)
    width, line = 0, 1
    try:
        for fields in rows:
            width = width or len(fields)
            if fields and len(fields) != width:
                raise DataError(
                    f"{source}, line {line}: expected {width} fields as in the header, found {len(fields)}; "
                    "correct this line (a quote or a delimiter may be missing, or the file is truncated)"
                )
            line = rows.line_num + 1
    except csv.Error as error:
        if "expected after" in str(error):
            flaw = "a closing quote is followed by more text; double a quote inside a field"
        else:
            flaw = "a quote is opened and never closed; close it, or double a quote inside a field"
        raise DataError(f"{source}, line {line}: {flaw}") from None


def read_file(path: Path) -> pa.Table:
    """Read a file in the format given by its suffix.

    Parameters
    ----------
    path : Path
        A path with the suffix .csv, .tsv, .parquet, .feather or .arrow, in any case.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    DataError
        If the file does not exist, its suffix is unknown, its content has another format, or it was written
        during the read.

    Examples
    --------
    >>> from pathlib import Path
    >>> read_file(Path("absent.csv"))
    Traceback (most recent call last):
    ...
    symscreen.errors.DataError: absent.csv: the file does not exist; check its name and its folder
    """
    source = escape_control_chars(str(path))
    try:
        if path.is_dir():
            raise DataError(f"{source} is a folder: name a file in it ({_SUFFIX_LIST})")
        if not path.exists():
            raise DataError(f"{source}: the file does not exist; check its name and its folder")
        expected_format = _FORMAT_BY_SUFFIX.get(path.suffix.lower())
        if expected_format is None:
            raise DataError(
                f"{source}: the suffix {quote(path.suffix)} is unknown; rename it or convert it to "
                f"{_SUFFIX_LIST}"
            )
        if path.is_char_device():
            raise DataError(f"{source} is a device, which may never end: name a file")
        data = read_stable_file(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"{source} cannot be read ({reason}): check the file and its permissions") from error
    if data is None:
        raise DataError(f"{source} was written while it was read: wait until it is complete, or read a copy")
    return _parse_bytes(data, source, expected_format)


def read_standard_input() -> pa.Table:
    """Read standard input as Parquet or Feather if it starts with their signature, else as CSV.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    DataError
        If standard input is closed or its content cannot be read.
    """
    if sys.stdin is None:
        raise DataError("standard input is closed: open it, or name a file")
    data = read_bounded(sys.stdin.buffer, 0)
    detected_format = _detect_format(data)
    return _parse_bytes(
        data, "standard input", detected_format if detected_format in _BINARY_MAGIC else "CSV"
    )


def _detect_format(data: bytes) -> str:
    """Return the name of a supported binary format, or a description of the content."""
    if b"\0" not in data:  # all of these binary formats contain zero bytes, text does not
        return "plain text"
    for name, magic in (_BINARY_MAGIC | _UNSUPPORTED_MAGIC).items():
        if data.startswith(magic):
            return name
    return "binary data"


def _parse_bytes(data: bytes, source: str, expected_format: str) -> pa.Table:
    """Check that the content matches the expected format and parse it."""
    if len(data) > get_max_table_bytes():
        raise DataError(
            f"{source} is larger than {get_max_table_bytes() / 1e9:.1f} GB, a quarter of the "
            "memory: write the columns and rows that are needed into another file"
        )
    content_format = _detect_format(data)
    if not data:
        raise DataError(f"{source} is empty: a header and rows are needed")
    if expected_format in _BINARY_MAGIC:
        if not data.startswith(_BINARY_MAGIC[expected_format]):
            raise DataError(
                f"{source} is not {expected_format} but {content_format}: convert it, or change its suffix"
            )
        return _read_binary(data, source, expected_format)
    if content_format in _BINARY_MAGIC:
        raise DataError(
            f"{source} is not {expected_format} but {content_format}: rename it to end in "
            f".{content_format.lower()}"
        )
    if content_format != "plain text":
        raise DataError(
            f"{source} is not {expected_format} but {content_format}: save it as {expected_format} in UTF-8"
        )
    return read_delimited(data, source, delimiter="\t" if expected_format == "TSV" else None)


def _read_binary(data: bytes, source: str, file_format: str) -> pa.Table:
    """Read a Parquet or Feather file and validate it."""
    import pyarrow as pa

    read = read_parquet if file_format == "Parquet" else read_feather
    try:
        table = read(data, source)
        table.validate(full=True)  # a damaged offset would crash the process later
        _ = table.column_names  # decodes the names, which may be damaged
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = escape_control_chars(str(error))[:_MAX_REASON_CHARS]
        raise DataError(
            f"{source} is a truncated or damaged {file_format} file ({reason}): write or download it again"
        ) from error
    return table


def read_parquet(data: bytes, source: str) -> pa.Table:
    """Read a Parquet file whose decompressed size fits into memory; text columns are dictionary-encoded.

    Parameters
    ----------
    data : bytes
        The whole file.
    source : str
        The source, for messages.

    Returns
    -------
    pyarrow.Table
        Columns of lists are replaced by empty lists.

    Raises
    ------
    DataError
        If the decompressed size is too large.
    pyarrow.ArrowException, OSError
        If the file is damaged.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> sink = pa.BufferOutputStream()
    >>> pq.write_table(pa.table({"a": [1, 2]}), sink)
    >>> read_parquet(bytes(sink.getvalue()), "t.parquet").num_rows
    2
    """
    import pyarrow as pa
    import pyarrow.parquet

    schema = pa.parquet.read_metadata(pa.BufferReader(data)).schema
    columns = [schema.column(index) for index in range(len(schema))]
    # Dictionaries store a repeated text once: a text of 1 MB in a million rows would take 1 TB otherwise.
    text_columns = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    file = pa.parquet.ParquetFile(pa.BufferReader(data), read_dictionary=text_columns)
    check_unpacked_size(estimate_parquet_bytes(file), len(data), source)
    list_columns = {column.path.split(".")[0] for column in columns if column.max_repetition_level}
    if list_columns:
        return _read_without_lists(file, list_columns)
    table = file.read()
    check_text_size(table, len(data), source)
    return table


def _read_without_lists(file: pa.parquet.ParquetFile, list_columns: set[str]) -> pa.Table:
    """Read a file with empty lists in its list columns, which are not used and have an unknown size."""
    import pyarrow as pa

    n_rows = max(file.metadata.num_rows, 0)
    empty_lists = pa.ListArray.from_arrays(pa.array([0] * (n_rows + 1), pa.int32()), pa.nulls(0))
    names = file.schema_arrow.names
    table = file.read(columns=[name for name in names if name not in list_columns])
    return pa.table([empty_lists if name in list_columns else table[name] for name in names], names=names)


@dataclass(frozen=True, eq=False)
class SourceFrame:
    """The columns of a source, with rows and columns in the order of the source.

    Parameters
    ----------
    source : str
        Name of the source in messages.
    columns : dict of str to SourceColumn
        All columns, at least one.
    n : int
        Number of data rows.

    Examples
    --------
    >>> read_frame({"a": [1, 2], "b": ["p", "q"]}).columns["b"].description
    'text'
    """

    source: str
    columns: dict[str, SourceColumn]
    n: int


def read_frame(source: object) -> SourceFrame:
    """Read all columns of a source.

    Parameters
    ----------
    source : path, ``"-"``, pandas DataFrame, dict of columns, array of shape (n, d), or SourceFrame
        A path has the suffix .csv, .tsv, .parquet, .feather or .arrow; ``"-"`` is standard input, in any of
        these formats. The columns of an array are named x1 to xd. Column labels are converted to text.

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
    >>> frame = read_frame(np.eye(3))
    >>> list(frame.columns), frame.n
    (['x1', 'x2', 'x3'], 3)
    """
    if isinstance(source, SourceFrame):
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
        return _build_frame(
            "the frame", [str(label) for label in source.columns], cells, len(source), convert_python_column
        )
    raise DataError(
        f"a table cannot be read from an object of type {type(source).__name__}: give a path, a pandas "
        "DataFrame, a dict of columns, or a numpy array of shape (rows, columns)"
    )


def _build_frame(
    source: str, names: list[str], cells: Sequence[Any], n: int, convert: Callable[[Any], SourceColumn]
) -> SourceFrame:
    """Check the column names and convert the columns."""
    if not names:
        raise DataError(f"{source} has no columns: a target and at least one input are needed")
    if len(names) > MAX_COLUMNS:
        raise DataError(f"{source} has {len(names)} columns, more than {MAX_COLUMNS}: remove some of them")
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise DataError(
            f"{source} has more than one column named {format_names(duplicates)}: rename or remove the others"
        )
    return SourceFrame(source, {name: convert(column) for name, column in zip(names, cells, strict=True)}, n)


def _from_path(path: str) -> SourceFrame:
    """Read a file, or standard input for "-"."""
    if path == "-":
        source, table = "standard input", read_standard_input()
    else:
        source, table = escape_control_chars(str(Path(path))), read_file(Path(path))
    return _build_frame(source, table.column_names, table.columns, table.num_rows, convert_arrow_column)


def _from_mapping(source: Mapping[Any, Any]) -> SourceFrame:
    """Convert a mapping of column names to sequences of equal length."""
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
    return _build_frame(
        name_source("the dict"),
        [str(name) for name in source],
        list(source.values()),
        n,
        convert_python_column,
    )


def _from_array(source: NDArray[Any]) -> SourceFrame:
    """Convert an array of shape (n, d)."""
    if source.ndim != 2:
        raise DataError(f"the array has shape {source.shape}: two dimensions are needed, (rows, columns)")
    n, d = source.shape
    # np.asarray because np.matrix has no 1-D columns.
    array = source if isinstance(source, np.ma.MaskedArray) else np.asarray(source)
    return _build_frame(
        "the array", [f"x{j}" for j in range(1, d + 1)], list(array.T), n, convert_python_column
    )
