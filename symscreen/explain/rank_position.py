"""Where a feature stands in a whole space, in the screen's own order, whatever the list shows of it.

Where a feature of a space stands in the screen that was asked for.

Whether a screen shows a feature that it ranks: near-duplicates and what does not pass are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._limits import read_resident_bytes
from symscreen.expansion import CandidateStatus
from symscreen.expansion.validity import compute_projection, find_projected_duplicates
from symscreen.expressions.tree import collect_columns, evaluate_expression, parse_expression, to_text
from symscreen.screeners import Screener
from symscreen.screening.inference.error_control import build_inference, compute_error_control
from symscreen.screening.inference.numerical_error import estimate_numerical_error
from symscreen.screening.inference.redundancy import screen_until_filled
from symscreen.screening.memory_estimate import estimate_scoring_bytes
from symscreen.screening.run_control import DEFAULT_RUN_CONTROL
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.rank_counting import compute_ranks
from symscreen.screening.scoring.score_space import make_search_goals, score_space
from symscreen.screening.scoring.streaming import add_margin
from symscreen.screening.scoring.top_features import (
    compute_signatures,
    concatenate_features,
    make_empty_features,
    merge_numeric_copies,
    select_best_classes,
)
from symscreen.screening.search.modes import EXACT_SEARCH, run_search
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.explain.explanation import Explanation
    from symscreen.explain.feature_lookup import GeneratedSpace
    from symscreen.screening.inference.error_control import ErrorControl
    from symscreen.screening.preparation import PreparedScreen
    from symscreen.screening.scoring.score_space import ScoringConfig, ScoringResult
    from symscreen.screening.scoring.top_features import FeatureTable
    from symscreen.targets.registry import Target


__all__ = [
    "RankPosition",
    "apply_display_filters",
    "compute_max_classes",
    "compute_rank_position",
    "locate_feature",
]

# one feature computed in two ways may fall into two classes of slightly different loss, one of which stands
# for both: classes that are worse by so much are looked at too; a loss is 0 at best and about 1 by chance
_LOSS_MARGIN = 0.01
_BATCH_VALUES = 1 << 22
_MIN_MERGE_SIZE = 1 << 14
_COPIES_PER_CLASS = 6  # of a class while lists are joined, put in order and merged
_CLASS_BYTES, _SCORE_BYTES = 64, 8  # bytes of one, and of each of its scores


@dataclass(frozen=True, eq=False)
class RankPosition:
    """Where a feature stands.

    Parameters
    ----------
    rank : int or None
        Its class's place among all classes, from 1; those that are equal up to rounding are one. None where
        more classes stand before it than may be held.
    ahead : int
        How many classes are known to stand before it.
    place : int or None
        Its own place among all features, unmerged, from 1; None where its rank is not known.
    features : int
        How many were scored.
    number : int
        The member that stands for its class.
    class_size : int
        How many members there are.
    direction : int
        +1, −1 or 0.
    scores : tuple of float
        By each screener.
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
    """What came of a range: how many features were scored, the classes before one, and this class's members.

    Of these the best stands for them, `class_size` of them, `before` of which come before the feature.
    """

    n_scored: int
    other_classes: FeatureTable
    own_class: FeatureTable
    n_before: int


@dataclass(frozen=True, eq=False)
class _BetterClassScorer:
    """Scores a range and keeps the best member of one class, and of better classes the best members."""

    scorer: Scorer
    signature: np.uint64
    feature: FeatureTable

    def __call__(self, chunk: tuple[int, int]) -> _RangeResult:
        """Return what came of a range."""
        found = self.scorer(chunk)
        mine = found.top_features[0].signature == self.signature
        others = found.top_features[0].take(np.flatnonzero(~mine))
        own = found.top_features[0].take(np.flatnonzero(mine))
        both = concatenate_features(
            [self.feature, own.take(np.flatnonzero(own.number != self.feature.number[0]))]
        )
        before = int(np.flatnonzero(both.compute_member_order() == 0)[0])
        return _RangeResult(
            found.n_scored, select_best_classes(others, len(others)), select_best_classes(own, 1), before
        )


class _BestClasses:
    """The best classes of what has come so far, merged whenever as much waits as is held."""

    def __init__(self, n_screeners: int, max_classes: int) -> None:
        self._best, self._max_classes = make_empty_features(n_screeners), max_classes
        self._pending: list[FeatureTable] = []
        self.is_truncated = False  # whether classes had to be let go

    def add(self, classes: FeatureTable) -> None:
        """Add classes, of which members may have come before."""
        self._pending.append(classes)
        if sum(map(len, self._pending)) >= max(len(self._best), _MIN_MERGE_SIZE):
            self.merge_pending()

    def merge_pending(self) -> FeatureTable:
        """Return the best classes so far."""
        together = concatenate_features([self._best, *self._pending])
        self._pending.clear()
        self._best = select_best_classes(together, self._max_classes)
        self.is_truncated |= bool(self._best.class_size.sum() < together.class_size.sum())
        return self._best


