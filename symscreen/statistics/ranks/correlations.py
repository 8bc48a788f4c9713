"""Correlations of features with a target: Kendall's τ-b, Spearman's ρ and Pearson's r.

τ-b is the number of concordant minus discordant pairs, corrected for ties in both (Kendall 1945, Biometrika
33, 239-251), computed by the algorithm of Knight (1966, J. Am. Stat. Assoc. 61, 436-439). For several binary
targets, the mean of |Pearson's r| with each of them is computed.
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
    from symscreen.statistics.ranks.binary_targets import BinaryTargets
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import SortedValues


def compute_kendall(ordered: SortedBlock, target: SortedValues) -> NDArray[np.float64]:
    """Compute τ-b between each feature of a block and the target.

    τ_b = (C − D) / √((n0 − n1)(n0 − n2)), where n0 is the number of pairs, n1 of those tied in θ, and n2 of
    those tied in y.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows; none is constant.
    target : SortedValues
        The target.

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
    """Write τ-b of each feature, shape (m,)."""
    m, n = order.shape
    y = np.empty(n, dtype=np.int64)
    buffer = np.empty(n, dtype=np.int64)
    n_pairs = n * (n - 1) // 2
    for f in range(m):
        tied_feature = 0
        tied_both = 0
        tie_count = 1
        both_count = 1
        y[0] = group[order[f, 0]]
        for k in range(1, n):
            y[k] = group[order[f, k]]
            is_tied = doubled_ranks[f, order[f, k]] == doubled_ranks[f, order[f, k - 1]]
            # Tied rows ascend by row number and so by y: rows tied in both are adjacent.
            tie_count = tie_count + 1 if is_tied else 1
            both_count = both_count + 1 if is_tied and y[k] == y[k - 1] else 1
            tied_feature += tie_count - 1
            tied_both += both_count - 1
        discordant = _count_inversions(y, buffer)
        difference = n_pairs - tied_feature - n_tied_y + tied_both - 2 * discordant
        out[f] = difference / np.sqrt(float(n_pairs - tied_feature)) / np.sqrt(float(n_pairs - n_tied_y))


@compile_kernel
def _count_inversions(y: Integers, buffer: Integers) -> int:
    """Count the inversions of y, shape (n,), by a bottom-up merge sort, which sorts y in place."""
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


_MAX_INT64_ROWS = 2_000_000  # rows up to which sums of rank products fit 64 bits
_MAGNITUDE_MASK, _FRACTION_BITS, _EXPONENT_BIAS = (1 << 63) - 1, 52, 1023  # of a float64
_MAX_MODERATE_EXPONENT = 400  # up to this power of two, sums of squares neither overflow nor underflow
_BLOCK_ROWS = 1024  # partial sums over this number of rows keep the rounding error small for any n


def compute_spearman(ordered: SortedBlock, target: SortedValues) -> NDArray[np.float64]:
    """Compute Spearman's ρ: Pearson's correlation of the mid-ranks.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows; none is constant.
    target : SortedValues
        The target.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]; exactly the negative for mirrored ranks, because the sums are integers.
    """
    n = target.n
    target_ranks = target.doubled_ranks - (n + 1)
    if n <= _MAX_INT64_ROWS:  # sums of integers within ±n³
        sums, squares = np.empty((2, len(ordered.values)), dtype=np.int64)
        _sum_rank_products(ordered.order, ordered.values, ordered.tied, target_ranks, sums, squares)
        target_square = float((target_ranks * target_ranks).sum())
    else:
        feature_ranks = ordered.doubled_ranks.astype(np.float64) - (n + 1)
        sums, squares = (
            (feature_ranks * target_ranks).sum(axis=1),
            (feature_ranks * feature_ranks).sum(axis=1),
        )
        target_square = float((target_ranks.astype(np.float64) ** 2).sum())
    spread = np.sqrt(squares.astype(np.float64)) * np.sqrt(target_square)
    return np.asarray(np.clip(sums.astype(np.float64) / spread, -1.0, 1.0))


@compile_kernel
def _sum_rank_products(
    order: Rows, values: Values, tied: Flags, target_ranks: Integers, sums: Integers, squares: Integers
) -> None:
    """Write Σ of products with the target's centred ranks, and of squares, for each feature; shapes (m,)."""
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)
    for f in range(m):
        rows = order[f]
        total, square = np.int64(0), np.int64(n) * (np.int64(n) * n - 1) // 3
        if tied[f]:
            write_doubled_ranks(rows, values[f], doubled)
            square = np.int64(0)
            for i in range(n):
                rank = np.int64(doubled[i]) - (n + 1)
                total += rank * target_ranks[i]
                square += rank * rank
        else:
            for k in range(n):
                total += (2 * k + 1 - n) * target_ranks[np.uint32(rows[k])]
        sums[f], squares[f] = total, square


