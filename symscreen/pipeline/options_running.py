"""Where a screen runs, how long, and who is told: what users give, read into exact types or refused."""

from __future__ import annotations

import math
import re
import shutil
import sys
from time import monotonic
from typing import TYPE_CHECKING

from symscreen.backends import Dask, available_cores, backend_named
from symscreen.errors import OptionError, printable
from symscreen.options import at_least_1
from symscreen.result import Course

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symscreen.backends import Backend
    from symscreen.result import Standing

    Progress = Callable[[int, int], None]
    Tell = Callable[[Standing], None]

__all__ = ["check_limit", "read_backend", "read_course", "read_seconds"]

_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(s|m|min|h|d)?", re.ASCII)
_UNITS = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 20  # letters of a time
_BETWEEN_LINES = 0.2  # seconds
_GROWING = 0.9  # of a time limit, at most; the rest is for scoring what has been grown
_LONGEST_LINE = 200  # letters


def read_backend(backend: str | None, scheduler: str | None, jobs: object) -> Backend:
    """Read where chunks are scored.

    Parameters
    ----------
    backend : str or None
        ``threads``, ``dask``, or one of another package; None for Dask where a scheduler is given, else
        threads.
    scheduler : str or None
        The address of a Dask scheduler.
    jobs : object
        How many threads or processes; None for all cores.

    Returns
    -------
    Backend

    Raises
    ------
    OptionError
        If there is no such backend, or threads are asked for beside a scheduler.

    Examples
    --------
    >>> read_backend(None, None, 2)
    Threads(jobs=2, name='threads')
    """
    named = backend or ("threads" if scheduler is None else "dask")
    if named != "dask" and scheduler is not None:
        raise OptionError(f"--scheduler {scheduler} is Dask's, but --backend is {named}: leave one out")
    many = available_cores() if jobs is None else at_least_1("jobs", jobs)
    return Dask(many, scheduler) if named == "dask" else backend_named(str(named), many)


def read_seconds(limit: str | float | None) -> float | None:
    """Read a time.

    Parameters
    ----------
    limit : str, int, float or None
        Seconds, or ``"90s"``, ``"5m"``, ``"2h"``.

    Returns
    -------
    float or None
        Seconds, above 0.

    Raises
    ------
    OptionError
        If it is none.

    Examples
    --------
    >>> read_seconds("1.5m")
    90.0
    """
    if limit is None:
        return None
    seconds = math.nan
    if isinstance(limit, str):
        match = _TIME.fullmatch(limit.strip()) if len(limit) < _LONGEST else None
        seconds = math.nan if match is None else float(match[1]) * _UNITS[match[2]]
    elif isinstance(limit, int | float) and not isinstance(limit, bool):
        seconds = float(limit)
    if not 0.0 < seconds < math.inf:
        raise OptionError(f"time_limit is {limit!r}; give a time above 0 such as 60s, 5m or 2h")
    return seconds


def check_limit(limit: object, mode: str, rounds: int, beside: Mapping[str, object]) -> None:
    """Refuse a time limit where what it leaves out is not the end of one space, looked at once.

    Parameters
    ----------
    limit, mode, rounds
        The options `time_limit`, `search` and `rounds` of a screen.
    beside : mapping of str to object
        Options that look at the whole space, or at it again; None where they were not given.

    Raises
    ------
    OptionError
        If features are dropped early, there are several rounds, or one of those options was given.
    """
    if limit is None:
        return
    if mode != "exact":
        raise OptionError(
            f"--time-limit leaves out the end of the space, and --search {mode} most of all of it: use one"
        )
    if rounds > 1:
        raise OptionError(f"--time-limit cannot be had with --rounds {rounds}: a round needs all of the last")
    for name, given in beside.items():
        if given is not None:
            raise OptionError(f"--time-limit cannot be had with --{name}, which needs the whole space")


def read_course(
    progress: Progress | bool | None,  # noqa: FBT001  # True asks for a line, as elsewhere in Python
    on_progress: Tell | None,
    limit: str | float | None,
    *,
    quiet: bool = False,
) -> Course:
    """Read who is told how far a screen is, and when it must end.

    Parameters
    ----------
    progress : callable, bool or None
        Called with (candidates done, candidates in all); True writes a line on standard error.
    on_progress : callable or None
        Called with a `Standing`.
    limit : str, float or None
        As of `read_seconds`, from now on.
    quiet : bool
        Whether nothing is written, neither that line nor that kernels are compiled.

    Returns
    -------
    Course
    """
    seconds = read_seconds(limit)
    for name, given in (("progress", progress), ("on_progress", on_progress)):
        if given is not None and not isinstance(given, bool) and not callable(given):
            raise OptionError(f"{name} is {given!r}; give a function")
    if quiet:
        from symscreen.compiled import ANNOUNCEMENT

        ANNOUNCEMENT.silence()
        progress = None if progress is True else progress
    plain = None if isinstance(progress, bool) else progress
    now = monotonic()
    until = None if seconds is None else now + seconds
    growing = None if seconds is None else now + _GROWING * seconds
    told = [one for one in (on_progress, _line(until) if progress is True else None) if one is not None]

    def tell(standing: Standing) -> None:
        for one in told:
            one(standing)

    return Course(plain, tell if told else None, until, growing)


def _room() -> int:
    """Tell how long a line may be that is written over: on a terminal one that is folded would stay."""
    return shutil.get_terminal_size().columns - 1 if sys.stderr.isatty() else _LONGEST_LINE


def _line(until: float | None) -> Tell:
    """Return what writes a line over and over, in a notebook as on a terminal, and ends it with the run."""
    last, width = -math.inf, 0

    def tell(standing: Standing) -> None:
        nonlocal last, width
        now = monotonic()
        over = standing.done >= standing.total or (until is not None and now > until)
        if now - last >= _BETWEEN_LINES or over:
            text = printable(str(standing))[: _room()]
            sys.stderr.write(f"\r{text.ljust(width)}" + ("\n" if over else ""))
            sys.stderr.flush()
            last, width = now, len(text)

    return tell
