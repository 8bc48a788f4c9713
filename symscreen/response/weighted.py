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

__all__ = ["WeightedResponse", "whole_weights"]

_LARGEST_SUM = 2.0**51  # whole numbers up to twice as many have no rounding


@dataclass(frozen=True, eq=False)
class WeightedResponse:
    """A numeric response with its rows in ascending order, and what each row weighs.

    Parameters
    ----------
    plain : Response
        The response.
    weights : float64 array, shape (n,)
        Positive whole numbers, of a sum of at most 2⁵¹, as `whole_weights` gives them: their sums have no
        rounding, so that they depend on no order.

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
        whole = own.shape == (self.n,) and bool(((own >= 1.0) & (own == np.floor(own))).all())
        if not whole or own.sum() > _LARGEST_SUM:
            raise TableError(
                f"the weights of {printable(repr(self.name))} are no positive whole numbers, one a row: give "
                "what whole_weights makes of them"
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
        """What all ordered pairs of distinct rows weigh, Σ_{i≠j} w_i w_j = Σ w_i (W − w_i)."""
        return float((self.weights * (self.total - self.weights)).sum())

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
        small, exponent = self.plain.centred
        by_row = small[self.plain.group]
        return by_row - float((by_row * self.weights).sum() / self.total), exponent


def whole_weights(given: Values) -> Values:
    """Write weights as whole numbers of the same ratios.

    Parameters
    ----------
    given : float64 array, shape (n,)
        Positive, finite.

    Returns
    -------
    float64 array, shape (n,)
        Whole numbers as they were, divided by what divides all of them; others times a power of two, and
        rounded: to some 10⁻¹⁵ of the sum, and never to 0.

    Examples
    --------
    >>> whole_weights(np.array([2.0, 4.0, 6.0])).tolist()
    [1.0, 2.0, 3.0]
    >>> whole_weights(np.array([0.5, 0.75])) / 2.0**47
    array([2., 3.])
    """
    _, exponent = np.frexp(given.max())
    if (given == np.floor(given)).all() and given.sum() <= _LARGEST_SUM:
        return np.asarray(given / float(np.gcd.reduce(given.astype(np.int64))))
    near_1 = np.ldexp(given, -int(exponent))  # the largest in [½, 1)
    _, above = np.frexp(near_1.sum())
    return np.asarray(np.maximum(np.round(np.ldexp(near_1, 50 - int(above))), 1.0))
