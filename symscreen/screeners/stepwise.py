"""The stepwise screener: forward selection, backward elimination, best subset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.screeners.joint import JointScreener, Option, Path, Verdict
from symscreen.statistics.best_subset import best_subsets
from symscreen.statistics.criteria import criterion_values, rounding_floor
from symscreen.statistics.folds import folds_of
from symscreen.statistics.standard import Standardised, standardised
from symscreen.statistics.stepwise import (
    backward_order,
    forward_order,
    independent,
    nested_fits,
    span_tolerance,
    spanned,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.screeners.joint import Shown

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["STEPWISE"]

_SEARCH = 4_000_000_000  # numbers that an exhaustive search may touch: some ten seconds
_WIDEST_SEARCH = 300  # features
_SPARE = 10  # degrees of freedom that σ² of Cp rests on, unless half of all are fewer


@dataclass(frozen=True, eq=False)
class _Problem:
    """Features and response on one scale, and what counts as rounding there."""

    data: Standardised
    target: Values
    spread: float
    tolerance: Values
    floor: float

    @property
    def n(self) -> int:
        return int(self.target.size)


@dataclass(frozen=True, eq=False)
class _Traced:
    """The model of each size from 0, the step at which features come in (NaN: never), and with what sign."""

    models: list[Whole]
    rss: Values
    coefficients: Values
    step: Values
    sign: Values
    set_aside: Whole
    warnings: list[str]


def _problem(values: Values, response: Values) -> _Problem:
    data = standardised(values, response)
    own = standardised(response[None], response)
    spread = float(own.scales[0])
    floor = rounding_floor(float(np.abs(response).max()), spread)
    return _Problem(data, own.features[0], spread, span_tolerance(data.centres, data.scales), floor)


def _traced(problem: _Problem, direction: str, max_size: int, work: int) -> _Traced:
    """Trace the path in one direction."""
    # more terms than half the degrees of freedom fit anything, and every criterion would reward them
    most = min(max_size, (problem.n - 1) // 2)
    if direction == "exhaustive":
        return _best(problem, most, work)
    features, target = problem.data.features, problem.target
    order, set_aside, warnings = _order(problem, direction, most)
    step, sign = np.full(len(features), np.nan), np.zeros(len(features))
    step[order] = np.arange(1.0, order.size + 1.0)
    fits = nested_fits(features, target, order)
    sign[order] = np.sign(np.diagonal(fits.coefficients[1:]))
    sizes = range(min(most, order.size) + 1)
    coefficients = np.zeros((len(sizes), len(features)))
    coefficients[:, order] = fits.coefficients[: len(sizes)]
    models = [order[:size] for size in sizes]
    return _Traced(models, fits.rss[: len(sizes)], coefficients, step, sign, set_aside, warnings)


def _order(problem: _Problem, direction: str, most: int) -> tuple[Whole, Whole, list[str]]:
    """Order features by their steps; say which were set aside before, and what is to be told."""
    features, target = problem.data.features, problem.target
    q, n = features.shape
    nobody = np.empty(0, dtype=np.int64)
    if direction == "forward":
        return forward_order(features, target, most, problem.tolerance, problem.floor), nobody, []
    forward = forward_order(features, target, q, problem.tolerance, problem.floor)
    # of linearly dependent features those stay that forward selection takes, then the first
    sequence = np.append(forward, np.setdiff1d(np.arange(q), forward))
    start = independent(features, sequence, problem.tolerance)
    set_aside, warnings = np.setdiff1d(np.arange(q), start), []
    if start.size > n - 2:
        start, set_aside = np.sort(forward[: (n - 1) // 2]), nobody
        warnings.append(
            f"{q} features are too many for {n} rows to start backward elimination from them all: it starts "
            f"from the {start.size} that forward selection takes first"
        )
    return start[backward_order(features[start], target, problem.floor)], set_aside, warnings


def _best(problem: _Problem, most: int, work: int) -> _Traced:
    """Find the best subset of every size."""
    features, target = problem.data.features, problem.target
    q = len(features)
    # a search needs q² · min(q, n) numbers; where these are too many, exchanges alone must do
    nodes = work // (q * min(q, problem.n)) if q <= _WIDEST_SEARCH else -1
    found = best_subsets(features, target, most, problem.tolerance, problem.floor, nodes)
    rss, coefficients = np.empty(len(found.models)), np.zeros((len(found.models), q))
    step, sign = np.full(q, np.nan), np.zeros(q)
    for size, model in enumerate(found.models):
        fits = nested_fits(features, target, model)
        rss[size], coefficients[size, model] = fits.rss[-1], fits.coefficients[-1]
        new = model[np.isnan(step[model])]
        step[new], sign[new] = size, np.sign(coefficients[size, new])
    warnings = []
    if found.proven < len(found.models) - 1:
        warnings.append(
            f"the models of more than {found.proven} features are the best found, not proven best: the "
            "search was cut short; show it fewer features, or lower max_size"
        )
    return _Traced(list(found.models), rss, coefficients, step, sign, np.empty(0, dtype=np.int64), warnings)


def _errors(
    values: Values, response: Values, sizes: int, settings: Mapping[str, Any], seed: int
) -> tuple[Values, list[str]]:
    """Cross-validate the whole path: the mean squared error by size, in units of the response's variance."""
    dealt = folds_of(response.size, settings["folds"], seed)
    folds = int(dealt.max()) + 1
    total = np.zeros(sizes)
    told: list[list[str]] = []
    for fold in range(folds):
        out = dealt == fold
        problem = _problem(np.ascontiguousarray(values[:, ~out]), response[~out])
        traced = _traced(problem, settings["direction"], settings["max_size"], _SEARCH // folds)
        told += [traced.warnings] if traced.warnings else []
        used = np.flatnonzero(traced.coefficients.any(axis=0))
        data = problem.data
        with np.errstate(over="ignore", invalid="ignore"):
            z = (values[np.ix_(used, out)] - data.centres[used, None]) / data.scales[used, None]
            predicted = data.mean + problem.spread * (traced.coefficients[:, used] @ z)
            squares = ((response[out] - predicted) ** 2).sum(axis=1)
        # where a fold has no larger model, its largest stands for it
        total += squares[np.minimum(np.arange(sizes), squares.size - 1)]
    errors = total / response.size / np.var(response)
    warnings = [f"in {len(told)} of {folds} folds: {told[0][0]}"] if told else []
    return np.where(np.isfinite(errors), errors, np.inf), warnings


def _noise(problem: _Problem) -> tuple[float, str]:
    """Estimate σ² for Cp, as a share of the response's sum of squares, and say from what."""
    features, n = problem.data.features, problem.n
    model = independent(features, np.arange(len(features)), problem.tolerance)
    told = "all features"
    if n - 1 - model.size < min(_SPARE, n // 2):
        model = forward_order(features, problem.target, (n - 1) // 2, problem.tolerance, problem.floor)
        told = "the largest forward model"
    rss = nested_fits(features, problem.target, model).rss[-1]
    return max(float(rss), problem.floor) / (n - 1 - model.size), f"{told} ({model.size} independent)"


def _judge(shown: Shown, settings: Mapping[str, Any]) -> Verdict:
    # by a power of two, which is exact, so that neither sums overflow nor squares vanish
    _, exponent = np.frexp(np.abs(shown.numeric.values).max())
    response = np.ldexp(shown.numeric.values, -int(exponent))
    problem = _problem(shown.values, response)
    traced = _traced(problem, settings["direction"], settings["max_size"], _SEARCH)
    criterion, sizes = settings["criterion"], len(traced.models)
    record: dict[str, Any] = {"direction": settings["direction"], "criterion": criterion}
    error, noise, warnings = np.full(sizes, np.nan), np.nan, list(traced.warnings)
    if criterion == "cv":
        error, of_folds = _errors(shown.values, response, sizes, settings, shown.seed)
        warnings += of_folds
        by_size = np.maximum(error, problem.floor)
    else:
        if criterion == "cp":
            noise, record["noise_from"] = _noise(problem)
            record["noise_share"] = noise
        by_size = criterion_values(criterion, traced.rss, problem.n, noise, problem.floor)
    size = int(np.argmin(by_size))
    path = _path(problem, traced, error, int(exponent))
    record |= {
        "size": size,
        "criterion_by_size": [float(value) if np.isfinite(value) else None for value in by_size],
        "rss_share_by_size": traced.rss.tolist(),
        "set_aside": traced.set_aside.tolist(),
        "in_span_of_chosen": spanned(problem.data.features, traced.models[size], problem.tolerance).tolist(),
        "warnings": warnings + _warnings(problem, traced, path, size, settings),
    }
    return _verdict(traced, size, path, record)


def _path(problem: _Problem, traced: _Traced, error: Values, exponent: int) -> Path:
    """Bring coefficients, intercepts and errors back to the scales of the data."""
    own, intercepts = problem.data.raw(traced.coefficients * problem.spread)
    with np.errstate(over="ignore", under="ignore"):
        return Path(
            np.arange(float(len(traced.models))),
            np.ldexp(own, exponent),
            np.ldexp(intercepts, exponent),
            np.ldexp(error * problem.spread**2, 2 * exponent),
        )


def _warnings(
    problem: _Problem, traced: _Traced, path: Path, size: int, settings: Mapping[str, Any]
) -> list[str]:
    """Say what bounds the choice of the size, and what cannot be shown."""
    warnings = []
    rows_allow = (problem.n - 1) // 2
    if traced.rss[-1] <= problem.floor:
        enough = int(np.argmax(traced.rss <= problem.floor))
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


def _verdict(traced: _Traced, size: int, path: Path, record: dict[str, Any]) -> Verdict:
    selected = np.zeros(traced.step.size, dtype=np.bool_)
    selected[traced.models[size]] = True
    score = traced.coefficients[size].copy()
    sign = np.where(selected, np.sign(score), traced.sign)
    # the chosen by their steps, then the others on the path by theirs, then, all alike, those never on it
    last = float(np.nanmax(traced.step, initial=0.0))
    loss = np.where(np.isnan(traced.step), 2.0 * last + 1.0, traced.step + np.where(selected, 0.0, last))
    return Verdict(score, loss, selected, sign.astype(np.int8), {"stepwise_step": traced.step}, path, record)


def _capacity(rows: int, settings: Mapping[str, Any]) -> int:
    if settings["direction"] == "exhaustive":
        return 50 if settings["max_size"] > 4 else 120
    if settings["direction"] == "backward":
        # a fold of the cross-validation leaves out so many rows at most
        out = -(-rows // settings["folds"]) if settings["criterion"] == "cv" else 0
        return max(1, min(rows - out - 2, 500))
    return max(1, 10_000_000 // rows)  # memory: three copies of the features


STEPWISE = JointScreener(
    name="stepwise",
    judge=_judge,
    capacity=_capacity,
    blind_to="affine",
    options=(
        Option(
            "direction",
            "forward",
            "take features one by one, leave them out one by one, or search all subsets",
            choices=("forward", "backward", "exhaustive"),
        ),
        Option(
            "criterion",
            "bic",
            "what chooses the size: Mallows' Cp, BIC, AIC, or cross-validation of the whole path",
            choices=("cp", "bic", "aic", "cv"),
        ),
        Option("max_size", 20, "the most features in a model", least=1),
        Option("folds", 10, "folds of the cross-validation", least=2),
    ),
    summary="order of entry into a linear model; the score is the standardised coefficient, 0 if not chosen",
    assumes="the response is a sum of few of the features shown, each with its own coefficient",
    fails="among close copies, where chance decides which one enters; with far more features than rows, "
    "where Cp, AIC and BIC take too many: use criterion=cv there",
    cost="forward and backward O(features · rows · size); exhaustive exponential, to some 50 features",
    source="Miller 2002; Furnival and Wilson 1974; Mallows 1973; Schwarz 1978",
)
