"""Estimate the decompressed size of Parquet and Feather files before anything is decompressed.

A file of a few kilobytes can expand to terabytes: a run of equal values takes a few bytes at any length,
and the size of a compressed buffer is stored inside the buffer. The estimates read metadata only.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, BinaryIO

from symscreen._limits import get_total_memory
from symscreen.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet


_CELL_BYTES = 8  # bytes per float64 value
_ALWAYS_ALLOWED_BYTES = 1 << 28  # decompressed bytes allowed at any compression ratio
_MAX_COMPRESSION_RATIO = 200  # for larger files
_CHUNK_BYTES = 1 << 20  # bytes per read
_DEFAULT_MAX_BYTES = 1 << 32  # bytes of a table if the memory size is unknown


def get_max_table_bytes() -> int:
    """Return the maximum size of a table in bytes: a quarter of the memory, because three copies exist."""
    memory = get_total_memory()
    return _DEFAULT_MAX_BYTES if memory is None else memory // 4


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
    return int(row_group_bytes + max(metadata.num_rows, 0) * metadata.num_columns * _CELL_BYTES)


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
                size += len(chunk) * _CELL_BYTES
    check_unpacked_size(size, packed_bytes, source)


def _sum_view_lengths(texts: pa.Array) -> int:
    """Sum the text lengths of a view array: the first 4 bytes of each 16-byte view.

    Several views may refer to the same long text.
    """
    views = texts.buffers()[1]
    lengths = memoryview(views).cast("B").cast("i")[texts.offset * 4 : (texts.offset + len(texts)) * 4 : 4]
    return sum(max(length, 0) for length in lengths)


def estimate_feather_bytes(data: bytes) -> int:
    """Estimate the size in memory of a Feather (Arrow IPC) file.

    Parameters
    ----------
    data : bytes
        The whole file.

    Returns
    -------
    int
        Size in bytes.

    Raises
    ------
    struct.error, IndexError, OverflowError
        If the file is damaged.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.feather as feather
    >>> sink = pa.BufferOutputStream()
    >>> feather.write_feather(pa.table({"a": [0.0] * 1000}), sink, compression="zstd")
    >>> estimate_feather_bytes(bytes(sink.getvalue()))
    16000
    """
    # The file ends with: footer, footer length (int32), b"ARROW1". The footer lists blocks of 24 bytes:
    # offset, length of the metadata, length of the body.
    (length,) = struct.unpack_from("<i", data, len(data) - 10)
    footer = _FlatBufferTable(data, len(data) - 10 - length)
    size = 0
    for field in (2, 3):  # dictionaries, record batches
        start, count = footer.read_vector(field)
        for block in range(count):
            offset, _, body_bytes = struct.unpack_from("<qqq", data, start + 24 * block)
            size += _estimate_batch_bytes(data, offset, body_bytes)
    return size


def _estimate_batch_bytes(data: bytes, offset: int, body_bytes: int) -> int:
    """Sum the cells and the decompressed buffers of one record batch or dictionary batch."""
    marker, length = struct.unpack_from("<ii", data, offset)
    prefix_bytes = 8 if marker == -1 else 4  # files written before Arrow 0.15 have no marker
    start = offset + prefix_bytes + (length if marker == -1 else marker)
    message = _FlatBufferTable(data, offset + prefix_bytes)
    batch = message.read_subtable(2)
    if message.read_byte(1) == 2:  # a dictionary batch contains a record batch
        batch = batch.read_subtable(1)
    nodes, count = batch.read_vector(1)
    size = sum(
        max(struct.unpack_from("<q", data, nodes + 16 * index)[0], 0) * _CELL_BYTES for index in range(count)
    )
    if not batch.has_field(3):
        return int(size + max(body_bytes, 0))
    buffers, count = batch.read_vector(2)
    for index in range(count):
        buffer_offset, buffer_bytes = struct.unpack_from("<qq", data, buffers + 16 * index)
        if buffer_bytes >= 8:
            size += max(struct.unpack_from("<q", data, start + buffer_offset)[0], buffer_bytes)
    return int(size)


class _FlatBufferTable:
    """A table in a FlatBuffer. Fields are numbered as in the Arrow format."""

    def __init__(self, data: bytes, start: int, *, root: bool = True) -> None:
        self.data = data
        self.position = start + self._read_unsigned(start) if root else start

    def _read_unsigned(self, position: int) -> int:
        if position < 0:
            raise IndexError(position)
        return int(struct.unpack_from("<I", self.data, position)[0])

    def _find_field(self, field: int) -> int:
        """Return the position of a field, 0 if it is absent."""
        vtable = self.position - struct.unpack_from("<i", self.data, self.position)[0]
        (length,) = struct.unpack_from("<H", self.data, vtable)
        slot = 4 + 2 * field
        offset = struct.unpack_from("<H", self.data, vtable + slot)[0] if slot < length else 0
        return self.position + offset if offset else 0

    def has_field(self, field: int) -> bool:
        """Check whether a field is present."""
        return bool(self._find_field(field))

    def read_byte(self, field: int) -> int:
        """Return a byte field, 0 if absent."""
        position = self._find_field(field)
        return self.data[position] if position else 0

    def read_subtable(self, field: int) -> _FlatBufferTable:
        """Return a table field."""
        position = self._find_field(field)
        return _FlatBufferTable(self.data, position + self._read_unsigned(position), root=False)

    def read_vector(self, field: int) -> tuple[int, int]:
        """Return the position of the first element of a vector and the number of elements."""
        position = self._find_field(field)
        if not position:
            return 0, 0
        start = position + self._read_unsigned(position)
        count = self._read_unsigned(start)
        if count > len(self.data):
            raise IndexError(count)
        return start + 4, count
