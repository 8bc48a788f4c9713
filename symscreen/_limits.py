"""What the system lets this process have: addresses (``ulimit -v``), data (``ulimit -d``), a cgroup's memory.

Libraries reserve more addresses than they use. What is written here as needed was measured as the most of
many runs, rounded up: it is a bound for starting, and what data take comes on top of it.

The memory of this process: what it holds now, and a refusal of what would take it over the limit.

The moment after which no more of a space is grown.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from symscreen.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    DeadlineCheck = Callable[[], None]

__all__ = [
    "CSV_PARSE_FACTOR",
    "JSON_PARSE_FACTOR",
    "MAX_JSON_BYTES",
    "REDUCTION_HINTS",
    "DeadlineExceeded",
    "MemoryLimit",
    "check_memory",
    "check_startup_memory",
    "compute_max_resident_bytes",
    "find_minimum",
    "format_bytes",
    "get_total_memory",
    "has_memory_for",
    "ignore_deadline",
    "make_deadline_check",
    "read_memory_limits",
    "read_resident_bytes",
]

# Bytes of a bundle, of a record beside its ranking, and of what a checkpoint is of: they have kilobytes.
MAX_JSON_BYTES = 16_000_000
# How many times their size texts take while they are read. Measured as the most of several: 30 for JSON, of
# nested lists (7 for a ranking); 48 for CSV, of cells of one letter (15 for a ranking).
JSON_PARSE_FACTOR = 32
CSV_PARSE_FACTOR = 50

_ROOT = Path("/")
_MIB = 1 << 20
_STARTUP_ADDRESS_BYTES = (
    640 * _MIB
)  # addresses that the interpreter, its libraries and compiled code take, modest as below
_STARTUP_RESIDENT_BYTES = 300 * _MIB  # what of them is held
_THREAD_BYTES = 12 * _MIB  # a thread's stack, and what it keeps of its own
_LATE_ADDRESS_BYTES = 160 * _MIB  # addresses that code compiled or loaded after the data were read may take
# Where addresses are limited: no arena of 1 GiB for Arrow, and no idle threads with arenas of 64 MiB each.
_ALLOCATOR_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
# A control group's limit, what it holds, and what of that can be had back; by the version of control groups.
_CGROUP_V1_FILES = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_CGROUP_V2_FILES = ("memory.max", "memory.current", "inactive_file")
_M_ARENA_MAX = -8  # of glibc's malloc.h


@dataclass(frozen=True)
class MemoryLimit:
    """What one limit leaves.

    Parameters
    ----------
    limit : str
        Its name, for messages.
    most : int
        Bytes that it allows in all.
    left : int
        Bytes beside those that the process has, at least 0.
    addresses : bool
        Whether addresses count, used or not; else memory that is held.
    """

    name: str
    limit_bytes: int
    headroom_bytes: int
    counts_addresses: bool


def read_memory_limits(root: Path = _ROOT) -> tuple[MemoryLimit, ...]:
    """Return what each limit on this process leaves; none where there are no limits, or they are not told.

    Parameters
    ----------
    root : Path
        Where ``proc`` and ``sys`` are.

    Examples
    --------
    >>> all(room.left >= 0 for room in read_memory_limits())
    True
    """
    return (*_read_process_limits(root), *_read_cgroup_limits(root))


def _read_process_limits(root: Path) -> list[MemoryLimit]:
    try:
        import resource

        told = dict(
            line.split(":", 1) for line in (root / "proc/self/status").read_text().splitlines() if ":" in line
        )
        used = {name: int(told[name].split()[0]) * 1024 for name in ("VmSize", "VmData")}
    except (ImportError, OSError, ValueError, LookupError):
        return []
    kinds = (
        (resource.RLIMIT_AS, "VmSize", "the limit on address space (ulimit -v)"),
        (resource.RLIMIT_DATA, "VmData", "the limit on data (ulimit -d)"),
    )
    limits = [(resource.getrlimit(kind)[0], used[name], words) for kind, name, words in kinds]
    return [
        MemoryLimit(words, limit, max(limit - size, 0), counts_addresses=True)
        for limit, size, words in limits
        if limit != resource.RLIM_INFINITY
    ]


def _read_cgroup_limits(root: Path) -> list[MemoryLimit]:
    """Read the control group of this process, and those around it."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        kind, _, path = line.partition(":")[2].partition(":")
        if kind and "memory" not in kind.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("memory" if kind else "")
        own = top / path.lstrip("/")
        # a container may see its own group at the top, whatever its path is outside
        for folder in (own, *own.parents):
            told = _read_cgroup_limit(folder, _CGROUP_V1_FILES if kind else _CGROUP_V2_FILES)
            if told is not None:
                found.append(
                    MemoryLimit("the limit on its control group's memory", *told, counts_addresses=False)
                )
            if folder == top:
                break
    return found


