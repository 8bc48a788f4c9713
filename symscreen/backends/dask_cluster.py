"""Getting at a Dask cluster, and telling in one line where there is none that can be used.

Whatever stands at an address is asked who it is before a client is made of it: one that fails half way would
go on trying in the background, and write of it on standard error.
"""

from __future__ import annotations

import logging
import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from symscreen.errors import BackendError, OptionError, printable, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "check_address",
    "check_same",
    "check_workers",
    "cluster_here",
    "connected",
    "silenced",
    "versions",
]

_PATIENCE = 10.0  # seconds for a scheduler to answer
_FOR_WORKERS = 30.0  # seconds for its first worker
_HOST = r"\[[0-9A-Fa-f:.]{2,45}\]|[\w.-]{1,253}"
_ADDRESS = re.compile(rf"(?:(?:tcp|tls|ws|wss|ucx)://)?(?:{_HOST}):(\d{{1,5}})", re.ASCII)
_IN_PROCESS = re.compile(r"inproc://[^/]{1,253}/(\d{1,10})/\d{1,10}", re.ASCII)
_LOUD = ("distributed", "tornado", "asyncio")


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
    inside = _IN_PROCESS.fullmatch(address)
    if inside is not None and int(inside[1]) == os.getpid():
        return  # of a cluster in this very process
    found = _ADDRESS.fullmatch(address)
    if found is None or not 1 <= int(found[1]) <= 65535:
        raise OptionError(f"scheduler is {quoted(address)}; give its address, such as tcp://10.0.0.1:8786")


def connected(address: str) -> Any:
    """Return a client of the scheduler at an address, which has a worker at least.

    Raises
    ------
    OptionError
        If no scheduler answers there, or none of its workers comes.
    """
    distributed = _distributed()
    check_address(address)
    try:
        with ThreadPoolExecutor(1) as own:  # a notebook has a loop of its own in this thread
            own.submit(_check_scheduler, address).result()
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except OptionError:
        raise
    except Exception as error:  # noqa: BLE001  # whatever answers there may answer anything
        raise OptionError(f"no Dask scheduler answers at {address} ({_first_line(error)})") from None
    try:
        _wait_for_workers(client, address)
    except BaseException:
        _closed(client)
        raise
    return client


def _wait_for_workers(client: Any, address: str) -> None:
    until = monotonic() + _FOR_WORKERS
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

    async def ask() -> str:
        given = Security().get_connection_args("client")
        if address.startswith(("tls://", "wss://")) and given.get("ssl_context") is None:
            raise OptionError(
                f"{address} needs certificates: name them in Dask's configuration, distributed.comm.tls"
            )
        async with rpc(address, connection_args=given, timeout=_PATIENCE) as there:
            return str((await there.identity())["type"])

    async def in_time() -> str:
        return await asyncio.wait_for(ask(), _PATIENCE)

    kind = asyncio.run(in_time())
    if kind != "Scheduler":
        raise OptionError(f"at {address} answers a {quoted(kind)} of Dask, not a scheduler")


def cluster_here(jobs: int) -> tuple[Any, Any]:
    """Start processes on this machine; return their cluster and its client.

    Raises
    ------
    OptionError
        If they do not start.
    """
    distributed, cluster = _distributed(), None
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
            _closed(cluster)
        raise OptionError(
            f"{jobs} worker processes could not be started ({_first_line(error)}); ask for fewer --jobs, or "
            "leave out the backend dask"
        ) from None


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise OptionError(
            "the backend dask needs Dask, which is not installed: pip install 'symscreen[dask]'"
        ) from None
    return distributed


def check_workers(client: Any) -> None:
    """Refuse workers that have no symscreen, or whose arithmetic may be another."""
    for worker, theirs in client.run(versions, on_error="return").items():
        if isinstance(theirs, Exception):
            raise OptionError(
                f"the worker {worker} cannot run symscreen ({_first_line(theirs)}): install the same version "
                "there as here"
            )
        check_same(worker, theirs, versions())


def check_same(worker: str, theirs: dict[str, str], ours: dict[str, str]) -> None:
    """Refuse a worker that has another version of what computes."""
    for package, version in ours.items():
        if theirs.get(package) != version:
            raise BackendError(
                f"the worker {worker} has {package} {theirs.get(package)} and this process {version}: "
                "install the same version on both"
            )


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of what computes here.

    Examples
    --------
    >>> sorted(versions())
    ['numba', 'numpy', 'scipy', 'symscreen']
    """
    from importlib import metadata

    return {package: metadata.version(package) for package in ("symscreen", "numpy", "numba", "scipy")}


def _closed(what: Any) -> None:
    with suppress(Exception):
        what.close(timeout=3)


@contextmanager
def silenced() -> Iterator[None]:
    """Keep Dask from writing lines of its own: what matters of them is told by ours."""
    known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _LOUD]
    loud = [logging.getLogger(name) for name in {*_LOUD, *known, "distributed.client", "tornado.application"}]
    before = [logger.disabled for logger in loud]
    for logger in loud:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loud, before, strict=True):
            logger.disabled = disabled


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return printable(lines[0])[:120]
