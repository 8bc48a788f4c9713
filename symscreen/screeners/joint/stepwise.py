"""The stepwise screener: forward selection, backward elimination and best subsets.

The default is forward selection, with the size chosen by BIC. Luo and Li (2024) use regsubsets of R's
package leaps. It searches all subsets by default, returns the best one of each size and leaves the choice of
the size to the user. ``stepwise[direction=exhaustive]`` makes the same search for up to 50 features, or 120
in models of up to four. Forward selection is the default here because spaces have many more features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.linear_models.best_subset import find_best_subsets
from symscreen.linear_models.lasso_path import StandardizedData, standardize_features
from symscreen.linear_models.model_criteria import assign_folds, compute_criterion, compute_rounding_floor
from symscreen.linear_models.stepwise_selection import (
    compute_span_tolerance,
    eliminate_backward,
    find_spanned_features,
    fit_nested_models,
    select_forward_by_projection,
    select_independent,
)
from symscreen.screeners.base import CoefficientPath, JointScores, JointScreener, ScreenerOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen._typing import Integers, Values
    from symscreen.screeners.base import JointInput


_MAX_SEARCH_WORK = 4_000_000_000  # floats that an exhaustive search may process: about ten seconds
_MAX_SEARCH_FEATURES = 300
_MIN_NOISE_DEGREES = 10  # minimum degrees of freedom for σ² of Cp, unless half of all are fewer


@dataclass(frozen=True, eq=False)
class _StepwiseProblem:
    """Standardised features and target, with their numerical tolerances."""

    standardized: StandardizedData
    target: Values
    target_scale: float
    tolerance: Values
    rss_floor: float

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.target.size)


@dataclass(frozen=True, eq=False)
class _StepwiseTrace:
    """The model of each size from 0, with the step (NaN: never) and the sign at which features enter."""

    models: list[Integers]
    rss: Values
    coefficients: Values
    entry_step: Values
    entry_sign: Values
    excluded: Integers
    warnings: list[str]


def _build_problem(values: Values, target: Values) -> _StepwiseProblem:
    """Standardise the data, and compute the tolerances."""
    data = standardize_features(values, target)
    target_data = standardize_features(target[None], target)
    target_scale = float(target_data.scales[0])
    rss_floor = compute_rounding_floor(float(np.abs(target).max()), target_scale)
    return _StepwiseProblem(
        data,
        target_data.features[0],
        target_scale,
        compute_span_tolerance(data.centers, data.scales),
        rss_floor,
    )


def _trace_models(problem: _StepwiseProblem, direction: str, max_size: int, max_work: int) -> _StepwiseTrace:
    """Compute the models of one direction."""
    # With more terms than half the degrees of freedom anything fits, and every criterion would choose them.
    max_size = min(max_size, (problem.n - 1) // 2)
    if direction == "exhaustive":
        return _trace_best_subsets(problem, max_size, max_work)
    features, target = problem.standardized.features, problem.target
    order, set_aside, warnings = _order_features(problem, direction, max_size)
    step, sign = np.full(len(features), np.nan), np.zeros(len(features))
    step[order] = np.arange(1.0, order.size + 1.0)
    fits = fit_nested_models(features, target, order)
    sign[order] = np.sign(np.diagonal(fits.coefficients[1:]))
    sizes = range(min(max_size, order.size) + 1)
    coefficients = np.zeros((len(sizes), len(features)))
    coefficients[:, order] = fits.coefficients[: len(sizes)]
    models = [order[:size] for size in sizes]
    return _StepwiseTrace(models, fits.rss[: len(sizes)], coefficients, step, sign, set_aside, warnings)


def _order_features(
    problem: _StepwiseProblem, direction: str, max_size: int
) -> tuple[Integers, Integers, list[str]]:
    """Order features by their steps; return also the features excluded beforehand, and warnings."""
    features, target = problem.standardized.features, problem.target
    q, n = features.shape
    nothing = np.empty(0, dtype=np.int64)
    if direction == "forward":
        return (
            select_forward_by_projection(features, target, max_size, problem.tolerance, problem.rss_floor),
            nothing,
            [],
        )
    forward = select_forward_by_projection(features, target, q, problem.tolerance, problem.rss_floor)
    # Of linearly dependent features those are used that forward selection takes, then the first.
    sequence = np.append(forward, np.setdiff1d(np.arange(q), forward))
    initial = select_independent(features, sequence, problem.tolerance)
    excluded, warnings = np.setdiff1d(np.arange(q), initial), []
    if initial.size > n - 2:
        initial, excluded = np.sort(forward[: (n - 1) // 2]), nothing
        warnings.append(
            f"{q} features are too many for {n} rows to start backward elimination from all: it starts "
            f"from the first {initial.size} of forward selection"
        )
    return initial[eliminate_backward(features[initial], target, problem.rss_floor)], excluded, warnings


def _trace_best_subsets(problem: _StepwiseProblem, max_size: int, max_work: int) -> _StepwiseTrace:
    """Find the best subset of every size."""
    features, target = problem.standardized.features, problem.target
    q = len(features)
    # A search needs q² · min(q, n) floats. If these are too many, only exchanges are used.
    nodes = max_work // (q * min(q, problem.n)) if q <= _MAX_SEARCH_FEATURES else -1
    subsets = find_best_subsets(features, target, max_size, problem.tolerance, problem.rss_floor, nodes)
    rss, coefficients = np.empty(len(subsets.models)), np.zeros((len(subsets.models), q))
    step, sign = np.full(q, np.nan), np.zeros(q)
    for size, model in enumerate(subsets.models):
        fits = fit_nested_models(features, target, model)
        rss[size], coefficients[size, model] = fits.rss[-1], fits.coefficients[-1]
        new = model[np.isnan(step[model])]
        step[new], sign[new] = size, np.sign(coefficients[size, new])
    warnings = []
    if subsets.proven_size < len(subsets.models) - 1:
        warnings.append(
            f"models of more than {subsets.proven_size} features are the best found, not proven optimal: the "
            "search stopped early; give it fewer features, or lower max_size"
        )
    return _StepwiseTrace(
        list(subsets.models), rss, coefficients, step, sign, np.empty(0, dtype=np.int64), warnings
    )


def _cross_validate_sizes(
    values: Values, target: Values, n_sizes: int, settings: Mapping[str, Any], seed: int
) -> tuple[Values, list[str]]:
    """Cross-validate the whole path; return mean squared error / variance by size, and warnings."""
    row_folds = assign_folds(target.size, settings["folds"], seed)
    n_folds = int(row_folds.max()) + 1
    total = np.zeros(n_sizes)
    fold_warnings: list[list[str]] = []
    for fold in range(n_folds):
        held_out = row_folds == fold
        problem = _build_problem(np.ascontiguousarray(values[:, ~held_out]), target[~held_out])
        trace = _trace_models(
            problem, settings["direction"], settings["max_size"], _MAX_SEARCH_WORK // n_folds
        )
        fold_warnings += [trace.warnings] if trace.warnings else []
        in_any_model = np.flatnonzero(trace.coefficients.any(axis=0))
        data = problem.standardized
        with np.errstate(over="ignore", invalid="ignore"):
            z = (values[np.ix_(in_any_model, held_out)] - data.centers[in_any_model, None]) / data.scales[
                in_any_model, None
            ]
            predicted = data.target_mean + problem.target_scale * (trace.coefficients[:, in_any_model] @ z)
            squares = ((target[held_out] - predicted) ** 2).sum(axis=1)
        # A fold without a model of this size uses its largest one.
        total += squares[np.minimum(np.arange(n_sizes), squares.size - 1)]
    errors = total / target.size / np.var(target)
    warnings = [f"in {len(fold_warnings)} of {n_folds} folds: {fold_warnings[0][0]}"] if fold_warnings else []
    return np.where(np.isfinite(errors), errors, np.inf), warnings


def _estimate_noise(problem: _StepwiseProblem) -> tuple[float, str]:
    """Estimate σ² for Cp as a share of the target's sum of squares; return also the model that it is from."""
    features, n = problem.standardized.features, problem.n
    model = select_independent(features, np.arange(len(features)), problem.tolerance)
    source = "all features"
    if n - 1 - model.size < min(_MIN_NOISE_DEGREES, n // 2):
        model = select_forward_by_projection(
            features, problem.target, (n - 1) // 2, problem.tolerance, problem.rss_floor
        )
        source = "the largest forward model"
    rss = fit_nested_models(features, problem.target, model).rss[-1]
    return max(float(rss), problem.rss_floor) / (n - 1 - model.size), f"{source} ({model.size} independent)"


def _score_features(inputs: JointInput, settings: Mapping[str, Any]) -> JointScores:
    """Compute the models of all sizes, choose one by the criterion, and score its features."""
    # Scaling by a power of two is exact; it keeps sums from overflow and squares from underflow.
    _, exponent = np.frexp(np.abs(inputs.numeric_target.values).max())
    scaled_target = np.ldexp(inputs.numeric_target.values, -int(exponent))
    problem = _build_problem(inputs.values, scaled_target)
    trace = _trace_models(problem, settings["direction"], settings["max_size"], _MAX_SEARCH_WORK)
    criterion, sizes = settings["criterion"], len(trace.models)
    record: dict[str, Any] = {"direction": settings["direction"], "criterion": criterion}
    error, noise_variance, warnings = np.full(sizes, np.nan), np.nan, list(trace.warnings)
    if criterion == "cv":
        error, cv_warnings = _cross_validate_sizes(inputs.values, scaled_target, sizes, settings, inputs.seed)
        warnings += cv_warnings
        criterion_values = np.maximum(error, problem.rss_floor)
    else:
        if criterion == "cp":
            noise_variance, record["noise_from"] = _estimate_noise(problem)
            record["noise_share"] = noise_variance
        criterion_values = compute_criterion(
            criterion, trace.rss, problem.n, noise_variance, problem.rss_floor
        )
    size = int(np.argmin(criterion_values))
    path = _build_path(problem, trace, error, int(exponent))
    record |= {
        "size": size,
        "criterion_by_size": [float(value) if np.isfinite(value) else None for value in criterion_values],
        "rss_share_by_size": trace.rss.tolist(),
        "set_aside": trace.excluded.tolist(),
        "in_span_of_chosen": find_spanned_features(
            problem.standardized.features, trace.models[size], problem.tolerance
        ).tolist(),
        "warnings": warnings + _collect_warnings(problem, trace, path, size, settings),
    }
    return _build_scores(trace, size, path, record)


def _build_path(
    problem: _StepwiseProblem, trace: _StepwiseTrace, cv_error: Values, exponent: int
) -> CoefficientPath:
    """Convert coefficients, intercepts and errors to the units of the data."""
    coefficients, intercepts = problem.standardized.unscale_coefficients(
        trace.coefficients * problem.target_scale
    )
    with np.errstate(over="ignore", under="ignore"):
        return CoefficientPath(
            np.arange(float(len(trace.models))),
            np.ldexp(coefficients, exponent),
            np.ldexp(intercepts, exponent),
            np.ldexp(cv_error * problem.target_scale**2, 2 * exponent),
        )


def _collect_warnings(
    problem: _StepwiseProblem,
    trace: _StepwiseTrace,
    path: CoefficientPath,
    size: int,
    settings: Mapping[str, Any],
) -> list[str]:
    """Collect warnings about limits of the chosen size, and overflow."""
    warnings = []
    max_size_by_rows = (problem.n - 1) // 2
    if trace.rss[-1] <= problem.rss_floor:
        exact_size = int(np.argmax(trace.rss <= problem.rss_floor))
        warnings.append(
            f"{exact_size} features fit the target up to rounding: larger models are not distinguished"
        )
    elif max_size_by_rows == 0:
        warnings.append(f"{problem.n} rows are too few for a model with any feature")
    elif size == max_size_by_rows:
        warnings.append(f"the criterion decreases up to {size} features; {problem.n} rows do not allow more")
    elif size == settings["max_size"]:
        advice = "" if settings["criterion"] == "cv" else ", or use criterion=cv, which penalises chance fits"
        warnings.append(f"the criterion decreases up to {size} features, the maximum: raise max_size{advice}")
    if not np.isfinite(path.coefficients).all() or not np.isfinite(path.intercepts).all():
        warnings.append("coefficients overflow in the units of the features: scale the data")
    return warnings


def _build_scores(
    trace: _StepwiseTrace, size: int, path: CoefficientPath, record: dict[str, Any]
) -> JointScores:
    """Sort features by their steps, with the chosen ones first."""
    selected = np.zeros(trace.entry_step.size, dtype=np.bool_)
    selected[trace.models[size]] = True
    score = trace.coefficients[size].copy()
    sign = np.where(selected, np.sign(score), trace.entry_sign)
    # The chosen features by their steps, then the others of the path by theirs, then all the rest, tied.
    last = float(np.nanmax(trace.entry_step, initial=0.0))
    loss = np.where(
        np.isnan(trace.entry_step), 2.0 * last + 1.0, trace.entry_step + np.where(selected, 0.0, last)
    )
    return JointScores(
        score, loss, selected, sign.astype(np.int8), {"stepwise_step": trace.entry_step}, path, record
    )


def _estimate_capacity(n_rows: int, settings: Mapping[str, Any]) -> int:
    """Return the number of features that each direction can take in about ten seconds."""
    if settings["direction"] == "exhaustive":
        return 50 if settings["max_size"] > 4 else 120
    if settings["direction"] == "backward":
        # Each fold of the cross-validation leaves out at most this number of rows.
        n_held_out = -(-n_rows // settings["folds"]) if settings["criterion"] == "cv" else 0
        return max(1, min(n_rows - n_held_out - 2, 500))
    return max(1, 10_000_000 // n_rows)  # memory: three copies of the features


STEPWISE = JointScreener(
    name="stepwise",
    score_function=_score_features,
    capacity=_estimate_capacity,
    equivalence="affine",
    options=(
        ScreenerOption(
            "direction",
            "forward",
            "add features one by one, remove them one by one, or search all subsets as R's regsubsets does",
            choices=("forward", "backward", "exhaustive"),
        ),
        ScreenerOption(
            "criterion",
            "bic",
            "how the size is chosen: Mallows' Cp, BIC, AIC, or cross-validation of the whole path",
            choices=("cp", "bic", "aic", "cv"),
        ),
        ScreenerOption("max_size", 20, "maximum number of features in a model", min_value=1),
        ScreenerOption("folds", 10, "folds of the cross-validation", min_value=2),
    ),
    summary="order of entry into a linear model; the score is the standardised coefficient, or 0",
    assumes="the target is a sum of few of the features, each with its own coefficient",
    fails="among near copies, where chance decides; with many more features than rows Cp, AIC and "
    "BIC select too many: use criterion=cv",
    cost="forward and backward O(features · rows · size); exhaustive exponential, up to 50 features",
    source="Miller 2002; Furnival and Wilson 1974; Mallows 1973; Schwarz 1978",
)
