"""Inclusion: the share of a forest's splits that are on each feature, and when it is more than chance.

With p_j the share of the splits on feature j, and p*_bj the same after the b-th permutation of the response,
a feature is selected where p_j exceeds

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

    Values = NDArray[np.float64]

__all__ = ["Rule", "agreement", "credible_interval", "shares", "thresholds"]

Rule = Literal["local", "gmax", "gse"]


def shares(counts: NDArray[np.integer]) -> Values:
    """Turn the splits of each draw into shares.

    Parameters
    ----------
    counts : int array, shape (draws, q)
        Splits on each feature.

    Returns
    -------
    float64 array, shape (draws, q)
        Each row of sum 1, or 0 in a draw that splits on nothing.

    Examples
    --------
    >>> shares(np.array([[3, 1], [0, 0]])).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def credible_interval(drawn: Values, level: float = 0.95) -> tuple[Values, Values]:
    """Compute the central interval of each feature's share over the posterior.

    Parameters
    ----------
    drawn : float64 array, shape (draws, q)
        Shares, draw by draw, of all chains.
    level : float
        In (0, 1).

    Returns
    -------
    low, high : float64 arrays, shape (q,)

    Examples
    --------
    >>> low, high = credible_interval(np.linspace(0, 1, 101)[:, None])
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.025, 0.975)
    """
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low, high


def thresholds(permuted: Values, rule: Rule, alpha: float) -> Values:
    """Compute the threshold that each feature's inclusion must exceed.

    Parameters
    ----------
    permuted : float64 array, shape (b, q)
        Inclusion after b permutations of the response; b ≥ 2.
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
    if rule == "local":
        return _quantile(permuted, alpha)
    if rule == "gmax":
        return np.full(permuted.shape[1], _quantile(permuted.max(axis=1), alpha))
    mean, spread = permuted.mean(axis=0), permuted.std(axis=0, ddof=1)
    # a feature of the same share in every permutation is covered by any C, and needs none
    away = np.where(spread > 0, (permuted - mean) / np.where(spread > 0, spread, 1.0), 0.0)
    return np.asarray(mean + _quantile(away.max(axis=1), alpha) * spread)


def _quantile(values: Values, alpha: float) -> Values:
    return np.asarray(np.quantile(values, 1.0 - alpha, axis=0, method="inverted_cdf"))


def agreement(means: Values) -> float | None:
    """Say how far chains from other seeds agree.

    Parameters
    ----------
    means : float64 array, shape (chains, q)
        Each chain's inclusion.

    Returns
    -------
    float or None
        The mean correlation of two chains; None where there is nothing to compare.

    Examples
    --------
    >>> agreement(np.array([[0.1, 0.3, 0.6], [0.2, 0.3, 0.5]])) > 0.99
    True
    """
    if min(means.shape) < 2 or (np.ptp(means, axis=1) == 0).any():
        return None
    centred = means - means.mean(axis=1, keepdims=True)
    unit = centred / np.sqrt((centred * centred).sum(axis=1, keepdims=True))
    pairs = np.triu_indices(len(means), 1)
    return float((unit[pairs[0]] * unit[pairs[1]]).sum(axis=1).mean())
