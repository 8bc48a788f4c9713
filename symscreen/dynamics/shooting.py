"""Fit the constants of a system to trajectories by multiple shooting.

Each run is divided into segments whose start states are free. The system is integrated over all segments at
once by the classical Runge-Kutta method, also with each constant and each start state changed a little, which
gives the derivatives of Gauss-Newton steps with damping (Levenberg-Marquardt). The start states of a segment
act on that segment only, so they are eliminated segment by segment.

Bock, "Recent advances in parameter identification techniques for O.D.E.", Numerical Treatment of Inverse
Problems in Differential and Integral Equations (1983), 95-121.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from symscreen.dynamics._kernels import integrate_program
from symscreen.dynamics.programs import write_program

if TYPE_CHECKING:
    from symscreen._typing import Flags, Values
    from symscreen.dynamics.equations import System
    from symscreen.dynamics.smoothing import SmoothRun
    from symscreen.dynamics.trajectories import Trajectories


_STEP = 1e-6  # relative step of the differences that approximate derivatives
# largest relative difference at the end of a segment; if it grows further, the step is smaller
_MAX_CHANGE = 1e-4
_MIN_STEP = 1e-11
_MAX_STEPS = 25
_TOLERANCE = 1e-6  # relative decrease of the squared error at which the fit ends
_MAX_DAMPING = 1e6
# smallest error of a state, relative to its spread; the integration's rounding is below it
_SMALLEST_ERROR = 1e-5


@dataclass(frozen=True, eq=False)
class Segments:
    """Segments of runs as arrays, padded to the same length.

    Parameters
    ----------
    steps : float64 array, shape (g, l − 1)
        Time steps; 0 where padded.
    states : float64 array, shape (d, g, l)
        The measured states; 0 where padded.
    is_sample : bool array, shape (g, l)
        Where a sample is.
    starts : float64 array, shape (s, g)
        Smooth states at the begin of each segment.
    inputs : dict of str to float64 array, shape (g, l − 1, 2·m + 1)
        The inputs at the ends and the middles of the m parts of each step.
    scales : float64 array, shape (d,)
        Standard deviations of the noise that residuals are divided by.
    spreads : float64 array, shape (s,)
        Standard deviations of the states.
    n_parts : int
        Runge-Kutta steps in each time step.
    edges : list of tuple of int
        The number of the run, the first sample and the end of each segment.
    """

    steps: Values
    states: Values
    is_sample: Flags
    starts: Values
    inputs: dict[str, Values]
    scales: Values
    spreads: Values
    n_parts: int
    edges: list[tuple[int, int, int]]


def build_segments(
    trajectories: Trajectories,
    smooth_runs: tuple[SmoothRun, ...],
    noise: Values,
    spreads: Values,
    *,
    length: int,
    n_parts: int,
) -> Segments:
    """Divide runs into segments of about `length` samples."""
    pieces = list_edges(trajectories, length)
    size = max(stop - start for _, start, stop in pieces)
    d, n_segments = len(trajectories.measured_states), len(pieces)
    steps, is_sample = np.zeros((n_segments, size - 1)), np.zeros((n_segments, size), dtype=bool)
    states = np.zeros((d, n_segments, size))
    starts = np.empty((len(trajectories.system_states), n_segments))
    inputs = {name: np.zeros((n_segments, size - 1, 2 * n_parts + 1)) for name in trajectories.inputs}
    fractions = np.linspace(0.0, 1.0, 2 * n_parts + 1)
    for place, (number, start, stop) in enumerate(pieces):
        run, n = trajectories.runs[number], stop - start
        times = run.times[start:stop]
        steps[place, : n - 1] = np.diff(times)
        is_sample[place, :n] = True
        states[:, place, :n] = run.states[:, start:stop]
        starts[:, place] = smooth_runs[number].evaluate(times[:1])[:, 0]
        if inputs and n > 1:
            grid = times[:-1, None] + np.diff(times)[:, None] * fractions
            for name, values in run.interpolate_inputs(grid.ravel()).items():
                inputs[name][place, : n - 1] = values.reshape(grid.shape)
    scales = np.maximum(noise, _SMALLEST_ERROR * spreads[:d])
    return Segments(steps, states, is_sample, starts, inputs, scales, spreads, n_parts, pieces)


def list_edges(trajectories: Trajectories, length: int) -> list[tuple[int, int, int]]:
    """Return the number of the run, the first sample and the end of segments of about `length` samples."""
    pieces = []
    for number, run in enumerate(trajectories.runs):
        n = len(run.times)
        edges = np.linspace(0, n, max(1, round(n / length)) + 1).astype(int).tolist()
        pieces += [(number, *edge) for edge in pairwise(edges)]
    return pieces


@dataclass(frozen=True, eq=False)
class ShootingFit:
    """Constants fitted to segments.

    Parameters
    ----------
    system : System
        The system with the fitted constants.
    starts : float64 array, shape (s, g)
        The fitted states at the begin of each segment.
    squares : float64 array, shape (d,)
        Mean squared residual of each state, over the number of samples less that of the start states.
    score : float
        The EBIC of the system; lower is better.
    covariance : float64 array, shape (p, p)
        Covariance of the constants, for noise of the fitted size.
    edges : list of tuple of int
        The number of the run, the first sample and the end of each segment.
    """

    system: System
    starts: Values
    squares: Values
    score: float
    covariance: Values
    edges: list[tuple[int, int, int]]


class Shooting:
    """Integrate a system over segments."""

    def __init__(self, segments: Segments, system: System, *, has_free_constants: bool = True) -> None:
        self.segments, self.system = segments, system
        self.n_constants = len(system.constants) if has_free_constants else 0
        self.program = write_program(system, [*system.states, *segments.inputs])
        self.step = _STEP

    def integrate(self, starts: Values, constants: Values) -> Values:
        """Integrate for several start states and constants at once.

        Parameters
        ----------
        starts : float64 array, shape (s, g, b)
            Start states.
        constants : float64 array, shape (p, b) or (p, 1)
            Constants.

        Returns
        -------
        float64 array, shape (s, g, l, b)
            The states at the samples; NaN or infinite where they grow without limit.
        """
        segments, program = self.segments, self.program
        if program is None:
            return self._integrate_slowly(starts, constants)
        # a copy, because for a read-only array the kernel would be compiled once more
        batch = np.broadcast_to(constants, (len(constants), starts.shape[2])).copy()
        result = np.empty((*starts.shape[:2], segments.steps.shape[1] + 1, starts.shape[2]))
        inputs = np.empty((0, *segments.steps.shape, 2 * segments.n_parts + 1))
        if segments.inputs:
            inputs = np.array([*segments.inputs.values()])
        integrate_program(
            program.instructions,
            program.numbers,
            program.ends,
            segments.steps,
            inputs,
            np.ascontiguousarray(starts),
            batch,
            program.depth,
            result,
        )
        return result

    def _integrate_slowly(self, starts: Values, constants: Values) -> Values:
        """Integrate systems that have operators of the user's own."""
        segments, rates = self.segments, self.system.rates
        n_steps, parts = segments.steps.shape[1], segments.n_parts
        result = np.empty((*starts.shape[:2], n_steps + 1, starts.shape[2]))
        result[:, :, 0] = state = starts
        rows = [*constants[:, None, :]]
        names = self.system.states
        with np.errstate(all="ignore"):
            for step in range(n_steps):
                h = (segments.steps[:, step] / parts)[:, None]
                for part in range(parts):
                    first, middle, last = (
                        {name: each[:, step, 2 * part + k, None] for name, each in segments.inputs.items()}
                        for k in range(3)
                    )

                    def compute(state: Values, inputs: dict[str, Values]) -> Values:
                        columns = {**dict(zip(names, state, strict=True)), **inputs}
                        rate = np.empty_like(state)
                        for place, values in enumerate(rates(columns, rows)):
                            rate[place] = values
                        return rate

                    k1 = compute(state, first)
                    k2 = compute(state + h / 2.0 * k1, middle)
                    k3 = compute(state + h / 2.0 * k2, middle)
                    k4 = compute(state + h * k3, last)
                    state = state + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
                result[:, :, step + 1] = state
        return result

    def compute_residuals(self, starts: Values, constants: Values) -> Values:
        """Return measured minus computed states over the noise, shape (d, g, l); 0 where padded."""
        computed = self.integrate(starts[:, :, None], constants[:, None])[..., 0]
        return self._compare(computed)

    def _compare(self, computed: Values) -> Values:
        segments = self.segments
        d = len(segments.states)
        residuals = (segments.states - computed[:d]) / segments.scales[:, None, None]
        return np.where(segments.is_sample, residuals, 0.0)

    def differentiate(self, starts: Values, constants: Values) -> tuple[Values, Values, Values]:
        """Return the residuals and their derivatives.

        Returns
        -------
        residuals : float64 array, shape (g, d·l)
        of_starts : float64 array, shape (g, d·l, s)
            Minus the derivatives by the start states, over their spreads.
        of_constants : float64 array, shape (g, d·l, p)
            Minus the derivatives by the constants, over their sizes.
        """
        found = self._differentiate(starts, constants)
        segments = self.segments
        d = len(segments.states)
        units = (segments.scales / segments.spreads[:d])[:, None, None]
        growth = float(np.abs(found[1].reshape(len(found[1]), d, -1, len(starts)) * units).max())
        if np.isfinite(growth) and growth * self.step > _MAX_CHANGE:
            # small changes grow without bound in chaotic systems, whose solution is linear in tiny ones only
            self.step = max(_STEP / growth, _MIN_STEP)
            found = self._differentiate(starts, constants)
        return found

    def _differentiate(self, starts: Values, constants: Values) -> tuple[Values, Values, Values]:
        """Compute residuals and derivatives by differences of the current step."""
        segments, p = self.segments, self.n_constants
        s, g = starts.shape
        sizes = compute_sizes(constants)
        batch = np.repeat(starts[:, :, None], 1 + s + p, axis=2)
        for place in range(s):
            batch[place, :, 1 + place] += self.step * segments.spreads[place]
        changed = np.repeat(constants[:, None], 1 + s + p, axis=1)
        for place in range(p):
            changed[place, 1 + s + place] += self.step * sizes[place]
        computed = self.integrate(batch, changed)
        residuals = self._compare(computed[..., 0])
        d = len(segments.states)
        slopes = (computed[:d, :, :, 1:] - computed[:d, :, :, :1]) / self.step
        slopes = slopes / segments.scales[:, None, None, None]
        slopes = np.where(segments.is_sample[..., None], slopes, 0.0)
        flat = residuals.transpose(1, 0, 2).reshape(g, -1)
        slopes = slopes.transpose(1, 0, 2, 3).reshape(g, flat.shape[1], s + p)
        return flat, slopes[:, :, :s], slopes[:, :, s:]


