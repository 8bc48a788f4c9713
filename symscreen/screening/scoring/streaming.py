"""Stream a space through a backend: score all chunks and merge their top-K lists.

`score_stream` splits the space into chunks and accumulates their results in a `StreamAccumulator`. The result
does not depend on the partition into chunks. With a checkpoint, the state is saved during the run.

A saved state is checked before a run resumes from it (`check_checkpoint_state`). A checksum detects
accidents, not intent: anyone who can write to the folder can recompute it. The state is therefore compared
with the plan of the run, and saved features are recomputed as far as that is cheap. Omitted features, class
sizes and the p-values of features that are not stored cannot be verified.

`find_top_features` and `find_simplest_features` select the candidate terms of models.
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from hashlib import blake2b
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from symscreen.backends import map_reduce
from symscreen.expansion import CandidateStatus, rank_features, sort_features
from symscreen.expansion.validity import compute_projection, find_projected_duplicates
from symscreen.logs import log_event
from symscreen.screeners import PEARSON, T0, XI, Screener, make_multioutput_screener
from symscreen.screening.inference.error_control import (
    EMPTY_INFERENCE_STATE,
    InferenceState,
    merge_inference_states,
    merge_inference_states_if_due,
)
from symscreen.screening.run_control import DEFAULT_RUN_CONTROL, ProgressReporter
from symscreen.screening.scoring.block_scoring import (
    ChunkResult,
    Scorer,
    TopKSpec,
    compute_threshold,
    make_mirrored_spec,
)
from symscreen.screening.scoring.correlation_bounds import build_correlation_bounds
from symscreen.screening.scoring.top_features import (
    MAX_TIED_CLASSES,
    FeatureTable,
    build_merged_classes,
    concatenate_features,
    find_representatives,
    make_empty_features,
    merge_classes_if_due,
    merge_numeric_copies,
    merge_rankings,
    select_best_classes,
)
from symscreen.statistics.inference.p_value_counts import MAX_KEYS
from symscreen.statistics.inference.statistic_counts import N_LEVELS
from symscreen.statistics.ranks.sorted_block import compute_affine_signatures, sort_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.screening.inference.error_control import InferenceConfig
    from symscreen.screening.run_control import RunControl
    from symscreen.screening.scoring.correlation_bounds import CorrelationBounds
    from symscreen.screening.scoring.top_features import EquivalenceClasses
    from symscreen.statistics.inference.statistic_counts import StatisticCounts
    from symscreen.targets.registry import RegressionTarget

    Chunk = tuple[int, int]


_CHUNK_VALUES = 1 << 23  # values per task
_MAX_CHUNK_SIZE = 1 << 14  # maximum number of candidates per task
_FIRST_CHUNK_VALUES = 1 << 19  # values of the first task
_MIN_CHUNKS = 16  # tasks of a bounded space, so that all threads have work
_FIRST_BOUNDED_CHUNK = 1 << 12  # candidates of the first task if bounds leave out most …
_CANDIDATES_PER_ENTRY = 4  # … and at least for each entry of a list, so that it is full after this task
MAX_BOUNDED_CHUNK = 1 << 17  # candidates of the largest task
_MIN_BOUNDED_FEATURES = 20_000  # smaller spaces are scored sooner than bounds are prepared
_CHUNK_CANDIDATES = 1 << 17  # candidates sorted by complexity at a time
_BLOCK_FEATURES = 256  # features computed at a time
_FORMULAS_PER_FEATURE = 4  # formulas examined per feature wanted; with constants half of them are copies
_STATE_OVERHEAD_BYTES = 1 << 16  # bytes per list, and once per file, for names, headers and alignment
_RECHECK_VALUES = 1 << 24  # values that are recomputed to check a state, about 0.2 s
_MIN_RECHECK_FEATURES = 64  # minimum number of features to recompute
_RELATIVE_TOLERANCE = 1e-9  # largest difference of equal scores that another machine computed
MAX_COMPARED_VALUES = 1 << 22  # values of a list that are held at once while numeric copies are found


@dataclass(frozen=True, eq=False)
class StreamResult:
    """Result of a space, or of its first candidates.

    Parameters
    ----------
    top_features : tuple of FeatureTable
        The scorer's lists. Their order is not final yet.
    n_scored : int
        Number of features that were scored.
    n_invalid : dict of CandidateStatus to int
        Counts of the features that were excluded after their values were computed.
    inference_state : InferenceState
        p-values and permutation statistics of all scored features.
    n_done, n_total : int
        Number of candidates processed, from the first one on, and their total number.
    n_chunks : int
        Number of tasks.
    n_resumed_chunks : int
        Number of these tasks that an earlier run processed.
    """

    top_features: tuple[FeatureTable, ...]
    n_scored: int
    n_invalid: dict[CandidateStatus, int]
    inference_state: InferenceState = field(default=EMPTY_INFERENCE_STATE)
    n_done: int = 0
    n_total: int = 0
    n_chunks: int = 0
    n_resumed_chunks: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether the whole space was processed."""
        return self.n_done >= self.n_total


