"""Measure how often the terms of a system are chosen again on half of the data.

On each half of the rows of a regression problem, the proposed equations of a state compete anew. A term is
stable if the best equation has it on most halves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.dynamics.equations import find_form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.dynamics.equations import Equation, System
    from symscreen.dynamics.weak_form import RegressionProblem


_N_HALVES, _SEED = 50, 0
_COMPARED = 60  # equations of a state that compete
_SMALLEST_SHARE = 1e-16  # unexplained share that counts as rounding


def compute_stability(
    problem: RegressionProblem, proposals: dict[str, list[tuple[float, Equation]]], system: System
) -> tuple[tuple[float, ...], ...]:
    """Return for each term of each equation the share of half-samples that choose it.

    Parameters
    ----------
    problem : RegressionProblem
        The rows.
    proposals : dict of str to list of tuple of float and Equation
        For each state, the equations that compete with that of the system, best first.
    system : System
        The system.

    Returns
    -------
    tuple of tuple of float
        For each equation, a share from 0 to 1 for each term.
    """
    found = []
    for equation in system.equations:
        others = [each for _, each in proposals[equation.state][:_COMPARED]]
        wins = count_wins(problem, [equation, *others])
        forms = [set(map(find_form, each.terms)) for each in (equation, *others)]
        shares = [
            sum(count for count, has in zip(wins, forms, strict=True) if find_form(term) in has) / _N_HALVES
            for term in equation.terms
        ]
        found.append(tuple(shares))
    return tuple(found)


def count_wins(problem: RegressionProblem, equations: Sequence[Equation]) -> list[int]:
    """Count the half-samples on which each equation of a state has the best EBIC; the first wins a tie."""
    state = equations[0].state
    target = problem.targets[state]
    rows = [_evaluate_terms(problem, each) for each in equations]
    rng, n_half = np.random.default_rng(_SEED), len(target) // 2
    wins = [0] * len(equations)
    for _ in range(_N_HALVES):
        half = np.sort(rng.permutation(len(target))[:n_half])
        scores = [
            _compute_score(values[:, half], target[half], equation)
            for values, equation in zip(rows, equations, strict=True)
        ]
        wins[int(np.argmin(scores))] += 1
    return wins


def _evaluate_terms(problem: RegressionProblem, equation: Equation) -> Values:
    """Return the rows of the terms, shape (k, m)."""
    compiled, _ = equation.compile_terms()
    n_nodes = len(next(iter(problem.columns.values())))
    constants = equation.constants.tolist()
    values = [np.broadcast_to(term(problem.columns, constants), n_nodes) for term in compiled]
    return np.nan_to_num(problem.project(equation.state, np.array(values)))


def _compute_score(rows: Values, target: Values, equation: Equation) -> float:
    """Return the EBIC of an equation whose coefficients are fitted to rows; constants inside terms stay."""
    rest = target - np.linalg.lstsq(rows.T, target, rcond=None)[0] @ rows
    share = max(float(rest @ rest) / max(float(target @ target), 1e-300), _SMALLEST_SHARE)
    n = len(target)
    return float(n * np.log(share) + len(equation.constants) * np.log(n) + 2.0 * equation.search_cost)
