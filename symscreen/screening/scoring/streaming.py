"""Stream a space through a backend: score all chunks and merge their top-K lists.

`score_stream` splits the space into chunks and accumulates their results in a `StreamAccumulator`. The result
does not depend on the partition into chunks. With a checkpoint, the state is saved during the run. A saved
state is checked before a run resumes from it (`symscreen.screening.scoring.state_checks`).
"""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from time import monotonic
from typing import TYPE_CHECKING

from symscreen.backends import map_reduce
from symscreen.logs import log_event
from symscreen.screening.inference.error_control import (
    EMPTY_INFERENCE_STATE,
    InferenceState,
    merge_inference_states,
    merge_inference_states_if_due,
)
from symscreen.screening.run_control import DEFAULT_RUN_CONTROL, ProgressReporter
from symscreen.screening.scoring.block_scoring import ChunkResult, Scorer, TopKSpec, compute_threshold
from symscreen.screening.scoring.correlation_bounds import build_correlation_bounds
from symscreen.screening.scoring.state_checks import check_checkpoint_state, compute_max_state_bytes
from symscreen.screening.scoring.top_features import (
    FeatureTable,
    concatenate_features,
    make_empty_features,
    merge_classes_if_due,
    select_best_classes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from symscreen.backends import Backend
    from symscreen.expansion import CandidateStatus, Space
    from symscreen.screening.run_control import RunControl
    from symscreen.screening.scoring.correlation_bounds import CorrelationBounds

    Chunk = tuple[int, int]


_CHUNK_VALUES = 1 << 23  # values per task
_MAX_CHUNK_SIZE = 1 << 14  # maximum number of candidates per task
_FIRST_CHUNK_VALUES = 1 << 19  # values of the first task
_MIN_CHUNKS = 16  # tasks of a bounded space, so that all threads have work
_FIRST_BOUNDED_CHUNK = 1 << 12  # candidates of the first task if bounds leave out most …
_CANDIDATES_PER_ENTRY = 4  # … and at least for each entry of a list, so that it is full after this task
MAX_BOUNDED_CHUNK = 1 << 17  # candidates of the largest task
_MIN_BOUNDED_FEATURES = 20_000  # smaller spaces are scored sooner than bounds are prepared


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


def compute_chunk_size(n_rows: int) -> int:
    """Return the default number of candidates per task: about 64 MiB of values, 16 to 16,384 candidates."""
    return max(16, min(_MAX_CHUNK_SIZE, _CHUNK_VALUES // n_rows))


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
