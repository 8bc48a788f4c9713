"""The LASSO with the conventions of glmnet (Friedman, Hastie and Tibshirani 2010), with cross-validation.

Features are standardised internally, the target is centred, and a path has 100 λ by default. All of them are
computed: glmnet's early stopping, when the deviance hardly changes, is not applied.
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


_MAX_STANDARD_SCORE = 1e100  # held-out values are clipped here, so that their squares are finite
_WORK_BUDGET = {"sklearn": 5e10, "glmnet": 5e9}  # fits · q·n · min(q, n); about 20 s if few features matter
_MIN_FEATURES, _MAX_FEATURES = 20, 10_000
_MAX_FLOAT = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class LassoCrossValidation:
    """A LASSO path with its cross-validation; s penalties, q features.

    Parameters
    ----------
    path : CoefficientPath
        The path on all rows, with the cross-validated mean squared error.
    coefficients : float64 array, shape (s, q)
        Coefficients of the standardised features, in the target's unit.
    standard_error : float64 array, shape (s,)
        The standard error of the mean squared error.
    stability : float64 array, shape (s, q)
        The share of the folds in which a feature's coefficient is not zero.
    min_error_step, one_se_step : int
        The rows of λ.min, with the smallest error, and of λ.1se, the largest λ whose error is within one
        standard error of the smallest.
    convergence_warnings : tuple of str
        Warnings about λ at which the solver did not converge.
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
        One feature per row; finite, q ≥ 1.
    target : array, shape (n,)
        The target; finite.
    lambdas : array, shape (s,), optional
        Penalties, positive, in the target's unit. Default: glmnet's 100.
    engine : {"sklearn", "glmnet"}
        The solver, see `symscreen.linear_models.lasso_path.fit_lasso_path`.

    Returns
    -------
    CoefficientPath
        In descending order of λ, without errors.

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
    """Cross-validate the LASSO like cv.glmnet with given penalties: every fold uses all of them.

    Parameters
    ----------
    values : array, shape (q, n)
        One feature per row; finite, q ≥ 1.
    target : array, shape (n,)
        The target; finite.
    folds : array, shape (n,)
        The label of each row's fold; at least two labels. Each fit standardises the features again.
    lambdas, engine
        As in `compute_lasso_path`.

    Returns
    -------
    LassoCrossValidation
        With errors and standard errors from `symscreen.linear_models.model_criteria.compute_cv_error`.

    Raises
    ------
    OptionError
        As in `compute_lasso_path`, or if there are fewer than two folds, or not one label per row.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 30)
    >>> cv = cross_validate_lasso([x, x**2], 2.0 * x, np.arange(30) % 5)
    >>> (cv.coefficients[cv.min_error_step] != 0.0).tolist()
    [True, False]
    """
    values, target = np.asarray(values, np.float64), np.asarray(target, np.float64)
    labels, fold = np.unique(np.asarray(folds), return_inverse=True)
    if labels.size < 2 or fold.shape != target.shape:
        raise OptionError(
            f"{fold.size} rows are assigned to {labels.size} folds, and the target has {target.size} rows; "
            "give the label of a fold for every row, with at least two labels"
        )
    full = _fit_all_rows(values, target, lambdas, engine)
    squares, stability = np.empty((full.lambdas.size, target.size)), np.zeros(full.unit_coefficients.shape)
    convergence_warnings = _format_convergence_warnings(
        engine, full.n_unconverged, full.lambdas.size, "on all rows"
    )
    for label in range(labels.size):
        out = fold == label
        squares[:, out], is_active, n_unconverged = _fit_without_rows(out, values, full)
        stability += is_active
        convergence_warnings += _format_convergence_warnings(
            engine, n_unconverged, full.lambdas.size, f"without fold {label + 1}"
        )
    error, standard_error = compute_cv_error(squares, fold)
    return LassoCrossValidation(
        full.build_path(_scale_by_pow2(error, 2 * full.exponent)),
        _scale_by_pow2(full.unit_coefficients, full.exponent),
        _scale_by_pow2(standard_error, 2 * full.exponent),
        stability / labels.size,
        find_min_error_step(error),
        find_one_se_step(error, standard_error),
        convergence_warnings,
    )


@dataclass(frozen=True, eq=False)
class _LassoFit:
    """A path on all rows. In units of 2^exponent the target is near 1, so that its squares are finite."""

    standardized: StandardizedData
    engine: str
    exponent: int
    target: Values  # in units of 2^exponent, like the next two
    lambdas: Values
    unit_coefficients: Values  # (s, q): coefficients of the standardised features
    n_unconverged: int

    def build_path(self, cv_error: Values) -> CoefficientPath:
        """Build the path with coefficients of the original features."""
        coefficients, intercepts = self.standardized.unscale_coefficients(
            _scale_by_pow2(self.unit_coefficients, self.exponent)
        )
        lambdas = _scale_by_pow2(self.lambdas, self.exponent)
        return CoefficientPath(lambdas, coefficients, intercepts, cv_error)


