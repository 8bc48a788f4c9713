"""Spearman's and Pearson's correlation of each feature with the response."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.lanes import dot_in_lanes
from symscreen.statistics.runs import rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response
    from symscreen.statistics.order import Ordered

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["correlations", "pearson_of", "spearman_of"]

_EXACT_ROWS = 2_000_000
_MAGNITUDE, _FRACTION_BITS, _BIAS = (1 << 63) - 1, 52, 1023  # of a float64
_MODERATE = 400  # powers of two whose squares, summed, are far from either end of the range
_BLOCK = 1024  # partial sums over this many rows keep the rounding error small at any n


def spearman_of(ordered: Ordered, response: Response) -> NDArray[np.float64]:
    """Compute Spearman's ρ: Pearson's correlation of the mid-ranks.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows, none constant.
    response : Response
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]; exactly the negative for mirrored ranks, since its sums are whole numbers.
    """
    n = response.n
    ours = response.doubled_ranks - (n + 1)
    if n <= _EXACT_ROWS:  # sums of whole numbers within ±n³
        sums, squares = np.empty((2, len(ordered.values)), dtype=np.int64)
        _products(ordered.order, ordered.values, ordered.tied, ours, sums, squares)
        ours_squared = float((ours * ours).sum())
    else:
        theirs = ordered.doubled_ranks.astype(np.float64) - (n + 1)
        sums, squares = (theirs * ours).sum(axis=1), (theirs * theirs).sum(axis=1)
        ours_squared = float((ours.astype(np.float64) ** 2).sum())
    spread = np.sqrt(squares.astype(np.float64)) * np.sqrt(ours_squared)
    return np.asarray(np.clip(sums.astype(np.float64) / spread, -1.0, 1.0))


@kernel
def _products(order: Rows, values: Values, tied: Flags, ours: Whole, sums: Whole, squares: Whole) -> None:
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)
    for f in range(m):
        rows = order[f]
        total, square = np.int64(0), np.int64(n) * (np.int64(n) * n - 1) // 3
        if tied[f]:
            rank(rows, values[f], doubled)
            square = np.int64(0)
            for i in range(n):
                theirs = np.int64(doubled[i]) - (n + 1)
                total += theirs * ours[i]
                square += theirs * theirs
        else:
            for k in range(n):
                total += (2 * k + 1 - n) * ours[np.uint32(rows[k])]
        sums[f], squares[f] = total, square


def pearson_of(ordered: Ordered, response: Response) -> NDArray[np.float64]:
    """Compute Pearson's correlation of each feature of a block with the response.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows, none constant.
    response : Response
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1].
    """
    centred, _ = response.centred
    return correlations(ordered.values, centred[response.group])


def correlations(values: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute Pearson's correlation of each row of a block with one target.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        Finite; any scale, for rows of very large or small ones are first brought near 1.
    target : float64 array, shape (n,)
        Finite and of moderate size.

    Returns
    -------
    float64 array, shape (m,)
        0 where a row is constant.

    Examples
    --------
    >>> correlations(np.array([[1e300, 2e300, 3e300]]), np.array([1.0, 2.0, 4.0])).round(4).tolist()
    [0.982]
    """
    aim = target - target.mean()
    out = np.empty(len(values))
    # not a dot product: BLAS may split the sum by its own threads
    values = np.ascontiguousarray(values)
    _correlate(values, values.view(np.int64), aim, float(np.sqrt((aim * aim).sum())), out)
    return out


@kernel
def _correlate(values: Values, bits: Whole, aim: Values, spread_of_aim: float, out: Values) -> None:
    m, n = values.shape
    small = np.empty(n)
    ones = np.ones(min(n, _BLOCK))
    for f in range(m):
        z = values[f]
        largest = np.int64(
            0
        )  # magnitudes stand in the order of their bits, which are compared several at once
        for i in range(n):
            largest = max(largest, bits[f, i] & _MAGNITUDE)
        exponent = (largest >> _FRACTION_BITS) - _BIAS
        if abs(exponent) > _MODERATE:  # by a power of two, in two steps, for it may be out of range itself
            half = -(exponent // 2)
            first, second = math.ldexp(1.0, int(half)), math.ldexp(1.0, int(-exponent - half))
            for i in range(n):
                small[i] = z[i] * first * second
            z = small
        mean = 0.0
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            mean += dot_in_lanes(z[start:stop], ones, 0, stop - start)
        mean /= n
        for i in range(n):
            small[i] = z[i] - mean
        square = covariance = 0.0
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            square += dot_in_lanes(small, small, start, stop)
            covariance += dot_in_lanes(small, aim, start, stop)
        spread = math.sqrt(square) * spread_of_aim
        out[f] = min(1.0, max(-1.0, covariance / spread)) if spread > 0.0 else 0.0
