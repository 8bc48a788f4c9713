"""Holm's step-down method for a few p-values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from symscreen._typing import Values


def adjust_holm(p_values: Values) -> Values:
    """Adjust p-values so that the smallest false one is below α with probability α at most.

    Parameters
    ----------
    p_values : float64 array, shape (k,)
        p-values of k hypotheses, in [0, 1], with any dependence.

    Returns
    -------
    float64 array, shape (k,)
        In [0, 1]. In the order of size, the i-th p-value, from 0, is multiplied by k − i, and is at least as
        large as those before it (Holm 1979, A simple sequentially rejective multiple test procedure).

    Examples
    --------
    >>> adjust_holm(np.array([0.04, 0.01, 0.03])).tolist()
    [0.06, 0.03, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    multiplied = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(multiplied))
    return adjusted