def _fit_all_rows(values: Values, target: Values, lambdas: ArrayLike | None, engine: str) -> _LassoFit:
    """Fit the path on all rows."""
    standardized = standardize_features(values, target)
    exponent = int(np.frexp(np.abs(standardized.target).max())[1])
    scaled_target = np.ldexp(standardized.target, -exponent)
    if lambdas is None:
        sorted_lambdas = compute_glmnet_lambdas(standardized.features, scaled_target)
    else:
        sorted_lambdas = np.sort(np.ldexp(np.asarray(lambdas, np.float64).ravel(), -exponent))[::-1]
        if not (sorted_lambdas.size and np.isfinite(sorted_lambdas).all() and (sorted_lambdas > 0.0).all()):
            raise OptionError(
                f"the LASSO's penalties must be positive numbers, at least one: they are {lambdas!r}"
            )
    unit_coefficients, n_unconverged = fit_lasso_path(
        standardized.features, scaled_target, sorted_lambdas, engine
    )
    return _LassoFit(
        standardized, engine, exponent, scaled_target, sorted_lambdas, unit_coefficients, n_unconverged
    )


def _fit_without_rows(
    held_out: NDArray[np.bool_], values: Values, full_fit: _LassoFit
) -> tuple[Values, NDArray[np.bool_], int]:
    """Fit without some rows; return squared errors, (s, rows), active features, (s, q), and missed λ."""
    training = standardize_features(np.ascontiguousarray(values[:, ~held_out]), full_fit.target[~held_out])
    coefficients, n_unconverged = fit_lasso_path(
        training.features, training.target, full_fit.lambdas, full_fit.engine
    )
    with np.errstate(over="ignore"):
        z = (values[:, held_out] - training.centres[:, None]) / training.scales[:, None]
    predicted = training.target_mean + coefficients @ np.clip(z, -_MAX_STANDARD_SCORE, _MAX_STANDARD_SCORE)
    return (full_fit.target[held_out] - predicted) ** 2, coefficients != 0.0, n_unconverged


def _format_convergence_warnings(
    engine: str, n_unconverged: int, n_steps: int, fit_description: str
) -> tuple[str, ...]:
    """Format the warning about λ without convergence, if there are any."""
    return (
        (f"{engine} did not converge at {n_unconverged} of {n_steps} λ {fit_description}",)
        if n_unconverged
        else ()
    )


def _scale_by_pow2(values: Values, exponent: int) -> Values:
    """Multiply by 2^exponent, clipped to the range of float64."""
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(values, exponent), -_MAX_FLOAT, _MAX_FLOAT)


def _score_features(inputs: JointInput, settings: Mapping[str, Any]) -> JointScores:
    """Cross-validate the path; score features by their coefficients at the chosen λ."""
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
    """Collect warnings about convergence, folds and the chosen λ."""
    warnings = list(cv.convergence_warnings)
    if folds > n_rows:
        warnings.append(f"{n_rows} rows give {n_rows} folds of one row each, not {folds}")
    if cv.min_error_step == cv.path.steps.size - 1:
        warnings.append(
            "the cross-validated error is smallest at the smallest λ of the path: a model with more features "
            "may predict better"
        )
    return warnings


def _estimate_capacity(n_rows: int, settings: Mapping[str, Any]) -> int:
    """Estimate the number of features q that the work budget allows: q·n·min(q, n) per fit."""
    # A path has at most about min(q, n) knots, and each costs about q·n.
    fits = min(n_rows, settings["folds"]) + 1
    budget = _WORK_BUDGET[settings["engine"]] / (fits * n_rows)
    # q·min(q, n) ≤ budget
    return int(np.clip(max(budget / n_rows, np.sqrt(budget)), _MIN_FEATURES, _MAX_FEATURES))


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
        ScreenerOption("folds", 10, "folds of the cross-validation, at most the number of rows", min_value=2),
        ScreenerOption(
            "rule",
            "min",
            "λ with the smallest error, which seldom loses a true term; or the largest within one standard "
            "error, which selects fewer false ones",
            choices=("min", "1se"),
        ),
    ),
    summary="coefficient of the LASSO at the cross-validated λ, for standardised features; 0 if not selected",
    assumes="the target is a sum of few of the features",
    fails="among near copies it selects one, not always the true one; λ.min also selects false features",
    cost="seconds for 1000 features, 1000 rows and 10 folds; a minute if nothing is sparse",
    source="Tibshirani 1996; path and cross-validation as in glmnet (Friedman, Hastie and Tibshirani 2010)",
)
