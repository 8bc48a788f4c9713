"""The null distribution of ξ: Q = Σ |r_{k+1} − r_k| over random orders of the rows.

The mean and variance of Q are exact, also with ties in y. The distribution is

- that of the number of runs, in closed form, if y has two values;
- that of all orders, up to 9 rows;
- that of random orders, plain and tilted, up to 100 rows, or up to 3000 if y has ties, because Q is then
  discrete and its jumps depend on every row;
- a saddlepoint extrapolation from 100 rows, or 3000, with the same shares of ties, for more rows. It ignores
  jumps, which neglects half a jump. If y has ties, z is therefore decreased by the largest jump.

ξ of a feature with ties is a mean over all ways to break them (`symscreen.statistics.ranks.xi`). Its
distribution is that of `symscreen.statistics.nulls.tied_xi_null`. Where that is not known, the p-value is an
upper bound (`NullTable.compute_tied_sf_bound`). Another rule for ties needs another distribution and bound.

**Runs.** With n₀ rows of the lower value and n₁ of the upper, |r_{k+1} − r_k| is n₁ between different rows
and 0 between equal ones, so Q = n₁ (R − 1) with R the number of runs. Over all orders (Wald and Wolfowitz
1940, equation 11)::

    P(R = 2j)     = 2 C(n₀−1, j−1) C(n₁−1, j−1) / C(n, n₁)
    P(R = 2j + 1) = [C(n₀−1, j) C(n₁−1, j−1) + C(n₀−1, j−1) C(n₁−1, j)] / C(n, n₁)

**Saddlepoint.** The cumulant function of a sum of independent parts is the sum of theirs. ξ of n rows is
treated as a sum of n/m parts of m rows with the same shares of ties. Mean and variance are those of the n
rows; the third and higher cumulants have a relative error of order 1/m. The tail follows by Lugannani and
Rice (1980).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics._kernels import seed_stream
from symscreen.statistics.nulls._kernels import fill_drawn_step_sums, fill_enumerated_step_sums, walk_by_swaps
from symscreen.statistics.nulls.null_table import (
    LOG_TAIL_RESOLUTION,
    NullTable,
    build_null_table,
    combine_samples,
    draw_tilted_samples,
)
from symscreen.statistics.nulls.tied_xi_null import TiedXiNull
from symscreen.statistics.ranks.xi import compute_xi_scale

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values
    from symscreen.screeners.base import Sign
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import SortedValues

    RngState = NDArray[np.uint64]


_MIXING_MOVES_PER_ROW = 4  # moves per row until a walk is independent of its start
_MIN_THINNING, _NOTES_PER_ROW = 25, 8  # a walk records Q after 25 moves, or n / 8 if that is more
_MIN_LOG_PROBABILITY = -700.0  # rarer numbers of runs are not representable
_MAX_Z, _N_GRID_STEPS = 9.0, 16384  # grid of an extrapolated table
_N_TILTS = 400  # tilts at which cumulants are computed
_MAX_ENUMERATED_ROWS = 9  # rows up to which all orders are enumerated
_MAX_DRAWN_ROWS, _MAX_DRAWN_ROWS_TIED = 100, 3000  # rows up to which orders are drawn
_MAX_ORDERS, _MAX_DRAWN_VALUES, _MAX_DRAWN_VALUES_TIED = 1_000_000, 40_000_000, 300_000_000
_MIN_MOVES, _MOVES_PER_ROW, _FIRST_TILT = 300_000, 2000, 0.8
_Z_OFFSET = -5.0  # tables start at this z, because the lower tail is not needed
_MAX_VALUE_SHARE = 0.9  # frequency of a value above which parts of the rows are too different to extrapolate
_PLAIN_STREAM, _TILTED_STREAM = 3, 4  # streams of random numbers


def enumerate_step_sums(r: NDArray[np.int64]) -> NDArray[np.int64]:
    """Compute Q = Σ |r_{k+1} − r_k| of all n! orders; n ≤ 9.

    Parameters
    ----------
    r : int64 array, shape (n,)
        In any order.

    Returns
    -------
    int64 array, shape (n!,)
        Unsorted.
    """
    sums = np.empty(math.factorial(len(r)), dtype=np.int64)
    fill_enumerated_step_sums(r.copy(), sums)
    return sums


def draw_step_sums(r: NDArray[np.int64], n_draws: int, seed_key: tuple[int, ...]) -> NDArray[np.int64]:
    """Draw Q of random orders.

    Parameters
    ----------
    r : int64 array, shape (n,)
        In any order.
    n_draws : int
        Number of orders.
    seed_key : tuple of int
        The seed.

    Returns
    -------
    int64 array, shape (n_draws,)
        Unsorted.
    """
    sums = np.empty(n_draws, dtype=np.int64)
    fill_drawn_step_sums(r.copy(), seed_stream(*seed_key), sums)
    return sums


def make_order_sampler(
    r: NDArray[np.int64], mean: float, deviation: float, n_moves: int, seed_key: tuple[int, ...]
) -> tuple[Callable[[float], Values], float]:
    """Prepare tilted walks among orders, for `draw_tilted_samples` of `null_table`.

    Parameters
    ----------
    r : int64 array, shape (n,)
        In the order where the first walk starts.
    mean, deviation : float
        The mean and standard deviation of Q over all orders.
    n_moves : int
        Number of moves of each walk.
    seed_key : tuple of int
        The seed.

    Returns
    -------
    sample_tilted : callable
        Maps a tilt to the values of (mean − Q) / deviation recorded on the walk.
    ess_ratio : float
        The effective number of independent values per recorded value.
    """
    state, order = seed_stream(*seed_key), r.copy()
    n = len(order)
    thinning = max(_MIN_THINNING, n // _NOTES_PER_ROW)

    def sample_tilted(tilt: float) -> Values:
        """Walk on under a tilt; return the recorded statistics."""
        sums = np.empty(n_moves // thinning, dtype=np.int64)
        walk_by_swaps(order, tilt / deviation, thinning, state, sums)
        return np.asarray((mean - sums) / deviation)

    return sample_tilted, min(thinning / (_MIXING_MOVES_PER_ROW * n), 1.0)


def compute_runs_distribution(n_lower: int, n_upper: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Compute the probability of each number of runs in a random order of two kinds of rows.

    Parameters
    ----------
    n_lower, n_upper : int
        n₀ and n₁, each at least 1.

    Returns
    -------
    runs : int64 array, shape (k,)
        Ascending; numbers rarer than 1e-304 are omitted.
    probabilities : float64 array, shape (k,)
        The probability of each, positive.

    Examples
    --------
    >>> runs, probabilities = compute_runs_distribution(2, 2)
    >>> runs.tolist(), (6 * probabilities).round(12).tolist()
    ([2, 3, 4], [2.0, 2.0, 2.0])
    """
    n_rarer, n_commoner = sorted((n_lower, n_upper))
    runs = np.arange(2, min(2 * n_rarer + 1, n_lower + n_upper) + 1)
    j = runs // 2
    odd = runs % 2 == 1
    with np.errstate(divide="ignore"):  # log 0
        log_even = (
            np.log(2.0)
            + _compute_log_binomial(n_rarer - 1, j - 1)
            + _compute_log_binomial(n_commoner - 1, j - 1)
        )
        log_odd = np.logaddexp(
            _compute_log_binomial(n_rarer - 1, j) + _compute_log_binomial(n_commoner - 1, j - 1),
            _compute_log_binomial(n_rarer - 1, j - 1) + _compute_log_binomial(n_commoner - 1, j),
        )
    logs = np.where(odd, log_odd, log_even) - float(
        _compute_log_binomial(n_lower + n_upper, np.array([n_rarer]))[0]
    )
    is_representable = logs > _MIN_LOG_PROBABILITY
    return runs[is_representable], np.exp(logs[is_representable])


