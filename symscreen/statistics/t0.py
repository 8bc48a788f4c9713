"""The concordant divergence T0 in closed form (Luo and Li 2024, eq. 18).

The definition is a mean over ordered pairs of distinct rows::

    T0(θ) = Σ 2|y_i − y_j| / (n(n−1)) · [1(θ_i ≥ θ_j)·1(y_i < y_j) + 1(θ_i < θ_j)·1(y_i ≥ y_j)]

A pair contributes |y_i − y_j|·(1 − s) with s = sign(θ_i − θ_j)·sign(y_i − y_j), so with mid-ranks R, exactly
and with ties of every kind::

    T0(θ) = 4/(n(n−1)) · Σ_i y_i (R_i(y) − R_i(θ)) = Δ − 4/(n(n−1)) · Σ_i y_i (R_i(θ) − (n+1)/2)

where Δ is Gini's mean difference of y. Ties in θ count half, ties in y count nothing.
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

__all__ = ["gini_mean_difference", "ranking_metric", "t0_of"]

_BLOCK = 1024  # partial sums over this many rows keep the rounding error far below 1e-12·Δ at any n


def t0_of(ordered: Ordered, response: Response) -> NDArray[np.float64]:
    """Compute T0 of each feature of a block.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows.
    response : Response
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [0, 2Δ], in the response's unit; 0 where a feature orders the rows as y does. Accurate to
        1e-12·Δ. Of a feature with mirrored ranks it is 2Δ minus this.
    """
    return gini_mean_difference(response) - ranking_metric(ordered, response)


def ranking_metric(ordered: Ordered, response: Response) -> NDArray[np.float64]:
    """Compute Δ − T0(θ) = 4/(n(n−1)) · Σ_i y_i (R_i(θ) − (n+1)/2) of each feature of a block.

    Without ties and noise it is the ranking metric T(r_θ) of Luo and Li (2024, eq. 15).

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows.
    response : Response
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [−Δ, Δ], in the response's unit; of mirrored ranks exactly the negative.
    """
    return _metric(ordered.doubled_ranks, response)


def gini_mean_difference(response: Response) -> float:
    """Compute Δ, Gini's mean difference of y: the mean of |y_i − y_j| over pairs of distinct rows.

    Parameters
    ----------
    response : Response
        The response.

    Returns
    -------
    float
        Δ > 0, in the response's unit; T0 lies in [0, 2Δ] and has mean Δ under independence.
    """
    return float(_metric(response.doubled_ranks[None, :].astype(np.int32), response)[0])


def _metric(doubled_ranks: NDArray[np.int32], response: Response) -> NDArray[np.float64]:
    n = response.n
    centred, exponent = response.centred
    sums = np.empty(len(doubled_ranks))
    _kernel(doubled_ranks, response.group, response.untied, centred, sums)
    return np.asarray(np.ldexp(2.0 / (n * (n - 1.0)) * sums, exponent))


@kernel
def _kernel(doubled_ranks: Rows, group: Whole, untied: bool, centred: Values, out: Values) -> None:
    m, n = doubled_ranks.shape
    weights = np.empty(centred.size)
    for f in range(m):
        if untied:
            for i in range(n):
                weights[i] = doubled_ranks[f, i] - (n + 1)
        else:
            # whole-number sums over tied responses: the result cannot depend on the order of their rows
            weights[:] = 0.0
            for i in range(n):
                weights[group[i]] += doubled_ranks[f, i] - (n + 1)
        out[f] = _dot(centred, weights)


@kernel
def _dot(a: Values, b: Values) -> float:
    total = 0.0
    for start in range(0, a.size, _BLOCK):
        stop = min(start + _BLOCK, a.size)
        even = start + (stop - start) // 8 * 8
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        for i in range(start, even, 8):  # eight sums run side by side; their order is fixed
            s0 += a[i] * b[i]
            s1 += a[i + 1] * b[i + 1]
            s2 += a[i + 2] * b[i + 2]
            s3 += a[i + 3] * b[i + 3]
            s4 += a[i + 4] * b[i + 4]
            s5 += a[i + 5] * b[i + 5]
            s6 += a[i + 6] * b[i + 6]
            s7 += a[i + 7] * b[i + 7]
        for i in range(even, stop):
            s0 += a[i] * b[i]
        total += ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))
    return total
