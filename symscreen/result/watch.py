"""What is seen of every feature while a space streams by: its p-value, and how good noise gets."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.max_t import family_p_values, standardised
from symscreen.statistics.tally import Tally, keys_of, tally_of, together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.response.kinds import AnyResponse
    from symscreen.screeners import Screener, Sign
    from symscreen.statistics.max_t import Shuffles
    from symscreen.statistics.nulls import Null
    from symscreen.statistics.order import Ordered
    from symscreen.statistics.room import Room

__all__ = [
    "NOTHING_SEEN",
    "Seen",
    "Sight",
    "Watch",
    "one_thread_each",
    "seen_of_kept",
    "seen_together",
    "seen_when_due",
]

_DUE = 1 << 20  # counts that wait to be added up
_MOST_PARTS = 256


@dataclass(frozen=True, eq=False)
class Watch:
    """What is to be seen of every feature.

    Parameters
    ----------
    screener : Screener
        Whose statistic it is, the first one's.
    sign : {"free", "positive"}
        Whether falling with the response is as good as rising with it.
    null : Null or None
        Its distribution under independence, where p-values are wanted.
    shuffles : Shuffles or None
        The response permuted, where the best of the space under permutations is wanted.
    """

    screener: Screener
    sign: Sign
    null: Null | None
    shuffles: Shuffles | None

    def p_values(self, ordered: Ordered, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute p-values of features, shape (m,); only where there is a null distribution."""
        assert self.null is not None  # noqa: S101  # who asks has looked
        return self.null(ordered, statistics, self.sign)


@contextmanager
def one_thread_each(watch: Watch | None) -> Iterator[None]:
    """Keep BLAS, where a watch uses it, from starting threads under our own."""
    if watch is None or watch.shuffles is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of some features.

    Parameters
    ----------
    tally : Tally
        Their p-values; empty where none were wanted.
    best : float64 array, shape (B,), or None
        The best of them under each permutation.
    """

    tally: Tally
    best: NDArray[np.float64] | None


NOTHING_SEEN = Seen(together([]), None)


class Sight:
    """Sees the blocks of one range, one after the other.

    Parameters
    ----------
    watch : Watch
        What is to be seen.
    room : Room
        Of the thread.
    """

    def __init__(self, watch: Watch, room: Room) -> None:
        self._watch, self._room = watch, room
        self._p_values = [np.zeros(0)]
        self._best = None if watch.shuffles is None else watch.shuffles.none_yet

    def see(self, ordered: Ordered, statistics: NDArray[np.float64]) -> None:
        """See a block of features, whose statistics are known."""
        if self._watch.null is not None:
            self._p_values.append(self._watch.p_values(ordered, statistics))
        if self._watch.shuffles is not None and self._best is not None:
            self._watch.shuffles.raise_best(ordered, self._best, self._room)

    @property
    def seen(self) -> Seen:
        """What has been seen so far."""
        return Seen(tally_of(np.concatenate(self._p_values)), self._best)


def seen_together(parts: Sequence[Seen]) -> Seen:
    """Add up what was seen of several parts of a space; none or more, in any order.

    Parameters
    ----------
    parts : sequence of Seen
        Of one watch.

    Returns
    -------
    Seen
    """
    bests = [part.best for part in parts if part.best is not None]
    best = np.maximum.reduce(bests) if bests else None
    return Seen(together([part.tally for part in parts]), best)


def seen_when_due(parts: list[Seen]) -> list[Seen]:
    """Add parts up once they have outgrown what was added up before, so that each time pays for itself."""
    waiting = sum(len(part.tally.keys) for part in parts[1:])
    due = waiting > max(_DUE, 2 * len(parts[0].tally.keys)) or len(parts) > _MOST_PARTS
    return [seen_together(parts)] if due else parts


def seen_of_kept(
    watch: Watch, seen: Seen, blocks: Iterator[Ordered], response: AnyResponse
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Look at the features that are shown once more.

    Parameters
    ----------
    watch : Watch
        As while they streamed by.
    seen : Seen
        Of the whole space.
    blocks : iterator of Ordered
        The features shown, in their order.
    response : Response or RankingResponse
        The response.

    Returns
    -------
    keys : int32 array, shape (k,) or (0,)
        Their p-values, as the tally writes them; empty where none were wanted.
    family : float64 array, shape (k,) or (0,)
        Their max-T p-values; the same.
    """
    keys, family = [np.zeros(0, dtype=np.int32)], [np.zeros(0)]
    for ordered in blocks:
        if watch.null is not None:
            keys.append(keys_of(watch.p_values(ordered, watch.screener.statistic(ordered, response))))
        if watch.shuffles is not None and seen.best is not None:
            family.append(family_p_values(standardised(ordered, watch.shuffles), seen.best))
    return np.concatenate(keys), np.concatenate(family)
