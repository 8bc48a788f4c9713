"""Read CSV, TSV and other text tables. The error for a damaged text names its line."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from symscreen.data.readers.raw_table import RawTable
from symscreen.data.readers.text_encoding import decode_text
from symscreen.data.readers.text_layout import (
    HEADER_PATTERN,
    QUOTED_PATTERN,
    recognize_layout,
)
from symscreen.data.readers.text_parser import (
    DamagedRowError,
    ParsedText,
    TextFormat,
    check_row_widths,
    parse_text,
)
from symscreen.data.text_cells import TextCells
from symscreen.data.written_numbers import convert_written_number, find_decimal_mark, format_examples
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, format_names

if TYPE_CHECKING:
    from symscreen.data.readers.raw_table import DecimalMark
    from symscreen.data.readers.text_layout import TextLayout


MAX_COLUMNS = 100_000
_MAX_REASON_CHARS = 200  # characters of a library's error message that are quoted
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
    >>> table.names, [column.tolist() for column in table.columns], table.notices
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
    names = table.names
    names_notices: tuple[str, ...] = ()
    if header is not None and layout.names is None:
        names, names_notices = _strip_names(names, has_quotes=b'"' in header[1])
    notices = (*layout.notices, *names_notices, *notices)
    return RawTable(source, names, table.columns, table.n, notices, decimal_mark=mark, holds_text=True)


def _check_n_columns(text: bytes, delimiter: str | None, source: str) -> None:
    """Check the number of columns before memory is allocated for each."""
    header = HEADER_PATTERN.match(text)
    unquoted = QUOTED_PATTERN.sub(b"", header[1]) if header else b""
    marks = (b",", b";", b"\t", b"|") if delimiter is None else (delimiter.encode(),)
    for mark in marks:
        if (n_columns := unquoted.count(mark) + 1) > MAX_COLUMNS:
            raise DataError(f"{source} has {n_columns} columns, more than {MAX_COLUMNS}: remove some of them")


def _parse_layout(layout: TextLayout, source: str, *, decimal_mark: DecimalMark = "point") -> ParsedText:
    """Parse a text whose layout is known; the error for a damaged text names its line."""
    try:
        if layout.text.count(b'"') % 2:  # an unclosed quote, unless one stands inside a field
            check_row_widths(layout.text, layout.delimiter)
        return parse_text(layout.text, TextFormat(layout.delimiter, layout.names, decimal_mark))
    except DamagedRowError as error:
        raise DataError(f"{source}, {error}") from error
    except ValueError as error:
        if "out of memory" in str(error):
            raise MemoryError from error
        reason = escape_control_chars(str(error))[:_MAX_REASON_CHARS]
        raise DataError(f"{source} cannot be read as CSV: {reason}; write it again as plain CSV") from error


def _resolve_decimal_mark(
    table: ParsedText, layout: TextLayout, source: str
) -> tuple[ParsedText, DecimalMark | None, tuple[str, ...]]:
    """Find the decimal mark of a text that was read with decimal points; read it again if it has commas."""
    marks, examples = _find_marks(table)
    if "comma" not in marks:
        has_point = "point" in marks or any(
            not isinstance(cells, TextCells) and cells.dtype == np.float64 and not np.isnan(cells).all()
            for cells in table.columns
        )
        return table, "point" if has_point else None, ()
    table = _parse_layout(layout, source, decimal_mark="comma")
    columns = dict(zip(table.names, table.columns, strict=True))
    read = {name: example for name, example in examples.items() if not isinstance(columns[name], TextCells)}
    notices = (f"read with decimal commas: {format_examples(read)}",) if read else ()
    return table, None if "point" in _find_marks(table)[0] else "comma", notices


def _find_marks(table: ParsedText) -> tuple[set[DecimalMark], dict[str, tuple[str, float]]]:
    """Return the decimal marks that columns of text show, and an example of each column of decimal commas."""
    marks: set[DecimalMark] = set()
    examples: dict[str, tuple[str, float]] = {}
    n_same = Counter(table.names)
    for name, cells in zip(table.names, table.columns, strict=True):
        if not isinstance(cells, TextCells) or n_same[name] > 1:
            continue
        if (
            find_decimal_mark(cells.distinct[:_N_TRIED]) is None
            or (mark := find_decimal_mark(cells.distinct)) is None
        ):
            continue
        marks.add(mark)
        if mark == "comma":
            example = next(text for text in cells.distinct if "," in text or "." in text)
            examples[name] = (example, convert_written_number(example, mark))
    return marks, examples


def _strip_names(names: list[str], *, has_quotes: bool) -> tuple[list[str], tuple[str, ...]]:
    """Remove blanks around names, and quotes that follow a blank, unless a name would be empty or repeat.

    Names in quotes keep their blanks.
    """
    if has_quotes:
        stripped = [match[1] if (match := _BLANK_AND_QUOTED_NAME.fullmatch(name)) else name for name in names]
    else:
        stripped = [name.strip(" \t") or name for name in names]
    if stripped == names or len(set(stripped)) < len(set(names)):
        return names, ()
    changed = [new for new, old in zip(stripped, names, strict=True) if new != old]
    notice = f"blanks around names are left out: {format_names(changed)}"
    return stripped, (notice,)
