from __future__ import annotations

import pickle
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import hypergeom, rankdata

from symscreen.statistics.nulls._kernels import fill_combination_sums, fill_permutation_sums
from symscreen.statistics.nulls._tie_kernels import compute_permutation_cumulants
from symscreen.statistics.nulls.linear_rank_null import build_linear_rank_null, find_lattice_step
from symscreen.statistics.nulls.t0_null import build_t0_null
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_ranking_metric
from symscreen.targets import NumericTarget

SCORES = [[0.0, 1, 2, 3, 5, 8, 11], [0.0, 0, 1, 1, 1, 7, 7], [-1.0, -0.4, 0, 0.3, 1, 2, 99]]
SIZES = [(1, 6), (3, 4), (2, 2, 3), (1, 1, 5), (1, 2, 1, 3), (1, 1, 1, 1, 1, 2)]


def compute_p_values(scores, x, statistics, sign="free"):
    """P-values of one feature for given values of Σ a_i b_i."""
    null = build_linear_rank_null(scores, 0)
    n = len(scores)
    centered = scores - scores.mean()
    unit = np.sqrt((centered * centered).sum() * n * (n + 1.0) / 12.0)
    block = sort_block(np.tile(x, (len(statistics), 1)))
    return null.compute_p_values(block, np.asarray(statistics) / unit, sign)


def draw_statistics(scores, x, n_draws, rng):
    """Draw Σ a_i b_i for random permutations."""
    ranks = rankdata(x) - (len(x) + 1) / 2
    return rng.permuted(np.tile(scores - scores.mean(), (n_draws, 1)), axis=1) @ ranks


@pytest.mark.parametrize(
    "scores", [[0.0, 1, 2, 3, 5, 8, 11], [0.0, 0, 1, 1, 1, 7, 7], [-1, -0.4, 0, 0.3, 1, 2, 99]]
)
@pytest.mark.parametrize("sizes", SIZES[1:])
def test_seven_rows_with_ties_have_the_p_values_of_all_permutations(scores, sizes):
    scores = np.array(scores, dtype=float)
    x = np.repeat(np.arange(len(sizes), dtype=float), sizes)
    block = sort_block(np.array(sorted(set(permutations(x))), dtype=float))
    target = NumericTarget(scores)
    metric = compute_ranking_metric(block, target)
    for sign, size in (("free", np.abs(metric)), ("positive", metric)):
        at_least = (size[None, :] >= size[:, None] - 1e-12 * size.max()).mean(axis=1)
        np.testing.assert_allclose(build_t0_null(target, 0)(block, metric, sign), at_least, rtol=1e-9)


@pytest.mark.parametrize(("n", "ones", "upper"), [(18, 7, 6), (20, 3, 10), (200, 80, 2)])
def test_two_values_against_two_values_have_the_p_values_of_fishers_exact_test(n, ones, upper):
    scores = np.r_[np.zeros(n - ones), np.ones(ones)]
    common = np.arange(max(0, ones + upper - n), min(ones, upper) + 1)
    x = np.r_[np.zeros(n - upper), np.ones(upper)]
    statistics = (common - ones * upper / n) * n / 2  # an upper rank is n/2 above a lower one
    chances = hypergeom(n, ones, upper).pmf(common)
    expected = [chances[np.abs(statistics) >= abs(s) - 1e-9].sum() for s in statistics]
    np.testing.assert_allclose(compute_p_values(scores, x, statistics), expected, rtol=1e-9)
    expected = [chances[statistics >= s - 1e-9].sum() for s in statistics]
    np.testing.assert_allclose(compute_p_values(scores, x, statistics, "positive"), expected, rtol=1e-9)


TARGETS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "two heavy rows": lambda rng, n: np.r_[rng.normal(size=n - 2), 15.0, -9.0],
    "count": lambda rng, n: rng.poisson(3.0, n).astype(float),
    "binary": lambda rng, n: rng.permutation(np.arange(n) % 5 < 2).astype(float),
}
FEATURES = {
    "five levels": lambda rng, n: rng.integers(0, 5, n).astype(float),
    "many zeros": lambda rng, n: np.where(rng.random(n) < 0.7, 0.0, rng.random(n)),
    "zeros in the middle": lambda rng, n: np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n)),
    "two values": lambda rng, n: (rng.random(n) < 0.4).astype(float),
    "three tied rows": lambda rng, n: np.r_[0.5, 0.5, 0.5, rng.random(n - 3)],
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("feature", FEATURES)
def test_p_values_of_tied_features_are_those_of_permutations(target, feature, rng):
    scores, x = TARGETS[target](rng, 80), FEATURES[feature](rng, 80)
    drawn = draw_statistics(scores, x, 150_000, rng)
    size = np.sort(np.abs(drawn))
    for level in (0.3, 0.05, 0.01, 0.001):
        at = drawn[np.abs(drawn) >= size[-int(level * len(size))] - 1e-9]
        statistic = at[np.argmin(np.abs(at))]
        exact = (size >= abs(statistic) - 1e-9).mean()
        found = compute_p_values(scores, x, [statistic])[0]
        # the error of the method, and three standard errors of the permutations
        assert abs(found / exact - 1.0) < 0.1 + 3.0 / np.sqrt(exact * len(size))


