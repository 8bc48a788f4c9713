"""The null distribution of Kendall's τ-b, for features and targets with any ties.

S = C − D is the number of concordant minus that of discordant pairs. Let m_1, m_2, … be the sizes of the
groups of tied rows. If only the feature, or only the target, has ties, then S is the largest possible S minus
twice the number of inversions of a sequence with repeated values. Its generating function over all orders is
a q-multinomial coefficient (MacMahon 1913)::

    ∏_{i ≤ n} [i]_q / ∏_g ∏_{i ≤ m_g} [i]_q,   [i]_q = 1 + q + … + q^(i−1)

**Exact.** Without ties up to 60 rows, and with ties in one of both up to 20 rows, the tail is summed.

**Expansion.** The logarithm of the generating function has the cumulants of inversions. With Bernoulli's
numbers B::

    κ_2k = B_2k/(2k) · (Σ_{i ≤ n} (i^2k − 1) − Σ_g Σ_{i ≤ m_g} (i^2k − 1))

The standardised statistic is mapped to a normal one by the expansion of Cornish and Fisher to the sixth
cumulant (Hill and Davis 1968). It is exact to a few percent at p = 0.001 from 20 rows, and too large further
out. With ties in both, the variance is exact (Kendall 1970, section 4.4). The fourth and sixth cumulants are
the sums of those with ties in one, minus those without ties.

**Linear rank statistics.** If the feature or the target has only two values, n·S is Σ a_i b_i of doubled and
centred mid-ranks. Where the tail is not summed, `linear_rank_null` has its distribution, or a bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.statistics.inference.p_value_counts import MIN_P_VALUE
from symscreen.statistics.nulls._kernels import fill_inversion_tails, sum_powers, sum_tie_terms
from symscreen.statistics.nulls.linear_rank_null import build_linear_rank_null

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values
    from symscreen.screeners.base import Sign
    from symscreen.statistics.nulls.linear_rank_null import LinearRankNull
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import SortedValues


_MAX_EXACT_ROWS = 60  # rows up to which features without ties have exact p-values
# number of rows up to which features have exact p-values with ties in the feature or the target
_MAX_EXACT_TIED_ROWS = 20


class TieSums(NamedTuple):
    """Sums over the groups of t tied rows of each of m features, each of shape (m,): see `sum_tie_terms`."""

    pairs: Values  # t(t−1)
    variance_terms: Values  # t(t−1)(2t+5)
    triples: Values  # t(t−1)(t−2)
    fourth_powers: Values  # Σ_{i ≤ t} i⁴
    sixth_powers: Values  # Σ_{i ≤ t} i⁶
    log_permutations: Values  # log t!
    n_groups: Values  # 1

    def take(self, features: Integers | Flags) -> TieSums:
        """Return the sums of some features."""
        return TieSums(*(each[features] for each in self))


@dataclass(frozen=True, eq=False)
class KendallNull:
    """P-values of τ-b for one target; implements `NullDistribution` of `null_table`.

    Parameters
    ----------
    target : SortedValues
        The target, with n rows.
    seed : int
        The seed of the random permutations that features or targets with two values need.
    """

    target: SortedValues
    seed: int

    @lockfree_cached_property
    def _target_ties(self) -> TieSums:
        """The sums of the target, each of shape (1,)."""
        ranks = self.target.doubled_ranks[None].astype(np.int32)
        return _sum_ties(np.arange(self.target.n, dtype=np.int32)[None], ranks)

    @lockfree_cached_property
    def _rank_null(self) -> LinearRankNull:
        """The null distribution of Σ a_i b_i, for two values."""
        return build_linear_rank_null(self.target.doubled_ranks.astype(np.float64), self.seed)

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block."""
        ties = _sum_ties(ordered.order, ordered.doubled_ranks)
        n, pairs = self.target.n, self.target.n * (self.target.n - 1.0)
        scores = np.rint(statistics * np.sqrt((pairs - ties.pairs) * (pairs - self._target_ties.pairs)) / 2.0)
        p_values = np.empty(len(scores))
        is_exact, is_linear = self._find_exact(ties), self._find_linear(ties)
        chosen = np.flatnonzero(is_exact)
        if len(chosen):
            p_values[chosen] = self._sum_exact_p_values(ordered.take(chosen), scores[chosen], sign)
        chosen = np.flatnonzero(is_linear)
        if len(chosen):
            z = n * scores[chosen] / self._rank_null.deviation
            p_values[chosen] = self._rank_null.compute_p_values(ordered.take(chosen), z, sign)
        chosen = np.flatnonzero(~is_exact & ~is_linear)
        if len(chosen):
            size = np.abs(scores[chosen]) if sign == "free" else scores[chosen]
            tails = _compute_tails(n, ties.take(chosen), self._target_ties, size)
            p_values[chosen] = (2.0 if sign == "free" else 1.0) * tails
        return np.clip(p_values, MIN_P_VALUE, 1.0)

    def find_bounds(self, ordered: SortedBlock) -> NDArray[np.bool_]:
        """Find the features whose p-values are upper bounds, shape (m,)."""
        chosen = np.flatnonzero(self._find_linear(_sum_ties(ordered.order, ordered.doubled_ranks)))
        is_bound = np.zeros(len(ordered.values), dtype=np.bool_)
        if len(chosen):
            is_bound[chosen] = self._rank_null.find_bounds(ordered.take(chosen))
        return is_bound

    def _find_exact(self, ties: TieSums) -> Flags:
        """Find the features whose tails are summed, shape (m,)."""
        is_untied, n = ties.n_groups == self.target.n, self.target.n
        if not self.target.is_untied:
            return np.asarray(is_untied & (n <= _MAX_EXACT_TIED_ROWS))
        return np.asarray(is_untied & (n <= _MAX_EXACT_ROWS)) | (n <= _MAX_EXACT_TIED_ROWS)

    def _find_linear(self, ties: TieSums) -> Flags:
        """Find the features whose p-values are those of a linear rank statistic, shape (m,)."""
        has_two = (ties.n_groups == 2.0) | (self._target_ties.n_groups == 2.0)
        return np.asarray(has_two & ~self._find_exact(ties))

    def _sum_exact_p_values(self, ordered: SortedBlock, scores: Values, sign: Sign) -> Values:
        """Sum the tails of features if they, or the target, have no ties; shape (m,)."""
        n, size = self.target.n, np.abs(scores)
        if self.target.is_untied and not ordered.tied.any():
            cdf = _compute_inversion_cdf(n)
            inversions = np.rint((n * (n - 1) // 2 - size) / 2.0).astype(np.int64)
            tails, opposite = cdf[inversions], np.where(inversions > 0, cdf[inversions - 1], 0.0)
        else:
            tails, opposite = np.empty(len(size)), np.empty(len(size))
            sizes = self.target.tie_group_sizes.astype(np.float64)
            fill_inversion_tails(ordered.order, ordered.doubled_ranks, sizes, size, tails, opposite)
        return 2.0 * tails if sign == "free" else np.where(scores >= 0.0, tails, 1.0 - opposite)


def build_kendall_null(target: SortedValues, seed: int) -> KendallNull:
    """Build the null distribution of Kendall's τ-b for a target.

    Parameters
    ----------
    target : SortedValues
        The target.
    seed : int
        The seed of the random permutations that features or targets with two values need, not negative.

    Returns
    -------
    KendallNull
    """
    return KendallNull(target, seed)


def _sum_ties(order: Rows, doubled_ranks: Rows) -> TieSums:
    """Compute the sums of features from the order and the ranks of their rows, both of shape (m, n)."""
    sums = np.zeros((len(order), len(TieSums._fields)))
    sum_tie_terms(order, doubled_ranks, sums)
    return TieSums(*sums.T)


def _compute_tails(n: int, ties: TieSums, target_ties: TieSums, scores: Values) -> Values:
    """Compute P(S ≥ s) by the expansion, shape (m,)."""
    from scipy.special import ndtr  # imported here to keep start-up fast

    pairs = n * (n - 1.0)
    # The variance of S under ties in both: Kendall 1970, Rank Correlation Methods, section 4.4.
    variance = (pairs * (2.0 * n + 5.0) - ties.variance_terms - target_ties.variance_terms) / 18.0
    variance += ties.pairs * target_ties.pairs / (2.0 * pairs)
    variance += ties.triples * target_ties.triples / (9.0 * pairs * (n - 2.0))
    deviation = np.sqrt(np.maximum(variance, MIN_P_VALUE))
    # without ties, each row is a group
    untied_sums = _sum_ties(*(np.arange(n, dtype=np.int32)[None] for _ in range(2)))
    fourth, sixth = (
        one + other - untied
        for one, other, untied in zip(
            _compute_shape(n, ties),
            _compute_shape(n, target_ties),
            _compute_shape(n, untied_sums),
            strict=True,
        )
    )
    # S moves in steps of 2 if one of both has no ties, and else in steps of 1.
    half_step = np.where((ties.n_groups == n) | (target_ties.n_groups == n), 1.0, 0.5)
    x = (scores - half_step) / deviation
    cube, fifth_power = x**3, x**5
    u = x - fourth / 24.0 * (cube - 3.0 * x)
    u -= sixth / 720.0 * (fifth_power - 10.0 * cube + 15.0 * x)
    u += fourth * fourth / 384.0 * (5.0 * fifth_power - 32.0 * cube + 35.0 * x)
    log_share = np.maximum(ties.log_permutations, target_ties.log_permutations) - math.lgamma(n + 1.0)
    least = np.exp(np.maximum(log_share, math.log(MIN_P_VALUE)))
    return np.asarray(np.maximum(ndtr(-u), least))


def _compute_shape(n: int, ties: TieSums) -> tuple[Values, Values]:
    """Compute κ_4/κ_2² and κ_6/κ_2³ of inversions with ties in one of feature and target; shapes (m,)."""
    squares, fourths, sixths = sum_powers(float(n))
    # Σ_{i ≤ m} (i² − 1) = m(m−1)(2m+5)/6
    second = np.maximum((squares - n - ties.variance_terms / 6.0) / 12.0, MIN_P_VALUE)
    fourth = -(fourths - ties.fourth_powers) / 120.0
    sixth = (sixths - ties.sixth_powers) / 252.0
    return fourth / second**2, sixth / second**3


@lru_cache(maxsize=8)
def _compute_inversion_cdf(n: int) -> Values:
    """Compute the probability that a random order of n rows has at most k inversions, k = 0, 1, …."""
    probabilities = np.ones(1)
    for rows in range(2, n + 1):  # the last row is placed before 0 to rows − 1 of the others
        probabilities = np.convolve(probabilities, np.full(rows, 1.0 / rows))
    return np.asarray(np.minimum(np.cumsum(probabilities), 1.0))
