"""Compiled kernels of null distributions: random permutations, and walks among them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics._kernels import draw_integer, draw_normal, draw_uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Rows, Values

    RngState = NDArray[np.uint64]


_N_FAVORED_ROWS = 8  # every other move is a move of one of these heaviest rows


@compile_kernel
def _compute_rank_variance(n: int, k: int, rank_sum: float, rank_sum_squares: float) -> float:
    """Compute Σ (r − r̄)² over the remaining m ranks, divided by m − 1; the sums are of r − (n + 1)/2."""
    m = float(n - k)
    all_2 = n * (float(n) * n - 1.0) / 12.0
    return max(all_2 - rank_sum_squares - rank_sum * rank_sum / m, 0.0) / (m - 1.0)


@compile_kernel
def fill_rotated_sums(scores: Values, twice: Values, out: Values) -> None:
    """Write Σ_i a_i r_{i+j} of all n rotations j of each order r of ranks, shape (m, n).

    `scores` has shape (n,), `twice` has shape (m, 2n): each order two times.
    """
    m, n = out.shape
    for order in range(m):
        for j in range(n):
            out[order, j] = 0.0
        for i in range(n):
            score = scores[i]
            for j in range(n):
                out[order, j] += score * twice[order, i + j]


@compile_kernel
def fill_abs_draws(
    heavy_scores: Values,
    n: int,
    light_sum_squares: float,
    light_quantiles: Values,
    state: RngState,
    out: Values,
) -> None:
    """Write |Z| of random permutations, shape (draws,); the sum over the light rows is a normal quantile."""
    k = heavy_scores.size
    ranks = np.empty(n, dtype=np.int32)
    for rank in range(n):
        ranks[rank] = rank + 1
    middle = (n + 1) / 2.0
    n_draws = out.size
    stride = np.int64(n_draws * 0.6180339887498949) | 1
    while compute_gcd(stride, n_draws) != 1:
        stride += 2
    i_quantile = np.int64(0)
    for draw in range(n_draws):
        z = sum_1 = sum_2 = 0.0
        for i in range(k):
            j = i + draw_integer(state, n - i)
            rank = ranks[j]
            ranks[j] = ranks[i]
            ranks[i] = rank
            centered = rank - middle
            z += heavy_scores[i] * centered
            sum_1 += centered
            sum_2 += centered * centered
        z += light_quantiles[i_quantile] * math.sqrt(
            light_sum_squares * _compute_rank_variance(n, k, sum_1, sum_2)
        )
        i_quantile += stride
        if i_quantile >= n_draws:
            i_quantile -= n_draws
        out[draw] = abs(z)


@compile_kernel
def compute_gcd(a: int, b: int) -> int:
    """Compute the greatest common divisor."""
    while b:
        a, b = b, a % b
    return a


@compile_kernel
def fill_permutation_sums(scores: Values, ranks: Values, out: Values) -> None:
    """Write the sums of all orders of the ranks, shape (n!,), by the algorithm of Heap (1963)."""
    n = scores.size
    ranks = ranks.copy()
    counters = np.zeros(n, dtype=np.int64)
    out[0] = sum_products(scores, ranks)
    n_written = 1
    i = 0
    while i < n:
        if counters[i] < i:
            j = 0 if i % 2 == 0 else counters[i]
            ranks[i], ranks[j] = ranks[j], ranks[i]
            out[n_written] = sum_products(scores, ranks)
            n_written += 1
            counters[i] += 1
            i = 0
        else:
            counters[i] = 0
            i += 1


@compile_kernel
def fill_combination_sums(scores: Values, size: int, out: Values) -> None:
    """Write the sums of all combinations of `size` scores, in lexicographic order; `size` is at least 1."""
    n = scores.size
    chosen = np.arange(size)
    sums = np.zeros(size + 1)  # sums[i] is the sum of the first i chosen scores
    changed = 0
    for combination in range(out.size):
        for i in range(changed, size):
            sums[i + 1] = sums[i] + scores[chosen[i]]
        out[combination] = sums[size]
        changed = size - 1
        while changed > 0 and chosen[changed] == n - size + changed:
            changed -= 1
        chosen[changed] += 1
        for i in range(changed + 1, size):
            chosen[i] = chosen[i - 1] + 1


@compile_kernel
def sum_products(scores: Values, ranks: Values) -> float:
    """Compute the dot product of two arrays of shape (n,) from left to right."""
    total = 0.0
    for i in range(scores.size):
        total += scores[i] * ranks[i]
    return total


@compile_kernel
def run_metropolis(
    heavy_scores: Values,
    n: int,
    light_sum_squares: float,
    light_excess_kurtosis: float,
    tilt: float,
    n_moves: int,
    thinning: int,
    ranks: Rows,
    rank_owners: Rows,
    state: RngState,
    out: Values,
) -> None:
    """Walk among permutations with probability proportional to exp(tilt · Z), and record Z at intervals.

    A move gives a row another rank; the row with that rank takes its old rank. Moves are accepted by the rule
    of Metropolis et al. (1953). Half of the moves give any row any rank. The others move one of the heaviest
    rows, to any rank or by a distance of random magnitude in turn. `ranks`, shape (k,), and `rank_owners`,
    shape (n + 1,), −1 for light rows, keep the state between walks. `out` has shape (n_moves // thinning,).
    """
    k = heavy_scores.size
    middle = (n + 1) / 2.0
    z = sum_1 = sum_2 = 0.0
    for i in range(k):
        centered = ranks[i] - middle
        z += heavy_scores[i] * centered
        sum_1 += centered
        sum_2 += centered * centered
    has_light = k < n
    variance = light_sum_squares * _compute_rank_variance(n, k, sum_1, sum_2) if has_light else 0.0
    n_favored = min(k, _N_FAVORED_ROWS)
    n_magnitudes = 1
    while 1 << n_magnitudes < n:
        n_magnitudes += 1
    n_recorded = 0
    for move in range(n_moves):
        i = draw_integer(state, n_favored if move % 2 else k)
        old = np.int64(ranks[i])
        if move % 4 == 3:
            distance = 1 + draw_integer(state, 1 << draw_integer(state, n_magnitudes))
            new = old + distance if draw_integer(state, 2) else old - distance
        else:
            new = 1 + draw_integer(state, n)
        if 1 <= new <= n:
            j = rank_owners[new]
            step = float(new - old)
            change = heavy_scores[i] * step
            next_1, next_2, next_variance = sum_1, sum_2, variance
            if j >= 0:
                change -= heavy_scores[j] * step
            elif has_light:
                next_1 += step
                next_2 += (new - middle) ** 2 - (old - middle) ** 2
                next_variance = light_sum_squares * _compute_rank_variance(n, k, next_1, next_2)
            gain = tilt * change + 0.5 * tilt * tilt * (next_variance - variance)
            if gain >= 0.0 or draw_uniform(state) < math.exp(gain):
                ranks[i], rank_owners[new], rank_owners[old] = new, i, j
                if j >= 0:
                    ranks[j] = old
                z += change
                sum_1, sum_2, variance = next_1, next_2, next_variance
        if (move + 1) % thinning == 0:
            light_part = 0.0
            if has_light:
                fourth = light_excess_kurtosis * variance * variance
                light_part = tilt * variance + fourth * tilt**3 / 6.0
                light_part += math.sqrt(max(variance + 0.5 * fourth * tilt * tilt, 0.0)) * draw_normal(state)
            out[n_recorded] = z + light_part
            n_recorded += 1


@compile_kernel
def _compute_step_sum(r: Integers) -> np.int64:
    """Compute Q of an order, shape (n,)."""
    total = np.int64(0)
    for k in range(r.size - 1):
        total += abs(r[k + 1] - r[k])
    return total


@compile_kernel
def fill_enumerated_step_sums(r: Integers, out: Integers) -> None:
    """Write Q of all orders, shape (n!,), by the algorithm of Heap (1963)."""
    n = r.size
    counters = np.zeros(n, dtype=np.int64)
    out[0] = _compute_step_sum(r)
    n_written = 1
    i = 0
    while i < n:
        if counters[i] < i:
            j = 0 if i % 2 == 0 else counters[i]
            r[i], r[j] = r[j], r[i]
            out[n_written] = _compute_step_sum(r)
            n_written += 1
            counters[i] += 1
            i = 0
        else:
            counters[i] = 0
            i += 1


@compile_kernel
def fill_drawn_step_sums(r: Integers, state: RngState, out: Integers) -> None:
    """Write Q of random orders, shape (draws,); r is shuffled in place."""
    n = r.size
    for draw in range(out.size):
        previous = np.int64(0)
        total = np.int64(0)
        for k in range(n):
            j = k + draw_integer(state, n - k)
            value = r[j]
            r[j] = r[k]
            r[k] = value
            if k > 0:
                total += abs(value - previous)
            previous = value
        out[draw] = total


@compile_kernel
def _sum_steps_around(r: Integers, place: int) -> np.int64:
    """Sum the steps before and after a position."""
    total = np.int64(0)
    if place > 0:
        total += abs(r[place] - r[place - 1])
    if place < r.size - 1:
        total += abs(r[place + 1] - r[place])
    return total


@compile_kernel
def walk_by_swaps(r: Integers, strength: float, thinning: int, state: RngState, out: Integers) -> None:
    """Walk among orders with probability proportional to exp(−strength · Q), by swapping two positions."""
    n = r.size
    total = _compute_step_sum(r)
    for draw in range(out.size):
        for _ in range(thinning):
            i, j = draw_integer(state, n), draw_integer(state, n)
            if r[i] == r[j]:
                continue
            # A step between the two positions is counted twice before and after, so it cancels.
            old_steps = _sum_steps_around(r, i) + _sum_steps_around(r, j)
            r[i], r[j] = r[j], r[i]
            gain = old_steps - _sum_steps_around(r, i) - _sum_steps_around(r, j)
            if gain >= 0 or draw_uniform(state) < math.exp(strength * gain):
                total -= gain
            else:
                r[i], r[j] = r[j], r[i]
        out[draw] = total


@compile_kernel
def sum_powers(t: float) -> tuple[float, float, float]:
    """Compute Σ i^2, Σ i^4 and Σ i^6 over i = 1, …, t."""
    squares = t * (t + 1.0) * (2.0 * t + 1.0) / 6.0
    fourth_powers = squares * (3.0 * t * t + 3.0 * t - 1.0) / 5.0
    return squares, fourth_powers, squares * (3.0 * t**4 + 6.0 * t**3 - 3.0 * t + 1.0) / 7.0


@compile_kernel
def sum_tie_terms(order: Rows, doubled_ranks: Rows, tie_sums: Values) -> None:
    """Sum terms over the groups of t tied rows of each feature; shape (m, 7), zero before.

    The terms are t(t−1), t(t−1)(2t+5), t(t−1)(t−2), Σ_{i ≤ t} i⁴, Σ_{i ≤ t} i⁶, log t! and 1, in the order of
    `symscreen.statistics.nulls.kendall_null.TieSums`.
    """
    m, n = order.shape
    for f in range(m):
        start = 0
        for k in range(1, n + 1):
            if k == n or doubled_ranks[f, order[f, k]] != doubled_ranks[f, order[f, start]]:
                t = float(k - start)
                _, fourth_powers, sixth_powers = sum_powers(t)
                tie_sums[f, 0] += t * (t - 1.0)
                tie_sums[f, 1] += t * (t - 1.0) * (2.0 * t + 5.0)
                tie_sums[f, 2] += t * (t - 1.0) * (t - 2.0)
                tie_sums[f, 3] += fourth_powers
                tie_sums[f, 4] += sixth_powers
                tie_sums[f, 5] += math.lgamma(t + 1.0) if t > 1.0 else 0.0
                tie_sums[f, 6] += 1.0
                start = k


@compile_kernel
def fill_inversion_tails(
    order: Rows, doubled_ranks: Rows, target_sizes: Values, scores: Values, tails: Values, opposite: Values
) -> None:
    """Write P(S ≥ s) and P(S > s), s ≥ 0, if the feature or the target has no ties; shapes (m,).

    `target_sizes` are the sizes of the target's groups of tied rows. The coefficients of the q-multinomial
    coefficient are counts of orders, and exact up to 2⁵³.
    """
    m, n = order.shape
    counts, sizes = np.empty(n * (n - 1) // 2 + 1), np.empty(n)
    for f in range(m):
        n_groups, start = 0, 0
        for k in range(1, n + 1):
            if k == n or doubled_ranks[f, order[f, k]] != doubled_ranks[f, order[f, start]]:
                sizes[n_groups] = float(k - start)
                n_groups += 1
                start = k
        if n_groups == n:
            n_groups = target_sizes.size
            sizes[:n_groups] = target_sizes
        most, log_total = n * (n - 1) // 2, math.lgamma(n + 1.0)
        for g in range(n_groups):
            most -= int(sizes[g]) * (int(sizes[g]) - 1) // 2
            log_total -= math.lgamma(sizes[g] + 1.0)
        last = int((most - scores[f]) / 2.0 + 0.25)  # the largest number of inversions that counts
        counts[: last + 1] = 0.0
        counts[0] = 1.0
        n_before = 0
        for g in range(n_groups):  # the rows of a group are placed among those before
            for i in range(1, int(sizes[g]) + 1):
                for k in range(last, n_before + i - 1, -1):
                    counts[k] -= counts[k - n_before - i]
                for k in range(i, last + 1):
                    counts[k] += counts[k - i]
            n_before += int(sizes[g])
        total = counts[: last + 1].sum()
        tails[f] = min(total * math.exp(-log_total), 1.0)
        opposite[f] = min(max(total - counts[last], 0.0) * math.exp(-log_total), 1.0)


@compile_kernel
def count_knots_below_one(knots: Values, cell_starts: Integers, value: float) -> int:
    """Count the knots that are not above a value; see `count_knots_below`."""
    if value >= knots[-1]:
        return knots.size
    cell = np.int64(value * (cell_starts.size / knots[-1])) if value > 0.0 else 0
    k = cell_starts[min(cell, cell_starts.size - 1)]
    while k > 0 and knots[k - 1] > value:  # the value may be in the cell before, by rounding
        k -= 1
    while knots[k] <= value:
        k += 1
    return int(k)


@compile_kernel
def count_knots_below(knots: Values, cell_starts: Integers, values: Values, counts: Integers) -> None:
    """Write how many knots are not above each value, shape (m,).

    The cells divide the range from 0 to the last knot evenly. The search starts at the first knot of a
    value's cell, so it looks at a few knots only.
    """
    for i in range(values.size):
        counts[i] = count_knots_below_one(knots, cell_starts, values[i])
