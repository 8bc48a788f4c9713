"""Read text columns as numbers that are written with currency signs, percent, separators or decimal commas.

A column is read only if every cell is such a number or means a missing value, and if there is one way to read
it. ``1,234`` alone may be 1234 or 1.234. Other cells of the column and of the source decide; otherwise the
column is not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.data.column_types import SourceColumn
from symscreen.messages import escape_control_chars, format_count, format_names, quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.data.readers.raw_table import DecimalMark
    from symscreen.data.text_cells import TextCells


# Texts that mean a missing value. The second set is from Excel.
_MISSING_TEXTS = frozenset(
    ("", "-", "--", "–", "—", "?", ".", "n/a", "na", "n.a.", "nan", "null", "none", "<na>", "missing")
) | frozenset(("#n/a", "#na", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"))
_SPACES = str.maketrans("\u00a0\u202f\u2009\u2007\t", "     ")  # no-break, thin and figure spaces
_CURRENCY = "[$€£¥₹₩]|USD|EUR|GBP|CHF|JPY|CNY|INR"
_WRITTEN = re.compile(
    rf"(?P<open>\()?(?P<sign>[+\-−]?) ?(?P<before>{_CURRENCY})? ?(?P<later_sign>[+\-−]?)"
    rf"(?P<digits>[0-9.,][0-9., '’]*(?:[eE][+-]?[0-9]+)?) ?(?P<after>%|{_CURRENCY})?(?P<close>\))?"
)
_EXPONENT = "(?:[eE][+-]?[0-9]+)?"
_GROUPED = "(?:[0-9]+|[0-9]{{1,3}}(?P<group>[{0}'’ ])[0-9]{{3}}(?:(?P=group)[0-9]{{3}})*)?"  # 1234 or 1,234
_STYLES: Mapping[DecimalMark, re.Pattern[str]] = {
    "point": re.compile(_GROUPED.format(",") + rf"(?:\.[0-9]*)?{_EXPONENT}"),
    "comma": re.compile(_GROUPED.format(".") + rf"(?:,[0-9]*)?{_EXPONENT}"),
}
_ONE_GROUP = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")  # pattern of 1,234 and 1.234, which may be either
_PLAIN_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_N_TRIED = 200  # distinct cells of a column that are tried first
_MIN_TRIED_SHARE = 0.5  # share of the tried cells that must be numbers; otherwise the column is text
_MIN_NUMBER_SHARE = 0.9  # share of numbers from which on the other cells are considered damaged
_MIN_GROUPED = 5  # number of cells such as 1,234 which shows that commas separate thousands
_MAX_SAFE_DIGITS = 15  # numbers with at most this many digits are distinct in float64


class WrittenNumber(NamedTuple):
    """The parts of a number as it is written."""

    is_negative: bool
    digits: str
    symbol: str


@dataclass(frozen=True)
class _Reading:
    """How the cells of a column are read."""

    column: SourceColumn
    example: tuple[str, float] | None = None  # a cell that is written otherwise than Python writes it
    uses_comma: bool = False
    missing_texts: tuple[str, ...] = ()
    n_missing: int = 0


def is_missing_text(text: str) -> bool:
    """Return whether a text means a missing value among numbers.

    Examples
    --------
    >>> is_missing_text(" N/A "), is_missing_text("0")
    (True, False)
    """
    return text.strip().casefold() in _MISSING_TEXTS


def parse_written_number(text: str) -> WrittenNumber | None:
    """Split a number into sign, digits and symbol; None if the text is not a number.

    Examples
    --------
    >>> parse_written_number("($1,234.50)"), parse_written_number("12 %"), parse_written_number("5 kg")
    (WrittenNumber(is_negative=True, digits='1,234.50', symbol='$'),
     WrittenNumber(is_negative=False, digits='12', symbol='%'), None)
    """
    match = _WRITTEN.fullmatch(text.translate(_SPACES).strip())
    if match is None:
        return None
    digits = match["digits"].strip()
    signs = [sign for sign in (match["sign"], match["later_sign"]) if sign]
    symbols = [symbol for symbol in (match["before"], match["after"]) if symbol]
    is_bracketed = match["open"] is not None
    if (
        len(signs) > 1
        or len(symbols) > 1
        or is_bracketed != (match["close"] is not None)
        or (is_bracketed and signs)
        or not any(style.fullmatch(digits) for style in _STYLES.values())
        or not any(mark.isdigit() for mark in digits.casefold().split("e")[0])
    ):
        return None
    return WrittenNumber(is_bracketed or bool({*signs} & {"-", "−"}), digits, "".join(symbols))


def convert_written_number(text: str, mark: DecimalMark) -> float:
    """Convert a number to float; NaN for any other text.

    Examples
    --------
    >>> convert_written_number("-1.234,5", "comma"), convert_written_number("n/a", "comma")
    (-1234.5, nan)
    """
    number = parse_written_number(text)
    return float("nan") if number is None else float(_to_plain_text(number, mark))


def find_decimal_mark(texts: Iterable[str]) -> DecimalMark | None:
    """Say what the numbers of a column show the decimal mark to be.

    Parameters
    ----------
    texts : iterable of str
        The cells. Those that mean missing values are left out.

    Returns
    -------
    {"point", "comma"} or None
        None if a cell is not a number, or nothing decides.

    Examples
    --------
    >>> find_decimal_mark(["1,5", "2"]), find_decimal_mark(["1,234.5"]), find_decimal_mark(["1,234"])
    ('comma', 'point', None)
    """
    numbers = [parse_written_number(text) for text in texts if not is_missing_text(text)]
    digits = [number.digits for number in numbers if number is not None]
    if len(digits) < len(numbers):
        return None
    fitting = [mark for mark, style in _STYLES.items() if all(map(style.fullmatch, digits))]
    return fitting[0] if len(fitting) == 1 else _find_mark_by_thousands(digits)


def _find_mark_by_thousands(digits: Sequence[str]) -> DecimalMark | None:
    """Recognize thousands by integers below 1000 that have no separator; None if nothing decides."""
    separators = {mark for number in digits for mark in number if mark in ".,"}
    grouped = [number for number in digits if _ONE_GROUP.fullmatch(number)]
    plain = [number for number in digits if number.isdigit()]
    if len(separators) != 1 or len(grouped) < _MIN_GROUPED or len(grouped + plain) < len(digits):
        return None
    if not plain or any(len(number) > 3 for number in plain):
        return None
    return "point" if separators == {","} else "comma"


def read_written_numbers(
    columns: Mapping[str, SourceColumn], mark: DecimalMark | None, *, holds_text: bool
) -> tuple[dict[str, SourceColumn], list[str]]:
    """Read the text columns of a source that hold written numbers.

    Parameters
    ----------
    columns : mapping of str to SourceColumn
        All columns of the source.
    mark : {"point", "comma"} or None
        The decimal mark of the source; None if it is not known.
    holds_text : bool
        Whether the source writes all numbers as text. Otherwise a column of plain numbers stored as text is
        left as it is, because its source has a type for numbers.

    Returns
    -------
    columns : dict of str to SourceColumn
        The columns in the same order. A column of numbers in which few cells are something else gets a
        `damage`.
    notices : list of str
        What was read, with examples: at most one line for written numbers, one for decimal commas and one for
        missing values.

    Examples
    --------
    >>> from symscreen.data.python_columns import convert_python_column
    >>> columns = {"price": convert_python_column(["$1,234.5", "$7", "?"])}
    >>> columns, notices = read_written_numbers(columns, None, holds_text=True)
    >>> columns["price"].numbers.tolist(), notices
    ([1234.5, 7.0, nan], ["read as numbers: 'price' ('$1,234.5' is 1234.5)",
                          "read as missing: '?' in 'price' (1 row)"])
    """
    texts = {name: column.cells for name, column in columns.items() if column.cells is not None}
    if mark is None:
        marks = {found for cells in texts.values() if (found := _find_column_mark(cells)) is not None}
        mark = marks.pop() if len(marks) == 1 else None
    readings = {
        name: reading
        for name, cells in texts.items()
        if (reading := _read_column(columns[name], cells, mark, holds_text=holds_text)) is not None
    }
    new_columns = {
        name: readings[name].column if name in readings else column for name, column in columns.items()
    }
    return new_columns, _format_notices(readings)


def _find_column_mark(cells: TextCells) -> DecimalMark | None:
    """Return the decimal mark of a column of texts; None if it holds anything else, or nothing decides."""
    return find_decimal_mark(cells.distinct) if _is_mostly_numbers(cells.distinct) else None


def _is_mostly_numbers(distinct: Sequence[str]) -> bool:
    """Return whether most of the first distinct cells are numbers, so that all are examined."""
    tried = [text for text in distinct[:_N_TRIED] if not is_missing_text(text)]
    n_numbers = sum(parse_written_number(text) is not None for text in tried)
    return n_numbers > 0 and n_numbers >= _MIN_TRIED_SHARE * len(tried)


@dataclass(frozen=True)
class _NumberCells:
    """The cells of a column of text that may be numbers.

    `codes` has shape (n,) and holds −1 where a cell is missing; `counts` says how often each distinct cell
    occurs. `numbers` are the distinct cells that are numbers, `bad` those that are neither numbers nor stand
    for missing values.
    """

    column: SourceColumn
    distinct: Sequence[str]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    numbers: Mapping[int, WrittenNumber]
    bad: Sequence[int]

    def report_damage(self, damage: str) -> _Reading:
        """Leave the column as it is, with what is wrong with it."""
        return _Reading(replace(self.column, damage=damage))


def _read_column(
    column: SourceColumn, cells: TextCells, mark: DecimalMark | None, *, holds_text: bool
) -> _Reading | None:
    """Read one column; None if it holds texts."""
    encoded = _find_numbers(column, cells, holds_text=holds_text)
    if encoded is None:
        return None
    if encoded.bad:
        return _describe_damage(encoded)
    symbols = {number.symbol for number in encoded.numbers.values()}
    if len(symbols - {""}) > 1 or ("%" in symbols and len(symbols) > 1):
        shown = ", ".join(sorted(quote(symbol) if symbol else "no sign" for symbol in symbols))
        return encoded.report_damage(f"its numbers are written with different signs ({shown})")
    return _convert_numbers(encoded, mark)


def _find_numbers(column: SourceColumn, cells: TextCells, *, holds_text: bool) -> _NumberCells | None:
    """Find the numbers among the cells; None if most cells are none, or the column is to stay as it is."""
    distinct = cells.distinct
    if not _is_mostly_numbers(distinct) or (
        not holds_text and all(_PLAIN_NUMBER.fullmatch(text.strip()) for text in distinct)
    ):
        return None
    numbers = {
        i: number
        for i, text in enumerate(distinct)
        if not is_missing_text(text) and (number := parse_written_number(text)) is not None
    }
    bad = [i for i, text in enumerate(distinct) if i not in numbers and not is_missing_text(text)]
    return _NumberCells(column, distinct, cells.codes, cells.count_cells(), numbers, bad)


def _describe_damage(cells: _NumberCells) -> _Reading | None:
    """Say which cell is not a number; None if too many are not, so that the column is text."""
    n_numbers, n_bad = int(cells.counts[list(cells.numbers)].sum()), int(cells.counts[cells.bad].sum())
    if n_numbers < _MIN_NUMBER_SHARE * (n_numbers + n_bad):
        return None
    row = int(np.flatnonzero(np.isin(cells.codes, cells.bad))[0])
    return cells.report_damage(
        f"{n_numbers} of {n_numbers + n_bad} cells are numbers, but row {row + 1} holds "
        f"{quote(cells.distinct[cells.codes[row]])}"
    )


def _convert_numbers(cells: _NumberCells, mark: DecimalMark | None) -> _Reading:
    """Convert the cells of a column, which are numbers or missing."""
    distinct, numbers = cells.distinct, cells.numbers
    digits = [number.digits for number in numbers.values()]
    fitting = [each for each, style in _STYLES.items() if all(map(style.fullmatch, digits))]
    if not fitting:
        return cells.report_damage("some of its numbers have decimal points, others decimal commas")
    mark = fitting[0] if len(fitting) == 1 else _find_mark_by_thousands(digits) or mark
    ambiguous = [number for number in digits if _ONE_GROUP.fullmatch(number)]
    if mark is None and ambiguous:
        return cells.report_damage(
            f"{quote(ambiguous[0])} may be a decimal number or have a separator of thousands, and nothing "
            "says which"
        )
    exact = {i: _to_plain_text(number, mark or "point") for i, number in numbers.items()}
    if _have_collisions(exact.values()):
        return cells.report_damage("distinct numbers of its many digits are equal in double precision")
    values = np.full(len(distinct) + 1, np.nan)
    values[list(exact)] = [float(text) for text in exact.values()]
    rewritten = [i for i in numbers if not _is_plain(distinct[i].strip(), mark)]
    named = [i for i, text in enumerate(distinct) if i not in numbers and text.strip()]
    return _Reading(
        SourceColumn("numbers", values[cells.codes]),
        example=(distinct[rewritten[0]].strip(), float(values[rewritten[0]])) if rewritten else None,
        uses_comma=bool(rewritten) and all(_is_decimal_comma(distinct[i], exact[i]) for i in rewritten),
        missing_texts=tuple(sorted(distinct[i].strip() for i in named)),
        n_missing=int(cells.counts[named].sum()) if named else 0,
    )


def _have_collisions(texts: Collection[str]) -> bool:
    """Return whether distinct numbers become equal in double precision."""
    if all(len(text) <= _MAX_SAFE_DIGITS for text in texts):
        return False
    try:
        return len({Decimal(text) for text in texts}) > len({float(text) for text in texts})
    except ArithmeticError:  # an exponent that Decimal does not have: the number is infinite or 0
        return False


def _to_plain_text(number: WrittenNumber, mark: DecimalMark) -> str:
    """Write a number as Python reads it."""
    digits = "".join(each for each in number.digits if each not in " '’")
    digits = digits.replace(",", "") if mark == "point" else digits.replace(".", "").replace(",", ".")
    return f"-{digits}" if number.is_negative else digits


def _is_plain(text: str, mark: DecimalMark | None) -> bool:
    """Return whether Python reads the same number; with decimal commas, a point separates thousands."""
    return _PLAIN_NUMBER.fullmatch(text) is not None and not (mark == "comma" and "." in text)


def _is_decimal_comma(text: str, plain: str) -> bool:
    """Return whether a number differs from Python's notation by a decimal comma alone."""
    return text.strip().lstrip("+").replace(",", ".") == plain


