"""The concordant divergence T0 of features and targets, in closed form (Luo and Li 2024, eq. 18).

**Numeric targets.** The definition is a mean over ordered pairs of distinct rows::

    T0(θ) = Σ 2|y_i − y_j| / (n(n−1)) · [1(θ_i ≥ θ_j)·1(y_i < y_j) + 1(θ_i < θ_j)·1(y_i ≥ y_j)]

A pair contributes |y_i − y_j|·(1 − s) with s = sign(θ_i − θ_j)·sign(y_i − y_j). With mid-ranks R this is
exactly, also with ties::

    T0(θ) = 4/(n(n−1)) · Σ_i y_i (R_i(y) − R_i(θ)) = Δ − 4/(n(n−1)) · Σ_i y_i (R_i(θ) − (n+1)/2)

where Δ is Gini's mean difference of y. Ties in θ count half; ties in y do not count.

**Multi-output targets.** The ranks of a feature are computed once; each output needs one more sum,
Δ_k − T0_k = 4/(n(n−1)) · Σ_i y_ki (R_i − (n+1)/2).

**Binary targets** (rankings, stages and classes). Target p is y_r = ±1 on the n_p rows that it observes: the
order of two labels in rows that rank both without a tie, or whether a row at one stage reaches a later one.
With ranks R among these rows::

    T0_p(θ) = Δ_p − 2 S_p / (n_p(n_p − 1)),    S_p = Σ_r y_r (2 R_r(θ) − (n_p + 1))
    Δ_p     = 4 n_p⁺ n_p⁻ / (n_p(n_p − 1))

If the two values are 0 and 1 (`code_gap` = 1, for classes), T0_p and Δ_p are half of that. S_p is a
Mann–Whitney count: twice the number of pairs of rows with different signs that the feature orders as y does,
minus those that it orders the other way; ties count 0. For each target a feature has the smaller of T0_p and
2Δ_p − T0_p, which is Δ_p − 2|S_p|/(n_p(n_p − 1)). The score is their mean, weighted by w_p = ω_p n_p/n, the
share of observed rows times the weight of such a row::

    T0(θ) = Σ_p w_p min(T0_p, 2Δ_p − T0_p) / Σ_p w_p = Δ − Σ_p 2ω_p|S_p| / ((n_p − 1) Σ_q ω_q n_q)

with Δ = Σ_p w_p Δ_p / Σ_p w_p. In terms of the areas A_p under the ROC curves, 1 − T0(θ)/Δ is the mean of
|2A_p − 1| with weights ω_p n_p⁺n_p⁻/(n_p − 1). For equal ω_p this is nearly the inverse-variance weighting
under independence, whose variances are (n_p + 1)/(3 n_p⁺n_p⁻). A target with one sign cannot distinguish
features and is left out. All |S_p| are integers, and those with equal factors are summed as integers, so
neither the order of the rows nor the order of targets with equal weights changes a bit of the result.

**Survival targets.** All N comparable pairs have equal weight, because differences of censored times are
unknown. A pair contributes 1 − s, with s = 1 if the feature is larger in the row that survived longer, −1 if
it is smaller, and 0 if both rows tie::

    T0(θ) = Σ_{comparable i before j} (1 − s_ij) / N,    s_ij = sign(θ_j − θ_i)

T0 lies in [0, 2] and is 1 under independence. Harrell's concordance is C = 1 − T0/2, the probability that of
two comparable rows the one with the larger feature survived longer (Harrell et al. 1982). Rows with an event
are compared with all rows that survived longer by a Fenwick tree over the order of the feature (Fenwick
1994): O(n log n). All counts are integers, so mirrored ranks give exactly the negative.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.column_arithmetic import N_LANES, compute_simd_dot
from symscreen.statistics.ranks._kernels import compute_dot, write_centered_ranks, write_doubled_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values
    from symscreen.statistics.ranks.binary_targets import BinaryTargets
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import CensoredTimes, SortedValues

    Counts = NDArray[np.int32] | NDArray[np.int64]
    Signs = NDArray[np.int8]
    Ranks = NDArray[np.int32]
    Keys = NDArray[np.uint32]


_NO_GROUPS = np.zeros(0, dtype=np.int64)
_MAX_INT32_ROWS = 30_000  # rows up to which |S_p| < n² fits 32 bits


def compute_binary_ranking_metric(ordered: SortedBlock, targets: BinaryTargets) -> NDArray[np.float64]:
    """Compute Δ − T0(θ) of each feature of a block for binary targets.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the n rows.
    targets : BinaryTargets
        At least one target over these rows.

    Returns
    -------
    float64 array, shape (m,)
        In [0, Δ]: Δ if a feature orders the rows as every target does, or in reverse. Equal for mirrored
        ranks.
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
    """Find whether each feature of a block rises, or falls, with all binary targets.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the n rows.
    targets : BinaryTargets
        At least one target over these rows.

    Returns
    -------
    int8 array, shape (m,)
        1 if no S_p is negative, −1 if none is positive, 0 if targets disagree or all S_p are 0.
    """
    out = np.empty(len(ordered.order), dtype=np.int8)
    _fill_common_directions(
        ordered.order, ordered.values, ordered.tied, *_split_signs(targets), targets.n_observed, out
    )
    return out


