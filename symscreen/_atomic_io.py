"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from stat import S_ISLNK, S_ISREG
from time import monotonic, sleep
from typing import TYPE_CHECKING

from symscreen.errors import OutputError, quote_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


__all__ = [
    "check_not_input",
    "check_outputs_differ",
    "check_writable",
    "write_all_atomically",
    "write_atomically",
]

_PREFIX_CHARACTERS = (
    40  # letters of a name that a file beside it is called by: a name may be as long as can be
)
_LOCK_TIMEOUT_S = (
    5.0  # seconds for another process that renames; it takes milliseconds, unless it was stopped
)


def check_writable(path: Path, *, force: bool = False) -> None:
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
        # a ValueError is a path with a null character inside
        raise OutputError(f"{path}: cannot be written ({getattr(error, 'strerror', error)})") from None


def check_not_input(outputs: Iterable[str | None], inputs: Iterable[str | None]) -> None:
    """Refuse, before any work is done, an output that is a file which the same command reads.

    Parameters
    ----------
    outputs, inputs : iterable of str or None
        Names of files; None is left out, and ``-``. Of a table ``.csv`` the record beside it counts too. What
        are names of grammars or words, and no files, cannot be taken for one another.

    Raises
    ------
    OutputError
        If one is both, by whatever name, link or path; no ``--force`` changes that.

    Examples
    --------
    >>> check_not_input(["no-such-ranking.csv", "-"], [None, "-", "no-such-data.csv"])
    """
    read = [*_add_sidecar_names(inputs)]
    for output in _add_sidecar_names(outputs):
        if any(_is_same_file(output, one) for one in read):
            raise OutputError(
                f"{quote_value(output)} is read by this command and never overwritten by it; give another "
                "name"
            )


def check_outputs_differ(outputs: Mapping[str, str | None]) -> None:
    """Refuse, before any work is done, outputs of one command that would be one file.

    Parameters
    ----------
    outputs : mapping of str to str or None
        Options, and the files or folders that they name; None is left out, and ``-``. Of a table that
        ``--out`` names the record beside it counts too.

    Raises
    ------
    OutputError
        If two are one, by whatever name, link or path; no ``--force`` changes that.

    Examples
    --------
    >>> check_outputs_differ({"--out": "r.csv", "--bundle": "no-such-folder/../r.csv.json"})
    Traceback (most recent call last):
    ...
    symscreen.errors.OutputError: --bundle no-such-folder/../r.csv.json is a file that --out writes too; give
    it another name
    """
    taken: dict[str, str] = {}
    for option, name in outputs.items():
        own = [file for file in _add_sidecar_names((name,)) if option == "--out" or file == name]
        for other, by in taken.items():
            if any(_is_same_path(file, other) for file in own):
                raise OutputError(f"{option} {name} is a file that {by} writes too; give it another name")
        taken |= dict.fromkeys(own, option)


def _is_same_path(first: str, second: str) -> bool:
    """Say whether two names are one file, or would be if it were there."""
    return not _resolve_paths(first).isdisjoint(_resolve_paths(second)) or _is_same_file(first, second)


def _resolve_paths(name: str) -> set[str]:
    """Name where a file would stand, and where it would be if it is a link and is followed."""
    path = Path(name)
    try:
        return {os.path.realpath(path), str(Path(os.path.realpath(path.parent), path.name))}
    except (OSError, ValueError):  # what is no name is refused where it is to be written
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
    except (OSError, ValueError):  # one of them is not there, or is no name
        return False


def _check_path(path: Path, *, force: bool) -> None:
    """Refuse a place that is taken; a link counts, wherever it leads, for it would be replaced."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not S_ISREG(mode) and not S_ISLNK(mode):
        raise OutputError(
            f"{path} is a device, a pipe or the like; give a file's name, or - where it is taken"
        )
    if not force:
        raise OutputError(f"{path} exists and is not overwritten; give another name or --force")


def write_atomically(path: Path, content: bytes, *, force: bool = True) -> None:
    """Write beside the target and rename, so that no reader ever sees half a file.

    Parameters
    ----------
    path : Path
        Where the file is to stand; what stands there is replaced.
    content : bytes
        All that it is to hold.
    force : bool
        Whether what stands there is replaced, were it written a moment ago by another process.

    Raises
    ------
    OutputError
        If it cannot be written; nothing is left behind then, and what stood there stays.
    """
    write_all_atomically({path: content}, force=force)


def write_all_atomically(contents: Mapping[Path, bytes], *, force: bool = True) -> None:
    """Write files beside their targets, and rename them when all are written.

    Parameters
    ----------
    contents : mapping of Path to bytes
        What each is to hold; what stands there is replaced, in this order.
    force : bool
        As of `write_atomically`.

    Raises
    ------
    OutputError
        If one cannot be written; nothing is left behind then, and what stood there stays.
    """
    with ExitStack() as left:
        beside = {}
        for path, content in contents.items():
            try:
                beside[path] = _write_temporary(path, content)
            except OSError as error:
                raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
            left.callback(beside[path].unlink, missing_ok=True)
        with _lock_directories({path.parent for path in contents}):
            for path in contents:
                _check_path(path, force=force)
            for path, own in beside.items():
                try:
                    own.replace(path)
                except OSError as error:
                    raise OutputError(f"{path}: cannot be written ({error.strerror})") from None


@contextmanager
def _lock_directories(folders: set[Path]) -> Iterator[None]:
    """Let no other process rename in these folders meanwhile, where the system has such locks.

    Without it two runs that write one ranking could leave the table of one beside the record of the other.
    """
    with ExitStack() as held:
        for folder in sorted(folders):
            try:
                handle = os.open(folder, os.O_RDONLY)
                held.callback(os.close, handle)
                _acquire_lock(handle)
            except (ImportError, OSError):
                continue  # a system or a network's files that know no locks, a folder that may not be read
        yield


def _acquire_lock(handle: int) -> None:
    """Take the lock of an open folder as soon as it is free."""
    import fcntl

    until = monotonic() + _LOCK_TIMEOUT_S
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > until:
                raise
            sleep(0.01)


def _write_temporary(path: Path, content: bytes) -> Path:
    """Write a file with the modes of a new one, and have it on the disk."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:_PREFIX_CHARACTERS]}.", dir=path.parent)
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
