from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.special import ndtri

from symscreen.screeners.registry import SCREENERS
from symscreen.statistics.nulls import linear_rank_table
from symscreen.statistics.nulls.linear_rank_table import (
    LinearRankStatistic,
    build_linear_rank_table,
    draw_abs_statistics,
    enumerate_abs_statistics,
)
from symscreen.statistics.nulls.t0_null import build_t0_null
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_ranking_metric
from symscreen.targets import NumericTarget

NULLS = [name for name, one in SCREENERS.items() if getattr(one, "null_distribution", None)]


@pytest.fixture(autouse=True)
def _no_known_tables():
    """Tests change how tables are made."""
    linear_rank_table._find_linear_rank_table.cache_clear()
    yield
    linear_rank_table._find_linear_rank_table.cache_clear()


def rank_sum_tail(n, ones):
    """|z| and P(|Z| ≥ |z|) of the rank sum of `ones` ones, by counting."""
    ways = np.zeros((ones + 1, ones * n + 1))
    ways[0, 0] = 1.0
    for rank in range(1, n + 1):
        for j in range(min(rank, ones), 0, -1):
            ways[j, rank:] += ways[j - 1, :-rank]
    z = (np.arange(ones * n + 1) - ones * (n + 1) / 2) / np.sqrt(ones * (n - ones) * (n + 1) / 12)
    tail = 2.0 * np.cumsum(ways[ones, ::-1])[::-1] / ways[ones].sum()
    return z[(z > 0) & (tail > 0)], tail[(z > 0) & (tail > 0)]


SMALL = {
    "even": [0.0, 1, 2, 3, 5, 8, 11],
    "levels": [0.0, 0, 1, 1, 1, 7, 7],
    "one": [0.0, 0, 0, 0, 0, 0, 1],
    "skewed": [0.01, 0.2, 0.9, 1.3, 7.0, 50.0, 2000.0],
    "a gross outlier": [-1.3, -0.4, 0.1, 0.25, 0.9, 1.4, 1e6],
    "two gross outliers": [-1e4, -0.4, 0.1, 0.25, 0.9, 1.4, 1e8],
}


@pytest.mark.parametrize("kind", SMALL)
def test_small_responses_have_the_p_values_of_all_permutations(kind):
    target = NumericTarget(np.array(SMALL[kind]))
    ordered = sort_block(np.array(list(permutations(range(7))), dtype=float))
    metric = compute_ranking_metric(ordered, target)
    null = build_t0_null(target, 0)
    for sign, score in (("free", np.abs(metric)), ("positive", metric)):
        p = null(ordered, metric, sign)
        below = np.searchsorted(np.sort(score), score - 1e-14 * score.max())
        assert np.abs(p - (1.0 - below / len(score))).max() < 1e-12
    assert p[np.argmin(metric)] == 1.0


TIES = ([0, 0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0, 1], [0, 0, 1, 1, 2, 2, 2], [0, 0, 1, 2, 3, 4, 5])


@pytest.mark.parametrize("kind", SMALL)
@pytest.mark.parametrize("ties", TIES)
def test_of_features_with_ties_no_p_value_is_below_that_of_all_permutations(kind, ties):
    target = NumericTarget(np.array(SMALL[kind]))
    ordered = sort_block(np.array(sorted(set(permutations(ties))), dtype=float))
    metric = compute_ranking_metric(ordered, target)
    null = build_t0_null(target, 0)
    for sign, score in (("free", np.abs(metric)), ("positive", metric)):
        below = np.searchsorted(np.sort(score), score - 1e-13 * np.abs(score).max())
        assert (null(ordered, metric, sign) >= 1.0 - below / len(score) - 1e-12).all()


def test_a_half_and_half_feature_tells_nothing_of_a_single_one():
    target = NumericTarget(np.r_[np.zeros(15), 1.0])  # wherever the one lies, |T0 − Δ| is the same
    ordered = sort_block(np.repeat([0.0, 1.0], 8)[None])
    assert build_t0_null(target, 0)(ordered, compute_ranking_metric(ordered, target), "free").tolist() == [
        1.0
    ]


def tail_with_an_outlier(n, ones, outlier):
    """|Σ y_i (r_i − (n+1)/2)| and its tail for ones, zeros and one outlier, by counting."""
    found, ways_of = [], []
    for rank in range(1, n + 1):
        ways = np.zeros((ones + 1, ones * n + 1))
        ways[0, 0] = 1.0
        for other in range(1, n + 1):
            if other != rank:
                ways[1:, other:] += ways[:-1, :-other].copy()
        sums = np.flatnonzero(ways[ones])
        found.append(np.abs(outlier * (rank - (n + 1) / 2) + sums - ones * (n + 1) / 2))
        ways_of.append(ways[ones, sums])
    sums, ways = np.concatenate(found), np.concatenate(ways_of)
    sums, place = np.unique(sums, return_inverse=True)
    tail = np.cumsum(np.bincount(place, ways)[::-1])[::-1]
    return sums, tail / (n * math.comb(n - 1, ones))


