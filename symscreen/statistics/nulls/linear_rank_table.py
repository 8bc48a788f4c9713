"""The null distribution of a linear rank statistic: one table for all untied features of a target.

The statistic is Z = Σ_i a_i π_i of a random permutation π, as for T0 and for Spearman's ρ. The rows are
sorted by |a_i − median|. Ranks have a constant sum, so any centre can be used, and the median keeps the
digits of most rows if a few are gross outliers. The k heaviest rows receive explicit ranks. Given these, the
sum over the other m = n − k rows is drawn from a normal distribution with its exact mean and variance,
corrected by the fourth cumulant of a permutation sum. This is accurate if no single row dominates the sum.
With k = n nothing is approximated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics._kernels import seed_stream
from symscreen.statistics.nulls._kernels import (
    fill_abs_draws,
    fill_permutation_sums,
    fill_rotated_sums,
    run_metropolis,
)
from symscreen.statistics.nulls.null_table import (
    LOG_TAIL_RESOLUTION,
    build_null_table,
    combine_samples,
    draw_tilted_samples,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.statistics.nulls.null_table import NullTable

    RngState = NDArray[np.uint64]


_MIN_HEAVY_ROWS = 8
_MIXING_MOVES_PER_ROW = 3  # moves per heavy row until a walk is independent of its start
_MAX_ENUMERATED_ROWS = 9  # rows up to which all permutations are enumerated
_MAX_KEPT_ROWS = 10_000  # largest number of rows of a target whose table is kept for the next screen
_MAX_EXPLICIT_ROWS = 300  # rows up to which every row carries an explicit rank
_N_PERMUTATIONS = 500_000  # plain permutations
_ROTATED_BLOCK = 16_384  # permutations drawn at once
_N_MOVES, _N_MOVES_PER_ROW = 40_000, 1_000  # moves of each walk, and in addition for each heavy row
_FIRST_TILT = 0.8
_PLAIN_STREAM, _TILTED_STREAM = 1, 2  # streams of random numbers


@dataclass(frozen=True, eq=False)
class LinearRankStatistic:
    """Standardised scores of a linear rank statistic: Z has mean 0 and variance 1.

    Parameters
    ----------
    heavy_scores : float64 array, shape (k,)
        a_i − ā of the heaviest rows, the farthest from the median first. ā is the mean of a over the light
        rows, or the median if all rows are heavy.
    n : int
        Number of rows.
    light_sum_squares : float
        Σ (a_i − ā)² over the light rows.
    light_excess_kurtosis : float
        The excess kurtosis of the sum over the light rows.
    """

    heavy_scores: NDArray[np.float64]
    n: int
    light_sum_squares: float
    light_excess_kurtosis: float


def standardize_scores(
    scores: NDArray[np.float64], *, max_light_share: float, max_heavy: int
) -> LinearRankStatistic:
    """Standardise scores and separate heavy from light rows.

    Parameters
    ----------
    scores : float64 array, shape (n,)
        Not constant.
    max_light_share : float
        Rows are light if none of them has more than this share of their sum of squares. At 0 every row is
        heavy.
    max_heavy : int
        Maximum number of heavy rows.

    Returns
    -------
    LinearRankStatistic
    """
    n = len(scores)
    a = scores - np.median(scores)
    centered = a - a.mean()
    a /= math.sqrt(float((centered * centered).sum()) * n * (n + 1.0) / 12.0)
    a = a[np.argsort(-np.abs(a), kind="stable")]
    n_remaining = np.arange(n, 0, -1)
    means, squares = (np.cumsum(part[::-1])[::-1] for part in (a, a * a))
    means /= n_remaining
    candidates = np.flatnonzero((a - means) ** 2 <= max_light_share * (squares - n_remaining * means * means))
    k = min(max(int(candidates[0]) if len(candidates) else n, _MIN_HEAVY_ROWS), max_heavy)
    k = n if n - k < 3 or (n <= max_heavy and max_light_share == 0) else k
    if k == n:
        return LinearRankStatistic(a, n, 0.0, 0.0)
    light = a[k:]
    mean = float(light.mean())
    centered = light - mean
    m = n - k
    square = float((centered * centered).sum())
    light_kurtosis = m * float((centered**4).sum()) / square**2 - 3.0 if square > 0 else 0.0
    # The excess kurtosis of Σ a_i π_i to first order in 1/m; −6/5 is that of equally spaced ranks (Pitman
    # 1937).
    excess = (-1.2 * light_kurtosis - 6.0) / m
    return LinearRankStatistic(a[:k] - mean, n, square, excess)


def draw_abs_statistics(
    statistic: LinearRankStatistic, n_draws: int, seed_key: tuple[int, ...]
) -> NDArray[np.float64]:
    """Draw |Z| of random permutations.

    Parameters
    ----------
    statistic : LinearRankStatistic
        The statistic, whose heavy rows are permuted.
    n_draws : int
        Number of permutations.
    seed_key : tuple of int
        The seed.

    Returns
    -------
    float64 array, shape (n_draws,)
        Unsorted.
    """
    if len(statistic.heavy_scores) == statistic.n:
        ranks = np.arange(float(statistic.n)) - (statistic.n - 1) / 2.0
        drawn = draw_rotated_sums(statistic.heavy_scores, ranks, n_draws, seed_key)
        return np.abs(drawn, out=drawn)
    # The light parts are normal quantiles, in an order that is independent of the permutations.
    light_quantiles = _compute_normal_quantiles(n_draws)
    light_quantiles += (
        (statistic.light_excess_kurtosis / 24.0) * light_quantiles * (light_quantiles * light_quantiles - 3.0)
    )
    draws = np.empty(n_draws)
    fill_abs_draws(
        statistic.heavy_scores,
        statistic.n,
        statistic.light_sum_squares,
        light_quantiles,
        seed_stream(*seed_key),
        draws,
    )
    return draws


def _compute_normal_quantiles(n: int) -> Values:
    """Compute the quantiles at (k + 1/2)/n of the normal distribution, shape (n,)."""
    # The import of scipy.special takes longer than these numbers.
    half = n // 2
    lower = np.fromiter(map(NormalDist().inv_cdf, ((np.arange(half) + 0.5) / n).tolist()), float, half)
    return np.concatenate([lower, np.zeros(n % 2), -lower[::-1]])


def draw_rotated_sums(
    scores: NDArray[np.float64], ranks: NDArray[np.float64], n_draws: int, seed_key: tuple[int, ...]
) -> NDArray[np.float64]:
    """Draw Σ a_i r_i for random orders of the ranks, if every row carries an explicit rank.

    Each random order of the ranks gives n permutations, its rotations. All of them are uniformly distributed,
    and their sums are computed together. The rows are shuffled, too, so that the correlation between two
    rotations is small for any scores.

    Parameters
    ----------
    scores, ranks : float64 arrays, shape (n,)
        The scores a and the ranks r.
    n_draws : int
        Number of permutations.
    seed_key : tuple of int
        The seed.

    Returns
    -------
    float64 array, shape (n_draws,)
        Unsorted.
    """
    n = len(scores)
    rng = np.random.default_rng(seed_key)
    n_at_once = max(_ROTATED_BLOCK // n, 1)
    twice = np.tile(ranks, (n_at_once, 2))
    draws = np.empty((math.ceil(n_draws / (n_at_once * n)), n_at_once, n))
    for sums in draws:
        twice[:, :n] = rng.permuted(twice[:, :n], axis=1)
        twice[:, n:] = twice[:, :n]
        fill_rotated_sums(rng.permutation(scores), twice, sums)
    return draws.ravel()[:n_draws]


def enumerate_abs_statistics(statistic: LinearRankStatistic) -> NDArray[np.float64]:
    """Return |Z| of all n! permutations, sorted, shape (n!,); n ≤ 9."""
    z = np.empty(math.factorial(statistic.n))
    fill_permutation_sums(statistic.heavy_scores, np.arange(float(statistic.n)) - (statistic.n - 1) / 2.0, z)
    return np.sort(np.abs(z))


def make_permutation_sampler(
    statistic: LinearRankStatistic, n_moves: int, seed_key: tuple[int, ...]
) -> tuple[Callable[[float], Values], float]:
    """Prepare tilted walks among permutations, for `draw_tilted_samples` of `null_table`.

    Parameters
    ----------
    statistic : LinearRankStatistic
        The statistic.
    n_moves : int
        Number of moves of each walk.
    seed_key : tuple of int
        The seed.

    Returns
    -------
    sample_tilted : callable
        Maps a tilt to the values of Z recorded on the walk.
    ess_ratio : float
        The effective number of independent values per recorded value.
    """
    state = seed_stream(*seed_key)
    k = len(statistic.heavy_scores)
    ranks = np.linspace(1, statistic.n, k).astype(np.int32)
    ranks = ranks[np.argsort(np.argsort(statistic.heavy_scores, kind="stable"), kind="stable")]
    rank_owners = np.full(statistic.n + 1, -1, dtype=np.int32)
    rank_owners[ranks] = np.arange(k, dtype=np.int32)
    thinning = max(k // 2, _MIN_HEAVY_ROWS)

    def sample_tilted(tilt: float) -> Values:
        """Walk on under a tilt; return the recorded Z."""
        z = np.empty(n_moves // thinning)
        run_metropolis(
            statistic.heavy_scores,
            statistic.n,
            statistic.light_sum_squares,
            statistic.light_excess_kurtosis,
            tilt,
            n_moves,
            thinning,
            ranks,
            rank_owners,
            state,
            z,
        )
        return z

    return sample_tilted, min(thinning / (_MIXING_MOVES_PER_ROW * k), 1.0)


def build_linear_rank_table(scores: NDArray[np.float64], seed: int) -> NullTable:
    """Tabulate the distribution of |Σ a_i π_i|, standardised.

    Parameters
    ----------
    scores : float64 array, shape (n,)
        a, not constant.
    seed : int
        Not negative; without effect for n ≤ 9.

    Returns
    -------
    NullTable
    """
    if len(scores) > _MAX_KEPT_ROWS:
        return _tabulate_linear_rank_statistic(scores, seed)
    return _find_linear_rank_table(scores.tobytes(), seed)


# screens of one target often follow each other: with other options, in a study, or in a test of power
@lru_cache(maxsize=8)
def _find_linear_rank_table(score_bytes: bytes, seed: int) -> NullTable:
    """Build a table from the bytes of the scores, unless it is known."""
    return _tabulate_linear_rank_statistic(np.frombuffer(score_bytes), seed)


def _tabulate_linear_rank_statistic(scores: NDArray[np.float64], seed: int) -> NullTable:
    """Enumerate or draw |Σ a_i π_i| and build its table."""
    n = len(scores)
    min_p_value = math.exp(max(math.log(2.0) - math.lgamma(n + 1.0), -690.0))
    exact = standardize_scores(scores, max_light_share=0.0, max_heavy=n)
    if n <= _MAX_ENUMERATED_ROWS:
        z = enumerate_abs_statistics(exact)
        return build_null_table(z, np.ones(len(z)), min_p_value=min_p_value)

    def choose_statistic(max_light_share: float, max_heavy: int) -> LinearRankStatistic:
        """Return the exact statistic of few rows; of more, one with light rows."""
        if n <= _MAX_EXPLICIT_ROWS:
            return exact
        return standardize_scores(scores, max_light_share=max_light_share, max_heavy=max_heavy)

    plain_sample = draw_abs_statistics(choose_statistic(0.02, 32), _N_PERMUTATIONS, (seed, _PLAIN_STREAM))
    walked = choose_statistic(0.005, 256)
    n_moves = _N_MOVES + _N_MOVES_PER_ROW * len(walked.heavy_scores)
    sample_tilted, ess_ratio = make_permutation_sampler(walked, n_moves, (seed, _TILTED_STREAM))
    tilted_samples = draw_tilted_samples(sample_tilted, first_tilt=_FIRST_TILT)
    z, mass = combine_samples(plain_sample, tilted_samples, ess_ratio, folded=True)
    return build_null_table(
        z,
        mass,
        tail_slope=tilted_samples[-1].tilt,
        min_p_value=min_p_value,
        resolution=LOG_TAIL_RESOLUTION,
    )
