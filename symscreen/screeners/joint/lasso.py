"""The LASSO with the conventions of glmnet (Friedman, Hastie and Tibshirani 2010), with cross-validation.

Features are standardised internally, the target is centred, and a path has 100 λ by default. All of them are
computed: glmnet's early stopping, when the deviance hardly changes, is not applied.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.linear_models.lasso_path import compute_glmnet_lambdas, fit_lasso_path
from symscreen.linear_models.model_criteria import assign_folds
from symscreen.screeners.base import JointScreener, ScreenerOption
from symscreen.screeners.joint.penalty_path import build_path_scores, cross_validate_path, fit_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from symscreen._typing import Values
    from symscreen.screeners.base import CoefficientPath, JointInput, JointScores
    from symscreen.screeners.joint.penalty_path import CrossValidatedPath, PathSolver, PenalizedPath


_MAX_STANDARD_SCORE = 1e100  # held-out values are clipped here, so that their squares are finite
_WORK_BUDGET = {"sklearn": 5e10, "glmnet": 5e9}  # fits · q·n · min(q, n); about 20 s if few features matter
_MIN_FEATURES, _MAX_FEATURES = 20, 10_000


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
    fit, _ = _fit_all_rows(np.asarray(values, np.float64), np.asarray(target, np.float64), lambdas, engine)
    return fit.build_path(np.full(fit.lambdas.size, np.nan))


def cross_validate_lasso(
    values: ArrayLike,
    target: ArrayLike,
    folds: ArrayLike,
    *,
    lambdas: ArrayLike | None = None,
    engine: str = "sklearn",
) -> CrossValidatedPath:
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
    CrossValidatedPath

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
    full, solve = _fit_all_rows(values, target, lambdas, engine)
    return cross_validate_path(full, values, fold, solve, max_standard_score=_MAX_STANDARD_SCORE)


def _fit_all_rows(
    values: Values, target: Values, lambdas: ArrayLike | None, engine: str
) -> tuple[PenalizedPath, PathSolver]:
    """Fit the path on all rows; return it and its solver."""

    def compute_lambdas(features: Values, scaled_target: Values, exponent: int) -> Values:
        """Return glmnet's penalties, or those of the user."""
        if lambdas is None:
            return compute_glmnet_lambdas(features, scaled_target)
        given = np.sort(np.ldexp(np.asarray(lambdas, np.float64).ravel(), -exponent))[::-1]
        if not (given.size and np.isfinite(given).all() and (given > 0.0).all()):
            raise OptionError(
                f"the LASSO's penalties must be positive numbers, at least one: they are {lambdas!r}"
            )
        return given

    solve = partial(fit_lasso_path, engine=engine)
    return fit_path(values, target, compute_lambdas, solve), solve


def _score_features(inputs: JointInput, settings: Mapping[str, Any]) -> JointScores:
    """Cross-validate the path; score features by their coefficients at the chosen λ."""
    target, engine = inputs.numeric_target.values, settings["engine"]
    folds = assign_folds(target.size, settings["folds"], inputs.seed)
    cv = cross_validate_lasso(inputs.values, target, folds, engine=engine)
    places = ["on all rows", *(f"without fold {fold}" for fold in range(1, len(cv.n_unconverged)))]
    warnings = [
        f"{engine} did not converge at {n_missed} of {cv.path.steps.size} λ {place}"
        for n_missed, place in zip(cv.n_unconverged, places, strict=True)
        if n_missed
    ]
    return build_path_scores("lasso", cv, target.size, settings, record={"engine": engine}, warnings=warnings)


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
