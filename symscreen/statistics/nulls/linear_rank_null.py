"""The null distribution of a linear rank statistic S = Σ_i a_i b_i, for features with any ties.

a are scores of the target, and b are the centred mid-ranks of the feature. Without ties all features share
one table (`symscreen.statistics.nulls.linear_rank_table`). With ties the distribution depends on the
pattern: on the sizes of the groups of tied rows, in ascending order. A p-value is then found in one of three
ways.

**Tables by pattern.** With at most 8 rows, or with two values and few rows, each pattern has a table of
its own, enumerated or drawn.

**The untied table, corrected.** Variance, skewness and kurtosis of S over all permutations are known exactly
for each pattern (Pitman 1937). Let x be the standardised statistic, U the untied one, and γ and κ the
differences of skewness and kurtosis between S and U. The expansion of Cornish and Fisher (1938), with U in
place of a normal variable::

    x = u + γ/6 (u² − 1) + κ/24 (u³ − 3u) − γ²/36 (2u³ − 5u)

gives u, and the p-value is P(U ≥ u) from the untied table. So the heavy tails of a and its gross values are
those of the table. If one or two rows dominate a, the sum is conditioned on their ranks, and the correction
is applied to the sum over the other rows, for each pair of groups of ranks.

If a and b both lie on lattices, so does S, with a step h. Then P(S ≥ s) is the corrected tail at s − h/2,
and the opposite tail begins half a step before its own first lattice point. The untied table of a lattice is
interpolated in the same way.

**A bound.** With fewer than 20 rows and no table, where a pattern differs too much from the untied one, where
the ties of both leave few arrangements, or where three rows dominate a, the bound of
`NullTable.compute_tied_sf_bound` remains. It is never too small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.statistics._kernels import seed_stream
from symscreen.statistics.nulls._kernels import fill_combination_sums, fill_permutation_sums
from symscreen.statistics.nulls._tie_kernels import (
    compute_permutation_cumulants,
    fill_tied_p_values,
    find_tie_patterns,
    walk_by_weighted_swaps,
)
from symscreen.statistics.nulls.linear_rank_table import build_linear_rank_table, draw_rotated_sums
from symscreen.statistics.nulls.null_table import build_null_table, combine_samples, draw_tilted_samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values
    from symscreen.screeners.base import Sign
    from symscreen.statistics.nulls.null_table import NullTable
    from symscreen.statistics.ranks.sorted_block import SortedBlock


_MAX_PATTERN_ROWS = 8  # rows up to which every pattern has a table; 128 patterns take a second
_MIN_CORRECTED_ROWS = 20  # rows from which the untied table is corrected
_MAX_TWO_VALUED_ROWS = 60  # rows up to which features with two values have tables
# size of a group below which a feature with two values has a table for any number of rows
_MIN_TWO_VALUED_GROUP = 16
_MAX_ENUMERATED = 200_000  # arrangements of two values
# the largest share of one row in the light rows' sum of squares, with 0, 1 and 2 heavy rows
_MAX_SHARES = (0.1, 0.35, 0.6)
_MIN_STEP = 0.02  # step of a lattice, in standard deviations, from which on it matters
_MAX_STEPS = 1e4  # a lattice with more steps between the smallest and the largest score does not matter
_N_DRAWS, _MAX_DRAWN_VALUES = 200_000, 20_000_000
_MIN_MOVES, _MOVES_PER_ROW, _MAX_MOVES = 40_000, 1_000, 300_000
_MIXING_MOVES_PER_ROW = 3
_Z_OFFSET = 5.0  # tables by pattern start at −5 standard deviations
_PATTERN_RESOLUTION = 0.01  # decrease of the log tail between knots of a table by pattern
_FIRST_TILT = 0.8
_PATTERN_STREAMS = (5, 6, 7)  # streams of random numbers: plain, upper tail, lower tail


@dataclass(frozen=True, eq=False)
class TieReference:
    """What the p-values of tied features are computed from: the scores, divided into heavy and light rows.

    Parameters
    ----------
    heavy_scores : float64 array, shape (k,)
        a of the rows that dominate, minus the mean of the others; k ≤ 2.
    score_sums : float64 array, shape (3,)
        Σ (a − ā)^k over the light rows, k = 2, 3, 4.
    score_groups : float64 array, shape (2, k)
        The distinct sizes of the groups of equal scores, without the largest group, and how often each
        occurs.
    base_excess : float
        The excess kurtosis of the light rows' untied statistic.
    score_step : float
        The step of the scores' lattice; 0 without one.
    table : NullTable
        The table of the light rows' untied statistic.
    table_limits : float64 array, shape (5,)
        Largest drawn statistic, slope, smallest p-value and rounding error of the table, and the largest
        possible statistic.
    spacing : float
        The step of the lattice of the untied statistic in standard deviations; 0 if it does not matter.
    """

    heavy_scores: NDArray[np.float64]
    score_sums: NDArray[np.float64]
    score_groups: NDArray[np.float64]
    base_excess: float
    score_step: float
    table: NullTable
    table_limits: NDArray[np.float64]
    spacing: float


@dataclass(frozen=True, eq=False)
class LinearRankNull:
    """P-values of a linear rank statistic for one target.

    Parameters
    ----------
    scores : float64 array, shape (n,)
        a, not constant.
    seed : int
        The seed of the random permutations.
    table : NullTable
        The distribution of the standardised statistic of untied features.
    """

    scores: NDArray[np.float64]
    seed: int
    table: NullTable

    @lockfree_cached_property
    def deviation(self) -> float:
        """The standard deviation of Σ a_i · 2 b_i of an untied feature."""
        n, centered = len(self.scores), self.scores - self.scores.mean()
        return math.sqrt(float((centered * centered).sum()) * n * (n + 1.0) / 3.0)

    @lockfree_cached_property
    def _log_score_ties(self) -> float:
        """The log of the number of permutations that leave the scores as they are."""
        _, sizes = np.unique(self.scores, return_counts=True)
        return sum(math.lgamma(size + 1.0) for size in sizes.tolist())

    @lockfree_cached_property
    def tie_reference(self) -> TieReference | None:
        """What p-values of tied features are computed from; None if only a bound is known."""
        return _build_tie_reference(self.scores, self.table, self.seed)

    def compute_p_values(
        self, ordered: SortedBlock, z: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block.

        Parameters
        ----------
        ordered : SortedBlock
            m features, none of them constant.
        z : float64 array, shape (m,)
            Their statistics, in standard deviations of the statistic of an untied feature.
        sign : {"free", "positive"}
            Two-sided, or P(S ≥ s).

        Returns
        -------
        float64 array, shape (m,)
            p-values in (0, 1].
        """
        p_values = self.table.compute_p_values(z, ordered.tied, sign)
        features = np.flatnonzero(ordered.tied)
        if len(features):
            found = self._compute_tied_p_values(ordered, features, z[features], sign)
            p_values[features] = np.fmin(p_values[features], found)
        return p_values

    def find_bounds(self, ordered: SortedBlock) -> NDArray[np.bool_]:
        """Find the features of a block whose p-values are upper bounds.

        Parameters
        ----------
        ordered : SortedBlock
            m features, none of them constant.

        Returns
        -------
        bool array, shape (m,)
        """
        is_bound = ordered.tied.copy()
        features = np.flatnonzero(is_bound)
        if len(features):
            found = self._compute_tied_p_values(ordered, features, np.zeros(len(features)), "free")
            is_bound[features] = np.isnan(found)
        return is_bound

    def _compute_tied_p_values(
        self, ordered: SortedBlock, features: Integers, z: Values, sign: Sign
    ) -> Values:
        """Compute p-values of features with ties, shape (k,); NaN where only the bound is known."""
        n, is_two_sided = len(self.scores), sign == "free"
        is_mirrored = (z < 0.0) & is_two_sided
        statistics = np.where(is_mirrored, -z, z) * self.deviation
        patterns = np.empty(len(features), dtype=np.int64)
        find_tie_patterns(
            ordered.order, ordered.values, is_mirrored, features,
            _MAX_PATTERN_ROWS, _MAX_TWO_VALUED_ROWS, _MIN_TWO_VALUED_GROUP, patterns,
        )  # fmt: skip
        p_values = np.full(len(features), np.nan)
        for pattern in np.unique(patterns[patterns >= 0]).tolist():
            chosen = np.flatnonzero(patterns == pattern)
            tables = _build_pattern_tables(self.scores.tobytes(), _decode_pattern(pattern, n), self.seed)
            p_values[chosen] = tables.compute_p_values(statistics[chosen], is_two_sided=is_two_sided)
        others = np.flatnonzero(patterns < 0)
        reference = self.tie_reference if len(others) and n >= _MIN_CORRECTED_ROWS else None
        if reference is not None:
            found = np.empty(len(others))
            table = reference.table
            fill_tied_p_values(
                ordered.order, ordered.values, is_mirrored[others], features[others],
                statistics[others],
                reference.heavy_scores, reference.score_sums, reference.score_groups,
                reference.base_excess, reference.score_step,
                reference.table_limits, table.knots, table.tail_probabilities, table.cell_starts,
                reference.spacing, self._log_score_ties, is_two_sided, found,
            )  # fmt: skip
            p_values[others] = found
        return p_values


