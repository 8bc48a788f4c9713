"""Chatterjee's ξ(θ → y) with averaged ties (Chatterjee 2021), for numeric and multiclass targets.

With the rows in θ-order, r_i the number of rows j with y_j ≤ y_i and l_i that with y_j ≥ y_i::

    ξ = 1 − n Σ_i |r_{i+1} − r_i| / (2 Σ_i l_i (n − l_i))

The order of rows tied in θ is undefined. The paper breaks ties at random. Here the sum is its exact
expectation over all ways to break them, so the result is the same on every run and for every order of the
rows.

For a multiclass target ξ is the mean over classes of ξ_c against 1[y = c]. With n_c rows of class c, and e_c
the number of adjacent pairs in θ-order with exactly one row of class c::

    ξ_c = 1 − n e_c / (2 n_c (n − n_c))

With ties, e_c is its expectation likewise. With two classes both ξ_c are equal.
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
    from symscreen.statistics.ranks.sorted_values import SortedValues


def compute_xi(ordered: SortedBlock, target: SortedValues) -> NDArray[np.float64]:
    """Compute ξ(θ → y) of each feature of a block.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows.
    target : SortedValues
        The target.

    Returns
    -------
    float64 array, shape (m,)
        At most 1; near 0 under independence, near 1 if y is a function of θ.
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
def _compute_xi_scale(target: SortedValues) -> float:
    """Compute the denominator 2 Σ_i l_i (n − l_i)."""
    at_least = target.counts_at_least.astype(
        np.float64
    )  # integers would overflow with more than 3 million rows
    return 2.0 * float(np.sum(at_least * (target.n - at_least)))


@compile_kernel
def _fill_xi(
    order: Rows, values: Values, tied: Flags, at_most: Integers, untied: bool, scale: float, out: Values
) -> None:
    """Write ξ of each feature, shape (m,)."""
    m, n = order.shape
    r = np.empty(n, dtype=np.int64)
    for f in range(m):
        rows = order[f]
        if tied[f] or not untied:
            for k in range(n):
                r[k] = at_most[np.uint32(rows[k])]
        if tied[f]:
            total = _compute_expected_step_sum(r, rows, values[f])
        elif untied:  # then r is the row index plus 1
            total = _sum_steps(rows)
        else:
            total = _sum_steps(r)
        out[f] = 1.0 - n * total / scale


@compile_kernel
def _sum_steps(r: Rows | Integers) -> float:
    """Compute Σ|r_{i+1} − r_i| of an array of shape (n,)."""
    total = 0
    for k in range(r.size - 1):
        total += abs(r[k + 1] - r[k])
    return float(total)


