"""From a table to a formula: search, choose, fit the constants, and say how sure the numbers are."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError, SpaceError
from symscreen.expansion import Fate
from symscreen.export import shared_formula
from symscreen.grammar import OPERATORS
from symscreen.models import (
    EXACT,
    Data,
    Effort,
    FitResult,
    Found,
    SharedFitResult,
    candidates_in,
    columns_of,
    determined,
    empty_dictionary,
    estimated,
    exhausted,
    front,
    model_table,
    models_on_paths,
    named,
    predicted,
    preferred,
    rivals_of,
    rounding_share,
    search,
    share_left,
    targets_of,
    term_table,
    terms_on,
)
from symscreen.pipeline.fit_job import FitJob
from symscreen.pipeline.growth import grown, with_best_inputs
from symscreen.response.several import SeveralResponse
from symscreen.result import screened
from symscreen.screeners import screeners_asked
from symscreen.statistics.folds import folds_of
from symscreen.table import some_rows
from symscreen.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.expression import Expression
    from symscreen.grammar import Layer
    from symscreen.models import Candidate, Criterion
    from symscreen.response.kinds import NumericResponse
    from symscreen.table import Table
    from symscreen.units import Units

__all__ = ["FitJob", "fitted"]

# of a layer that nobody asked for: seconds, not minutes
_MOST_CANDIDATES = 3_000_000
_MOST_VALUES = 1_200_000_000
_MARGIN = 10.0  # of the criterion: e^5 = 148 to 1 against a rival at the margin
_MOST_RIVALS = 10
_ON_PATHS = 300  # features that greedy and LASSO paths choose from
_STARTS = 5  # models of four terms that longer ones are grown from
_FEWEST_CHOOSING, _FEWEST_ESTIMATING = 5, 3  # rows


def fitted(table: Table, job: FitJob) -> FitResult | SharedFitResult:
    """Find a formula for a table's response, or formulas of the same terms for several targets.

    Parameters
    ----------
    table : Table
        The data.
    job : FitJob
        What to do.

    Returns
    -------
    FitResult or SharedFitResult
    """
    from threadpoolctl import threadpool_limits

    # sums that BLAS cuts up for its threads would follow their number
    with threadpool_limits(1):
        return _fitted(table, job)


def _fitted(table: Table, job: FitJob) -> FitResult | SharedFitResult:
    choosing, holding = _split(table, job)
    estimating = choosing if holding is None else holding
    notices: list[str] = []
    found = _found(choosing, job, notices)
    criterion: Criterion = "ebic" if job.choose == "cv" else job.choose  # type: ignore[assignment]
    candidates = candidates_in(found, choosing.response.n, criterion, len(targets_of(table)))
    errors = _nested_errors(choosing, job, criterion) if job.choose == "cv" else None
    chosen = _chosen(found, candidates, errors, estimating)
    notices += _cautions(chosen, job)
    expressions = tuple(found.terms.expressions[place] for place in chosen.members)
    fits = estimated(expressions, estimating, job.level, snap=job.snap)
    if job.snap and (left := [formula.target for formula, _, simple in fits if not simple]):
        whose = f" of {', '.join(left)}" if len(fits) > 1 else ""
        notices.append(f"the coefficients{whose} are as fitted: the data do not allow simple numbers for all")
    shown = _with_chosen(front(candidates), chosen)
    rivals = rivals_of(chosen, candidates, _MARGIN, _MOST_RIVALS)
    told: dict[str, Any] = {
        "terms": term_table(fits, job.units),
        "front": model_table(found, choosing.numbers, shown, criterion, chosen),
        "rivals": model_table(found, choosing.numbers, rivals, criterion),
        "notices": (*table.notices, *notices),
        "record": _record(found, job, choosing.response.n, estimating.response.n, errors),
        "operators": {
            name: operator for name, operator in job.grammar.operators.items() if name not in OPERATORS
        },
    }
    r2 = {
        formula.target: 1.0 - (share_left(formula, estimating) if simple else estimates.share)
        for formula, estimates, simple in fits
    }
    formulas = [formula for formula, _, _ in fits]
    if isinstance(table.response, SeveralResponse):
        return SharedFitResult(formula=shared_formula(formulas), r2=r2, **told)
    return FitResult(formula=formulas[0], r2=r2[formulas[0].target], **told)


def _record(
    found: Found, job: FitJob, choosing: int, estimating: int, errors: list[float | None] | None
) -> dict[str, Any]:
    """Tell how a fit was made, and how many rows chose its terms and gave its coefficients."""
    return {
        "searched": found.searched,
        "models": found.tried,
        "criterion": job.choose,
        "split": job.split,
        "folds": job.folds if job.choose == "cv" else None,
        "seed": int(job.seed),
        "level": job.level,
        "rows_choosing": choosing,
        "rows_estimating": estimating,
        "cv_error": errors,
        "cut": [] if job.cut is None else [one.name for one in job.cut.screeners],
        "keep": None if job.keeps is None else dict(job.keeps),
        **({} if job.told_units is None else {"units": job.told_units}),
        **(job.told_categories or {}),
    }


def _split(table: Table, job: FitJob) -> tuple[Table, Table | None]:
    """Keep some rows from the search, drawn without a look at the response: only so are intervals honest."""
    if job.split == 0:
        return table, None
    n = table.response.n
    held = np.zeros(n, dtype=np.bool_)
    held[np.random.default_rng(job.seed).permutation(n)[: max(1, round(n * job.split))]] = True
    if held.sum() < _FEWEST_ESTIMATING or (~held).sum() < _FEWEST_CHOOSING:
        raise OptionError(
            f"{n} rows are too few to keep a share of {job.split:g} from the search: at least "
            f"{_FEWEST_CHOOSING} must choose and {_FEWEST_ESTIMATING} estimate"
        )
    return some_rows(table, np.flatnonzero(~held)), some_rows(table, np.flatnonzero(held))


def _chosen(
    found: Found, candidates: Sequence[Candidate], errors: Sequence[float | None] | None, table: Table
) -> Candidate:
    """Choose among the models whose coefficients these rows determine, as they do of the mean."""
    while True:
        one = preferred(candidates) if errors is None else _of_size(candidates, errors, table.numbers)
        if determined(terms_on([found.terms.expressions[place] for place in one.members], table)):
            return one
        candidates = [other for other in candidates if other is not one]


def _cautions(chosen: Candidate, job: FitJob) -> list[str]:
    if not chosen.members:
        return ["no formula searched is better than the mean: the rows show no relation, or are too few"]
    if job.split == 0 and chosen.share > EXACT:
        told = (
            "the intervals take the terms as given, but the same rows chose them: they are too narrow by an "
            "unknown amount; split=0.5 gives honest ones"
        )
        return [told]
    return []


def _with_chosen(shown: Sequence[Candidate], chosen: Candidate) -> list[Candidate]:
    """Put the model chosen among those of the front, where a criterion has put another before it."""
    if any(one is chosen for one in shown):
        return list(shown)
    return sorted([*shown, chosen], key=lambda one: one.complexity)


def _found(table: Table, job: FitJob, notices: list[str]) -> Found:
    effort = Effort(terms=min(job.terms, 4))
    data = Data(
        columns_of(table), table.numbers, None if job.units is None else partial(_has_unit, job.units)
    )
    if job.ibart:
        found = _after_lasso(table, job, data, effort)
    else:
        found = search(_spaces(table, job, notices), data, job.backend, effort)
    most = min(job.terms, table.response.n - 2)
    if most > 4 and len(found.terms) > 4 and not found.exact:
        ranked = candidates_in(found, table.response.n, "bic", len(targets_of(table)))
        wanted = list(dict.fromkeys(place for one in ranked for place in one.members))[:_ON_PATHS]
        places = np.array(sorted(wanted), dtype=np.int64)
        terms = found.terms.take(places)
        place_of = {place: number for number, place in enumerate(places.tolist())}
        fours = [one.members for one in ranked if len(one.members) == 4 and set(one.members) <= set(place_of)]
        longer = models_on_paths(
            terms.values,
            table.numbers.values,
            terms.complexity,
            least=5,
            most=most,
            starts=[tuple(place_of[place] for place in members) for members in fours[:_STARTS]],
        )
        rounding = rounding_share(table.numbers)
        more = {
            tuple(places[list(members)].tolist()): 0.0 if share <= rounding else share
            for members, share in longer.items()
        }
        found = replace(found, models=found.models | more)
    return found


def _has_unit(units: Units, term: Expression) -> bool:
    """Say whether a term has a unit, and the one that was asked for."""
    found = unit_of(term, units)
    return found is not None and (units.target is None or found == units.target.base)


def _after_lasso(table: Table, job: FitJob, data: Data, effort: Effort) -> Found:
    """Grow one space between cuts, and try all subsets of what the LASSO selects there."""
    assert job.cut is not None  # noqa: S101  # the preset says who cuts
    nothing = Found(empty_dictionary(table.response.n), {}, len(table.names), 0)
    best = with_best_inputs(table, job.growth)
    if best is None:
        return nothing
    space, _ = grown(best, job.growth, job.schedule[-1])
    request = replace(job.cut, screeners=screeners_asked("lasso"), limit=1)
    judged = screened(space, table.response, request).judged
    if "lasso" not in judged or not judged["lasso"].verdict.selected.any():
        return replace(nothing, searched=space.size)
    shown = judged["lasso"].showing.kept.number
    chosen = np.sort(shown[judged["lasso"].verdict.selected])
    return exhausted(named(space, chosen, float(space.size)), space.size, data, job.backend, effort)


def _spaces(table: Table, job: FitJob, notices: list[str]) -> Iterator[Space]:
    """Grow the spaces of the schedule one by one."""
    pools: dict[tuple[Layer, ...], int] = {(): len(table.names)}
    for layers in job.schedule:
        space = None
        if job.asked or len(pools) == 1 or _affordable(layers[-1], pools.get(layers[:-1]), table, job):
            try:
                space, _ = grown(table, job.growth, layers)
            except SpaceError:
                if job.asked or len(pools) == 1:
                    raise
        if space is None:
            kinds = "".join(layer.kind for layer in layers)
            notices.append(f"the layers {kinds} were not searched, for their size; ask with layers={kinds!r}")
            continue
        pools[layers] = _after_cut(_pool_of(space), layers[-1], table, job)
        if space.size:
            yield space


def _pool_of(space: Space) -> int:
    """Count what the next layer would be applied to: what is not in the target's units, too."""
    return space.size + space.counts[-1].pruned.get(Fate.OTHER_UNITS, 0)