def build_linear_rank_null(scores: NDArray[np.float64], seed: int) -> LinearRankNull:
    """Build the null distribution of Σ a_i b_i.

    Parameters
    ----------
    scores : float64 array, shape (n,)
        a, not constant.
    seed : int
        Not negative.

    Returns
    -------
    LinearRankNull
    """
    return LinearRankNull(scores, seed, build_linear_rank_table(scores, seed))


def find_lattice_step(values: NDArray[np.float64]) -> float:
    """Find the largest h such that all differences of values are multiples of h.

    Parameters
    ----------
    values : float64 array, shape (n,)
        Not constant.

    Returns
    -------
    float
        0 if h is less than 10⁻⁴ of the range.

    Examples
    --------
    >>> find_lattice_step(np.array([0.5, 2.0, 3.5, 5.0])), find_lattice_step(np.array([0.0, 1.0, 2.0**0.5]))
    (1.5, 0.0)
    """
    differences = np.unique(values)
    differences = differences[1:] - differences[0]
    width = float(differences[-1])
    smallest, rounding = width / _MAX_STEPS, width * 1e-9
    step = float(differences[0])
    for difference in differences.tolist():
        remainder = difference
        while remainder > rounding:  # the algorithm of Euclid
            step, remainder = remainder, math.fmod(step, remainder)
            if step - remainder <= rounding:
                remainder = 0.0
        if step < smallest:
            return 0.0
    return width / round(width / step)