def compute_mean_gini_difference(targets: BinaryTargets) -> float:
    """Compute Δ, the weighted mean of Gini's mean difference over binary targets.

    Parameters
    ----------
    targets : BinaryTargets
        At least one target.

    Returns
    -------
    float
        Δ in (0, 2]. T0 lies in [0, Δ], and is near Δ under independence.
    """
    # Summed like the kernel does: a perfect feature has |S_p| = 2 n_p⁺n_p⁻ and T0 = 0 exactly.
    return float(_sum_weighted(2 * targets.n_opposite_pairs, _compute_factors(targets)))


def _compute_factors(targets: BinaryTargets) -> NDArray[np.float64]:
    """Compute 2ω_p / ((n_p − 1) Σ_q ω_q n_q), shape (P,); the 2 is the difference between the codes ±1."""
    weights, n_observed = targets.weights, targets.n_observed
    return np.asarray(targets.code_gap * weights / ((n_observed - 1.0) * math.fsum(weights * n_observed)))


class _SplitSigns(NamedTuple):
    """The signs of targets that observe all rows, and of the others."""

    complete_signs: Signs  # (W, n)
    partial_signs: Counts  # (n, U): padded to a multiple of N_LANES with targets that observe no row
    sign_totals: Integers  # (P − W,): sums of the signs over rows