def _affordable(layer: Layer, pool: int | None, table: Table, job: FitJob) -> bool:
    """Say whether a layer that nobody asked for takes seconds; the pool is None where it was too large."""
    if pool is None:
        return False
    candidates = _candidates(layer, pool + len(job.grammar.constants))
    return candidates <= _MOST_CANDIDATES and candidates * table.response.n <= _MOST_VALUES


def _after_cut(size: int, layer: Layer, table: Table, job: FitJob) -> int:
    """Bound the pool that the next layer is applied to; inputs stay beside what is kept."""
    if job.cut is None:
        return size
    keeps = {layer.kind: job.cut.prescreen} if job.keeps is None else job.keeps
    return min(size, keeps.get(layer.kind, size) + len(table.names))


def _candidates(layer: Layer, pool: int) -> int:
    each = {1: pool, 2: pool * pool}
    return sum(each[operator.arity] // (1 + operator.commutative) for operator in layer.operators)


def _nested_errors(table: Table, job: FitJob, criterion: Criterion) -> list[float | None]:
    """Repeat the whole search without each fold in turn, and predict it, for each number of terms.

    Returns
    -------
    list of float or None
        The mean squared error by number of terms, from 0, of several targets the mean of their shares of each
        one's variance; None where a fold has no such model, or one that is
        undefined in its rows.
    """
    n = table.response.n
    dealt = folds_of(n, job.folds, job.seed)
    if n - np.bincount(dealt).max() < _FEWEST_CHOOSING:
        raise OptionError(
            f"{n} rows are too few to choose by cross-validation in {job.folds} folds: "
            f"{_FEWEST_CHOOSING} must stay in each; take another criterion, or more folds"
        )
    squares = np.zeros((job.terms + 1, n))
    for fold in range(int(dealt.max()) + 1):
        inside, outside = (np.flatnonzero(part) for part in (dealt != fold, dealt == fold))
        squares[:, outside] = _squares(some_rows(table, inside), table, job, criterion)[:, outside]
    return [float(error) if np.isfinite(error) else None for error in squares.mean(axis=1)]


def _squares(inside: Table, table: Table, job: FitJob, criterion: Criterion) -> NDArray[np.float64]:
    """Return the squared errors on all rows of the best models of each size; shape (terms + 1, n)."""
    found = _found(inside, job, [])
    best = candidates_in(found, inside.response.n, criterion, len(targets_of(table)))
    squares = np.full((job.terms + 1, table.response.n), np.nan)
    actual = np.atleast_2d(table.numbers.values)
    for size in range(job.terms + 1):
        model = next((one for one in best if len(one.members) == size), None)
        if model is not None:
            terms = [found.terms.expressions[place] for place in model.members]
            fits = estimated(terms, inside, job.level, snap=False)
            away = np.stack([predicted(formula, table) for formula, _, _ in fits]) - actual
            squares[size] = (away**2 / _scales(table.numbers)[:, None]).mean(axis=0)
    return squares


def _scales(response: NumericResponse) -> NDArray[np.float64]:
    """Return what squared errors are divided by: of several targets the variance of each."""
    if isinstance(response, SeveralResponse):
        return np.asarray(response.values.var(axis=1))
    return np.ones(1)


def _of_size(
    candidates: Sequence[Candidate], errors: Sequence[float | None], response: NumericResponse
) -> Candidate:
    """Return the best model of the size with the least error, the smaller of sizes that are all but exact."""
    variance = np.mean(np.atleast_2d(response.values).var(axis=1) / _scales(response))
    rounding = rounding_share(response) * float(variance)
    known = [np.inf if error is None else max(error, rounding) for error in errors]
    sizes = np.argsort(known, kind="stable").tolist()
    return min(candidates, key=lambda one: sizes.index(len(one.members)))