def _build_tie_reference(scores: Values, table: NullTable, seed: int) -> TieReference | None:
    """Choose the rows whose ranks are conditioned on, and build the table of the other rows."""
    order = np.argsort(-np.abs(scores - np.median(scores)), kind="stable")
    for n_heavy, max_share in enumerate(_MAX_SHARES):
        light = scores[order[n_heavy:]]
        center = light.mean()
        light = light - center
        squares = light * light
        if 0.0 < float(squares.max()) <= max_share * float(squares.sum()):
            break
    else:
        return None
    if n_heavy:
        table = build_linear_rank_table(light, seed)
    m = len(light)
    ranks = 2.0 * np.arange(m) - (m - 1.0)
    score_sums, rank_sums = (np.array([float((part**k).sum()) for k in (2, 3, 4)]) for part in (light, ranks))
    variance, _, base_excess = compute_permutation_cumulants(score_sums, rank_sums, m)
    deviation = math.sqrt(variance)
    top = float((np.sort(light) * ranks).sum()) / deviation
    step = find_lattice_step(scores)
    spacing = 2.0 * step / deviation
    limits = [table.max_statistic, table.tail_slope, table.min_p_value, table.rounding_error, top]
    return TieReference(
        scores[order[:n_heavy]] - center,
        score_sums,
        _count_score_groups(scores),
        base_excess,
        step,
        table,
        np.array(limits),
        spacing if spacing > _MIN_STEP else 0.0,
    )


def _count_score_groups(scores: Values) -> Values:
    """Count the groups of equal scores by their size, without the largest group, shape (2, k)."""
    _, sizes = np.unique(scores, return_counts=True)
    return np.array(np.unique(np.sort(sizes)[:-1], return_counts=True), dtype=np.float64)


def _decode_pattern(pattern: int, n: int) -> tuple[int, ...]:
    """Return the sizes of the groups of tied rows from the code of a pattern."""
    if n > _MAX_PATTERN_ROWS:
        return (pattern, n - pattern)
    starts = [row for row in range(n) if pattern >> row & 1]
    return tuple(np.diff([*starts, n]).tolist())


