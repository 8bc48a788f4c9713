"""Results from a path of penalised fits, for the LASSO, SCAD and MCP.

A path is a matrix of coefficients, with one row per penalty λ in descending order and one column per feature.
A feature *enters* at the first λ with a nonzero coefficient. It is *selected* if its coefficient is nonzero
at the λ chosen by cross-validation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values


_COEFFICIENT_DIGITS = 6  # digits of coefficient / largest; finer differences depend on the solver
_RELATIVE_ERROR_TOLERANCE = 1e-9  # cross-validated errors with a smaller relative difference are tied
_RELATIVE_ROUNDING_ERROR = 1e-16  # relative to the error at the first λ: smaller errors are rounding


def find_entry_lambdas(coefficients: Values, lambdas: Values) -> Values:
    """Find the λ at which each feature first enters the path.

    Parameters
    ----------
    coefficients : float64 array, shape (s, q)
        In any unit: only zeros matter.
    lambdas : float64 array, shape (s,)
        In descending order; s ≥ 1.

    Returns
    -------
    float64 array, shape (q,)
        NaN if a feature never enters.

    Examples
    --------
    >>> find_entry_lambdas(np.array([[0.0, 0.0], [0.5, 0.0]]), np.array([2.0, 1.0])).tolist()
    [1.0, nan]
    """
    is_active = coefficients != 0.0
    return np.where(is_active.any(axis=0), lambdas[is_active.argmax(axis=0)], np.nan)


def compute_path_loss(coefficient: Values, entry_lambdas: Values, lambdas: Values) -> Values:
    """Compute losses that sort selected features by coefficient, then the others by their entry.

    Parameters
    ----------
    coefficient : float64 array, shape (q,)
        Coefficients of standardised features at the chosen λ; 0 if not selected.
    entry_lambdas : float64 array, shape (q,)
        From `find_entry_lambdas`.
    lambdas : float64 array, shape (s,)
        The penalties of the path, in descending order.

    Returns
    -------
    float64 array, shape (q,)
        Selected: 1 − |coefficient| / (the largest), in [0, 1), rounded to six digits, so that the solver's
        tolerance does not affect the order. Others: 1 + k/s in [1, 2) if the feature enters at the k-th λ,
        counted from 0. Never entered: 2.

    Examples
    --------
    >>> lambdas = np.array([4.0, 2.0, 1.0, 0.5])
    >>> entry = np.array([4.0, 2.0, 1.0, np.nan])
    >>> compute_path_loss(np.array([-1.0, 4.0, 0.0, 0.0]), entry, lambdas).tolist()
    [0.75, 0.0, 1.5, 2.0]
    """
    magnitude = np.abs(coefficient)
    largest = magnitude.max(initial=0.0)
    # A selected feature whose share rounds to 0 still has a loss below 1.
    share = np.maximum(
        np.round(magnitude / (largest or 1.0), _COEFFICIENT_DIGITS), 10.0**-_COEFFICIENT_DIGITS
    )
    # NaN (never entered) sorts after every λ: its step is s.
    entry_step = np.searchsorted(-lambdas, -entry_lambdas)
    return np.where(
        magnitude > 0.0, np.round(1.0 - share, _COEFFICIENT_DIGITS), 1.0 + entry_step / lambdas.size
    )


def compute_path_direction(coefficients: Values, step: int) -> NDArray[np.int8]:
    """Return the sign of each feature's effect.

    Parameters
    ----------
    coefficients : float64 array, shape (s, q)
        One row per λ, in descending order of λ.
    step : int
        The row of the chosen λ.

    Returns
    -------
    int8 array, shape (q,)
        The sign of the coefficient at the chosen λ. If it is 0, the sign with which the feature first
        entered; 0 if it never entered.

    Examples
    --------
    >>> compute_path_direction(np.array([[0.0, 0.3, 0.0], [-0.5, 0.0, 0.0]]), step=1).tolist()
    [-1, 1, 0]
    """
    first = (coefficients != 0.0).argmax(axis=0)
    entering = coefficients[first, np.arange(coefficients.shape[1])]
    chosen = coefficients[step]
    return np.asarray(np.sign(np.where(chosen != 0.0, chosen, entering)), dtype=np.int8)


def find_min_error_step(error: Values) -> int:
    """Find the λ with the smallest cross-validated error: λ.min.

    Parameters
    ----------
    error : float64 array, shape (s,)
        The mean squared error at each λ, in descending order of λ; finite, not negative.

    Returns
    -------
    int
        The first row whose error is within the numerical tolerance of the smallest: that with the fewest
        features.

    Examples
    --------
    >>> find_min_error_step(np.array([3.0, 1.0, 1.0 - 1e-13, 2.0]))
    1
    """
    threshold = error.min() * (1.0 + _RELATIVE_ERROR_TOLERANCE) + _RELATIVE_ROUNDING_ERROR * error[0]
    return int(np.argmax(error <= threshold))


def find_one_se_step(error: Values, standard_error: Values) -> int:
    """Find the largest λ whose error is within one standard error of the smallest: λ.1se.

    Parameters
    ----------
    error : float64 array, shape (s,)
        The mean squared error at each λ, in descending order of λ; finite, not negative.
    standard_error : float64 array, shape (s,)
        The standard error of each mean.

    Returns
    -------
    int
        The row of this λ; never after `find_min_error_step`.

    Examples
    --------
    >>> find_one_se_step(np.array([3.0, 1.4, 1.0, 2.0]), np.full(4, 0.5))
    1
    """
    best = find_min_error_step(error)
    return int(np.argmax(error <= error[best] + standard_error[best]))
