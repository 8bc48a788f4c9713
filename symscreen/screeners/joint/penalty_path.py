"""What a path of penalised fits says of its features: one rule for the LASSO, SCAD and MCP.

A path is a matrix of coefficients, one row a penalty λ from the largest down, one column a feature. A feature
*enters* at the first λ at which its coefficient is not zero; it is *selected* where its coefficient at the λ
chosen by cross-validation is not zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values


__all__ = [
    "compute_path_direction",
    "compute_path_loss",
    "find_entry_lambdas",
    "find_min_error_step",
    "find_one_se_step",
]

_COEFFICIENT_DIGITS = (
    6  # of a coefficient over the largest: finer differences are the solver's, not the data's
)
_RELATIVE_ERROR_TOLERANCE = 1e-9  # two cross-validated errors this close, relatively, are one
_RELATIVE_ROUNDING_ERROR = 1e-16  # an error this far below that of the first λ is rounding


def find_entry_lambdas(coefficients: Values, lambdas: Values) -> Values:
    """Find the λ at which each feature first enters the path.

    Parameters
    ----------
    coefficients : float64 array, shape (s, q)
        Any scale: only which are zero counts.
    lambdas : float64 array, shape (s,)
        From the largest down; s ≥ 1.

    Returns
    -------
    float64 array, shape (q,)
        NaN where a feature never enters.

    Examples
    --------
    >>> find_entry_lambdas(np.array([[0.0, 0.0], [0.5, 0.0]]), np.array([2.0, 1.0])).tolist()
    [1.0, nan]
    """
    inside = coefficients != 0.0
    return np.where(inside.any(axis=0), lambdas[inside.argmax(axis=0)], np.nan)


def compute_path_loss(coefficient: Values, entry_lambdas: Values, lambdas: Values) -> Values:
    """Order features: the selected by the size of their coefficients, the others by their entry.

    Parameters
    ----------
    coefficient : float64 array, shape (q,)
        At the λ chosen, for features of one scale; 0 where a feature is not selected.
    entry : float64 array, shape (q,)
        As `find_entry_lambdas` finds it.
    lambdas : float64 array, shape (s,)
        From the largest down, those that `entry` is taken from.

    Returns
    -------
    float64 array, shape (q,)
        Selected: 1 − |coefficient| / (the largest), in [0, 1), rounded to six digits, so that what the
        solver leaves undecided does not order features. Others: 1 + k/s in [1, 2) where the feature enters at
        the k-th λ, counted from 0. Never entered: 2.

    Examples
    --------
    >>> lambdas = np.array([4.0, 2.0, 1.0, 0.5])
    >>> entry = np.array([4.0, 2.0, 1.0, np.nan])
    >>> compute_path_loss(np.array([-1.0, 4.0, 0.0, 0.0]), entry, lambdas).tolist()
    [0.75, 0.0, 1.5, 2.0]
    """
    size = np.abs(coefficient)
    largest = size.max(initial=0.0)
    # a share that rounds to 0 is still selected: it stays below 1
    share = np.maximum(np.round(size / (largest or 1.0), _COEFFICIENT_DIGITS), 10.0**-_COEFFICIENT_DIGITS)
    # NaN, never entered, sorts behind every λ: its place is s
    place = np.searchsorted(-lambdas, -entry_lambdas)
    return np.where(size > 0.0, np.round(1.0 - share, _COEFFICIENT_DIGITS), 1.0 + place / lambdas.size)


def compute_path_direction(coefficients: Values, step: int) -> NDArray[np.int8]:
    """Say with which sign each feature acts.

    Parameters
    ----------
    coefficients : float64 array, shape (s, q)
        One row a λ, from the largest down.
    step : int
        The row of the λ chosen.

    Returns
    -------
    int8 array, shape (q,)
        The sign of the coefficient at the λ chosen; where that is 0, of the coefficient with which the
        feature first entered; 0 where it never did.

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
    """Find the λ of least cross-validated error: λ.min.

    Parameters
    ----------
    error : float64 array, shape (s,)
        The mean squared error at each λ, from the largest λ down; finite, not negative.

    Returns
    -------
    int
        The first row among those whose errors cannot be told from the least: the fewest features.

    Examples
    --------
    >>> find_min_error_step(np.array([3.0, 1.0, 1.0 - 1e-13, 2.0]))
    1
    """
    return int(
        np.argmax(
            error <= error.min() * (1.0 + _RELATIVE_ERROR_TOLERANCE) + _RELATIVE_ROUNDING_ERROR * error[0]
        )
    )


def find_one_se_step(error: Values, standard_error: Values) -> int:
    """Find the largest λ whose error is within one standard error of the least: λ.1se.

    Parameters
    ----------
    error : float64 array, shape (s,)
        The mean squared error at each λ, from the largest λ down; finite, not negative.
    standard_error : float64 array, shape (s,)
        Of each mean.

    Returns
    -------
    int
        Its row; never behind `find_min_error_step`.

    Examples
    --------
    >>> find_one_se_step(np.array([3.0, 1.4, 1.0, 2.0]), np.full(4, 0.5))
    1
    """
    best = find_min_error_step(error)
    return int(np.argmax(error <= error[best] + standard_error[best]))
