"""Tables: a file or a frame in, a frozen `Table` in one canonical order out. The only reader of data."""

from __future__ import annotations

from symscreen.table.categories import (
    Derived,
    check_categorical,
    derived_from,
    levels_by_column,
    levels_in,
    with_categories,
)
from symscreen.table.choose import choose_inputs, target_named
from symscreen.table.files import parquet_table
from symscreen.table.groups import frame_with, row_groups
from symscreen.table.plain import plain_bytes
from symscreen.table.rankings import is_ranking
from symscreen.table.read import frame_columns, read_table
from symscreen.table.record import Table, some_rows, with_inputs, with_response
from symscreen.table.source import Frame, read_frame
from symscreen.table.targets import kind_of_target, target_names
from symscreen.table.unpacked import bounded_read, most_bytes
from symscreen.table.weights import row_weights

__all__ = [
    "Derived",
    "Frame",
    "Table",
    "bounded_read",
    "check_categorical",
    "choose_inputs",
    "derived_from",
    "frame_columns",
    "frame_with",
    "is_ranking",
    "kind_of_target",
    "levels_by_column",
    "levels_in",
    "most_bytes",
    "parquet_table",
    "plain_bytes",
    "read_frame",
    "read_table",
    "row_groups",
    "row_weights",
    "some_rows",
    "target_named",
    "target_names",
    "with_categories",
    "with_inputs",
    "with_response",
]
