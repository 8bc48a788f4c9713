"""What a null distribution is: p-values of features that have nothing to do with the response.

The null distribution of |z| as a table: a look-up gives a p-value, another bounds that of a tied feature.

The table's knots are statistics that were drawn or enumerated, placed where the tail has fallen by a quarter
of a percent: every scale of the distribution has its own resolution, however far apart the scales. Between
two knots the tail is that of the lower, which is never too small.

A feature with ties has the mean of its statistic over all ways to break them, so under independence it is a
conditional expectation of that of an untied feature Y. Hence E f(X) ≤ E f(Y) for every convex f, and with
f(x) = (|x| − c)₊ the bound P(|X| ≥ s) ≤ E(|Y| − c)₊ / (s − c) holds for every c < s. Its least value is
P(|Y| ≥ q) where E(|Y| given |Y| ≥ q) = s (Hardy and Littlewood 1930): never below the truth, whatever the
ties, and about e times the untied p-value far out in a normal tail.

The tail of a null distribution, to any depth: walks under ever stronger tilts, joined with plain draws.

At tilt t permutations come with a chance in proportion to exp(t · Z), so that a few thousand of them tell of
tails that plain permutations would meet once in 10¹⁵. With N_j statistics drawn at tilt t_j and c_j the
unknown constants, the likeliest distribution has at each statistic z that was drawn, at whatever tilt, the
mass::

    w(z) = 1 / Σ_j N_j exp(t_j z − c_j),    exp(c_j) = Σ_z w(z) exp(t_j z)

(Ferrenberg and Swendsen 1989; without a grid: Shirts and Chodera 2008). Plain permutations are those at tilt
0 and decide where they are many. No grid lies under it, for one gross outlier parts the distribution into
clusters 10⁻⁹ of its range wide, each with a shape and a tail of its own. Where Z is symmetric |z| is kept,
and cosh(t z) stands for exp(t z).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values
    from symscreen.screeners.base import Sign
    from symscreen.statistics.ranks.sorted_block import SortedBlock


__all__ = [
    "LOG_TAIL_RESOLUTION",
    "NullDistribution",
    "NullTable",
    "TiltedSample",
    "build_null_table",
    "combine_samples",
    "draw_tilted_samples",
]


class NullDistribution(Protocol):
    """P-values of one response's features under independence.

    A feature's p-value is a function of that feature, the response and the seed alone, whatever block it
    comes in. Under a free sign it is two-sided, and the same for mirrored ranks; under a positive one it is
    one-sided, small where the feature rises with the response. Of two features with the same ties the better
    statistic never has the larger p-value.
    """

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block.

        Parameters
        ----------
        ordered : Ordered
            m features over the response's n rows, none constant.
        statistics : float64 array, shape (m,)
            What the screener's `statistic` gave for them.
        sign : {"free", "positive"}
            Two-sided, or one-sided in the good direction.

        Returns
        -------
        float64 array, shape (m,)
            In (0, 1]; never 0, never NaN.
        """


LOG_TAIL_RESOLUTION = 0.0024  # by which the log of the tail falls from knot to knot: 16,000 knots to 1e-17
# statistics as close as this share of the largest are one: ties of z are broken by rounding alone
_RELATIVE_ROUNDING, _RELATIVE_ROUNDING_EXACT = 2.0**-42, 2.0**-47
_MIN_P_VALUE = 1e-300
_MIN_DRAWS_BEYOND_KNOT = 256  # drawn statistics beyond the last knot


