"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from symscreen.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_free", "write_together", "write_whole"]


def check_free(path: Path, *, force: bool = False) -> None:
    """Refuse, before any work is done, a file that could not be written after it.

    Parameters
    ----------
    path : Path
        Where the file is to stand.
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    OutputError
        If its folder is missing or cannot be written, it is a folder itself, or it exists and `force` is
        not given.

    Examples
    --------
    >>> check_free(Path("no/such/folder/m.json"))
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: no/such/folder/m.json: there is no folder no/such/folder; make it first
    """
    if not path.parent.is_dir():
        raise OutputError(f"{path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; give a file's name")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path}: the folder {path.parent} cannot be written; give another one")
    if path.exists() and not force:
        raise OutputError(f"{path} exists and is not overwritten; give another name or --force")


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the target and rename, so that no reader ever sees half a file.

    Parameters
    ----------
    path : Path
        Where the file is to stand; what stands there is replaced.
    content : bytes
        All that it is to hold.

    Raises
    ------
    OutputError
        If it cannot be written; nothing is left behind then, and what stood there stays.
    """
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files beside their targets, and rename them when all are written.

    Parameters
    ----------
    contents : mapping of Path to bytes
        What each is to hold; what stands there is replaced, in this order.

    Raises
    ------
    OutputError
        If one cannot be written; nothing is left behind then, and what stood there stays.
    """
    with ExitStack() as left:
        beside = {}
        for path, content in contents.items():
            try:
                beside[path] = _written_beside(path, content)
            except OSError as error:
                raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
            left.callback(beside[path].unlink, missing_ok=True)
        for path, own in beside.items():
            try:
                own.replace(path)
            except OSError as error:
                raise OutputError(f"{path}: cannot be written ({error.strerror})") from None


def _written_beside(path: Path, content: bytes) -> Path:
    """Write a file with the modes of a new one, and have it on the disk."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)
