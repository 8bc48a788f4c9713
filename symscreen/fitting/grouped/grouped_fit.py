"""Fit one form to groups of rows: search, choice, estimates, result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from symscreen.config.option_record import build_fit_options_record
from symscreen.data import take_rows
from symscreen.expressions.input_ranges import compute_input_ranges
from symscreen.expressions.safety import SafetyAnalysis
from symscreen.expressions.traversal import collect_inputs, define_columns, evaluate_expression
from symscreen.fitting.fit_verdict import build_tested_verdict
from symscreen.fitting.grouped.candidate_terms import (
    list_factor_products,
    list_given_terms,
    list_pool_terms,
    list_space_terms,
    merge_candidates,
)
from symscreen.fitting.grouped.constant_fit import estimate_constants
from symscreen.fitting.grouped.form_choice import (
    find_pareto_front,
    is_exact,
    refit_models,
    select_model,
    snap_inner_constants,
)
from symscreen.fitting.grouped.group_estimates import compute_group_estimates
from symscreen.fitting.grouped.grouped_form import (
    build_grouped_formula,
    order_by_text,
    subtract_negative_numbers,
)
from symscreen.fitting.grouped.grouped_rows import group_rows
from symscreen.fitting.grouped.grouped_tables import build_constant_table, build_model_table, build_term_table
from symscreen.fitting.grouped.model_growth import search_terms
from symscreen.fitting.grouped.weighted_rows import compute_grouped_lack_of_fit, weigh_grouped_rows
from symscreen.fitting.growing_errors import format_error_scale
from symscreen.fitting.search_monitor import SearchMonitor, format_partial_fit_notice
from symscreen.fitting.term_safety import find_unsafe_terms, format_unsafe_terms
from symscreen.grammar import OPERATORS
from symscreen.results.fit_result import GroupedFitResult
from symscreen.screening.inference.feature_safety import build_box_record, build_safety_record
from symscreen.screening.space_generation import generate_space

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symscreen._typing import Values
    from symscreen.expressions.grouped_formula import GroupedFormula
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.grouped.candidate_terms import CandidateTerms
    from symscreen.fitting.grouped.group_estimates import GroupEstimates
    from symscreen.fitting.grouped.grouped_model import GroupedModel
    from symscreen.fitting.grouped.grouped_rows import FitGroups, GroupedRows
    from symscreen.fitting.grouped.weighted_rows import WeightedChoice
    from symscreen.fitting.search_stages import FitTask


STAGE = "terms by group"
"""Name of the search for the terms of groups."""

_MAX_SEARCH_TERMS = 4
_SEARCH_ROWS = 600  # rows of the search, at least the minimum in each group
_MIN_SEARCH_ROWS = 10  # rows of a group
_MAX_SEARCH_GROUPS = 100
_MAX_CANDIDATE_VALUES = 100_000_000  # fewer candidates with more rows
_CRITERION_MARGIN = 10.0  # points of the criterion between the chosen formula and its alternatives
_MAX_ALTERNATIVES = 10
_TABLE_DIGITS = 6  # significant digits of numbers in tables


@dataclass(frozen=True, eq=False)
class FittedForm:
    """The chosen model with its estimates and its formula.

    Parameters
    ----------
    model : GroupedModel
        The model.
    estimates : GroupEstimates
        Its constants with their errors.
    formula : GroupedFormula
        The formula.
    residuals : float64 array, shape (n,)
        Residuals of the formula on the rows, sorted by group.
    """

    model: GroupedModel
    estimates: GroupEstimates
    formula: GroupedFormula
    residuals: Values


class _FoundModels(NamedTuple):
    """The models of a search, best first, and the rows that they were fitted to, with weights if needed."""

    rows: GroupedRows
    models: list[GroupedModel]
    selected: GroupedModel
    choice: WeightedChoice | None
    n_candidates: int
    n_models: int


def run_grouped_fit(task: FitTask, groups: FitGroups) -> GroupedFitResult:
    """Find a formula for groups of rows; BLAS must be limited to one thread.

    Parameters
    ----------
    task : FitTask
        The task.
    groups : FitGroups
        The groups of the rows of its source.

    Returns
    -------
    GroupedFitResult
    """
    dataset, criterion = task.dataset, task.options.criterion
    monitor = SearchMonitor(task.run_control.deadline, listener=task.on_progress)
    monitor.start(STAGE, is_needed=True)
    found = _search_models(task, group_rows(dataset, groups.codes[dataset.source_rows]), monitor)
    rows, choice = found.rows, found.choice
    partial = monitor.build_record()

    def fit_form(model: GroupedModel) -> FittedForm:
        return _fit_form(model, rows, task, groups)

    notices = [*task.dataset.notices, *([format_partial_fit_notice(partial["partial"])] if partial else [])]
    if choice is not None:
        notices.append(format_error_scale(choice.scale, takes_weights=False))
    return _build_result(
        fit_form(found.selected),
        rows,
        task,
        models=_describe_models(found.models, found.selected, rows, criterion, fit_form),
        notices=notices,
        record={
            "searched": found.n_candidates,
            "models": found.n_models,
            **build_fit_options_record(task),
            "rows_choosing": rows.n,
            "rows_estimating": rows.n,
            "cv_error": None,
            "stage": STAGE if found.selected.terms else None,
            **({} if choice is None else {"error_scale": choice.scale.record}),
            **(task.categories_record or {}),
            **partial,
        },
        mean_weight=1.0 if choice is None else choice.mean_weight,
    )


def _search_models(task: FitTask, rows: GroupedRows, monitor: SearchMonitor) -> _FoundModels:
    """Search for terms, fit the models to all rows, and do both again if the errors grow with the target."""
    search_rows, criterion = _select_search_rows(rows), task.options.criterion
    candidates = _list_candidates(task, search_rows)

    def search(chosen_rows: GroupedRows) -> list[GroupedModel]:
        return search_terms(
            chosen_rows,
            candidates,
            min(task.options.max_terms, _MAX_SEARCH_TERMS),
            criterion,
            is_allowed=_make_filter(task),
            should_stop=monitor.should_stop,
        )

    def fit_models(
        chosen_rows: GroupedRows, found: Sequence[GroupedModel]
    ) -> tuple[list[GroupedModel], GroupedModel]:
        models = refit_models(found, chosen_rows, criterion, inner_varies=task.options.per_inner)
        # derivatives may overflow where values do not
        models = [model for model in models if estimate_constants(model, chosen_rows) is not None]
        return models, select_model(models, chosen_rows, criterion)

    found = search(search_rows)
    models, selected = fit_models(rows, found)
    choice = None
    if not monitor.should_stop():
        choice = weigh_grouped_rows(
            models, selected, rows, criterion, lambda weighted: fit_models(weighted, found)
        )
    if choice is not None:
        # without weights, the search follows the largest rows
        rows = choice.rows
        found = [*search(_select_search_rows(rows)), *found]
        models, selected = fit_models(rows, found)
    return _FoundModels(rows, models, selected, choice, len(candidates), len(found))


def _select_search_rows(rows: GroupedRows) -> GroupedRows:
    """Select the rows of the search: some of each group, of at most a hundred groups."""
    if rows.n_groups > _MAX_SEARCH_GROUPS:
        largest = np.argsort(-rows.counts, kind="stable")[:_MAX_SEARCH_GROUPS]
        rows = rows.take_groups(np.sort(largest))
    return rows.select(_SEARCH_ROWS, _MIN_SEARCH_ROWS)


def _list_candidates(task: FitTask, rows: GroupedRows) -> CandidateTerms:
    """List the candidates for terms: features of the given layers, else a pool and products of factors."""
    limit = min(task.effort.grouped_candidates, _MAX_CANDIDATE_VALUES // rows.n)
    parts = [list_given_terms(task.guesses, rows.columns)] if task.guesses else []
    if task.options.layers is None:
        parts.append(list_pool_terms(rows.columns, task.grammar, limit // 2))
        parts.append(list_factor_products(rows.columns, task.grammar, limit // 2))
        return merge_candidates(parts, rows.n)
    if rows.source_rows is None:
        raise AssertionError("rows of a dataset know their source")
    kept = np.flatnonzero(np.isin(task.dataset.source_rows, rows.source_rows))
    search_task = replace(task, dataset=take_rows(task.dataset, kept))
    space, _ = generate_space(search_task, task.layer_schedule[-1])
    places = {row: place for place, row in enumerate(search_task.dataset.source_rows.tolist())}
    order = np.array([places[row] for row in rows.source_rows.tolist()])
    features = list_space_terms(space, limit)
    parts.append(replace(features, values=features.values[:, order]))
    return merge_candidates(parts, rows.n)


def _make_filter(task: FitTask) -> Callable[[Expression], bool]:
    """Return what decides whether a term is allowed: by its safety, with unsafe terms left out."""
    if task.options.unsafe != "drop":
        return lambda _: True
    analysis = SafetyAnalysis(task.base_box)
    return lambda term: analysis.analyze(term).is_safe


def _fit_form(model: GroupedModel, rows: GroupedRows, task: FitTask, groups: FitGroups) -> FittedForm:
    """Estimate the constants of a model and write its formula."""
    model = _define_columns(model, task)
    if not any(model.inner_varies) and any(each.name == "sub" for each in task.grammar.binary):
        model = replace(model, terms=tuple(map(subtract_negative_numbers, model.terms)))
    model = model.sort_terms()
    estimates = _estimate(model, rows)
    if estimates.n_freedom > 0 and (task.options.snap or is_exact(model, rows)):
        n_inner = sum(not varies for varies in model.inner_varies)
        errors = iter(estimates.shared_errors[len(estimates.shared_errors) - n_inner :].tolist())
        inner_errors = [0.0 if varies else next(errors) for varies in model.inner_varies]
        model = snap_inner_constants(model, rows, inner_errors, task.options.level)
        estimates = _estimate(model, rows)
    (target,) = task.dataset.regression_target.names
    formula = build_grouped_formula(
        model,
        estimates.varying,
        estimates.shared,
        target=target,
        column=groups.column,
        groups=groups.names,
        inputs=task.dataset.names,
    )
    columns = {each.name: rows.spread(np.array(each.values)) for each in formula.constants}
    terms = [evaluate_expression(term, {**rows.columns, **columns}) for term in formula.terms]
    residuals = rows.target - formula.form.sum_terms(np.array(terms).reshape(-1, rows.n))
    return FittedForm(model, estimates, formula, residuals)


def _define_columns(model: GroupedModel, task: FitTask) -> GroupedModel:
    """Let the columns in the terms know how they are computed from others."""
    return replace(model, terms=tuple(define_columns(term, task.dataset.indicators) for term in model.terms))


def _estimate(model: GroupedModel, rows: GroupedRows) -> GroupEstimates:
    """Estimate the constants of a model that was fitted to the rows."""
    estimates = estimate_constants(model, rows)
    if estimates is None:
        raise AssertionError("a model that was fitted has estimates")
    constants = np.vstack([estimates.coefficients, estimates.inner])
    varies = np.array([*model.varies, *model.inner_varies], dtype=bool)
    return compute_group_estimates(constants[varies], constants[~varies][:, 0], estimates, rows)


def _describe_models(
    models: Sequence[GroupedModel],
    selected: GroupedModel,
    rows: GroupedRows,
    criterion: str,
    fit_form: Callable[[GroupedModel], FittedForm],
) -> dict[str, Any]:
    """Build the tables of the Pareto front and of the alternatives."""

    def describe(model: GroupedModel) -> tuple[GroupedModel, str]:
        return model, fit_form(model).formula.round_numbers(_TABLE_DIGITS).text

    limit = selected.compute_score(rows, criterion) + _CRITERION_MARGIN
    close = [each for each in models if each is not selected and each.compute_score(rows, criterion) <= limit]
    front = find_pareto_front(models, selected)
    return {
        "front": build_model_table(list(map(describe, front)), rows, criterion, STAGE, selected),
        "alternatives": build_model_table(
            list(map(describe, close[:_MAX_ALTERNATIVES])), rows, criterion, STAGE
        ),
    }


def _build_result(
    fitted: FittedForm,
    rows: GroupedRows,
    task: FitTask,
    *,
    models: dict[str, Any],
    notices: list[str],
    record: dict[str, Any],
    mean_weight: float,
) -> GroupedFitResult:
    """Build the result: tables, notices and the record."""
    model, estimates, formula, options = fitted.model, fitted.estimates, fitted.formula, task.options
    reasons = [] if options.unsafe == "keep" else find_unsafe_terms(model.terms, task)
    ranges = task.input_ranges or compute_input_ranges(task.dataset.columns_by_name)
    record |= {
        "verdict": _judge(fitted, rows),
        "groups": _build_group_record(fitted, rows, mean_weight),
        "input_ranges": {name: ranges[name] for name in collect_inputs(model.terms)},
        **build_box_record(task, model.terms),
        **({} if options.unsafe == "keep" else build_safety_record(reasons)),
    }
    notices += _format_notices(fitted, rows, is_exact=record["verdict"]["kind"] == "exact")
    notices += format_unsafe_terms(model.terms, reasons) if reasons else []
    residuals = rows.scale(fitted.residuals)
    square = float((residuals * residuals).sum())
    return GroupedFitResult(
        formula=formula,
        terms=build_term_table(model, formula, estimates, options.level),
        r2=1.0 - square / rows.total_square,
        constants=build_constant_table(model, formula, estimates, rows, options.level),
        notices=tuple(notices),
        record=record,
        operators={name: each for name, each in task.grammar.operators.items() if name not in OPERATORS},
        data=task.dataset,
        **models,
    )


def _judge(fitted: FittedForm, rows: GroupedRows) -> dict[str, Any]:
    """Build the record of the verdict; the groups are an input of the test of lack of fit."""
    if not fitted.model.terms:
        return {"kind": "none", "p_value": None}
    if is_exact(fitted.model, rows):
        return {"kind": "exact", "p_value": None}
    return build_tested_verdict(compute_grouped_lack_of_fit(fitted.residuals, rows))


def _build_group_record(fitted: FittedForm, rows: GroupedRows, mean_weight: float) -> dict[str, Any]:
    """Build the record of the groups: their rows, and what a new group is shrunk toward.

    With errors that grow, the residual standard deviation is relative to the σ of the error scale.
    """
    formula, estimates = fitted.formula, fitted.estimates
    prior = estimates.prior
    shrinkage = None
    if prior is not None:
        shrinkage = {
            name: order_by_text(fitted.model, values).tolist()
            for name, values in (
                ("means", prior.means),
                ("variances", prior.variances),
                ("mean_variances", prior.mean_variances),
            )
        }
    std = estimates.residual_std * float(np.sqrt(mean_weight))
    return {
        "column": formula.column,
        "rows": dict(zip(formula.groups, rows.counts.tolist(), strict=True)),
        "constants": [each.symbol for each in formula.constants],
        "residual_std": std if np.isfinite(std) else None,
        "shrinkage": shrinkage,
    }


def _format_notices(fitted: FittedForm, rows: GroupedRows, *, is_exact: bool) -> list[str]:
    """Say what the intervals ignore, and which groups depend on the others."""
    model, estimates = fitted.model, fitted.estimates
    if not model.terms:
        return ["no formula is better than the means: the rows show no relation, or there are too few"]
    notices = []
    if not model.n_varying:
        notices.append(
            f"no constant differs from group to group by {fitted.formula.column}: one formula fits all groups"
        )
    n_few = int((rows.counts < model.n_varying).sum())
    n_open = int(np.isnan(estimates.varying_errors).any(axis=0).sum()) if estimates.n_freedom > 0 else 0
    if n_few and estimates.prior is not None:
        notices.append(
            f"{n_few} of {rows.n_groups} groups have fewer rows than constants: theirs follow from the others"
        )
    elif n_open:
        notices.append(
            f"{n_open} of {rows.n_groups} groups do not determine all of their constants: those without an"
            " error are arbitrary"
        )
    if not is_exact:
        notices.append(
            "the intervals ignore that the terms were selected on the same rows, so they may be too narrow"
        )
    return notices
