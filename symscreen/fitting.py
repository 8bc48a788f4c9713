"""From a table to a formula: search, choose, fit the constants, and say how sure the numbers are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError, TableError
from symscreen.export import Formula
from symscreen.expression import evaluate
from symscreen.growth import Growth, grown, with_best_inputs
from symscreen.models import (
    EXACT,
    Effort,
    FitResult,
    candidates_in,
    constants_in,
    estimates_of,
    exhausted,
    fit_tables,
    front,
    models_on_paths,
    named,
    preferred,
    rivals_of,
    search,
    snapped,
    with_fitted_constants,
)
from symscreen.result import screened
from symscreen.screeners import screeners_asked
from symscreen.statistics.folds import folds_of
from symscreen.table import some_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import PoolKind, Space
    from symscreen.expression import Expression
    from symscreen.grammar import Grammar, Layer
    from symscreen.models import Candidate, Criterion, Estimates, Found
    from symscreen.result import Request
    from symscreen.table import Table

__all__ = ["FitJob", "fitted"]

_MOST_CANDIDATES = 3_000_000  # of a layer that nobody asked for: seconds, not minutes
_ROUNDING = 1e-13  # of the response's largest magnitude: an intercept below it is none
_MARGIN = 10.0  # of the criterion: e^5 = 148 to 1 against a rival at the margin
_MOST_RIVALS = 10
_REFINED = 3  # how many models of each complexity have the constants inside their terms fitted
_MOST_REFINED = 40
_MOST_CONSTANTS = 3
_ON_PATHS = 300  # features that greedy and LASSO paths choose from


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
        return Growth(self.grammar, self.pool_kind, (), self.cut, self.keeps, self.max_bytes)


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
    choosing, holding = _split(table, job)
    notices: list[str] = []
    found = _found(choosing, job, notices)
    criterion: Criterion = "ebic" if job.choose == "cv" else job.choose  # type: ignore[assignment]
    candidates = candidates_in(found, choosing.response.n, criterion)
    errors = _nested_errors(choosing, job, criterion) if job.choose == "cv" else None
    chosen = preferred(candidates) if errors is None else _of_size(candidates, errors)
    expressions = tuple(found.terms.expressions[place] for place in chosen.members)
    if holding is None:
        notices.append(
            "the intervals take the terms as given, but the same rows chose them: they are too narrow by an "
            "unknown amount; split=0.5 gives honest ones"
        )
    formula, estimates, simple = _estimated(expressions, choosing if holding is None else holding, job)
    if job.snap and not simple:
        notices.append("the coefficients are as fitted: the data do not allow simple numbers for all")
    shown = front(candidates)
    if chosen not in shown:
        shown = sorted([*shown, chosen], key=lambda one: (one.complexity, -one.share))
    near = rivals_of(chosen, candidates, _MARGIN, _MOST_RIVALS)
    terms, front_table, rival_table = fit_tables(
        found,
        choosing.response,
        formula,
        estimates,
        chosen=chosen,
        front=shown,
        rivals=near,
        criterion=criterion,
    )
    record = {
        "searched": found.searched,
        "models": found.tried,
        "criterion": job.choose,
        "split": job.split,
        "level": job.level,
        "rows_choosing": choosing.response.n,
        "rows_estimating": estimates.rows,
        "cv_error": errors,
        "cut": [] if job.cut is None else [one.name for one in job.cut.screeners],
        "keep": None if job.keeps is None else dict(job.keeps),
    }
    return FitResult(
        formula, terms, front_table, rival_table, 1.0 - estimates.share, (*table.notices, *notices), record
    )


def _split(table: Table, job: FitJob) -> tuple[Table, Table | None]:
    """Keep some rows from the search, spread over the whole response."""
    if job.split == 0:
        return table, None
    n = table.response.n
    parts = 20
    dealt = folds_of(n, parts, job.seed)
    held = dealt < max(1, round(parts * job.split))
    if held.sum() < 3 or (~held).sum() < 3:
        raise OptionError(f"{n} rows are too few to keep a share of {job.split:g} from the search")
    return some_rows(table, np.flatnonzero(~held)), some_rows(table, np.flatnonzero(held))


def _found(table: Table, job: FitJob, notices: list[str]) -> Found:
    effort = Effort(terms=min(job.terms, 4))
    if job.ibart:
        found = _after_lasso(table, job, effort)
    else:
        found = search(_spaces(table, job, notices), table.response, job.backend, effort)
    found = _with_constants(found, table)
    if job.terms > 4 and len(found.terms) > 4:
        ranked = candidates_in(found, table.response.n, "bic")
        wanted = list(dict.fromkeys(place for one in ranked for place in one.members))[:_ON_PATHS]
        places = np.array(sorted(wanted), dtype=np.int64)
        longer = models_on_paths(found.terms.values[places], table.response.values, 5, job.terms)
        more = {tuple(places[list(members)].tolist()): share for members, share in longer.items()}
        found = replace(found, models=found.models | more)
    return found


def _after_lasso(table: Table, job: FitJob, effort: Effort) -> Found:
    """Grow one space between cuts, and try all subsets of what the LASSO selects there."""
    assert job.cut is not None  # noqa: S101  # the preset says who cuts
    space, _ = grown(with_best_inputs(table, job.growth), job.growth, job.schedule[-1])
    request = replace(job.cut, screeners=screeners_asked("lasso"), limit=1)
    judged = screened(space, table.response, request).judged
    if "lasso" not in judged or not judged["lasso"].verdict.selected.any():
        raise TableError("the LASSO selects no feature: nothing in this space tells of the response")
    shown = judged["lasso"].showing.kept.number
    chosen = np.sort(shown[judged["lasso"].verdict.selected])
    return exhausted(named(space, chosen, float(space.size)), space.size, table.response, job.backend, effort)


def _spaces(table: Table, job: FitJob, notices: list[str]) -> Iterator[Space]:
    """Grow the spaces of the schedule one by one."""
    sizes: dict[tuple[Layer, ...], int] = {}
    for layers in job.schedule:
        before = sizes.get(layers[:-1], len(table.names)) + len(job.grammar.constants)
        if not job.asked and _candidates(layers[-1], before) > _MOST_CANDIDATES:
            kinds = "".join(layer.kind for layer in layers)
            notices.append(f"the layers {kinds} were not searched, for their size; ask with layers={kinds!r}")
            continue
        space, _ = grown(table, job.growth, layers)
        sizes[layers] = space.size
        yield space


def _candidates(layer: Layer, pool: int) -> int:
    each = {1: pool, 2: pool * pool}
    return sum(each[operator.arity] // (1 + operator.commutative) for operator in layer.operators)


def _with_constants(found: Found, table: Table) -> Found:
    """Fit the constants inside the terms of the best models of each complexity, the simpler ones first."""
    columns = dict(zip(table.names, table.columns, strict=True))
    for members in _to_refine(found):
        terms = tuple(found.terms.expressions[place] for place in members)
        better, share = with_fitted_constants(terms, columns, table.response.values)
        if better != terms and share < found.models[members]:
            found = found.with_model(better, columns, share, members)
        if share <= EXACT:
            break
    return found


def _to_refine(found: Found) -> list[tuple[int, ...]]:
    """Choose models whose constants are worth fitting: a start far from the truth makes a poor fit so far."""
    inside = np.array([constants_in(term) for term in found.terms.expressions])
    by_complexity: dict[int, list[tuple[int, ...]]] = {}
    for members in sorted(found.models, key=lambda members: (found.models[members], members)):
        if 0 < inside[list(members)].sum() <= _MOST_CONSTANTS:
            complexity = len(members) + int(found.terms.complexity[list(members)].sum())
            by_complexity.setdefault(complexity, []).append(members)
    best = [
        members for complexity in sorted(by_complexity) for members in by_complexity[complexity][:_REFINED]
    ]
    return best[:_MOST_REFINED]


def _nested_errors(table: Table, job: FitJob, criterion: Criterion) -> list[float]:
    """Repeat the whole search without each fold in turn, and predict it, for each number of terms.

    Returns
    -------
    list of float
        The mean squared error by number of terms, from 1.
    """
    dealt = folds_of(table.response.n, job.folds, job.seed)
    squares = np.zeros((int(dealt.max()) + 1, job.terms))
    for fold in range(len(squares)):
        inside, outside = (some_rows(table, np.flatnonzero(part)) for part in (dealt != fold, dealt == fold))
        found = _found(inside, job, [])
        best = candidates_in(found, inside.response.n, criterion)
        for size in range(1, job.terms + 1):
            model = next((one for one in best if len(one.members) == size), best[0])
            terms = [found.terms.expressions[place] for place in model.members]
            formula, _, _ = _estimated(terms, inside, replace(job, snap=False))
            away = _values(formula, outside) - outside.response.values
            squares[fold, size - 1] = float(np.nan_to_num((away * away).mean(), nan=np.inf))
    return [float(error) for error in squares.mean(axis=0)]


def _of_size(candidates: Sequence[Candidate], errors: Sequence[float]) -> Candidate:
    """Return the best model of the size with the least error."""
    size = int(np.argmin(errors)) + 1
    return next((one for one in candidates if len(one.members) == size), candidates[0])


def _values(formula: Formula, table: Table) -> NDArray[np.float64]:
    columns = dict(zip(table.names, table.columns, strict=True))
    pairs = zip(formula.coefficients, formula.terms, strict=True)
    total = np.full(table.response.n, formula.intercept)
    for coefficient, term in pairs:
        total = total + coefficient * evaluate(term, columns)
    return total


def _estimated(terms: Sequence[Expression], table: Table, job: FitJob) -> tuple[Formula, Estimates, bool]:
    """Fit the coefficients on a table's rows; the last says whether they are simple numbers."""
    columns = dict(zip(table.names, table.columns, strict=True))
    values = np.array([evaluate(term, columns) for term in terms])
    target = table.response.values
    if np.isnan(values).any():
        raise OptionError(
            "a term of the formula is undefined in the rows kept for estimation; split otherwise"
        )
    estimates = estimates_of(values, target, job.level)
    simple = snapped(estimates, values, target) if job.snap else None
    numbers = estimates.coefficients if simple is None else simple
    if abs(numbers[0]) <= _ROUNDING * np.abs(target).max():
        numbers = np.concatenate(([0.0], numbers[1:]))
    formula = Formula(table.response.name, float(numbers[0]), tuple(numbers[1:].tolist()), tuple(terms))
    return formula, estimates, simple is not None
