"""Choose a system: fit combinations of proposed equations to the trajectories, and compare their predictions.

The equation of one state after the other is exchanged for each of its proposals, while all constants are
fitted to short segments of the runs. The best systems are fitted to longer and longer segments. Held-out
stretches decide between them together with the criterion: the constants stay as they are, and only the start
states of the stretches are fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from symscreen.dynamics.equations import System
from symscreen.dynamics.shooting import Shooting, build_segments, fit_by_shooting
from symscreen.dynamics.smoothing import compute_spreads, estimate_noise
from symscreen.expressions.traversal import compute_key, iterate_constants

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symscreen.dynamics.equations import Equation
    from symscreen.dynamics.shooting import Segments, ShootingFit
    from symscreen.dynamics.smoothing import SmoothRun
    from symscreen.dynamics.trajectories import Trajectories
    from symscreen.expressions.tree import Expression


SHORT = 12  # samples of a short segment
_MAX_SWEEPS = 3
_SHORT_STEPS, _FIRST_STEPS = 5, 12  # Gauss-Newton steps of a proposal, and of the first system
_TRIED_BY_SCORE, _TRIED_PER_COMPLEXITY = 12, 1  # proposals of a state that are fitted to segments
_LONG_STEPS = 10  # Gauss-Newton steps of a finalist
_FINALISTS = 8  # equations of each state that are fitted to long segments
_COMPARED = 12  # systems that are compared on held-out stretches
_GROWTH = 3.0  # of the length of segments
_MAX_RISE = 1.3  # of the mean square from one length to the next, else the shorter segments stay
_MAX_PARTS = 32
_PART_ERROR, _SMALLEST_ERROR = 0.05, 1e-6  # of the integration, relative to the noise and to the spread


@dataclass(eq=False)
class SystemChoice:
    """The trajectories that systems are fitted to, and the systems that were fitted.

    Parameters
    ----------
    trajectories : Trajectories
        The samples.
    smooth_runs : tuple of SmoothRun
        Their splines.
    """

    trajectories: Trajectories
    smooth_runs: tuple[SmoothRun, ...]
    fits: dict[object, ShootingFit] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.noise = estimate_noise(self.trajectories)
        self.spreads = compute_spreads(self.smooth_runs)

    def build_segments(self, length: int, n_parts: int) -> Segments:
        """Divide the runs into segments."""
        return build_segments(
            self.trajectories, self.smooth_runs, self.noise, self.spreads, length=length, n_parts=n_parts
        )

    @property
    def longest(self) -> int:
        """The number of samples of the longest run."""
        return max(len(run.times) for run in self.trajectories.runs)

    def choose_parts(self, system: System) -> int:
        """Choose the number of Runge-Kutta steps between samples, so that the error is below the noise."""
        d = len(self.noise)
        allowed = np.maximum(_PART_ERROR * self.noise, _SMALLEST_ERROR * self.spreads[:d])
        n_parts, previous = 1, None
        while n_parts < _MAX_PARTS:
            segments = self.build_segments(2, n_parts)
            constants = system.constants[:, None]
            computed = Shooting(segments, system).integrate(segments.starts[:, :, None], constants)[:d]
            if previous is not None:
                errors = np.nan_to_num(np.abs(computed - previous), posinf=0.0)
                if (np.quantile(errors, 0.99, axis=(1, 2, 3)) <= allowed).all():
                    return n_parts
            previous, n_parts = computed, 2 * n_parts
        return n_parts


def choose_tried(proposals: Sequence[tuple[float, Equation]]) -> list[Equation]:
    """Choose the proposals that are fitted to segments: the best, and the best of each complexity."""
    counts: dict[int, int] = {}
    tried = []
    for place, (_, equation) in enumerate(proposals):
        counts[equation.complexity] = counts.get(equation.complexity, 0) + 1
        if place < _TRIED_BY_SCORE or counts[equation.complexity] <= _TRIED_PER_COMPLEXITY:
            tried.append(equation)
    return tried


def find_best_system(
    choice: SystemChoice, proposals: Mapping[str, Sequence[tuple[float, Equation]]]
) -> tuple[ShootingFit, int] | None:
    """Exchange equations until no exchange makes the system better.

    First all proposals are fitted to short segments. Then the best of each state are fitted to the longest
    segments on which the best system can be integrated.

    Returns
    -------
    tuple of ShootingFit and int, or None
        The best fit, and the number of Runge-Kutta steps between two samples. None if no system can be
        integrated. The fits to the longest segments are in `choice.fits`.
    """
    names = choice.trajectories.dynamic_states
    start = System(tuple(proposals[name][0][1] for name in names), choice.trajectories.system_states)
    segments = choice.build_segments(SHORT, choice.choose_parts(start))
    best = _fit_first_system(choice, segments, start, proposals)
    if best is None:
        return None
    tried = {name: choose_tried(proposals[name]) for name in names}
    best, fits = _exchange_equations(choice, segments, best, tried, _SHORT_STEPS)
    n_parts = choice.choose_parts(best.system)
    finalists = {
        name: _rank_equations(name, place, fits.values())[:_FINALISTS] for place, name in enumerate(names)
    }
    longest, length = lengthen_segments(choice, best, n_parts)
    segments = choice.build_segments(length, n_parts)
    best, choice.fits = _exchange_equations(choice, segments, longest, finalists, _LONG_STEPS)
    return best, n_parts


def _exchange_equations(
    choice: SystemChoice,
    segments: Segments,
    best: ShootingFit,
    tried: Mapping[str, Sequence[Equation]],
    max_steps: int,
) -> tuple[ShootingFit, dict[object, ShootingFit]]:
    """Try the proposals of one state after the other; return the best fit, and all fits."""
    fits = {build_system_key(best.system): best}
    for _ in range(_MAX_SWEEPS):
        before = best
        for place, name in enumerate(choice.trajectories.dynamic_states):
            for equation in tried[name]:
                system = best.system.replace_equation(place, equation)
                key = build_system_key(system)
                if key in fits:
                    continue
                fit = fit_by_shooting(
                    system, segments, choice.trajectories.n_samples, best.starts, max_steps=max_steps
                )
                if fit is not None and np.isfinite(fit.score):
                    fits[key] = fit
            best = min(fits.values(), key=rank_fit)
        if best is before:
            break
    return best, fits


def _rank_equations(name: str, place: int, fits: Iterable[ShootingFit]) -> list[Equation]:
    """Return the equations of a state, those of the best systems first."""
    ordered: dict[object, Equation] = {}
    for fit in sorted(fits, key=rank_fit):
        equation = fit.system.equations[place]
        ordered.setdefault(build_system_key(System((equation,), (name,))), equation)
    return list(ordered.values())


def _fit_first_system(
    choice: SystemChoice,
    segments: Segments,
    start: System,
    proposals: Mapping[str, Sequence[tuple[float, Equation]]],
) -> ShootingFit | None:
    """Fit the first system that can be integrated, from the best proposals to worse ones."""
    n_samples = choice.trajectories.n_samples
    for depth in range(_TRIED_BY_SCORE):
        equations = tuple(
            proposals[each.state][min(depth, len(proposals[each.state]) - 1)][1] for each in start.equations
        )
        fit = fit_by_shooting(System(equations, start.states), segments, n_samples, max_steps=_FIRST_STEPS)
        if fit is not None and np.isfinite(fit.score):
            return fit
    return None


def rank_fit(fit: ShootingFit) -> tuple[float, int]:
    """Return the sort key of a fit: its score, then its complexity."""
    return round(fit.score, 6), fit.system.complexity


def build_system_key(system: System) -> object:
    """Return a key that is equal for systems of the same forms, whatever their constants."""
    return tuple(
        frozenset(
            (compute_key(term), place if _has_constants(term) else 0)
            for place, term in enumerate(_blank(each))
        )
        for each in system.equations
    )


def _blank(equation: Equation) -> tuple[Expression, ...]:
    """Return the terms with all constants 2."""
    return equation.replace_constants([2.0] * len(equation.constants)).terms


def _has_constants(term: Expression) -> bool:
    """Return whether a term has a fitted constant inside."""
    return any(each.fitted for each in iterate_constants(term))


def choose_by_prediction(
    fits: Iterable[ShootingFit], held_out: SystemChoice, n_parts: int
) -> tuple[ShootingFit, list[tuple[float, ShootingFit]]]:
    """Choose between the best systems by the criterion and by how they predict held-out stretches.

    The constants stay as they are; the start states of segments of the stretches are fitted.

    Returns
    -------
    tuple of ShootingFit and list
        The best fit, and all that were compared as pairs of the sum of both scores and the fit, best first.
    """
    segments = held_out.build_segments(SHORT, n_parts)
    compared = []
    for fit in sorted(fits, key=rank_fit)[:_COMPARED]:
        predicted = fit_by_shooting(
            fit.system, segments, held_out.trajectories.n_samples, has_free_constants=False
        )
        if predicted is not None and np.isfinite(predicted.score):
            gain = predicted.score - 2.0 * fit.system.search_cost  # the search is counted already
            compared.append((fit.score + gain, fit))
    if not compared:
        best = min(fits, key=rank_fit)
        return best, [(best.score, best)]
    compared.sort(key=lambda each: (round(each[0], 6), each[1].system.complexity))
    return compared[0][1], compared


def lengthen_segments(choice: SystemChoice, fit: ShootingFit, n_parts: int) -> tuple[ShootingFit, int]:
    """Fit a system to longer and longer segments, up to whole runs, as long as that is possible.

    Returns
    -------
    tuple of ShootingFit and int
        The fit, and the number of samples of its segments.
    """
    reached, length, n_samples = SHORT, float(SHORT), choice.trajectories.n_samples
    while reached < choice.longest:
        length = min(length * _GROWTH, choice.longest)
        if 2 * length > choice.longest:
            length = choice.longest
        segments = choice.build_segments(int(length), n_parts)
        longer = fit_by_shooting(fit.system, segments, n_samples)
        if longer is None or (longer.squares > _MAX_RISE * fit.squares + 1e-300).any():
            break
        fit, reached = longer, int(length)
    return fit, reached
