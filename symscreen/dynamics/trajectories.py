"""Read trajectories from a table: the samples of one or more runs, in the order of time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.data import SourceFrame, read_frame
from symscreen.data.column_selection import require_columns
from symscreen.errors import DataError, OptionError
from symscreen.expressions.system_formula import name_velocities
from symscreen.messages import format_names, format_rows, name_option, name_option_column, quote

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._typing import Integers, Values


MIN_SAMPLES = 8  # samples of a run


@dataclass(frozen=True, eq=False)
class Run:
    """The samples of one run.

    Parameters
    ----------
    name : str
        The label of the run.
    times : float64 array, shape (n,)
        The sample times, ascending.
    states : float64 array, shape (d, n)
        The measured states.
    inputs : mapping of str to float64 array, shape (n,)
        The measured inputs, and the time if equations may use it.
    derivatives : float64 array, shape (d, n), or None
        The measured derivatives.
    """

    name: str
    times: Values
    states: Values
    inputs: Mapping[str, Values]
    derivatives: Values | None = None

    def interpolate_inputs(self, times: Values) -> dict[str, Values]:
        """Interpolate the inputs by monotone cubic polynomials, which do not overshoot at steps."""
        from scipy.interpolate import PchipInterpolator

        return {name: PchipInterpolator(self.times, values)(times) for name, values in self.inputs.items()}

    def take(self, start: int, stop: int) -> Run:
        """Return the samples from `start` up to, but not including, `stop`."""
        inputs = {name: values[start:stop] for name, values in self.inputs.items()}
        derivatives = None if self.derivatives is None else self.derivatives[:, start:stop]
        return replace(
            self,
            times=self.times[start:stop],
            states=self.states[:, start:stop],
            inputs=inputs,
            derivatives=derivatives,
        )


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Runs of one system.

    Parameters
    ----------
    runs : tuple of Run
        The runs, sorted by their labels.
    time : str
        Name of the time.
    measured_states : tuple of str
        Names of the measured states, length d.
    inputs : tuple of str
        Names of the inputs.
    order : int
        Order of the equations, 1 or 2.
    trajectory : str or None
        The column that distinguishes runs.
    """

    runs: tuple[Run, ...]
    time: str
    measured_states: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    order: int = 1
    trajectory: str | None = None

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the first derivatives, which are states of a system of second order."""
        return name_velocities(self.measured_states, self.time) if self.order > 1 else ()

    @property
    def system_states(self) -> tuple[str, ...]:
        """Names of the states of the system of first order: measured states, then their derivatives."""
        return (*self.measured_states, *self.velocities)

    @property
    def dynamic_states(self) -> tuple[str, ...]:
        """Names of the states whose equations are searched, in the order of the measured states."""
        return self.velocities or self.measured_states

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns that equations may use."""
        return (*self.system_states, *self.inputs)

    @property
    def n_samples(self) -> int:
        """The number of samples of all runs."""
        return sum(len(run.times) for run in self.runs)

    def format_derivative(self, state: str) -> str:
        """Write the left side of the equation of a state, such as dx/dt."""
        if self.order == 1:
            return f"d{state}/d{self.time}"
        measured = self.measured_states[self.velocities.index(state)]
        return f"d2{measured}/d{self.time}2"


def read_trajectories(
    source: Any,
    *,
    time: str,
    states: Sequence[str],
    trajectory: str | None = None,
    inputs: Sequence[str] = (),
    derivatives: Sequence[str] = (),
    order: int = 1,
) -> Trajectories:
    """Read trajectories from any source of a table.

    Parameters
    ----------
    source : object
        As for `symscreen.fit`.
    time : str
        The column of sample times.
    states : sequence of str
        The columns of the states.
    trajectory : str, optional
        A column that tells the runs apart.
    inputs : sequence of str
        Columns that act on the system from outside; the time, too, if it acts.
    derivatives : sequence of str
        Columns of measured derivatives, none or one for each state.
    order : int
        The order of the equations, 1 or 2.

    Returns
    -------
    Trajectories

    Raises
    ------
    DataError
        If a column is missing or has no finite numbers, a time occurs twice in a run, or a run is too short.
    OptionError
        If a column has two roles.

    Examples
    --------
    >>> table = {"t": np.arange(16.0) % 8, "x": np.arange(16.0), "run": ["b"] * 8 + ["a"] * 8}
    >>> trajectories = read_trajectories(table, time="t", states=["x"], trajectory="run")
    >>> [(run.name, len(run.times)) for run in trajectories.runs]
    [('a', 8), ('b', 8)]
    """
    frame = read_frame(source)
    _check_roles(time, states, trajectory, inputs, derivatives)
    columns = {"time": [time], "states": states, "inputs": inputs, "derivatives": derivatives}
    for option, names in columns.items():
        require_columns(frame, list(names), name_option(option))
    values = {name: read_numbers(frame, name) for name in (time, *states, *inputs, *derivatives)}
    runs = []
    for label, rows in list_run_rows(read_labels(frame, trajectory), values[time]):
        run = Run(
            label,
            values[time][rows],
            np.array([values[name][rows] for name in states]),
            {name: values[name][rows] for name in inputs},
            np.array([values[name][rows] for name in derivatives]) if derivatives else None,
        )
        _check_run(run, time, has_label=trajectory is not None)
        runs.append(run)
    constant = [
        name for place, name in enumerate(states) if all(np.ptp(run.states[place]) == 0.0 for run in runs)
    ]
    if constant:
        raise DataError(f"{format_names(constant)} never changes; leave it out of {name_option('states')}")
    return Trajectories(tuple(runs), time, tuple(states), tuple(inputs), order, trajectory)