def compute_sizes(constants: Values) -> Values:
    """Return the sizes by which changes of constants are measured."""
    return np.asarray(np.abs(constants) + 1e-2)


def fit_by_shooting(
    system: System,
    segments: Segments,
    n_samples: int,
    starts: Values | None = None,
    *,
    max_steps: int = _MAX_STEPS,
    has_free_constants: bool = True,
) -> ShootingFit | None:
    """Fit the constants of a system, and the start states, to segments.

    Parameters
    ----------
    system : System
        The system; its constants are the start of the fit.
    segments : Segments
        The samples.
    n_samples : int
        The number of samples of each state, for the criterion.
    starts : float64 array, shape (s, g), optional
        States at the begin of each segment at which the fit starts.
    max_steps : int
        The largest number of steps.
    has_free_constants : bool
        Whether the constants are fitted, or the start states alone.

    Returns
    -------
    ShootingFit or None
        None if the system cannot be integrated from the start.
    """
    shooting = Shooting(segments, system, has_free_constants=has_free_constants)
    constants, p = system.constants, shooting.n_constants
    starts = segments.starts if starts is None else starts
    square = float((shooting.compute_residuals(starts, constants) ** 2).sum())
    if not np.isfinite(square):
        return None
    damping, normal = 1e-3, np.eye(p)
    for _ in range(max_steps):
        residuals, of_starts, of_constants = shooting.differentiate(starts, constants)
        if not (np.isfinite(of_starts).all() and np.isfinite(of_constants).all()):
            break
        basis, triangle = np.linalg.qr(of_starts)
        rest = residuals - np.einsum("gns,gs->gn", basis, np.einsum("gns,gn->gs", basis, residuals))
        inner = np.einsum("gns,gnp->gsp", basis, of_constants)
        reduced = of_constants - np.einsum("gns,gsp->gnp", basis, inner)
        flat = reduced.reshape(rest.size, p)
        normal, gradient = flat.T @ flat, flat.T @ rest.ravel()
        previous = square
        while damping < _MAX_DAMPING:
            scale = np.diag(normal) + 1e-12 * (np.trace(normal) + 1e-300)
            step = np.zeros(p)
            if p:
                step = np.linalg.lstsq(normal + damping * np.diag(scale), gradient, rcond=None)[0]
            start_step = _solve_triangles(
                triangle,
                np.einsum("gns,gn->gs", basis, residuals) - np.einsum("gsp,p->gs", inner, step),
            )
            new_constants = constants
            if p:
                new_constants = constants + step * compute_sizes(constants)
            new_starts = starts + start_step.T * segments.spreads[:, None]
            new_square = float((shooting.compute_residuals(new_starts, new_constants) ** 2).sum())
            if new_square < square:
                constants, starts, square = new_constants, new_starts, new_square
                damping = max(damping / 10.0, 1e-9)
                break
            damping *= 10.0 if p else np.inf
        if square >= previous * (1.0 - _TOLERANCE):
            break
    return _build_fit(shooting, starts, constants, normal, n_samples)


