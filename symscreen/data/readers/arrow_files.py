"""Read Parquet and Feather (Arrow IPC) files whose unpacked size fits into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.data.decompressed_size import (
    CELL_BYTES,
    check_text_size,
    check_unpacked_size,
    estimate_parquet_bytes,
)
from symscreen.data.readers.optional_packages import import_package
from symscreen.data.readers.raw_table import RawTable
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet


_MAX_REASON_CHARS = 200  # characters of a library's error message that are quoted


def read_arrow_file(data: bytes, source: str, file_format: str) -> RawTable:
    """Read a Parquet or Feather file and validate it.

    Parameters
    ----------
    data : bytes
        The whole file.
    source : str
        The source, for messages.
    file_format : {"Parquet", "Feather"}
        The format.

    Returns
    -------
    RawTable

    Raises
    ------
    DataError
        If the file is damaged, its unpacked size is too large, or pyarrow is not installed.
    """
    return RawTable.from_arrow(load_arrow_table(data, source, file_format), source)


def load_arrow_table(data: bytes, source: str, file_format: str) -> pa.Table:
    """Read a Parquet or Feather file as `read_arrow_file` does, into an Arrow table.

    Raises
    ------
    DataError
        If the file is damaged, its unpacked size is too large, or pyarrow is not installed.
    """
    import_package("pyarrow", f"a {file_format} file")
    import pyarrow as pa

    read = read_parquet if file_format == "Parquet" else read_feather
    try:
        table = read(data, source)
        table.validate(full=True)  # a damaged offset would crash the process later
        _ = table.column_names  # decodes the names, which may be damaged
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = escape_control_chars(str(error))[:_MAX_REASON_CHARS]
        raise DataError(
            f"{source} is a truncated or damaged {file_format} file ({reason}): write or download it again"
        ) from error
    return table


def read_parquet(data: bytes, source: str) -> pa.Table:
    """Read a Parquet file; text columns are dictionary-encoded, and columns of lists become empty lists.

    Errors are those of `read_arrow_file`; of a damaged file, they are those of pyarrow.
    """
    import pyarrow as pa
    import pyarrow.parquet

    schema = pa.parquet.read_metadata(pa.BufferReader(data)).schema
    columns = [schema.column(index) for index in range(len(schema))]
    # Dictionaries store a repeated text once: a text of 1 MB in a million rows would take 1 TB otherwise.
    text_columns = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    file = pa.parquet.ParquetFile(pa.BufferReader(data), read_dictionary=text_columns, pre_buffer=False)
    check_unpacked_size(estimate_parquet_bytes(file), len(data), source)
    list_columns = {column.path.split(".")[0] for column in columns if column.max_repetition_level}
    if list_columns:
        return _read_without_lists(file, list_columns)
    table = file.read(use_threads=False)  # Arrow's threads may abort a process that ends soon after
    check_text_size(table, len(data), source)
    return table


def _read_without_lists(file: pa.parquet.ParquetFile, list_columns: set[str]) -> pa.Table:
    """Read a file with empty lists in its list columns, which are not used and have an unknown size."""
    import pyarrow as pa

    n_rows = max(file.metadata.num_rows, 0)
    empty_lists = pa.ListArray.from_arrays(pa.array([0] * (n_rows + 1), pa.int32()), pa.nulls(0))
    names = file.schema_arrow.names
    kept = [name for name in names if name not in list_columns]
    table = file.read(columns=kept, use_threads=False)
    return pa.table([empty_lists if name in list_columns else table[name] for name in names], names=names)


def read_feather(data: bytes, source: str) -> pa.Table:
    """Read a Feather file; errors are those of `read_parquet`.

    The number of rows is known from the metadata. The size of compressed texts is not: record batches are
    read one at a time, and reading stops at the first that makes the table too large.
    """
    import pyarrow as pa
    import pyarrow.dataset

    file = pa.ipc.open_file(pa.BufferReader(data))
    n_rows = pa.dataset.IpcFileFormat().make_fragment(pa.BufferReader(data)).count_rows(use_threads=False)
    check_unpacked_size(n_rows * len(file.schema) * CELL_BYTES, len(data), source)
    batches, size = [], 0
    for index in range(file.num_record_batches):
        batch = file.get_batch(index)
        # A dictionary is shared by the batches; check_text_size counts it.
        size += sum(cells.nbytes for cells in batch.columns if not pa.types.is_dictionary(cells.type))
        check_unpacked_size(size, len(data), source)
        batches.append(batch)
    table = pa.Table.from_batches(batches, file.schema)
    check_text_size(table, len(data), source)
    return table
