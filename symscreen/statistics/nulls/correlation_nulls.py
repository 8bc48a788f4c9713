"""The null distributions of Kendall's, Spearman's and Pearson's correlation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.inference.p_value_counts import MIN_P_VALUE, encode_p_values
from symscreen.statistics.nulls._kernels import sum_tie_terms
from symscreen.statistics.nulls.linear_rank_null import build_linear_rank_null
from symscreen.statistics.nulls.pearson_keys import encode_correlations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.screeners.base import Sign
    from symscreen.statistics.nulls.linear_rank_null import LinearRankNull
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import SortedValues


_MAX_EXACT_NULL_ROWS = 60  # rows up to which Kendall's null distribution is computed exactly


@dataclass(frozen=True, eq=False)
class SpearmanNull:
    """P-values of ρ: permutations of the target's mid-ranks, as T0 permutes the target itself.

    Parameters
    ----------
    rank_null : LinearRankNull
        The distribution of the sum of products of ranks.
    """

    rank_null: LinearRankNull

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block."""
        n = ordered.values.shape[1]
        z = statistics * math.sqrt(n - 1.0)
        tied = np.flatnonzero(ordered.tied)
        if len(tied):  # in the unit of an untied feature, whose ranks have a larger variance
            doubled = ordered.doubled_ranks[tied].astype(np.float64) - (n + 1.0)
            z[tied] *= np.sqrt((doubled * doubled).sum(axis=1) / (n * (n * float(n) - 1.0) / 3.0))
        return self.rank_null.compute_p_values(ordered, z, sign)

    def find_bounds(self, ordered: SortedBlock) -> NDArray[np.bool_]:
        """Find the features whose p-values are upper bounds, shape (m,)."""
        return self.rank_null.find_bounds(ordered)


@dataclass(frozen=True, eq=False)
class KendallNull:
    """P-values of τ-b: exact without ties up to 60 rows, otherwise normal with the variance under ties.

    Parameters
    ----------
    target : SortedValues
        The target, with n rows.
    tail_probabilities : float64 array or None
        P(C − D ≥ n(n−1)/2 − 2k) for k = 0, 1, …, if it is known exactly.
    """

    target: SortedValues
    tail_probabilities: NDArray[np.float64] | None

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block."""
        from scipy.special import ndtr  # imported here to keep start-up fast

        n = self.target.n
        ties = np.zeros((len(statistics), 3))
        sum_tie_terms(ordered.order, ordered.doubled_ranks, ties)
        pairs = n * (n - 1.0)
        target_ties = _compute_tie_sums(self.target.tie_group_sizes.astype(np.float64))
        # The variance of C − D under ties in both: Kendall 1970, Rank Correlation Methods, §4.4.
        variance = (pairs * (2.0 * n + 5.0) - ties[:, 1] - target_ties[1]) / 18.0 + ties[:, 0] * target_ties[
            0
        ] / (2.0 * pairs)
        if n > 2:
            variance += ties[:, 2] * target_ties[2] / (9.0 * pairs * (n - 2.0))
        score = statistics * np.sqrt((pairs - ties[:, 0]) * (pairs - target_ties[0])) / 2.0
        extremeness = np.abs(score) if sign == "free" else score
        sides = 2.0 if sign == "free" else 1.0
        p_values = sides * ndtr(-extremeness / np.sqrt(np.maximum(variance, MIN_P_VALUE)))
        if self.tail_probabilities is not None:
            steps = np.rint((pairs / 2.0 - extremeness) / 2.0).astype(np.int64)
            exact = sides * self.tail_probabilities[np.clip(steps, 0, len(self.tail_probabilities) - 1)]
            p_values = np.where(ordered.tied, p_values, exact)
        return np.asarray(np.clip(p_values, MIN_P_VALUE, 1.0))


@dataclass(frozen=True)
class PearsonNull:
    """P-values of r by Student's t: exact if y is normal, otherwise asymptotic in n.

    Parameters
    ----------
    n_rows : int
        Number of rows, n.
    """

    n_rows: int

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block."""
        del ordered
        return self._compute_p_values(statistics, sign)

    def encode(self, statistics: NDArray[np.float64], sign: Sign) -> NDArray[np.int32]:
        """Encode the p-values of correlations as `encode_p_values` does, much faster."""
        keys, is_decided = encode_correlations(statistics, np.zeros(len(statistics)), self.n_rows, sign)
        if not is_decided.all():
            keys[~is_decided] = encode_p_values(self._compute_p_values(statistics[~is_decided], sign))
        return keys

    def _compute_p_values(self, statistics: NDArray[np.float64], sign: Sign) -> NDArray[np.float64]:
        """Compute the p-values of correlations, shape (m,)."""
        from scipy.special import betainc  # imported here to keep start-up fast

        if self.n_rows < 3:
            return np.ones(len(statistics))
        one_minus_r2 = (1.0 - statistics) * (1.0 + statistics)
        two_sided = np.clip(betainc((self.n_rows - 2.0) / 2.0, 0.5, one_minus_r2), MIN_P_VALUE, 1.0)
        if sign == "free":
            return np.asarray(two_sided)
        return np.asarray(np.where(statistics > 0, 0.5 * two_sided, 1.0 - 0.5 * two_sided))


def build_spearman_null(target: SortedValues, seed: int) -> SpearmanNull:
    """Build the null distribution of Spearman's ρ for a target.

    Parameters
    ----------
    target : SortedValues
        The target.
    seed : int
        The seed of the random permutations, not negative.

    Returns
    -------
    SpearmanNull
    """
    return SpearmanNull(build_linear_rank_null(target.doubled_ranks.astype(np.float64), seed))


def build_kendall_null(target: SortedValues, seed: int) -> KendallNull:
    """Build the null distribution of Kendall's τ-b for a target.

    Parameters
    ----------
    target : SortedValues
        The target.
    seed : int
        Ignored; the distribution is not random.

    Returns
    -------
    KendallNull
    """
    del seed
    exact = target.is_untied and target.n <= _MAX_EXACT_NULL_ROWS
    return KendallNull(target, _compute_inversion_cdf(target.n) if exact else None)


def build_pearson_null(target: SortedValues, seed: int) -> PearsonNull:
    """Build the null distribution of Pearson's r for a target.

    Parameters
    ----------
    target : SortedValues
        The target.
    seed : int
        Ignored; the distribution is not random.

    Returns
    -------
    PearsonNull
    """
    del seed
    return PearsonNull(target.n)


@lru_cache(maxsize=8)
def _compute_inversion_cdf(n: int) -> Values:
    """Compute the probability that a random order of n rows has at most k inversions, k = 0, 1, …."""
    probabilities = np.ones(1)
    for rows in range(2, n + 1):  # the last row is placed before 0 to rows − 1 of the others
        probabilities = np.convolve(probabilities, np.full(rows, 1.0 / rows))
    return np.asarray(np.minimum(np.cumsum(probabilities), 1.0))


def _compute_tie_sums(sizes: Values) -> Values:
    """Compute the sums of `sum_tie_terms`, shape (3,), from the sizes of the tie groups."""
    pairs = sizes * (sizes - 1.0)
    terms = (pairs, pairs * (2.0 * sizes + 5.0), pairs * (sizes - 2.0))
    return np.array([float(term.sum()) for term in terms])
