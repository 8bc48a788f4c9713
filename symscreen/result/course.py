"""How a stream is attended: who is told how far it is, what keeps its state, and when it must end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen.result.merging import Streamed

__all__ = ["UNATTENDED", "Course", "Keeper", "Standing"]


@dataclass(frozen=True, slots=True)
class Standing:
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

    done: int
    total: int
    scored: int
    seconds: float
    rate: float
    seconds_left: float | None
    best: str | None
    score: float | None
    screener: str

    def __str__(self) -> str:
        """Write it as a line."""
        parts = [f"{self.done:,} of {self.total:,}", f"{self.rate:,.0f}/s"]
        if self.seconds_left is not None:
            parts.append(f"{self.seconds_left:,.0f} s left")
        if self.best is not None and self.score is not None:
            parts.append(f"best {self.screener} {self.score:.6g}: {self.best}")
        return ", ".join(parts)


class Keeper(Protocol):
    """Keeps the state of a stream, so that a later run can go on from there."""

    def found(self, stream: str, check: Callable[[Streamed], None], most: int) -> Streamed | None:
        """Return the state that was kept of a stream, by its name, or None.

        It is no larger than so many bytes, and passes a check that raises `ValueError` where it does not.
        """
        ...

    def offer(self, stream: str, now: Callable[[], Streamed], *, last: bool) -> None:
        """Keep the state of a stream if it is time to; the last one is kept as a rule."""
        ...


@dataclass(frozen=True, eq=False)
class Course:
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
    tell: Callable[[Standing], None] | None = None
    until: float | None = None
    growing_until: float | None = None
    keeper: Keeper | None = None


UNATTENDED = Course()
