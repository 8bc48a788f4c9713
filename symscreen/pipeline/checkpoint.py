"""A folder that keeps how far a screen came, so that the same command goes on from there.

It holds ``run.json``, which says of what run it is; ``lock``, held while a run uses it; and for each stream
of features one file: a line with checksums, then arrays as numpy writes them, without pickles. Every file is
written beside its place and renamed, so that a run killed at any moment leaves the last state whole.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from contextlib import contextmanager
from dataclasses import fields
from stat import S_ISREG
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OutputError, printable, short
from symscreen.expansion import Fate
from symscreen.export import write_whole
from symscreen.limits import MOST_JSON
from symscreen.result import Kept, Seen, Streamed, none_kept
from symscreen.statistics.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray

__all__ = ["Folder", "opened", "state_bytes", "state_of"]

_FORMAT = 1
_EVERY = 2.0  # seconds between two states …
_SHARE = 0.02  # … or more, so that writing them takes at most this share of a run
_MARK = "symscreen-checkpoint"


class Folder:
    """Keeps the states of one run's streams; made by `opened`.

    Parameters
    ----------
    path : Path
        The folder, which is there and says of what run it is.
    run : str
        The digest of what the run is.
    """

    def __init__(self, path: Path, run: str) -> None:
        self._path, self._run = path, run
        self._next = monotonic() + _EVERY
        self._kept: dict[str, int] = {}
        self.failure: str | None = None

    def found(self, stream: str, check: Callable[[Streamed], None], most: int) -> Streamed | None:
        """Return the state that was kept of a stream, or None.

        Parameters
        ----------
        stream : str
            Its name.
        check : callable
            Raises `ValueError` for a state that this run cannot have kept.
        most : int
            How many bytes such a state can take.

        Raises
        ------
        OutputError
            If the file was cut short or altered.
        """
        path = self._path / f"{stream}.state"
        if not path.is_file():
            return None
        try:
            with path.open("rb") as held:
                state = state_of(held.read(min(most, path.stat().st_size) + 1), self._run, most)
            check(state)
        except OSError as error:
            raise OutputError(f"{path}: cannot be read ({error.strerror})") from None
        except ValueError as error:
            raise OutputError(
                f"{path}: the checkpoint is damaged ({error}); delete the folder to begin anew"
            ) from None
        self._kept[stream] = state.done
        return state

    def offer(self, stream: str, now: Callable[[], Streamed], *, last: bool) -> None:
        """Keep the state of a stream if it is time to, or if it is the last one.

        A state that cannot be written does not end the run: `failure` tells of it.
        """
        began = monotonic()
        if not last and began < self._next:
            return
        state = now()
        if self._kept.get(stream) == state.done:
            return
        try:
            write_whole(self._path / f"{stream}.state", state_bytes(state, self._run))
        except OutputError as error:
            self.failure = str(error)
        else:
            self._kept[stream], self.failure = state.done, None
        took = monotonic() - began
        self._next = began + took + max(_EVERY, took / _SHARE)


@contextmanager
def opened(path: Path, identity: Mapping[str, Any]) -> Iterator[Folder]:
    """Open a folder for a run, or make it; one run at a time.

    Parameters
    ----------
    path : Path
        The folder.
    identity : mapping
        What the run is, of plain values: version, options, grammar, data.

    Yields
    ------
    Folder

    Raises
    ------
    OutputError
        If the folder cannot be made or written, is in use, is not empty and no checkpoint, or is that of
        another run: the difference is named.
    """
    whole = {"format": _FORMAT, **json.loads(json.dumps(identity))}
    try:
        path.mkdir(exist_ok=True)
        held = _plainly(path / "lock", write=True)
    except (OSError, ValueError) as error:  # a ValueError is a path with a null character inside
        reason = getattr(error, "strerror", error)
        raise OutputError(f"{path}: cannot keep a checkpoint there ({reason})") from None
    with held:
        _lock(held, path)
        _check(path, whole)
        for left in path.glob(".*.state.*"):  # of a run that was killed while it wrote
            left.unlink(missing_ok=True)
        yield Folder(path, _digest(whole))


def _plainly(path: Path, *, write: bool) -> BinaryIO:
    """Open a file of our own: no link that leads elsewhere, and no pipe, which would be waited for."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND if write else os.O_RDONLY
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.fdopen(os.open(path, flags, 0o666), "ab" if write else "rb")


