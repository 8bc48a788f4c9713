"""A whole space through a backend: score all chunks, and merge what their lists keep."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symscreen.result.classes import classes_behind
from symscreen.result.kept import best_classes, joined, merged_when_due, none_kept
from symscreen.result.scoring import bar_of
from symscreen.result.thin import merge_numeric_copies, stand_ins
from symscreen.result.watch import NOTHING_SEEN, Seen, seen_together, seen_when_due

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Fate, Space
    from symscreen.result.classes import Classes
    from symscreen.result.kept import Kept
    from symscreen.result.scoring import Keep, Scorer

    Chunk = tuple[int, int]
    Progress = Callable[[int, int], None]

__all__ = ["Streamed", "chunk_size_for", "final_classes", "settled_classes", "streamed", "with_margin"]

_CHUNK_VALUES = 1 << 23
_LARGEST_CHUNK = 1 << 14
_FEWEST_CHUNKS = 16  # where they are not too small, so that all threads have work
_SMALLEST_CHUNK_VALUES = 1 << 19


@dataclass(frozen=True, eq=False)
class Streamed:
    """What came of a space.

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
    """

    kept: tuple[Kept, ...]
    scored: int
    lost: dict[Fate, int]
    seen: Seen = NOTHING_SEEN


def chunk_size_for(rows: int) -> int:
    """Return how many candidates make a task: some megabytes of values, and not too few for long columns."""
    return max(16, min(_LARGEST_CHUNK, _CHUNK_VALUES // rows))


def with_margin(limit: int) -> int:
    """Return how many classes to keep while streaming: features equal up to rounding are merged after it."""
    return 2 * limit + 16


def streamed(scorer: Scorer, backend: Backend, chunk_size: int, progress: Progress | None = None) -> Streamed:
    """Score all chunks of a space and merge what they keep.

    Parameters
    ----------
    scorer : Scorer
        What is done with each chunk.
    backend : Backend
        Where.
    chunk_size : int
        Candidates a task.
    progress : callable, optional
        Called with (candidates done, candidates in all) after each chunk.

    Returns
    -------
    Streamed
        The same for every backend and chunk size.
    """
    lists = [[none_kept(len(scorer.screeners))] for _ in scorer.keeps]
    scored = 0
    lost: dict[Fate, int] = {}
    seen: list[Seen] = []
    for chunks in _stages(_chunks(scorer.space, chunk_size)):
        for (_, stop), outcome in zip(chunks, backend.map(scorer, chunks), strict=True):
            for place, keep in enumerate(scorer.keeps):
                lists[place].append(outcome.kept[place])
                if keep.limit is not None:
                    lists[place] = merged_when_due(lists[place], keep.limit)
            scored += outcome.scored
            seen = seen_when_due([*seen, outcome.seen])
            for fate, count in outcome.lost.items():
                lost[fate] = lost.get(fate, 0) + count
            if progress is not None:
                progress(stop, scorer.space.total)
        for place, keep in enumerate(scorer.keeps):
            if keep.limit is not None:
                lists[place] = [best_classes(joined(lists[place]), keep.limit)]
        bars = (bar_of(parts[0], keep.limit) for parts, keep in zip(lists, scorer.keeps, strict=True))
        scorer = replace(scorer, bars=tuple(bars))
    return Streamed(tuple(map(joined, lists)), scored, lost, seen_together(seen))


def _chunks(space: Space, largest: int) -> list[Chunk]:
    """Cut a space into tasks; a small one, or what a search left of one, finer than asked."""
    smallest = _SMALLEST_CHUNK_VALUES // max(1, space.rows)
    return space.chunks(max(1, min(largest, max(smallest, space.size // _FEWEST_CHUNKS))))


def _stages(chunks: list[Chunk]) -> Iterator[list[Chunk]]:
    """Cut the chunks into stages, each four times as long as all before it.

    What one stage keeps tells the next what cannot be among the best any more, and need not be looked up,
    signed and merged.
    """
    done = 0
    while done < len(chunks):
        end = max(1, 4 * done)
        yield chunks[done:end]
        done = end


def final_classes(kept: Kept, space: Space, limit: int) -> Kept:
    """Settle a list: the best classes, those equal up to rounding merged.

    Parameters
    ----------
    kept : Kept
        A list that was streamed with a margin.
    space : Space
        Where it comes from.
    limit : int
        How many classes to return at most.

    Returns
    -------
    Kept
        Best first.
    """
    return _settled(kept, space, limit)[2]


def settled_classes(kept: Kept, space: Space, limit: int, keep: Keep) -> tuple[Kept, Classes]:
    """Settle a list, and tell by which signatures its classes are recognised.

    Parameters
    ----------
    kept, space, limit
        As of `final_classes`.
    keep : Keep
        How the list was kept.

    Returns
    -------
    Kept
        As of `final_classes`.
    Classes
        All signatures merged into each entry.
    """
    several, stands_for, settled = _settled(kept, space, limit)
    return settled, classes_behind(several, stands_for, settled, keep.merged, mirrored=keep.mirrored)


def _settled(kept: Kept, space: Space, limit: int) -> tuple[Kept, NDArray[np.int64], Kept]:
    kept = best_classes(kept, with_margin(limit)).first(with_margin(limit))
    stands_for = stand_ins(kept, space.values(kept.number))
    return kept, stands_for, merge_numeric_copies(kept, stands_for).first(limit)
