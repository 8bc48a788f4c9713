"""Pairs of rows drawn so that T0 is a share: how often a feature orders them against the response.

T0 is a mean over pairs of rows of |y_i − y_j|·(1 − s), with s = sign(θ_i − θ_j)·sign(y_i − y_j) (Luo and Li
2024, eq. 18). Draw a pair with a probability in proportion to |y_i − y_j|, and the weight is gone::

    T0(θ) = Δ · E[1 − s] = 2Δ · p,    p = P(θ orders the pair against y) + P(θ ties the pair)/2

So N pairs tell of T0 what N throws tell of a coin: no sorting, and no response is so skewed that a few rows
decide. The rows of the first of each pair are stratified over y, which only makes the share more certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response

    Values = NDArray[np.float64]
    Counts = NDArray[np.int64]

__all__ = ["UNDEFINED", "Pairs", "discordant", "doubled_discordance", "draw_pairs"]

UNDEFINED = -1


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of rows.

    Parameters
    ----------
    low, high : int64 arrays, shape (N,)
        Row numbers; the response is smaller in `low`.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.low)

    @property
    def rows(self) -> NDArray[np.int64]:
        """All rows, those of `low` before those of `high`; shape (2N,)."""
        return np.concatenate((self.low, self.high))

    def between(self, start: int, stop: int) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.low[start:stop], self.high[start:stop])


def draw_pairs(response: Response, count: int, rng: np.random.Generator) -> Pairs:
    """Draw pairs of rows, each with a probability in proportion to |y_i − y_j|.

    Parameters
    ----------
    response : Response
        The response, n rows.
    count : int
        N, how many; they are independent.
    rng : numpy.random.Generator
        What draws.

    Returns
    -------
    Pairs
        The k-th has its first row in the k-th of N equal parts of the rows' weights Σ_j |y_i − y_j|, in the
        order of y; over all N together each pair of rows has its due share. Rows that tie never pair.

    Examples
    --------
    >>> from symscreen.response import Response
    >>> pairs = draw_pairs(Response(np.array([0.0, 0.0, 1.0])), 4, np.random.default_rng(0))
    >>> pairs.high.tolist(), set(pairs.low.tolist()) <= {0, 1}
    ([2, 2, 2, 2], True)
    """
    n = response.n
    centred, _ = response.centred
    y, group, sizes = centred[response.group], response.group, response.group_sizes
    below = np.cumsum(sizes)[group] - sizes[group]  # how many rows have a smaller response
    above = below + sizes[group]  # the first row with a larger one
    sums = np.concatenate(([0.0], np.cumsum(y)))
    lower = np.where(group > 0, below * y - sums[below], 0.0)  # Σ y_i − y_j over smaller y_j
    upper = np.where(above < n, sums[n] - sums[np.minimum(above, n)] - (n - above) * y, 0.0)
    weights = np.cumsum(lower + upper)
    place = (np.arange(count) + rng.random(count)) / count * weights[-1]
    first = np.minimum(np.searchsorted(weights, place, side="right"), n - 1)
    rest = rng.random(count) * (lower[first] + upper[first])
    down = (rest < lower[first]) & (group[first] > 0) | (above[first] == n)
    rest = np.where(down, rest, rest - lower[first])
    # of Σ_{j<t} |y_i − y_j|, which grows with t, the place where it passes what was drawn
    start, stop = np.where(down, 0, above[first]), np.where(down, below[first], n)
    left, right = start.copy(), stop - 1
    while (left < right).any():
        middle = (left + right) // 2
        size = np.abs((middle + 1 - start) * y[first] - (sums[middle + 1] - sums[start]))
        beyond = size > rest
        left, right = np.where(beyond, left, np.minimum(middle + 1, right)), np.where(beyond, middle, right)
    return Pairs(np.where(down, left, first), np.where(down, first, left))


def doubled_discordance(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the pairs that each feature orders against the response, ties half.

    Parameters
    ----------
    values : float64 array, shape (m, 2N)
        Features at the rows of N pairs, `Pairs.rows`.

    Returns
    -------
    int64 array, shape (m,)
        Twice the count, from 0 to 2N; `UNDEFINED` where a value is not finite. Over 2N it is an unbiased
        estimate of T0 / (2Δ).

    Examples
    --------
    >>> doubled_discordance(np.array([[1.0, 2.0, 3.0, 3.0, 1.0, 3.0]])).tolist()
    [3]
    """
    out = np.empty(len(values), dtype=np.int64)
    _count(values, out)
    return out


@kernel
def _count(values: Values, out: Counts) -> None:
    for f in range(len(values)):
        out[f] = discordant(values[f])


@kernel
def discordant(z: Values) -> np.int64:
    """Count for one feature; whole numbers only, so that several pairs are compared in one instruction."""
    pairs = z.size // 2
    doubled = np.int64(0)
    undefined = np.int64(0)
    for k in range(pairs):
        low, high = z[k], z[pairs + k]
        doubled += np.int64(low > high) + np.int64(low >= high)
        undefined |= np.int64(low - low != 0.0) | np.int64(high - high != 0.0)
    return np.int64(UNDEFINED) if undefined else doubled
