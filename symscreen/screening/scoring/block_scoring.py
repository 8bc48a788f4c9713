"""A range of a space to the best of its features: compute, order, score, keep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from symscreen.screening.inference.error_control import (
    EMPTY_INFERENCE_STATE,
    InferenceAccumulator,
    InferenceState,
)
from symscreen.screening.scoring.top_features import (
    FeatureTable,
    compute_signatures,
    concatenate_features,
    make_empty_features,
    merge_classes_if_due,
    round_sort_keys,
    select_best_classes,
)
from symscreen.statistics.ranks.correlations import (
    compute_binary_correlations,
    compute_correlations,
    compute_pearson,
)
from symscreen.statistics.ranks.sorted_block import SortedBlock, concatenate_blocks, sort_block
from symscreen.statistics.ranks.t0 import compute_multioutput_ranking_metrics, find_common_direction
from symscreen.statistics.ranks.weighted_ranks import compute_weighted_pearson
from symscreen.statistics.workspace import ThreadWorkspaces
from symscreen.targets import NumericTarget
from symscreen.targets.multiclass import MulticlassTarget
from symscreen.targets.multioutput import MultiOutputTarget
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.survival import SurvivalTarget
from symscreen.targets.weighted import WeightedTarget

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.expansion import CandidateStatus, Space
    from symscreen.screeners import Screener, Sign
    from symscreen.screening.inference.error_control import InferenceConfig
    from symscreen.screening.scoring.top_features import EquivalenceKind
    from symscreen.targets.registry import Target


__all__ = ["ChunkResult", "Scorer", "TopKSpec", "compute_scores", "compute_threshold"]

_BATCH_VALUES = 1 << 18  # values of features that wait to be signed and looked up together


@dataclass(frozen=True, slots=True)
class TopKSpec:
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

    screener_index: int
    equivalence: EquivalenceKind
    mirrored: bool
    limit: int | None


@dataclass(frozen=True, eq=False)
class ChunkResult:
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

    top_features: tuple[FeatureTable, ...]
    n_scored: int
    n_invalid: dict[CandidateStatus, int]
    inference_state: InferenceState = EMPTY_INFERENCE_STATE


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
    target: Target
    screeners: tuple[Screener, ...]
    sign: Sign
    top_k_specs: tuple[TopKSpec, ...]
    thresholds: tuple[float, ...] = ()
    workspaces: ThreadWorkspaces = field(default_factory=ThreadWorkspaces, repr=False)
    inference: InferenceConfig | None = None

    def __call__(self, chunk: tuple[int, int]) -> ChunkResult:
        """Score the features of a range of numbers."""
        lists = [[make_empty_features(len(self.screeners))] for _ in self.top_k_specs]
        waiting: list[list[_AcceptedFeatures]] = [[] for _ in self.top_k_specs]
        scored = 0
        lost: dict[CandidateStatus, int] = {}
        room = self.workspaces.get()
        sight = None if self.inference is None else InferenceAccumulator(self.inference, room)
        for block in self.space.evaluate_range(*chunk, room):
            for fate, count in block.n_invalid.items():
                lost[fate] = lost.get(fate, 0) + count
            scored += len(block.numbers)
            if not len(block.numbers):
                continue
            ordered = sort_block(block.values, room, block.monotone_parents)
            known: dict[int, NDArray[np.float64]] = {}
            if sight is not None:
                known[0] = self.screeners[0].statistic(ordered, self.target)
                sight.update(ordered, known[0])
            for place, good in self._select_accepted(lists, block.numbers, ordered, known):
                if good.block is ordered:  # the next block will stand in its room
                    self._add_accepted(place, lists, [good])
                    continue
                waiting[place].append(good)
                if sum(one.block.values.size for one in waiting[place]) >= _BATCH_VALUES:
                    self._add_accepted(place, lists, waiting[place])
                    waiting[place] = []
        for place, parts in enumerate(waiting):
            if parts:
                self._add_accepted(place, lists, parts)
        kept = [concatenate_features(parts) for parts in lists]
        for place, keep in enumerate(self.top_k_specs):
            if keep.limit is not None:
                kept[place] = select_best_classes(kept[place], keep.limit)
        return ChunkResult(tuple(kept), scored, lost, EMPTY_INFERENCE_STATE if sight is None else sight.state)

    def describe_features(
        self, spec: TopKSpec, numbers: NDArray[np.int64], block: SortedBlock
    ) -> FeatureTable:
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
        statistics = self.screeners[spec.screener_index].statistic(block, self.target)
        sign = "free" if spec.mirrored else self.sign
        loss = self.screeners[spec.screener_index].loss(statistics, self.target, sign)
        return self._build_features(spec, [_AcceptedFeatures(numbers, block, loss, statistics)])

    def _select_accepted(
        self,
        feature_lists: list[list[FeatureTable]],
        numbers: NDArray[np.int64],
        block: SortedBlock,
        known_statistics: dict[int, NDArray[np.float64]],
    ) -> Iterator[tuple[int, _AcceptedFeatures]]:
        """Yield, by the list's place, the features of a block that a list may have room for."""
        for place, keep in enumerate(self.top_k_specs):
            screener = self.screeners[keep.screener_index]
            if keep.screener_index not in known_statistics:
                known_statistics[keep.screener_index] = screener.statistic(block, self.target)
            # a feature and its negative can be one entry only if they have one loss
            sign = "free" if keep.mirrored else self.sign
            loss = screener.loss(known_statistics[keep.screener_index], self.target, sign)
            bar = min(
                compute_threshold(feature_lists[place][0], keep.limit),
                self.thresholds[place] if self.thresholds else np.inf,
            )
            good = np.flatnonzero(round_sort_keys(loss) <= bar)
            if len(good):
                some = block if len(good) == len(numbers) else block.take(good)
                yield (
                    place,
                    _AcceptedFeatures(
                        numbers[good], some, loss[good], known_statistics[keep.screener_index][good]
                    ),
                )

    def _add_accepted(
        self, list_index: int, feature_lists: list[list[FeatureTable]], parts: list[_AcceptedFeatures]
    ) -> None:
        """Add features that a list may have room for to it."""
        keep = self.top_k_specs[list_index]
        feature_lists[list_index].append(self._build_features(keep, parts))
        if keep.limit is not None:
            feature_lists[list_index] = merge_classes_if_due(feature_lists[list_index], keep.limit)

    def _build_features(self, spec: TopKSpec, parts: list[_AcceptedFeatures]) -> FeatureTable:
        """Sign, look up and score features that a list may have room for."""
        numbers = np.concatenate([part.numbers for part in parts])
        statistics = np.concatenate([part.statistics for part in parts])
        ordered = concatenate_blocks([part.block for part in parts])
        features = self.space.get_metadata(numbers)
        return FeatureTable(
            number=numbers,
            loss=np.concatenate([part.loss for part in parts]),
            signature=compute_signatures(ordered, spec.equivalence, mirrored=spec.mirrored),
            pearson=_compute_alignment(ordered, self.target),
            complexity=features.complexity,
            direction=_compute_direction(
                self.screeners[spec.screener_index], statistics, ordered, self.target
            ),
            keys=features.keys,
            class_size=np.ones(len(numbers), dtype=np.int64),
            scores=compute_scores(self.screeners, ordered, self.target, {spec.screener_index: statistics}),
        )


