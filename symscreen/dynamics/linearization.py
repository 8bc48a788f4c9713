"""Linearise trajectories around a fitted system: how a small change of one equation changes all samples.

The solution from fitted start states is x*(t). If the equation of state k is changed from f to g, the samples
change, to first order, by ∫ Φ(t, s)·e_k·(g − f)(x*(s)) ds, where Φ is the derivative of the solution at t by
the state at s. So the samples are linear in the coefficients of g, with the noise of the measurement alone.
Unlike in the weak form, no derivative is replaced, and terms are evaluated at states without noise.

The start states, and the constants of the other equations, are eliminated from the rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.dynamics.shooting import Segments, Shooting
from symscreen.dynamics.weak_form import RegressionProblem
from symscreen.statistics.spread_places import select_spread_places

if TYPE_CHECKING:
    from symscreen._typing import Values
    from symscreen.dynamics.equations import System
    from symscreen.dynamics.shooting import ShootingFit
    from symscreen.dynamics.trajectories import Trajectories


_STEP = 1e-6  # relative step of the differences that approximate derivatives
_MAX_ROWS = 1400
_SIMPSON = np.array([1.0, 4.0, 1.0]) / 6.0


def build_linearized_problem(
    trajectories: Trajectories, fit: ShootingFit, noise: Values, spreads: Values, n_parts: int
) -> RegressionProblem:
    """Build the rows of the samples, linearised around a fitted system.

    Parameters
    ----------
    trajectories : Trajectories
        The samples.
    fit : ShootingFit
        The system, and the start states of its segments.
    noise : float64 array, shape (d,)
        Standard deviation of the noise of each measured state.
    spreads : float64 array, shape (s,)
        Standard deviations of the states.
    n_parts : int
        Runge-Kutta steps between two samples.

    Returns
    -------
    RegressionProblem
        Its nodes are the samples and the middles of the steps between them.
    """
    fit = _choose_segments(fit, len(noise))
    segments = _build_node_segments(trajectories, fit, spreads, max(1, n_parts // 2))
    states = Shooting(segments, fit.system).integrate(fit.starts[:, :, None], fit.system.constants[:, None])[
        ..., 0
    ]
    halves = _differentiate_steps(segments, fit.system, states)
    columns = _evaluate_columns(trajectories, segments, states)
    scales, d = np.maximum(noise, np.sqrt(fit.squares)), len(noise)
    names = trajectories.dynamic_states
    n_kinematic = len(fit.system.states) - len(names)
    projections: dict[str, list[Values]] = {name: [] for name in names}
    rests = []
    for place, (number, start, stop) in enumerate(fit.edges):
        n = stop - start
        forced, of_starts = _propagate(halves[place], segments.steps[place], n, n_kinematic, len(names))
        residuals = trajectories.runs[number].states[:, start:stop] - states[:d, place, : 2 * n : 2]
        basis = np.linalg.qr((of_starts[:d] / scales[:, None, None]).reshape(d * n, -1), mode="complete")[0]
        kept = basis[:, of_starts.shape[2] :].T
        rests.append(kept @ (residuals / scales[:, None]).ravel())
        for name, effect in zip(names, forced, strict=True):
            matrix = np.zeros((len(kept), states.shape[2]))
            matrix[:, : 2 * n - 1] = kept @ (effect[:d] / scales[:, None, None]).reshape(d * n, -1)
            projections[name].append(matrix.T)
    rest = np.concatenate(rests)
    bare = RegressionProblem(
        "linearised trajectories", columns, {k: tuple(v) for k, v in projections.items()}, {}
    )
    return _eliminate_constants(bare, fit.system, rest)


def _choose_segments(fit: ShootingFit, d: int) -> ShootingFit:
    """Choose evenly spaced segments where there would be more rows than a search needs."""
    longest = max(stop - start for _, start, stop in fit.edges)
    n = max(1, _MAX_ROWS // (d * longest))
    if n >= len(fit.edges):
        return fit
    chosen = select_spread_places(len(fit.edges), n)
    return replace(fit, edges=[fit.edges[place] for place in chosen], starts=fit.starts[:, chosen])


def _build_node_segments(
    trajectories: Trajectories, fit: ShootingFit, spreads: Values, n_parts: int
) -> Segments:
    """Divide the steps between samples in halves, whose ends are the nodes."""
    size = max(stop - start for _, start, stop in fit.edges)
    n_nodes, n_segments = 2 * size - 1, len(fit.edges)
    steps = np.zeros((n_segments, n_nodes - 1))
    inputs = {name: np.zeros((n_segments, n_nodes - 1, 2 * n_parts + 1)) for name in trajectories.inputs}
    fractions = np.linspace(0.0, 1.0, 2 * n_parts + 1)
    for place, (number, start, stop) in enumerate(fit.edges):
        run = trajectories.runs[number]
        times = run.times[start:stop]
        halves = np.repeat(np.diff(times) / 2.0, 2)
        steps[place, : len(halves)] = halves
        begins = times[0] + np.concatenate(([0.0], np.cumsum(halves)[:-1])) if len(halves) else times[:0]
        grid = begins[:, None] + halves[:, None] * fractions
        if inputs:
            for name, values in run.interpolate_inputs(grid.ravel()).items():
                inputs[name][place, : len(halves)] = values.reshape(grid.shape)
    d = len(trajectories.measured_states)
    empty = np.zeros((d, n_segments, n_nodes))
    is_sample = np.zeros((n_segments, n_nodes), dtype=bool)
    return Segments(steps, empty, is_sample, fit.starts, inputs, np.ones(d), spreads, n_parts, fit.edges)


def _differentiate_steps(segments: Segments, system: System, states: Values) -> Values:
    """Return the derivatives of the states at each node by those at the node before, shape (g, m, s, s)."""
    s, n_segments, n_nodes = states.shape
    n_steps = n_nodes - 1
    flat = Segments(
        segments.steps.reshape(-1, 1),
        np.empty((0, 0, 0)),
        np.empty((0, 0), dtype=bool),
        np.empty((0, 0)),
        {name: values.reshape(n_segments * n_steps, 1, -1) for name, values in segments.inputs.items()},
        segments.scales,
        segments.spreads,
        segments.n_parts,
        [],
    )
    begins = states[:, :, :-1].reshape(s, -1)
    batch = np.repeat(begins[:, :, None], 1 + s, axis=2)
    for place in range(s):
        batch[place, :, 1 + place] += _STEP * segments.spreads[place]
    ends = Shooting(flat, system).integrate(batch, system.constants[:, None])[:, :, 1]
    slopes = (ends[:, :, 1:] - ends[:, :, :1]) / (_STEP * segments.spreads)
    return np.ascontiguousarray(slopes.transpose(1, 0, 2)).reshape(n_segments, n_steps, s, s)


def _evaluate_columns(trajectories: Trajectories, segments: Segments, states: Values) -> dict[str, Values]:
    """Return the states and the inputs at all nodes, segment by segment."""
    columns = {name: values.ravel() for name, values in zip(trajectories.system_states, states, strict=True)}
    for name, values in segments.inputs.items():
        full = np.concatenate((values[:, :, 0], values[:, -1:, -1]), axis=1)
        for place, (_, start, stop) in enumerate(segments.edges):
            last = 2 * (stop - start) - 2
            if last and last < full.shape[1]:
                full[place, last:] = values[place, last - 1, -1]
        columns[name] = full.ravel()
    return columns


def _propagate(
    halves: Values, steps: Values, n: int, n_kinematic: int, n_dynamic: int
) -> tuple[list[Values], Values]:
    """Return what rates at the nodes of a segment do to the states at its samples, and what the start does.

    Returns
    -------
    list of float64 array, shape (s, n, 2·n − 1)
        For each dynamic state.
    float64 array, shape (s, n, s)
        The derivatives by the start state.
    """
    s, n_nodes = halves.shape[1], 2 * n - 1
    effects = np.zeros((n_dynamic, s, n, n_nodes))
    of_starts = np.empty((s, n, s))
    of_starts[:, 0] = np.eye(s)
    for sample in range(1, n):
        first, second = halves[2 * sample - 2], halves[2 * sample - 1]
        whole = second @ first
        length = 2.0 * steps[2 * sample - 2]
        of_starts[:, sample] = whole @ of_starts[:, sample - 1]
        effects[:, :, sample] = whole @ effects[:, :, sample - 1]
        for place in range(n_dynamic):
            state = n_kinematic + place
            forced = effects[place, :, sample]
            forced[:, 2 * sample - 2] += length * _SIMPSON[0] * whole[:, state]
            forced[:, 2 * sample - 1] += length * _SIMPSON[1] * second[:, state]
            forced[state, 2 * sample] += length * _SIMPSON[2]
    return [*effects], of_starts


def _eliminate_constants(problem: RegressionProblem, system: System, rest: Values) -> RegressionProblem:
    """Add the part of each equation to the targets, and eliminate the constants of all others."""
    n_nodes = len(next(iter(problem.columns.values())))
    of_constants: dict[str, Values] = {}
    targets: dict[str, Values] = {}
    eliminated: dict[str, Values] = {}
    for equation in system.equations:
        rate, constants = equation.compile(), equation.constants
        shifts = _STEP * (np.abs(constants) + 1e-2)
        changed = [constants, *(constants + shift for shift in np.diag(shifts))]
        values = np.array(
            [np.broadcast_to(rate(problem.columns, each.tolist()), n_nodes) for each in changed]
        )
        slopes = (values[1:] - values[0]) / shifts[:, None]
        of_constants[equation.state] = problem.project(equation.state, slopes)
        targets[equation.state] = rest + problem.project(equation.state, values[:1])[0]
    for state, target in targets.items():
        others = [rows for name, rows in of_constants.items() if name != state]
        if others:
            stacked = np.concatenate(others)
            left, sizes, _ = np.linalg.svd(
                (stacked / np.linalg.norm(stacked, axis=1, keepdims=True)).T, full_matrices=False
            )
            basis = left[:, sizes > 1e-8 * sizes[0]]
            eliminated[state] = basis
            targets[state] = target - basis @ (basis.T @ target)
    return RegressionProblem(problem.name, problem.columns, problem.projections, targets, eliminated)
