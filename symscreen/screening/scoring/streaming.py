"""What the parts of a space come to: lists merged, counts added; in whatever parts, the same.

A state that an earlier run kept, held against what this run knows by itself before it goes on from it.

A checksum tells of accidents, not of intent: whoever can write into the folder can compute it anew. So what
the plan of the run tells is compared, and what was kept is computed again as far as that is cheap. What
cannot be told so are features that were left out, the sizes of classes, and the p-values of what is not kept.

A whole space through a backend: score all chunks, and merge what their lists keep.

The best, or the simplest, features of a space, affine copies merged: what models are made of.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from functools import partial
from hashlib import blake2b
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from symscreen.backends import map_reduce
from symscreen.expansion import CandidateStatus
from symscreen.logs import log_event
from symscreen.screeners import PEARSON, T0, XI, Screener, make_multioutput_screener
from symscreen.screening.inference.error_control import (
    EMPTY_INFERENCE_STATE,
    InferenceState,
    merge_inference_states,
    merge_inference_states_if_due,
)
from symscreen.screening.run_control import DEFAULT_RUN_CONTROL, ProgressReporter
from symscreen.screening.scoring.block_scoring import ChunkResult, Scorer, TopKSpec, compute_threshold
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
from symscreen.statistics.ranks.sorted_block import compute_affine_signatures, sort_block
from symscreen.targets.multioutput import MultiOutputTarget

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Space
    from symscreen.screening.inference.error_control import InferenceConfig
    from symscreen.screening.run_control import RunControl
    from symscreen.screening.scoring.top_features import EquivalenceClasses
    from symscreen.targets.registry import RegressionTarget

    Chunk = tuple[int, int]

__all__ = [
    "StreamAccumulator",
    "StreamResult",
    "add_margin",
    "check_checkpoint_state",
    "compute_chunk_size",
    "compute_max_state_bytes",
    "finalize_classes",
    "finalize_features",
    "find_simplest_features",
    "find_top_features",
    "merge_chunk_results",
    "score_stream",
]


@dataclass(frozen=True, eq=False)
class StreamResult:
    """What came of a space, or of its first numbers.

    Parameters
    ----------
    kept : tuple of Kept
        Each of the scorer's lists; in no settled order yet.
    scored : int
        How many features were scored.
    lost : dict of Fate to int
        How many had no use once their values were known.
    seen : Seen
        What the scorer's watch saw of all of them.
    done, total : int
        How many numbers were looked at, the first ones, and how many there are.
    chunks : int
        In how many tasks.
    resumed : int
        How many of these tasks an earlier run did.
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
        """Whether all of the space was looked at."""
        return self.n_done >= self.n_total