def test_one_sided_p_values_add_up_to_the_two_sided_one(rng):
    scores, x = rng.lognormal(size=70), np.where(rng.random(70) < 0.6, 0.0, rng.random(70))
    s = np.quantile(draw_statistics(scores, x, 20_000, rng), [0.9, 0.99, 0.9999])
    both = compute_p_values(scores, x, s)
    upper, lower = compute_p_values(scores, x, s, "positive"), compute_p_values(scores, -x, s, "positive")
    np.testing.assert_allclose(upper + lower, both, rtol=1e-9)
    assert upper[2] > 10.0 * lower[2]  # the distribution is not symmetric


@pytest.mark.parametrize("n", [12, 40, 90])
@pytest.mark.parametrize("feature", FEATURES)
def test_mirrored_features_have_the_same_bytes_and_better_statistics_smaller_p_values(n, feature, rng):
    scores, x = rng.lognormal(size=n), FEATURES[feature](rng, n)
    s = np.sort(np.abs(draw_statistics(scores, x, 2_000, rng)))
    found = compute_p_values(scores, x, s)
    assert compute_p_values(scores, -x, -s).tobytes() == found.tobytes()
    assert (np.diff(found) <= 1e-12).all()
    assert ((found > 0.0) & (found <= 1.0)).all()
    assert (np.diff(compute_p_values(scores, x, np.r_[-s[::-1], s], "positive")) <= 1e-12).all()


def test_p_values_do_not_depend_on_the_block_and_survive_pickling(rng):
    scores = rng.normal(size=50)
    features = np.array([make(rng, 50) for make in FEATURES.values()] + [rng.random(50)])
    null, z = build_linear_rank_null(scores, 3), rng.normal(size=6) * 3.0
    found = null.compute_p_values(sort_block(features), z, "free")
    copy = pickle.loads(pickle.dumps(null))  # noqa: S301  # our own bytes
    for k in range(6):
        assert copy.compute_p_values(sort_block(features[[k]]), z[[k]], "free")[0] == found[k]


def test_a_target_with_three_dominant_rows_leaves_the_bound(rng):
    scores = np.r_[rng.normal(size=40), 1e3, 1e6, 1e9]
    x = rng.integers(0, 5, 43).astype(float)
    null = build_linear_rank_null(scores, 0)
    block = sort_block(np.tile(x, (3, 1)))
    z = np.array([0.5, 1.0, 1.5])
    bound = null.table.compute_p_values(z, block.tied, "free")
    assert null.compute_p_values(block, z, "free").tolist() == bound.tolist()


def test_a_rare_value_has_the_p_values_of_its_possible_rows(rng):
    scores = rng.normal(size=300)
    x = (np.arange(300) == 0).astype(float)
    centered = scores - scores.mean()
    s = np.sort(centered * 150.0)  # the rank of the single one is n/2 above that of the zeros
    expected = (np.abs(s)[None, :] >= np.abs(s)[:, None] * (1.0 - 1e-12)).mean(axis=1)
    np.testing.assert_allclose(compute_p_values(scores, x, s), expected, rtol=1e-9)


def test_cumulants_are_those_of_all_permutations(rng):
    a, b = rng.lognormal(size=7), rng.integers(0, 3, 7).astype(float)
    a, b = a - a.mean(), b - b.mean()
    sums = np.array([[float((part**k).sum()) for k in (2, 3, 4)] for part in (a, b)])
    z = np.empty(5040)
    fill_permutation_sums(a, b, z)
    variance = (z * z).mean()
    expected = variance, (z**3).mean() / variance**1.5, (z**4).mean() / variance**2 - 3.0
    np.testing.assert_allclose(
        compute_permutation_cumulants(sums[0], sums[1], 7), expected, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(("n", "size"), [(6, 1), (7, 3), (8, 7), (5, 5)])
def test_sums_of_combinations_are_those_of_itertools(n, size, rng):
    scores = rng.normal(size=n)
    expected = [sum(one) for one in combinations(scores.tolist(), size)]
    found = np.empty(len(expected))
    fill_combination_sums(scores, size, found)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("step", [1.0, 0.1, 1e-30, 7e12])
def test_the_step_of_a_lattice_is_found_whatever_its_unit_and_origin(step, rng):
    multiples = np.array([0, 6, 10, 15, 45])
    assert find_lattice_step((multiples + 3) * step) == pytest.approx(step, rel=1e-9)
    assert find_lattice_step(np.array([6, 12, 30]) * step) == pytest.approx(6.0 * step, rel=1e-9)
    assert find_lattice_step(rng.random(20) * step) == 0.0


@pytest.mark.parametrize(("n", "is_bound"), [(140, False), (150, True)])
def test_a_gross_outlier_leaves_the_bound_where_too_many_ranks_would_be_tried(n, is_bound, rng):
    scores = np.r_[rng.normal(size=n - 1), 1e6]
    block = sort_block(np.vstack([np.r_[0.5, 0.5, rng.random(n - 2)], rng.integers(0, 9, n)]))
    assert build_linear_rank_null(scores, 0).find_bounds(block).tolist() == [is_bound, False]
