"""T0 of `symscreen.statistics.t0` against several responses: the ranks of a feature are taken once.

With mid-ranks R of the feature, Δ_k − T0_k = 4/(n(n−1)) · Σ_i y_ki (R_i − (n+1)/2) for each response y_k: one
sum a response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.lanes import dot_in_lanes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response.several import SeveralResponse
    from symscreen.statistics.order import Ordered

    Ranks = NDArray[np.int32]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["ranking_metrics"]

_BLOCK = 1024  # partial sums over this many rows keep the rounding error far below 1e-12·Δ at any n


def ranking_metrics(ordered: Ordered, response: SeveralResponse) -> NDArray[np.float64]:
    """Compute Δ_k − T0_k(θ) of each feature of a block by each target.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows.
    response : SeveralResponse
        K targets.

    Returns
    -------
    float64 array, shape (K, m)
        In [−Δ_k, Δ_k], in the target's unit; of mirrored ranks exactly the negative.
    """
    n, found = response.n, np.empty((len(response.targets), len(ordered.values)))
    for target, rows, sums in zip(response.targets, response.rows, found, strict=True):
        centred, exponent = target.centred
        _kernel(ordered.doubled_ranks, rows, target.group, target.untied, centred, sums)
        np.ldexp(2.0 / (n * (n - 1.0)) * sums, exponent, out=sums)
    return found


@kernel
def _kernel(ranks: Ranks, rows: Rows, group: Whole, untied: bool, centred: Values, out: Values) -> None:
    """Sum as the kernel of `symscreen.statistics.t0` does, in the order of the target: the same bits."""
    m, n = ranks.shape
    doubled = np.empty(n, dtype=np.int32)  # twice the ranks, less n + 1
    weights = np.empty(centred.size)
    for f in range(m):
        for i in range(n):
            doubled[i] = ranks[f, np.uint32(rows[i])] - np.int32(n + 1)
        if untied:
            out[f] = _dot(centred, doubled)
            continue
        total = 0
        for i in range(n):
            total += doubled[i]
            if i + 1 == n or group[i + 1] != group[i]:
                weights[group[i]] = float(total)
                total = 0
        out[f] = _dot(centred, weights)


@kernel
def _dot(a: Values, b: Values | Rows) -> float:
    total = 0.0
    for start in range(0, a.size, _BLOCK):
        total += dot_in_lanes(a, b, start, min(start + _BLOCK, a.size))
    return total
