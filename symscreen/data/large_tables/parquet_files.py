"""Read the numeric columns of Parquet files into a `ColumnStore`, a batch of rows at a time."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data.arrow_columns import convert_arrow_column, is_number_type, make_unread_column
from symscreen.data.column_types import MAX_EXACT_INTEGER, SourceColumn
from symscreen.data.large_tables.column_store import ColumnStore
from symscreen.data.readers.file_formats import PARQUET_MAGIC, PARQUET_SUFFIXES
from symscreen.data.readers.file_sets import check_equal_names, is_pattern, list_files
from symscreen.data.source_frame import check_column_names
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    import pyarrow.parquet


_VALUE_BYTES = 8
_BATCH_VALUES = 1 << 21  # values that are decoded at a time, over all columns
_MIN_BATCH_ROWS, _MAX_BATCH_ROWS = 1 << 8, 1 << 17
_BUFFER_BYTES = 1 << 20  # bytes of a column that are read at a time
_MAX_REASON_CHARS = 200  # characters of a library's error message that are quoted


@dataclass(frozen=True)
class TableSize:
    """The size of a table of Parquet files, from their metadata.

    Parameters
    ----------
    files : tuple of Path
        The files, in the order of their names.
    source : str
        Name of the table in messages.
    n_rows, n_columns : int
        Numbers of rows and columns.
    """

    files: tuple[Path, ...]
    source: str
    n_rows: int
    n_columns: int

    @property
    def n_bytes(self) -> int:
        """Rows × columns × 8 bytes."""
        return self.n_rows * self.n_columns * _VALUE_BYTES


@dataclass(frozen=True, eq=False)
class StagedTable:
    """The columns of a table in a store, in the order of the source.

    Parameters
    ----------
    store : ColumnStore
        The numeric columns.
    n_rows : int
        Number of rows.
    names : tuple of str
        All columns.
    unread : dict of str to SourceColumn
        The columns, without their cells, that are not in the store, or hold integers that are not exact in
        float64.
    with_gaps : set of str
        Numeric columns in which a value is missing or infinite.
    with_values : set of str
        Numeric columns with at least one value.
    """

    store: ColumnStore
    n_rows: int
    names: tuple[str, ...]
    unread: dict[str, SourceColumn] = field(default_factory=dict)
    with_gaps: set[str] = field(default_factory=set)
    with_values: set[str] = field(default_factory=set)


def measure_table(source: object) -> TableSize | None:
    """Read the size of a table of Parquet files from their metadata; None if the source is anything else.

    Parameters
    ----------
    source : object
        A source as for `read_frame`. A path, a folder or a pattern of Parquet files has a size here.

    Returns
    -------
    TableSize or None

    Raises
    ------
    DataError
        If a file cannot be read.
    """
    files = _list_parquet_files(source)
    if files is None:
        return None
    name = escape_control_chars(os.fspath(source))  # type: ignore[call-overload]
    n_rows, n_columns = 0, 0
    for path in files:
        with _open_parquet(path) as file:
            n_rows += max(file.metadata.num_rows, 0)
            n_columns = max(n_columns, len(file.schema_arrow.names))
    return TableSize(tuple(files), name, n_rows, n_columns)


def stage_columns(size: TableSize) -> StagedTable:
    """Decode the numeric columns of Parquet files into a store.

    Parameters
    ----------
    size : TableSize
        The files.

    Returns
    -------
    StagedTable
        Texts, dates and decimals are not read.

    Raises
    ------
    DataError
        If a file is damaged, files differ in their columns, or the disk has too little space.
    """
    _check_disk_space(size)
    store = ColumnStore()
    table: StagedTable | None = None
    n_rows = 0
    for path in size.files:
        with _open_parquet(path) as file:
            schema = file.schema_arrow
            if table is None:
                check_column_names(size.source, schema.names)
                table = StagedTable(store, 0, tuple(schema.names), _make_unread_columns(schema))
            check_equal_names(schema.names, table.names, str(path), str(size.files[0]))
            _check_types(schema, table, path, size.files[0])
            for batch in _iterate_batches(file, [n for n in table.names if n not in table.unread], path):
                n_rows += batch.num_rows
                for name, cells in zip(batch.schema.names, batch.columns, strict=True):
                    _stage_cells(name, cells, table)
    assert table is not None  # noqa: S101  # a table has at least one file
    too_fine = {name: column for name, column in table.unread.items() if name in store}
    no_values = {name: SourceColumn("empty") for name in store if name not in table.with_values}
    return StagedTable(
        store,
        n_rows,
        table.names,
        table.unread | no_values | too_fine,
        table.with_gaps,
        table.with_values,
    )


def _list_parquet_files(source: object) -> list[Path] | None:
    """List the files of a source; None if it is not a path of Parquet files alone."""
    if not isinstance(source, (str, os.PathLike)):
        return None
    path = os.fspath(source)
    try:
        files = list_files(path) if is_pattern(path) or Path(path).is_dir() else [Path(path)]
        are_parquet = all(
            each.suffix.lower() in PARQUET_SUFFIXES and _begins_as_parquet(each) for each in files
        )
    except (OSError, ValueError):  # the usual reader says what is wrong with the path
        return None
    return files if are_parquet else None


def _begins_as_parquet(path: Path) -> bool:
    """Return whether a path is a regular file that begins as Parquet files do."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC


