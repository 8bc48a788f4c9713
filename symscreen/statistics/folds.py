"""Folds for cross-validation: seeded, balanced over the response, the same for every method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["folds_of"]


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
