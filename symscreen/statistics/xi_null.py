"""The null distribution of ξ: Q = Σ |r_{k+1} − r_k| over random orders of the rows.

Its mean and variance are exact, with ties in y too. Up to 100 rows its distribution is that of random orders,
plain and tilted. Beyond, those of 100 rows with the same shares of ties give the cumulant function K, which
for n rows is that of n/100 independent parts, and the tail follows by the saddlepoint (Lugannani and Rice
1980). ξ of a feature with ties is a mean over ways to break them: it gets an upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.chance import below, started, uniform
from symscreen.statistics.null_table import RESOLUTION, NullTable, table_of_sample
from symscreen.statistics.umbrella import joined, tilted

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen.response import Response
    from symscreen.screeners.base import Sign
    from symscreen.statistics.order import Ordered

    State = NDArray[np.uint64]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["XiNull", "xi_null"]

_ROWS = 100  # whose orders are drawn
_DRAWN, _MOVES, _FIRST_TILT = 40_000_000, 300_000, 0.8
_LOWEST, _FARTHEST, _STEPS = -5.0, 9.0, 16384  # of z, which is counted from its lower end
_ALIKE = 4  # moves a row until a walk has forgotten where it was
_EVERY = 25
_MOSTLY_ONE = 0.9  # a response with so large a share in one value has a Q of few values, and p-values of 1
_PLAIN, _TILTED = 3, 4  # streams of random numbers
_TILTS = 400


@dataclass(frozen=True, eq=False)
class XiNull:
    """P-values of ξ for one response: `symscreen.statistics.nulls.Null`. ξ has no sign.

    Parameters
    ----------
    table : NullTable
        Of z + 5, with z the standardised ξ of untied features.
    mean, deviation : float
        Of ξ of an untied feature over all orders of the rows; beyond 100 rows the mean is less half a step of
        Q, for a statistic that jumps.
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
        Not negative.

    Returns
    -------
    XiNull
    """
    n = response.n
    r = response.at_most
    at_least = response.at_least.astype(np.float64)
    scale = n / (2.0 * float(np.sum(at_least * (n - at_least))))  # ξ = 1 − scale · Q
    mean, variance = moments(r)
    deviation = math.sqrt(variance) if variance > 0 else 1.0 / scale
    if n > _ROWS and response.group_sizes.max() > _MOSTLY_ONE * n:
        table = _no_table()
    elif n <= _ROWS:
        table = _table(tuple(r.tolist()), seed)
    else:
        places = ((np.arange(_ROWS) + 0.5) * n / _ROWS).astype(np.int64)
        few = np.searchsorted(r[places], r[places], side="right")
        # Q jumps from level to level of r, and the saddlepoint knows of no jumps: half of one to be safe
        mean += 0.5 * float(r[-1] - r[0]) / (len(response.group_sizes) - 1)
        table = _of_more(_table(tuple(few.tolist()), seed), (n - 1.0) / (_ROWS - 1.0))
    return XiNull(table, 1.0 - scale * mean, scale * deviation)


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


@lru_cache(maxsize=8)  # untied responses of as many rows share one
def _table(of_rows: tuple[int, ...], seed: int) -> NullTable:
    r = np.array(of_rows, dtype=np.int64)
    n = len(r)
    mean, variance = moments(r)
    if variance <= 0:
        return _no_table()
    deviation = math.sqrt(variance)
    plain = np.empty(min(1_000_000, _DRAWN // n))
    _draw(r.copy(), mean, deviation, started(seed, _PLAIN), plain)
    walks = tilted(_walker(r.copy(), mean, deviation, seed), first=_FIRST_TILT)
    z, mass = joined(plain, walks, min(_EVERY / (_ALIKE * n), 1.0), folded=False)
    least = math.exp(-math.lgamma(n + 1.0))
    return table_of_sample(z, mass, slope=walks[-1].tilt, least=least, resolution=RESOLUTION)


def _no_table() -> NullTable:
    """Return the table that gives p-values of 1."""
    return table_of_sample(np.zeros(1), np.ones(1), least=1.0)


def _walker(r: Whole, mean: float, deviation: float, seed: int) -> Callable[[float], Values]:
    state = started(seed, _TILTED)

    def walk(tilt: float) -> Values:
        z = np.empty(_MOVES // _EVERY)
        _climb(r, tilt, mean, deviation, _EVERY, state, z)
        return np.asarray(np.maximum(z - _LOWEST, 0.0))

    return walk


def _of_more(table: NullTable, times: float) -> NullTable:
    """Return the table of the sum of so many independent parts, each as one table has it."""
    from scipy.special import log_ndtr  # not at the top: it would slow every start

    mass = -np.diff(table.upper, append=0.0)
    # of the statistics between a knot and the next
    z = -np.diff(table.upper * table.means, append=0.0) / np.maximum(mass, 1e-300) + _LOWEST
    z -= float((mass * z).sum())
    mass, z = mass[mass > 0], z[mass > 0] / math.sqrt(float((mass * z * z).sum()))
    tilts = np.linspace(-6.0, 11.0, _TILTS) / math.sqrt(times)  # of one part
    tilts = tilts[tilts != 0]
    cumulants, means, spreads = (np.empty(len(tilts)) for _ in range(3))
    for j, tilt in enumerate(tilts):
        weights = mass * np.exp(tilt * z)
        total = float(weights.sum())
        means[j] = float((weights * z).sum()) / total
        spreads[j] = float((weights * (z - means[j]) ** 2).sum()) / total
        cumulants[j] = math.log(total)
    # K_n(t) = times · K(t / √times)
    w = np.sign(tilts) * np.sqrt(2.0 * times * np.maximum(tilts * means - cumulants, 0.0))
    u = tilts * np.sqrt(times * spreads)
    logs = log_ndtr(-(w + np.log(u / w) / w))  # of the form of Barndorff-Nielsen 1986, never negative
    at = means * math.sqrt(times)
    grid = np.linspace(0.0, _FARTHEST - _LOWEST, _STEPS + 1)
    far = (logs[-1] - logs[-2]) / (at[-1] - at[-2])
    upper = np.interp(grid + _LOWEST, at, logs)
    upper = np.where(grid + _LOWEST > at[-1], logs[-1] + far * (grid + _LOWEST - at[-1]), upper)
    upper = np.minimum.accumulate(np.exp(np.where(grid + _LOWEST < at[0], 0.0, upper)))
    # what lies between two knots stands at the upper one, and beyond the last a little further
    sums = np.cumsum((-np.diff(upper, append=0.0) * np.append(grid[1:], grid[-1] - 1.0 / far))[::-1])[::-1]
    return NullTable(
        grid, upper, np.maximum.accumulate(sums / upper), float(grid[-1]), -float(far), 1e-300, 0.0
    )


@kernel
def _draw(r: Whole, mean: float, deviation: float, state: State, found: Values) -> None:
    n = r.size
    for note in range(found.size):
        before = np.int64(0)
        total = np.int64(0)
        for k in range(n):
            j = k + below(state, n - k)
            value = r[j]
            r[j] = r[k]
            r[k] = value
            if k > 0:
                total += abs(value - before)
            before = value
        found[note] = max((mean - total) / deviation - _LOWEST, 0.0)


@kernel
def _around(r: Whole, k: int) -> np.int64:
    """Return the steps that touch a place."""
    total = np.int64(0)
    if k > 0:
        total += abs(r[k] - r[k - 1])
    if k < r.size - 1:
        total += abs(r[k + 1] - r[k])
    return total


@kernel
def _climb(
    r: Whole, tilt: float, mean: float, deviation: float, every: int, state: State, out: Values
) -> None:
    """Walk among orders whose chance is in proportion to exp(tilt · z), by swaps of two places."""
    n = r.size
    total = np.int64(0)
    for k in range(n - 1):
        total += abs(r[k + 1] - r[k])
    strength = tilt / deviation
    for note in range(out.size):
        for _ in range(every):
            i, j = below(state, n), below(state, n)
            # a step between the two places is the same before and after, so that counting it twice cancels
            before = _around(r, i) + _around(r, j)
            r[i], r[j] = r[j], r[i]
            gain = before - _around(r, i) - _around(r, j)
            if gain >= 0 or uniform(state) < math.exp(strength * gain):
                total -= gain
            else:
                r[i], r[j] = r[j], r[i]
        out[note] = (mean - total) / deviation
