"""How large a Parquet or Feather file becomes once it is read, told before anything of it is unpacked.

A few kilobytes can stand for terabytes: a run of equal values takes a few bytes, whatever its length, and a
compressed buffer says only inside how long it will be.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, BinaryIO

from symscreen._limits import get_total_memory
from symscreen.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet


__all__ = [
    "check_text_size",
    "check_unpacked_size",
    "estimate_feather_bytes",
    "estimate_parquet_bytes",
    "get_max_table_bytes",
    "read_bounded",
]

_CELL_BYTES = 8  # what a number takes once it is float64
_ALLOWED_BYTES = 1 << 28  # below it, any share of a file is what tables of few distinct values come to
_MAX_UNPACK_RATIO = 200
_CHUNK_BYTES = 1 << 20


def get_max_table_bytes() -> int:
    """Return how many bytes of a table are read: a quarter of the memory there is, as it is held thrice."""
    memory = get_total_memory()
    return 1 << 32 if memory is None else memory // 4


def read_bounded(file: BinaryIO, expected_bytes: int) -> bytes:
    """Read a file to its end, or to a little more than `get_max_table_bytes` where it is longer.

    Parameters
    ----------
    file : binary stream
        At its beginning.
    size : int
        How long it may be; 0 where nobody knows.

    Returns
    -------
    bytes

    Examples
    --------
    >>> import io
    >>> read_bounded(io.BytesIO(b"a,b"), 0)
    b'a,b'
    """
    # a read of so many bytes would claim them all at once, however short the file is
    most = get_max_table_bytes()
    parts = [file.read(min(expected_bytes, most) + 1)]
    held = len(parts[0])
    while held <= most and (part := file.read(_CHUNK_BYTES)):
        parts.append(part)
        held += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def check_unpacked_size(unpacked_bytes: int, packed_bytes: int, source: str) -> None:
    """Refuse a file that would fill the memory.

    Parameters
    ----------
    size : int
        Bytes once unpacked, as its metadata has it.
    packed : int
        Bytes of the file.
    where : str
        The source, for the message.

    Raises
    ------
    TableError
        If it is beyond 256 MiB and 200 times the file, or beyond a quarter of the memory there is.

    Examples
    --------
    >>> check_unpacked_size(10**12, 5000, "t.parquet")
    Traceback (most recent call last):
    ...
    symscreen.errors.TableError: t.parquet has 5,000 bytes that unpack to 1,000.0 GB: it is not read; write
    the columns and rows that are needed into another file
    """
    if unpacked_bytes > get_max_table_bytes() or unpacked_bytes > max(
        _ALLOWED_BYTES, _MAX_UNPACK_RATIO * packed_bytes
    ):
        raise DataError(
            f"{source} has {packed_bytes:,} bytes that unpack to {unpacked_bytes / 1e9:,.1f} GB: it is not "
            "read; write "
            "the columns and rows that are needed into another file"
        )


def estimate_parquet_bytes(file: pa.parquet.ParquetFile) -> int:
    """Return the bytes that a Parquet file takes once read, its texts as codes.

    Parameters
    ----------
    file : pyarrow.parquet.ParquetFile
        Opened, not read.

    Returns
    -------
    int
    """
    metadata = file.metadata
    # what a group tells of its columns is not looked at: where it is damaged pyarrow ends the whole process
    told = sum(max(metadata.row_group(group).total_byte_size, 0) for group in range(metadata.num_row_groups))
    return int(told + max(metadata.num_rows, 0) * metadata.num_columns * _CELL_BYTES)


def check_text_size(table: pa.Table, packed_bytes: int, source: str) -> None:
    """Refuse a table whose columns of codes, or of views, stand for texts too long to be written out.

    Parameters
    ----------
    table : pyarrow.Table
        As read; a column may be a dictionary's codes.
    packed, where
        As for `check_unpacked_size`.

    Raises
    ------
    TableError
        As `check_unpacked_size`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    size = 0
    for column in table.columns:
        for chunk in column.chunks:
            kind = chunk.type
            coded = pa.types.is_dictionary(kind)
            told = chunk.dictionary if coded else chunk
            kind = told.type
            if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
                size += len(chunk) * max(told.nbytes, 1) if coded else _sum_view_lengths(told)
            elif coded and (
                pa.types.is_large_string(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind)
            ):
                size += pc.sum(pc.binary_length(told).take(chunk.indices)).as_py() or 0
            elif coded:
                size += len(chunk) * _CELL_BYTES
    check_unpacked_size(size, packed_bytes, source)


