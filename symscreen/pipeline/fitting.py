"""From a table to a formula: search, choose, fit the constants, and say how sure the numbers are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError, SpaceError
from symscreen.grammar import OPERATORS
from symscreen.models import (
    EXACT,
    Data,
    Effort,
    FitResult,
    Found,
    candidates_in,
    columns_of,
    determined,
    empty_dictionary,
    estimated,
    exhausted,
    fit_tables,
    front,
    models_on_paths,
    named,
    predicted,
    preferred,
    rivals_of,
    rounding_share,
    search,
    share_left,
    terms_on,
)
from symscreen.pipeline.growth import Growth, grown, with_best_inputs
from symscreen.result import screened
from symscreen.screeners import screeners_asked
from symscreen.statistics.folds import folds_of
from symscreen.table import some_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import PoolKind, Space
    from symscreen.grammar import Grammar, Layer
    from symscreen.models import Candidate, Criterion
    from symscreen.response import Response
    from symscreen.result import Request
    from symscreen.table import Table

__all__ = ["FitJob", "fitted"]

# of a layer that nobody asked for: seconds, not minutes
_MOST_CANDIDATES = 3_000_000
_MOST_VALUES = 1_200_000_000
_MARGIN = 10.0  # of the criterion: e^5 = 148 to 1 against a rival at the margin
_MOST_RIVALS = 10
_ON_PATHS = 300  # features that greedy and LASSO paths choose from
_STARTS = 5  # models of four terms that longer ones are grown from
_FEWEST_CHOOSING, _FEWEST_ESTIMATING = 5, 3  # rows


@dataclass(frozen=True, eq=False)
class FitJob:
    """A fit, its options read.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    schedule : tuple of tuple of Layer
        The spaces to search, smaller ones first.
    asked : bool
        Whether the user named the layers; spaces of the default schedule may be left out for their size.
    pool_kind : {"cumulative", "strict"}
        As in `expand`.
    terms : int
        The most terms in a formula.
    choose : {"ebic", "bic", "aic", "cv"}
        What decides between models.
    folds : int
        Of the nested cross-validation.
    split : float
        The share of rows kept from the search for honest intervals; 0 for none.
    level : float
        Coverage of the intervals.
    snap : bool
        Whether to try simple numbers for the coefficients.
    seed : int
        For folds and the split.
    backend : Backend
        Where the work runs.
    max_bytes : int or None
        The memory allowed.
    cut, keeps
        As of `Growth`.
    ibart : bool
        Whether to follow iBART (Ye, Senftle and Li 2021): the inputs are cut, too, and of the space grown
        between cuts the LASSO chooses the features whose subsets are tried.
    """

    grammar: Grammar
    schedule: tuple[tuple[Layer, ...], ...]
    asked: bool
    pool_kind: PoolKind
    terms: int
    choose: Criterion | str
    folds: int
    split: float
    level: float
    snap: bool
    seed: int
    backend: Backend
    max_bytes: int | None
    cut: Request | None = None
    keeps: Mapping[str, int] | None = None
    ibart: bool = False

    @property
    def growth(self) -> Growth:
        """How spaces are grown."""
        return Growth(
            self.grammar, self.pool_kind, (), self.cut, self.keeps, self.max_bytes, self.backend.map
        )


def fitted(table: Table, job: FitJob) -> FitResult:
    """Find a formula for a table's response.

    Parameters
    ----------
    table : Table
        The data.
    job : FitJob
        What to do.

    Returns
    -------
    FitResult
    """
    from threadpoolctl import threadpool_limits

    # sums that BLAS cuts up for its threads would follow their number
    with threadpool_limits(1):
        return _fitted(table, job)


def _fitted(table: Table, job: FitJob) -> FitResult:
    choosing, holding = _split(table, job)
    estimating = choosing if holding is None else holding
    notices: list[str] = []
    found = _found(choosing, job, notices)
    criterion: Criterion = "ebic" if job.choose == "cv" else job.choose  # type: ignore[assignment]
    candidates = candidates_in(found, choosing.response.n, criterion)
    errors = _nested_errors(choosing, job, criterion) if job.choose == "cv" else None
    chosen = _chosen(found, candidates, errors, estimating)
    notices += _cautions(chosen, job)
    expressions = tuple(found.terms.expressions[place] for place in chosen.members)
    formula, estimates, simple = estimated(expressions, estimating, job.level, snap=job.snap)
    if job.snap and not simple:
        notices.append("the coefficients are as fitted: the data do not allow simple numbers for all")
    terms, front_table, rival_table = fit_tables(
        found,
        choosing.numeric,
        formula,
        estimates,
        chosen=chosen,
        front=_with_chosen(front(candidates), chosen),
        rivals=rivals_of(chosen, candidates, _MARGIN, _MOST_RIVALS),
        criterion=criterion,
    )
    record = {
        "searched": found.searched,
        "models": found.tried,
        "criterion": job.choose,
        "split": job.split,
        "folds": job.folds if job.choose == "cv" else None,
        "seed": int(job.seed),
        "level": job.level,
        "rows_choosing": choosing.response.n,
        "rows_estimating": estimates.rows,
        "cv_error": errors,
        "cut": [] if job.cut is None else [one.name for one in job.cut.screeners],
        "keep": None if job.keeps is None else dict(job.keeps),
    }
    share = share_left(formula, estimating) if simple else estimates.share
    return FitResult(
        formula=formula,
        terms=terms,
        front=front_table,
        rivals=rival_table,
        r2=1.0 - share,
        notices=(*table.notices, *notices),
        record=record,
        operators={
            name: operator for name, operator in job.grammar.operators.items() if name not in OPERATORS
        },
    )


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
        one = preferred(candidates) if errors is None else _of_size(candidates, errors, table.numeric)
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
    data = Data(columns_of(table), table.numeric)
    if job.ibart:
        found = _after_lasso(table, job, data, effort)
    else:
        found = search(_spaces(table, job, notices), data, job.backend, effort)
    most = min(job.terms, table.response.n - 2)
    if most > 4 and len(found.terms) > 4 and not found.exact:
        ranked = candidates_in(found, table.response.n, "bic")
        wanted = list(dict.fromkeys(place for one in ranked for place in one.members))[:_ON_PATHS]
        places = np.array(sorted(wanted), dtype=np.int64)
        terms = found.terms.take(places)
        place_of = {place: number for number, place in enumerate(places.tolist())}
        fours = [one.members for one in ranked if len(one.members) == 4 and set(one.members) <= set(place_of)]
        longer = models_on_paths(
            terms.values,
            table.numeric.values,
            terms.complexity,
            least=5,
            most=most,
            starts=[tuple(place_of[place] for place in members) for members in fours[:_STARTS]],
        )
        rounding = rounding_share(table.numeric)
        more = {
            tuple(places[list(members)].tolist()): 0.0 if share <= rounding else share
            for members, share in longer.items()
        }
        found = replace(found, models=found.models | more)
    return found


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
        pools[layers] = _after_cut(space.size, layers[-1], table, job)
        yield space


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
        The mean squared error by number of terms, from 0; None where a fold has no such model, or one that is
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
    best = candidates_in(found, inside.response.n, criterion)
    squares = np.full((job.terms + 1, table.response.n), np.nan)
    for size in range(job.terms + 1):
        model = next((one for one in best if len(one.members) == size), None)
        if model is not None:
            terms = [found.terms.expressions[place] for place in model.members]
            formula, _, _ = estimated(terms, inside, job.level, snap=False)
            squares[size] = (predicted(formula, table) - table.numeric.values) ** 2
    return squares


def _of_size(
    candidates: Sequence[Candidate], errors: Sequence[float | None], response: Response
) -> Candidate:
    """Return the best model of the size with the least error, the smaller of sizes that are all but exact."""
    rounding = rounding_share(response) * float(response.values.var())
    known = [np.inf if error is None else max(error, rounding) for error in errors]
    sizes = np.argsort(known, kind="stable").tolist()
    return min(candidates, key=lambda one: sizes.index(len(one.members)))