def _lock(held: BinaryIO, path: Path) -> None:
    """Hold a lock that goes with the process, however it ends; where the system has such locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{path}: another run uses this checkpoint now; give another folder") from None
    except OSError:
        return  # some network file systems know no locks


def _check(path: Path, whole: dict[str, Any]) -> None:
    """Say of what run the folder is, or refuse it where it says so of another."""
    file = path / "run.json"
    if not os.path.lexists(file):
        others = sorted(one.name for one in path.iterdir() if one.name != "lock" and one.name[0] != ".")
        if others:
            raise OutputError(f"{path}: holds {others[0]!r} and is no checkpoint; give a folder of its own")
        write_whole(file, (json.dumps(whole, indent=2) + "\n").encode())
        return
    try:
        there = _told_in(file, max(MOST_JSON, 2 * len(json.dumps(whole, indent=2))))
        different = next(_differences(there, whole), None)
    except (OSError, ValueError, RecursionError):
        raise OutputError(f"{file}: cannot be read; delete the folder to begin anew") from None
    if different is not None:
        name, was, now = different
        ways = "run it as it was, or give another folder to begin anew"
        raise OutputError(f"{path} is the checkpoint of another run: {name} was {was}, now {now}; {ways}")
    if there != whole:
        raise OutputError(f"{file}: was altered; delete the folder to begin anew")


def _told_in(file: Path, most: int) -> dict[str, Any]:
    """Read an object of JSON, of at most so many bytes."""
    with _plainly(file, write=False) as held:
        if not S_ISREG(os.fstat(held.fileno()).st_mode):
            raise ValueError("it is no file")
        content = held.read(most + 1)
    if len(content) > most:
        raise ValueError("it is too long")
    told = json.loads(content)
    if not isinstance(told, dict):
        raise ValueError("it is no object")  # noqa: TRY004  # the text is at fault, not a type of ours
    return told


def _differences(was: Any, now: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Name what differs between two trees of plain values."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted(was.keys() | now.keys(), key=str):
            inner = f"{name}.{key}" if name else str(key)
            yield from _differences(was.get(key), now.get(key), inner)
    elif was != now:
        yield name, _short(was), _short(now)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return printable(text if len(text) <= 60 else f"{text[:57]}…")


def _digest(whole: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def state_bytes(state: Streamed, run: str) -> bytes:
    """Write a state.

    Parameters
    ----------
    state : Streamed
        What came of the first numbers of a space.
    run : str
        Of what run.

    Returns
    -------
    bytes
        A line with the run and a checksum, then the arrays.
    """
    arrays: dict[str, Any] = {
        f"{place}_{field.name}": getattr(kept, field.name)
        for place, kept in enumerate(state.kept)
        for field in fields(Kept)
    }
    tally, best = state.seen.tally, state.seen.best
    arrays |= {"tally_keys": tally.keys, "tally_counts": tally.counts}
    if best is not None:
        arrays["seen_best"] = best
    lost = [(fate.value, count) for fate, count in state.lost.items()]
    arrays["lost"] = np.array(lost, dtype=np.int64).reshape(-1, 2)
    figures = [len(state.kept), state.scored, state.done, state.total, state.chunks]
    arrays["figures"] = np.array(figures, dtype=np.int64)
    content = io.BytesIO()
    np.savez(content, **arrays)
    body = content.getvalue()
    return f"{_MARK} {_FORMAT} {run} {hashlib.sha256(body).hexdigest()}\n".encode() + body


def state_of(content: bytes, run: str, most: int | None = None) -> Streamed:
    """Read a state.

    Parameters
    ----------
    content : bytes
        As `state_bytes` wrote it.
    run : str
        Of what run it must be.
    most : int, optional
        How many bytes it may have.

    Returns
    -------
    Streamed

    Raises
    ------
    ValueError
        If it was cut short or altered, is too long, or is of another run.
    """
    if most is not None and len(content) > most:
        raise ValueError("it is larger than this run can have kept")
    head, _, body = content.partition(b"\n")
    expected = f"{_MARK} {_FORMAT} {run} {hashlib.sha256(body).hexdigest()}".encode()
    if head != expected:
        other = head.split(b" ")[:3] != expected.split(b" ")[:3]
        raise ValueError("its first line is not of this run" if other else "its checksum does not fit")
    try:
        _check_stored(body)
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            return _streamed({name: arrays[name] for name in arrays.files})
    except (KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"it lacks {error}") from None
    except Exception as error:  # noqa: BLE001  # of an altered header numpy lets its tokenizer's errors through
        raise ValueError(short(str(error) or type(error).__name__)) from None


def _check_stored(body: bytes) -> None:
    """Refuse what would be unpacked: a kilobyte may stand for a gigabyte."""
    with zipfile.ZipFile(io.BytesIO(body)) as members:
        held = members.infolist()
        if any(one.compress_type != zipfile.ZIP_STORED for one in held):
            raise ValueError("it is compressed")
        # parts may stand for each other's bytes, and a name for several of them
        if sum(one.file_size for one in held) > len(body) or len({one.filename for one in held}) < len(held):
            raise ValueError("its parts overlap")


def _streamed(arrays: dict[str, NDArray[Any]]) -> Streamed:
    lists, scored, done, total, chunks = _array(arrays, "figures", np.int64, (5,)).tolist()
    plain, kept = none_kept(0), list[Kept]()
    if not 0 <= lists <= len(arrays):
        raise ValueError(f"it tells of {lists} lists")
    for place in range(lists):
        length = len(arrays[f"{place}_number"])
        columns = []
        for field in fields(Kept):
            like = getattr(plain, field.name)
            shape = (length, *(None for _ in like.shape[1:]))
            columns.append(_array(arrays, f"{place}_{field.name}", like.dtype, shape))
        kept.append(Kept(*columns))
    pairs = _array(arrays, "lost", np.int64, (None, 2)).tolist()
    lost = {Fate(value): count for value, count in pairs}
    if len(lost) < len(pairs):
        raise ValueError("a reason stands twice in it")
    keys = _array(arrays, "tally_keys", np.int32, (None,))
    tally = Tally(keys, _array(arrays, "tally_counts", np.int64, keys.shape))
    best = _array(arrays, "seen_best", np.float64, (None,)) if "seen_best" in arrays else None
    if arrays:
        raise ValueError(f"{printable(min(arrays))[:40]!r} is no part of it")
    return Streamed(tuple(kept), scored, lost, Seen(tally, best), done=done, total=total, chunks=chunks)


def _array(
    arrays: dict[str, NDArray[Any]], name: str, kind: Any, shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """Take an array of a type and a shape, of which None may be any length."""
    values = arrays.pop(name)
    lengths = zip(values.shape, shape, strict=False)
    if (
        values.dtype != kind
        or values.ndim != len(shape)
        or any(want not in {None, have} for have, want in lengths)
    ):
        raise ValueError(f"its {name.partition('_')[2] or name} has another shape")
    return values
