from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from symscreen.statistics.nulls import xi_null
from symscreen.statistics.nulls.null_table import build_null_table
from symscreen.statistics.nulls.xi_null import (
    _build_extrapolated_table,
    _compute_z_scores,
    build_saddlepoint_table,
    build_xi_null,
    compute_step_sum_moments,
    is_dominated_by_one_value,
)
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.xi import compute_xi
from symscreen.targets import NumericTarget


def compute_p(target, values, seed=0):
    ordered = sort_block(np.ascontiguousarray(values, dtype=float))
    return build_xi_null(target, seed)(ordered, compute_xi(ordered, target), "free")


def tail_of_runs(n, ones):
    """P(R ≤ k) for k = 0, 1, …: runs come of cutting the zeros and the ones, each into its own."""
    zeros, all_ways = n - ones, math.comb(n, ones)
    upper, lower = (
        [math.comb(rows - 1, cuts) for cuts in range(min(ones, zeros) + 1)] for rows in (ones, zeros)
    )
    tail, ways = [0.0, 0.0], 0
    for runs in range(2, 2 * min(ones, zeros) + 2):
        first, second = (runs + 1) // 2 - 1, runs // 2 - 1
        ways += upper[first] * lower[second] + lower[first] * upper[second]
        tail.append(float(Fraction(ways, all_ways)))
    assert ways == all_ways
    return tail


def with_runs(n, ones, runs):
    """Rows 0 … n−1, zeros first, in an order with the given number of runs, as a feature."""
    zeros, upper = list(range(n - ones)), list(range(n - ones, n))
    order = []
    for run in range(runs):
        of = (zeros, upper)[run % 2]
        length = 1 if run < runs - 2 else len(of)
        order += of[:length]
        del of[:length]
    theta = np.empty(n)
    theta[order] = np.arange(n)
    return theta


@pytest.mark.parametrize("r", [[1, 2, 3, 4, 5], [2, 2, 3, 5, 5], [1, 2], [3, 3, 3]])
def test_mean_and_variance_are_those_of_all_orders(r):
    sums = [np.abs(np.diff(order)).sum() for order in permutations(r)]
    mean, variance = compute_step_sum_moments(np.array(r))
    assert abs(mean - np.mean(sums)) < 1e-12
    assert abs(variance - np.var(sums)) < 1e-11


def test_variance_without_ties_is_the_published_one():
    n = 30
    variance = compute_step_sum_moments(np.arange(1, n + 1))[1] * (3.0 / (n * n - 1.0)) ** 2
    assert abs(variance - (n - 2) * (4 * n - 7) / (10 * (n - 1) ** 2 * (n + 1))) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("n", "levels"), [(40, 0), (40, 3), (150, 0), (150, 4)])
def test_rates_are_nominal_or_below(n, levels, rng):
    target = NumericTarget(np.sort(np.arange(n) % levels if levels else np.arange(n)).astype(float))
    null = build_xi_null(target, 0)
    for ties in (0, 12):
        values = rng.random((8_000, n))
        ordered = sort_block(np.floor(values * ties) if ties else values)
        p = null(ordered, compute_xi(ordered, target), "free")
        for level in (0.05, 0.01):
            rate, error = (p <= level).mean(), np.sqrt(level / len(p))
            assert rate <= level + 4.0 * error
            assert ties or levels or rate >= level - 4.0 * error


@pytest.mark.parametrize(("n", "ones"), [(5, 1), (40, 25), (150, 17), (101, 50), (2000, 180)])
def test_two_values_have_the_exact_law_of_runs(n, ones):
    target = NumericTarget(np.repeat([0.0, 1.0], [n - ones, ones]))
    exact = tail_of_runs(n, ones)
    middle = 2 * ones * (n - ones) / n
    runs = np.unique(np.linspace(2, max(min(1.2 * middle, 2 * min(ones, n - ones)), 2), 7).astype(int))
    p = compute_p(target, [with_runs(n, ones, k) for k in runs])
    assert p == pytest.approx(np.maximum([exact[k] for k in runs], 1e-300), rel=1e-8)


