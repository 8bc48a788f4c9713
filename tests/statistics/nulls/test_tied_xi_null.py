from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import gamma, pearson3

from symscreen.statistics.nulls.tied_xi_null import compute_type_iii_sf, sum_products
from symscreen.statistics.nulls.xi_null import build_xi_null
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.xi import compute_xi
from symscreen.targets import NumericTarget


def permute(x, n_permutations, rng):
    """Return a block of permuted copies of a feature."""
    return sort_block(rng.permuted(np.tile(x, (n_permutations, 1)), axis=1))


@pytest.mark.parametrize("sizes", [(1, 5), (3, 3), (2, 1, 3), (1, 1, 2, 2), (1, 2, 1, 1, 1)])
@pytest.mark.parametrize("target", [[0.0, 1, 2, 3, 4, 5], [0.0, 0, 1, 1, 1, 2], [0.0, 0, 0, 0, 1, 1]])
def test_deviation_and_skewness_are_those_of_all_permutations(sizes, target):
    target = NumericTarget(np.array(target))
    x = np.repeat(np.arange(len(sizes), dtype=float), sizes)
    block = sort_block(np.array(list(permutations(x))))
    xi = compute_xi(block, target)
    null = build_xi_null(target, 0)
    deviations, skewness = null.tied_null.compute_moments(block, np.arange(3))
    np.testing.assert_allclose(null.tied_null.mean, xi.mean(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(deviations, xi.std(), rtol=1e-9)
    third = ((xi - xi.mean()) ** 3).mean() / xi.std() ** 3
    np.testing.assert_allclose(skewness, third, rtol=1e-7, atol=1e-9)


def test_sums_of_products_are_those_of_all_tuples_of_rows(rng):
    r = np.sort(rng.integers(1, 9, 7).astype(float))
    distances = np.abs(r[:, None] - r)
    distances -= distances.sum() / 42.0
    np.fill_diagonal(distances, 0.0)
    texts = "01 01", "01 12", "01 23", "01 01 01", "01 01 12", "01 12 20", "01 02 03", "01 12 23"
    expected = []
    for text in (*texts, "01 01 23", "01 12 34", "01 23 45"):
        figure = [(int(pair[0]), int(pair[1])) for pair in text.split()]
        rows = np.array(list(permutations(range(7), 1 + max(max(pair) for pair in figure))))
        products = np.prod([distances[rows[:, i], rows[:, j]] for i, j in figure], axis=0)
        expected.append(products.sum())
    np.testing.assert_allclose(sum_products(r), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n", [40, 120])
@pytest.mark.parametrize("levels", [2, 5, 20])
def test_p_values_of_tied_features_are_those_of_permutations(n, levels, rng):
    target = NumericTarget(np.sort(rng.normal(size=n)))
    block = permute(rng.integers(0, levels, n).astype(float), 20_000, rng)
    xi = compute_xi(block, target)
    p = build_xi_null(target, 0)(block, xi, "free")
    for level in (0.3, 0.05, 0.01):
        assert abs((p <= level).mean() / level - 1.0) < 0.1 + 3.0 / np.sqrt(level * len(p))


def test_two_values_against_two_values_have_the_p_values_of_all_arrangements(rng):
    target = NumericTarget(np.repeat([0.0, 1.0], [14, 10]))
    block = permute(np.repeat([0.0, 1.0], [17, 7]), 60_000, rng)
    xi = compute_xi(block, target)
    p = build_xi_null(target, 0)(block, xi, "free")
    for value in np.unique(xi.round(9)):
        at_least = (xi >= value - 1e-9).mean()
        found = p[np.abs(xi - value) < 1e-8]
        assert np.ptp(found) < 1e-12
        assert abs(found[0] - at_least) < 4.0 * np.sqrt(at_least / len(xi)) + 1e-4


def test_mirrored_features_have_the_same_bytes(rng):
    target = NumericTarget(np.sort(rng.normal(size=50)))
    features = np.floor(rng.random((200, 50)) ** 2 * 7)
    null = build_xi_null(target, 0)
    found, mirrored = (
        null(block, compute_xi(block, target), "free")
        for block in (sort_block(features), sort_block(-features))
    )
    assert found.tobytes() == mirrored.tobytes()


@pytest.mark.parametrize(("n", "is_bound"), [(19, True), (20, False)])
def test_only_a_bound_is_known_with_fewer_than_20_rows(n, is_bound, rng):
    target = NumericTarget(np.sort(rng.normal(size=n)))
    block = sort_block(np.vstack([rng.integers(0, 4, n), rng.permutation(n)]).astype(float))
    assert build_xi_null(target, 0).find_bounds(block).tolist() == [is_bound, False]


def test_moments_of_many_rows_are_those_of_permutations(rng):
    target = NumericTarget(np.arange(20_000.0))
    block = permute(np.floor(3.0 * rng.random(20_000) ** 2), 1_500, rng)
    xi = compute_xi(block, target)
    null = build_xi_null(target, 0).tied_null
    deviations, skewness = null.compute_moments(block, np.zeros(1, dtype=np.int64))
    assert abs(xi.mean() - null.mean) < 4.0 * xi.std() / np.sqrt(len(xi))
    assert deviations[0] == pytest.approx(xi.std(), rel=0.12)
    assert skewness[0] == pytest.approx(((xi - xi.mean()) ** 3).mean() / xi.std() ** 3, rel=0.5)


def test_the_type_iii_tail_is_that_of_scipy(rng):
    z, skewness = rng.normal(size=50), np.concatenate([rng.uniform(-2.0, 2.0, 48), [0.0, 1e-5]])
    np.testing.assert_allclose(
        compute_type_iii_sf(z, skewness), pearson3.sf(z, skewness), rtol=1e-4, atol=1e-12
    )
    np.testing.assert_allclose(compute_type_iii_sf(z, np.full(50, 2.0)), gamma.sf(z + 1.0, 1.0), rtol=1e-9)
