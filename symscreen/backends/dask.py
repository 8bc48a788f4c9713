"""Processes of this machine or of many, by Dask: ranges travel out, merged tables of the best travel back.

What scores (the pool of features with it) is sent once to each worker. A task is a run of chunks, merged
where it was scored; the outcomes of several such tasks are merged by a worker, and only that table comes
back. So many tasks are under way as keep the workers busy, whatever the size of the space.
"""

from __future__ import annotations

import signal
import threading
from collections import Counter, deque
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from symscreen.backends.dask_cluster import (
    check_address,
    check_same,
    check_workers,
    cluster_here,
    connected,
    silenced,
    versions,
)
from symscreen.backends.threads import Threads
from symscreen.errors import BackendError, InputError, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Dask"]

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")

_PIECES = 16  # tasks of a stage for each worker, so that none waits long for the last
_LONGEST = 256  # chunks in a task: a few seconds' work
_BRANCHES = 8  # tasks that are merged by a worker before they travel
_UNDER_WAY = 4  # tasks for each worker at a time
_ATTEMPTS = 5  # at a run of tasks whose workers were lost
_LOOK = 2.0  # seconds between two looks whether there are workers
_WORKERLESS = 60.0  # seconds without any, after which none is waited for
_LAST_WORDS = 5.0  # seconds for the cluster to end