def compute_fitted_states(fit: ShootingFit, segments: Segments) -> tuple[Values, ...]:
    """Return the solution at all samples of each run, shape (s, n).

    Parameters
    ----------
    fit : ShootingFit
        A fit.
    segments : Segments
        Its segments, which cover the runs from begin to end.
    """
    starts, constants = fit.starts[:, :, None], fit.system.constants[:, None]
    states = Shooting(segments, fit.system).integrate(starts, constants)[..., 0]
    parts: dict[int, list[Values]] = {}
    for place, (number, start, stop) in enumerate(segments.edges):
        parts.setdefault(number, []).append(states[:, place, : stop - start])
    return tuple(np.concatenate(parts[number], axis=1) for number in sorted(parts))


def _solve_triangles(triangle: Values, right: Values) -> Values:
    """Solve stacked triangular systems, shapes (g, s, s) and (g, s); singular ones give no step."""
    diagonal = np.abs(np.diagonal(triangle, axis1=1, axis2=2))
    is_regular = diagonal.min(axis=1) > 1e-10 * np.maximum(diagonal.max(axis=1), 1e-300)
    safe = np.where(is_regular[:, None, None], triangle, np.eye(triangle.shape[1]))
    return np.where(is_regular[:, None], np.linalg.solve(safe, right[:, :, None])[:, :, 0], 0.0)


