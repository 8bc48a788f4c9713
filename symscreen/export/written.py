"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from symscreen.errors import OutputError

__all__ = ["check_free", "write_whole"]


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
        If its folder is missing, it is a folder itself, or it exists and `force` is not given.

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
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
