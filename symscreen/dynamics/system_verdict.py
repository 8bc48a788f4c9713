"""Judge equations of motion: exact, a law within noise, or an approximation.

If the equations miss a part of the motion, residuals of neighbouring samples are alike. Sums over blocks of
neighbours are then larger than those of independent errors. Or a solution follows only short segments of a
run, each from its own start state. Chaotic motion needs such segments, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.fitting.fit_verdict import VERDICT_LEVEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.dynamics.trajectories import Trajectories


EXACT_ERROR = 1e-5
"""Residual of a system that is exact up to the integration, relative to the standard deviation of a state."""

_BLOCK_SIZES = (2, 4, 8, 16, 32)  # numbers of neighbours that are added up
_MIN_BLOCKS = 8  # fewer blocks hardly tell slow swings from noise

_TEXTS = {
    "exact": "exact within the error of the integration",
    "noise": "law within noise: no sign that residuals of neighbouring samples are alike",
    "approximation": "approximation: residuals of neighbouring samples are alike",
    "segments": "approximation, or chaos: a solution follows {length} samples, and no whole run",
    "untested": "not tested: too few samples",
}


@dataclass(frozen=True, slots=True)
class SystemVerdict:
    """The verdict on equations of motion.

    Parameters
    ----------
    kind : {"exact", "noise", "approximation", "segments", "untested"}
        What the equations are.
    length : int
        Number of samples of the longest segment that one solution follows.
    p_value : float or None
        P-value of the hypothesis that the errors of neighbouring samples are independent, over all states
        and block sizes. None if it was not tested.

    Examples
    --------
    >>> print(SystemVerdict("approximation", 100, 2e-9))
    approximation: residuals of neighbouring samples are alike (p = 2e-09, level 1 %)
    """

    kind: str
    length: int
    p_value: float | None = None

    def __str__(self) -> str:
        text = _TEXTS[self.kind].format(length=self.length)
        if self.p_value is None:
            return text
        return f"{text} (p = {self.p_value:.2g}, level {100 * VERDICT_LEVEL:g} %)"

    def build_record(self) -> dict[str, Any]:
        """Return the verdict as plain values for JSON."""
        return {"kind": self.kind, "length": self.length, "p_value": self.p_value}


def judge_system(trajectories: Trajectories, fitted_states: Sequence[Values], length: int) -> SystemVerdict:
    """Judge a system from its residuals.

    Parameters
    ----------
    trajectories : Trajectories
        The samples of d measured states.
    fitted_states : sequence of float64 array, shape (at least d, n)
        The solution at the samples of each run; the measured states come first.
    length : int
        Number of samples of the longest segment that one solution follows.

    Returns
    -------
    SystemVerdict
        Exact if each state has residuals of at most 1e-5 of its standard deviation. Otherwise an
        approximation if the p-value of `compute_block_p_value`, multiplied by the number of states, is below
        0.01. A law within noise must also follow the longest run with one solution.
    """
    is_exact, p_values = True, []
    for place in range(len(trajectories.measured_states)):
        residuals = [
            run.states[place] - states[place]
            for run, states in zip(trajectories.runs, fitted_states, strict=True)
        ]
        spread = float(np.concatenate([run.states[place] for run in trajectories.runs]).std())
        error = float(np.sqrt(np.mean(np.square(np.concatenate(residuals)))))
        is_exact = is_exact and error <= EXACT_ERROR * spread
        p_values.append(compute_block_p_value(residuals))
    is_whole = length >= max(len(run.times) for run in trajectories.runs)
    if is_exact:
        return SystemVerdict("exact" if is_whole else "segments", length)
    tested = [p_value for p_value in p_values if p_value is not None]
    if not tested:
        return SystemVerdict("untested", length)
    p_value = min(1.0, len(tested) * min(tested))
    if p_value < VERDICT_LEVEL:
        return SystemVerdict("approximation", length, p_value)
    return SystemVerdict("noise", length, p_value) if is_whole else SystemVerdict("segments", length)


def compute_block_p_value(residuals: Sequence[Values]) -> float | None:
    """Compute the p-value of the hypothesis that residuals of neighbouring samples are independent.

    Parameters
    ----------
    residuals : sequence of float64 array, shape (n,)
        The residuals of each run in the order of time.

    Returns
    -------
    float or None
        In [0, 1]. None if there are fewer than eight blocks of two samples.

    Notes
    -----
    Ranks of the residuals become normal scores, so outliers do not decide. For blocks of b neighbours,
    Σ (sum of a block)²/b is then about χ² with as many degrees of freedom as there are blocks. The smallest
    p-value over b = 2, 4, 8, 16 and 32 is multiplied by their number (Bonferroni). Constants that are fitted
    take away slow swings, so the p-value is rather too large.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=200)
    >>> swings = np.sin(0.1 * np.arange(200))
    >>> compute_block_p_value([noise]) > 0.05, compute_block_p_value([noise + swings]) < 0.001
    (True, True)
    """
    from scipy.special import chdtrc, ndtri
    from scipy.stats import rankdata

    pooled = np.concatenate(list(residuals))
    scores = ndtri((rankdata(pooled) - 0.5) / len(pooled))
    ends = np.cumsum([len(each) for each in residuals])[:-1]
    runs = np.split(scores, ends)
    p_values = []
    for size in _BLOCK_SIZES:
        sums = np.concatenate([_sum_blocks(run, size) for run in runs])
        if len(sums) >= _MIN_BLOCKS:
            p_values.append(float(chdtrc(len(sums), (sums**2).sum() / size)))
    return min(1.0, len(p_values) * min(p_values)) if p_values else None


def _sum_blocks(scores: Values, size: int) -> Values:
    """Sum the blocks of a run: scores (n,); a last block that is not full is left out."""
    n_blocks = len(scores) // size
    sums: Values = scores[: n_blocks * size].reshape(n_blocks, size).sum(axis=1)
    return sums
