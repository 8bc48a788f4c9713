"""The memory of this process: what it holds now, and a refusal of what would take it over the limit."""

from __future__ import annotations

import os
import sys
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from symscreen.errors import SpaceError
from symscreen.limits import amount, may_hold

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["FEWER", "amount", "fits", "require", "resident"]

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


def fits(needed: int, max_bytes: int | None) -> bool:
    """Say whether so many bytes beside those that the process holds are allowed."""
    return max_bytes is None or resident() + needed <= max_bytes


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
            f"{amount(max_bytes)} are allowed: {_more(held, held + needed)}"
        )
    if held + needed > max_bytes:
        raise SpaceError(
            f"{what} would take this process to {amount(held + needed)}, of which {amount(held)} are held "
            f"already; {amount(max_bytes)} are allowed: {', '.join(ways)}, or {_more(held, held + needed)}"
        )


def _more(held: int, total: int) -> str:
    """Say what to raise: a limit of the system's, too, where that is what leaves less."""
    most = may_hold(held)
    beside = "" if most is None or total <= most else "the limit on this process's memory, and "
    return f"raise {beside}--max-ram to at least {_enough(total)}"


def _enough(size: int) -> str:
    """Write an amount, rounded up, as `--max-ram` reads it."""
    return f"{ceil(size / 1e8) / 10:.1f}GB" if size >= 1e9 else f"{ceil(size / 1e6)}MB"
