"""One screen: grow the space, cut it between layers, score it, and screen again what the best leave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion import fits, require, with_orders
from symscreen.expression import evaluate, to_text
from symscreen.logs import stage
from symscreen.models import residual_of
from symscreen.pipeline.growth import Growth, grown
from symscreen.result import orders_worth, places_in, scoring_bytes, screened, with_margin
from symscreen.screeners import JointScreener, Screener
from symscreen.table import with_response

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expansion import PoolKind, Space
    from symscreen.expression import Expression
    from symscreen.grammar import Grammar, Layer
    from symscreen.pipeline.growth import Watch
    from symscreen.response.kinds import AnyResponse
    from symscreen.result import ErrorControl, Request, Screened
    from symscreen.screeners import AnyScreener
    from symscreen.table import Table
    from symscreen.units import Units

__all__ = ["Job", "Round", "growth_of", "record_of", "rounds_of", "space_of"]


@dataclass(frozen=True, eq=False)
class Job:
    """A screen, its options read.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    layers : tuple of Layer
        What is applied.
    pool_kind : {"cumulative", "strict"}
        As in `expand`.
    also : sequence of Expression
        The user's own formulas.
    request : Request
        Who scores, and what is returned.
    cutters : tuple of Screener or JointScreener
        Who cuts between layers; empty for no cuts.
    keeps : mapping of str to int, or None
        How many features stay after each kind of layer; a kind that is not named is not cut. None to keep
        what joint screeners select.
    max_bytes : int or None
        The memory allowed.
    units : Units or None
        Those of the columns, where every formula must have one.
    """

    grammar: Grammar
    layers: tuple[Layer, ...]
    pool_kind: PoolKind
    also: Sequence[Expression]
    request: Request
    cutters: tuple[AnyScreener, ...]
    keeps: Mapping[str, int] | None
    max_bytes: int | None
    units: Units | None = None


@dataclass(frozen=True, eq=False)
class Round:
    """What a round found.

    Parameters
    ----------
    space : Space
        What it screened.
    screened : Screened
        What it found there.
    cuts : tuple of dict
        What the record tells of the cuts between layers.
    model : tuple of Expression
        The model whose residual this round screened; empty in the first.
    notices : tuple of str
        For people.
    shown : int64 array
        The places of the features that the result shows of this round: one found in several rounds is shown
        in the one that puts it first.
    response : Response or RankingResponse
        What it was screened against.
    inputs : float64 array, shape (d, n)
        The inputs, in the order of its rows.
    places : int64 array, shape (k,), optional
        In the last of several rounds: where each feature of all rounds stands by the response itself.
    """

    space: Space
    screened: Screened
    cuts: tuple[dict[str, Any], ...]
    shown: NDArray[np.int64]
    response: AnyResponse
    inputs: NDArray[np.float64]
    model: tuple[Expression, ...] = ()
    notices: tuple[str, ...] = ()
    places: NDArray[np.int64] | None = None

    @property
    def expressions(self) -> list[Expression]:
        """The features shown, best first."""
        return [self.space.expression(number) for number in self.screened.kept.number[self.shown].tolist()]


def rounds_of(table: Table, job: Job, rounds: int) -> list[Round]:
    """Screen a table, then what the best model of the features found leaves unexplained, and so on.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        What to do.
    rounds : int
        How many rounds at most. After round r the best model of r features is fitted by least squares, among
        all subsets of the features found so far (sure independence screening, Fan and Lv 2008; the choice of
        the model is that of SISSO, Ouyang et al. 2018).

    Returns
    -------
    list of Round
        Fewer than asked for where a model explains the response to rounding; the last then says so.
    """
    found = [_one_round(table, job)]
    by_name = dict(zip(table.names, table.columns, strict=True))
    while len(found) < rounds:
        known = _distinct(found)
        values = np.array([evaluate(expression, by_name) for expression in known])
        left = residual_of(values, table.numeric.values, len(found), job.request.jobs) if known else None
        if left is None:
            why = "the features found leave nothing to explain" if known else "no feature was found"
            found[-1] = replace(found[-1], notices=(f"round {len(found) + 1} was not run: {why}",))
            break
        residual, members = left
        job = replace(job, request=replace(job.request, control=None))  # it was fitted to the response
        model = tuple(known[member] for member in members.tolist())
        found.append(replace(_one_round(with_response(table, residual), job), model=model))
    if len(found) == 1:
        return found
    found = _each_once(found)
    if isinstance(job.request.screeners[0], Screener):
        shown = [expression for each in found for expression in each.expressions]
        found[-1] = replace(found[-1], places=_places(table, job, found[0].space, shown, by_name))
    return found


def _each_once(found: Sequence[Round]) -> list[Round]:
    """Show each feature in the round that puts it first, in the earlier one of two that do."""
    best: dict[tuple[int, ...], tuple[int, int]] = {}
    for number, each in enumerate(found):
        for place, own in enumerate(map(tuple, each.screened.kept.keys.tolist())):
            best[own] = min(best.get(own, (place, number)), (place, number))
    by_round: list[list[int]] = [[] for _ in found]
    for place, number in best.values():
        by_round[number].append(place)
    return [
        replace(each, shown=np.array(sorted(places), dtype=np.int64))
        for each, places in zip(found, by_round, strict=True)
    ]


def _distinct(found: Sequence[Round]) -> list[Expression]:
    """Return what the rounds found, each feature once, in the order in which it was found."""
    expressions: dict[tuple[int, ...], Expression] = {}
    for each in found:
        kept = each.screened.kept
        for own, number in zip(map(tuple, kept.keys.tolist()), kept.number.tolist(), strict=True):
            if own not in expressions:
                expressions[own] = each.space.expression(number)
    return list(expressions.values())


def _places(
    table: Table,
    job: Job,
    space: Space,
    expressions: Sequence[Expression],
    by_name: Mapping[str, NDArray[np.float64]],
) -> NDArray[np.int64]:
    values = np.array([evaluate(expression, by_name) for expression in expressions])
    request, leader = job.request, job.request.leaders[0]
    return places_in(
        space,
        table.response,
        leader,
        request.sign,
        values.reshape(len(expressions), -1),
        backend=request.backend,
        chunk_size=request.chunk_size,
    )


def growth_of(table: Table, job: Job) -> Growth:
    """Say how the space of a job is grown.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        What to do.

    Returns
    -------
    Growth
    """
    cut = replace(job.request, screeners=job.cutters) if job.cutters else None
    return Growth(
        job.grammar,
        job.pool_kind,
        job.also,
        cut,
        job.keeps,
        job.max_bytes,
        spread=job.request.backend.map,
        beside=scoring_bytes(table.response.n, job.request),
        searched=job.request.search.mode != "exact",
        units=job.units,
        until=job.request.course.growing_until,
    )


def space_of(table: Table, job: Job, watch: Watch | None = None) -> tuple[Space, tuple[dict[str, Any], ...]]:
    """Grow the space that a round scores.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        What to do.
    watch : callable, optional
        As of `Growth`.

    Returns
    -------
    Space
        Ready to be scored.
    tuple of dict
        What the run's record tells of each cut.

    Raises
    ------
    SpaceError
        If scoring it would take more memory than is allowed.
    """
    space, cuts = grown(table, replace(growth_of(table, job), watch=watch), job.layers)
    stage("grown", features=space.size, pool=len(space.pool), candidates=space.candidates.total)
    _require_room(space, job)
    return _with_orders(space, job), cuts


def _one_round(table: Table, job: Job) -> Round:
    space, cuts = space_of(table, job)
    found = screened(space, table.response, job.request)
    return Round(space, found, cuts, _shown(found, job.request.control), table.response, table.columns)


def _shown(found: Screened, control: ErrorControl | None) -> NDArray[np.int64]:
    """Choose what passes the false discovery rate asked for, or everything where nothing does."""
    if control is None or control.fdr is None:
        return np.arange(len(found.kept))
    passing = np.flatnonzero(found.columns["q_value"] <= control.fdr)
    return passing if len(passing) else np.arange(len(found.kept))


def _require_room(space: Space, job: Job) -> None:
    """Refuse a ranking that would not fit, now that it is known how many features there are."""
    request = job.request
    needed = scoring_bytes(
        space.rows,
        request,
        features=space.size,
        candidates=space.candidates.total,
    )
    shown = space.size if request.limit is None else min(space.size, with_margin(request.limit))
    other = "use --jobs 1" if request.jobs > 1 else "use fewer operators, inputs or layers"
    shuffled = request.control is not None and request.control.permutations
    ways = (f"ask for fewer with {'--permutations, ' if shuffled else ''}--top or --prescreen", other)
    require(needed, job.max_bytes, f"keeping {shown:,} features", ways)


def _with_orders(space: Space, job: Job) -> Space:
    """Put the pool's rows in order for the functions of its members, where that saves time and fits."""
    request, rows = job.request, space.rows
    needed = 0 if space.pool.values is None else orders_worth(space, rows, request)
    beside = scoring_bytes(rows, request, features=space.size, candidates=space.candidates.total)
    if not needed or not fits(needed + beside, job.max_bytes):
        return space
    return with_orders(space, request.backend.map)


