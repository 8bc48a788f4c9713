"""Splits of rows that are in the order of time, into stretches of runs instead of random rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Flags, Integers


def assign_time_folds(runs: Sequence[Integers], n_folds: int) -> Integers:
    """Assign rows to folds: each run is cut into as many stretches of equal length as there are folds.

    Parameters
    ----------
    runs : sequence of int64 array
        The rows of each run in the order of time; together 0 … n − 1.
    n_folds : int
        Number of folds.

    Returns
    -------
    int64 array, shape (n,)
        The fold of each row, from 0.

    Examples
    --------
    >>> assign_time_folds([np.array([3, 2, 1, 0]), np.array([4, 5])], 2).tolist()
    [1, 1, 0, 0, 0, 1]
    """
    folds = np.empty(sum(map(len, runs)), dtype=np.int64)
    for rows in runs:
        folds[rows] = np.arange(len(rows)) * n_folds // len(rows)
    return folds


def find_run_ends(runs: Sequence[Integers], share: float) -> Flags:
    """Find the last rows of each run.

    Parameters
    ----------
    runs : sequence of int64 array
        As for `assign_time_folds`.
    share : float
        The share of the rows of each run, from 0 to 1, rounded to whole rows.

    Returns
    -------
    bool array, shape (n,)
        True for the last rows; for one row at least, in the longest run.

    Examples
    --------
    >>> find_run_ends([np.array([3, 2, 1, 0]), np.array([4, 5])], 0.5).tolist()
    [True, True, False, False, False, True]
    """
    is_end = np.zeros(sum(map(len, runs)), dtype=np.bool_)
    for rows in runs:
        is_end[rows[len(rows) - round(len(rows) * share) :]] = True
    if not is_end.any():
        is_end[max(runs, key=len)[-1]] = True
    return is_end
