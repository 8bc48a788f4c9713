"""Integrate a system by scipy's adaptive solver: forecasts, and states between samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symscreen._typing import Values
    from symscreen.dynamics.equations import System
    from symscreen.dynamics.smoothing import SmoothRun
    from symscreen.dynamics.trajectories import Trajectories


_RELATIVE, _ABSOLUTE = 1e-8, 1e-10  # tolerances of the solver
# size of a state, relative to the larger of 1 and the start, above which it grows without limit
_LARGEST = 1e12
# largest number of evaluations of the rates in an integration; with more it is given up
_MAX_EVALUATIONS = 200_000


class _TooStiffError(Exception):
    """The solver needs too many evaluations."""


def integrate_system(
    system: System,
    start: Values,
    times: Values,
    interpolate_inputs: Callable[[Values], Mapping[str, Values]] | None = None,
) -> Values:
    """Integrate a system from a start state.

    Parameters
    ----------
    system : System
        The system.
    start : float64 array, shape (s,)
        The state at the first time.
    times : float64 array, shape (n,)
        Ascending times.
    interpolate_inputs : callable, optional
        Gives the inputs at an array of times.

    Returns
    -------
    float64 array, shape (s, n)
        NaN from the time on at which the solution ends or grows without limit.
    """
    from scipy.integrate import solve_ivp

    constants = system.constants.tolist()
    n_evaluations = 0

    def compute(time: float, state: Values) -> list[float]:
        nonlocal n_evaluations
        n_evaluations += 1
        if n_evaluations > _MAX_EVALUATIONS:
            raise _TooStiffError
        columns: dict[str, Any] = dict(zip(system.states, state, strict=True))
        if interpolate_inputs is not None:
            columns |= {name: values[0] for name, values in interpolate_inputs(np.array([time])).items()}
        with np.errstate(all="ignore"):
            return [float(rate) for rate in system.rates(columns, constants)]

    largest = _LARGEST * max(1.0, float(np.abs(start).max()))

    def is_within(_: float, state: Values) -> float:
        return largest - float(np.abs(state).max())

    is_within.terminal = True  # type: ignore[attr-defined]  # as scipy reads it
    result = np.full((len(start), len(times)), np.nan)
    result[:, 0] = start
    if len(times) > 1:
        try:
            solution = solve_ivp(
                compute,
                (times[0], times[-1]),
                start,
                method="LSODA",
                t_eval=times,
                rtol=_RELATIVE,
                atol=_ABSOLUTE,
                events=is_within,
            )
        except (_TooStiffError, ValueError):
            return result
        result[:, : solution.y.shape[1]] = solution.y
    return result


def forecast_errors(
    system: System, trajectories: Trajectories, smooth_runs: tuple[SmoothRun, ...]
) -> dict[str, float | None]:
    """Integrate from the first smooth state of each run; return the error of each measured state.

    The error is the root mean square over all samples, relative to the standard deviation of the state.
    It is None where the solution ends early or grows without limit.
    """
    d = len(trajectories.measured_states)
    errors = []
    for run, smooth in zip(trajectories.runs, smooth_runs, strict=True):
        start = smooth.evaluate(run.times[:1])[:, 0]
        inputs = run.interpolate_inputs if run.inputs else None
        errors.append(integrate_system(system, start, run.times, inputs)[:d] - run.states)
    joined = np.concatenate(errors, axis=1)
    spreads = np.concatenate([run.states for run in trajectories.runs], axis=1).std(axis=1)
    scale = np.where(spreads > 0.0, spreads, 1.0)
    relative = np.sqrt((joined**2).mean(axis=1)) / scale
    values = [each if np.isfinite(each) else None for each in relative.tolist()]
    return dict(zip(trajectories.measured_states, values, strict=True))
