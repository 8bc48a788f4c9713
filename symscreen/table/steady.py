"""The bytes of a file that nobody wrote while they were read."""

from __future__ import annotations

import os
import stat
from time import sleep, time
from typing import TYPE_CHECKING

from symscreen.table.unpacked import bounded_read

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["steady_bytes"]

# Seconds that a file must have stood still. Above the tick of the clock that dates files (10 ms at most),
# within which two writes look like one; and above the pauses of programs that write piece after piece.
_QUIET = 0.1


def steady_bytes(path: Path) -> bytes | None:
    """Read a file, and make sure that it stood still.

    A file that was written less than a tenth of a second ago is read when that time is over.

    Parameters
    ----------
    path : Path
        A file that is there.

    Returns
    -------
    bytes or None
        At most a little more than `symscreen.table.most_bytes`; None if the file was written meanwhile.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            return bounded_read(file, before.st_size)  # a pipe is dated as it is read
        # before reading, so that a write during it cannot have the date of one before it
        sleep(max(_rest(before, time()), 0.0))
        data = bounded_read(file, before.st_size)
        after = os.fstat(file.fileno())
    return data if _unchanged(before, after) else None


def _rest(file: os.stat_result, now: float) -> float:
    """Return how long a file must still stand; all the time, where its date is in the future."""
    return min(_QUIET - (now - max(file.st_mtime, file.st_ctime)), _QUIET)


def _unchanged(before: os.stat_result, after: os.stat_result) -> bool:
    """Compare sizes and dates; who puts the date of writing back still changes that of the entry."""
    # a name that is taken away, as renaming over it does, changes the entry and not the bytes
    taken = before.st_nlink != after.st_nlink or not after.st_nlink
    return (taken or before.st_ctime_ns == after.st_ctime_ns) and (before.st_mtime_ns, before.st_size) == (
        after.st_mtime_ns,
        after.st_size,
    )