class StreamAccumulator:
    """Merges parts one after the other, each merge paid for by what has come since the last.

    Parameters
    ----------
    keeps : sequence of Keep
        The lists.
    screeners : int
        How many scores a feature has.
    total : int
        How many numbers the space has.
    before : Streamed, optional
        What an earlier run made of the first numbers.
    """

    def __init__(
        self, specs: Sequence[TopKSpec], n_screeners: int, n_total: int, initial: StreamResult | None = None
    ) -> None:
        none = [make_empty_features(n_screeners) for _ in specs]
        self._specs, self._n_total = specs, n_total
        self._feature_lists: list[list[FeatureTable]] = [
            [one] for one in (none if initial is None else initial.top_features)
        ]
        self._inference_states: list[InferenceState] = [] if initial is None else [initial.inference_state]
        self._n_invalid: dict[CandidateStatus, int] = {} if initial is None else dict(initial.n_invalid)
        self._n_resumed_chunks = 0 if initial is None else initial.n_chunks
        self.n_scored = 0 if initial is None else initial.n_scored
        self.n_done = 0 if initial is None else initial.n_done
        self.n_chunks = self._n_resumed_chunks
        self.is_consistent = True  # not in the midst of adding a part, where an interrupt may come

    def add(self, part: ChunkResult, n_done: int, n_chunks: int) -> None:
        """Add a part of so many chunks; the numbers below `done` have then been looked at."""
        self.is_consistent = False
        for place, keep in enumerate(self._specs):
            self._feature_lists[place].append(part.top_features[place])
            if keep.limit is not None:
                self._feature_lists[place] = merge_classes_if_due(self._feature_lists[place], keep.limit)
        self._inference_states = merge_inference_states_if_due(
            [*self._inference_states, part.inference_state]
        )
        for fate, count in part.n_invalid.items():
            self._n_invalid[fate] = self._n_invalid.get(fate, 0) + count
        self.n_scored += part.n_scored
        self.n_done = n_done
        self.n_chunks += n_chunks
        self.is_consistent = True

    def compute_thresholds(self) -> tuple[float, ...]:
        """Merge what waits; return each list's loss above which no feature can be among the best."""
        for place, keep in enumerate(self._specs):
            if keep.limit is not None:
                self._feature_lists[place] = [
                    select_best_classes(concatenate_features(self._feature_lists[place]), keep.limit)
                ]
        pairs = zip(self._feature_lists, self._specs, strict=True)
        return tuple(compute_threshold(parts[0], keep.limit) for parts, keep in pairs)

    def make_snapshot(self) -> StreamResult:
        """Return what has come so far."""
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
    """Merge parts of a space that follow each other; the merge of merges is that of all.

    Parameters
    ----------
    keeps : sequence of Keep
        The lists.
    parts : iterable of Scored
        At least one.

    Returns
    -------
    Scored
    """
    parts = list(parts)
    lists = [
        concatenate_features([part.top_features[place] for part in parts]) for place in range(len(specs))
    ]
    kept = tuple(
        one if keep.limit is None else select_best_classes(one, keep.limit)
        for one, keep in zip(lists, specs, strict=True)
    )
    lost: dict[CandidateStatus, int] = {}
    for part in parts:
        for fate, count in part.n_invalid.items():
            lost[fate] = lost.get(fate, 0) + count
    seen = merge_inference_states([part.inference_state for part in parts])
    return ChunkResult(kept, sum(part.n_scored for part in parts), lost, seen)


_OVERHEAD_BYTES = 1 << 16  # of a file: what is neither a list nor a p-value
_RECHECK_VALUES = 1 << 24  # values that are computed once more, a fifth of a second
_MIN_RECHECK_FEATURES = 64  # features, however long they are
_RELATIVE_TOLERANCE = 1e-9  # a score may be written by another machine's last bits


def check_checkpoint_state(state: StreamResult, scorer: Scorer) -> None:
    """Refuse a state that cannot be one of this run.

    Parameters
    ----------
    state : Streamed
        As read; its arrays have the right types and lengths.
    scorer : Scorer
        What this run does with each chunk.

    Raises
    ------
    ValueError
        With what does not fit.
    """
    space = scorer.space
    if len(state.top_features) != len(scorer.top_k_specs):
        raise ValueError(
            f"it has {len(state.top_features)} lists, and this run keeps {len(scorer.top_k_specs)}"
        )
    if state.n_total != space.total or not 0 <= state.n_done <= state.n_total:
        raise ValueError(
            f"it tells of {state.n_done} of {state.n_total} candidates, and there are {space.total}"
        )
    if not (0 < state.n_chunks <= state.n_done or state.n_chunks == state.n_done == 0):
        raise ValueError(f"it tells of {state.n_chunks} chunks for {state.n_done} candidates")
    if state.n_scored < 0 or any(count < 0 for count in state.n_invalid.values()):
        raise ValueError("a count is negative")
    known, told = _count_features(space, state.n_done), state.n_scored + sum(state.n_invalid.values())
    if told != known:
        raise ValueError(f"its chunks overlap, or some are missing: {told} features, and there are {known}")
    for keep, kept in zip(scorer.top_k_specs, state.top_features, strict=True):
        _check_list(keep, kept, state, scorer)
    _check_inference_state(state.inference_state, scorer.inference, state.n_scored)
    for keep, kept in zip(scorer.top_k_specs, state.top_features, strict=True):
        _recheck_features(keep, kept, scorer)


