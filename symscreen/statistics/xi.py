"""Chatterjee's ξ(θ → y), with ties averaged out (Chatterjee 2021).

With the rows in θ-order, r_i the number of rows j with y_j ≤ y_i and l_i that with y_j ≥ y_i::

    ξ = 1 − n Σ_i |r_{i+1} − r_i| / (2 Σ_i l_i (n − l_i))

Rows tied in θ have no order of their own. The 2021 paper breaks them at random; here the sum is its expected
value over all ways to break them, computed exactly: the answer is the same on every run and for every order
of the rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response
    from symscreen.statistics.order import Ordered

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["xi_of"]


def xi_of(ordered: Ordered, response: Response) -> NDArray[np.float64]:
    """Compute ξ(θ → y) of each feature of a block.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows.
    response : Response
        The response.

    Returns
    -------
    float64 array, shape (m,)
        At most 1; near 0 under independence, near 1 where y is a function of θ.
    """
    out = np.empty(len(ordered.order))
    _kernel(
        ordered.order, ordered.values, ordered.tied, response.at_most, response.untied, _scale(response), out
    )
    return out


@lru_cache(maxsize=4)  # the same for every block of features
def _scale(response: Response) -> float:
    at_least = response.at_least.astype(np.float64)  # whole numbers would overflow beyond three million rows
    return 2.0 * float(np.sum(at_least * (response.n - at_least)))


@kernel
def _kernel(
    order: Rows, values: Values, tied: Flags, at_most: Whole, untied: bool, scale: float, out: Values
) -> None:
    m, n = order.shape
    r = np.empty(n, dtype=np.int64)
    for f in range(m):
        rows = order[f]
        if tied[f] or not untied:
            for k in range(n):
                r[k] = at_most[np.uint32(rows[k])]
        if tied[f]:
            total = _expected(r, rows, values[f])
        elif untied:  # then r is the row number and one
            total = _steps(rows)
        else:
            total = _steps(r)
        out[f] = 1.0 - n * total / scale


@kernel
def _steps(r: Rows | Whole) -> float:
    total = 0
    for k in range(r.size - 1):
        total += abs(r[k + 1] - r[k])
    return float(total)


@kernel
def _expected(r: Whole, rows: Rows, z: Values) -> float:
    """Expect Σ|r_{i+1} − r_i| over all orders of the tied rows.

    Inside a group of tied rows r ascends already, because rows stand in the order of y. Groups are taken
    from both ends inward, in pairs of mirrored places, so that a feature and its mirror image sum alike.
    """
    n = r.size
    first = np.empty(n + 1, dtype=np.int64)
    groups = 0
    for k in range(n):
        if k == 0 or z[rows[k]] != z[rows[k - 1]]:
            first[groups] = k
            groups += 1
    first[groups] = n
    total = 0.0
    for g in range((groups + 1) // 2):
        h = groups - 1 - g
        a = _inside(r, first[g], first[g + 1])
        total += a if g == h else a + _inside(r, first[h], first[h + 1])
    for g in range(groups // 2):
        h = groups - 2 - g
        a = _between(r, first[g], first[g + 1], first[g + 2])
        total += a if g == h else a + _between(r, first[h], first[h + 1], first[h + 2])
    return total


@kernel
def _inside(r: Whole, start: int, stop: int) -> float:
    """Expect the m − 1 steps inside a group of m: (2/m) Σ_{a<b} |r_a − r_b|."""
    m = stop - start
    pairs = 0.0
    for k in range(m):
        pairs += float(2 * k - m + 1) * float(r[start + k])
    return 2.0 * pairs / m


@kernel
def _between(r: Whole, start: int, middle: int, stop: int) -> float:
    """Expect the one step from a group to the next: the mean of |r_a − r_b|."""
    pairs = 0.0
    below = 0  # how many of the next group are at most r_a, and their sum
    sum_below = 0
    sum_all = 0
    for j in range(middle, stop):
        sum_all += r[j]
    j = middle
    for i in range(start, middle):
        while j < stop and r[j] <= r[i]:
            sum_below += r[j]
            below += 1
            j += 1
        pairs += float(r[i] * below - sum_below)
        pairs += float((sum_all - sum_below) - r[i] * (stop - middle - below))
    return pairs / (float(middle - start) * float(stop - middle))
