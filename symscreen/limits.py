"""What the system lets this process have: addresses (``ulimit -v``), data (``ulimit -d``), a cgroup's memory.

Libraries reserve more addresses than they use. What is written here as needed was measured as the most of
many runs, rounded up: it is a bound for starting, and what data take comes on top of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from symscreen.errors import SpaceError

__all__ = [
    "CSV_GROWS",
    "JSON_GROWS",
    "MOST_JSON",
    "Room",
    "amount",
    "check_start",
    "least",
    "may_hold",
    "rooms",
    "whole_memory",
]

# Bytes of a bundle, of a record beside its ranking, and of what a checkpoint is of: they have kilobytes.
MOST_JSON = 16_000_000
# How many times their size texts take while they are read. Measured as the most of several: 30 for JSON, of
# nested lists (7 for a ranking); 48 for CSV, of cells of one letter (15 for a ranking).
JSON_GROWS = 32
CSV_GROWS = 50

_ROOT = Path("/")
_MIB = 1 << 20
_START = 640 * _MIB  # addresses that the interpreter, its libraries and compiled code take, modest as below
_START_HELD = 300 * _MIB  # what of them is held
_A_CORE = 12 * _MIB  # a thread's stack, and what it keeps of its own
_LATER = 160 * _MIB  # addresses that code compiled or loaded after the data were read may take
# Where addresses are limited: no arena of 1 GiB for Arrow, and no idle threads with arenas of 64 MiB each.
_MODEST = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "ARROW_IO_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
# A control group's limit, what it holds, and what of that can be had back; by the version of control groups.
_FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_SECOND = ("memory.max", "memory.current", "inactive_file")
_M_ARENA_MAX = -8  # of glibc's malloc.h


@dataclass(frozen=True)
class Room:
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

    limit: str
    most: int
    left: int
    addresses: bool


def rooms(root: Path = _ROOT) -> tuple[Room, ...]:
    """Return what each limit on this process leaves; none where there are no limits, or they are not told.

    Parameters
    ----------
    root : Path
        Where ``proc`` and ``sys`` are.

    Examples
    --------
    >>> all(room.left >= 0 for room in rooms())
    True
    """
    return (*_own(root), *_shared(root))


def _own(root: Path) -> list[Room]:
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
        Room(words, limit, max(limit - size, 0), addresses=True)
        for limit, size, words in limits
        if limit != resource.RLIM_INFINITY
    ]


def _shared(root: Path) -> list[Room]:
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
            told = _told_in(folder, _FIRST if kind else _SECOND)
            if told is not None:
                found.append(Room("the limit on its control group's memory", *told, addresses=False))
            if folder == top:
                break
    return found


def _told_in(folder: Path, names: tuple[str, str, str]) -> tuple[int, int] | None:
    """Return what a group may hold and what is left of it; a file's pages that nobody uses count as left."""
    limit, usage, idle = names
    try:
        most = int((folder / limit).read_text())
        held = int((folder / usage).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        free = int(stat.get(idle, 0))
    except (OSError, ValueError):  # no such group here, or "max"
        return None
    return None if most >= 1 << 60 else (most, max(most - held + free, 0))


def may_hold(held: int, root: Path = _ROOT) -> int | None:
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
    >>> most = may_hold(10**9)
    >>> most is None or most >= 0
    True
    """
    left = [room.left - (_LATER if room.addresses else 0) for room in rooms(root)]
    return max(held + min(left), 0) if left else None


@lru_cache(maxsize=1)
def whole_memory() -> int | None:
    """Return the bytes of memory that this machine has, or that the limits on this process allow in all.

    Examples
    --------
    >>> whole = whole_memory()
    >>> whole is None or whole > 10**7
    True
    """
    machine = None
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return least(machine, *(room.most for room in rooms()))


def least(*amounts: int | None) -> int | None:
    """Return the least of amounts of which some may be unknown.

    Examples
    --------
    >>> least(3, None, 2), least(None)
    (2, None)
    """
    return min((one for one in amounts if one is not None), default=None)


def check_start(root: Path = _ROOT) -> None:
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
    found = rooms(root)
    if any(room.addresses for room in found):
        _be_modest()
    threads = _A_CORE * (os.cpu_count() or 1)
    for room in found:
        needed = _START + threads if room.addresses else _START_HELD
        if room.left < needed:
            raise SpaceError(
                f"{room.limit} leaves this process {amount(room.left)}, and starting takes {amount(needed)} "
                "of it: raise that limit"
            )


def _be_modest() -> None:
    for name, value in _MODEST.items():
        os.environ.setdefault(name, value)
    try:
        import ctypes

        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)
    except (ImportError, OSError, AttributeError, TypeError):  # not glibc
        return


def amount(size: int) -> str:
    """Write an amount of memory.

    Examples
    --------
    >>> amount(1_540_000_000), amount(25_000_000), amount(800)
    ('1.5 GB', '25.0 MB', '0.8 kB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1e3:.1f} kB"