@pytest.mark.slow
@pytest.mark.parametrize("outlier", [30.0, 1e9])
def test_a_gross_outlier_leaves_the_tail_of_the_others_right(outlier):
    sums, exact = tail_with_an_outlier(40, 12, outlier)
    y = np.r_[outlier, np.ones(12), np.zeros(27)]
    z = sums / np.sqrt(((y - y.mean()) ** 2).sum() * 40 * 41 / 12)
    off = np.abs(np.log(build_linear_rank_table(y, 0).compute_sf(z) / exact))
    for level, most in ((0.05, 0.03), (1e-3, 0.1), (1e-5, 0.2), (1e-9, 0.4)):
        assert off[exact >= level].max() < most


@pytest.mark.slow
@pytest.mark.parametrize(("n", "outliers"), [(12, [1e9]), (80, [1e4]), (80, [1e8, 1e4])])
def test_rates_are_nominal_with_gross_outliers(n, outliers, rng):
    target = NumericTarget(np.sort(np.append(rng.normal(size=n - len(outliers)), outliers)))
    ordered = sort_block(rng.random((30_000, n)))
    p = build_t0_null(target, 0)(ordered, compute_ranking_metric(ordered, target), "free")
    for level in (0.3, 0.05, 0.01, 1e-3, 1e-4):
        assert abs((p <= level).mean() - level) < 4.5 * np.sqrt(level / len(p)) + 0.01 * level


def test_the_worst_feature_has_a_one_sided_p_value_of_one():
    y = np.arange(30.0) ** 2
    feature = sort_block(-np.arange(30.0)[None])
    target = NumericTarget(y)
    p = build_t0_null(target, 0)(feature, compute_ranking_metric(feature, target), "positive")
    assert p.tolist() == [1.0]


def test_the_tail_is_that_of_the_rank_sum_down_to_one_in_a_billion():
    z, exact = rank_sum_tail(50, 16)
    table = build_linear_rank_table((np.arange(50) >= 34).astype(float), 0)
    for level, off in ((0.05, 0.02), (1e-3, 0.1), (1e-6, 0.25), (1e-9, 0.35)):
        at = int(np.searchsorted(-exact, -level))
        assert abs(np.log(table.compute_sf(z[[at]])[0] / exact[at])) < off


def test_light_rows_together_have_the_tail_of_permutations():
    z, exact = rank_sum_tail(310, 30)  # more rows than are walked one by one
    table = build_linear_rank_table((np.arange(310) >= 280).astype(float), 1)
    for level, off in ((0.05, 0.02), (1e-3, 0.12), (1e-6, 0.3)):
        at = int(np.searchsorted(-exact, -level))
        assert abs(np.log(table.compute_sf(z[[at]])[0] / exact[at])) < off


@pytest.fixture
def _small_tables(monkeypatch):
    """Draw fewer permutations for what holds of a table of any size."""
    monkeypatch.setattr(linear_rank_table, "_N_PERMUTATIONS", 20_000)
    monkeypatch.setattr(linear_rank_table, "_N_MOVES", 20_000)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_tables")
@pytest.mark.parametrize("name", NULLS)
def test_p_values_keep_the_promises_of_a_null(name, rng):
    screener = SCREENERS[name]
    target = NumericTarget(np.sort(rng.lognormal(0.0, 2.0, 40)))
    noise = rng.normal(size=(30, 40))
    block = np.concatenate([noise, np.round(noise), target.values[None], -target.values[None]])
    null = screener.null_distribution(target, 3)

    def compute_p(values, sign):
        ordered = sort_block(np.ascontiguousarray(values))
        return null(ordered, screener.statistic(ordered, target), sign)

    for sign in ("free", "positive"):
        p = compute_p(block, sign)
        assert ((p > 0) & (p <= 1)).all()
        assert p.tobytes() == np.concatenate([compute_p(row[None], sign) for row in block]).tobytes()
        assert p[60] < 1e-6
    near = 1e-9 if screener.equivalence == "affine" else 0.0
    assert np.abs(compute_p(block, "free") - compute_p(-block, "free")).max() <= near
    again = screener.null_distribution(target, 3)(
        sort_block(noise), screener.statistic(sort_block(noise), target), "free"
    )
    assert again.tobytes() == compute_p(noise, "free").tobytes()


