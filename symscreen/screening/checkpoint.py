"""Checkpoint folders: save the state of a screen so that the same command resumes it.

A folder contains ``run.json``, which identifies the run; ``lock``, held while a run uses the folder; and one
``.state`` file for each stream of features: a line with checksums, then arrays in numpy's format, without
pickles. Every file is written under a temporary name and renamed. A run that is killed at any moment
therefore leaves the last complete state.
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
from symscreen.data.documents import parse_json
from symscreen.errors import OutputError
from symscreen.expansion import CandidateStatus
from symscreen.messages import escape_control_chars, truncate_message
from symscreen.screening.inference.error_control import InferenceState
from symscreen.screening.scoring.streaming import StreamResult
from symscreen.screening.scoring.top_features import FeatureTable, make_empty_features
from symscreen.statistics.inference.p_value_counts import PValueCounts
from symscreen.statistics.inference.statistic_counts import StatisticCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    from numpy.typing import NDArray


_FORMAT_VERSION = 1
_SAVE_INTERVAL_S = 2.0  # minimum time between two saves
_MAX_SAVE_TIME_SHARE = 0.02  # the interval grows so that saving takes at most this share of the run time
_FILE_SIGNATURE = "symscreen-checkpoint"


class CheckpointStore:
    """Saves and loads the stream states of one run; created by `open_checkpoint`.

    Parameters
    ----------
    path : Path
        The checkpoint folder. It exists and its ``run.json`` describes this run.
    run_digest : str
        SHA-256 digest of the run's description.
    """

    def __init__(self, path: Path, run_digest: str) -> None:
        self._path, self._run_digest = path, run_digest
        self._next_save_time = monotonic() + _SAVE_INTERVAL_S
        self._n_saved: dict[str, int] = {}
        self.failure: str | None = None

    def load(self, stream: str, check: Callable[[StreamResult], None], max_bytes: int) -> StreamResult | None:
        """Return the saved state of a stream, or None.

        Parameters
        ----------
        stream : str
            Name of the stream.
        check : callable
            Raises `ValueError` for a state that this run cannot have saved.
        max_bytes : int
            Maximum size of such a state in bytes.

        Raises
        ------
        OutputError
            If the file was truncated or altered.
        """
        path = self._path / f"{stream}.state"
        if not path.is_file():
            return None
        try:
            with path.open("rb") as file:
                content = file.read(min(max_bytes, path.stat().st_size) + 1)
            state = load_state(content, self._run_digest, max_bytes)
            check(state)
        except OSError as error:
            raise OutputError(f"{path}: cannot be read ({error.strerror})") from None
        except ValueError as error:
            raise OutputError(
                f"{path}: the checkpoint is damaged ({error}); delete the folder to start again"
            ) from None
        self._n_saved[stream] = state.n_done
        return state

    def save_if_due(self, stream: str, make_state: Callable[[], StreamResult], *, is_final: bool) -> None:
        """Save the state of a stream if a save is due or the state is final.

        A failed save does not stop the run. The error message is stored in `failure`.
        """
        start_time = monotonic()
        if not is_final and start_time < self._next_save_time:
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
        duration = monotonic() - start_time
        self._next_save_time = start_time + duration + max(_SAVE_INTERVAL_S, duration / _MAX_SAVE_TIME_SHARE)


@contextmanager
def open_checkpoint(path: Path, identity: Mapping[str, Any]) -> Iterator[CheckpointStore]:
    """Open or create the checkpoint folder of a run. Only one run at a time can hold it.

    Parameters
    ----------
    path : Path
        The folder. Its parent must exist.
    identity : mapping
        Description of the run in plain values: versions, options, grammar, data.

    Yields
    ------
    CheckpointStore

    Raises
    ------
    OutputError
        If the folder cannot be created or written, is in use, contains other files, or belongs to another
        run. For another run the message names the first difference.
    """
    run_description = {"format": _FORMAT_VERSION, **json.loads(json.dumps(identity))}
    try:
        path.mkdir(exist_ok=True)
        lock_file = _open_nofollow(path / "lock", writable=True)
    except (OSError, ValueError) as error:  # ValueError: the path contains a null character
        reason = getattr(error, "strerror", error)
        raise OutputError(f"{path}: cannot keep a checkpoint there ({reason})") from None
    with lock_file:
        _lock_file(lock_file, path)
        _check_run(path, run_description)
        for temporary_file in path.glob(".*.state.*"):  # left by a run that was killed during a save
            temporary_file.unlink(missing_ok=True)
        yield CheckpointStore(path, _compute_digest(run_description))


def _open_nofollow(path: Path, *, writable: bool) -> BinaryIO:
    """Open a file without following a symbolic link and without blocking on a named pipe."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND if writable else os.O_RDONLY
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return os.fdopen(os.open(path, flags, 0o666), "ab" if writable else "rb")


