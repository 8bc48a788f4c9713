"""Run a fit: search models, select one, estimate its coefficients and build the result.

`run_fit` splits the rows if requested, runs the stages of the search, scores the models and selects one. It
then fits the coefficients on the rows kept for estimation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.config.option_record import build_fit_options_record
from symscreen.data import take_rows
from symscreen.errors import OptionError
from symscreen.expressions.input_ranges import compute_input_ranges
from symscreen.expressions.linear_formula import build_shared_formula
from symscreen.expressions.traversal import collect_inputs, define_columns
from symscreen.fitting.allowed_models import (
    compute_target_scales,
    score_allowed_models,
    select_identifiable_model,
)
from symscreen.fitting.coefficients import get_targets
from symscreen.fitting.copied_rows import format_copy_notice
from symscreen.fitting.fit_verdict import judge_model
from symscreen.fitting.formula_fits import compute_unexplained_share, fit_formulas, predict_on_dataset
from symscreen.fitting.grouped.grouped_fit import run_grouped_fit
from symscreen.fitting.growing_errors import format_error_scale, weigh_growing_errors
from symscreen.fitting.model_selection import (
    ScoredModel,
    find_alternatives,
    find_pareto_front,
    score_models,
)
from symscreen.fitting.model_tables import TABLE_DIGITS, build_model_table, build_term_table
from symscreen.fitting.number_evidence import compute_number_evidence, widen_intervals
from symscreen.fitting.prediction_bands import (
    CalibrationRows,
    calibrate_split_band,
    check_band_task,
    check_calibrating_rows,
    fit_with_cv_plus,
)
from symscreen.fitting.required_inputs import format_requirement_notices
from symscreen.fitting.row_splits import choose_band_rows, choose_folds, choose_held_out_rows
from symscreen.fitting.search_monitor import build_monitor, format_partial_fit_notice
from symscreen.fitting.search_stages import (
    FitTask,
    refit_terms,
    run_model_search,
)
from symscreen.fitting.stage_names import CROSS_VALIDATION
from symscreen.fitting.term_safety import (
    add_unsafe_column,
    find_unsafe_terms,
    format_unsafe_terms,
)
from symscreen.fitting.training_medians import fill_from_rows, format_median_notice
from symscreen.grammar import OPERATORS
from symscreen.messages import Message, name_option
from symscreen.report.figures.fit_figures import FitPlots
from symscreen.results.fit_result import MAX_ALTERNATIVES, FitResult, SharedFitResult
from symscreen.screening.inference.feature_safety import build_box_record, build_safety_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.expressions.linear_formula import Formula
    from symscreen.fitting.formula_fits import FormulaFits
    from symscreen.fitting.model_selection import Criterion
    from symscreen.fitting.search_monitor import SearchMonitor
    from symscreen.fitting.subset_search import ModelSearchResult
    from symscreen.results.fit_result import AnyFitResult
    from symscreen.statistics.inference.error_scale import ErrorScale


_CRITERION_MARGIN = 10.0  # points of the criterion; at the margin, an alternative has odds of 1 to e^5 = 148
_MIN_CHOOSING_ROWS, _MIN_ESTIMATING_ROWS = 5, 3  # rows


def run_fit(task: FitTask) -> AnyFitResult:
    """Find a formula for the target of a dataset, or formulas with the same terms for several targets."""
    from threadpoolctl import threadpool_limits

    # otherwise the rounding of BLAS sums would depend on the number of threads
    with threadpool_limits(1):
        if task.groups is not None:
            return run_grouped_fit(task, task.groups)
        check_band_task(task)
        if task.options.bands == "cv+":
            return fit_with_cv_plus(task, _fit_in_one_thread)
        return _fit_in_one_thread(task)


def _fit_in_one_thread(task: FitTask) -> FitResult | SharedFitResult:
    """Run a fit; BLAS must be limited to one thread."""
    task, search_rows, held_out_rows, calibration = _split_rows(task)
    estimation_rows = search_rows if held_out_rows is None else held_out_rows
    notices = [*task.dataset.notices, *format_median_notice(task), *format_copy_notice(task.dataset)]
    selection = _search_and_select(task, search_rows, estimation_rows, notices)
    task, selected, options = selection.task, selection.selected, task.options
    terms = tuple(selection.found.terms.expressions[index] for index in selected.term_indices)
    if held_out_rows is not None and len(get_targets(held_out_rows)) == 1 and not selected.is_exact:
        terms = refit_terms(replace(task, dataset=held_out_rows), selection.found, selected)
    expressions = tuple(define_columns(term, task.dataset.indicators) for term in terms)
    fits = fit_formulas(
        expressions,
        estimation_rows,
        options.level,
        snap=options.snap,
        has_intercept=selected.has_intercept,
        row_weights=task.get_row_weights(estimation_rows),
    )
    if len(fits) == 1 and not selected.is_exact:
        ((formula, estimates, snapped),) = fits
        widened = widen_intervals(formula, estimates, estimation_rows, task.get_row_weights(estimation_rows))
        fits = ((formula, widened, snapped),)
    notices += _format_fit_notices(
        selected, fits, task, selection.partial, is_mean_better=selection.is_mean_better
    )
    reasons = [] if options.unsafe == "keep" else find_unsafe_terms(expressions, task)
    notices += format_unsafe_terms(expressions, reasons) if reasons else []
    tables = {
        "terms": add_unsafe_column(build_term_table(fits, task.units), reasons),
        **_build_model_tables(selection, search_rows),
    }
    record = _build_fit_record(selection, search_rows.target.n, estimation_rows.target.n)
    record |= _judge_fit(selection, fits, estimation_rows)
    sizes = selection.found.terms.search_sizes[list(selected.term_indices)]
    record |= {"stage": selected.stage, "search_sizes": sizes.tolist(), **selection.partial}
    if selection.error_scale is not None:
        record["error_scale"] = selection.error_scale.record
    elif selection.found.exclusion is not None and not selected.is_exact:
        record["exclusion"] = selection.found.exclusion.record
    ranges = task.input_ranges or compute_input_ranges(task.dataset.columns_by_name)
    record["input_ranges"] = {name: ranges[name] for name in collect_inputs(expressions)}
    record |= build_box_record(task, expressions)
    if options.unsafe != "keep":
        record |= build_safety_record(reasons)
    if calibration is not None:
        record["bands"] = calibrate_split_band(fits[0][0], calibration, task, selection.error_scale)
    return _build_result(fits, estimation_rows, task, tables, notices=tuple(notices), record=record)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Selection:
    """What a search found, and the model that was selected.

    Parameters
    ----------
    task : FitTask
        The task; with weights if these are estimated.
    found : ModelSearchResult
        The terms and the models.
    models : sequence of ScoredModel
        The models from which one is selected, best first.
    selected : ScoredModel
        The selected one.
    is_mean_better : bool
        Whether the mean, without inputs that are required, is at least as good.
    criterion : Criterion
        What scores the models.
    cv_errors : list of float or None, or None
        Cross-validation error by number of terms; None without cross-validation.
    error_scale : ErrorScale or None
        The standard deviation of errors that grow with the target; None if rows are not weighted by it.
    partial : dict
        The record of what the time limit left out.
    """

    task: FitTask
    found: ModelSearchResult
    models: Sequence[ScoredModel]
    selected: ScoredModel
    is_mean_better: bool
    criterion: Criterion
    cv_errors: list[float | None] | None
    error_scale: ErrorScale | None
    partial: dict[str, Any]


def _search_and_select(
    task: FitTask, search_rows: Dataset, estimation_rows: Dataset, notices: list[str]
) -> _Selection:
    """Search for models and select one; what is said of it is added to `notices`."""
    options, search_task = task.options, replace(task, dataset=search_rows)
    monitor = build_monitor(search_task)
    found = run_model_search(search_task, notices, monitor)
    criterion: Criterion = "ebic" if options.criterion == "cv" else options.criterion
    all_models = score_allowed_models(found, task, search_rows, criterion)
    error_scale: ErrorScale | None = None
    weighted = weigh_growing_errors(task, search_rows, found, all_models, criterion)
    if weighted is not None:
        error_scale, task, found, all_models = weighted.scale, weighted.task, weighted.found, weighted.scored
        notices.append(format_error_scale(error_scale))
    models = [model for model in all_models if model.term_indices or task.required_inputs is None]
    cv_errors = _compute_nested_errors(search_task, criterion, monitor) if options.criterion == "cv" else None
    selected = select_identifiable_model(
        found, models or all_models, cv_errors, estimation_rows, _get_tested_target(search_task, search_rows)
    )
    mean = next(model for model in all_models if not model.term_indices)
    return _Selection(
        task=task,
        found=found,
        models=models,
        selected=selected,
        is_mean_better=task.required_inputs is not None and mean.score <= selected.score,
        criterion=criterion,
        cv_errors=cv_errors,
        error_scale=error_scale,
        partial=monitor.build_record(),
    )


def _build_model_tables(selection: _Selection, search_rows: Dataset) -> dict[str, Any]:
    """Build the tables of the Pareto front and of the alternatives."""
    found, models, selected = selection.found, selection.models, selection.selected
    row_weights = selection.task.get_row_weights(search_rows)
    front = _add_selected_model(find_pareto_front(models), selected)
    alternatives = find_alternatives(selected, models, _CRITERION_MARGIN, MAX_ALTERNATIVES)
    return {
        "front": build_model_table(
            found, search_rows, front, selection.criterion, selected, row_weights=row_weights
        ),
        "alternatives": build_model_table(
            found, search_rows, alternatives, selection.criterion, row_weights=row_weights
        ),
    }


def _judge_fit(selection: _Selection, fits: FormulaFits, estimation_rows: Dataset) -> dict[str, Any]:
    """Build the record of the verdict, with the evidence for numbers in a formula that is not exact."""
    if selection.is_mean_better:
        return {"verdict": {"kind": "none", "p_value": None}}
    row_weights = selection.task.get_row_weights(estimation_rows)
    verdict = judge_model(selection.selected, fits, estimation_rows, selection.task.grammar, row_weights)
    if len(fits) > 1 or verdict["kind"] not in {"approximation", "noise"}:
        return {"verdict": verdict}
    formula, estimates, _ = fits[0]
    evidence = compute_number_evidence(formula, estimates, estimation_rows, row_weights)
    return {"verdict": verdict, "numbers": [each._asdict() for each in evidence]}


def _build_result(
    fits: FormulaFits, estimation_rows: Dataset, task: FitTask, tables: dict[str, Any], **fields: Any
) -> FitResult | SharedFitResult:
    """Build the result of one target, or of several."""
    r2 = {
        formula.target: 1.0
        - (
            compute_unexplained_share(formula, estimation_rows, task.get_row_weights(estimation_rows))
            if snapped
            else estimates.unexplained_share
        )
        for formula, estimates, snapped in fits
    }
    operators = {name: operator for name, operator in task.grammar.operators.items() if name not in OPERATORS}
    formulas = [formula for formula, _, _ in fits]
    fields |= {"operators": operators, "data": task.dataset, "draw": FitPlots}
    if len(formulas) > 1:
        formula = build_shared_formula(formulas)
        return SharedFitResult(formula=formula, r2=r2, **tables, **fields)
    (only,) = formulas
    is_snapped = fits[0][2]
    if is_snapped and task.options.split == 0:
        tables = {**tables, "front": _show_final_numbers(tables["front"], only, r2[only.target])}
    return FitResult(formula=only, r2=r2[only.target], **tables, **fields)


def _show_final_numbers(front: pd.DataFrame, formula: Formula, r2: float) -> pd.DataFrame:
    """Show the selected model of the front with its final numbers, which are simpler than the fitted ones."""
    front = front.copy()
    front.loc[front["chosen"], ["formula", "r2"]] = formula.round_numbers(TABLE_DIGITS).text, r2
    return front


def _build_fit_record(selection: _Selection, n_choosing_rows: int, n_estimating_rows: int) -> dict[str, Any]:
    """Build the record of a fit: options, size of the search and numbers of rows."""
    task = selection.task
    return {
        "searched": selection.found.n_features,
        "models": selection.found.n_models,
        **build_fit_options_record(task),
        "rows_choosing": n_choosing_rows,
        "rows_estimating": n_estimating_rows,
        "cv_error": selection.cv_errors,
        **({} if task.units_record is None else {"units": task.units_record}),
        **(task.categories_record or {}),
    }


def _split_rows(task: FitTask) -> tuple[FitTask, Dataset, Dataset | None, CalibrationRows | None]:
    """Choose the rows that are kept from the search, without using the target, so that intervals are valid.

    Return the task, whose missing values are filled from the rows of the search, these rows, those that
    estimate the coefficients if they are others, and those that calibrate a band. The dataset of the task
    does not have the last ones, so that nothing of them can decide anything.
    """
    split, n = task.options.split, task.dataset.target.n
    if split == 0:
        return task, task.dataset, None, None
    if task.options.bands == "split":
        search_rows, held_out_rows, calibrating_rows = choose_band_rows(task)
        check_calibrating_rows(len(calibrating_rows), task)
    else:
        is_held_out = choose_held_out_rows(task)
        search_rows, held_out_rows = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
        calibrating_rows = None
    if len(held_out_rows) < _MIN_ESTIMATING_ROWS or len(search_rows) < _MIN_CHOOSING_ROWS:
        raise OptionError(
            f"{n} rows are too few to keep a share of {split:g} from the search: it needs at least "
            f"{_MIN_CHOOSING_ROWS} rows, and the estimates at least {_MIN_ESTIMATING_ROWS}"
        )
    task = fill_from_rows(task, search_rows)
    dataset, calibration = task.dataset, None
    if calibrating_rows is not None:
        calibration = CalibrationRows(dataset, calibrating_rows)
        task = replace(task, dataset=take_rows(dataset, np.concatenate((search_rows, held_out_rows))))
    return task, take_rows(dataset, search_rows), take_rows(dataset, held_out_rows), calibration


def _get_tested_target(task: FitTask, search_rows: Dataset) -> Values | None:
    """Return the target if a model must explain more than a few of its rows; None with weights of the user.

    Such weights may leave hardly any weight to most rows. Several targets are not tested.
    """
    targets = get_targets(search_rows)
    if len(targets) > 1 or task.source_weights is not None or task.options.criterion == "cv":
        return None
    (target,) = targets.values()
    return target


def _format_fit_notices(
    selected: ScoredModel,
    fits: FormulaFits,
    task: FitTask,
    partial: Mapping[str, Any],
    *,
    is_mean_better: bool,
) -> list[str]:
    """Return notices about the time limit, the selected model and its coefficients."""
    notices: list[str] = [format_partial_fit_notice(partial["partial"])] if partial else []
    if task.required_inputs is not None:
        notices += format_requirement_notices(task.required_inputs, fits, is_mean_better=is_mean_better)
    elif not selected.term_indices and not partial:
        notices.append("no formula is better than the mean: the rows show no relation, or there are too few")
    if selected.term_indices and task.options.split == 0 and not selected.is_exact:
        notices.append(
            Message(
                "the intervals ignore that the terms were selected on the same rows, so they are too narrow "
                f"by an unknown amount; {name_option('split', 0.5)} gives honest intervals"
            )
        )
    if task.row_order is not None and not selected.is_exact:
        notices.append(
            Message(
                "the criterion and the intervals assume independent errors; look at the residuals: with "
                f"{name_option('time')}, those of neighbouring rows may be alike"
            )
        )
    not_snapped = [formula.target for formula, _, snapped in fits if not snapped]
    if task.options.snap and not_snapped:
        suffix = f" of {', '.join(not_snapped)}" if len(fits) > 1 else ""
        notices.append(
            f"the coefficients{suffix} are as fitted: the data do not allow simple numbers for all"
        )
    return notices


def _add_selected_model(front_models: Sequence[ScoredModel], selected: ScoredModel) -> list[ScoredModel]:
    """Add the selected model to the models of the front if it is not among them."""
    if any(model is selected for model in front_models):
        return list(front_models)
    return sorted([*front_models, selected], key=lambda model: model.complexity)


def _compute_nested_errors(
    task: FitTask, criterion: Criterion, monitor: SearchMonitor
) -> list[float | None] | None:
    """Compute the cross-validation error of the whole search for each number of terms.

    None if the time is over, so that the criterion selects the model.

    Returns
    -------
    list of float or None
        Mean squared error by number of terms, from 0. With several targets, the mean over targets, each
        relative to its variance. None if a fold has no such model, or one that is undefined in its rows.
    """
    if not monitor.start(CROSS_VALIDATION):
        return None
    dataset, options, n = task.dataset, task.options, task.target.n
    folds = choose_folds(task, options.folds)
    if n - np.bincount(folds).max() < _MIN_CHOOSING_ROWS:
        raise OptionError(
            f"{n} rows are too few for cross-validation with {options.folds} folds: at least "
            f"{_MIN_CHOOSING_ROWS} must remain without each fold; use another criterion or more folds"
        )
    squares = np.zeros((options.max_terms + 1, n))
    for fold in range(int(folds.max()) + 1):
        fold_monitor = monitor.watch_fold()
        training_rows, test_rows = (np.flatnonzero(mask) for mask in (folds != fold, folds == fold))
        filled = fill_from_rows(task, training_rows).dataset
        squares[:, test_rows] = _compute_squared_errors(
            replace(task, dataset=take_rows(filled, training_rows)), filled, criterion, fold_monitor
        )[:, test_rows]
        if fold_monitor.is_partial:
            monitor.leave_out(CROSS_VALIDATION)
            return None
    row_weights = task.get_row_weights(dataset)
    errors = squares.mean(axis=1) if row_weights is None else (squares * row_weights.weights).mean(axis=1)
    return [float(error) if np.isfinite(error) else None for error in errors]


def _compute_squared_errors(
    training_task: FitTask, dataset: Dataset, criterion: Criterion, monitor: SearchMonitor
) -> Values:
    """Return the squared errors, shape (terms + 1, n), of the best model of each size on all rows."""
    result = run_model_search(training_task, [], monitor)
    models = score_models(
        result, training_task.count_rows(training_task.dataset), criterion, len(get_targets(dataset))
    )
    squares = np.full((training_task.options.max_terms + 1, dataset.target.n), np.nan)
    actual = np.array([*get_targets(dataset).values()])
    for size in range(training_task.options.max_terms + 1):
        model = next((candidate for candidate in models if len(candidate.term_indices) == size), None)
        if model is not None:
            terms = [result.terms.expressions[place] for place in model.term_indices]
            fits = fit_formulas(
                terms,
                training_task.dataset,
                training_task.options.level,
                snap=False,
                has_intercept=model.has_intercept,
                row_weights=training_task.get_row_weights(training_task.dataset),
            )
            errors = np.stack([predict_on_dataset(formula, dataset) for formula, _, _ in fits]) - actual
            squares[size] = (errors**2 / compute_target_scales(actual)[:, None]).mean(axis=0)
    return squares
