"""The figures of equations of motion on matplotlib axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.messages import suggest
from symscreen.report.figures.style import (
    CURVE,
    INK,
    MARK,
    PLAIN_TEXT,
    despine,
    draw_on_axes,
    shorten_label,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from symscreen._typing import Values
    from symscreen.dynamics.result import OdeResult


_MAX_POINTS = 1000  # samples of a run that are drawn


@dataclass(frozen=True, eq=False, repr=False)
class SystemPlots:
    """The figures of a system: ``result.plot``.

    Each method returns the axes that it drew on: the given ones, or those of a new figure. The methods
    require matplotlib (the extra ``plot``). Points are samples, and lines are the solution of the equations.
    The solution starts anew at the begin of each segment that the constants were fitted to; a segment is a
    whole run where that was possible.

    Parameters
    ----------
    result : OdeResult
        The result to draw.
    """

    result: OdeResult

    def __repr__(self) -> str:
        names = sorted(name for name in vars(SystemPlots) if not name.startswith("_"))
        return f"<pictures of a system: {', '.join(names)}>"

    def trajectories(self, ax: Axes | None = None, *, state: str | None = None) -> Axes:
        """Draw a state against the time: the samples of all runs, and the solution.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.
        state : str, optional
            A measured state; by default the first one.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If there is no such state.
        """
        place = self._find_state(state)
        return draw_on_axes(ax, (6.4, 3.2), lambda axes: draw_trajectories(axes, self.result, place))

    def residuals(self, ax: Axes | None = None, *, state: str | None = None) -> Axes:
        """Draw the residuals of a state, measured minus computed, against the time.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.
        state : str, optional
            A measured state; by default the first one.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If there is no such state.
        """
        place = self._find_state(state)
        return draw_on_axes(ax, (6.4, 2.6), lambda axes: draw_residuals(axes, self.result, place))

    def phase(self, ax: Axes | None = None, *, states: Sequence[str] | None = None) -> Axes:
        """Draw the phase portrait: one state against another.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.
        states : pair of str, optional
            The states of the horizontal and the vertical axis; by default the first two. In a system of
            second order the first derivatives are states, too; they have no samples.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        OptionError
            If there are no two such states.
        """
        known = self.result.trajectories.system_states
        names = known[:2] if states is None else tuple(states)
        for name in names:
            if name not in known:
                raise OptionError(f"there is no state {name!r}{suggest(name, known)}")
        if len(names) != 2:
            raise OptionError(f"a phase portrait needs two states, and there are {len(names)}")
        first, second = map(known.index, names)
        return draw_on_axes(ax, (4.6, 4.2), lambda axes: draw_phase(axes, self.result, first, second))

    def _find_state(self, state: str | None) -> int:
        """Return the place of a measured state."""
        known = self.result.trajectories.measured_states
        if state is not None and state not in known:
            raise OptionError(f"there is no measured state {state!r}{suggest(state, known)}")
        return 0 if state is None else known.index(state)


def _draw_samples(axes: Axes, x: Values, y: Values) -> None:
    """Draw samples of a run as points, few enough for a small page."""
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), _MAX_POINTS)).round().astype(np.intp))
    axes.plot(x[chosen], y[chosen], "o", color=MARK, markersize=2.6, alpha=0.55, markeredgewidth=0)


def draw_trajectories(axes: Axes, result: OdeResult, place: int) -> None:
    """Draw samples and solution of a state."""
    data = result.trajectories
    for run, states in zip(data.runs, result.fitted_states, strict=True):
        _draw_samples(axes, run.times, run.states[place])
        axes.plot(run.times, states[place], color=CURVE, linewidth=1.1)
    despine(axes)
    axes.set_xlabel(shorten_label(data.time), **PLAIN_TEXT)
    axes.set_ylabel(shorten_label(data.measured_states[place]), **PLAIN_TEXT)


def draw_residuals(axes: Axes, result: OdeResult, place: int) -> None:
    """Draw the residuals of a state."""
    data = result.trajectories
    for run, states in zip(data.runs, result.fitted_states, strict=True):
        _draw_samples(axes, run.times, run.states[place] - states[place])
    axes.axhline(0.0, color=CURVE, linewidth=1.1)
    despine(axes)
    axes.set_xlabel(shorten_label(data.time), **PLAIN_TEXT)
    axes.set_ylabel(f"residual of {shorten_label(data.measured_states[place])}", **PLAIN_TEXT)


def draw_parity(axes: Axes, result: OdeResult, place: int) -> None:
    """Draw the samples of a state against the solution at the same times."""
    for run, states in zip(result.trajectories.runs, result.fitted_states, strict=True):
        _draw_samples(axes, states[place], run.states[place])
    middle = float(np.concatenate([run.states[place] for run in result.trajectories.runs]).mean())
    axes.axline((middle, middle), slope=1.0, color=CURVE, linewidth=1.1)
    despine(axes)
    name = shorten_label(result.trajectories.measured_states[place])
    axes.set_xlabel(f"computed {name}", **PLAIN_TEXT)
    axes.set_ylabel(f"measured {name}", **PLAIN_TEXT)


def draw_systems(axes: Axes, result: OdeResult) -> None:
    """Draw how much worse the score of each proposed system is, against its complexity."""
    from matplotlib.ticker import MaxNLocator

    table = result.alternative_systems
    axes.plot(table["complexity"], table["difference"], "o", color=MARK, markersize=4.5)
    axes.plot(
        table["complexity"][:1], table["difference"][:1], "o", color="none", markeredgecolor=CURVE,
        markeredgewidth=1.8, markersize=10, label="selected",
    )  # fmt: skip
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    despine(axes)
    axes.legend(frameon=False, labelcolor=INK)
    axes.set_xlabel("complexity", color=INK)
    axes.set_ylabel("score worse by", color=INK)


def collect_state_columns(result: OdeResult) -> dict[str, Values]:
    """Return the columns of the right-hand sides at the samples of all runs: the solution and the inputs."""
    data = result.trajectories
    states = np.concatenate(result.fitted_states, axis=1)
    columns: dict[str, Values] = dict(zip(data.system_states, states, strict=True))
    for name in data.inputs:
        columns[name] = np.concatenate([run.inputs[name] for run in data.runs])
    return columns


def draw_phase(axes: Axes, result: OdeResult, first: int, second: int) -> None:
    """Draw one state against another; samples only where both are measured."""
    data = result.trajectories
    for run, states in zip(data.runs, result.fitted_states, strict=True):
        if max(first, second) < len(run.states):
            _draw_samples(axes, run.states[first], run.states[second])
        axes.plot(states[first], states[second], color=CURVE, linewidth=1.1)
    despine(axes)
    axes.set_xlabel(shorten_label(data.system_states[first]), **PLAIN_TEXT)
    axes.set_ylabel(shorten_label(data.system_states[second]), **PLAIN_TEXT)