def compute_max_state_bytes(scorer: Scorer) -> int:
    """Bound what a state of a run can take, before it is read.

    Parameters
    ----------
    scorer : Scorer
        As of `check_checkpoint_state`.

    Returns
    -------
    int
        Bytes.
    """
    plain = make_empty_features(len(scorer.screeners))
    columns = [getattr(plain, column.name) for column in fields(FeatureTable)]
    each = sum(one.dtype.itemsize * int(np.prod(one.shape[1:])) for one in columns)
    entries = sum(_compute_max_entries(keep, scorer.space.size) for keep in scorer.top_k_specs)
    shuffles = None if scorer.inference is None else scorer.inference.permuted_target
    best = 0 if shuffles is None else shuffles.permuted_weights.shape[1]
    return int(_OVERHEAD_BYTES * (1 + len(scorer.top_k_specs)) + each * entries + 8 * best + 12 * MAX_KEYS)


def _compute_max_entries(spec: TopKSpec, n_features: int) -> int:
    return n_features if spec.limit is None else min(n_features, max(spec.limit, MAX_TIED_CLASSES))


def _count_features(space: Space, done: int) -> int:
    """Count the features among the first numbers, as structure and domains tell."""
    new = space.statuses[: max(0, done - space.n_materialized)]
    return min(done, space.n_materialized) + len(new) - int(np.count_nonzero(new))


def _check_list(spec: TopKSpec, features: FeatureTable, state: StreamResult, scorer: Scorer) -> None:
    """Compare a list with the plan: which numbers may stand in it, how many, and in how large classes."""
    space, numbers = scorer.space, features.number
    if len(features) > _compute_max_entries(spec, state.n_scored) or (
        spec.limit is None and len(features) != state.n_scored
    ):
        raise ValueError(f"a list has {len(features)} features of {state.n_scored}")
    if features.scores.shape[1:] != (len(scorer.screeners),) or features.keys.shape[1:] != (2,):
        raise ValueError("its scores or keys have another shape")
    if len(features) and not (numbers.min() >= 0 and numbers.max() < state.n_done):
        raise ValueError("a feature's number is out of range")
    new = numbers[numbers >= space.n_materialized] - space.n_materialized
    if len(np.unique(numbers)) < len(numbers) or (space.statuses[new] != CandidateStatus.KEPT).any():
        raise ValueError("a feature stands twice in a list, or is none")
    if np.isnan(features.loss).any() or np.isnan(features.pearson).any():
        raise ValueError("a feature's loss is no number")
    merged = spec.limit is not None
    if merged and len(np.unique(features.signature)) < len(features):
        raise ValueError("a class stands twice in a list")
    sizes = [int(size) for size in features.class_size]  # whole numbers of Python: no sum of them runs over
    if any(size < 1 for size in sizes) or sum(sizes) > state.n_scored:
        raise ValueError("the sizes of classes are not those of so many features")


def _check_inference_state(
    inference_state: InferenceState, inference: InferenceConfig | None, n_scored: int
) -> None:
    """Compare what was seen of every feature with what is to be seen."""
    keys, counts = (
        inference_state.p_value_counts.keys,
        [int(count) for count in inference_state.p_value_counts.counts],
    )
    if len(keys) and (keys[0] < 0 or keys[-1] >= MAX_KEYS or (np.diff(keys) <= 0).any()):
        raise ValueError("its p-values are none")
    expected = n_scored if inference is not None and inference.null is not None else 0
    if any(count < 1 for count in counts) or sum(counts) != expected:
        raise ValueError(f"it counts {sum(counts)} p-values, and {expected} features have one")
    shuffles = None if inference is None else inference.permuted_target
    if shuffles is None or inference_state.max_statistics is None:
        if shuffles is not None or inference_state.max_statistics is not None:
            raise ValueError("permutations are missing, or were not asked for")
        return
    best = inference_state.max_statistics
    # |Σ w r| / √Σ r² ≤ √Σ w², Cauchy and Schwarz
    most = float(np.sqrt(np.square(shuffles.weights - shuffles.weights.mean()).sum())) * (
        1 + _RELATIVE_TOLERANCE
    )
    if best.shape != shuffles.initial_max.shape or np.isnan(best).any() or (best > most).any():
        raise ValueError("the best of the permutations are not so many, or out of range")
    if n_scored and (np.isinf(best).any() or (shuffles.sign_free and (best < 0).any())):
        raise ValueError("the best of the permutations are out of range")


