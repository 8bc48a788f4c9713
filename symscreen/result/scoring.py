"""A range of a space to the best of its features: compute, order, score, keep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from symscreen.response import Response
from symscreen.response.classes import ClassesResponse
from symscreen.response.rankings import RankingResponse
from symscreen.response.several import SeveralResponse
from symscreen.response.survival import SurvivalResponse
from symscreen.response.weighted import WeightedResponse
from symscreen.result.classes import signatures_of
from symscreen.result.kept import Kept, best_classes, joined, merged_when_due, none_kept, rounded
from symscreen.result.watch import NOTHING_SEEN, Seen, Sight
from symscreen.statistics.binary_correlation import binary_correlations
from symscreen.statistics.binary_t0 import agreed_direction
from symscreen.statistics.correlation import correlations, pearson_of
from symscreen.statistics.order import Ordered, order_features, together
from symscreen.statistics.room import Rooms
from symscreen.statistics.several_t0 import ranking_metrics
from symscreen.statistics.weighted import weighted_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.expansion import Fate, Space
    from symscreen.response.kinds import AnyResponse
    from symscreen.result.classes import ClassKind
    from symscreen.result.watch import Watch
    from symscreen.screeners import Screener, Sign

__all__ = ["Keep", "Scored", "Scorer", "bar_of", "scores_of"]

_TOGETHER = 1 << 18  # values of features that wait to be signed and looked up together


@dataclass(frozen=True, slots=True)
class Keep:
    """A list of the best features that is kept while a space streams by.

    Parameters
    ----------
    by : int
        The place of the screener that orders the list.
    merged : {"ranks", "affine"}
        Features with the same ranks, or affine copies, are one entry.
    mirrored : bool
        Whether a feature and its negative are one entry; falling is then as good as rising.
    limit : int or None
        How many entries; None keeps every feature, unmerged.
    """

    by: int
    merged: ClassKind
    mirrored: bool
    limit: int | None


@dataclass(frozen=True, eq=False)
class Scored:
    """What came of a range.

    Parameters
    ----------
    kept : tuple of Kept
        What each list keeps of it.
    scored : int
        How many features were scored.
    lost : dict of Fate to int
        How many had no use once their values were known.
    seen : Seen
        What was seen of every feature of it, kept or not.
    """

    kept: tuple[Kept, ...]
    scored: int
    lost: dict[Fate, int]
    seen: Seen = NOTHING_SEEN


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores ranges of a space; a pure function of the range.

    Parameters
    ----------
    space : Space
        The features.
    response : AnyResponse
        What they are scored against.
    screeners : tuple of Screener
        Column screeners: those that order a list score every feature, the others what is kept.
    sign : {"free", "positive"}
        Whether a falling feature is as good as a rising one.
    keeps : tuple of Keep
        The lists.
    bars : tuple of float
        For each list the loss above which no feature can be among the best; empty where that is not known.
    rooms : Rooms
        Where threads compute and order blocks.
    watch : Watch, optional
        What is to be seen of every feature by the first screener.
    """

    space: Space
    response: AnyResponse
    screeners: tuple[Screener, ...]
    sign: Sign
    keeps: tuple[Keep, ...]
    bars: tuple[float, ...] = ()
    rooms: Rooms = field(default_factory=Rooms, repr=False)
    watch: Watch | None = None

    def __call__(self, chunk: tuple[int, int]) -> Scored:
        """Score the features of a range of numbers."""
        lists = [[none_kept(len(self.screeners))] for _ in self.keeps]
        waiting: list[list[_Good]] = [[] for _ in self.keeps]
        scored = 0
        lost: dict[Fate, int] = {}
        room = self.rooms.own()
        sight = None if self.watch is None else Sight(self.watch, room)
        for block in self.space.blocks(*chunk, room):
            for fate, count in block.lost.items():
                lost[fate] = lost.get(fate, 0) + count
            scored += len(block.numbers)
            if not len(block.numbers):
                continue
            ordered = order_features(block.values, room, block.following)
            known: dict[int, NDArray[np.float64]] = {}
            if sight is not None:
                known[0] = self.screeners[0].statistic(ordered, self.response)
                sight.see(ordered, known[0])
            for place, good in self._good(lists, block.numbers, ordered, known):
                if good.ordered is ordered:  # the next block will stand in its room
                    self._settle(place, lists, [good])
                    continue
                waiting[place].append(good)
                if sum(one.ordered.values.size for one in waiting[place]) >= _TOGETHER:
                    self._settle(place, lists, waiting[place])
                    waiting[place] = []
        for place, parts in enumerate(waiting):
            if parts:
                self._settle(place, lists, parts)
        kept = [joined(parts) for parts in lists]
        for place, keep in enumerate(self.keeps):
            if keep.limit is not None:
                kept[place] = best_classes(kept[place], keep.limit)
        return Scored(tuple(kept), scored, lost, NOTHING_SEEN if sight is None else sight.seen)

    def entries(self, keep: Keep, numbers: NDArray[np.int64], ordered: Ordered) -> Kept:
        """Describe features as a list describes them, wanted or not.

        Parameters
        ----------
        keep : Keep
            The list; how long it is does not matter.
        numbers : int64 array, shape (m,)
            The features' numbers.
        ordered : Ordered
            The same features.

        Returns
        -------
        Kept
            In the order of the numbers.
        """
        statistics = self.screeners[keep.by].statistic(ordered, self.response)
        sign = "free" if keep.mirrored else self.sign
        loss = self.screeners[keep.by].loss(statistics, self.response, sign)
        return self._kept(keep, [_Good(numbers, ordered, loss, statistics)])

    def _good(
        self,
        lists: list[list[Kept]],
        numbers: NDArray[np.int64],
        ordered: Ordered,
        known: dict[int, NDArray[np.float64]],
    ) -> Iterator[tuple[int, _Good]]:
        """Yield, by the list's place, the features of a block that a list may have room for."""
        for place, keep in enumerate(self.keeps):
            screener = self.screeners[keep.by]
            if keep.by not in known:
                known[keep.by] = screener.statistic(ordered, self.response)
            # a feature and its negative can be one entry only if they have one loss
            sign = "free" if keep.mirrored else self.sign
            loss = screener.loss(known[keep.by], self.response, sign)
            bar = min(bar_of(lists[place][0], keep.limit), self.bars[place] if self.bars else np.inf)
            good = np.flatnonzero(rounded(loss) <= bar)
            if len(good):
                some = ordered if len(good) == len(numbers) else ordered.take(good)
                yield place, _Good(numbers[good], some, loss[good], known[keep.by][good])

    def _settle(self, place: int, lists: list[list[Kept]], parts: list[_Good]) -> None:
        """Add features that a list may have room for to it."""
        keep = self.keeps[place]
        lists[place].append(self._kept(keep, parts))
        if keep.limit is not None:
            lists[place] = merged_when_due(lists[place], keep.limit)

    def _kept(self, keep: Keep, parts: list[_Good]) -> Kept:
        """Sign, look up and score features that a list may have room for."""
        numbers = np.concatenate([part.numbers for part in parts])
        statistics = np.concatenate([part.statistics for part in parts])
        ordered = together([part.ordered for part in parts])
        features = self.space.features(numbers)
        return Kept(
            number=numbers,
            loss=np.concatenate([part.loss for part in parts]),
            signature=signatures_of(ordered, keep.merged, mirrored=keep.mirrored),
            pearson=_alignment(ordered, self.response),
            complexity=features.complexity,
            direction=_direction(self.screeners[keep.by], statistics, ordered, self.response),
            keys=features.keys,
            class_size=np.ones(len(numbers), dtype=np.int64),
            scores=scores_of(self.screeners, ordered, self.response, {keep.by: statistics}),
        )


