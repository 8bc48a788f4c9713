"""The memory that a screen takes at its peak, predicted from its size alone."""

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
from symscreen.screening.scoring.score_space import find_shortlist_kinds
from symscreen.screening.scoring.streaming import add_margin

if TYPE_CHECKING:
    from symscreen.expansion import Space, SpaceSizeEstimate
    from symscreen.screening.scoring.score_space import ScoringConfig


__all__ = [
    "MemoryEstimate",
    "estimate_memory",
    "estimate_memory_from_size",
    "estimate_presort_bytes",
    "estimate_scoring_bytes",
]

_LIBRARY_BYTES = (
    240_000_000  # imported once features are scored, and compiled code: twice as much while it compiles
)
_JOINT_LIBRARY_BYTES = 120_000_000  # of joint screeners, beside these
_FEATURE_BYTES, _SCORE_BYTES = 100, 16  # a kept feature, and each of its scores
_MERGE_COPIES = 4  # of a list while it is merged
_RESULT_ROW_BYTES = 1000  # a row of the result, with its formula
_VALUE_BYTES = 8
_DEDUPLICATION_COPIES = 1.25  # a list's values while those equal to rounding are found
_COMPARISON_COPIES, _JOINT_COPIES = (
    2,
    4,
)  # copies of the values that are compared, or that joint screeners are shown
_SORTED_VALUE_BYTES = 40  # bytes for each value that is computed again and ordered
_SORTED_BLOCK_BYTES = _SORTED_VALUE_BYTES << 22  # kept features computed and ordered again, some at a time
_P_VALUE_COUNTS_BYTES = 40_000_000  # the p-values of a space, counted
_SEARCH_BYTES = 160_000_000  # the pool at some rows, and what threads compute of it
_SEARCH_CANDIDATE_BYTES = 6


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """What a screen takes, in bytes; later parts take what earlier ones have given back.

    Parameters
    ----------
    held : int
        What the process holds now: the interpreter, its libraries, the table, the space so far.
    pool : int
        Values and metadata of the pool that the last layer is applied to.
    candidates : int
        A byte for each candidate of the last layer.
    judging : int
        While it is decided which candidates are worth computing.
    scoring : int
        While features are scored, settled and written down.
    orders : int
        The orders of the pool's rows, which are done without where they do not fit.
    """

    process_bytes: int
    pool_bytes: int
    candidate_bytes: int
    filter_bytes: int
    scoring_bytes: int
    row_order_bytes: int = 0

    def compute_peak(self, max_bytes: int | None = None) -> int:
        """Return the most that the process will have held, where it is allowed so much."""
        most = (
            self.process_bytes
            + self.pool_bytes
            + self.candidate_bytes
            + max(self.filter_bytes, self.scoring_bytes)
        )
        fuller = max(
            most,
            self.process_bytes
            + self.pool_bytes
            + self.candidate_bytes
            + self.row_order_bytes
            + self.scoring_bytes,
        )
        return fuller if max_bytes is None or fuller <= max_bytes else most


def estimate_memory(
    space: Space, n_rows: int, scoring: ScoringConfig, *, recompute_pool: bool = False
) -> MemoryEstimate:
    """Predict the peak of a process that screens a space, the table read and nothing grown.

    Parameters
    ----------
    space : Space
        The space, counted by structure; with values, only what they take beside what is held is left to come.
    rows : int
        The rows of the table.
    request : Request
        What will be asked of it.
    thin : bool
        Whether the pool's values will be computed again rather than held.

    Returns
    -------
    Prediction
    """
    members, total = len(space.pool), space.candidates.total
    counted = space.n_rows == 0
    return MemoryEstimate(
        process_bytes=read_resident_bytes(),
        pool_bytes=members * (_VALUE_BYTES * n_rows if counted and not recompute_pool else 0)
        + space.pool.estimate_bytes(0),
        candidate_bytes=total if counted else 0,
        filter_bytes=estimate_filter_bytes(total) - total + estimate_block_bytes(n_rows) if counted else 0,
        scoring_bytes=estimate_scoring_bytes(n_rows, scoring, n_features=space.size, n_candidates=total),
        row_order_bytes=0 if recompute_pool else estimate_presort_bytes(space, n_rows, scoring),
    )


