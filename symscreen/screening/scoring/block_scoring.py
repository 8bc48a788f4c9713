"""Score a range of a space: compute and sort its features block by block, and keep the best ones.

`Scorer` is a pure function of the range. Its screeners score every feature that is computed. Only features
whose loss may still place them in a top-K list are looked up, assigned to an equivalence class and stored.
"""

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
    merge_distinct_losses,
    round_sort_keys,
    select_best_classes,
)
from symscreen.statistics.ranks.sorted_block import SortedBlock, concatenate_blocks, sort_block
from symscreen.statistics.workspace import ThreadWorkspaces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Values
    from symscreen.expansion import CandidateStatus, Space
    from symscreen.expansion.candidates import OperatorRange
    from symscreen.screeners import Screener, Sign
    from symscreen.screening.inference.error_control import InferenceConfig
    from symscreen.screening.scoring.correlation_bounds import CorrelationBounds
    from symscreen.screening.scoring.top_features import EquivalenceKind
    from symscreen.targets import Target


_RECOMPUTED_VALUES = 1 << 20  # values that are recomputed at a time
_BATCH_VALUES = 1 << 18  # values of accepted features that are collected and then processed together


def iterate_sorted_blocks(space: Space, chunk: tuple[int, int]) -> Iterator[tuple[Integers, SortedBlock]]:
    """Yield the numbers, shape (m,), and the sorted values of the valid features of a range by block."""
    for block in space.evaluate_range(*chunk):
        if len(block.numbers):
            yield block.numbers, sort_block(block.values)


