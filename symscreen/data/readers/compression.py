"""Unpack gzip, bzip2, xz and Zstandard files, and zip archives of one file, up to a maximum size."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from symscreen.data.decompressed_size import check_unpacked_size
from symscreen.data.readers.optional_packages import import_package
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars, format_count, quote

if TYPE_CHECKING:
    from collections.abc import Callable


_CHUNK_BYTES = 1 << 20  # bytes per read
# largest window of Zstandard: 128 MiB, also the limit of its command-line program
_MAX_WINDOW_BYTES = 1 << 27
_ENCRYPTED_FLAG = 1  # flag of an encrypted member of a zip archive


def unpack(data: bytes, suffix: str, source: str) -> tuple[bytes, str]:
    """Unpack a compressed file.

    Parameters
    ----------
    data : bytes
        The whole file.
    suffix : str
        A key of `COMPRESSED_SUFFIXES`.
    source : str
        The source, for messages.

    Returns
    -------
    content : bytes
        The unpacked content.
    name : str
        The name of the file in a zip archive; else empty.

    Raises
    ------
    DataError
        If the file is damaged, the content is too large, or an archive does not hold exactly one file.

    Examples
    --------
    >>> unpack(gzip.compress(b"a,b"), ".gz", "t.csv.gz")
    (b'a,b', '')
    """
    magic, opener = COMPRESSED_SUFFIXES[suffix]
    if not data.startswith(magic):
        raise DataError(f"{source} is not compressed as its suffix {suffix} says: correct the suffix")
    name = ""
    try:
        if suffix == ".zip":
            archive, name = _find_only_member(data, source)
            with archive, archive.open(name) as stream:
                content = _read_all(stream, len(data), source)
        else:
            with opener(io.BytesIO(data)) as stream:
                content = _read_all(stream, len(data), source)
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        if isinstance(error, DataError):
            raise
        reason = escape_control_chars(str(error))[:100] or type(error).__name__
        raise DataError(
            f"{source} is a truncated or damaged {suffix} file ({reason}): write or download it again"
        ) from error
    except NotImplementedError as error:  # a method of compression that the standard library lacks
        raise DataError(f"{source} cannot be unpacked ({error}): unpack it, and name the file") from error
    return content, name


def check_archive_size(data: bytes, source: str) -> None:
    """Check the unpacked size of all members of a zip archive, such as a workbook, by unpacking them.

    Raises
    ------
    DataError
        If the members are too large together.
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError
        If the archive is damaged, or a member is larger than it says.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        check_unpacked_size(sum(max(member.file_size, 0) for member in members), len(data), source)
        for member in members:
            with archive.open(member) as stream:
                while stream.read(_CHUNK_BYTES):  # at its end the checksum shows whether the size is true
                    pass


def _find_only_member(data: bytes, source: str) -> tuple[zipfile.ZipFile, str]:
    """Open a zip archive and return the name of its only file."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    members = [
        member
        for member in archive.infolist()
        # member.is_dir() fails for a member without a name
        if not member.filename.endswith("/") and not member.filename.startswith("__MACOSX/")
    ]
    if len(members) != 1:
        raise DataError(
            f"{source} is an archive of {format_count(len(members), 'file')}: unpack it, and name one of them"
        )
    if members[0].flag_bits & _ENCRYPTED_FLAG:
        raise DataError(f"{source} has a password: unpack it, and name the file {quote(members[0].filename)}")
    if PurePath(members[0].filename).suffix.lower() in COMPRESSED_SUFFIXES:
        raise DataError(f"{source} is an archive in an archive: unpack it, and name the file in it")
    return archive, members[0].filename


def _read_all(stream: Any, packed_bytes: int, source: str) -> bytes:
    """Read a stream to its end; DataError as soon as it is too large."""
    content = io.BytesIO()
    while chunk := stream.read(_CHUNK_BYTES):
        content.write(chunk)
        check_unpacked_size(content.tell(), packed_bytes, source)
    return content.getvalue()


class _ZstandardStream:
    """A Zstandard file that needs at most 128 MiB of memory while it is read; damage is a ValueError."""

    def __init__(self, file: BinaryIO) -> None:
        self._package = import_package("zstandard", "a .zst file")
        decompressor = self._package.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES)
        self._stream = decompressor.stream_reader(file, read_across_frames=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, n_bytes: int) -> bytes:
        """Read up to `n_bytes` bytes; none at the end."""
        try:
            return bytes(self._stream.read(n_bytes))
        except self._package.ZstdError as error:
            raise ValueError(str(error)) from error


# By suffix: the first bytes of such a file, and what opens it.
COMPRESSED_SUFFIXES: dict[str, tuple[bytes, Callable[[BinaryIO], Any]]] = {
    ".gz": (b"\x1f\x8b", gzip.open),
    ".bz2": (b"BZh", bz2.open),
    ".xz": (b"\xfd7zXZ\0", lzma.open),
    ".zst": (b"\x28\xb5\x2f\xfd", _ZstandardStream),
    ".zip": (b"PK\x03\x04", zipfile.ZipFile),
}
