"""Turn differential equations into regression problems: the weak form, and smoothed derivatives.

The equation dx/dt = f is multiplied by a smooth test function φ that is 0 outside of a few samples, and
integrated by parts: −∫ φ′·x dt = ∫ φ·f dt. The data are never differentiated. The test functions are bumps,
taken as constant between two samples, so the left side is an exact sum over the samples, in which noise has a
known covariance. The right side is integrated with Gauss-Legendre nodes at which splines give the states.
Rows are transformed so that their errors are uncorrelated and alike.

Messenger and Bortz, "Weak SINDy: Galerkin-based data-driven model selection", Multiscale Modeling &
Simulation 19 (2021), 1474-1497, describe the weak form; here the errors of the splines have a part in the
covariance, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from symscreen.dynamics.smoothing import compute_spreads, estimate_derivative_noise, estimate_noise
from symscreen.statistics.spread_places import select_spread_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.dynamics.smoothing import SmoothRun
    from symscreen.dynamics.trajectories import Trajectories


_HALF_WIDTH = 3  # intervals between samples on each side of the centre of a test function
_BUMP_POWER = 2  # φ(s) = (1 − s²)²
_N_NODES = 3  # Gauss-Legendre nodes in an interval
_BLOCK_INTERVALS = 100  # intervals whose test functions are made uncorrelated together
_MAX_BLOCKS = 40  # evenly chosen blocks of longer data
_INTERPOLATION_FACTOR = 4.0  # error of the integral over an interval, relative to the error of a state
# Smallest noise of a sample, relative to the spread. Otherwise a few quiet samples would have all the weight.
_MIN_NOISE = 1e-3
_STATE_ERROR = 0.3  # error that noise in f gives the integral over an interval, relative to that of a sample


@dataclass(frozen=True, eq=False)
class RegressionProblem:
    """Rows of a linear regression for the right-hand side of each equation.

    Parameters
    ----------
    name : str
        Name of the method, for records.
    columns : mapping of str to float64 array, shape (m,)
        The states, and the inputs, at all nodes.
    projections : mapping of str to tuple of float64 array
        For each state, the matrices of shape (m_b, k_b) that map the values of a term at the nodes of a
        block, shape (q, m_b), to rows.
    targets : mapping of str to float64 array, shape (k,)
        For each state, the left side of the rows.
    eliminated : mapping of str to float64 array, shape (k, r)
        For each state, an orthonormal basis of what is eliminated from the rows and the left side.
    """

    name: str
    columns: Mapping[str, Values]
    projections: Mapping[str, tuple[Values, ...]]
    targets: Mapping[str, Values]
    eliminated: Mapping[str, Values] = field(default_factory=dict)

    def project(self, state: str, values: Values) -> Values:
        """Map values of terms at the nodes, shape (q, m), to rows, shape (q, k)."""
        parts, start = [], 0
        for matrix in self.projections[state]:
            parts.append(values[:, start : start + len(matrix)] @ matrix)
            start += len(matrix)
        rows = np.concatenate(parts, axis=1)
        basis = self.eliminated.get(state)
        return rows if basis is None else rows - (rows @ basis) @ basis.T


def build_weak_form(trajectories: Trajectories, smooth_runs: Sequence[SmoothRun]) -> RegressionProblem:
    """Build the weak form of the equations of all states that are not derivatives of others.

    Parameters
    ----------
    trajectories : Trajectories
        The samples.
    smooth_runs : sequence of SmoothRun
        Their splines.

    Returns
    -------
    RegressionProblem
    """
    nodes, weights = np.polynomial.legendre.leggauss(_N_NODES)
    positions, weights = (nodes + 1.0) / 2.0, weights / 2.0
    spreads = compute_spreads(smooth_runs)
    n_measured = len(trajectories.measured_states)
    noise = np.maximum(estimate_noise(trajectories), _MIN_NOISE * spreads[:n_measured])
    columns: dict[str, list[Values]] = {name: [] for name in trajectories.column_names}
    names = trajectories.dynamic_states
    projections: dict[str, list[Values]] = {name: [] for name in names}
    targets: dict[str, list[Values]] = {name: [] for name in names}
    for number, start, stop in _choose_blocks(trajectories):
        run, smooth = trajectories.runs[number], smooth_runs[number]
        times = run.times[start : stop + 1]
        steps = np.diff(times)
        node_times = (times[:-1, None] + steps[:, None] * positions).ravel()
        for name, values in zip(trajectories.system_states, smooth.evaluate(node_times), strict=True):
            columns[name].append(values)
        for name, values in run.interpolate_inputs(node_times).items():
            columns[name].append(values)
        tests = build_test_functions(times)
        relative_errors = (smooth.interpolation_errors[:, start : stop + 1] / spreads[:, None]).max(axis=0)
        integrals = (tests[:, :, None] * (steps[:, None] * weights)[None]).reshape(len(tests), -1)
        for place, name in enumerate(names):
            index = trajectories.system_states.index(name)
            measured = (
                run.states[place, start : stop + 1]
                if trajectories.order == 1
                else smooth.splines[index](times)
            )
            excess = _INTERPOLATION_FACTOR * spreads[index] * relative_errors
            scale = noise[place] if trajectories.order == 1 else noise[place] / float(np.median(steps))
            whitening = np.linalg.inv(np.linalg.cholesky(_build_covariance(tests, scale, excess)))
            projections[name].append((whitening @ integrals).T)
            targets[name].append(whitening @ (tests @ np.diff(measured)))
    return RegressionProblem(
        "weak form",
        {name: np.concatenate(parts) for name, parts in columns.items()},
        {name: tuple(parts) for name, parts in projections.items()},
        {name: np.concatenate(parts) for name, parts in targets.items()},
    )


def build_test_functions(times: Values) -> Values:
    """Evaluate bumps at the middle of the intervals between samples, shape (k, n − 1).

    There is one bump for each inner sample that has enough neighbours, and at least one.
    """
    n_intervals = len(times) - 1
    width = min(_HALF_WIDTH, n_intervals // 2)
    middles = (times[1:] + times[:-1]) / 2.0
    tests = []
    for center in range(width, n_intervals - width + 1):
        low, high = times[center - width], times[center + width]
        position = np.clip((2.0 * middles - low - high) / (high - low), -1.0, 1.0)
        tests.append((1.0 - position**2) ** _BUMP_POWER)
    return np.array(tests)


def _build_covariance(tests: Values, noise: float, excess: Values) -> Values:
    """Build the covariance of the rows: noise of the samples, of the integrals, and errors of the splines."""
    n_intervals = tests.shape[1]
    differences = np.diff(np.eye(n_intervals + 1), axis=0)
    of_intervals = (_STATE_ERROR * noise) ** 2 + np.maximum(excess[:-1], excess[1:]) ** 2
    increments = noise**2 * differences @ differences.T + np.diag(of_intervals)
    return np.asarray(tests @ increments @ tests.T)


def build_derivative_problem(
    trajectories: Trajectories, smooth_runs: Sequence[SmoothRun]
) -> RegressionProblem:
    """Build rows of derivatives at the samples: measured ones, or smooth ones weighted by their errors."""
    is_measured = trajectories.runs[0].derivatives is not None
    noise = estimate_derivative_noise(trajectories) if is_measured else estimate_noise(trajectories)
    names = trajectories.dynamic_states
    columns: dict[str, list[Values]] = {name: [] for name in trajectories.column_names}
    projections: dict[str, list[Values]] = {name: [] for name in names}
    targets: dict[str, list[Values]] = {name: [] for name in names}
    for number, start, stop in _choose_blocks(trajectories):
        run, smooth = trajectories.runs[number], smooth_runs[number]
        times = run.times[start:stop] if stop < len(run.times) - 1 else run.times[start:]
        for name, values in zip(trajectories.system_states, smooth.evaluate(times), strict=True):
            columns[name].append(values)
        for name, values in run.interpolate_inputs(times).items():
            columns[name].append(values)
        smooth_rates = smooth.evaluate(times, derivative=1)
        for place, name in enumerate(names):
            index = trajectories.system_states.index(name)
            rates, weights = smooth_rates[index], np.full(len(times), 1.0 / noise[place])
            if run.derivatives is not None:
                rates = run.derivatives[place, start : start + len(times)]
            else:
                excess = smooth.interpolation_errors[index, start : start + len(times)]
                weights = 1.0 / np.sqrt(noise[place] ** 2 + excess**2)
            projections[name].append(np.diag(weights))
            targets[name].append(rates * weights)
    return RegressionProblem(
        "measured derivatives" if is_measured else "smoothed derivatives",
        {name: np.concatenate(parts) for name, parts in columns.items()},
        {name: tuple(parts) for name, parts in projections.items()},
        {name: np.concatenate(parts) for name, parts in targets.items()},
    )


def _choose_blocks(trajectories: Trajectories) -> Iterator[tuple[int, int, int]]:
    """Yield blocks of samples as the number of the run, and the first and the last sample."""
    blocks = []
    for number, run in enumerate(trajectories.runs):
        n_intervals = len(run.times) - 1
        n_blocks = max(1, round(n_intervals / _BLOCK_INTERVALS))
        edges = np.linspace(0, n_intervals, n_blocks + 1).astype(int).tolist()
        blocks += [(number, *edge) for edge in pairwise(edges)]
    if len(blocks) > _MAX_BLOCKS:
        chosen = select_spread_places(len(blocks), _MAX_BLOCKS)
        blocks = [blocks[place] for place in chosen.tolist()]
    yield from blocks
