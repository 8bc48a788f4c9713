"""How many features of a space stand before given ones: their place, without a ranking that holds them.

How many classes of a space stand before a feature: counted exactly while they are few, else estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.top_features import (
    compute_signatures,
    concatenate_features,
    make_empty_features,
    round_sort_keys,
    select_best_classes,
)
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.screeners import Screener, Sign
    from symscreen.screening.scoring.top_features import FeatureTable
    from symscreen.targets.registry import Target

    Hashes = NDArray[np.uint64]

__all__ = ["compute_class_rank", "compute_ranks"]


@dataclass(frozen=True, eq=False)
class _BetterFeatureCounter:
    """Counts the features of a range that stand before each of some losses."""

    space: Space
    target: Target
    screener: Screener
    sign: Sign
    losses: NDArray[np.float64]

    def __call__(self, chunk: tuple[int, int]) -> NDArray[np.int64]:
        """Count in a range of numbers; shape (k,)."""
        before = np.zeros(len(self.losses), dtype=np.int64)
        for block in self.space.evaluate_range(*chunk):
            if len(block.numbers):
                statistics = self.screener.statistic(sort_block(block.values), self.target)
                found = np.sort(round_sort_keys(self.screener.loss(statistics, self.target, self.sign)))
                before += np.searchsorted(found, self.losses, side="left")
        return before


def compute_ranks(
    space: Space,
    target: Target,
    screener: Screener,
    sign: Sign,
    values: NDArray[np.float64],
    *,
    backend: Backend,
    chunk_size: int,
) -> NDArray[np.int64]:
    """Find the places of features among all of a space.

    Parameters
    ----------
    space : Space
        All features.
    response : Response, RankingResponse or StagesResponse
        What they are scored against.
    screener : Screener
        Who scores them.
    sign : {"free", "positive"}
        As in a screen.
    values : float64 array, shape (k, n)
        The features whose places are wanted.
    backend : Backend
        Where chunks are scored.
    chunk_size : int
        Candidates a task.

    Returns
    -------
    int64 array, shape (k,)
        One plus the number of features that stand before each; features that tie share the best place.
    """
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    statistics = screener.statistic(sort_block(values), target)
    losses = round_sort_keys(screener.loss(statistics, target, sign))
    counter = _BetterFeatureCounter(space, target, screener, sign, losses)
    before = np.zeros(len(losses), dtype=np.int64)
    for found in backend.map(counter, space.split_chunks(chunk_size)):
        before += found
    return before + 1


_MAX_EXACT_CLASSES = 1 << 14  # classes counted exactly; beyond, the relative error is about 1/√_COUNTED
_TIE_TOLERANCE = 1e-9  # copies of one feature share their loss up to rounding


@dataclass(frozen=True, eq=False)
class _BetterClasses:
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

    better_hashes: Hashes
    tied_classes: FeatureTable
    max_hash: int | None = None


@dataclass(frozen=True, eq=False)
class _BetterClassCounter:
    """Finds the classes of a range that stand before a loss, or beside it."""

    scorer: Scorer
    loss: float
    signature: np.uint64
    max_classes: int

    def __call__(self, chunk: tuple[int, int]) -> _BetterClasses:
        found = _BetterClasses(np.zeros(0, dtype=np.uint64), make_empty_features(1))
        scorer, (screener, *_), (keep, *_) = self.scorer, self.scorer.screeners, self.scorer.top_k_specs
        for block in scorer.space.evaluate_range(*chunk):
            if not len(block.numbers):
                continue
            ordered = sort_block(block.values)
            statistics = screener.statistic(ordered, scorer.target)
            loss = round_sort_keys(screener.loss(statistics, scorer.target, scorer.sign))
            near = np.flatnonzero(loss <= self.loss + _TIE_TOLERANCE)
            if not len(near):
                continue
            some = ordered.take(near)
            signatures = compute_signatures(some, keep.equivalence, mirrored=keep.mirrored)
            beside = (loss[near] >= self.loss - _TIE_TOLERANCE) | (signatures == self.signature)
            level = make_empty_features(1)
            if beside.any():
                places = np.flatnonzero(beside)
                level = scorer.describe_features(keep, block.numbers[near[places]], some.take(places))
            found = self.merge(found, _BetterClasses(_hash_signatures(signatures[~beside]), level))
        return found

    def merge(self, first: _BetterClasses, second: _BetterClasses) -> _BetterClasses:
        """Unite what two sets of ranges hold."""
        before = np.unique(np.concatenate((first.better_hashes, second.better_hashes)))[: self.max_classes]
        level = concatenate_features([first.tied_classes, second.tied_classes])
        level = select_best_classes(level, max(1, len(level)))
        cuts = [cut for cut in (first.max_hash, second.max_hash) if cut is not None]
        others = np.sort(_hash_signatures(level.signature[level.signature != self.signature]))
        if len(others) > self.max_classes:
            cuts.append(int(others[self.max_classes - 1]))
        if not cuts:
            return _BetterClasses(before, level)
        few = (_hash_signatures(level.signature) <= np.uint64(min(cuts))) | (
            level.signature == self.signature
        )
        return _BetterClasses(before, level.take(np.flatnonzero(few)), min(cuts))


def _hash_signatures(signatures: Hashes) -> Hashes:
    """Spread signatures evenly over 64 bits: the finaliser of splitmix64, one to one."""
    state = (signatures ^ (signatures >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def compute_class_rank(
    space: Space,
    target: Target,
    screener: Screener,
    sign: Sign,
    values: NDArray[np.float64],
    *,
    backend: Backend,
    chunk_size: int,
    max_exact_classes: int = _MAX_EXACT_CLASSES,
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
        One plus the number of other classes that stand before it, in the order of
        `symscreen.screening.scoring.top_features`,
        which breaks ties. A whole number up to `counted`; beyond, (k − 1)/u with u the k-th least of evenly
        spread hashes in (0, 1] (k = `counted`; Bar-Yossef et al. 2002), which is off by about 1/√k of itself.
        Infinite where the space has no member of the class.
    """
    ordered, mirrored = sort_block(np.ascontiguousarray(values[None])), sign == "free"
    loss = round_sort_keys(screener.loss(screener.statistic(ordered, target), target, sign))
    own = compute_signatures(ordered, screener.equivalence, mirrored=mirrored)[0]
    keep = TopKSpec(0, screener.equivalence, mirrored, limit=None)
    better = _BetterClassCounter(
        Scorer(space, target, (screener,), sign, (keep,)), float(loss[0]), own, max_exact_classes
    )
    found = _BetterClasses(np.zeros(0, dtype=np.uint64), make_empty_features(1))
    for some in backend.map(better, space.split_chunks(chunk_size)):
        found = better.merge(found, some)
    level = found.tied_classes.take(found.tied_classes.compute_member_order()).signature
    if own not in level:
        return float("inf")
    earlier = _hash_signatures(level[: int(np.flatnonzero(level == own)[0])])
    hashes = np.unique(np.concatenate((found.better_hashes, earlier)))
    cuts = [found.max_hash] if found.max_hash is not None else []
    if len(found.better_hashes) == max_exact_classes:
        cuts.append(int(found.better_hashes[-1]))
    if not cuts:
        return 1.0 + len(hashes)
    known = int((hashes <= np.uint64(min(cuts))).sum())
    return 1.0 + max(0, round((known - 1) / ((float(min(cuts)) + 1.0) / 2.0**64)))
