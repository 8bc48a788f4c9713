"""Kendall's τ-b: concordant minus discordant pairs, corrected for ties in both.

Kendall 1945, Biometrika 33, 239-251, by the algorithm of Knight 1966, J. Am. Stat. Assoc. 61, 436-439.

Spearman's and Pearson's correlation of each feature with the response.

How far a feature goes along with several binary responses: Pearson's correlation with each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.column_arithmetic import compute_simd_dot
from symscreen.statistics.ranks.fast_sort import write_doubled_ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import NumericTarget
    from symscreen.targets.binary import BinaryTargets


__all__ = [
    "compute_binary_correlations",
    "compute_correlations",
    "compute_kendall",
    "compute_pearson",
    "compute_spearman",
]


def compute_kendall(ordered: SortedBlock, target: NumericTarget) -> NDArray[np.float64]:
    """Compute τ-b between each feature of a block and the response.

    With n0 all pairs, n1 those tied in θ, n2 those tied in y, τ_b = (C − D) / √((n0 − n1)(n0 − n2)).

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows, none constant.
    response : Response
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]; exactly the negative for mirrored ranks.
    """
    sizes = target.tie_group_sizes
    tied_y = int(np.sum(sizes * (sizes - 1) // 2))
    out = np.empty(len(ordered.order))
    _fill_kendall(ordered.order, ordered.doubled_ranks, target.tie_groups, tied_y, out)
    return out


@compile_kernel
def _fill_kendall(order: Rows, doubled_ranks: Rows, group: Integers, n_tied_y: int, out: Values) -> None:
    m, n = order.shape
    y = np.empty(n, dtype=np.int64)
    spare = np.empty(n, dtype=np.int64)
    pairs = n * (n - 1) // 2
    for f in range(m):
        tied_feature = 0
        tied_both = 0
        run = 1
        run_both = 1
        y[0] = group[order[f, 0]]
        for k in range(1, n):
            y[k] = group[order[f, k]]
            same = doubled_ranks[f, order[f, k]] == doubled_ranks[f, order[f, k - 1]]
            # tied rows ascend by row number and so by y: rows tied in both are neighbours
            run = run + 1 if same else 1
            run_both = run_both + 1 if same and y[k] == y[k - 1] else 1
            tied_feature += run - 1
            tied_both += run_both - 1
        discordant = _count_inversions(y, spare)
        difference = pairs - tied_feature - n_tied_y + tied_both - 2 * discordant
        out[f] = difference / np.sqrt(float(pairs - tied_feature)) / np.sqrt(float(pairs - n_tied_y))


@compile_kernel
def _count_inversions(y: Integers, buffer: Integers) -> int:
    """Count the pairs out of order while merge-sorting y from the bottom up."""
    n = y.size
    count = 0
    width = 1
    while width < n:
        for left in range(0, n, 2 * width):
            middle, right = min(left + width, n), min(left + 2 * width, n)
            i, j = left, middle
            for p in range(left, right):
                if i < middle and (j >= right or y[i] <= y[j]):
                    buffer[p] = y[i]
                    i += 1
                else:
                    buffer[p] = y[j]
                    j += 1
                    count += middle - i
        y[:] = buffer
        width *= 2
    return count


_MAX_INT64_ROWS = 2_000_000
_MAGNITUDE_MASK, _FRACTION_BITS, _EXPONENT_BIAS = (1 << 63) - 1, 52, 1023  # of a float64
_MAX_MODERATE_EXPONENT = 400  # powers of two whose squares, summed, are far from either end of the range
_BLOCK_ROWS = 1024  # partial sums over this many rows keep the rounding error small at any n


def compute_spearman(ordered: SortedBlock, target: NumericTarget) -> NDArray[np.float64]:
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
    n = target.n
    ours = target.doubled_ranks - (n + 1)
    if n <= _MAX_INT64_ROWS:  # sums of whole numbers within ±n³
        sums, squares = np.empty((2, len(ordered.values)), dtype=np.int64)
        _sum_rank_products(ordered.order, ordered.values, ordered.tied, ours, sums, squares)
        ours_squared = float((ours * ours).sum())
    else:
        theirs = ordered.doubled_ranks.astype(np.float64) - (n + 1)
        sums, squares = (theirs * ours).sum(axis=1), (theirs * theirs).sum(axis=1)
        ours_squared = float((ours.astype(np.float64) ** 2).sum())
    spread = np.sqrt(squares.astype(np.float64)) * np.sqrt(ours_squared)
    return np.asarray(np.clip(sums.astype(np.float64) / spread, -1.0, 1.0))


@compile_kernel
def _sum_rank_products(
    order: Rows, values: Values, tied: Flags, target_ranks: Integers, sums: Integers, squares: Integers
) -> None:
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)
    for f in range(m):
        rows = order[f]
        total, square = np.int64(0), np.int64(n) * (np.int64(n) * n - 1) // 3
        if tied[f]:
            write_doubled_ranks(rows, values[f], doubled)
            square = np.int64(0)
            for i in range(n):
                theirs = np.int64(doubled[i]) - (n + 1)
                total += theirs * target_ranks[i]
                square += theirs * theirs
        else:
            for k in range(n):
                total += (2 * k + 1 - n) * target_ranks[np.uint32(rows[k])]
        sums[f], squares[f] = total, square


def compute_pearson(ordered: SortedBlock, target: NumericTarget) -> NDArray[np.float64]:
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
    centred, _ = target.centered_values
    return compute_correlations(ordered.values, centred[target.tie_groups])


def compute_correlations(values: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
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
    >>> compute_correlations(np.array([[1e300, 2e300, 3e300]]), np.array([1.0, 2.0, 4.0])).round(4).tolist()
    [0.982]
    """
    aim = target - target.mean()
    out = np.empty(len(values))
    # not a dot product: BLAS may split the sum by its own threads
    values = np.ascontiguousarray(values)
    _correlate(values, values.view(np.int64), aim, float(np.sqrt((aim * aim).sum())), out)
    return out


