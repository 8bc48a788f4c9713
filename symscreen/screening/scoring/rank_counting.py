"""Count the rank of given features in a space, without storing a ranking.

`compute_ranks` counts the features with a smaller loss. `compute_class_rank` counts the equivalence classes
that precede a class: exactly up to a limit, beyond it by a bottom-k sketch of hashed class signatures
(Bar-Yossef et al. 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec, iterate_sorted_blocks
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
    from symscreen.targets import Target

    Hashes = NDArray[np.uint64]


_MAX_EXACT_CLASSES = 1 << 14  # k, classes counted exactly; beyond, the relative error is about 1/√k
_TIE_TOLERANCE = 1e-9  # absolute; affine copies of a feature share their loss up to rounding


@dataclass(frozen=True, eq=False)
class _BetterFeatureCounter:
    """Count the features of a range that precede each of some losses, shape (k,)."""

    space: Space
    target: Target
    screener: Screener
    sign: Sign
    losses: NDArray[np.float64]

    def __call__(self, chunk: tuple[int, int]) -> NDArray[np.int64]:
        """Return the counts of a range of numbers, shape (k,)."""
        n_better = np.zeros(len(self.losses), dtype=np.int64)
        for _, block in iterate_sorted_blocks(self.space, chunk):
            statistics = self.screener.statistic(block, self.target)
            losses = np.sort(round_sort_keys(self.screener.loss(statistics, self.target, self.sign)))
            n_better += np.searchsorted(losses, self.losses, side="left")
        return n_better


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
    """Compute the ranks of features among all features of a space.

    Parameters
    ----------
    space : Space
        The space.
    target : Target
        The target.
    screener : Screener
        The screener that ranks.
    sign : {"free", "positive"}
        Whether a falling feature is as good as a rising one.
    values : float64 array, shape (k, n)
        Values of the features to rank.
    backend : Backend
        Backend that computes the features.
    chunk_size : int
        Number of candidates per task.

    Returns
    -------
    int64 array, shape (k,)
        One plus the number of features with a smaller loss. Tied features share the smallest rank.
    """
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    statistics = screener.statistic(sort_block(values), target)
    losses = round_sort_keys(screener.loss(statistics, target, sign))
    counter = _BetterFeatureCounter(space, target, screener, sign, losses)
    n_better = np.zeros(len(losses), dtype=np.int64)
    for chunk_counts in backend.map(counter, space.split_chunks(chunk_size)):
        n_better += chunk_counts
    return n_better + 1


@dataclass(frozen=True, eq=False)
class _BetterClasses:
    """The classes of some ranges that precede or tie with a class.

    Parameters
    ----------
    better_hashes : uint64 array, ascending
        The smallest hashes of the classes whose loss is smaller.
    tied_classes : FeatureTable
        The best member of each class whose loss is equal up to rounding: the class itself, and those of the
        other classes that have the smallest hashes.
    max_hash : int or None
        `tied_classes` contains every tied class with a hash up to this one; None if it contains all.
    """

    better_hashes: Hashes
    tied_classes: FeatureTable
    max_hash: int | None = None


@dataclass(frozen=True, eq=False)
class _BetterClassCounter:
    """Find the classes of a range whose loss is smaller than or tied with that of a class."""

    scorer: Scorer
    loss: float
    signature: np.uint64
    max_classes: int

    def __call__(self, chunk: tuple[int, int]) -> _BetterClasses:
        """Return the classes of a range of numbers."""
        result = _BetterClasses(np.zeros(0, dtype=np.uint64), make_empty_features(1))
        scorer, (screener, *_), (spec, *_) = self.scorer, self.scorer.screeners, self.scorer.top_k_specs
        for numbers, sorted_block in iterate_sorted_blocks(scorer.space, chunk):
            statistics = screener.statistic(sorted_block, scorer.target)
            loss = round_sort_keys(screener.loss(statistics, scorer.target, scorer.sign))
            candidates = np.flatnonzero(loss <= self.loss + _TIE_TOLERANCE)
            if not len(candidates):
                continue
            candidate_block = sorted_block.take(candidates)
            signatures = compute_signatures(candidate_block, spec.equivalence, mirrored=spec.mirrored)
            is_tied = (loss[candidates] >= self.loss - _TIE_TOLERANCE) | (signatures == self.signature)
            tied_classes = make_empty_features(1)
            if is_tied.any():
                tied = np.flatnonzero(is_tied)
                tied_classes = scorer.describe_features(
                    spec, numbers[candidates[tied]], candidate_block.take(tied)
                )
            better_hashes = _hash_signatures(signatures[~is_tied])
            result = self.merge(result, _BetterClasses(better_hashes, tied_classes))
        return result

    def merge(self, first: _BetterClasses, second: _BetterClasses) -> _BetterClasses:
        """Merge the results of two sets of ranges."""
        better_hashes = np.unique(np.concatenate((first.better_hashes, second.better_hashes)))
        better_hashes = better_hashes[: self.max_classes]
        tied = concatenate_features([first.tied_classes, second.tied_classes])
        tied = select_best_classes(tied, max(1, len(tied)))
        hash_limits = [part.max_hash for part in (first, second) if part.max_hash is not None]
        is_other = tied.signature != self.signature
        other_hashes = np.sort(_hash_signatures(tied.signature[is_other]))
        if len(other_hashes) > self.max_classes:
            hash_limits.append(int(other_hashes[self.max_classes - 1]))
        if not hash_limits:
            return _BetterClasses(better_hashes, tied)
        max_hash = min(hash_limits)
        remaining = (_hash_signatures(tied.signature) <= np.uint64(max_hash)) | ~is_other
        return _BetterClasses(better_hashes, tied.take(np.flatnonzero(remaining)), max_hash)


def _hash_signatures(signatures: Hashes) -> Hashes:
    """Spread signatures evenly over 64 bits by the finalizer of splitmix64, which is a bijection."""
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
    """Compute the rank of a feature's class among the classes of a space.

    Parameters
    ----------
    space : Space
        The space.
    target : Target
        The target.
    screener : Screener
        The screener that ranks.
    sign : {"free", "positive"}
        Whether a falling feature is as good as a rising one.
    values : float64 array, shape (n,)
        Values of the feature.
    backend : Backend
        Backend that computes the features.
    chunk_size : int
        Number of candidates per task.
    max_exact_classes : int
        k, the number of classes that are counted exactly.

    Returns
    -------
    float
        One plus the number of other classes that precede it in the order of
        `symscreen.screening.scoring.top_features`, which breaks ties. It is exact if fewer than k classes
        precede. Otherwise their number is estimated as (k − 1)/u, where u is the k-th smallest of evenly
        spread hashes in (0, 1] (Bar-Yossef et al. 2002), with a relative error of about 1/√k. Infinite if
        the space has no member of the class.
    """
    block, mirrored = sort_block(np.ascontiguousarray(values[None])), screener.merges_mirrored(sign)
    loss = round_sort_keys(screener.loss(screener.statistic(block, target), target, sign))
    signature = compute_signatures(block, screener.equivalence, mirrored=mirrored)[0]
    spec = TopKSpec(0, screener.equivalence, mirrored, limit=None)
    scorer = Scorer(space, target, (screener,), sign, (spec,))
    counter = _BetterClassCounter(scorer, float(loss[0]), signature, max_exact_classes)
    result = _BetterClasses(np.zeros(0, dtype=np.uint64), make_empty_features(1))
    for chunk_result in backend.map(counter, space.split_chunks(chunk_size)):
        result = counter.merge(result, chunk_result)
    tied = result.tied_classes.take(result.tied_classes.compute_member_order()).signature
    if signature not in tied:
        return float("inf")
    preceding_tied = _hash_signatures(tied[: int(np.flatnonzero(tied == signature)[0])])
    hashes = np.unique(np.concatenate((result.better_hashes, preceding_tied)))
    hash_limits = [result.max_hash] if result.max_hash is not None else []
    if len(result.better_hashes) == max_exact_classes:
        hash_limits.append(int(result.better_hashes[-1]))
    if not hash_limits:
        return 1.0 + len(hashes)
    max_hash = min(hash_limits)
    n_known = int((hashes <= np.uint64(max_hash)).sum())
    return 1.0 + max(0, round((n_known - 1) / ((float(max_hash) + 1.0) / 2.0**64)))
