"""The null distribution of |z| as a table: a look-up gives a p-value, another bounds that of a tied feature.

The table's knots are statistics that were drawn or enumerated, placed where the tail has fallen by a quarter
of a percent: every scale of the distribution has its own resolution, however far apart the scales. Between
two knots the tail is that of the lower, which is never too small.

A feature with ties has the mean of its statistic over all ways to break them, so under independence it is a
conditional expectation of that of an untied feature Y. Hence E f(X) ≤ E f(Y) for every convex f, and with
f(x) = (|x| − c)₊ the bound P(|X| ≥ s) ≤ E(|Y| − c)₊ / (s − c) holds for every c < s. Its least value is
P(|Y| ≥ q) where E(|Y| given |Y| ≥ q) = s (Hardy and Littlewood 1930): never below the truth, whatever the
ties, and about e times the untied p-value far out in a normal tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.screeners.base import Sign

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["RESOLUTION", "NullTable", "table_of_sample"]

RESOLUTION = 0.0024  # by which the log of the tail falls from knot to knot: 16,000 knots to 1e-17
# statistics as close as this share of the largest are one: ties of z are broken by rounding alone
_ROUNDING, _ROUNDING_OF_FEW = 2.0**-42, 2.0**-47
_LEAST = 1e-300
_ENOUGH = 256  # drawn statistics beyond the last knot


@dataclass(frozen=True, eq=False)
class NullTable:
    """P(|Z| ≥ z) at knots, read downwards: never less than the table's own tail.

    Parameters
    ----------
    knots : float64 array, shape (k,)
        Ascending from 0, each a little below the statistics that it stands for.
    upper : float64 array, shape (k,)
        P(|Z| ≥ knot), from 1 down, > 0.
    means : float64 array, shape (k,)
        E(|Z| given |Z| ≥ knot), ascending.
    top : float
        The largest statistic seen.
    slope : float
        Beyond it the tail falls as exp(−slope · z).
    least : float
        No p-value is below it; > 0.
    rounding : float
        How far rounding may have moved a statistic.

    Examples
    --------
    >>> table = table_of_sample(np.array([0.0, 1.0, 1.0, 2.5]), np.ones(4))
    >>> table.tail(np.array([-1.0, 0.0, 2.0, 2.5, 7.0])).tolist()
    [0.75, 1.0, 0.75, 0.25, 0.25]
    """

    knots: NDArray[np.float64]
    upper: NDArray[np.float64]
    means: NDArray[np.float64]
    top: float
    slope: float
    least: float
    rounding: float

    def tail(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Look up P(|Z| ≥ |z|).

        Parameters
        ----------
        z : float64 array, shape (m,)
            Standardised statistics.

        Returns
        -------
        float64 array, shape (m,)
            In (0, 1].
        """
        magnitude = np.abs(z) - self.rounding
        knot = np.maximum(np.searchsorted(self.knots, magnitude, side="right") - 1, 0)
        further = self.slope * np.maximum(magnitude - self.top, 0.0)
        return np.asarray(np.maximum(self.upper[knot] * np.exp(-further), self.least))

    def beyond(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound P(|Z| > |z|) from below.

        Parameters
        ----------
        z : float64 array, shape (m,)
            Standardised statistics.

        Returns
        -------
        float64 array, shape (m,)
            In [0, 1]; 0 at the largest statistic.
        """
        following = np.searchsorted(self.knots, np.abs(z) + self.rounding, side="right")
        return np.asarray(np.append(self.upper, 0.0)[following])

    def bound(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound P(|X| ≥ |z|) for every X that is a conditional expectation of Z.

        Parameters
        ----------
        z : float64 array, shape (m,)
            In the units of an untied feature.

        Returns
        -------
        float64 array, shape (m,)
            In (0, 1], at least `tail`.
        """
        magnitude = np.abs(z) - self.rounding
        # the first knot whose tail mean exceeds |z| lies above q: the one before bounds from above
        knot = np.maximum(np.searchsorted(self.means, magnitude, side="right") - 1, 0)
        further = self.slope * np.maximum(magnitude - self.top, 0.0)
        return np.asarray(np.maximum(self.upper[knot] * np.exp(-np.maximum(further - 1.0, 0.0)), self.least))

    def p_values(self, z: NDArray[np.float64], tied: NDArray[np.bool_], sign: Sign) -> NDArray[np.float64]:
        """Compute p-values of a statistic whose distribution is symmetric without ties.

        Parameters
        ----------
        z : float64 array, shape (m,)
            In the units of an untied feature.
        tied : bool array, shape (m,)
            Features with ties, which get upper bounds.
        sign : {"free", "positive"}
            Two-sided, or P(Z ≥ z).

        Returns
        -------
        float64 array, shape (m,)
            In (0, 1].
        """
        both = self.tail(z)
        if tied.any():
            both[tied] = self.bound(z[tied])
        if sign == "free":
            return both
        # P(Z ≥ z) = 1 − P(Z > −z) where z ≤ 0, but for rounding
        other = 1.0 - 0.5 * self.beyond(z)
        above = z > self.rounding
        # for c ≥ 0 the bound of one side is half of that of both; below it says nothing
        silent = tied & (~above | (both >= 1.0))
        return np.where(silent, 1.0, np.where(above, 0.5 * both, other))


def table_of_sample(
    z: NDArray[np.float64],
    mass: NDArray[np.float64],
    *,
    slope: float = 0.0,
    least: float = _LEAST,
    resolution: float = 0.0,
) -> NullTable:
    """Sum the mass of statistics from the far end, and keep it at knots.

    Parameters
    ----------
    z : float64 array, shape (count,)
        |Z|, ascending.
    mass : float64 array, shape (count,)
        Of each; not negative, of any sum > 0.
    slope : float
        How the tail falls beyond the last: as exp(−slope · z).
    least : float
        No tail is below it.
    resolution : float
        By which the log of the tail falls from knot to knot, at least. At 0 every statistic is a knot and the
        table is exact; else the last few statistics, of a sample, are none.

    Returns
    -------
    NullTable
    """
    tail = np.cumsum(mass[::-1])[::-1]
    moment = np.cumsum((mass * z)[::-1])[::-1]
    top = float(z[-1])
    rounding = top * (_ROUNDING if resolution > 0 else _ROUNDING_OF_FEW)
    knots, first = _knots(z, tail, math.exp(-resolution), rounding, _ENOUGH if resolution > 0 else 0)
    least = max(least, _LEAST)
    upper = np.clip(tail[first] / tail[0], least, 1.0)
    means = np.maximum.accumulate(moment[first] / tail[first])
    return NullTable(knots, upper, means, top, slope, least, rounding)


@kernel
def _knots(z: Values, tail: Values, falls: float, rounding: float, spare: int) -> tuple[Values, Whole]:
    """Return knots and the first statistic at or above each."""
    knots = np.empty(z.size + 1)
    first = np.empty(z.size + 1, dtype=np.int64)
    knots[0], first[0] = 0.0, 0
    found = 1
    start = np.int64(0)
    for i in range(z.size):
        # two roundings below, and looked up one below: all that rounding parted from z stays above
        knot = z[i] - 2.0 * rounding
        while z[start] < knot:
            start += 1
        if start > z.size - spare:
            break
        last = tail[first[found - 1]]
        if tail[start] < last and tail[start] <= last * falls:
            knots[found], first[found] = knot, start
            found += 1
    return knots[:found].copy(), first[:found].copy()