def _lock_file(lock_file: BinaryIO, path: Path) -> None:
    """Take a lock that ends with the process, on systems that have such locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{path}: another run is using this checkpoint; choose another folder") from None
    except OSError:
        return  # some network file systems do not support locks


def _check_run(path: Path, run_description: dict[str, Any]) -> None:
    """Write ``run.json`` into a new folder, or raise an error if it describes another run."""
    file = path / "run.json"
    if not os.path.lexists(file):
        other_names = sorted(
            entry.name for entry in path.iterdir() if entry.name != "lock" and entry.name[0] != "."
        )
        if other_names:
            raise OutputError(
                f"{path}: contains {other_names[0]!r} and is not a checkpoint; choose an empty or new folder"
            )
        write_atomically(file, (json.dumps(run_description, indent=2) + "\n").encode())
        return
    try:
        recorded = _read_json(file, max(MAX_JSON_BYTES, 2 * len(json.dumps(run_description, indent=2))))
        difference = next(_find_differences(recorded, run_description), None)
    except (OSError, ValueError):
        raise OutputError(f"{file}: cannot be read; delete the folder to start again") from None
    if difference is not None:
        name, before, now = difference
        raise OutputError(
            f"{path} is the checkpoint of another run: {name} was {before}, now {now}; restore the earlier "
            "setting, or choose another folder to start again"
        )
    if recorded != run_description:
        raise OutputError(f"{file}: was altered; delete the folder to start again")


def _read_json(file: Path, max_bytes: int) -> dict[str, Any]:
    """Read a JSON object from a regular file of at most `max_bytes` bytes."""
    with _open_nofollow(file, writable=False) as json_file:
        if not S_ISREG(os.fstat(json_file.fileno()).st_mode):
            raise ValueError("it is not a regular file")
        content = json_file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError("it is too long")
    parsed = parse_json(content)
    if not isinstance(parsed, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004  # the file content is wrong, not a type
    return parsed


def _find_differences(recorded: Any, current: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield (dotted name, recorded value, current value) for each difference of two nested objects."""
    if isinstance(recorded, dict) and isinstance(current, dict):
        for key in sorted(recorded.keys() | current.keys(), key=str):
            inner = f"{name}.{key}" if name else str(key)
            yield from _find_differences(recorded.get(key), current.get(key), inner)
    elif recorded != current:
        yield name, _format_short(recorded), _format_short(current)


def _format_short(value: Any) -> str:
    """Format a value as JSON of at most 58 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return escape_control_chars(text if len(text) <= 60 else f"{text[:57]}…")


def _compute_digest(run_description: Mapping[str, Any]) -> str:
    """Return the SHA-256 digest of a run's description."""
    return hashlib.sha256(json.dumps(run_description, sort_keys=True).encode()).hexdigest()


def dump_state(state: StreamResult, run_digest: str) -> bytes:
    """Serialize a stream state.

    Parameters
    ----------
    state : StreamResult
        Result of the first candidates of a space.
    run_digest : str
        Digest of the run that the state belongs to.

    Returns
    -------
    bytes
        A line with the run digest and a checksum, then the arrays.
    """
    arrays: dict[str, Any] = {
        _name_array(position, field.name): getattr(features, field.name)
        for position, features in enumerate(state.top_features)
        for field in fields(FeatureTable)
    }
    p_value_counts = state.inference_state.p_value_counts
    max_statistics = state.inference_state.max_statistics
    arrays |= {
        _name_array("tally", "keys"): p_value_counts.keys,
        _name_array("tally", "counts"): p_value_counts.counts,
    }
    if max_statistics is not None:
        arrays[_name_array("seen", "best")] = max_statistics
    statistic_counts = state.inference_state.statistic_counts
    if statistic_counts is not None:
        for column in fields(StatisticCounts):
            arrays[_name_array("level", column.name)] = getattr(statistic_counts, column.name)
    invalid_counts = [(status.value, count) for status, count in state.n_invalid.items()]
    arrays["lost"] = np.array(invalid_counts, dtype=np.int64).reshape(-1, 2)
    totals = [len(state.top_features), state.n_scored, state.n_done, state.n_total, state.n_chunks]
    arrays["figures"] = np.array(totals, dtype=np.int64)
    content = io.BytesIO()
    np.savez(content, **arrays)
    body = content.getvalue()
    return _format_header(run_digest, body) + b"\n" + body