@dataclass(frozen=True, eq=False)
class _PatternTables:
    """The distribution of Σ a_i · 2 b_i for one pattern of ties.

    Parameters
    ----------
    deviation : float
        Its standard deviation.
    upper, lower : NullTable
        The upper tails of z + 5 and of −z + 5, with z the standardised statistic.
    """

    deviation: float
    upper: NullTable
    lower: NullTable

    def compute_p_values(self, statistics: Values, *, is_two_sided: bool) -> Values:
        """Compute P(S ≥ s), or P(|S| ≥ s) for s ≥ 0; shape (m,)."""
        z = statistics / self.deviation
        p_values = self.upper.compute_exact_sf(_shift(z))
        if is_two_sided:
            p_values += self.lower.compute_exact_sf(_shift(z))
        p_values = np.maximum(p_values, self.upper.min_p_value)
        return np.asarray(np.minimum(p_values, 1.0))


@lru_cache(maxsize=2048)
def _build_pattern_tables(score_bytes: bytes, sizes: tuple[int, ...], seed: int) -> _PatternTables:
    """Enumerate or draw the distribution of one pattern of ties, from the sizes of its groups."""
    scores = np.frombuffer(score_bytes)
    n = len(scores)
    ends = np.cumsum(sizes)
    ranks = np.repeat(2.0 * ends - np.array(sizes) - n, sizes)
    centered = scores - scores.mean()
    deviation = math.sqrt(float((centered * centered).sum()) * float((ranks * ranks).sum()) / (n - 1.0))
    centered /= deviation
    log_share = sum(math.lgamma(size + 1.0) for size in sizes) - math.lgamma(n + 1.0)
    min_p_value = math.exp(max(log_share, -690.0))
    z = _enumerate_statistics(centered, ranks, sizes)
    if z is not None:
        upper, lower = (
            build_null_table(np.sort(_shift(part)), np.ones(len(z)), min_p_value=min_p_value)
            for part in (z, -z)
        )
        return _PatternTables(deviation, upper, lower)
    plain_stream, *tail_streams = _PATTERN_STREAMS
    n_draws = max(min(_N_DRAWS, _MAX_DRAWN_VALUES // n), 1)
    plain = draw_rotated_sums(centered, ranks, n_draws, (seed, plain_stream))
    upper, lower = (
        _build_tail_table(sign * centered, ranks, sign * plain, min_p_value, (seed, stream))
        for sign, stream in zip((1.0, -1.0), tail_streams, strict=True)
    )
    return _PatternTables(deviation, upper, lower)


def _enumerate_statistics(scores: Values, ranks: Values, sizes: tuple[int, ...]) -> Values | None:
    """Return Σ a_i b_i of all permutations, or all arrangements of two values; None if they are too many."""
    n = len(scores)
    if len(sizes) == 2 and math.comb(n, sizes[0]) <= _MAX_ENUMERATED:
        group = 0 if sizes[0] <= sizes[1] else 1
        z = np.empty(math.comb(n, sizes[group]))
        fill_combination_sums(scores, sizes[group], z)
        # the ranks of the other group are a constant, and the scores have the sum 0
        return np.asarray(z * ((ranks[-1] - ranks[0]) * (1.0 if group else -1.0)))
    if n <= _MAX_PATTERN_ROWS:
        z = np.empty(math.factorial(n))
        fill_permutation_sums(scores, ranks, z)
        return z
    return None


def _shift(z: Values) -> Values:
    """Shift standardised statistics by the origin of the tables."""
    return np.maximum(z + _Z_OFFSET, 0.0)


def _build_tail_table(
    scores: Values, ranks: Values, plain: Values, min_p_value: float, seed_key: tuple[int, ...]
) -> NullTable:
    """Build the table of the upper tail from plain draws and tilted walks."""
    n = len(scores)
    state, order = seed_stream(*seed_key), np.sort(ranks)[np.argsort(np.argsort(scores, kind="stable"))]
    thinning = max(n // 2, 8)
    n_moves = min(_MIN_MOVES + _MOVES_PER_ROW * n, _MAX_MOVES)

    def sample_tilted(tilt: float) -> Values:
        """Walk on under a tilt; return the recorded z + 5."""
        z = np.empty(max(n_moves // thinning, 200))
        walk_by_weighted_swaps(scores, order, tilt, thinning, state, z)
        return _shift(z)

    tilted_samples = draw_tilted_samples(sample_tilted, first_tilt=_FIRST_TILT)
    ess_ratio = min(thinning / (_MIXING_MOVES_PER_ROW * n), 1.0)
    z, mass = combine_samples(_shift(plain), tilted_samples, ess_ratio, folded=False)
    return build_null_table(
        z,
        mass,
        tail_slope=tilted_samples[-1].tilt,
        min_p_value=min_p_value,
        resolution=_PATTERN_RESOLUTION,
        keep_jumps=True,
    )
