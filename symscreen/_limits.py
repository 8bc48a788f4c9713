"""Limits of a run: memory that the system allows, memory that the user allows, and the deadline.

The system limits address space (``ulimit -v``), data (``ulimit -d``) and the memory of a control group.
Libraries reserve more addresses than they use. The amounts needed at startup are the largest of many measured
runs, rounded up. The memory for the data comes on top.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from symscreen.errors import MemoryLimitError
from symscreen.messages import name_option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import psutil

    DeadlineCheck = Callable[[], None]


# Largest size of a bundle, a record file or a checkpoint header. Usual sizes are kilobytes.
MAX_JSON_BYTES = 16_000_000
# Memory that parsing takes, as a multiple of the file size. The largest measured values are 30 for JSON with
# nested lists (7 for a ranking), and 48 for CSV with cells of one character (15 for a ranking).
JSON_PARSE_FACTOR = 32
CSV_PARSE_FACTOR = 50

_ROOT = Path("/")
_MIB = 1 << 20
# Addresses of the interpreter, its libraries and compiled code, with the environment below.
_STARTUP_ADDRESS_BYTES = 640 * _MIB
_STARTUP_RESIDENT_BYTES = 300 * _MIB
_THREAD_BYTES = 12 * _MIB  # memory of a thread: its stack and its own arrays
_LATE_ADDRESS_BYTES = 160 * _MIB  # addresses of code that is compiled or loaded after the data were read
# Variables that are set where addresses are limited. They avoid Arrow's arena of 1 GiB, and idle threads with
# arenas of 64 MiB each.
_ALLOCATOR_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
# Files of a control group by version: the limit, the memory in use, and the part of it that can be reclaimed.
_CGROUP_V1_FILES = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_CGROUP_V2_FILES = ("memory.max", "memory.current", "inactive_file")
_M_ARENA_MAX = -8  # parameter of mallopt in glibc's malloc.h

_SYSTEM_LIMIT = "the limit on this process's memory, and "
REDUCTION_HINTS = (
    "use fewer operators, inputs or layers",
    f"prune the pool between layers with {name_option('pool_size', 200)}",
)


@dataclass(frozen=True)
class MemoryLimit:
    """One memory limit of the system.

    Parameters
    ----------
    name : str
        The name of the limit, for messages.
    limit_bytes : int
        Bytes that the limit allows in total.
    headroom_bytes : int
        Bytes that the process may still take, at least 0.
    counts_addresses : bool
        Whether the limit counts reserved addresses. Otherwise it counts resident memory.
    """

    name: str
    limit_bytes: int
    headroom_bytes: int
    counts_addresses: bool


def read_memory_limits(root: Path = _ROOT) -> tuple[MemoryLimit, ...]:
    """Return the memory limits of this process; empty where there are none or they are unknown.

    Parameters
    ----------
    root : Path
        The folder that holds the files of control groups, ``proc`` and ``sys``.

    Examples
    --------
    >>> all(limit.headroom_bytes >= 0 for limit in read_memory_limits())
    True
    """
    return (*_read_process_limits(), *_read_cgroup_limits(root))


def _read_process_limits() -> list[MemoryLimit]:
    import psutil

    if not psutil.LINUX:
        return []
    process = _get_process(os.getpid())
    held = process.memory_info()
    limits = (
        ("the limit on address space (ulimit -v)", held.vms, process.rlimit(psutil.RLIMIT_AS)[0]),
        ("the limit on data (ulimit -d)", held.data, process.rlimit(psutil.RLIMIT_DATA)[0]),
    )
    return [
        MemoryLimit(name, limit, max(limit - used, 0), counts_addresses=True)
        for name, used, limit in limits
        if limit != psutil.RLIM_INFINITY
    ]


def _read_cgroup_limits(root: Path) -> list[MemoryLimit]:
    """Read the control group of this process, and those around it, which psutil ignores."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    limits = []
    for line in lines:
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        limit_file, usage_file, idle_key = _CGROUP_V1_FILES if controllers else _CGROUP_V2_FILES
        top = root / "sys/fs/cgroup" / ("memory" if controllers else "")
        own = top / path.lstrip("/")
        # A container may see its own group at the top, although its path outside is longer.
        for folder in (own, *own.parents)[: len(own.parts) - len(top.parts) + 1]:
            try:
                limit, used = int((folder / limit_file).read_text()), int((folder / usage_file).read_text())
                usage = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                headroom = max(limit - used + int(usage.get(idle_key, 0)), 0)  # pages of files can be freed
            except (OSError, ValueError):  # no such group here, or "max"
                continue
            if limit < 1 << 60:
                name = "the limit on its control group's memory"
                limits.append(MemoryLimit(name, limit, headroom, counts_addresses=False))
    return limits


def compute_max_resident_bytes(resident_bytes: int, root: Path = _ROOT) -> int | None:
    """Compute the memory that the system's limits allow this process in total.

    Parameters
    ----------
    resident_bytes : int
        Memory that the process holds now.
    root : Path
        See `read_memory_limits`.

    Returns
    -------
    int or None
        Bytes, at least 0; None without a limit.

    Examples
    --------
    >>> limit = compute_max_resident_bytes(10**9)
    >>> limit is None or limit >= 0
    True
    """
    headrooms = [
        limit.headroom_bytes - (_LATE_ADDRESS_BYTES if limit.counts_addresses else 0)
        for limit in read_memory_limits(root)
    ]
    return max(resident_bytes + min(headrooms), 0) if headrooms else None


