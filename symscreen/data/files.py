"""Files and nothing else: what a name leads to is looked at before it is read or waited for.

The bytes of a file that nobody wrote while they were read.

CSV and TSV: bytes in, an Arrow table out, and the line to look at where they are damaged.

Files and standard input: bytes read once, recognised, and parsed into an Arrow table.

Files, frames, dicts and arrays, each into one frame of named columns.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
import struct
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
    estimate_feather_bytes,
    estimate_parquet_bytes,
    get_max_table_bytes,
    read_bounded,
)
from symscreen.errors import DataError, escape_control_chars, format_count, format_names, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray


__all__ = [
    "MAX_COLUMNS",
    "SourceFrame",
    "read_delimited",
    "read_file",
    "read_frame",
    "read_parquet",
    "read_regular_file",
    "read_stable_file",
    "read_standard_input",
]


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """Read a regular file; a pipe could keep one waiting for ever, and a device never end.

    Parameters
    ----------
    path : Path
        The file; a link is followed.
    most : int
        How many bytes it may have.

    Returns
    -------
    bytes
        One more than so many where the file is longer.

    Raises
    ------
    OSError
        If it cannot be opened or read.
    ValueError
        If it is a pipe, a device or the like, or the path holds a null character.

    Examples
    --------
    >>> from pathlib import Path
    >>> read_regular_file(Path("/dev/null"), 9)
    Traceback (most recent call last):
    ...
    ValueError: it is a pipe or a device, not a file
    """
    with io.BufferedReader(io.FileIO(path, opener=_open_nonblocking)) as file:
        told = os.fstat(file.fileno())
        if not S_ISREG(told.st_mode):
            raise ValueError("it is a pipe or a device, not a file")
        # a read of so many bytes claims them all at once, however short the file is
        return file.read(min(told.st_size, max_bytes) + 1)


def _open_nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


# Seconds that a file must have stood still. Above the tick of the clock that dates files (10 ms at most),
# within which two writes look like one; and above the pauses of programs that write piece after piece.
_QUIET_PERIOD_S = 0.1


def read_stable_file(path: Path) -> bytes | None:
    """Read a file, and make sure that it stood still.

    A file that was written less than a tenth of a second ago is read when that time is over.

    Parameters
    ----------
    path : Path
        A file that is there.

    Returns
    -------
    bytes or None
        At most a little more than `symscreen.data.get_max_table_bytes`; None if the file was written
        meanwhile.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            return read_bounded(file, before.st_size)  # a pipe is dated as it is read
        # before reading, so that a write during it cannot have the date of one before it
        sleep(max(_compute_wait(before, time()), 0.0))
        data = read_bounded(file, before.st_size)
        after = os.fstat(file.fileno())
    return data if _is_unchanged(before, after) else None


def _compute_wait(file_status: os.stat_result, now: float) -> float:
    """Return how long a file must still stand; all the time, where its date is in the future."""
    return min(_QUIET_PERIOD_S - (now - max(file_status.st_mtime, file_status.st_ctime)), _QUIET_PERIOD_S)


def _is_unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    """Compare sizes and dates; who puts the date of writing back still changes that of the entry."""
    # a name that is taken away, as renaming over it does, changes the entry and not the bytes
    taken = before.st_nlink != after.st_nlink or not after.st_nlink
    return (taken or before.st_ctime_ns == after.st_ctime_ns) and (before.st_mtime_ns, before.st_size) == (
        after.st_mtime_ns,
        after.st_size,
    )


_BOM = b"\xef\xbb\xbf"
_HEADER_PATTERN = re.compile(rb'[\r\n]*((?:"[^"]*"|[^"\r\n]+|")*+)')
_QUOTED_PATTERN = re.compile(rb'"[^"]*"')
MAX_COLUMNS = 100_000
_MAX_BLOCK_BYTES = 2**31 - 1
_COLUMN_BYTES = (
    10_000  # bytes that Arrow takes for each column while it reads, most of them for what is missing
)
_MIN_COLUMNS_AT_ONCE = 5000
_EXTRA_NULL_VALUES = ["None", "<NA>"]  # what Python and pandas write; Arrow knows NA, NaN, null and the like


