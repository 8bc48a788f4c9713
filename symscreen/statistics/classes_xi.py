"""Chatterjee's ξ of a response that is a class: the mean over classes of ξ against one and the rest.

With n_c rows of class c, and e_c the number of neighbours in θ-order of which exactly one is of class c, ξ
(`symscreen.statistics.xi`) against 1[y = c] is::

    ξ_c = 1 − n e_c / (2 n_c (n − n_c))

Rows tied in θ have no order of their own; e_c is its expected value over all ways to order them. Of two
classes both ξ_c are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response.classes import ClassesResponse
    from symscreen.statistics.order import Ordered

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["classes_xi"]


def classes_xi(ordered: Ordered, response: ClassesResponse) -> NDArray[np.float64]:
    """Compute the mean of ξ_c over classes of each feature of a block.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows.
    response : ClassesResponse
        The response.

    Returns
    -------
    float64 array, shape (m,)
        At most 1; near 0 under independence. The same for mirrored ranks.
    """
    sizes = response.sizes
    order = np.argsort(sizes, kind="stable")  # classes of one size stand together, whatever their names
    place = np.argsort(order)
    scale = 2.0 * sizes[order] * (response.n - sizes[order]) / response.n
    out = np.empty(len(ordered.order))
    _kernel(ordered.order, ordered.values, ordered.tied, place[response.codes], scale, out)
    return out


@kernel
def _kernel(order: Rows, values: Values, tied: Flags, codes: Whole, scale: Values, out: Values) -> None:
    m, n = order.shape
    edges = np.empty(scale.size)
    first = np.empty(n + 1, dtype=np.int64)
    own = np.empty(n, dtype=np.int64)
    for f in range(m):
        if tied[f]:
            groups = _groups(order[f], values[f], first)
            for c in range(scale.size):
                edges[c] = _expected(order[f], codes, c, first, groups, own)
        else:
            _counted(order[f], codes, edges)
        total = 0.0
        for c in range(scale.size):
            total += edges[c] / scale[c]
        out[f] = 1.0 - total / scale.size


@kernel
def _counted(rows: Rows, codes: Whole, edges: Values) -> None:
    """Count e_c where no rows are tied."""
    edges[:] = 0.0
    for k in range(rows.size - 1):
        one, other = codes[rows[k]], codes[rows[k + 1]]
        if one != other:
            edges[one] += 1.0
            edges[other] += 1.0


@kernel
def _groups(rows: Rows, z: Values, first: Whole) -> int:
    """Write where each group of tied rows begins, and the end; return how many there are."""
    groups = 0
    for k in range(rows.size):
        if k == 0 or z[rows[k]] != z[rows[k - 1]]:
            first[groups] = k
            groups += 1
    first[groups] = rows.size
    return groups


@kernel
def _expected(rows: Rows, codes: Whole, c: int, first: Whole, groups: int, own: Whole) -> float:
    """Expect e_c over all orders of tied rows, summed from both ends inward: mirrored ranks sum alike."""
    for g in range(groups):
        own[g] = 0
        for k in range(first[g], first[g + 1]):
            own[g] += codes[rows[k]] == c
    total = 0.0
    for g in range((groups + 1) // 2):
        h = groups - 1 - g
        a = _inside(own, first, g)
        total += a if g == h else a + _inside(own, first, h)
    for g in range(groups // 2):
        h = groups - 2 - g
        a = _between(own, first, g)
        total += a if g == h else a + _between(own, first, h)
    return total


@kernel
def _inside(own: Whole, first: Whole, g: int) -> float:
    """Expect how many of the m − 1 steps inside a group are edges: 2 m_c (m − m_c)/m."""
    size = first[g + 1] - first[g]
    return 2.0 * float(own[g] * (size - own[g])) / float(size)


@kernel
def _between(own: Whole, first: Whole, g: int) -> float:
    """Return the chance that the step from a group to the next one is an edge."""
    size, other = first[g + 1] - first[g], first[g + 2] - first[g + 1]
    crossing = own[g] * (other - own[g + 1]) + (size - own[g]) * own[g + 1]
    return float(crossing) / (float(size) * float(other))
