"""The concordant divergence T0 in closed form (Luo and Li 2024, eq. 18).

The definition is a mean over ordered pairs of distinct rows::

    T0(θ) = Σ 2|y_i − y_j| / (n(n−1)) · [1(θ_i ≥ θ_j)·1(y_i < y_j) + 1(θ_i < θ_j)·1(y_i ≥ y_j)]

A pair contributes |y_i − y_j|·(1 − s) with s = sign(θ_i − θ_j)·sign(y_i − y_j), so with mid-ranks R, exactly
and with ties of every kind::

    T0(θ) = 4/(n(n−1)) · Σ_i y_i (R_i(y) − R_i(θ)) = Δ − 4/(n(n−1)) · Σ_i y_i (R_i(θ) − (n+1)/2)

where Δ is Gini's mean difference of y. Ties in θ count half, ties in y count nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.response import Response
from symscreen.response.several import SeveralResponse
from symscreen.response.survival import SurvivalResponse
from symscreen.response.weighted import WeightedResponse
from symscreen.statistics.binary_t0 import mean_gini_difference
from symscreen.statistics.lanes import dot_in_lanes
from symscreen.statistics.runs import rank
from symscreen.statistics.weighted import weighted_gini_difference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response.kinds import AnyResponse
    from symscreen.statistics.order import Ordered

    Flags = NDArray[np.bool_]
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
    return _metric(ordered.order, ordered.values, ordered.tied, response)


@lru_cache(maxsize=4)  # the same for every block of features
def gini_mean_difference(response: AnyResponse) -> float:
    """Compute Δ, Gini's mean difference of y: the mean of |y_i − y_j| over pairs of distinct rows.

    Parameters
    ----------
    response : AnyResponse
        The response; of rankings, stages and classes it is
        `symscreen.statistics.binary_t0.mean_gini_difference`. Of survival it is 1, for there each pair weighs
        the same; of several targets, too, for each counts in units of its own Δ.

    Returns
    -------
    float
        Δ > 0, in the response's unit; T0 lies in [0, 2Δ] and has mean Δ under independence.
    """
    if isinstance(response, SurvivalResponse | SeveralResponse):
        return 1.0
    if isinstance(response, WeightedResponse):
        return weighted_gini_difference(response)
    if not isinstance(response, Response):
        return mean_gini_difference(response.binary)
    n = response.n
    rows = np.arange(n, dtype=np.int32)[None, :]
    return float(_metric(rows, response.values[None, :], np.array([not response.untied]), response)[0])


def _metric(
    order: NDArray[np.int32], values: NDArray[np.float64], tied: NDArray[np.bool_], response: Response
) -> NDArray[np.float64]:
    n = response.n
    centred, exponent = response.centred
    sums = np.empty(len(order))
    _kernel(order, values, tied, response.group, response.untied, centred, sums)
    return np.asarray(np.ldexp(2.0 / (n * (n - 1.0)) * sums, exponent))


@kernel
def _kernel(
    order: Rows, values: Values, tied: Flags, group: Whole, untied: bool, centred: Values, out: Values
) -> None:
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)  # twice the ranks, less n + 1
    weights = np.empty(centred.size)
    for f in range(m):
        rows = order[f]
        if tied[f]:
            rank(rows, values[f], doubled)
            for i in range(n):
                doubled[i] -= np.int32(n + 1)
        else:
            for k in range(n):
                doubled[np.uint32(rows[k])] = np.int32(2 * k + 1 - n)
        if untied:
            out[f] = _dot(centred, doubled)
        else:
            # whole-number sums over tied responses: the result cannot depend on the order of their rows
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
