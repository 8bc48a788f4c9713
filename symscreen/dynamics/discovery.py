"""Discover the equations of motion of a system from measured trajectories.

The way: trajectories → splines → weak form → proposals for each equation → systems fitted by shooting →
choice by the criterion and by held-out stretches → constants fitted to all samples.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from symscreen._option_values import split_column_names
from symscreen.config.fields import describe_options, list_options
from symscreen.config.ode_options import OdeOptions, make_ode_options
from symscreen.config.option_record import build_ode_options_record
from symscreen.config.space_options import read_operators
from symscreen.dynamics.choice import (
    SHORT,
    SystemChoice,
    build_system_key,
    choose_by_prediction,
    exchange_equations,
    grow_segments,
    lengthen_segments,
    rank_fit,
    refine_steps,
    share_terms,
    start_search,
)
from symscreen.dynamics.linearization import build_linearized_problem
from symscreen.dynamics.proposals import propose_equations, remove_repeated
from symscreen.dynamics.result import OdeResult
from symscreen.dynamics.shooting import compute_fitted_states, fit_by_shooting
from symscreen.dynamics.simulation import forecast_errors
from symscreen.dynamics.smoothing import smooth_trajectories
from symscreen.dynamics.system_verdict import EXACT_ERROR, judge_system
from symscreen.dynamics.term_library import build_term_library
from symscreen.dynamics.term_stability import compute_stability
from symscreen.dynamics.trajectories import MIN_SAMPLES, Trajectories, read_trajectories
from symscreen.dynamics.weak_form import build_derivative_problem, build_weak_form
from symscreen.errors import DataError, OptionError
from symscreen.fitting.effort import EFFORTS
from symscreen.messages import name_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.config.keyword_types import OdeKeywords
    from symscreen.dynamics.choice import SystemSearch
    from symscreen.dynamics.equations import Equation
    from symscreen.dynamics.shooting import ShootingFit
    from symscreen.dynamics.weak_form import RegressionProblem
    from symscreen.grammar import Grammar

    Proposals = dict[str, list[tuple[float, Equation]]]


_ALTERNATIVES = 8  # number of systems in the table of alternatives
# by effort: largest number of searches around the best system so far
_ROUNDS = {"quick": 1, "default": 4, "thorough": 8}
_LINEARIZED = 24  # smallest number of samples of a linearised segment
_LINEARIZED_PARTS = 4  # number of linearised segments of a long run
# by effort: number of formulas, relative to that of the pool of a fit
_POOL_SHARE = {"quick": 0.15, "default": 0.08, "thorough": 0.2}


@dataclass(frozen=True, eq=False)
class OdeTask:
    """All that the discovery of a system needs.

    Parameters
    ----------
    trajectories : Trajectories
        All samples.
    options : OdeOptions
        The options.
    grammar : Grammar
        The operators.
    """

    trajectories: Trajectories
    options: OdeOptions
    grammar: Grammar

    @property
    def n_formulas(self) -> int:
        """How many formulas of the pool are terms."""
        effort = self.options.effort
        return round(_POOL_SHARE[effort] * EFFORTS[effort].pool_formulas)

    @property
    def acting_time(self) -> str | None:
        """The time, if it is an input."""
        trajectories = self.trajectories
        return trajectories.time if trajectories.time in trajectories.inputs else None


@describe_options(list_options(OdeOptions))
def discover_ode(
    X: Any,  # noqa: N803  # as in `screen`
    **options: Unpack[OdeKeywords],
) -> OdeResult:
    """Find the differential equations behind measured trajectories.

    Parameters
    ----------
    X : path, pandas.DataFrame, dict of columns, or array of shape (n, d)
        Samples of one or more runs: a column of times, the states, and perhaps inputs and the label of the
        run. The samples may be noisy and unevenly spaced.
    **options
        The options of `symscreen.config.ode_options.OdeOptions`: …

    Returns
    -------
    OdeResult

    Raises
    ------
    InputError
        If the data, the grammar or an option cannot be used; see its subclasses.

    Examples
    --------
    >>> import numpy as np, symscreen
    >>> t = np.linspace(0, 6, 60)
    >>> table = {"t": t, "x": 4 / (1 + 3 * np.exp(-t))}
    >>> result = symscreen.discover_ode(table, time="t", states="x", operators=["mul"], max_terms=2)
    >>> print(result.formulas[0].round_numbers(3).equation)
    `dx/dt` = x - 0.25*x*x
    """
    return run_discovery(prepare_discovery(X, options))


def prepare_discovery(
    X: Any,  # noqa: N803  # as in `discover_ode`
    keywords: OdeKeywords,
) -> OdeTask:
    """Read the trajectories and the options.

    Raises
    ------
    OptionError
        If an option is not valid, or the grammar has an operator of time.
    DataError
        If the table does not hold such trajectories.
    """
    options = make_ode_options(keywords)
    trajectories = read_trajectories(
        X,
        time=options.time,
        states=split_column_names(options.states, "states"),
        trajectory=options.trajectory,
        inputs=split_column_names(options.inputs, "inputs") if options.inputs else (),
        derivatives=split_column_names(options.derivatives, "derivatives") if options.derivatives else (),
        order=options.derivative_order,
    )
    grammar = read_operators(options.operators, options.unary, options.binary)
    if grammar.time_operators:
        raise OptionError(
            f"{grammar.time_operators[0].name} has no place in a differential equation: leave it out, or "
            f"screen the rows with {name_option('time')}"
        )
    return OdeTask(trajectories, options, grammar)


def run_discovery(task: OdeTask) -> OdeResult:
    """Discover the equations; BLAS uses one thread, so that rounding does not depend on their number."""
    from threadpoolctl import threadpool_limits

    # values of trial constants may overflow; such systems are refused by what follows
    with threadpool_limits(1), np.errstate(all="ignore"):
        return _discover_in_one_thread(task)


def _discover_in_one_thread(task: OdeTask) -> OdeResult:
    """Search, choose, and fit the constants to all samples."""
    training, held_out = split_trajectories(task.trajectories, task.options.holdout)
    choice = SystemChoice(training, smooth_trajectories(training))
    search, problem, proposals = _search_system(task, choice)
    fits = sorted(search.fits.values(), key=rank_fit)
    best, compared, errors = fits[0], [(fit.score, fit) for fit in fits], None
    if held_out is not None:
        test = SystemChoice(held_out, smooth_trajectories(held_out))
        best, compared = choose_by_prediction(search, test)
        errors = forecast_errors(best.system, held_out, test.smooth_runs)
    whole = SystemChoice(task.trajectories, smooth_trajectories(task.trajectories))
    final, fitted_states = _fit_to_all(whole, best, search.n_parts)
    return OdeResult(
        trajectories=task.trajectories,
        system=final.system,
        fitted_states=fitted_states,
        covariance=final.covariance,
        residuals=dict(zip(task.trajectories.measured_states, np.sqrt(final.squares).tolist(), strict=True)),
        prediction_errors=errors,
        stability=compute_stability(problem, proposals, best.system),
        alternatives=tuple((score - compared[0][0], fit.system) for score, fit in compared[:_ALTERNATIVES]),
        level=task.options.level,
        system_verdict=judge_system(task.trajectories, fitted_states, _get_longest_segment(final)),
        notices=(),
        operators=task.grammar.operators,
        record={"options": build_ode_options_record(task.options)},
    )


def _get_longest_segment(fit: ShootingFit) -> int:
    """Return the number of samples of the longest segment of a fit."""
    return max(stop - start for _, start, stop in fit.edges)


def split_trajectories(trajectories: Trajectories, share: float) -> tuple[Trajectories, Trajectories | None]:
    """Split the end of each run off; runs that are too short for that are not split.

    Returns
    -------
    tuple of Trajectories, and Trajectories or None
        The samples of the search, and the held-out ones; None if there are none.
    """
    kept, held_out = [], []
    for run in trajectories.runs:
        n = len(run.times)
        n_held_out = round(share * n)
        if n_held_out >= MIN_SAMPLES and n - n_held_out >= 2 * MIN_SAMPLES:
            kept.append(run.take(0, n - n_held_out))
            held_out.append(run.take(n - n_held_out, n))
        else:
            kept.append(run)
    if not held_out:
        return trajectories, None
    return replace(trajectories, runs=tuple(kept)), replace(trajectories, runs=tuple(held_out))


def _search_system(task: OdeTask, choice: SystemChoice) -> tuple[SystemSearch, RegressionProblem, Proposals]:
    """Search the best system of the training samples; refuse data to which none can be fitted.

    Returns
    -------
    tuple of SystemSearch, RegressionProblem, and dict of str to list
        The search, and the last regression problem with the equations that were proposed from it.
    """
    trajectories, effort = choice.trajectories, task.options.effort
    problems = [build_weak_form(trajectories, choice.smooth_runs)]
    if effort == "thorough" or trajectories.runs[0].derivatives is not None:
        problems.append(build_derivative_problem(trajectories, choice.smooth_runs))
    proposals = _propose(task, problems)
    search = start_search(choice, proposals) if all(proposals.values()) else None
    if search is None:
        raise DataError(
            "no system of the proposed equations can be integrated; give more samples, or smoother ones"
        )
    search = grow_segments(choice, search)
    problem, new = problems[0], proposals
    for _ in range(_ROUNDS[effort]):
        if _is_exact(choice, search):
            break
        problem = _linearize(choice, search)
        new = _propose(task, [problem])
        better = exchange_equations(choice, exchange_equations(choice, search, new), proposals)
        better = grow_segments(choice, share_terms(choice, better, problem))
        is_same = build_system_key(better.best.system) == build_system_key(search.best.system)
        is_done = is_same and better.length == search.length
        search = better
        if is_done:
            break
    return search, problem, new


def _is_exact(choice: SystemChoice, search: SystemSearch) -> bool:
    """Return whether the best system fits whole runs up to the error of the integration."""
    errors = np.sqrt(search.best.squares)
    is_small = errors <= EXACT_ERROR * choice.spreads[: len(errors)]
    return bool(is_small.all()) and search.length == choice.longest


def _linearize(choice: SystemChoice, search: SystemSearch) -> RegressionProblem:
    """Linearise the samples around the best system, on segments of moderate length.

    Over long segments few directions would contain most of the squared target, which misleads a search that
    adds term by term.
    """
    fit, length = search.best, max(_LINEARIZED, choice.longest // _LINEARIZED_PARTS)
    if search.length > length:
        segments = choice.build_segments(length, search.n_parts)
        fit = fit_by_shooting(fit.system, segments, choice.trajectories.n_samples) or fit
    return build_linearized_problem(choice.trajectories, fit, choice.noise, choice.spreads, search.n_parts)


def _propose(task: OdeTask, problems: Sequence[RegressionProblem]) -> Proposals:
    """Propose equations for each state from regression problems."""
    proposals: Proposals = {name: [] for name in task.trajectories.dynamic_states}
    for problem in problems:
        library = build_term_library(problem.columns, task.grammar, task.n_formulas, task.acting_time)
        for name in proposals:
            proposals[name] += propose_equations(problem, library, name, task.options.max_terms)
    if len(problems) > 1:
        proposals = {name: remove_repeated(found) for name, found in proposals.items()}
    return proposals


def _fit_to_all(
    choice: SystemChoice, best: ShootingFit, n_parts: int
) -> tuple[ShootingFit, tuple[Values, ...]]:
    """Fit the constants of a system to all samples, over segments as long as possible and by small steps.

    Returns
    -------
    tuple of ShootingFit, and tuple of float64 array
        The fit, and the solution at the samples of each run.
    """
    segments = choice.build_segments(SHORT, n_parts)
    fit = fit_by_shooting(best.system, segments, choice.trajectories.n_samples)
    if fit is None:
        return best, compute_fitted_states(replace(best, starts=segments.starts), segments)
    fit, length = lengthen_segments(choice, fit, n_parts, keeps_states=True)
    fit, segments = refine_steps(choice, fit, length, n_parts)
    return fit, compute_fitted_states(fit, segments)
