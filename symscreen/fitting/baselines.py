"""Compare a fit with other regressors on the same rows, by cross-validation of the whole search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from symscreen.data import take_rows
from symscreen.errors import OptionError
from symscreen.expressions.linear_formula import Formula
from symscreen.fitting.coefficients import get_input_columns, get_targets, predict_on_dataset
from symscreen.fitting.fit import prepare_fit
from symscreen.fitting.procedure import run_fit
from symscreen.fitting.row_splits import choose_folds
from symscreen.fitting.training_medians import fill_from_rows
from symscreen.messages import name_option

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values
    from symscreen.config.keyword_types import FitKeywords
    from symscreen.fitting.search_stages import FitTask

    # predicts test rows from training rows of a task
    _Model = Callable[[FitTask, NDArray[np.int64], NDArray[np.int64]], Values]


N_FOLDS = 5
_MIN_ROWS_PER_FOLD = 4
_N_TREES = 200


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
    """

    r2: dict[str, float]
    n_folds: int
    n_undefined: int

    @property
    def table(self) -> pd.DataFrame:
        """The figures as a data frame with the columns ``model`` and ``r2``."""
        import pandas as pd

        return pd.DataFrame({"model": list(self.r2), "r2": list(self.r2.values())})

    def __str__(self) -> str:
        figures = ", ".join(f"{name} {value:.2f}" for name, value in self.r2.items())
        text = f"R2 of {self.n_folds}-fold cross-validation: {figures}"
        return f"{text} (undefined in {self.n_undefined:,} rows)" if self.n_undefined else text


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
    if task.groups is not None:
        raise OptionError(
            f"the comparison with other regressors has no groups: leave {name_option('per')} out"
        )
    targets = get_targets(task.dataset)
    if len(targets) > 1:
        raise OptionError("fits of several targets are not compared with other regressors; give one target")
    (target,) = targets.values()
    n = len(target)
    if n_folds < 2 or n < n_folds * _MIN_ROWS_PER_FOLD:
        raise OptionError(
            f"{n} rows are too few for a comparison in {n_folds} folds: it needs 2 folds or more, and "
            f"{_MIN_ROWS_PER_FOLD} rows in each"
        )
    folds = choose_folds(task, n_folds)
    models: dict[str, _Model] = {"formula": _predict_by_formula, **_make_baselines()}
    predictions = {each: np.full(n, np.nan) for each in models}
    n_undefined = 0
    for fold in range(n_folds):
        training, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fold_task = fill_from_rows(task, training)
        for each, predict in models.items():
            predicted = predict(fold_task, training, test)
            undefined = ~np.isfinite(predicted)
            n_undefined += int(undefined.sum())
            predictions[each][test] = np.where(undefined, target[training].mean(), predicted)
    return Comparison(
        {each: _compute_r2(target, values) for each, values in predictions.items()}, n_folds, n_undefined
    )


def _predict_by_formula(task: FitTask, training: NDArray[np.int64], test: NDArray[np.int64]) -> Values:
    """Fit a formula to training rows and predict test rows."""
    result = run_fit(replace(task, dataset=take_rows(task.dataset, training), on_progress=None))
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
            columns = np.column_stack([*get_input_columns(task.dataset).values()])
            (target,) = get_targets(task.dataset).values()
            return np.asarray(regressor.fit(columns[training], target[training]).predict(columns[test]))

        return predict

    return {name: bind(regressor) for name, regressor in regressors.items()}


def _compute_r2(target: Values, predicted: Values) -> float:
    """Compute 1 − Σ(y − ŷ)²/Σ(y − ȳ)²; large values neither overflow nor underflow."""
    centred = target - target.mean()
    scale = np.abs(centred).max()
    residuals, centred = (target - predicted) / scale, centred / scale
    return float(1.0 - (residuals @ residuals) / (centred @ centred))
