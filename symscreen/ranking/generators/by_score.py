"""From scores to rankings: what all generators end with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["ranks_by_score"]


def ranks_by_score(scores: ArrayLike) -> NDArray[np.float64]:
    """Sort labels by their scores, the highest first: argsort of Fotakis and others (2022), definition 1.1.

    Parameters
    ----------
    scores : array_like, shape (n, k)
        Of each label in each row; no NaN.

    Returns
    -------
    float64 array, shape (n, k)
        Ranks 1 … k, 1 for the highest score; of equal scores the label that stands first comes first.

    Examples
    --------
    >>> ranks_by_score([[0.2, 0.4, 0.1, 0.3, 0.5]])
    array([[4., 2., 5., 3., 1.]])
    """
    given = np.asarray(scores, dtype=np.float64)
    orders = np.argsort(-given, axis=1, kind="stable")
    ranks = np.empty(given.shape)
    np.put_along_axis(ranks, orders, np.arange(1.0, given.shape[1] + 1.0)[np.newaxis], axis=1)
    return ranks