def _format_header(run_digest: str, body: bytes) -> bytes:
    """Return the first line of a state file, without the newline."""
    checksum = hashlib.sha256(body).hexdigest()
    return f"{_FILE_SIGNATURE} {_FORMAT_VERSION} {run_digest} {checksum}".encode()


def load_state(content: bytes, run_digest: str, max_bytes: int | None = None) -> StreamResult:
    """Deserialize a stream state.

    Parameters
    ----------
    content : bytes
        Output of `dump_state`.
    run_digest : str
        Digest of the run that the state must belong to.
    max_bytes : int, optional
        Maximum length of `content` in bytes.

    Returns
    -------
    StreamResult

    Raises
    ------
    ValueError
        If the content was truncated or altered, is too long, or belongs to another run.
    """
    if max_bytes is not None and len(content) > max_bytes:
        raise ValueError("it is larger than any state of this run")
    header, _, body = content.partition(b"\n")
    expected = _format_header(run_digest, body)
    if header != expected:
        is_other_run = header.split(b" ")[:3] != expected.split(b" ")[:3]
        raise ValueError(
            "its first line is not of this run" if is_other_run else "the checksum does not match"
        )
    try:
        _check_archive(body)
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            return _build_state({name: arrays[name] for name in arrays.files})
    except (KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"it lacks {error}") from None
    except Exception as error:  # noqa: BLE001  # numpy passes on its tokenizer's errors for an altered header
        raise ValueError(truncate_message(str(error) or type(error).__name__)) from None


def _check_archive(body: bytes) -> None:
    """Reject archives that could unpack to more bytes than they contain."""
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("it is compressed")
        # entries may share bytes, and several entries may share a name
        n_names = len({entry.filename for entry in entries})
        if sum(entry.file_size for entry in entries) > len(body) or n_names < len(entries):
            raise ValueError("its parts overlap")


def _build_state(arrays: dict[str, NDArray[Any]]) -> StreamResult:
    """Build a state from its arrays after checking names, types and shapes."""
    figures = _take_array(arrays, None, "figures", np.int64, (5,))
    n_lists, n_scored, n_done, n_total, n_chunks = figures.tolist()
    template, feature_lists = make_empty_features(0), list[FeatureTable]()
    if not 0 <= n_lists <= len(arrays):
        raise ValueError(f"it claims to contain {n_lists} lists")
    for position in range(n_lists):
        length = len(arrays[_name_array(position, "number")])
        columns = []
        for field in fields(FeatureTable):
            like = getattr(template, field.name)
            shape = (length, *(None for _ in like.shape[1:]))
            columns.append(_take_array(arrays, position, field.name, like.dtype, shape))
        feature_lists.append(FeatureTable(*columns))
    pairs = _take_array(arrays, None, "lost", np.int64, (None, 2)).tolist()
    n_invalid = {CandidateStatus(value): count for value, count in pairs}
    if len(n_invalid) < len(pairs):
        raise ValueError("it lists an exclusion reason twice")
    keys = _take_array(arrays, "tally", "keys", np.int32, (None,))
    p_value_counts = PValueCounts(keys, _take_array(arrays, "tally", "counts", np.int64, keys.shape))
    max_statistics = None
    if _name_array("seen", "best") in arrays:
        max_statistics = _take_array(arrays, "seen", "best", np.float64, (None,))
    statistic_counts = None
    if _name_array("level", "levels") in arrays:
        levels = _take_array(arrays, "level", "levels", np.int32, (None,))
        observed, permuted = (
            _take_array(arrays, "level", name, np.int64, levels.shape) for name in ("observed", "permuted")
        )
        statistic_counts = StatisticCounts(levels, observed, permuted)
    if arrays:
        raise ValueError(f"it contains an unknown array {escape_control_chars(min(arrays))[:40]!r}")
    return StreamResult(
        tuple(feature_lists),
        n_scored,
        n_invalid,
        InferenceState(p_value_counts, max_statistics, statistic_counts),
        n_done=n_done,
        n_total=n_total,
        n_chunks=n_chunks,
    )


def _name_array(group: str | int | None, quantity: str) -> str:
    """Name an array of a state file; None for a quantity that belongs to no group."""
    return quantity if group is None else f"{group}_{quantity}"


def _take_array(
    arrays: dict[str, NDArray[Any]],
    group: str | int | None,
    quantity: str,
    dtype: Any,
    shape: tuple[int | None, ...],
) -> NDArray[Any]:
    """Remove and return an array after checking its dtype and shape; None matches any length."""
    values = arrays.pop(_name_array(group, quantity))
    if (
        values.dtype != dtype
        or values.ndim != len(shape)
        or any(expected not in {None, length} for length, expected in zip(values.shape, shape, strict=False))
    ):
        raise ValueError(f"its {quantity} has another type or shape")
    return values