@lru_cache(maxsize=1)
def get_total_memory() -> int:
    """Return the memory of this machine in bytes, or the smallest limit on this process.

    Examples
    --------
    >>> get_total_memory() > 10**7
    True
    """
    import psutil

    return min([int(psutil.virtual_memory().total), *(limit.limit_bytes for limit in read_memory_limits())])


def find_minimum(*amounts: int | None) -> int | None:
    """Return the smallest of the known amounts.

    Examples
    --------
    >>> find_minimum(3, None, 2), find_minimum(None)
    (2, None)
    """
    return min((amount for amount in amounts if amount is not None), default=None)


def check_startup_memory(root: Path = _ROOT) -> None:
    """Refuse to start if the libraries do not fit into memory, because several of them would abort.

    Call it before numpy is imported. Where addresses are limited, it sets environment variables so that
    libraries reserve fewer of them.

    Parameters
    ----------
    root : Path
        See `read_memory_limits`.

    Raises
    ------
    MemoryLimitError
        If a limit leaves less memory than starting takes.
    """
    limits = read_memory_limits(root)
    if any(limit.counts_addresses for limit in limits):
        _limit_allocators()
    threads = _THREAD_BYTES * (os.cpu_count() or 1)
    for limit in limits:
        required = _STARTUP_ADDRESS_BYTES + threads if limit.counts_addresses else _STARTUP_RESIDENT_BYTES
        if limit.headroom_bytes < required:
            raise MemoryLimitError(
                f"{limit.name} leaves this process {format_bytes(limit.headroom_bytes)}, and starting takes "
                f"{format_bytes(required)} of it: raise that limit"
            )


def _limit_allocators() -> None:
    for name, value in _ALLOCATOR_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import ctypes

        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    except (ImportError, OSError, AttributeError, TypeError):  # not glibc
        return


def format_bytes(n_bytes: int) -> str:
    """Write an amount of memory.

    Examples
    --------
    >>> format_bytes(1_540_000_000), format_bytes(25_000_000), format_bytes(800)
    ('1.5 GB', '25.0 MB', '0.8 kB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes / 1e3:.1f} kB"


def read_resident_bytes() -> int:
    """Return the resident memory of this process in bytes.

    Examples
    --------
    >>> 10**7 < read_resident_bytes() < 10**12
    True
    """
    return int(_get_process(os.getpid()).memory_info().rss)


@lru_cache(maxsize=1)  # making the object takes longer than reading the memory
def _get_process(process_id: int) -> psutil.Process:
    """Return psutil's object of this process; a forked process has one of its own."""
    import psutil

    return psutil.Process(process_id)


def has_memory_for(required_bytes: int, max_bytes: int | None) -> bool:
    """Return whether the process may take `required_bytes` more."""
    return max_bytes is None or read_resident_bytes() + required_bytes <= max_bytes


def check_memory(
    required_bytes: int, max_bytes: int | None, purpose: str, hints: Sequence[str] = REDUCTION_HINTS
) -> None:
    """Raise an error if a step would exceed the memory limit.

    Parameters
    ----------
    required_bytes : int
        Bytes that the step takes in addition to those that the process holds.
    max_bytes : int or None
        The most that the process may hold; None for no limit.
    purpose : str
        The step, for the message.
    hints : sequence of str
        Ways to need less memory, for the message.

    Raises
    ------
    MemoryLimitError
        If the step would exceed the limit.
    """
    if max_bytes is None:
        return
    held = read_resident_bytes()
    if held > max_bytes:
        raise MemoryLimitError(
            f"the interpreter, its libraries and the table take {format_bytes(held)} before any space is "
            f"grown, {format_bytes(max_bytes)} are allowed: {_suggest_limit(held, held + required_bytes)}"
        )
    if held + required_bytes > max_bytes:
        raise MemoryLimitError(
            f"{purpose} would take this process to {format_bytes(held + required_bytes)}, "
            f"{format_bytes(held)} of them held already; {format_bytes(max_bytes)} are allowed: "
            f"{', '.join(hints)}, or "
            f"{_suggest_limit(held, held + required_bytes)}"
        )


def _suggest_limit(resident_bytes: int, required_total: int) -> str:
    """Name the limits to raise: the option `max_ram`, and the system's limit if it is too low as well."""
    system_limit = compute_max_resident_bytes(resident_bytes)
    too_low = system_limit is not None and required_total > system_limit
    return (
        f"raise {_SYSTEM_LIMIT if too_low else ''}{name_option('max_ram')} to at least "
        f"{_format_max_ram(required_total)}"
    )


def _format_max_ram(n_bytes: int) -> str:
    """Format an amount, rounded up, as the option `max_ram` reads it."""
    return f"{ceil(n_bytes / 1e8) / 10:.1f}GB" if n_bytes >= 1e9 else f"{ceil(n_bytes / 1e6)}MB"


class DeadlineExceeded(Exception):  # noqa: N818  # not an error: complete layers are used
    """The deadline has passed; unfinished work is dropped."""


def ignore_deadline() -> None:
    """Do nothing, since no deadline is set."""


def make_deadline_check(deadline: float | None) -> DeadlineCheck:
    """Return a function that long-running work calls regularly.

    Parameters
    ----------
    deadline : float or None
        A time of `time.monotonic` in seconds; None for no deadline.

    Returns
    -------
    callable
        Raises `DeadlineExceeded` after the deadline.

    Examples
    --------
    >>> make_deadline_check(None)()
    >>> make_deadline_check(0.0)()
    Traceback (most recent call last):
    symscreen._limits.DeadlineExceeded
    """
    if deadline is None:
        return ignore_deadline

    def check_deadline() -> None:
        if monotonic() > deadline:
            raise DeadlineExceeded

    return check_deadline
