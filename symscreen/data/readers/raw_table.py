"""The table that a reader returns: names and columns as the source holds them, before they become numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    DecimalMark = Literal["point", "comma"]


@dataclass(frozen=True, eq=False)
class RawTable:
    """The columns of a source, each of n cells.

    Parameters
    ----------
    source : str
        Name of the source in messages.
    names : sequence of str
        Names of the columns, which may repeat.
    columns : sequence
        The columns: `TextCells`, numpy arrays, pandas Series, lists, or Arrow arrays.
    n : int
        Number of rows.
    notices : tuple of str
        One line for each reading that is not literal, such as an encoding that was guessed.
    decimal_mark : {"point", "comma"} or None
        What the numbers of the source are known to be written with; None if nothing decides it.
    holds_text : bool
        Whether the source has no types: its numbers, too, are written as text.
    """

    source: str
    names: Sequence[str]
    columns: Sequence[Any]
    n: int
    notices: tuple[str, ...] = field(default=())
    decimal_mark: DecimalMark | None = None
    holds_text: bool = False

    @classmethod
    def from_arrow(cls, table: pa.Table, source: str, notices: tuple[str, ...] = ()) -> RawTable:
        """Wrap an Arrow table."""
        return cls(source, table.column_names, table.columns, table.num_rows, notices)
