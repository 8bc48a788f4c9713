"""What the parts of a space come to: lists merged, counts added; in whatever parts, the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from symscreen.result.kept import best_classes, joined, merged_when_due, none_kept
from symscreen.result.scoring import Scored, bar_of
from symscreen.result.watch import NOTHING_SEEN, Seen, seen_together, seen_when_due

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symscreen.expansion import Fate
    from symscreen.result.kept import Kept
    from symscreen.result.scoring import Keep

__all__ = ["Merged", "Streamed", "merged_parts"]


@dataclass(frozen=True, eq=False)
class Streamed:
    """What came of a space, or of its first numbers.

    Parameters
    ----------
    kept : tuple of Kept
        Each of the scorer's lists; in no settled order yet.
    scored : int
        How many features were scored.
    lost : dict of Fate to int
        How many had no use once their values were known.
    seen : Seen
        What the scorer's watch saw of all of them.
    done, total : int
        How many numbers were looked at, the first ones, and how many there are.
    chunks : int
        In how many tasks.
    resumed : int
        How many of these tasks an earlier run did.
    """

    kept: tuple[Kept, ...]
    scored: int
    lost: dict[Fate, int]
    seen: Seen = field(default=NOTHING_SEEN)
    done: int = 0
    total: int = 0
    chunks: int = 0
    resumed: int = 0

    @property
    def complete(self) -> bool:
        """Whether all of the space was looked at."""
        return self.done >= self.total


class Merged:
    """Merges parts one after the other, each merge paid for by what has come since the last.

    Parameters
    ----------
    keeps : sequence of Keep
        The lists.
    screeners : int
        How many scores a feature has.
    total : int
        How many numbers the space has.
    before : Streamed, optional
        What an earlier run made of the first numbers.
    """

    def __init__(
        self, keeps: Sequence[Keep], screeners: int, total: int, before: Streamed | None = None
    ) -> None:
        none = [none_kept(screeners) for _ in keeps]
        self._keeps, self._total = keeps, total
        self._lists: list[list[Kept]] = [[one] for one in (none if before is None else before.kept)]
        self._seen: list[Seen] = [] if before is None else [before.seen]
        self._lost: dict[Fate, int] = {} if before is None else dict(before.lost)
        self._resumed = 0 if before is None else before.chunks
        self.scored = 0 if before is None else before.scored
        self.done = 0 if before is None else before.done
        self.chunks = self._resumed
        self.whole = True  # not in the midst of adding a part, where an interrupt may come

    def add(self, part: Scored, done: int, chunks: int) -> None:
        """Add a part of so many chunks; the numbers below `done` have then been looked at."""
        self.whole = False
        for place, keep in enumerate(self._keeps):
            self._lists[place].append(part.kept[place])
            if keep.limit is not None:
                self._lists[place] = merged_when_due(self._lists[place], keep.limit)
        self._seen = seen_when_due([*self._seen, part.seen])
        for fate, count in part.lost.items():
            self._lost[fate] = self._lost.get(fate, 0) + count
        self.scored += part.scored
        self.done = done
        self.chunks += chunks
        self.whole = True

    def settled(self) -> tuple[float, ...]:
        """Merge what waits; return each list's loss above which no feature can be among the best."""
        for place, keep in enumerate(self._keeps):
            if keep.limit is not None:
                self._lists[place] = [best_classes(joined(self._lists[place]), keep.limit)]
        pairs = zip(self._lists, self._keeps, strict=True)
        return tuple(bar_of(parts[0], keep.limit) for parts, keep in pairs)

    def now(self) -> Streamed:
        """Return what has come so far."""
        self.settled()
        return Streamed(
            tuple(map(joined, self._lists)),
            self.scored,
            dict(self._lost),
            seen_together(self._seen),
            self.done,
            self._total,
            self.chunks,
            self._resumed,
        )


def merged_parts(keeps: Sequence[Keep], parts: Iterable[Scored]) -> Scored:
    """Merge parts of a space that follow each other; the merge of merges is that of all.

    Parameters
    ----------
    keeps : sequence of Keep
        The lists.
    parts : iterable of Scored
        At least one.

    Returns
    -------
    Scored
    """
    parts = list(parts)
    lists = [joined([part.kept[place] for part in parts]) for place in range(len(keeps))]
    kept = tuple(
        one if keep.limit is None else best_classes(one, keep.limit)
        for one, keep in zip(lists, keeps, strict=True)
    )
    lost: dict[Fate, int] = {}
    for part in parts:
        for fate, count in part.lost.items():
            lost[fate] = lost.get(fate, 0) + count
    seen = seen_together([part.seen for part in parts])
    return Scored(kept, sum(part.scored for part in parts), lost, seen)
