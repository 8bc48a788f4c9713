"""Σ |r_{k+1} − r_k| over random orders of the rows: all of them, plain ones, and walks under a tilt.

The exact null distribution of ξ for a response of two values: that of the number of runs.

With n₀ rows of the lower value and n₁ of the upper, |r_{k+1} − r_k| is n₁ between unlike rows and 0
between like ones, so that Q = Σ |r_{k+1} − r_k| counts runs: Q = n₁ (R − 1). Over all orders (Wald and
Wolfowitz 1940, equation 11)::

    P(R = 2j)     = 2 C(n₀−1, j−1) C(n₁−1, j−1) / C(n, n₁)
    P(R = 2j + 1) = [C(n₀−1, j) C(n₁−1, j−1) + C(n₀−1, j−1) C(n₁−1, j)] / C(n, n₁)

The null distribution of ξ for more rows than are permuted: by the saddlepoint, from that of fewer.

A sum of independent parts has their cumulant functions' sum. ξ of n rows is treated as that of n/m parts of m
rows with the same shares of ties; with mean and variance those of the n rows, the third cumulant and those
beyond are off by a part in m. The tail follows by Lugannani and Rice (1980).

The null distribution of ξ: Q = Σ |r_{k+1} − r_k| over random orders of the rows.

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

from symscreen._numba import compile_kernel
from symscreen.statistics._rng import draw_integer, draw_uniform, seed_stream
from symscreen.statistics.nulls.null_table import (
    LOG_TAIL_RESOLUTION,
    NullTable,
    build_null_table,
    combine_samples,
    draw_tilted_samples,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values
    from symscreen.screeners.base import Sign
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import NumericTarget

    RngState = NDArray[np.uint64]

__all__ = [
    "XiNull",
    "build_saddlepoint_table",
    "build_xi_null",
    "compute_runs_distribution",
    "draw_step_sums",
    "enumerate_step_sums",
    "is_dominated_by_one_value",
    "make_order_sampler",
]

_MIXING_MOVES_PER_ROW = 4  # moves a row until a walk has forgotten where it was
_MIN_THINNING, _NOTES_PER_ROW = 25, 8  # a walk notes where it is after 25 moves, or an eighth of the rows


def enumerate_step_sums(r: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return Q = Σ |r_{k+1} − r_k| of all n! orders; n ≤ 9.

    Parameters
    ----------
    r : int64 array, shape (n,)
        In any order.

    Returns
    -------
    int64 array, shape (n!,)
        In no order.
    """
    found = np.empty(math.factorial(len(r)), dtype=np.int64)
    _fill_enumerated_step_sums(r.copy(), found)
    return found


def draw_step_sums(r: NDArray[np.int64], n_draws: int, seed_key: tuple[int, ...]) -> NDArray[np.int64]:
    """Return Q of random orders.

    Parameters
    ----------
    r : int64 array, shape (n,)
        In any order.
    count : int
        Orders.
    key : tuple of int
        The seed.

    Returns
    -------
    int64 array, shape (count,)
        In no order.
    """
    found = np.empty(n_draws, dtype=np.int64)
    _fill_drawn_step_sums(r.copy(), seed_stream(*seed_key), found)
    return found


