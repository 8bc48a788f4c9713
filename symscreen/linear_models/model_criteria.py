"""Criteria that choose among least-squares models of different sizes, and folds for cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values


Criterion = Literal["cp", "bic", "aic"]

EXACT_SHARE = 1e-24
"""Unexplained share of the target's variance that is considered rounding: (1e-12)²."""

SHARE_DIGITS = 9
"""Significant digits of unexplained shares: models with equal shares span the same space."""

_RELATIVE_ROUNDING = 1e-12  # residual norms below this share of the target's norm are rounding errors
_EPS = float(np.finfo(np.float64).eps)


def compute_rounding_floor(max_magnitude: float, standard_deviation: float) -> float:
    """Compute the share of the target's sum of squares below which a residual is only rounding error.

    Parameters
    ----------
    max_magnitude, standard_deviation : float
        The target's largest magnitude and its standard deviation.

    Returns
    -------
    float
        1e-24, or the square of eight rounding errors if a large offset makes these larger.

    Examples
    --------
    >>> compute_rounding_floor(2.0, 1.0)
    1e-24
    """
    return float(max(_RELATIVE_ROUNDING, 8.0 * _EPS * max_magnitude / standard_deviation) ** 2)


def round_unexplained_share(share: float) -> float:
    """Round an unexplained share so that rounding errors do not affect comparisons; 0 for exact models.

    Examples
    --------
    >>> round_unexplained_share(0.12345678949), round_unexplained_share(1e-25)
    (0.123456789, 0.0)
    """
    return 0.0 if share <= EXACT_SHARE else float(f"{share:.{SHARE_DIGITS}g}")


def compute_criterion(
    criterion: Criterion, rss: Values, n: int, noise_variance: float, rss_floor: float
) -> Values:
    """Compute an information criterion for models of 0, 1, …, k features and an intercept.

    With p = k + 1 and RSS as a share of the target's sum of squares::

        BIC = n ln RSS + p ln n        (Schwarz 1978, up to a constant)
        AIC = n ln RSS + 2p            (Akaike 1974, up to a constant)
        Cp  = RSS / σ² − n + 2p        (Mallows 1973)

    Parameters
    ----------
    criterion : {"cp", "bic", "aic"}
        The criterion.
    rss : float64 array, shape (k + 1,)
        The residual sum of squares by model size, from 0.
    n : int
        Number of rows.
    noise_variance : float
        σ² on the scale of `rss`: RSS of the largest model over its degrees of freedom. Used by Cp only.
    rss_floor : float
        Smaller RSS are replaced by it: an exact fit is not improved by more terms.

    Returns
    -------
    float64 array, shape (k + 1,)
        The criterion; smaller is better.

    Examples
    --------
    >>> compute_criterion("cp", np.array([1.0, 0.2]), 10, 0.025, 1e-24).tolist()
    [32.0, 2.0]
    """
    floored_rss = np.maximum(rss, rss_floor)
    n_parameters = np.arange(1.0, rss.size + 1.0)
    if criterion == "cp":
        return floored_rss / noise_variance - n + 2.0 * n_parameters
    penalty = np.log(n) if criterion == "bic" else 2.0
    return np.asarray(n * np.log(floored_rss) + n_parameters * penalty)


def compute_search_penalty(log_choices: float, n: float, n_parameters: float) -> float:
    """Compute what an information criterion adds for a model that is the best of many of its size.

    Parameters
    ----------
    log_choices : float
        log N, where N is the number of models that it was chosen from. If terms were chosen one by one, the
        sum of the logarithms of the numbers of choices.
    n : float
        Number of rows, or of target values.
    n_parameters : float
        Number p of fitted numbers, with the intercept.

    Returns
    -------
    float
        2·log N·n/(n − p), at least 0. With a normal error, a column has a squared correlation above r² by
        chance with a probability of about (1 − r²)^((n − p)/2). So the best of N columns lowers n·log RSS by
        about this number. The extended BIC (Chen and Chen 2008, Biometrika 95, 759-771, with γ = 1) has the
        limit for many rows, 2·log N. If n − p is below 1, it is taken as 1.

    Examples
    --------
    >>> round(float(compute_search_penalty(np.log(1000.0), 50, 5)), 2)
    15.35
    """
    return 2.0 * log_choices * n / max(n - n_parameters, 1.0)


def assign_folds(n: int, n_folds: int, seed: int) -> NDArray[np.int64]:
    """Assign n rows, sorted by the target, to random folds that are balanced over the target.

    Parameters
    ----------
    n : int
        Number of rows.
    n_folds : int
        Number of folds; at most n are used.
    seed : int
        The seed of the random assignment.

    Returns
    -------
    int64 array, shape (n,)
        The fold of each row, from 0. Each block of `n_folds` consecutive rows has one row of each fold, so
        every fold covers the whole range of the target.

    Examples
    --------
    >>> sorted(assign_folds(6, 3, seed=0)[:3].tolist())
    [0, 1, 2]
    """
    n_folds = min(n_folds, n)
    rng = np.random.default_rng(seed)
    blocks = [rng.permutation(n_folds) for _ in range(-(-n // n_folds))]
    return np.concatenate(blocks)[:n].astype(np.int64)


def compute_cv_error(
    squared_errors: NDArray[np.float64], row_folds: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average the squared errors of a cross-validation, with a standard error, as cv.glmnet does.

    Parameters
    ----------
    squared_errors : float64 array, shape (s, n)
        The squared error of each row, predicted from the other folds, one model per row of the array.
    row_folds : int64 array, shape (n,)
        The fold of each row: every index from 0 to K − 1, K ≥ 2.

    Returns
    -------
    error : float64 array, shape (s,)
        The mean over rows.
    standard_error : float64 array, shape (s,)
        The standard error of the mean of the folds' means, weighted by fold size. If folds have fewer than
        three rows on average, that of the rows, as if they were independent.

    Examples
    --------
    >>> squares, fold = np.array([[1.0, 1.0, 1.0, 3.0, 3.0, 3.0]]), np.array([0, 0, 0, 1, 1, 1])
    >>> compute_cv_error(squares, fold)
    (array([2.]), array([1.]))
    """
    n, sizes = row_folds.size, np.bincount(row_folds)
    error = squared_errors.mean(axis=1)
    # A model that is far off in a fold may have errors whose squares overflow: its standard error is
    # infinite then.
    with np.errstate(over="ignore"):
        if n < 3 * sizes.size:
            return error, np.sqrt(((squared_errors - error[:, None]) ** 2).mean(axis=1) / (n - 1))
        # Σ_k n_k/n · (error_k − error)² / (K − 1)
        means = np.stack([squared_errors[:, row_folds == k].mean(axis=1) for k in range(sizes.size)], axis=1)
        variance = ((means - error[:, None]) ** 2 * (sizes / n)).sum(axis=1)
    return error, np.sqrt(variance / (sizes.size - 1))
