"""A range of a space to the best of its features: compute, order, score, keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.result.kept import Kept, best_classes, joined, merged_when_due, none_kept, rounded
from symscreen.statistics.correlation import pearson_of
from symscreen.statistics.order import order_features
from symscreen.statistics.signature import affine_signatures, rank_signatures

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expansion import Fate, Space
    from symscreen.response import Response
    from symscreen.screeners import Screener, Sign
    from symscreen.statistics.order import Ordered

__all__ = ["Scored", "Scorer"]


@dataclass(frozen=True, eq=False)
class Scored:
    """What came of a range.

    Parameters
    ----------
    kept : Kept
        The best classes, or all features.
    scored : int
        How many features were scored.
    lost : dict of Fate to int
        How many had no use once their values were known.
    """

    kept: Kept
    scored: int
    lost: dict[Fate, int]


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores ranges of a space; a pure function of the range.

    Parameters
    ----------
    space : Space
        The features.
    response : Response
        What they are scored against.
    screeners : tuple of Screener
        The first one ranks; the others are computed for what it keeps.
    sign : {"free", "positive"}
        Whether a falling feature is as good as a rising one.
    limit : int or None
        How many classes to keep; None keeps every feature.
    """

    space: Space
    response: Response
    screeners: tuple[Screener, ...]
    sign: Sign
    limit: int | None

    def __call__(self, chunk: tuple[int, int]) -> Scored:
        """Score the features of a range of numbers."""
        kept = [none_kept(len(self.screeners))]
        scored = 0
        lost: dict[Fate, int] = {}
        for block in self.space.blocks(*chunk):
            for fate, count in block.lost.items():
                lost[fate] = lost.get(fate, 0) + count
            scored += len(block.numbers)
            if len(block.numbers):
                kept.append(self._scored(block.numbers, block.values, self._bar(kept[0])))
            if self.limit is not None:
                kept = merged_when_due(kept, self.limit)
        every = joined(kept)
        return Scored(every if self.limit is None else best_classes(every, self.limit), scored, lost)

    def _bar(self, kept: Kept) -> float:
        """Return the loss above which no feature can be among the best any more."""
        if self.limit is None or len(kept) < self.limit:
            return np.inf
        return float(kept.loss[self.limit - 1])

    def _scored(self, numbers: NDArray[np.int64], values: NDArray[np.float64], bar: float) -> Kept:
        ranking = self.screeners[0]
        ordered = order_features(values)
        statistics = ranking.statistic(ordered, self.response)
        loss = ranking.loss(statistics, self.response, self.sign)
        good = np.flatnonzero(rounded(loss) <= bar)
        ordered = ordered.take(good)
        features = self.space.features(numbers[good])
        return Kept(
            number=numbers[good],
            loss=loss[good],
            signature=self._signatures(ordered),
            pearson=np.abs(pearson_of(ordered, self.response)),
            complexity=features.complexity,
            direction=ranking.direction(statistics[good]),
            keys=features.keys,
            class_size=np.ones(len(good), dtype=np.int64),
            scores=self._scores(ordered, statistics[good]),
        )

    def _scores(self, ordered: Ordered, first: NDArray[np.float64]) -> NDArray[np.float64]:
        others = (screener.statistic(ordered, self.response) for screener in self.screeners[1:])
        pairs = zip(self.screeners, (first, *others), strict=True)
        return np.column_stack([screener.score(statistics, self.response) for screener, statistics in pairs])

    def _signatures(self, ordered: Ordered) -> NDArray[np.uint64]:
        mirrored = self.sign == "free"
        if self.screeners[0].blind_to == "affine":
            return affine_signatures(ordered.values, mirrored=mirrored)
        return rank_signatures(ordered, mirrored=mirrored)
