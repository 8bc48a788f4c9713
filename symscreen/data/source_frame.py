"""`SourceFrame`: the columns of a source, converted to numbers as far as they are numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.data.arrow_columns import convert_arrow_column
from symscreen.data.column_types import SourceColumn, make_text_column
from symscreen.data.date_parts import add_date_parts
from symscreen.data.date_texts import read_date_texts
from symscreen.data.python_columns import convert_python_column
from symscreen.data.readers.delimited_text import MAX_COLUMNS
from symscreen.data.text_cells import TextCells
from symscreen.data.written_numbers import read_written_numbers
from symscreen.errors import DataError
from symscreen.messages import format_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.data.readers.raw_table import RawTable
    from symscreen.data.row_order import RowOrder


@dataclass(frozen=True, eq=False)
class SourceFrame:
    """The columns of a source, with rows and columns in the order of the source.

    Parameters
    ----------
    source : str
        Name of the source in messages.
    columns : dict of str to SourceColumn
        All columns, at least one. The parts of dates follow their column.
    n : int
        Number of data rows.
    notices : tuple of str
        One line for each reading that is not literal.
    row_order : RowOrder or None
        The order of the rows in time; None if they have none.

    Examples
    --------
    >>> from symscreen.data import read_frame
    >>> read_frame({"a": [1, 2], "b": ["p", "q"]}).columns["b"].description
    'text'
    """

    source: str
    columns: dict[str, SourceColumn]
    n: int
    notices: tuple[str, ...] = ()
    row_order: RowOrder | None = None


def build_frame(table: RawTable) -> SourceFrame:
    """Check the names of a table and convert its columns.

    Parameters
    ----------
    table : RawTable
        What a reader returned.

    Returns
    -------
    SourceFrame

    Raises
    ------
    DataError
        If there are no columns or too many, or two share a name.
    """
    names = [str(name) for name in table.names]
    check_column_names(table.source, names)
    columns = {name: _convert_cells(cells) for name, cells in zip(names, table.columns, strict=True)}
    columns, number_notices = read_written_numbers(columns, table.decimal_mark, holds_text=table.holds_text)
    columns, date_notices = read_date_texts(columns)
    columns, part_notices = add_date_parts(columns)
    notices = (*table.notices, *number_notices, *date_notices, *part_notices)
    return SourceFrame(table.source, columns, table.n, notices)


def check_column_names(source: str, names: Sequence[str]) -> None:
    """Refuse a table without columns, with too many, or with two of one name.

    Raises
    ------
    DataError
        If the table is refused.
    """
    if not names:
        raise DataError(f"{source} has no columns: a target and at least one input are needed")
    if len(names) > MAX_COLUMNS:
        raise DataError(f"{source} has {len(names)} columns, more than {MAX_COLUMNS}: remove some of them")
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise DataError(
            f"{source} has more than one column named {format_names(duplicates)}: rename or remove the others"
        )


def _convert_cells(cells: object) -> SourceColumn:
    """Convert a column of texts, of an Arrow table, or of Python objects."""
    if isinstance(cells, TextCells):
        return make_text_column(cells)
    return convert_arrow_column(cells) if hasattr(cells, "null_count") else convert_python_column(cells)
