"""The stepwise screener: forward selection, backward elimination, best subset."""

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
    select_forward,
    select_independent,
)
from symscreen.screeners.base import CoefficientPath, JointScores, JointScreener, ScreenerOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen._typing import Integers, Values
    from symscreen.screeners.base import JointInput


__all__ = ["STEPWISE"]

_MAX_SEARCH_WORK = 4_000_000_000  # numbers that an exhaustive search may touch: some ten seconds
_MAX_SEARCH_FEATURES = 300  # features
_MIN_NOISE_DEGREES = 10  # degrees of freedom that σ² of Cp rests on, unless half of all are fewer


@dataclass(frozen=True, eq=False)
class _StepwiseProblem:
    """Features and response on one scale, and what counts as rounding there."""

    standardized: StandardizedData
    target: Values
    target_scale: float
    tolerance: Values
    rss_floor: float

    @property
    def n(self) -> int:
        return int(self.target.size)


@dataclass(frozen=True, eq=False)
class _StepwiseTrace:
    """The model of each size from 0, the step at which features come in (NaN: never), and with what sign."""

    models: list[Integers]
    rss: Values
    coefficients: Values
    entry_step: Values
    entry_sign: Values
    excluded: Integers
    warnings: list[str]


def _build_problem(values: Values, target: Values) -> _StepwiseProblem:
    data = standardize_features(values, target)
    own = standardize_features(target[None], target)
    spread = float(own.scales[0])
    floor = compute_rounding_floor(float(np.abs(target).max()), spread)
    return _StepwiseProblem(
        data, own.features[0], spread, compute_span_tolerance(data.centres, data.scales), floor
    )


