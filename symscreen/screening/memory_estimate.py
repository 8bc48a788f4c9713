"""Estimate the peak memory of a screen from the size of its space, before any feature is scored.

A screen first holds the pool and one status byte for each candidate of the last layer. It then filters
candidates, and after that scores features. Scoring streams the space first and finalizes its lists
afterwards. Memory of an earlier phase is released before the next one, so the peak is a maximum over phases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen._limits import read_resident_bytes
from symscreen.expansion import (
    compute_block_size,
    estimate_block_bytes,
    estimate_filter_bytes,
    estimate_order_bytes,
    estimate_pool_order_bytes,
)
from symscreen.screeners import PEARSON
from symscreen.screening.scoring.correlation_bounds import estimate_bounds_bytes
from symscreen.screening.scoring.final_classes import MAX_COMPARED_VALUES, add_margin
from symscreen.screening.scoring.score_space import find_shortlist_kinds
from symscreen.screening.scoring.streaming import MAX_BOUNDED_CHUNK
from symscreen.statistics.inference.statistic_counts import N_LEVELS

if TYPE_CHECKING:
    from symscreen.expansion import Space, SpaceSizeEstimate
    from symscreen.screening.task import ScreeningTask


_VALUE_BYTES = 8
_LIBRARY_BYTES = 240_000_000  # libraries imported for scoring and compiled code, twice while it is compiled
_JOINT_LIBRARY_BYTES = 120_000_000  # additional libraries of joint screeners
_FEATURE_BYTES, _SCORE_BYTES = 100, 16  # memory of a stored feature, and of each of its scores
_MERGE_COPIES = 4  # copies of a list during a merge
_RESULT_ROW_BYTES = 1000  # memory of a row of the result, with its formula
_DEDUPLICATION_COPIES = 1.25  # copies of a list's values while numeric duplicates are found
_COMPARISON_COPIES = 2  # copies of the values of a shortlist that screeners are compared on
_JOINT_COPIES = 4  # copies of the values of a shortlist that joint screeners score
_SORTED_VALUE_BYTES = 40  # memory of a value that is recomputed and sorted
_SORTED_BLOCK_BYTES = _SORTED_VALUE_BYTES << 22  # features are recomputed and sorted block by block
_P_VALUE_COUNTS_BYTES = 40_000_000  # the counts of the p-values of a space
_SEARCH_BYTES = 160_000_000  # the pool on a row subsample, and the threads' scratch arrays
_SEARCH_CANDIDATE_BYTES = 6  # memory of a candidate of a search


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Estimated memory of the phases of a screen, in bytes.

    Parameters
    ----------
    process_bytes : int
        Memory that the process uses now: interpreter, libraries, table, and the space so far.
    pool_bytes : int
        Values and metadata of the pool that the last layer is applied to.
    candidate_bytes : int
        One byte for each candidate of the last layer.
    filter_bytes : int
        Filtering of candidates.
    scoring_bytes : int
        Scoring, finalizing the lists, and building the result.
    row_order_bytes : int
        Row orders of the pool's features. They are optional and are omitted if they do not fit.
    """

    process_bytes: int
    pool_bytes: int
    candidate_bytes: int
    filter_bytes: int
    scoring_bytes: int
    row_order_bytes: int = 0

    def compute_peak(self, max_bytes: int | None = None) -> int:
        """Return the peak memory in bytes, with the row orders if they fit into `max_bytes`."""
        held = self.process_bytes + self.pool_bytes + self.candidate_bytes
        without_orders = held + max(self.filter_bytes, self.scoring_bytes)
        with_orders = max(without_orders, held + self.row_order_bytes + self.scoring_bytes)
        return with_orders if max_bytes is None or with_orders <= max_bytes else without_orders


def estimate_memory(
    size_estimate: SpaceSizeEstimate, n_rows: int, task: ScreeningTask, *, recompute_pool: bool = False
) -> MemoryEstimate:
    """Estimate the memory of a screen from the size of its space.

    Parameters
    ----------
    size_estimate : SpaceSizeEstimate
        Exact or estimated size of the space.
    n_rows : int
        Number of rows of the table.
    task : ScreeningTask
        How the space will be scored.
    recompute_pool : bool
        Whether the pool's values will be recomputed instead of stored.

    Returns
    -------
    MemoryEstimate
    """
    pool_size, total = size_estimate.n_members, size_estimate.n_candidates
    row_order_bytes = 0
    if not recompute_pool and _is_presort_useful(task):
        row_order_bytes = estimate_pool_order_bytes(pool_size, size_estimate.n_monotone_children, n_rows)
    return MemoryEstimate(
        process_bytes=read_resident_bytes(),
        pool_bytes=pool_size * (0 if recompute_pool else _VALUE_BYTES * n_rows) + size_estimate.pool_bytes,
        candidate_bytes=total,
        filter_bytes=_estimate_filter_bytes(total, n_rows),
        scoring_bytes=estimate_scoring_bytes(
            n_rows, task, n_features=size_estimate.n_features, n_candidates=total
        ),
        row_order_bytes=row_order_bytes,
    )


