"""How far observed rankings are from the noiseless ones: Fotakis and others (2022), definition 2.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.label_ranking import as_rankings
from symscreen.ranking.distances import kendall_tau

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["inconsistency", "kendall_gap"]


def inconsistency(sigma: ArrayLike, h: ArrayLike) -> float:
    """Compute the α-inconsistency: the share of rows whose ranking is not the noiseless one, Pr[σ ≠ h(x)].

    Parameters
    ----------
    sigma, h : array_like, shape (n, k)
        Observed and noiseless ranks, complete.

    Returns
    -------
    float
        α in [0, 1].

    Examples
    --------
    >>> inconsistency([[1, 2, 3], [2, 1, 3]], [[1, 2, 3], [1, 2, 3]])
    0.5
    """
    observed, noiseless = as_rankings(sigma, complete=True), as_rankings(h, complete=True)
    return float((observed != noiseless).any(axis=1).mean())


def kendall_gap(sigma: ArrayLike, h: ArrayLike) -> float:
    """Compute the β-kτ gap: the mean Kendall coefficient of observed and noiseless rankings, E kτ(σ, h(x)).

    Parameters
    ----------
    sigma, h : array_like, shape (n, k)
        Observed and noiseless ranks, complete.

    Returns
    -------
    float
        β in [−1, 1]; 1 without noise.

    Examples
    --------
    >>> kendall_gap([[1, 2, 3], [3, 2, 1]], [[1, 2, 3], [1, 2, 3]])
    0.0
    """
    observed, noiseless = as_rankings(sigma, complete=True), as_rankings(h, complete=True)
    return float(np.mean(kendall_tau(observed, noiseless)))
