"""Read a sheet of an Excel workbook: .xlsx and .xlsm with openpyxl, .xls with python-calamine."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from symscreen.data.decompressed_size import check_unpacked_size
from symscreen.data.readers.compression import check_archive_size
from symscreen.data.readers.delimited_text import MAX_COLUMNS
from symscreen.data.readers.optional_packages import import_package
from symscreen.data.readers.raw_table import RawTable
from symscreen.data.readers.text_layout import (
    format_missing_header,
    format_units_row,
    has_units_row,
    is_header_missing,
)
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, format_names, quote, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Cell = Any
    SheetRow = tuple[Cell, ...]


_CELL_BYTES = 64  # memory of a cell while a sheet is read
_MAX_REASON_CHARS = 100
_SAMPLE_ROWS = 1000


def read_workbook(data: bytes, source: str, *, is_old: bool, sheet: str | None = None) -> RawTable:
    """Read a sheet of a workbook.

    Parameters
    ----------
    data : bytes
        The whole file.
    source : str
        The source, for messages.
    is_old : bool
        Whether the file is an .xls file, of Excel 2003 and before.
    sheet : str, optional
        The name of the sheet; by default the first one that is not empty.

    Returns
    -------
    RawTable
        The first row that is not empty holds the names, unless all of it is data.

    Raises
    ------
    DataError
        If the file is damaged, its unpacked size is too large, or there is no such sheet.
    """
    package = import_package(
        "python_calamine" if is_old else "openpyxl", "an .xls file" if is_old else "an .xlsx file"
    )
    try:
        if is_old:
            name, other_sheets, rows = _read_old_sheet(package, data, sheet, source)
        else:
            check_archive_size(data, source)
            name, other_sheets, rows = _read_sheet(package, data, sheet, source)
    except (DataError, MemoryError):
        raise
    except Exception as error:  # both libraries raise what their parsers raise
        reason = escape_control_chars(str(error))[:_MAX_REASON_CHARS] or type(error).__name__
        raise DataError(
            f"{source} is a truncated or damaged workbook ({reason}): save it again, or save it as CSV"
        ) from error
    notices = []
    if other_sheets and sheet is None:
        notices.append(
            f"the sheet {quote(name)} is read; name another as FILE#SHEET: {format_names(other_sheets)}"
        )
    return _build_table(rows, source, notices)


def _read_sheet(
    openpyxl: Any, data: bytes, sheet: str | None, source: str
) -> tuple[str, list[str], list[SheetRow]]:
    """Read a sheet of an .xlsx file; return its name, the names of others with cells, and its rows."""
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    sheets = {each.title: each for each in book.worksheets}
    _check_sheet_name(sheets, sheet, source)
    for each in sheets.values():
        each.reset_dimensions()  # a sheet may claim any size; rows are then as long as their cells
    if sheet is not None:
        return sheet, [], _collect_rows(sheets[sheet].iter_rows(values_only=True), len(data), source)
    filled = [name for name, each in sheets.items() if _has_cells(each)]
    if not filled:
        raise DataError(f"{source} has no sheet with cells: a header and rows are needed")
    rows = _collect_rows(sheets[filled[0]].iter_rows(values_only=True), len(data), source)
    return filled[0], filled[1:], rows


def _has_cells(sheet: Any) -> bool:
    """Return whether a sheet has cells."""
    return any(cell is not None for row in sheet.iter_rows(values_only=True) for cell in row)


def _read_old_sheet(
    calamine: Any, data: bytes, sheet: str | None, source: str
) -> tuple[str, list[str], list[SheetRow]]:
    """Read a sheet of an .xls file, which has at most 65,536 rows of 256 cells."""
    book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    _check_sheet_name(book.sheet_names, sheet, source)
    names = list(book.sheet_names) if sheet is None else [sheet]
    filled = []
    for name in names:
        rows = [
            tuple(None if cell == "" else cell for cell in row)
            for row in book.get_sheet_by_name(name).to_python(skip_empty_area=True)
        ]
        if rows:
            filled.append((name, rows))
    if not filled:
        raise DataError(f"{source} has no sheet with cells: a header and rows are needed")
    return filled[0][0], [name for name, _ in filled[1:]], filled[0][1]


def _check_sheet_name(names: Iterable[str], sheet: str | None, source: str) -> None:
    """Check that a workbook has a sheet."""
    if sheet is not None and sheet not in names:
        raise DataError(f"{source} has no sheet {quote(sheet)}{suggest(sheet, names)}")


def _collect_rows(rows: Iterator[SheetRow], packed_bytes: int, source: str) -> list[SheetRow]:
    """Collect the rows of a sheet that are not empty; DataError if there are too many cells."""
    collected: list[SheetRow] = []
    n_cells = 0
    for row in rows:
        if len(row) > MAX_COLUMNS:
            raise DataError(f"{source} has {len(row)} columns, more than {MAX_COLUMNS}: remove some of them")
        if all(cell is None for cell in row):
            continue
        collected.append(row)
        n_cells += len(row)
        check_unpacked_size(n_cells * _CELL_BYTES, packed_bytes, source)
    return collected


def _build_table(rows: Sequence[SheetRow], source: str, notices: list[str]) -> RawTable:
    """Take the first row that is not empty for the names, and those below for the rows of a table."""
    filled = [row for row in rows if any(cell is not None for cell in row)]
    if not filled:
        raise DataError(f"{source} has no cells: a header and rows are needed")
    width = max(max(j for j, cell in enumerate(row) if cell is not None) for row in filled) + 1
    start = min(next(j for j, cell in enumerate(row) if cell is not None) for row in filled)
    filled = [(*row[start:width], *(None,) * (width - max(len(row), start))) for row in filled]
    if len(filled) > 1 and sum(cell is not None for cell in filled[0]) == 1 < len(filled[0]):
        raise DataError(
            f"{source}: the first row holds one cell alone, {quote(str(filled[0][0]))}: remove what "
            f"stands above the names"
        )
    texts = [["" if cell is None else str(cell) for cell in row] for row in filled[:_SAMPLE_ROWS]]
    names, data = [text.strip() for text in texts[0]], filled[1:]
    if is_header_missing(texts):
        notices.append(format_missing_header(texts[0]))
        names, data = [f"x{j}" for j in range(1, len(names) + 1)], filled
    elif has_units_row(texts):
        notices.append(format_units_row(texts[1]))
        data = filled[2:]
    columns = [list(cells) for cells in zip(*data, strict=True)] if data else [[] for _ in names]
    return RawTable(source, names, columns, len(data), tuple(notices), holds_text=True)