def compute_pearson(ordered: SortedBlock, target: SortedValues) -> NDArray[np.float64]:
    """Compute Pearson's correlation of each feature of a block with the target.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows; none is constant.
    target : SortedValues
        The target.

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
        Finite, of any magnitude: rows of very large or small values are scaled first.
    target : float64 array, shape (n,)
        Finite, far from overflow.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]; 0 for a constant row.

    Examples
    --------
    >>> compute_correlations(np.array([[1e300, 2e300, 3e300]]), np.array([1.0, 2.0, 4.0])).round(4).tolist()
    [0.982]
    """
    centred = target - target.mean()
    out = np.empty(len(values))
    # The kernel computes the dot products: the threads of BLAS would make the sum depend on their number.
    values = np.ascontiguousarray(values)
    _correlate(values, values.view(np.int64), centred, float(np.sqrt((centred * centred).sum())), out)
    return out


@compile_kernel
def _correlate(
    values: Values, bits: Integers, centered_target: Values, target_spread: float, out: Values
) -> None:
    """Write the correlation of each row of `values`, shape (m, n), with the target; shape (m,)."""
    m, n = values.shape
    centred = np.empty(n)
    ones = np.ones(min(n, _BLOCK_ROWS))
    for f in range(m):
        z = values[f]
        max_magnitude = np.int64(0)  # as bits, which have the order of the magnitudes and are compared faster
        for i in range(n):
            max_magnitude = max(max_magnitude, bits[f, i] & _MAGNITUDE_MASK)
        exponent = (max_magnitude >> _FRACTION_BITS) - _EXPONENT_BIAS
        if abs(exponent) > _MAX_MODERATE_EXPONENT:
            # Scale by a power of two in two steps, because the power itself may be out of range.
            half = -(exponent // 2)
            first, second = math.ldexp(1.0, int(half)), math.ldexp(1.0, int(-exponent - half))
            for i in range(n):
                centred[i] = z[i] * first * second
            z = centred
        mean = 0.0
        for start in range(0, n, _BLOCK_ROWS):
            stop = min(start + _BLOCK_ROWS, n)
            mean += compute_simd_dot(z[start:stop], ones, 0, stop - start)
        mean /= n
        for i in range(n):
            centred[i] = z[i] - mean
        square = covariance = 0.0
        for start in range(0, n, _BLOCK_ROWS):
            stop = min(start + _BLOCK_ROWS, n)
            square += compute_simd_dot(centred, centred, start, stop)
            covariance += compute_simd_dot(centred, centered_target, start, stop)
        spread = math.sqrt(square) * target_spread
        out[f] = min(1.0, max(-1.0, covariance / spread)) if spread > 0.0 else 0.0


def compute_binary_correlations(values: NDArray[np.float64], targets: BinaryTargets) -> NDArray[np.float64]:
    """Compute the weighted mean of |Pearson's correlation| with the signs of the binary targets.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature per row; finite.
    targets : BinaryTargets
        The targets over these n rows. Each correlation uses the rows that the target observes, and is
        weighted by their number times the weight of such a row. A feature that is constant on them has
        correlation 0.

    Returns
    -------
    float64 array, shape (m,)
        In [0, 1].

    Examples
    --------
    >>> from symscreen.statistics.ranks.binary_targets import build_binary_targets
    >>> y = build_binary_targets(np.array([[-1, -1, 1, 1]], dtype=np.int8))
    >>> compute_binary_correlations(np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0]]), y).tolist()
    [1.0, 0.0]
    """
    weights = targets.weights * targets.n_observed
    correlations = np.empty((len(weights), len(values)))
    for p, signs in enumerate(targets.signs):
        rows = np.flatnonzero(signs)
        observed = values if len(rows) == targets.n else values[:, rows]
        correlations[p] = weights[p] * np.abs(compute_correlations(observed, signs[rows].astype(np.float64)))
    correlations.sort(axis=0)  # so that the order of the targets does not matter
    total = np.zeros(len(values))
    for row in correlations:  # one by one: numpy sums one feature in a different order than several
        total += row
    return np.asarray(total / math.fsum(weights))
