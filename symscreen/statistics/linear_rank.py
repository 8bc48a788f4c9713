"""The linear rank statistic Z = Σ_i a_i π_i over random permutations π: its rows, and draws from it.

Rows are put in order of |a_i − median|: ranks have a constant sum, so any centre serves, and this one keeps
the digits of the many where a few are gross. The k heaviest carry ranks of their own; given these, the sum
over the other m = n − k is drawn from a normal law with its exact mean and variance and with the fourth
cumulant of a permutation sum, which serves once no single row matters in it. With k = n nothing is
approximated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.chance import below, normal, started, uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Rows = NDArray[np.int32]
    State = NDArray[np.uint64]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["LinearRank", "draw", "enumerate_all", "linear_rank", "walker"]

_FEWEST = 8  # heavy rows
_ALIKE = 5  # moves a heavy row until a walk has forgotten where it was
_HEAVY_TRIED = 8  # half of the moves are of one of so many of the heaviest rows


@dataclass(frozen=True, eq=False)
class LinearRank:
    """Scores of a linear rank statistic, standardised: Z has mean 0 and variance 1.

    Parameters
    ----------
    heavy : float64 array, shape (k,)
        a_i − ā of the heaviest rows, the farthest from the median first; ā is the mean of a over the others,
        or the median where there are none.
    n : int
        Rows.
    squares : float
        Σ (a_i − ā)² over the other rows.
    excess : float
        The excess kurtosis of the sum over the others.
    """

    heavy: NDArray[np.float64]
    n: int
    squares: float
    excess: float


def linear_rank(scores: NDArray[np.float64], *, light: float, most: int) -> LinearRank:
    """Standardise scores, and part the heavy rows from the light.

    Parameters
    ----------
    scores : float64 array, shape (n,)
        Not constant.
    light : float
        The others are light once none has more than this share of their sum of squares; at 0 every row is
        heavy.
    most : int
        Heavy rows, at most; n of them where n is no more.

    Returns
    -------
    LinearRank
    """
    n = len(scores)
    a = scores - np.median(scores)
    centred = a - a.mean()
    a /= math.sqrt(float((centred * centred).sum()) * n * (n + 1.0) / 12.0)
    a = a[np.argsort(-np.abs(a), kind="stable")]
    left = np.arange(n, 0, -1)
    means, squares = (np.cumsum(part[::-1])[::-1] for part in (a, a * a))
    means /= left
    enough = np.flatnonzero((a - means) ** 2 <= light * (squares - left * means * means))
    k = min(max(int(enough[0]) if len(enough) else n, _FEWEST), most)
    k = n if n - k < 3 or (n <= most and light == 0) else k
    if k == n:
        return LinearRank(a, n, 0.0, 0.0)
    rest = a[k:]
    mean = float(rest.mean())
    centred = rest - mean
    m = n - k
    square = float((centred * centred).sum())
    own = m * float((centred**4).sum()) / square**2 - 3.0 if square > 0 else 0.0
    # of Σ a_i π_i to the first order in 1/m, with −6/5 the excess of even ranks (Pitman 1937)
    excess = (-1.2 * own - 6.0) / m
    return LinearRank(a[:k] - mean, n, square, excess)


def draw(law: LinearRank, count: int, key: tuple[int, ...]) -> NDArray[np.float64]:
    """Return |Z| of random permutations.

    Parameters
    ----------
    law : LinearRank
        Whose heavy rows are permuted.
    count : int
        Permutations.
    key : tuple of int
        The seed.

    Returns
    -------
    float64 array, shape (count,)
        In no order.
    """
    from scipy.special import ndtri  # not at the top: it would slow every start

    found = np.empty(count)
    # the rests are the normal law's own quantiles, in an order that has nothing to do with the permutations
    rest = ndtri((np.arange(count) + 0.5) / count) if law.squares > 0 else np.empty(0)
    rest += law.excess * (rest**3 - 3.0 * rest) / 24.0
    _draw(law.heavy, law.n, law.squares, rest, started(*key), found)
    return found


def enumerate_all(law: LinearRank) -> NDArray[np.float64]:
    """Return |Z| of all n! permutations, sorted; n ≤ 9."""
    z = np.empty(math.factorial(law.n))
    _enumerate(law.heavy, z)
    return np.sort(np.abs(z))


def walker(law: LinearRank, moves: int, key: tuple[int, ...]) -> tuple[Callable[[float], Values], float]:
    """Prepare walks among permutations under tilts, for `symscreen.statistics.umbrella.tilted`.

    Parameters
    ----------
    law : LinearRank
        Of the statistic.
    moves : int
        Of each walk.
    key : tuple of int
        The seed.

    Returns
    -------
    walk : callable
        A tilt to the Z noted on the way.
    worth : float
        How many independent Z a noted one is worth.
    """
    state = started(*key)
    k = len(law.heavy)
    ranks = np.linspace(1, law.n, k).astype(np.int32)
    ranks = ranks[np.argsort(np.argsort(law.heavy, kind="stable"), kind="stable")]
    owner = np.full(law.n + 1, -1, dtype=np.int32)
    owner[ranks] = np.arange(k, dtype=np.int32)
    every = max(k // 4, _FEWEST)

    def walk(tilt: float) -> Values:
        z = np.empty(moves // every)
        _climb(law.heavy, law.n, law.squares, law.excess, tilt, moves, every, ranks, owner, state, z)
        return z

    return walk, min(every / (_ALIKE * k), 1.0)


@kernel
def _spread(n: int, k: int, sum_1: float, sum_2: float) -> float:
    """Return Σ (r − r̄)² over the ranks that are left, divided by m − 1; sums are of r − (n + 1)/2."""
    m = float(n - k)
    all_2 = n * (float(n) * n - 1.0) / 12.0
    return max(all_2 - sum_2 - sum_1 * sum_1 / m, 0.0) / (m - 1.0)


@kernel
def _draw(heavy: Values, n: int, squares: float, rest: Values, state: State, found: Values) -> None:
    k = heavy.size
    ranks = np.arange(1, n + 1).astype(np.int32)
    middle = (n + 1) / 2.0
    count = found.size
    stride = np.int64(count * 0.6180339887498949) | 1
    while _gcd(stride, count) != 1:
        stride += 2
    place = np.int64(0)
    for note in range(count):
        z = sum_1 = sum_2 = 0.0
        for i in range(k):
            j = i + below(state, n - i)
            rank = ranks[j]
            ranks[j] = ranks[i]
            ranks[i] = rank
            centred = rank - middle
            z += heavy[i] * centred
            sum_1 += centred
            sum_2 += centred * centred
        if squares > 0.0:
            z += rest[place] * math.sqrt(squares * _spread(n, k, sum_1, sum_2))
            place = (place + stride) % count
        found[note] = abs(z)


@kernel
def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


@kernel
def _enumerate(a: Values, z: Values) -> None:
    """Sum over all permutations, by the algorithm of Heap (1963)."""
    n = a.size
    ranks = np.arange(n) - (n - 1) / 2.0
    counters = np.zeros(n, dtype=np.int64)
    z[0] = _sum(a, ranks)
    found = 1
    i = 0
    while i < n:
        if counters[i] < i:
            j = 0 if i % 2 == 0 else counters[i]
            ranks[i], ranks[j] = ranks[j], ranks[i]
            z[found] = _sum(a, ranks)
            found += 1
            counters[i] += 1
            i = 0
        else:
            counters[i] = 0
            i += 1


@kernel
def _sum(a: Values, ranks: Values) -> float:
    total = 0.0
    for i in range(a.size):
        total += a[i] * ranks[i]
    return total


@kernel
def _climb(
    heavy: Values,
    n: int,
    squares: float,
    excess: float,
    tilt: float,
    moves: int,
    every: int,
    ranks: Rows,
    owner: Rows,
    state: State,
    out: Values,
) -> None:
    """Walk among permutations whose chance is in proportion to exp(tilt · Z), and note Z ever so often.

    A move takes a row to a rank at a distance of any magnitude; whoever has that rank takes the row's. It is
    accepted by the rule of Metropolis et al. (1953). `ranks`, shape (k,), and `owner`, shape (n + 1,), −1
    where a light row stands, are left as the walk ends; `out` has room for moves // every.
    """
    k = heavy.size
    middle = (n + 1) / 2.0
    z = sum_1 = sum_2 = 0.0
    for i in range(k):
        centred = ranks[i] - middle
        z += heavy[i] * centred
        sum_1 += centred
        sum_2 += centred * centred
    light = k < n
    variance = squares * _spread(n, k, sum_1, sum_2) if light else 0.0
    first = min(k, _HEAVY_TRIED)
    magnitudes = 1
    while 1 << magnitudes < n:
        magnitudes += 1
    noted = 0
    for move in range(moves):
        i = below(state, 2 * k)
        i = i - k if i >= k else i % first
        reach = 1 + below(state, 1 << min(below(state, 2 * magnitudes), magnitudes))
        old = np.int64(ranks[i])
        new = old + reach if below(state, 2) else old - reach
        if 1 <= new <= n:
            j = owner[new]
            step = float(new - old)
            change = heavy[i] * step
            next_1, next_2, next_variance = sum_1, sum_2, variance
            if j >= 0:
                change -= heavy[j] * step
            elif light:
                next_1 += step
                next_2 += (new - middle) ** 2 - (old - middle) ** 2
                next_variance = squares * _spread(n, k, next_1, next_2)
            gain = tilt * change + 0.5 * tilt * tilt * (next_variance - variance)
            if gain >= 0.0 or uniform(state) < math.exp(gain):
                ranks[i], owner[new], owner[old] = new, i, j
                if j >= 0:
                    ranks[j] = old
                z += change
                sum_1, sum_2, variance = next_1, next_2, next_variance
        if (move + 1) % every == 0:
            rest = 0.0
            if light:
                fourth = excess * variance * variance
                rest = tilt * variance + fourth * tilt**3 / 6.0
                rest += math.sqrt(max(variance + 0.5 * fourth * tilt * tilt, 0.0)) * normal(state)
            out[noted] = z + rest
            noted += 1
