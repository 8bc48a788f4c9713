"""CSV and TSV: bytes in, an Arrow table out, and the line to look at where they are damaged."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from symscreen.errors import TableError, printable

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MOST_COLUMNS", "read_delimited"]

_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb'[\r\n]*((?:"[^"]*"|[^"\r\n]+|")*+)')
_QUOTED = re.compile(rb'"[^"]*"')
MOST_COLUMNS = 100_000
_LARGEST_BLOCK = 2**31 - 1
_EACH = 10_000  # bytes that Arrow takes for each column while it reads, most of them for what is missing
_AT_ONCE = 5000
_MORE_NULLS = ["None", "<NA>"]  # what Python and pandas write; Arrow knows NA, NaN, null and the like


def read_delimited(data: bytes, where: str, *, delimiter: str | None = None) -> pa.Table:
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
        raise TableError(f"{where} is empty: a header line and rows are needed")
    _check_utf8(text, where)
    header = _HEADER.match(text)
    delimiter = delimiter or _delimiter(header[1] if header else b"")
    # Arrow would take a kilobyte for each
    if header and (columns := _QUOTED.sub(b"", header[1]).count(delimiter.encode()) + 1) > MOST_COLUMNS:
        raise TableError(f"{where} has {columns} columns, more than {MOST_COLUMNS}: keep fewer in it")
    if text.count(b'"') % 2:  # Arrow takes an unclosed quote to reach to the end of the file
        _refuse_damage(text, delimiter, where)
    if header and header.end() == len(text):
        data += b"\n"  # Arrow wants a header to end
    try:
        return _read(data, delimiter, _names(header[1], delimiter) if header else [])
    except pa.ArrowException as error:
        if isinstance(error, MemoryError) or "Failed to launch worker thread" in str(error):
            raise MemoryError from error
        _refuse_damage(text, delimiter, where)
        reason = printable(str(error))[:200]
        raise TableError(f"{where} cannot be read as CSV: {reason}; write it again as plain CSV") from error


def _read(data: bytes, delimiter: str, names: list[str]) -> pa.Table:
    """Read a table, one of very many columns some of them at a time."""
    import pyarrow as pa
    import pyarrow.csv

    def read(some: list[str] | None) -> pa.Table:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            # one block: types are inferred from all rows, not from the first megabyte
            read_options=pa.csv.ReadOptions(block_size=min(len(data), _LARGEST_BLOCK)),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                strings_can_be_null=True,
                null_values=[*pa.csv.ConvertOptions().null_values, *_MORE_NULLS],
                include_columns=some,
            ),
        )

    at_once = max(_AT_ONCE, len(data) // _EACH)  # parsing all again may not take longer than converting
    if len(names) <= at_once:
        return read(None)
    try:
        parts = [read(names[start : start + at_once]) for start in range(0, len(names), at_once)]
    except (pa.ArrowException, KeyError):  # damage; or Arrow reads the header in another way
        return read(None)
    return pa.table([column for part in parts for column in part.columns], names=names)


def _names(header: bytes, delimiter: str) -> list[str]:
    """Return the names of very many columns; none where they are few, or not all different."""
    if header.count(delimiter.encode()) < _AT_ONCE:
        return []
    try:
        (names,) = csv.reader([header.decode()], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):
        return []
    return names if len(set(names)) == len(names) else []


def _check_utf8(text: bytes, where: str) -> None:
    try:
        if not text.isascii():
            text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{where} is not UTF-8 text: line {line} has the byte 0x{text[error.start]:02x}; save it as UTF-8"
        ) from None


def _delimiter(header: bytes) -> str:
    """Find the delimiter in what the header has outside quotes."""
    bare = _QUOTED.sub(b"", header)
    if b"," in bare:
        return ","
    semicolons, tabs = bare.count(b";"), bare.count(b"\t")
    if not semicolons and not tabs:
        return ","
    return ";" if semicolons >= tabs else "\t"


def _refuse_damage(text: bytes, delimiter: str, where: str) -> None:
    """Raise with the line of the first damaged row, if Python's own reader finds one."""
    rows = csv.reader(io.StringIO(text.decode(), newline=""), delimiter=delimiter, strict=True)
    width, line = 0, 1
    try:
        for fields in rows:
            width = width or len(fields)
            if fields and len(fields) != width:
                raise TableError(
                    f"{where}, line {line}: expected {width} fields as in the header, found {len(fields)}; "
                    "mend this line (is a quote or a delimiter missing, or the file cut short?)"
                )
            line = rows.line_num + 1
    except csv.Error as error:
        if "expected after" in str(error):
            flaw = "a closing quote is followed by more text; write a quote inside a field twice"
        else:
            flaw = "a quote is opened and never closed; close it, or write a quote inside a field twice"
        raise TableError(f"{where}, line {line}: {flaw}") from None