def _check_roles(
    time: str,
    states: Sequence[str],
    trajectory: str | None,
    inputs: Sequence[str],
    derivatives: Sequence[str],
) -> None:
    """Refuse a column that has two roles, and derivatives of some states only; the time may be an input."""
    if not states:
        raise OptionError(f"{name_option('states')} names no column; give the columns of the states")
    if derivatives and len(derivatives) != len(states):
        raise OptionError(
            f"{name_option('derivatives')} has {len(derivatives)} columns for {len(states)} states; give one "
            "for each, in their order"
        )
    roles = [time, *states, *derivatives, *([] if trajectory is None else [trajectory])]
    roles += [name for name in inputs if name != time]
    repeated = sorted({name for name in roles if roles.count(name) > 1})
    if repeated:
        raise OptionError(
            f"{format_names(repeated)} has two roles; a column is the time, a state, a derivative, an input "
            "or the label of runs"
        )


def read_numbers(frame: SourceFrame, name: str, *, may_be_missing: bool = False) -> Values:
    """Read a column of numbers, which are finite unless they may be missing.

    Raises
    ------
    DataError
        If the column does not hold numbers, or a number is missing or infinite although it may not be
        missing.
    """
    column = frame.columns[name]
    if column.numbers is None:
        raise DataError(f"{frame.source}: the column {quote(name)} holds {column.description}; give numbers")
    is_bad = ~np.isfinite(column.numbers)
    if is_bad.any() and not may_be_missing:
        raise DataError(
            f"{frame.source}: the column {quote(name)} is missing or infinite in {format_rows(is_bad)}; "
            "leave these rows out, since samples need not be evenly spaced"
        )
    return np.asarray(column.numbers, dtype=np.float64)


def read_labels(frame: SourceFrame, trajectory: str | None) -> list[str]:
    """Read the label of the run of each row.

    Raises
    ------
    DataError
        If the column does not hold numbers or text, or a label is missing.
    """
    if trajectory is None:
        return [""] * frame.n
    require_columns(frame, [trajectory], name_option("trajectory"))
    column = frame.columns[trajectory]
    if column.numbers is not None:
        is_missing = np.isnan(column.numbers)
        labels = [f"{value:.17g}" for value in column.numbers.tolist()]
    elif column.texts is not None:
        texts = column.texts.to_list()
        is_missing = np.array([text is None for text in texts], dtype=np.bool_)
        labels = [str(text) for text in texts]
    else:
        raise DataError(
            f"{frame.source}: {name_option_column('trajectory', trajectory)} holds {column.description}; "
            "give labels: numbers or text"
        )
    if is_missing.any():
        raise DataError(
            f"{frame.source}: {name_option_column('trajectory', trajectory)} is missing in "
            f"{format_rows(is_missing)}; fill these labels in, or leave the rows out"
        )
    return labels


def list_run_rows(labels: list[str], times: Values) -> list[tuple[str, Integers]]:
    """Return the label of each run and its rows in the order of time; runs are sorted by their labels."""
    named = np.array(labels)
    runs = []
    for label in sorted(set(labels), key=_build_label_key):
        rows = np.flatnonzero(named == label)
        runs.append((label, rows[np.argsort(times[rows], kind="stable")]))
    return runs


def _build_label_key(label: str) -> tuple[float, str]:
    """Sort labels that are numbers by their size, before others."""
    try:
        return float(label), label
    except ValueError:
        return np.inf, label


def _check_run(run: Run, time: str, *, has_label: bool) -> None:
    """Refuse a run with repeated times or few samples."""
    check_times(run, time, has_label=has_label)
    if len(run.times) < MIN_SAMPLES:
        which = f"the run {quote(run.name)}" if has_label else "the table"
        raise DataError(f"{which} has {len(run.times)} samples; at least {MIN_SAMPLES} are needed")


def check_times(run: Run, time: str, *, has_label: bool) -> None:
    """Refuse a run with repeated times.

    Raises
    ------
    DataError
        If a time occurs twice.
    """
    repeated = np.flatnonzero(np.diff(run.times) <= 0.0)
    if len(repeated):
        which = f"the run {quote(run.name)}" if has_label else "the table"
        hint = "" if has_label else f"; {name_option('trajectory')} names a column that distinguishes runs"
        raise DataError(
            f"{name_option_column('time', time)} has the value {run.times[repeated[0]]:g} twice in "
            f"{which}{hint}"
        )
