"""One fit of SRBench's protocol, judged."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.experiments.srbench.misses import diagnose_miss, list_candidates
from symscreen.experiments.srbench.problems import make_trial
from symscreen.experiments.srbench.records import TrialRow
from symscreen.expressions.linear_formula import Formula
from symscreen.expressions.printing import to_text
from symscreen.fitting.fit import fit
from symscreen.results.fit_result import FitResult

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.experiments.srbench.judge import Judge
    from symscreen.experiments.srbench.problems import Problem

_MIN_R2 = 0.5  # SRBench judges no formula below it


def run_trial(
    problem: Problem,
    noise_ratio: float,
    seed: int,
    judge: Judge,
    *,
    units: bool,
    table_seed: int,
    commit: str,
    jobs: int | None,
) -> TrialRow:
    """Fit one trial of a problem with the defaults of `symscreen.fit`, and judge the formula.

    Parameters
    ----------
    problem : Problem
        The problem.
    noise_ratio : float
        Standard deviation of the noise over the root mean square of the training target.
    seed : int
        Seed of the trial.
    judge : Judge
        Applies SRBench's rule.
    units : bool
        Whether the fit is given the units of the inputs and of the target.
    table_seed : int
        Seed of the table.
    commit : str
        Commit of the package, for the row.
    jobs : int or None
        Threads of the fit.

    Returns
    -------
    TrialRow
        A fit that fails is a row with the cause ``error``.
    """
    trial = make_trial(problem, noise_ratio, seed, table_seed)
    known: dict[str, Any] = {
        "problem": problem.name,
        "group": problem.group,
        "noise_ratio": noise_ratio,
        "seed": seed,
        "units": units,
        "table_seed": table_seed,
        "commit": commit,
        "truth": problem.truth,
    }
    start = time.perf_counter()
    try:
        result = _fit_problem(problem, trial.training, units=units, jobs=jobs)
    except Exception as error:  # noqa: BLE001  # one failure must not end a run of hours
        seconds = time.perf_counter() - start
        text = f"{type(error).__name__}: {error}"
        failure: dict[str, Any] = {"solved": False, "reason": "", "cause": "error", "r2": None, "stage": None}
        return TrialRow(**known, **failure, formula=text, seconds=round(seconds, 3))
    seconds = time.perf_counter() - start
    return TrialRow(
        **known, **_assess_result(problem, result, trial.test, judge, seconds), seconds=round(seconds, 3)
    )


def _fit_problem(problem: Problem, training: pd.DataFrame, *, units: bool, jobs: int | None) -> FitResult:
    """Fit the training rows of a problem with the defaults, and with its units if asked for."""
    given: dict[str, Any] = {"units": problem.units, "target_units": problem.unit} if units else {}
    result = fit(training, target=problem.target, jobs=jobs, quiet=True, **given)
    assert isinstance(result, FitResult)  # noqa: S101  # there is one target
    return result


def _assess_result(
    problem: Problem, result: FitResult, test: pd.DataFrame, judge: Judge, seconds: float
) -> dict[str, Any]:
    """Judge the formula of a fit, and find the cause of a miss."""
    formula = result.formula_in_original_units
    assert isinstance(formula, Formula)  # noqa: S101  # there is one target
    model = formula.expression
    rows = {each: test[each].to_numpy() for each in map(str, test.columns.drop(problem.target))}
    truth = test[problem.target].to_numpy()
    r2 = compute_r2(formula.predict(test), truth)  # its test rows may be outside the range
    reason, cause = "", ""
    solved = False
    if r2 is not None and r2 > _MIN_R2:
        judgement = judge.judge_formula(model, problem.expression)
        solved, reason = judgement.solved, judgement.reason
    if not solved:
        cause = diagnose_miss(model, list_candidates(result, list(rows)), rows, truth, seconds)
    return {
        "solved": solved,
        "reason": reason,
        "cause": cause,
        "r2": r2,
        "stage": find_stage(result),
        "verdict": str(result.record["verdict"]["kind"]),
        "formula": to_text(model),
    }


def find_stage(result: FitResult) -> str | None:
    """Return the stage of the search that found the formula; None for the mean."""
    stage: str | None = result.record["stage"]
    return stage


def compute_r2(predictions: NDArray[np.float64], truth: NDArray[np.float64]) -> float | None:
    """Compute R²; None if a prediction is undefined.

    Examples
    --------
    >>> compute_r2(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))
    0.5
    """
    residual = predictions - truth
    if not np.isfinite(residual).all():
        return None
    centered = truth - truth.mean()
    return float(1.0 - (residual @ residual) / (centered @ centered))
