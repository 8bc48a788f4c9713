"""T0 over the comparable pairs of a survival response, and with it Harrell's C.

Of N comparable pairs, each weighs the same: how much longer a time is than another is not known where it was
cut short. A pair contributes 1 − s, with s = 1 where the feature is larger in the row that lasted longer, −1
where it is smaller and 0 where both rows tie in it::

    T0(θ) = Σ_{comparable i before j} (1 − s_ij) / N,    s_ij = sign(θ_j − θ_i)

T0 lies in [0, 2], is 1 under independence, and Harrell's concordance is C = 1 − T0/2, the chance that of two
comparable rows the one with the larger feature lasted longer (Harrell et al. 1982). Rows that met the event
are counted against all that outlasted them by a Fenwick tree over the order of the feature (Fenwick 1994):
O(n log n). All counts are whole numbers, so that mirrored ranks give exactly the negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response.survival import SurvivalResponse
    from symscreen.statistics.order import Ordered

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["harrell_c", "survival_metric"]


def survival_metric(ordered: Ordered, response: SurvivalResponse) -> NDArray[np.float64]:
    """Compute 1 − T0(θ) = Σ s / N of each feature of a block.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows.
    response : SurvivalResponse
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]: 1 where larger features last longer in every comparable pair.
    """
    sums = np.empty(len(ordered.order), dtype=np.int64)
    _kernel(ordered.order, ordered.values, ordered.tied, response.events, response.ends, sums)
    return sums / float(response.comparable)


def harrell_c(t0: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn T0 over comparable pairs into Harrell's concordance, C = 1 − T0/2.

    Parameters
    ----------
    t0 : float64 array
        In [0, 2].

    Returns
    -------
    float64 array
        In [0, 1]; above ½ where larger features last longer.

    Examples
    --------
    >>> harrell_c(np.array([0.0, 1.0, 1.5])).tolist()
    [1.0, 0.5, 0.25]
    """
    return 1.0 - t0 / 2.0


@kernel
def _kernel(order: Rows, values: Values, tied: Flags, events: Flags, ends: Whole, out: Whole) -> None:
    m, n = order.shape
    low = np.empty(n, dtype=np.int32)  # for each row, how many have a smaller feature
    high = np.empty(n, dtype=np.int32)  # and how many have one that is at most as large
    tree = np.empty(n + 1, dtype=np.int32)
    for f in range(m):
        _span(order[f], values[f], tied[f], low, high)
        tree[:] = 0
        inside, total = n, np.int64(0)
        for i in range(n - 1, -1, -1):
            if not events[i]:
                continue
            while inside > ends[i]:  # all that outlast row i
                inside -= 1
                k = low[inside] + 1
                while k <= n:
                    tree[k] += 1
                    k += k & -k
            above = np.int64(n - inside) - _at_most(tree, high[i])
            total += above - _at_most(tree, low[i])
        out[f] = total


@kernel
def _span(rows: Rows, z: Values, tied: bool, low: Rows, high: Rows) -> None:
    n, start = rows.size, 0
    for k in range(1, n + 1):
        if k == n or not tied or z[rows[k]] != z[rows[start]]:
            for j in range(start, k):
                low[rows[j]] = np.int32(start)
                high[rows[j]] = np.int32(k)
            start = k


@kernel
def _at_most(tree: Rows, k: int) -> int:
    """Count the rows in the tree that are among the first k of the feature's order."""
    total = 0
    while k > 0:
        total += int(tree[k])
        k -= k & -k
    return total
