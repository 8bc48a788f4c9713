"""Integrate saved equations of motion on new runs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data import read_frame
from symscreen.data.column_selection import require_columns
from symscreen.dynamics.equations import build_system
from symscreen.dynamics.simulation import integrate_system
from symscreen.dynamics.trajectories import (
    MIN_SAMPLES,
    Run,
    check_times,
    list_run_rows,
    read_labels,
    read_numbers,
)
from symscreen.errors import DataError, OptionError
from symscreen.export import read_bundle
from symscreen.expressions.system_formula import SystemFormula
from symscreen.messages import format_names, name_option, quote

if TYPE_CHECKING:
    import os

    import pandas as pd

    from symscreen._typing import Values
    from symscreen.data import SourceFrame
    from symscreen.dynamics.equations import System


def integrate_runs(bundle: str | os.PathLike[str] | SystemFormula, rows: Any) -> pd.DataFrame:
    """Predict the states of runs from their first measured states.

    Parameters
    ----------
    bundle : path or SystemFormula
        What `OdeResult.save_bundle` or ``symscreen ode --bundle`` saved.
    rows : path, pandas.DataFrame, or dict of columns
        The times, the states, the inputs and, if the bundle names one, the label of the run of each row. The
        rows may have any order. The states are needed in the first row of each run only. The inputs are
        interpolated between rows. Equations of second order start from the column of the first derivative,
        such as ``dx_dt``; without it, a smoothing spline of the measured states gives it.

    Returns
    -------
    pandas.DataFrame, shape (m, d)
        The predicted states at the times of the rows. Values are NaN where the solution grows without limit.
        The index is that of `rows` if `rows` is a frame.

    Raises
    ------
    OptionError
        If the bundle does not hold differential equations.
    DataError
        If a column is missing or cannot be used, or a time occurs twice in a run.

    Warns
    -----
    UserWarning
        If the solution of a run grows without limit.

    Examples
    --------
    >>> from symscreen.expressions.linear_formula import SharedFormula
    >>> from symscreen.expressions.tree import parse_expression
    >>> rates = SharedFormula(("dx/dt",), (0.0,), ((-1.0,),), (parse_expression("x"),))
    >>> nan = float("nan")
    >>> integrate_runs(SystemFormula(rates, "t", ("x",)), {"t": [0, 1, 2], "x": [1, nan, nan]}).round(4)
            x
    0  1.0000
    1  0.3679
    2  0.1353
    """
    import pandas as pd

    formula = bundle if isinstance(bundle, SystemFormula) else _read_system(bundle)
    frame = read_frame(rows)
    system, predicted = build_system(formula), np.full((len(formula.states), frame.n), np.nan)
    times, inputs = _read_known_columns(frame, formula)
    states = _read_states(frame, formula)
    endless = []
    for label, places in list_run_rows(read_labels(frame, formula.trajectory), times):
        run = Run(
            label,
            times[places],
            np.empty((0, len(places))),
            {name: values[places] for name, values in inputs.items()},
        )
        check_times(run, formula.time, has_label=formula.trajectory is not None)
        start = _find_start(run, formula, {name: values[places] for name, values in states.items()}, frame)
        predicted[:, places] = _integrate_run(system, run, start)[: len(formula.states)]
        if np.isnan(predicted[:, places]).any():
            endless.append(label)
    if endless:
        which = f" of {format_names(endless)}" if formula.trajectory is not None else ""
        warnings.warn(
            f"the solution{which} grows without limit; the states are NaN from there on", stacklevel=2
        )
    index = rows.index if isinstance(rows, pd.DataFrame) else None
    return pd.DataFrame(dict(zip(formula.states, predicted, strict=True)), index=index)


def _read_system(path: str | os.PathLike[str]) -> SystemFormula:
    """Read the equations of a bundle."""
    formulas = read_bundle(path).formulas
    if not isinstance(formulas, SystemFormula):
        raise OptionError(
            f"{path} holds no differential equations; give a file that the search for "
            f"equations of motion wrote ({name_option('bundle')})"
        )
    return formulas


def _read_known_columns(frame: SourceFrame, formula: SystemFormula) -> tuple[Values, dict[str, Values]]:
    """Read the times and the inputs, which every row needs."""
    require_columns(frame, [formula.time, *formula.inputs, *formula.states], "the equations")
    times = read_numbers(frame, formula.time)
    return times, {name: read_numbers(frame, name) for name in formula.inputs}


def _read_states(frame: SourceFrame, formula: SystemFormula) -> dict[str, Values]:
    """Read the states, and the first derivatives that there are; missing values are NaN."""
    names = [*formula.states, *(name for name in formula.velocities if name in frame.columns)]
    return {name: read_numbers(frame, name, may_be_missing=True) for name in names}


def _find_start(run: Run, formula: SystemFormula, states: dict[str, Values], frame: SourceFrame) -> Values:
    """Return the states, and in a system of second order their derivatives, at the first time of a run."""
    start = {name: float(values[0]) for name, values in states.items()}
    for name, velocity in zip(formula.states, formula.velocities, strict=False):
        if not np.isfinite(start.get(velocity, np.nan)):
            start[velocity] = _estimate_velocity(run.times, states[name])
    missing = [name for name in (*formula.states, *formula.velocities) if not np.isfinite(start[name])]
    if missing:
        which = f"the run {quote(run.name)}" if formula.trajectory is not None else "the table"
        hint = f", or the states in {MIN_SAMPLES} rows" if formula.order > 1 else ""
        raise DataError(
            f"{frame.source}: {format_names(missing)} has no value in the first row of {which}, from which "
            f"the integration starts; give it{hint}"
        )
    return np.array([start[name] for name in (*formula.states, *formula.velocities)])


def _estimate_velocity(times: Values, values: Values) -> float:
    """Estimate the first derivative at the begin of a run; NaN where few samples are measured."""
    from scipy.interpolate import make_smoothing_spline

    is_measured = np.isfinite(values)
    if is_measured.sum() < MIN_SAMPLES:
        return np.nan
    return float(make_smoothing_spline(times[is_measured], values[is_measured])(times[0], nu=1))


def _integrate_run(system: System, run: Run, start: Values) -> Values:
    """Integrate one run; a run of one row is its start."""
    if len(run.times) == 1:
        return start[:, None]
    return integrate_system(system, start, run.times, run.interpolate_inputs if run.inputs else None)
