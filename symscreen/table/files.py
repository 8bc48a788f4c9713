"""Files and standard input: bytes read once, recognised, and parsed into an Arrow table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from symscreen.errors import TableError, printable
from symscreen.table.delimited import read_delimited
from symscreen.table.wording import quoted

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

__all__ = ["read_file", "read_standard_input"]

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
        If there is no such file, its ending is unknown, or it does not hold what the ending says.

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
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(f"{where} cannot be read ({reason}): check the file and its permissions") from error
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
    data = sys.stdin.buffer.read()
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
    import pyarrow.parquet

    source = pa.BufferReader(data)
    try:
        if kind == "Parquet":
            table = pa.parquet.ParquetFile(source).read()
        else:
            table = pa.ipc.open_file(source).read_all()
        table.validate(full=True)  # a damaged offset would crash the process later
        _ = table.column_names  # nor are names checked before they are decoded
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = printable(str(error))[:200]
        raise TableError(
            f"{where} is {kind} cut short or damaged ({reason}): write it or fetch it again"
        ) from error
    return table
