"""How a stream is attended: who is told how far it is, what keeps its state, and when it must end.

Telling, while a space streams by, how far it is and what is best so far.

Where a screen runs, how long, and who is told: what users give, read into exact types or refused.
"""

from __future__ import annotations

import math
import re
import shutil
import sys
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Protocol

import numpy as np

from symscreen.backends import Dask, count_available_cores, make_backend
from symscreen.config.parsing import check_positive_int
from symscreen.errors import OptionError, escape_control_chars
from symscreen.expressions.tree import to_text
from symscreen.screening.scoring.top_features import concatenate_features, make_empty_features

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symscreen._typing import ProgressCallback
    from symscreen.backends import Backend
    from symscreen.screening.scoring.block_scoring import ChunkResult, Scorer
    from symscreen.screening.scoring.streaming import StreamAccumulator, StreamResult


__all__ = [
    "DEFAULT_RUN_CONTROL",
    "CheckpointProtocol",
    "Progress",
    "ProgressReporter",
    "RunControl",
    "build_run_control",
    "check_time_limit",
    "parse_backend",
    "parse_seconds",
]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a screen is.

    Parameters
    ----------
    done, total : int
        Candidates looked at, and in all.
    scored : int
        Features scored.
    seconds : float
        Since scoring began (or went on from a checkpoint).
    rate : float
        Candidates a second; 0 while nothing is known.
    seconds_left : float or None
        At this rate; None while nothing is known.
    best : str or None
        The best formula so far, by the first column screener.
    score : float or None
        Its score.
    screener : str
        Whose score that is.
    """

    n_done: int
    n_total: int
    n_scored: int
    seconds: float
    rate: float
    seconds_left: float | None
    best_formula: str | None
    best_score: float | None
    screener: str

    def __str__(self) -> str:
        """Write it as a line."""
        parts = [f"{self.n_done:,} of {self.n_total:,}", f"{self.rate:,.0f}/s"]
        if self.seconds_left is not None:
            parts.append(f"{self.seconds_left:,.0f} s left")
        if self.best_formula is not None and self.best_score is not None:
            parts.append(f"best {self.screener} {self.best_score:.6g}: {self.best_formula}")
        return ", ".join(parts)


class CheckpointProtocol(Protocol):
    """Keeps the state of a stream, so that a later run can go on from there."""

    def load(self, stream: str, check: Callable[[StreamResult], None], max_bytes: int) -> StreamResult | None:
        """Return the state that was kept of a stream, by its name, or None.

        It is no larger than so many bytes, and passes a check that raises `ValueError` where it does not.
        """
        ...

    def save_if_due(self, stream: str, make_state: Callable[[], StreamResult], *, is_final: bool) -> None:
        """Keep the state of a stream if it is time to; the last one is kept as a rule."""
        ...


@dataclass(frozen=True, eq=False)
class RunControl:
    """How a stream is attended; none of it changes what comes of the features that are scored.

    Parameters
    ----------
    progress : callable, optional
        Called with (candidates done, candidates in all) after each part.
    tell : callable, optional
        Called with a `Standing` after each part.
    until : float, optional
        The moment, by `time.monotonic`, after which no further part is waited for. One part is always
        scored.
    growing_until : float, optional
        The same for the growing of the space; sooner, so that time is left to score what there is.
    keeper : Keeper, optional
        What keeps the state.
    """

    progress: Callable[[int, int], None] | None = None
    on_progress: Callable[[Progress], None] | None = None
    deadline: float | None = None
    generation_deadline: float | None = None
    checkpoint: CheckpointProtocol | None = None


DEFAULT_RUN_CONTROL = RunControl()


class ProgressReporter:
    """Tells those who want to know, after each part.

    Parameters
    ----------
    scorer : Scorer
        Whose first list has the best.
    course : Course
        Who is told.
    done : int
        How many numbers an earlier run looked at.
    """

    def __init__(self, scorer: Scorer, run_control: RunControl, n_done: int) -> None:
        self._scorer, self._run_control, self._n_done_before = scorer, run_control, n_done
        self._start_time = monotonic()
        self._best_features = make_empty_features(len(scorer.screeners))
        self._best_formula: str | None = None

    def report(self, part: ChunkResult, accumulator: StreamAccumulator) -> None:
        """Tell how far it is, now that a part has come."""
        total = self._scorer.space.total
        if self._run_control.progress is not None:
            self._run_control.progress(accumulator.n_done, total)
        if self._run_control.on_progress is not None:
            self._update_best(part)
            self._run_control.on_progress(self._make_progress(accumulator, total))

    def _update_best(self, part: ChunkResult) -> None:
        """Compare the best so far with the best of a part, in the order that a ranking has."""
        kept = part.top_features[0]
        if not len(kept):
            return
        both = concatenate_features(
            [self._best_features, kept.take(np.flatnonzero(kept.loss == kept.loss.min()))]
        )
        best = both.take(both.compute_member_order()).take_first(1)
        if not len(self._best_features) or best.number[0] != self._best_features.number[0]:
            self._best_formula = to_text(self._scorer.space.build_expression(int(best.number[0])))
        self._best_features = best

    def _make_progress(self, accumulator: StreamAccumulator, total: int) -> Progress:
        seconds, by = monotonic() - self._start_time, self._scorer.top_k_specs[0].screener_index
        rate = (accumulator.n_done - self._n_done_before) / seconds if seconds > 0 else 0.0
        return Progress(
            n_done=accumulator.n_done,
            n_total=total,
            n_scored=accumulator.n_scored,
            seconds=seconds,
            rate=rate,
            seconds_left=(total - accumulator.n_done) / rate if rate > 0 else None,
            best_formula=self._best_formula,
            best_score=float(self._best_features.scores[0, by]) if len(self._best_features) else None,
            screener=self._scorer.screeners[by].name,
        )


_TIME_PATTERN = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(s|m|min|h|d)?", re.ASCII)
_SECONDS_PER_UNIT = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_MAX_TIME_CHARACTERS = 20  # letters of a time
_LINE_INTERVAL_S = 0.2  # seconds
_GENERATION_TIME_SHARE = 0.9  # of a time limit, at most; the rest is for scoring what has been grown
_MAX_LINE_CHARACTERS = 200  # letters


def parse_backend(backend: str | None, scheduler: str | None, jobs: object) -> Backend:
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
    >>> parse_backend(None, None, 2)
    Threads(jobs=2, name='threads')
    """
    named = backend or ("threads" if scheduler is None else "dask")
    if named != "dask" and scheduler is not None:
        raise OptionError(f"--scheduler {scheduler} is Dask's, but --backend is {named}: leave one out")
    many = count_available_cores() if jobs is None else check_positive_int("jobs", jobs)
    return Dask(many, scheduler) if named == "dask" else make_backend(str(named), many)


