"""A numeric response whose rows count for more or less: weights say how much, by their ratios alone.

A pair of rows weighs w_i w_j. So a row of weight 3 is what three equal rows are: they make pairs with every
other row three times, and differ in nothing among themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from symscreen.errors import TableError, printable
from symscreen.once import once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Kind, Response

    Values = NDArray[np.float64]

__all__ = ["LARGEST_RATIO", "WeightedResponse", "scaled_weights"]

LARGEST_RATIO = 1e18  # beyond, Pearson's r loses digits where one row weighs nearly all
_LARGEST_SUM = 2.0**51  # whole numbers up to twice as many have no rounding


@dataclass(frozen=True, eq=False)
class WeightedResponse:
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
    >>> from symscreen.response import Response
    >>> y = WeightedResponse(Response(np.array([1.0, 2.0, 4.0])), np.array([1.0, 3.0, 2.0]))
    >>> y.total, y.pairs  # 6² − 1² − 3² − 2²
    (6.0, 22.0)
    """

    plain: Response
    weights: Values
    kind: ClassVar[Kind] = "weighted"

    def __post_init__(self) -> None:
        own = self.weights
        if own.shape != (self.n,) or not (own > 0.0).all() or own.max() > LARGEST_RATIO * own.min():
            raise TableError(
                f"the weights of {printable(repr(self.name))} are no positive numbers, one a row, of which "
                f"the largest is at most {LARGEST_RATIO:g} times the smallest"
            )

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.plain.n

    @property
    def name(self) -> str:
        """What the response is called, for messages and results."""
        return self.plain.name

    @property
    def values(self) -> Values:
        """The response by row; shape (n,)."""
        return self.plain.values

    @once
    def total(self) -> float:
        """W = Σ w_i."""
        return float(self.weights.sum())

    @once
    def pairs(self) -> float:
        """What all ordered pairs of distinct rows weigh, Σ_{i≠j} w_i w_j."""
        # W − w_i would cancel where row i weighs nearly all
        earlier = np.cumsum(self.weights[:-1])
        later = np.cumsum(self.weights[:0:-1])[::-1]
        return float((self.weights * (np.append(0.0, earlier) + np.append(later, 0.0))).sum())

    @property
    def effective_rows(self) -> float:
        """W²/Σ w_i², as many rows of one weight as say as much of a mean (Kish 1965)."""
        return float(self.total**2 / (self.weights**2).sum())

    @once
    def centred(self) -> tuple[Values, int]:
        """Centre and scale the response, so that sums over it neither cancel nor overflow.

        Returns
        -------
        values : float64 array, shape (n,)
            y · 2^−e less its weighted mean; the scaling is exact.
        exponent : int
            e, chosen so that |y| · 2^−e < 1.
        """
        _, exponent = self.plain.centred
        small = np.ldexp(self.values, -exponent)  # not centred before: the mean may be far from this one
        for _ in range(2):  # once more: what rounding leaves of the mean counts W times
            small = small - float((small * self.weights).sum() / self.total)
        return small, exponent


def scaled_weights(given: Values) -> Values:
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
    >>> scaled_weights(np.array([2.0, 4.0, 6.0])).tolist()
    [1.0, 2.0, 3.0]
    >>> scaled_weights(np.array([3.0, 0.5])).tolist()
    [0.75, 0.125]
    """
    if (given == np.floor(given)).all() and given.sum() <= _LARGEST_SUM:
        return np.asarray(given / float(np.gcd.reduce(given.astype(np.int64))))
    _, exponent = np.frexp(given.max())
    return np.asarray(np.ldexp(given, -int(exponent)))
