"""Which inclusion proportions are more than chance: the permutation thresholds of Bleich et al. (2014).

With p_j the share of a forest's splits on feature j, and p*_bj the same after the b-th permutation of the
response, a feature is selected where p_j exceeds

    Local        the (1 − α) quantile of its own p*_bj
    Global Max   the (1 − α) quantile of max_j p*_bj
    Global SE    m_j + C·s_j, mean and standard deviation of its p*_bj, with the smallest C such that in a
                 share 1 − α of the permutations p*_bj ≤ m_j + C·s_j for all j together

(Bleich, Kapelner, George and Jensen 2014, Ann. Appl. Stat. 8, 1750-1781, section 3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rule", "thresholds"]

Rule = Literal["local", "gmax", "gse"]


def thresholds(permuted: NDArray[np.float64], rule: Rule, alpha: float) -> NDArray[np.float64]:
    """Compute the threshold that each feature's inclusion must exceed.

    Parameters
    ----------
    permuted : float64 array, shape (b, q)
        Inclusion proportions after b permutations of the response; b ≥ 2.
    rule : {"local", "gmax", "gse"}
        Which threshold.
    alpha : float
        In (0, 1).

    Returns
    -------
    float64 array, shape (q,)
        Quantiles are order statistics: at most a share α of the permutations exceeds them.

    Examples
    --------
    >>> permuted = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    >>> thresholds(permuted, "local", alpha=0.25).tolist(), thresholds(permuted, "gmax", alpha=0.25).tolist()
    ([0.3, 0.8], [0.8, 0.8])
    """
    level = 1.0 - alpha
    if rule == "local":
        return np.asarray(np.quantile(permuted, level, axis=0, method="inverted_cdf"))
    if rule == "gmax":
        most = float(np.quantile(permuted.max(axis=1), level, method="inverted_cdf"))
        return np.full(permuted.shape[1], most)
    mean, spread = permuted.mean(axis=0), permuted.std(axis=0, ddof=1)
    # a feature that no permutation ever splits on has no spread: any split on it exceeds 0
    away = np.where(spread > 0, (permuted - mean) / np.where(spread > 0, spread, 1.0), 0.0)
    widest = float(np.quantile(away.max(axis=1), level, method="inverted_cdf"))
    return np.asarray(mean + widest * spread)
