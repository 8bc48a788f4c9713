"""Getting at a Dask cluster, and telling in one line where there is none that can be used.

Whatever stands at an address is asked who it is before a client is made of it: one that fails half way would
go on trying in the background, and write of it on standard error.

Processes of this machine or of many, by Dask: ranges travel out, merged tables of the best travel back.

What scores (the pool of features with it) is sent once to each worker. A task is a run of chunks, merged
where it was scored; the outcomes of several such tasks are merged by a worker, and only that table comes
back. So many tasks are under way as keep the workers busy, whatever the size of the space.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
from collections import Counter, deque
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar

from symscreen.backends.threads import Threads
from symscreen.errors import BackendError, InputError, OptionError, escape_control_chars, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


__all__ = [
    "Dask",
    "check_address",
    "check_versions",
    "check_workers",
    "connect_client",
    "mute_dask_logging",
    "read_versions",
    "start_local_cluster",
]

_CONNECT_TIMEOUT_S = 10.0  # seconds for a scheduler to answer
_FIRST_WORKER_TIMEOUT_S = 30.0  # seconds for its first worker
_HOST_PATTERN = r"\[[0-9A-Fa-f:.]{2,45}\]|[\w.-]{1,253}"
_ADDRESS_PATTERN = re.compile(rf"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:{_HOST_PATTERN}):(\d{{1,5}})", re.ASCII)
_INPROC_PATTERN = re.compile(r"inproc://[^/]{1,253}/(\d{1,10})/\d{1,10}", re.ASCII)
_LOGGER_NAMES = ("distributed", "tornado", "asyncio")


def check_address(address: str) -> None:
    """Refuse what is no address of a scheduler that this process could reach.

    Parameters
    ----------
    address : str
        As a user gives it.

    Raises
    ------
    OptionError
        If it is none.

    Examples
    --------
    >>> check_address("tcp://10.0.0.1:8786")
    >>> check_address("tcp://10.0.0.1:99999")
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: scheduler is 'tcp://10.0.0.1:99999'; give its address, such as
    tcp://10.0.0.1:8786
    """
    inside = _INPROC_PATTERN.fullmatch(address)
    if inside is not None and int(inside[1]) == os.getpid():
        return  # of a cluster in this very process
    found = _ADDRESS_PATTERN.fullmatch(address)
    if found is None or not 1 <= int(found[1]) <= 65535:
        raise OptionError(
            f"scheduler is {quote_value(address)}; give its address, such as tcp://10.0.0.1:8786"
        )


def connect_client(address: str) -> Any:
    """Return a client of the scheduler at an address, which has a worker at least.

    Raises
    ------
    OptionError
        If no scheduler answers there, or none of its workers comes.
    """
    distributed = _import_distributed()
    check_address(address)
    try:
        with ThreadPoolExecutor(1) as own:  # a notebook has a loop of its own in this thread
            own.submit(_check_scheduler, address).result()
        client = distributed.Client(address, timeout=_CONNECT_TIMEOUT_S, set_as_default=False)
    except OptionError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever answers there may answer anything
        raise OptionError(f"no Dask scheduler answers at {address} ({_get_first_line(error)})") from None
    try:
        _wait_for_workers(client, address)
    except BaseException:
        _close_quietly(client)
        raise
    return client


def _wait_for_workers(client: Any, address: str) -> None:
    until = monotonic() + _FIRST_WORKER_TIMEOUT_S
    while not client.ncores():
        if monotonic() > until:
            raise OptionError(
                f"the Dask scheduler at {address} has no workers: start some, "
                f"dask worker {address} --nthreads 1"
            )
        sleep(0.1)


def _check_scheduler(address: str) -> None:
    """Ask who answers at an address."""
    import asyncio

    from distributed.core import rpc
    from distributed.security import Security

    async def ask_identity() -> str:
        given = Security().get_connection_args("client")
        if address.startswith(("tls://", "wss://")) and given.get("ssl_context") is None:
            raise OptionError(
                f"{address} needs certificates: name them in Dask's configuration, distributed.comm.tls"
            )
        async with rpc(address, connection_args=given, timeout=_CONNECT_TIMEOUT_S) as there:
            return str((await there.identity())["type"])

    async def ask_with_timeout() -> str:
        return await asyncio.wait_for(ask_identity(), _CONNECT_TIMEOUT_S)

    kind = asyncio.run(ask_with_timeout())
    if kind != "Scheduler":
        raise OptionError(f"at {address} answers a {quote_value(kind)} of Dask, not a scheduler")


def start_local_cluster(jobs: int) -> tuple[Any, Any]:
    """Start processes on this machine; return their cluster and its client.

    Raises
    ------
    OptionError
        If they do not start.
    """
    distributed, cluster = _import_distributed(), None
    try:
        cluster = distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # what is left of it takes any free port
            memory_limit=0,  # --max-ram is kept by what is computed, not by killing who computes
            silence_logs=logging.CRITICAL,
        )
        return cluster, distributed.Client(cluster, set_as_default=False)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # each of Dask's parts has errors of its own
        if cluster is not None:
            _close_quietly(cluster)
        raise OptionError(
            f"{jobs} worker processes could not be started ({_get_first_line(error)}); ask for fewer "
            "--jobs, or "
            "leave out the backend dask"
        ) from None


def _import_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise OptionError(
            "the backend dask needs Dask, which is not installed: pip install 'symscreen[dask]'"
        ) from None
    return distributed


def check_workers(client: Any) -> None:
    """Refuse workers that have no symscreen, or whose arithmetic may be another."""
    for worker, theirs in client.run(read_versions, on_error="return").items():
        if isinstance(theirs, Exception):
            raise OptionError(
                f"the worker {worker} cannot run symscreen ({_get_first_line(theirs)}): install the same "
                "version "
                "there as here"
            )
        check_versions(worker, theirs, read_versions())


def check_versions(worker: str, worker_versions: dict[str, str], expected_versions: dict[str, str]) -> None:
    """Refuse a worker that has another version of what computes."""
    for package, version in expected_versions.items():
        if worker_versions.get(package) != version:
            raise BackendError(
                f"the worker {worker} has {package} {worker_versions.get(package)} and this process "
                f"{version}: "
                "install the same version on both"
            )


@lru_cache(maxsize=1)
def read_versions() -> dict[str, str]:
    """Return the versions of what computes here.

    Examples
    --------
    >>> sorted(read_versions())
    ['numba', 'numpy', 'scipy', 'symscreen']
    """
    from importlib import metadata

    return {package: metadata.version(package) for package in ("symscreen", "numpy", "numba", "scipy")}


def _close_quietly(resource: Any) -> None:
    with suppress(Exception):
        resource.close(timeout=3)


@contextmanager
def mute_dask_logging() -> Iterator[None]:
    """Keep Dask from writing lines of its own: what matters of them is told by ours."""
    known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _LOGGER_NAMES]
    loud = [
        logging.getLogger(name)
        for name in {*_LOGGER_NAMES, *known, "distributed.client", "tornado.application"}
    ]
    before = [logger.disabled for logger in loud]
    for logger in loud:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loud, before, strict=True):
            logger.disabled = disabled


def _get_first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return escape_control_chars(lines[0])[:120]


Task = TypeVar("Task")
Outcome = TypeVar("Outcome")

_TASKS_PER_WORKER = 16  # tasks of a stage for each worker, so that none waits long for the last
_MAX_TASK_CHUNKS = 256  # chunks in a task: a few seconds' work
_MAX_MERGED_TASKS = 8  # tasks that are merged by a worker before they travel
_RUNNING_TASKS_PER_WORKER = 4  # tasks for each worker at a time
_MAX_ATTEMPTS = 5  # at a run of tasks whose workers were lost
_POLL_INTERVAL_S = 2.0  # seconds between two looks whether there are workers
_NO_WORKERS_TIMEOUT_S = 60.0  # seconds without any, after which none is waited for
_SHUTDOWN_TIMEOUT_S = 5.0  # seconds for the cluster to end


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
    _resources: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    _chunk_counts: Counter[str] = field(default_factory=Counter, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.scheduler is not None:
            check_address(self.scheduler)

    def map(self, function: Callable[[Task], Outcome], tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Run tasks in threads of this process: those that share its memory."""
        return Threads(self.jobs).map(function, tasks)

    def map_reduce(
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
        with self._translate_errors():
            yield from self._run_map_reduce(function, tasks, merge)

    def _run_map_reduce(
        self,
        function: Callable[[Task], Outcome],
        tasks: Sequence[Task],
        merge: Callable[[Sequence[Outcome]], Outcome],
    ) -> Iterator[tuple[int, Outcome]]:
        client = self._get_client()
        workers = max(1, len(client.ncores()))
        pieces = list(
            _split_batches(tasks, max(1, min(_MAX_TASK_CHUNKS, len(tasks) // (_TASKS_PER_WORKER * workers))))
        )
        branches = max(1, min(_MAX_MERGED_TASKS, len(pieces) // (_TASKS_PER_WORKER * workers)))
        waiting = _split_batches(pieces, branches)
        most = 1 + -(-_RUNNING_TASKS_PER_WORKER * workers // branches)
        running: deque[tuple[list[list[Task]], Any]] = deque()
        try:
            running.extend((run, self._submit(function, run, merge)) for run in islice(waiting, most))
            while running:
                run, future = running.popleft()
                outcome, by = self._collect(function, run, merge, future)
                running.extend((more, self._submit(function, more, merge)) for more in islice(waiting, 1))
                self._chunk_counts.update(by)
                yield sum(map(len, run)), outcome
        finally:
            with suppress(Exception):  # nothing is left to cancel where the scheduler is lost
                client.cancel([future for _, future in running])

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Tell what Dask raises where a cluster is lost in one line; errors of what is computed pass."""
        try:
            yield
        except (InputError, MemoryError):
            raise
        except Exception as error:
            client = self._resources.get("client")
            # the line to the scheduler breaks before the client knows of it
            broken = type(error).__name__ == "CommClosedError"
            lost = client is not None and (client.status != "running" or broken)
            if not (
                lost or isinstance(error, CancelledError | ImportError | OSError) or _is_killed_worker(error)
            ):
                raise
            where = self.scheduler or "this machine"
            words = escape_control_chars((str(error).strip().splitlines() or [type(error).__name__])[0])[:100]
            what = f"the Dask scheduler at {where} was lost" if lost else f"Dask's workers failed: {words}"
            raise BackendError(
                f"{what}; start it anew: with --checkpoint the same command goes on from what was kept"
            ) from None

    @property
    def metadata(self) -> dict[str, Any]:
        """What the record tells: how many workers, and the chunks that each did."""
        return {"workers": len(self._chunk_counts), "chunks": dict(sorted(self._chunk_counts.items()))}

    def close(self) -> None:
        """Let the workers go; those of a cluster of this machine end."""
        for what in ("client", "cluster"):
            if what in self._resources:
                with suppress(Exception):  # of a scheduler that was lost there is nothing to close
                    self._resources.pop(what).close(timeout=_SHUTDOWN_TIMEOUT_S)
        if "silence" in self._resources:
            self._resources.pop("silence").close()
        self._resources.clear()

    def _submit(
        self,
        function: Callable[[Task], Outcome],
        batches: list[list[Task]],
        merge: Callable[[Sequence[Outcome]], Outcome],
    ) -> Any:
        """Hand a run of pieces to the workers."""
        client, sent = self._get_client(), self._scatter_function(function)
        leaves = [
            client.submit(_run_batch, sent, piece, merge, read_versions(), pure=False) for piece in batches
        ]
        return client.submit(_merge_outcomes, leaves, merge, pure=False)

    def _collect(
        self,
        function: Callable[[Task], Outcome],
        batches: list[list[Task]],
        merge: Callable[[Sequence[Outcome]], Outcome],
        future: Any,
    ) -> tuple[Outcome, Counter[str]]:
        """Wait for a run of pieces; one whose workers were lost with all that they held is begun again."""
        for left in reversed(range(_MAX_ATTEMPTS)):
            try:
                outcome: tuple[Outcome, Counter[str]] = self._wait_for_result(future)
            except Exception as error:
                lost = isinstance(error, CancelledError) or _is_killed_worker(error)
                if not left or not lost or self._get_client().status != "running":
                    raise
                if self._resources["sent"][1].status != "finished":
                    self._resources.pop("sent")
                future = self._submit(function, batches, merge)
            else:
                return outcome
        raise AssertionError  # the last attempt returns or raises

    def _wait_for_result(self, future: Any) -> Any:
        """Wait until a future is done, as long as there is a worker to do it."""
        client, alone = self._get_client(), None
        while True:
            try:
                return future.result(timeout=_POLL_INTERVAL_S)
            except TimeoutError:
                if future.done():
                    raise
            if client.status != "running":
                continue  # it tries to reach its scheduler for a while, and gives up its futures then
            if client.ncores():
                alone = None
                continue
            alone = monotonic() if alone is None else alone
            if monotonic() > alone + _NO_WORKERS_TIMEOUT_S:
                raise BackendError(
                    f"all workers of {self.scheduler or 'this machine'} are gone; start some: with "
                    "--checkpoint the same command goes on from what was kept"
                )

    def _scatter_function(self, function: Callable[..., Any]) -> Any:
        """Send what scores to all workers, unless it is there."""
        if self._resources.get("sent", (None,))[0] is not function:
            self._resources["sent"] = (
                function,
                self._get_client().scatter(function, broadcast=True, hash=False),
            )
        return self._resources["sent"][1]

    def _get_client(self) -> Any:
        if "client" not in self._resources:
            if self.scheduler is None:
                self._resources["cluster"], self._resources["client"] = start_local_cluster(self.jobs)
            else:
                self._resources["client"] = connect_client(self.scheduler)
            self._resources["silence"] = ExitStack()
            self._resources["silence"].enter_context(mute_dask_logging())
            check_workers(self._resources["client"])
            if self.scheduler is None:
                self._resources["client"].run(_ignore_sigint)
        return self._resources["client"]


def _is_killed_worker(error: Exception) -> bool:
    """Say whether workers died of a task, or were lost with it."""
    from distributed import KilledWorker

    return isinstance(error, KilledWorker)


def _ignore_sigint() -> None:
    """Leave the interrupt of a terminal, which reaches all its processes, to the one that asks."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _split_batches(items: Sequence[Task], size: int) -> Iterator[list[Task]]:
    return (list(items[start : start + size]) for start in range(0, len(items), size))


def _run_batch(
    function: Callable[[Task], Outcome],
    tasks: Sequence[Task],
    merge: Callable[[Sequence[Outcome]], Outcome],
    expected_versions: dict[str, str],
) -> tuple[Outcome, Counter[str]]:
    """Do a piece, on a worker."""
    from distributed import get_worker

    check_versions(
        get_worker().address, read_versions(), expected_versions
    )  # this worker may have come later than the first look
    return merge([function(task) for task in tasks]), Counter({str(get_worker().name): len(tasks)})


def _merge_outcomes(
    outcomes: Sequence[tuple[Outcome, Counter[str]]], merge: Callable[[Sequence[Outcome]], Outcome]
) -> tuple[Outcome, Counter[str]]:
    """Merge the outcomes of pieces that follow each other, on a worker."""
    counts: Counter[str] = Counter()
    for _, by in outcomes:
        counts.update(by)
    return merge([outcome for outcome, _ in outcomes]), counts