@dataclass(frozen=True)
class Dask:
    """Worker processes.

    Parameters
    ----------
    jobs : int
        How many processes a cluster of this machine has; what is not scored in ranges (the layers before the
        last, joint screeners) runs in so many threads here.
    scheduler : str or None
        The address of a scheduler whose workers are used instead, such as ``tcp://10.0.0.1:8786``. Dask's
        processes trust each other: use one on a network that you trust.
    name : str
        What the record calls it.

    Raises
    ------
    OptionError
        If the scheduler's address is none; when it is first used, if Dask is not installed, no scheduler
        answers, it has no workers, or they cannot run symscreen.
    """

    jobs: int
    scheduler: str | None = None
    name: str = "dask"
    _held: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _chunks: Counter[str] = field(default_factory=Counter, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.scheduler is not None:
            check_address(self.scheduler)

    def map(self, function: Callable[[Task], Outcome], tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Run tasks in threads of this process: those that share its memory."""
        return Threads(self.jobs).map(function, tasks)

    def reduced(
        self,
        function: Callable[[Task], Outcome],
        tasks: Sequence[Task],
        merge: Callable[[Sequence[Outcome]], Outcome],
    ) -> Iterator[tuple[int, Outcome]]:
        """Yield for one run of tasks after the other how many they are, and their outcomes merged.

        Parameters
        ----------
        function : callable
            Of a task; it is sent once, for as long as the same object is given.
        tasks : sequence
            In their order.
        merge : callable
            Of outcomes that follow each other.

        Raises
        ------
        BackendError
            If the scheduler or all workers are lost, or one of them cannot be used.
        """
        with self._told_in_a_line():
            yield from self._reduced(function, tasks, merge)

    def _reduced(
        self,
        function: Callable[[Task], Outcome],
        tasks: Sequence[Task],
        merge: Callable[[Sequence[Outcome]], Outcome],
    ) -> Iterator[tuple[int, Outcome]]:
        client = self._client()
        workers = max(1, len(client.ncores()))
        pieces = list(_cut(tasks, max(1, min(_LONGEST, len(tasks) // (_PIECES * workers)))))
        branches = max(1, min(_BRANCHES, len(pieces) // (_PIECES * workers)))
        waiting = _cut(pieces, branches)
        most = 1 + -(-_UNDER_WAY * workers // branches)
        running: deque[tuple[list[list[Task]], Any]] = deque()
        try:
            running.extend((run, self._begun(function, run, merge)) for run in islice(waiting, most))
            while running:
                run, future = running.popleft()
                outcome, by = self._waited(function, run, merge, future)
                running.extend((more, self._begun(function, more, merge)) for more in islice(waiting, 1))
                self._chunks.update(by)
                yield sum(map(len, run)), outcome
        finally:
            with suppress(Exception):  # nothing is left to cancel where the scheduler is lost
                client.cancel([future for _, future in running])

    @contextmanager
    def _told_in_a_line(self) -> Iterator[None]:
        """Tell what Dask raises where a cluster is lost in one line; errors of what is computed pass."""
        try:
            yield
        except (InputError, MemoryError):
            raise
        except Exception as error:
            client = self._held.get("client")
            # the line to the scheduler breaks before the client knows of it
            broken = type(error).__name__ == "CommClosedError"
            lost = client is not None and (client.status != "running" or broken)
            if not (lost or isinstance(error, CancelledError | ImportError | OSError) or _killed(error)):
                raise
            where = self.scheduler or "this machine"
            words = printable((str(error).strip().splitlines() or [type(error).__name__])[0])[:100]
            what = f"the Dask scheduler at {where} was lost" if lost else f"Dask's workers failed: {words}"
            raise BackendError(
                f"{what}; start it anew: with --checkpoint the same command goes on from what was kept"
            ) from None

    @property
    def told(self) -> dict[str, Any]:
        """What the record tells: how many workers, and the chunks that each did."""
        return {"workers": len(self._chunks), "chunks": dict(sorted(self._chunks.items()))}

    def close(self) -> None:
        """Let the workers go; those of a cluster of this machine end."""
        for what in ("client", "cluster"):
            if what in self._held:
                with suppress(Exception):  # of a scheduler that was lost there is nothing to close
                    self._held.pop(what).close(timeout=_LAST_WORDS)
        if "silence" in self._held:
            self._held.pop("silence").close()
        self._held.clear()

    def _begun(
        self,
        function: Callable[[Task], Outcome],
        run: list[list[Task]],
        merge: Callable[[Sequence[Outcome]], Outcome],
    ) -> Any:
        """Hand a run of pieces to the workers."""
        client, sent = self._client(), self._sent(function)
        leaves = [client.submit(_scored, sent, piece, merge, versions(), pure=False) for piece in run]
        return client.submit(_together, leaves, merge, pure=False)

    def _waited(
        self,
        function: Callable[[Task], Outcome],
        run: list[list[Task]],
        merge: Callable[[Sequence[Outcome]], Outcome],
        future: Any,
    ) -> tuple[Outcome, Counter[str]]:
        """Wait for a run of pieces; one whose workers were lost with all that they held is begun again."""
        for left in reversed(range(_ATTEMPTS)):
            try:
                outcome: tuple[Outcome, Counter[str]] = self._result_of(future)
            except Exception as error:
                lost = isinstance(error, CancelledError) or _killed(error)
                if not left or not lost or self._client().status != "running":
                    raise
                if self._held["sent"][1].status != "finished":
                    self._held.pop("sent")
                future = self._begun(function, run, merge)
            else:
                return outcome
        raise AssertionError  # the last attempt returns or raises

    def _result_of(self, future: Any) -> Any:
        """Wait until a future is done, as long as there is a worker to do it."""
        client, alone = self._client(), None
        while True:
            try:
                return future.result(timeout=_LOOK)
            except TimeoutError:
                if future.done():
                    raise
            if client.status != "running":
                continue  # it tries to reach its scheduler for a while, and gives up its futures then
            if client.ncores():
                alone = None
                continue
            alone = monotonic() if alone is None else alone
            if monotonic() > alone + _WORKERLESS:
                raise BackendError(
                    f"all workers of {self.scheduler or 'this machine'} are gone; start some: with "
                    "--checkpoint the same command goes on from what was kept"
                )

    def _sent(self, function: Callable[..., Any]) -> Any:
        """Send what scores to all workers, unless it is there."""
        if self._held.get("sent", (None,))[0] is not function:
            self._held["sent"] = (function, self._client().scatter(function, broadcast=True, hash=False))
        return self._held["sent"][1]

    def _client(self) -> Any:
        if "client" not in self._held:
            if self.scheduler is None:
                self._held["cluster"], self._held["client"] = cluster_here(self.jobs)
            else:
                self._held["client"] = connected(self.scheduler)
            self._held["silence"] = ExitStack()
            self._held["silence"].enter_context(silenced())
            check_workers(self._held["client"])
            if self.scheduler is None:
                self._held["client"].run(_deaf)
        return self._held["client"]


def _killed(error: Exception) -> bool:
    """Say whether workers died of a task, or were lost with it."""
    from distributed import KilledWorker

    return isinstance(error, KilledWorker)


def _deaf() -> None:
    """Leave the interrupt of a terminal, which reaches all its processes, to the one that asks."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _cut(items: Sequence[Task], size: int) -> Iterator[list[Task]]:
    return (list(items[start : start + size]) for start in range(0, len(items), size))


def _scored(
    function: Callable[[Task], Outcome],
    tasks: Sequence[Task],
    merge: Callable[[Sequence[Outcome]], Outcome],
    asked: dict[str, str],
) -> tuple[Outcome, Counter[str]]:
    """Do a piece, on a worker."""
    from distributed import get_worker

    check_same(get_worker().address, versions(), asked)  # this worker may have come later than the first look
    return merge([function(task) for task in tasks]), Counter({str(get_worker().name): len(tasks)})


def _together(
    outcomes: Sequence[tuple[Outcome, Counter[str]]], merge: Callable[[Sequence[Outcome]], Outcome]
) -> tuple[Outcome, Counter[str]]:
    """Merge the outcomes of pieces that follow each other, on a worker."""
    counts: Counter[str] = Counter()
    for _, by in outcomes:
        counts.update(by)
    return merge([outcome for outcome, _ in outcomes]), counts
