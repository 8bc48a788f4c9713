"""Kendall's p-values beside all permutations, scipy, and the exact count of inversions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kendalltau

from symscreen.screeners.registry import SCREENERS
from symscreen.statistics.nulls.kendall_null import build_kendall_null
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget

KENDALL = SCREENERS["kendall"]


def compute_p_value(x, y, sign="free"):
    """Compute our p-value of one feature."""
    y, x = np.asarray(y, dtype=float), np.asarray(x, dtype=float)
    order = np.argsort(y, kind="stable")
    target, ordered = NumericTarget(y[order]), sort_block(x[order][None])
    return float(build_kendall_null(target, 0)(ordered, KENDALL.statistic(ordered, target), sign)[0])


def count_orders_by_inversions(sizes):
    """Count the orders of groups of equal values by their inversions, in integers."""
    counts, n_before = [1], 0
    for size in sizes:
        for i in range(1, size + 1):
            length = len(counts) + n_before
            counts = counts + [0] * (n_before + i)
            for k in range(len(counts) - 1, n_before + i - 1, -1):
                counts[k] -= counts[k - n_before - i]
            for k in range(i, len(counts)):
                counts[k] += counts[k - i]
            counts = counts[:length]
        n_before += size
    return counts


def make_feature(sizes, inversions):
    """Make a feature with groups of equal values and a number of inversions against rising rows."""
    x = np.repeat(np.arange(len(sizes)), sizes).tolist()
    while inversions:
        for k in range(len(x) - 1):
            if inversions and x[k] < x[k + 1]:
                x[k], x[k + 1] = x[k + 1], x[k]
                inversions -= 1
    return x


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6]),
        ([0, 0, 0, 1, 2, 2, 3], [0, 1, 2, 3, 4, 5, 6]),
        ([0, 1, 2, 3, 4, 5, 6], [0, 0, 1, 1, 1, 2, 3]),
        ([0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]),
        ([0, 0, 1, 1, 2, 2, 2], [0, 0, 0, 0, 1, 1, 1]),
    ],
)
@pytest.mark.parametrize("sign", ["free", "positive"])
def test_with_ties_in_one_of_both_or_two_values_p_values_are_those_of_all_permutations(x, y, sign):
    orders = list(permutations(x))
    difference = np.sign(np.subtract.outer(y, y))
    scores = np.array([(np.sign(np.subtract.outer(each, each)) * difference).sum() for each in orders])
    size = np.abs(scores) if sign == "free" else scores
    for index in range(0, len(orders), 397):
        expected = (size >= size[index]).mean()
        assert compute_p_value(orders[index], y, sign) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [12, 60])
def test_without_ties_p_values_are_exact_up_to_60_rows(n, rng):
    y = np.arange(float(n))
    x = y + 20.0 * rng.normal(size=n)
    exact, asymptotic = (kendalltau(x, y, method=method).pvalue for method in ("exact", "asymptotic"))
    assert compute_p_value(x, y) == pytest.approx(exact, rel=1e-6)
    assert exact != pytest.approx(asymptotic, rel=1e-3)


@pytest.mark.parametrize("sizes", [[4, 1, 1, 6, 2, 6], [3] * 6, [1] * 14 + [4]])
def test_twenty_rows_with_ties_are_summed_exactly(sizes):
    counts = count_orders_by_inversions(sizes)
    for inversions in range(0, len(counts) // 2, 7):
        expected = min(2 * sum(counts[: inversions + 1]) / sum(counts), 1.0)
        found = compute_p_value(make_feature(sizes, inversions), range(sum(sizes)))
        assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "sizes", [[6] * 5, [10, 10, 10], [14] + [2] * 8, [21] + [1] * 9, [40, 20, 20], [1] * 70]
)
def test_the_expansion_is_right_to_a_twentieth_and_never_much_too_small(sizes):
    counts = count_orders_by_inversions(sizes)
    total = sum(counts)
    for inversions in range(0, len(counts) // 2, 1 + len(counts) // 97):
        exact = 2 * sum(counts[: inversions + 1]) / total
        found = compute_p_value(make_feature(sizes, inversions), range(sum(sizes)))
        assert found >= 0.98 * min(exact, 1.0)
        if exact >= 0.001:
            assert found <= 1.05 * exact


@pytest.mark.parametrize("levels", [3, 5])
def test_with_ties_in_both_rates_are_near_those_of_permutations(levels, rng):
    n, n_permutations = 30, 20_000
    y = np.sort(rng.poisson(3.0, n).astype(float))
    x = rng.permuted(np.tile(rng.integers(0, levels, n).astype(float), (n_permutations, 1)), axis=1)
    target, ordered = NumericTarget(y), sort_block(x)
    statistics = KENDALL.statistic(ordered, target)
    p_values = build_kendall_null(target, 0)(ordered, statistics, "free")
    size = np.sort(np.abs(statistics))
    exact = (n_permutations - np.searchsorted(size, np.abs(statistics) - 1e-9)) / n_permutations
    for level in (0.2, 0.05, 0.01):
        error = np.sqrt(level * (1 - level) / n_permutations) / level
        ratio = (p_values <= level).mean() / (exact <= level).mean()
        assert 0.85 - 3 * error <= ratio <= 1.1 + 3 * error
