"""Read data: a file, data frame, dict or array is converted to a `Dataset` in canonical order."""

from __future__ import annotations

from symscreen.data.categories import (
    add_categorical_columns,
    check_categorical,
    collect_levels,
    read_levels,
)
from symscreen.data.column_selection import choose_inputs, choose_target_column
from symscreen.data.column_types import (
    NO_INDICATORS,
    DerivedColumn,
    FilledColumn,
    LevelIndicator,
    MissingIndicator,
    TimeColumn,
)
from symscreen.data.dataset import Dataset, replace_target, take_inputs, take_rows
from symscreen.data.decompressed_size import get_max_table_bytes, read_bounded
from symscreen.data.loading import read_columns, read_dataset, read_source
from symscreen.data.readers.arrow_files import read_parquet
from symscreen.data.readers.file_bytes import read_regular_file
from symscreen.data.readers.optional_packages import import_package
from symscreen.data.readers.text_parser import read_plain_csv
from symscreen.data.row_columns import read_frame_with_column, read_row_groups, read_row_weights
from symscreen.data.source_frame import SourceFrame
from symscreen.data.sources import read_frame
from symscreen.data.target_source import TargetSource, check_target_options, detect_target_type

__all__ = [
    "NO_INDICATORS",
    "Dataset",
    "DerivedColumn",
    "FilledColumn",
    "LevelIndicator",
    "MissingIndicator",
    "SourceFrame",
    "TargetSource",
    "TimeColumn",
    "add_categorical_columns",
    "check_categorical",
    "check_target_options",
    "choose_inputs",
    "choose_target_column",
    "collect_levels",
    "detect_target_type",
    "get_max_table_bytes",
    "import_package",
    "read_bounded",
    "read_columns",
    "read_dataset",
    "read_frame",
    "read_frame_with_column",
    "read_levels",
    "read_parquet",
    "read_plain_csv",
    "read_regular_file",
    "read_row_groups",
    "read_row_weights",
    "read_source",
    "replace_target",
    "take_inputs",
    "take_rows",
]
