"""Numeric targets with row weights. Only the ratios of the weights matter.

A pair of rows has the weight w_i·w_j. A row of weight 3 is therefore equivalent to three equal rows: it
forms three pairs with every other row, and the pairs among the three carry no information.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    from symscreen._typing import Values
    from symscreen.targets.numeric import NumericTarget, TargetType


MAX_WEIGHT_RATIO = 1e18  # largest to smallest weight; Pearson's r loses digits for larger ratios
_MAX_INTEGER_SUM = 2.0**51  # of weights; integers up to twice this value are computed exactly


@dataclass(frozen=True, eq=False)
class WeightedTarget:
    """A numeric target with its rows in ascending order, and the weight of each row.

    Parameters
    ----------
    numeric_target : NumericTarget
        The target.
    weights : float64 array, shape (n,)
        Positive weights; the largest is at most 10¹⁸ times the smallest.

    Raises
    ------
    DataError
        If the weights are not valid.

    Examples
    --------
    >>> from symscreen.targets import NumericTarget
    >>> y = WeightedTarget(NumericTarget(np.array([1.0, 2.0, 4.0])), np.array([1.0, 3.0, 2.0]))
    >>> y.weight_sum, y.pair_weight_sum  # 6² − 1² − 3² − 2²
    (6.0, 22.0)
    """

    numeric_target: NumericTarget
    weights: Values
    target_type: ClassVar[TargetType] = "weighted"

    def __post_init__(self) -> None:
        w = self.weights
        if w.shape != (self.n,) or not (w > 0.0).all() or w.max() > MAX_WEIGHT_RATIO * w.min():
            raise DataError(
                f"the weights of {escape_control_chars(repr(self.name))} must be one positive number per "
                f"row, the largest at most {MAX_WEIGHT_RATIO:g} times the smallest"
            )

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.numeric_target.n

    @property
    def name(self) -> str:
        """Name of the target, for messages and results."""
        return self.numeric_target.name

    @property
    def values(self) -> Values:
        """Values of the target; shape (n,)."""
        return self.numeric_target.values

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
        _, exponent = self.numeric_target.centered_values
        centered = np.ldexp(
            self.values, -exponent
        )  # not the centred values: their unweighted mean may be far away
        for _ in range(2):  # the second pass removes the rounding error of the first, which sums up W times
            centered = centered - float((centered * self.weights).sum() / self.weight_sum)
        return centered, exponent


def normalize_weights(weights: Values) -> Values:
    """Scale weights to a form that depends only on their ratios, without rounding.

    Parameters
    ----------
    weights : float64 array, shape (n,)
        Positive, finite weights.

    Returns
    -------
    float64 array, shape (n,)
        Integers whose sum is at most 2⁵¹ are divided by their greatest common divisor. Other weights are
        multiplied by a power of two such that the largest is in [½, 1).

    Examples
    --------
    >>> normalize_weights(np.array([2.0, 4.0, 6.0])).tolist()
    [1.0, 2.0, 3.0]
    >>> normalize_weights(np.array([3.0, 0.5])).tolist()
    [0.75, 0.125]
    """
    if (weights == np.floor(weights)).all() and weights.sum() <= _MAX_INTEGER_SUM:
        return np.asarray(weights / float(np.gcd.reduce(weights.astype(np.int64))))
    _, exponent = np.frexp(weights.max())
    return np.asarray(np.ldexp(weights, -int(exponent)))