def iterate_values(
    space: Space, numbers: Integers, max_values: int | None = None
) -> Iterator[tuple[slice, Values]]:
    """Recompute some features, at most `max_values` values at a time; yield slices of `numbers`, values."""
    step = max(1, (max_values or _RECOMPUTED_VALUES) // max(1, space.n_rows))
    for start in range(0, len(numbers), step):
        part = slice(start, min(start + step, len(numbers)))
        yield part, space.compute_values(numbers[part])


@dataclass(frozen=True, slots=True)
class TopKSpec:
    """A list of the best features that is maintained while a space streams.

    Parameters
    ----------
    screener_index : int
        Index of the screener that orders the list.
    equivalence : {"ranks", "affine"}
        Features with the same ranks, or affine copies, form one entry.
    mirrored : bool
        Whether a feature and its negative form one entry. Falling is then as good as rising.
    limit : int or None
        Maximum number of entries; None stores every feature, unmerged.
    """

    screener_index: int
    equivalence: EquivalenceKind
    mirrored: bool
    limit: int | None

    def choose_sign(self, sign: Sign) -> Sign:
        """Return the sign for losses: a feature and its mirror image have one loss only if it is free."""
        return "free" if self.mirrored else sign


def make_mirrored_spec(screener_index: int, equivalence: EquivalenceKind, limit: int | None) -> TopKSpec:
    """Build the list of a pool or a shortlist, in which a feature and its mirror image are one entry.

    The sign of the screen does not matter there: joint screeners do not distinguish the two
    (`JointScreener.merges_mirrored`), and the next layer or a model can change the sign of a feature.
    """
    return TopKSpec(screener_index, equivalence, mirrored=True, limit=limit)


@dataclass(frozen=True, eq=False)
class ChunkResult:
    """Result of a range.

    Parameters
    ----------
    top_features : tuple of FeatureTable
        Features of the range that may enter each top-K list. Their classes may not be merged yet.
    n_scored : int
        Number of features that were scored.
    n_invalid : dict of CandidateStatus to int
        Counts of the features that were excluded after their values were computed.
    inference_state : InferenceState
        p-values and permutation statistics of all scored features.
    """

    top_features: tuple[FeatureTable, ...]
    n_scored: int
    n_invalid: dict[CandidateStatus, int]
    inference_state: InferenceState = EMPTY_INFERENCE_STATE


@dataclass(frozen=True, eq=False)
class Scorer:
    """Scores ranges of a space.

    Parameters
    ----------
    space : Space
        The space.
    target : Target
        The target.
    screeners : tuple of Screener
        Column screeners. Those that order a list score every feature, the others only the stored ones.
    sign : {"free", "positive"}
        Whether a falling feature is as good as a rising one.
    top_k_specs : tuple of TopKSpec
        The lists.
    thresholds : tuple of float
        Loss above which no feature can enter each list; empty if unknown.
    workspaces : ThreadWorkspaces
        Scratch arrays of the threads.
    inference : InferenceConfig, optional
        Statistics to accumulate over all features, by the first screener.
    bounds : CorrelationBounds, optional
        Leaves out features of the last layer that cannot enter a list; they count as scored.
    """

    space: Space
    target: Target
    screeners: tuple[Screener, ...]
    sign: Sign
    top_k_specs: tuple[TopKSpec, ...]
    thresholds: tuple[float, ...] = ()
    workspaces: ThreadWorkspaces = field(default_factory=ThreadWorkspaces, repr=False)
    inference: InferenceConfig | None = None
    bounds: CorrelationBounds | None = None

    def __call__(self, chunk: tuple[int, int]) -> ChunkResult:
        """Score the features whose numbers are in the half-open range `chunk`."""
        feature_lists = [[make_empty_features(len(self.screeners))] for _ in self.top_k_specs]
        best_losses = [np.zeros(0) for _ in self.top_k_specs]
        waiting: list[list[_AcceptedFeatures]] = [[] for _ in self.top_k_specs]
        n_scored = 0
        n_invalid: dict[CandidateStatus, int] = {}
        workspace = self.workspaces.get()
        accumulator = None if self.inference is None else InferenceAccumulator(self.inference, workspace)
        test = None if self.bounds is None else _BoundsTest(self, self.bounds, best_losses, accumulator)
        for block in self.space.evaluate_range(*chunk, workspace, test):
            for status, count in block.n_invalid.items():
                n_invalid[status] = n_invalid.get(status, 0) + count
            n_scored += len(block.numbers)
            if not len(block.numbers):
                continue
            sorted_block = sort_block(block.values, workspace, block.monotone_parents, block.bounds)
            known_statistics: dict[int, NDArray[np.float64]] = {}
            if accumulator is not None:
                known_statistics[0] = self.screeners[0].statistic(sorted_block, self.target)
                accumulator.update(sorted_block, known_statistics[0])
            for index, accepted in self._select_accepted(
                best_losses, block.numbers, sorted_block, known_statistics
            ):
                if accepted.block is sorted_block:  # a view of the workspace, which the next block reuses
                    self._add_accepted(index, feature_lists, best_losses, [accepted])
                    continue
                waiting[index].append(accepted)
                if sum(part.block.values.size for part in waiting[index]) >= _BATCH_VALUES:
                    self._add_accepted(index, feature_lists, best_losses, waiting[index])
                    waiting[index] = []
        inference_state = EMPTY_INFERENCE_STATE if accumulator is None else accumulator.state
        n_scored += 0 if test is None else test.n_left_out
        return ChunkResult(
            self._finish_lists(feature_lists, best_losses, waiting), n_scored, n_invalid, inference_state
        )

    def _finish_lists(
        self,
        feature_lists: list[list[FeatureTable]],
        best_losses: list[Values],
        waiting: list[list[_AcceptedFeatures]],
    ) -> tuple[FeatureTable, ...]:
        """Add the features that wait, and return each list, without what is not among its best classes."""
        top_features = []
        for index, (parts, spec) in enumerate(zip(waiting, self.top_k_specs, strict=True)):
            if parts:
                self._add_accepted(index, feature_lists, best_losses, parts)
            features = concatenate_features(feature_lists[index])
            # a short list is merged later, with those of other ranges
            if spec.limit is not None and len(features) > spec.limit:
                features = select_best_classes(features, spec.limit)
            top_features.append(features)
        return tuple(top_features)

    def compute_limits(self, best_losses: Sequence[Values]) -> list[float]:
        """Return for each list, given its best losses so far, the loss above which no feature can enter it.

        The best losses are those of accepted features, so they are not above the threshold.
        """
        thresholds = self.thresholds or (np.inf,) * len(self.top_k_specs)
        return [
            threshold if spec.limit is None or len(best) < spec.limit else float(best[spec.limit - 1])
            for best, spec, threshold in zip(best_losses, self.top_k_specs, thresholds, strict=True)
        ]

    def _has_class_losses(self, spec: TopKSpec) -> bool:
        """Return whether all features of a class have the same loss.

        Only classes of equal ranks do, for a screener of ranks. Affine copies are recognized to nine digits,
        so their ties, and with them their losses, may differ.
        """
        return spec.equivalence == self.screeners[spec.screener_index].equivalence == "ranks"

    def describe_features(
        self, spec: TopKSpec, numbers: NDArray[np.int64], block: SortedBlock
    ) -> FeatureTable:
        """Build the entries of features in a list, without selecting the best ones.

        Parameters
        ----------
        spec : TopKSpec
            The list. Its limit is ignored.
        numbers : int64 array, shape (m,)
            Numbers of the features.
        block : SortedBlock
            The same features.

        Returns
        -------
        FeatureTable
            In the order of `numbers`.
        """
        statistics = self.screeners[spec.screener_index].statistic(block, self.target)
        sign = spec.choose_sign(self.sign)
        loss = self.screeners[spec.screener_index].loss(statistics, self.target, sign)
        return self._build_features(spec, [_AcceptedFeatures(numbers, block, loss, statistics)])

    def _select_accepted(
        self,
        best_losses: list[Values],
        numbers: NDArray[np.int64],
        block: SortedBlock,
        known_statistics: dict[int, NDArray[np.float64]],
    ) -> Iterator[tuple[int, _AcceptedFeatures]]:
        """Yield, for each list, its index and the features of a block that may enter it."""
        limits = self.compute_limits(best_losses)
        for index, spec in enumerate(self.top_k_specs):
            screener = self.screeners[spec.screener_index]
            if spec.screener_index not in known_statistics:
                known_statistics[spec.screener_index] = screener.statistic(block, self.target)
            statistics = known_statistics[spec.screener_index]
            loss = screener.loss(statistics, self.target, spec.choose_sign(self.sign))
            rounded = round_sort_keys(loss)
            accepted = np.flatnonzero(rounded <= limits[index])
            if len(accepted) and spec.limit is not None and self._has_class_losses(spec):
                best_losses[index] = merge_distinct_losses(best_losses[index], rounded[accepted], spec.limit)
                limit = self.compute_limits(best_losses)[index]
                accepted = accepted[rounded[accepted] <= limit]
            if len(accepted):
                part = block if len(accepted) == len(numbers) else block.take(accepted)
                yield index, _AcceptedFeatures(numbers[accepted], part, loss[accepted], statistics[accepted])

    def _add_accepted(
        self,
        list_index: int,
        feature_lists: list[list[FeatureTable]],
        best_losses: list[Values],
        parts: list[_AcceptedFeatures],
    ) -> None:
        """Add accepted features to a list and merge its parts if a merge is due."""
        spec = self.top_k_specs[list_index]
        feature_lists[list_index].append(self._build_features(spec, parts))
        if spec.limit is not None:
            feature_lists[list_index] = merge_classes_if_due(feature_lists[list_index], spec.limit)
            if not self._has_class_losses(spec):
                best_losses[list_index] = feature_lists[list_index][0].loss

    def _build_features(self, spec: TopKSpec, parts: list[_AcceptedFeatures]) -> FeatureTable:
        """Compute signatures, metadata and scores of accepted features."""
        numbers = np.concatenate([part.numbers for part in parts])
        statistics = np.concatenate([part.statistics for part in parts])
        block = concatenate_blocks([part.block for part in parts])
        metadata = self.space.get_metadata(numbers)
        screener = self.screeners[spec.screener_index]
        return FeatureTable(
            number=numbers,
            loss=np.concatenate([part.loss for part in parts]),
            signature=compute_signatures(block, spec.equivalence, mirrored=spec.mirrored),
            pearson=self.target.compute_alignment(block),
            complexity=metadata.complexity,
            direction=self.target.find_directions(block, screener.direction(statistics)),
            keys=metadata.keys,
            class_size=np.ones(len(numbers), dtype=np.int64),
            scores=compute_scores(self.screeners, block, self.target, {spec.screener_index: statistics}),
        )


class _BoundsTest:
    """Decides which candidates are computed, and counts the others, which are in no list."""

    def __init__(
        self,
        scorer: Scorer,
        bounds: CorrelationBounds,
        best_losses: Sequence[Values],
        accumulator: InferenceAccumulator | None,
    ) -> None:
        self._scorer, self._bounds, self._best_losses = scorer, bounds, best_losses
        self._accumulator = accumulator
        self.n_left_out = 0

    def __call__(self, operator_range: OperatorRange, numbers: Integers) -> Flags:
        """Return which of some candidates, shape (m,), must be computed."""
        limits = self._scorer.compute_limits(self._best_losses)
        is_possible, correlations, errors = self._bounds.find_possible(operator_range, numbers, limits)
        if self._accumulator is not None and self._bounds.keeps_correlations:
            left_out = np.flatnonzero(~is_possible)
            is_counted = self._accumulator.add_correlations(correlations[left_out], errors[left_out])
            is_possible[left_out[~is_counted]] = True
        self.n_left_out += len(numbers) - int(np.count_nonzero(is_possible))
        return is_possible


@dataclass(frozen=True, eq=False)
class _AcceptedFeatures:
    """Features of a block that may enter a list, with loss and statistic of its screener, shape (m,)."""

    numbers: NDArray[np.int64]
    block: SortedBlock
    loss: NDArray[np.float64]
    statistics: NDArray[np.float64]


def compute_threshold(features: FeatureTable, limit: int | None) -> float:
    """Return the loss above which no further feature can be among the best `limit` classes."""
    if limit is None or len(features) < limit:
        return np.inf
    return float(features.loss[limit - 1])


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
        At least one screener.
    block : SortedBlock
        m features.
    target : Target
        The target.
    known_statistics : dict of int to float64 array, shape (m,), optional
        Statistics that are computed already, by screener index.

    Returns
    -------
    float64 array, shape (m, n_screeners)
        The reported scores.
    """
    known_statistics = known_statistics or {}
    return np.column_stack(
        [
            screener.score(
                known_statistics[index] if index in known_statistics else screener.statistic(block, target),
                target,
            )
            for index, screener in enumerate(screeners)
        ]
    )
