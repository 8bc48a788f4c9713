"""Compiled kernels of `linear_rank_null`: p-values of features with ties, and walks among permutations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics._kernels import draw_integer, draw_uniform
from symscreen.statistics.nulls._kernels import compute_gcd, count_knots_below_one, sum_products

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Rows, Values

    RngState = NDArray[np.uint64]


_MAX_CORNISH_FISHER_STEPS = 60
_LOWEST_STATISTIC = -8.0  # below it the tail is 1
_SMALL_SKEWNESS, _SMALL_EXCESS = 0.3, 0.6  # values below which the slope is above 1/2 for |u| ≤ 2
_MIN_CORNISH_FISHER_SLOPE = 0.15  # where the expansion bends more, it is not used further out
_MAX_SKEWNESS, _MAX_EXCESS = 0.8, 2.5  # differences from the untied statistic up to which it is corrected
_STEP_ROUNDING = 1e-7  # rounding of the distance between statistics, in steps of their lattice
_EQUAL = 1e-9  # relative difference of equal statistics
_MIN_MINORITY_ROWS = 5  # rows outside the largest group, of the feature and of the scores
# smallest entropy of the table of counts, in general and with few rows
_MIN_ENTROPY, _MIN_ENTROPY_OF_FEW = 5.5, 8.0
_MANY_ROWS = 25
_MAX_GROUP_WIDTH = 1.0  # width of a group of ranks, in standard deviations of the sum over the light rows
_MAX_CHOICES = 144  # choices of groups for the heavy rows; with more, only the bound is known
_MAX_HEAVY_GROUPS, _MAX_HEAVY_GROUPS_OF_TWO = 16, 8  # groups of ranks that one or two heavy rows are given


@compile_kernel
def _find_tie_levels(order: Rows, values: Values, is_mirrored: bool, levels: Values, counts: Values) -> int:
    """Write twice the centred mid-rank of each group of tied rows, ascending, and its size; count the groups.

    The arrays have shape (n,). With `is_mirrored`, rows are read from the last to the first, so the groups
    are those of the mirrored ranks.
    """
    n = order.size
    first, direction = (n - 1, -1) if is_mirrored else (0, 1)
    n_levels = np.uint32(1)
    counts[0] = 0.0
    last = values[np.uint32(order[first])]
    for k in range(1, n):  # without a branch, because ties are hard to predict
        value = values[np.uint32(order[np.uint32(first + direction * k)])]
        counts[n_levels] = k  # where the next group would start
        n_levels += np.uint32(value != last)
        last = value
    for level in range(n_levels):
        start, stop = counts[level], counts[level + 1] if level + 1 < n_levels else float(n)
        levels[level] = start + stop - n
        counts[level] = stop - start
    return int(np.int64(n_levels))


@compile_kernel
def find_tie_patterns(
    order: Rows, values: Values, is_mirrored: Flags, features: Integers,
    max_rows: int, max_rows_two: int, min_rows_two: int, patterns: Integers,
) -> None:  # fmt: skip
    """Write a code of the tie pattern of each feature whose pattern has a table of its own, −1 for others.

    `is_mirrored` says whose mirrored ranks are meant. Up to `max_rows` rows, the bits of the code mark the
    first row of each group. With two values and more rows, the code is the size of the lower group; such a
    feature has a table up to `max_rows_two` rows, and if one of its groups has less than `min_rows_two` rows.
    `features` and `patterns` have shape (m,).
    """
    n = order.shape[1]
    levels, counts = np.empty(n), np.empty(n)
    for i in range(features.size):
        f = features[i]
        patterns[i] = -1
        if n <= max_rows:
            n_levels = _find_tie_levels(order[f], values[f], is_mirrored[i], levels, counts)
            code, row = np.int64(0), np.int64(0)
            for level in range(n_levels):
                code |= np.int64(1) << row
                row += np.int64(counts[level])
            patterns[i] = code
            continue
        size = _count_lower_rows(order[f], values[f])
        if size > 0 and (n <= max_rows_two or min(size, n - size) < min_rows_two):
            patterns[i] = n - size if is_mirrored[i] else size


@compile_kernel
def _count_lower_rows(order: Rows, values: Values) -> int:
    """Count the rows with the lower of two values; 0 if there are more values."""
    n, size = order.size, 0
    for k in range(1, n):
        if values[order[k]] != values[order[k - 1]]:
            if size > 0:
                return 0
            size = k
    return size


@compile_kernel
def _look_up_tail(table: Values, knots: Values, tails: Values, cell_starts: Integers, z: float) -> float:
    """Look up P(|Z| ≥ z), z ≥ 0, in a table; `table` is `TieReference.table_limits`."""
    value = z - table[3]
    k = count_knots_below_one(knots, cell_starts, value)
    probability = tails[max(k - 1, 0)]
    if value > table[0]:  # this is rare, and an exponential takes long
        probability *= math.exp(-table[1] * (value - table[0]))
    return float(max(probability, table[2]))


@compile_kernel
def _compute_smooth_tail(
    table: Values, knots: Values, tails: Values, cell_starts: Integers, spacing: float, u: float
) -> float:
    """Compute P(U ≥ u) of the untied statistic; for a lattice, by interpolation between the lattice points.

    The probability of a lattice point and all points above belongs half a spacing below the point.
    """
    z = abs(u)  # U is symmetric
    if spacing <= 0.0:
        tail = 0.5 * _look_up_tail(table, knots, tails, cell_starts, z)
        return float(tail if u >= 0.0 else 1.0 - tail)
    top = table[4]  # the largest value of U
    point = top - spacing * math.floor((top - z) / spacing + 0.5)
    share = min(max((z - point) / spacing + 0.5, 0.0), 1.0)
    if point > table[3]:
        lower = 0.5 * _look_up_tail(table, knots, tails, cell_starts, point)
    else:
        lower = 1.0 - 0.5 * _look_up_tail(table, knots, tails, cell_starts, spacing - point)
    upper = 0.25 * lower  # beyond the largest value
    if point + spacing <= top + table[3]:
        upper = 0.5 * _look_up_tail(table, knots, tails, cell_starts, point + spacing)
    tail = math.exp((1.0 - share) * math.log(lower) + share * math.log(upper))
    return float(tail if u >= 0.0 else 1.0 - tail)


@compile_kernel
def _invert_cornish_fisher(x: float, skewness: float, excess: float) -> float:
    """Find u with x = u + γ/6 (u² − 1) + κ/24 (u³ − 3u) − γ²/36 (2u³ − 5u), or the u nearest to it.

    γ and κ are the differences of skewness and kurtosis. The search starts from 0, or nearer to x if both are
    small, and stays where the right side increases.
    """
    square = skewness * skewness
    is_small = square < _SMALL_SKEWNESS * _SMALL_SKEWNESS and abs(excess) < _SMALL_EXCESS
    u = min(max(x, -2.0), 2.0) if is_small else 0.0
    x = max(x, _LOWEST_STATISTIC)
    # the right side is c_0 + c_1 u + c_2 u² + c_3 u³
    c_0, c_1 = -skewness / 6.0, 1.0 - excess / 8.0 + 5.0 * square / 36.0
    c_2, c_3 = skewness / 6.0, excess / 24.0 - square / 18.0
    for _ in range(_MAX_CORNISH_FISHER_STEPS):
        slope = c_1 + u * (2.0 * c_2 + 3.0 * c_3 * u)
        if slope < _MIN_CORNISH_FISHER_SLOPE:
            break
        step = (x - (c_0 + u * (c_1 + u * (c_2 + u * c_3)))) / slope
        longest = max(0.5, 0.5 * abs(u))
        u += min(max(step, -longest), longest)
        if abs(step) < 1e-9:
            break
    return u


@compile_kernel
def _compute_moments(power_sums: Values, n: int, moments: Values) -> None:
    """Write Σ (b − b̄)^k, k = 2, 3, 4, from Σ b^k, k = 1, …, 4."""
    mean = power_sums[0] / n
    moments[0] = power_sums[1] - n * mean * mean
    moments[1] = power_sums[2] - 3.0 * mean * power_sums[1] + 2.0 * n * mean**3
    moments[2] = (
        power_sums[3] - 4.0 * mean * power_sums[2] + 6.0 * mean * mean * power_sums[1] - 3.0 * n * mean**4
    )


@compile_kernel
def compute_permutation_cumulants(a: Values, b: Values, n: int) -> tuple[float, float, float]:
    """Compute variance, skewness and excess kurtosis of Σ a_i b_π(i) over all permutations.

    `a` and `b` hold Σ a^k and Σ b^k, k = 2, 3, 4, of centred values; n ≥ 4.
    """
    variance = a[0] * b[0] / (n - 1.0)
    if variance <= 0.0:
        return 0.0, 0.0, 0.0
    third = n * a[1] * b[1] / ((n - 1.0) * (n - 2.0))
    pairs = n * (n - 1.0)
    a_22, b_22 = a[0] * a[0], b[0] * b[0]
    fourth = a[2] * b[2] * (1.0 / n + 4.0 / pairs) + 3.0 * (a_22 - a[2]) * (b_22 - b[2]) / pairs
    fourth += 6.0 * (2.0 * a[2] - a_22) * (2.0 * b[2] - b_22) / (pairs * (n - 2.0))
    fourth += (3.0 * a_22 - 6.0 * a[2]) * (3.0 * b_22 - 6.0 * b[2]) / (pairs * (n - 2.0) * (n - 3.0))
    return variance, third / variance**1.5, fourth / (variance * variance) - 3.0


@compile_kernel
def _find_common_step(levels: Values, n_levels: int) -> float:
    """Compute the greatest common divisor of the differences between levels, which are integers."""
    step = np.int64(0)
    for i in range(1, n_levels):
        step = compute_gcd(np.int64(levels[i] - levels[i - 1]), step)
        if step == 1:
            break
    return float(step)


@compile_kernel
def _sum_powers(levels: Values, counts: Values, n_levels: int, power_sums: Values) -> None:
    """Write Σ b^k, k = 1, …, 4, of centred ranks."""
    second = third = fourth = 0.0
    for level in range(n_levels):
        b, count = levels[level], counts[level]
        second += count * b * b
        third += count * b * b * b
        fourth += count * b * b * b * b
    power_sums[0], power_sums[1], power_sums[2], power_sums[3] = 0.0, second, third, fourth


@compile_kernel
def _compute_log_share(counts: Values, n_levels: int, n: int, log_score_ties: float) -> float:
    """Compute the log of the share of permutations that leave the ranks, or the scores, as they are."""
    log_permutations = 0.0
    for level in range(n_levels):
        if counts[level] > 1.0:
            log_permutations += math.lgamma(counts[level] + 1.0)
    return max(log_permutations, log_score_ties) - math.lgamma(n + 1.0)


@compile_kernel
def _give_heavy_ranks(
    choice: int, heavy_scores: Values, groups: Values, n_groups: int, n: int, power_sums: Values
) -> tuple[float, float, float]:  # fmt: skip
    """Give the heavy rows the ranks of a choice of groups, and take these out of the power sums.

    Return the probability of the choice, and the mean and variance of Σ a_i b_i of these rows.
    """
    probability, mean, variance = 1.0, 0.0, 0.0
    for heavy in range(heavy_scores.size):
        group = choice % n_groups if heavy == 0 else choice // n_groups
        b, count, spread = groups[0, group], groups[1, group], groups[2, group]
        # the second heavy row cannot have the rank of the first
        taken = heavy if group == choice % n_groups else 0
        probability *= (count - taken) / (n - heavy)
        mean += heavy_scores[heavy] * b
        variance += heavy_scores[heavy] ** 2 * spread
        factor = 1.0
        for k in range(4):
            factor *= b
            power_sums[k] -= factor
    return probability, mean, variance


@compile_kernel
def _is_coarse(counts: Values, n_levels: int, score_groups: Values, n: int) -> bool:
    """Return whether the ties of feature and scores leave so few arrangements that no smooth curve fits.

    The numbers of rows with each level and each score make a table of counts. Its entropy is about the sum of
    the entropies of Poisson variables, but for the largest level and the most frequent score. The rows of
    `score_groups`, shape (2, k), are the sizes of the groups of equal scores without the largest, and how
    often each size occurs.
    """
    largest = 0
    for level in range(n_levels):
        if counts[level] > counts[largest]:
            largest = level
    if n - counts[largest] < _MIN_MINORITY_ROWS:
        return True
    n_scored = 0.0
    for k in range(score_groups.shape[1]):
        n_scored += score_groups[0, k] * score_groups[1, k]
    if n_scored < _MIN_MINORITY_ROWS:
        return True
    entropy, least = 0.0, _MIN_ENTROPY if n >= _MANY_ROWS else _MIN_ENTROPY_OF_FEW
    for level in range(n_levels):
        if level == largest:
            continue
        for k in range(score_groups.shape[1]):
            mean = counts[level] * score_groups[0, k] / n
            if mean < 0.5:
                entropy += score_groups[1, k] * mean * (1.0 - math.log(mean))
            else:
                entropy += score_groups[1, k] * 0.5 * math.log(2.0 * math.pi * math.e * (mean + 1.0 / 12.0))
        if entropy >= least:
            return False
    return True


@compile_kernel
def fill_tied_p_values(
    order: Rows, values: Values, is_mirrored: Flags, features: Integers, statistics: Values,
    heavy_scores: Values, score_sums: Values, score_groups: Values, base_excess: float, score_step: float,
    table: Values, knots: Values, tails: Values, cell_starts: Integers, spacing: float,
    log_score_ties: float, is_two_sided: bool, p_values: Values,
) -> None:  # fmt: skip
    """Write p-values of features with ties from the table of untied features, shape (m,).

    `order` and `values` are those of a block, and `features` are the m features. `statistics` is
    Σ a_i · 2 b_i of a feature or, if `is_mirrored`, of its mirrored ranks. The other parameters are those of
    `linear_rank_null.TieReference`. A p-value that cannot be computed is NaN.
    """
    n = order.shape[1]
    levels, counts = np.empty(n), np.empty(n)
    groups = np.empty((3, n))
    power_sums, light_sums, moments = np.empty(4), np.empty(4), np.empty(3)
    n_heavy = heavy_scores.size
    max_rows = n / (_MAX_HEAVY_GROUPS if n_heavy == 1 else _MAX_HEAVY_GROUPS_OF_TWO)
    max_heavy = np.abs(heavy_scores).max() if n_heavy > 0 else 0.0
    for i in range(features.size):
        f, s = features[i], statistics[i]
        n_levels = _find_tie_levels(order[f], values[f], is_mirrored[i], levels, counts)
        _sum_powers(levels, counts, n_levels, power_sums)
        step = score_step * _find_common_step(levels, n_levels) if score_step > 0.0 else 0.0
        # the lattice point nearest to −s among those of at most −s
        below = step * math.ceil(2.0 * s / step - _STEP_ROUNDING) - s if step > 0.0 else s
        n_groups = 1
        if n_heavy > 0:
            width = _MAX_GROUP_WIDTH * math.sqrt(score_sums[0] * power_sums[1] / (n - 1.0)) / max_heavy
            n_groups = _group_levels(levels, counts, n_levels, max_rows, width, groups)
        upper = lower = 0.0
        # two values on a lattice fill it, however few they are
        fills_lattice = n_levels == 2 and step > 0.0 and n_heavy == 0
        is_known = fills_lattice or not _is_coarse(counts, n_levels, score_groups, n)
        n_choices = n_groups**n_heavy
        is_known = is_known and n_choices <= _MAX_CHOICES
        for choice in range(n_choices if is_known else 0):
            light_sums[:] = power_sums
            probability, heavy_sum, heavy_variance = _give_heavy_ranks(
                choice, heavy_scores, groups, n_groups, n, light_sums
            )
            if probability <= 0.0:
                continue
            _compute_moments(light_sums, n - n_heavy, moments)
            variance, skewness, excess = compute_permutation_cumulants(score_sums, moments, n - n_heavy)
            excess -= base_excess
            if abs(skewness) > _MAX_SKEWNESS or abs(excess) > _MAX_EXCESS:
                is_known = False
                break
            deviation = math.sqrt(variance + heavy_variance)
            if deviation <= _EQUAL * (abs(s) + abs(heavy_sum)):  # the ranks of the light rows are all equal
                upper += probability if heavy_sum >= s - _EQUAL * abs(s) else 0.0
                lower += probability if -heavy_sum >= s - _EQUAL * abs(s) else 0.0
                continue
            u = _invert_cornish_fisher((s - 0.5 * step - heavy_sum) / deviation, skewness, excess)
            upper += probability * _compute_smooth_tail(table, knots, tails, cell_starts, spacing, u)
            if is_two_sided:
                u = _invert_cornish_fisher((below - 0.5 * step + heavy_sum) / deviation, -skewness, excess)
                lower += probability * _compute_smooth_tail(table, knots, tails, cell_starts, spacing, u)
        p_value = upper + (lower if is_two_sided else 0.0)
        if p_value * n <= 2.0:  # only then can the share of equal arrangements, at most 1/n, be larger
            log_share = _compute_log_share(counts, n_levels, n, log_score_ties)
            p_value = max(p_value, math.exp(max(log_share, -690.0)))
        p_values[i] = min(p_value, 1.0) if is_known else np.nan


@compile_kernel
def _group_levels(
    levels: Values, counts: Values, n_levels: int, max_rows: float, max_width: float, groups: Values
) -> int:
    """Merge adjacent levels into groups of at most `max_rows` rows and `max_width`; count the groups.

    The rows of `groups`, shape (3, n), are the mean level of each group, its number of rows, and the variance
    of the levels within it.
    """
    n_groups, first = 0, 0.0
    for level in range(n_levels):
        last = n_groups - 1
        has_room = n_groups and groups[1, last] + counts[level] <= max_rows
        if has_room and levels[level] - first <= max_width:
            total = groups[1, last] + counts[level]
            share, difference = counts[level] / total, levels[level] - groups[0, last]
            groups[0, last] += share * difference
            groups[1, last] = total
            groups[2, last] = (1.0 - share) * (groups[2, last] + share * difference * difference)
        else:
            groups[0, n_groups], groups[1, n_groups], groups[2, n_groups] = levels[level], counts[level], 0.0
            first = levels[level]
            n_groups += 1
    return n_groups


@compile_kernel
def walk_by_weighted_swaps(
    scores: Values, ranks: Values, tilt: float, thinning: int, state: RngState, out: Values
) -> None:
    """Walk among orders of the ranks with probability proportional to exp(tilt · Z), by swapping two.

    Z = Σ a_i b_i is written at intervals of `thinning` moves; the ranks keep the state between walks.
    """
    n = scores.size
    z = sum_products(scores, ranks)
    for draw in range(out.size):
        for _ in range(thinning):
            i, j = draw_integer(state, n), draw_integer(state, n)
            gain = (scores[i] - scores[j]) * (ranks[j] - ranks[i])
            if tilt * gain >= 0.0 or draw_uniform(state) < math.exp(tilt * gain):
                ranks[i], ranks[j] = ranks[j], ranks[i]
                z += gain
        out[draw] = z


@compile_kernel
def _orient_groups(sizes: Values, n_groups: int) -> None:
    """Reverse the sizes of groups if that puts a smaller one first, so that mirrored features are equal."""
    for i in range(n_groups // 2):
        j = n_groups - 1 - i
        if sizes[i] < sizes[j]:
            return
        if sizes[i] > sizes[j]:
            sizes[:n_groups] = sizes[:n_groups][::-1].copy()
            return


@compile_kernel
def _sum_group_weights(sizes: Values, n_groups: int, sums: Values) -> None:
    """Write the sums of `tied_xi_null.sum_products` for the weights of ξ̄, given the sizes of tied groups.

    Two rows of a group of m rows have the weight 2/m, and two rows of neighbouring groups of m and m′ rows
    have 1/(m m′), see `symscreen.statistics.ranks.xi`.
    """
    sums[:] = 0.0
    total = squares = triangles = stars = paths = paths_of_two = products = ends = centers = 0.0
    cubes = 0.0
    for g in range(n_groups):
        m = sizes[g]
        before = sizes[g - 1] if g > 0 else 0.0
        after = sizes[g + 1] if g + 1 < n_groups else 0.0
        a = 2.0 / m
        n_neighbors = (before > 0.0) + (after > 0.0)
        rho = (m - 1.0) * a + n_neighbors / m
        sigma, cube = (m - 1.0) * a * a, (m - 1.0) * a**3
        weighted = (m - 1.0) * a * rho  # Σ_q w_pq ρ_q
        for k in range(2):
            other = before if k == 0 else after
            if other > 0.0:
                b = 1.0 / (m * other)
                sigma += other * b * b
                cube += other * b**3
                triangles += 3.0 * m * (m - 1.0) * other * a * b * b
                further = g - 1 if k == 0 else g + 1
                has_two = further > 0 and further + 1 < n_groups
                other_rho = (other - 1.0) * 2.0 / other + (1.0 + has_two) / other
                weighted += other_rho / m
                paths += m * other * b * (rho - b) * (other_rho - b)
        triangles += m * (m - 1.0) * (m - 2.0) * a**3
        paths += m * (m - 1.0) * a * (rho - a) ** 2
        total += m * rho
        squares += m * sigma
        cubes += m * cube
        stars += m * (rho**3 - 3.0 * rho * sigma + 2.0 * cube)
        paths_of_two += m * (rho * rho - sigma)
        products += m * rho * sigma
        ends += m * weighted * rho
        centers += m * (rho * rho - sigma) * rho
    combine_figure_sums(
        total, squares, cubes, triangles, stars, paths, paths_of_two, products, ends, centers, sums
    )


@compile_kernel
def combine_figure_sums(
    total: float, squares: float, cubes: float, triangles: float, stars: float, paths: float,
    paths_of_two: float, products: float, ends: float, centers: float, sums: Values,
) -> None:  # fmt: skip
    """Write the sums over distinct rows from sums with repeated rows; see `tied_xi_null.sum_products`.

    `products` is Σ ρ σ, `ends` is Σ ρ_p w_pq ρ_q, and `centers` is Σ (ρ² − σ) ρ, with ρ the row sums of the
    weights and σ those of their squares.
    """
    double = products - cubes  # Σ w_pq² w_qr
    sums[0] = squares
    sums[1] = paths_of_two
    sums[2] = total * total - 2.0 * squares - 4.0 * paths_of_two
    sums[3] = cubes
    sums[4] = double
    sums[5] = triangles
    sums[6] = stars
    sums[7] = paths - triangles
    sums[8] = total * squares - 4.0 * products + 2.0 * cubes
    sums[9] = total * paths_of_two - 2.0 * (2.0 * (ends - products) + centers)
    sums[9] += 2.0 * (2.0 * double + triangles)
    sums[10] = total**3 - 4.0 * sums[3] - 24.0 * sums[4] - 8.0 * sums[5] - 8.0 * sums[6]
    sums[10] -= 24.0 * sums[7] + 6.0 * sums[8] + 12.0 * sums[9]


@compile_kernel
def fill_tied_xi_moments(
    order: Rows, values: Values, features: Integers, distance_means: Values, n_edges: Values, out: Values
) -> None:
    """Write the variance and skewness of Σ w_ij d_ij over all permutations, shape (m, 2).

    `distance_means` are the means of the products of `tied_xi_null.sum_products` over distinct rows, with
    Σ d_ij = 0, and `n_edges` the number of ways in which each occurs.
    """
    n = order.shape[1]
    levels, counts, sums = np.empty(n), np.empty(n), np.empty(11)
    is_mirrored = False
    for i in range(features.size):
        f = features[i]
        n_groups = _find_tie_levels(order[f], values[f], is_mirrored, levels, counts)
        _orient_groups(counts, n_groups)
        _sum_group_weights(counts, n_groups, sums)
        variance = third = 0.0
        for k in range(3):
            variance += n_edges[k] * sums[k] * distance_means[k]
        for k in range(3, 11):
            third += n_edges[k] * sums[k] * distance_means[k]
        out[i, 0] = variance
        out[i, 1] = third / variance**1.5 if variance > 0.0 else 0.0
