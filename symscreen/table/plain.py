"""Files and nothing else: what a name leads to is looked at before it is read or waited for."""

from __future__ import annotations

import io
import os
from stat import S_ISREG
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["plain_bytes"]


def plain_bytes(path: Path, most: int) -> bytes:
    """Read a regular file; a pipe could keep one waiting for ever, and a device never end.

    Parameters
    ----------
    path : Path
        The file; a link is followed.
    most : int
        How many bytes it may have.

    Returns
    -------
    bytes
        One more than so many where the file is longer.

    Raises
    ------
    OSError
        If it cannot be opened or read.
    ValueError
        If it is a pipe, a device or the like, or the path holds a null character.

    Examples
    --------
    >>> from pathlib import Path
    >>> plain_bytes(Path("/dev/null"), 9)
    Traceback (most recent call last):
    ...
    ValueError: it is a pipe or a device, not a file
    """
    with io.BufferedReader(io.FileIO(path, opener=_at_once)) as file:
        told = os.fstat(file.fileno())
        if not S_ISREG(told.st_mode):
            raise ValueError("it is a pipe or a device, not a file")
        # a read of so many bytes claims them all at once, however short the file is
        return file.read(min(told.st_size, most) + 1)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