def _estimate_filter_bytes(n_candidates: int, n_rows: int) -> int:
    """Estimate the memory of filtering, without the status byte of each candidate."""
    return estimate_filter_bytes(n_candidates) - n_candidates + estimate_block_bytes(n_rows)


def estimate_presort_bytes(space: Space, n_rows: int, task: ScreeningTask) -> int:
    """Estimate the memory of the row orders of the pool's features.

    Parameters
    ----------
    space : Space
        The space, with or without values.
    n_rows : int
        Number of rows of the table.
    task : ScreeningTask
        How the space will be scored.

    Returns
    -------
    int
        Bytes; 0 if presorting would not save time, because no screener uses ranks or a search sorts only few
        features.
    """
    return estimate_order_bytes(space, n_rows) if _is_presort_useful(task) else 0


def _is_presort_useful(task: ScreeningTask) -> bool:
    """Return whether presorting the pool saves time."""
    has_rank_screener = any(screener.equivalence == "ranks" for screener in task.prescreeners)
    return has_rank_screener and task.search == "exact"


def estimate_scoring_bytes(
    n_rows: int, task: ScreeningTask, *, n_features: int | None = None, n_candidates: int = 0
) -> int:
    """Estimate the memory of scoring a space, without pool and candidates.

    Parameters
    ----------
    n_rows : int
        Number of rows of the table.
    task : ScreeningTask
        How the space will be scored.
    n_features : int, optional
        Number of features of the space. By default every list is assumed to reach its maximum length.
    n_candidates : int
        Number of candidates of the last layer.

    Returns
    -------
    int
        Bytes.
    """
    kinds = find_shortlist_kinds(task)
    entry_bytes = _FEATURE_BYTES + _SCORE_BYTES * len(task.screeners)
    ranking_length = _compute_max_list_length(task.n_examined, n_features)
    shortlist_length = _compute_max_list_length(task.prescreen, n_features)
    n_entries = ranking_length + len(kinds) * len(task.prescreeners) * shortlist_length
    # without a limit, chunk results that wait to be merged hold every feature
    n_waiting = (2 * task.backend.jobs + 1) * task.chunk_size if task.limit is None else 0
    streaming = task.backend.jobs * estimate_block_bytes(n_rows) + entry_bytes * (
        _MERGE_COPIES * n_entries + n_waiting
    )
    if task.search != "exact":
        streaming = max(streaming, _SEARCH_BYTES + _SEARCH_CANDIDATE_BYTES * n_candidates) + n_candidates
    streaming += _estimate_inference_bytes(n_rows, task)
    if all(screener is PEARSON for screener in task.prescreeners):
        streaming += estimate_bounds_bytes(task.backend.jobs, min(MAX_BOUNDED_CHUNK, n_candidates))
    finalizing = entry_bytes * _MERGE_COPIES * n_entries + ranking_length * _RESULT_ROW_BYTES
    if task.limit is not None:
        n_values = min(MAX_COMPARED_VALUES + n_rows, n_rows * ranking_length)
        finalizing += int(_DEDUPLICATION_COPIES * _VALUE_BYTES * n_values)
    if task.n_examined != task.limit:  # the ranks of the distinct features and of those examined
        n_shown = _compute_max_list_length(task.limit, n_features)
        finalizing += _VALUE_BYTES * n_rows * n_shown + min(
            _SORTED_BLOCK_BYTES, _SORTED_VALUE_BYTES * n_rows * ranking_length
        )
    if kinds:
        copies = (_JOINT_COPIES if task.joint_screeners else _COMPARISON_COPIES) * len(kinds)
        finalizing += copies * _VALUE_BYTES * n_rows * shortlist_length + min(
            _SORTED_BLOCK_BYTES, _SORTED_VALUE_BYTES * n_rows * max(shortlist_length, ranking_length)
        )
    libraries = _LIBRARY_BYTES + (_JOINT_LIBRARY_BYTES if task.joint_screeners else 0)
    return libraries + max(streaming, finalizing)


def _estimate_inference_bytes(n_rows: int, task: ScreeningTask) -> int:
    """Estimate the memory of p-value counts and permutations."""
    if task.error_control is None:
        return 0
    permutations = task.error_control.permutations
    block = compute_block_size(n_rows) * (n_rows + permutations) if permutations and n_rows else 0
    values = n_rows * permutations + task.backend.jobs * block
    if task.error_control.source == "permutations":  # the counts of each thread
        values += task.backend.jobs * 2 * N_LEVELS
    return _P_VALUE_COUNTS_BYTES + _VALUE_BYTES * values


def _compute_max_list_length(limit: int | None, n_features: int | None) -> int:
    """Return the maximum number of features in a list."""
    if limit is None:
        return n_features or 0
    return add_margin(limit) if n_features is None else min(n_features, add_margin(limit))
