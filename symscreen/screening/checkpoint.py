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

from symscreen._atomic_io import write_atomically
from symscreen._limits import MAX_JSON_BYTES
from symscreen.errors import OutputError, escape_control_chars, truncate_message
from symscreen.expansion import CandidateStatus
from symscreen.screening.inference.error_control import InferenceState
from symscreen.screening.scoring.streaming import StreamResult
from symscreen.screening.scoring.top_features import FeatureTable, make_empty_features
from symscreen.statistics.inference.p_value_counts import PValueCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray


__all__ = ["CheckpointStore", "dump_state", "load_state", "open_checkpoint"]

_FORMAT_VERSION = 1
_SAVE_INTERVAL_S = 2.0  # seconds between two states …
_MAX_SAVE_TIME_SHARE = 0.02  # … or more, so that writing them takes at most this share of a run
_FILE_SIGNATURE = "symscreen-checkpoint"


class CheckpointStore:
    """Keeps the states of one run's streams; made by `opened`.

    Parameters
    ----------
    path : Path
        The folder, which is there and says of what run it is.
    run : str
        The digest of what the run is.
    """

    def __init__(self, path: Path, run_digest: str) -> None:
        self._path, self._run_digest = path, run_digest
        self._next_save_time = monotonic() + _SAVE_INTERVAL_S
        self._n_saved: dict[str, int] = {}
        self.failure: str | None = None

    def load(self, stream: str, check: Callable[[StreamResult], None], max_bytes: int) -> StreamResult | None:
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
                state = load_state(
                    held.read(min(max_bytes, path.stat().st_size) + 1), self._run_digest, max_bytes
                )
            check(state)
        except OSError as error:
            raise OutputError(f"{path}: cannot be read ({error.strerror})") from None
        except ValueError as error:
            raise OutputError(
                f"{path}: the checkpoint is damaged ({error}); delete the folder to begin anew"
            ) from None
        self._n_saved[stream] = state.n_done
        return state

    def save_if_due(self, stream: str, make_state: Callable[[], StreamResult], *, is_final: bool) -> None:
        """Keep the state of a stream if it is time to, or if it is the last one.

        A state that cannot be written does not end the run: `failure` tells of it.
        """
        began = monotonic()
        if not is_final and began < self._next_save_time:
            return
        state = make_state()
        if self._n_saved.get(stream) == state.n_done:
            return
        try:
            write_atomically(self._path / f"{stream}.state", dump_state(state, self._run_digest))
        except OutputError as error:
            self.failure = str(error)
        else:
            self._n_saved[stream], self.failure = state.n_done, None
        took = monotonic() - began
        self._next_save_time = began + took + max(_SAVE_INTERVAL_S, took / _MAX_SAVE_TIME_SHARE)


@contextmanager
def open_checkpoint(path: Path, identity: Mapping[str, Any]) -> Iterator[CheckpointStore]:
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
    whole = {"format": _FORMAT_VERSION, **json.loads(json.dumps(identity))}
    try:
        path.mkdir(exist_ok=True)
        held = _open_nofollow(path / "lock", writable=True)
    except (OSError, ValueError) as error:  # a ValueError is a path with a null character inside
        reason = getattr(error, "strerror", error)
        raise OutputError(f"{path}: cannot keep a checkpoint there ({reason})") from None
    with held:
        _lock_file(held, path)
        _check_run(path, whole)
        for left in path.glob(".*.state.*"):  # of a run that was killed while it wrote
            left.unlink(missing_ok=True)
        yield CheckpointStore(path, _compute_digest(whole))


def _open_nofollow(path: Path, *, writable: bool) -> BinaryIO:
    """Open a file of our own: no link that leads elsewhere, and no pipe, which would be waited for."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND if writable else os.O_RDONLY
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.fdopen(os.open(path, flags, 0o666), "ab" if writable else "rb")


def _lock_file(lock_file: BinaryIO, path: Path) -> None:
    """Hold a lock that goes with the process, however it ends; where the system has such locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{path}: another run uses this checkpoint now; give another folder") from None
    except OSError:
        return  # some network file systems know no locks


def _check_run(path: Path, run_description: dict[str, Any]) -> None:
    """Say of what run the folder is, or refuse it where it says so of another."""
    file = path / "run.json"
    if not os.path.lexists(file):
        others = sorted(one.name for one in path.iterdir() if one.name != "lock" and one.name[0] != ".")
        if others:
            raise OutputError(f"{path}: holds {others[0]!r} and is no checkpoint; give a folder of its own")
        write_atomically(file, (json.dumps(run_description, indent=2) + "\n").encode())
        return
    try:
        there = _read_json(file, max(MAX_JSON_BYTES, 2 * len(json.dumps(run_description, indent=2))))
        different = next(_find_differences(there, run_description), None)
    except (OSError, ValueError, RecursionError):
        raise OutputError(f"{file}: cannot be read; delete the folder to begin anew") from None
    if different is not None:
        name, was, now = different
        ways = "run it as it was, or give another folder to begin anew"
        raise OutputError(f"{path} is the checkpoint of another run: {name} was {was}, now {now}; {ways}")
    if there != run_description:
        raise OutputError(f"{file}: was altered; delete the folder to begin anew")