def parse_seconds(time_limit: str | float | None) -> float | None:
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
    >>> parse_seconds("1.5m")
    90.0
    """
    if time_limit is None:
        return None
    seconds = math.nan
    if isinstance(time_limit, str):
        match = (
            _TIME_PATTERN.fullmatch(time_limit.strip()) if len(time_limit) < _MAX_TIME_CHARACTERS else None
        )
        seconds = math.nan if match is None else float(match[1]) * _SECONDS_PER_UNIT[match[2]]
    elif isinstance(time_limit, int | float) and not isinstance(time_limit, bool):
        seconds = float(time_limit)
    if not 0.0 < seconds < math.inf:
        raise OptionError(f"time_limit is {time_limit!r}; give a time above 0 such as 60s, 5m or 2h")
    return seconds


def check_time_limit(
    time_limit: object, search: str, rounds: int, whole_space_options: Mapping[str, object]
) -> None:
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
    if time_limit is None:
        return
    if search != "exact":
        raise OptionError(
            f"--time-limit leaves out the end of the space, and --search {search} most of all of it: use one"
        )
    if rounds > 1:
        raise OptionError(f"--time-limit cannot be had with --rounds {rounds}: a round needs all of the last")
    for name, given in whole_space_options.items():
        if given is not None:
            raise OptionError(f"--time-limit cannot be had with --{name}, which needs the whole space")


def build_run_control(
    progress: ProgressCallback | bool | None,  # True asks for a line, as elsewhere in Python
    on_progress: ProgressListener | None,
    time_limit: str | float | None,
    *,
    quiet: bool = False,
) -> RunControl:
    """Read who is told how far a screen is, and when it must end.

    Parameters
    ----------
    progress : callable, bool or None
        Called with (candidates done, candidates in all); True writes a line on standard error.
    on_progress : callable or None
        Called with a `Standing`.
    limit : str, float or None
        As of `parse_seconds`, from now on.
    quiet : bool
        Whether nothing is written, neither that line nor that kernels are compiled.

    Returns
    -------
    Course
    """
    seconds = parse_seconds(time_limit)
    for name, given in (("progress", progress), ("on_progress", on_progress)):
        if given is not None and not isinstance(given, bool) and not callable(given):
            raise OptionError(f"{name} is {given!r}; give a function")
    if quiet:
        from symscreen._numba import COMPILE_NOTICE

        COMPILE_NOTICE.mute()
        progress = None if progress is True else progress
    plain = None if isinstance(progress, bool) else progress
    now = monotonic()
    until = None if seconds is None else now + seconds
    growing = None if seconds is None else now + _GENERATION_TIME_SHARE * seconds
    told = [
        one
        for one in (on_progress, _make_line_writer(until) if progress is True else None)
        if one is not None
    ]

    def notify_listeners(report: Progress) -> None:
        for one in told:
            one(report)

    return RunControl(plain, notify_listeners if told else None, until, growing)


def _get_line_width() -> int:
    """Tell how long a line may be that is written over: on a terminal one that is folded would stay."""
    return shutil.get_terminal_size().columns - 1 if sys.stderr.isatty() else _MAX_LINE_CHARACTERS


def _make_line_writer(deadline: float | None) -> ProgressListener:
    """Return what writes a line over and over, in a notebook as on a terminal, and ends it with the run."""
    last, width = -math.inf, 0

    def write_progress(report: Progress) -> None:
        nonlocal last, width
        now = monotonic()
        over = report.n_done >= report.n_total or (deadline is not None and now > deadline)
        if now - last >= _LINE_INTERVAL_S or over:
            text = escape_control_chars(str(report))[: _get_line_width()]
            sys.stderr.write(f"\r{text.ljust(width)}" + ("\n" if over else ""))
            sys.stderr.flush()
            last, width = now, len(text)

    return write_progress


if TYPE_CHECKING:
    ProgressListener = Callable[[Progress], None]
