"""Check the saved state of a stream before a run resumes from it.

A checksum detects accidents, not intent: anyone who can write to the folder can recompute it. The state is
therefore compared with the plan of the run, and saved features are recomputed as far as that is cheap.
Omitted features, class sizes and the p-values of features that are not stored cannot be verified.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion import CandidateStatus
from symscreen.screening.scoring.top_features import MAX_TIED_CLASSES, FeatureTable, make_empty_features
from symscreen.statistics.inference.p_value_counts import MAX_KEYS
from symscreen.statistics.inference.statistic_counts import N_LEVELS
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.screening.inference.error_control import InferenceConfig, InferenceState
    from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
    from symscreen.screening.scoring.streaming import StreamResult
    from symscreen.statistics.inference.statistic_counts import StatisticCounts


_STATE_OVERHEAD_BYTES = 1 << 16  # bytes per list, and once per file, for names, headers and alignment
_RECHECK_VALUES = 1 << 24  # values that are recomputed to check a state, about 0.2 s
_MIN_RECHECK_FEATURES = 64  # minimum number of features to recompute
_RELATIVE_TOLERANCE = 1e-9  # largest difference of equal scores that another machine computed


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