def record_of(found: Sequence[Round], job: Job) -> dict[str, Any]:
    """Collect what only runs with joint screeners, cuts or several rounds have to tell.

    Parameters
    ----------
    found : sequence of Round
        What the rounds found.
    job : Job
        What was done.

    Returns
    -------
    dict
        For the run's record.
    """
    further: dict[str, Any] = {}
    first = found[0]
    if job.request.joint:
        leaders = [one.name for one in job.request.leaders]
        further["joint"] = {
            one.name: _verdict_record(one, first.screened, leaders) for one in job.request.joint
        }
    if first.screened.search is not None:
        further["search"] = first.screened.search
    if first.screened.control is not None:
        further["error_control"] = first.screened.control
    if job.units is not None:
        further["units"] = job.units.record
    if job.cutters:
        further["cuts"] = [record for each in found for record in each.cuts]
    if len(found) > 1:
        further["rounds"] = [
            {"model": [to_text(term) for term in each.model], "scored": each.screened.scored}
            for each in found
        ]
    return further


def _verdict_record(one: JointScreener, found: Screened, leaders: list[str]) -> dict[str, Any]:
    if one.name not in found.judged:
        return {"shown": 0}
    judged = found.judged[one.name]
    return {
        "shown": len(judged.showing.kept),
        "chosen_by": leaders,
        "merged": {"ranks": "same or mirrored ranks", "affine": "affine copies"}[one.blind_to],
        "settings": dict(one.all_settings),
        **judged.verdict.record,
    }