@dataclass(frozen=True, eq=False)
class _AcceptedFeatures:
    """Features of a block that a list may have room for: their loss by its screener, and the statistic."""

    numbers: NDArray[np.int64]
    block: SortedBlock
    loss: NDArray[np.float64]
    statistics: NDArray[np.float64]


def compute_threshold(features: FeatureTable, limit: int | None) -> float:
    """Return the loss above which no feature can be among the best any more."""
    if limit is None or len(features) < limit:
        return np.inf
    return float(features.loss[limit - 1])


def _compute_alignment(block: SortedBlock, target: Target) -> NDArray[np.float64]:
    """Return what members of a class are ordered by."""
    if isinstance(target, NumericTarget):
        return np.abs(compute_pearson(block, target))
    if isinstance(target, WeightedTarget):
        return np.abs(compute_weighted_pearson(block, target))
    if isinstance(target, SurvivalTarget):
        return np.abs(compute_correlations(block.values, target.scaled_times))
    if isinstance(target, MultiOutputTarget):
        asked = zip(target.outputs, target.sort_order, strict=True)
        found = [
            np.abs(compute_pearson(SortedBlock(block.values[:, rows]), target)) for target, rows in asked
        ]
        total = np.zeros(len(block.values))
        for each in found:
            total += each
        return total / len(found)
    return compute_binary_correlations(block.values, target.binary_targets)


def _compute_direction(
    screener: Screener, statistics: NDArray[np.float64], block: SortedBlock, target: Target
) -> NDArray[np.int8]:
    """Return directions: where several pairs or targets are compared, the one that all of them agree on.

    An order of several labels has none, nor have more than two classes.
    """
    if isinstance(target, NumericTarget | SurvivalTarget | WeightedTarget):
        return screener.direction(statistics)
    if isinstance(target, MultiOutputTarget):
        found = compute_multioutput_ranking_metrics(block, target)
        rises, falls = np.max(found, axis=0) > 0, np.min(found, axis=0) < 0
        return np.asarray(rises.astype(np.int8) - falls.astype(np.int8))
    if isinstance(target, RankingTarget) or (
        isinstance(target, MulticlassTarget) and len(target.classes) > 2
    ):
        return np.zeros(len(statistics), dtype=np.int8)
    return find_common_direction(block, target.binary_targets)


def compute_scores(
    screeners: Sequence[Screener],
    block: SortedBlock,
    target: Target,
    known_statistics: dict[int, NDArray[np.float64]] | None = None,
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
    known_statistics = known_statistics or {}
    statistics = (
        known_statistics[place] if place in known_statistics else screener.statistic(block, target)
        for place, screener in enumerate(screeners)
    )
    pairs = zip(screeners, statistics, strict=True)
    return np.column_stack([screener.score(values, target) for screener, values in pairs])