def _recheck_features(spec: TopKSpec, features: FeatureTable, scorer: Scorer) -> None:
    """Compute what is known of kept features once more: of the best, and of some between the others."""
    most = max(_MIN_RECHECK_FEATURES, _RECHECK_VALUES // max(1, scorer.space.n_rows))
    places = np.arange(len(features))
    if len(features) > most:
        spread = np.linspace(0, len(features) - 1, most // 2).astype(np.int64)
        places = np.unique(np.concatenate((places[: most // 2], spread)))
    told = features.take(places)
    told = told.take(np.argsort(told.number))
    done = 0
    for block in scorer.space.evaluate_features(told.number):
        own = told.take(np.arange(done, min(done + len(block.numbers), len(told))))
        done += len(block.numbers)
        if any(block.n_invalid.values()) or not np.array_equal(own.number, block.numbers):
            raise ValueError("a feature that is kept has no values")
        ordered = sort_block(block.values, None, block.monotone_parents)
        _check_features_equal(own, scorer.describe_features(spec, block.numbers, ordered), scorer)


def _check_features_equal(
    stored_features: FeatureTable, computed_features: FeatureTable, scorer: Scorer
) -> None:
    for column in fields(FeatureTable):
        one, other = getattr(stored_features, column.name), getattr(computed_features, column.name)
        if column.name == "class_size":
            continue
        same = _is_close(one, other) if one.dtype.kind == "f" else bool((one == other).all())
        if not same:
            names: Sequence[str] = [screener.name for screener in scorer.screeners]
            what = ", ".join(names) if column.name == "scores" else column.name
            raise ValueError(f"what it tells of a feature ({what}) is not what this run computes")


def _is_close(first: NDArray[np.float64], second: NDArray[np.float64]) -> bool:
    return bool(
        np.isclose(first, second, rtol=_RELATIVE_TOLERANCE, atol=_RELATIVE_TOLERANCE, equal_nan=True).all()
    )


_CHUNK_VALUES = 1 << 23
_MAX_CHUNK_SIZE = 1 << 14
_MIN_CHUNKS = 16  # where they are not too small, so that all threads have work
_MIN_CHUNK_VALUES = 1 << 19


def compute_chunk_size(n_rows: int) -> int:
    """Return how many candidates make a task: some megabytes of values, and not too few for long columns."""
    return max(16, min(_MAX_CHUNK_SIZE, _CHUNK_VALUES // n_rows))


def add_margin(limit: int) -> int:
    """Return how many classes to keep while streaming: features equal up to rounding are merged after it."""
    return 2 * limit + 16


def score_stream(
    scorer: Scorer, backend: Backend, chunk_size: int, run_control: RunControl = DEFAULT_RUN_CONTROL
) -> StreamResult:
    """Score all chunks of a space and merge what they keep.

    Parameters
    ----------
    scorer : Scorer
        What is done with each chunk.
    backend : Backend
        Where.
    chunk_size : int
        Candidates a task.
    course : Course, optional
        Who is told how far it is, what keeps the state, and when it must end.

    Returns
    -------
    Streamed
        The same for every backend and chunk size, and whether or not it went on from a kept state; of a
        prefix of the space where time ran out.
    """
    space, keeper = scorer.space, run_control.checkpoint
    stream = "" if keeper is None else _make_stream_name(scorer)
    before = None
    if keeper is not None:
        before = keeper.load(
            stream, partial(check_checkpoint_state, scorer=scorer), compute_max_state_bytes(scorer)
        )
    merged = StreamAccumulator(scorer.top_k_specs, len(scorer.screeners), space.total, before)
    teller = ProgressReporter(scorer, run_control, merged.n_done)
    passed, chunks = _split_done_chunks(_make_chunks(space, chunk_size), merged.n_done)
    function = _ChunkTask(replace(scorer, thresholds=()))  # one and the same in all stages: it travels once
    merge = partial(merge_chunk_results, scorer.top_k_specs)
    try:
        for chunks_of_stage in _split_stages(chunks, passed):
            bars = merged.compute_thresholds()
            tasks = [(chunk, bars) for chunk in chunks_of_stage]
            with closing(map_reduce(backend, function, tasks, merge)) as parts:
                scored = 0
                for count, part in parts:
                    scored += count
                    merged.add(part, tasks[scored - 1][0][1], count)
                    teller.report(part, merged)
                    if keeper is not None:
                        keeper.save_if_due(stream, merged.make_snapshot, is_final=False)
                    if run_control.deadline is not None and monotonic() > run_control.deadline:
                        log_event(
                            "time ran out", done=merged.n_done, total=space.total, features=merged.n_scored
                        )
                        return merged.make_snapshot()
            log_event("scored", done=merged.n_done, total=space.total, features=merged.n_scored)
        return merged.make_snapshot()
    finally:
        if keeper is not None and merged.is_consistent:
            keeper.save_if_due(stream, merged.make_snapshot, is_final=True)


@dataclass(frozen=True, eq=False)
class _ChunkTask:
    """Scores a chunk, given the losses above which no feature can be among the best any more."""

    scorer: Scorer

    def __call__(self, task: tuple[Chunk, tuple[float, ...]]) -> ChunkResult:
        chunk, bars = task
        return replace(self.scorer, thresholds=bars)(chunk)


def _make_stream_name(scorer: Scorer) -> str:
    """Name a stream, for a run may have several: by its response, its space and its lists."""
    space, values = scorer.space, getattr(scorer.target, "values", None)
    asked = (
        [one.name for one in scorer.screeners],
        scorer.top_k_specs,
        space.layer_counts,
        space.total,
        space.size,
    )
    digest = blake2b(repr(asked).encode(), digest_size=8)
    digest.update(b"" if values is None else values.tobytes())
    return digest.hexdigest()


def _split_done_chunks(chunks: list[Chunk], done: int) -> tuple[int, list[Chunk]]:
    """Return how many chunks are done, and all chunks, that which was cut short begun where it was cut."""
    passed = sum(stop <= done for _, stop in chunks)
    begun = [(max(start, done), stop) for start, stop in chunks[passed:]]
    return passed, [*chunks[:passed], *begun]


def _make_chunks(space: Space, max_chunk_size: int) -> list[Chunk]:
    """Cut a space into tasks; a small one, or what a search left of one, finer than asked."""
    smallest = _MIN_CHUNK_VALUES // max(1, space.n_rows)
    return space.split_chunks(max(1, min(max_chunk_size, max(smallest, space.size // _MIN_CHUNKS))))


def _split_stages(chunks: list[Chunk], n_done: int = 0) -> Iterator[list[Chunk]]:
    """Cut the chunks into stages, each four times as long as all before it, from one of them on.

    What one stage keeps tells the next what cannot be among the best any more, and need not be looked up,
    signed and merged.
    """
    while n_done < len(chunks):
        end = max(1, 4 * n_done)
        yield chunks[n_done:end]
        n_done = end


def finalize_features(features: FeatureTable, space: Space, limit: int) -> FeatureTable:
    """Settle a list: the best classes, those equal up to rounding merged.

    Parameters
    ----------
    kept : Kept
        A list that was streamed with a margin.
    space : Space
        Where it comes from.
    limit : int
        How many classes to return at most.

    Returns
    -------
    Kept
        Best first.
    """
    return _merge_numeric_duplicates(features, space, limit)[2]


def finalize_classes(
    features: FeatureTable, space: Space, limit: int, spec: TopKSpec
) -> tuple[FeatureTable, EquivalenceClasses]:
    """Settle a list, and tell by which signatures its classes are recognised.

    Parameters
    ----------
    kept, space, limit
        As of `finalize_features`.
    keep : Keep
        How the list was kept.

    Returns
    -------
    Kept
        As of `finalize_features`.
    Classes
        All signatures merged into each entry.
    """
    several, stands_for, settled = _merge_numeric_duplicates(features, space, limit)
    return settled, build_merged_classes(
        several, stands_for, settled, spec.equivalence, mirrored=spec.mirrored
    )


def _merge_numeric_duplicates(
    features: FeatureTable, space: Space, limit: int
) -> tuple[FeatureTable, NDArray[np.int64], FeatureTable]:
    features = select_best_classes(features, add_margin(limit)).take_first(add_margin(limit))
    stands_for = find_representatives(features, space.compute_values(features.number))
    return features, stands_for, merge_numeric_copies(features, stands_for).take_first(limit)


_CHUNK_CANDIDATES = 1 << 17
_BLOCK_FEATURES = 256
_FORMULAS_PER_FEATURE = (
    4  # formulas looked at for each feature wanted: with numbers in the pool half of them are copies
)


def find_top_features(
    space: Space, target: RegressionTarget, limit: int, backend: Backend
) -> NDArray[np.int64]:
    """Find the best features of a space by Pearson's correlation, T0 and ξ, united.

    Parameters
    ----------
    space : Space
        With values.
    response : Response or SeveralResponse
        The response; of several the mean of the losses counts.
    limit : int
        How many at most.
    backend : Backend
        Where chunks are scored.

    Returns
    -------
    int64 array, shape (k,)
        Their numbers, best first; of affine copies the simplest.
    """
    screeners: tuple[Screener, ...] = (PEARSON, T0, XI)
    if isinstance(target, MultiOutputTarget):
        screeners = tuple(make_multioutput_screener(one, "mean") for one in screeners)
    keeps = tuple(
        TopKSpec(by, "affine", mirrored=True, limit=add_margin(limit)) for by in range(len(screeners))
    )
    scorer = Scorer(space, target, screeners, "free", keeps)
    found = score_stream(scorer, backend, compute_chunk_size(space.n_rows))
    return merge_rankings(
        [finalize_features(kept, space, limit) for kept in found.top_features], limit
    ).number


def find_simplest_features(space: Space, limit: int) -> NDArray[np.int64]:
    """Find the simplest features of a space.

    Parameters
    ----------
    space : Space
        With values.
    limit : int
        How many at most.

    Returns
    -------
    int64 array, shape (k,)
        Their numbers, by complexity and then by canonical key, of affine copies the first; looked for
        among the 4·limit simplest formulas.
    """
    chosen = np.zeros(0, dtype=np.int64)
    usable = space.numbers
    for start in range(0, len(usable), _CHUNK_CANDIDATES):
        several = np.concatenate((chosen, usable[start : start + _CHUNK_CANDIDATES]))
        features = space.get_metadata(several)
        order = np.lexsort((features.keys[:, 1], features.keys[:, 0], features.complexity))
        chosen = several[order[: _FORMULAS_PER_FEATURE * limit]]
    return _drop_affine_copies(space, chosen, limit)


def _drop_affine_copies(space: Space, numbers: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """Return the first features that are defined and no affine copies of earlier ones."""
    good: list[int] = []
    seen: set[int] = set()
    for start in range(0, len(numbers), _BLOCK_FEATURES):
        # what is undefined or constant shows only in its values
        several = [
            next(space.evaluate_range(number, number + 1))
            for number in numbers[start : start + _BLOCK_FEATURES].tolist()
        ]
        values = np.concatenate([block.values for block in several])
        found = np.concatenate([block.numbers for block in several]).tolist()
        for number, kind in zip(
            found, compute_affine_signatures(values, mirrored=True).tolist(), strict=True
        ):
            if kind not in seen:
                seen.add(kind)
                good.append(number)
        if len(good) >= limit:
            break
    return np.array(good[:limit], dtype=np.int64)