def _compute_log_binomial(n: int, k: Integers) -> Values:
    """Compute log C(n, k) for each k; −∞ if k is not in 0 … n."""
    from scipy.special import gammaln  # imported here to keep start-up fast

    clipped = np.clip(k, 0, n)
    logs = gammaln(n + 1.0) - gammaln(clipped + 1.0) - gammaln(n - clipped + 1.0)
    return np.where(k == clipped, logs, -np.inf)


def build_saddlepoint_table(table: NullTable, n_parts: float, z_offset: float) -> NullTable:
    """Build the table of a sum of independent parts with the same distribution, by the saddlepoint.

    Parameters
    ----------
    table : NullTable
        The distribution of z − z_offset of one part, z standardised.
    n_parts : float
        Number of parts, at least 1.
    z_offset : float
        The origin of the tables, < 0.

    Returns
    -------
    NullTable
        The distribution of z − z_offset, z the standardised sum, treated as continuous.
    """
    from scipy.special import log_ndtr  # imported here to keep start-up fast

    mass = -np.diff(table.tail_probabilities, append=0.0)
    # The mean of the statistics between each knot and the next.
    z = (
        -np.diff(table.tail_probabilities * table.tail_means, append=0.0) / np.maximum(mass, 1e-300)
        + z_offset
    )
    z -= float((mass * z).sum())
    mass, z = mass[mass > 0], z[mass > 0] / math.sqrt(float((mass * z * z).sum()))
    tilts = np.linspace(-6.0, 11.0, _N_TILTS) / math.sqrt(n_parts)  # tilts of one part
    tilts = tilts[tilts != 0]
    cumulants, means, spreads = (np.empty(len(tilts)) for _ in range(3))
    for j, tilt in enumerate(tilts):
        weights = mass * np.exp(tilt * z)
        total = float(weights.sum())
        means[j] = float((weights * z).sum()) / total
        spreads[j] = float((weights * (z - means[j]) ** 2).sum()) / total
        cumulants[j] = math.log(total)
    # K_n(t) = n_parts · K(t / √n_parts)
    w = np.sign(tilts) * np.sqrt(2.0 * n_parts * np.maximum(tilts * means - cumulants, 0.0))
    u = tilts * np.sqrt(n_parts * spreads)
    log_tail = log_ndtr(-(w + np.log(u / w) / w))  # the form of Barndorff-Nielsen (1986) is never negative
    z_means = means * math.sqrt(n_parts)
    grid = np.linspace(0.0, _MAX_Z - z_offset, _N_GRID_STEPS + 1)
    tail_log_slope = (log_tail[-1] - log_tail[-2]) / (z_means[-1] - z_means[-2])
    tail = np.interp(grid + z_offset, z_means, log_tail)
    tail = np.where(
        grid + z_offset > z_means[-1], log_tail[-1] + tail_log_slope * (grid + z_offset - z_means[-1]), tail
    )
    tail = np.minimum.accumulate(np.exp(np.where(grid + z_offset < z_means[0], 0.0, tail)))
    # The mass between two knots is placed at the upper one, and the mass beyond the last a little further.
    sums = np.cumsum(
        (-np.diff(tail, append=0.0) * np.append(grid[1:], grid[-1] - 1.0 / tail_log_slope))[::-1]
    )[::-1]
    return NullTable(
        grid, tail, np.maximum.accumulate(sums / tail), float(grid[-1]), -float(tail_log_slope), 1e-300, 0.0
    )


