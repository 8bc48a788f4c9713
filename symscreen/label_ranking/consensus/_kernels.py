"""Compiled kernel of the exact median: dynamic programming over the subsets of the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values


@compile_kernel
def find_best_order(costs: Values, tolerance: float, order: NDArray[np.int64]) -> None:
    """Write the order of minimum cost to `order`; `costs[i, j]` is the cost of placing i before j."""
    k = costs.shape[0]
    min_costs = np.empty(1 << k)  # lowest cost of ordering the labels of each subset
    min_costs[0] = 0.0
    for members in range(1, 1 << k):
        best = np.inf
        for i in range(k):
            if members >> i & 1:
                rest = members & ~(1 << i)
                loss = min_costs[rest]
                for j in range(k):
                    if rest >> j & 1:
                        loss += costs[i, j]
                best = min(best, loss)
        min_costs[members] = best
    members = (1 << k) - 1
    for position in range(k):
        for i in range(k):
            if members >> i & 1:
                rest = members & ~(1 << i)
                loss = min_costs[rest]
                for j in range(k):
                    if rest >> j & 1:
                        loss += costs[i, j]
                if loss <= min_costs[members] + tolerance:
                    order[position] = i
                    members = rest
                    break