def make_order_sampler(
    r: NDArray[np.int64], mean: float, deviation: float, n_moves: int, seed_key: tuple[int, ...]
) -> tuple[Callable[[float], Values], float]:
    """Prepare walks among orders under tilts, for `symscreen.statistics.nulls.null_table.draw_tilted_samples`.

    Parameters
    ----------
    r : int64 array, shape (n,)
        In the order where the first walk starts.
    mean, deviation : float
        Of Q over all orders.
    moves : int
        Of each walk.
    key : tuple of int
        The seed.

    Returns
    -------
    walk : callable
        A tilt to the (mean − Q) / deviation noted on the way.
    worth : float
        How many independent ones a noted one is worth.
    """
    state, order = seed_stream(*seed_key), r.copy()
    n = len(order)
    every = max(_MIN_THINNING, n // _NOTES_PER_ROW)

    def sample_tilted(tilt: float) -> Values:
        found = np.empty(n_moves // every, dtype=np.int64)
        _walk_by_swaps(order, tilt / deviation, every, state, found)
        return np.asarray((mean - found) / deviation)

    return sample_tilted, min(every / (_MIXING_MOVES_PER_ROW * n), 1.0)


@compile_kernel
def _compute_step_sum(r: Integers) -> np.int64:
    total = np.int64(0)
    for k in range(r.size - 1):
        total += abs(r[k + 1] - r[k])
    return total


@compile_kernel
def _fill_enumerated_step_sums(r: Integers, out: Integers) -> None:
    """Sum over all orders, by the algorithm of Heap (1963)."""
    n = r.size
    counters = np.zeros(n, dtype=np.int64)
    out[0] = _compute_step_sum(r)
    done = 1
    i = 0
    while i < n:
        if counters[i] < i:
            j = 0 if i % 2 == 0 else counters[i]
            r[i], r[j] = r[j], r[i]
            out[done] = _compute_step_sum(r)
            done += 1
            counters[i] += 1
            i = 0
        else:
            counters[i] = 0
            i += 1


@compile_kernel
def _fill_drawn_step_sums(r: Integers, state: RngState, out: Integers) -> None:
    n = r.size
    for note in range(out.size):
        before = np.int64(0)
        total = np.int64(0)
        for k in range(n):
            j = k + draw_integer(state, n - k)
            value = r[j]
            r[j] = r[k]
            r[k] = value
            if k > 0:
                total += abs(value - before)
            before = value
        out[note] = total


@compile_kernel
def _sum_steps_around(r: Integers, place: int) -> np.int64:
    """Return the steps that touch a place."""
    total = np.int64(0)
    if place > 0:
        total += abs(r[place] - r[place - 1])
    if place < r.size - 1:
        total += abs(r[place + 1] - r[place])
    return total


@compile_kernel
def _walk_by_swaps(r: Integers, strength: float, thinning: int, state: RngState, out: Integers) -> None:
    """Walk among orders whose chance is in proportion to exp(−strength · Q), by swaps of two places."""
    n = r.size
    total = _compute_step_sum(r)
    for note in range(out.size):
        for _ in range(thinning):
            i, j = draw_integer(state, n), draw_integer(state, n)
            if r[i] == r[j]:
                continue
            # a step between the two places is the same before and after, so that counting it twice cancels
            before = _sum_steps_around(r, i) + _sum_steps_around(r, j)
            r[i], r[j] = r[j], r[i]
            gain = before - _sum_steps_around(r, i) - _sum_steps_around(r, j)
            if gain >= 0 or draw_uniform(state) < math.exp(strength * gain):
                total -= gain
            else:
                r[i], r[j] = r[j], r[i]
        out[note] = total


_MIN_LOG_PROBABILITY = -700.0  # of a logarithm: what is rarer has no float64


def compute_runs_distribution(n_lower: int, n_upper: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Compute how likely each number of runs is in a random order of two kinds of rows.

    Parameters
    ----------
    lower, upper : int
        n₀ and n₁, each at least 1.

    Returns
    -------
    runs : int64 array, shape (k,)
        Ascending; numbers rarer than 1e-304 are left out.
    chance : float64 array, shape (k,)
        Of each, > 0.

    Examples
    --------
    >>> runs, chance = compute_runs_distribution(2, 2)
    >>> runs.tolist(), (6 * chance).round(12).tolist()
    ([2, 3, 4], [2.0, 2.0, 2.0])
    """
    few, many = sorted((n_lower, n_upper))
    runs = np.arange(2, min(2 * few + 1, n_lower + n_upper) + 1)
    j = runs // 2
    odd = runs % 2 == 1
    with np.errstate(divide="ignore"):  # the logarithm of 0 ways
        log_even = (
            np.log(2.0) + _compute_log_binomial(few - 1, j - 1) + _compute_log_binomial(many - 1, j - 1)
        )
        log_odd = np.logaddexp(
            _compute_log_binomial(few - 1, j) + _compute_log_binomial(many - 1, j - 1),
            _compute_log_binomial(few - 1, j - 1) + _compute_log_binomial(many - 1, j),
        )
    logs = np.where(odd, log_odd, log_even) - float(
        _compute_log_binomial(n_lower + n_upper, np.array([few]))[0]
    )
    met = logs > _MIN_LOG_PROBABILITY
    return runs[met], np.exp(logs[met])


def _compute_log_binomial(n: int, k: Integers) -> Values:
    """Return log C(n, k), −∞ where there are none."""
    from scipy.special import gammaln  # not at the top: it would slow every start

    inside = np.clip(k, 0, n)
    logs = gammaln(n + 1.0) - gammaln(inside + 1.0) - gammaln(n - inside + 1.0)
    return np.where(k == inside, logs, -np.inf)


_MAX_Z, _N_GRID_STEPS = 9.0, 16384
_N_TILTS = 400


def build_saddlepoint_table(table: NullTable, n_parts: float, z_offset: float) -> NullTable:
    """Return the table of the sum of so many independent parts, each as one table has it.

    Parameters
    ----------
    table : NullTable
        Of z − lowest, z standardised.
    times : float
        How many parts, at least 1.
    lowest : float
        Where z is counted from, < 0.

    Returns
    -------
    NullTable
        Of z − lowest, z the standardised sum; of a statistic without jumps.
    """
    from scipy.special import log_ndtr  # not at the top: it would slow every start

    mass = -np.diff(table.tail_probabilities, append=0.0)
    # of the statistics between a knot and the next
    z = (
        -np.diff(table.tail_probabilities * table.tail_means, append=0.0) / np.maximum(mass, 1e-300)
        + z_offset
    )
    z -= float((mass * z).sum())
    mass, z = mass[mass > 0], z[mass > 0] / math.sqrt(float((mass * z * z).sum()))
    tilts = np.linspace(-6.0, 11.0, _N_TILTS) / math.sqrt(n_parts)  # of one part
    tilts = tilts[tilts != 0]
    cumulants, means, spreads = (np.empty(len(tilts)) for _ in range(3))
    for j, tilt in enumerate(tilts):
        weights = mass * np.exp(tilt * z)
        total = float(weights.sum())
        means[j] = float((weights * z).sum()) / total
        spreads[j] = float((weights * (z - means[j]) ** 2).sum()) / total
        cumulants[j] = math.log(total)
    # K_n(t) = times · K(t / √times)
    w = np.sign(tilts) * np.sqrt(2.0 * n_parts * np.maximum(tilts * means - cumulants, 0.0))
    u = tilts * np.sqrt(n_parts * spreads)
    logs = log_ndtr(-(w + np.log(u / w) / w))  # of the form of Barndorff-Nielsen 1986, never negative
    at = means * math.sqrt(n_parts)
    grid = np.linspace(0.0, _MAX_Z - z_offset, _N_GRID_STEPS + 1)
    far = (logs[-1] - logs[-2]) / (at[-1] - at[-2])
    upper = np.interp(grid + z_offset, at, logs)
    upper = np.where(grid + z_offset > at[-1], logs[-1] + far * (grid + z_offset - at[-1]), upper)
    upper = np.minimum.accumulate(np.exp(np.where(grid + z_offset < at[0], 0.0, upper)))
    # what lies between two knots stands at the upper one, and beyond the last a little further
    sums = np.cumsum((-np.diff(upper, append=0.0) * np.append(grid[1:], grid[-1] - 1.0 / far))[::-1])[::-1]
    return NullTable(
        grid, upper, np.maximum.accumulate(sums / upper), float(grid[-1]), -float(far), 1e-300, 0.0
    )


_MAX_ENUMERATED_ROWS = 9  # rows up to which all orders are enumerated
_MAX_DRAWN_ROWS, _MAX_DRAWN_ROWS_TIED = 100, 3000  # up to which orders are drawn
_MAX_ORDERS, _MAX_DRAWN_VALUES, _MAX_DRAWN_VALUES_TIED = 1_000_000, 40_000_000, 300_000_000
_MIN_MOVES, _MOVES_PER_ROW, _FIRST_TILT = 300_000, 2000, 0.8
_Z_OFFSET = -5.0  # of z, which is counted from its lower end
_MAX_VALUE_SHARE = 0.9  # in so few rows beside one value the parts of many rows are unlike each other
_PLAIN_STREAM, _TILTED_STREAM = 3, 4  # streams of random numbers


@dataclass(frozen=True, eq=False)
class XiNull:
    """P-values of ξ for one response: `symscreen.statistics.nulls.null_table.NullDistribution`. ξ has no sign.

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

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block; of features with ties, upper bounds of them."""
        del sign
        z = np.maximum((statistics - self.mean) / self.deviation - _Z_OFFSET, 0.0)
        found = self.table.compute_sf(z)
        if ordered.tied.any():
            found[ordered.tied] = self.table.compute_tied_sf_bound(z[ordered.tied])
        return found


def build_xi_null(target: NumericTarget, seed: int) -> XiNull:
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
        With p-values of 1 where `is_dominated_by_one_value`.
    """
    n = target.n
    at_least = target.counts_at_least.astype(np.float64)
    scale = n / (2.0 * float(np.sum(at_least * (n - at_least))))  # ξ = 1 − scale · Q
    mean, variance = compute_step_sum_moments(target.counts_at_most)
    deviation = math.sqrt(variance) if variance > 0 else 1.0 / scale
    most = _MAX_DRAWN_ROWS if target.is_untied else _MAX_DRAWN_ROWS_TIED
    if len(target.tie_group_sizes) == 2 and variance > 0:
        table = _build_runs_table(target.tie_group_sizes, mean, deviation)
    elif is_dominated_by_one_value(target):
        table = _build_uninformative_table()
    elif n <= most:
        table = _build_sampled_table(tuple(target.counts_at_most.tolist()), seed)
    else:
        table, jump = _build_extrapolated_table(target.counts_at_most, most, seed)
        mean -= jump
    return XiNull(table, 1.0 - scale * mean, scale * deviation)


def is_dominated_by_one_value(target: NumericTarget) -> bool:
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
    sizes = target.tie_group_sizes
    return bool(
        target.n > _MAX_DRAWN_ROWS_TIED and len(sizes) > 2 and sizes.max() > _MAX_VALUE_SHARE * target.n
    )


def compute_step_sum_moments(r: NDArray[np.int64]) -> tuple[float, float]:
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
    >>> mean, variance = compute_step_sum_moments(np.array([1, 2, 3]))
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


def _build_runs_table(group_sizes: Integers, mean: float, deviation: float) -> NullTable:
    """Return the table of a response of two values."""
    runs, chance = compute_runs_distribution(int(group_sizes[0]), int(group_sizes[1]))
    # |r_{k+1} − r_k| is 0, or the rows of the upper value
    steps = float(group_sizes[1]) * (runs.astype(np.float64) - 1.0)
    return build_null_table(_compute_z_scores(steps, mean, deviation)[::-1], chance[::-1])


def _compute_z_scores(q: Values, mean: float, deviation: float) -> Values:
    return np.asarray(np.maximum((mean - q) / deviation - _Z_OFFSET, 0.0))


def _build_extrapolated_table(r: Integers, n_rows: int, seed: int) -> tuple[NullTable, float]:
    """Return the table of more rows than are permuted, and by how much a Q counts as larger than it is."""
    n = len(r)
    places = ((np.arange(n_rows) + 0.5) * n / n_rows).astype(np.int64)
    few = np.searchsorted(r[places], r[places], side="right")
    table = build_saddlepoint_table(
        _build_sampled_table(tuple(few.tolist()), seed), (n - 1.0) / (n_rows - 1.0), _Z_OFFSET
    )
    # without ties every step is 1, as nothing beside a deviation of n^1.5
    step = float(np.diff(r).max())
    return table, step if step > 1.0 else 0.0


@lru_cache(maxsize=8)  # untied responses of as many rows share one
def _build_sampled_table(at_most: tuple[int, ...], seed: int) -> NullTable:
    r = np.array(at_most, dtype=np.int64)
    n = len(r)
    mean, variance = compute_step_sum_moments(r)
    if variance <= 0:
        return _build_uninformative_table()
    deviation = math.sqrt(variance)
    least = _compute_min_p_value(r)
    if n <= _MAX_ENUMERATED_ROWS:
        z = np.sort(_compute_z_scores(enumerate_step_sums(r).astype(np.float64), mean, deviation))
        return build_null_table(z, np.ones(len(z)), min_p_value=least)
    work = _MAX_DRAWN_VALUES if n <= _MAX_DRAWN_ROWS else _MAX_DRAWN_VALUES_TIED
    plain = _compute_z_scores(
        draw_step_sums(r, min(_MAX_ORDERS, work // n), (seed, _PLAIN_STREAM)).astype(np.float64),
        mean,
        deviation,
    )
    walk, worth = make_order_sampler(
        r, mean, deviation, max(_MIN_MOVES, _MOVES_PER_ROW * n), (seed, _TILTED_STREAM)
    )
    walks = draw_tilted_samples(lambda tilt: np.maximum(walk(tilt) - _Z_OFFSET, 0.0), first_tilt=_FIRST_TILT)
    z, mass = combine_samples(plain, walks, worth, folded=False)
    return build_null_table(
        z, mass, tail_slope=walks[-1].tilt, min_p_value=least, resolution=LOG_TAIL_RESOLUTION
    )


def _compute_min_p_value(r: Integers) -> float:
    """Return the chance of the least Q: of orders by value, up or down."""
    _, sizes = np.unique(r, return_counts=True)
    logs = math.log(2.0) + sum(math.lgamma(size + 1.0) for size in sizes.tolist()) - math.lgamma(len(r) + 1.0)
    return math.exp(max(logs, -690.0))


def _build_uninformative_table() -> NullTable:
    """Return the table that gives p-values of 1."""
    return build_null_table(np.zeros(1), np.ones(1), min_p_value=1.0)
