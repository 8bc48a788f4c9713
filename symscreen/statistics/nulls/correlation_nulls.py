"""The null distributions of Spearman's and Pearson's correlation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.inference.p_value_counts import MIN_P_VALUE, encode_p_values
from symscreen.statistics.nulls.linear_rank_null import build_linear_rank_null
from symscreen.statistics.nulls.pearson_keys import encode_correlations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.screeners.base import Sign
    from symscreen.statistics.nulls.linear_rank_null import LinearRankNull
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import SortedValues


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
