"""Safety of features on new rows: those that are proved to be defined and bounded on the inputs' box.

`symscreen.expressions.safety` has the proof. Only features that are shown, or that may take the place of one
that is left out, are analyzed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expressions.safety import NOT_PROVED, UNSAFE_REASONS, SafetyAnalysis
from symscreen.expressions.traversal import collect_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symscreen._typing import Flags
    from symscreen.expressions.tree import Expression
    from symscreen.screening.residual_rounds import RoundResult
    from symscreen.screening.task import ScreeningTask


UNSAFE_COLUMN = "unsafe"
_MAX_FEATURES = 1000  # features of a round that are marked at most


def count_reasons(reasons: Iterable[str]) -> dict[str, int]:
    """Count why formulas are unsafe, in the order of reports; an empty reason is that of a safe one.

    Examples
    --------
    >>> count_reasons(["", "overflow", "pole", "pole"])
    {'pole': 2, 'overflow': 1}
    """
    counts = Counter(reasons)
    return {reason: counts[reason] for reason in (*UNSAFE_REASONS.values(), NOT_PROVED) if counts[reason]}


def build_safety_record(reasons: Sequence[str]) -> dict[str, Any]:
    """Build the record of the features that were analyzed: their number, and the unsafe ones by reason."""
    return {"safety": {"examined": len(reasons), "unsafe": count_reasons(reasons)}}


def merge_safety_records(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Add up the records of the features that were analyzed in several rounds.

    Examples
    --------
    >>> parts = [build_safety_record(["", "pole"]), build_safety_record(["pole"])]
    >>> merge_safety_records(parts)
    {'safety': {'examined': 3, 'unsafe': {'pole': 2}}}
    """
    counts = sum((Counter(record["safety"]["unsafe"]) for record in records), Counter[str]())
    examined = sum(record["safety"]["examined"] for record in records)
    return {"safety": {"examined": examined, "unsafe": count_reasons(counts.elements())}}


def build_box_record(task: ScreeningTask, expressions: Iterable[Expression]) -> dict[str, Any]:
    """Build the record of the box of the inputs that formulas use, in the units of the data."""
    box = task.input_box
    return {"box": {name: list(box[name]) for name in collect_inputs(expressions)}}


def mark_unsafe_features(
    task: ScreeningTask, round_results: Sequence[RoundResult]
) -> tuple[list[RoundResult], dict[str, Any]]:
    """Mark the features shown that are not safe.

    Returns
    -------
    round_results : list of RoundResult
        The same rounds, with a column `UNSAFE_COLUMN` of reasons if a feature is unsafe. It is empty for safe
        features, and for those beyond the first thousand.
    record : dict
        The entry ``safety``.
    """
    analysis = SafetyAnalysis(task.base_box)
    reasons = [
        [analysis.analyze(each).reason for each in result.iterate_expressions(_MAX_FEATURES)]
        for result in round_results
    ]
    flat = [reason for each in reasons for reason in each]
    record = build_safety_record(flat)
    if not any(flat):
        return list(round_results), record
    return list(map(_add_reasons, round_results, reasons)), record


def _add_reasons(round_result: RoundResult, reasons: Sequence[str]) -> RoundResult:
    """Add the reasons of the features shown first to the result of a round."""
    column = np.full(len(round_result.scoring_result.features), "", dtype=object)
    column[round_result.shown_indices[: len(reasons)]] = list(reasons)
    return round_result.add_columns({UNSAFE_COLUMN: column})


def drop_unsafe_features(
    task: ScreeningTask, round_results: Sequence[RoundResult]
) -> tuple[list[RoundResult], dict[str, Any]]:
    """Leave out the features that are not safe where the list has all of them; also return the record."""
    analysis = SafetyAnalysis(task.base_box)
    reasons = [
        [analysis.analyze(each).reason for each in result.iterate_expressions()] for result in round_results
    ]
    flat = [reason for each in reasons for reason in each]
    found = [
        replace(result, shown_indices=result.shown_indices[_find_safe(each)])
        for result, each in zip(round_results, reasons, strict=True)
    ]
    target_ranks = found[-1].target_ranks
    if target_ranks is not None:  # those of all rounds
        found[-1] = replace(found[-1], target_ranks=target_ranks[_find_safe(flat)])
    return found, build_safety_record(flat)


def _find_safe(reasons: Sequence[str]) -> Flags:
    return np.array([not reason for reason in reasons], dtype=np.bool_)
