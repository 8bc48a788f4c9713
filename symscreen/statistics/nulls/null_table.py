"""Null distributions of a statistic as tables, and their estimation by tilted sampling.

**Tables.** A table of |z| gives a p-value by look-up, and an upper bound of it for a tied feature. Its knots
are drawn or enumerated statistics, placed where the tail has decreased by a quarter of a percent, so that
every scale of the distribution is resolved. Between two knots the table uses the tail of the lower one, which
is never too small.

A feature with ties has the mean of its statistic over all ways to break them. Under independence it is
therefore a conditional expectation of the statistic of an untied feature Y. So E f(X) ≤ E f(Y) for every
convex f. With f(x) = (|x| − c)₊, the bound P(|X| ≥ s) ≤ E(|Y| − c)₊ / (s − c) holds for every c < s. Its
minimum is P(|Y| ≥ q) where E(|Y| given |Y| ≥ q) = s (Hardy and Littlewood 1930). It is never too small for
any ties, and about e times the untied p-value far out in a normal tail.

**Tilted sampling.** At tilt t permutations are drawn with probability proportional to exp(t · Z), so a few
thousand of them describe tails that plain permutations would reach once in 10¹⁵ draws. With N_j statistics
drawn at tilt t_j and unknown constants c_j, the maximum-likelihood distribution has at each drawn statistic
z, at any tilt, the mass::

    w(z) = 1 / Σ_j N_j exp(t_j z − c_j),    exp(c_j) = Σ_z w(z) exp(t_j z)

(Ferrenberg and Swendsen 1989; without a grid: Shirts and Chodera 2008). Plain permutations have tilt 0 and
dominate where there are many of them. A grid is not used, because one gross outlier divides the distribution
into clusters of 10⁻⁹ of its range, each with its own shape and tail. If Z is symmetric, |z| is stored and
cosh(t z) replaces exp(t z).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.statistics.nulls._kernels import count_knots_below

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values
    from symscreen.screeners.base import Sign
    from symscreen.statistics.ranks.sorted_block import SortedBlock

LOG_TAIL_RESOLUTION = 0.0024  # decrease of the log tail between knots: 16,000 knots to 1e-17
# Statistics that differ by less than this share of the largest are equal: ties of z are broken only by
# rounding.
_RELATIVE_ROUNDING, _RELATIVE_ROUNDING_EXACT = 2.0**-42, 2.0**-47
_MIN_P_VALUE = 1e-300
_MIN_DRAWS_BEYOND_KNOT = 256  # number of drawn statistics beyond the last knot
_MIN_DRAWS_BEYOND_JUMP = 16  # this number where jumps are kept, because few values are many draws
_MIN_LOG_TAIL = -38.0  # log of the tail at the last tilt: about 3e-17
_MAX_TILTS = 40
_TILT_STEP_SDS = 1.0  # increase of the mean between adjacent tilts, in standard deviations
_BURN_IN_SHARE = 0.15  # share of a walk that is discarded at its start
_MIN_RELATIVE_SPREAD = 1e-12  # spread / mean of a walk that has reached the largest statistic
_GROUP_SIZE = 16  # statistics in the body of a plain sample that one of them stands for
_N_UNGROUPED = 32_768  # number of largest statistics in a plain sample that stand for themselves
_N_CELLS, _MAX_CELL_WIDTH = 1024, 0.05  # cells of equal counts, and their width in t · z
_MAX_NEWTON_STEPS, _MAX_STEP_HALVINGS = 100, 20
_MAX_CELLS = 1 << 12  # largest number of cells in which knots are looked up; their starts fit into the cache
# change of the log likelihood at which Newton's method ends; its statistical error is about 1
_NEWTON_TOLERANCE = 1e-4


class NullDistribution(Protocol):
    """Computes p-values of features under independence from a target.

    A p-value depends only on the feature, the target and the seed, not on the block of the feature. With sign
    "free" it is two-sided, and equal for mirrored ranks. With sign "positive" it is one-sided, and small if
    the feature rises with the target. Among features with the same ties, a better statistic never has a
    larger p-value.

    Where some p-values are upper bounds, it has a method `find_bounds`, which maps a block to flags, shape
    (m,).
    """

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block.

        Parameters
        ----------
        ordered : SortedBlock
            m features over the target's n rows; none is constant.
        statistics : float64 array, shape (m,)
            The screener's statistic of each feature.
        sign : {"free", "positive"}
            Two-sided, or one-sided in the direction of a rising feature.

        Returns
        -------
        float64 array, shape (m,)
            p-values in (0, 1]; never 0, never NaN.
        """


