"""A space under all screeners asked for: one ranking, every score, every verdict, and their ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.response.kinds import numeric
from symscreen.result.classes import Classes, classes_of_every
from symscreen.result.comparison import Comparison, compared
from symscreen.result.course import UNATTENDED, Course
from symscreen.result.error_control import controlled, watch_of
from symscreen.result.further import further_columns
from symscreen.result.joint import judged, recounted, show
from symscreen.result.kept import every_feature, none_kept, rounded
from symscreen.result.scoring import Keep, Scorer
from symscreen.result.stream import settled_classes, streamed, with_margin
from symscreen.result.watch import one_thread_each
from symscreen.screeners import JointScreener, Screener, leaders_of
from symscreen.search import EXACT, Search, Wanted, audited, searched
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Fate, Space
    from symscreen.response import Kind
    from symscreen.response.kinds import AnyResponse
    from symscreen.result.classes import ClassKind
    from symscreen.result.error_control import ErrorControl
    from symscreen.result.joint import Judged, Showing
    from symscreen.result.kept import Kept
    from symscreen.result.stream import Streamed
    from symscreen.screeners import Sign
    from symscreen.search import Searched
    from symscreen.statistics.order import Ordered

__all__ = ["Request", "Screened", "kinds_shown", "scorer_of", "screened", "wanted_of"]

_VALUES_AT_A_TIME = 1 << 22


@dataclass(frozen=True, eq=False)
class Request:
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
    course: Course = UNATTENDED
    search: Search = EXACT
    kind: Kind = "numeric"
    control: ErrorControl | None = None

    def __post_init__(self) -> None:
        whole = isinstance(self.seed, int | np.integer) and not isinstance(self.seed, bool)
        if not whole or self.seed < 0:
            raise OptionError(f"seed is {self.seed!r}; give a whole number of at least 0")

    @property
    def columns(self) -> tuple[Screener, ...]:
        """The column screeners asked for, or the leaders where there is none."""
        return tuple(one for one in self.screeners if isinstance(one, Screener)) or self.leaders

    @property
    def leaders(self) -> tuple[Screener, ...]:
        """The column screeners that choose what joint ones are shown."""
        return leaders_of(self.screeners, self.kind)

    @property
    def joint(self) -> tuple[JointScreener, ...]:
        """The joint screeners asked for."""
        return tuple(one for one in self.screeners if isinstance(one, JointScreener))


@dataclass(frozen=True, eq=False)
class Screened:
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

    kept: Kept
    columns: dict[str, Any]
    judged: dict[str, Judged]
    comparison: Comparison | None
    scored: int
    lost: dict[Fate, int]
    classes: Classes
    search: dict[str, Any] | None = None
    control: dict[str, Any] | None = None
    outcome: Streamed | None = None


def kinds_shown(request: Request) -> list[ClassKind]:
    """Return the kinds of lists to be shown to joint screeners and, where several score, to be compared."""
    kinds: set[ClassKind] = {one.blind_to for one in request.joint}
    if len(request.screeners) > 1:
        kinds.add("affine")  # the finest: every screener's classes are made of its entries
    return sorted(kinds)


def screened(space: Space, response: AnyResponse, request: Request) -> Screened:
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
    several = len(request.screeners) > 1
    kinds, ranks_all = kinds_shown(request), _ranks_all(request)
    search = None
    if request.search.mode != "exact":
        search = searched(
            space,
            numeric(response, "a search that drops features"),
            wanted_of(request),
            request.search,
            seed=request.seed,
            backend=request.backend,
        )
    left = space if search is None else search.space
    watch = watch_of(request.control, response, request.screeners[0], request.sign, request.seed)
    scorer = replace(scorer_of(left, response, request), watch=watch)
    with one_thread_each(watch):
        outcome = streamed(scorer, request.backend, request.chunk_size, request.course)
    lists = iter(outcome.kept[1:] if ranks_all else outcome.kept)
    showings = {}
    for kind in kinds:
        showing = show([next(lists) for _ in request.leaders], left, request.prescreen, kind)
        showings[kind] = recounted(showing, request.leaders, left, request.backend, request.chunk_size)
    verdicts = {
        one.name: judged(one, showings[one.blind_to], response, seed=request.seed, jobs=request.jobs)
        for one in request.joint
        if len(showings[one.blind_to].kept)
    }
    main = outcome.kept[0] if ranks_all else none_kept(len(request.columns))
    kept, classes = _ranking(main, left, request, verdicts)
    comparison = _comparison(showings["affine"], response, request, verdicts) if several else None
    told = None if search is None else search.record
    if search is not None and request.search.mode == "sieve":
        told = search.record | {"audit": _audit(space, search, response, request, outcome.kept[0])}
    kept, columns = _with_verdicts(
        kept, left, request, verdicts=verdicts, showing=showings.get("affine"), comparison=comparison
    )
    figures = None
    if watch is not None and request.control is not None:
        blocks = _blocks(kept, left)
        own, figures = controlled(watch, request.control, outcome.seen, blocks, response)
        columns = own | columns
    columns = columns | further_columns(kept, _blocks(kept, left), response, request.screeners)
    scored, lost = outcome.scored, outcome.lost
    return Screened(
        kept, columns, verdicts, comparison, scored, lost, classes, told, figures, outcome=outcome
    )


def scorer_of(space: Space, response: AnyResponse, request: Request) -> Scorer:
    """Return what scores the chunks of a space as a request asks.

    Parameters
    ----------
    space, response, request
        As of `screened`.

    Returns
    -------
    Scorer
    """
    return Scorer(space, response, request.columns, request.sign, _keeps(request))


def _ranks_all(request: Request) -> bool:
    return request.limit is None or isinstance(request.screeners[0], Screener)


def _keeps(request: Request) -> tuple[Keep, ...]:
    """Say which lists are kept while the space streams by: the ranking first, then what is shown."""
    first = request.screeners[0]
    keeps = []
    if _ranks_all(request):
        mirrored = isinstance(first, JointScreener) or request.sign == "free"
        limit = None if request.limit is None else with_margin(request.limit)
        keeps.append(Keep(0, first.blind_to, mirrored, limit))
    margin, leaders = with_margin(request.prescreen), range(len(request.leaders))
    keeps += [Keep(by, kind, mirrored=True, limit=margin) for kind in kinds_shown(request) for by in leaders]
    return tuple(keeps)


def wanted_of(request: Request) -> list[Wanted]:
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
    for keep in _keeps(request):
        own = (keep.by, "free" if keep.mirrored else request.sign)
        limits[own] = max(limits.get(own, 0), keep.limit or 0)
    return [Wanted(request.columns[by], sign, limit) for (by, sign), limit in limits.items()]


def _audit(
    space: Space, search: Searched, response: AnyResponse, request: Request, kept: Kept
) -> dict[str, Any]:
    """Estimate what the first list lost: features as good as the last of those that were wanted."""
    limit = request.limit if isinstance(request.screeners[0], Screener) else request.prescreen
    best = np.sort(kept.loss)[:limit]
    loss = float(best[-1]) if len(best) else -1.0
    first = wanted_of(request)[0]
    known = numeric(response, "an audit")
    return audited(space, search, known, first, loss=loss, seed=request.seed, backend=request.backend)


def _ranking(main: Kept, space: Space, request: Request, verdicts: dict[str, Judged]) -> tuple[Kept, Classes]:
    """Put what was kept into the order of the first screener; say which classes it has."""
    first = request.screeners[0]
    if isinstance(first, Screener):
        keep = _keeps(request)[0]
        if request.limit is not None:
            return settled_classes(main, space, request.limit, keep)
        kept = every_feature(main)
        return kept, classes_of_every(kept, keep.merged, mirrored=keep.mirrored)
    if first.name not in verdicts:
        return main, classes_of_every(main, first.blind_to, mirrored=True)
    ruling = verdicts[first.name]
    if request.limit is not None:
        shown = replace(
            ruling.showing.kept, loss=ruling.verdict.loss, direction=ruling.verdict.direction.astype(np.int8)
        )
        order = shown.member_order()[: request.limit]
        return shown.take(order), ruling.showing.classes.reordered(order)
    places = _places(main, space, ruling.showing)
    worst = float(ruling.verdict.loss.max()) + 1.0  # what was not shown comes last
    loss = np.where(places >= 0, ruling.verdict.loss[places], worst)
    direction = np.where(places >= 0, ruling.verdict.direction[places], 0).astype(np.int8)
    kept = every_feature(replace(main, loss=loss, direction=direction))
    return kept, classes_of_every(kept, first.blind_to, mirrored=True)


def _blocks(kept: Kept, space: Space) -> Iterator[Ordered]:
    """Compute kept features again, some at a time, and put their rows in order."""
    for start in range(0, len(kept), step := max(1, _VALUES_AT_A_TIME // max(1, space.rows))):
        yield order_features(space.values(kept.number[start : start + step]))


def _places(kept: Kept, space: Space, *showings: Showing) -> NDArray[np.int64]:
    """Find who stands for each kept feature in what was shown; shape (k,), or (showings, k) for several."""
    found = [
        np.stack([showing.places_of(ordered) for showing in showings]) for ordered in _blocks(kept, space)
    ]
    places = np.concatenate([np.empty((len(showings), 0), dtype=np.int64), *found], axis=1)
    return places[0] if len(showings) == 1 else places


def _comparison(
    showing: Showing, response: AnyResponse, request: Request, verdicts: dict[str, Judged]
) -> Comparison:
    """Rank the features shown by every screener."""
    losses = {}
    ordered = order_features(showing.values)
    for one in request.screeners:
        if isinstance(one, Screener):
            statistics = one.statistic(ordered, response)
            losses[one.name] = rounded(one.loss(statistics, response, request.sign))
        elif one.name in verdicts:
            places = verdicts[one.name].showing.places_of(ordered)
            losses[one.name] = np.where(places >= 0, verdicts[one.name].verdict.loss[places], np.nan)
    return compared(losses)


def _with_verdicts(
    kept: Kept,
    space: Space,
    request: Request,
    *,
    verdicts: dict[str, Judged],
    showing: Showing | None,
    comparison: Comparison | None,
) -> tuple[Kept, dict[str, Any]]:
    """Give each kept feature the score of every screener, and its rank where several were asked."""
    import pandas as pd

    shown = {name: ruling.showing for name, ruling in verdicts.items()}
    if showing is not None:
        shown[""] = showing
    if not shown:
        return kept, {}
    places = dict(zip(shown, np.atleast_2d(_places(kept, space, *shown.values())), strict=True))
    by_column = dict(zip((one.name for one in request.columns), kept.scores.T, strict=True))
    scores, columns = [], dict[str, Any]()
    for one in request.screeners:
        if one.name in by_column:
            scores.append(by_column[one.name])
            continue
        if one.name not in verdicts:
            scores.append(np.full(len(kept), np.nan))
            continue
        verdict, place = verdicts[one.name].verdict, places[one.name]
        scores.append(_at(verdict.score, place))
        selected = pd.array(_at(verdict.selected.astype(float), place), dtype="Float64").astype("boolean")
        columns[f"{one.name}_selected"] = selected
        columns |= {name: _at(values, place) for name, values in verdict.columns.items()}
    if comparison is not None:
        ranks = {name: _at(values, places[""]) for name, values in comparison.ranks.items()}
    elif request.limit is None:
        # a score alone does not tell which features a joint screener ties
        losses = {name: ruling.verdict.loss for name, ruling in verdicts.items()}
        ranks = {name: _at(values, places[name]) for name, values in compared(losses).ranks.items()}
    else:
        ranks = {}
    whole = {f"{name}_rank": pd.array(rank, dtype="Float64").astype("Int64") for name, rank in ranks.items()}
    columns = whole | columns
    return replace(kept, scores=np.column_stack(scores)), columns


def _at(values: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    if not len(values):
        return np.full(len(places), np.nan)
    return np.where(places >= 0, values[places], np.nan)