class StreamAccumulator:
    """Accumulates the results of consecutive parts. The amortized cost of merging is constant.

    Parameters
    ----------
    specs : sequence of TopKSpec
        The lists.
    n_screeners : int
        Number of scores of a feature.
    n_total : int
        Number of candidates of the space.
    initial : StreamResult, optional
        Result of the first candidates from an earlier run.
    """

    def __init__(
        self, specs: Sequence[TopKSpec], n_screeners: int, n_total: int, initial: StreamResult | None = None
    ) -> None:
        if initial is None:
            initial = StreamResult(tuple(make_empty_features(n_screeners) for _ in specs), 0, {})
        self._specs, self._n_total = specs, n_total
        self._feature_lists = [[features] for features in initial.top_features]
        self._inference_states = [initial.inference_state]
        self._n_invalid = dict(initial.n_invalid)
        self._n_resumed_chunks = initial.n_chunks
        self.n_scored = initial.n_scored
        self.n_done = initial.n_done
        self.n_chunks = initial.n_chunks
        self.is_consistent = True  # False while a part is being added, when an interrupt may occur

    def add(self, part: ChunkResult, n_done: int, n_chunks: int) -> None:
        """Add the result of `n_chunks` chunks, after which the first `n_done` candidates are processed."""
        self.is_consistent = False
        for index, spec in enumerate(self._specs):
            self._feature_lists[index].append(part.top_features[index])
            if spec.limit is not None:
                self._feature_lists[index] = merge_classes_if_due(self._feature_lists[index], spec.limit)
        self._inference_states = merge_inference_states_if_due(
            [*self._inference_states, part.inference_state]
        )
        for status, count in part.n_invalid.items():
            self._n_invalid[status] = self._n_invalid.get(status, 0) + count
        self.n_scored += part.n_scored
        self.n_done = n_done
        self.n_chunks += n_chunks
        self.is_consistent = True

    def compute_thresholds(self) -> tuple[float, ...]:
        """Merge all parts; return for each list the loss above which no feature can enter it."""
        for index, spec in enumerate(self._specs):
            if spec.limit is not None:
                self._feature_lists[index] = [
                    select_best_classes(concatenate_features(self._feature_lists[index]), spec.limit)
                ]
        pairs = zip(self._feature_lists, self._specs, strict=True)
        return tuple(compute_threshold(parts[0], spec.limit) for parts, spec in pairs)

    def make_snapshot(self) -> StreamResult:
        """Return the result so far."""
        self.compute_thresholds()
        return StreamResult(
            tuple(map(concatenate_features, self._feature_lists)),
            self.n_scored,
            dict(self._n_invalid),
            merge_inference_states(self._inference_states),
            self.n_done,
            self._n_total,
            self.n_chunks,
            self._n_resumed_chunks,
        )


