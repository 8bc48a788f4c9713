"""Values of a target in ascending order, and what rank statistics compute from them once.

A feature is ranked against them millions of times. Tie groups, ranks and centred values are therefore cached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property

if TYPE_CHECKING:
    from symscreen._typing import Flags, Integers, Values


@dataclass(frozen=True, eq=False)
class SortedValues:
    """The n values of a target: finite, ascending, not constant.

    Examples
    --------
    >>> y = SortedValues(np.array([1.0, 2.0, 2.0, 5.0]))
    >>> y.tie_groups.tolist(), y.doubled_ranks.tolist()
    ([0, 1, 1, 2], [2, 5, 5, 8])
    """

    values: Values

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.values.size)

    @lockfree_cached_property
    def tie_groups(self) -> Integers:
        """Index of the group of tied values of each row, from 0; shape (n,)."""
        return np.concatenate(([0], np.cumsum(np.diff(self.values) > 0))).astype(np.int64)

    @lockfree_cached_property
    def tie_group_sizes(self) -> Integers:
        """Number of rows of each group of tied values; shape (n_groups,)."""
        return np.bincount(self.tie_groups).astype(np.int64)

    @lockfree_cached_property
    def is_untied(self) -> bool:
        """Whether all values are distinct."""
        return not (self.values[1:] == self.values[:-1]).any()

    @property
    def group_values(self) -> Values:
        """The first part of `centered_values` at each row; shape (n,)."""
        centered, _ = self.centered_values
        return centered if self.is_untied else centered[self.tie_groups]

    @lockfree_cached_property
    def doubled_ranks(self) -> Integers:
        """Twice the mid-rank of each row, an integer; shape (n,)."""
        last = np.cumsum(self.tie_group_sizes)
        first = last - self.tie_group_sizes + 1
        return (first + last)[self.tie_groups]

    @lockfree_cached_property
    def counts_at_most(self) -> Integers:
        """r_i of Chatterjee's ξ, the number of rows j with y_j ≤ y_i; shape (n,)."""
        return np.cumsum(self.tie_group_sizes)[self.tie_groups]

    @lockfree_cached_property
    def counts_at_least(self) -> Integers:
        """l_i of Chatterjee's ξ, the number of rows j with y_j ≥ y_i; shape (n,)."""
        return np.asarray(self.n - np.cumsum(self.tie_group_sizes) + self.tie_group_sizes)[self.tie_groups]

    @lockfree_cached_property
    def centered_values(self) -> tuple[Values, int]:
        """Distinct values, scaled and centred so that sums over them neither cancel nor overflow.

        Returns
        -------
        values : float64 array, shape (n_groups,)
            y · 2^−e − c for each group of tied values, where c is the mean of y · 2^−e. The scaling is exact.
        exponent : int
            e, the smallest integer with |y| · 2^−e < 1.
        """
        distinct = self.values
        if not self.is_untied:
            distinct = self.values[np.cumsum(self.tie_group_sizes) - self.tie_group_sizes]
        _, exponent = np.frexp(np.abs(distinct).max())
        scaled = np.ldexp(distinct, -int(exponent))
        # Not np.dot: BLAS may split the sum between threads, and the last bit would depend on their number.
        total = np.sum(scaled if self.is_untied else scaled * self.tie_group_sizes)
        mean = float(total / self.n)
        return scaled - mean, int(exponent)


@dataclass(frozen=True, eq=False)
class WeightedValues:
    """The n values of a target with row weights: positive, the largest at most 10¹⁸ times the smallest.

    Examples
    --------
    >>> y = WeightedValues(SortedValues(np.array([1.0, 2.0, 4.0])), np.array([1.0, 3.0, 2.0]))
    >>> y.weight_sum, y.pair_weight_sum  # 6² − 1² − 3² − 2²
    (6.0, 22.0)
    """

    sorted_values: SortedValues
    weights: Values

    @lockfree_cached_property
    def weight_sum(self) -> float:
        """W = Σ w_i."""
        return float(self.weights.sum())

    @lockfree_cached_property
    def pair_weight_sum(self) -> float:
        """Sum of the weights of all ordered pairs of distinct rows, Σ_{i≠j} w_i w_j."""
        # Not W − w_i, which cancels if w_i is nearly W.
        earlier = np.cumsum(self.weights[:-1])
        later = np.cumsum(self.weights[:0:-1])[::-1]
        return float((self.weights * (np.append(0.0, earlier) + np.append(later, 0.0))).sum())

    @property
    def effective_sample_size(self) -> float:
        """W²/Σ w_i², the number of rows of equal weight with the same variance of the mean (Kish 1965)."""
        return float(self.weight_sum**2 / (self.weights**2).sum())

    @lockfree_cached_property
    def centered_values(self) -> tuple[Values, int]:
        """Values, scaled and centred so that sums over them neither cancel nor overflow.

        Returns
        -------
        values : float64 array, shape (n,)
            y · 2^−e minus its weighted mean. The scaling is exact.
        exponent : int
            e, the smallest integer with |y| · 2^−e < 1.
        """
        _, exponent = self.sorted_values.centered_values
        # Not the centred values: their unweighted mean may be far away.
        centered = np.ldexp(self.sorted_values.values, -exponent)
        for _ in range(2):  # the second pass removes the rounding error of the first, which sums up W times
            centered = centered - float((centered * self.weights).sum() / self.weight_sum)
        return centered, exponent


@dataclass(frozen=True, eq=False)
class CensoredTimes:
    """Ascending times until an event, some of them censored; among equal times, events come first.

    Two rows are comparable if it is known which event occurred first: if the row with the shorter time had
    the event, or, for equal times, if exactly one of them had it (Harrell et al. 1982).

    Examples
    --------
    >>> y = CensoredTimes(np.array([1.0, 2.0, 2.0, 5.0]), np.array([True, True, False, True]))
    >>> y.n_comparable_pairs  # the first with three others, the second with two
    5
    """

    times: Values
    events: Flags  # True if the event occurred at that time, False if the row is censored

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.times.size)

    @lockfree_cached_property
    def comparable_from(self) -> Integers:
        """Index of the first row that has a later time, or is censored at the same time; shape (n,).

        A row with an event is comparable with all rows from this index on.
        """
        starts_group = np.ones(self.n, dtype=np.bool_)
        starts_group[1:] = (np.diff(self.times) > 0) | (self.events[1:] != self.events[:-1])
        starts = np.append(np.flatnonzero(starts_group), self.n)
        return starts[np.cumsum(starts_group)]

    @property
    def scaled_times(self) -> Values:
        """Times divided by the largest magnitude; shape (n,)."""
        return np.asarray(self.times / max(float(np.abs(self.times).max()), np.finfo(np.float64).tiny))

    @lockfree_cached_property
    def n_comparable_pairs(self) -> int:
        """Number of comparable pairs of rows."""
        return int((self.n - self.comparable_from)[self.events].sum())


def compute_midranks(values: Values) -> Values:
    """Rank values in ascending order, from 1; tied values share the mean of their ranks.

    Parameters
    ----------
    values : numpy.ndarray, shape (n,)
        Finite numbers in any order.

    Returns
    -------
    numpy.ndarray, shape (n,)

    Examples
    --------
    >>> compute_midranks(np.array([5.0, 2.0, 7.0, 2.0])).tolist()
    [3.0, 1.5, 4.0, 1.5]
    """
    _, groups, sizes = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(sizes) - 0.5 * (sizes - 1))[groups])