@lru_cache(maxsize=4)  # the same for every block of features
def _split_signs(targets: BinaryTargets) -> _SplitSigns:
    """Split the P targets, which are sorted by the number of observed rows."""
    signs, n = targets.signs, targets.n
    n_partial = int(np.searchsorted(targets.n_observed, n))
    partial = np.zeros(
        (n, -(-n_partial // N_LANES) * N_LANES), dtype=np.int32 if n <= _MAX_INT32_ROWS else np.int64
    )
    partial[:, :n_partial] = signs[:n_partial].T
    return _SplitSigns(signs[n_partial:], partial, signs[:n_partial].sum(axis=1, dtype=np.int64))


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
    """Write Δ − T0 of each feature, shape (m,)."""
    doubled = np.empty(order.shape[1], dtype=np.int32)
    workspace = np.zeros((4, partial_signs.shape[1]), dtype=partial_signs.dtype)
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
            workspace,
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
    """Write the common direction of each feature, shape (m,)."""
    doubled = np.empty(order.shape[1], dtype=np.int32)
    workspace = np.zeros((4, partial_signs.shape[1]), dtype=partial_signs.dtype)
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
            workspace,
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
    """Write all S_p of a feature, shape (P,)."""
    n, n_partial = rows.size, row_counts.size - len(complete_signs)
    if tied:
        write_doubled_ranks(rows, values, doubled_ranks)
        for i in range(n):
            doubled_ranks[i] -= np.int32(n + 1)  # twice the ranks, minus n + 1
    elif len(complete_signs):
        for k in range(n):
            doubled_ranks[np.uint32(rows[k])] = np.int32(2 * k + 1 - n)
    for p in range(len(complete_signs)):  # integers below 2⁵³: their sum is exact in any order
        sums[n_partial + p] = int(compute_simd_dot(complete_signs[p], doubled_ranks, 0, n))
    if n_partial:
        if tied:
            _count_concordant_tied(rows, doubled_ranks, partial_signs, workspace)
        else:
            _count_concordant(rows, partial_signs, workspace)
        for p in range(n_partial):
            sums[p] = 2 * np.int64(workspace[0, p]) - (row_counts[p] - 1) * sign_totals[p]


@compile_kernel
def _count_concordant(rows: Rows, partial_signs: Counts, workspace: Counts) -> None:
    """Write Σ_r y_r · (number of observed rows before r) for each partial target into workspace[0]."""
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
    """Do the same with tied rows: half of the other rows of a tie count as before r."""
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
            # The sum of signs and their number have the same parity, so the division is exact.
            concordant[p] += run_signs[p] * before[p] + run_signs[p] * (run_count[p] - 1) // 2
            before[p] += run_count[p]
            run_signs[p], run_count[p] = 0, 0


@compile_kernel
def _sum_weighted(magnitudes: Integers, factors: Values) -> float:
    """Sum factors times magnitudes, shapes (P,); magnitudes with equal factors are summed as integers."""
    result, total = 0.0, np.int64(0)
    for p in range(magnitudes.size):
        total += magnitudes[p]
        if p + 1 == magnitudes.size or factors[p + 1] != factors[p]:
            result += factors[p] * float(total)
            total = np.int64(0)
    return result


def compute_t0(ordered: SortedBlock, target: SortedValues) -> NDArray[np.float64]:
    """Compute T0 of each feature of a block.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows.
    target : SortedValues
        The target.

    Returns
    -------
    float64 array, shape (m,)
        In [0, 2Δ], in the target's unit; 0 if a feature orders the rows as y does. Accurate to 1e-12·Δ.
        Mirrored ranks give 2Δ minus this.
    """
    return compute_gini_mean_difference(target) - compute_ranking_metric(ordered, target)


def compute_ranking_metric(ordered: SortedBlock, target: SortedValues) -> NDArray[np.float64]:
    """Compute Δ − T0(θ) = 4/(n(n−1)) · Σ_i y_i (R_i(θ) − (n+1)/2) of each feature of a block.

    Without ties and noise it is the ranking metric T(r_θ) of Luo and Li (2024, eq. 15).

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows.
    target : SortedValues
        The target.

    Returns
    -------
    float64 array, shape (m,)
        In [−Δ, Δ], in the target's unit; exactly the negative for mirrored ranks.
    """
    if not target.is_untied or ordered.short_keys is None:
        return _compute_metric(ordered.order, ordered.values, ordered.tied, target)
    centered, exponent = target.centered_values
    sums = np.empty(len(ordered.values))
    _fill_t0_sums_from_keys(*ordered.short_keys, *ordered.open_order_and_tied, ordered.values, centered, sums)
    return _scale_sums(sums, target.n, exponent)


@lru_cache(maxsize=4)  # the same for every block of features
def compute_gini_mean_difference(target: SortedValues) -> float:
    """Compute Δ, Gini's mean difference of y: the mean of |y_i − y_j| over pairs of distinct rows.

    Returns
    -------
    float
        Δ > 0, in the target's unit. T0 lies in [0, 2Δ] and has mean Δ under independence.
    """
    n = target.n
    rows = np.arange(n, dtype=np.int32)[None, :]
    return float(_compute_metric(rows, target.values[None, :], np.array([not target.is_untied]), target)[0])


def _compute_metric(
    order: NDArray[np.int32], values: NDArray[np.float64], tied: NDArray[np.bool_], target: SortedValues
) -> NDArray[np.float64]:
    """Compute Δ − T0 of each feature, shape (m,), from its order."""
    n = target.n
    centered, exponent = target.centered_values
    sums = np.empty(len(order))
    groups = _NO_GROUPS if target.is_untied else target.tie_groups  # which take as much memory as the values
    _fill_t0_sums(order, values, tied, groups, target.is_untied, centered, sums)
    return _scale_sums(sums, n, exponent)


def _scale_sums(sums: Values, n: int, exponent: int) -> Values:
    """Return 2/(n(n−1)) · Σ_i y_i (2 R_i(θ) − (n + 1)), shape (m,), for y in units of a power of two."""
    return np.asarray(np.ldexp(2.0 / (n * (n - 1.0)) * sums, exponent))


@compile_kernel
def _fill_t0_sums_from_keys(
    keys: Keys, first_key_rows: Integers, bits: int, is_open: Flags,
    order: Rows, tied: Flags, values: Values, centered: Values, out: Values,
) -> None:  # fmt: skip
    """Write the sums of `_fill_t0_sums`, shape (m,), from sorted keys or, where they are open, the order."""
    n = keys.shape[1]
    row_mask = np.uint32((1 << bits) - 1)
    doubled = np.empty(n, dtype=np.int32)
    for f in range(out.size):
        if is_open[f]:
            write_centered_ranks(order[f], values[f], tied[f], doubled)
        else:
            feature_keys = keys[first_key_rows[f]]
            for k in range(n):
                doubled[feature_keys[k] & row_mask] = np.int32(2 * k + 1 - n)
        out[f] = compute_dot(centered, doubled)


@compile_kernel
def _fill_t0_sums(
    order: Rows, values: Values, tied: Flags, group: Integers, untied: bool, centered: Values, out: Values
) -> None:
    """Write Σ_i y_i (2 R_i(θ) − (n + 1)) of each feature, shape (m,)."""
    m, n = order.shape
    doubled = np.empty(n, dtype=np.int32)  # twice the ranks, minus n + 1
    weights = np.empty(centered.size)
    for f in range(m):
        write_centered_ranks(order[f], values[f], tied[f], doubled)
        if untied:
            out[f] = compute_dot(centered, doubled)
        else:
            out[f] = _sum_centered_ranks(doubled, group, centered, weights)


@compile_kernel
def _sum_centered_ranks(doubled: Rows, group: Integers, centered: Values, weights: Values) -> float:
    """Compute Σ_i y_i (2 R_i(θ) − (n + 1)) from the centred ranks, shape (n,), for a target with ties.

    Integer sums over tied target values: the result does not depend on the order of their rows.
    """
    total = 0
    for i in range(doubled.size):
        total += doubled[i]
        if i + 1 == doubled.size or group[i + 1] != group[i]:
            weights[group[i]] = float(total)
            total = 0
    return float(compute_dot(centered, weights))


def compute_multioutput_ranking_metrics(
    ordered: SortedBlock, outputs: Sequence[SortedValues], sort_order: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Compute Δ_k − T0_k(θ) of each feature of a block for each output.

    Parameters
    ----------
    ordered : SortedBlock
        m features over n rows.
    outputs : sequence of SortedValues, length K
        The values of each output.
    sort_order : int32 array, shape (K, n)
        Row index of each sorted value of an output.

    Returns
    -------
    float64 array, shape (K, m)
        In [−Δ_k, Δ_k], in the output's unit; exactly the negative for mirrored ranks.
    """
    n, metrics = sort_order.shape[1], np.empty((len(outputs), len(ordered.values)))
    for target, rows, sums in zip(outputs, sort_order, metrics, strict=True):
        centered, exponent = target.centered_values
        _fill_multioutput_sums(
            ordered.doubled_ranks, rows, target.tie_groups, target.is_untied, centered, sums
        )
        np.ldexp(2.0 / (n * (n - 1.0)) * sums, exponent, out=sums)
    return metrics


@compile_kernel
def _fill_multioutput_sums(
    ranks: Ranks, rows: Rows, group: Integers, untied: bool, centered: Values, out: Values
) -> None:
    """Write the sums of `_fill_t0_sums`, shape (m,), with identical bits; `rows` sorts the output."""
    m, n = ranks.shape
    doubled = np.empty(n, dtype=np.int32)  # twice the ranks, minus n + 1
    weights = np.empty(centered.size)
    for f in range(m):
        for i in range(n):
            doubled[i] = ranks[f, np.uint32(rows[i])] - np.int32(n + 1)
        if untied:
            out[f] = compute_dot(centered, doubled)
        else:
            out[f] = _sum_centered_ranks(doubled, group, centered, weights)


def compute_survival_ranking_metric(ordered: SortedBlock, target: CensoredTimes) -> NDArray[np.float64]:
    """Compute 1 − T0(θ) = Σ s / N of each feature of a block.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows.
    target : CensoredTimes
        The target.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]: 1 if rows with larger features survive longer in every comparable pair.
    """
    sums = np.empty(len(ordered.order), dtype=np.int64)
    _fill_survival_sums(
        ordered.order, ordered.values, ordered.tied, target.events, target.comparable_from, sums
    )
    return sums / float(target.n_comparable_pairs)


def compute_harrell_c(t0: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert T0 of survival targets to Harrell's concordance, C = 1 − T0/2.

    Parameters
    ----------
    t0 : float64 array
        T0 in [0, 2].

    Returns
    -------
    float64 array
        In [0, 1]; above ½ if rows with larger features survive longer.

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
    """Write Σ s of each feature, shape (m,); row i is comparable with the rows from ends[i] on."""
    m, n = order.shape
    low = np.empty(n, dtype=np.int32)  # for each row, the number of rows with a smaller feature
    high = np.empty(n, dtype=np.int32)  # and the number of rows whose feature is at most as large
    tree = np.empty(n + 1, dtype=np.int32)
    for f in range(m):
        _fill_rank_bounds(order[f], values[f], tied[f], low, high)
        tree[:] = 0
        tree_start, total = n, np.int64(0)
        for i in range(n - 1, -1, -1):
            if not events[i]:
                continue
            while tree_start > ends[i]:  # add all rows that survived longer than row i
                tree_start -= 1
                k = low[tree_start] + 1
                while k <= n:
                    tree[k] += 1
                    k += k & -k
            n_above = np.int64(n - tree_start) - _count_at_most(tree, high[i])
            total += n_above - _count_at_most(tree, low[i])
        out[f] = total


@compile_kernel
def _fill_rank_bounds(rows: Rows, z: Values, tied: bool, low: Rows, high: Rows) -> None:
    """Write for each row how many rows have a smaller feature, and how many one that is at most as large."""
    n, start = rows.size, 0
    for k in range(1, n + 1):
        if k == n or not tied or z[rows[k]] != z[rows[start]]:
            for j in range(start, k):
                low[rows[j]] = np.int32(start)
                high[rows[j]] = np.int32(k)
            start = k


@compile_kernel
def _count_at_most(tree: Rows, k: int) -> int:
    """Count the rows in the Fenwick tree that are among the first k in the feature's order."""
    total = 0
    while k > 0:
        total += int(tree[k])
        k -= k & -k
    return total
