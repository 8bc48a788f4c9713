"""One ODE-Strogatz table with noise, fitted: whether the formula is the truth, and how it predicts."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen import datasets
from symscreen.experiments.strogatz_equality import compared
from symscreen.expression import evaluate, parse
from symscreen.pipeline.fit import fit

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.export import Formula

__all__ = ["GRAMMAR", "Recovery", "fresh_r2", "noisy", "recovered"]

GRAMMAR = "strogatz"
_FRESH_ROWS = 10_000
_USUAL = 10.0  # times the table's largest response: a fresh row beyond it is next to a pole


@dataclass(frozen=True, slots=True)
class Recovery:
    """One fit.

    Parameters
    ----------
    formula : Formula
        As `symscreen.fit` gave it with ``snap=True``.
    structure, exact : bool
        As of `symscreen.experiments.strogatz_equality.Equality`.
    r2 : float
        1 − RSS/TSS on fresh rows of the noise-free truth.
    criterion : float
        EBIC of the model chosen.
    searched : int
        How many features were tried.
    seconds : float
        Of the fit.
    """

    formula: Formula
    structure: bool
    exact: bool
    r2: float
    criterion: float
    searched: int
    seconds: float


def noisy(system: str, noise_ratio: float, seed: int) -> pd.DataFrame:
    """Add noise to the response of a table.

    Parameters
    ----------
    system : str
        A name of `symscreen.datasets.strogatz_names`.
    noise_ratio : float
        Standard deviation of the normal noise over the root mean square of the response (SRBench).
    seed : int
        The draw depends on it and on the table, not on the ratio.

    Returns
    -------
    pandas.DataFrame
        All 400 rows.

    Examples
    --------
    >>> quiet, loud = (noisy("lv1", ratio, seed=3)["target"] for ratio in (0.0, 0.1))
    >>> round(float((loud - quiet).std() / (quiet**2).mean() ** 0.5), 2)
    0.1
    """
    frame = datasets.strogatz(system).frame
    clean = frame["target"].to_numpy()
    rng = np.random.default_rng([seed, datasets.strogatz_names().index(system)])
    spread = noise_ratio * np.sqrt((clean * clean).mean())
    return frame.assign(target=clean + spread * rng.standard_normal(len(clean)))


def recovered(system: str, frame: pd.DataFrame, layers: str | None) -> Recovery:
    """Fit a table, on one thread, and compare what comes with the truth.

    Parameters
    ----------
    system : str
        Whose truth.
    frame : pandas.DataFrame
        Its table, with or without noise.
    layers : str or None
        As of `symscreen.fit`.

    Returns
    -------
    Recovery
    """
    start = time.perf_counter()
    result = fit(frame, operators=GRAMMAR, layers=layers, snap=True, jobs=1)
    seconds = time.perf_counter() - start
    equality = compared(result.formula, datasets.strogatz(system).truth)
    chosen = result.front[result.front["chosen"]].iloc[0]
    return Recovery(
        formula=result.formula,
        structure=equality.structure,
        exact=equality.exact,
        r2=fresh_r2(system, result.formula),
        criterion=float(chosen["ebic"]),
        searched=int(result.record["searched"]),
        seconds=seconds,
    )


def fresh_r2(system: str, formula: Formula) -> float:
    """Predict the noise-free truth on 10,000 fresh rows, uniform over the range of each input.

    Parameters
    ----------
    system : str
        Whose truth and ranges.
    formula : Formula
        What predicts.

    Returns
    -------
    float
        R². Rows where the truth is ten times the table's largest response, next to a pole, are left out: a
        few of them would outweigh all others. −∞ where the formula is undefined in one of the rest.
    """
    data = datasets.strogatz(system)
    rows = _fresh_rows(data.frame)
    truth = evaluate(parse(data.truth), rows)
    usual = np.abs(truth) <= _USUAL * np.abs(data.frame["target"]).max()
    rows, truth = {name: values[usual] for name, values in rows.items()}, truth[usual]
    left = formula.intercept - truth
    for coefficient, term in zip(formula.coefficients, formula.terms, strict=True):
        left = left + coefficient * evaluate(term, rows)
    if not np.isfinite(left).all():
        return float("-inf")
    around = truth - truth.mean()
    return float(1.0 - (left @ left) / (around @ around))


def _fresh_rows(frame: pd.DataFrame) -> dict[str, NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    return {
        name: rng.uniform(frame[name].min(), frame[name].max(), _FRESH_ROWS)
        for name in frame.columns.drop("target")
    }