def estimate_memory_from_size(
    size_estimate: SpaceSizeEstimate, n_rows: int, scoring: ScoringConfig, *, recompute_pool: bool = False
) -> MemoryEstimate:
    """Predict the same of a space of which only the size is known, exactly or roughly.

    Parameters
    ----------
    outlook : Outlook
        How large the space will be.
    rows, request, thin
        As of `predicted`.

    Returns
    -------
    Prediction
    """
    members, total = size_estimate.n_members, size_estimate.n_candidates
    worth = not recompute_pool and _is_presort_useful(scoring)
    return MemoryEstimate(
        process_bytes=read_resident_bytes(),
        pool_bytes=members * (0 if recompute_pool else _VALUE_BYTES * n_rows) + size_estimate.pool_bytes,
        candidate_bytes=total,
        filter_bytes=estimate_filter_bytes(total) - total + estimate_block_bytes(n_rows),
        scoring_bytes=estimate_scoring_bytes(
            n_rows, scoring, n_features=size_estimate.n_features, n_candidates=total
        ),
        row_order_bytes=estimate_pool_order_bytes(members, size_estimate.n_monotone_children, n_rows)
        if worth
        else 0,
    )


def estimate_presort_bytes(space: Space, n_rows: int, scoring: ScoringConfig) -> int:
    """Say what the orders of the pool's rows take where they save time, in bytes; 0 where they do not.

    Parameters
    ----------
    space : Space
        With values or without.
    rows : int
        The rows of the table.
    request : Request
        What is asked of it; a search puts few features in order.

    Returns
    -------
    int
    """
    return estimate_order_bytes(space, n_rows) if _is_presort_useful(scoring) else 0


def _is_presort_useful(scoring: ScoringConfig) -> bool:
    ranks = any(one.equivalence == "ranks" for one in scoring.prescreeners)
    return ranks and scoring.search.mode == "exact"


def estimate_scoring_bytes(
    n_rows: int, scoring: ScoringConfig, *, n_features: int | None = None, n_candidates: int = 0
) -> int:
    """Predict what it takes to score a space, beside pool and candidates.

    Parameters
    ----------
    rows : int
        The rows of the table.
    request : Request
        What is asked.
    features : int, optional
        How many features the space has; by default more than any list keeps.
    candidates : int
        How many candidates its last layer has.

    Returns
    -------
    int
        Bytes.
    """
    entry = _FEATURE_BYTES + _SCORE_BYTES * len(scoring.screeners)
    lists = [
        scoring.limit,
        *(scoring.prescreen for _ in find_shortlist_kinds(scoring) for _ in scoring.prescreeners),
    ]
    kept = sum(_compute_max_list_length(limit, n_features) for limit in lists)
    chunks = (2 * scoring.jobs + 1) * scoring.chunk_size * (1 if scoring.limit is None else 0)
    streaming = scoring.jobs * estimate_block_bytes(n_rows) + entry * (_MERGE_COPIES * kept + chunks)
    if scoring.search.mode != "exact":
        streaming = max(streaming, _SEARCH_BYTES + _SEARCH_CANDIDATE_BYTES * n_candidates) + n_candidates
    shown = _compute_max_list_length(scoring.limit, n_features)
    streaming += _estimate_inference_bytes(n_rows, scoring)
    settling = entry * _MERGE_COPIES * kept + shown * _RESULT_ROW_BYTES
    if scoring.limit is not None:
        settling += int(_DEDUPLICATION_COPIES * _VALUE_BYTES * n_rows * shown)
    if find_shortlist_kinds(scoring):
        judged = _compute_max_list_length(scoring.prescreen, n_features)
        copies = (_JOINT_COPIES if scoring.joint_screeners else _COMPARISON_COPIES) * len(
            find_shortlist_kinds(scoring)
        )
        settling += copies * _VALUE_BYTES * n_rows * judged + min(
            _SORTED_BLOCK_BYTES, _SORTED_VALUE_BYTES * n_rows * max(judged, shown)
        )
    libraries = _LIBRARY_BYTES + (_JOINT_LIBRARY_BYTES if scoring.joint_screeners else 0)
    return libraries + max(streaming, settling)


def _estimate_inference_bytes(n_rows: int, scoring: ScoringConfig) -> int:
    """Predict what it takes to see every feature's p-value, and the best under permutations."""
    if scoring.error_control is None:
        return 0
    permutations = scoring.error_control.permutations
    block = compute_block_size(n_rows) * (n_rows + permutations) if permutations and n_rows else 0
    return _P_VALUE_COUNTS_BYTES + _VALUE_BYTES * (n_rows * permutations + scoring.jobs * block)


def _compute_max_list_length(limit: int | None, n_features: int | None) -> int:
    """Return how many features a list keeps at most."""
    if limit is None:
        return n_features or 0
    return add_margin(limit) if n_features is None else min(n_features, add_margin(limit))