def test_seventeen_ones_of_150_in_23_runs():
    y = NumericTarget(np.repeat([0.0, 1.0], [133, 17]))
    assert compute_p(y, [with_runs(150, 17, 23)])[0] == pytest.approx(tail_of_runs(150, 17)[23])
    assert 0.00359 < compute_p(y, [with_runs(150, 17, 23)])[0] < 0.00361


SMALL = {
    "even": [1, 2, 3, 4, 5, 6],
    "a pair": [0, 0, 1, 2, 3, 4],
    "three": [0, 0, 0, 1, 1, 2],
    "one": [0, 0, 0, 0, 0, 1],
    "mostly the largest": [0, 1, 2, 2, 2, 2],
}


@pytest.mark.parametrize("kind", SMALL)
def test_small_responses_have_the_p_values_of_all_orders(kind):
    target = NumericTarget(np.array(SMALL[kind], dtype=float))
    ordered = sort_block(np.array(list(permutations(range(6))), dtype=float))
    xi = compute_xi(ordered, target)
    p = build_xi_null(target, 0)(ordered, xi, "free")
    below = np.searchsorted(np.sort(xi), xi - 1e-13)
    assert np.abs(p - (1.0 - below / len(xi))).max() < 1e-12


@pytest.mark.parametrize("kind", SMALL)
def test_of_features_with_ties_no_p_value_is_below_that_of_all_orders(kind):
    target = NumericTarget(np.array(SMALL[kind], dtype=float))
    null = build_xi_null(target, 0)
    for pattern in ([0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2], [0, 0, 1, 2, 3, 4]):
        ordered = sort_block(np.array(sorted(set(permutations(pattern))), dtype=float))
        xi = compute_xi(ordered, target)
        p = null(ordered, xi, "free")
        below = np.searchsorted(np.sort(xi), xi - 1e-13)
        assert (p >= 1.0 - below / len(xi) - 1e-12).all()


@pytest.mark.parametrize(
    ("y", "least"),
    [
        (range(5), 2 / 120),
        (range(10), 2 / math.factorial(10)),
        ([0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5], 2 * 6 * 6 * 2 / math.factorial(11)),
    ],
)
def test_perfect_order_has_the_p_value_of_its_two_directions(y, least):
    values = np.array(y, dtype=float)
    p = compute_p(NumericTarget(values), [np.arange(len(values)), -np.arange(float(len(values)))])
    assert p[0] == p[1]
    assert least * (1 - 1e-12) <= p[0] < 1.2 * least


@pytest.mark.slow
@pytest.mark.parametrize("shares", [(0.45, 0.45, 0.1), (0.85, 0.1, 0.05)])
def test_rates_of_uneven_levels_are_nominal_or_below(shares, rng):
    n = 101
    target = NumericTarget(np.searchsorted(np.cumsum(shares)[:-1], (np.arange(n) + 0.5) / n).astype(float))
    p = compute_p(target, rng.random((60_000, n)))
    for level in (0.3, 0.05, 0.01, 1e-3):
        rate, error = (p <= level).mean(), np.sqrt(level / len(p))
        assert 0.6 * level < rate <= level + 4.0 * error


@pytest.mark.slow
@pytest.mark.parametrize("ones", [2000])
def test_more_rows_than_are_drawn_have_p_values_hardly_too_small(ones):
    n = 4000
    r = np.repeat([n - ones, n], [n - ones, ones])
    mean, variance = compute_step_sum_moments(r)
    exact = np.array(tail_of_runs(n, ones))
    at = [int(np.searchsorted(exact, level)) for level in (0.3, 0.05, 0.01, 1e-3)]
    table, jump = _build_extrapolated_table(r, 400, 0)
    q = ones * (np.array(at) - 1.0)
    ratio = table.compute_sf(_compute_z_scores(q, mean - jump, math.sqrt(variance))) / exact[at]
    assert ratio.min() > 0.98
    assert ratio.max() < 1.25