@dataclass(frozen=True, eq=False)
class NullTable:
    """The survival function P(|Z| ≥ z) at knots; a look-up is never smaller than the tabulated tail.

    Parameters
    ----------
    knots : float64 array, shape (k,)
        Ascending, each slightly below the statistics that it represents.
    tail_probabilities : float64 array, shape (k,)
        P(|Z| ≥ knot), decreasing from 1, positive.
    tail_means : float64 array, shape (k,)
        E(|Z| given |Z| ≥ knot), ascending.
    max_statistic : float
        The largest drawn statistic.
    tail_slope : float
        Beyond the largest statistic the tail decreases as exp(−tail_slope · z).
    min_p_value : float
        A lower bound of all p-values, positive.
    rounding_error : float
        The numerical error of a statistic.

    Examples
    --------
    >>> table = build_null_table(np.array([0.0, 1.0, 1.0, 2.5]), np.ones(4))
    >>> table.compute_sf(np.array([-1.0, 0.0, 2.0, 2.5, 7.0])).tolist()
    [0.75, 1.0, 0.75, 0.25, 0.25]
    """

    knots: NDArray[np.float64]
    tail_probabilities: NDArray[np.float64]
    tail_means: NDArray[np.float64]
    max_statistic: float
    tail_slope: float
    min_p_value: float
    rounding_error: float

    @lockfree_cached_property
    def cell_starts(self) -> NDArray[np.int64]:
        """The number of knots below the start of each of a few thousand cells between the first and last."""
        n_cells = min(_MAX_CELLS, 4 * len(self.knots))
        edges = np.linspace(0.0, float(self.knots[-1]), n_cells + 1)[:-1]
        return np.searchsorted(self.knots, edges, side="right")

    def compute_sf(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Look up the survival function P(|Z| ≥ |z|).

        Parameters
        ----------
        z : float64 array, shape (m,)
            Standardised statistics.

        Returns
        -------
        float64 array, shape (m,)
            Probabilities in (0, 1].
        """
        magnitude = np.abs(z) - self.rounding_error
        n_below = np.empty(z.shape, dtype=np.int64)
        count_knots_below(self.knots, self.cell_starts, magnitude, n_below)
        knot = np.maximum(n_below - 1, 0)
        further = self.tail_slope * np.maximum(magnitude - self.max_statistic, 0.0)
        return np.asarray(np.maximum(self.tail_probabilities[knot] * np.exp(-further), self.min_p_value))

    def compute_sf_lower_bound(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound P(|Z| > |z|) from below.

        Parameters
        ----------
        z : float64 array, shape (m,)
            Standardised statistics.

        Returns
        -------
        float64 array, shape (m,)
            Probabilities in [0, 1]; 0 at the largest statistic.
        """
        following = np.searchsorted(self.knots, np.abs(z) + self.rounding_error, side="right")
        return np.asarray(np.append(self.tail_probabilities, 0.0)[following])

    def compute_exact_sf(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Look up P(|Z| ≥ z) in a table that has a knot for every statistic, or that keeps jumps.

        Parameters
        ----------
        z : float64 array, shape (m,)
            Standardised statistics, not negative.

        Returns
        -------
        float64 array, shape (m,)
            Probabilities in [0, 1]. Beyond the last knot 0 in a table of all statistics, otherwise the last
            probability, which decreases with the slope of the tail.
        """
        # a knot is two rounding errors below its statistic
        following = np.searchsorted(self.knots, z - 3.0 * self.rounding_error)
        found = np.append(self.tail_probabilities, 0.0)[following]
        if self.tail_slope > 0.0:
            further = self.tail_slope * np.maximum(z - self.max_statistic, 0.0)
            is_beyond = following == len(self.knots)
            found[is_beyond] = self.tail_probabilities[-1] * np.exp(-further[is_beyond])
        return np.asarray(found)

    def compute_tied_sf_bound(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Bound P(|X| ≥ |z|) for the statistic X of a feature with ties.

        X must be the mean of the untied statistic Z over all ways to break the ties. It is then a conditional
        expectation of Z, from which the bound follows (see the module). Mid-ranks in a linear rank statistic
        and ξ averaged over tie orders satisfy this. Ties broken by another rule do not.

        Parameters
        ----------
        z : float64 array, shape (m,)
            Standardised statistics in the unit of an untied feature.

        Returns
        -------
        float64 array, shape (m,)
            Probabilities in (0, 1], at least those of `compute_sf`.
        """
        magnitude = np.abs(z) - self.rounding_error
        # The first knot whose tail mean exceeds |z| is above q, so the previous knot gives an upper bound.
        knot = np.maximum(np.searchsorted(self.tail_means, magnitude, side="right") - 1, 0)
        excess_log = self.tail_slope * np.maximum(magnitude - self.max_statistic, 0.0)
        return np.asarray(
            np.maximum(
                self.tail_probabilities[knot] * np.exp(-np.maximum(excess_log - 1.0, 0.0)), self.min_p_value
            )
        )

    def compute_p_values(
        self, z: NDArray[np.float64], tied: NDArray[np.bool_], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute p-values of a statistic that is symmetrically distributed without ties.

        Parameters
        ----------
        z : float64 array, shape (m,)
            Standardised statistics in the unit of an untied feature.
        tied : bool array, shape (m,)
            Whether the feature has ties; its p-value is then an upper bound.
        sign : {"free", "positive"}
            Two-sided, or P(Z ≥ z).

        Returns
        -------
        float64 array, shape (m,)
            p-values in (0, 1].
        """
        two_sided = self.compute_sf(z)
        if tied.any():
            two_sided[tied] = self.compute_tied_sf_bound(z[tied])
        if sign == "free":
            return two_sided
        # P(Z ≥ z) = 1 − P(Z > −z) for z ≤ 0, up to rounding.
        lower_half = 1.0 - 0.5 * self.compute_sf_lower_bound(z)
        is_positive = z > self.rounding_error
        # For c ≥ 0 the one-sided bound is half of the two-sided one. For z ≤ 0 it is 1.
        is_unbounded = tied & (~is_positive | (two_sided >= 1.0))
        return np.where(is_unbounded, 1.0, np.where(is_positive, 0.5 * two_sided, lower_half))


def build_null_table(
    z: NDArray[np.float64],
    mass: NDArray[np.float64],
    *,
    tail_slope: float = 0.0,
    min_p_value: float = _MIN_P_VALUE,
    resolution: float = 0.0,
    keep_jumps: bool = False,
) -> NullTable:
    """Compute the tail of a discrete distribution and store it at knots.

    Parameters
    ----------
    z : float64 array, shape (count,)
        |Z|, ascending.
    mass : float64 array, shape (count,)
        The mass of each statistic; not negative, with any positive sum.
    tail_slope : float
        The decrease of the tail beyond the last statistic: exp(−tail_slope · z).
    min_p_value : float
        A lower bound of the tail.
    resolution : float
        Minimum decrease of the log tail between knots. At 0 every statistic is a knot and the table is exact.
        Otherwise the last few statistics of a sample are not used as knots.
    keep_jumps : bool
        Whether statistics on both sides of a jump are knots, so that `compute_exact_sf` is exact up to the
        resolution even where single statistics are frequent.

    Returns
    -------
    NullTable
    """
    tail = np.cumsum(mass[::-1])[::-1]
    moment = np.cumsum((mass * z)[::-1])[::-1]
    top = float(z[-1])
    rounding = top * (_RELATIVE_ROUNDING if resolution > 0 else _RELATIVE_ROUNDING_EXACT)
    knots, first = _place_knots(z, tail, rounding, resolution, keep_jumps=keep_jumps)
    min_p_value = max(min_p_value, _MIN_P_VALUE)
    upper = np.clip(tail[first] / tail[0], min_p_value, 1.0)
    means = np.maximum.accumulate(moment[first] / tail[first])
    return NullTable(knots, upper, means, top, tail_slope, min_p_value, rounding)


@dataclass(frozen=True, eq=False)
class TiltedSample:
    """Statistics drawn under one tilt.

    Parameters
    ----------
    tilt : float
        t ≥ 0.
    log_constant : float
        An estimate of log E exp(t Z).
    z : float64 array, shape (draws,)
        |Z|, ascending.
    """

    tilt: float
    log_constant: float
    z: NDArray[np.float64]


def draw_tilted_samples(sample_tilted: Callable[[float], Values], *, first_tilt: float) -> list[TiltedSample]:
    """Draw samples under increasing tilts.

    Parameters
    ----------
    sample_tilted : callable
        Maps a tilt to the statistics recorded on a walk under it. A walk continues where the last one ended.
    first_tilt : float
        The first tilt, for a statistic with variance 1.

    Returns
    -------
    list of TiltedSample
        By ascending tilt, until the tail is below 3e-17 or the largest statistic is reached.
    """
    samples: list[TiltedSample] = []
    tilt, log_constant, previous_tilt, previous_mean = first_tilt, 0.0, 0.0, None
    while len(samples) < _MAX_TILTS:
        z = sample_tilted(tilt)
        z = z[int(_BURN_IN_SHARE * len(z)) :]
        mean, spread = float(z.mean()), float(z.std())
        if previous_mean is None:
            previous_mean = mean - tilt
        log_constant += 0.5 * (tilt - previous_tilt) * (mean + previous_mean)
        samples.append(TiltedSample(tilt, log_constant, np.sort(np.abs(z))))
        depth = log_constant - tilt * mean - math.log(max(tilt * spread * 2.5, 1.0))
        if depth < _MIN_LOG_TAIL or spread <= _MIN_RELATIVE_SPREAD * abs(mean):
            break
        previous_tilt, previous_mean = tilt, mean
        tilt += _TILT_STEP_SDS / spread
    return samples


def combine_samples(
    plain_sample: NDArray[np.float64], tilted_samples: list[TiltedSample], ess_ratio: float, *, folded: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate a distribution from plain and tilted permutations.

    Parameters
    ----------
    plain_sample : float64 array, shape (count,)
        Statistics of plain permutations, ≥ 0.
    tilted_samples : list of TiltedSample
        At least one.
    ess_ratio : float
        The effective number of independent statistics per recorded one of a walk, at most 1.
    folded : bool
        Whether the statistics are |Z| of a symmetric Z.

    Returns
    -------
    z : float64 array, shape (total,)
        Statistics, ascending. In the body of the plain ones, one stands for several.
    mass : float64 array, shape (total,)
        The mass of each, with sum 1.
    """
    plain, plain_weights = _group_body(np.sort(plain_sample))
    sizes = np.array([len(sample.z) for sample in tilted_samples])
    tilts = np.array([0.0, *(sample.tilt for sample in tilted_samples)])
    counts = np.array([len(plain_sample), *(sizes * ess_ratio)])
    z = np.concatenate([plain, *(sample.z for sample in tilted_samples)])
    order = np.argsort(z, kind="stable")  # merges the sorted parts
    z = z[order]
    sample_tilts = np.repeat(tilts, [len(plain), *sizes])[order]
    weights = np.concatenate([plain_weights, np.full(sizes.sum(), ess_ratio)])[order]
    starts = _partition_cells(z, sample_tilts)
    hits = np.add.reduceat(weights, starts)
    cell_means = np.add.reduceat(weights * z, starts) / hits
    bias = _compute_bias(tilts, cell_means, folded=folded)
    constants = _solve_log_constants(bias, counts, hits, [sample.log_constant for sample in tilted_samples])
    # log Σ_j N_j exp(t_j z − c_j) is nearly linear in each cell.
    log_sums, shares = _compute_log_sums(bias, np.log(counts) - constants)
    products = tilts[:, None] * cell_means
    slopes = (shares * tilts[:, None] * (np.tanh(products) if folded else 1.0)).sum(axis=0)
    cells = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(z)))
    mass = slopes[cells] * (cell_means[cells] - z)
    mass -= log_sums[cells]
    mass -= mass.max()
    np.exp(mass, out=mass)
    mass *= weights
    mass /= mass.sum()
    return z, mass


def _place_knots(
    z: Values, tail: Values, rounding: float, resolution: float, *, keep_jumps: bool
) -> tuple[Values, Integers]:
    """Return knots, shape (k,), and the index of the first statistic at or above each, shape (k,)."""
    # Two rounding errors below z, and looked up one below: statistics equal up to rounding stay above.
    knots = z - 2.0 * rounding
    first = np.searchsorted(z, knots)
    if resolution > 0:
        n_beyond = _MIN_DRAWS_BEYOND_JUMP if keep_jumps else _MIN_DRAWS_BEYOND_KNOT
        first = first[first <= len(z) - n_beyond]
        depths = -np.log(tail[first] / tail[0]) / resolution
        steps = np.floor(depths)
    else:
        depths = steps = -tail[first]
    chosen = np.flatnonzero(np.diff(steps) > 0.0) + 1
    if keep_jumps:
        jumps = np.flatnonzero(np.diff(depths) > 1.0)
        chosen = np.union1d(chosen, jumps[jumps > 0])
    return np.append(max(float(knots[0]), 0.0), knots[chosen]), np.append(0, first[chosen])


def _partition_cells(z: Values, sample_tilts: Values) -> Integers:
    """Divide ascending statistics into cells with nearly constant exp(t z); return the starts of cells."""
    by_width = np.floor(z * np.maximum.accumulate(sample_tilts) / _MAX_CELL_WIDTH)
    by_count = np.arange(len(z)) // max(len(z) // _N_CELLS, 1)
    return np.append(0, np.flatnonzero((np.diff(by_width) > 0.0) | (np.diff(by_count) > 0)) + 1)


def _group_body(plain: Values) -> tuple[Values, Values]:
    """Let the largest statistic of each small group in the body of ascending ones stand for its group.

    A group is so small that it changes the tail by less than the distance between knots, and upwards.

    Returns
    -------
    z : float64 array, shape (k,)
        Ascending.
    weights : float64 array, shape (k,)
        How many statistics each one stands for.
    """
    n_groups = max(len(plain) - _N_UNGROUPED, 0) // _GROUP_SIZE
    n_grouped = n_groups * _GROUP_SIZE
    z = np.concatenate([plain[_GROUP_SIZE - 1 : n_grouped : _GROUP_SIZE], plain[n_grouped:]])
    weights = np.ones(len(z))
    weights[:n_groups] = _GROUP_SIZE
    return z, weights


def _compute_bias(tilts: Values, z: Values, *, folded: bool) -> Values:
    """Compute t z, or log cosh(t z) without overflow; shape (tilts, cells)."""
    product = tilts[:, None] * z
    return np.asarray(product + np.log1p(np.exp(-2.0 * product)) - math.log(2.0)) if folded else product


def _compute_log_sums(bias: Values, shifts: Values) -> tuple[Values, Values]:
    """Compute log Σ_j exp(bias_j + shift_j) by cell, and the share of each tilt, shape (tilts, cells)."""
    logs = bias + shifts[:, None]
    top = logs.max(axis=0)
    shares = np.exp(logs - top)
    totals = shares.sum(axis=0)
    return top + np.log(totals), shares / totals


def _solve_log_constants(bias: Values, counts: Values, hits: Values, initial: list[float]) -> Values:
    """Minimise Σ_z hits log Σ_j N_j exp(bias_j − c_j) + Σ_j N_j c_j over c, c_0 = 0, by Newton's method."""

    def compute_cost(c: Values) -> tuple[float, Values]:
        """Return the cost, and the share of each tilt in each cell, shape (tilts, cells)."""
        log_sums, shares = _compute_log_sums(bias, np.log(counts) - c)
        return float((hits * log_sums).sum() + (counts * c).sum()), shares

    c = np.array([0.0, *initial])
    value, shares = compute_cost(c)
    for _ in range(_MAX_NEWTON_STEPS):
        expected_hits = shares * hits
        gradient = counts - expected_hits.sum(axis=1)
        # Not expected_hits @ shares.T: the threads of BLAS would change the last bit of the sums.
        hessian = np.diag(expected_hits.sum(axis=1)) - np.einsum("iz,jz->ij", expected_hits, shares)
        hessian[np.diag_indices(len(c))] += 1e-12 * counts
        step = np.concatenate([[0.0], np.linalg.solve(hessian[1:, 1:], gradient[1:])])
        for _ in range(_MAX_STEP_HALVINGS):  # the cost is convex, so a short enough step decreases it
            next_value, next_shares = compute_cost(c - step)
            if next_value <= value:
                break
            step *= 0.5
        else:
            break
        gain = value - next_value
        c, value, shares = c - step, next_value, next_shares
        if gain < _NEWTON_TOLERANCE:
            break
    return c
