"""Parse delimited text with pandas into columns of numbers and of texts, each row of equal width."""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data.readers.cell_types import NULL_TEXTS, convert_cells
from symscreen.data.text_cells import TextCells

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.data.readers.raw_table import DecimalMark

_MAX_EXACT_INTEGER = 2.0**53  # integer up to which all integers are exact in float64
_NULLS = frozenset(NULL_TEXTS)
_LINE_BREAKS = b"\r\n"


class DamagedRowError(ValueError):
    """A row has too few or too many fields, or a quote that is not closed."""


@dataclass(frozen=True)
class TextFormat:
    """How a text is written; `names` is None if its first record holds them."""

    delimiter: str
    names: list[str] | None = None
    decimal_mark: DecimalMark = "point"


@dataclass(frozen=True, eq=False)
class ParsedText:
    """The names of a text, and its columns, each of n cells: numbers, dates, or `TextCells`."""

    names: list[str]
    columns: list[NDArray[Any] | TextCells]
    n: int


def parse_text(text: bytes, text_format: TextFormat) -> ParsedText:
    r"""Parse a text, and find the type of each column by all of its cells.

    Parameters
    ----------
    text : bytes
        UTF-8 text. Blank lines are left out.
    text_format : TextFormat
        Its delimiter, names and decimal mark.

    Returns
    -------
    ParsedText

    Raises
    ------
    DamagedRowError
        If a row is longer or shorter than the first, or a quote is never closed.
    ValueError
        If the text cannot be parsed for another reason.

    Examples
    --------
    >>> parsed = parse_text(b"a,b\n1,p\n2,q\n", TextFormat(","))
    >>> parsed.names, parsed.columns[0].tolist(), parsed.columns[1].to_list()
    (['a', 'b'], [1, 2], ['p', 'q'])
    """
    names, body = _split_names(text, text_format)
    if not body:
        if b'"' in text:  # the quote of a name may not be closed
            check_row_widths(text, text_format.delimiter)
        return ParsedText(names, [np.full(0, np.nan) for _ in names], 0)
    if b"\0" in text:
        raise ValueError("it holds the character NUL")
    parser = _PandasParser(body, text_format)
    try:
        table = parser.read()
        kept = _find_rows(table, body, text_format.delimiter, len(names))
    except ValueError:  # raised by pandas or by _find_rows
        check_row_widths(text, text_format.delimiter)
        raise
    # Whether integers are written with a decimal point matters only beside numbers with commas.
    whole_is_exact = text_format.delimiter == "," or b"," not in body
    cells_by_index = dict(enumerate(cells for _, cells in table.items()))
    certain = {
        index
        for index, cells in cells_by_index.items()
        if _are_certain_numbers(cells, whole_is_exact=whole_is_exact)
    }
    doubtful = [
        index for index, cells in cells_by_index.items() if index not in certain and not _are_texts(cells)
    ]
    if doubtful:
        texts = parser.read(columns=doubtful)
        cells_by_index |= dict(zip(doubtful, (cells for _, cells in texts.items()), strict=True))
    columns: list[NDArray[Any] | TextCells] = []
    for index, cells in cells_by_index.items():
        values = cells.to_numpy() if index in certain else cells.to_numpy(dtype=object)
        values = values if kept is None else values[kept]
        columns.append(values if index in certain else _convert_texts(values, text_format.decimal_mark))
    return ParsedText(names, columns, len(table) if kept is None else int(kept.sum()))


def read_plain_csv(text: bytes, text_columns: Collection[str]) -> pd.DataFrame:
    r"""Read CSV in which empty cells are missing numbers or empty texts, as `DataFrame.to_csv` writes it.

    Parameters
    ----------
    text : bytes
        UTF-8 text with a header.
    text_columns : collection of str
        The columns whose cells are texts even if they look like numbers.

    Returns
    -------
    pandas.DataFrame
        Floats are read to the last bit.

    Raises
    ------
    ValueError
        As in `parse_text`.

    Examples
    --------
    >>> table = read_plain_csv(b"name,t0\n1,0.5\nNA,\n", ["name"])
    >>> table["name"].tolist(), table["t0"].tolist()
    (['1', 'NA'], [0.5, nan])
    """
    import pandas as pd

    text_format = TextFormat(",")
    names, body = _split_names(text, text_format)
    if not body:
        return pd.DataFrame(columns=names, dtype=object)
    texts = [index for index, name in enumerate(names) if name in text_columns]
    table = _PandasParser(body, text_format, ("",)).read(texts=texts)
    kept = _find_rows(table, body, text_format.delimiter, len(names))
    table = table.fillna(dict.fromkeys(texts, ""))
    table.columns = pd.Index(names)
    return table if kept is None else table[kept].reset_index(drop=True)


def _split_names(text: bytes, text_format: TextFormat) -> tuple[list[str], bytes]:
    """Split a text into the names of its first record and the records below, without blank lines around."""
    text = text.strip(_LINE_BREAKS)
    if text_format.names is not None:
        return text_format.names, text
    n_read = 0

    def count_lines() -> Iterator[str]:
        nonlocal n_read
        for line in io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline=""):
            n_read += len(line.encode())
            yield line

    names = next(csv.reader(count_lines(), delimiter=text_format.delimiter), [""])
    return names, text[n_read:].lstrip(_LINE_BREAKS)