@compile_kernel
def _correlate(
    values: Values, bits: Integers, centered_target: Values, target_spread: float, out: Values
) -> None:
    m, n = values.shape
    small = np.empty(n)
    ones = np.ones(min(n, _BLOCK_ROWS))
    for f in range(m):
        z = values[f]
        largest = np.int64(
            0
        )  # magnitudes stand in the order of their bits, which are compared several at once
        for i in range(n):
            largest = max(largest, bits[f, i] & _MAGNITUDE_MASK)
        exponent = (largest >> _FRACTION_BITS) - _EXPONENT_BIAS
        if (
            abs(exponent) > _MAX_MODERATE_EXPONENT
        ):  # by a power of two, in two steps, for it may be out of range itself
            half = -(exponent // 2)
            first, second = math.ldexp(1.0, int(half)), math.ldexp(1.0, int(-exponent - half))
            for i in range(n):
                small[i] = z[i] * first * second
            z = small
        mean = 0.0
        for start in range(0, n, _BLOCK_ROWS):
            stop = min(start + _BLOCK_ROWS, n)
            mean += compute_simd_dot(z[start:stop], ones, 0, stop - start)
        mean /= n
        for i in range(n):
            small[i] = z[i] - mean
        square = covariance = 0.0
        for start in range(0, n, _BLOCK_ROWS):
            stop = min(start + _BLOCK_ROWS, n)
            square += compute_simd_dot(small, small, start, stop)
            covariance += compute_simd_dot(small, centered_target, start, stop)
        spread = math.sqrt(square) * target_spread
        out[f] = min(1.0, max(-1.0, covariance / spread)) if spread > 0.0 else 0.0


def compute_binary_correlations(values: NDArray[np.float64], targets: BinaryTargets) -> NDArray[np.float64]:
    """Compute the mean of |Pearson's correlation| with the signs of the responses.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row; finite.
    responses : BinaryResponses
        Of these n rows. Each is judged by the rows that count for it, and weighs as many as they are, times
        what such a row weighs; a feature that is constant there has the correlation 0.

    Returns
    -------
    float64 array, shape (m,)
        In [0, 1].

    Examples
    --------
    >>> from symscreen.targets.binary import build_binary_targets
    >>> y = build_binary_targets(np.array([[-1, -1, 1, 1]], dtype=np.int8))
    >>> compute_binary_correlations(np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0]]), y).tolist()
    [1.0, 0.0]
    """
    weights = targets.weights * targets.n_observed
    found = np.empty((len(weights), len(values)))
    for place, own in enumerate(targets.signs):
        rows = np.flatnonzero(own)
        part = values if len(rows) == targets.n else values[:, rows]
        found[place] = weights[place] * np.abs(compute_correlations(part, own[rows].astype(np.float64)))
    found.sort(axis=0)  # so that the order of the responses does not matter
    total = np.zeros(len(values))
    for each in found:  # one by one: numpy sums a single feature in another order than several
        total += each
    return np.asarray(total / math.fsum(weights))
