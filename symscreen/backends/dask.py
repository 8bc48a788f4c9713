"""The Dask backend: run tasks in worker processes of this machine or of a cluster.

The scoring function, including the pool of features, is sent to each worker once. A Dask task processes a
run of chunks and merges their outcomes. A worker merges the outcomes of several such tasks, and only the
merged table is returned. The number of tasks in progress depends on the number of workers, not on the size
of the space.

Before a client is created, the scheduler at the address is asked for its identity. A client that fails to
connect would keep trying in the background and write to stderr. Connection problems are reported as one-line
errors.
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
from symscreen.errors import BackendError, InputError, OptionError
from symscreen.messages import escape_control_chars, name_option, name_subject, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


_CONNECT_TIMEOUT_S = 10.0  # time for a scheduler to answer
_FIRST_WORKER_TIMEOUT_S = 30.0  # time for its first worker to appear
_HOST_PATTERN = r"\[[0-9A-Fa-f:.]{2,45}\]|[\w.-]{1,253}"
_ADDRESS_PATTERN = re.compile(rf"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:{_HOST_PATTERN}):(\d{{1,5}})", re.ASCII)
_INPROC_PATTERN = re.compile(r"inproc://[^/]{1,253}/(\d{1,10})/\d{1,10}", re.ASCII)
_LOGGER_NAMES = ("distributed", "tornado", "asyncio")

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")

_TASKS_PER_WORKER = 16  # tasks per worker and stage, so that no worker waits long for the last one
_MAX_TASK_CHUNKS = 256  # chunks per task: a few seconds of work
_MAX_MERGED_TASKS = 8  # tasks whose outcomes a worker merges before they are returned
_RUNNING_TASKS_PER_WORKER = 4  # tasks per worker in progress
_MAX_ATTEMPTS = 5  # attempts for a run of tasks whose workers are lost
_POLL_INTERVAL_S = 2.0  # interval between two checks for workers
_NO_WORKERS_TIMEOUT_S = 60.0  # time without any worker before the run fails
_SHUTDOWN_TIMEOUT_S = 5.0  # time for the cluster to shut down


def check_address(address: str) -> None:
    """Check that an address may be that of a scheduler that this process can reach.

    Parameters
    ----------
    address : str
        Address given by the user.

    Raises
    ------
    OptionError
        If the address is invalid.

    Examples
    --------
    >>> check_address("tcp://10.0.0.1:8786")
    >>> check_address("tcp://10.0.0.1:99999")
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: scheduler is 'tcp://10.0.0.1:99999'; give its address, such as
    tcp://10.0.0.1:8786
    """
    inproc_match = _INPROC_PATTERN.fullmatch(address)
    if inproc_match is not None and int(inproc_match[1]) == os.getpid():
        return  # a cluster in this process
    match = _ADDRESS_PATTERN.fullmatch(address)
    if match is None or not 1 <= int(match[1]) <= 65535:
        raise OptionError(
            f"{name_subject('scheduler')} is {quote(address)}; give its address, such as tcp://10.0.0.1:8786"
        )


def connect_client(address: str) -> Any:
    """Connect to a scheduler that has at least one worker.

    Parameters
    ----------
    address : str
        Address of the scheduler.

    Returns
    -------
    distributed.Client

    Raises
    ------
    OptionError
        If no scheduler answers, or no worker appears in time.
    """
    distributed = _import_distributed()
    check_address(address)
    try:
        with ThreadPoolExecutor(1) as executor:  # in a notebook, this thread already runs an event loop
            executor.submit(_check_scheduler, address).result()
        client = distributed.Client(address, timeout=_CONNECT_TIMEOUT_S, set_as_default=False)
    except OptionError:
        raise
    except Exception as error:  # noqa: BLE001  # any server may answer there, in any way
        raise OptionError(f"no Dask scheduler answers at {address} ({_get_first_line(error)})") from None
    try:
        _wait_for_workers(client, address)
    except BaseException:
        _close_quietly(client)
        raise
    return client


def _wait_for_workers(client: Any, address: str) -> None:
    """Wait until the scheduler has a worker."""
    deadline = monotonic() + _FIRST_WORKER_TIMEOUT_S
    while not client.ncores():
        if monotonic() > deadline:
            raise OptionError(
                f"the Dask scheduler at {address} has no workers: start some, "
                f"dask worker {address} --nthreads 1"
            )
        sleep(0.1)


def _check_scheduler(address: str) -> None:
    """Check that the server at an address is a Dask scheduler."""
    import asyncio

    from distributed.core import rpc
    from distributed.security import Security

    async def ask_identity() -> str:
        connection_args = Security().get_connection_args("client")
        if address.startswith(("tls://", "wss://")) and connection_args.get("ssl_context") is None:
            raise OptionError(
                f"{address} needs certificates: name them in Dask's configuration, distributed.comm.tls"
            )
        async with rpc(address, connection_args=connection_args, timeout=_CONNECT_TIMEOUT_S) as server:
            return str((await server.identity())["type"])

    async def ask_with_timeout() -> str:
        return await asyncio.wait_for(ask_identity(), _CONNECT_TIMEOUT_S)

    kind = asyncio.run(ask_with_timeout())
    if kind != "Scheduler":
        raise OptionError(f"the server at {address} is a Dask {quote(kind)}, not a scheduler")


def start_local_cluster(jobs: int) -> tuple[Any, Any]:
    """Start worker processes on this machine.

    Parameters
    ----------
    jobs : int
        Number of processes.

    Returns
    -------
    distributed.LocalCluster
        The cluster.
    distributed.Client
        Its client.

    Raises
    ------
    OptionError
        If the processes cannot be started.
    """
    distributed, cluster = _import_distributed(), None
    try:
        cluster = distributed.LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # the HTTP server uses any free port
            memory_limit=0,  # symscreen observes `max_ram` itself; Dask must not kill workers
            silence_logs=logging.CRITICAL,
        )
        return cluster, distributed.Client(cluster, set_as_default=False)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # the components of Dask raise many kinds of errors
        if cluster is not None:
            _close_quietly(cluster)
        raise OptionError(
            f"{jobs} worker processes could not be started ({_get_first_line(error)}); ask for fewer "
            f"{name_option('jobs')}, or leave out the backend dask"
        ) from None


def _import_distributed() -> Any:
    """Import Dask, or raise an error that says how to install it."""
    try:
        import distributed
    except ImportError:
        raise OptionError(
            "the backend dask needs Dask, which is not installed: pip install 'symscreen[dask]'"
        ) from None
    return distributed


def check_workers(client: Any) -> None:
    """Check that all workers have symscreen and the same versions of the numerical packages.

    Parameters
    ----------
    client : distributed.Client
        Client of the cluster.

    Raises
    ------
    OptionError
        If a worker cannot run symscreen.
    BackendError
        If a worker has another version of a package.
    """
    for worker, worker_versions in client.run(read_versions, on_error="return").items():
        if isinstance(worker_versions, Exception):
            raise OptionError(
                f"the worker {worker} cannot run symscreen ({_get_first_line(worker_versions)}): install the "
                "same version there as here"
            )
        check_versions(worker, worker_versions, read_versions())


def check_versions(worker: str, worker_versions: dict[str, str], expected_versions: dict[str, str]) -> None:
    """Check that a worker has the expected versions of the numerical packages.

    Parameters
    ----------
    worker : str
        Address of the worker.
    worker_versions, expected_versions : dict of str to str
        Versions by package, see `read_versions`.

    Raises
    ------
    BackendError
        If a version differs.
    """
    for package, version in expected_versions.items():
        if worker_versions.get(package) != version:
            raise BackendError(
                f"the worker {worker} has {package} {worker_versions.get(package)} and this process "
                f"{version}: install the same version on both"
            )


@lru_cache(maxsize=1)
def read_versions() -> dict[str, str]:
    """Return the versions of symscreen and of the numerical packages in this process.

    Examples
    --------
    >>> sorted(read_versions())
    ['numba', 'numpy', 'scipy', 'symscreen']
    """
    from importlib import metadata

    return {package: metadata.version(package) for package in ("symscreen", "numpy", "numba", "scipy")}


def _close_quietly(resource: Any) -> None:
    """Close a client or cluster and ignore errors."""
    with suppress(Exception):
        resource.close(timeout=3)


@contextmanager
def mute_dask_logging() -> Iterator[None]:
    """Disable the loggers of Dask; relevant problems are reported by symscreen."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _LOGGER_NAMES]
    loggers = [
        logging.getLogger(name)
        for name in {*_LOGGER_NAMES, *names, "distributed.client", "tornado.application"}
    ]
    states = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, states, strict=True):
            logger.disabled = disabled