@dataclass(frozen=True, eq=False)
class XiNull:
    """P-values of ξ for one target; implements `NullDistribution` of `null_table`. ξ has no sign.

    Parameters
    ----------
    table : NullTable
        The distribution of z + 5, with z the standardised ξ of untied features.
    mean, deviation : float
        The mean and standard deviation of ξ of an untied feature over all orders of the rows. If a discrete
        statistic is treated as continuous, the mean is larger by one jump.
    tied_null : TiedXiNull or None
        The distribution for features with ties; None if only a bound is known.
    """

    table: NullTable
    mean: float
    deviation: float
    tied_null: TiedXiNull | None

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block."""
        del sign
        z = np.maximum((statistics - self.mean) / self.deviation - _Z_OFFSET, 0.0)
        p_values = self.table.compute_sf(z)
        features = np.flatnonzero(ordered.tied)
        if len(features):
            bounds = self.table.compute_tied_sf_bound(z[features])
            found = self._compute_tied_p_values(ordered, features, statistics[features])
            p_values[features] = np.maximum(np.fmin(bounds, found), self.table.min_p_value)
        return p_values

    def _compute_tied_p_values(self, ordered: SortedBlock, features: Integers, statistics: Values) -> Values:
        """Compute p-values of features with ties, shape (m,); NaN where only the bound is known."""
        if self.tied_null is None:
            return np.full(len(features), np.nan)
        z, p_values = self.tied_null.compute_z_scores_and_p_values(ordered, features, statistics)
        looked_up = np.flatnonzero(~np.isnan(z))
        p_values[looked_up] = self.table.compute_sf(np.maximum(z[looked_up] - _Z_OFFSET, 0.0))
        return p_values

    def find_bounds(self, ordered: SortedBlock) -> NDArray[np.bool_]:
        """Find the features whose p-values are upper bounds, shape (m,)."""
        is_bound = ordered.tied.copy()
        features = np.flatnonzero(is_bound)
        if len(features):
            found = self._compute_tied_p_values(ordered, features, np.full(len(features), self.mean))
            is_bound[features] = np.isnan(found)
        return is_bound


def build_xi_null(target: SortedValues, seed: int) -> XiNull:
    """Build the null distribution of ξ for a target.

    Parameters
    ----------
    target : SortedValues
        The target.
    seed : int
        Not negative; without effect for n ≤ 9 and for targets with two values.

    Returns
    -------
    XiNull
        All p-values are 1 if `is_dominated_by_one_value`.
    """
    n = target.n
    scale = n / compute_xi_scale(target)  # ξ = 1 − scale · Q
    mean, variance = compute_step_sum_moments(target.counts_at_most)
    deviation = math.sqrt(variance) if variance > 0 else 1.0 / scale
    exact_mean = 1.0 - scale * mean
    max_drawn_rows = _MAX_DRAWN_ROWS if target.is_untied else _MAX_DRAWN_ROWS_TIED
    if len(target.tie_group_sizes) == 2 and variance > 0:
        table = _build_runs_table(target.tie_group_sizes, mean, deviation)
    elif is_dominated_by_one_value(target):
        table = _build_uninformative_table()
    elif n <= max_drawn_rows:
        table = _build_sampled_table(tuple(target.counts_at_most.tolist()), seed)
    else:
        table, jump = _build_extrapolated_table(target.counts_at_most, max_drawn_rows, seed)
        mean -= jump
    tied_null = None
    if not is_dominated_by_one_value(target):
        tied_null = TiedXiNull(target.counts_at_most, scale, exact_mean, scale * deviation)
    return XiNull(table, 1.0 - scale * mean, scale * deviation, tied_null)


def is_dominated_by_one_value(target: SortedValues) -> bool:
    """Return whether the null distribution is not known well enough, so that p-values are 1.

    Parameters
    ----------
    target : SortedValues
        The target.

    Returns
    -------
    bool
        True for targets with more than 3000 rows and at least three values, one of them in over 90 % of the
        rows.
    """
    sizes = target.tie_group_sizes
    return bool(
        target.n > _MAX_DRAWN_ROWS_TIED and len(sizes) > 2 and sizes.max() > _MAX_VALUE_SHARE * target.n
    )


def compute_step_sum_moments(r: NDArray[np.int64]) -> tuple[float, float]:
    """Compute mean and variance of Q = Σ |r_{k+1} − r_k| over all orders of the rows.

    Parameters
    ----------
    r : int64 array, shape (n,)
        In ascending order.

    Returns
    -------
    mean, variance : float
        Exact up to rounding.

    Examples
    --------
    >>> mean, variance = compute_step_sum_moments(np.array([1, 2, 3]))
    >>> round(mean, 12), round(variance, 12)
    (2.666666666667, 0.222222222222)
    """
    n = len(r)
    x = (r - r.mean()) / n
    sums = np.cumsum(x)
    k = np.arange(1, n + 1)
    rows = k * x - sums + (sums[-1] - sums) - (n - k) * x  # Σ_j |x_i − x_j|
    step_sum, squares, adjacent_sum = (
        float(rows.sum()),
        2.0 * n * float((x * x).sum()),
        float((rows * rows).sum()),
    )
    mean = step_sum / n
    total = (n - 1.0) * squares / (n * (n - 1.0))
    if n > 2:  # pairs of steps that share a row
        total += 2.0 * (n - 2.0) * (adjacent_sum - squares) / (n * (n - 1.0) * (n - 2.0))
    if n > 3:  # pairs of steps that share no row
        disjoint_sum = step_sum * step_sum - 4.0 * adjacent_sum + 2.0 * squares
        total += (n - 2.0) * (n - 3.0) * disjoint_sum / (n * (n - 1.0) * (n - 2.0) * (n - 3.0))
    return n * mean, n * n * max(total - mean * mean, 0.0)


def _build_runs_table(group_sizes: Integers, mean: float, deviation: float) -> NullTable:
    """Build the table of a target with two values from the sizes of its groups, shape (2,)."""
    runs, probabilities = compute_runs_distribution(int(group_sizes[0]), int(group_sizes[1]))
    # |r_{k+1} − r_k| is 0 or the number of rows with the upper value.
    steps = float(group_sizes[1]) * (runs.astype(np.float64) - 1.0)
    return build_null_table(_compute_z_scores(steps, mean, deviation)[::-1], probabilities[::-1])


def _compute_z_scores(q: Values, mean: float, deviation: float) -> Values:
    """Standardise Q and shift it by the origin of the tables."""
    return np.asarray(np.maximum((mean - q) / deviation - _Z_OFFSET, 0.0))


def _build_extrapolated_table(r: Integers, n_rows: int, seed: int) -> tuple[NullTable, float]:
    """Return the table for more rows than are permuted, and the decrease of Q that accounts for jumps."""
    n = len(r)
    sampled_rows = ((np.arange(n_rows) + 0.5) * n / n_rows).astype(np.int64)
    sampled_r = np.searchsorted(r[sampled_rows], r[sampled_rows], side="right")
    table = build_saddlepoint_table(
        _build_sampled_table(tuple(sampled_r.tolist()), seed), (n - 1.0) / (n_rows - 1.0), _Z_OFFSET
    )
    # Without ties every step is 1, which is negligible compared with a deviation of order n^1.5.
    max_step = float(np.diff(r).max())
    return table, max_step if max_step > 1.0 else 0.0


@lru_cache(maxsize=8)  # untied targets with equal numbers of rows share one table
def _build_sampled_table(counts_at_most: tuple[int, ...], seed: int) -> NullTable:
    """Build a table from enumerated or drawn orders."""
    r = np.array(counts_at_most, dtype=np.int64)
    n = len(r)
    mean, variance = compute_step_sum_moments(r)
    if variance <= 0:
        return _build_uninformative_table()
    deviation = math.sqrt(variance)
    min_p_value = _compute_min_p_value(r)
    if n <= _MAX_ENUMERATED_ROWS:
        z = np.sort(_compute_z_scores(enumerate_step_sums(r).astype(np.float64), mean, deviation))
        return build_null_table(z, np.ones(len(z)), min_p_value=min_p_value)
    max_values = _MAX_DRAWN_VALUES if n <= _MAX_DRAWN_ROWS else _MAX_DRAWN_VALUES_TIED
    plain_sample = _compute_z_scores(
        draw_step_sums(r, min(_MAX_ORDERS, max_values // n), (seed, _PLAIN_STREAM)).astype(np.float64),
        mean,
        deviation,
    )
    sample_tilted, ess_ratio = make_order_sampler(
        r, mean, deviation, max(_MIN_MOVES, _MOVES_PER_ROW * n), (seed, _TILTED_STREAM)
    )
    tilted_samples = draw_tilted_samples(
        lambda tilt: np.maximum(sample_tilted(tilt) - _Z_OFFSET, 0.0), first_tilt=_FIRST_TILT
    )
    z, mass = combine_samples(plain_sample, tilted_samples, ess_ratio, folded=False)
    return build_null_table(
        z,
        mass,
        tail_slope=tilted_samples[-1].tilt,
        min_p_value=min_p_value,
        resolution=LOG_TAIL_RESOLUTION,
    )


def _compute_min_p_value(r: Integers) -> float:
    """Compute the probability of the smallest Q: that of orders by value, ascending or descending."""
    _, sizes = np.unique(r, return_counts=True)
    logs = math.log(2.0) + sum(math.lgamma(size + 1.0) for size in sizes.tolist()) - math.lgamma(len(r) + 1.0)
    return math.exp(max(logs, -690.0))


def _build_uninformative_table() -> NullTable:
    """Build the table that gives p-values of 1."""
    return build_null_table(np.zeros(1), np.ones(1), min_p_value=1.0)
