"""SCAD and MCP with the conventions of ncvreg (Breheny and Huang 2011), with cross-validation.

Sparse linear models like the LASSO, with a penalty that does not shrink large coefficients.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.linear_models.lasso_path import standardize_features
from symscreen.linear_models.model_criteria import assign_folds, compute_cv_error
from symscreen.linear_models.nonconvex_paths import compute_lambda_sequence, fit_nonconvex_path
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

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.linear_models.nonconvex_paths import NonconvexPath, NonconvexPenalty
    from symscreen.screeners.base import JointInput


_MAX_STANDARD_SCORE = 1e60  # held-out values are clipped here, so that their squares are finite
_WORK_BUDGET = 8e7  # features × rows × fits; about 20 s on one core if few features matter
_MIN_FEATURES, _MAX_FEATURES = 20, 10_000
_MAX_FLOAT = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class _CrossValidation:
    """Cross-validation results at each of the s λ of the path on all rows."""

    error: Values  # (s,): mean squared error
    standard_error: Values  # (s,)
    stability: Values  # (s, q): the share of folds in which a feature is selected
    n_unconverged: int  # fits that did not converge


def _score_features(
    inputs: JointInput, settings: Mapping[str, Any], penalty: NonconvexPenalty
) -> JointScores:
    """Fit and cross-validate the path; score features by their coefficients at the chosen λ."""
    standardized = standardize_features(inputs.values, inputs.numeric_target.values)
    # In this unit, a power of two, the target is near 1, so that its squares neither overflow nor underflow.
    _, exponent = np.frexp(np.abs(standardized.target).max())
    target = np.ldexp(standardized.target, -exponent)
    lambdas = compute_lambda_sequence(standardized.features, target)
    fit = partial(fit_nonconvex_path, lambdas=lambdas, penalty=penalty, gamma=float(settings["gamma"]))
    path = fit(standardized.features, target)
    folds = assign_folds(target.size, int(settings["folds"]), inputs.seed)
    validation = _cross_validate(fit, inputs.values, target, folds, inputs.jobs)

    steps = {
        "min": find_min_error_step(validation.error),
        "1se": find_one_se_step(validation.error, validation.standard_error),
    }
    step = steps[settings["rule"]]
    chosen, entry = path.coefficients[step], find_entry_lambdas(path.coefficients, lambdas)
    coefficients, penalties = _scale_by_pow2(path.coefficients, exponent), _scale_by_pow2(lambdas, exponent)
    error, standard_error = (
        _scale_by_pow2(e, 2 * exponent) for e in (validation.error, validation.standard_error)
    )
    return JointScores(
        score=coefficients[step],
        loss=compute_path_loss(chosen, entry, lambdas),
        selected=chosen != 0.0,
        direction=compute_path_direction(path.coefficients, step),
        columns={
            f"{penalty}_entry": _scale_by_pow2(entry, exponent),
            f"{penalty}_stability": validation.stability[step],
        },
        path=CoefficientPath(penalties, *standardized.unscale_coefficients(coefficients), error),
        record={
            "gamma": float(settings["gamma"]),
            "rule": settings["rule"],
            "lambda": float(penalties[step]),
            "lambda_min": float(penalties[steps["min"]]),
            "lambda_1se": float(penalties[steps["1se"]]),
            "error": float(error[step]),
            "standard_error": float(standard_error[step]),
            "folds": int(folds.max()) + 1,
            "selected": int(np.count_nonzero(chosen)),
            "warnings": _collect_warnings(path, validation, steps["min"], folds, int(settings["folds"])),
        },
    )


def _cross_validate(
    fit: partial[NonconvexPath], values: Values, target: Values, folds: NDArray[np.int64], jobs: int
) -> _CrossValidation:
    """Cross-validate the path at the given λ, in folds of rows, shape (n,)."""

    def fit_without_fold(fold: int) -> tuple[Values, NDArray[np.bool_], int]:
        """Return squared errors, shape (s, held-out rows), active features, and the number of missed λ."""
        held_out = folds == fold
        training = standardize_features(np.ascontiguousarray(values[:, ~held_out]), target[~held_out])
        path = fit(training.features, training.target)
        with np.errstate(over="ignore"):
            z = (values[:, held_out] - training.centres[:, None]) / training.scales[:, None]
        predicted = training.target_mean + path.coefficients @ np.clip(
            z, -_MAX_STANDARD_SCORE, _MAX_STANDARD_SCORE
        )
        n_missed = int(np.count_nonzero(~path.converged))
        return np.square(target[held_out] - predicted), path.coefficients != 0.0, n_missed

    with ThreadPoolExecutor(jobs) as pool:
        errors, is_active, n_missed = zip(
            *pool.map(fit_without_fold, range(int(folds.max()) + 1)), strict=True
        )
    squares = np.empty((len(errors[0]), target.size))
    for fold, fold_errors in enumerate(errors):
        squares[:, folds == fold] = fold_errors
    return _CrossValidation(*compute_cv_error(squares, folds), np.mean(is_active, axis=0), sum(n_missed))


def _scale_by_pow2(values: Values, exponent: int) -> Values:
    """Multiply by 2^exponent, clipped to the range of float64."""
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(values, exponent), -_MAX_FLOAT, _MAX_FLOAT)


def _collect_warnings(
    path: NonconvexPath,
    validation: _CrossValidation,
    min_error_step: int,
    folds: NDArray[np.int64],
    requested_folds: int,
) -> list[str]:
    """Collect warnings about convergence, folds and the chosen λ."""
    warnings = []
    steps = path.converged.size
    if not path.converged.all():
        warnings.append(
            f"the fit did not converge at {np.count_nonzero(~path.converged)} of {steps} λ on all rows: its "
            "coefficients there are the last iterates; nearly collinear features cause this"
        )
    if validation.n_unconverged:
        fits = steps * (int(folds.max()) + 1)
        warnings.append(
            f"{validation.n_unconverged} of the {fits} fits of the cross-validation did not converge"
        )
    if requested_folds > folds.size:
        warnings.append(f"{folds.size} rows give {folds.size} folds of one row each, not {requested_folds}")
    if min_error_step == steps - 1:
        warnings.append(
            "the cross-validated error is smallest at the smallest λ of the path: a model with more features "
            "may predict better"
        )
    return warnings


def _estimate_capacity(n_rows: int, settings: Mapping[str, Any]) -> int:
    """Estimate the number of features that the work budget allows."""
    fits = min(n_rows, int(settings["folds"])) + 1
    return int(np.clip(_WORK_BUDGET / (n_rows * fits), _MIN_FEATURES, _MAX_FEATURES))


def _make_options(gamma: float, min_gamma: float) -> tuple[ScreenerOption, ...]:
    """Build the options of SCAD and MCP, which differ in γ."""
    return (
        ScreenerOption(
            "gamma", gamma, "γ: coefficients beyond γλ are not shrunk", min_value=min_gamma, max_value=1e6
        ),
        ScreenerOption("folds", 10, "folds of the cross-validation, at most the number of rows", min_value=2),
        ScreenerOption(
            "rule",
            "min",
            "λ with the smallest error, or the largest within one standard error",
            ("min", "1se"),
        ),
    )


SCAD = JointScreener(
    name="scad",
    score_function=partial(_score_features, penalty="scad"),
    capacity=_estimate_capacity,
    equivalence="affine",
    options=_make_options(gamma=3.7, min_gamma=2.001),
    summary="coefficient under SCAD at the cross-validated λ, for standardised features; 0 if not selected",
    assumes="the target is a sum of few of the features",
    fails="among near copies it selects one, not always the true one; it finds one of several local optima",
    cost="under a second for 1000 related features, 400 rows and 10 folds; 10 s if nothing is sparse",
    source="Fan and Li 2001; path and cross-validation as in ncvreg (Breheny and Huang 2011)",
)

MCP = replace(
    SCAD,
    name="mcp",
    score_function=partial(_score_features, penalty="mcp"),
    options=_make_options(gamma=3.0, min_gamma=1.001),
    summary="coefficient under MCP at the cross-validated λ, for standardised features; 0 if not selected",
    source="Zhang 2010; path and cross-validation as in ncvreg (Breheny and Huang 2011)",
)
