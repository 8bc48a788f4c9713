"""Smooth the states of a run by splines, and estimate the size of the noise.

A cubic smoothing spline, whose penalty generalised cross-validation chooses, gives states and derivatives at
any time. The noise is estimated from how far each sample is from the cubic polynomial through its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scipy.interpolate import BSpline

    from symscreen._typing import Values
    from symscreen.dynamics.trajectories import Run, Trajectories


_MEDIAN_TO_DEVIATION = 1.4826  # standard deviation of normal errors over the median of their absolute values
_N_NEIGHBORS = 4
_NOISE_FACTOR = 3.0  # standard deviations up to which a deviation from the neighbours is noise
_SMALLEST_NOISE = 1e-9  # smallest noise, relative to the spread of a state; rounding is below it


@dataclass(frozen=True, eq=False)
class SmoothRun:
    """The splines of one run, and what is known of their errors.

    Parameters
    ----------
    times : float64 array, shape (n,)
        The sample times.
    splines : tuple of BSpline
        One for each state of the system; those of second order are followed by their derivatives.
    interpolation_errors : float64 array, shape (s, n)
        How far a spline may miss a state between samples, beyond the noise, near each sample.
    """

    times: Values
    splines: tuple[BSpline, ...]
    interpolation_errors: Values

    def evaluate(self, times: Values, derivative: int = 0) -> Values:
        """Evaluate the states, or a derivative of them, at some times; shape (s, m)."""
        return np.array([spline(times, nu=derivative) for spline in self.splines])


def smooth_trajectories(trajectories: Trajectories) -> tuple[SmoothRun, ...]:
    """Smooth all runs."""
    noise = estimate_noise(trajectories)
    return tuple(_smooth_run(run, noise, trajectories.order) for run in trajectories.runs)


def estimate_noise(trajectories: Trajectories) -> Values:
    """Estimate the standard deviation of the noise of each measured state, shape (d,).

    The median over samples of the distance from the cubic polynomial through the four nearest samples, scaled
    so that it is exact for normal noise on a smooth state. Where the samples are sparse it is an upper bound.
    """
    return _estimate_noise([(run.times, run.states) for run in trajectories.runs])


def estimate_derivative_noise(trajectories: Trajectories) -> Values:
    """Estimate the standard deviation of the noise of each measured derivative, shape (d,)."""
    runs = trajectories.runs
    return _estimate_noise([(run.times, run.derivatives) for run in runs if run.derivatives is not None])


def _estimate_noise(runs: Sequence[tuple[Values, Values]]) -> Values:
    """Estimate the noise of columns of several runs, given as times and values of shape (d, n)."""
    joined = np.concatenate([_compute_deviations(times, values) for times, values in runs], axis=1)
    spread = np.concatenate([values for _, values in runs], axis=1).std(axis=1)
    noise = _MEDIAN_TO_DEVIATION * np.median(np.abs(joined), axis=1)
    return np.asarray(np.maximum(noise, _SMALLEST_NOISE * np.where(spread > 0.0, spread, 1.0)))


def _compute_deviations(times: Values, states: Values) -> Values:
    """Return how far each sample is from the polynomial through its neighbours, over its standard error.

    The shape is (d, n). The standard error is that for noise of standard deviation 1.
    """
    places = np.arange(len(times))
    low = np.clip(places - _N_NEIGHBORS // 2, 0, len(times) - _N_NEIGHBORS - 1)
    window = low[:, None] + np.arange(_N_NEIGHBORS + 1)
    nodes, is_own = times[window], window == places[:, None]
    weights = np.ones(window.shape)
    for one in range(_N_NEIGHBORS + 1):
        for other in range(_N_NEIGHBORS + 1):
            if one != other:
                is_used = ~(is_own[:, one] | is_own[:, other])
                gaps = np.where(is_used, nodes[:, one] - nodes[:, other], 1.0)
                weights[:, one] *= np.where(is_used, (times - nodes[:, other]) / gaps, 1.0)
    weights[is_own] = 0.0
    distances = states - np.einsum("dnk,nk->dn", states[:, window], weights)
    return np.asarray(distances / np.sqrt(1.0 + (weights**2).sum(axis=1)))


def _smooth_run(run: Run, noise: Values, order: int) -> SmoothRun:
    """Smooth one run."""
    from scipy.interpolate import make_smoothing_spline

    splines: list[BSpline] = [make_smoothing_spline(run.times, state) for state in run.states]
    deviations = np.abs(_compute_deviations(run.times, run.states))
    excess = np.sqrt(np.maximum(deviations**2 - (_NOISE_FACTOR * noise[:, None]) ** 2, 0.0))
    errors = np.array([_take_local_maximum(each) for each in excess])
    if order > 1:
        splines += [spline.derivative() for spline in splines]
        spacing = float(np.median(np.diff(run.times)))
        errors = np.vstack((errors, errors / spacing))
    return SmoothRun(run.times, tuple(splines), errors)


def _take_local_maximum(values: Values) -> Values:
    """Return the largest of each value and its two neighbours."""
    padded = np.concatenate((values[:1], values, values[-1:]))
    return np.maximum(np.maximum(padded[:-2], padded[1:-1]), padded[2:])


def compute_spreads(smooth_runs: Sequence[SmoothRun]) -> Values:
    """Return the standard deviation of each smooth state over all samples, shape (s,)."""
    return np.asarray(np.concatenate([run.evaluate(run.times) for run in smooth_runs], axis=1).std(axis=1))
