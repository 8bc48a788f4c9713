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
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.statistics.inference.p_value_counts import MIN_P_VALUE
from symscreen.statistics.nulls._kernels import fill_inversion_tails, sum_tie_terms
from symscreen.statistics.nulls.linear_rank_null import build_linear_rank_null

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.screeners.base import Sign
    from symscreen.statistics.nulls.linear_rank_null import LinearRankNull
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import SortedValues


_MAX_EXACT_ROWS = 60  # rows up to which features without ties have exact p-values
_MAX_EXACT_TIED_ROWS = 20  # the same with ties in the feature or the target


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
    def _target_ties(self) -> Values:
        """The sums of `sum_tie_terms` of the target, shape (1, 7)."""
        ranks = self.target.doubled_ranks[None].astype(np.int32)
        sums = np.zeros((1, 7))
        sum_tie_terms(np.arange(self.target.n, dtype=np.int32)[None], ranks, sums)
        return sums

    @lockfree_cached_property
    def _rank_null(self) -> LinearRankNull:
        """The null distribution of Σ a_i b_i, for two values."""
        return build_linear_rank_null(self.target.doubled_ranks.astype(np.float64), self.seed)

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block."""
        ties = self._sum_ties(ordered)
        n, target_ties = self.target.n, self._target_ties
        pairs = n * (n - 1.0)
        scores = np.rint(statistics * np.sqrt((pairs - ties[:, 0]) * (pairs - target_ties[0, 0])) / 2.0)
        is_linear = self._find_linear(ties)
        if not is_linear.any():
            return self._compute_p_values(ordered, ties, scores, sign)
        p_values = np.empty(len(scores))
        others = np.flatnonzero(~is_linear)
        if len(others):
            p_values[others] = self._compute_p_values(
                ordered.take(others), ties[others], scores[others], sign
            )
        chosen = np.flatnonzero(is_linear)
        z = n * scores[chosen] / self._rank_null.deviation
        p_values[chosen] = self._rank_null.compute_p_values(ordered.take(chosen), z, sign)
        return p_values

    def find_bounds(self, ordered: SortedBlock) -> NDArray[np.bool_]:
        """Find the features whose p-values are upper bounds, shape (m,)."""
        chosen = np.flatnonzero(self._find_linear(self._sum_ties(ordered)))
        is_bound = np.zeros(len(ordered.values), dtype=np.bool_)
        if len(chosen):
            is_bound[chosen] = self._rank_null.find_bounds(ordered.take(chosen))
        return is_bound

    def _sum_ties(self, ordered: SortedBlock) -> Values:
        """Compute the sums of `sum_tie_terms` of a block, shape (m, 7)."""
        ties = np.zeros((len(ordered.values), 7))
        sum_tie_terms(ordered.order, ordered.doubled_ranks, ties)
        return ties

    def _find_linear(self, ties: Values) -> Flags:
        """Find the features whose p-values are those of a linear rank statistic, shape (m,)."""
        has_two = (ties[:, 6] == 2.0) | (self._target_ties[0, 6] == 2.0)
        return np.asarray(has_two & ~self._find_exact(ties))

    def _compute_p_values(self, ordered: SortedBlock, ties: Values, scores: Values, sign: Sign) -> Values:
        """Compute p-values from S of features with more than two values, shape (m,)."""
        n, is_free = self.target.n, sign == "free"
        tails = _compute_tails(n, ties, self._target_ties[0], np.abs(scores) if is_free else scores)
        is_exact = self._find_exact(ties)
        if is_exact.any():
            chosen = ordered.take(np.flatnonzero(is_exact))
            tails[is_exact] = self._sum_exact_tails(chosen, scores[is_exact], is_free=is_free)
        return np.clip((2.0 if is_free else 1.0) * tails, MIN_P_VALUE, 1.0)

    def _find_exact(self, ties: Values) -> Flags:
        """Find the features whose tails are summed, shape (m,)."""
        n_groups, n = ties[:, 6], self.target.n
        if not self.target.is_untied:
            return np.asarray((n_groups == n) & (n <= _MAX_EXACT_TIED_ROWS))
        return np.asarray((n_groups == n) & (n <= _MAX_EXACT_ROWS)) | (n <= _MAX_EXACT_TIED_ROWS)

    def _sum_exact_tails(self, ordered: SortedBlock, scores: Values, *, is_free: bool) -> Values:
        """Sum P(S ≥ s), or P(S ≥ |s|), where the feature or the target has no ties; shape (m,)."""
        n = self.target.n
        size = np.abs(scores)
        if self.target.is_untied and not ordered.tied.any():
            cdf = _compute_inversion_cdf(n)
            most = n * (n - 1) // 2
            inversions = np.rint((most - size) / 2.0).astype(np.int64)
            tails, opposite = cdf[inversions], np.where(inversions > 0, cdf[inversions - 1], 0.0)
        else:
            tails, opposite = np.empty(len(size)), np.empty(len(size))
            sizes = self.target.tie_group_sizes.astype(np.float64)
            fill_inversion_tails(ordered.order, ordered.doubled_ranks, sizes, size, tails, opposite)
        return tails if is_free else np.where(scores >= 0.0, tails, 1.0 - opposite)


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


def _compute_tails(n: int, ties: Values, target_ties: Values, scores: Values) -> Values:
    """Compute P(S ≥ s) by the expansion, shape (m,)."""
    from scipy.special import ndtr  # imported here to keep start-up fast

    pairs = n * (n - 1.0)
    # The variance of S under ties in both: Kendall 1970, Rank Correlation Methods, section 4.4.
    variance = (pairs * (2.0 * n + 5.0) - ties[:, 1] - target_ties[1]) / 18.0
    variance += ties[:, 0] * target_ties[0] / (2.0 * pairs)
    if n > 2:
        variance += ties[:, 2] * target_ties[2] / (9.0 * pairs * (n - 2.0))
    deviation = np.sqrt(np.maximum(variance, MIN_P_VALUE))
    none = np.array([[0.0, 0.0, 0.0, n, n, 0.0, n]])  # every row is a group of its own
    fourth, sixth = (
        one + other - untied
        for one, other, untied in zip(
            _compute_shape(n, ties),
            _compute_shape(n, target_ties[None]),
            _compute_shape(n, none),
            strict=True,
        )
    )
    # S moves in steps of 2 if one of both has no ties, and else in steps of 1.
    half_step = np.where((ties[:, 6] == n) | (target_ties[6] == n), 1.0, 0.5)
    x = (scores - half_step) / deviation
    cube, fifth_power = x**3, x**5
    u = x - fourth / 24.0 * (cube - 3.0 * x)
    u -= sixth / 720.0 * (fifth_power - 10.0 * cube + 15.0 * x)
    u += fourth * fourth / 384.0 * (5.0 * fifth_power - 32.0 * cube + 35.0 * x)
    log_share = np.maximum(ties[:, 5], target_ties[5]) - math.lgamma(n + 1.0)
    least = np.exp(np.maximum(log_share, math.log(MIN_P_VALUE)))
    return np.asarray(np.maximum(ndtr(-u), least))


def _compute_shape(n: int, ties: Values) -> tuple[Values, Values]:
    """Compute κ_4/κ_2² and κ_6/κ_2³ of inversions with ties in one of feature and target; shapes (m,)."""
    total = float(n)
    squares = total * (total + 1.0) * (2.0 * total + 1.0) / 6.0
    fourths = squares * (3.0 * total * total + 3.0 * total - 1.0) / 5.0
    sixths = squares * (3.0 * total**4 + 6.0 * total**3 - 3.0 * total + 1.0) / 7.0
    # Σ_{i ≤ m} (i² − 1) = m(m−1)(2m+5)/6
    second = np.maximum((squares - total - ties[:, 1] / 6.0) / 12.0, MIN_P_VALUE)
    fourth = -(fourths - ties[:, 3]) / 120.0
    sixth = (sixths - ties[:, 4]) / 252.0
    return fourth / second**2, sixth / second**3


@lru_cache(maxsize=8)
def _compute_inversion_cdf(n: int) -> Values:
    """Compute the probability that a random order of n rows has at most k inversions, k = 0, 1, …."""
    probabilities = np.ones(1)
    for rows in range(2, n + 1):  # the last row is placed before 0 to rows − 1 of the others
        probabilities = np.convolve(probabilities, np.full(rows, 1.0 / rows))
    return np.asarray(np.minimum(np.cumsum(probabilities), 1.0))