def read_delimited(data: bytes, source: str, *, delimiter: str | None = None) -> pa.Table:
    r"""Read CSV or TSV text.

    Parameters
    ----------
    data : bytes
        UTF-8 text, with or without a byte order mark; the first line names the columns.
    where : str
        The source, for messages.
    delimiter : str, optional
        One character. Left out: the comma, or where the header has none, the semicolon or the tab.

    Returns
    -------
    pyarrow.Table
        With the names exactly as the header has them, duplicates included.

    Raises
    ------
    TableError
        If the text is empty or not UTF-8, a row is short or long, or a quote is never closed.

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
    # Arrow would take a kilobyte for each
    if (
        header
        and (columns := _QUOTED_PATTERN.sub(b"", header[1]).count(delimiter.encode()) + 1) > MAX_COLUMNS
    ):
        raise DataError(f"{source} has {columns} columns, more than {MAX_COLUMNS}: keep fewer in it")
    if text.count(b'"') % 2:  # Arrow takes an unclosed quote to reach to the end of the file
        _check_row_widths(text, delimiter, source)
    if header and header.end() == len(text):
        data += b"\n"  # Arrow wants a header to end
    try:
        return _parse_csv(data, delimiter, _parse_column_names(header[1], delimiter) if header else [])
    except pa.ArrowException as error:
        if isinstance(error, MemoryError) or "Failed to launch worker thread" in str(error):
            raise MemoryError from error
        _check_row_widths(text, delimiter, source)
        reason = escape_control_chars(str(error))[:200]
        raise DataError(f"{source} cannot be read as CSV: {reason}; write it again as plain CSV") from error


def _parse_csv(data: bytes, delimiter: str, names: list[str]) -> pa.Table:
    """Read a table, one of very many columns some of them at a time."""
    import pyarrow as pa
    import pyarrow.csv

    def parse_columns(columns: list[str] | None) -> pa.Table:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            # one block: types are inferred from all rows, not from the first megabyte
            read_options=pa.csv.ReadOptions(block_size=min(len(data), _MAX_BLOCK_BYTES)),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                strings_can_be_null=True,
                null_values=[*pa.csv.ConvertOptions().null_values, *_EXTRA_NULL_VALUES],
                include_columns=columns,
            ),
        )

    at_once = max(
        _MIN_COLUMNS_AT_ONCE, len(data) // _COLUMN_BYTES
    )  # parsing all again may not take longer than converting
    if len(names) <= at_once:
        return parse_columns(None)
    try:
        parts = [parse_columns(names[start : start + at_once]) for start in range(0, len(names), at_once)]
    except (pa.ArrowException, KeyError):  # damage; or Arrow reads the header in another way
        return parse_columns(None)
    return pa.table([column for part in parts for column in part.columns], names=names)


def _parse_column_names(header: bytes, delimiter: str) -> list[str]:
    """Return the names of very many columns; none where they are few, or not all different."""
    if header.count(delimiter.encode()) < _MIN_COLUMNS_AT_ONCE:
        return []
    try:
        (names,) = csv.reader([header.decode()], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):
        return []
    return names if len(set(names)) == len(names) else []


def _check_utf8(text: bytes, source: str) -> None:
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
    """Find the delimiter in what the header has outside quotes."""
    bare = _QUOTED_PATTERN.sub(b"", header)
    if b"," in bare:
        return ","
    semicolons, tabs = bare.count(b";"), bare.count(b"\t")
    if not semicolons and not tabs:
        return ","
    return ";" if semicolons >= tabs else "\t"


def _check_row_widths(text: bytes, delimiter: str, source: str) -> None:
    """Raise with the line of the first damaged row, if Python's own reader finds one."""
    rows = csv.reader(io.StringIO(text.decode(), newline=""), delimiter=delimiter, strict=True)
    width, line = 0, 1
    try:
        for fields in rows:
            width = width or len(fields)
            if fields and len(fields) != width:
                raise DataError(
                    f"{source}, line {line}: expected {width} fields as in the header, found {len(fields)}; "
                    "mend this line (is a quote or a delimiter missing, or the file cut short?)"
                )
            line = rows.line_num + 1
    except csv.Error as error:
        if "expected after" in str(error):
            flaw = "a closing quote is followed by more text; write a quote inside a field twice"
        else:
            flaw = "a quote is opened and never closed; close it, or write a quote inside a field twice"
        raise DataError(f"{source}, line {line}: {flaw}") from None


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