def _read_json(file: Path, max_bytes: int) -> dict[str, Any]:
    """Read an object of JSON, of at most so many bytes."""
    with _open_nofollow(file, writable=False) as held:
        if not S_ISREG(os.fstat(held.fileno()).st_mode):
            raise ValueError("it is no file")
        content = held.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError("it is too long")
    told = json.loads(content)
    if not isinstance(told, dict):
        raise ValueError("it is no object")  # noqa: TRY004  # the text is at fault, not a type of ours
    return told


def _find_differences(recorded: Any, current: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Name what differs between two trees of plain values."""
    if isinstance(recorded, dict) and isinstance(current, dict):
        for key in sorted(recorded.keys() | current.keys(), key=str):
            inner = f"{name}.{key}" if name else str(key)
            yield from _find_differences(recorded.get(key), current.get(key), inner)
    elif recorded != current:
        yield name, _format_short(recorded), _format_short(current)


def _format_short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return escape_control_chars(text if len(text) <= 60 else f"{text[:57]}…")


def _compute_digest(run_description: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(run_description, sort_keys=True).encode()).hexdigest()


def dump_state(state: StreamResult, run_digest: str) -> bytes:
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
        for place, kept in enumerate(state.top_features)
        for field in fields(FeatureTable)
    }
    tally, best = state.inference_state.p_value_counts, state.inference_state.max_statistics
    arrays |= {"tally_keys": tally.keys, "tally_counts": tally.counts}
    if best is not None:
        arrays["seen_best"] = best
    lost = [(fate.value, count) for fate, count in state.n_invalid.items()]
    arrays["lost"] = np.array(lost, dtype=np.int64).reshape(-1, 2)
    figures = [len(state.top_features), state.n_scored, state.n_done, state.n_total, state.n_chunks]
    arrays["figures"] = np.array(figures, dtype=np.int64)
    content = io.BytesIO()
    np.savez(content, **arrays)
    body = content.getvalue()
    return (
        f"{_FILE_SIGNATURE} {_FORMAT_VERSION} {run_digest} {hashlib.sha256(body).hexdigest()}\n".encode()
        + body
    )


def load_state(content: bytes, run_digest: str, max_bytes: int | None = None) -> StreamResult:
    """Read a state.

    Parameters
    ----------
    content : bytes
        As `dump_state` wrote it.
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
    if max_bytes is not None and len(content) > max_bytes:
        raise ValueError("it is larger than this run can have kept")
    head, _, body = content.partition(b"\n")
    expected = f"{_FILE_SIGNATURE} {_FORMAT_VERSION} {run_digest} {hashlib.sha256(body).hexdigest()}".encode()
    if head != expected:
        other = head.split(b" ")[:3] != expected.split(b" ")[:3]
        raise ValueError("its first line is not of this run" if other else "its checksum does not fit")
    try:
        _check_archive(body)
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            return _build_state({name: arrays[name] for name in arrays.files})
    except (KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"it lacks {error}") from None
    except Exception as error:  # noqa: BLE001  # of an altered header numpy lets its tokenizer's errors through
        raise ValueError(truncate_message(str(error) or type(error).__name__)) from None


def _check_archive(body: bytes) -> None:
    """Refuse what would be unpacked: a kilobyte may stand for a gigabyte."""
    with zipfile.ZipFile(io.BytesIO(body)) as members:
        held = members.infolist()
        if any(one.compress_type != zipfile.ZIP_STORED for one in held):
            raise ValueError("it is compressed")
        # parts may stand for each other's bytes, and a name for several of them
        if sum(one.file_size for one in held) > len(body) or len({one.filename for one in held}) < len(held):
            raise ValueError("its parts overlap")


def _build_state(arrays: dict[str, NDArray[Any]]) -> StreamResult:
    lists, scored, done, total, chunks = _take_array(arrays, "figures", np.int64, (5,)).tolist()
    plain, kept = make_empty_features(0), list[FeatureTable]()
    if not 0 <= lists <= len(arrays):
        raise ValueError(f"it tells of {lists} lists")
    for place in range(lists):
        length = len(arrays[f"{place}_number"])
        columns = []
        for field in fields(FeatureTable):
            like = getattr(plain, field.name)
            shape = (length, *(None for _ in like.shape[1:]))
            columns.append(_take_array(arrays, f"{place}_{field.name}", like.dtype, shape))
        kept.append(FeatureTable(*columns))
    pairs = _take_array(arrays, "lost", np.int64, (None, 2)).tolist()
    lost = {CandidateStatus(value): count for value, count in pairs}
    if len(lost) < len(pairs):
        raise ValueError("a reason stands twice in it")
    keys = _take_array(arrays, "tally_keys", np.int32, (None,))
    tally = PValueCounts(keys, _take_array(arrays, "tally_counts", np.int64, keys.shape))
    best = _take_array(arrays, "seen_best", np.float64, (None,)) if "seen_best" in arrays else None
    if arrays:
        raise ValueError(f"{escape_control_chars(min(arrays))[:40]!r} is no part of it")
    return StreamResult(
        tuple(kept), scored, lost, InferenceState(tally, best), n_done=done, n_total=total, n_chunks=chunks
    )


def _take_array(
    arrays: dict[str, NDArray[Any]], name: str, dtype: Any, shape: tuple[int | None, ...]
) -> NDArray[Any]:
    """Take an array of a type and a shape, of which None may be any length."""
    values = arrays.pop(name)
    lengths = zip(values.shape, shape, strict=False)
    if (
        values.dtype != dtype
        or values.ndim != len(shape)
        or any(want not in {None, have} for have, want in lengths)
    ):
        raise ValueError(f"its {name.partition('_')[2] or name} has another shape")
    return values
