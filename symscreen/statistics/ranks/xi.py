"""Chatterjee's ξ(θ → y), with ties averaged out (Chatterjee 2021).

With the rows in θ-order, r_i the number of rows j with y_j ≤ y_i and l_i that with y_j ≥ y_i::

    ξ = 1 − n Σ_i |r_{i+1} − r_i| / (2 Σ_i l_i (n − l_i))

Rows tied in θ have no order of their own. The 2021 paper breaks them at random; here the sum is its expected
value over all ways to break them, computed exactly: the answer is the same on every run and for every order
of the rows.

Chatterjee's ξ of a response that is a class: the mean over classes of ξ against one and the rest.

With n_c rows of class c, and e_c the number of neighbours in θ-order of which exactly one is of class c, ξ
(`symscreen.statistics.ranks.xi`) against 1[y = c] is::

    ξ_c = 1 − n e_c / (2 n_c (n − n_c))

Rows tied in θ have no order of their own; e_c is its expected value over all ways to order them. Of two
classes both ξ_c are the same.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import NumericTarget
    from symscreen.targets.multiclass import MulticlassTarget


__all__ = ["compute_multiclass_xi", "compute_xi"]


def compute_xi(ordered: SortedBlock, target: NumericTarget) -> NDArray[np.float64]:
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
    _fill_xi(
        ordered.order,
        ordered.values,
        ordered.tied,
        target.counts_at_most,
        target.is_untied,
        _compute_xi_scale(target),
        out,
    )
    return out


@lru_cache(maxsize=4)  # the same for every block of features
def _compute_xi_scale(target: NumericTarget) -> float:
    at_least = target.counts_at_least.astype(
        np.float64
    )  # whole numbers would overflow beyond three million rows
    return 2.0 * float(np.sum(at_least * (target.n - at_least)))


@compile_kernel
def _fill_xi(
    order: Rows, values: Values, tied: Flags, at_most: Integers, untied: bool, scale: float, out: Values
) -> None:
    m, n = order.shape
    r = np.empty(n, dtype=np.int64)
    for f in range(m):
        rows = order[f]
        if tied[f] or not untied:
            for k in range(n):
                r[k] = at_most[np.uint32(rows[k])]
        if tied[f]:
            total = _compute_expected_step_sum(r, rows, values[f])
        elif untied:  # then r is the row number and one
            total = _sum_steps(rows)
        else:
            total = _sum_steps(r)
        out[f] = 1.0 - n * total / scale


@compile_kernel
def _sum_steps(r: Rows | Integers) -> float:
    total = 0
    for k in range(r.size - 1):
        total += abs(r[k + 1] - r[k])
    return float(total)


@compile_kernel
def _compute_expected_step_sum(r: Integers, rows: Rows, z: Values) -> float:
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
        a = _compute_expected_steps_within(r, first[g], first[g + 1])
        total += a if g == h else a + _compute_expected_steps_within(r, first[h], first[h + 1])
    for g in range(groups // 2):
        h = groups - 2 - g
        a = _compute_expected_step_between(r, first[g], first[g + 1], first[g + 2])
        total += a if g == h else a + _compute_expected_step_between(r, first[h], first[h + 1], first[h + 2])
    return total


@compile_kernel
def _compute_expected_steps_within(r: Integers, start: int, stop: int) -> float:
    """Expect the m − 1 steps inside a group of m: (2/m) Σ_{a<b} |r_a − r_b|."""
    m = stop - start
    pairs = 0.0
    for k in range(m):
        pairs += float(2 * k - m + 1) * float(r[start + k])
    return 2.0 * pairs / m


@compile_kernel
def _compute_expected_step_between(r: Integers, start: int, middle: int, stop: int) -> float:
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


def compute_multiclass_xi(ordered: SortedBlock, target: MulticlassTarget) -> NDArray[np.float64]:
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
    sizes = target.class_counts
    order = np.argsort(sizes, kind="stable")  # classes of one size stand together, whatever their names
    place = np.argsort(order)
    scale = 2.0 * sizes[order] * (target.n - sizes[order]) / target.n
    out = np.empty(len(ordered.order))
    _fill_multiclass_xi(ordered.order, ordered.values, ordered.tied, place[target.codes], scale, out)
    return out


@compile_kernel
def _fill_multiclass_xi(
    order: Rows, values: Values, tied: Flags, codes: Integers, scale: Values, out: Values
) -> None:
    m, n = order.shape
    edges = np.empty(scale.size)
    first = np.empty(n + 1, dtype=np.int64)
    own = np.empty(n, dtype=np.int64)
    for f in range(m):
        if tied[f]:
            groups = _find_tied_groups(order[f], values[f], first)
            for c in range(scale.size):
                edges[c] = _compute_expected_edges(order[f], codes, c, first, groups, own)
        else:
            _count_class_edges(order[f], codes, edges)
        total = 0.0
        for c in range(scale.size):
            total += edges[c] / scale[c]
        out[f] = 1.0 - total / scale.size


@compile_kernel
def _count_class_edges(rows: Rows, codes: Integers, edges: Values) -> None:
    """Count e_c where no rows are tied."""
    edges[:] = 0.0
    for k in range(rows.size - 1):
        one, other = codes[rows[k]], codes[rows[k + 1]]
        if one != other:
            edges[one] += 1.0
            edges[other] += 1.0


@compile_kernel
def _find_tied_groups(rows: Rows, z: Values, group_starts: Integers) -> int:
    """Write where each group of tied rows begins, and the end; return how many there are."""
    groups = 0
    for k in range(rows.size):
        if k == 0 or z[rows[k]] != z[rows[k - 1]]:
            group_starts[groups] = k
            groups += 1
    group_starts[groups] = rows.size
    return groups


@compile_kernel
def _compute_expected_edges(
    rows: Rows, codes: Integers, c: int, group_starts: Integers, n_groups: int, class_counts: Integers
) -> float:
    """Expect e_c over all orders of tied rows, summed from both ends inward: mirrored ranks sum alike."""
    for g in range(n_groups):
        class_counts[g] = 0
        for k in range(group_starts[g], group_starts[g + 1]):
            class_counts[g] += codes[rows[k]] == c
    total = 0.0
    for g in range((n_groups + 1) // 2):
        h = n_groups - 1 - g
        a = _compute_edges_inside(class_counts, group_starts, g)
        total += a if g == h else a + _compute_edges_inside(class_counts, group_starts, h)
    for g in range(n_groups // 2):
        h = n_groups - 2 - g
        a = _compute_edge_probability(class_counts, group_starts, g)
        total += a if g == h else a + _compute_edge_probability(class_counts, group_starts, h)
    return total


@compile_kernel
def _compute_edges_inside(class_counts: Integers, group_starts: Integers, g: int) -> float:
    """Expect how many of the m − 1 steps inside a group are edges: 2 m_c (m − m_c)/m."""
    size = group_starts[g + 1] - group_starts[g]
    return 2.0 * float(class_counts[g] * (size - class_counts[g])) / float(size)


@compile_kernel
def _compute_edge_probability(class_counts: Integers, group_starts: Integers, g: int) -> float:
    """Return the chance that the step from a group to the next one is an edge."""
    size, other = group_starts[g + 1] - group_starts[g], group_starts[g + 2] - group_starts[g + 1]
    crossing = (
        class_counts[g] * (other - class_counts[g + 1]) + (size - class_counts[g]) * class_counts[g + 1]
    )
    return float(crossing) / (float(size) * float(other))
