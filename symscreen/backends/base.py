"""What a backend is: something that maps a function over numbered tasks and never changes an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Backend"]

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
