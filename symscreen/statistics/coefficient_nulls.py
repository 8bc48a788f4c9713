"""The null distributions of Kendall's, Spearman's and Pearson's correlation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.t0_null import table_of_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response
    from symscreen.screeners.base import Sign
    from symscreen.statistics.null_table import NullTable
    from symscreen.statistics.order import Ordered

    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["KendallNull", "PearsonNull", "SpearmanNull", "kendall_null", "pearson_null", "spearman_null"]

_LEAST = 1e-300
_EXACT_ROWS = 60  # up to which Kendall's null distribution is computed exactly


@dataclass(frozen=True, eq=False)
class SpearmanNull:
    """P-values of ρ from the permutations of the response's mid-ranks, as those of T0 come from y itself.

    Parameters
    ----------
    table : NullTable
        Of √(n−1) · ρ of untied features.
    """

    table: NullTable

    def __call__(self, ordered: Ordered, statistics: NDArray[np.float64], sign: Sign) -> NDArray[np.float64]:
        """Compute the p-values of a block; of features with ties, upper bounds of them."""
        n = ordered.values.shape[1]
        z = statistics * math.sqrt(n - 1.0)
        tied = np.flatnonzero(ordered.tied)
        if len(tied):  # in the units of an untied feature, whose ranks spread more
            doubled = ordered.doubled_ranks[tied].astype(np.float64) - (n + 1.0)
            z[tied] *= np.sqrt((doubled * doubled).sum(axis=1) / (n * (n * float(n) - 1.0) / 3.0))
        return self.table.p_values(z, ordered.tied, sign)


@dataclass(frozen=True, eq=False)
class KendallNull:
    """P-values of τ-b: exact without ties up to 60 rows, else normal with the variance under ties.

    Parameters
    ----------
    response : Response
        n rows.
    upper : float64 array or None
        P(C − D ≥ n(n−1)/2 − 2k) for k = 0, 1, … where it is exact.
    """

    response: Response
    upper: NDArray[np.float64] | None

    def __call__(self, ordered: Ordered, statistics: NDArray[np.float64], sign: Sign) -> NDArray[np.float64]:
        """Compute the p-values of a block."""
        from scipy.special import ndtr  # not at the top: it would slow every start

        n = self.response.n
        ties = np.zeros((len(statistics), 3))
        _count_ties(ordered.order, ordered.doubled_ranks, ties)
        pairs = n * (n - 1.0)
        own = _tie_sums(self.response.group_sizes.astype(np.float64))
        # Kendall 1970, Rank Correlation Methods, §4.4: var(C − D) under ties in both
        variance = (pairs * (2.0 * n + 5.0) - ties[:, 1] - own[1]) / 18.0 + ties[:, 0] * own[0] / (
            2.0 * pairs
        )
        if n > 2:
            variance += ties[:, 2] * own[2] / (9.0 * pairs * (n - 2.0))
        score = statistics * np.sqrt((pairs - ties[:, 0]) * (pairs - own[0])) / 2.0
        towards = np.abs(score) if sign == "free" else score
        sides = 2.0 if sign == "free" else 1.0
        found = sides * ndtr(-towards / np.sqrt(np.maximum(variance, _LEAST)))
        if self.upper is not None:
            steps = np.rint((pairs / 2.0 - towards) / 2.0).astype(np.int64)
            exact = sides * self.upper[np.clip(steps, 0, len(self.upper) - 1)]
            found = np.where(ordered.tied, found, exact)
        return np.asarray(np.clip(found, _LEAST, 1.0))


@dataclass(frozen=True)
class PearsonNull:
    """P-values of r by Student's t: exact where y is normal, and else only as good as n is large.

    Parameters
    ----------
    n : int
        Rows.
    """

    n: int

    def __call__(self, ordered: Ordered, statistics: NDArray[np.float64], sign: Sign) -> NDArray[np.float64]:
        """Compute the p-values of a block."""
        from scipy.special import betainc  # not at the top: it would slow every start

        del ordered
        if self.n < 3:
            return np.ones(len(statistics))
        beyond = (1.0 - statistics) * (1.0 + statistics)
        both = np.clip(betainc((self.n - 2.0) / 2.0, 0.5, beyond), _LEAST, 1.0)
        if sign == "free":
            return np.asarray(both)
        return np.asarray(np.where(statistics > 0, 0.5 * both, 1.0 - 0.5 * both))


def spearman_null(response: Response, seed: int) -> SpearmanNull:
    """Prepare the null distribution of Spearman's ρ for one response.

    Parameters
    ----------
    response : Response
        n rows.
    seed : int
        Not negative.

    Returns
    -------
    SpearmanNull
    """
    return SpearmanNull(table_of_scores(response.doubled_ranks.astype(np.float64), seed))


def kendall_null(response: Response, seed: int) -> KendallNull:
    """Prepare the null distribution of Kendall's τ-b for one response.

    Parameters
    ----------
    response : Response
        n rows.
    seed : int
        It plays no part.

    Returns
    -------
    KendallNull
    """
    del seed
    exact = response.untied and response.n <= _EXACT_ROWS
    return KendallNull(response, _inversions_at_most(response.n) if exact else None)


def pearson_null(response: Response, seed: int) -> PearsonNull:
    """Prepare the null distribution of Pearson's r for one response.

    Parameters
    ----------
    response : Response
        n rows.
    seed : int
        It plays no part.

    Returns
    -------
    PearsonNull
    """
    del seed
    return PearsonNull(response.n)


@lru_cache(maxsize=8)
def _inversions_at_most(n: int) -> Values:
    """Return the chance that a random order of n rows has at most k pairs out of order, k = 0, 1, …."""
    chance = np.ones(1)
    for rows in range(2, n + 1):  # the last row stands before 0 to rows − 1 of the others
        chance = np.convolve(chance, np.full(rows, 1.0 / rows))
    return np.asarray(np.minimum(np.cumsum(chance), 1.0))


def _tie_sums(sizes: Values) -> Values:
    pairs = sizes * (sizes - 1.0)
    terms = (pairs, pairs * (2.0 * sizes + 5.0), pairs * (sizes - 2.0))
    return np.array([float(term.sum()) for term in terms])


@kernel
def _count_ties(order: Rows, doubled_ranks: Rows, ties: Values) -> None:
    """Sum t(t−1), t(t−1)(2t+5) and t(t−1)(t−2) over the groups of t tied rows of each feature."""
    m, n = order.shape
    for f in range(m):
        start = 0
        for k in range(1, n + 1):
            if k == n or doubled_ranks[f, order[f, k]] != doubled_ranks[f, order[f, start]]:
                t = float(k - start)
                ties[f, 0] += t * (t - 1.0)
                ties[f, 1] += t * (t - 1.0) * (2.0 * t + 5.0)
                ties[f, 2] += t * (t - 1.0) * (t - 2.0)
                start = k
