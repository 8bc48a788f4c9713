"""What is told while a fit goes on: a trace, a callback, a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from symscreen.multistage.fitting import Step

__all__ = ["Progress"]


class Progress:
    """A callable for `descend` that keeps every step and tells whoever asked.

    Parameters
    ----------
    trace : list of Step
        Steps are appended to it.
    rounds : int
        How many there may be.
    callback : callable or None
        Called with each step.
    show : bool
        Whether to show a bar on standard error.
    """

    def __init__(
        self, trace: list[Step], rounds: int, callback: Callable[[Step], None] | None, *, show: bool
    ) -> None:
        self._trace, self._rounds, self._callback, self._show = trace, rounds, callback, show
        self._bar: Any = None

    def __enter__(self) -> Self:
        if self._show:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True))
            self._bar.start()
            self._task = self._bar.add_task("starting", total=self._rounds)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, step: Step) -> None:
        """Keep a step, and tell of it."""
        self._trace.append(step)
        if self._bar is not None:
            words = f"iteration {step.iteration}, block {step.block}: loss {step.loss:.6g}"
            self._bar.update(self._task, description=words, completed=max(step.iteration - 1, 0))
        if self._callback is not None:
            self._callback(step)