@pytest.mark.usefixtures("_small_tables")
@pytest.mark.parametrize("name", NULLS)
def test_better_statistics_never_have_larger_p_values(name):
    screener = SCREENERS[name]
    target = NumericTarget(np.arange(30.0) ** 2)
    null = screener.null_distribution(target, 0)
    for feature in (np.arange(30.0), np.repeat(np.arange(10.0), 3)):
        ordered = sort_block(np.repeat(feature[None], 400, axis=0))
        best = float(screener.statistic(ordered, target)[0])
        statistics = np.linspace(-best if name != "xi" else -0.5, best, 400)
        one_sided = null(ordered, statistics, "positive")
        assert (np.diff(one_sided) <= 0).all()
        both = null(ordered, np.abs(statistics) if name != "xi" else statistics, "free")
        assert (np.diff(both)[200:] <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "levels"), [("lognormal", 2), ("levels", 6)])
def test_rates_of_features_with_ties_are_never_above_nominal(kind, levels, rng):
    y = rng.lognormal(0.0, 2.0, 30) if kind == "lognormal" else rng.integers(0, 5, 30).astype(float)
    target = NumericTarget(np.sort(y))
    ordered = sort_block(np.floor(rng.random((20_000, 30)) ** 2 * levels))
    ordered = ordered.take(np.flatnonzero(np.ptp(ordered.values, axis=1) > 0))
    metric = compute_ranking_metric(ordered, target)
    null = build_t0_null(target, 0)
    for sign in ("free", "positive"):
        p = null(ordered, metric, sign)
        for level in (0.3, 0.05, 0.01):
            assert (p <= level).mean() <= level + 3.0 * np.sqrt(level / len(p))


@pytest.mark.usefixtures("_small_tables")
def test_the_seed_decides_and_nothing_else():
    y = np.arange(12.0) ** 3
    tables = []
    for seed in (1, 1, 2):
        linear_rank_table._find_linear_rank_table.cache_clear()
        tables.append(build_linear_rank_table(y, seed).tail_probabilities)
    first, again, other = tables
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


@pytest.mark.parametrize(("n", "heavy"), [(10, 10), (300, 300), (301, 32)])
def test_the_body_has_equally_many_permutations_however_many_rows_are_heavy(n, heavy, monkeypatch):
    drawn = []
    draw_abs_statistics = linear_rank_table.draw_abs_statistics

    def draw(statistic, count, key):
        drawn.append((len(statistic.heavy_scores), count))
        return draw_abs_statistics(statistic, 1000, key)

    monkeypatch.setattr(linear_rank_table, "draw_abs_statistics", draw)
    monkeypatch.setattr(linear_rank_table, "_N_MOVES_PER_ROW", 0)
    build_linear_rank_table(1.5 ** -np.arange(float(n)), 0)
    assert drawn == [(heavy, 500_000)]


def test_rotated_permutations_are_all_equally_likely_and_hardly_correlated():
    scores = np.array([0.0, 1.0, 3.0, 9.0, 27.0])
    draws = draw_abs_statistics(LinearRankStatistic(scores, 5, 0.0, 0.0), 120_000, (1, 2))
    exact = enumerate_abs_statistics(LinearRankStatistic(scores, 5, 0.0, 0.0))
    found = np.searchsorted(np.sort(draws), exact - 1e-9) / len(draws)
    assert np.abs(found - np.searchsorted(exact, exact - 1e-9) / 120).max() < 0.006
    # Rotations of one order against rows that are not shuffled have at most 24 sets of sums.
    assert len(np.unique(np.sort(draws.reshape(-1, 5), axis=1).round(9), axis=0)) > 24


def test_tables_of_different_seeds_agree_as_far_as_digits_are_printed():
    y = np.random.default_rng(0).normal(size=60)
    tables = [build_linear_rank_table(y, seed) for seed in range(4)]
    z = np.interp(
        [-math.log(level) for level in (0.05, 0.01, 1e-3, 1e-6, 1e-12)],
        -np.log(tables[0].tail_probabilities),
        tables[0].knots,
    )
    spread = np.std([np.log(table.compute_sf(z)) for table in tables], axis=0, ddof=1)
    assert (spread < [0.015, 0.03, 0.08, 0.2, 0.3]).all()


def test_light_rows_alone_have_normal_quantiles_corrected_for_their_kurtosis():
    n, squares, kurtosis, draws = 40, 0.3, -0.4, 1001
    found = draw_abs_statistics(LinearRankStatistic(np.empty(0), n, squares, kurtosis), draws, (1, 2))
    q = ndtri((np.arange(draws) + 0.5) / draws)
    q += kurtosis * (q**3 - 3.0 * q) / 24.0  # Cornish and Fisher, to first order in the fourth cumulant
    deviation = np.sqrt(squares * np.arange(n).var(ddof=1))
    np.testing.assert_allclose(np.sort(found), np.sort(np.abs(deviation * q)), rtol=1e-9, atol=1e-12)