def _open_parquet(path: Path) -> pa.parquet.ParquetFile:
    """Open a Parquet file so that its columns are read in small parts."""
    from symscreen.data.readers.optional_packages import import_package

    import_package("pyarrow", "a Parquet file")
    import pyarrow as pa
    import pyarrow.parquet

    try:
        return pa.parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise _make_damage_error(path, error) from error


def _make_damage_error(path: Path, error: Exception) -> DataError:
    reason = escape_control_chars(str(error))[:_MAX_REASON_CHARS]
    source = escape_control_chars(str(path))
    return DataError(
        f"{source} is a truncated or damaged Parquet file ({reason}): write or download it again"
    )


def _check_disk_space(size: TableSize) -> None:
    """Refuse a table whose columns do not fit the disk of temporary files."""
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if size.n_bytes > free:
        raise DataError(
            f"{size.source}: its columns take {size.n_bytes / 1e9:,.1f} GB of temporary files, and "
            f"{escape_control_chars(folder)} has {free / 1e9:,.1f} GB: set TMPDIR to a larger disk"
        )


def _make_unread_columns(schema: pa.Schema) -> dict[str, SourceColumn]:
    """Make the columns that are not read."""
    return {each.name: make_unread_column(each.type) for each in schema if not is_number_type(each.type)}


def _check_types(schema: pa.Schema, table: StagedTable, path: Path, first: Path) -> None:
    """Refuse a file whose columns of numbers are not those of the first file."""
    for name in table.names:
        is_number = is_number_type(schema.field(name).type)
        was_number = name not in table.unread or table.unread[name].kind == "too fine"
        if is_number != was_number:
            numbers, other = (path, first) if is_number else (first, path)
            raise DataError(
                f"{escape_control_chars(str(other))} has no numbers in the column "
                f"{escape_control_chars(name)!r}, and {escape_control_chars(str(numbers))} has: convert them"
            )


def _iterate_batches(
    file: pa.parquet.ParquetFile, names: Sequence[str], path: Path
) -> Iterator[pa.RecordBatch]:
    """Yield batches of rows of some columns."""
    import pyarrow as pa

    n_rows = min(max(_BATCH_VALUES // max(1, len(names)), _MIN_BATCH_ROWS), _MAX_BATCH_ROWS)
    try:
        for batch in file.iter_batches(n_rows, columns=list(names), use_threads=False):
            batch.validate(full=True)  # a damaged offset would crash the process later
            yield batch
    except (pa.ArrowException, OSError) as error:
        raise _make_damage_error(path, error) from error


def _stage_cells(name: str, cells: Any, table: StagedTable) -> None:
    """Append the cells of a batch to the store, and note what the column holds."""
    import pyarrow as pa

    numbers = convert_arrow_column(cells).numbers
    if numbers is None or (
        pa.types.is_integer(cells.type) and np.nanmax(np.abs(numbers), initial=0.0) > MAX_EXACT_INTEGER
    ):
        table.unread[name] = SourceColumn("too fine")
        numbers = np.full(len(cells), np.nan)
    is_finite = np.isfinite(numbers)
    if not is_finite.all():
        table.with_gaps.add(name)
    if is_finite.any():
        table.with_values.add(name)
    table.store.append(name, numbers)