def merge_chunk_results(specs: Sequence[TopKSpec], parts: Iterable[ChunkResult]) -> ChunkResult:
    """Merge the results of consecutive parts. The operation is associative.

    Parameters
    ----------
    specs : sequence of TopKSpec
        The lists.
    parts : iterable of ChunkResult
        At least one result.

    Returns
    -------
    ChunkResult
    """
    parts = list(parts)
    top_features = []
    for index, spec in enumerate(specs):
        features = concatenate_features([part.top_features[index] for part in parts])
        top_features.append(features if spec.limit is None else select_best_classes(features, spec.limit))
    n_invalid: dict[CandidateStatus, int] = {}
    for part in parts:
        for status, count in part.n_invalid.items():
            n_invalid[status] = n_invalid.get(status, 0) + count
    inference_state = merge_inference_states([part.inference_state for part in parts])
    return ChunkResult(tuple(top_features), sum(part.n_scored for part in parts), n_invalid, inference_state)


def check_checkpoint_state(state: StreamResult, scorer: Scorer) -> None:
    """Check that a saved state can be one of this run.

    Parameters
    ----------
    state : StreamResult
        The state. Its arrays have the right types and lengths.
    scorer : Scorer
        The scorer of this run.

    Raises
    ------
    ValueError
        With the first contradiction found.
    """
    space = scorer.space
    if len(state.top_features) != len(scorer.top_k_specs):
        raise ValueError(
            f"it has {len(state.top_features)} lists, and this run has {len(scorer.top_k_specs)}"
        )
    if state.n_total != space.total or not 0 <= state.n_done <= state.n_total:
        raise ValueError(
            f"it reports {state.n_done} of {state.n_total} candidates, and the space has {space.total}"
        )
    if not (0 < state.n_chunks <= state.n_done or state.n_chunks == state.n_done == 0):
        raise ValueError(f"it reports {state.n_chunks} chunks for {state.n_done} candidates")
    if state.n_scored < 0 or any(count < 0 for count in state.n_invalid.values()):
        raise ValueError("a count is negative")
    expected = _count_features(space, state.n_done)
    n_features = state.n_scored + sum(state.n_invalid.values())
    if n_features != expected:
        raise ValueError(f"its chunks overlap, or some are missing: {n_features} features, not {expected}")
    for spec, features in zip(scorer.top_k_specs, state.top_features, strict=True):
        _check_list(spec, features, state, scorer)
    _check_inference_state(state.inference_state, scorer.inference, state.n_scored)
    for spec, features in zip(scorer.top_k_specs, state.top_features, strict=True):
        _recheck_features(spec, features, scorer)


def compute_max_state_bytes(scorer: Scorer) -> int:
    """Return an upper bound on the size of a saved state, for use before it is read.

    Parameters
    ----------
    scorer : Scorer
        The scorer of this run.

    Returns
    -------
    int
        Bytes.
    """
    template = make_empty_features(len(scorer.screeners))
    columns = [getattr(template, column.name) for column in fields(FeatureTable)]
    entry_bytes = sum(column.dtype.itemsize * int(np.prod(column.shape[1:])) for column in columns)
    n_entries = sum(_compute_max_entries(spec, scorer.space.size) for spec in scorer.top_k_specs)
    permuted_target = None if scorer.inference is None else scorer.inference.permuted_target
    n_permutations = 0 if permuted_target is None else len(permuted_target.initial_max)
    has_levels = scorer.inference is not None and scorer.inference.counts_permutations
    counts = 12 * MAX_KEYS + (20 * N_LEVELS if has_levels else 0)
    overhead = _STATE_OVERHEAD_BYTES * (1 + len(scorer.top_k_specs))
    return int(overhead + entry_bytes * n_entries + 8 * n_permutations + counts)


def _compute_max_entries(spec: TopKSpec, n_features: int) -> int:
    """Return the maximum number of entries in a list."""
    return n_features if spec.limit is None else min(n_features, max(spec.limit, MAX_TIED_CLASSES))


