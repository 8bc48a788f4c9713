"""Least squares for a few parameters, linear or by Gauss-Newton steps, and their covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Values


_MAX_STEPS = 12
_MAX_HALVINGS = 12  # largest number of times that a step is halved
# Smallest eigenvalue of the products of columns of norm 1. With a smaller one, the parameters are not
# determined.
_MIN_EIGENVALUE = 1e-12
_MIN_PIVOT = 1e-8  # smallest pivot of columns of norm 1 that are linearly independent
_STEP_TOLERANCE = 1e-9  # relative decrease of the squared error, expected or found, at which the fit ends


def solve_least_squares(rows: Values, target: Values) -> Values | None:
    """Solve min ‖target − b·rows‖² with rows of shape (k, n), which are scaled to norm 1.

    Returns
    -------
    float64 array, shape (k,), or None
        None if the rows are linearly dependent, zero or not finite.
    """
    norms = np.linalg.norm(rows, axis=1)
    if not np.isfinite(norms).all() or not norms.all():
        return None
    solution, _, rank, _ = np.linalg.lstsq((rows / norms[:, None]).T, target, rcond=None)
    return None if rank < len(rows) else np.asarray(solution / norms)


def estimate_with_errors(design: Values, target: Values) -> tuple[Values, Values] | None:
    """Estimate the coefficients of a linear regression and their standard errors.

    The errors are those of White (1980, Econometrica 48, 817-838). They are right if the residuals are larger
    in some rows, for example where the design only approximates a function.

    Parameters
    ----------
    design : float64 array, shape (n, k)
        The columns, with n > k.
    target : float64 array, shape (n,)
        The target.

    Returns
    -------
    tuple of float64 arrays, shape (k,), or None
        Coefficients and errors; None if the columns are linearly dependent, zero or not finite.
    """
    norms = compute_column_norms(design)
    if not np.isfinite(norms).all() or not norms.all():
        return None
    q, r = np.linalg.qr(design / norms)
    if np.abs(np.diag(r)).min() < _MIN_PIVOT:
        return None
    inverse = np.linalg.inv(r)
    solution = inverse @ (q.T @ target)
    residuals = target - (design / norms) @ solution
    spread = inverse @ (q * residuals[:, None]).T
    scale = len(target) / (len(target) - len(solution))
    return solution / norms, np.sqrt(scale * (spread**2).sum(axis=1)) / norms


def improve_fit(
    predict: Callable[[Values], Values],
    differentiate: Callable[[Values], Values],
    start: Values,
    target: Values,
    max_steps: int = _MAX_STEPS,
) -> tuple[Values, float]:
    """Minimise ‖target − predict(b)‖² by Gauss-Newton steps, which are halved until the square decreases.

    Parameters
    ----------
    predict : callable
        Maps parameters, shape (k,), to predictions, shape (n,), finite in all rows.
    differentiate : callable
        Maps parameters to derivatives of the predictions, shape (k, n). Rows of the data with derivatives
        that are not finite take no part in a step.
    start : float64 array, shape (k,)
        The start.
    target : float64 array, shape (n,)
        The target.
    max_steps : int, default 12
        Number of steps at most.

    Returns
    -------
    float64 array, shape (k,)
        The parameters.
    float
        The squared error.

    Examples
    --------
    >>> x = np.linspace(0, 1, 20)
    >>> b, square = improve_fit(
    ...     lambda b: np.exp(b[0] * x), lambda b: (x * np.exp(b[0] * x))[None], np.ones(1), np.exp(2 * x))
    >>> b.round(6).tolist(), square < 1e-20
    ([2.0], True)
    """
    solution = start
    residuals = target - predict(solution)
    square = float(residuals @ residuals)
    for _ in range(max_steps):
        with np.errstate(all="ignore"):
            jacobian = differentiate(solution)
        jacobian = np.where(np.isfinite(jacobian).all(axis=0), jacobian, 0.0)
        step = solve_least_squares(jacobian, residuals)
        if step is None or float((step @ jacobian) @ residuals) <= _STEP_TOLERANCE * square:
            break
        previous = square
        for _ in range(_MAX_HALVINGS):
            trial = target - predict(solution + step)
            trial_square = float(trial @ trial)
            if trial_square < square:
                solution, residuals, square = solution + step, trial, trial_square
                break
            step = step / 2.0
        if square >= previous * (1.0 - _STEP_TOLERANCE):
            break
    return solution, square


def compute_column_norms(design: Values) -> Values:
    """Compute the norms of columns; numpy's own function makes two more copies of the array."""
    return np.asarray(np.sqrt(np.add.reduce(design * design, axis=0)))


def estimate_robust_covariance(jacobian: Values, residuals: Values) -> Values | None:
    """Estimate the covariance of fitted parameters if the errors may have any variances.

    It is HC3 (MacKinnon and White 1985, Journal of Econometrics 29, 305-325).

    Parameters
    ----------
    jacobian : float64 array, shape (n, k)
        Derivatives of the predictions.
    residuals : float64 array, shape (n,)
        Target minus predictions.

    Returns
    -------
    float64 array, shape (k, k), or None
        None if the rows do not determine the parameters.
    """
    n = len(residuals)
    norms = compute_column_norms(jacobian)
    if not np.isfinite(norms).all() or not norms.all():
        return None
    scaled = jacobian / norms
    gram = scaled.T @ scaled
    if np.linalg.eigvalsh(gram)[0] < _MIN_EIGENVALUE:
        return None
    inverse = np.linalg.inv(gram)
    leverage = np.einsum("ij,jk,ik->i", scaled, inverse, scaled)
    errors = residuals / np.maximum(1.0 - leverage, 1.0 / n)
    covariance = inverse @ (scaled.T @ (scaled * (errors**2)[:, None])) @ inverse / np.outer(norms, norms)
    return np.asarray(covariance)
