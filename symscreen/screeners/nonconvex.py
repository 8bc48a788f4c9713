"""SCAD and MCP in ncvreg's conventions (Breheny and Huang 2011), cross-validated.

Sparse linear models like the LASSO, but with a penalty that does not shrink large coefficients.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.screeners.joint import JointScreener, Option, Path, Verdict
from symscreen.screeners.path_verdict import (
    best_step,
    entry_lambda,
    one_error_step,
    path_direction,
    path_loss,
)
from symscreen.statistics.folds import error_over_folds, folds_of
from symscreen.statistics.nonconvex import lambda_sequence, nonconvex_path
from symscreen.statistics.standard import standardised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen.screeners.joint import Shown
    from symscreen.statistics.nonconvex import NonconvexPath, Penalty

    Values = NDArray[np.float64]

__all__ = ["MCP", "SCAD"]

_FAR = 1e60  # spreads from its mean; a row left out that lies farther would have an infinite square
_WORK = 8e7  # features × rows × fits that take about 20 s on one core where few features matter
_LEAST, _MOST = 20, 10_000  # features
_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class _Validation:
    """What the folds say of the path of all rows, at each of its s λ."""

    error: Values  # (s,): mean squared
    standard_error: Values  # (s,)
    stability: Values  # (s, q): the share of folds in which a feature is selected
    missed: int  # fits that did not converge


def _judge(shown: Shown, settings: Mapping[str, Any], penalty: Penalty) -> Verdict:
    whole = standardised(shown.values, shown.numeric.values)
    # in this unit, a power of two, the response is near 1, so that its squares neither overflow nor vanish
    _, exponent = np.frexp(np.abs(whole.target).max())
    target = np.ldexp(whole.target, -exponent)
    lambdas = lambda_sequence(whole.features, target)
    fit = partial(nonconvex_path, lambdas=lambdas, penalty=penalty, gamma=float(settings["gamma"]))
    path = fit(whole.features, target)
    folds = folds_of(target.size, int(settings["folds"]), shown.seed)
    checked = _validated(fit, shown.values, target, folds, shown.jobs)

    steps = {"min": best_step(checked.error), "1se": one_error_step(checked.error, checked.standard_error)}
    step = steps[settings["rule"]]
    chosen, entry = path.coefficients[step], entry_lambda(path.coefficients, lambdas)
    coefficients, penalties = _enlarged(path.coefficients, exponent), _enlarged(lambdas, exponent)
    error, standard_error = (_enlarged(e, 2 * exponent) for e in (checked.error, checked.standard_error))
    return Verdict(
        score=coefficients[step],
        loss=path_loss(chosen, entry, lambdas),
        selected=chosen != 0.0,
        direction=path_direction(path.coefficients, step),
        columns={
            f"{penalty}_entry": _enlarged(entry, exponent),
            f"{penalty}_stability": checked.stability[step],
        },
        path=Path(penalties, *whole.raw(coefficients), error),
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
            "warnings": _warnings(path, checked, steps["min"], folds, int(settings["folds"])),
        },
    )


def _validated(
    fit: partial[NonconvexPath], values: Values, target: Values, folds: NDArray[np.int64], jobs: int
) -> _Validation:
    def left_out(fold: int) -> tuple[Values, NDArray[np.bool_], int]:
        held = folds == fold
        rest = standardised(np.ascontiguousarray(values[:, ~held]), target[~held])
        path = fit(rest.features, rest.target)
        with np.errstate(over="ignore"):
            away = (values[:, held] - rest.centres[:, None]) / rest.scales[:, None]
        predicted = rest.mean + path.coefficients @ np.clip(away, -_FAR, _FAR)
        missed = int(np.count_nonzero(~path.converged))
        return np.square(target[held] - predicted), path.coefficients != 0.0, missed

    with ThreadPoolExecutor(jobs) as pool:
        parts, inside, missed = zip(*pool.map(left_out, range(int(folds.max()) + 1)), strict=True)
    squares = np.empty((len(parts[0]), target.size))
    for fold, part in enumerate(parts):
        squares[:, folds == fold] = part
    return _Validation(*error_over_folds(squares, folds), np.mean(inside, axis=0), sum(missed))


def _enlarged(values: Values, exponent: int) -> Values:
    """Multiply by 2^exponent; what leaves float64 stays at its largest number."""
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(values, exponent), -_LARGEST, _LARGEST)


def _warnings(
    path: NonconvexPath, checked: _Validation, best: int, folds: NDArray[np.int64], asked: int
) -> list[str]:
    warnings = []
    steps = path.converged.size
    if not path.converged.all():
        warnings.append(
            f"the fit did not converge at {np.count_nonzero(~path.converged)} of {steps} λ on all rows: the "
            "coefficients there are where it stopped; features that are nearly sums of others do this"
        )
    if checked.missed:
        fits = steps * (int(folds.max()) + 1)
        warnings.append(f"{checked.missed} of the {fits} fits of the cross-validation did not converge")
    if asked > folds.size:
        warnings.append(f"{folds.size} rows make {folds.size} folds, each of one row, not {asked}")
    if best == steps - 1:
        warnings.append(
            "the cross-validated error is least at the smallest λ of the path: a model with more features "
            "may predict better"
        )
    return warnings


def _capacity(rows: int, settings: Mapping[str, Any]) -> int:
    fits = min(rows, int(settings["folds"])) + 1
    return int(np.clip(_WORK / (rows * fits), _LEAST, _MOST))


def _options(gamma: float, least: float) -> tuple[Option, ...]:
    return (
        Option("gamma", gamma, "γ: coefficients beyond γλ are not shrunk", least=least, most=1e6),
        Option("folds", 10, "folds of the cross-validation; more than rows are rows", least=2),
        Option("rule", "min", "λ of least error, or the largest within a standard error", ("min", "1se")),
    )


SCAD = JointScreener(
    name="scad",
    judge=partial(_judge, penalty="scad"),
    capacity=_capacity,
    blind_to="affine",
    options=_options(gamma=3.7, least=2.001),
    summary="coefficient under SCAD at the cross-validated λ, for features of one scale; 0 where left out",
    assumes="the response is a sum of few of the features shown",
    fails="among near copies it names one, not always the true one; its optimum is one of several",
    cost="under a second for 1000 related features, 400 rows and 10 folds; 10 s where nothing is sparse",
    source="Fan and Li 2001; path and cross-validation as in ncvreg (Breheny and Huang 2011)",
)

MCP = replace(
    SCAD,
    name="mcp",
    judge=partial(_judge, penalty="mcp"),
    options=_options(gamma=3.0, least=1.001),
    summary="coefficient under MCP at the cross-validated λ, for features of one scale; 0 where left out",
    source="Zhang 2010; path and cross-validation as in ncvreg (Breheny and Huang 2011)",
)
