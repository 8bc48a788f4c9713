"""Fit the constants inside curves on the scale of a response, with the best coefficients for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.laws.gauss_newton import improve_fit, solve_least_squares

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Values


MAX_VALUE = 1e100  # largest magnitude of a value of a curve


def improve_constants(
    start: Values, evaluate_terms: Callable[[Values], Values], target: Values, weights: Values, n_steps: int
) -> Values:
    """Fit the constants inside on the scale of the response, shape (k,), with the best coefficients."""
    sizes = np.abs(start) + 1e-300
    step = float(np.sqrt(np.finfo(np.float64).eps))

    def predict_all(steps: Values) -> Values:
        """Predict the weighted response for steps relative to the start, shape (g, k); shape (g, n)."""
        with np.errstate(all="ignore"):
            term_values = evaluate_terms(start + steps * sizes) * weights
        solutions = [solve_terms(each, target) for each in term_values]
        return np.array(
            [
                target * 1e3 if solution is None else solution @ each
                for solution, each in zip(solutions, term_values, strict=True)
            ]
        )

    def differentiate(steps: Values) -> Values:
        """Return the derivatives of the predictions, shape (k, n), without the change of the projection.

        They are what the terms leave of the change of the curves (Kaufman 1975, BIT 15, 49-57).
        """
        moved = steps + step * np.vstack([np.zeros(len(steps)), np.eye(len(steps))])
        with np.errstate(all="ignore"):
            term_values = evaluate_terms(start + moved * sizes) * weights
            changes = (term_values[1:] - term_values[0]) / step
        solution = solve_terms(term_values[0], target)
        if solution is None or not are_usable(changes):
            return np.zeros((len(steps), len(target)))
        slopes = np.asarray(solution @ changes)
        basis = np.linalg.qr(term_values[0].T)[0]
        return np.asarray(slopes - (slopes @ basis) @ basis.T)

    if not len(start):
        return start
    found, _ = improve_fit(
        lambda steps: predict_all(steps[None])[0], differentiate, np.zeros(len(start)), target, n_steps
    )
    return np.asarray(start + found * sizes)


def solve_terms(term_values: Values, target: Values) -> Values | None:
    """Return the coefficients of least squares of terms, shape (m, n); None if they are not usable."""
    return solve_least_squares(term_values, target) if are_usable(term_values) else None


def are_usable(values: Values) -> bool:
    """Return whether values are finite, and so small that their squares do not overflow."""
    return bool((np.abs(values) < MAX_VALUE).all())
