"""Read CSV, TSV and other text tables with Arrow; the error for a damaged text names its line."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symscreen.data.readers.raw_table import RawTable
from symscreen.data.readers.text_encoding import decode_text
from symscreen.data.readers.text_layout import (
    HEADER_PATTERN,
    QUOTED_PATTERN,
    recognize_layout,
)
from symscreen.data.written_numbers import convert_written_number, find_decimal_mark, format_examples
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, format_names

if TYPE_CHECKING:
    import pyarrow as pa

    from symscreen.data.readers.raw_table import DecimalMark
    from symscreen.data.readers.text_layout import TextLayout


MAX_COLUMNS = 100_000
_MAX_BLOCK_BYTES = 2**31 - 1  # of Arrow's CSV reader
_COLUMN_BYTES = 10_000  # bytes that Arrow allocates per column while it reads, mostly for null masks
_MIN_COLUMNS_AT_ONCE = 5000  # columns per pass over a wide CSV file
_MAX_REASON_CHARS = 200  # characters of a library's error message that are quoted
_EXTRA_NULL_VALUES = ["None", "<NA>"]  # written by Python and pandas; Arrow knows NA, NaN, null and similar
_BLANK_AND_QUOTED_NAME = re.compile(r'[ \t]+"([^"]*)"[ \t]*')
_N_TRIED = 200  # distinct texts of a column in which decimal commas are looked for first


def read_delimited(data: bytes, source: str, *, delimiter: str | None = None) -> RawTable:
    r"""Read CSV, TSV or other text.

    Parameters
    ----------
    data : bytes
        Text in UTF-8, in UTF-16 with a byte order mark, or in Windows-1252.
    source : str
        The source, for messages.
    delimiter : str, optional
        One character. By default the comma, the semicolon, the tab or the vertical bar that the header has;
        without any of them, runs of blanks.

    Returns
    -------
    RawTable
        The names are those of the header without blanks around them, including duplicates, or x1, x2 and so
        on if there is no header.

    Raises
    ------
    DataError
        If the text is empty or in an unknown encoding, a row is too short or too long, or a quote is not
        closed.

    Examples
    --------
    >>> table = read_delimited(b"a;b\n1;2,5\n", "data.csv")
    >>> table.names, [column.to_pylist() for column in table.columns], table.notices
    (['a', 'b'], [[1], [2.5]], ("read with decimal commas: 'b' ('2,5' is 2.5)",))
    """
    text, notices = decode_text(data, source)
    if not text or text.isspace():
        raise DataError(f"{source} is empty: a header line and rows are needed")
    _check_n_columns(text, delimiter, source)
    layout = recognize_layout(text, delimiter)
    table = _parse_layout(layout, source)
    mark: DecimalMark | None = "point"  # a comma in a cell is quoted, which people do for thousands
    if layout.delimiter != ",":
        table, mark, comma_notices = _resolve_decimal_mark(table, layout, source)
        notices += comma_notices
    header = HEADER_PATTERN.match(layout.text)
    names_notices: tuple[str, ...] = ()
    if header is not None and layout.names is None:
        table, names_notices = _strip_names(table, has_quotes=b'"' in header[1])
    return replace(
        RawTable.from_arrow(table, source, (*layout.notices, *names_notices, *notices)),
        decimal_mark=mark,
        holds_text=True,
    )


def _check_n_columns(text: bytes, delimiter: str | None, source: str) -> None:
    """Check the number of columns, because Arrow allocates a kilobyte for each."""
    header = HEADER_PATTERN.match(text)
    unquoted = QUOTED_PATTERN.sub(b"", header[1]) if header else b""
    marks = (b",", b";", b"\t", b"|") if delimiter is None else (delimiter.encode(),)
    for mark in marks:
        if (n_columns := unquoted.count(mark) + 1) > MAX_COLUMNS:
            raise DataError(f"{source} has {n_columns} columns, more than {MAX_COLUMNS}: remove some of them")


def _parse_layout(layout: TextLayout, source: str, *, decimal_mark: DecimalMark = "point") -> pa.Table:
    """Parse a text whose layout is known; the error for a damaged text names its line."""
    import pyarrow as pa

    text, delimiter = layout.text, layout.delimiter
    header = HEADER_PATTERN.match(text)
    if text.count(b'"') % 2:  # Arrow reads an unclosed quote as one field up to the end of the file
        _check_row_widths(text, delimiter, source)
    if header and header.end() == len(text):
        text += b"\n"  # Arrow requires a line break after the header
    wide_names = _parse_column_names(header[1], delimiter) if header and layout.names is None else []
    try:
        return _parse_csv(text, _TextFormat(delimiter, layout.names, decimal_mark), wide_names)
    except pa.ArrowException as error:
        if isinstance(error, MemoryError) or "Failed to launch worker thread" in str(error):
            raise MemoryError from error
        _check_row_widths(text, delimiter, source)
        reason = escape_control_chars(str(error))[:_MAX_REASON_CHARS]
        raise DataError(f"{source} cannot be read as CSV: {reason}; write it again as plain CSV") from error


@dataclass(frozen=True)
class _TextFormat:
    """What Arrow must know of a text; `names` is None if its first record holds them."""

    delimiter: str
    names: list[str] | None
    decimal_mark: DecimalMark


def _parse_csv(data: bytes, text_format: _TextFormat, wide_names: list[str]) -> pa.Table:
    """Parse text with Arrow; a wide table is parsed in groups of columns to limit memory."""
    import pyarrow as pa
    import pyarrow.csv

    def parse_columns(columns: list[str] | None) -> pa.Table:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            # One block, so that types are inferred from all rows and not from the first megabyte.
            read_options=pa.csv.ReadOptions(
                block_size=min(len(data), _MAX_BLOCK_BYTES), column_names=text_format.names
            ),
            parse_options=pa.csv.ParseOptions(delimiter=text_format.delimiter, newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(
                strings_can_be_null=True,
                null_values=[*pa.csv.ConvertOptions().null_values, *_EXTRA_NULL_VALUES],
                include_columns=columns,
                decimal_point="." if text_format.decimal_mark == "point" else ",",
            ),
        )

    # Large enough that parsing the text repeatedly takes no longer than converting the columns.
    n_at_once = max(_MIN_COLUMNS_AT_ONCE, len(data) // _COLUMN_BYTES)
    if len(wide_names) <= n_at_once:
        return parse_columns(None)
    try:
        parts = [
            parse_columns(wide_names[start : start + n_at_once])
            for start in range(0, len(wide_names), n_at_once)
        ]
    except (pa.ArrowException, KeyError):  # the file is damaged, or Arrow parses the header differently
        return parse_columns(None)
    return pa.table([column for part in parts for column in part.columns], names=wide_names)


def _parse_column_names(header: bytes, delimiter: str) -> list[str]:
    """Return the column names of a wide table; empty if there are few columns or duplicate names."""
    if header.count(delimiter.encode()) < _MIN_COLUMNS_AT_ONCE:
        return []
    try:
        (names,) = csv.reader([header.decode()], delimiter=delimiter, strict=True)
    except (csv.Error, ValueError):
        return []
    return names if len(set(names)) == len(names) else []


def _resolve_decimal_mark(
    table: pa.Table, layout: TextLayout, source: str
) -> tuple[pa.Table, DecimalMark | None, tuple[str, ...]]:
    """Find the decimal mark of a text that was read with decimal points; read it again if it has commas."""
    import pyarrow as pa

    marks, examples = _find_marks(table)
    if "comma" not in marks:
        has_point = "point" in marks or any(map(pa.types.is_floating, table.schema.types))
        return table, "point" if has_point else None, ()
    table = _parse_layout(layout, source, decimal_mark="comma")
    read = {
        name: example
        for name, example in examples.items()
        if not pa.types.is_string(table.schema.field(name).type)
    }
    notices = (f"read with decimal commas: {format_examples(read)}",) if read else ()
    return table, None if "point" in _find_marks(table)[0] else "comma", notices


def _find_marks(table: pa.Table) -> tuple[set[DecimalMark], dict[str, tuple[str, float]]]:
    """Return the decimal marks that columns of text show, and an example of each column of decimal commas."""
    import pyarrow as pa

    marks: set[DecimalMark] = set()
    examples: dict[str, tuple[str, float]] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not pa.types.is_string(column.type) or table.column_names.count(name) > 1:
            continue
        distinct = [text for text in column.unique().to_pylist() if text is not None]
        if find_decimal_mark(distinct[:_N_TRIED]) is None or (mark := find_decimal_mark(distinct)) is None:
            continue
        marks.add(mark)
        if mark == "comma":
            example = next(text for text in distinct if "," in text or "." in text)
            examples[name] = (example, convert_written_number(example, mark))
    return marks, examples


def _strip_names(table: pa.Table, *, has_quotes: bool) -> tuple[pa.Table, tuple[str, ...]]:
    """Remove blanks around names, and quotes that follow a blank, unless a name would be empty or repeat.

    Names in quotes keep their blanks.
    """
    names = table.column_names
    if has_quotes:
        stripped = [match[1] if (match := _BLANK_AND_QUOTED_NAME.fullmatch(name)) else name for name in names]
    else:
        stripped = [name.strip(" \t") or name for name in names]
    if stripped == names or len(set(stripped)) < len(set(names)):
        return table, ()
    changed = [new for new, old in zip(stripped, names, strict=True) if new != old]
    notice = f"blanks around names are left out: {format_names(changed)}"
    return table.rename_columns(stripped), (notice,)


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