def _get_first_line(error: BaseException) -> str:
    """Return the first line of an error message, at most 120 characters."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return escape_control_chars(lines[0])[:120]


@dataclass(frozen=True)
class Dask:
    """Runs tasks in Dask worker processes.

    Parameters
    ----------
    jobs : int
        Number of worker processes of a local cluster. Work that is not split into ranges (the layers before
        the last, joint screeners) runs in as many threads of this process.
    scheduler : str or None
        Address of a scheduler whose workers are used instead, such as ``tcp://10.0.0.1:8786``. Dask processes
        trust each other, so use a scheduler only on a network that you trust.
    name : str
        Name of the backend in the record.

    Raises
    ------
    OptionError
        If the scheduler's address is invalid. On first use, also if Dask is not installed, no scheduler
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
        """Run tasks in threads of this process, which share its memory."""
        return Threads(self.jobs).map(function, tasks)

    def map_reduce(
        self,
        function: Callable[[Task], Outcome],
        tasks: Sequence[Task],
        merge: Callable[[Sequence[Outcome]], Outcome],
    ) -> Iterator[tuple[int, Outcome]]:
        """Yield the number of tasks and their merged outcome, for consecutive runs of tasks.

        Parameters
        ----------
        function : callable
            Maps a task to an outcome. It is sent only once if the same object is passed again.
        tasks : sequence
            Tasks, in order.
        merge : callable
            Merges consecutive outcomes. Must be associative.

        Yields
        ------
        int
            Number of consecutive tasks in the outcome.
        object
            Their merged outcome.

        Raises
        ------
        BackendError
            If the scheduler or all workers are lost, or a worker cannot be used.
        """
        with self._translate_errors():
            yield from self._run_map_reduce(function, tasks, merge)

    def _run_map_reduce(
        self,
        function: Callable[[Task], Outcome],
        tasks: Sequence[Task],
        merge: Callable[[Sequence[Outcome]], Outcome],
    ) -> Iterator[tuple[int, Outcome]]:
        """Run tasks on the workers, without translating errors."""
        client = self._get_client()
        n_workers = max(1, len(client.ncores()))
        batches = list(
            _split_batches(
                tasks, max(1, min(_MAX_TASK_CHUNKS, len(tasks) // (_TASKS_PER_WORKER * n_workers)))
            )
        )
        batches_per_run = max(1, min(_MAX_MERGED_TASKS, len(batches) // (_TASKS_PER_WORKER * n_workers)))
        pending = _split_batches(batches, batches_per_run)
        max_running = 1 + -(-_RUNNING_TASKS_PER_WORKER * n_workers // batches_per_run)
        running: deque[tuple[list[list[Task]], Any]] = deque()
        try:
            running.extend((run, self._submit(function, run, merge)) for run in islice(pending, max_running))
            while running:
                run, future = running.popleft()
                outcome, chunk_counts = self._collect(function, run, merge, future)
                running.extend(
                    (next_run, self._submit(function, next_run, merge)) for next_run in islice(pending, 1)
                )
                self._chunk_counts.update(chunk_counts)
                yield sum(map(len, run)), outcome
        finally:
            with suppress(Exception):  # if the scheduler is lost, there is nothing to cancel
                client.cancel([future for _, future in running])

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn errors of a lost cluster into one-line errors; errors of the computation pass unchanged."""
        try:
            yield
        except (InputError, MemoryError):
            raise
        except Exception as error:
            client = self._resources.get("client")
            # the connection may break before the client notices
            is_closed = type(error).__name__ == "CommClosedError"
            is_lost = client is not None and (client.status != "running" or is_closed)
            if not (
                is_lost
                or isinstance(error, CancelledError | ImportError | OSError)
                or _is_killed_worker(error)
            ):
                raise
            where = self.scheduler or "this machine"
            reason = escape_control_chars((str(error).strip().splitlines() or [type(error).__name__])[0])[
                :100
            ]
            problem = (
                f"the Dask scheduler at {where} was lost" if is_lost else f"Dask's workers failed: {reason}"
            )
            raise BackendError(
                f"{problem}; restart it: with {name_option('checkpoint')}, the same command resumes from "
                "the saved state"
            ) from None

    @property
    def metadata(self) -> dict[str, Any]:
        """Entries of the record: the number of workers, and the number of chunks that each processed."""
        return {"workers": len(self._chunk_counts), "chunks": dict(sorted(self._chunk_counts.items()))}

    def close(self) -> None:
        """Disconnect from the workers; those of a local cluster are stopped."""
        for resource in ("client", "cluster"):
            if resource in self._resources:
                with suppress(Exception):  # a lost scheduler cannot be closed
                    self._resources.pop(resource).close(timeout=_SHUTDOWN_TIMEOUT_S)
        if "silence" in self._resources:
            self._resources.pop("silence").close()
        self._resources.clear()

    def _submit(
        self,
        function: Callable[[Task], Outcome],
        batches: list[list[Task]],
        merge: Callable[[Sequence[Outcome]], Outcome],
    ) -> Any:
        """Submit a run of batches to the workers."""
        client, remote_function = self._get_client(), self._scatter_function(function)
        futures = [
            client.submit(_run_batch, remote_function, batch, merge, read_versions(), pure=False)
            for batch in batches
        ]
        return client.submit(_merge_outcomes, futures, merge, pure=False)

    def _collect(
        self,
        function: Callable[[Task], Outcome],
        batches: list[list[Task]],
        merge: Callable[[Sequence[Outcome]], Outcome],
        future: Any,
    ) -> tuple[Outcome, Counter[str]]:
        """Wait for a run of batches; if its workers are lost, submit it again."""
        for attempts_left in reversed(range(_MAX_ATTEMPTS)):
            try:
                outcome: tuple[Outcome, Counter[str]] = self._wait_for_result(future)
            except Exception as error:
                is_lost = isinstance(error, CancelledError) or _is_killed_worker(error)
                if not attempts_left or not is_lost or self._get_client().status != "running":
                    raise
                if self._resources["sent"][1].status != "finished":
                    self._resources.pop("sent")
                future = self._submit(function, batches, merge)
            else:
                return outcome
        raise AssertionError  # the last attempt returns or raises

    def _wait_for_result(self, future: Any) -> Any:
        """Wait for a future, as long as there are workers."""
        client, no_workers_since = self._get_client(), None
        while True:
            try:
                return future.result(timeout=_POLL_INTERVAL_S)
            except TimeoutError:
                if future.done():
                    raise
            if client.status != "running":
                continue  # the client tries to reconnect for a while, and then cancels its futures
            if client.ncores():
                no_workers_since = None
                continue
            no_workers_since = monotonic() if no_workers_since is None else no_workers_since
            if monotonic() > no_workers_since + _NO_WORKERS_TIMEOUT_S:
                raise BackendError(
                    f"all workers of {self.scheduler or 'this machine'} are gone; start some: with "
                    f"{name_option('checkpoint')}, the same command resumes from the saved state"
                )

    def _scatter_function(self, function: Callable[..., Any]) -> Any:
        """Send the scoring function to all workers, unless it was sent before."""
        if self._resources.get("sent", (None,))[0] is not function:
            self._resources["sent"] = (
                function,
                self._get_client().scatter(function, broadcast=True, hash=False),
            )
        return self._resources["sent"][1]

    def _get_client(self) -> Any:
        """Return the client; start or connect to the cluster on first use."""
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
    """Return whether a task was abandoned because its workers died."""
    from distributed import KilledWorker

    return isinstance(error, KilledWorker)


def _ignore_sigint() -> None:
    """Ignore the interrupt of a terminal, which reaches all processes; the main process handles it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _split_batches(items: Sequence[Task], size: int) -> Iterator[list[Task]]:
    """Split items into lists of at most `size`."""
    return (list(items[start : start + size]) for start in range(0, len(items), size))


def _run_batch(
    function: Callable[[Task], Outcome],
    tasks: Sequence[Task],
    merge: Callable[[Sequence[Outcome]], Outcome],
    expected_versions: dict[str, str],
) -> tuple[Outcome, Counter[str]]:
    """Process a batch of tasks on a worker."""
    from distributed import get_worker

    # this worker may have joined after `check_workers`
    check_versions(get_worker().address, read_versions(), expected_versions)
    return merge([function(task) for task in tasks]), Counter({str(get_worker().name): len(tasks)})


def _merge_outcomes(
    outcomes: Sequence[tuple[Outcome, Counter[str]]], merge: Callable[[Sequence[Outcome]], Outcome]
) -> tuple[Outcome, Counter[str]]:
    """Merge the outcomes of consecutive batches on a worker."""
    counts: Counter[str] = Counter()
    for _, batch_counts in outcomes:
        counts.update(batch_counts)
    return merge([outcome for outcome, _ in outcomes]), counts
