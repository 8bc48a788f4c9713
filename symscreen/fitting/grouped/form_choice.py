"""Choose a model of groups: which constants are shared, and which model has the best criterion."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import collect_columns, rebuild_expression
from symscreen.expressions.tree import Constant
from symscreen.fitting.grouped.constant_fit import estimate_constants, fit_model
from symscreen.fitting.grouped.grouped_model import MIN_ROWS_PER_PARAMETER, GroupedModel
from symscreen.fitting.laws.simple_numbers import find_simple_numbers, measure_number, write_number
from symscreen.fitting.subset_search import compute_rounding_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from symscreen.expressions.tree import Expression
    from symscreen.fitting.grouped.grouped_rows import GroupedRows


_N_REFITTED = 24  # models of each number of terms that are fitted to all rows
_N_SHARED = 12  # models whose coefficients may be shared
_N_EQUAL = 4  # models of the same columns that leave the same square
_N_INNER = 8  # models of each number of terms whose inner constants may vary
_TOLERANCE = 2.0  # points of the criterion: smaller differences are not considered evidence
_MEAN = GroupedModel((), (), has_intercept=True, varies=(True,))
_EXACT_NUMBER = 1e-7  # relative distance of a constant of an exact model from a simple number


def refit_models(
    models: Sequence[GroupedModel], rows: GroupedRows, criterion: str, *, inner_varies: bool
) -> list[GroupedModel]:
    """Fit the best models of a search to all rows, and decide which of their constants are shared.

    Parameters
    ----------
    models : sequence of GroupedModel
        Models of the search, best first.
    rows : GroupedRows
        All rows.
    criterion : {"ebic", "bic", "aic"}
        What decides.
    inner_varies : bool
        Whether inner constants may vary, too.

    Returns
    -------
    list of GroupedModel
        Best first; the mean of all rows, or of each group, is among them.
    """
    fitted = [fit_model(model, rows) for model in _select_distinct(models)]
    known = [model for model in fitted if model is not None and _has_enough_rows(model, rows)]
    n_per_size = _N_INNER if inner_varies else _N_SHARED // 4
    known = _select_distinct(_limit_equal(sort_models(known, rows, criterion)), _N_SHARED, n_per_size)
    means = [model for model in (fit_model(_MEAN, rows),) if model is not None]
    shared = [share_coefficients(model, rows, criterion) for model in (*known, *means)]
    ordered = sort_models(shared, rows, criterion)
    if inner_varies:
        inner = [model for model in ordered if model.inner_varies]
        # a simple term may fit badly while its constant is shared
        simple = sorted((model for model in models if model.inner_varies), key=lambda each: each.complexity)
        refitted = [fit_model(model, rows) for model in _select_distinct(simple)[:_N_INNER]]
        inner += [model for model in refitted if model is not None and _has_enough_rows(model, rows)]
        chosen = _select_distinct(inner, _N_INNER, 2 * _N_INNER)
        varied = [vary_inner_constants(model, rows, criterion) for model in chosen]
        ordered = sort_models([*varied, *(each for each in ordered if each not in chosen)], rows, criterion)
    return ordered


def _select_distinct(
    models: Sequence[GroupedModel], n_best: int = _N_REFITTED, n_per_size: int = _N_REFITTED
) -> list[GroupedModel]:
    """Select the best models of different forms, and some of each number of terms; best first."""
    known: dict[tuple[tuple[str, ...], bool], GroupedModel] = {}
    for model in models:
        known.setdefault(describe_form(model), model)
    distinct = list(known.values())
    kept = set(range(min(n_best, len(distinct))))
    for size in {len(model.terms) for model in distinct}:
        places = [place for place, model in enumerate(distinct) if len(model.terms) == size]
        kept.update(places[:n_per_size])
    return [distinct[place] for place in sorted(kept)]


def _limit_equal(models: Iterable[GroupedModel]) -> list[GroupedModel]:
    """Keep some of the models of the same columns that leave the same square.

    The constants of each group make forms equal that differ where constants are shared: with a column M that
    is constant within groups, x, x + 1 and M·x.
    """
    counts: dict[tuple[frozenset[str], int, bool, str], int] = {}
    kept = []
    for model in models:
        key = (
            collect_columns(*model.terms),
            len(model.terms),
            model.has_intercept,
            f"{model.square:.9e}",
        )
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= _N_EQUAL:
            kept.append(model)
    return kept


def describe_form(model: GroupedModel) -> tuple[tuple[str, ...], bool]:
    """Return the terms of a model with fitted constants replaced by signs, in no order, and the intercept."""

    def mask(constant: Constant) -> Expression:
        return Constant(float(np.copysign(0.5, constant.value))) if constant.fitted else constant

    texts = sorted(to_text(rebuild_expression(term, number=mask)) for term in model.terms)
    return tuple(texts), model.has_intercept


def _has_enough_rows(model: GroupedModel, rows: GroupedRows) -> bool:
    return MIN_ROWS_PER_PARAMETER * model.count_parameters(rows.n_groups) <= rows.n


def share_coefficients(model: GroupedModel, rows: GroupedRows, criterion: str) -> GroupedModel:
    """Share coefficients between groups, one by one, while the criterion stays within 2 points of its lowest.

    An intercept is also left out if that keeps to this limit.
    """
    best, lowest = model, model.compute_score(rows, criterion)
    while True:
        fitted = [fit_model(each, rows) for each in _list_simpler(best)]
        scored = [
            (each.compute_score(rows, criterion), place, each)
            for place, each in enumerate(fitted)
            if each is not None
        ]
        if not scored or min(scored)[0] > lowest + _TOLERANCE:
            return best
        score, _, best = min(scored)
        lowest = min(score, lowest)


def _list_simpler(model: GroupedModel) -> Iterator[GroupedModel]:
    """Yield the model with one more shared coefficient, or without its intercept."""
    for place, varies in enumerate(model.varies):
        if varies:
            yield replace(model, varies=(*model.varies[:place], False, *model.varies[place + 1 :]))
    if model.has_intercept and model.terms:
        yield replace(model, has_intercept=False, varies=model.varies[1:])


def vary_inner_constants(model: GroupedModel, rows: GroupedRows, criterion: str) -> GroupedModel:
    """Let inner constants vary, one by one, and leave out the intercept, while the criterion improves."""
    best, best_score = model, model.compute_score(rows, criterion)
    while True:
        trials = []
        for place, trial in enumerate(_list_varied(best)):
            estimates = estimate_constants(trial, rows) if _has_enough_rows(trial, rows) else None
            if estimates is not None:
                fitted = replace(trial, square=estimates.square)
                trials.append((fitted.compute_score(rows, criterion), place, fitted))
        if not trials or min(trials)[0] >= best_score:
            return best
        best_score, _, best = min(trials)


def _list_varied(model: GroupedModel) -> Iterator[GroupedModel]:
    """Yield the model with one more inner constant that varies, or without its intercept."""
    for place, varies in enumerate(model.inner_varies):
        if not varies:
            inner = (*model.inner_varies[:place], True, *model.inner_varies[place + 1 :])
            yield replace(model, inner_varies=inner)
    if model.has_intercept and model.terms:
        yield replace(model, has_intercept=False, varies=model.varies[1:])


def is_exact(model: GroupedModel, rows: GroupedRows) -> bool:
    """Return whether a model leaves nothing but rounding."""
    return model.square <= compute_rounding_share(rows.target) * rows.total_square


def sort_models(models: Sequence[GroupedModel], rows: GroupedRows, criterion: str) -> list[GroupedModel]:
    """Sort models by the criterion; exact ones come first, by their number of fitted numbers."""

    def build_key(model: GroupedModel) -> tuple[float, int, int, list[str]]:
        exact = is_exact(model, rows)
        score = -np.inf if exact else round(model.compute_score(rows, criterion), 6)
        n_numbers = model.count_parameters(rows.n_groups) if exact else 0
        return score, n_numbers, model.complexity, sorted(map(to_text, model.terms))

    return sorted(models, key=build_key)


def select_model(models: Sequence[GroupedModel], rows: GroupedRows, criterion: str) -> GroupedModel:
    """Select the simplest of the models whose criterion is within two points of the best.

    Parameters
    ----------
    models : sequence of GroupedModel
        Models, best first; at least one.
    rows : GroupedRows
        The rows that they were fitted to.
    criterion : {"ebic", "bic", "aic"}
        What scores them.

    Returns
    -------
    GroupedModel
    """
    if is_exact(models[0], rows):
        return models[0]
    limit = models[0].compute_score(rows, criterion) + _TOLERANCE
    close = [model for model in models if model.compute_score(rows, criterion) <= limit]
    return min(close, key=lambda model: (model.complexity, model.count_parameters(rows.n_groups)))


def find_pareto_front(models: Sequence[GroupedModel], selected: GroupedModel) -> list[GroupedModel]:
    """Return the models that all simpler ones have a larger error than, simplest first, and the selected."""
    front: list[GroupedModel] = []
    for model in sorted(models, key=lambda each: (each.complexity, each.square)):
        if not front or model.square < front[-1].square * (1.0 - 1e-9):
            front.append(model)
    if all(model is not selected for model in front):
        front = sorted([*front, selected], key=lambda each: each.complexity)
    return front


def snap_inner_constants(
    model: GroupedModel, rows: GroupedRows, errors: Sequence[float], level: float
) -> GroupedModel:
    """Replace shared constants inside terms by simple numbers, where the data allow it.

    Parameters
    ----------
    model : GroupedModel
        The model.
    rows : GroupedRows
        The rows that it was fitted to.
    errors : sequence of float
        Standard errors of the inner constants.
    level : float
        Level of the F test that accepts a number. In an exact model, a number must leave it exact.

    Returns
    -------
    GroupedModel
    """
    from scipy.special import fdtri

    exact = is_exact(model, rows)
    n_freedom = rows.n - model.count_parameters(rows.n_groups)
    if n_freedom <= 0:
        return model
    place = 0
    for error in errors:
        value = float(model.constants[place])
        radius = _EXACT_NUMBER * abs(value) if exact else float(np.sqrt(fdtri(1, n_freedom, level))) * error
        numbers = find_simple_numbers(value, radius) if radius > 0.0 and not model.inner_varies[place] else []
        for number in sorted(numbers, key=measure_number):
            changed = fit_model(_fix_constant(model, place, number), rows)
            if changed is None:
                continue
            growth = (changed.square - model.square) * n_freedom / model.square if model.square > 0.0 else 0.0
            if is_exact(changed, rows) if exact else growth <= float(fdtri(1, n_freedom, level)):
                model = changed
                break
        else:
            place += 1
    return model


def _fix_constant(model: GroupedModel, place: int, number: float) -> GroupedModel:
    """Replace one fitted constant by a plain number."""
    places = iter(range(len(model.constants)))

    def change(constant: Constant) -> Expression:
        return write_number(number) if constant.fitted and next(places) == place else constant

    terms = tuple(rebuild_expression(term, number=change) for term in model.terms)
    inner = model.inner_varies[:place] + model.inner_varies[place + 1 :]
    return replace(model, terms=terms, inner_varies=inner)
