"""SCAD and MCP with the conventions of ncvreg (Breheny and Huang 2011), with cross-validation.

Sparse linear models like the LASSO, with a penalty that does not shrink large coefficients.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.linear_models.model_criteria import assign_folds
from symscreen.linear_models.nonconvex_paths import compute_lambda_sequence, fit_nonconvex_path
from symscreen.screeners.base import JointScreener, ScreenerOption
from symscreen.screeners.joint.penalty_path import build_path_scores, cross_validate_path, fit_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen._typing import Values
    from symscreen.linear_models.nonconvex_paths import NonconvexPenalty
    from symscreen.screeners.base import JointInput, JointScores


_MAX_STANDARD_SCORE = 1e60  # held-out values are clipped here, so that their squares are finite
_WORK_BUDGET = 8e7  # features × rows × fits; about 20 s on one core if few features matter
_MIN_FEATURES, _MAX_FEATURES = 20, 10_000


def _score_features(
    inputs: JointInput, settings: Mapping[str, Any], penalty: NonconvexPenalty
) -> JointScores:
    """Fit and cross-validate the path; score features by their coefficients at the chosen λ."""
    gamma, target = float(settings["gamma"]), inputs.numeric_target.values

    def solve(features: Values, scaled_target: Values, lambdas: Values) -> tuple[Values, int]:
        """Fit the path; return coefficients and the number of λ without convergence."""
        path = fit_nonconvex_path(features, scaled_target, lambdas, penalty, gamma)
        return path.coefficients, int(np.count_nonzero(~path.converged))

    full = fit_path(inputs.values, target, lambda z, y, _: compute_lambda_sequence(z, y), solve)
    folds = assign_folds(target.size, int(settings["folds"]), inputs.seed)
    cv = cross_validate_path(
        full, inputs.values, folds, solve, max_standard_score=_MAX_STANDARD_SCORE, jobs=inputs.jobs
    )
    missed, *fold_missed = cv.n_unconverged
    warnings, steps = [], cv.path.steps.size
    if missed:
        warnings.append(
            f"the fit did not converge at {missed} of {steps} λ on all rows: its "
            "coefficients there are the last iterates; nearly collinear features cause this"
        )
    if any(fold_missed):
        warnings.append(
            f"{sum(fold_missed)} of the {steps * len(fold_missed)} fits of the cross-validation did not "
            "converge"
        )
    return build_path_scores(penalty, cv, target.size, settings, record={"gamma": gamma}, warnings=warnings)


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
