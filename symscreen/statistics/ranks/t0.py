"""T0 against several binary responses: for every feature the sign-free T0 of all of them, from one sort.

A binary response p is y_r = ±1 on the n_p rows that count for it: the order of two labels, where a row
ranks both and does not tie them; or whether a row that is at one stage reaches a later one. With ranks R
among these rows, T0 of `symscreen.statistics.ranks.t0` is there::

    T0_p(θ) = Δ_p − 2 S_p / (n_p(n_p − 1)),    S_p = Σ_r y_r (2 R_r(θ) − (n_p + 1))
    Δ_p     = 4 n_p⁺ n_p⁻ / (n_p(n_p − 1))

Where the two values are taken to be 0 and 1, as of a class, all of these are half of that (`apart` = 1).
S_p is a Mann–Whitney count: twice the pairs of rows with different signs that the feature orders as y does,
less those that it orders the other way, ties counting nothing. For each response a feature is given the
smaller of T0_p and 2Δ_p − T0_p, which is Δ_p − 2|S_p|/(n_p(n_p − 1)). Its score is their mean, weighted by
w_p = ω_p n_p/n, the share of rows that count, times what such a row weighs::

    T0(θ) = Σ_p w_p min(T0_p, 2Δ_p − T0_p) / Σ_p w_p = Δ − Σ_p 2ω_p|S_p| / ((n_p − 1) Σ_q ω_q n_q)

with Δ = Σ_p w_p Δ_p / Σ_p w_p. In terms of the areas A_p under the curves, 1 − T0(θ)/Δ is the mean of
|2A_p − 1| with weights ω_p n_p⁺n_p⁻/(n_p − 1): for equal ω_p each as good as weighed by the inverse of its
variance under independence, (n_p + 1)/(3 n_p⁺n_p⁻). A response with one sign is left out: it cannot tell
features apart. All |S_p| are whole numbers, and those with one factor are summed as such: neither the
order of the rows nor that of responses which weigh alike changes a bit.

The concordant divergence T0 in closed form (Luo and Li 2024, eq. 18).

The definition is a mean over ordered pairs of distinct rows::

    T0(θ) = Σ 2|y_i − y_j| / (n(n−1)) · [1(θ_i ≥ θ_j)·1(y_i < y_j) + 1(θ_i < θ_j)·1(y_i ≥ y_j)]

A pair contributes |y_i − y_j|·(1 − s) with s = sign(θ_i − θ_j)·sign(y_i − y_j), so with mid-ranks R, exactly
and with ties of every kind::

    T0(θ) = 4/(n(n−1)) · Σ_i y_i (R_i(y) − R_i(θ)) = Δ − 4/(n(n−1)) · Σ_i y_i (R_i(θ) − (n+1)/2)

where Δ is Gini's mean difference of y. Ties in θ count half, ties in y count nothing.

T0 of `symscreen.statistics.ranks.t0` against several responses: the ranks of a feature are taken once.

With mid-ranks R of the feature, Δ_k − T0_k = 4/(n(n−1)) · Σ_i y_ki (R_i − (n+1)/2) for each response y_k: one
sum a response.

T0 over the comparable pairs of a survival response, and with it Harrell's C.

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

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.column_arithmetic import N_LANES, compute_simd_dot
from symscreen.statistics.ranks.fast_sort import write_doubled_ranks
from symscreen.statistics.ranks.weighted_ranks import compute_weighted_gini_mean_difference
from symscreen.targets import NumericTarget
from symscreen.targets.multioutput import MultiOutputTarget
from symscreen.targets.survival import SurvivalTarget
from symscreen.targets.weighted import WeightedTarget

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.binary import BinaryTargets
    from symscreen.targets.registry import Target

    Counts = NDArray[np.int32] | NDArray[np.int64]
    Signs = NDArray[np.int8]
    Ranks = NDArray[np.int32]

__all__ = [
    "compute_binary_ranking_metric",
    "compute_gini_mean_difference",
    "compute_harrell_c",
    "compute_mean_gini_difference",
    "compute_multioutput_ranking_metrics",
    "compute_ranking_metric",
    "compute_survival_ranking_metric",
    "compute_t0",
    "find_common_direction",
]

_MAX_INT32_ROWS = 30_000  # up to which |S_p| < n² fits 32 bits


def compute_binary_ranking_metric(ordered: SortedBlock, targets: BinaryTargets) -> NDArray[np.float64]:
    """Compute Δ − T0(θ) of each feature of a block.

    Parameters
    ----------
    ordered : Ordered
        m features over the n rows.
    responses : BinaryResponses
        Of these rows, at least one.

    Returns
    -------
    float64 array, shape (m,)
        In [0, Δ]: Δ where a feature orders the rows as every response does, or as its reverse does. The same
        for mirrored ranks.
    """
    out = np.empty(len(ordered.order))
    _fill_binary_metrics(
        ordered.order,
        ordered.values,
        ordered.tied,
        *_split_signs(targets),
        targets.n_observed,
        _compute_factors(targets),
        out,
    )
    return out


def find_common_direction(ordered: SortedBlock, targets: BinaryTargets) -> NDArray[np.int8]:
    """Tell whether each feature of a block rises, or falls, with all the responses.

    Parameters
    ----------
    ordered, responses
        As of `compute_binary_ranking_metric`.

    Returns
    -------
    int8 array, shape (m,)
        1 where no S_p is negative, −1 where none is positive, 0 where responses disagree or all S_p are 0.
    """
    out = np.empty(len(ordered.order), dtype=np.int8)
    _fill_common_directions(
        ordered.order, ordered.values, ordered.tied, *_split_signs(targets), targets.n_observed, out
    )
    return out


def compute_mean_gini_difference(targets: BinaryTargets) -> float:
    """Compute Δ, the mean of Gini's mean difference of the responses, by their weights.

    Parameters
    ----------
    responses : BinaryResponses
        At least one.

    Returns
    -------
    float
        Δ in (0, 2]; T0 lies in [0, Δ], and is near Δ under independence.
    """
    # summed as the kernel sums: a feature without fault has |S_p| = 2 n_p⁺n_p⁻ and T0 = 0
    return float(_sum_weighted(2 * targets.n_opposite_pairs, _compute_factors(targets)))


def _compute_factors(targets: BinaryTargets) -> NDArray[np.float64]:
    """Return w_p · 2/(n_p(n_p − 1)) / Σ_q w_q = 2ω_p / ((n_p − 1) Σ_q ω_q n_q); 2 is how far ±1 are apart."""
    weights, counted = targets.weights, targets.n_observed
    return np.asarray(targets.code_gap * weights / ((counted - 1.0) * math.fsum(weights * counted)))


class _SplitSigns(NamedTuple):
    """The signs of responses that count in all rows, and of the others."""

    complete_signs: Signs  # (W, n)
    partial_signs: Counts  # (n, U): filled up to whole lanes with responses for which no row counts
    sign_totals: Integers  # (P − W,): the sums of signs over rows


@lru_cache(maxsize=4)  # the same for every block of features
def _split_signs(targets: BinaryTargets) -> _SplitSigns:
    signs, n = targets.signs, targets.n
    count = int(np.searchsorted(targets.n_observed, n))
    part = np.zeros((n, -(-count // N_LANES) * N_LANES), dtype=np.int32 if n <= _MAX_INT32_ROWS else np.int64)
    part[:, :count] = signs[:count].T
    return _SplitSigns(signs[count:], part, signs[:count].sum(axis=1, dtype=np.int64))


@compile_kernel
def _fill_binary_metrics(
    order: Rows,
    values: Values,
    tied: Flags,
    complete_signs: Signs,
    partial_signs: Counts,
    sign_totals: Integers,
    row_counts: Integers,
    factors: Values,
    out: Values,
) -> None:
    doubled = np.empty(order.shape[1], dtype=np.int32)
    room = np.zeros((4, partial_signs.shape[1]), dtype=partial_signs.dtype)
    sums = np.empty(row_counts.size, dtype=np.int64)
    for f in range(len(order)):
        _sum_signed_ranks(
            order[f],
            values[f],
            tied[f],
            complete_signs,
            partial_signs,
            sign_totals,
            row_counts,
            doubled,
            room,
            sums,
        )
        for p in range(sums.size):
            sums[p] = abs(sums[p])
        out[f] = _sum_weighted(sums, factors)


@compile_kernel
def _fill_common_directions(
    order: Rows,
    values: Values,
    tied: Flags,
    complete_signs: Signs,
    partial_signs: Counts,
    sign_totals: Integers,
    row_counts: Integers,
    out: Signs,
) -> None:
    doubled = np.empty(order.shape[1], dtype=np.int32)
    room = np.zeros((4, partial_signs.shape[1]), dtype=partial_signs.dtype)
    sums = np.empty(row_counts.size, dtype=np.int64)
    for f in range(len(order)):
        _sum_signed_ranks(
            order[f],
            values[f],
            tied[f],
            complete_signs,
            partial_signs,
            sign_totals,
            row_counts,
            doubled,
            room,
            sums,
        )
        rises, falls = sums.max() > 0, sums.min() < 0
        out[f] = np.int8(rises) - np.int8(falls)


@compile_kernel
def _sum_signed_ranks(
    rows: Rows,
    values: Values,
    tied: bool,
    complete_signs: Signs,
    partial_signs: Counts,
    sign_totals: Integers,
    row_counts: Integers,
    doubled_ranks: Rows,
    workspace: Counts,
    sums: Integers,
) -> None:
    """Compute all S_p of a feature."""
    n, parts = rows.size, row_counts.size - len(complete_signs)
    if tied:
        write_doubled_ranks(rows, values, doubled_ranks)
        for i in range(n):
            doubled_ranks[i] -= np.int32(n + 1)  # twice the ranks, less n + 1
    elif len(complete_signs):
        for k in range(n):
            doubled_ranks[np.uint32(rows[k])] = np.int32(2 * k + 1 - n)
    for p in range(len(complete_signs)):  # whole numbers below 2⁵³: their sum is exact in any order
        sums[parts + p] = int(compute_simd_dot(complete_signs[p], doubled_ranks, 0, n))
    if parts:
        if tied:
            _count_concordant_tied(rows, doubled_ranks, partial_signs, workspace)
        else:
            _count_concordant(rows, partial_signs, workspace)
        for p in range(parts):
            sums[p] = 2 * np.int64(workspace[0, p]) - (row_counts[p] - 1) * sign_totals[p]


@compile_kernel
def _count_concordant(rows: Rows, partial_signs: Counts, workspace: Counts) -> None:
    """Sum y_r times the number of rows before r that count, over the rows of every response."""
    concordant, before = workspace[0], workspace[1]
    workspace[:] = 0
    for row in rows:
        signs = partial_signs[np.uint32(row)]
        for p in range(signs.size):
            sign = signs[p]
            concordant[p] += sign * before[p]
            before[p] += sign * sign


@compile_kernel
def _count_concordant_tied(rows: Rows, doubled_ranks: Rows, partial_signs: Counts, workspace: Counts) -> None:
    """Do the same where rows are tied: half of the other rows of a run count as standing before one of it."""
    concordant, before, run_signs, run_count = workspace[0], workspace[1], workspace[2], workspace[3]
    workspace[:] = 0
    for k in range(rows.size):
        signs = partial_signs[np.uint32(rows[k])]
        for p in range(signs.size):
            sign = signs[p]
            run_signs[p] += sign
            run_count[p] += sign * sign
        if k + 1 < rows.size and doubled_ranks[rows[k + 1]] == doubled_ranks[rows[k]]:
            continue
        for p in range(signs.size):
            # the sum of signs and their number are both odd or both even: the half is whole
            concordant[p] += run_signs[p] * before[p] + run_signs[p] * (run_count[p] - 1) // 2
            before[p] += run_count[p]
            run_signs[p], run_count[p] = 0, 0


@compile_kernel
def _sum_weighted(magnitudes: Integers, factors: Values) -> float:
    """Sum factors times sizes, the sizes with one factor as whole numbers."""
    result, total = 0.0, np.int64(0)
    for p in range(magnitudes.size):
        total += magnitudes[p]
        if p + 1 == magnitudes.size or factors[p + 1] != factors[p]:
            result += factors[p] * float(total)
            total = np.int64(0)
    return result


_BLOCK_ROWS = 1024  # partial sums over this many rows keep the rounding error far below 1e-12·Δ at any n


def compute_t0(ordered: SortedBlock, target: NumericTarget) -> NDArray[np.float64]:
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
    return compute_gini_mean_difference(target) - compute_ranking_metric(ordered, target)


def compute_ranking_metric(ordered: SortedBlock, target: NumericTarget) -> NDArray[np.float64]:
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
    return _compute_metric(ordered.order, ordered.values, ordered.tied, target)


@lru_cache(maxsize=4)  # the same for every block of features
def compute_gini_mean_difference(target: Target) -> float:
    """Compute Δ, Gini's mean difference of y: the mean of |y_i − y_j| over pairs of distinct rows.

    Parameters
    ----------
    response : AnyResponse
        The response; of rankings, stages and classes it is
        `symscreen.statistics.ranks.t0.compute_mean_gini_difference`. Of survival it is 1, for there each
        pair weighs the same; of several targets, too, for each counts in units of its own Δ.

    Returns
    -------
    float
        Δ > 0, in the response's unit; T0 lies in [0, 2Δ] and has mean Δ under independence.
    """
    if isinstance(target, SurvivalTarget | MultiOutputTarget):
        return 1.0
    if isinstance(target, WeightedTarget):
        return compute_weighted_gini_mean_difference(target)
    if not isinstance(target, NumericTarget):
        return compute_mean_gini_difference(target.binary_targets)
    n = target.n
    rows = np.arange(n, dtype=np.int32)[None, :]
    return float(_compute_metric(rows, target.values[None, :], np.array([not target.is_untied]), target)[0])


def _compute_metric(
    order: NDArray[np.int32], values: NDArray[np.float64], tied: NDArray[np.bool_], target: NumericTarget
) -> NDArray[np.float64]:
    n = target.n
    centred, exponent = target.centered_values
    sums = np.empty(len(order))
    _fill_t0_sums(order, values, tied, target.tie_groups, target.is_untied, centred, sums)
    return np.asarray(np.ldexp(2.0 / (n * (n - 1.0)) * sums, exponent))


@compile_kernel
def _fill_t0_sums(
    order: Rows, values: Values, tied: Flags, group: Integers, untied: bool, centred: Values, out: Values
) -> None:
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)  # twice the ranks, less n + 1
    weights = np.empty(centred.size)
    for f in range(m):
        rows = order[f]
        if tied[f]:
            write_doubled_ranks(rows, values[f], doubled)
            for i in range(n):
                doubled[i] -= np.int32(n + 1)
        else:
            for k in range(n):
                doubled[np.uint32(rows[k])] = np.int32(2 * k + 1 - n)
        if untied:
            out[f] = _compute_dot(centred, doubled)
        else:
            # whole-number sums over tied responses: the result cannot depend on the order of their rows
            total = 0
            for i in range(n):
                total += doubled[i]
                if i + 1 == n or group[i + 1] != group[i]:
                    weights[group[i]] = float(total)
                    total = 0
            out[f] = _compute_dot(centred, weights)


@compile_kernel
def _compute_dot(a: Values, b: Values | Rows) -> float:
    total = 0.0
    for start in range(0, a.size, _BLOCK_ROWS):
        total += compute_simd_dot(a, b, start, min(start + _BLOCK_ROWS, a.size))
    return total


_MULTIOUTPUT_BLOCK_ROWS = (
    1024  # partial sums over this many rows keep the rounding error far below 1e-12·Δ at any n
)


def compute_multioutput_ranking_metrics(
    ordered: SortedBlock, multioutput_target: MultiOutputTarget
) -> NDArray[np.float64]:
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
    n, found = multioutput_target.n, np.empty((len(multioutput_target.outputs), len(ordered.values)))
    for target, rows, sums in zip(
        multioutput_target.outputs, multioutput_target.sort_order, found, strict=True
    ):
        centred, exponent = target.centered_values
        _fill_multioutput_sums(
            ordered.doubled_ranks, rows, target.tie_groups, target.is_untied, centred, sums
        )
        np.ldexp(2.0 / (n * (n - 1.0)) * sums, exponent, out=sums)
    return found


@compile_kernel
def _fill_multioutput_sums(
    ranks: Ranks, rows: Rows, group: Integers, untied: bool, centred: Values, out: Values
) -> None:
    """Sum as the kernel of `symscreen.statistics.ranks.t0` does, in the order of the target: the same bits."""
    m, n = ranks.shape
    doubled = np.empty(n, dtype=np.int32)  # twice the ranks, less n + 1
    weights = np.empty(centred.size)
    for f in range(m):
        for i in range(n):
            doubled[i] = ranks[f, np.uint32(rows[i])] - np.int32(n + 1)
        if untied:
            out[f] = _compute_multioutput_dot(centred, doubled)
            continue
        total = 0
        for i in range(n):
            total += doubled[i]
            if i + 1 == n or group[i + 1] != group[i]:
                weights[group[i]] = float(total)
                total = 0
        out[f] = _compute_multioutput_dot(centred, weights)


@compile_kernel
def _compute_multioutput_dot(a: Values, b: Values | Rows) -> float:
    total = 0.0
    for start in range(0, a.size, _MULTIOUTPUT_BLOCK_ROWS):
        total += compute_simd_dot(a, b, start, min(start + _MULTIOUTPUT_BLOCK_ROWS, a.size))
    return total


def compute_survival_ranking_metric(ordered: SortedBlock, target: SurvivalTarget) -> NDArray[np.float64]:
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
    _fill_survival_sums(
        ordered.order, ordered.values, ordered.tied, target.events, target.comparable_from, sums
    )
    return sums / float(target.n_comparable_pairs)


def compute_harrell_c(t0: NDArray[np.float64]) -> NDArray[np.float64]:
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
    >>> compute_harrell_c(np.array([0.0, 1.0, 1.5])).tolist()
    [1.0, 0.5, 0.25]
    """
    return 1.0 - t0 / 2.0