@dataclass(frozen=True, eq=False)
class NullTable:
    """P(|Z| ≥ z) at knots, read downwards: never less than the table's own tail.

    Parameters
    ----------
    knots : float64 array, shape (k,)
        Ascending from 0, each a little below the statistics that it stands for.
    upper : float64 array, shape (k,)
        P(|Z| ≥ knot), from 1 down, > 0.
    means : float64 array, shape (k,)
        E(|Z| given |Z| ≥ knot), ascending.
    top : float
        The largest statistic seen.
    slope : float
        Beyond it the tail falls as exp(−slope · z).
    least : float
        No p-value is below it; > 0.
    rounding : float
        How far rounding may have moved a statistic.

    Examples
    --------
    >>> table = build_null_table(np.array([0.0, 1.0, 1.0, 2.5]), np.ones(4))
    >>> table.tail(np.array([-1.0, 0.0, 2.0, 2.5, 7.0])).tolist()
    [0.75, 1.0, 0.75, 0.25, 0.25]
    """

    knots: NDArray[np.float64]
    tail_probabilities: NDArray[np.float64]
    tail_means: NDArray[np.float64]
    max_statistic: float
    tail_slope: float
    min_p_value: float
    rounding_error: float

    def compute_sf(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
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
        magnitude = np.abs(z) - self.rounding_error
        knot = np.maximum(np.searchsorted(self.knots, magnitude, side="right") - 1, 0)
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
            In [0, 1]; 0 at the largest statistic.
        """
        following = np.searchsorted(self.knots, np.abs(z) + self.rounding_error, side="right")
        return np.asarray(np.append(self.tail_probabilities, 0.0)[following])

    def compute_tied_sf_bound(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
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
        magnitude = np.abs(z) - self.rounding_error
        # the first knot whose tail mean exceeds |z| lies above q: the one before bounds from above
        knot = np.maximum(np.searchsorted(self.tail_means, magnitude, side="right") - 1, 0)
        further = self.tail_slope * np.maximum(magnitude - self.max_statistic, 0.0)
        return np.asarray(
            np.maximum(
                self.tail_probabilities[knot] * np.exp(-np.maximum(further - 1.0, 0.0)), self.min_p_value
            )
        )

    def compute_p_values(
        self, z: NDArray[np.float64], tied: NDArray[np.bool_], sign: Sign
    ) -> NDArray[np.float64]:
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
        both = self.compute_sf(z)
        if tied.any():
            both[tied] = self.compute_tied_sf_bound(z[tied])
        if sign == "free":
            return both
        # P(Z ≥ z) = 1 − P(Z > −z) where z ≤ 0, but for rounding
        other = 1.0 - 0.5 * self.compute_sf_lower_bound(z)
        above = z > self.rounding_error
        # for c ≥ 0 the bound of one side is half of that of both; below it says nothing
        silent = tied & (~above | (both >= 1.0))
        return np.where(silent, 1.0, np.where(above, 0.5 * both, other))


def build_null_table(
    z: NDArray[np.float64],
    mass: NDArray[np.float64],
    *,
    tail_slope: float = 0.0,
    min_p_value: float = _MIN_P_VALUE,
    resolution: float = 0.0,
) -> NullTable:
    """Sum the mass of statistics from the far end, and keep it at knots.

    Parameters
    ----------
    z : float64 array, shape (count,)
        |Z|, ascending.
    mass : float64 array, shape (count,)
        Of each; not negative, of any sum > 0.
    slope : float
        How the tail falls beyond the last: as exp(−slope · z).
    least : float
        No tail is below it.
    resolution : float
        By which the log of the tail falls from knot to knot, at least. At 0 every statistic is a knot and the
        table is exact; else the last few statistics, of a sample, are none.

    Returns
    -------
    NullTable
    """
    tail = np.cumsum(mass[::-1])[::-1]
    moment = np.cumsum((mass * z)[::-1])[::-1]
    top = float(z[-1])
    rounding = top * (_RELATIVE_ROUNDING if resolution > 0 else _RELATIVE_ROUNDING_EXACT)
    knots, first = _place_knots(
        z, tail, math.exp(-resolution), rounding, _MIN_DRAWS_BEYOND_KNOT if resolution > 0 else 0
    )
    min_p_value = max(min_p_value, _MIN_P_VALUE)
    upper = np.clip(tail[first] / tail[0], min_p_value, 1.0)
    means = np.maximum.accumulate(moment[first] / tail[first])
    return NullTable(knots, upper, means, top, tail_slope, min_p_value, rounding)


@compile_kernel
def _place_knots(
    z: Values, tail: Values, max_tail_ratio: float, rounding_error: float, n_spared: int
) -> tuple[Values, Integers]:
    """Return knots and the first statistic at or above each."""
    knots = np.empty(z.size + 1)
    first = np.empty(z.size + 1, dtype=np.int64)
    knots[0], first[0] = 0.0, 0
    found = 1
    start = np.int64(0)
    for i in range(z.size):
        # two roundings below, and looked up one below: all that rounding parted from z stays above
        knot = z[i] - 2.0 * rounding_error
        while z[start] < knot:
            start += 1
        if start > z.size - n_spared:
            break
        last = tail[first[found - 1]]
        if tail[start] < last and tail[start] <= last * max_tail_ratio:
            knots[found], first[found] = knot, start
            found += 1
    return knots[:found].copy(), first[:found].copy()


_MIN_LOG_TAIL = -38.0  # log of the tail where the tilts end: about 3e-17
_MAX_TILTS = 40
_TILT_STEP_SDS = 1.0  # neighbouring tilts move the mean by about so many standard deviations
_BURN_IN_SHARE = 0.15  # of a walk, which is not counted
_MIN_RELATIVE_SPREAD = 1e-12  # a walk whose spread is this share of its mean stands on the largest statistic
_N_CELLS, _MAX_CELL_WIDTH = (
    1024,
    0.05,
)  # for the constants: of equal counts, and no wider than so much of t · z
_INTERPOLATION_RUN, _INTERPOLATION_TOLERANCE = (
    64,
    0.02,
)  # statistics whose log weights lie on a line, if they differ by no more
_MAX_NEWTON_STEPS, _MAX_STEP_HALVINGS, _NEWTON_TOLERANCE = (
    100,
    20,
    1e-4,
)  # the last of the log likelihood, which is known to about 1
_NEGLIGIBLE_EXPONENT = 40.0  # exp(−40) of a sum is less than its rounding


@dataclass(frozen=True, eq=False)
class TiltedSample:
    """Statistics drawn under one tilt.

    Parameters
    ----------
    tilt : float
        t ≥ 0.
    constant : float
        log E exp(t Z), as far as known.
    z : float64 array, shape (notes,)
        |Z|, ascending.
    """

    tilt: float
    log_constant: float
    z: NDArray[np.float64]


def draw_tilted_samples(sample_tilted: Callable[[float], Values], *, first_tilt: float) -> list[TiltedSample]:
    """Walk under ever stronger tilts.

    Parameters
    ----------
    walk : callable
        A tilt to the statistics noted on a walk under it, which goes on where the last one ended.
    first : float
        The first tilt; the statistic has variance 1.

    Returns
    -------
    list of Tilted
        By ascending tilt, until the tail is below 3e-17 or the largest statistic is reached.
    """
    found: list[TiltedSample] = []
    tilt, constant, before, mean_before = first_tilt, 0.0, 0.0, None
    while len(found) < _MAX_TILTS:
        z = sample_tilted(tilt)
        z = z[int(_BURN_IN_SHARE * len(z)) :]
        mean, spread = float(z.mean()), float(z.std())
        if mean_before is None:
            mean_before = mean - tilt
        constant += 0.5 * (tilt - before) * (mean + mean_before)
        found.append(TiltedSample(tilt, constant, np.sort(np.abs(z))))
        depth = constant - tilt * mean - math.log(max(tilt * spread * 2.5, 1.0))
        if depth < _MIN_LOG_TAIL or spread <= _MIN_RELATIVE_SPREAD * abs(mean):
            break
        before, mean_before = tilt, mean
        tilt += _TILT_STEP_SDS / spread
    return found


def combine_samples(
    plain_sample: NDArray[np.float64], tilted_samples: list[TiltedSample], ess_ratio: float, *, folded: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Put plain permutations and tilted walks together.

    Parameters
    ----------
    plain : float64 array, shape (count,)
        Statistics without a tilt, ≥ 0.
    walks : list of Tilted
        At least one.
    worth : float
        How many independent statistics one of a walk is worth, at most 1.
    folded : bool
        Whether they are |Z| of a symmetric Z.

    Returns
    -------
    z : float64 array, shape (all,)
        All statistics, ascending.
    mass : float64 array, shape (all,)
        Of each, of sum 1.
    """
    parts = [np.sort(plain_sample), *(walk.z for walk in tilted_samples)]
    sizes = np.array([len(part) for part in parts])
    tilts = np.array([0.0, *(walk.tilt for walk in tilted_samples)])
    counts = sizes * np.where(tilts > 0, ess_ratio, 1.0)
    pooled = np.concatenate(parts)
    order = np.argsort(pooled, kind="stable")  # which merges what is sorted already
    z = pooled[order]
    own = np.repeat(tilts, sizes)[order]
    each = np.where(own > 0, ess_ratio, 1.0)
    starts = _partition_cells(z, own, max(len(z) // _N_CELLS, 1))
    hits = np.add.reduceat(each, starts)
    at = np.add.reduceat(each * z, starts) / hits
    constants = _solve_log_constants(
        _compute_bias(tilts, at, folded=folded), counts, hits, [walk.log_constant for walk in tilted_samples]
    )
    mass = np.empty(len(z))
    _fill_log_sums(z, tilts, np.log(counts) - constants, folded, mass)
    mass = each * np.exp(mass.min() - mass)
    return z, np.asarray(mass / mass.sum())


def _compute_bias(tilts: Values, z: Values, *, folded: bool) -> Values:
    """Return t z, or log cosh(t z) so that it does not overflow."""
    product = tilts[:, None] * z
    return np.asarray(product + np.log1p(np.exp(-2.0 * product)) - math.log(2.0)) if folded else product


def _solve_log_constants(bias: Values, counts: Values, hits: Values, initial: list[float]) -> Values:
    """Solve for c, c_0 = 0: the least of Σ_z hits log Σ_j N_j exp(bias_j − c_j) + Σ_j N_j c_j, by Newton."""

    def compute_cost(c: Values) -> tuple[float, Values]:
        logs = bias + (np.log(counts) - c)[:, None]
        top = logs.max(axis=0)
        shares = np.exp(logs - top)
        total = shares.sum(axis=0)
        return float((hits * (top + np.log(total))).sum() + (counts * c).sum()), shares / total

    c = np.array([0.0, *initial])
    value, shares = compute_cost(c)
    for _ in range(_MAX_NEWTON_STEPS):
        met = shares * hits
        slope = counts - met.sum(axis=1)
        # not met @ shares.T: BLAS may split sums by its threads, and the last bit would follow their number
        curve = np.diag(met.sum(axis=1)) - np.einsum("iz,jz->ij", met, shares)
        curve[np.diag_indices(len(c))] += 1e-12 * counts
        step = np.concatenate([[0.0], np.linalg.solve(curve[1:, 1:], slope[1:])])
        for _ in range(_MAX_STEP_HALVINGS):  # the cost is convex: some part of a step lessens it
            there, shares_there = compute_cost(c - step)
            if there <= value:
                break
            step *= 0.5
        else:
            break
        gain = value - there
        c, value, shares = c - step, there, shares_there
        if gain < _NEWTON_TOLERANCE:
            break
    return c


@compile_kernel
def _partition_cells(z: Values, sample_tilts: Values, max_cell_size: int) -> Integers:
    """Part ascending statistics so that within a cell exp(t z) hardly changes for any tilt met in it."""
    starts = np.empty(z.size, dtype=np.int64)
    starts[0] = 0
    cells = 1
    strongest = sample_tilts[0]
    for i in range(1, z.size):
        first = starts[cells - 1]
        strongest = max(strongest, sample_tilts[i])
        if i - first >= max_cell_size or strongest * (z[i] - z[first]) > _MAX_CELL_WIDTH:
            starts[cells] = i
            cells += 1
            strongest = sample_tilts[i]
    return starts[:cells].copy()


@compile_kernel
def _compute_log_sum(z: float, tilts: Values, shifts: Values, folded: bool) -> float:
    """Return log Σ_j exp(t_j z + shift_j), or with cosh."""
    top = -np.inf
    for j in range(tilts.size):
        top = max(top, tilts[j] * z + shifts[j])
    total = 0.0
    for j in range(tilts.size):
        product = tilts[j] * z
        under = product + shifts[j] - top
        if under > -_NEGLIGIBLE_EXPONENT:
            mirrored = math.exp(-2.0 * product) if folded and product < _NEGLIGIBLE_EXPONENT else 0.0
            total += math.exp(under) * ((1.0 + mirrored) * 0.5 if folded else 1.0)
    return top + math.log(total)


@compile_kernel
def _fill_log_sums(z: Values, tilts: Values, shifts: Values, folded: bool, out: Values) -> None:
    last = z.size - 1
    there = _compute_log_sum(z[0], tilts, shifts, folded)
    for start in range(0, z.size, _INTERPOLATION_RUN):
        end = min(start + _INTERPOLATION_RUN, last)
        here, there = there, _compute_log_sum(z[end], tilts, shifts, folded)
        straight = abs(there - here) <= _INTERPOLATION_TOLERANCE
        slope = (there - here) / (z[end] - z[start]) if z[end] > z[start] else 0.0
        for i in range(start, min(start + _INTERPOLATION_RUN, z.size)):
            if straight:
                out[i] = here + slope * (z[i] - z[start])
            else:
                out[i] = _compute_log_sum(z[i], tilts, shifts, folded)
