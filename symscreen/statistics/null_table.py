"""The null distribution of |z| as a table: a look-up gives a p-value, another bounds that of a tied feature.

A feature with ties has the mean of its statistic over all ways to break them, so under independence it is a
conditional expectation of that of an untied feature Y. Hence E f(X) ≤ E f(Y) for every convex f, and with
f(x) = (|x| − c)₊ the bound P(|X| ≥ s) ≤ E(|Y| − c)₊ / (s − c) holds for every c < s. Its least value is
P(|Y| ≥ q) where E(|Y| given |Y| ≥ q) = s (Hardy and Littlewood 1930): never below the truth, whatever the
ties, and about e times the untied p-value far out in a normal tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.once import once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.screeners.base import Sign

    Values = NDArray[np.float64]

__all__ = ["BINS", "NullTable", "table_of_mass"]

BINS = 16384
_ROUNDING = 1e-9  # a statistic this close below a step is on it: ties of z are broken by rounding alone
_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class NullTable:
    """P(|Z| ≥ z) on an even grid, read downwards: never less than the table's own tail.

    Parameters
    ----------
    width : float
        Of a step of the grid, > 0.
    upper : float64 array, shape (bins + 1,)
        P(|Z| ≥ j · width), from 1 down, > 0.
    slope : float
        Beyond the grid the tail falls as exp(−slope · z).

    Examples
    --------
    >>> table = table_of_mass(np.array([0.5, 0.25, 0.25]), 1.0, slope=0.0, least=1e-9, ends=True)
    >>> table.tail(np.array([-1.5, 0.0, 2.5, 7.0])).tolist()
    [0.5, 1.0, 0.25, 0.25]
    """

    width: float
    upper: NDArray[np.float64]
    slope: float

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
        out = np.empty(len(z))
        _look_up(z, self.width, self.upper, self.slope, out)
        return out

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
        magnitude = np.abs(z) * (1.0 - _ROUNDING)
        # the first step whose tail mean exceeds |z| lies above q: the one before bounds from above
        step = np.maximum(np.searchsorted(self.tail_means, magnitude, side="right") - 1, 0)
        far = np.maximum(magnitude - self.tail_means[-1], 0.0)
        return np.asarray(np.maximum(self.upper[step] * np.exp(-self.slope * far), _LEAST))

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
        # P(Z ≥ z) = 1 − P(Z > −z) where z ≤ 0; two steps further out is a lower bound of the latter
        other = 1.0 - 0.5 * self.tail(np.abs(z) + 2.0 * self.width)
        # for c ≥ 0 the bound of one side is half of that of both; below it says nothing
        silent = tied & ((z <= 0) | (both >= 1.0))
        return np.where(silent, 1.0, np.where(z > 0, 0.5 * both, other))

    @once
    def tail_means(self) -> NDArray[np.float64]:
        """E(|Z| given |Z| ≥ j · width), at least; shape (bins + 1,), ascending."""
        mass = -np.diff(self.upper, append=0.0)
        # every |z| stands at the upper end of its step, as the tail beyond the grid stands a little beyond
        at = self.width * np.arange(1, len(mass) + 1)
        if self.slope > 0:
            at[-1] = self.width * (len(mass) - 1) + 1.0 / self.slope
        means = np.cumsum((mass * at)[::-1])[::-1] / self.upper
        return np.asarray(np.maximum.accumulate(means))


def table_of_mass(
    mass: NDArray[np.float64], width: float, *, slope: float, least: float, ends: bool
) -> NullTable:
    """Sum the mass of each step of |z| from the far end.

    Parameters
    ----------
    mass : float64 array, shape (bins,)
        Not negative, of any sum > 0.
    width : float
        Of a step.
    slope : float
        How the tail falls where there is no mass: as exp(−slope · z).
    least : float
        No tail is below it.
    ends : bool
        Whether the grid reaches the largest |z| there is.

    Returns
    -------
    NullTable
    """
    upper = np.cumsum(mass[::-1])[::-1] / mass.sum()
    last = int(np.flatnonzero(upper > 0)[-1])
    upper = np.append(upper, 0.0)
    beyond = np.arange(1, len(upper) - last)
    upper[last + 1 :] = upper[last] * np.exp(-slope * width * beyond)
    upper = np.minimum(np.maximum(upper, max(least, _LEAST)), 1.0)
    return NullTable(width, upper, 0.0 if ends or upper[-1] <= least else slope)


@kernel
def _look_up(z: Values, width: float, upper: Values, slope: float, out: Values) -> None:
    last = upper.size - 1
    for f in range(z.size):
        magnitude = abs(z[f]) * (1.0 - _ROUNDING)
        place = magnitude / width
        if place < last:
            out[f] = upper[int(place)]
        else:
            out[f] = max(upper[last] * np.exp(-slope * (magnitude - last * width)), _LEAST)
