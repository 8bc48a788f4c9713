"""Score a space by all requested screeners: the ranking, every score, and the comparison of screeners.

The first screener orders the ranking. While the space streams, `score_space` maintains the top-K list of the
ranking and, if joint screeners or several screeners are requested, lists for shortlists. The joint screeners
then score their shortlists, and all screeners are compared on the shortlist without affine copies.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expressions.printing import to_text
from symscreen.expressions.safety import SafetyAnalysis
from symscreen.results.screener_agreement import ScreenerComparison, compare_screeners
from symscreen.screeners import Screener
from symscreen.screening.inference.error_control import build_inference, limit_cost
from symscreen.screening.inference.error_control_columns import compute_error_control
from symscreen.screening.inference.feature_safety import build_safety_record
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec, iterate_values, make_mirrored_spec
from symscreen.screening.scoring.distinct_features import select_distinct_features
from symscreen.screening.scoring.final_classes import add_margin, finalize_classes
from symscreen.screening.scoring.finalists import make_correlation_check, score_finalists
from symscreen.screening.scoring.joint_screening import (
    build_shortlist,
    run_joint_screener,
    update_class_sizes,
)
from symscreen.screening.scoring.streaming import score_stream
from symscreen.screening.scoring.top_features import (
    EquivalenceClasses,
    build_all_classes,
    make_empty_features,
    rank_all_features,
    round_sort_keys,
)
from symscreen.screening.search.modes import audit_search, run_feature_search
from symscreen.screening.search.successive_halving import SearchGoal
from symscreen.screening.task import MAX_EXAMINED
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.expansion import CandidateStatus, Space
    from symscreen.results.screen_verdict import Obstacle
    from symscreen.screeners import Sign
    from symscreen.screening.scoring.distinct_features import DistinctFeatures
    from symscreen.screening.scoring.finalists import Finalists
    from symscreen.screening.scoring.joint_screening import JointResult, Shortlist
    from symscreen.screening.scoring.streaming import StreamResult
    from symscreen.screening.scoring.top_features import EquivalenceKind, FeatureTable
    from symscreen.screening.search.modes import SearchResult
    from symscreen.screening.task import ScreeningTask
    from symscreen.statistics.ranks.sorted_block import SortedBlock


_BLOCK_VALUES = 1 << 22  # values that are recomputed at a time
_MAX_LISTED = 20  # near-duplicates that the record lists for one feature


@dataclass(frozen=True, eq=False)
class ScoringResult:
    """Scores of a space.

    Parameters
    ----------
    features : FeatureTable, length k
        The ranking; `scores` has a column for each requested screener.
    extra_columns : dict of str to array, shape (k,)
        Additional columns of the ranking, by name.
    joint_results : dict of str to JointResult
        The results of the joint screeners, by name.
    comparison : ScreenerComparison or None
        Ranks of the shortlist by all screeners, if there are several.
    n_scored : int
        Number of features that were scored.
    n_invalid : dict of CandidateStatus to int
        Counts of the features that were excluded after their values were computed.
    classes : EquivalenceClasses
        Signatures of the classes of the ranking.
    distinct : DistinctFeatures or None
        The groups that the ranking represents; None if it has near-duplicates.
    selection_record : dict
        Record of the near-duplicates and of the unsafe features that were left out.
    search_record : dict or None
        Record of a search that did not score every feature.
    error_control_record : dict or None
        Record of the error control.
    p_value_obstacle : Obstacle or None
        Why there are no p-values.
    stream_result : StreamResult or None
        Result of the stream, including the numbers of candidates and tasks.
    finalists_record : dict or None
        Record of the features that were scored on all rows of a large table.
    """

    features: FeatureTable
    extra_columns: dict[str, Any]
    joint_results: dict[str, JointResult]
    comparison: ScreenerComparison | None
    n_scored: int
    n_invalid: dict[CandidateStatus, int]
    classes: EquivalenceClasses
    distinct: DistinctFeatures | None = None
    selection_record: dict[str, Any] = field(default_factory=dict)
    search_record: dict[str, Any] | None = None
    error_control_record: dict[str, Any] | None = None
    p_value_obstacle: Obstacle | None = None
    stream_result: StreamResult | None = None
    finalists_record: dict[str, Any] | None = None


def find_shortlist_kinds(task: ScreeningTask) -> list[EquivalenceKind]:
    """Return the equivalence kinds of the shortlists for joint screeners and for the comparison."""
    kinds: set[EquivalenceKind] = {screener.equivalence for screener in task.joint_screeners}
    if len(task.screeners) > 1:
        kinds.add("affine")  # the finest: the classes of every screener are unions of its classes
    return sorted(kinds)


def score_space(space: Space, task: ScreeningTask) -> ScoringResult:
    """Score a space by all requested screeners.

    The result does not depend on the backend, the chunk size or the number of threads.
    """
    search = None if task.search == "exact" else run_feature_search(space, make_search_goals(task), task)
    scored_space = space if search is None else search.space
    error_control, cost_obstacle = limit_cost(task.error_control, space.size, task.target.n)
    inference = build_inference(
        error_control, task.target, task.screeners[0], task.options.sign, task.options.seed
    )
    scorer = replace(make_scorer(scored_space, task), inference=inference)
    stream_result = score_stream(scorer, task.backend, task.chunk_size, task.run_control)
    feature_lists = iter(stream_result.top_features)
    if _has_main_list(task):
        main_features = next(feature_lists)
    else:
        main_features = make_empty_features(len(task.column_screeners))
    joint_scoring = _score_shortlists(feature_lists, scored_space, task)
    n_listed = task.n_examined
    features, classes = _build_ranking(main_features, scored_space, task, joint_scoring.results, n_listed)
    finalists = None
    if task.large_table is not None:
        finalists = score_finalists(features, classes, scored_space, task)
        features, classes = finalists.features, finalists.classes
    ranking = _select_from_ranking(
        features, classes, scored_space, task, is_complete=stream_result.is_complete
    )
    features, classes = ranking.features, ranking.classes
    search_record = None if search is None else search.record
    if search is not None and task.search == "sieve":
        audit = _audit_search(space, search, task, stream_result.top_features[0], ranking, finalists)
        search_record = search.record | {"audit": audit}
    features, columns = _add_joint_columns(features, scored_space, task, joint_scoring)
    columns = ranking.columns | columns
    error_control_record = None
    if inference is not None and error_control is not None:
        blocks = _iterate_sorted_blocks(features, scored_space)
        error_control_columns, error_control_record = compute_error_control(
            inference, error_control, stream_result.inference_state, blocks, task.target
        )
        columns = error_control_columns | columns
    columns |= task.target.compute_extra_columns(
        {screener.name: scores for screener, scores in zip(task.screeners, features.scores.T, strict=True)},
        _iterate_sorted_blocks(features, scored_space),
        [screener for screener in task.screeners if isinstance(screener, Screener)],
    )
    return ScoringResult(
        features,
        columns,
        joint_scoring.results,
        joint_scoring.comparison,
        stream_result.n_scored,
        stream_result.n_invalid,
        classes,
        ranking.distinct,
        ranking.record,
        search_record,
        error_control_record,
        cost_obstacle or task.p_value_obstacle,
        stream_result,
        None if finalists is None else finalists.record,
    )


@dataclass(frozen=True, eq=False)
class _JointScoring:
    """Results of the joint screeners by name, and how all screeners rank the shortlist of affine classes."""

    results: dict[str, JointResult]
    shortlist: Shortlist | None
    comparison: ScreenerComparison | None


def _score_shortlists(
    feature_lists: Iterator[FeatureTable], space: Space, task: ScreeningTask
) -> _JointScoring:
    """Build the shortlists, run the joint screeners on them, and compare several screeners."""
    shortlists = {}
    for kind in find_shortlist_kinds(task):
        shortlist = build_shortlist(
            [next(feature_lists) for _ in task.prescreeners], space, task.prescreen, kind
        )
        shortlists[kind] = update_class_sizes(
            shortlist, task.prescreeners, space, task.backend, task.chunk_size
        )
    results = {
        screener.name: run_joint_screener(
            screener,
            shortlists[screener.equivalence],
            task.target,
            seed=task.options.seed,
            jobs=task.backend.jobs,
        )
        for screener in task.joint_screeners
        if len(shortlists[screener.equivalence].features)
    }
    comparison = None
    if len(task.screeners) > 1:
        comparison = _build_comparison(shortlists["affine"], task, results)
    return _JointScoring(results, shortlists.get("affine"), comparison)


def make_scorer(space: Space, task: ScreeningTask) -> Scorer:
    """Build the scorer of the chunks of a space."""
    return Scorer(
        space, task.target, task.column_screeners, task.options.sign, _make_top_k_specs(task, task.n_examined)
    )


def _has_main_list(task: ScreeningTask) -> bool:
    """Return whether the ranking is streamed, not derived from a shortlist."""
    return task.limit is None or isinstance(task.screeners[0], Screener)


def _make_top_k_specs(task: ScreeningTask, n_listed: int | None) -> tuple[TopKSpec, ...]:
    """Return the lists to maintain: the ranking of `n_listed` classes first, then those of each shortlist."""
    first = task.screeners[0]
    specs = []
    if _has_main_list(task):
        limit = None if n_listed is None else add_margin(n_listed)
        specs.append(TopKSpec(0, first.equivalence, first.merges_mirrored(task.options.sign), limit))
    specs += [
        make_mirrored_spec(index, kind, add_margin(task.prescreen))
        for kind in find_shortlist_kinds(task)
        for index in range(len(task.prescreeners))
    ]
    return tuple(specs)


def make_search_goals(task: ScreeningTask) -> list[SearchGoal]:
    """Return the goals of a search: the longest list of each screener and sign, that of the ranking first.

    A search promises the best classes. Some of them are near-duplicates. The list is filled with distinct
    features from all that it keeps.

    Parameters
    ----------
    task : ScreeningTask
        How the space is scored.

    Returns
    -------
    list of SearchGoal
    """
    limits: dict[tuple[int, Sign], int] = {}
    for spec in _make_top_k_specs(task, task.limit):
        key = (spec.screener_index, spec.choose_sign(task.options.sign))
        limits[key] = max(limits.get(key, 0), spec.limit or 0)
    return [SearchGoal(task.column_screeners[index], sign, limit) for (index, sign), limit in limits.items()]


def _audit_search(
    space: Space,
    search: SearchResult,
    task: ScreeningTask,
    features: FeatureTable,
    ranking: _Ranking,
    finalists: Finalists | None,
) -> dict[str, Any]:
    """Estimate how many features the search dropped that are as good as the last one of the first list."""
    if finalists is not None:  # the dropped features are scored on the sample, too
        best_losses = np.sort(finalists.find_sample_losses(ranking.features.number))
    elif isinstance(task.screeners[0], Screener):
        best_losses = np.sort(ranking.features.loss)
    else:
        best_losses = np.sort(features.loss)[: task.prescreen]
    return audit_search(
        space,
        search,
        make_search_goals(task)[0],
        task,
        loss_threshold=float(best_losses[-1]) if len(best_losses) else -1.0,
    )


def _build_ranking(
    main_features: FeatureTable,
    space: Space,
    task: ScreeningTask,
    joint_results: dict[str, JointResult],
    n_listed: int | None,
) -> tuple[FeatureTable, EquivalenceClasses]:
    """Order the streamed features by the first screener; return the ranking and its classes."""
    first = task.screeners[0]
    mirrored = first.merges_mirrored(task.options.sign)
    if isinstance(first, Screener):
        spec = _make_top_k_specs(task, task.n_examined)[0]
        if n_listed is not None:
            return finalize_classes(main_features, space, n_listed, spec)
        ranking = rank_all_features(main_features)
        return ranking, build_all_classes(ranking, first.equivalence, mirrored=mirrored)
    if first.name not in joint_results:
        return main_features, build_all_classes(main_features, first.equivalence, mirrored=mirrored)
    shortlist, scores = joint_results[first.name].shortlist, joint_results[first.name].scores
    if n_listed is not None:
        features = replace(shortlist.features, loss=scores.loss, direction=scores.direction.astype(np.int8))
        order = features.compute_member_order()[:n_listed]
        return features.take(order), shortlist.classes.reorder(order)
    positions = _find_shortlist_positions(main_features, space, shortlist)
    worst_loss = float(scores.loss.max()) + 1.0  # features that are not in the shortlist come last
    loss = np.where(positions >= 0, scores.loss[positions], worst_loss)
    direction = np.where(positions >= 0, scores.direction[positions], 0).astype(np.int8)
    ranking = rank_all_features(replace(main_features, loss=loss, direction=direction))
    return ranking, build_all_classes(ranking, first.equivalence, mirrored=mirrored)


@dataclass(frozen=True, eq=False)
class _Ranking:
    """The ranking to report, with its classes, and what near-duplicates were left out."""

    features: FeatureTable
    classes: EquivalenceClasses
    distinct: DistinctFeatures | None = None
    columns: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)


def _select_from_ranking(
    features: FeatureTable,
    classes: EquivalenceClasses,
    space: Space,
    task: ScreeningTask,
    *,
    is_complete: bool,
) -> _Ranking:
    """Leave out near-duplicates and unsafe features; stream the space again if too few are left."""
    n_wanted, n_listed, max_correlation = task.limit, task.n_examined, task.max_correlation
    if n_wanted is None or n_listed is None or not task.is_selective:
        return _Ranking(features, classes)
    first = task.screeners[0]
    analysis = SafetyAnalysis(task.base_box) if task.options.unsafe == "drop" else None
    list_limit = None
    while True:
        distinct = select_distinct_features(
            space,
            features,
            n_wanted,
            max_correlation,
            analysis,
            has_losses=isinstance(first, Screener),
            n_rows=task.full_target.n,
            check=None if task.large_table is None else make_correlation_check(space, task),
        )
        if len(distinct.representatives) == n_wanted:
            break
        is_exhausted = len(features) < n_listed
        list_limit = _find_limit(task, n_listed, is_complete=is_complete, is_exhausted=is_exhausted)
        if list_limit is not None or is_exhausted:
            break
        n_listed = min(8 * n_listed, MAX_EXAMINED)
        features, classes = _list_more(space, task, n_listed)
    return _report_distinct(features, classes, distinct, list_limit, space, task)


def _find_limit(task: ScreeningTask, n_listed: int, *, is_complete: bool, is_exhausted: bool) -> str | None:
    """Say what prevents a longer ranking (a key of `LIST_LIMITS`); None if nothing does."""
    if not isinstance(task.screeners[0], Screener):
        return "shortlist"
    if task.search != "exact":
        return "search" if task.large_table is None else "finalists"
    if not is_complete:
        return "time_limit"
    if is_exhausted:
        return None
    if task.options.time_limit is not None:
        return "time_limit"
    return "length" if n_listed >= MAX_EXAMINED else None


def _list_more(space: Space, task: ScreeningTask, n_listed: int) -> tuple[FeatureTable, EquivalenceClasses]:
    """Stream the space again for a longer ranking."""
    spec = replace(_make_top_k_specs(task, task.n_examined)[0], limit=add_margin(n_listed))
    scorer = replace(make_scorer(space, task), top_k_specs=(spec,))
    stream_result = score_stream(scorer, task.backend, task.chunk_size, task.run_control)
    return finalize_classes(stream_result.top_features[0], space, n_listed, spec)


def _report_distinct(
    features: FeatureTable,
    classes: EquivalenceClasses,
    distinct: DistinctFeatures,
    list_limit: str | None,
    space: Space,
    task: ScreeningTask,
) -> _Ranking:
    """Take the representatives from a ranking, in its order, with counts of what they represent."""
    shown = distinct.representatives[distinct.shown_groups]
    counts = np.zeros(len(shown), dtype=np.int64)
    in_group = distinct.group >= 0
    np.add.at(counts, distinct.group[in_group], features.class_size[: distinct.n_examined][in_group])
    n_redundant = counts[distinct.shown_groups] - features.class_size[shown]
    columns = dict[str, Any]()
    record: dict[str, Any] = {
        "selection": {"selected": len(shown), "listed": len(features), "limit": list_limit}
    }
    if task.max_correlation < 1.0:
        columns["n_redundant"] = n_redundant
        record["redundancy"] = _build_redundancy_record(
            features, distinct, n_redundant, space, task.max_correlation
        )
    if task.options.unsafe == "drop":
        record |= build_safety_record(distinct.unsafe_reasons)
    return _Ranking(
        features.take(shown),
        classes.reorder(shown),
        distinct,
        columns,
        record,
    )


def _build_redundancy_record(
    features: FeatureTable,
    distinct: DistinctFeatures,
    n_redundant: NDArray[np.int64],
    space: Space,
    max_correlation: float,
) -> dict[str, Any]:
    """Build the record of the features that each shown feature represents."""
    listed = []
    for rank, group in enumerate(distinct.shown_groups.tolist(), start=1):
        others = np.flatnonzero(distinct.group == group)
        others = others[others != distinct.representatives[group]][:_MAX_LISTED]
        if len(others):
            redundant = [
                {"place": place, "expression": to_text(space.build_expression(number))}
                for place, number in zip((others + 1).tolist(), features.number[others].tolist(), strict=True)
            ]
            listed.append({"rank": rank, "n_redundant": int(n_redundant[rank - 1]), "features": redundant})
    return {
        "cap": max_correlation,
        "classes_looked_at": distinct.n_examined,
        "listed_at_most": _MAX_LISTED,
        "shown": listed,
    }


def _iterate_sorted_blocks(features: FeatureTable, space: Space) -> Iterator[SortedBlock]:
    """Recompute stored features and yield them as sorted blocks."""
    for _, values in iterate_values(space, features.number, _BLOCK_VALUES):
        yield sort_block(values)


def _find_shortlist_positions(
    features: FeatureTable, space: Space, *shortlists: Shortlist
) -> NDArray[np.int64]:
    """Return the position of each feature's representative, shape (k,) or (n_shortlists, k)."""
    blocks = [
        np.stack([shortlist.find_positions(block) for shortlist in shortlists])
        for block in _iterate_sorted_blocks(features, space)
    ]
    positions = np.concatenate([np.empty((len(shortlists), 0), dtype=np.int64), *blocks], axis=1)
    return positions[0] if len(shortlists) == 1 else positions


