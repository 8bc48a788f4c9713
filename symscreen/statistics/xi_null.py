"""The null distribution of ξ: Q = Σ |r_{k+1} − r_k| over random orders of the rows.

Its mean and variance are exact, with ties in y too. Its distribution is

- that of the number of runs, in closed form, where y has two values;
- that of all orders up to 9 rows;
- else that of random orders, plain and tilted, up to 100 rows, and to 3000 where y has ties: Q then jumps,
  and what it jumps over depends on every row;
- beyond, by the saddlepoint from that of 100 rows, or of 3000, with the same shares of ties. It knows of no
  jumps: half of one is missing then, and where y has ties z is taken a whole one, the largest, too small.

ξ of a feature with ties is a mean over ways to break them: it gets an upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.null_table import RESOLUTION, NullTable, table_of_sample
from symscreen.statistics.run_law import run_law
from symscreen.statistics.umbrella import joined, tilted
from symscreen.statistics.xi_parts import table_of_more
from symscreen.statistics.xi_walk import draw, enumerate_all, walker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response
    from symscreen.screeners.base import Sign
    from symscreen.statistics.order import Ordered

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["XiNull", "too_few_beside_one", "xi_null"]

_EXACT = 9  # rows up to which all orders are enumerated
_ROWS, _ROWS_WITH_TIES = 100, 3000  # up to which orders are drawn
_ORDERS, _DRAWN, _DRAWN_WITH_TIES = 1_000_000, 40_000_000, 300_000_000
_MOVES, _MOVES_A_ROW, _FIRST_TILT = 300_000, 2000, 0.8
_LOWEST = -5.0  # of z, which is counted from its lower end
_MOSTLY_ONE = 0.9  # in so few rows beside one value the parts of many rows are unlike each other
_PLAIN, _TILTED = 3, 4  # streams of random numbers


@dataclass(frozen=True, eq=False)
class XiNull:
    """P-values of ξ for one response: `symscreen.statistics.nulls.Null`. ξ has no sign.

    Parameters
    ----------
    table : NullTable
        Of z + 5, with z the standardised ξ of untied features.
    mean, deviation : float
        Of ξ of an untied feature over all orders of the rows; where a statistic that jumps is taken for one
        that does not, the mean is larger by a jump.
    """

    table: NullTable
    mean: float
    deviation: float

    def __call__(self, ordered: Ordered, statistics: NDArray[np.float64], sign: Sign) -> NDArray[np.float64]:
        """Compute the p-values of a block; of features with ties, upper bounds of them."""
        del sign
        z = np.maximum((statistics - self.mean) / self.deviation - _LOWEST, 0.0)
        found = self.table.tail(z)
        if ordered.tied.any():
            found[ordered.tied] = self.table.bound(z[ordered.tied])
        return found


def xi_null(response: Response, seed: int) -> XiNull:
    """Prepare the null distribution of ξ for one response.

    Parameters
    ----------
    response : Response
        n rows.
    seed : int
        Not negative; it plays no part at n ≤ 9, nor where the response has two values.

    Returns
    -------
    XiNull
        With p-values of 1 where `too_few_beside_one`.
    """
    n = response.n
    at_least = response.at_least.astype(np.float64)
    scale = n / (2.0 * float(np.sum(at_least * (n - at_least))))  # ξ = 1 − scale · Q
    mean, variance = moments(response.at_most)
    deviation = math.sqrt(variance) if variance > 0 else 1.0 / scale
    most = _ROWS if response.untied else _ROWS_WITH_TIES
    if len(response.group_sizes) == 2 and variance > 0:
        table = _of_runs(response.group_sizes, mean, deviation)
    elif too_few_beside_one(response):
        table = _no_table()
    elif n <= most:
        table = _table(tuple(response.at_most.tolist()), seed)
    else:
        table, jump = _beyond(response.at_most, most, seed)
        mean -= jump
    return XiNull(table, 1.0 - scale * mean, scale * deviation)


def too_few_beside_one(response: Response) -> bool:
    """Say whether the null distribution is not known well enough, so that p-values are 1.

    Parameters
    ----------
    response : Response
        n rows.

    Returns
    -------
    bool
        True beyond 3000 rows for a response of three values or more with over nine tenths of its rows in one.
    """
    sizes = response.group_sizes
    return bool(response.n > _ROWS_WITH_TIES and len(sizes) > 2 and sizes.max() > _MOSTLY_ONE * response.n)


def moments(r: NDArray[np.int64]) -> tuple[float, float]:
    """Compute mean and variance of Q = Σ |r_{k+1} − r_k| over all orders of the rows.

    Parameters
    ----------
    r : int64 array, shape (n,)
        Ascending.

    Returns
    -------
    mean, variance : float
        Exact but for rounding.

    Examples
    --------
    >>> mean, variance = moments(np.array([1, 2, 3]))
    >>> round(mean, 12), round(variance, 12)
    (2.666666666667, 0.222222222222)
    """
    n = len(r)
    x = (r - r.mean()) / n
    sums = np.cumsum(x)
    k = np.arange(1, n + 1)
    rows = k * x - sums + (sums[-1] - sums) - (n - k) * x  # Σ_j |x_i − x_j|
    once, squares, meeting = float(rows.sum()), 2.0 * n * float((x * x).sum()), float((rows * rows).sum())
    mean = once / n
    total = (n - 1.0) * squares / (n * (n - 1.0))
    if n > 2:  # two steps that share a row
        total += 2.0 * (n - 2.0) * (meeting - squares) / (n * (n - 1.0) * (n - 2.0))
    if n > 3:  # two steps that share none
        apart = once * once - 4.0 * meeting + 2.0 * squares
        total += (n - 2.0) * (n - 3.0) * apart / (n * (n - 1.0) * (n - 2.0) * (n - 3.0))
    return n * mean, n * n * max(total - mean * mean, 0.0)


def _of_runs(sizes: Whole, mean: float, deviation: float) -> NullTable:
    """Return the table of a response of two values."""
    runs, chance = run_law(int(sizes[0]), int(sizes[1]))
    # |r_{k+1} − r_k| is 0, or the rows of the upper value
    steps = float(sizes[1]) * (runs.astype(np.float64) - 1.0)
    return table_of_sample(_z(steps, mean, deviation)[::-1], chance[::-1])


def _z(q: Values, mean: float, deviation: float) -> Values:
    return np.asarray(np.maximum((mean - q) / deviation - _LOWEST, 0.0))


def _beyond(r: Whole, rows: int, seed: int) -> tuple[NullTable, float]:
    """Return the table of more rows than are permuted, and by how much a Q counts as larger than it is."""
    n = len(r)
    places = ((np.arange(rows) + 0.5) * n / rows).astype(np.int64)
    few = np.searchsorted(r[places], r[places], side="right")
    table = table_of_more(_table(tuple(few.tolist()), seed), (n - 1.0) / (rows - 1.0), _LOWEST)
    # without ties every step is 1, as nothing beside a deviation of n^1.5
    step = float(np.diff(r).max())
    return table, step if step > 1.0 else 0.0


@lru_cache(maxsize=8)  # untied responses of as many rows share one
def _table(of_rows: tuple[int, ...], seed: int) -> NullTable:
    r = np.array(of_rows, dtype=np.int64)
    n = len(r)
    mean, variance = moments(r)
    if variance <= 0:
        return _no_table()
    deviation = math.sqrt(variance)
    least = _least(r)
    if n <= _EXACT:
        z = np.sort(_z(enumerate_all(r).astype(np.float64), mean, deviation))
        return table_of_sample(z, np.ones(len(z)), least=least)
    work = _DRAWN if n <= _ROWS else _DRAWN_WITH_TIES
    plain = _z(draw(r, min(_ORDERS, work // n), (seed, _PLAIN)).astype(np.float64), mean, deviation)
    walk, worth = walker(r, mean, deviation, max(_MOVES, _MOVES_A_ROW * n), (seed, _TILTED))
    walks = tilted(lambda tilt: np.maximum(walk(tilt) - _LOWEST, 0.0), first=_FIRST_TILT)
    z, mass = joined(plain, walks, worth, folded=False)
    return table_of_sample(z, mass, slope=walks[-1].tilt, least=least, resolution=RESOLUTION)


def _least(r: Whole) -> float:
    """Return the chance of the least Q: of orders by value, up or down."""
    _, sizes = np.unique(r, return_counts=True)
    logs = math.log(2.0) + sum(math.lgamma(size + 1.0) for size in sizes.tolist()) - math.lgamma(len(r) + 1.0)
    return math.exp(max(logs, -690.0))


def _no_table() -> NullTable:
    """Return the table that gives p-values of 1."""
    return table_of_sample(np.zeros(1), np.ones(1), least=1.0)
