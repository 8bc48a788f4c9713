"""Run control: backend, time limit, progress reports and checkpoint hooks of a streaming run.

`parse_backend`, `parse_seconds` and `build_run_control` convert user options to exact types or raise an
error. `RunControl` holds the hooks. `ProgressReporter` calls them while a space streams.
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
from symscreen.errors import OptionError
from symscreen.expressions.printing import to_text
from symscreen.messages import escape_control_chars, name_option
from symscreen.screening.scoring.top_features import concatenate_features, make_empty_features

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen.backends import Backend
    from symscreen.config.screen_options import ScreenOptions
    from symscreen.screening.scoring.block_scoring import ChunkResult, Scorer
    from symscreen.screening.scoring.streaming import StreamAccumulator, StreamResult

    ProgressListener = Callable[["Progress"], None]


_TIME_PATTERN = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(s|m|min|h|d)?", re.ASCII)
_SECONDS_PER_UNIT = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_MAX_TIME_CHARACTERS = 20  # longer texts are not parsed as a time
_LINE_INTERVAL_S = 0.2  # minimum time between two updates of the progress line
_GENERATION_TIME_SHARE = 0.9  # maximum share of a time limit for generation; the rest is for scoring
_MAX_LINE_CHARACTERS = 200  # length of the progress line if stderr is not a terminal


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a screen.

    Parameters
    ----------
    n_done, n_total : int
        Number of candidates processed so far, and in total.
    n_scored : int
        Number of features scored so far.
    seconds : float
        Time since this run started scoring or resumed from a checkpoint.
    rate : float
        Candidates per second in this run; 0 while unknown.
    seconds_left : float or None
        Estimated remaining time at this rate; None while unknown.
    best_formula : str or None
        The best formula so far by the first column screener.
    best_score : float or None
        Its score.
    screener : str
        Name of that screener.
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
        """Format the progress as one line."""
        parts = [f"{self.n_done:,} of {self.n_total:,}", f"{self.rate:,.0f}/s"]
        if self.seconds_left is not None:
            parts.append(f"{self.seconds_left:,.0f} s left")
        if self.best_formula is not None and self.best_score is not None:
            parts.append(f"best {self.screener} {self.best_score:.6g}: {self.best_formula}")
        return ", ".join(parts)


class CheckpointProtocol(Protocol):
    """Saves and loads the states of streams; `failure` is the message of the last save if it failed."""

    failure: str | None

    def load(self, stream: str, check: Callable[[StreamResult], None], max_bytes: int) -> StreamResult | None:
        """Return the saved state of a stream, or None.

        The state has at most `max_bytes` bytes. `check` raises `ValueError` if it does not fit the run.
        """
        ...

    def save_if_due(self, stream: str, make_state: Callable[[], StreamResult], *, is_final: bool) -> None:
        """Save the state of a stream if a save is due or the state is final."""
        ...


@dataclass(frozen=True, eq=False)
class RunControl:
    """Hooks and deadlines of a run. They do not affect the scores of the features that are scored.

    Parameters
    ----------
    progress : callable, optional
        Called with (candidates done, candidates in total) after each part.
    on_progress : callable, optional
        Called with a `Progress` after each part.
    deadline : float, optional
        Time, as returned by `time.monotonic`, after which scoring stops. At least one part is always scored.
    generation_deadline : float, optional
        Time after which the generation of the space stops. It is earlier than `deadline`, which leaves time
        for scoring.
    checkpoint : CheckpointProtocol, optional
        Where the states of the streams are saved.
    """

    progress: Callable[[int, int], None] | None = None
    on_progress: Callable[[Progress], None] | None = None
    deadline: float | None = None
    generation_deadline: float | None = None
    checkpoint: CheckpointProtocol | None = None


DEFAULT_RUN_CONTROL = RunControl()


class ProgressReporter:
    """Calls the progress hooks after each part of a stream.

    Parameters
    ----------
    scorer : Scorer
        The scorer of the stream. The best formula is that of its first top-K list.
    run_control : RunControl
        The hooks.
    n_done : int
        Number of candidates that an earlier run processed.
    """

    def __init__(self, scorer: Scorer, run_control: RunControl, n_done: int) -> None:
        self._scorer, self._run_control, self._n_done_before = scorer, run_control, n_done
        self._start_time = monotonic()
        self._best_features = make_empty_features(len(scorer.screeners))
        self._best_formula: str | None = None

    def report(self, part: ChunkResult, accumulator: StreamAccumulator) -> None:
        """Report the progress after a part was added to the accumulator."""
        n_total = self._scorer.space.total
        if self._run_control.progress is not None:
            self._run_control.progress(accumulator.n_done, n_total)
        if self._run_control.on_progress is not None:
            self._update_best(part)
            self._run_control.on_progress(self._make_progress(accumulator, n_total))

    def _update_best(self, part: ChunkResult) -> None:
        """Update the best feature so far, in the order of a ranking."""
        features = part.top_features[0]
        if not len(features):
            return
        contenders = concatenate_features(
            [self._best_features, features.take(np.flatnonzero(features.loss == features.loss.min()))]
        )
        best = contenders.take(contenders.compute_member_order()).take_first(1)
        if not len(self._best_features) or best.number[0] != self._best_features.number[0]:
            self._best_formula = to_text(self._scorer.space.build_expression(int(best.number[0])))
        self._best_features = best

    def _make_progress(self, accumulator: StreamAccumulator, n_total: int) -> Progress:
        """Build the progress report."""
        seconds, screener_index = monotonic() - self._start_time, self._scorer.top_k_specs[0].screener_index
        rate = (accumulator.n_done - self._n_done_before) / seconds if seconds > 0 else 0.0
        best_score = None
        if len(self._best_features):
            best_score = float(self._best_features.scores[0, screener_index])
        return Progress(
            n_done=accumulator.n_done,
            n_total=n_total,
            n_scored=accumulator.n_scored,
            seconds=seconds,
            rate=rate,
            seconds_left=(n_total - accumulator.n_done) / rate if rate > 0 else None,
            best_formula=self._best_formula,
            best_score=best_score,
            screener=self._scorer.screeners[screener_index].name,
        )


def parse_backend(options: ScreenOptions) -> Backend:
    """Create the backend that runs the tasks of a screen: threads, or Dask if there is a scheduler.

    Raises
    ------
    OptionError
        If the backend is unknown, or a scheduler is given for another backend than Dask.

    Examples
    --------
    >>> from symscreen.config.screen_options import ScreenOptions
    >>> parse_backend(ScreenOptions(jobs=2))
    Threads(jobs=2)
    """
    name = options.backend or ("threads" if options.scheduler is None else "dask")
    if name != "dask" and options.scheduler is not None:
        raise OptionError(
            f"{name_option('scheduler', options.scheduler)} requires Dask, but "
            f"{name_option('backend', name)} is given: omit one of the two"
        )
    jobs = count_available_cores() if options.jobs is None else options.jobs
    return Dask(jobs, options.scheduler) if name == "dask" else make_backend(str(name), jobs)


def parse_seconds(time_limit: str | float | None) -> float | None:
    """Convert a time limit to seconds.

    Parameters
    ----------
    time_limit : str, int, float or None
        Number of seconds, or a text such as ``"90s"``, ``"5m"``, ``"2h"`` or ``"1d"``.

    Returns
    -------
    float or None
        Seconds, positive; None if no limit is given.

    Raises
    ------
    OptionError
        If it is not a positive time.

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
        raise OptionError(
            f"{name_option('time_limit', time_limit)} is not a time above 0, such as 60s, 5m or 2h"
        )
    return seconds


