"""The memory of this process: what it holds now, and a refusal of what would take it over the limit."""

from __future__ import annotations

import os
import sys
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from symscreen.errors import SpaceError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FEWER", "amount", "require", "resident"]

_STATM = Path("/proc/self/statm")
_FALLBACK = 250_000_000  # the interpreter with numpy, numba and pandas, where the system does not tell
FEWER = ("use fewer operators, inputs or layers", "cut the pool between layers with --keep 200")


def resident() -> int:
    """Return the bytes of memory that this process holds, or where the system tells only that, has held.

    Examples
    --------
    >>> 10**7 < resident() < 10**12
    True
    """
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return _most_held()


def _most_held() -> int:
    try:
        import resource
    except ImportError:
        return _FALLBACK
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held * 1024


def require(needed: int, max_bytes: int | None, what: str, ways: Sequence[str] = FEWER) -> None:
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
    held = resident()
    if held > max_bytes:
        raise SpaceError(
            f"the interpreter, its libraries and the table take {amount(held)} before any space is grown, "
            f"{amount(max_bytes)} are allowed: raise --max-ram to at least {_enough(held + needed)}"
        )
    if held + needed > max_bytes:
        raise SpaceError(
            f"{what} would take this process to {amount(held + needed)}, {amount(max_bytes)} are allowed: "
            f"{', '.join(ways)}, or raise --max-ram to {_enough(held + needed)}"
        )


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


def _enough(size: int) -> str:
    """Write an amount, rounded up, as `--max-ram` reads it."""
    return f"{ceil(size / 1e8) / 10:.1f}GB" if size >= 1e9 else f"{ceil(size / 1e6)}MB"
