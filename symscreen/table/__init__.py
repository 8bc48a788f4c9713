"""Tables: a file or a frame in, a frozen `Table` in one canonical order out. The only reader of data."""

from __future__ import annotations

from symscreen.table.rankings import is_ranking
from symscreen.table.read import frame_columns, read_table
from symscreen.table.record import Table, some_rows, with_inputs, with_response

__all__ = ["Table", "frame_columns", "is_ranking", "read_table", "some_rows", "with_inputs", "with_response"]