def _read_cgroup_limit(folder: Path, file_names: tuple[str, str, str]) -> tuple[int, int] | None:
    """Return what a group may hold and what is left of it; a file's pages that nobody uses count as left."""
    limit, usage, idle = file_names
    try:
        most = int((folder / limit).read_text())
        held = int((folder / usage).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        free = int(stat.get(idle, 0))
    except (OSError, ValueError):  # no such group here, or "max"
        return None
    return None if most >= 1 << 60 else (most, max(most - held + free, 0))


def compute_max_resident_bytes(resident_bytes: int, root: Path = _ROOT) -> int | None:
    """Return how much memory this process may hold in all, by the limits on it.

    Parameters
    ----------
    held : int
        Bytes that it holds now.
    root : Path
        As of `rooms`.

    Returns
    -------
    int or None
        Bytes, at least 0; None where there is no limit.

    Examples
    --------
    >>> most = compute_max_resident_bytes(10**9)
    >>> most is None or most >= 0
    True
    """
    left = [
        room.headroom_bytes - (_LATE_ADDRESS_BYTES if room.counts_addresses else 0)
        for room in read_memory_limits(root)
    ]
    return max(resident_bytes + min(left), 0) if left else None


@lru_cache(maxsize=1)
def get_total_memory() -> int | None:
    """Return the bytes of memory that this machine has, or that the limits on this process allow in all.

    Examples
    --------
    >>> whole = get_total_memory()
    >>> whole is None or whole > 10**7
    True
    """
    machine = None
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return find_minimum(machine, *(room.limit_bytes for room in read_memory_limits()))


def find_minimum(*amounts: int | None) -> int | None:
    """Return the least of amounts of which some may be unknown.

    Examples
    --------
    >>> find_minimum(3, None, 2), find_minimum(None)
    (2, None)
    """
    return min((one for one in amounts if one is not None), default=None)


def check_startup_memory(root: Path = _ROOT) -> None:
    """Refuse to start where the libraries would not fit: several of them end the process then.

    Where addresses are limited, libraries that are loaded later reserve fewer of them. To be called before
    numpy is imported; it changes the environment of this process then.

    Parameters
    ----------
    root : Path
        As of `rooms`.

    Raises
    ------
    SpaceError
        If a limit leaves less than starting takes.
    """
    found = read_memory_limits(root)
    if any(room.counts_addresses for room in found):
        _limit_allocators()
    threads = _THREAD_BYTES * (os.cpu_count() or 1)
    for room in found:
        needed = _STARTUP_ADDRESS_BYTES + threads if room.counts_addresses else _STARTUP_RESIDENT_BYTES
        if room.headroom_bytes < needed:
            raise MemoryLimitError(
                f"{room.name} leaves this process {format_bytes(room.headroom_bytes)}, and starting takes "
                f"{format_bytes(needed)} "
                "of it: raise that limit"
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


_STATM_PATH = Path("/proc/self/statm")
_FALLBACK_BYTES = 250_000_000  # the interpreter with numpy, numba and pandas, where the system does not tell
REDUCTION_HINTS = ("use fewer operators, inputs or layers", "cut the pool between layers with --keep 200")


def read_resident_bytes() -> int:
    """Return the bytes of memory that this process holds, or where the system tells only that, has held.

    Examples
    --------
    >>> 10**7 < read_resident_bytes() < 10**12
    True
    """
    try:
        return int(_STATM_PATH.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return _read_peak_resident_bytes()


def _read_peak_resident_bytes() -> int:
    try:
        import resource
    except ImportError:
        return _FALLBACK_BYTES
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024


def has_memory_for(required_bytes: int, max_bytes: int | None) -> bool:
    """Say whether so many bytes beside those that the process holds are allowed."""
    return max_bytes is None or read_resident_bytes() + required_bytes <= max_bytes


def check_memory(
    required_bytes: int, max_bytes: int | None, purpose: str, hints: Sequence[str] = REDUCTION_HINTS
) -> None:
    """Refuse what would take this process over the memory allowed.

    Parameters
    ----------
    needed : int
        Bytes beside those that the process holds.
    max_bytes : int or None
        What the process may hold.
    what : str
        What would take them, for the message.
    ways : sequence of str
        What the user may do, beside allowing more.

    Raises
    ------
    SpaceError
        If it is too much.
    """
    if max_bytes is None:
        return
    held = read_resident_bytes()
    if held > max_bytes:
        raise MemoryLimitError(
            f"the interpreter, its libraries and the table take {format_bytes(held)} before any space is "
            "grown, "
            f"{format_bytes(max_bytes)} are allowed: {_suggest_limit(held, held + required_bytes)}"
        )
    if held + required_bytes > max_bytes:
        raise MemoryLimitError(
            f"{purpose} would take this process to {format_bytes(held + required_bytes)}, of which "
            f"{format_bytes(held)} are held "
            f"already; {format_bytes(max_bytes)} are allowed: {', '.join(hints)}, or "
            f"{_suggest_limit(held, held + required_bytes)}"
        )


def _suggest_limit(resident_bytes: int, required_total: int) -> str:
    """Say what to raise: a limit of the system's, too, where that is what leaves less."""
    most = compute_max_resident_bytes(resident_bytes)
    beside = "" if most is None or required_total <= most else "the limit on this process's memory, and "
    return f"raise {beside}--max-ram to at least {_format_max_ram(required_total)}"


def _format_max_ram(n_bytes: int) -> str:
    """Write an amount, rounded up, as `--max-ram` reads it."""
    return f"{ceil(n_bytes / 1e8) / 10:.1f}GB" if n_bytes >= 1e9 else f"{ceil(n_bytes / 1e6)}MB"


class DeadlineExceeded(Exception):  # noqa: N818  # it tells of no error: what is complete stands
    """The time is over; what was under way is given up."""


def ignore_deadline() -> None:
    """Let work go on for as long as it takes."""


def make_deadline_check(deadline: float | None) -> DeadlineCheck:
    """Return what work calls now and then, to be ended when the time is over.

    Parameters
    ----------
    moment : float or None
        By `time.monotonic`; None for never.

    Returns
    -------
    callable
        Raises `DeadlineExceeded` after that moment.

    Examples
    --------
    >>> ends_at(None)()
    >>> ends_at(0.0)()
    Traceback (most recent call last):
    symscreen._limits.OutOfTime
    """
    if deadline is None:
        return ignore_deadline

    def check_deadline() -> None:
        if monotonic() > deadline:
            raise DeadlineExceeded

    return check_deadline