@compile_kernel
def _compute_expected_step_sum(r: Integers, rows: Rows, z: Values) -> float:
    """Compute the expectation of Σ|r_{i+1} − r_i| over all orders of the tied rows.

    Inside a group of tied rows r is already ascending, because rows are in the order of y. Groups are
    processed from both ends inward, in pairs of mirrored positions, so that mirrored features have equal
    sums.
    """
    first = np.empty(r.size + 1, dtype=np.int64)
    n_groups = _find_tied_groups(rows, z, first)
    total = 0.0
    for g in range((n_groups + 1) // 2):
        h = n_groups - 1 - g
        a = _compute_expected_steps_within(r, first[g], first[g + 1])
        total += a if g == h else a + _compute_expected_steps_within(r, first[h], first[h + 1])
    for g in range(n_groups // 2):
        h = n_groups - 2 - g
        a = _compute_expected_step_between(r, first[g], first[g + 1], first[g + 2])
        total += a if g == h else a + _compute_expected_step_between(r, first[h], first[h + 1], first[h + 2])
    return total


@compile_kernel
def _compute_expected_steps_within(r: Integers, start: int, stop: int) -> float:
    """Compute the expected sum of the m − 1 steps inside a group of m: (2/m) Σ_{a<b} |r_a − r_b|."""
    m = stop - start
    pair_sum = 0.0
    for k in range(m):
        pair_sum += float(2 * k - m + 1) * float(r[start + k])
    return 2.0 * pair_sum / m


@compile_kernel
def _compute_expected_step_between(r: Integers, start: int, middle: int, stop: int) -> float:
    """Compute the expected step from a group to the next: the mean of |r_a − r_b|."""
    pair_sum = 0.0
    n_below = 0  # number of rows of the next group with r ≤ r_a, and the sum of their r
    sum_below = 0
    sum_all = 0
    for j in range(middle, stop):
        sum_all += r[j]
    j = middle
    for i in range(start, middle):
        while j < stop and r[j] <= r[i]:
            sum_below += r[j]
            n_below += 1
            j += 1
        pair_sum += float(r[i] * n_below - sum_below)
        pair_sum += float((sum_all - sum_below) - r[i] * (stop - middle - n_below))
    return pair_sum / (float(middle - start) * float(stop - middle))


def compute_multiclass_xi(
    ordered: SortedBlock, codes: Integers, class_counts: Integers
) -> NDArray[np.float64]:
    """Compute the mean of ξ_c over classes of each feature of a block.

    Parameters
    ----------
    ordered : SortedBlock
        m features over n rows.
    codes : int64 array, shape (n,)
        The class of each row, from 0 to C − 1.
    class_counts : int64 array, shape (C,)
        Number of rows of each class, at least 1.

    Returns
    -------
    float64 array, shape (m,)
        At most 1; near 0 under independence. Equal for mirrored ranks.
    """
    order = np.argsort(class_counts, kind="stable")  # classes of equal size are adjacent, for any class names
    positions, sizes = np.argsort(order), class_counts[order]
    scale = 2.0 * sizes * (codes.size - sizes) / codes.size
    out = np.empty(len(ordered.order))
    _fill_multiclass_xi(ordered.order, ordered.values, ordered.tied, positions[codes], scale, out)
    return out


@compile_kernel
def _fill_multiclass_xi(
    order: Rows, values: Values, tied: Flags, codes: Integers, scale: Values, out: Values
) -> None:
    """Write the mean ξ_c of each feature, shape (m,)."""
    m, n = order.shape
    edges = np.empty(scale.size)
    first = np.empty(n + 1, dtype=np.int64)
    class_counts = np.empty(n, dtype=np.int64)
    for f in range(m):
        if tied[f]:
            n_groups = _find_tied_groups(order[f], values[f], first)
            for c in range(scale.size):
                edges[c] = _compute_expected_edges(order[f], codes, c, first, n_groups, class_counts)
        else:
            _count_class_edges(order[f], codes, edges)
        total = 0.0
        for c in range(scale.size):
            total += edges[c] / scale[c]
        out[f] = 1.0 - total / scale.size


@compile_kernel
def _count_class_edges(rows: Rows, codes: Integers, edges: Values) -> None:
    """Write e_c of each class, shape (C,), without ties."""
    edges[:] = 0.0
    for k in range(rows.size - 1):
        code, next_code = codes[rows[k]], codes[rows[k + 1]]
        if code != next_code:
            edges[code] += 1.0
            edges[next_code] += 1.0


@compile_kernel
def _find_tied_groups(rows: Rows, z: Values, group_starts: Integers) -> int:
    """Write the start of each group of tied rows, and the end; return the number of groups."""
    n_groups = 0
    for k in range(rows.size):
        if k == 0 or z[rows[k]] != z[rows[k - 1]]:
            group_starts[n_groups] = k
            n_groups += 1
    group_starts[n_groups] = rows.size
    return n_groups


@compile_kernel
def _compute_expected_edges(
    rows: Rows, codes: Integers, c: int, group_starts: Integers, n_groups: int, class_counts: Integers
) -> float:
    """Compute the expected e_c over all orders of tied rows, from both ends inward (as in ξ itself)."""
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
    """Compute the expected number of edges among the m − 1 steps inside a group: 2 m_c (m − m_c)/m."""
    size = group_starts[g + 1] - group_starts[g]
    return 2.0 * float(class_counts[g] * (size - class_counts[g])) / float(size)


@compile_kernel
def _compute_edge_probability(class_counts: Integers, group_starts: Integers, g: int) -> float:
    """Compute the probability that the step from a group to the next is an edge."""
    size, next_size = group_starts[g + 1] - group_starts[g], group_starts[g + 2] - group_starts[g + 1]
    crossing = (
        class_counts[g] * (next_size - class_counts[g + 1]) + (size - class_counts[g]) * class_counts[g + 1]
    )
    return float(crossing) / (float(size) * float(next_size))
