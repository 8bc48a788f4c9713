"""Files and standard input: bytes read once, recognised, and parsed into an Arrow table."""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING

from symscreen.errors import TableError, printable
from symscreen.table.delimited import read_delimited
from symscreen.table.steady import steady_bytes
from symscreen.table.unpacked import (
    bounded_read,
    check_texts,
    check_unpacked,
    feather_size,
    most_bytes,
    parquet_size,
)
from symscreen.table.wording import quoted

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

__all__ = ["parquet_table", "read_file", "read_standard_input"]

_FORMATS = {".csv": "CSV", ".tsv": "TSV", ".parquet": "Parquet", ".feather": "Feather", ".arrow": "Feather"}
_ENDINGS = ", ".join(_FORMATS)
_BINARY = {"Parquet": b"PAR1", "Feather": b"ARROW1"}
_OTHERS = {
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
    where = printable(str(path))
    try:
        if path.is_dir():
            raise TableError(f"{where} is a folder: name a file in it ({_ENDINGS})")
        if not path.exists():
            raise TableError(f"{where}: there is no such file; check its name and its folder")
        expected = _FORMATS.get(path.suffix.lower())
        if expected is None:
            raise TableError(
                f"{where}: the ending {quoted(path.suffix)} is unknown; rename it or convert it to {_ENDINGS}"
            )
        if path.is_char_device():
            raise TableError(f"{where} is a device, which may never end: name a file")
        data = steady_bytes(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(f"{where} cannot be read ({reason}): check the file and its permissions") from error
    if data is None:
        raise TableError(f"{where} was written while it was read: wait until it is whole, or read a copy")
    return _parsed(data, where, expected)


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
    data = bounded_read(sys.stdin.buffer, 0)
    found = _recognised(data)
    return _parsed(data, "standard input", found if found in _BINARY else "CSV")


def _recognised(data: bytes) -> str:
    """Name what bytes hold: a binary format that we read, or words for people."""
    if b"\0" not in data:  # no text has a zero byte, every file of these binary formats has one
        return "plain text"
    for name, magic in (_BINARY | _OTHERS).items():
        if data.startswith(magic):
            return name
    return "binary data"


def _parsed(data: bytes, where: str, expected: str) -> pa.Table:
    if len(data) > most_bytes():
        raise TableError(
            f"{where} is larger than {most_bytes() / 1e9:.1f} GB, a quarter of the memory there is: write "
            "the columns and rows that are needed into another file"
        )
    found = _recognised(data)
    if not data:
        raise TableError(f"{where} is empty: a header and rows are needed")
    if expected in _BINARY:
        if not data.startswith(_BINARY[expected]):
            raise TableError(f"{where} is not {expected} but {found}: convert it, or give it another ending")
        return _read_binary(data, where, expected)
    if found in _BINARY:
        raise TableError(f"{where} is not {expected} but {found}: rename it to end in .{found.lower()}")
    if found != "plain text":
        raise TableError(f"{where} is not {expected} but {found}: save it as {expected} in UTF-8")
    return read_delimited(data, where, delimiter="\t" if expected == "TSV" else None)


def _read_binary(data: bytes, where: str, kind: str) -> pa.Table:
    import pyarrow as pa

    read = parquet_table if kind == "Parquet" else _feather
    try:
        table = read(data, where)
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
        reason = printable(str(error))[:200]
        raise TableError(
            f"{where} is {kind} cut short or damaged ({reason}): write it or fetch it again"
        ) from error
    return table


def parquet_table(data: bytes, where: str) -> pa.Table:
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
    >>> parquet_table(bytes(sink.getvalue()), "t.parquet").num_rows
    2
    """
    import pyarrow as pa
    import pyarrow.parquet

    schema = pa.parquet.read_metadata(pa.BufferReader(data)).schema
    columns = [schema.column(place) for place in range(len(schema))]
    # a text that many rows share is kept once: written out, a megabyte in a million rows is a terabyte
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    file = pa.parquet.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
    check_unpacked(parquet_size(file), len(data), where)
    lists = {column.path.split(".")[0] for column in columns if column.max_repetition_level}
    if lists:
        return _without_lists(file, lists)
    table = file.read()
    check_texts(table, len(data), where)
    return table


def _without_lists(file: pa.parquet.ParquetFile, lists: set[str]) -> pa.Table:
    """Read with empty lists for lists: of no use here, and how long they are nothing tells beforehand."""
    import pyarrow as pa

    rows = max(file.metadata.num_rows, 0)
    empty = pa.ListArray.from_arrays(pa.array([0] * (rows + 1), pa.int32()), pa.nulls(0))
    names = file.schema_arrow.names
    read = file.read(columns=[name for name in names if name not in lists])
    return pa.table([empty if name in lists else read[name] for name in names], names=names)


def _feather(data: bytes, where: str) -> pa.Table:
    import pyarrow as pa

    file = pa.ipc.open_file(pa.BufferReader(data))  # refuses what is damaged, in its own words
    check_unpacked(feather_size(data), len(data), where)
    table = file.read_all()
    check_texts(table, len(data), where)
    return table
