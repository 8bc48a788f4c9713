"""Leave near-duplicates out of a ranking: the best feature represents those with nearly the same ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import MemoryLimitError
from symscreen.expressions.printing import to_text
from symscreen.screening.residual_rounds import run_rounds, score_round
from symscreen.screening.scoring.block_scoring import iterate_values
from symscreen.screening.space_generation import build_space, check_scoring_memory
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.screening.residual_rounds import RoundResult
    from symscreen.screening.scoring.top_features import FeatureTable
    from symscreen.screening.task import ScreeningTask


_INITIAL_WIDENING = (
    16  # classes examined per wanted class in the first attempt; each further one has 8 times more
)
_MAX_CLASSES = 1 << 16  # classes examined at most
_MAX_LISTED = 100  # near-duplicates that the record lists for one feature
_MAX_EXACT_ROWS = 1 << 20  # up to here, sums of products of doubled ranks stay below 2⁶³


def run_non_redundant_rounds(
    task: ScreeningTask,
) -> tuple[list[RoundResult], dict[str, Any] | None]:
    """Screen a dataset; if a maximum correlation is given, omit redundant features from the result.

    Returns
    -------
    round_results : list of RoundResult
        One entry per round; redundant features are omitted in one round only.
    record : dict or None
        The redundant features, for the record; None without a maximum correlation.
    """
    if task.options.max_correlation is None:
        return run_rounds(task), None
    result = screen_until_filled(task)
    # If a false discovery rate is given, shown_indices are the features that pass it.
    shown = np.intersect1d(result.selected_indices, result.round_result.shown_indices)
    marked = _mark_representatives(result, shown, _format_redundancy_notices(result, task))
    return [marked], _build_redundancy_record(result, shown, task.options.max_correlation)


@dataclass(frozen=True, eq=False)
class RedundancyResult:
    """A ranking whose redundant features were identified.

    Parameters
    ----------
    round_result : RoundResult
        The classes that were examined, and perhaps more.
    selected_indices : int64 array, shape (k,)
        Indices of the classes to show, ascending.
    representatives : int64 array, shape (m,)
        Index of the representative of each class examined.
    limit_reason : str
        The limit that stopped the examination early; empty if none did.
    """

    round_result: RoundResult
    selected_indices: NDArray[np.int64]
    representatives: NDArray[np.int64]
    limit_reason: str


def screen_until_filled(task: ScreeningTask) -> RedundancyResult:
    """Examine longer and longer rankings until the wanted number of features can be shown.

    The space is generated once, and each ranking streams it again.
    """
    n_wanted, max_correlation = task.limit, task.options.max_correlation
    assert n_wanted is not None and max_correlation is not None  # noqa: S101, PT018  # checked with the options
    limit = min(_INITIAL_WIDENING * n_wanted, max(_MAX_CLASSES, n_wanted))
    space, pruning_records = build_space(task.change_options(top=limit))
    result = None
    while True:
        wider_task = task.change_options(top=limit)
        try:
            check_scoring_memory(space, wider_task)
            round_result = score_round(space, pruning_records, wider_task)
        except MemoryLimitError:
            if result is None:
                raise
            return replace(result, limit_reason="memory limit")
        features = round_result.scoring_result.features
        result = RedundancyResult(
            round_result, *filter_redundant(space, features, n_wanted, max_correlation), limit_reason=""
        )
        if len(result.selected_indices) == n_wanted or len(features) < limit:
            return result
        if limit >= _MAX_CLASSES:
            return replace(result, limit_reason="maximum length of a ranking")
        limit = min(8 * limit, _MAX_CLASSES)


def filter_redundant(
    space: Space, features: FeatureTable, n_wanted: int, max_correlation: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Select features from best to worst so that no two correlate above a limit.

    Parameters
    ----------
    space : Space
        The space of the features, n rows.
    features : FeatureTable
        Equivalence classes, best first.
    n_wanted : int
        Maximum number of features to select.
    max_correlation : float
        Maximum absolute rank correlation, in (0, 1).

    Returns
    -------
    selected : int64 array, shape (k,)
        Indices of the selected classes, ascending.
    representatives : int64 array, shape (m,)
        Index of the representative of each class examined, up to the last one selected.
    """
    n = space.n_rows
    dtype = np.int64 if n <= _MAX_EXACT_ROWS else np.float64
    ranks, norms = np.empty((n_wanted, n), dtype=dtype), np.empty(n_wanted)
    selected, representatives = list[int](), list[int]()
    for _, values in iterate_values(space, features.number):
        for centered_ranks in sort_block(values).doubled_ranks.astype(dtype) - (n + 1):
            norm = float((centered_ranks * centered_ranks).sum()) ** 0.5
            products = (ranks[: len(selected)] * centered_ranks).sum(axis=1)
            correlations = np.round(np.abs(products) / (norms[: len(selected)] * norm), 12)
            correlated = np.flatnonzero(correlations > max_correlation)
            representatives.append(selected[correlated[0]] if len(correlated) else len(representatives))
            if len(correlated):
                continue
            ranks[len(selected)], norms[len(selected)] = centered_ranks, norm
            selected.append(len(representatives) - 1)
            if len(selected) == n_wanted:
                return np.array(selected), np.array(representatives)
    return np.array(selected, dtype=np.int64), np.array(representatives, dtype=np.int64)


def _mark_representatives(
    result: RedundancyResult, shown_indices: NDArray[np.int64], notices: tuple[str, ...]
) -> RoundResult:
    """Show the selected features, and add the number of features that each represents."""
    round_result, representatives = result.round_result, result.representatives
    counts = np.zeros(len(round_result.scoring_result.features), dtype=np.int64)
    counts[: len(representatives)] = np.bincount(representatives, minlength=len(representatives))
    return replace(
        round_result.add_columns({"n_redundant": counts - 1}),
        shown_indices=shown_indices,
        notices=(*round_result.notices, *notices),
    )


def _format_redundancy_notices(result: RedundancyResult, task: ScreeningTask) -> tuple[str, ...]:
    """Say why fewer features are shown than were asked for."""
    n_shown, n_wanted = len(result.selected_indices), task.limit
    n_examined = len(result.round_result.scoring_result.features)
    if n_shown == n_wanted:
        return ()
    if result.limit_reason:
        reason = f"only the best {n_examined:,} classes were examined ({result.limit_reason})"
        return (f"distinct: {n_shown} of {n_wanted} are shown, because {reason}",)
    condition = f"have no rank correlation above {task.options.max_correlation:g}"
    return (f"distinct: of {n_examined:,} classes only {n_shown} {condition}",)


def _build_redundancy_record(
    result: RedundancyResult, shown_indices: NDArray[np.int64], max_correlation: float
) -> dict[str, Any]:
    """Build the record of the features that each shown feature represents."""
    round_result, representatives = result.round_result, result.representatives
    listed = []
    for rank, index in enumerate(shown_indices.tolist(), start=1):
        others = np.flatnonzero(representatives == index)
        others = others[others != index]
        if len(others):
            numbers = round_result.scoring_result.features.number[others[:_MAX_LISTED]].tolist()
            redundant = [
                {"place": place, "expression": to_text(round_result.space.build_expression(number))}
                for place, number in zip((others[:_MAX_LISTED] + 1).tolist(), numbers, strict=True)
            ]
            listed.append({"rank": rank, "n_redundant": len(others), "features": redundant})
    return {"cap": max_correlation, "classes_looked_at": len(representatives), "shown": listed}