def compute_rank_position(
    space: Space,
    number: int,
    target: Target,
    *,
    request: ScoringConfig,
    spec: TopKSpec,
    screeners: Sequence[Screener],
    max_classes: int,
) -> RankPosition:
    """Find where a feature stands in a list that would keep everything.

    Parameters
    ----------
    space : Space
        All features.
    number : int
        The feature.
    response : AnyResponse
        What they are scored against.
    request : Request
        Sign, backend and chunk size.
    keep : Keep
        Who orders the list and what is merged in it; its limit is not used.
    screeners : sequence of Screener
        Those who score what is kept; `keep` names one of them by its place.
    most : int
        How many classes may be held at a time.

    Returns
    -------
    Standing
        As in a screen that shows every class: the order is that of
        `symscreen.screening.scoring.top_features`.
    """
    ordered = sort_block(space.compute_values(np.array([number])))
    signature = compute_signatures(ordered, spec.equivalence, mirrored=spec.mirrored)[0]
    spec = replace(spec, limit=None)
    scorer = Scorer(space, target, tuple(screeners), request.sign, (spec,))
    itself = scorer.describe_features(spec, np.array([number]), ordered)
    loss = float(itself.loss[0])
    scorer = replace(scorer, thresholds=(loss + _LOSS_MARGIN,))
    best, own, features, before = (
        _BestClasses(len(screeners), max_classes),
        [make_empty_features(len(screeners))],
        0,
        0,
    )
    task = _BetterClassScorer(scorer, signature, itself)
    for part in request.backend.map(task, space.split_chunks(request.chunk_size)):
        features += part.n_scored
        before += part.n_before
        best.add(part.other_classes)
        own = [select_best_classes(concatenate_features([*own, part.own_class]), 1)]
    apart, first = best.merge_pending(), own[0]
    known = RankPosition(
        rank=None,
        n_better=0,
        feature_rank=None,
        n_features=features,
        representative=int(first.number[0]),
        class_size=int(first.class_size[0]),
        direction=int(itself.direction[0]),
        scores=tuple(itself.scores[0].tolist()),
    )
    # what was let go has at least the loss of the last that was not
    if best.is_truncated and float(apart.loss.max()) <= loss:
        merged, _ = _merge_equal_classes(apart, space)
        return replace(known, n_better=int((merged.loss < loss).sum()))
    classes = concatenate_features([apart, first])
    classes = classes.take(classes.compute_member_order())
    at = int(np.flatnonzero(classes.signature == signature)[0])
    merged, stands_for = _merge_equal_classes(classes, space)
    rank = int(np.flatnonzero(merged.number == classes.number[stands_for[at]])[0])
    return replace(
        known,
        rank=rank + 1,
        n_better=rank,
        feature_rank=int(classes.class_size[:at].sum()) + before + 1,
        representative=int(merged.number[rank]),
        class_size=int(merged.class_size[rank]),
    )


def compute_max_classes(space: Space, request: ScoringConfig, n_screeners: int, max_bytes: int | None) -> int:
    """Say how many classes may be held while a space streams by, a power of two.

    Parameters
    ----------
    space : Space
        What is scored.
    request : Request
        What is asked of it.
    screeners : int
        How many scores a class has.
    max_bytes : int or None
        The memory allowed.

    Returns
    -------
    int
        At least as many as the screen itself holds.
    """
    least = add_margin(request.limit or request.prescreen)
    if max_bytes is None:
        return max(least, space.size)
    needed = estimate_scoring_bytes(
        space.n_rows, request, n_features=space.size, n_candidates=space.candidates.total
    )
    room = (max_bytes - read_resident_bytes() - needed) // (
        _COPIES_PER_CLASS * (_CLASS_BYTES + _SCORE_BYTES * n_screeners)
    )
    # not to the last byte: what the process holds differs a little from run to run
    return max(least, 1 << (room.bit_length() - 1) if room > 0 else 0)


