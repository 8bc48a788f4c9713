"""How many discordant pairs show, at a stated risk, that a feature is not among the best.

T0 / (2Δ) is a probability p, and N pairs of rows are N independent throws (`symscreen.search.pairs`), each in
[0, 1], with mean p over all. For a feature with p ≤ p₀, Hoeffding's first theorem (1963) says::

    P(share of discordant pairs ≥ x) ≤ exp(−N · KL(x, p₀)),   KL(x, p) = x ln(x/p) + (1−x) ln((1−x)/(1−p))

for every x > p₀: no assumption on the feature, the response or the number of rows, and the smaller p₀, the
smaller the variance that the bound allows for. Independent throws of unequal chance, as stratified ones are,
only make it safer.
"""

from __future__ import annotations

import math

__all__ = ["fewest_discordant", "log_odds_of_loss"]


def log_odds_of_loss(risk: float, *, classes: int, rounds: int) -> float:
    """Return how much each exclusion must be worth, so that all together keep to a risk.

    Parameters
    ----------
    risk : float
        The probability allowed that any of the best classes is lost, in (0, 1).
    classes : int
        How many of the best classes are wanted: features with the same ranks order every pair alike, so a
        class is lost or kept whole, and there are no more ways to lose than wanted classes times rounds.
    rounds : int
        How many rounds there are at most.

    Returns
    -------
    float
        L = ln(classes · rounds / risk).

    Examples
    --------
    >>> round(log_odds_of_loss(1e-6, classes=56, rounds=10), 2)
    20.14
    """
    return math.log(classes * rounds / risk)


def fewest_discordant(pairs: int, share: float, log_odds: float) -> int:
    """Find from how many discordant pairs on a feature with at most a given true share may be excluded.

    Parameters
    ----------
    pairs : int
        N.
    share : float
        p₀, the largest true share of a feature that must not be lost, in [0, 1].
    log_odds : float
        L: a feature with a share of p₀ or less is excluded with a probability of at most e^−L.

    Returns
    -------
    int
        Twice the count, from 0 to 2N; 2N + 1 where no count is enough.

    Examples
    --------
    >>> fewest_discordant(64, 0.05, 20.0), fewest_discordant(64, 0.45, 20.0)
    (38, 107)
    """
    low, high = math.ceil(2 * pairs * share), 2 * pairs + 1
    while low < high:  # the divergence grows with the count
        middle = (low + high) // 2
        enough = pairs * _divergence(middle / (2 * pairs), share) >= log_odds
        low, high = (low, middle) if enough else (middle + 1, high)
    return low


def _divergence(x: float, p: float) -> float:
    """Return KL(x, p) for x ≥ p; 0 for x ≤ p."""
    if x <= p:
        return 0.0
    if p <= 0.0:
        return math.inf
    rest = (1.0 - x) * math.log((1.0 - x) / (1.0 - p)) if x < 1.0 else 0.0
    return x * math.log(x / p) + rest