@dataclass(frozen=True, eq=False)
class _Good:
    """Features of a block that a list may have room for: their loss by its screener, and the statistic."""

    numbers: NDArray[np.int64]
    ordered: Ordered
    loss: NDArray[np.float64]
    statistics: NDArray[np.float64]


def bar_of(kept: Kept, limit: int | None) -> float:
    """Return the loss above which no feature can be among the best any more."""
    if limit is None or len(kept) < limit:
        return np.inf
    return float(kept.loss[limit - 1])


def _alignment(ordered: Ordered, response: AnyResponse) -> NDArray[np.float64]:
    """Return what members of a class are ordered by."""
    if isinstance(response, Response):
        return np.abs(pearson_of(ordered, response))
    if isinstance(response, WeightedResponse):
        return np.abs(weighted_pearson(ordered, response))
    if isinstance(response, SurvivalResponse):
        return np.abs(correlations(ordered.values, response.scaled))
    if isinstance(response, SeveralResponse):
        asked = zip(response.targets, response.rows, strict=True)
        found = [np.abs(pearson_of(Ordered(ordered.values[:, rows]), target)) for target, rows in asked]
        total = np.zeros(len(ordered.values))
        for each in found:
            total += each
        return total / len(found)
    return binary_correlations(ordered.values, response.binary)


def _direction(
    screener: Screener, statistics: NDArray[np.float64], ordered: Ordered, response: AnyResponse
) -> NDArray[np.int8]:
    """Return directions: where several pairs or targets are compared, the one that all of them agree on.

    An order of several labels has none, nor have more than two classes.
    """
    if isinstance(response, Response | SurvivalResponse | WeightedResponse):
        return screener.direction(statistics)
    if isinstance(response, SeveralResponse):
        found = ranking_metrics(ordered, response)
        rises, falls = np.max(found, axis=0) > 0, np.min(found, axis=0) < 0
        return np.asarray(rises.astype(np.int8) - falls.astype(np.int8))
    if isinstance(response, RankingResponse) or (
        isinstance(response, ClassesResponse) and len(response.classes) > 2
    ):
        return np.zeros(len(statistics), dtype=np.int8)
    return agreed_direction(ordered, response.binary)


def scores_of(
    screeners: Sequence[Screener],
    ordered: Ordered,
    response: AnyResponse,
    known: dict[int, NDArray[np.float64]] | None = None,
) -> NDArray[np.float64]:
    """Score features by column screeners.

    Parameters
    ----------
    screeners : sequence of Screener
        At least one.
    ordered : Ordered
        m features.
    response : AnyResponse
        The response.
    known : dict of int to float64 array, shape (m,), optional
        Statistics that have been computed already, by the screener's place.

    Returns
    -------
    float64 array, shape (m, screeners)
        The scores that are shown.
    """
    known = known or {}
    statistics = (
        known[place] if place in known else screener.statistic(ordered, response)
        for place, screener in enumerate(screeners)
    )
    pairs = zip(screeners, statistics, strict=True)
    return np.column_stack([screener.score(values, response) for screener, values in pairs])