def build_run_control(options: ScreenOptions) -> RunControl:
    """Build the run control of a screen that starts now.

    ``progress=True`` writes a progress line. `quiet` suppresses it, and the notice that kernels are compiled.

    Raises
    ------
    OptionError
        If a progress hook is not a function, or the time limit is not a time.
    """
    seconds, progress = parse_seconds(options.time_limit), options.progress
    for name in ("progress", "on_progress"):
        value = getattr(options, name)
        if value is not None and not isinstance(value, bool) and not callable(value):
            raise OptionError(f"{name} is {value!r}; give a function")
    if options.quiet:
        from symscreen._numba import COMPILE_NOTICE

        COMPILE_NOTICE.mute()
        progress = None if progress is True else progress
    now = monotonic()
    deadline = None if seconds is None else now + seconds
    generation_deadline = None if seconds is None else now + _GENERATION_TIME_SHARE * seconds
    listeners = [] if options.on_progress is None else [options.on_progress]
    if progress is True:
        listeners.append(_make_line_writer(deadline))

    def notify_listeners(report: Progress) -> None:
        for listener in listeners:
            listener(report)

    return RunControl(
        None if isinstance(progress, bool) else progress,
        notify_listeners if listeners else None,
        deadline,
        generation_deadline,
    )


def _get_line_width() -> int:
    """Return the maximum length of the progress line; a terminal cannot overwrite a wrapped line."""
    return shutil.get_terminal_size().columns - 1 if sys.stderr.isatty() else _MAX_LINE_CHARACTERS


def _make_line_writer(deadline: float | None) -> ProgressListener:
    """Return a hook that overwrites one progress line on stderr and ends it when the run ends."""
    last_time, width = -math.inf, 0

    def write_progress(report: Progress) -> None:
        nonlocal last_time, width
        now = monotonic()
        is_last = report.n_done >= report.n_total or (deadline is not None and now > deadline)
        if now - last_time >= _LINE_INTERVAL_S or is_last:
            text = escape_control_chars(str(report))[: _get_line_width()]
            sys.stderr.write(f"\r{text.ljust(width)}" + ("\n" if is_last else ""))
            sys.stderr.flush()
            last_time, width = now, len(text)

    return write_progress