def test_a_response_of_nearly_one_value_and_many_rows_has_p_values_of_one():
    n = 3500
    target = NumericTarget(np.maximum(np.arange(n) - 3200.0, 0.0))
    assert compute_p(target, [np.arange(n), np.arange(n) % 7]).tolist() == [1.0, 1.0]


def test_a_tail_beyond_the_saddlepoints_goes_on_as_an_exponential():
    grid = np.linspace(-4.0, 4.0, 401)
    mass = np.exp(-grid * grid / 2)
    table = build_saddlepoint_table(build_null_table(grid + 4.0, mass / mass.sum()), 3.0, -4.0)
    log_tail = np.log(table.tail_probabilities)
    drops = -np.diff(log_tail[log_tail > -650.0])
    assert (drops[drops.size // 2 :] > 0).all()
    assert np.abs(np.diff(np.log(drops[drops.size // 2 :]))).max() < 0.02
    assert drops[-1] / np.diff(table.knots)[-1] == pytest.approx(table.tail_slope, rel=1e-9)
    # the mean excess of an exponential is one over its slope
    assert table.tail_means[-1] == pytest.approx(table.knots[-1] + 1.0 / table.tail_slope, rel=1e-12)


def test_a_skewed_sum_has_a_whole_table_from_its_least_value_to_its_tail():
    z = np.arange(-1.0, 12.0, 0.01)
    mass = np.exp(-z)
    table = build_saddlepoint_table(build_null_table(z + 5.0, mass / mass.sum()), 3.0, -5.0)
    below = table.knots - 5.0 < -math.sqrt(3.0)  # the least sum of three parts, standardised
    assert (table.tail_probabilities[below] == 1.0).all()
    assert table.tail_probabilities[~below][-1] > 1e-12
    beyond = np.array([0.0, 0.5, 2.0])
    expected = table.tail_probabilities[-1] * np.exp(-table.tail_slope * beyond)
    np.testing.assert_allclose(table.compute_sf(table.knots[-1] + beyond), expected, rtol=1e-12)


class _DrawnError(Exception):
    """Says how many orders would be drawn."""


@pytest.mark.parametrize(
    ("n", "levels", "n_orders"),
    [(40, 40, 1_000_000), (100, 100, 400_000), (101, 3, 1_000_000), (600, 3, 500_000)],
)
def test_a_million_orders_are_drawn_unless_they_hold_too_many_values(n, levels, n_orders, monkeypatch):
    def draw(r, count, _):
        raise _DrawnError(len(r), count)

    monkeypatch.setattr(xi_null, "draw_step_sums", draw)
    target = NumericTarget(np.sort(np.arange(n) % levels).astype(float))
    with pytest.raises(_DrawnError) as caught:
        build_xi_null(target, 987)
    assert caught.value.args == (n, n_orders)


@pytest.mark.parametrize(
    ("sizes", "dominated"),
    [
        ((2800, 150, 151), True),
        ((2790, 155, 156), False),  # not over 90 %
        ((1100, 1000, 1001), False),
        ((2700, 150, 150), False),  # 3,000 rows
        ((2990, 5, 5), False),
        ((3000, 101), False),  # the law of two values is known
    ],
)
def test_one_value_dominates_many_rows_of_three_values(sizes, dominated):
    target = NumericTarget(np.repeat(np.arange(float(len(sizes))), sizes))
    assert is_dominated_by_one_value(target) is dominated


def test_the_extrapolated_table_accounts_for_the_largest_jump():
    sizes = [3, 9, 1, 4, 1, 1, 12, 9]
    r = np.repeat(np.cumsum(sizes), sizes)
    assert _build_extrapolated_table(r, 8, 0)[1] == 12.0
    assert _build_extrapolated_table(np.arange(1, 41), 8, 0)[1] == 0.0
