"""Columns of a ranking that only some responses have: scores by each of several targets, Harrell's C.

A space under all screeners asked for: one ranking, every score, every verdict, and their ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.results.screen_result import ScreenerComparison, compare_screeners
from symscreen.screeners import JointScreener, Screener, select_prescreeners
from symscreen.screening.inference.error_control import (
    build_inference,
    compute_error_control,
    limit_blas_threads,
)
from symscreen.screening.run_control import DEFAULT_RUN_CONTROL, RunControl
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.joint_screening import (
    build_shortlist,
    run_joint_screener,
    update_class_sizes,
)
from symscreen.screening.scoring.streaming import add_margin, finalize_classes, score_stream
from symscreen.screening.scoring.top_features import (
    EquivalenceClasses,
    build_all_classes,
    make_empty_features,
    rank_all_features,
    round_sort_keys,
)
from symscreen.screening.search.modes import EXACT_SEARCH, SearchConfig, audit_search, run_search
from symscreen.screening.search.successive_halving import SearchGoal
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_harrell_c
from symscreen.targets.multioutput import MultiOutputTarget, select_output
from symscreen.targets.ranking_notation import quote_label
from symscreen.targets.registry import require_numeric_target
from symscreen.targets.survival import HARRELL_C, SurvivalTarget

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import CandidateStatus, Space
    from symscreen.screeners import Sign
    from symscreen.screening.inference.error_control import ErrorControl
    from symscreen.screening.scoring.joint_screening import JointResult, Shortlist
    from symscreen.screening.scoring.streaming import StreamResult
    from symscreen.screening.scoring.top_features import EquivalenceKind, FeatureTable
    from symscreen.screening.search.modes import SearchResult
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import TargetType
    from symscreen.targets.registry import Target


__all__ = [
    "HARRELL_C",
    "ScoringConfig",
    "ScoringResult",
    "compute_extra_columns",
    "find_shortlist_kinds",
    "format_target_column",
    "make_scorer",
    "make_search_goals",
    "score_space",
]


def format_target_column(screener: str, target: str) -> str:
    """Name the column of a screener's scores by one of several targets.

    Examples
    --------
    >>> format_target_column("t0", "yield"), format_target_column("t0", "a,b")
    ('t0[yield]', 't0[`a,b`]')
    """
    return f"{screener}[{quote_label(target)}]"


def compute_extra_columns(
    features: FeatureTable,
    blocks: Iterable[SortedBlock],
    target: Target,
    screeners: Sequence[Screener | JointScreener],
) -> dict[str, Any]:
    """Compute what a ranking tells beside the screeners' own columns.

    Parameters
    ----------
    kept : Kept
        The ranking; its scores have a column for each screener.
    blocks : iterable of Ordered
        The features of it, in its order.
    response : AnyResponse
        What they were scored against.
    screeners : sequence of Screener or JointScreener
        Those asked for.

    Returns
    -------
    dict of str to float64 array, each of shape (k,)
        Of several targets the score of every screener by each, as `make_multioutput_screener` joins them:
        without a
        sign, and of T0 in units of the target's Δ. Of survival Harrell's C, where T0 is among the screeners.
    """
    names = [one.name for one in screeners]
    if isinstance(target, SurvivalTarget):
        return {HARRELL_C: compute_harrell_c(features.scores[:, names.index("t0")])} if "t0" in names else {}
    if not isinstance(target, MultiOutputTarget):
        return {}
    columns = [one for one in screeners if isinstance(one, Screener)]
    found: dict[str, list[NDArray[np.float64]]] = {
        format_target_column(one.name, name): [] for one in columns for name in target.names
    }
    single = {name: select_output(target, place) for place, name in enumerate(target.names)}
    for ordered in blocks:
        for one in columns:
            for name, own in single.items():
                found[format_target_column(one.name, name)].append(
                    one.score(one.statistic(ordered, own), own)
                )
    return {name: np.concatenate([np.zeros(0), *parts]) for name, parts in found.items()}


_BLOCK_VALUES = 1 << 22


@dataclass(frozen=True, eq=False)
class ScoringConfig:
    """What is asked of a space.

    Parameters
    ----------
    screeners : tuple of Screener or JointScreener
        The first one ranks.
    sign : {"free", "positive"}
        Whether falling with the response is as good as rising with it.
    limit : int or None
        How many classes to return; None for every feature, unmerged.
    prescreen : int
        How many features joint screeners are shown at most, the best by the leader.
    seed, jobs : int
        For joint screeners.
    backend : Backend
        Where chunks are scored.
    chunk_size : int
        Candidates a task.
    course : Course
        Who is told how far it is, what keeps the state, and when it must end.
    search : Search
        Whether every feature is scored over all rows.
    kind : Kind
        What the response is.
    control : ErrorControl, optional
        Which figures tell how far to trust what is found.

    Raises
    ------
    OptionError
        If the seed is not a whole number of at least 0.
    """

    screeners: tuple[Screener | JointScreener, ...]
    sign: Sign
    limit: int | None
    prescreen: int
    seed: int
    jobs: int
    backend: Backend
    chunk_size: int
    run_control: RunControl = DEFAULT_RUN_CONTROL
    search: SearchConfig = EXACT_SEARCH
    target_type: TargetType = "numeric"
    error_control: ErrorControl | None = None

    def __post_init__(self) -> None:
        whole = isinstance(self.seed, int | np.integer) and not isinstance(self.seed, bool)
        if not whole or self.seed < 0:
            raise OptionError(f"seed is {self.seed!r}; give a whole number of at least 0")

    @property
    def column_screeners(self) -> tuple[Screener, ...]:
        """The column screeners asked for, or the leaders where there is none."""
        return tuple(one for one in self.screeners if isinstance(one, Screener)) or self.prescreeners

    @property
    def prescreeners(self) -> tuple[Screener, ...]:
        """The column screeners that choose what joint ones are shown."""
        return select_prescreeners(self.screeners, self.target_type)

    @property
    def joint_screeners(self) -> tuple[JointScreener, ...]:
        """The joint screeners asked for."""
        return tuple(one for one in self.screeners if isinstance(one, JointScreener))


@dataclass(frozen=True, eq=False)
class ScoringResult:
    """What came of a space.

    Parameters
    ----------
    kept : Kept
        The ranking; `scores` has a column for each screener asked for.
    columns : dict of str to array, shape (k,)
        Further columns of the ranking, by name.
    judged : dict of str to Judged
        The joint screeners' verdicts.
    comparison : Comparison or None
        All screeners' ranks over the features compared, where there are several.
    scored : int
        How many features were scored.
    lost : dict of Fate to int
        How many had no use once their values were known.
    classes : Classes
        By which signatures the classes of the ranking are recognised.
    search : dict or None
        What the record tells of a search that did not score every feature.
    control : dict or None
        What it tells of the control of errors.
    outcome : Streamed or None
        How far the stream came, and in how many tasks.
    """

    features: FeatureTable
    extra_columns: dict[str, Any]
    joint_results: dict[str, JointResult]
    comparison: ScreenerComparison | None
    n_scored: int
    n_invalid: dict[CandidateStatus, int]
    classes: EquivalenceClasses
    search_record: dict[str, Any] | None = None
    error_control_record: dict[str, Any] | None = None
    stream_result: StreamResult | None = None


def find_shortlist_kinds(scoring: ScoringConfig) -> list[EquivalenceKind]:
    """Return the kinds of lists to be shown to joint screeners and, where several score, to be compared."""
    kinds: set[EquivalenceKind] = {one.equivalence for one in scoring.joint_screeners}
    if len(scoring.screeners) > 1:
        kinds.add("affine")  # the finest: every screener's classes are made of its entries
    return sorted(kinds)


def score_space(space: Space, target: Target, scoring: ScoringConfig) -> ScoringResult:
    """Score a space by all screeners asked for.

    Parameters
    ----------
    space : Space
        The features, with values.
    response : Response, RankingResponse or StagesResponse
        The response.
    request : Request
        What is asked.

    Returns
    -------
    Screened
        The same for every backend, chunk size and number of jobs.
    """
    several = len(scoring.screeners) > 1
    kinds, ranks_all = find_shortlist_kinds(scoring), _has_main_list(scoring)
    search = None
    if scoring.search.mode != "exact":
        search = run_search(
            space,
            require_numeric_target(target, "a search that drops features"),
            make_search_goals(scoring),
            scoring.search,
            seed=scoring.seed,
            backend=scoring.backend,
        )
    left = space if search is None else search.space
    watch = build_inference(scoring.error_control, target, scoring.screeners[0], scoring.sign, scoring.seed)
    scorer = replace(make_scorer(left, target, scoring), inference=watch)
    with limit_blas_threads(watch):
        outcome = score_stream(scorer, scoring.backend, scoring.chunk_size, scoring.run_control)
    lists = iter(outcome.top_features[1:] if ranks_all else outcome.top_features)
    showings = {}
    for kind in kinds:
        showing = build_shortlist([next(lists) for _ in scoring.prescreeners], left, scoring.prescreen, kind)
        showings[kind] = update_class_sizes(
            showing, scoring.prescreeners, left, scoring.backend, scoring.chunk_size
        )
    verdicts = {
        one.name: run_joint_screener(
            one, showings[one.equivalence], target, seed=scoring.seed, jobs=scoring.jobs
        )
        for one in scoring.joint_screeners
        if len(showings[one.equivalence].features)
    }
    main = outcome.top_features[0] if ranks_all else make_empty_features(len(scoring.column_screeners))
    kept, classes = _build_ranking(main, left, scoring, verdicts)
    comparison = _build_comparison(showings["affine"], target, scoring, verdicts) if several else None
    told = None if search is None else search.record
    if search is not None and scoring.search.mode == "sieve":
        told = search.record | {
            "audit": _audit_search(space, search, target, scoring, outcome.top_features[0])
        }
    kept, columns = _add_joint_columns(
        kept, left, scoring, joint_results=verdicts, shortlist=showings.get("affine"), comparison=comparison
    )
    figures = None
    if watch is not None and scoring.error_control is not None:
        blocks = _iterate_sorted_blocks(kept, left)
        own, figures = compute_error_control(
            watch, scoring.error_control, outcome.inference_state, blocks, target
        )
        columns = own | columns
    columns = columns | compute_extra_columns(
        kept, _iterate_sorted_blocks(kept, left), target, scoring.screeners
    )
    scored, lost = outcome.n_scored, outcome.n_invalid
    return ScoringResult(
        kept, columns, verdicts, comparison, scored, lost, classes, told, figures, stream_result=outcome
    )


def make_scorer(space: Space, target: Target, scoring: ScoringConfig) -> Scorer:
    """Return what scores the chunks of a space as a request asks.

    Parameters
    ----------
    space, response, request
        As of `screened`.

    Returns
    -------
    Scorer
    """
    return Scorer(space, target, scoring.column_screeners, scoring.sign, _make_top_k_specs(scoring))


def _has_main_list(scoring: ScoringConfig) -> bool:
    return scoring.limit is None or isinstance(scoring.screeners[0], Screener)


def _make_top_k_specs(scoring: ScoringConfig) -> tuple[TopKSpec, ...]:
    """Say which lists are kept while the space streams by: the ranking first, then what is shown."""
    first = scoring.screeners[0]
    keeps = []
    if _has_main_list(scoring):
        mirrored = isinstance(first, JointScreener) or scoring.sign == "free"
        limit = None if scoring.limit is None else add_margin(scoring.limit)
        keeps.append(TopKSpec(0, first.equivalence, mirrored, limit))
    margin, leaders = add_margin(scoring.prescreen), range(len(scoring.prescreeners))
    keeps += [
        TopKSpec(by, kind, mirrored=True, limit=margin)
        for kind in find_shortlist_kinds(scoring)
        for by in leaders
    ]
    return tuple(keeps)


def make_search_goals(scoring: ScoringConfig) -> list[SearchGoal]:
    """Say what a search is for: the longest list of each screener and sign, that of the ranking first.

    Parameters
    ----------
    request : Request
        What is asked.

    Returns
    -------
    list of Wanted
    """
    limits: dict[tuple[int, Sign], int] = {}
    for keep in _make_top_k_specs(scoring):
        own = (keep.screener_index, "free" if keep.mirrored else scoring.sign)
        limits[own] = max(limits.get(own, 0), keep.limit or 0)
    return [SearchGoal(scoring.column_screeners[by], sign, limit) for (by, sign), limit in limits.items()]


def _audit_search(
    space: Space, search: SearchResult, target: Target, scoring: ScoringConfig, features: FeatureTable
) -> dict[str, Any]:
    """Estimate what the first list lost: features as good as the last of those that were wanted."""
    limit = scoring.limit if isinstance(scoring.screeners[0], Screener) else scoring.prescreen
    best = np.sort(features.loss)[:limit]
    loss = float(best[-1]) if len(best) else -1.0
    first = make_search_goals(scoring)[0]
    known = require_numeric_target(target, "an audit")
    return audit_search(
        space, search, known, first, loss_threshold=loss, seed=scoring.seed, backend=scoring.backend
    )


def _build_ranking(
    main_features: FeatureTable, space: Space, scoring: ScoringConfig, joint_results: dict[str, JointResult]
) -> tuple[FeatureTable, EquivalenceClasses]:
    """Put what was kept into the order of the first screener; say which classes it has."""
    first = scoring.screeners[0]
    if isinstance(first, Screener):
        keep = _make_top_k_specs(scoring)[0]
        if scoring.limit is not None:
            return finalize_classes(main_features, space, scoring.limit, keep)
        kept = rank_all_features(main_features)
        return kept, build_all_classes(kept, keep.equivalence, mirrored=keep.mirrored)
    if first.name not in joint_results:
        return main_features, build_all_classes(main_features, first.equivalence, mirrored=True)
    ruling = joint_results[first.name]
    if scoring.limit is not None:
        shown = replace(
            ruling.shortlist.features,
            loss=ruling.scores.loss,
            direction=ruling.scores.direction.astype(np.int8),
        )
        order = shown.compute_member_order()[: scoring.limit]
        return shown.take(order), ruling.shortlist.classes.reorder(order)
    places = _find_shortlist_positions(main_features, space, ruling.shortlist)
    worst = float(ruling.scores.loss.max()) + 1.0  # what was not shown comes last
    loss = np.where(places >= 0, ruling.scores.loss[places], worst)
    direction = np.where(places >= 0, ruling.scores.direction[places], 0).astype(np.int8)
    kept = rank_all_features(replace(main_features, loss=loss, direction=direction))
    return kept, build_all_classes(kept, first.equivalence, mirrored=True)


def _iterate_sorted_blocks(features: FeatureTable, space: Space) -> Iterator[SortedBlock]:
    """Compute kept features again, some at a time, and put their rows in order."""
    for start in range(0, len(features), step := max(1, _BLOCK_VALUES // max(1, space.n_rows))):
        yield sort_block(space.compute_values(features.number[start : start + step]))


def _find_shortlist_positions(
    features: FeatureTable, space: Space, *shortlists: Shortlist
) -> NDArray[np.int64]:
    """Find who stands for each kept feature in what was shown; shape (k,), or (showings, k) for several."""
    found = [
        np.stack([showing.find_positions(ordered) for showing in shortlists])
        for ordered in _iterate_sorted_blocks(features, space)
    ]
    places = np.concatenate([np.empty((len(shortlists), 0), dtype=np.int64), *found], axis=1)
    return places[0] if len(shortlists) == 1 else places


def _build_comparison(
    shortlist: Shortlist, target: Target, scoring: ScoringConfig, joint_results: dict[str, JointResult]
) -> ScreenerComparison:
    """Rank the features shown by every screener."""
    losses = {}
    ordered = sort_block(shortlist.values)
    for one in scoring.screeners:
        if isinstance(one, Screener):
            statistics = one.statistic(ordered, target)
            losses[one.name] = round_sort_keys(one.loss(statistics, target, scoring.sign))
        elif one.name in joint_results:
            places = joint_results[one.name].shortlist.find_positions(ordered)
            losses[one.name] = np.where(places >= 0, joint_results[one.name].scores.loss[places], np.nan)
    return compare_screeners(losses)


def _add_joint_columns(
    features: FeatureTable,
    space: Space,
    scoring: ScoringConfig,
    *,
    joint_results: dict[str, JointResult],
    shortlist: Shortlist | None,
    comparison: ScreenerComparison | None,
) -> tuple[FeatureTable, dict[str, Any]]:
    """Give each kept feature the score of every screener, and its rank where several were asked."""
    import pandas as pd

    shown = {name: ruling.shortlist for name, ruling in joint_results.items()}
    if shortlist is not None:
        shown[""] = shortlist
    if not shown:
        return features, {}
    places = dict(
        zip(shown, np.atleast_2d(_find_shortlist_positions(features, space, *shown.values())), strict=True)
    )
    by_column = dict(zip((one.name for one in scoring.column_screeners), features.scores.T, strict=True))
    scores, columns = [], dict[str, Any]()
    for one in scoring.screeners:
        if one.name in by_column:
            scores.append(by_column[one.name])
            continue
        if one.name not in joint_results:
            scores.append(np.full(len(features), np.nan))
            continue
        verdict, place = joint_results[one.name].scores, places[one.name]
        scores.append(_take_or_nan(verdict.score, place))
        selected = pd.array(_take_or_nan(verdict.selected.astype(float), place), dtype="Float64").astype(
            "boolean"
        )
        columns[f"{one.name}_selected"] = selected
        columns |= {name: _take_or_nan(values, place) for name, values in verdict.columns.items()}
    if comparison is not None:
        ranks = {name: _take_or_nan(values, places[""]) for name, values in comparison.ranks.items()}
    elif scoring.limit is None:
        # a score alone does not tell which features a joint screener ties
        losses = {name: ruling.scores.loss for name, ruling in joint_results.items()}
        ranks = {
            name: _take_or_nan(values, places[name])
            for name, values in compare_screeners(losses).ranks.items()
        }
    else:
        ranks = {}
    whole = {f"{name}_rank": pd.array(rank, dtype="Float64").astype("Int64") for name, rank in ranks.items()}
    columns = whole | columns
    return replace(features, scores=np.column_stack(scores)), columns


def _take_or_nan(values: NDArray[np.float64], positions: NDArray[np.int64]) -> NDArray[np.float64]:
    if not len(values):
        return np.full(len(positions), np.nan)
    return np.where(positions >= 0, values[positions], np.nan)