def _format_notices(readings: Mapping[str, _Reading]) -> list[str]:
    """Say what was read otherwise than as it stands."""
    notices = []
    written = {name: one.example for name, one in readings.items() if one.example and not one.uses_comma}
    if written:
        notices.append(f"read as numbers: {format_examples(written)}")
    if with_comma := {name: one.example for name, one in readings.items() if one.example and one.uses_comma}:
        notices.append(f"read with decimal commas: {format_examples(with_comma)}")
    gaps = {name: one for name, one in readings.items() if one.missing_texts}
    if gaps:
        texts = sorted({text for one in gaps.values() for text in one.missing_texts})
        n_cells = sum(one.n_missing for one in gaps.values())
        unit = "row" if len(gaps) == 1 else "cell"
        notices.append(
            f"read as missing: {format_names(texts)} in {format_names(list(gaps))} "
            f"({format_count(n_cells, unit)})"
        )
    return notices


def format_examples(examples: Mapping[str, tuple[str, float]]) -> str:
    """List columns with a cell of each and what it was read as.

    Examples
    --------
    >>> format_examples({"share": ("12 %", 12.0)})
    "'share' ('12 %' is 12)"
    """
    shown = [
        f"{quote(name)} ({quote(text)} is {escape_control_chars(f'{value:.15g}')})"
        for name, (text, value) in list(examples.items())[:5]
    ]
    return ", ".join(shown) + (f" and {len(examples) - 5} more" if len(examples) > 5 else "")
