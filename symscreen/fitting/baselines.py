"""Compare a fit with other regressors on the same rows, by cross-validation of its search.

`compare_baselines` repeats the whole search in each fold. `compare_by_default` repeats the stage that found
the formula, with smaller pools, and only for tables of a limited size.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from symscreen.data import take_rows
from symscreen.errors import InputError, OptionError
from symscreen.expressions.linear_formula import Formula
from symscreen.fitting.coefficients import get_input_columns, get_targets
from symscreen.fitting.fit import prepare_fit
from symscreen.fitting.formula_fits import predict_on_dataset
from symscreen.fitting.procedure import run_fit
from symscreen.fitting.row_splits import choose_folds
from symscreen.fitting.search_monitor import FitProgress
from symscreen.fitting.search_part import find_search_part
from symscreen.fitting.training_medians import fill_from_rows
from symscreen.messages import Message, name_option
from symscreen.results.fit_result import format_r2

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values
    from symscreen.config.keyword_types import FitKeywords
    from symscreen.fitting.search_part import SearchPart
    from symscreen.fitting.search_stages import FitTask
    from symscreen.results.fit_result import AnyFitResult, FitResult

    # predicts test rows from training rows of a task
    _Model = Callable[[FitTask, NDArray[np.int64], NDArray[np.int64]], Values]


N_FOLDS = 5
MAX_DEFAULT_VALUES = 20_000
"""Rows times inputs up to which a fit is compared by default."""

_MAX_DEFAULT_FEATURE_VALUES = 200_000_000  # features of the largest repeated space, times rows
_MIN_ROWS_PER_FOLD = 4
_N_TREES = 100


@dataclass(frozen=True)
class Comparison:
    """Cross-validated R² of a fit and of other regressors.

    Parameters
    ----------
    r2 : dict of str to float
        R² by the name of the model, 1 − Σ(y − ŷ)²/Σ(y − ȳ)² over all rows. Each ŷ is the prediction of a
        model that was fitted without the row. R² is negative for models that are worse than the mean.
    n_folds : int
        Number of folds.
    n_undefined : int
        Rows in which the formula is undefined. The mean of the training rows replaces it there.
    part : SearchPart or None
        The part of the search that was repeated in each fold; None if all of it was.
    """

    r2: dict[str, float]
    n_folds: int
    n_undefined: int
    part: SearchPart | None = None

    @property
    def table(self) -> pd.DataFrame:
        """The figures as a data frame with the columns ``model`` and ``r2``."""
        import pandas as pd

        return pd.DataFrame({"model": list(self.r2), "r2": list(self.r2.values())})

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {format_r2(value, 2)}" for name, value in self.r2.items())
        text = f"R2 of {self.n_folds}-fold cross-validation: {figures}"
        return f"{text} (undefined in {self.n_undefined:,} rows)" if self.n_undefined else text

    @property
    def note(self) -> str:
        """What was repeated in each fold; empty if it was the whole search."""
        if self.part is None:
            return ""
        if self.part.stage is None:
            repeated = "Its formula is the mean in each fold"
        else:
            repeated = f"Each fold repeats the stage that found the formula ({self.part.stage})"
        return Message(f"{repeated}; {name_option('baselines')} repeats the whole search.")


def compare_baselines(
    X: Any,  # noqa: N803  # as in `symscreen.fit`
    y: ArrayLike | None = None,
    *,
    n_folds: int = N_FOLDS,
    **options: Unpack[FitKeywords],
) -> Comparison:
    """Compare a fit with ridge regression, gradient boosting and a random forest on the inputs.

    The whole search is repeated in each fold, so that the figure of the formula is not too good. It takes
    about `n_folds` times as long as the fit.

    Parameters
    ----------
    X, y
        As in `symscreen.fit`.
    n_folds : int
        Number of folds, at least 2. They are balanced over the target, or stretches of each run with `time`.
    **options
        The options of `symscreen.fit`.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        As in `symscreen.fit`, and if there are several targets or too few rows.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.load_strogatz("lv1")
    >>> found = symscreen.compare_baselines(data.frame, operators="strogatz", layers="ub")
    >>> list(found.r2)
    ['formula', 'ridge', 'gradient boosting', 'random forest']
    >>> round(found.r2["formula"], 6)
    1.0
    """
    return compare_task(prepare_fit(X, y, options), n_folds)


def compare_task(task: FitTask, n_folds: int = N_FOLDS) -> Comparison:
    """Compare a fit with other regressors; see `compare_baselines`."""
    check_comparable(task, n_folds)
    return _cross_validate(task, n_folds)


def compare_by_default(task: FitTask, result: AnyFitResult) -> Comparison | str:
    """Compare a fit that has run with other regressors, or say why it is not done by default.

    Each fold repeats the stage of the search that found the formula, with the pools and subsets of a quick
    search. A rule on the table and the options decides, so that the comparison takes less time than the fit.

    Parameters
    ----------
    task : FitTask
        The fit.
    result : FitResult, SharedFitResult or GroupedFitResult
        Its result.

    Returns
    -------
    Comparison or str
        The comparison, or the reason; the reason is empty if a comparison is impossible.
    """
    if task.groups is not None or len(get_targets(task.dataset)) > 1:
        return ""
    part = find_search_part(cast("FitResult", result))
    reason = _find_reason_against(task, result, part)
    if reason is not None:
        return reason
    try:
        return _cross_validate(replace(task, search_part=part), N_FOLDS)
    except InputError as error:  # the rows without a fold may be too few, or equal, for a fit
        return Message(f"Not compared with other regressors: {error.template}.")


def _find_reason_against(task: FitTask, result: AnyFitResult, part: SearchPart) -> str | None:
    """Say why a fit is not compared by default; None if it is."""
    n, n_inputs, options = task.dataset.target.n, len(task.dataset.names), task.options
    if result.record["verdict"]["kind"] == "exact":
        return "Not compared with other regressors: the formula is exact."
    if n < N_FOLDS * _MIN_ROWS_PER_FOLD:
        return f"Not compared with other regressors: {n} rows are too few for {N_FOLDS} folds."
    if n * n_inputs > MAX_DEFAULT_VALUES:
        reason = f"{n:,} rows x {n_inputs:,} inputs are more than {MAX_DEFAULT_VALUES:,} values"
    elif part.searches_spaces and n * part.n_features > _MAX_DEFAULT_FEATURE_VALUES:
        reason = f"its terms were chosen from {part.n_features:,.0f} features"
    elif options.effort == "thorough" or options.preset is not None or options.criterion == "cv":
        reason = "its search takes long"
    elif options.time_limit is not None:
        reason = "the time of the search is limited"
    else:
        return None
    return Message(f"Not compared with other regressors: {reason}; {name_option('baselines')} does it.")


def check_comparable(task: FitTask, n_folds: int = N_FOLDS) -> None:
    """Refuse a fit that cannot be compared with other regressors.

    Raises
    ------
    OptionError
        If the fit has groups or several targets, or too few rows for the folds.
    """
    if task.groups is not None:
        raise OptionError(
            f"the comparison with other regressors has no groups: leave {name_option('per')} out"
        )
    targets = get_targets(task.dataset)
    if len(targets) > 1:
        raise OptionError("fits of several targets are not compared with other regressors; give one target")
    n = task.dataset.target.n
    if n_folds < 2 or n < n_folds * _MIN_ROWS_PER_FOLD:
        raise OptionError(
            f"{n} rows are too few for a comparison in {n_folds} folds: it needs 2 folds or more, and "
            f"{_MIN_ROWS_PER_FOLD} rows in each"
        )


def _cross_validate(task: FitTask, n_folds: int) -> Comparison:
    """Predict each fold from the others by each model, and compute R² over all rows."""
    (target,) = get_targets(task.dataset).values()
    n = len(target)
    folds = choose_folds(task, n_folds)
    models: dict[str, _Model] = {"formula": _predict_by_formula, **_make_baselines()}
    predictions = {each: np.full(n, np.nan) for each in models}
    n_undefined = 0
    for fold in range(n_folds):
        _report_fold(task, fold, n_folds)
        training, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fold_task = fill_from_rows(task, training)
        for each, predict in models.items():
            predicted = predict(fold_task, training, test)
            undefined = ~np.isfinite(predicted)
            n_undefined += int(undefined.sum())
            predictions[each][test] = np.where(undefined, target[training].mean(), predicted)
    return Comparison(
        {each: _compute_r2(target, values) for each, values in predictions.items()},
        n_folds,
        n_undefined,
        task.search_part,
    )


def _report_fold(task: FitTask, fold: int, n_folds: int) -> None:
    """Report that the comparison in a fold begins."""
    if task.on_progress is not None:
        stage = f"comparison with other regressors, fold {fold + 1} of {n_folds}"
        task.on_progress(FitProgress(stage, None, None))


def _predict_by_formula(task: FitTask, training: NDArray[np.int64], test: NDArray[np.int64]) -> Values:
    """Fit a formula to training rows and predict test rows."""
    options = replace(task.options, bands=None)
    result = run_fit(
        replace(task, dataset=take_rows(task.dataset, training), options=options, on_progress=None)
    )
    formula = result.formula
    assert isinstance(formula, Formula)  # noqa: S101  # there is one target
    return np.asarray(predict_on_dataset(formula, task.dataset)[test])


def _make_baselines() -> dict[str, _Model]:
    """Return functions that fit a regressor of scikit-learn to training rows and predict test rows."""
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    regressors = {
        "ridge": make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-3.0, 3.0, 13))),
        "gradient boosting": GradientBoostingRegressor(random_state=0),
        "random forest": RandomForestRegressor(_N_TREES, random_state=0),
    }

    def bind(regressor: Any) -> _Model:
        def predict(task: FitTask, training: NDArray[np.int64], test: NDArray[np.int64]) -> Values:
            inputs = [_rescale(values)[0] for values in get_input_columns(task.dataset).values()]
            columns = np.column_stack(inputs)
            target, center, scale = _rescale(*get_targets(task.dataset).values())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a regressor that converges badly is compared as it is
                regressor.fit(columns[training], target[training])
                return np.asarray(center + scale * regressor.predict(columns[test]))

        return predict

    return {name: bind(regressor) for name, regressor in regressors.items()}


def _rescale(values: Values) -> tuple[Values, float, float]:
    """Map values to [−1, 1], for trees of scikit-learn have inputs of 32 bits; return centre and scale."""
    low, high = float(values.min()), float(values.max())
    center = low / 2 + high / 2
    scale = float(np.abs(values - center).max()) or 1.0
    return (values - center) / scale, center, scale


def _compute_r2(target: Values, predicted: Values) -> float:
    """Compute 1 − Σ(y − ŷ)²/Σ(y − ȳ)²; large values neither overflow nor underflow."""
    centered = target - target.mean()
    scale = np.abs(centered).max()
    residuals, centered = (target - predicted) / scale, centered / scale
    return float(1.0 - (residuals @ residuals) / (centered @ centered))
