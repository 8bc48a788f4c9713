"""The LASSO in glmnet's conventions (Friedman, Hastie and Tibshirani 2010), cross-validated.

Features are standardised inside, the response is centred, and a path holds 100 λ by default. All of them are
computed: glmnet's early stop, once the deviance hardly changes any more, is not applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.linear_models.lasso_path import (
    StandardizedData,
    compute_glmnet_lambdas,
    fit_lasso_path,
    standardize_features,
)
from symscreen.linear_models.model_criteria import assign_folds, compute_cv_error
from symscreen.screeners.base import CoefficientPath, JointScores, JointScreener, ScreenerOption
from symscreen.screeners.joint.penalty_path import (
    compute_path_direction,
    compute_path_loss,
    find_entry_lambdas,
    find_min_error_step,
    find_one_se_step,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values
    from symscreen.screeners.base import JointInput


__all__ = ["LASSO", "LassoCrossValidation", "compute_lasso_path", "cross_validate_lasso"]

_MAX_STANDARD_SCORE = (
    1e100  # spreads from its mean; a row left out that lies farther would have an infinite square
)
_WORK_BUDGET = {
    "sklearn": 5e10,
    "glmnet": 5e9,
}  # fits · q·n · min(q, n), in about 20 s where few features matter
_MIN_FEATURES, _MAX_FEATURES = 20, 10_000  # features
_MAX_FLOAT = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class LassoCrossValidation:
    """A LASSO path and what cross-validation says of it; s penalties, q features.

    Parameters
    ----------
    path : Path
        On all rows, with the cross-validated mean squared error.
    coefficients : float64 array, shape (s, q)
        Of the standardised features, in the response's unit.
    standard_error : float64 array, shape (s,), of the mean squared error
    stability : float64 array, shape (s, q)
        The share of the folds in which a feature's coefficient is not zero.
    best, one_error : int
        The rows of λ.min, of least error, and of λ.1se, the largest whose error is within one standard error
        of the least.
    missed : tuple of str
        Where the solver did not converge, in words.
    """

    path: CoefficientPath
    coefficients: Values
    standard_error: Values
    stability: Values
    min_error_step: int
    one_se_step: int
    convergence_warnings: tuple[str, ...]


def compute_lasso_path(
    values: ArrayLike, target: ArrayLike, *, lambdas: ArrayLike | None = None, engine: str = "sklearn"
) -> CoefficientPath:
    """Compute the LASSO's coefficients along a path of penalties.

    Parameters
    ----------
    values : array, shape (q, n)
        One row a feature; finite, q ≥ 1.
    target : array, shape (n,)
        The response; finite.
    lambdas : array, shape (s,), optional
        Penalties, positive, in the response's unit; by default glmnet's 100.
    engine : {"sklearn", "glmnet"}
        The solver, as for `symscreen.linear_models.lasso_path.fit_lasso_path`.

    Returns
    -------
    Path
        From the largest λ down, without errors.

    Raises
    ------
    OptionError
        If the engine is unknown or not installed, or a λ is not a positive number.

    Examples
    --------
    >>> path = compute_lasso_path([[10.0, 30.0, 10.0, 30.0]], [-3.0, 3.0, -3.0, 3.0], lambdas=[3.0, 1.0])
    >>> path.coefficients.round(6).tolist(), path.intercepts.round(6).tolist()
    ([[0.0], [0.2]], [0.0, -4.0])
    """
    fit = _fit_all_rows(np.asarray(values, np.float64), np.asarray(target, np.float64), lambdas, engine)
    return fit.build_path(np.full(fit.lambdas.size, np.nan))


def cross_validate_lasso(
    values: ArrayLike,
    target: ArrayLike,
    folds: ArrayLike,
    *,
    lambdas: ArrayLike | None = None,
    engine: str = "sklearn",
) -> LassoCrossValidation:
    """Cross-validate the LASSO as cv.glmnet does where it is given the penalties: every fold at all of them.

    Parameters
    ----------
    values : array, shape (q, n)
        One row a feature; finite, q ≥ 1.
    target : array, shape (n,)
        The response; finite.
    folds : array, shape (n,)
        The fold of each row: two labels or more. Each fit standardises the features anew.
    lambdas, engine
        As for `compute_lasso_path`.

    Returns
    -------
    CrossValidated
        With error and standard error as `symscreen.linear_models.model_criteria.compute_cv_error` has them.

    Raises
    ------
    OptionError
        As for `compute_lasso_path`, or if the folds are fewer than two or do not fit the rows.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 30)
    >>> cv = cross_validate_lasso([x, x**2], 2.0 * x, np.arange(30) % 5)
    >>> (cv.coefficients[cv.best] != 0.0).tolist()
    [True, False]
    """
    values, target = np.asarray(values, np.float64), np.asarray(target, np.float64)
    labels, fold = np.unique(np.asarray(folds), return_inverse=True)
    if labels.size < 2 or fold.shape != target.shape:
        raise OptionError(
            f"{fold.size} rows are dealt into {labels.size} folds, and the response has {target.size} rows; "
            "give every row the label of its fold, and two labels or more"
        )
    full = _fit_all_rows(values, target, lambdas, engine)
    squares, stability = np.empty((full.lambdas.size, target.size)), np.zeros(full.unit_coefficients.shape)
    missed = _format_convergence_warnings(engine, full.n_unconverged, full.lambdas.size, "on all rows")
    for label in range(labels.size):
        out = fold == label
        squares[:, out], inside, without = _fit_without_rows(out, values, full)
        stability += inside
        missed += _format_convergence_warnings(
            engine, without, full.lambdas.size, f"without fold {label + 1}"
        )
    error, standard_error = compute_cv_error(squares, fold)
    return LassoCrossValidation(
        full.build_path(_scale_by_pow2(error, 2 * full.exponent)),
        _scale_by_pow2(full.unit_coefficients, full.exponent),
        _scale_by_pow2(standard_error, 2 * full.exponent),
        stability / labels.size,
        find_min_error_step(error),
        find_one_se_step(error, standard_error),
        missed,
    )


@dataclass(frozen=True, eq=False)
class _LassoFit:
    """A path on all rows. In units of 2^exponent the response is near 1, so that its squares are finite."""

    standardized: StandardizedData
    engine: str
    exponent: int
    target: Values  # in these units, as are the next two
    lambdas: Values
    unit_coefficients: Values  # the coefficients of the standardised features, (s, q)
    n_unconverged: int

    def build_path(self, cv_error: Values) -> CoefficientPath:
        own, intercepts = self.standardized.unscale_coefficients(
            _scale_by_pow2(self.unit_coefficients, self.exponent)
        )
        return CoefficientPath(_scale_by_pow2(self.lambdas, self.exponent), own, intercepts, cv_error)


def _fit_all_rows(values: Values, target: Values, lambdas: ArrayLike | None, engine: str) -> _LassoFit:
    standard = standardize_features(values, target)
    exponent = int(np.frexp(np.abs(standard.target).max())[1])
    unit = np.ldexp(standard.target, -exponent)
    if lambdas is None:
        steps = compute_glmnet_lambdas(standard.features, unit)
    else:
        steps = np.sort(np.ldexp(np.asarray(lambdas, np.float64).ravel(), -exponent))[::-1]
        if not (steps.size and np.isfinite(steps).all() and (steps > 0.0).all()):
            raise OptionError(f"the LASSO's penalties are {lambdas!r}; give positive numbers, at least one")
    units, missed = fit_lasso_path(standard.features, unit, steps, engine)
    return _LassoFit(standard, engine, exponent, unit, steps, units, missed)


def _fit_without_rows(
    held_out: NDArray[np.bool_], values: Values, full_fit: _LassoFit
) -> tuple[Values, NDArray[np.bool_], int]:
    """Fit without some rows; return the squared errors on them, (s, rows), what is selected, what missed."""
    rest = standardize_features(np.ascontiguousarray(values[:, ~held_out]), full_fit.target[~held_out])
    units, missed = fit_lasso_path(rest.features, rest.target, full_fit.lambdas, full_fit.engine)
    with np.errstate(over="ignore"):
        away = (values[:, held_out] - rest.centres[:, None]) / rest.scales[:, None]
    predicted = rest.target_mean + units @ np.clip(away, -_MAX_STANDARD_SCORE, _MAX_STANDARD_SCORE)
    return (full_fit.target[held_out] - predicted) ** 2, units != 0.0, missed


def _format_convergence_warnings(
    engine: str, n_unconverged: int, n_steps: int, fit_description: str
) -> tuple[str, ...]:
    return (
        (f"{engine} did not converge at {n_unconverged} of {n_steps} λ {fit_description}",)
        if n_unconverged
        else ()
    )


def _scale_by_pow2(values: Values, exponent: int) -> Values:
    """Multiply by 2^exponent; what leaves float64 stays at its largest number."""
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(values, exponent), -_MAX_FLOAT, _MAX_FLOAT)


def _score_features(inputs: JointInput, settings: Mapping[str, Any]) -> JointScores:
    target = inputs.numeric_target.values
    folds = assign_folds(target.size, settings["folds"], inputs.seed)
    cv = cross_validate_lasso(inputs.values, target, folds, engine=settings["engine"])
    step = cv.min_error_step if settings["rule"] == "min" else cv.one_se_step
    chosen, lambdas = cv.coefficients[step], cv.path.steps
    entry = find_entry_lambdas(cv.coefficients, lambdas)
    return JointScores(
        score=chosen,
        loss=compute_path_loss(chosen, entry, lambdas),
        selected=chosen != 0.0,
        direction=compute_path_direction(cv.coefficients, step),
        columns={"lasso_entry": entry, "lasso_stability": cv.stability[step]},
        path=cv.path,
        record={
            "engine": settings["engine"],
            "rule": settings["rule"],
            "lambda": float(lambdas[step]),
            "lambda_min": float(lambdas[cv.min_error_step]),
            "lambda_1se": float(lambdas[cv.one_se_step]),
            "error": float(cv.path.error[step]),
            "standard_error": float(cv.standard_error[step]),
            "folds": int(folds.max()) + 1,
            "selected": int(np.count_nonzero(chosen)),
            "warnings": _collect_warnings(cv, target.size, settings["folds"]),
        },
    )


def _collect_warnings(cv: LassoCrossValidation, n_rows: int, folds: int) -> list[str]:
    warnings = list(cv.convergence_warnings)
    if folds > n_rows:
        warnings.append(f"{n_rows} rows make {n_rows} folds, each of one row, not {folds}")
    if cv.min_error_step == cv.path.steps.size - 1:
        warnings.append(
            "the cross-validated error is least at the smallest λ of the path: a model with more features "
            "may predict better"
        )
    return warnings


def _estimate_capacity(n_rows: int, settings: Mapping[str, Any]) -> int:
    # a path has about min(q, n) knots at the most, and each costs about q·n
    fits = min(n_rows, settings["folds"]) + 1
    room = _WORK_BUDGET[settings["engine"]] / (fits * n_rows)
    # q·min(q, n) ≤ room
    return int(np.clip(max(room / n_rows, np.sqrt(room)), _MIN_FEATURES, _MAX_FEATURES))


LASSO = JointScreener(
    name="lasso",
    score_function=_score_features,
    capacity=_estimate_capacity,
    equivalence="affine",
    options=(
        ScreenerOption(
            "engine",
            "sklearn",
            "sklearn follows the path exactly; glmnet is R's own solver (the extra symscreen[glmnet])",
            choices=("sklearn", "glmnet"),
        ),
        ScreenerOption("folds", 10, "folds of the cross-validation; more than rows are rows", min_value=2),
        ScreenerOption(
            "rule",
            "min",
            "λ of least error, which seldom loses a true term; or the largest within a standard error, which "
            "keeps fewer false ones",
            choices=("min", "1se"),
        ),
    ),
    summary="coefficient of the LASSO at the cross-validated λ, for features of one scale; 0 where left out",
    assumes="the response is a sum of few of the features shown",
    fails="among near copies it names one, not always the true one; at λ.min it keeps false features too",
    cost="seconds for 1000 features, 1000 rows and 10 folds; a minute where nothing is sparse",
    source="Tibshirani 1996; path and cross-validation as in glmnet (Friedman, Hastie and Tibshirani 2010)",
)