@compile_kernel
def _fill_survival_sums(
    order: Rows, values: Values, tied: Flags, events: Flags, ends: Integers, out: Integers
) -> None:
    m, n = order.shape
    low = np.empty(n, dtype=np.int32)  # for each row, how many have a smaller feature
    high = np.empty(n, dtype=np.int32)  # and how many have one that is at most as large
    tree = np.empty(n + 1, dtype=np.int32)
    for f in range(m):
        _fill_rank_bounds(order[f], values[f], tied[f], low, high)
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
            above = np.int64(n - inside) - _count_at_most(tree, high[i])
            total += above - _count_at_most(tree, low[i])
        out[f] = total


@compile_kernel
def _fill_rank_bounds(rows: Rows, z: Values, tied: bool, low: Rows, high: Rows) -> None:
    n, start = rows.size, 0
    for k in range(1, n + 1):
        if k == n or not tied or z[rows[k]] != z[rows[start]]:
            for j in range(start, k):
                low[rows[j]] = np.int32(start)
                high[rows[j]] = np.int32(k)
            start = k


@compile_kernel
def _count_at_most(tree: Rows, k: int) -> int:
    """Count the rows in the tree that are among the first k of the feature's order."""
    total = 0
    while k > 0:
        total += int(tree[k])
        k -= k & -k
    return total
