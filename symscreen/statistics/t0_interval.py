"""A standard error and an interval for T0 of a feature, by leaving out one row at a time.

T0 is a U-statistic with the kernel |y_i − y_j| (1 − s_ij), Gini's mean difference Δ one with |y_i − y_j|, and
row i's own part of either is a sum over j that sorting gives for all rows at once::

    T0 without row i = (n(n−1) T0 − 2 Σ_j |y_i − y_j| (1 − s_ij)) / ((n−1)(n−2))

so that the jackknife costs O(n log n). Intervals are taken where the distribution is less skewed: of T0 on
the scale of its logarithm, of the Gini correlation Γ = 1 − T0/Δ (Schechtman and Yitzhaki 1987) on that of
Fisher's z = artanh Γ, both with Student's t of n − 1 degrees.

Of −θ, Γ is −Γ and its interval the mirror image. T0 is 2Δ − T0, and Δ is itself estimated: the interval of a
falling feature's T0 must allow for it, and is wider than the mirror image of that of its negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response

    Values = NDArray[np.float64]

__all__ = ["T0Intervals", "t0_interval"]


@dataclass(frozen=True, eq=False)
class T0Intervals:
    """Standard errors and intervals of a block of features, each an array of shape (m,).

    Parameters
    ----------
    error : float64 array
        The standard error of T0, in the response's unit.
    low, high : float64 array
        The interval of T0, in the response's unit; for falling features it holds the error of Δ, too.
    gamma, gamma_low, gamma_high : float64 array
        Γ = 1 − T0/Δ in [−1, 1], and its interval: of −θ the mirror image.
    """

    error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gamma: NDArray[np.float64]
    gamma_low: NDArray[np.float64]
    gamma_high: NDArray[np.float64]


def t0_interval(values: NDArray[np.float64], response: Response, level: float = 0.95) -> T0Intervals:
    """Compute intervals for T0 and Γ of a few features.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row, in the order of the response's rows; finite.
    response : Response
        n ≥ 4 rows, drawn independently of each other.
    level : float
        The share of intervals that shall hold the truth, in (0, 1). They are of a feature chosen beforehand;
        of one chosen as the best of many they are too hopeful.

    Returns
    -------
    T0Intervals

    Raises
    ------
    OptionError
        If the level is not between 0 and 1, or there are fewer than four rows.

    Examples
    --------
    >>> from symscreen.response import Response
    >>> y = Response(np.arange(20.0))
    >>> found = t0_interval(np.array([np.roll(y.values, 1), y.values]), y)
    >>> bool(0 < found.low[0] < found.high[0]), found.high[1].tolist()
    (True, 0.0)
    """
    from scipy.special import stdtrit  # not at the top: it would slow every start

    if not 0.0 < level < 1.0:
        raise OptionError(
            f"the level of an interval is {level:g}: it is a share between 0 and 1, such as 0.95"
        )
    n = response.n
    if n < 4:
        raise OptionError(f"an interval needs at least 4 rows: the response {response.name!r} has {n}")
    centred, exponent = response.centred
    y = centred[response.group]
    reach = float(stdtrit(n - 1.0, 0.5 + 0.5 * level))
    spread = _signed(y, y)
    rows = [_of_one(_signed(theta, y), spread, reach) for theta in values]
    table = np.array(rows, dtype=np.float64).reshape(-1, 6).T
    in_unit = np.ldexp(table[:3], exponent)
    return T0Intervals(*in_unit, *table[3:])


def _of_one(concordant: Values, spread: Values, reach: float) -> tuple[float, ...]:
    apart = np.maximum(spread - concordant, 0.0)
    delta, delta_without = _without(spread)
    t0, t0_without = _without(apart)
    nothing = 1e-12 * delta  # the accuracy of T0
    if t0 <= nothing:  # every pair agrees: no row tells otherwise
        return 0.0, 0.0, 0.0, 1.0, 1.0, 1.0
    error = _error(t0_without)
    scaled = np.maximum(t0_without, nothing)
    of_log = _error(np.log(scaled)) if (t0_without > nothing).all() else error / t0
    low, high = t0 * math.exp(-reach * of_log), t0 * math.exp(reach * of_log)
    if 2.0 * delta - t0 <= nothing:  # no pair agrees: Γ is at its end, but what T0 is then, 2Δ, is estimated
        return error, low, high, -1.0, -1.0, -1.0
    gamma = 1.0 - t0 / delta
    share = np.clip(t0_without / delta_without, 1e-12, 2.0 - 1e-12)
    of_z = _error(0.5 * np.log((2.0 - share) / share))
    z = math.atanh(gamma)
    return error, low, high, gamma, math.tanh(z - reach * of_z), math.tanh(z + reach * of_z)


def _signed(key: Values, y: Values) -> Values:
    """Return Σ_j (y_i − y_j) sign(key_i − key_j) for each row i."""
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    below = np.searchsorted(ascending, key, side="left")
    at_most = np.searchsorted(ascending, key, side="right")
    sums = np.concatenate(([0.0], np.cumsum(y[order])))
    return np.asarray(y * (below - (len(y) - at_most)) - (sums[below] - (sums[-1] - sums[at_most])))


def _without(parts: Values) -> tuple[float, Values]:
    """Return a U-statistic of pairs, and those without each row."""
    n = float(len(parts))
    total = float(parts.sum())
    return total / (n * (n - 1.0)), (total - 2.0 * parts) / ((n - 1.0) * (n - 2.0))


def _error(without: Values) -> float:
    n = len(without)
    return math.sqrt((n - 1.0) / n * float(((without - without.mean()) ** 2).sum()))
