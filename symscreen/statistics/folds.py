"""Folds for cross-validation: seeded, balanced over the response, the same for every method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["error_over_folds", "folds_of"]


def folds_of(n: int, folds: int, seed: int) -> NDArray[np.int64]:
    """Deal n rows, which stand in ascending order of the response, into folds.

    Parameters
    ----------
    n : int
        Rows.
    folds : int
        How many folds; more than n are n.
    seed : int
        Which of the ways to deal.

    Returns
    -------
    int64 array, shape (n,)
        The fold of each row, from 0. Of every run of `folds` neighbours each goes into another fold, so that
        every fold spans the whole response.

    Examples
    --------
    >>> sorted(folds_of(6, 3, seed=0)[:3].tolist())
    [0, 1, 2]
    """
    folds = min(folds, n)
    rng = np.random.default_rng(seed)
    dealt = [rng.permutation(folds) for _ in range(-(-n // folds))]
    return np.concatenate(dealt)[:n].astype(np.int64)


def error_over_folds(
    squares: NDArray[np.float64], fold: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Average the squared errors of a cross-validation, with a standard error, as cv.glmnet does.

    Parameters
    ----------
    squares : float64 array, shape (s, n)
        The squared error of each row, predicted from the other folds; one row a model.
    fold : int64 array, shape (n,)
        The fold of each row: every number from 0 to K − 1, K ≥ 2.

    Returns
    -------
    error : float64 array, shape (s,)
        The mean over rows.
    standard_error : float64 array, shape (s,)
        That of the folds' means, weighted by their sizes; where folds hold fewer than three rows on average,
        that of the rows, as if they were independent.

    Examples
    --------
    >>> squares, fold = np.array([[1.0, 1.0, 1.0, 3.0, 3.0, 3.0]]), np.array([0, 0, 0, 1, 1, 1])
    >>> error_over_folds(squares, fold)
    (array([2.]), array([1.]))
    """
    n, sizes = fold.size, np.bincount(fold)
    error = squares.mean(axis=1)
    if n < 3 * sizes.size:
        return error, np.sqrt(((squares - error[:, None]) ** 2).mean(axis=1) / (n - 1))
    # Σ_k n_k/n · (error_k − error)² / (K − 1)
    means = np.stack([squares[:, fold == k].mean(axis=1) for k in range(sizes.size)], axis=1)
    variance = ((means - error[:, None]) ** 2 * (sizes / n)).sum(axis=1)
    return error, np.sqrt(variance / (sizes.size - 1))
