"""Row weights of least squares: rows times the roots of their weights.

The weighted fit of y = c₀ + Σ c_k·f_k is the plain fit of the same columns after a linear map of the rows.
The map multiplies row i by √w_i, where the weights have mean 1. It then applies the orthogonal map that takes
(√w_1, …, √w_n) to (1, …, 1). So a column of ones stays a column of ones, the plain mean of a mapped column is
the weighted mean, and searches that centre columns need no change. The orthogonal map is a Householder
reflection with the opposite sign, which is accurate for all weights (Golub and Van Loan 2013, Matrix
Computations, 4th ed., section 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property

if TYPE_CHECKING:
    from symscreen._typing import Integers, Values


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Weights of rows that are not all equal; see `build_row_weights`.

    Parameters
    ----------
    weights : float64 array, shape (n,)
        Positive weights with mean 1.
    """

    weights: Values

    @lockfree_cached_property
    def roots(self) -> Values:
        """Square roots of the weights, shape (n,)."""
        return np.asarray(np.sqrt(self.weights))

    @lockfree_cached_property
    def _direction(self) -> Values:
        """U = (√w + 1)/√n, shape (n,): the reflection is 2·u·(uᵀs)/(uᵀu) − s."""
        return np.asarray((self.roots + 1.0) / np.sqrt(len(self.weights)))

    def scale(self, values: Values) -> Values:
        """Multiply rows by the roots of their weights; the shape is (…, n)."""
        return np.asarray(values * self.roots)

    def rotate(self, values: Values) -> Values:
        """Map columns so that a plain fit of them is the weighted fit; the shape is (…, n).

        Examples
        --------
        >>> weights = RowWeights(np.array([0.5, 1.5]))
        >>> weights.rotate(np.array([[1.0, 1.0], [3.0, 5.0]])).mean(axis=1).round(9).tolist()
        [1.0, 4.5]
        """
        scaled, direction = self.scale(values), self._direction
        shares = (scaled * direction).sum(axis=-1, keepdims=True) / (direction * direction).sum()
        return np.asarray(2.0 * shares * direction - scaled)

    def take(self, rows: Integers) -> RowWeights:
        """Return the weights of all rows in another order."""
        return RowWeights(self.weights[rows])


def build_row_weights(weights: Values) -> RowWeights | None:
    """Scale positive weights, shape (n,), to mean 1; None if they are all equal.

    Examples
    --------
    >>> build_row_weights(np.array([2.0, 6.0])).weights.tolist()
    [0.5, 1.5]
    >>> build_row_weights(np.array([3.0, 3.0])) is None
    True
    """
    if (weights == weights[0]).all():
        return None
    relative = weights / weights.max()  # sums of large weights might overflow
    return RowWeights(relative / relative.mean())


def count_effective_rows(n_rows: int, row_weights: RowWeights | None) -> float:
    """Return the number of rows of equal weight that say as much: Kish's (Σw)²/Σw², or n without weights.

    Examples
    --------
    >>> count_effective_rows(9, None), count_effective_rows(3, build_row_weights(np.array([4.0, 4.0, 1e-9])))
    (9, 2.0000000005)
    """
    return n_rows if row_weights is None else float(n_rows**2 / (row_weights.weights**2).sum())


def scale_rows(values: Values, row_weights: RowWeights | None) -> Values:
    """Multiply rows by the roots of their weights, if there are any; the shape is (…, n)."""
    return values if row_weights is None else row_weights.scale(values)


def rotate_rows(values: Values, row_weights: RowWeights | None) -> Values:
    """Map columns so that a plain fit of them is the weighted fit; the shape is (…, n)."""
    return values if row_weights is None else row_weights.rotate(values)


def center_rows(values: Values, row_weights: RowWeights | None) -> Values:
    """Subtract the weighted mean, and multiply rows by the roots of their weights; the shape is (n,)."""
    if row_weights is None:
        return np.asarray(values - values.mean())
    mean = (values * row_weights.weights).mean()
    return row_weights.scale(values - mean)
