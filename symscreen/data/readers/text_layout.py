"""Recognize the layout of a table in a text: comment lines, delimiter, column names, and units below them.

What is recognized is changed in place, line by line, so that the numbers of lines in messages stay those of
the source.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from symscreen.data.date_texts import is_date_text
from symscreen.data.written_numbers import is_missing_text, parse_written_number
from symscreen.messages import format_names

Row = Sequence[str]

HEADER_PATTERN = re.compile(rb'[\r\n]*((?:"[^"]*"|[^"\r\n]+|")*+)')
QUOTED_PATTERN = re.compile(rb'"[^"]*"')
_LINE_PATTERN = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|$)")
_EXCEL_DELIMITER = re.compile(rb"[ \t]*sep=([,;|\t])[ \t]*(?=[\r\n])", re.IGNORECASE)
_BLANKS = re.compile(rb"[ \t]+")
_SHORT_INTEGER = re.compile("[0-9]{1,9}")
_DELIMITERS = (",", ";", "\t", "|")  # delimiters in order of preference, if several fit
_SAMPLE_BYTES = 1 << 18
_SAMPLE_ROWS = 1000
_DELIMITER_ROWS = 50
_MIN_YEAR, _MAX_YEAR = 1000, 2999
_TARGET_NAMES = {"target", "label"}  # cells of a row that holds no units
_MAX_UNIT_CHARS = 24


@dataclass(frozen=True)
class TextLayout:
    """A text whose table starts with its names, and how it was recognized.

    Attributes
    ----------
    text : bytes
        UTF-8 text. If `names` is None, its first record holds the names.
    delimiter : str
        One character.
    names : list of str or None
        The names of the columns, if the text has none.
    notices : tuple of str
        What was recognized.
    """

    text: bytes
    delimiter: str
    names: list[str] | None = None
    notices: tuple[str, ...] = ()


def recognize_layout(text: bytes, delimiter: str | None = None) -> TextLayout:
    r"""Recognize the layout of a text.

    Parameters
    ----------
    text : bytes
        UTF-8 text without a byte order mark; not blank.
    delimiter : str, optional
        The delimiter, if it is known.

    Returns
    -------
    TextLayout

    Examples
    --------
    >>> recognize_layout(b"# made today\nT p\nK Pa\n1.5 2\n2.5 3\n")
    TextLayout(text=b'\nT\tp\n\n1.5\t2\n2.5\t3\n', delimiter='\t', names=None,
               notices=('1 comment line (#) is left out', "the row below the names is read as units: 'K',
               'Pa'"))
    >>> recognize_layout(b"5.1,3.5,a\n4.9,3.1,b\n6.1,3.0,a\n").names
    ['x1', 'x2', 'x3']
    """
    if match := _EXCEL_DELIMITER.match(text):
        text, delimiter = text[match.end() :], match[1].decode()
    text, comments = _split_comments(text)
    delimiter = delimiter or _detect_delimiter(text)
    if delimiter == " ":
        comments = [_BLANKS.sub(b"\t", line.strip()) for line in comments]
        text, delimiter = _separate_by_tabs(text), "\t"
    layout = _restore_commented_names(TextLayout(text, delimiter), comments)
    rows = read_sample(layout.text, delimiter)
    if len(rows) < 2:
        return layout
    if {len(row) for row in rows[1:]} == {len(rows[0]) + 1} and any(row[-1].strip() for row in rows[1:]):
        return _name_row_names(layout) if _are_row_names([row[0] for row in rows[1:]]) else layout
    if len({len(row) for row in rows}) > 1:
        return layout  # a damaged row; the parser names its line
    if is_header_missing(rows):
        return replace(
            layout,
            names=[f"x{j}" for j in range(1, len(rows[0]) + 1)],
            notices=(*layout.notices, format_missing_header(rows[0])),
        )
    if has_units_row(rows):
        return _remove_units_row(layout, rows[1])
    return layout


def read_sample(text: bytes, delimiter: str, max_rows: int = _SAMPLE_ROWS) -> list[list[str]]:
    """Read the first records of a text that are not blank; fewer if one is damaged."""
    header = HEADER_PATTERN.match(text)
    end = max(_SAMPLE_BYTES, 4 * header.end() if header else 0)
    part = text[:end]
    if end < len(text):
        part = part[: max(part.rfind(b"\n"), part.rfind(b"\r")) + 1]
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(part.decode(errors="replace"), newline=""), delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) > max_rows:
                break
    except csv.Error:
        pass
    return rows


def _split_comments(text: bytes) -> tuple[bytes, list[bytes]]:
    """Blank the lines that start with #, if the first line does; return the text and the leading ones."""
    start = len(text) - len(text.lstrip(b"\r\n"))
    leading: list[bytes] = []
    position = start
    while text.startswith(b"#", position):
        match = _LINE_PATTERN.match(text, position)
        assert match is not None  # noqa: S101  # the pattern matches the empty text
        leading.append(match[0].rstrip(b"\r\n"))
        position = match.end()
    rest = text[position:]
    if not leading or not rest.strip():
        return text, []
    breaks = _keep_line_breaks(text[:position])
    if b'"' not in rest:  # otherwise a line may be a part of a field
        rest = re.sub(rb"(?m)^#[^\r\n]*", b"", rest)
    return breaks + rest, leading


def _keep_line_breaks(text: bytes) -> bytes:
    """Remove everything but the line breaks."""
    return re.sub(rb"[^\r\n]", b"", text)


def _restore_commented_names(layout: TextLayout, comments: list[bytes]) -> TextLayout:
    """Take the last comment line for the names, if it has as many fields as the first row has numbers."""
    if not comments:
        return layout
    rows = read_sample(layout.text, layout.delimiter, _DELIMITER_ROWS)
    mark, n = layout.delimiter.encode(), len(rows[0]) if rows else 0
    fields = comments[-1].split(mark)
    if len(fields) == n + 1 and fields[0].strip() == b"#":
        fields = fields[1:]
    elif fields[0].strip(b"# \t"):  # otherwise # is itself a name
        fields[0] = fields[0].lstrip(b"#").strip()
    line = mark.join(fields)
    if n == len(fields) > 1 and any(map(_is_number, rows[0])):
        start = len(layout.text) - len(layout.text.lstrip(b"\r\n"))
        # the names take the place of the last line break but one, so that the numbers of lines stay
        n_break = 2 if layout.text[:start].endswith(b"\r\n") else 1
        text = layout.text[: start - n_break] + line + layout.text[start - n_break :]
        notices = (
            ["the names of the columns are read from a comment line (#)"] if line != comments[-1] else []
        )
        if len(comments) > 1:
            notices.insert(0, _count_comments(len(comments) - 1))
        return replace(layout, text=text, notices=tuple(notices))
    return replace(layout, notices=(_count_comments(len(comments)),))


def _count_comments(number: int) -> str:
    return f"{number} comment line{'' if number == 1 else 's'} (#) {'is' if number == 1 else 'are'} left out"


def _detect_delimiter(text: bytes) -> str:
    """Detect the delimiter by the header, and by the rows if several fit it; a blank if blanks separate."""
    match = HEADER_PATTERN.match(text)
    unquoted = QUOTED_PATTERN.sub(b"", match[1] if match else b"").decode(errors="replace")
    present = [mark for mark in _DELIMITERS if mark in unquoted]
    if not present:
        return " " if _is_separated_by_blanks(text) else ","
    if len(present) > 1:
        by_score = {mark: _score_delimiter(text, mark) for mark in present}
        best = max(by_score.values())
        if best > 0.0:
            return next(mark for mark in present if by_score[mark] == best)
        if present[0] != ",":
            return max(present, key=unquoted.count)
    return present[0]


def _score_delimiter(text: bytes, delimiter: str) -> float:
    """Return the share of numbers in the fields of the first rows; 0 if the rows differ in width."""
    rows = read_sample(text, delimiter, _DELIMITER_ROWS)
    if len(rows) < 2 or len({len(row) for row in rows}) > 1:
        return 0.0
    fields = [field for row in rows[1:] for field in row]
    return sum(map(_is_number_or_missing, fields)) / len(fields)


def _is_separated_by_blanks(text: bytes) -> bool:
    """Return whether runs of blanks split the first lines into equally many fields, more than one."""
    rows = [line.split() for line in text[:_SAMPLE_BYTES].splitlines() if line.strip()][:_DELIMITER_ROWS]
    if len(rows) < 2 or b'"' in text[:_SAMPLE_BYTES]:
        return False
    widths = {len(row) for row in rows[1:]}
    return len(widths) == 1 and (width := widths.pop()) > 1 and width in {len(rows[0]), len(rows[0]) + 1}


def _separate_by_tabs(text: bytes) -> bytes:
    """Replace runs of blanks by tabs, and remove those around lines."""
    lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return b"\n".join(b"\t".join(line.split()) for line in lines)


def _are_row_names(cells: Sequence[str]) -> bool:
    """Return whether cells may be names of rows: texts, or integers that differ from each other.

    With other numbers, it is more likely that a decimal comma has split a number in two.
    """
    if not all(map(_is_number_or_missing, cells)):
        return True
    return len(set(cells)) == len(cells) and all(cell.strip().isdigit() for cell in cells)


def _name_row_names(layout: TextLayout) -> TextLayout:
    """Give the first column an empty name, as R leaves it out."""
    match = HEADER_PATTERN.match(layout.text)
    assert match is not None  # noqa: S101  # the pattern matches the empty text
    text = layout.text[: match.start(1)] + b'""' + layout.delimiter.encode() + layout.text[match.start(1) :]
    notice = "the first column has no name and is read as names of the rows"
    return replace(layout, text=text, notices=(*layout.notices, notice))


def _is_number(field: str) -> bool:
    return parse_written_number(field) is not None


def _is_number_or_missing(field: str) -> bool:
    return is_missing_text(field) or _is_number(field)


def is_header_missing(rows: Sequence[Row]) -> bool:
    """Return whether the first row is data like the others, not names.

    Every field of it is a number above numbers, a date above dates, empty, or a text that the same column
    holds again; at least one is a number. Integers in equal steps, and years in ascending order, are
    names.

    Parameters
    ----------
    rows : sequence of sequences of str
        The first row and some of those below it, all of equal length.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_header_missing([["5.1", "a"], ["4.9", "a"]]), is_header_missing([["x", "y"], ["1", "2"]])
    (True, False)
    >>> is_header_missing([["1", "2", "3"], ["0.5", "0.1", "0.7"]])
    False
    """
    first, data = rows[0], rows[1:]
    if not data or not any(map(_is_number, first)):
        return False
    for field, column in zip(first, zip(*data, strict=True), strict=True):
        if _is_number(field):
            is_data = any(map(_is_number, column)) and all(map(_is_number_or_missing, column))
        elif is_missing_text(field):
            is_data = True
        elif is_date_text(field):
            is_data = all(is_missing_text(cell) or is_date_text(cell) for cell in column)
        else:
            is_data = field in column
        if not is_data:
            return False
    return not _are_numbered_names(first)


def _are_numbered_names(first: Row) -> bool:
    """Return whether a row holds names that are numbers: 0, 1, 2 and so on, other equal steps, or years."""
    fields = [field.strip() for field in first if field.strip()]  # pandas leaves the name of its index empty
    if not all(map(_SHORT_INTEGER.fullmatch, fields)):
        return False
    numbers = [int(field) for field in fields]
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    if len(numbers) > 2 and len(steps) == 1 and 0 not in steps:
        return True
    are_years = all(_MIN_YEAR <= number <= _MAX_YEAR for number in numbers) and min(steps, default=0) > 0
    return numbers in ([0], [1], [0, 1], [1, 2]) or are_years


def format_missing_header(first: Row) -> str:
    """Say that a source has no names, and what its columns are called."""
    shown = format_names([field.strip() for field in first[:3]])
    return (
        f"no names of columns: the first row ({shown}{', …' if len(first) > 3 else ''}) is data; "
        f"the columns are x1 to x{len(first)}"
    )


def has_units_row(rows: Sequence[Row]) -> bool:
    """Return whether the row below the names holds units.

    It has short texts above columns of numbers, nothing above other columns, and no number. A row with the
    text "target" or "label" has other names.

    Parameters
    ----------
    rows : sequence of sequences of str
        The names and some of the rows below them, all of equal length.

    Returns
    -------
    bool

    Examples
    --------
    >>> has_units_row([["T", "site"], ["K", ""], ["280", "a"], ["290", "b"]])
    True
    """
    if len(rows) < 3 or any(_is_number(cell) or cell.strip().casefold() in _TARGET_NAMES for cell in rows[1]):
        return False
    n_units = 0
    for unit, column in zip(rows[1], zip(*rows[2:], strict=True), strict=True):
        is_numeric = any(map(_is_number, column)) and all(map(_is_number_or_missing, column))
        is_blank = is_missing_text(unit) or unit.strip() in {"[]", "[-]", "()", "(-)"}
        if not is_numeric and not is_blank and not unit.strip().startswith(("[", "(")):
            return False
        if len(unit) > _MAX_UNIT_CHARS:
            return False
        n_units += is_numeric and not is_blank
    return n_units > 0


def format_units_row(units: Row) -> str:
    """Say that a row was read as units."""
    shown = [unit.strip() for unit in units if not is_missing_text(unit)]
    return f"the row below the names is read as units: {format_names(shown)}"


def _remove_units_row(layout: TextLayout, units: Row) -> TextLayout:
    """Blank the second record of a text."""
    header = HEADER_PATTERN.match(layout.text)
    row = HEADER_PATTERN.match(layout.text, header.end()) if header else None
    assert row is not None  # noqa: S101  # the pattern matches the empty text
    text = layout.text[: row.start(1)] + _keep_line_breaks(row[1]) + layout.text[row.end(1) :]
    return replace(layout, text=text, notices=(*layout.notices, format_units_row(units)))
