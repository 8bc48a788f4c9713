"""Propose right-hand sides for each state: search sums of terms, then fit the constants inside them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from symscreen.dynamics.equations import Equation, find_form
from symscreen.dynamics.term_library import list_basic_terms
from symscreen.dynamics.term_search import search_sums
from symscreen.expressions.traversal import compute_key
from symscreen.fitting.laws.gauss_newton import improve_fit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from symscreen._typing import Values
    from symscreen.dynamics.term_library import TermLibrary
    from symscreen.dynamics.term_search import TermSum
    from symscreen.dynamics.weak_form import RegressionProblem


_PER_COMPLEXITY = 4  # number of sums of each complexity whose constants are fitted
_BEST = 40  # number of best sums whose constants are fitted in addition
_PER_FORM = 2  # number of sums that differ only in the constants inside
_DIFFERENCE = 1e-6  # relative step of a constant for derivatives


def propose_equations(
    problem: RegressionProblem, library: TermLibrary, state: str, max_terms: int
) -> list[tuple[float, Equation]]:
    """Propose right-hand sides for a state.

    Parameters
    ----------
    problem : RegressionProblem
        The rows.
    library : TermLibrary
        The terms, at the nodes of the problem.
    state : str
        The state.
    max_terms : int
        The largest number of terms.

    Returns
    -------
    list of tuple of float and Equation
        The EBIC of each and the equation, best first.
    """
    rows, target = problem.project(state, library.values), problem.targets[state]
    basic = list_basic_terms(library)
    found = search_sums(rows, target, library.search_costs, library.complexities, max_terms, basic)
    scored = []
    for members in _choose_sums(found, library):
        terms = tuple(library.expressions[member] for member in members)
        coefficients = np.linalg.lstsq(rows[members].T, target, rcond=None)[0]
        equation = Equation(
            state, terms, tuple(coefficients.tolist()), tuple(library.search_costs[members].tolist())
        )
        fitted = fit_constants_to_rows(problem, equation)
        if fitted is not None:
            scored.append(fitted)
    return remove_repeated(scored)


def _choose_sums(found: Iterable[TermSum], library: TermLibrary) -> list[list[int]]:
    """Choose the best sums, and the best of each complexity, but few that differ in constants inside only."""
    keys: dict[int, object] = {}
    forms, complexities = Counter[object](), Counter[int]()
    chosen: list[list[int]] = []
    for each in found:
        members = list(each.members)
        for member in members:
            if member not in keys:
                keys[member] = find_form(library.expressions[member])
        form = frozenset(Counter(keys[member] for member in members).items())
        complexity = int(library.complexities[members].sum()) + len(members)
        forms[form] += 1
        if forms[form] > _PER_FORM:
            continue
        complexities[complexity] += 1
        if len(chosen) < _BEST or complexities[complexity] <= _PER_COMPLEXITY:
            chosen.append(members)
    return chosen


def propose_shared_terms(
    problem: RegressionProblem, equation: Equation, giver: Equation
) -> list[tuple[float, Equation]]:
    """Propose equations in which a term of another equation takes the place of one of the terms.

    Parameters
    ----------
    problem : RegressionProblem
        The rows.
    equation : Equation
        The equation that is changed.
    giver : Equation
        The equation of another state.

    Returns
    -------
    list of tuple of float and Equation
        The EBIC of each and the equation, best first.
    """
    known = {find_form(term) for term in equation.terms}
    found = []
    for term, cost in zip(giver.terms, giver.search_costs, strict=True):
        if find_form(term) in known:
            continue
        for place in range(len(equation.terms)):
            changed = equation.replace_term(place, term, cost)
            fitted = fit_constants_to_rows(problem, fit_coefficients_to_rows(problem, changed))
            if fitted is not None:
                found.append(fitted)
    return sorted(found, key=lambda each: (each[0], each[1].complexity))


def fit_coefficients_to_rows(problem: RegressionProblem, equation: Equation) -> Equation:
    """Fit the coefficients to the rows; the constants inside the terms stay."""
    compiled, _ = equation.compile_terms()
    constants = equation.constants.tolist()
    n_nodes = len(next(iter(problem.columns.values())))
    values = [np.broadcast_to(term(problem.columns, constants), n_nodes) for term in compiled]
    rows = np.nan_to_num(problem.project(equation.state, np.array(values)))
    coefficients = np.linalg.lstsq(rows.T, problem.targets[equation.state], rcond=None)[0]
    return equation.replace_constants([*coefficients.tolist(), *constants[len(compiled) :]])


def fit_constants_to_rows(problem: RegressionProblem, equation: Equation) -> tuple[float, Equation] | None:
    """Fit all constants of an equation to the rows of a problem; return its EBIC and the equation."""
    state, target = equation.state, problem.targets[equation.state]
    n_nodes = len(next(iter(problem.columns.values())))
    start, n_terms = equation.constants, len(equation.terms)
    compiled, owners = equation.compile_terms()

    def evaluate(constants: Values) -> Values:
        """Return the rows of the terms without their coefficients."""
        values = [np.broadcast_to(term(problem.columns, constants.tolist()), n_nodes) for term in compiled]
        return problem.project(state, np.array(values))

    def predict(constants: Values) -> Values:
        rows = constants[:n_terms] @ evaluate(constants)
        return rows if np.isfinite(rows).all() else np.full(len(target), 1e100)

    def differentiate(constants: Values) -> Values:
        columns, values = problem.columns, constants.tolist()
        slopes = []
        for place, owner in enumerate(owners, start=n_terms):
            size = _DIFFERENCE * (abs(values[place]) + 1e-3)
            changed = [*values[:place], values[place] + size, *values[place + 1 :]]
            difference = compiled[owner](columns, changed) - compiled[owner](columns, values)
            slopes.append(np.broadcast_to(values[owner] * difference / size, n_nodes))
        return np.concatenate((evaluate(constants), problem.project(state, np.array(slopes))))

    with np.errstate(all="ignore"):
        constants, square = start, float(((target - predict(start)) ** 2).sum())
        if owners:
            constants, square = improve_fit(predict, differentiate, start, target)
    if not np.isfinite(square) or not np.isfinite(constants).all():
        return None
    share = max(square / float(target @ target), 1e-16)
    score = len(target) * np.log(share) + len(constants) * np.log(len(target)) + 2.0 * equation.search_cost
    return float(score), equation.replace_constants(constants.tolist())


def remove_repeated(scored: Iterable[tuple[float, Equation]]) -> list[tuple[float, Equation]]:
    """Keep the best of equations with the same form and nearly the same constants, best first."""
    kept: dict[object, tuple[float, Equation]] = {}
    for score, equation in sorted(scored, key=lambda each: (each[0], each[1].complexity)):
        shape = equation.replace_constants(
            [1.0] * len(equation.terms)
            + [float(f"{value:.2g}") for value in equation.constants[len(equation.terms) :].tolist()]
        )
        kept.setdefault(frozenset(map(compute_key, shape.terms)), (score, equation))
    return list(kept.values())
