"""Counts of the statistics of a whole space and of its permutations, from which q-values follow.

Under each of B permutations of the target, no feature is related to it. So the permutations show how many
features of a space reach a threshold without any relation. A threshold t is reached by R(t) features of the
data, and by R_b(t) features under permutation b. The expected number of false discoveries at t is estimated
by V(t) = (R(t) + Σ_b R_b(t)) / (B + 1): the data are one of B + 1 arrangements. The estimate of the false
discovery rate is V(t) / R(t) (Tusher, Tibshirani and Chu 2001; Storey and Tibshirani 2003).

A statistic is placed on one of `N_LEVELS` levels of equal width, and only the numbers of statistics on each
level are kept. The memory is bounded, the counts of parts of a space can be added, and their sum does not
depend on the parts. The same levels are used for data and permutations, so they cost power at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.inference._kernels import count_levels
from symscreen.statistics.inference.p_value_counts import compute_harmonic_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.statistics.inference.p_value_counts import FdrMethod


N_LEVELS = 1 << 17
"""Number of levels between the lowest and the highest statistic that is possible."""

_EQUALITY_FACTOR = 1.0 - 1e-12  # statistics that differ by a smaller relative amount are equal


@dataclass(frozen=True, slots=True)
class LevelScale:
    """The levels of a statistic that is larger for better features.

    Parameters
    ----------
    low, high : float
        Ends of the range. Statistics beyond them are placed on the first or last level.
    """

    low: float
    high: float

    @property
    def factor(self) -> float:
        """The number of levels in a range of length 1."""
        return (N_LEVELS - 1) / (self.high - self.low)

    def find_levels(self, statistics: Values) -> NDArray[np.int64]:
        """Find the level of each statistic, shape (m,)."""
        places = np.floor((statistics - self.low) * self.factor)
        return np.clip(places, 0.0, N_LEVELS - 1.0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class StatisticCounts:
    """The number of statistics on each level that occurs.

    Parameters
    ----------
    levels : int32 array, shape (k,)
        The levels that occur; ascending, so from worse to better features.
    observed : int64 array, shape (k,)
        Number of features whose statistic is on the level.
    permuted : int64 array, shape (k,)
        Number of statistics on the level under all permutations together.
    """

    levels: NDArray[np.int32]
    observed: NDArray[np.int64]
    permuted: NDArray[np.int64]


class StatisticCounter:
    """Count the statistics of the blocks of one range of features.

    Parameters
    ----------
    scale : LevelScale
        The levels.
    """

    def __init__(self, scale: LevelScale) -> None:
        self._scale = scale
        self._observed, self._permuted = (np.zeros(N_LEVELS, dtype=np.int64) for _ in range(2))

    def update(self, own: Values, permuted: Values) -> None:
        """Add the statistics of m features, shape (m,), and those under B permutations, shape (m, B)."""
        count_levels(own, permuted, self._scale.low, self._scale.factor, self._observed, self._permuted)

    @property
    def counts(self) -> StatisticCounts:
        """The counts so far."""
        occurring = np.flatnonzero(self._observed + self._permuted)
        return StatisticCounts(
            occurring.astype(np.int32), self._observed[occurring], self._permuted[occurring]
        )


def merge_statistic_counts(parts: Sequence[StatisticCounts]) -> StatisticCounts:
    """Add counts. The sum does not depend on the partition of the features.

    Parameters
    ----------
    parts : sequence of StatisticCounts
        The counts to add; may be empty.

    Returns
    -------
    StatisticCounts
    """
    observed, permuted = (np.zeros(N_LEVELS, dtype=np.int64) for _ in range(2))
    for part in parts:  # the levels of a part are distinct
        observed[part.levels] += part.observed
        permuted[part.levels] += part.permuted
    occurring = np.flatnonzero(observed + permuted)
    return StatisticCounts(occurring.astype(np.int32), observed[occurring], permuted[occurring])


def lower_by_rounding(statistics: Values) -> Values:
    """Return the smallest statistics that are equal to these up to rounding, same shape."""
    return np.where(statistics > 0, statistics * _EQUALITY_FACTOR, statistics / _EQUALITY_FACTOR)


def count_exceeding(own: Values, permuted: Values) -> NDArray[np.int64]:
    """Count the permutations under which each feature does at least as well as it does in the data.

    Parameters
    ----------
    own : float64 array, shape (m,)
        Statistics of m features.
    permuted : float64 array, shape (m, B)
        Their statistics under B permutations.

    Returns
    -------
    int64 array, shape (m,)
        Statistics that differ by less than 10⁻¹² of their size count as equal.

    Examples
    --------
    >>> count_exceeding(np.array([2.0, 0.5]), np.array([[1.0, 2.0, 3.0], [0.0, 0.1, 0.2]])).tolist()
    [2, 0]
    """
    return np.asarray(np.count_nonzero(permuted >= lower_by_rounding(own)[:, None], axis=1), dtype=np.int64)


def compute_permutation_p_values(n_exceeding: NDArray[np.int64], n_permutations: int) -> NDArray[np.float64]:
    """Compute permutation p-values, (1 + number of permutations that are as good) / (B + 1).

    Each is valid for a feature that was fixed beforehand: P(p ≤ α) ≤ α if the target is exchangeable given
    the feature (Phipson and Smyth 2010, Stat. Appl. Genet. Mol. Biol. 9, 39).

    Parameters
    ----------
    n_exceeding : int64 array, shape (m,)
        From `count_exceeding`.
    n_permutations : int
        B, at least 1.

    Returns
    -------
    float64 array, shape (m,)
        In [1/(B + 1), 1].

    Examples
    --------
    >>> compute_permutation_p_values(np.array([0, 9]), 19).tolist()
    [0.05, 0.5]
    """
    return np.asarray((1.0 + n_exceeding) / (n_permutations + 1.0))


def compute_permutation_q_values(
    counts: StatisticCounts, n_permutations: int, method: FdrMethod
) -> NDArray[np.float64]:
    """Compute the q-value of each level that occurs.

    q(t) = min over s ≤ t of c · V(s) / R(s), at most 1, with V(s) = (R(s) + Σ_b R_b(s)) / (B + 1). This is
    the method of Benjamini and Hochberg for the pooled p-values V(s)/N of a space of N features.

    Let the features without relation to the target, all together, be distributed as under a permutation.
    Then the expected number of them with a pooled p-value of at most p is at most N · p, for any dependence
    of the features and any shape of their distributions: the data are one of B + 1 arrangements that are
    equally likely, and of (B + 1) · N pooled statistics a share of p is among the best. The proof of
    Benjamini and Yekutieli (2001, theorem 1.3) needs no more. So with c = Σ 1/k over k = 1 … N the expected
    share of false discoveries is at most q. With c = 1 this is an estimate.

    Parameters
    ----------
    counts : StatisticCounts
        The counts of a whole space.
    n_permutations : int
        B, at least 1.
    method : {"bh", "by"}
        c = 1, or c = Σ 1/k.

    Returns
    -------
    float64 array, shape (k,)
        q-values in [1/(B + 1), 1]; a better level has the same one, or a smaller one.

    Examples
    --------
    One feature of three does better than all that two permutations show:

    >>> levels, observed = np.array([1, 2, 5], dtype=np.int32), np.array([1, 1, 1])
    >>> found = StatisticCounts(levels, observed, permuted=np.array([4, 2, 0]))
    >>> compute_permutation_q_values(found, 2, "bh").round(3).tolist()
    [1.0, 0.667, 0.333]
    """
    reaching = np.cumsum(counts.observed[::-1])[::-1]
    in_all = reaching + np.cumsum(counts.permuted[::-1])[::-1]
    scale = compute_harmonic_number(int(counts.observed.sum())) if method == "by" else 1.0
    rates = np.ones(len(reaching))
    np.divide(scale * in_all, reaching * (n_permutations + 1.0), out=rates, where=reaching > 0)
    return np.minimum(np.minimum.accumulate(rates), 1.0)