def _merge_equal_classes(classes: FeatureTable, space: Space) -> tuple[FeatureTable, NDArray[np.int64]]:
    """Merge classes whose shown members are equal up to rounding, as `symscreen.screening.scoring.top_features` does."""
    step = max(1, _BATCH_VALUES // max(1, space.n_rows))
    numbers = classes.number
    line = np.concatenate(
        [
            compute_projection(space.compute_values(numbers[first : first + step]))
            for first in range(0, len(numbers), step)
        ]
    )
    preference = np.empty(len(classes), dtype=np.int64)
    order = np.lexsort((classes.keys[:, 1], classes.keys[:, 0], classes.complexity))
    preference[order] = np.arange(len(classes))
    stands_for = find_projected_duplicates(
        line, lambda places: space.compute_values(numbers[places]), space.n_rows, preference
    )
    return merge_numeric_copies(classes, stands_for), stands_for


def locate_feature(number: int, generated: GeneratedSpace) -> dict[str, Any]:
    """Find where a feature stands.

    Parameters
    ----------
    number : int
        The feature.
    grown : Grown
        Its space.

    Returns
    -------
    dict
        Facts of a `Explanation`, its answer among them: ``ranked``, ``dropped`` or ``not shown``.
    """
    facts = _locate_in_screen(number, generated)
    if facts["status"] == "ranked":
        request, expression = generated.config.scoring, generated.space.build_expression(number)
        values = generated.space.compute_values(np.array([number]))[0]
        columns = {name: generated.columns[name] for name in collect_columns(expression)}
        safety = estimate_numerical_error(
            expression, values, columns, generated.dataset.target, request.screeners
        )
        facts |= {"unsafe_rows": safety.n_unsafe_rows, "unsafe_by": safety.score_error}
    return facts


def _locate_in_screen(number: int, generated: GeneratedSpace) -> dict[str, Any]:
    space, response, request = generated.space, generated.dataset.target, generated.config.scoring
    if request.search.mode != "exact":
        known = require_numeric_target(response, "a search that drops features")
        left = run_search(
            space,
            known,
            make_search_goals(request),
            request.search,
            seed=request.seed,
            backend=request.backend,
        ).space
        if (
            number >= space.n_materialized
            and left.statuses[number - space.n_materialized] != CandidateStatus.KEPT
        ):
            places = _compute_screener_ranks(number, space, generated, request)
            return {"status": "dropped", "screener_ranks": places, "n_features": space.size}
        space, request = left, replace(request, search=EXACT_SEARCH)
    if isinstance(request.screeners[0], Screener):
        return _rank_by_column_screener(number, space, generated, request)
    return _rank_by_joint_screener(number, space, generated, request)


def _rank_by_column_screener(
    number: int, space: Space, generated: GeneratedSpace, request: ScoringConfig
) -> dict[str, Any]:
    """Find the place in a list that a column screener orders."""
    first = request.column_screeners[0]
    keep = TopKSpec(0, first.equivalence, mirrored=request.sign == "free", limit=None)
    response = generated.dataset.target
    most = compute_max_classes(space, request, len(request.column_screeners), generated.config.max_bytes)
    found = compute_rank_position(
        space,
        number,
        response,
        request=request,
        spec=keep,
        screeners=request.column_screeners,
        max_classes=most,
    )
    facts: dict[str, Any] = {
        "status": "ranked",
        "rank": found.feature_rank if request.limit is None else found.rank,
        "rank_cutoff": request.limit,
        "n_features": found.n_features,
        "representative": to_text(space.build_expression(found.representative)),
        "class_size": found.class_size,
        "direction": found.direction,
        "scores": dict(zip((one.name for one in request.column_screeners), found.scores, strict=True)),
    }
    if found.rank is None:
        facts |= {
            "n_better": found.n_better,
            "screener_ranks": _compute_screener_ranks(number, space, generated, request),
        }
    if request.joint_screeners:
        _add_joint_scores(facts, number, space, score_space(space, response, request), request)
    return facts


def _rank_by_joint_screener(
    number: int, space: Space, generated: GeneratedSpace, request: ScoringConfig
) -> dict[str, Any]:
    """Find the place in a list that a joint screener orders, of what it was shown."""
    first = request.screeners[0]
    limit = None if request.limit is None else max(request.limit, request.prescreen)
    found = score_space(space, generated.dataset.target, replace(request, limit=limit))
    facts: dict[str, Any] = {"n_features": found.n_scored, "rank_cutoff": request.limit}
    _add_joint_scores(facts, number, space, found, request)
    row = _find_row(number, space, found, request)
    if first.name not in facts["selected"] or row is None:
        # what was not shown has no rank
        places = _compute_screener_ranks(number, space, generated, request)
        return facts | {"status": "not shown", "screener_ranks": places, "rank_cutoff": request.prescreen}
    kept = found.features
    for place, one in enumerate(request.screeners):
        if isinstance(one, Screener):
            facts["scores"][one.name] = float(kept.scores[row, place])
    return facts | {
        "status": "ranked",
        "rank": row + 1,
        "representative": to_text(space.build_expression(int(kept.number[row]))),
        "class_size": int(kept.class_size[row]),
        "direction": int(kept.direction[row]),
    }


def _find_row(number: int, space: Space, scoring_result: ScoringResult, request: ScoringConfig) -> int | None:
    """Find the row of a ranking of all that was shown, or of all features, in which one stands."""
    first = request.screeners[0].name
    if first not in scoring_result.joint_results:
        return None
    if request.limit is not None:
        showing = scoring_result.joint_results[first].shortlist
        place = int(showing.find_positions(sort_block(space.compute_values(np.array([number]))))[0])
        if place < 0:
            return None
        number = int(showing.features.number[place])
    rows = np.flatnonzero(scoring_result.features.number == number)
    return int(rows[0]) if len(rows) else None


def _add_joint_scores(
    facts: dict[str, Any], number: int, space: Space, scoring_result: ScoringResult, request: ScoringConfig
) -> None:
    """Add what each joint screener says."""
    facts.setdefault("scores", {})
    facts["selected"] = {}
    ordered = sort_block(space.compute_values(np.array([number])))
    for one in request.joint_screeners:
        facts["scores"][one.name] = float("nan")
        if one.name in scoring_result.joint_results:
            ruling = scoring_result.joint_results[one.name]
            place = int(ruling.shortlist.find_positions(ordered)[0])
            if place >= 0:
                facts["scores"][one.name] = float(ruling.scores.score[place])
                facts["selected"][one.name] = bool(ruling.scores.selected[place])


def _compute_screener_ranks(
    number: int, space: Space, generated: GeneratedSpace, request: ScoringConfig
) -> dict[str, int]:
    """Find its place among all features by those who choose what is shown, or what is raced for."""
    wanted = (
        request.column_screeners[:1] if isinstance(request.screeners[0], Screener) else request.prescreeners
    )
    return {
        one.name: int(
            compute_ranks(
                space,
                generated.dataset.target,
                one,
                "free" if request.joint_screeners else request.sign,
                space.compute_values(np.array([number])),
                backend=request.backend,
                chunk_size=request.chunk_size,
            )[0]
        )
        for one in wanted
    }


def apply_display_filters(
    explanation: Explanation,
    generated: GeneratedSpace,
    prepared: PreparedScreen,
    control: ErrorControl | None,
) -> Explanation:
    """Say whether the list of a screen holds a feature, where options leave some out.

    Parameters
    ----------
    found : Why
        Where the feature stands in the whole ranking; other answers are returned as they are.
    grown : Grown
        The space.
    ready : Prepared
        The screen, without error control.
    control : ErrorControl or None
        The screen's error control.

    Returns
    -------
    Why
        Its answer ``thinned`` or ``not passing`` where that is so.
    """
    if explanation.status not in {"ranked", "duplicate"}:
        return explanation
    if prepared.max_correlation is not None:
        explanation = _apply_redundancy_filter(explanation, prepared, prepared.max_correlation)
    if explanation.status != "thinned" and control is not None and control.fdr is not None:
        explanation = _apply_fdr(explanation, generated, replace(control, permutations=0), control.fdr)
    return explanation


def _apply_redundancy_filter(
    explanation: Explanation, prepared: PreparedScreen, max_correlation: float
) -> Explanation:
    """Thin the ranking as the screen does, and find the feature's class in it."""
    if explanation.rank is None:  # more classes stand before it than memory holds
        return replace(explanation, past_end=True)
    thinned = screen_until_filled(prepared.dataset, prepared.config, max_correlation)
    place, kept = explanation.rank - 1, thinned.round_result.scoring_result.features
    if place >= len(thinned.representatives):
        return replace(explanation, past_end=True)
    shown = int(thinned.representatives[place])
    if shown == place:
        return replace(
            explanation, filtered_rank=int(np.flatnonzero(thinned.selected_indices == place)[0]) + 1
        )
    stand_in = to_text(thinned.round_result.space.build_expression(int(kept.number[shown])))
    return replace(explanation, status="thinned", shown_instead=stand_in)


def _apply_fdr(
    explanation: Explanation, generated: GeneratedSpace, control: ErrorControl, fdr: float
) -> Explanation:
    """Compute the q-value of the feature; where something passes, what does not is left out."""
    request = replace(
        generated.config.scoring, error_control=control, run_control=DEFAULT_RUN_CONTROL
    )  # of the whole space
    response = generated.dataset.target
    whole = score_space(generated.space, response, request)
    watch = build_inference(control, response, request.screeners[0], request.sign, request.seed)
    assert watch is not None  # noqa: S101  # the options were refused otherwise
    assert whole.stream_result is not None  # noqa: S101  # it was streamed just now
    made = parse_expression(explanation.found_as, generated.config.grammar.operators, generated.dataset.names)
    own = sort_block(evaluate_expression(made, generated.columns)[None])
    columns, _ = compute_error_control(
        watch, control, whole.stream_result.inference_state, iter([own]), response
    )
    explanation = replace(explanation, q_value=float(columns["q_value"][0]))
    some_pass = bool((whole.extra_columns["q_value"] <= fdr).any())
    return (
        replace(explanation, status="not passing")
        if some_pass and columns["q_value"][0] > fdr
        else explanation
    )
