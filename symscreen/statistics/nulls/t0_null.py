"""The linear rank statistic Z = Σ_i a_i π_i over random permutations π: its rows, and draws from it.

Rows are put in order of |a_i − median|: ranks have a constant sum, so any centre serves, and this one keeps
the digits of the many where a few are gross. The k heaviest carry ranks of their own; given these, the sum
over the other m = n − k is drawn from a normal law with its exact mean and variance and with the fourth
cumulant of a permutation sum, which serves once no single row matters in it. With k = n nothing is
approximated.

The null distribution of T0: one table for all features of a response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics._rng import draw_integer, draw_normal, draw_uniform, seed_stream
from symscreen.statistics.nulls.null_table import (
    LOG_TAIL_RESOLUTION,
    build_null_table,
    combine_samples,
    draw_tilted_samples,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Rows, Values
    from symscreen.screeners.base import Sign
    from symscreen.statistics.nulls.null_table import NullTable
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import NumericTarget

    RngState = NDArray[np.uint64]

__all__ = [
    "LinearRankStatistic",
    "T0Null",
    "build_linear_rank_table",
    "build_t0_null",
    "draw_abs_statistics",
    "enumerate_abs_statistics",
    "make_permutation_sampler",
    "standardize_scores",
]

_MIN_HEAVY_ROWS = 8  # heavy rows
_MIXING_MOVES_PER_ROW = 5  # moves a heavy row until a walk has forgotten where it was
_N_FAVORED_ROWS = 8  # half of the moves are of one of so many of the heaviest rows


@dataclass(frozen=True, eq=False)
class LinearRankStatistic:
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

    heavy_scores: NDArray[np.float64]
    n: int
    light_sum_squares: float
    light_excess_kurtosis: float


def standardize_scores(
    scores: NDArray[np.float64], *, max_light_share: float, max_heavy: int
) -> LinearRankStatistic:
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
    enough = np.flatnonzero((a - means) ** 2 <= max_light_share * (squares - left * means * means))
    k = min(max(int(enough[0]) if len(enough) else n, _MIN_HEAVY_ROWS), max_heavy)
    k = n if n - k < 3 or (n <= max_heavy and max_light_share == 0) else k
    if k == n:
        return LinearRankStatistic(a, n, 0.0, 0.0)
    rest = a[k:]
    mean = float(rest.mean())
    centred = rest - mean
    m = n - k
    square = float((centred * centred).sum())
    own = m * float((centred**4).sum()) / square**2 - 3.0 if square > 0 else 0.0
    # of Σ a_i π_i to the first order in 1/m, with −6/5 the excess of even ranks (Pitman 1937)
    excess = (-1.2 * own - 6.0) / m
    return LinearRankStatistic(a[:k] - mean, n, square, excess)


def draw_abs_statistics(
    statistic: LinearRankStatistic, n_draws: int, seed_key: tuple[int, ...]
) -> NDArray[np.float64]:
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

    found = np.empty(n_draws)
    # the rests are the normal law's own quantiles, in an order that has nothing to do with the permutations
    rest = ndtri((np.arange(n_draws) + 0.5) / n_draws) if statistic.light_sum_squares > 0 else np.empty(0)
    rest += statistic.light_excess_kurtosis * (rest**3 - 3.0 * rest) / 24.0
    _fill_abs_draws(
        statistic.heavy_scores, statistic.n, statistic.light_sum_squares, rest, seed_stream(*seed_key), found
    )
    return found


def enumerate_abs_statistics(statistic: LinearRankStatistic) -> NDArray[np.float64]:
    """Return |Z| of all n! permutations, sorted; n ≤ 9."""
    z = np.empty(math.factorial(statistic.n))
    _fill_permutation_sums(statistic.heavy_scores, z)
    return np.sort(np.abs(z))


def make_permutation_sampler(
    statistic: LinearRankStatistic, n_moves: int, seed_key: tuple[int, ...]
) -> tuple[Callable[[float], Values], float]:
    """Prepare walks among permutations under tilts, for `symscreen.statistics.nulls.null_table.draw_tilted_samples`.

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
    state = seed_stream(*seed_key)
    k = len(statistic.heavy_scores)
    ranks = np.linspace(1, statistic.n, k).astype(np.int32)
    ranks = ranks[np.argsort(np.argsort(statistic.heavy_scores, kind="stable"), kind="stable")]
    owner = np.full(statistic.n + 1, -1, dtype=np.int32)
    owner[ranks] = np.arange(k, dtype=np.int32)
    every = max(k // 4, _MIN_HEAVY_ROWS)

    def sample_tilted(tilt: float) -> Values:
        z = np.empty(n_moves // every)
        _run_metropolis(
            statistic.heavy_scores,
            statistic.n,
            statistic.light_sum_squares,
            statistic.light_excess_kurtosis,
            tilt,
            n_moves,
            every,
            ranks,
            owner,
            state,
            z,
        )
        return z

    return sample_tilted, min(every / (_MIXING_MOVES_PER_ROW * k), 1.0)


@compile_kernel
def _compute_rank_variance(n: int, k: int, rank_sum: float, rank_sum_squares: float) -> float:
    """Return Σ (r − r̄)² over the ranks that are left, divided by m − 1; sums are of r − (n + 1)/2."""
    m = float(n - k)
    all_2 = n * (float(n) * n - 1.0) / 12.0
    return max(all_2 - rank_sum_squares - rank_sum * rank_sum / m, 0.0) / (m - 1.0)


@compile_kernel
def _fill_abs_draws(
    heavy_scores: Values,
    n: int,
    light_sum_squares: float,
    light_quantiles: Values,
    state: RngState,
    out: Values,
) -> None:
    k = heavy_scores.size
    ranks = np.arange(1, n + 1).astype(np.int32)
    middle = (n + 1) / 2.0
    count = out.size
    stride = np.int64(count * 0.6180339887498949) | 1
    while _compute_gcd(stride, count) != 1:
        stride += 2
    place = np.int64(0)
    for note in range(count):
        z = sum_1 = sum_2 = 0.0
        for i in range(k):
            j = i + draw_integer(state, n - i)
            rank = ranks[j]
            ranks[j] = ranks[i]
            ranks[i] = rank
            centred = rank - middle
            z += heavy_scores[i] * centred
            sum_1 += centred
            sum_2 += centred * centred
        if light_sum_squares > 0.0:
            z += light_quantiles[place] * math.sqrt(
                light_sum_squares * _compute_rank_variance(n, k, sum_1, sum_2)
            )
            place = (place + stride) % count
        out[note] = abs(z)


@compile_kernel
def _compute_gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


@compile_kernel
def _fill_permutation_sums(scores: Values, out: Values) -> None:
    """Sum over all permutations, by the algorithm of Heap (1963)."""
    n = scores.size
    ranks = np.arange(n) - (n - 1) / 2.0
    counters = np.zeros(n, dtype=np.int64)
    out[0] = _sum_products(scores, ranks)
    found = 1
    i = 0
    while i < n:
        if counters[i] < i:
            j = 0 if i % 2 == 0 else counters[i]
            ranks[i], ranks[j] = ranks[j], ranks[i]
            out[found] = _sum_products(scores, ranks)
            found += 1
            counters[i] += 1
            i = 0
        else:
            counters[i] = 0
            i += 1


@compile_kernel
def _sum_products(scores: Values, ranks: Values) -> float:
    total = 0.0
    for i in range(scores.size):
        total += scores[i] * ranks[i]
    return total


@compile_kernel
def _run_metropolis(
    heavy_scores: Values,
    n: int,
    light_sum_squares: float,
    light_excess_kurtosis: float,
    tilt: float,
    n_moves: int,
    thinning: int,
    ranks: Rows,
    rank_owners: Rows,
    state: RngState,
    out: Values,
) -> None:
    """Walk among permutations whose chance is in proportion to exp(tilt · Z), and note Z ever so often.

    A move takes a row to a rank at a distance of any magnitude; whoever has that rank takes the row's. It is
    accepted by the rule of Metropolis et al. (1953). `ranks`, shape (k,), and `owner`, shape (n + 1,), −1
    where a light row stands, are left as the walk ends; `out` has room for moves // every.
    """
    k = heavy_scores.size
    middle = (n + 1) / 2.0
    z = sum_1 = sum_2 = 0.0
    for i in range(k):
        centred = ranks[i] - middle
        z += heavy_scores[i] * centred
        sum_1 += centred
        sum_2 += centred * centred
    light = k < n
    variance = light_sum_squares * _compute_rank_variance(n, k, sum_1, sum_2) if light else 0.0
    first = min(k, _N_FAVORED_ROWS)
    magnitudes = 1
    while 1 << magnitudes < n:
        magnitudes += 1
    noted = 0
    for move in range(n_moves):
        i = draw_integer(state, 2 * k)
        i = i - k if i >= k else i % first
        reach = 1 + draw_integer(state, 1 << min(draw_integer(state, 2 * magnitudes), magnitudes))
        old = np.int64(ranks[i])
        new = old + reach if draw_integer(state, 2) else old - reach
        if 1 <= new <= n:
            j = rank_owners[new]
            step = float(new - old)
            change = heavy_scores[i] * step
            next_1, next_2, next_variance = sum_1, sum_2, variance
            if j >= 0:
                change -= heavy_scores[j] * step
            elif light:
                next_1 += step
                next_2 += (new - middle) ** 2 - (old - middle) ** 2
                next_variance = light_sum_squares * _compute_rank_variance(n, k, next_1, next_2)
            gain = tilt * change + 0.5 * tilt * tilt * (next_variance - variance)
            if gain >= 0.0 or draw_uniform(state) < math.exp(gain):
                ranks[i], rank_owners[new], rank_owners[old] = new, i, j
                if j >= 0:
                    ranks[j] = old
                z += change
                sum_1, sum_2, variance = next_1, next_2, next_variance
        if (move + 1) % thinning == 0:
            rest = 0.0
            if light:
                fourth = light_excess_kurtosis * variance * variance
                rest = tilt * variance + fourth * tilt**3 / 6.0
                rest += math.sqrt(max(variance + 0.5 * fourth * tilt * tilt, 0.0)) * draw_normal(state)
            out[noted] = z + rest
            noted += 1


_MAX_ENUMERATED_ROWS = 9  # rows up to which all permutations are enumerated
_MAX_DRAWN_ROWS = 64  # rows up to which whole permutations are drawn
_MAX_WALKED_ROWS = 300  # rows up to which whole permutations are walked
_N_PERMUTATIONS = 1_000_000
_N_MOVES, _FIRST_TILT = 400_000, 0.8
_PLAIN_STREAM, _TILTED_STREAM = 1, 2  # streams of random numbers


@dataclass(frozen=True, eq=False)
class T0Null:
    """P-values of Δ − T0 for one response: `symscreen.statistics.nulls.null_table.NullDistribution`.

    Parameters
    ----------
    table : NullTable
        Of the standardised statistic of untied features.
    scale : float
        The standard deviation of Δ − T0 of an untied feature over all permutations, in the response's unit.
    """

    table: NullTable
    scale: float

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block; of features with ties, upper bounds of them."""
        return self.table.compute_p_values(statistics / self.scale, ordered.tied, sign)


def build_t0_null(target: NumericTarget, seed: int) -> T0Null:
    """Prepare the null distribution of T0 for one response.

    Parameters
    ----------
    response : Response
        n rows.
    seed : int
        Not negative.

    Returns
    -------
    T0Null
    """
    centred, exponent = target.centered_values
    n = target.n
    squares = float((target.tie_group_sizes * centred * centred).sum())
    deviation = math.sqrt(squares * n * (n + 1.0) / 12.0)  # of Σ y_i R_i, exactly, with ties in y
    scale = math.ldexp(4.0 / (n * (n - 1.0)) * deviation, exponent)
    return T0Null(build_linear_rank_table(centred[target.tie_groups], seed), scale)


def build_linear_rank_table(scores: NDArray[np.float64], seed: int) -> NullTable:
    """Tabulate |Σ a_i π_i|, standardised.

    Parameters
    ----------
    scores : float64 array, shape (n,)
        a, not constant.
    seed : int
        Not negative; it plays no part at n ≤ 9.

    Returns
    -------
    NullTable
    """
    n = len(scores)
    least = math.exp(max(math.log(2.0) - math.lgamma(n + 1.0), -690.0))
    whole = standardize_scores(scores, max_light_share=0.0, max_heavy=n)
    if n <= _MAX_ENUMERATED_ROWS:
        z = enumerate_abs_statistics(whole)
        return build_null_table(z, np.ones(len(z)), min_p_value=least)
    law = whole if n <= _MAX_DRAWN_ROWS else standardize_scores(scores, max_light_share=0.02, max_heavy=32)
    plain = draw_abs_statistics(law, _N_PERMUTATIONS, (seed, _PLAIN_STREAM))
    law = whole if n <= _MAX_WALKED_ROWS else standardize_scores(scores, max_light_share=0.005, max_heavy=256)
    walk, worth = make_permutation_sampler(law, _N_MOVES, (seed, _TILTED_STREAM))
    walks = draw_tilted_samples(walk, first_tilt=_FIRST_TILT)
    z, mass = combine_samples(plain, walks, worth, folded=True)
    return build_null_table(
        z, mass, tail_slope=walks[-1].tilt, min_p_value=least, resolution=LOG_TAIL_RESOLUTION
    )
