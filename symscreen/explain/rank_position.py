"""Find the rank of a feature in a whole space, in the order of the screen.

`compute_rank_position` streams the space and counts the classes with a lower loss. `locate_feature` returns
the rank or score of a feature for any kind of screen. `apply_display_filters` finds whether the list of the
screen leaves it out, because it is redundant or does not pass the false discovery rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._limits import read_resident_bytes
from symscreen.expansion import CandidateStatus
from symscreen.expressions.printing import to_text
from symscreen.expressions.safety import analyze_safety
from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.screeners import Screener
from symscreen.screening.inference.error_control import build_inference
from symscreen.screening.inference.error_control_columns import compute_error_control
from symscreen.screening.inference.numerical_error import estimate_numerical_error
from symscreen.screening.memory_estimate import estimate_scoring_bytes
from symscreen.screening.run_control import DEFAULT_RUN_CONTROL
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.final_classes import add_margin, find_streamed_representatives
from symscreen.screening.scoring.rank_counting import compute_ranks
from symscreen.screening.scoring.score_space import make_search_goals, score_space
from symscreen.screening.scoring.top_features import (
    compute_signatures,
    concatenate_features,
    make_empty_features,
    merge_numeric_copies,
    select_best_classes,
)
from symscreen.screening.search.modes import run_feature_search
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.explain.explanation import Explanation
    from symscreen.explain.feature_lookup import GeneratedSpace
    from symscreen.screening.inference.error_control import ErrorControl
    from symscreen.screening.scoring.score_space import ScoringResult
    from symscreen.screening.scoring.top_features import FeatureTable
    from symscreen.screening.task import ScreeningTask


# A feature computed in two ways may be in two classes with slightly different losses, which are merged later.
# So classes whose loss is higher by this margin are kept too. A loss is 0 at best and about 1 by chance.
_LOSS_MARGIN = 0.01
_MIN_MERGE_SIZE = 1 << 14  # pending classes before they are merged
_COPIES_PER_CLASS = 6  # copies of a class that exist while lists are joined, sorted and merged
_CLASS_BYTES, _SCORE_BYTES = 64, 8  # bytes per class, and per score of a class


@dataclass(frozen=True, eq=False)
class RankPosition:
    """Rank of a feature.

    Parameters
    ----------
    rank : int or None
        Rank of its class among all classes, from 1. Classes that are equal up to rounding count once. None if
        more classes rank before it than fit into memory.
    n_better : int
        Lower bound of the number of classes that rank before it.
    feature_rank : int or None
        Its own rank among all features, without merging, from 1. None if its rank is unknown.
    n_features : int
        Number of features scored.
    representative : int
        Number of the representative of its class.
    class_size : int
        Number of features in its class.
    direction : int
        +1, −1 or 0.
    scores : tuple of float
        Score of each screener.
    """

    rank: int | None
    n_better: int
    feature_rank: int | None
    n_features: int
    representative: int
    class_size: int
    direction: int
    scores: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class _RangeResult:
    """Result of a range of the space.

    It has the number of scored features, the best classes, the feature's own class with its best member, and
    the number `n_before` of members of that class that rank before the feature.
    """

    n_scored: int
    other_classes: FeatureTable
    own_class: FeatureTable
    n_before: int


@dataclass(frozen=True, eq=False)
class _BetterClassScorer:
    """Scores a range, and keeps the best member of one class and of each better class."""

    scorer: Scorer
    signature: np.uint64
    feature: FeatureTable

    def __call__(self, chunk: tuple[int, int]) -> _RangeResult:
        """Score a range of feature numbers."""
        result = self.scorer(chunk)
        is_own = result.top_features[0].signature == self.signature
        others = result.top_features[0].take(np.flatnonzero(~is_own))
        own = result.top_features[0].take(np.flatnonzero(is_own))
        members = concatenate_features(
            [self.feature, own.take(np.flatnonzero(own.number != self.feature.number[0]))]
        )
        n_before = int(np.flatnonzero(members.compute_member_order() == 0)[0])
        return _RangeResult(
            result.n_scored, select_best_classes(others, len(others)), select_best_classes(own, 1), n_before
        )


class _BestClasses:
    """The best classes so far; pending classes are merged when they outnumber the merged ones."""

    def __init__(self, n_screeners: int, max_classes: int) -> None:
        self._best, self._max_classes = make_empty_features(n_screeners), max_classes
        self._pending: list[FeatureTable] = []
        self.is_truncated = False  # whether classes were dropped

    def add(self, classes: FeatureTable) -> None:
        """Add classes. Some of their members may have been added before."""
        self._pending.append(classes)
        if sum(map(len, self._pending)) >= max(len(self._best), _MIN_MERGE_SIZE):
            self.merge_pending()

    def merge_pending(self) -> FeatureTable:
        """Merge pending classes and return the best classes so far."""
        combined = concatenate_features([self._best, *self._pending])
        self._pending.clear()
        self._best = select_best_classes(combined, self._max_classes)
        self.is_truncated |= bool(self._best.class_size.sum() < combined.class_size.sum())
        return self._best


def compute_rank_position(
    space: Space,
    number: int,
    task: ScreeningTask,
    *,
    spec: TopKSpec,
    screeners: Sequence[Screener],
    max_classes: int,
) -> RankPosition:
    """Find the rank of a feature in a list of all features.

    Parameters
    ----------
    space : Space
        All features.
    number : int
        Number of the feature.
    task : ScreeningTask
        The screen.
    spec : TopKSpec
        The screener that defines the order, and the equivalence. Its limit is ignored.
    screeners : sequence of Screener
        Screeners that score the features. `spec` refers to one of them by index.
    max_classes : int
        Maximum number of classes in memory.

    Returns
    -------
    RankPosition
        As in a screen that lists every class, in the order of `symscreen.screening.scoring.top_features`.
    """
    ordered = sort_block(space.compute_values(np.array([number])))
    signature = compute_signatures(ordered, spec.equivalence, mirrored=spec.mirrored)[0]
    spec = replace(spec, limit=None)
    scorer = Scorer(space, task.target, tuple(screeners), task.options.sign, (spec,))
    feature = scorer.describe_features(spec, np.array([number]), ordered)
    loss = float(feature.loss[0])
    scorer = replace(scorer, thresholds=(loss + _LOSS_MARGIN,))
    best = _BestClasses(len(screeners), max_classes)
    own_class = [make_empty_features(len(screeners))]
    n_features = n_before = 0
    range_scorer = _BetterClassScorer(scorer, signature, feature)
    for result in task.backend.map(range_scorer, space.split_chunks(task.chunk_size)):
        n_features += result.n_scored
        n_before += result.n_before
        best.add(result.other_classes)
        own_class = [select_best_classes(concatenate_features([*own_class, result.own_class]), 1)]
    others, own_best = best.merge_pending(), own_class[0]
    position = RankPosition(
        rank=None,
        n_better=0,
        feature_rank=None,
        n_features=n_features,
        representative=int(own_best.number[0]),
        class_size=int(own_best.class_size[0]),
        direction=int(feature.direction[0]),
        scores=tuple(feature.scores[0].tolist()),
    )
    # the dropped classes have at least the highest loss of the kept ones
    if best.is_truncated and float(others.loss.max()) <= loss:
        merged, _ = _merge_equal_classes(others, space)
        return replace(position, n_better=int((merged.loss < loss).sum()))
    classes = concatenate_features([others, own_best])
    classes = classes.take(classes.compute_member_order())
    index = int(np.flatnonzero(classes.signature == signature)[0])
    merged, representatives = _merge_equal_classes(classes, space)
    rank = int(np.flatnonzero(merged.number == classes.number[representatives[index]])[0])
    return replace(
        position,
        rank=rank + 1,
        n_better=rank,
        feature_rank=int(classes.class_size[:index].sum()) + n_before + 1,
        representative=int(merged.number[rank]),
        class_size=int(merged.class_size[rank]),
    )


def compute_max_classes(space: Space, task: ScreeningTask, n_screeners: int) -> int:
    """Compute the number of classes that may be held in memory while a space is streamed, a power of two.

    It is at least the number that the screen itself holds. Each class has `n_screeners` scores.
    """
    min_classes = add_margin(task.limit or task.prescreen)
    if task.max_bytes is None:
        return max(min_classes, space.size)
    scoring_bytes = estimate_scoring_bytes(
        space.n_rows, task, n_features=space.size, n_candidates=space.candidates.total
    )
    available = (task.max_bytes - read_resident_bytes() - scoring_bytes) // (
        _COPIES_PER_CLASS * (_CLASS_BYTES + _SCORE_BYTES * n_screeners)
    )
    # a power of two, because the memory in use varies slightly between runs
    return max(min_classes, 1 << (available.bit_length() - 1) if available > 0 else 0)


def _merge_equal_classes(classes: FeatureTable, space: Space) -> tuple[FeatureTable, NDArray[np.int64]]:
    """Merge classes whose representatives are equal up to rounding, as `top_features` does."""
    representatives = find_streamed_representatives(classes, space)
    return merge_numeric_copies(classes, representatives), representatives


def locate_feature(number: int, generated: GeneratedSpace) -> dict[str, Any]:
    """Find the rank or score of a feature in a screen.

    Parameters
    ----------
    number : int
        Number of the feature.
    generated : GeneratedSpace
        Its space.

    Returns
    -------
    dict
        Fields of an `Explanation`, including the status ``ranked``, ``dropped`` or ``not shown``.
    """
    facts = _locate_in_screen(number, generated)
    if facts["status"] == "ranked":
        scoring, expression = generated.task, generated.space.build_expression(number)
        values = generated.space.compute_values(np.array([number]))[0]
        columns = {name: generated.columns[name] for name in collect_columns(expression)}
        numerical_error = estimate_numerical_error(
            expression, values, columns, generated.task.dataset.target, scoring.screeners
        )
        facts |= {
            "uncertain_rows": numerical_error.n_uncertain_rows,
            "score_error": numerical_error.score_error,
        }
        if scoring.options.unsafe != "keep":
            safety = analyze_safety(expression, scoring.base_box)
            facts |= {
                "unsafe": safety.reason,
                "unsafe_part": "" if safety.part is None else to_text(safety.part),
                "unsafe_point": safety.point or {},
            }
    return facts


def _locate_in_screen(number: int, generated: GeneratedSpace) -> dict[str, Any]:
    """Find the rank of a feature, or that a search dropped it or a joint screener did not rank it."""
    space, task = generated.space, generated.task
    if task.search != "exact":
        remaining = run_feature_search(space, make_search_goals(task), task).space
        if (
            number >= space.n_materialized
            and remaining.statuses[number - space.n_materialized] != CandidateStatus.KEPT
        ):
            ranks = _compute_screener_ranks(number, space, task)
            return {"status": "dropped", "screener_ranks": ranks, "n_features": space.size}
        space, task = remaining, task.change_options(search="exact", risk=None)
    if isinstance(task.screeners[0], Screener):
        return _rank_by_column_screener(number, space, task)
    return _rank_by_joint_screener(number, space, task)


def _rank_by_column_screener(number: int, space: Space, task: ScreeningTask) -> dict[str, Any]:
    """Find the rank in a list that a column screener orders."""
    first = task.column_screeners[0]
    spec = TopKSpec(0, first.equivalence, first.merges_mirrored(task.options.sign), limit=None)
    max_classes = compute_max_classes(space, task, len(task.column_screeners))
    position = compute_rank_position(
        space,
        number,
        task,
        spec=spec,
        screeners=task.column_screeners,
        max_classes=max_classes,
    )
    facts: dict[str, Any] = {
        "status": "ranked",
        "rank": position.feature_rank if task.limit is None else position.rank,
        "rank_cutoff": task.limit,
        "n_features": position.n_features,
        "representative": to_text(space.build_expression(position.representative)),
        "class_size": position.class_size,
        "direction": position.direction,
        "scores": dict(
            zip((screener.name for screener in task.column_screeners), position.scores, strict=True)
        ),
    }
    if position.rank is None:
        facts |= {
            "n_better": position.n_better,
            "screener_ranks": _compute_screener_ranks(number, space, task),
        }
    if task.joint_screeners:
        _add_joint_scores(facts, number, space, score_space(space, task), task)
    return facts


def _rank_by_joint_screener(number: int, space: Space, task: ScreeningTask) -> dict[str, Any]:
    """Find the rank in a list that a joint screener orders, if the feature is on its shortlist."""
    first_screener = task.screeners[0]
    limit = None if task.limit is None else max(task.limit, task.prescreen)
    # near-duplicates stay in the list, since a list without them has other ranks
    result = score_space(
        space, task.change_options(top="all" if limit is None else limit, max_correlation=1.0)
    )
    facts: dict[str, Any] = {"n_features": result.n_scored, "rank_cutoff": task.limit}
    _add_joint_scores(facts, number, space, result, task)
    row = _find_row(number, space, result, task)
    if first_screener.name not in facts["selected"] or row is None:
        # features that are not on the shortlist have no rank
        ranks = _compute_screener_ranks(number, space, task)
        return facts | {"status": "not shown", "screener_ranks": ranks, "rank_cutoff": task.prescreen}
    features = result.features
    for index, screener in enumerate(task.screeners):
        if isinstance(screener, Screener):
            facts["scores"][screener.name] = float(features.scores[row, index])
    return facts | {
        "status": "ranked",
        "rank": row + 1,
        "representative": to_text(space.build_expression(int(features.number[row]))),
        "class_size": int(features.class_size[row]),
        "direction": int(features.direction[row]),
    }


def _find_row(number: int, space: Space, scoring_result: ScoringResult, task: ScreeningTask) -> int | None:
    """Find the row of a feature in the ranking of the shortlist, or of all features; None if it is absent."""
    first_name = task.screeners[0].name
    if first_name not in scoring_result.joint_results:
        return None
    if task.limit is not None:
        shortlist = scoring_result.joint_results[first_name].shortlist
        position = int(shortlist.find_positions(sort_block(space.compute_values(np.array([number]))))[0])
        if position < 0:
            return None
        number = int(shortlist.features.number[position])
    rows = np.flatnonzero(scoring_result.features.number == number)
    return int(rows[0]) if len(rows) else None


def _add_joint_scores(
    facts: dict[str, Any], number: int, space: Space, scoring_result: ScoringResult, task: ScreeningTask
) -> None:
    """Add the scores and selections of the joint screeners."""
    facts.setdefault("scores", {})
    facts["selected"] = {}
    ordered = sort_block(space.compute_values(np.array([number])))
    for screener in task.joint_screeners:
        facts["scores"][screener.name] = float("nan")
        if screener.name in scoring_result.joint_results:
            joint_result = scoring_result.joint_results[screener.name]
            position = int(joint_result.shortlist.find_positions(ordered)[0])
            if position >= 0:
                facts["scores"][screener.name] = float(joint_result.scores.score[position])
                facts["selected"][screener.name] = bool(joint_result.scores.selected[position])


def _compute_screener_ranks(number: int, space: Space, task: ScreeningTask) -> dict[str, int]:
    """Compute the rank among all features by the screeners that build the shortlist or race."""
    screeners = task.column_screeners[:1] if isinstance(task.screeners[0], Screener) else task.prescreeners
    return {
        screener.name: int(
            compute_ranks(
                space,
                task.target,
                screener,
                "free" if task.joint_screeners else task.options.sign,
                space.compute_values(np.array([number])),
                backend=task.backend,
                chunk_size=task.chunk_size,
            )[0]
        )
        for screener in screeners
    }


def apply_display_filters(
    explanation: Explanation, generated: GeneratedSpace, control: ErrorControl | None
) -> Explanation:
    """Find whether the list of a screen contains a feature, if options leave some features out.

    Parameters
    ----------
    explanation : Explanation
        Rank of the feature among all features. Other statuses are returned unchanged.
    generated : GeneratedSpace
        The space of the screen, without error control.
    control : ErrorControl or None
        Error control of the screen.

    Returns
    -------
    Explanation
        With status ``redundant``, ``unsafe`` or ``not passing`` if the feature is left out.
    """
    if explanation.status not in {"ranked", "duplicate"}:
        return explanation
    options = generated.task.options
    if generated.task.limit is None and options.unsafe == "drop" and explanation.unsafe:
        explanation = replace(explanation, status="unsafe")
    elif generated.task.is_selective:
        explanation = _apply_selection(explanation, generated)
    if explanation.status in {"redundant", "unsafe"} or control is None or control.fdr is None:
        return explanation
    fdr = control.fdr
    if control.source == "null distribution":  # the permutations give no q-value
        control = replace(control, permutations=0)
    return _apply_fdr(explanation, generated, control, fdr)


def _apply_selection(explanation: Explanation, generated: GeneratedSpace) -> Explanation:
    """Leave out redundant and unsafe features as the screen does, and find the class of the feature."""
    if explanation.rank is None:  # more classes rank before it than fit into memory
        return replace(explanation, past_end=True)
    # the whole space is scored, without deadline or checkpoint
    task = replace(generated.task, error_control=None, run_control=DEFAULT_RUN_CONTROL)
    result = score_space(generated.space, task)
    distinct, index = result.distinct, explanation.rank - 1
    if distinct is None or index >= distinct.n_examined:
        return replace(explanation, past_end=True)
    if distinct.unsafe_reasons[index]:
        return replace(explanation, status="unsafe")
    place = int(np.flatnonzero(distinct.shown_groups == distinct.group[index])[0])
    if distinct.representatives[distinct.group[index]] == index:
        return replace(explanation, filtered_rank=place + 1)
    shown_instead = to_text(generated.space.build_expression(int(result.features.number[place])))
    return replace(explanation, status="redundant", shown_instead=shown_instead)


def _apply_fdr(
    explanation: Explanation, generated: GeneratedSpace, control: ErrorControl, fdr: float
) -> Explanation:
    """Compute the q-value of the feature; if some features pass, those that do not are left out."""
    # the whole space is scored, without deadline or checkpoint
    task = replace(generated.task, error_control=control, run_control=DEFAULT_RUN_CONTROL)
    result = score_space(generated.space, task)
    inference = build_inference(control, task.target, task.screeners[0], task.options.sign, task.options.seed)
    assert inference is not None  # noqa: S101  # the options are validated before
    assert result.stream_result is not None  # noqa: S101  # the space was streamed
    assert explanation.found is not None  # noqa: S101  # the formula is in the space
    ordered = sort_block(evaluate_expression(explanation.found, generated.columns)[None])
    columns, _ = compute_error_control(
        inference, control, result.stream_result.inference_state, iter([ordered]), task.target
    )
    explanation = replace(explanation, q_value=float(columns["q_value"][0]))
    some_pass = bool((result.extra_columns["q_value"] <= fdr).any())
    return (
        replace(explanation, status="not passing")
        if some_pass and columns["q_value"][0] > fdr
        else explanation
    )
