"""A whole space through a backend: score all chunks, and merge what their lists keep."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from time import monotonic
from typing import TYPE_CHECKING

from symscreen.backends import parts_of
from symscreen.logs import stage
from symscreen.result.classes import classes_behind
from symscreen.result.course import UNATTENDED
from symscreen.result.kept import best_classes
from symscreen.result.merging import Merged, Streamed, merged_parts
from symscreen.result.resumed import check_resumed, most_bytes_kept
from symscreen.result.standing import Teller
from symscreen.result.thin import merge_numeric_copies, stand_ins

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.result.classes import Classes
    from symscreen.result.course import Course
    from symscreen.result.kept import Kept
    from symscreen.result.scoring import Keep, Scored, Scorer

    Chunk = tuple[int, int]

__all__ = ["Streamed", "chunk_size_for", "final_classes", "settled_classes", "streamed", "with_margin"]

_CHUNK_VALUES = 1 << 23
_LARGEST_CHUNK = 1 << 14
_FEWEST_CHUNKS = 16  # where they are not too small, so that all threads have work
_SMALLEST_CHUNK_VALUES = 1 << 19


def chunk_size_for(rows: int) -> int:
    """Return how many candidates make a task: some megabytes of values, and not too few for long columns."""
    return max(16, min(_LARGEST_CHUNK, _CHUNK_VALUES // rows))


def with_margin(limit: int) -> int:
    """Return how many classes to keep while streaming: features equal up to rounding are merged after it."""
    return 2 * limit + 16


def streamed(scorer: Scorer, backend: Backend, chunk_size: int, course: Course = UNATTENDED) -> Streamed:
    """Score all chunks of a space and merge what they keep.

    Parameters
    ----------
    scorer : Scorer
        What is done with each chunk.
    backend : Backend
        Where.
    chunk_size : int
        Candidates a task.
    course : Course, optional
        Who is told how far it is, what keeps the state, and when it must end.

    Returns
    -------
    Streamed
        The same for every backend and chunk size, and whether or not it went on from a kept state; of a
        prefix of the space where time ran out.
    """
    space, keeper = scorer.space, course.keeper
    stream = "" if keeper is None else _name_of(scorer)
    before = None
    if keeper is not None:
        before = keeper.found(stream, partial(check_resumed, scorer=scorer), most_bytes_kept(scorer))
    merged = Merged(scorer.keeps, len(scorer.screeners), space.total, before)
    teller = Teller(scorer, course, merged.done)
    passed, chunks = _left(_chunks(space, chunk_size), merged.done)
    function = _OfChunk(replace(scorer, bars=()))  # one and the same in all stages: it travels once
    merge = partial(merged_parts, scorer.keeps)
    try:
        for chunks_of_stage in _stages(chunks, passed):
            bars = merged.settled()
            tasks = [(chunk, bars) for chunk in chunks_of_stage]
            with closing(parts_of(backend, function, tasks, merge)) as parts:
                scored = 0
                for count, part in parts:
                    scored += count
                    merged.add(part, tasks[scored - 1][0][1], count)
                    teller.tell(part, merged)
                    if keeper is not None:
                        keeper.offer(stream, merged.now, last=False)
                    if course.until is not None and monotonic() > course.until:
                        stage("time ran out", done=merged.done, total=space.total, features=merged.scored)
                        return merged.now()
            stage("scored", done=merged.done, total=space.total, features=merged.scored)
        return merged.now()
    finally:
        if keeper is not None and merged.whole:
            keeper.offer(stream, merged.now, last=True)


@dataclass(frozen=True, eq=False)
class _OfChunk:
    """Scores a chunk, given the losses above which no feature can be among the best any more."""

    scorer: Scorer

    def __call__(self, task: tuple[Chunk, tuple[float, ...]]) -> Scored:
        chunk, bars = task
        return replace(self.scorer, bars=bars)(chunk)


def _name_of(scorer: Scorer) -> str:
    """Name a stream, for a run may have several: by its response, its space and its lists."""
    space, values = scorer.space, getattr(scorer.response, "values", None)
    asked = [one.name for one in scorer.screeners], scorer.keeps, space.counts, space.total, space.size
    digest = blake2b(repr(asked).encode(), digest_size=8)
    digest.update(b"" if values is None else values.tobytes())
    return digest.hexdigest()


def _left(chunks: list[Chunk], done: int) -> tuple[int, list[Chunk]]:
    """Return how many chunks are done, and all chunks, that which was cut short begun where it was cut."""
    passed = sum(stop <= done for _, stop in chunks)
    begun = [(max(start, done), stop) for start, stop in chunks[passed:]]
    return passed, [*chunks[:passed], *begun]


def _chunks(space: Space, largest: int) -> list[Chunk]:
    """Cut a space into tasks; a small one, or what a search left of one, finer than asked."""
    smallest = _SMALLEST_CHUNK_VALUES // max(1, space.rows)
    return space.chunks(max(1, min(largest, max(smallest, space.size // _FEWEST_CHUNKS))))


def _stages(chunks: list[Chunk], done: int = 0) -> Iterator[list[Chunk]]:
    """Cut the chunks into stages, each four times as long as all before it, from one of them on.

    What one stage keeps tells the next what cannot be among the best any more, and need not be looked up,
    signed and merged.
    """
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