def _count_features(space: Space, n_done: int) -> int:
    """Count the features among the first `n_done` numbers that remain after structural filters."""
    statuses = space.statuses[: max(0, n_done - space.n_materialized)]
    return min(n_done, space.n_materialized) + len(statuses) - int(np.count_nonzero(statuses))


def _check_list(spec: TopKSpec, features: FeatureTable, state: StreamResult, scorer: Scorer) -> None:
    """Check the length, the numbers and the class sizes of a saved list against the plan of the run."""
    space, numbers = scorer.space, features.number
    if len(features) > _compute_max_entries(spec, state.n_scored) or (
        spec.limit is None and len(features) != state.n_scored
    ):
        raise ValueError(f"a list has {len(features)} features of {state.n_scored}")
    if features.scores.shape[1:] != (len(scorer.screeners),) or features.keys.shape[1:] != (2,):
        raise ValueError("its scores or keys have another shape")
    if len(features) and not (numbers.min() >= 0 and numbers.max() < state.n_done):
        raise ValueError("a feature number is out of range")
    candidates = numbers[numbers >= space.n_materialized] - space.n_materialized
    if len(np.unique(numbers)) < len(numbers) or (space.statuses[candidates] != CandidateStatus.KEPT).any():
        raise ValueError("a list contains a feature twice, or an excluded candidate")
    if np.isnan(features.loss).any() or np.isnan(features.pearson).any():
        raise ValueError("the loss or correlation of a feature is NaN")
    if spec.limit is not None and len(np.unique(features.signature)) < len(features):
        raise ValueError("a list contains a class twice")
    sizes = [int(size) for size in features.class_size]  # Python integers, whose sum cannot overflow
    if any(size < 1 for size in sizes) or sum(sizes) > state.n_scored:
        raise ValueError("the class sizes do not fit the number of features")


def _check_inference_state(
    inference_state: InferenceState, inference: InferenceConfig | None, n_scored: int
) -> None:
    """Check saved p-value counts and permutation statistics against the plan of the run."""
    keys = inference_state.p_value_counts.keys
    counts = [int(count) for count in inference_state.p_value_counts.counts]
    if len(keys) and (keys[0] < 0 or keys[-1] >= MAX_KEYS or (np.diff(keys) <= 0).any()):
        raise ValueError("its p-values are invalid")
    n_expected = n_scored if inference is not None and inference.has_p_values else 0
    if any(count < 1 for count in counts) or sum(counts) != n_expected:
        raise ValueError(f"it has {sum(counts)} p-values, not {n_expected}")
    _check_statistic_counts(inference_state.statistic_counts, inference, n_scored)
    permuted_target = None if inference is None else inference.permuted_target
    max_statistics = inference_state.max_statistics
    if permuted_target is None or max_statistics is None:
        if permuted_target is not None or max_statistics is not None:
            raise ValueError("permutations are missing, or were not requested")
        return
    if not permuted_target.are_possible(max_statistics, has_features=n_scored > 0):
        raise ValueError("its permutation maxima have another shape or are out of range")


def _check_statistic_counts(
    counts: StatisticCounts | None, inference: InferenceConfig | None, n_scored: int
) -> None:
    """Check saved counts of statistics against the plan of the run."""
    permuted_target = None if inference is None else inference.permuted_target
    if inference is None or permuted_target is None or not inference.counts_permutations:
        if counts is not None:
            raise ValueError("it has counts of statistics, which were not requested")
        return
    if counts is None:
        raise ValueError("its counts of statistics are missing")
    levels, expected = counts.levels, (n_scored, n_scored * len(permuted_target.initial_max))
    if len(levels) and (levels[0] < 0 or levels[-1] >= N_LEVELS or (np.diff(levels) <= 0).any()):
        raise ValueError("its levels of statistics are invalid")
    for each, number in zip((counts.observed, counts.permuted), expected, strict=True):
        values = [int(count) for count in each]  # Python integers, whose sum cannot overflow
        if any(value < 0 for value in values) or sum(values) != number:
            raise ValueError(f"it has {sum(values)} statistics, not {number}")


