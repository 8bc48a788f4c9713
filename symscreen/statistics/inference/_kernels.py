"""Compiled kernels of permutation tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.ranks._kernels import write_doubled_ranks

if TYPE_CHECKING:
    from symscreen._typing import Flags, Integers, Rows, Values

LEVEL_TOLERANCE = 1e-6  # difference of equal statistics, relative to the width of a level


@compile_kernel
def fill_centered_ranks(order: Rows, values: Values, tied: Flags, ranks: Values, scale: Values) -> None:
    """Write 2 R − (n + 1) of each feature, shape (m, n), and 1/√V, shape (m,)."""
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)
    untied = 1.0 / np.sqrt(float(n) * (float(n) * n - 1.0) / 3.0)
    for f in range(m):
        rows, centered = order[f], ranks[f]
        if tied[f]:
            write_doubled_ranks(rows, values[f], doubled)
            square = 0.0
            for i in range(n):
                centered[i] = doubled[i] - (n + 1)
                square += centered[i] * centered[i]
            scale[f] = 1.0 / np.sqrt(square)
        else:
            for k in range(n):
                centered[np.uint32(rows[k])] = 2 * k + 1 - n
            scale[f] = untied


@compile_kernel
def fill_max(sums: Values, scale: Values, sign_free: bool, max_statistics: Values) -> None:
    """Update the maximum Z, shape (B,), with the sums S, shape (m, B), scaled by 1/√V, shape (m,)."""
    m, permutations = sums.shape
    for f in range(m):
        feature_sums, factor = sums[f], scale[f]
        if sign_free:
            for b in range(permutations):
                max_statistics[b] = max(max_statistics[b], abs(feature_sums[b]) * factor)
        else:
            for b in range(permutations):
                max_statistics[b] = max(max_statistics[b], feature_sums[b] * factor)


@compile_kernel
def count_levels(
    own: Values,
    permuted: Values,
    low: float,
    factor: float,
    observed_counts: Integers,
    permuted_counts: Integers,
) -> None:
    """Count the levels of statistics, shape (m,), and of those under permutations, shape (m, B)."""
    m, permutations = permuted.shape
    last = len(observed_counts) - 1
    for f in range(m):
        place = (own[f] - low) * factor
        place = max(0.0, place)
        observed_counts[np.int64(min(last, place))] += 1
        for b in range(permutations):
            # A statistic that equals one of the data up to rounding is on its level at least.
            place = (permuted[f, b] - low) * factor + LEVEL_TOLERANCE
            place = max(0.0, place)
            permuted_counts[np.int64(min(last, place))] += 1