def _build_comparison(
    shortlist: Shortlist, task: ScreeningTask, joint_results: dict[str, JointResult]
) -> ScreenerComparison:
    """Rank the shortlist by every screener."""
    losses = {}
    block = sort_block(shortlist.values)
    for screener in task.screeners:
        if isinstance(screener, Screener):
            statistics = screener.statistic(block, task.target)
            losses[screener.name] = round_sort_keys(screener.loss(statistics, task.target, task.options.sign))
        elif screener.name in joint_results:
            result = joint_results[screener.name]
            positions = result.shortlist.find_positions(block)
            losses[screener.name] = np.where(positions >= 0, result.scores.loss[positions], np.nan)
    return compare_screeners(losses)


def _add_joint_columns(
    features: FeatureTable, space: Space, task: ScreeningTask, joint_scoring: _JointScoring
) -> tuple[FeatureTable, dict[str, Any]]:
    """Add the scores of joint screeners; return the features and columns of ranks and joint results."""
    import pandas as pd

    joint_results, comparison = joint_scoring.results, joint_scoring.comparison
    shortlists = {name: result.shortlist for name, result in joint_results.items()}
    if joint_scoring.shortlist is not None:
        shortlists[""] = joint_scoring.shortlist
    if not shortlists:  # no joint screener, or nothing to show it
        return features if len(features) else make_empty_features(len(task.screeners)), {}
    positions = dict(
        zip(
            shortlists,
            np.atleast_2d(_find_shortlist_positions(features, space, *shortlists.values())),
            strict=True,
        )
    )
    column_names = (screener.name for screener in task.column_screeners)
    column_scores = dict(zip(column_names, features.scores.T, strict=True))
    scores, columns = [], dict[str, Any]()
    for name in (screener.name for screener in task.screeners):
        if name in column_scores:
            scores.append(column_scores[name])
            continue
        if name not in joint_results:
            scores.append(np.full(len(features), np.nan))
            continue
        joint_scores = joint_results[name].scores
        scores.append(_take_or_nan(joint_scores.score, positions[name]))
        selected = _take_or_nan(joint_scores.selected.astype(float), positions[name])
        columns[f"{name}_selected"] = pd.array(selected, dtype="Float64").astype("boolean")
        columns |= {
            column: _take_or_nan(values, positions[name]) for column, values in joint_scores.columns.items()
        }
    ranks: dict[str, NDArray[np.float64]] = {}
    if comparison is not None:
        ranks = {name: _take_or_nan(values, positions[""]) for name, values in comparison.ranks.items()}
    elif task.limit is None:
        # the score alone does not show which features a joint screener ties
        losses = {name: result.scores.loss for name, result in joint_results.items()}
        ranks = {
            name: _take_or_nan(values, positions[name])
            for name, values in compare_screeners(losses).ranks.items()
        }
    rank_columns = {
        f"{name}_rank": pd.array(rank, dtype="Float64").astype("Int64") for name, rank in ranks.items()
    }
    return replace(features, scores=np.column_stack(scores)), rank_columns | columns


def _take_or_nan(values: NDArray[np.float64], positions: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return `values` at each position, and NaN where the position is negative."""
    if not len(values):
        return np.full(len(positions), np.nan)
    return np.where(positions >= 0, values[positions], np.nan)
