"""What the command line says beside its results: notices, and how far it is."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["notify", "progress_bar"]


def notify(notices: tuple[str, ...], *, quiet: bool) -> None:
    """Print notices on standard error."""
    if not quiet:
        for notice in notices:
            click.echo(f"symscreen: {notice}", err=True)


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
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
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("growing the space", total=None, rate="")

        def update(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(
                task,
                description="scoring",
                completed=done,
                total=total,
                rate=f"{speed:,.0f}/s" if speed else "",
            )

        yield update
