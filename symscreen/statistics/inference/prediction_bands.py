"""Prediction bands from residuals of rows that a model has not seen: split conformal and CV+.

Both assume that the rows of the table and the new row are exchangeable, for example independent draws from
one distribution. They assume nothing about the model or the distribution. The probabilities are averages over
tables and new rows, not over the new rows of one table, and not at one place x.

- Split conformal (Vovk, Gammerman and Shafer 2005, Algorithmic Learning in a Random World; Lei, G'Sell,
  Rinaldo, Tibshirani and Wasserman 2018, JASA 113, 1094, theorem 2.2). A model is fitted to some rows, and
  R_1 … R_m are its absolute residuals on m other rows. With k = ⌈(m+1)(1−α)⌉, the band is the prediction ±
  the k-th smallest residual. It holds a new target with a probability of at least 1 − α, and of at most
  1 − α + 1/(m+1) if no two residuals are equal.
- CV+ (Barber, Candès, Ramdas and Tibshirani 2021, Annals of Statistics 49, 486). Each of n rows is in one of
  K folds, μ_f is the model without fold f, and R_i is the residual of row i in fold f(i) under μ_f(i). The
  band at x is from the ⌊α(n+1)⌋-th smallest μ_f(i)(x) − R_i to the ⌈(1−α)(n+1)⌉-th smallest μ_f(i)(x) + R_i.
  It holds a new target with a probability of at least 1 − 2α − min(2(1−1/K)/(n/K+1), (1−K/n)/(K+1))
  (theorem 4), and usually of about 1 − α.

A residual is infinite where the model is undefined, so such rows make bands wider.

Where the model has an estimate σ(x) of the standard deviation of errors, residuals are divided by it, and the
width at x is multiplied by it (Lei et al. 2018, section 5.2). The promises hold for any σ that comes from the
same rows as the model. For CV+, this follows as for the nested sets of Gupta, Kuchibhotla and Ramdas (2022,
Pattern Recognition 127, 108496).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values


_MAX_BLOCK_VALUES = 4_000_000  # values that are sorted at a time, 32 MB


def compute_band_rank(n: int, level: float) -> int:
    """Compute ⌈(n+1)·level⌉, the rank of the residual that ends a band.

    The level counts as the decimal number that it is written as, so that (99+1)·0.55 is 55, not more.

    Parameters
    ----------
    n : int
        Number of residuals.
    level : float
        The wanted coverage 1 − α, in (0, 1).

    Returns
    -------
    int
        From 1 to n + 1; with n + 1 the band is infinite.

    Examples
    --------
    >>> compute_band_rank(99, 0.9), compute_band_rank(99, 0.55), compute_band_rank(8, 0.9)
    (90, 55, 9)
    """
    return math.ceil(Fraction(str(float(level))) * (n + 1))


def count_needed_rows(level: float) -> int:
    """Count the residuals that a finite band needs.

    Parameters
    ----------
    level : float
        The wanted coverage, in (0, 1).

    Returns
    -------
    int
        The smallest n with ⌈(n+1)·level⌉ ≤ n.

    Examples
    --------
    >>> count_needed_rows(0.9), count_needed_rows(0.95), count_needed_rows(0.5)
    (9, 19, 1)
    """
    share = Fraction(str(float(level)))
    return math.ceil(share / (1 - share))


def compute_half_width(residuals: Values, level: float) -> float:
    """Compute the half width of a split conformal band.

    Parameters
    ----------
    residuals : float64 array, shape (m,)
        Absolute residuals of rows that the model has not seen; infinity where it is undefined.
    level : float
        The wanted coverage, in (0, 1).

    Returns
    -------
    float
        The ⌈(m+1)·level⌉-th smallest residual; infinity if there are fewer.

    Examples
    --------
    >>> compute_half_width(np.arange(1.0, 20.0), 0.9)
    18.0
    >>> compute_half_width(np.arange(1.0, 9.0), 0.9)
    inf
    """
    rank = compute_band_rank(len(residuals), level)
    return float(np.sort(residuals)[rank - 1]) if rank <= len(residuals) else math.inf


def compute_cv_plus_band(
    predictions: Values, residuals: Sequence[Values], level: float, deviations: Values | None = None
) -> tuple[Values, Values]:
    """Compute the limits of a CV+ band.

    Parameters
    ----------
    predictions : float64 array, shape (K, m)
        The predictions of the model without each fold for m new rows; NaN where it is undefined.
    residuals : sequence of K float64 arrays
        The absolute residuals of the rows of each fold under the model without it, each divided by its
        standard deviation if these are given.
    level : float
        The wanted coverage, in (0, 1).
    deviations : float64 array, shape (K, m), optional
        The positive standard deviations of the errors of the new rows under the model without each fold.

    Returns
    -------
    low, high : float64 arrays, shape (m,)
        An undefined prediction counts as −∞ for `low` and as ∞ for `high`.

    Examples
    --------
    >>> low, high = compute_cv_plus_band(np.array([[1.0], [2.0]]), [np.array([0.5]), np.array([0.25])], 0.5)
    >>> low.tolist(), high.tolist()
    ([0.5], [2.25])
    """
    widths = np.concatenate(residuals)
    folds = np.repeat(np.arange(len(residuals)), [len(each) for each in residuals])
    n, n_new = len(widths), predictions.shape[1]
    rank = compute_band_rank(n, level)
    low, high = np.full(n_new, -np.inf), np.full(n_new, np.inf)
    if rank > n:
        return low, high
    is_undefined = np.isnan(predictions)
    lower, upper = np.where(is_undefined, -np.inf, predictions), np.where(is_undefined, np.inf, predictions)
    scales = np.ones_like(predictions) if deviations is None else np.where(is_undefined, 1.0, deviations)
    step = max(1, _MAX_BLOCK_VALUES // n)
    for start in range(0, n_new, step):
        block = slice(start, start + step)
        # ⌊α(n+1)⌋ = n + 1 − rank, since both ranks come from one fraction
        half = widths[:, None] * scales[folds, block]
        low[block] = np.partition(lower[folds, block] - half, n - rank, axis=0)[n - rank]
        high[block] = np.partition(upper[folds, block] + half, rank - 1, axis=0)[rank - 1]
    return low, high


def compute_cv_plus_guarantee(n: int, n_folds: int, level: float) -> float:
    """Compute the probability that a CV+ band has for any distribution and any model, at least.

    Parameters
    ----------
    n : int
        Number of rows.
    n_folds : int
        Number K of folds, from 2 to n. They have equally many rows, or nearly so.
    level : float
        The wanted coverage 1 − α, in (0, 1).

    Returns
    -------
    float
        1 − 2α − min(2(1−1/K)/(n/K+1), (1−K/n)/(K+1)), but not below 0 (Barber et al. 2021, theorem 4).

    Examples
    --------
    >>> round(compute_cv_plus_guarantee(1000, 10, 0.9), 4), compute_cv_plus_guarantee(50, 50, 0.9)
    (0.7822, 0.8)
    """
    share, folds = Fraction(str(float(level))), Fraction(n_folds)
    excess = min(2 * (1 - 1 / folds) / (n / folds + 1), (1 - folds / n) / (folds + 1))
    return float(max(Fraction(0), 2 * share - 1 - excess))
