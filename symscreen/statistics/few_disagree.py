"""An interval of the disagreeing share where it rests on few rows, or on none.

Leaving out rows tells how a sum of many parts varies. Where a feature agrees with the response but for a few
rows, it has seen a few events at most, and none of those that did not happen: with no pair in disagreement it
would say that there can be none. Two things stand in:

- the gamma interval of Fay and Feuer (1997) for a weighted sum of rare events, an estimate s of variance v:
  from below s²/v events, from above one event more, of the weight w of one pair of rows in disagreement with
  all;
- without any, the exact bound. Of n rows ⌊n/2⌋ pairs can be formed that share no row, and none of them is
  seen to disagree with a chance of (1 − p)^⌊n/2⌋: so p ≤ 1 − α^(1/⌊n/2⌋).

The bound is one of how many pairs disagree. Of their share of Gini's mean difference it is one as far as
pairs disagree no more often the farther their responses are apart.
"""

from __future__ import annotations

import math

__all__ = ["rests_on_few", "share_bounds"]

_FEW = 10.0  # events; of more the jackknife tells enough


def rests_on_few(share: float, error: float) -> bool:
    """Say whether a share rests on so few events that a standard error tells little.

    Parameters
    ----------
    share : float
        Of pairs in disagreement, by weight; not negative.
    error : float
        Its standard error.

    Returns
    -------
    bool
        Whether share² / error² is below 10: for N rare events of one weight it is N.

    Examples
    --------
    >>> rests_on_few(0.0, 0.0), rests_on_few(0.3, 0.03)
    (True, False)
    """
    return share == 0.0 or share * share < _FEW * error * error


def share_bounds(share: float, error: float, units: int, level: float, reach: float) -> tuple[float, float]:
    """Bound a share that rests on few events.

    Parameters
    ----------
    share : float
        Of pairs in disagreement, by weight; in [0, 2).
    error : float
        Its standard error.
    units : int
        How many rows, or groups of rows, are independent: at least 2.
    level : float
        Of the interval, in (0, 1).
    reach : float
        So many standard errors are in half of it; above 0.

    Returns
    -------
    tuple of float
        The wider of Fay and Feuer's interval and one on the scale of Fisher's z; in [0, 2].

    Examples
    --------
    >>> low, high = share_bounds(0.0, 0.0, units=200, level=0.95, reach=2.0)
    >>> low, round(high, 4), round(1 - 0.025 ** (1 / 100), 4)
    (0.0, 0.0362, 0.0362)
    >>> [round(end, 4) for end in share_bounds(0.01, 0.01, units=200, level=0.95, reach=2.0)]
    [0.0003, 0.0723]
    """
    from scipy.special import gammaincinv  # not at the top: it would slow every start

    alpha = 0.5 - 0.5 * level  # on either side
    w = 1.0 / (units // 2)
    if share == 0.0:
        return 0.0, -math.expm1(w * math.log(alpha))
    v = error * error
    low = share * float(gammaincinv(share * share / v, alpha)) / (share * share / v)
    more, scale = share + w, (v + w * w) / (share + w)
    high = scale * float(gammaincinv(more / scale, 1.0 - alpha))
    # z = artanh(1 − share) has the derivative −1/(share (2 − share))
    half = min(reach * error / (share * (2.0 - share)), 300.0)
    odds = share / (2.0 - share)
    below, above = odds * math.exp(-2.0 * half), odds * math.exp(2.0 * half)
    return min(low, 2.0 * below / (1.0 + below)), min(2.0, max(high, 2.0 * above / (1.0 + above)))
