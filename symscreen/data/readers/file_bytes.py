"""Read the bytes of a file: pipes do not block, and a file that changes during the read is noticed."""

from __future__ import annotations

import io
import os
import stat
from stat import S_ISREG
from time import sleep, time
from typing import TYPE_CHECKING

from symscreen.data.decompressed_size import get_max_table_bytes, read_bounded
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    from pathlib import Path


# Seconds since the last write before a file is read: longer than the resolution of file timestamps (at most
# 10 ms), within which two writes look like one, and than the pauses of programs that write in pieces.
_QUIET_PERIOD_S = 0.1


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """Read a regular file without waiting for a pipe or a device.

    Parameters
    ----------
    path : Path
        The file. Symbolic links are followed.
    max_bytes : int
        Maximum size in bytes.

    Returns
    -------
    bytes
        At most ``max_bytes + 1`` bytes; the last one shows that the file is too long.

    Raises
    ------
    OSError
        If the file cannot be opened or read.
    ValueError
        If it is a pipe or a device, or the path contains a null character.

    Examples
    --------
    >>> from pathlib import Path
    >>> read_regular_file(Path("/dev/null"), 9)
    Traceback (most recent call last):
    ...
    ValueError: it is a pipe or a device, not a file
    """
    with io.BufferedReader(io.FileIO(path, opener=_open_nonblocking)) as file:
        status = os.fstat(file.fileno())
        if not S_ISREG(status.st_mode):
            raise ValueError("it is a pipe or a device, not a file")
        # file.read(max_bytes) would allocate max_bytes at once, even for a short file.
        return file.read(min(status.st_size, max_bytes) + 1)


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file such that a pipe does not block."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_stable_file(path: Path) -> bytes | None:
    """Read a file and check that it did not change during the read.

    If the last write was less than 0.1 s ago, the function waits first.

    Parameters
    ----------
    path : Path
        An existing file.

    Returns
    -------
    bytes or None
        The content, cut off slightly above `symscreen.data.get_max_table_bytes`. None if the file was
        written during the read.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    with path.open("rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            return read_bounded(file, before.st_size)  # reading a pipe changes its timestamp
        # Wait before reading, so that a write during the read gets a later timestamp.
        sleep(max(_compute_wait(before, time()), 0.0))
        data = read_bounded(file, before.st_size)
        after = os.fstat(file.fileno())
    return data if _is_unchanged(before, after) else None


def _compute_wait(file_status: os.stat_result, now: float) -> float:
    """Return the seconds to wait before a read; the full period if the timestamp is in the future."""
    return min(_QUIET_PERIOD_S - (now - max(file_status.st_mtime, file_status.st_ctime)), _QUIET_PERIOD_S)


def _is_unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    """Return whether size and timestamps are the same; a program that restores mtime still changes ctime."""
    # If the file is unlinked, for example by renaming another file over it, ctime changes but the content
    # does not.
    unlinked = before.st_nlink != after.st_nlink or not after.st_nlink
    return (unlinked or before.st_ctime_ns == after.st_ctime_ns) and (before.st_mtime_ns, before.st_size) == (
        after.st_mtime_ns,
        after.st_size,
    )


def read_table_bytes(path: Path) -> bytes:
    """Read the bytes of a file that holds a table.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    bytes
        The content, at most `symscreen.data.get_max_table_bytes` bytes.

    Raises
    ------
    DataError
        If the file does not exist, cannot be read, is empty or too large, or was written during the read.

    Examples
    --------
    >>> from pathlib import Path
    >>> read_table_bytes(Path("absent.csv"))
    Traceback (most recent call last):
    ...
    symscreen.errors.DataError: absent.csv: the file does not exist; check its name and its folder
    """
    source = escape_control_chars(str(path))
    try:
        if not path.exists():
            raise DataError(f"{source}: the file does not exist; check its name and its folder")
        if path.is_char_device():
            raise DataError(f"{source} is a device, which may never end: name a file")
        data = read_stable_file(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"{source} cannot be read ({reason}): check the file and its permissions") from error
    if data is None:
        raise DataError(f"{source} was written while it was read: wait until it is complete, or read a copy")
    check_table_bytes(data, source)
    return data


def check_table_bytes(data: bytes, source: str) -> None:
    """Check that the content of a source is not empty and not larger than a quarter of the memory.

    Raises
    ------
    DataError
        If the content is empty or larger.
    """
    if not data:
        raise DataError(f"{source} is empty: a header and rows are needed")
    if len(data) > get_max_table_bytes():
        raise DataError(
            f"{source} is larger than {get_max_table_bytes() / 1e9:.1f} GB, a quarter of the "
            "memory: write the columns and rows that are needed into another file"
        )
