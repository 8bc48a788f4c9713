"""Cross-validated paths of penalised least squares, for the LASSO, SCAD and MCP.

A path is a matrix of coefficients, with one row per penalty λ in descending order and one column per feature.
A feature *enters* at the first λ with a nonzero coefficient. It is *selected* if its coefficient is nonzero
at the λ chosen by cross-validation.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.linear_models.lasso_path import StandardizedData, standardize_features
from symscreen.linear_models.model_criteria import compute_cv_error
from symscreen.screeners.base import CoefficientPath, JointScores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Values

    # maps (features, target, λ) to coefficients, shape (s, q), and the number of λ without convergence
    PathSolver = Callable[[Values, Values, Values], tuple[Values, int]]


_MAX_FLOAT = np.finfo(np.float64).max
_COEFFICIENT_DIGITS = 6  # digits of coefficient / largest; finer differences depend on the solver
_RELATIVE_ERROR_TOLERANCE = 1e-9  # cross-validated errors with a smaller relative difference are tied
_RELATIVE_ROUNDING_ERROR = 1e-16  # size of an error that is rounding, relative to the error at the first λ


def find_entry_lambdas(coefficients: Values, lambdas: Values) -> Values:
    """Find the λ at which each feature first enters the path.

    Parameters
    ----------
    coefficients : float64 array, shape (s, q)
        In any unit: only zeros matter.
    lambdas : float64 array, shape (s,)
        In descending order; s ≥ 1.

    Returns
    -------
    float64 array, shape (q,)
        NaN if a feature never enters.

    Examples
    --------
    >>> find_entry_lambdas(np.array([[0.0, 0.0], [0.5, 0.0]]), np.array([2.0, 1.0])).tolist()
    [1.0, nan]
    """
    is_active = coefficients != 0.0
    return np.where(is_active.any(axis=0), lambdas[is_active.argmax(axis=0)], np.nan)


def compute_path_loss(coefficient: Values, entry_lambdas: Values, lambdas: Values) -> Values:
    """Compute losses that sort selected features by coefficient, then the others by their entry.

    Parameters
    ----------
    coefficient : float64 array, shape (q,)
        Coefficients of standardised features at the chosen λ; 0 if not selected.
    entry_lambdas : float64 array, shape (q,)
        From `find_entry_lambdas`.
    lambdas : float64 array, shape (s,)
        The penalties of the path, in descending order.

    Returns
    -------
    float64 array, shape (q,)
        Selected: 1 − |coefficient| / (the largest), in [0, 1), rounded to six digits, so that the solver's
        tolerance does not affect the order. Others: 1 + k/s in [1, 2) if the feature enters at the k-th λ,
        counted from 0. Never entered: 2.

    Examples
    --------
    >>> lambdas = np.array([4.0, 2.0, 1.0, 0.5])
    >>> entry = np.array([4.0, 2.0, 1.0, np.nan])
    >>> compute_path_loss(np.array([-1.0, 4.0, 0.0, 0.0]), entry, lambdas).tolist()
    [0.75, 0.0, 1.5, 2.0]
    """
    magnitude = np.abs(coefficient)
    largest = magnitude.max(initial=0.0)
    # A selected feature whose share rounds to 0 still has a loss below 1.
    share = np.maximum(
        np.round(magnitude / (largest or 1.0), _COEFFICIENT_DIGITS), 10.0**-_COEFFICIENT_DIGITS
    )
    # NaN (never entered) sorts after every λ: its step is s.
    entry_step = np.searchsorted(-lambdas, -entry_lambdas)
    return np.where(
        magnitude > 0.0, np.round(1.0 - share, _COEFFICIENT_DIGITS), 1.0 + entry_step / lambdas.size
    )


def compute_path_direction(coefficients: Values, step: int) -> NDArray[np.int8]:
    """Return the sign of each feature's effect.

    Parameters
    ----------
    coefficients : float64 array, shape (s, q)
        One row per λ, in descending order of λ.
    step : int
        The row of the chosen λ.

    Returns
    -------
    int8 array, shape (q,)
        The sign of the coefficient at the chosen λ. If it is 0, the sign with which the feature first
        entered; 0 if it never entered.

    Examples
    --------
    >>> compute_path_direction(np.array([[0.0, 0.3, 0.0], [-0.5, 0.0, 0.0]]), step=1).tolist()
    [-1, 1, 0]
    """
    first = (coefficients != 0.0).argmax(axis=0)
    entering = coefficients[first, np.arange(coefficients.shape[1])]
    chosen = coefficients[step]
    return np.asarray(np.sign(np.where(chosen != 0.0, chosen, entering)), dtype=np.int8)


def find_min_error_step(error: Values) -> int:
    """Find the λ with the smallest cross-validated error: λ.min.

    Parameters
    ----------
    error : float64 array, shape (s,)
        The mean squared error at each λ, in descending order of λ; finite, not negative.

    Returns
    -------
    int
        The first row whose error is within the numerical tolerance of the smallest: that with the fewest
        features.

    Examples
    --------
    >>> find_min_error_step(np.array([3.0, 1.0, 1.0 - 1e-13, 2.0]))
    1
    """
    threshold = error.min() * (1.0 + _RELATIVE_ERROR_TOLERANCE) + _RELATIVE_ROUNDING_ERROR * error[0]
    return int(np.argmax(error <= threshold))


def find_one_se_step(error: Values, standard_error: Values) -> int:
    """Find the largest λ whose error is within one standard error of the smallest: λ.1se.

    Parameters
    ----------
    error : float64 array, shape (s,)
        The mean squared error at each λ, in descending order of λ; finite, not negative.
    standard_error : float64 array, shape (s,)
        The standard error of each mean.

    Returns
    -------
    int
        The row of this λ; never after `find_min_error_step`.

    Examples
    --------
    >>> find_one_se_step(np.array([3.0, 1.4, 1.0, 2.0]), np.full(4, 0.5))
    1
    """
    best = find_min_error_step(error)
    return int(np.argmax(error <= error[best] + standard_error[best]))


@dataclass(frozen=True, eq=False)
class PenalizedPath:
    """A path on all rows. In units of 2^exponent the target is near 1, so that its squares are finite."""

    standardized: StandardizedData
    exponent: int
    target: Values  # (n,): in units of 2^exponent, like the next two
    lambdas: Values  # (s,)
    coefficients: Values  # (s, q): of the standardised features
    n_unconverged: int

    def build_path(self, cv_error: Values) -> CoefficientPath:
        """Build the path with coefficients of the original features."""
        coefficients, intercepts = self.standardized.unscale_coefficients(
            scale_by_pow2(self.coefficients, self.exponent)
        )
        return CoefficientPath(scale_by_pow2(self.lambdas, self.exponent), coefficients, intercepts, cv_error)


@dataclass(frozen=True, eq=False)
class CrossValidatedPath:
    """A path with its cross-validation; s penalties, q features.

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
    n_unconverged : tuple of int
        The number of λ at which the solver did not converge: on all rows, then without each fold.
    """

    path: CoefficientPath
    coefficients: Values
    standard_error: Values
    stability: Values
    min_error_step: int
    one_se_step: int
    n_unconverged: tuple[int, ...]


def fit_path(
    values: Values,
    target: Values,
    compute_lambdas: Callable[[Values, Values, int], Values],
    solve: PathSolver,
) -> PenalizedPath:
    """Fit a path on all rows; `compute_lambdas` maps (features, target, exponent) to λ, all in its units."""
    standardized = standardize_features(values, target)
    exponent = int(np.frexp(np.abs(standardized.target).max())[1])
    scaled_target = np.ldexp(standardized.target, -exponent)
    lambdas = compute_lambdas(standardized.features, scaled_target, exponent)
    coefficients, n_unconverged = solve(standardized.features, scaled_target, lambdas)
    return PenalizedPath(standardized, exponent, scaled_target, lambdas, coefficients, n_unconverged)


def cross_validate_path(
    full: PenalizedPath,
    values: Values,
    row_folds: Integers,
    solve: PathSolver,
    *,
    max_standard_score: float,
    jobs: int = 1,
) -> CrossValidatedPath:
    """Cross-validate a path: every fold standardises the features again and uses all λ of the path.

    Parameters
    ----------
    full : PenalizedPath
        The path on all rows.
    values : float64 array, shape (q, n)
        The features.
    row_folds : int64 array, shape (n,)
        The fold of each row, from 0.
    solve : callable
        The solver of the path.
    max_standard_score : float
        Held-out values are clipped here, so that the squares of their predictions are finite.
    jobs : int
        Number of threads.

    Returns
    -------
    CrossValidatedPath
        With errors and standard errors from `symscreen.linear_models.model_criteria.compute_cv_error`.
    """

    def fit_without_fold(fold: int) -> tuple[Values, Flags, int]:
        """Return squared errors, shape (s, held-out rows), active features, and the number of missed λ."""
        held_out = row_folds == fold
        training = standardize_features(np.ascontiguousarray(values[:, ~held_out]), full.target[~held_out])
        coefficients, n_missed = solve(training.features, training.target, full.lambdas)
        with np.errstate(over="ignore"):
            z = (values[:, held_out] - training.centers[:, None]) / training.scales[:, None]
        predicted = training.target_mean + coefficients @ np.clip(z, -max_standard_score, max_standard_score)
        return (full.target[held_out] - predicted) ** 2, coefficients != 0.0, n_missed

    folds = range(int(row_folds.max()) + 1)
    if jobs == 1:
        fits = list(map(fit_without_fold, folds))
    else:
        with ThreadPoolExecutor(jobs) as pool:
            fits = list(pool.map(fit_without_fold, folds))
    errors, is_active, n_missed = zip(*fits, strict=True)
    squares = np.empty((full.lambdas.size, full.target.size))
    for fold, fold_errors in enumerate(errors):
        squares[:, row_folds == fold] = fold_errors
    error, standard_error = compute_cv_error(squares, row_folds)
    return CrossValidatedPath(
        full.build_path(scale_by_pow2(error, 2 * full.exponent)),
        scale_by_pow2(full.coefficients, full.exponent),
        scale_by_pow2(standard_error, 2 * full.exponent),
        np.mean(is_active, axis=0),
        find_min_error_step(error),
        find_one_se_step(error, standard_error),
        (full.n_unconverged, *n_missed),
    )


def scale_by_pow2(values: Values, exponent: int) -> Values:
    """Multiply by 2^exponent, clipped to the range of float64."""
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(values, exponent), -_MAX_FLOAT, _MAX_FLOAT)


def build_path_scores(
    name: str,
    cv: CrossValidatedPath,
    n_rows: int,
    settings: Mapping[str, Any],
    *,
    record: Mapping[str, Any],
    warnings: list[str],
) -> JointScores:
    """Score features by their coefficients at the λ of the rule; extends the record and the warnings."""
    step = cv.min_error_step if settings["rule"] == "min" else cv.one_se_step
    chosen, lambdas = cv.coefficients[step], cv.path.steps
    entry = find_entry_lambdas(cv.coefficients, lambdas)
    n_folds = len(cv.n_unconverged) - 1
    if settings["folds"] > n_rows:
        warnings.append(f"{n_rows} rows give {n_rows} folds of one row each, not {settings['folds']}")
    if cv.min_error_step == lambdas.size - 1:
        warnings.append(
            "the cross-validated error is smallest at the smallest λ of the path: a model with more features "
            "may predict better"
        )
    return JointScores(
        score=chosen,
        loss=compute_path_loss(chosen, entry, lambdas),
        selected=chosen != 0.0,
        direction=compute_path_direction(cv.coefficients, step),
        columns={f"{name}_entry": entry, f"{name}_stability": cv.stability[step]},
        path=cv.path,
        record={
            **record,
            "rule": settings["rule"],
            "lambda": float(lambdas[step]),
            "lambda_min": float(lambdas[cv.min_error_step]),
            "lambda_1se": float(lambdas[cv.one_se_step]),
            "error": float(cv.path.error[step]),
            "standard_error": float(cv.standard_error[step]),
            "folds": n_folds,
            "selected": int(np.count_nonzero(chosen)),
            "warnings": warnings,
        },
    )
