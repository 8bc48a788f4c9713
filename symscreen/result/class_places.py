"""How many classes of a space stand before a feature: counted exactly while they are few, else estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.result.classes import signatures_of
from symscreen.result.kept import best_classes, joined, none_kept, rounded
from symscreen.result.scoring import Keep, Scorer
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.response.kinds import AnyResponse
    from symscreen.result.kept import Kept
    from symscreen.screeners import Screener, Sign

    Keys = NDArray[np.uint64]

__all__ = ["class_place"]

_COUNTED = 1 << 14  # classes counted exactly; beyond, the relative error is about 1/√_COUNTED
_TIE = 1e-9  # copies of one feature share their loss up to rounding


@dataclass(frozen=True, eq=False)
class _Found:
    """What is known of the classes of some ranges.

    Parameters
    ----------
    before : uint64 array
        The least hashes of the classes whose loss is less, ascending.
    level : Kept
        The classes whose loss is the feature's up to rounding, each its best member: itself, and of the
        others those with the least hashes.
    cut : int or None
        The greatest hash up to which `level` holds every class; None for all.
    """

    before: Keys
    level: Kept
    cut: int | None = None


@dataclass(frozen=True, eq=False)
class _Better:
    """Finds the classes of a range that stand before a loss, or beside it."""

    scorer: Scorer
    loss: float
    own: np.uint64
    most: int

    def __call__(self, chunk: tuple[int, int]) -> _Found:
        found = _Found(np.zeros(0, dtype=np.uint64), none_kept(1))
        scorer, (screener, *_), (keep, *_) = self.scorer, self.scorer.screeners, self.scorer.keeps
        for block in scorer.space.blocks(*chunk):
            if not len(block.numbers):
                continue
            ordered = order_features(block.values)
            statistics = screener.statistic(ordered, scorer.response)
            loss = rounded(screener.loss(statistics, scorer.response, scorer.sign))
            near = np.flatnonzero(loss <= self.loss + _TIE)
            if not len(near):
                continue
            some = ordered.take(near)
            signatures = signatures_of(some, keep.merged, mirrored=keep.mirrored)
            beside = (loss[near] >= self.loss - _TIE) | (signatures == self.own)
            level = none_kept(1)
            if beside.any():
                places = np.flatnonzero(beside)
                level = scorer.entries(keep, block.numbers[near[places]], some.take(places))
            found = self.together(found, _Found(_hashed(signatures[~beside]), level))
        return found

    def together(self, one: _Found, other: _Found) -> _Found:
        """Unite what two sets of ranges hold."""
        before = np.unique(np.concatenate((one.before, other.before)))[: self.most]
        level = joined([one.level, other.level])
        level = best_classes(level, max(1, len(level)))
        cuts = [cut for cut in (one.cut, other.cut) if cut is not None]
        others = np.sort(_hashed(level.signature[level.signature != self.own]))
        if len(others) > self.most:
            cuts.append(int(others[self.most - 1]))
        if not cuts:
            return _Found(before, level)
        few = (_hashed(level.signature) <= np.uint64(min(cuts))) | (level.signature == self.own)
        return _Found(before, level.take(np.flatnonzero(few)), min(cuts))


def _hashed(signatures: Keys) -> Keys:
    """Spread signatures evenly over 64 bits: the finaliser of splitmix64, one to one."""
    state = (signatures ^ (signatures >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def class_place(
    space: Space,
    response: AnyResponse,
    screener: Screener,
    sign: Sign,
    values: NDArray[np.float64],
    *,
    backend: Backend,
    chunk_size: int,
    counted: int = _COUNTED,
) -> float:
    """Find the place of a feature's class among the classes of a space.

    Parameters
    ----------
    space : Space
        The features.
    response : Response or RankingResponse
        What they are scored against.
    screener : Screener
        Who scores them.
    sign : {"free", "positive"}
        As in a screen.
    values : float64 array, shape (n,)
        The feature.
    backend : Backend
        Where chunks are scored.
    chunk_size : int
        Candidates a task.
    counted : int
        How many classes are counted exactly.

    Returns
    -------
    float
        One plus the number of other classes that stand before it, in the order of `symscreen.result.kept`,
        which breaks ties. A whole number up to `counted`; beyond, (k − 1)/u with u the k-th least of evenly
        spread hashes in (0, 1] (k = `counted`; Bar-Yossef et al. 2002), which is off by about 1/√k of itself.
        Infinite where the space has no member of the class.
    """
    ordered, mirrored = order_features(np.ascontiguousarray(values[None])), sign == "free"
    loss = rounded(screener.loss(screener.statistic(ordered, response), response, sign))
    own = signatures_of(ordered, screener.blind_to, mirrored=mirrored)[0]
    keep = Keep(0, screener.blind_to, mirrored, limit=None)
    better = _Better(Scorer(space, response, (screener,), sign, (keep,)), float(loss[0]), own, counted)
    found = _Found(np.zeros(0, dtype=np.uint64), none_kept(1))
    for some in backend.map(better, space.chunks(chunk_size)):
        found = better.together(found, some)
    level = found.level.take(found.level.member_order()).signature
    if own not in level:
        return float("inf")
    earlier = _hashed(level[: int(np.flatnonzero(level == own)[0])])
    hashes = np.unique(np.concatenate((found.before, earlier)))
    cuts = [found.cut] if found.cut is not None else []
    if len(found.before) == counted:
        cuts.append(int(found.before[-1]))
    if not cuts:
        return 1.0 + len(hashes)
    known = int((hashes <= np.uint64(min(cuts))).sum())
    return 1.0 + max(0, round((known - 1) / ((float(min(cuts)) + 1.0) / 2.0**64)))