def _build_fit(
    shooting: Shooting, starts: Values, constants: Values, normal: Values, n_samples: int
) -> ShootingFit:
    """Compute the criterion and the covariance of fitted constants."""
    segments = shooting.segments
    residuals = shooting.compute_residuals(starts, constants) * segments.scales[:, None, None]
    n_starts = segments.is_sample.shape[0] * len(starts) / len(residuals)
    n_rows = max(1.0, n_samples - n_starts)
    d = len(residuals)
    squares = (residuals**2).sum(axis=(1, 2)) / n_rows
    floor = (_SMALLEST_ERROR * segments.spreads[:d]) ** 2
    relative = np.maximum(squares, floor) / segments.spreads[:d] ** 2
    system = shooting.system.replace_constants(constants)
    score = float(
        n_rows * np.log(relative).sum() + shooting.n_constants * np.log(n_samples) + 2.0 * system.search_cost
    )
    sizes = compute_sizes(constants)[: shooting.n_constants]
    variance = float((squares / segments.scales**2).mean())
    covariance = np.zeros((len(sizes), len(sizes)))
    if len(sizes):
        covariance = np.linalg.pinv(normal, hermitian=True) * variance * np.outer(sizes, sizes)
    return ShootingFit(system, starts, squares, score, covariance, segments.edges)
