"""Choose what a ranking shows: leave out near-duplicates, and features that are unsafe on new rows.

The best feature represents those with nearly the same ranks. The list is filled up with the next best.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import MemoryLimitError
from symscreen.expressions.printing import to_text
from symscreen.expressions.safety import SafetyAnalysis
from symscreen.screening.inference.feature_safety import build_safety_record, drop_unsafe_features
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


def run_selective_rounds(task: ScreeningTask) -> tuple[list[RoundResult], dict[str, Any]]:
    """Screen a dataset; omit redundant and unsafe features from the result where the options say so.

    Returns
    -------
    round_results : list of RoundResult
        One entry per round. Redundant features are omitted in one round only; in several rounds unsafe ones
        are omitted without replacement.
    record : dict
        For the record: ``redundancy``, the redundant features, and ``safety``, the number of unsafe ones.
    """
    max_correlation, drops_unsafe = task.options.max_correlation, task.options.unsafe == "drop"
    if max_correlation is None and not drops_unsafe:
        return run_rounds(task), {}
    if drops_unsafe and (task.options.rounds > 1 or task.limit is None):
        return drop_unsafe_features(task, run_rounds(task))
    result = screen_until_filled(task)
    # If a false discovery rate is given, shown_indices are the features that pass it.
    shown = np.intersect1d(result.selected_indices, result.round_result.shown_indices)
    notices = (*result.round_result.notices, *_format_selection_notices(result, task))
    round_result = replace(result.round_result, shown_indices=shown, notices=notices)
    record = build_safety_record(result.unsafe_reasons) if drops_unsafe else {}
    if max_correlation is None:
        return [round_result], record
    record["redundancy"] = _build_redundancy_record(result, shown, max_correlation)
    return [_mark_representatives(round_result, result.representatives)], record


@dataclass(frozen=True, eq=False)
class RedundancyResult:
    """A ranking whose redundant and unsafe features were identified.

    Parameters
    ----------
    round_result : RoundResult
        The classes that were examined, and perhaps more.
    selected_indices : int64 array, shape (k,)
        Indices of the classes to show, ascending.
    representatives : int64 array, shape (m,)
        Index of the representative of each class examined; −1 for one that is unsafe.
    unsafe_reasons : tuple of str, length m
        Why a class is unsafe; empty for safe and redundant ones, and where unsafe ones are not omitted.
    limit_reason : str
        The limit that stopped the examination early; empty if none did.
    """

    round_result: RoundResult
    selected_indices: NDArray[np.int64]
    representatives: NDArray[np.int64]
    unsafe_reasons: tuple[str, ...]
    limit_reason: str


def screen_until_filled(task: ScreeningTask) -> RedundancyResult:
    """Examine longer and longer rankings until the wanted number of features can be shown.

    The space is generated once, and each ranking streams it again.
    """
    n_wanted = task.limit
    assert n_wanted is not None  # noqa: S101  # checked with the options
    analysis = SafetyAnalysis(task.base_box) if task.options.unsafe == "drop" else None
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
            round_result,
            *filter_features(space, features, n_wanted, task.options.max_correlation, analysis),
            limit_reason="",
        )
        if len(result.selected_indices) == n_wanted or len(features) < limit:
            return result
        if limit >= _MAX_CLASSES:
            return replace(result, limit_reason="maximum length of a ranking")
        limit = min(8 * limit, _MAX_CLASSES)


def filter_features(
    space: Space,
    features: FeatureTable,
    n_wanted: int,
    max_correlation: float | None,
    analysis: SafetyAnalysis | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    """Select safe features from best to worst so that no two correlate above a limit.

    Parameters
    ----------
    space : Space
        The space of the features, n rows.
    features : FeatureTable
        Equivalence classes, best first.
    n_wanted : int
        Maximum number of features to select.
    max_correlation : float or None
        Maximum absolute rank correlation, in (0, 1); None for any.
    analysis : SafetyAnalysis or None
        Decides which features are safe on new rows; None if unsafe ones may be selected.

    Returns
    -------
    selected : int64 array, shape (k,)
        Indices of the selected classes, ascending.
    representatives : int64 array, shape (m,)
        Index of the representative of each class examined, up to the last one selected; −1 for unsafe ones.
    unsafe_reasons : tuple of str, length m
        Why each class examined is unsafe; empty for safe and redundant ones.
    """
    chosen = None if max_correlation is None else _ChosenRanks(n_wanted, space.n_rows, max_correlation)
    selected, representatives, reasons = list[int](), list[int](), list[str]()
    for part, values in iterate_values(space, features.number):
        ranks = values if chosen is None else chosen.center_ranks(values)
        for number, row in zip(features.number[part].tolist(), ranks, strict=True):
            index, reason = len(representatives), ""
            similar = None if chosen is None else chosen.find_similar(row)
            if similar is None and analysis is not None:
                reason = analysis.analyze(space.build_expression(number)).reason
            reasons.append(reason)
            if reason or similar is not None:
                representatives.append(-1 if similar is None else selected[similar])
                continue
            representatives.append(index)
            selected.append(index)
            if chosen is not None:
                chosen.add(row)
            if len(selected) == n_wanted:
                return np.array(selected), np.array(representatives), tuple(reasons)
    return np.array(selected, dtype=np.int64), np.array(representatives, dtype=np.int64), tuple(reasons)


class _ChosenRanks:
    """The centered ranks of the features selected so far."""

    def __init__(self, n_wanted: int, n_rows: int, max_correlation: float) -> None:
        self._dtype = np.int64 if n_rows <= _MAX_EXACT_ROWS else np.float64
        self._ranks = np.empty((n_wanted, n_rows), dtype=self._dtype)
        self._norms = np.empty(n_wanted)
        self._n_chosen = 0
        self._max_correlation = max_correlation

    def center_ranks(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return doubled mid-ranks minus their mean, shape (m, n)."""
        ranks = sort_block(values).doubled_ranks.astype(self._dtype) - (values.shape[1] + 1)
        return np.asarray(ranks)

    def find_similar(self, ranks: NDArray[Any]) -> int | None:
        """Return the number of the first chosen feature that correlates above the limit; None for none."""
        norm = float((ranks * ranks).sum()) ** 0.5
        products = (self._ranks[: self._n_chosen] * ranks).sum(axis=1)
        correlations = np.round(np.abs(products) / (self._norms[: self._n_chosen] * norm), 12)
        correlated = np.flatnonzero(correlations > self._max_correlation)
        return int(correlated[0]) if len(correlated) else None

    def add(self, ranks: NDArray[Any]) -> None:
        """Choose a feature."""
        self._ranks[self._n_chosen] = ranks
        self._norms[self._n_chosen] = float((ranks * ranks).sum()) ** 0.5
        self._n_chosen += 1


