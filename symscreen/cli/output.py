"""Output of verbs: the file or the stream of a result, notices, progress and the log."""

from __future__ import annotations

import json
import logging
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from symscreen.errors import OutputError
from symscreen.logs import LOGGER, JsonLines, LogStream
from symscreen.messages import COMMAND_LINE, escape_control_chars, quote, render_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from symscreen.fitting.search_monitor import FitProgress
    from symscreen.screening.run_control import Progress


_MAX_LINE_BYTES = 1 << 16


def check_output_path(out: str | None, inputs: tuple[str | None, ...], *, force: bool) -> None:
    """Check, before any work is done, that ``--out`` can be written and is not an input."""
    from symscreen._atomic_io import check_not_input, check_writable

    check_not_input((out,), inputs)
    if out is not None and out != "-":
        check_writable(Path(out), force=force)


def write_output(out: str | None, text: str, *, force: bool, quiet: bool = True) -> bool:
    """Write a text to ``--out``; return whether standard output is still free for a table."""
    from symscreen._atomic_io import write_atomically

    if out == "-":
        write_stdout(text)
        return False
    if out is not None:
        write_atomically(Path(out), text.encode(errors="backslashreplace"), force=force)
        print_notices((f"written: {out}",), quiet=quiet)
    return True


def write_stdout(text: str) -> None:
    """Write a text for other programs to standard output, without any change.

    Raises
    ------
    OutputError
        If standard output is a terminal, and the text holds control characters.
    """
    if sys.stdout.isatty() and not all(mark.isprintable() or mark == "\n" for mark in text):
        raise OutputError(
            "the text holds control characters, which would steer this terminal: give --out FILE, or a pipe"
        )
    click.echo(text, nl=False, color=True)  # or click would leave out what looks like a colour


def print_notices(notices: tuple[str, ...], *, quiet: bool) -> None:
    """Print notices on standard error."""
    if not quiet:
        for notice in notices:
            click.echo(f"symscreen: {escape_control_chars(render_message(notice, COMMAND_LINE))}", err=True)


@contextmanager
def show_warnings_as_notices() -> Iterator[None]:
    """Print warnings about the user's data as notices, without a line of code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    notices = (str(each.message) for each in caught if issubclass(each.category, UserWarning))
    print_notices(tuple(notices), quiet=False)


@contextmanager
def open_progress_bar(*, quiet: bool) -> Iterator[Callable[..., None] | None]:
    """Show the features done, the rate and the time left on a terminal; show nothing in a pipe."""
    if quiet:
        from symscreen._numba import COMPILE_NOTICE

        COMPILE_NOTICE.mute()
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[best]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("generating formulas", total=None, rate="", best="")

        def update(done: int, total: int, best: str = "") -> None:
            speed = bar.tasks[0].speed
            bar.update(
                task,
                description="scoring",
                completed=done,
                total=total,
                rate=f"{speed:,.0f}/s" if speed else "",
                best=best,
            )

        yield update


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a screen on a terminal; if it is interrupted, say what was best so far."""
    last: list[Progress] = []
    try:
        with open_progress_bar(quiet=quiet) as bar:

            def update(report: Progress) -> None:
                last[:] = [report]
                if bar is not None:
                    bar(report.n_done, report.n_total, format_best(report))

            yield update
    except KeyboardInterrupt:
        if last:
            best = format_best(last[0]) or "nothing yet"
            done = f"{last[0].n_done:,} of {last[0].n_total:,} candidates"
            click.echo(f"symscreen: best so far, of {done}: {best}", err=True)
        raise


@contextmanager
def show_fit_progress(*, quiet: bool) -> Iterator[Callable[[FitProgress], None] | None]:
    """Show the stage of a fit and the best formula so far on a terminal; show nothing in a pipe.

    If the fit is interrupted, say what was best so far.
    """
    if quiet:
        from symscreen._numba import COMPILE_NOTICE

        COMPILE_NOTICE.mute()
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    last: list[FitProgress] = []
    columns = (
        SpinnerColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        TextColumn(
            "{task.fields[best]}",
            markup=False,
            table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
        ),
    )
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True, expand=True) as display:
            task = display.add_task("reading the data", total=None, best="")

            def update(report: FitProgress) -> None:
                last[:] = [report]
                display.update(
                    task, description=escape_control_chars(report.stage), best=format_best_fit(report)
                )

            yield update
    except KeyboardInterrupt:
        best = format_best_fit(last[0]) if last else ""
        click.echo(f"symscreen: best so far: {best or 'nothing yet'}", err=True)
        raise


def format_best_fit(report: FitProgress) -> str:
    """Write the best formula of a fit so far with its R²."""
    if report.formula is None or report.r2 is None:
        return ""
    return escape_control_chars(f"R2 {report.r2:.6g}  {report.formula}")


def format_best(report: Progress) -> str:
    """Write the best formula so far with its score."""
    if report.best_formula is None or report.best_score is None:
        return ""
    return escape_control_chars(f"{report.screener} {report.best_score:.6g}  {report.best_formula}")


@contextmanager
def write_json_log(file: str | None) -> Iterator[None]:
    """Write a JSON line for each stage to a file, or with ``-`` to standard error.

    If the file cannot be written any more, for example because the disk is full, the run goes on. A notice at
    the end then says that the log is incomplete.

    Raises
    ------
    OutputError
        If the file cannot be opened, or holds something else than such lines.
    """
    if file is None:
        yield
        return
    handler = LogStream(sys.stderr if file == "-" else _open_log(file))
    handler.setFormatter(JsonLines())
    level = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.setLevel(level)
        LOGGER.removeHandler(handler)
        if file != "-" and (failure := handler.close_stream()) is not None:
            words = f"{quote(file)}: the log could not be written to its end ({failure.strerror})"
            print_notices((f"{words}; the ranking does not depend on it",), quiet=False)


def list_input_files(data: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """List the files that a verb reads: the data, and the files that its options name."""
    named = (options.get("operators"), options.get("units"))
    return (data, *(str(name) for name in named if str(name).endswith((".toml", ".json"))))


def _open_log(file: str) -> TextIO:
    """Open a log, to which new lines are appended."""
    path = Path(file)
    try:
        if path.is_file() and path.stat().st_size and not _is_json_log(path):
            raise OutputError(
                f"{quote(file)} holds something else than a log of symscreen, and is not added to; "
                "give another name"
            )
        return path.open("a", encoding="utf-8")
    except (OSError, ValueError) as error:
        if isinstance(error, OutputError):
            raise
        # a ValueError is a path with a null character inside
        raise OutputError(f"{quote(file)}: cannot be written ({getattr(error, 'strerror', error)})") from None


def _is_json_log(path: Path) -> bool:
    """Return whether a file begins with a line of a log."""
    with path.open("rb") as there:
        first = there.readline(_MAX_LINE_BYTES)
    try:
        entry = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(entry, dict) and list(entry)[:2] == ["time", "level"]