def read_file(path: Path) -> pa.Table:
    """Read a file of the format that its ending names.

    Parameters
    ----------
    path : Path
        Ends in .csv, .tsv, .parquet, .feather or .arrow, in any case.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    TableError
        If there is no such file, its ending is unknown, it does not hold what the ending says, or it was
        written while it was read.

    Examples
    --------
    >>> from pathlib import Path
    >>> read_file(Path("absent.csv"))
    Traceback (most recent call last):
    ...
    symscreen.errors.TableError: absent.csv: there is no such file; check its name and its folder
    """
    where = escape_control_chars(str(path))
    try:
        if path.is_dir():
            raise DataError(f"{where} is a folder: name a file in it ({_SUFFIX_LIST})")
        if not path.exists():
            raise DataError(f"{where}: there is no such file; check its name and its folder")
        expected = _FORMAT_BY_SUFFIX.get(path.suffix.lower())
        if expected is None:
            raise DataError(
                f"{where}: the ending {quote(path.suffix)} is unknown; rename it or convert it to "
                f"{_SUFFIX_LIST}"
            )
        if path.is_char_device():
            raise DataError(f"{where} is a device, which may never end: name a file")
        data = read_stable_file(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"{where} cannot be read ({reason}): check the file and its permissions") from error
    if data is None:
        raise DataError(f"{where} was written while it was read: wait until it is whole, or read a copy")
    return _parse_bytes(data, where, expected)


def read_standard_input() -> pa.Table:
    """Read standard input: Parquet or Feather where it begins like one, CSV otherwise.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    TableError
        As `read_file`.
    """
    if sys.stdin is None:
        raise DataError("standard input is closed: open it, or name a file")
    data = read_bounded(sys.stdin.buffer, 0)
    found = _detect_format(data)
    return _parse_bytes(data, "standard input", found if found in _BINARY_MAGIC else "CSV")


def _detect_format(data: bytes) -> str:
    """Name what bytes hold: a binary format that we read, or words for people."""
    if b"\0" not in data:  # no text has a zero byte, every file of these binary formats has one
        return "plain text"
    for name, magic in (_BINARY_MAGIC | _UNSUPPORTED_MAGIC).items():
        if data.startswith(magic):
            return name
    return "binary data"


def _parse_bytes(data: bytes, source: str, expected_format: str) -> pa.Table:
    if len(data) > get_max_table_bytes():
        raise DataError(
            f"{source} is larger than {get_max_table_bytes() / 1e9:.1f} GB, a quarter of the memory there "
            "is: write "
            "the columns and rows that are needed into another file"
        )
    found = _detect_format(data)
    if not data:
        raise DataError(f"{source} is empty: a header and rows are needed")
    if expected_format in _BINARY_MAGIC:
        if not data.startswith(_BINARY_MAGIC[expected_format]):
            raise DataError(
                f"{source} is not {expected_format} but {found}: convert it, or give it another ending"
            )
        return _read_binary(data, source, expected_format)
    if found in _BINARY_MAGIC:
        raise DataError(
            f"{source} is not {expected_format} but {found}: rename it to end in .{found.lower()}"
        )
    if found != "plain text":
        raise DataError(
            f"{source} is not {expected_format} but {found}: save it as {expected_format} in UTF-8"
        )
    return read_delimited(data, source, delimiter="\t" if expected_format == "TSV" else None)


def _read_binary(data: bytes, source: str, file_format: str) -> pa.Table:
    import pyarrow as pa

    read = read_parquet if file_format == "Parquet" else _read_feather
    try:
        table = read(data, source)
        table.validate(full=True)  # a damaged offset would crash the process later
        _ = table.column_names  # nor are names checked before they are decoded
    except (
        pa.ArrowException,
        OSError,
        UnicodeDecodeError,
        struct.error,
        LookupError,
        OverflowError,
    ) as error:
        reason = escape_control_chars(str(error))[:200]
        raise DataError(
            f"{source} is {file_format} cut short or damaged ({reason}): write it or fetch it again"
        ) from error
    return table


