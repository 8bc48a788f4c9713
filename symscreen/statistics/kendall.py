"""Kendall's τ-b: concordant minus discordant pairs, corrected for ties in both.

Kendall 1945, Biometrika 33, 239-251, by the algorithm of Knight 1966, J. Am. Stat. Assoc. 61, 436-439.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response
    from symscreen.statistics.order import Ordered

    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["kendall_of"]


def kendall_of(ordered: Ordered, response: Response) -> NDArray[np.float64]:
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
    sizes = response.group_sizes
    tied_y = int(np.sum(sizes * (sizes - 1) // 2))
    out = np.empty(len(ordered.order))
    _kernel(ordered.order, ordered.doubled_ranks, response.group, tied_y, out)
    return out


@kernel
def _kernel(order: Rows, doubled_ranks: Rows, group: Whole, tied_y: int, out: Values) -> None:
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
        discordant = _inversions(y, spare)
        difference = pairs - tied_feature - tied_y + tied_both - 2 * discordant
        out[f] = difference / np.sqrt(float(pairs - tied_feature)) / np.sqrt(float(pairs - tied_y))


@kernel
def _inversions(y: Whole, spare: Whole) -> int:
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
                    spare[p] = y[i]
                    i += 1
                else:
                    spare[p] = y[j]
                    j += 1
                    count += middle - i
        y[:] = spare
        width *= 2
    return count
