"""Limit the decompressed size of Parquet and Feather files, as far as Arrow knows it.

A file of a few kilobytes can expand to terabytes: a run of equal values takes a few bytes at any length.
Parquet files store their decompressed size. Feather files store their number of rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from symscreen._limits import get_total_memory
from symscreen.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet


CELL_BYTES = 8  # bytes of a float64 value
_ALWAYS_ALLOWED_BYTES = 1 << 28  # decompressed bytes allowed at any compression ratio
_MAX_COMPRESSION_RATIO = 200  # largest compression ratio of files that unpack to more bytes
_CHUNK_BYTES = 1 << 20  # bytes per read


def get_max_table_bytes() -> int:
    """Return the maximum size of a table in bytes: a quarter of the memory, because three copies exist."""
    return get_total_memory() // 4


def read_bounded(file: BinaryIO, expected_bytes: int) -> bytes:
    """Read a file to its end, or to slightly more than `get_max_table_bytes` if it is longer.

    Parameters
    ----------
    file : binary stream
        The file, positioned at its start.
    expected_bytes : int
        Expected size of the file in bytes; 0 if unknown.

    Returns
    -------
    bytes

    Examples
    --------
    >>> import io
    >>> read_bounded(io.BytesIO(b"a,b"), 0)
    b'a,b'
    """
    # file.read(max_bytes) would allocate max_bytes at once, even for a short file.
    max_bytes = get_max_table_bytes()
    chunks = [file.read(min(expected_bytes, max_bytes) + 1)]
    n_read = len(chunks[0])
    while n_read <= max_bytes and (chunk := file.read(_CHUNK_BYTES)):
        chunks.append(chunk)
        n_read += len(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def check_unpacked_size(unpacked_bytes: int, packed_bytes: int, source: str) -> None:
    """Check that a decompressed file fits into memory.

    Parameters
    ----------
    unpacked_bytes : int
        Size after decompression, according to the metadata of the file.
    packed_bytes : int
        Size of the file.
    source : str
        The source, for the message.

    Raises
    ------
    DataError
        If the size exceeds a quarter of the memory, or exceeds both 256 MiB and 200 times the file size.

    Examples
    --------
    >>> check_unpacked_size(10**12, 5000, "t.parquet")
    Traceback (most recent call last):
    ...
    symscreen.errors.DataError: t.parquet has 5,000 bytes that unpack to 1,000.0 GB: it is not read; write
    the columns and rows that are needed into another file
    """
    if unpacked_bytes > get_max_table_bytes() or unpacked_bytes > max(
        _ALWAYS_ALLOWED_BYTES, _MAX_COMPRESSION_RATIO * packed_bytes
    ):
        raise DataError(
            f"{source} has {packed_bytes:,} bytes that unpack to {unpacked_bytes / 1e9:,.1f} GB: it is not "
            "read; write the columns and rows that are needed into another file"
        )


def estimate_parquet_bytes(file: pa.parquet.ParquetFile) -> int:
    """Estimate the size in memory of a Parquet file with dictionary-encoded text columns.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
        An opened file; only its metadata is read.

    Returns
    -------
    int
        Size in bytes.
    """
    metadata = file.metadata
    # The column metadata of row groups is not read: if it is damaged, pyarrow aborts the process.
    row_group_bytes = sum(
        max(metadata.row_group(group).total_byte_size, 0) for group in range(metadata.num_row_groups)
    )
    return int(row_group_bytes + max(metadata.num_rows, 0) * metadata.num_columns * CELL_BYTES)


def check_text_size(table: pa.Table, packed_bytes: int, source: str) -> None:
    """Check that dictionary-encoded and view columns fit into memory once their texts are written out.

    Parameters
    ----------
    table : pyarrow.Table
        The table as read; columns may be dictionary-encoded.
    packed_bytes : int
        Size of the file.
    source : str
        The source, for the message.

    Raises
    ------
    DataError
        If the table is too large, as in `check_unpacked_size`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    size = 0
    for column in table.columns:
        for chunk in column.chunks:
            is_encoded = pa.types.is_dictionary(chunk.type)
            values = chunk.dictionary if is_encoded else chunk
            arrow_type = values.type
            if pa.types.is_string_view(arrow_type) or pa.types.is_binary_view(arrow_type):
                size += len(chunk) * max(values.nbytes, 1) if is_encoded else _sum_view_lengths(values)
            elif is_encoded and (
                pa.types.is_large_string(arrow_type)
                or pa.types.is_string(arrow_type)
                or pa.types.is_binary(arrow_type)
            ):
                size += pc.sum(pc.binary_length(values).take(chunk.indices)).as_py() or 0
            elif is_encoded:
                size += len(chunk) * CELL_BYTES
    check_unpacked_size(size, packed_bytes, source)


def _sum_view_lengths(texts: pa.Array) -> int:
    """Sum the text lengths of a view array: the first 4 bytes of each 16-byte view.

    Several views may refer to the same long text.
    """
    views = texts.buffers()[1]
    lengths = memoryview(views).cast("B").cast("i")[texts.offset * 4 : (texts.offset + len(texts)) * 4 : 4]
    return sum(max(length, 0) for length in lengths)