def _recheck_features(spec: TopKSpec, features: FeatureTable, scorer: Scorer) -> None:
    """Recompute the best saved features, and a sample of the others, and compare all their columns."""
    max_features = max(_MIN_RECHECK_FEATURES, _RECHECK_VALUES // max(1, scorer.space.n_rows))
    indices = np.arange(len(features))
    if len(features) > max_features:
        spread = np.linspace(0, len(features) - 1, max_features // 2).astype(np.int64)
        indices = np.unique(np.concatenate((indices[: max_features // 2], spread)))
    sample = features.take(indices)
    sample = sample.take(np.argsort(sample.number))
    n_done = 0
    for block in scorer.space.evaluate_features(sample.number):
        stored = sample.take(np.arange(n_done, min(n_done + len(block.numbers), len(sample))))
        n_done += len(block.numbers)
        if any(block.n_invalid.values()) or not np.array_equal(stored.number, block.numbers):
            raise ValueError("a feature in a list has no valid values")
        sorted_block = sort_block(block.values, None, block.monotone_parents)
        _check_features_equal(stored, scorer.describe_features(spec, block.numbers, sorted_block), scorer)


def _check_features_equal(
    stored_features: FeatureTable, computed_features: FeatureTable, scorer: Scorer
) -> None:
    """Compare saved features with recomputed ones in all columns except the class size."""
    for column in fields(FeatureTable):
        stored, computed = getattr(stored_features, column.name), getattr(computed_features, column.name)
        if column.name == "class_size":
            continue
        is_equal = (
            _is_close(stored, computed) if stored.dtype.kind == "f" else bool((stored == computed).all())
        )
        if not is_equal:
            screener_names = ", ".join(screener.name for screener in scorer.screeners)
            name = screener_names if column.name == "scores" else column.name
            raise ValueError(f"a stored feature ({name}) differs from what this run computes")


def _is_close(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    """Return whether two arrays are equal within the tolerance; NaN equals NaN."""
    return bool(
        np.isclose(first, second, rtol=_RELATIVE_TOLERANCE, atol=_RELATIVE_TOLERANCE, equal_nan=True).all()
    )


def compute_chunk_size(n_rows: int) -> int:
    """Return the default number of candidates per task: about 64 MiB of values, 16 to 16,384 candidates."""
    return max(16, min(_MAX_CHUNK_SIZE, _CHUNK_VALUES // n_rows))


def add_margin(limit: int) -> int:
    """Return the number of classes to stream for `limit` final ones; numeric copies are merged afterwards."""
    return 2 * limit + 16


def score_stream(
    scorer: Scorer, backend: Backend, chunk_size: int, run_control: RunControl = DEFAULT_RUN_CONTROL
) -> StreamResult:
    """Score all chunks of a space and merge their results.

    Parameters
    ----------
    scorer : Scorer
        Scores a chunk.
    backend : Backend
        Backend that runs the tasks.
    chunk_size : int
        Maximum number of candidates per task.
    run_control : RunControl, optional
        Progress, deadline and checkpoint hooks.

    Returns
    -------
    StreamResult
        The result does not depend on the backend, the chunk size, or whether the run was resumed. If the
        deadline passed, it covers only the first candidates of the space.
    """
    space, checkpoint = scorer.space, run_control.checkpoint
    stream_name, initial = "", None
    if checkpoint is not None:
        stream_name = _make_stream_name(scorer)
        check = partial(check_checkpoint_state, scorer=scorer)
        initial = checkpoint.load(stream_name, check, compute_max_state_bytes(scorer))
    accumulator = StreamAccumulator(scorer.top_k_specs, len(scorer.screeners), space.total, initial)
    reporter = ProgressReporter(scorer, run_control, accumulator.n_done)
    bounds = _build_bounds(scorer, backend)
    all_chunks = _make_chunks(space, chunk_size) if bounds is None else _make_growing_chunks(scorer)
    n_done_chunks, chunks = _split_done_chunks(all_chunks, accumulator.n_done)
    score_chunk = _ChunkTask(replace(scorer, thresholds=(), bounds=bounds))  # sent only once, for all stages
    merge = partial(merge_chunk_results, scorer.top_k_specs)
    try:
        with limit_blas_threads(score_chunk.scorer):
            for stage_chunks in _split_stages(chunks, n_done_chunks):
                thresholds = accumulator.compute_thresholds()
                tasks = [(chunk, thresholds) for chunk in stage_chunks]
                with closing(map_reduce(backend, score_chunk, tasks, merge)) as parts:
                    n_tasks_done = 0
                    for n_tasks, part in parts:
                        n_tasks_done += n_tasks
                        accumulator.add(part, tasks[n_tasks_done - 1][0][1], n_tasks)
                        reporter.report(part, accumulator)
                        if checkpoint is not None:
                            checkpoint.save_if_due(stream_name, accumulator.make_snapshot, is_final=False)
                        if run_control.deadline is not None and monotonic() > run_control.deadline:
                            _log_progress("time ran out", accumulator, space)
                            return accumulator.make_snapshot()
                _log_progress("scored", accumulator, space)
            return accumulator.make_snapshot()
    finally:
        if checkpoint is not None and accumulator.is_consistent:
            checkpoint.save_if_due(stream_name, accumulator.make_snapshot, is_final=True)


@contextmanager
def limit_blas_threads(scorer: Scorer) -> Iterator[None]:
    """Limit BLAS to one thread if bounds or permutations use it, because the backend has its own threads."""
    inference = scorer.inference
    if scorer.bounds is None and (inference is None or inference.permuted_target is None):
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def _build_bounds(scorer: Scorer, backend: Backend) -> CorrelationBounds | None:
    """Build the bounds of correlations; None if all features must be computed, and for other machines."""
    space, inference = scorer.space, scorer.inference
    if backend.name != "threads" or space.size < _MIN_BOUNDED_FEATURES:
        return None
    if inference is not None and not inference.needs_correlations_only:
        return None
    return build_correlation_bounds(
        space,
        scorer.target,
        scorer.screeners,
        scorer.top_k_specs,
        scorer.sign,
        keeps_correlations=inference is not None and inference.null is not None,
    )


def _log_progress(event: str, accumulator: StreamAccumulator, space: Space) -> None:
    """Log how far the stream is."""
    log_event(event, done=accumulator.n_done, total=space.total, features=accumulator.n_scored)


@dataclass(frozen=True, eq=False)
class _ChunkTask:
    """Score a chunk, given for each list the loss above which no feature can enter it."""

    scorer: Scorer

    def __call__(self, task: tuple[Chunk, tuple[float, ...]]) -> ChunkResult:
        chunk, thresholds = task
        return replace(self.scorer, thresholds=thresholds)(chunk)


def _make_stream_name(scorer: Scorer) -> str:
    """Return a digest of target, space and lists, because a run may have several streams."""
    space, values = scorer.space, getattr(scorer.target, "values", None)
    identity = (
        [screener.name for screener in scorer.screeners],
        scorer.top_k_specs,
        space.layer_counts,
        space.total,
        space.size,
    )
    digest = blake2b(repr(identity).encode(), digest_size=8)
    digest.update(b"" if values is None else values.tobytes())
    return digest.hexdigest()


def _split_done_chunks(chunks: list[Chunk], n_done: int) -> tuple[int, list[Chunk]]:
    """Return the number of processed chunks, and all chunks without the processed part of a partial one."""
    n_done_chunks = sum(stop <= n_done for _, stop in chunks)
    remaining = [(max(start, n_done), stop) for start, stop in chunks[n_done_chunks:]]
    return n_done_chunks, [*chunks[:n_done_chunks], *remaining]


def _make_chunks(space: Space, max_chunk_size: int) -> list[Chunk]:
    """Split a space into tasks that grow by stage: threads wait for each other at the end of a stage."""
    size = max(1, min(max_chunk_size, _FIRST_CHUNK_VALUES // max(1, space.n_rows)))
    parts = space.split_chunks(size)
    chunks: list[Chunk] = []
    start, n_parts, stage_end = 0, 1, _find_stage_end(0)
    while start < len(parts):
        if len(chunks) == stage_end:
            n_parts, stage_end = min(2 * n_parts, max_chunk_size // size), _find_stage_end(stage_end)
        group = parts[start : start + n_parts]
        chunks.append((group[0][0], group[-1][1]))
        start += n_parts
    return chunks


def _make_growing_chunks(scorer: Scorer) -> list[Chunk]:
    """Split a space into tasks of growing size: the first fill the lists, and large ones matrix products."""
    longest = max(spec.limit or 0 for spec in scorer.top_k_specs)
    size = min(max(_FIRST_BOUNDED_CHUNK, _CANDIDATES_PER_ENTRY * longest), MAX_BOUNDED_CHUNK)
    parts = scorer.space.split_chunks(size)
    max_parts = max(1, min(MAX_BOUNDED_CHUNK // size, len(parts) // _MIN_CHUNKS))
    chunks: list[Chunk] = []
    start, n_parts = 0, 1
    while start < len(parts):
        group = parts[start : start + n_parts]
        chunks.append((group[0][0], group[-1][1]))
        start += n_parts
        n_parts = min(4 * n_parts, max_parts)
    return chunks


def _split_stages(chunks: list[Chunk], n_done: int = 0) -> Iterator[list[Chunk]]:
    """Yield the remaining chunks in stages; each stage has as many as all stages before it.

    The result of a stage gives the thresholds of the next one. Features above a threshold do not need to be
    looked up, assigned to a class and merged.
    """
    while n_done < len(chunks):
        end = _find_stage_end(n_done)
        yield chunks[n_done:end]
        n_done = end


def _find_stage_end(n_done: int) -> int:
    """Return the number of tasks after the stage that follows `n_done` tasks."""
    return max(1, 2 * n_done)


def finalize_features(features: FeatureTable, space: Space, limit: int) -> FeatureTable:
    """Finalize a streamed list: select the best classes and merge those that are equal up to rounding.

    Parameters
    ----------
    features : FeatureTable
        A list that was streamed with a margin, see `add_margin`.
    space : Space
        The space.
    limit : int
        Maximum number of classes to return.

    Returns
    -------
    FeatureTable
        Best first.
    """
    return _merge_numeric_duplicates(features, space, limit)[2]


def finalize_classes(
    features: FeatureTable, space: Space, limit: int, spec: TopKSpec
) -> tuple[FeatureTable, EquivalenceClasses]:
    """Finalize a streamed list, and return the signatures of its classes too.

    Parameters
    ----------
    features, space, limit
        See `finalize_features`.
    spec : TopKSpec
        How the list was streamed.

    Returns
    -------
    FeatureTable
        Best first.
    EquivalenceClasses
        All signatures that were merged into each entry.
    """
    classes, representatives, merged = _merge_numeric_duplicates(features, space, limit)
    return merged, build_merged_classes(
        classes, representatives, merged, spec.equivalence, mirrored=spec.mirrored
    )


def _merge_numeric_duplicates(
    features: FeatureTable, space: Space, limit: int
) -> tuple[FeatureTable, NDArray[np.int64], FeatureTable]:
    """Return the best classes with a margin, their representatives, and the best classes after merging."""
    features = select_best_classes(features, add_margin(limit)).take_first(add_margin(limit))
    if len(features) * space.n_rows <= MAX_COMPARED_VALUES:
        representatives = find_representatives(features, space.compute_values(features.number))
    else:
        representatives = find_streamed_representatives(features, space)
    return features, representatives, merge_numeric_copies(features, representatives).take_first(limit)


def find_streamed_representatives(features: FeatureTable, space: Space) -> NDArray[np.int64]:
    """Do what `find_representatives` does without holding the values of all features at once.

    Parameters
    ----------
    features : FeatureTable, length k
        The features.
    space : Space
        Their space.

    Returns
    -------
    int64 array, shape (k,)
        See `find_representatives`.
    """
    numbers = features.number
    step = max(1, MAX_COMPARED_VALUES // max(1, space.n_rows))
    projections = [
        compute_projection(space.compute_values(numbers[first : first + step]))
        for first in range(0, len(numbers), step)
    ]
    return find_projected_duplicates(
        np.concatenate([np.zeros(0), *projections]),
        lambda indices: space.compute_values(numbers[indices]),
        space.n_rows,
        rank_features(features.keys, features.complexity),
    )


def find_top_features(
    space: Space, target: RegressionTarget, limit: int, backend: Backend
) -> NDArray[np.int64]:
    """Find the best features of a space: the union of the best by Pearson's correlation, T0 and ξ.

    Parameters
    ----------
    space : Space
        The space with values.
    target : RegressionTarget
        The target. For a multi-output target, the mean of the losses counts.
    limit : int
        Maximum number of features.
    backend : Backend
        Backend that scores the chunks.

    Returns
    -------
    int64 array, shape (k,)
        Numbers of the features, best first, without affine copies.
    """
    screeners: tuple[Screener, ...] = (PEARSON, T0, XI)
    if target.combines_outputs:
        screeners = tuple(make_multioutput_screener(screener, "mean") for screener in screeners)
    specs = tuple(make_mirrored_spec(index, "affine", add_margin(limit)) for index in range(len(screeners)))
    scorer = Scorer(space, target, screeners, "free", specs)
    result = score_stream(scorer, backend, compute_chunk_size(space.n_rows))
    rankings = [finalize_features(features, space, limit) for features in result.top_features]
    return merge_rankings(rankings, limit).number


def find_simplest_features(space: Space, limit: int) -> NDArray[np.int64]:
    """Find the simplest features of a space.

    Parameters
    ----------
    space : Space
        The space with values.
    limit : int
        Maximum number of features.

    Returns
    -------
    int64 array, shape (k,)
        Numbers of the features by complexity, then by canonical key, without affine copies. Only the
        4·limit simplest formulas are examined.
    """
    simplest = np.zeros(0, dtype=np.int64)
    valid_numbers, n_kept = space.numbers, _FORMULAS_PER_FEATURE * limit
    for start in range(0, len(valid_numbers), _CHUNK_CANDIDATES):
        candidates = np.concatenate((simplest, valid_numbers[start : start + _CHUNK_CANDIDATES]))
        features = space.get_metadata(candidates)
        if len(candidates) > n_kept:  # the order by keys takes long, so more complex formulas leave before it
            largest = np.partition(features.complexity, n_kept - 1)[n_kept - 1]
            is_simple = features.complexity <= largest
            candidates, features = candidates[is_simple], features.take(np.flatnonzero(is_simple))
        simplest = candidates[sort_features(features.keys, features.complexity)[:n_kept]]
    return _drop_affine_copies(space, simplest, limit)


def _drop_affine_copies(space: Space, numbers: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the first `limit` valid features that are not affine copies of earlier ones."""
    selected: list[int] = []
    seen: set[int] = set()
    for start in range(0, len(numbers), _BLOCK_FEATURES):
        block_numbers = numbers[start : start + _BLOCK_FEATURES]
        blocks = list(space.evaluate_features(np.sort(block_numbers)))
        valid_numbers = np.concatenate([block.numbers for block in blocks]).tolist()
        signatures = compute_affine_signatures(
            np.concatenate([block.values for block in blocks]),
            mirrored=True,  # a term's coefficient has either sign
        ).tolist()
        signature_of = dict(zip(valid_numbers, signatures, strict=True))
        for number in block_numbers.tolist():
            # features with undefined or constant values are missing in the blocks
            signature = signature_of.get(number)
            if signature is not None and signature not in seen:
                seen.add(signature)
                selected.append(number)
        if len(selected) >= limit:
            break
    return np.array(selected[:limit], dtype=np.int64)
