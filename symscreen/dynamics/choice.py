"""Choose a system: fit combinations of proposed equations to trajectories, and compare their predictions.

The equation of one state after the other is exchanged for each of its proposals, while all constants are
fitted to segments of the runs. The segments become longer as long as the best system can be fitted to them.
Held-out stretches decide between the best systems together with the criterion: the constants stay as they
are, and only the start states of the stretches are fitted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.dynamics.equations import System, find_form
from symscreen.dynamics.proposals import propose_shared_terms
from symscreen.dynamics.shooting import Shooting, build_segments, compute_fitted_states, fit_by_shooting
from symscreen.dynamics.smoothing import compute_spreads, estimate_noise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.dynamics.equations import Equation
    from symscreen.dynamics.shooting import Segments, ShootingFit
    from symscreen.dynamics.smoothing import SmoothRun
    from symscreen.dynamics.trajectories import Trajectories
    from symscreen.dynamics.weak_form import RegressionProblem

    Proposals = Mapping[str, Sequence[tuple[float, Equation]]]


SHORT = 12  # number of samples of a short segment
_MAX_SWEEPS = 2  # passes over all states in which equations are exchanged
_FIRST_STEPS = 12  # Gauss-Newton steps of the fit of a first system
_STEPS = 6  # Gauss-Newton steps of the fit of a changed system
_FIRST_DEPTH = 12  # proposals of each state that are tried until a first system can be integrated
_TRIED_BY_SCORE = 8  # best proposals of a state that are fitted to segments
_N_GIVERS = 4  # best equations of a state whose terms are given to other equations
_N_SHARED = 2  # changed equations that are fitted for each of these equations and each other state
_N_COMPARED = 12  # systems that are compared on held-out stretches
_LENGTH_GROWTH = 3.0  # factor between the lengths of segments in successive fits
_MAX_RISE = 1.3  # largest factor by which the mean square may rise when segments get longer
_SEARCH_RISE = 10.0  # largest such factor during the search, while the form may still be wrong
_MAX_PARTS = 32  # largest number of Runge-Kutta steps between two samples
_PART_ERROR = 0.05  # allowed error of the integration, relative to the noise
_SMALLEST_ERROR = 1e-6  # error of the integration that is always allowed, relative to the spread of a state
# Change of a constant that is allowed when steps are halved, in standard errors. The error that remains is
# 1/15 of it.
_CHANGE_SHARE = 0.5
_CONSTANT_CHANGE = 1e-6  # change of a constant that is always allowed when steps are halved, relative to it
_RICHARDSON = 15.0  # change of a result when steps are halved, over the error that remains (order 4: 2⁴ − 1)


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
        """Number of samples of the longest run."""
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
                errors = np.nan_to_num(np.abs(computed - previous), posinf=0.0) / _RICHARDSON
                if (np.quantile(errors, 0.99, axis=(1, 2, 3)) <= allowed).all():
                    return n_parts
            previous, n_parts = computed, 2 * n_parts
        return n_parts


def choose_tried(proposals: Sequence[tuple[float, Equation]], current: Equation) -> list[Equation]:
    """Choose the equations that are fitted to segments.

    They are the current equation without one of its terms, the best proposals, and the best ones of each
    number of terms and of each complexity below that of the best.
    """
    n_terms = len(current.terms)
    tried = [current.drop_term(place) for place in range(n_terms)] if n_terms > 1 else []
    known: set[tuple[str, int]] = set()
    for place, (_, equation) in enumerate(proposals):
        kinds = {("terms", len(equation.terms))}
        if equation.complexity < proposals[0][1].complexity:
            kinds.add(("complexity", equation.complexity))
        if place < _TRIED_BY_SCORE or not kinds <= known:
            tried.append(equation)
        known |= kinds
    return tried


@dataclass(frozen=True, eq=False)
class SystemSearch:
    """How far a search has come.

    Parameters
    ----------
    best : ShootingFit
        The best fit.
    fits : dict of object to ShootingFit
        All fits to segments of this length, by the forms of their systems.
    length : int
        Samples of a segment.
    n_parts : int
        Runge-Kutta steps between two samples.
    """

    best: ShootingFit
    fits: dict[object, ShootingFit]
    length: int
    n_parts: int


def start_search(choice: SystemChoice, proposals: Proposals) -> SystemSearch | None:
    """Fit the proposals to short segments; None if no system of them can be integrated."""
    names = choice.trajectories.dynamic_states
    for depth in range(_FIRST_DEPTH):
        equations = tuple(proposals[name][min(depth, len(proposals[name]) - 1)][1] for name in names)
        system = System(equations, choice.trajectories.system_states)
        n_parts = choice.choose_parts(system)
        segments = choice.build_segments(SHORT, n_parts)
        fit = fit_by_shooting(system, segments, choice.trajectories.n_samples, max_steps=_FIRST_STEPS)
        if fit is not None and np.isfinite(fit.score):
            search = SystemSearch(fit, {build_system_key(system): fit}, SHORT, n_parts)
            return exchange_equations(choice, search, proposals)
    return None


def exchange_equations(choice: SystemChoice, search: SystemSearch, proposals: Proposals) -> SystemSearch:
    """Exchange the equation of one state after the other until no proposal makes the system better."""
    segments = choice.build_segments(search.length, search.n_parts)
    best, fits = search.best, dict(search.fits)
    for _ in range(_MAX_SWEEPS):
        before = best
        for place, name in enumerate(choice.trajectories.dynamic_states):
            for equation in choose_tried(proposals[name], best.system.equations[place]):
                system = best.system.replace_equation(place, equation)
                key = build_system_key(system)
                if key in fits:
                    continue
                fit = fit_by_shooting(
                    system, segments, choice.trajectories.n_samples, best.starts, max_steps=_STEPS
                )
                if fit is not None and np.isfinite(fit.score):
                    fits[key] = fit
            best = min(fits.values(), key=rank_fit)
        if best is before:
            break
    return replace(search, best=best, fits=fits)


def share_terms(choice: SystemChoice, search: SystemSearch, problem: RegressionProblem) -> SystemSearch:
    """Try systems in which a term of one equation takes the place of a term of another.

    The terms come from the best equations of each state, which stand in the system together with the changed
    one.
    """
    segments = choice.build_segments(search.length, search.n_parts)
    best, fits, n_samples = search.best, dict(search.fits), choice.trajectories.n_samples
    for place in range(len(best.system.equations)):
        for giver in _rank_equations(search, place)[:_N_GIVERS]:
            base = best.system.replace_equation(place, giver)
            for other, equation in enumerate(best.system.equations):
                if other == place:
                    continue
                for _, changed in propose_shared_terms(problem, equation, giver)[:_N_SHARED]:
                    system = base.replace_equation(other, changed)
                    key = build_system_key(system)
                    if key in fits:
                        continue
                    fit = fit_by_shooting(system, segments, n_samples, best.starts, max_steps=_STEPS)
                    if fit is not None and np.isfinite(fit.score):
                        fits[key] = fit
    return replace(search, best=min(fits.values(), key=rank_fit), fits=fits)


def _rank_equations(search: SystemSearch, place: int) -> list[Equation]:
    """Return the equations of a state, those of the best systems first."""
    ordered: dict[object, Equation] = {}
    for fit in sorted(search.fits.values(), key=rank_fit):
        equation = fit.system.equations[place]
        ordered.setdefault(frozenset(map(find_form, equation.terms)), equation)
    return list(ordered.values())


def grow_segments(choice: SystemChoice, search: SystemSearch) -> SystemSearch:
    """Fit the best system to longer segments, if it can be; only this fit is kept then."""
    n_parts = choice.choose_parts(search.best.system)
    fit, length = lengthen_segments(choice, search.best, n_parts, search.length, _SEARCH_RISE)
    if length == search.length:
        return search
    return SystemSearch(fit, {build_system_key(fit.system): fit}, length, n_parts)


def rank_fit(fit: ShootingFit) -> tuple[float, int]:
    """Return the sort key of a fit: its score, then its complexity."""
    return round(fit.score, 6), fit.system.complexity


def build_system_key(system: System) -> object:
    """Return a key that is equal for systems that differ in their constants alone."""
    return tuple(
        frozenset(Counter(find_form(term) for term in each.terms).items()) for each in system.equations
    )


def choose_by_prediction(
    search: SystemSearch, held_out: SystemChoice
) -> tuple[ShootingFit, list[tuple[float, ShootingFit]]]:
    """Choose between the best systems by the criterion and by how they predict held-out stretches.

    The constants stay as they are; the start states of segments of the stretches are fitted.

    Returns
    -------
    tuple of ShootingFit and list
        The best fit, and all that were compared as pairs of the sum of both scores and the fit, best first.
    """
    segments = held_out.build_segments(min(search.length, held_out.longest), search.n_parts)
    compared = []
    for fit in sorted(search.fits.values(), key=rank_fit)[:_N_COMPARED]:
        predicted = fit_by_shooting(
            fit.system, segments, held_out.trajectories.n_samples, has_free_constants=False
        )
        if predicted is not None and np.isfinite(predicted.score):
            gain = predicted.score - 2.0 * fit.system.search_cost  # the search is counted already
            compared.append((fit.score + gain, fit))
    if not compared:
        return search.best, [(search.best.score, search.best)]
    compared.sort(key=lambda each: (round(each[0], 6), each[1].system.complexity))
    return compared[0][1], compared


def lengthen_segments(
    choice: SystemChoice,
    fit: ShootingFit,
    n_parts: int,
    length: int = SHORT,
    max_rise: float = _MAX_RISE,
    *,
    keeps_states: bool = False,
) -> tuple[ShootingFit, int]:
    """Fit a system to longer and longer segments, up to whole runs, as long as that is possible.

    Parameters
    ----------
    choice : SystemChoice
        The trajectories.
    fit : ShootingFit
        The system, fitted to segments of the first length.
    n_parts : int
        Runge-Kutta steps between two samples.
    length : int
        The first length, in samples.
    max_rise : float
        How much the mean square may rise from one length to the next.
    keeps_states : bool
        Whether the fits to longer segments start from the fitted states, or else from smooth samples. Over
        long segments of a chaotic system only fitted states lead to the solution.

    Returns
    -------
    tuple of ShootingFit and int
        The fit, and the number of samples of its segments.
    """
    reached, n_samples = length, choice.trajectories.n_samples
    d = len(choice.noise)
    least = choice.noise**2 + (_SMALLEST_ERROR * choice.spreads[:d]) ** 2
    while reached < choice.longest:
        longer = min(round(reached * _LENGTH_GROWTH), choice.longest)
        if 2 * longer > choice.longest:
            longer = choice.longest
        segments, starts = choice.build_segments(longer, n_parts), None
        if keeps_states:
            fitted = compute_fitted_states(fit, choice.build_segments(reached, n_parts))
            starts = np.array([fitted[number][:, start] for number, start, _ in segments.edges]).T
        longer_fit = fit_by_shooting(fit.system, segments, n_samples, starts)
        if longer_fit is None or (longer_fit.squares > max_rise * np.maximum(fit.squares, least)).any():
            break
        fit, reached = longer_fit, longer
    return fit, reached


def refine_steps(
    choice: SystemChoice, fit: ShootingFit, length: int, n_parts: int
) -> tuple[ShootingFit, Segments]:
    """Repeat a fit with ever smaller steps of the integration, until they do not matter for the constants.

    Errors of the integration add up over long segments, so steps that are small enough for the residuals may
    be too large for the constants.

    Returns
    -------
    tuple of ShootingFit and Segments
        The last fit, and its segments.
    """
    segments = choice.build_segments(length, n_parts)
    while n_parts < _MAX_PARTS:
        n_parts *= 2
        finer_segments = choice.build_segments(length, n_parts)
        finer = fit_by_shooting(fit.system, finer_segments, choice.trajectories.n_samples, fit.starts)
        if finer is None:
            break
        change = np.abs(finer.system.constants - fit.system.constants)
        allowed = _CONSTANT_CHANGE * np.abs(finer.system.constants)
        allowed += _CHANGE_SHARE * np.sqrt(np.maximum(np.diag(finer.covariance), 0.0))
        fit, segments = finer, finer_segments
        if (change <= allowed).all():
            break
    return fit, segments
