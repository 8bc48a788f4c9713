"""The interface of backends: map a function over tasks, in order.

The choice of a backend never changes a result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence


Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


class Backend(Protocol):
    """Runs tasks."""

    @property
    def name(self) -> str:
        """Name of the backend in the record."""
        ...

    @property
    def jobs(self) -> int:
        """Number of threads or processes."""
        ...

    def map(self, function: Callable[[Task], Outcome], tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Yield the outcomes in the order of the tasks, holding only a few at a time."""
        ...


@runtime_checkable
class ReducingBackend(Protocol):
    """A backend that merges outcomes where they are computed, so that less data is transferred."""

    def map_reduce(
        self,
        function: Callable[[Task], Outcome],
        tasks: Sequence[Task],
        merge: Callable[[Sequence[Outcome]], Outcome],
    ) -> Iterator[tuple[int, Outcome]]:
        """Yield the number of tasks and their merged outcome, for consecutive runs of tasks."""
        ...


def map_reduce(
    backend: Backend,
    function: Callable[[Task], Outcome],
    tasks: Sequence[Task],
    merge: Callable[[Sequence[Outcome]], Outcome],
) -> Generator[tuple[int, Outcome], None, None]:
    """Run tasks, and merge their outcomes if the backend supports it.

    Parameters
    ----------
    backend : Backend
        Where the tasks run.
    function : callable
        Maps a task to an outcome.
    tasks : sequence
        Tasks, in order.
    merge : callable
        Merges consecutive outcomes. Must be associative.

    Yields
    ------
    int
        Number of consecutive tasks in the outcome.
    object
        Their merged outcome.
    """
    if isinstance(backend, ReducingBackend):
        yield from backend.map_reduce(function, tasks, merge)
        return
    for outcome in backend.map(function, tasks):
        yield 1, outcome
