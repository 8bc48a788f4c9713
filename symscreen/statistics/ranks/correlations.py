"""Correlations of features with a target: Kendall's τ-b, Spearman's ρ and Pearson's r.

τ-b is the number of concordant minus discordant pairs, corrected for ties in both (Kendall 1945, Biometrika
33, 239-251), computed by the algorithm of Knight (1966, J. Am. Stat. Assoc. 61, 436-439). For several binary
targets, the mean of |Pearson's r| with each of them is computed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.ranks._kernels import (
    correlate,
    fill_kendall,
    sum_rank_products,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.ranks.binary_targets import BinaryTargets
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import SortedValues

_MAX_INT64_ROWS = 2_000_000  # rows up to which sums of rank products fit 64 bits


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
    fill_kendall(ordered.order, ordered.doubled_ranks, target.tie_groups, tied_y, out)
    return out


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
        sum_rank_products(ordered.order, ordered.values, ordered.tied, target_ranks, sums, squares)
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
    return compute_correlations(ordered.values, target.group_values)


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
    centered = target - target.mean()
    out = np.empty(len(values))
    # The kernel computes the dot products: the threads of BLAS would make the sum depend on their number.
    values = np.ascontiguousarray(values)
    correlate(values, values.view(np.int64), centered, float(np.sqrt((centered * centered).sum())), out)
    return out


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
