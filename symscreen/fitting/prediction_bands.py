"""Prediction bands of a fit: split conformal on rows that the fit does not see, or CV+ over its folds.

The methods are in `symscreen.statistics.inference.prediction_bands`. Their promises hold because no step of a
fit uses the rows that calibrate it: neither the search, nor the choice, nor the coefficients, nor medians
that fill missing values. The rows that calibrate, and the folds, are drawn by a random generator whose seed
comes from the table, so that they do not depend on the rows' values in any other way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data import take_rows
from symscreen.errors import OptionError
from symscreen.export.prediction_band import ErrorDeviations, build_cv_plus_record, build_split_record
from symscreen.expressions.input_ranges import compute_input_ranges
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.traversal import collect_inputs
from symscreen.fitting.coefficients import get_targets
from symscreen.fitting.formula_fits import predict_on_dataset
from symscreen.fitting.row_splits import choose_band_folds
from symscreen.fitting.search_monitor import FitProgress
from symscreen.fitting.training_medians import fill_from_rows
from symscreen.grammar import OPERATORS
from symscreen.messages import name_option
from symscreen.results.fit_result import FitResult
from symscreen.screening.inference.feature_safety import build_box_record
from symscreen.statistics.inference.error_scale import ErrorScale
from symscreen.statistics.inference.prediction_bands import count_needed_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symscreen._typing import Integers, Values
    from symscreen.data import Dataset
    from symscreen.fitting.search_stages import FitTask
    from symscreen.results.fit_result import AnyFitResult


BAND_FOLDS = 10
_MAX_CV_PLUS_ROWS = 100_000  # their residuals are stored with the model


@dataclass(frozen=True, eq=False)
class CalibrationRows:
    """The rows that calibrate a band.

    Parameters
    ----------
    dataset : Dataset
        All rows; missing values are filled with the medians of the rows of the search.
    rows : int64 array, shape (m,)
        The indices of the rows that calibrate.
    """

    dataset: Dataset
    rows: Integers


def check_band_task(task: FitTask) -> None:
    """Refuse a band for several targets, or for rows of different weights.

    Raises
    ------
    OptionError
        If a band is requested for such a fit.
    """
    if task.options.bands is None:
        return
    option = name_option("bands", task.options.bands)
    if len(get_targets(task.dataset)) > 1:
        raise OptionError(f"{option} is for one target, and there are several: fit each by itself")
    if task.source_weights is not None:
        raise OptionError(
            f"{option} cannot be combined with {name_option('weights')}: a band assumes exchangeable rows, "
            "and rows of different weights are not; leave one of them out"
        )


def check_calibrating_rows(n_rows: int, task: FitTask) -> None:
    """Refuse a level for which so few rows calibrate that the band would be infinite.

    Raises
    ------
    OptionError
        If there are too few rows.
    """
    needed = count_needed_rows(task.options.bands_level)
    if n_rows < needed:
        remedy = (
            f"a larger share with {name_option('split')}" if task.options.bands == "split" else "more rows"
        )
        raise OptionError(
            f"{n_rows} rows are too few to calibrate a band of "
            f"{name_option('bands_level', task.options.bands_level)}: it needs at least {needed}; give "
            f"{remedy}, or a lower level"
        )


def calibrate_split_band(
    formula: Formula, calibration: CalibrationRows, task: FitTask, scale: ErrorScale | None
) -> dict[str, Any]:
    """Build the record of a split conformal band from a formula and the rows that calibrate it.

    With a standard deviation of errors, which other rows gave, the width grows with the prediction.
    """
    residuals = _compute_residuals(formula, calibration.dataset, calibration.rows, task)
    errors = _compute_deviations(formula, scale, calibration.dataset, calibration.rows, task)
    if errors is None:
        return build_split_record(residuals, task.options.bands_level)
    return build_split_record(residuals / errors.deviations, task.options.bands_level, errors.scale)


def fit_with_cv_plus(task: FitTask, fit: Callable[[FitTask], AnyFitResult]) -> FitResult:
    """Fit all rows and, for a CV+ band, the rows without each fold; the record has the band.

    Parameters
    ----------
    task : FitTask
        A fit of one target.
    fit : callable
        Runs a fit without a band.

    Returns
    -------
    FitResult

    Raises
    ------
    OptionError
        If there are too few rows to calibrate the band, or too many to store their residuals.
    """
    n = task.dataset.target.n
    if n > _MAX_CV_PLUS_ROWS:
        raise OptionError(
            f"{n:,} rows are too many for {name_option('bands', 'cv+')}, which stores the residual of each; "
            f"at most {_MAX_CV_PLUS_ROWS:,}: use {name_option('bands', 'split')}"
        )
    check_calibrating_rows(n, task)
    n_folds = min(BAND_FOLDS, n)
    folds = choose_band_folds(task, n_folds)
    result = _require_one_target(fit(task))
    fold_results, residuals, errors = [], [], []
    for fold in range(n_folds):
        if task.on_progress is not None:
            task.on_progress(FitProgress(f"prediction band, fold {fold + 1} of {n_folds}", None, None))
        training, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        filled = fill_from_rows(task, training)
        fold_task = replace(filled, dataset=take_rows(filled.dataset, training), on_progress=None)
        fold_results.append(_require_one_target(fit(fold_task)))
        formula, stored = fold_results[-1].formula, fold_results[-1].record.get("error_scale")
        scale = None if stored is None else ErrorScale(**stored)
        residuals.append(_compute_residuals(formula, filled.dataset, test, task))
        errors.append(_compute_deviations(formula, scale, filled.dataset, test, task))
    record = build_cv_plus_record(
        [_get_original_formula(each) for each in fold_results],
        residuals,
        task.options.bands_level,
        {**OPERATORS, **task.grammar.operators},
        errors,
    )
    all_results = [result, *fold_results]
    return replace(
        result, record={**result.record, **_build_range_records(task, all_results), "bands": record}
    )


def _build_range_records(task: FitTask, results: Sequence[FitResult]) -> dict[str, Any]:
    """Build the records of the ranges of all inputs that a formula or a model of a fold has."""
    expressions = [term for each in results for term in each.formula.terms]
    ranges = task.input_ranges or compute_input_ranges(task.dataset.columns_by_name)
    return {
        "input_ranges": {name: ranges[name] for name in collect_inputs(expressions)},
        **build_box_record(task, expressions),
    }


def _compute_residuals(formula: Formula, dataset: Dataset, rows: Integers, task: FitTask) -> Values:
    """Compute the absolute residuals of rows in original units, shape (m,); infinity where undefined."""
    (target,) = get_targets(dataset).values()
    residuals = np.abs(target[rows] - predict_on_dataset(formula, dataset)[rows])
    residuals = residuals / _get_unit_factor(formula, task)
    return np.where(np.isnan(residuals), np.inf, residuals)


def _compute_deviations(
    formula: Formula, scale: ErrorScale | None, dataset: Dataset, rows: Integers, task: FitTask
) -> ErrorDeviations | None:
    """Compute the standard deviations of the errors of rows in original units; 1 where undefined."""
    if scale is None:
        return None
    factor = _get_unit_factor(formula, task)
    predictions = predict_on_dataset(formula, dataset) / factor
    is_defined = np.isfinite(predictions)
    others = is_defined.copy()
    others[rows] = False
    raised = ErrorScale(scale.constant / factor, scale.proportional).raise_constant(predictions[others])
    deviations = raised.compute_deviations(np.where(is_defined, predictions, 0.0))[rows]
    return ErrorDeviations(raised, deviations)


def _get_unit_factor(formula: Formula, task: FitTask) -> float:
    """Return the size of the target's unit in units of the fit."""
    if task.units_record is None:
        return 1.0
    return abs(float(Fraction(task.units_record["targets"][formula.target]["factor"])))


def _get_original_formula(result: FitResult) -> Formula:
    """Return the formula of a fit in original units."""
    formula = result.formula_in_original_units
    assert isinstance(formula, Formula)  # noqa: S101  # there is one target
    return formula


def _require_one_target(result: AnyFitResult) -> FitResult:
    """Return a result that has one target, which `check_band_task` makes sure of."""
    assert isinstance(result, FitResult)  # noqa: S101  # as the docstring says
    return result