@dataclass(frozen=True)
class _PandasParser:
    """Records below the names, and how they are written."""

    body: bytes
    text_format: TextFormat
    null_texts: tuple[str, ...] = NULL_TEXTS

    def read(self, *, columns: Sequence[int] | None = None, texts: Sequence[int] = ()) -> pd.DataFrame:
        """Read all columns, those of numbers as numbers unless in `texts`; or some columns as texts."""
        import pandas as pd

        # pandas leaves out a byte order mark, even where it belongs to the first cell
        body = self.body if not self.body.startswith(codecs.BOM_UTF8) else codecs.BOM_UTF8 + self.body
        options: dict[str, Any] = {"dtype": dict.fromkeys(texts, "str")}
        if columns is not None:
            options = {"usecols": columns, "dtype": object}
        if float(".".join(pd.__version__.split(".")[:2])) < 3.1:
            options["float_precision"] = "round_trip"  # the default of later versions
        table: pd.DataFrame = pd.read_csv(
            io.BytesIO(body),
            sep=self.text_format.delimiter,
            header=None,
            na_values=list(self.null_texts),
            keep_default_na=False,
            skip_blank_lines=False,  # pandas would take lines of blanks for blank, and cut blanks off others
            low_memory=False,  # types are found by all rows
            decimal="." if self.text_format.decimal_mark == "point" else ",",
            **options,
        )
        return table


def _find_rows(table: pd.DataFrame, body: bytes, delimiter: str, width: int) -> NDArray[np.bool_] | None:
    """Find the rows that are not blank lines; None if all are. Rows must have `width` fields.

    pandas fills rows that are too short with missing values, so that their last cell is missing.
    """
    if table.shape[1] != width:
        raise ValueError(f"its rows have {table.shape[1]} fields, and its header has {width}")
    last = table.iloc[:, -1]
    if not last.isna().any() and (last.dtype.kind in "biuf" or not (last == "").any()):
        return None
    if b'"' in body:
        rows = csv.reader(
            io.TextIOWrapper(io.BytesIO(body), encoding="utf-8", newline=""), delimiter=delimiter
        )
        widths = np.array([len(row) for row in rows])
    else:
        mark, lines = delimiter.encode(), body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        widths = np.array([line.count(mark) + 1 if line else 0 for line in lines])
    is_blank = widths == 0
    if len(widths) != len(table) or (widths[~is_blank] != width).any():
        raise ValueError("its rows differ in their number of fields")
    return ~is_blank if is_blank.any() else None


def _are_certain_numbers(cells: pd.Series[Any], *, whole_is_exact: bool) -> bool:
    """Return whether cells are numbers whose texts need not be seen.

    The texts of floats must be seen if some are large integers, which may have been rounded. They must also
    be seen if the numbers may be integers, some are missing and `whole_is_exact` is false.
    """
    if cells.dtype != np.float64:
        return bool(cells.dtype == np.int64)
    values = cells.to_numpy()
    if np.fmax.reduce(np.abs(values), initial=0.0) > _MAX_EXACT_INTEGER:
        return False
    return whole_is_exact or not np.isnan(values).any() or bool((values[~np.isnan(values)] % 1 != 0).any())


def _are_texts(cells: pd.Series[Any]) -> bool:
    """Return whether cells are texts; pandas also stores some booleans and large integers as objects."""
    from pandas.api.types import infer_dtype

    return cells.dtype.kind not in "biuf" and (
        cells.dtype != object or infer_dtype(cells, skipna=True) == "string"
    )


def _convert_texts(texts: NDArray[Any], decimal_mark: DecimalMark) -> NDArray[Any] | TextCells:
    """Find the type of n texts, and convert them."""
    cells = TextCells.from_objects(texts)
    if not _NULLS.isdisjoint(cells.distinct):  # pandas keeps them among integers that are too large for it
        is_null = np.array([text in _NULLS for text in cells.distinct])
        new_codes = np.where(is_null, -1, np.cumsum(~is_null) - 1)
        distinct = [text for text in cells.distinct if text not in _NULLS]
        cells = TextCells(distinct, np.append(new_codes, -1)[cells.codes])
    return convert_cells(cells, decimal_mark)


def check_row_widths(text: bytes, delimiter: str) -> None:
    """Raise a DamagedRowError for the first damaged row that Python's csv reader finds, if any."""
    rows = csv.reader(io.StringIO(text.decode(), newline=""), delimiter=delimiter, strict=True)
    width, line = 0, 1
    try:
        for fields in rows:
            width = width or len(fields)
            if fields and len(fields) != width:
                raise DamagedRowError(
                    f"line {line}: expected {width} fields as in the header, found {len(fields)}; "
                    "correct this line (a quote or a delimiter may be missing, or the file is truncated)"
                )
            line = rows.line_num + 1
    except csv.Error as error:
        if "expected after" in str(error):
            flaw = "a closing quote is followed by more text; double a quote inside a field"
        else:
            flaw = "a quote is opened and never closed; close it, or double a quote inside a field"
        raise DamagedRowError(f"line {line}: {flaw}") from None
