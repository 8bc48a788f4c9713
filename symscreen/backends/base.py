"""What a backend is: something that maps a function over numbered tasks and never changes an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence


__all__ = ["Backend", "ReducingBackend", "map_reduce"]

Task = TypeVar("Task")
Outcome = TypeVar("Outcome")


class Backend(Protocol):
    """Run tasks somewhere."""

    @property
    def name(self) -> str:
        """What the record calls it."""
        ...

    @property
    def jobs(self) -> int:
        """How many threads or processes it uses."""
        ...

    def map(self, function: Callable[[Task], Outcome], tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Yield the outcomes in the order of the tasks, holding only a few at a time."""
        ...


@runtime_checkable
class ReducingBackend(Protocol):
    """A backend that merges outcomes where they are made, so that few of them travel."""

    def map_reduce(
        self,
        function: Callable[[Task], Outcome],
        tasks: Sequence[Task],
        merge: Callable[[Sequence[Outcome]], Outcome],
    ) -> Iterator[tuple[int, Outcome]]:
        """Yield for one run of tasks after the other how many they are, and their outcomes merged."""
        ...


def map_reduce(
    backend: Backend,
    function: Callable[[Task], Outcome],
    tasks: Sequence[Task],
    merge: Callable[[Sequence[Outcome]], Outcome],
) -> Generator[tuple[int, Outcome], None, None]:
    """Run tasks, merged where the backend merges.

    Parameters
    ----------
    backend : Backend
        Where.
    function : callable
        Of a task.
    tasks : sequence
        In their order.
    merge : callable
        Of outcomes that follow each other; the merge of merges is that of all.

    Yields
    ------
    int
        How many tasks this outcome is of; those that follow the ones before.
    object
        Their outcomes, merged.
    """
    if isinstance(backend, ReducingBackend):
        yield from backend.map_reduce(function, tasks, merge)
        return
    for outcome in backend.map(function, tasks):
        yield 1, outcome