def read_parquet(data: bytes, source: str) -> pa.Table:
    """Read a Parquet file that does not unpack to more than memory should hold; texts are codes.

    Parameters
    ----------
    data : bytes
        The whole file.
    where : str
        The source, for messages.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    TableError
        If it is too large once unpacked.
    pyarrow.ArrowException, OSError
        If it is damaged.

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
    columns = [schema.column(place) for place in range(len(schema))]
    # a text that many rows share is kept once: written out, a megabyte in a million rows is a terabyte
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    file = pa.parquet.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
    check_unpacked_size(estimate_parquet_bytes(file), len(data), source)
    lists = {column.path.split(".")[0] for column in columns if column.max_repetition_level}
    if lists:
        return _read_without_lists(file, lists)
    table = file.read()
    check_text_size(table, len(data), source)
    return table


def _read_without_lists(file: pa.parquet.ParquetFile, list_columns: set[str]) -> pa.Table:
    """Read with empty lists for lists: of no use here, and how long they are nothing tells beforehand."""
    import pyarrow as pa

    rows = max(file.metadata.num_rows, 0)
    empty = pa.ListArray.from_arrays(pa.array([0] * (rows + 1), pa.int32()), pa.nulls(0))
    names = file.schema_arrow.names
    read = file.read(columns=[name for name in names if name not in list_columns])
    return pa.table([empty if name in list_columns else read[name] for name in names], names=names)


def _read_feather(data: bytes, source: str) -> pa.Table:
    import pyarrow as pa

    file = pa.ipc.open_file(pa.BufferReader(data))  # refuses what is damaged, in its own words
    check_unpacked_size(estimate_feather_bytes(data), len(data), source)
    table = file.read_all()
    check_text_size(table, len(data), source)
    return table


@dataclass(frozen=True, eq=False)
class SourceFrame:
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
    >>> read_frame({"a": [1, 2], "b": ["p", "q"]}).columns["b"].description
    'text'
    """

    source: str
    columns: dict[str, SourceColumn]
    n: int


def read_frame(source: object) -> SourceFrame:
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
    """Check the names, then convert the columns."""
    if not names:
        raise DataError(f"{source} has no columns: a target and at least one input are needed")
    if len(names) > MAX_COLUMNS:
        raise DataError(f"{source} has {len(names)} columns, more than {MAX_COLUMNS}: keep fewer in it")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(
            f"{source} has more than one column named {format_names(twice)}: rename or remove the others"
        )
    return SourceFrame(source, {name: convert(each) for name, each in zip(names, cells, strict=True)}, n)


def _from_path(path: str) -> SourceFrame:
    if path == "-":
        where, table = "standard input", read_standard_input()
    else:
        where, table = escape_control_chars(str(Path(path))), read_file(Path(path))
    return _build_frame(where, table.column_names, table.columns, table.num_rows, convert_arrow_column)


def _from_mapping(source: Mapping[Any, Any]) -> SourceFrame:
    where = "the dict"
    lengths = {}
    for name, cells in source.items():
        if isinstance(cells, (str, bytes)) or not hasattr(cells, "__len__") or getattr(cells, "ndim", 1) != 1:
            raise DataError(f"{where}: the column {quote(name)} is not a sequence of one value for each row")
        lengths[str(name)] = len(cells)
    n = max(lengths.values(), default=0)
    for name, length in lengths.items():
        if length != n:
            raise DataError(
                f"{where}: the column {quote(name)} has {format_count(length, 'value')} where others have {n}"
            )
    return _build_frame(
        where, [str(name) for name in source], list(source.values()), n, convert_python_column
    )


def _from_array(source: NDArray[Any]) -> SourceFrame:
    if source.ndim != 2:
        raise DataError(f"the array has shape {source.shape}: two dimensions are needed, (rows, columns)")
    n, d = source.shape
    plain = (
        source if isinstance(source, np.ma.MaskedArray) else np.asarray(source)
    )  # np.matrix has no 1-D columns
    return _build_frame(
        "the array", [f"x{j}" for j in range(1, d + 1)], list(plain.T), n, convert_python_column
    )