def _trace_models(problem: _StepwiseProblem, direction: str, max_size: int, max_work: int) -> _StepwiseTrace:
    """Trace the path in one direction."""
    # more terms than half the degrees of freedom fit anything, and every criterion would reward them
    most = min(max_size, (problem.n - 1) // 2)
    if direction == "exhaustive":
        return _trace_best_subsets(problem, most, max_work)
    features, target = problem.standardized.features, problem.target
    order, set_aside, warnings = _order_features(problem, direction, most)
    step, sign = np.full(len(features), np.nan), np.zeros(len(features))
    step[order] = np.arange(1.0, order.size + 1.0)
    fits = fit_nested_models(features, target, order)
    sign[order] = np.sign(np.diagonal(fits.coefficients[1:]))
    sizes = range(min(most, order.size) + 1)
    coefficients = np.zeros((len(sizes), len(features)))
    coefficients[:, order] = fits.coefficients[: len(sizes)]
    models = [order[:size] for size in sizes]
    return _StepwiseTrace(models, fits.rss[: len(sizes)], coefficients, step, sign, set_aside, warnings)


def _order_features(
    problem: _StepwiseProblem, direction: str, max_size: int
) -> tuple[Integers, Integers, list[str]]:
    """Order features by their steps; say which were set aside before, and what is to be told."""
    features, target = problem.standardized.features, problem.target
    q, n = features.shape
    nobody = np.empty(0, dtype=np.int64)
    if direction == "forward":
        return select_forward(features, target, max_size, problem.tolerance, problem.rss_floor), nobody, []
    forward = select_forward(features, target, q, problem.tolerance, problem.rss_floor)
    # of linearly dependent features those stay that forward selection takes, then the first
    sequence = np.append(forward, np.setdiff1d(np.arange(q), forward))
    start = select_independent(features, sequence, problem.tolerance)
    set_aside, warnings = np.setdiff1d(np.arange(q), start), []
    if start.size > n - 2:
        start, set_aside = np.sort(forward[: (n - 1) // 2]), nobody
        warnings.append(
            f"{q} features are too many for {n} rows to start backward elimination from them all: it starts "
            f"from the {start.size} that forward selection takes first"
        )
    return start[eliminate_backward(features[start], target, problem.rss_floor)], set_aside, warnings


def _trace_best_subsets(problem: _StepwiseProblem, max_size: int, max_work: int) -> _StepwiseTrace:
    """Find the best subset of every size."""
    features, target = problem.standardized.features, problem.target
    q = len(features)
    # a search needs q² · min(q, n) numbers; where these are too many, exchanges alone must do
    nodes = max_work // (q * min(q, problem.n)) if q <= _MAX_SEARCH_FEATURES else -1
    found = find_best_subsets(features, target, max_size, problem.tolerance, problem.rss_floor, nodes)
    rss, coefficients = np.empty(len(found.models)), np.zeros((len(found.models), q))
    step, sign = np.full(q, np.nan), np.zeros(q)
    for size, model in enumerate(found.models):
        fits = fit_nested_models(features, target, model)
        rss[size], coefficients[size, model] = fits.rss[-1], fits.coefficients[-1]
        new = model[np.isnan(step[model])]
        step[new], sign[new] = size, np.sign(coefficients[size, new])
    warnings = []
    if found.proven_size < len(found.models) - 1:
        warnings.append(
            f"the models of more than {found.proven_size} features are the best found, not proven best: the "
            "search was cut short; show it fewer features, or lower max_size"
        )
    return _StepwiseTrace(
        list(found.models), rss, coefficients, step, sign, np.empty(0, dtype=np.int64), warnings
    )


def _cross_validate_sizes(
    values: Values, target: Values, n_sizes: int, settings: Mapping[str, Any], seed: int
) -> tuple[Values, list[str]]:
    """Cross-validate the whole path: the mean squared error by size, in units of the response's variance."""
    dealt = assign_folds(target.size, settings["folds"], seed)
    folds = int(dealt.max()) + 1
    total = np.zeros(n_sizes)
    told: list[list[str]] = []
    for fold in range(folds):
        out = dealt == fold
        problem = _build_problem(np.ascontiguousarray(values[:, ~out]), target[~out])
        traced = _trace_models(
            problem, settings["direction"], settings["max_size"], _MAX_SEARCH_WORK // folds
        )
        told += [traced.warnings] if traced.warnings else []
        used = np.flatnonzero(traced.coefficients.any(axis=0))
        data = problem.standardized
        with np.errstate(over="ignore", invalid="ignore"):
            z = (values[np.ix_(used, out)] - data.centres[used, None]) / data.scales[used, None]
            predicted = data.target_mean + problem.target_scale * (traced.coefficients[:, used] @ z)
            squares = ((target[out] - predicted) ** 2).sum(axis=1)
        # where a fold has no larger model, its largest stands for it
        total += squares[np.minimum(np.arange(n_sizes), squares.size - 1)]
    errors = total / target.size / np.var(target)
    warnings = [f"in {len(told)} of {folds} folds: {told[0][0]}"] if told else []
    return np.where(np.isfinite(errors), errors, np.inf), warnings


def _estimate_noise(problem: _StepwiseProblem) -> tuple[float, str]:
    """Estimate σ² for Cp, as a share of the response's sum of squares, and say from what."""
    features, n = problem.standardized.features, problem.n
    model = select_independent(features, np.arange(len(features)), problem.tolerance)
    told = "all features"
    if n - 1 - model.size < min(_MIN_NOISE_DEGREES, n // 2):
        model = select_forward(features, problem.target, (n - 1) // 2, problem.tolerance, problem.rss_floor)
        told = "the largest forward model"
    rss = fit_nested_models(features, problem.target, model).rss[-1]
    return max(float(rss), problem.rss_floor) / (n - 1 - model.size), f"{told} ({model.size} independent)"


def _score_features(inputs: JointInput, settings: Mapping[str, Any]) -> JointScores:
    # by a power of two, which is exact, so that neither sums overflow nor squares vanish
    _, exponent = np.frexp(np.abs(inputs.numeric_target.values).max())
    response = np.ldexp(inputs.numeric_target.values, -int(exponent))
    problem = _build_problem(inputs.values, response)
    traced = _trace_models(problem, settings["direction"], settings["max_size"], _MAX_SEARCH_WORK)
    criterion, sizes = settings["criterion"], len(traced.models)
    record: dict[str, Any] = {"direction": settings["direction"], "criterion": criterion}
    error, noise, warnings = np.full(sizes, np.nan), np.nan, list(traced.warnings)
    if criterion == "cv":
        error, of_folds = _cross_validate_sizes(inputs.values, response, sizes, settings, inputs.seed)
        warnings += of_folds
        by_size = np.maximum(error, problem.rss_floor)
    else:
        if criterion == "cp":
            noise, record["noise_from"] = _estimate_noise(problem)
            record["noise_share"] = noise
        by_size = compute_criterion(criterion, traced.rss, problem.n, noise, problem.rss_floor)
    size = int(np.argmin(by_size))
    path = _build_path(problem, traced, error, int(exponent))
    record |= {
        "size": size,
        "criterion_by_size": [float(value) if np.isfinite(value) else None for value in by_size],
        "rss_share_by_size": traced.rss.tolist(),
        "set_aside": traced.excluded.tolist(),
        "in_span_of_chosen": find_spanned_features(
            problem.standardized.features, traced.models[size], problem.tolerance
        ).tolist(),
        "warnings": warnings + _collect_warnings(problem, traced, path, size, settings),
    }
    return _build_scores(traced, size, path, record)


def _build_path(
    problem: _StepwiseProblem, trace: _StepwiseTrace, cv_error: Values, exponent: int
) -> CoefficientPath:
    """Bring coefficients, intercepts and errors back to the scales of the data."""
    own, intercepts = problem.standardized.unscale_coefficients(trace.coefficients * problem.target_scale)
    with np.errstate(over="ignore", under="ignore"):
        return CoefficientPath(
            np.arange(float(len(trace.models))),
            np.ldexp(own, exponent),
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
    """Say what bounds the choice of the size, and what cannot be shown."""
    warnings = []
    rows_allow = (problem.n - 1) // 2
    if trace.rss[-1] <= problem.rss_floor:
        enough = int(np.argmax(trace.rss <= problem.rss_floor))
        warnings.append(
            f"{enough} features fit the response but for rounding: larger models are not told apart"
        )
    elif rows_allow == 0:
        warnings.append(f"{problem.n} rows are too few for a model with any feature")
    elif size == rows_allow:
        warnings.append(f"the criterion falls up to {size} features; {problem.n} rows support no more")
    elif size == settings["max_size"]:
        advice = (
            "" if settings["criterion"] == "cv" else ", or choose by criterion=cv, which mistrusts chance"
        )
        warnings.append(
            f"the criterion falls up to {size} features, the most allowed: raise max_size{advice}"
        )
    if not np.isfinite(path.coefficients).all() or not np.isfinite(path.intercepts).all():
        warnings.append("coefficients overflow on the features' own scales: scale the data")
    return warnings


def _build_scores(
    trace: _StepwiseTrace, size: int, path: CoefficientPath, record: dict[str, Any]
) -> JointScores:
    selected = np.zeros(trace.entry_step.size, dtype=np.bool_)
    selected[trace.models[size]] = True
    score = trace.coefficients[size].copy()
    sign = np.where(selected, np.sign(score), trace.entry_sign)
    # the chosen by their steps, then the others on the path by theirs, then, all alike, those never on it
    last = float(np.nanmax(trace.entry_step, initial=0.0))
    loss = np.where(
        np.isnan(trace.entry_step), 2.0 * last + 1.0, trace.entry_step + np.where(selected, 0.0, last)
    )
    return JointScores(
        score, loss, selected, sign.astype(np.int8), {"stepwise_step": trace.entry_step}, path, record
    )


def _estimate_capacity(n_rows: int, settings: Mapping[str, Any]) -> int:
    if settings["direction"] == "exhaustive":
        return 50 if settings["max_size"] > 4 else 120
    if settings["direction"] == "backward":
        # a fold of the cross-validation leaves out so many rows at most
        out = -(-n_rows // settings["folds"]) if settings["criterion"] == "cv" else 0
        return max(1, min(n_rows - out - 2, 500))
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
            "take features one by one, leave them out one by one, or search all subsets",
            choices=("forward", "backward", "exhaustive"),
        ),
        ScreenerOption(
            "criterion",
            "bic",
            "what chooses the size: Mallows' Cp, BIC, AIC, or cross-validation of the whole path",
            choices=("cp", "bic", "aic", "cv"),
        ),
        ScreenerOption("max_size", 20, "the most features in a model", min_value=1),
        ScreenerOption("folds", 10, "folds of the cross-validation", min_value=2),
    ),
    summary="order of entry into a linear model; the score is the standardised coefficient, 0 if not chosen",
    assumes="the response is a sum of few of the features shown, each with its own coefficient",
    fails="among close copies, where chance decides which one enters; with far more features than rows, "
    "where Cp, AIC and BIC take too many: use criterion=cv there",
    cost="forward and backward O(features · rows · size); exhaustive exponential, to some 50 features",
    source="Miller 2002; Furnival and Wilson 1974; Mallows 1973; Schwarz 1978",
)
