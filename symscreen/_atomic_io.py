"""Write files atomically: a file is written completely or not at all."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from stat import S_ISLNK, S_ISREG
from time import monotonic, sleep
from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.messages import name_option, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


_LOCK_TIMEOUT_S = 5.0  # another process holds the lock for milliseconds, unless it was stopped


def check_writable(path: Path, *, force: bool = False) -> None:
    """Raise an error, before any work is done, if a file cannot be written.

    Parameters
    ----------
    path : Path
        The file to write.
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    OutputError
        If its folder is missing or cannot be written, it is a folder itself or a device, its name is too
        long, or it exists and `force` is not given.

    Examples
    --------
    >>> check_writable(Path("no/such/folder/m.json"))
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: no/such/folder/m.json: there is no folder no/such/folder; make it first
    """
    try:
        if not path.parent.is_dir():
            raise OutputError(f"{path}: there is no folder {path.parent}; make it first")
        if path.is_dir():
            raise OutputError(f"{path} is a folder; give a file's name")
        if not os.access(path.parent, os.W_OK):
            raise OutputError(f"{path}: the folder {path.parent} cannot be written; give another one")
        _check_path(path, force=force)
    except (OSError, ValueError) as error:
        if isinstance(error, OutputError):
            raise
        # A path with a null character raises a ValueError.
        raise OutputError(f"{path}: cannot be written ({getattr(error, 'strerror', error)})") from None


def check_not_input(outputs: Iterable[str | None], inputs: Iterable[str | None]) -> None:
    """Raise an error, before any work is done, if an output is also an input of the command.

    Parameters
    ----------
    outputs, inputs : iterable of str or None
        File names. None and ``-`` are ignored. The record of a ``.csv`` table (``.csv.json``) is checked too.

    Raises
    ------
    OutputError
        If a file is both, under any name, link or path. The option `force` does not change that.

    Examples
    --------
    >>> check_not_input(["no-such-ranking.csv", "-"], [None, "-", "no-such-data.csv"])
    """
    read = [*_add_sidecar_names(inputs)]
    for output in _add_sidecar_names(outputs):
        if any(_is_same_file(output, name) for name in read):
            raise OutputError(
                f"{quote(output)} is read by this command and never overwritten by it; give another name"
            )


def check_outputs_differ(outputs: Mapping[str, str | None]) -> None:
    """Raise an error, before any work is done, if two outputs of a command are the same file.

    Parameters
    ----------
    outputs : mapping of str to str or None
        The file or folder of each option. None and ``-`` are ignored. The record of a table, which is in a
        second file next to it, is checked too.

    Raises
    ------
    OutputError
        If two are the same file, under any name, link or path. The option `force` does not change that.

    Examples
    --------
    >>> check_outputs_differ({"out": "r.csv", "bundle": "no-such-folder/../r.csv.json"})
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: bundle='no-such-folder/../r.csv.json' is a file that out= writes too; give
    it another name
    """
    taken: dict[str, str] = {}
    for option, name in outputs.items():
        own = [file for file in _add_sidecar_names((name,)) if option == "out" or file == name]
        for other, by in taken.items():
            if any(
                _is_same_file(file, other) or not _resolve_paths(file).isdisjoint(_resolve_paths(other))
                for file in own
            ):
                reference, other_reference = name_option(option, name), name_option(by)
                raise OutputError(
                    f"{reference} is a file that {other_reference} writes too; give it another name"
                )
        taken |= dict.fromkeys(own, option)


def _resolve_paths(name: str) -> set[str]:
    """Return the path of a file with links resolved, and with only the links of its folder resolved."""
    path = Path(name)
    try:
        return {os.path.realpath(path), str(Path(os.path.realpath(path.parent), path.name))}
    except (OSError, ValueError):  # an invalid name is refused where the file is written
        return set()


def _add_sidecar_names(names: Iterable[str | None]) -> Iterator[str]:
    for name in names:
        if name is not None and name != "-":
            yield name
            if name.lower().endswith(".csv"):
                yield f"{name}.json"


def _is_same_file(first: str, second: str) -> bool:
    try:
        return Path(first).samefile(second)
    except (OSError, ValueError):  # one of them does not exist, or is not a valid name
        return False


def _check_path(path: Path, *, force: bool) -> None:
    """Raise an error if a path is taken. A link counts, because it would be replaced."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not S_ISREG(mode) and not S_ISLNK(mode):
        raise OutputError(
            f"{path} is a device, a pipe or the like; give a file's name, or - where it is taken"
        )
    if not force:
        raise OutputError(
            f"{path} exists and is not overwritten; give another name or {name_option('force')}"
        )


def write_atomically(path: Path, content: bytes, *, force: bool = True) -> None:
    """Write a temporary file and rename it, so that no reader sees a partial file.

    Parameters
    ----------
    path : Path
        The file to write. An existing file is replaced.
    content : bytes
        The content.
    force : bool
        Whether an existing file is replaced, even if another process wrote it a moment ago.

    Raises
    ------
    OutputError
        If the file cannot be written. No temporary file remains, and an existing file is unchanged.
    """
    write_all_atomically({path: content}, force=force)


def write_all_atomically(contents: Mapping[Path, bytes], *, force: bool = True) -> None:
    """Write temporary files, and rename them when all are written.

    Parameters
    ----------
    contents : mapping of Path to bytes
        The content of each file. Existing files are replaced in this order.
    force : bool
        Whether existing files are replaced.

    Raises
    ------
    OutputError
        If a file cannot be written. No temporary file remains, and existing files are unchanged.
    """
    with ExitStack() as cleanup:
        temporary = {path: path.with_name(f".{path.name[:40]}.{token_hex(8)}") for path in contents}
        path = Path()
        try:
            for path, content in contents.items():
                cleanup.callback(temporary[path].unlink, missing_ok=True)
                with temporary[path].open("xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            for folder in sorted({path.parent for path in contents}):
                cleanup.enter_context(_lock_folder(folder))
            for path in contents:
                _check_path(path, force=force)
            for path in contents:
                temporary[path].replace(path)
        except OSError as error:
            raise OutputError(f"{path}: cannot be written ({error.strerror})") from None


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Keep other processes from renaming in a folder, where the system has such locks.

    Without the lock, two runs that write the same ranking could leave the table of one with the record of
    the other. After `_LOCK_TIMEOUT_S` the work goes on without it.
    """
    with ExitStack() as cleanup:
        # Some systems have no fcntl, some file systems have no locks, and some folders cannot be read.
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            cleanup.callback(os.close, handle)
            deadline = monotonic() + _LOCK_TIMEOUT_S
            while monotonic() < deadline:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    sleep(0.01)
        yield