def _sum_view_lengths(texts: pa.Array) -> int:
    """Sum the lengths of views, which may all be of the same long text: the first four bytes of each 16."""
    views = texts.buffers()[1]
    lengths = memoryview(views).cast("B").cast("i")[texts.offset * 4 : (texts.offset + len(texts)) * 4 : 4]
    return sum(max(length, 0) for length in lengths)


def estimate_feather_bytes(data: bytes) -> int:
    """Return the bytes that a Feather (Arrow) file takes once read.

    Parameters
    ----------
    data : bytes
        The whole file.

    Returns
    -------
    int

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
    # … footer, its length, b"ARROW1"; a footer lists blocks of 24 bytes: offset, metadata's and body's length
    (length,) = struct.unpack_from("<i", data, len(data) - 10)
    footer = _FlatBufferTable(data, len(data) - 10 - length)
    size = 0
    for field in (2, 3):  # dictionaries, record batches
        start, count = footer.read_vector(field)
        for place in range(count):
            offset, _, body = struct.unpack_from("<qqq", data, start + 24 * place)
            size += _estimate_batch_bytes(data, offset, body)
    return size


def _estimate_batch_bytes(data: bytes, offset: int, body_bytes: int) -> int:
    """Sum what one batch comes to: its rows' cells, and its buffers once unpacked."""
    marker, length = struct.unpack_from("<ii", data, offset)
    head = 8 if marker == -1 else 4  # files older than Arrow 0.15 have no marker
    start = offset + head + (length if marker == -1 else marker)
    message = _FlatBufferTable(data, offset + head)
    batch = message.read_subtable(2)
    if message.read_byte(1) == 2:  # a dictionary's batch is one inside
        batch = batch.read_subtable(1)
    nodes, count = batch.read_vector(1)
    size = sum(
        max(struct.unpack_from("<q", data, nodes + 16 * place)[0], 0) * _CELL_BYTES for place in range(count)
    )
    if not batch.has_field(3):
        return int(size + max(body_bytes, 0))
    buffers, count = batch.read_vector(2)
    for place in range(count):
        at, packed = struct.unpack_from("<qq", data, buffers + 16 * place)
        if packed >= 8:
            size += max(struct.unpack_from("<q", data, start + at)[0], packed)
    return int(size)


class _FlatBufferTable:
    """A table of a FlatBuffer; fields are numbered as Arrow's format numbers them."""

    def __init__(self, data: bytes, start: int, *, root: bool = True) -> None:
        self.data = data
        self.position = start + self._read_unsigned(start) if root else start

    def _read_unsigned(self, position: int) -> int:
        if position < 0:
            raise IndexError(position)
        return int(struct.unpack_from("<I", self.data, position)[0])

    def _find_field(self, field: int) -> int:
        """Return where a field stands; 0 where it is left out."""
        vtable = self.position - struct.unpack_from("<i", self.data, self.position)[0]
        (length,) = struct.unpack_from("<H", self.data, vtable)
        slot = 4 + 2 * field
        offset = struct.unpack_from("<H", self.data, vtable + slot)[0] if slot < length else 0
        return self.position + offset if offset else 0

    def has_field(self, field: int) -> bool:
        return bool(self._find_field(field))

    def read_byte(self, field: int) -> int:
        place = self._find_field(field)
        return self.data[place] if place else 0

    def read_subtable(self, field: int) -> _FlatBufferTable:
        place = self._find_field(field)
        return _FlatBufferTable(self.data, place + self._read_unsigned(place), root=False)

    def read_vector(self, field: int) -> tuple[int, int]:
        """Return where a list begins and how many it holds."""
        place = self._find_field(field)
        if not place:
            return 0, 0
        start = place + self._read_unsigned(place)
        count = self._read_unsigned(start)
        if count > len(self.data):
            raise IndexError(count)
        return start + 4, count
