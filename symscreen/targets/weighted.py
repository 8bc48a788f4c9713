"""A numeric response whose rows count for more or less: weights say how much, by their ratios alone.

A pair of rows weighs w_i w_j. So a row of weight 3 is what three equal rows are: they make pairs with every
other row three times, and differ in nothing among themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError, escape_control_chars

if TYPE_CHECKING:
    from symscreen._typing import Values
    from symscreen.targets.numeric import NumericTarget, TargetType


__all__ = ["MAX_WEIGHT_RATIO", "WeightedTarget", "normalize_weights"]

MAX_WEIGHT_RATIO = 1e18  # beyond, Pearson's r loses digits where one row weighs nearly all
_MAX_INTEGER_SUM = 2.0**51  # whole numbers up to twice as many have no rounding


@dataclass(frozen=True, eq=False)
class WeightedTarget:
    """A numeric response with its rows in ascending order, and what each row weighs.

    Parameters
    ----------
    plain : Response
        The response.
    weights : float64 array, shape (n,)
        Positive; the largest is at most 10¹⁸ times the smallest.

    Raises
    ------
    TableError
        If they are none.

    Examples
    --------
    >>> from symscreen.targets import NumericTarget
    >>> y = WeightedTarget(NumericTarget(np.array([1.0, 2.0, 4.0])), np.array([1.0, 3.0, 2.0]))
    >>> y.total, y.pairs  # 6² − 1² − 3² − 2²
    (6.0, 22.0)
    """

    numeric_target: NumericTarget
    weights: Values
    target_type: ClassVar[TargetType] = "weighted"

    def __post_init__(self) -> None:
        own = self.weights
        if own.shape != (self.n,) or not (own > 0.0).all() or own.max() > MAX_WEIGHT_RATIO * own.min():
            raise DataError(
                f"the weights of {escape_control_chars(repr(self.name))} are no positive numbers, one a "
                "row, of which "
                f"the largest is at most {MAX_WEIGHT_RATIO:g} times the smallest"
            )

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.numeric_target.n

    @property
    def name(self) -> str:
        """What the response is called, for messages and results."""
        return self.numeric_target.name

    @property
    def values(self) -> Values:
        """The response by row; shape (n,)."""
        return self.numeric_target.values

    @lockfree_cached_property
    def weight_sum(self) -> float:
        """W = Σ w_i."""
        return float(self.weights.sum())

    @lockfree_cached_property
    def pair_weight_sum(self) -> float:
        """What all ordered pairs of distinct rows weigh, Σ_{i≠j} w_i w_j."""
        # W − w_i would cancel where row i weighs nearly all
        earlier = np.cumsum(self.weights[:-1])
        later = np.cumsum(self.weights[:0:-1])[::-1]
        return float((self.weights * (np.append(0.0, earlier) + np.append(later, 0.0))).sum())

    @property
    def effective_sample_size(self) -> float:
        """W²/Σ w_i², as many rows of one weight as say as much of a mean (Kish 1965)."""
        return float(self.weight_sum**2 / (self.weights**2).sum())

    @lockfree_cached_property
    def centered_values(self) -> tuple[Values, int]:
        """Centre and scale the response, so that sums over it neither cancel nor overflow.

        Returns
        -------
        values : float64 array, shape (n,)
            y · 2^−e less its weighted mean; the scaling is exact.
        exponent : int
            e, chosen so that |y| · 2^−e < 1.
        """
        _, exponent = self.numeric_target.centered_values
        small = np.ldexp(self.values, -exponent)  # not centred before: the mean may be far from this one
        for _ in range(2):  # once more: what rounding leaves of the mean counts W times
            small = small - float((small * self.weights).sum() / self.weight_sum)
        return small, exponent


def normalize_weights(weights: Values) -> Values:
    """Write weights of the same ratios the same way, without rounding: where the scale is a power of two.

    Parameters
    ----------
    given : float64 array, shape (n,)
        Positive, finite.

    Returns
    -------
    float64 array, shape (n,)
        Whole numbers of a sum of at most 2⁵¹ divided by what divides all of them; others times a power of
        two, so that the largest is in [½, 1).

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
