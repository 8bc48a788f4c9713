"""What the command line says beside its results: notices, and how far it is."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from symscreen.errors import OutputError, printable, quoted
from symscreen.logs import LOGGER, JsonLines, LogStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from symscreen.result import Standing

__all__ = ["attended", "emit", "files_of", "logged", "notify", "progress_bar"]


_LONGEST_LINE = 1 << 16


def emit(text: str) -> None:
    """Write to standard output what programs read, every letter as it is.

    Raises
    ------
    OutputError
        If standard output is a terminal, and the text holds what would steer it.
    """
    if sys.stdout.isatty() and not all(mark.isprintable() or mark == "\n" for mark in text):
        raise OutputError(
            "the text holds control characters, which would steer this terminal: give --out FILE, or a pipe"
        )
    click.echo(text, nl=False, color=True)  # or click would leave out what looks like a colour


def notify(notices: tuple[str, ...], *, quiet: bool) -> None:
    """Print notices on standard error."""
    if not quiet:
        for notice in notices:
            click.echo(f"symscreen: {printable(notice)}", err=True)


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Callable[..., None] | None]:
    """Show features done, rate and time left on a terminal; nothing in a pipe."""
    if quiet:
        from symscreen.compiled import ANNOUNCEMENT

        ANNOUNCEMENT.silence()
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
        task = bar.add_task("growing the space", total=None, rate="", best="")

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
def attended(*, quiet: bool) -> Iterator[Callable[[Standing], None]]:
    """Show how far a screen is, on a terminal; when it is interrupted, say what was best so far."""
    last: list[Standing] = []
    try:
        with progress_bar(quiet=quiet) as bar:

            def tell(standing: Standing) -> None:
                last[:] = [standing]
                if bar is not None:
                    bar(standing.done, standing.total, best_of(standing))

            yield tell
    except KeyboardInterrupt:
        if last:
            best = best_of(last[0]) or "nothing yet"
            done = f"{last[0].done:,} of {last[0].total:,} candidates"
            click.echo(f"symscreen: best so far, of {done}: {best}", err=True)
        raise


def best_of(standing: Standing) -> str:
    """Write the best formula so far with its score."""
    if standing.best is None or standing.score is None:
        return ""
    return printable(f"{standing.screener} {standing.score:.6g}  {standing.best}")


@contextmanager
def logged(file: str | None) -> Iterator[None]:
    """Write a JSON line for each stage to a file, or with ``-`` to standard error.

    A file that cannot be written any more, of a disk that is full, is told of in a line at the end: what is
    logged matters more than its log.

    Raises
    ------
    OutputError
        If the file cannot be written, or holds something else than such lines.
    """
    if file is None:
        yield
        return
    handler = LogStream(sys.stderr if file == "-" else _log(file))
    handler.setFormatter(JsonLines())
    level = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.setLevel(level)
        LOGGER.removeHandler(handler)
        if file != "-" and (failure := handler.end()) is not None:
            words = f"{quoted(file)}: the log could not be written to its end ({failure.strerror})"
            notify((f"{words}; the ranking does not depend on it",), quiet=False)


def files_of(data: str, options: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the files that a verb reads: the data, and what its options name, which may be words instead."""
    named = (options.get("operators"), options.get("units"))
    return (data, *(str(name) for name in named if str(name).endswith((".toml", ".json"))))


def _log(file: str) -> TextIO:
    """Open a log to be added to."""
    path = Path(file)
    try:
        if path.is_file() and path.stat().st_size and not _is_log(path):
            raise OutputError(
                f"{quoted(file)} holds something else than a log of symscreen, and is not added to; give "
                "another name"
            )
        return path.open("a", encoding="utf-8")
    except (OSError, ValueError) as error:
        if isinstance(error, OutputError):
            raise
        # a ValueError is a path with a null character inside
        raise OutputError(
            f"{quoted(file)}: cannot be written ({getattr(error, 'strerror', error)})"
        ) from None


def _is_log(path: Path) -> bool:
    """Say whether a file begins with a line of ours."""
    with path.open("rb") as there:
        first = there.readline(_LONGEST_LINE)
    try:
        told = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and list(told)[:2] == ["time", "level"]