def _mark_representatives(round_result: RoundResult, representatives: NDArray[np.int64]) -> RoundResult:
    """Add the number of features that each one represents."""
    counts = np.ones(len(round_result.scoring_result.features), dtype=np.int64)
    found = np.bincount(representatives[representatives >= 0], minlength=len(representatives))
    counts[: len(found)] = np.maximum(found, 1)
    return round_result.add_columns({"n_redundant": counts - 1})


def _format_selection_notices(result: RedundancyResult, task: ScreeningTask) -> tuple[str, ...]:
    """Say why fewer features are shown than were asked for."""
    n_shown, n_wanted = len(result.selected_indices), task.limit
    n_examined = len(result.round_result.scoring_result.features)
    if n_shown == n_wanted:
        return ()
    if result.limit_reason:
        reason = f"only the best {n_examined:,} classes were examined ({result.limit_reason})"
        return (f"{n_shown} of {n_wanted} features are shown, because {reason}",)
    conditions = []
    if any(result.unsafe_reasons):
        conditions.append("are safe on new rows")
    if (max_correlation := task.options.max_correlation) is not None:
        conditions.append(f"have no rank correlation above {max_correlation:g}")
    return (f"of {n_examined:,} classes only {n_shown} {' and '.join(conditions)}",) if conditions else ()


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
