from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import DataError
from symscreen.linear_models._kernels import compute_products
from symscreen.linear_models.gram import TILE_FEATURES, compute_gram, normalize_rows


@given(st.integers(1, 2 * TILE_FEATURES + 3), st.integers(2, 40), st.integers(0, 2**32))
def test_products_are_the_correlations(q, n, seed):
    rng = np.random.default_rng(seed)
    values, target = rng.normal(3.0, 2.0, (q, n)), rng.normal(size=n)
    gram = compute_gram(values, target)
    with np.errstate(invalid="ignore"):
        expected = np.atleast_2d(np.corrcoef(np.vstack([values, target])))
    np.testing.assert_allclose(gram.products, expected[:q, :q], atol=1e-12)
    np.testing.assert_allclose(gram.target_products[0], expected[q, :q], atol=1e-12)
    assert np.array_equal(gram.products, gram.products.T)
    np.testing.assert_allclose(gram.columns @ gram.columns.T, gram.products, atol=1e-13)


def test_a_product_depends_on_its_two_columns_alone(rng):
    values, target = rng.normal(size=(TILE_FEATURES + 40, 61)), rng.normal(size=61)
    whole = compute_gram(values, target)
    order = rng.permutation(len(values))
    moved = compute_gram(values[order], target)
    assert np.array_equal(moved.products, whole.products[np.ix_(order, order)])
    assert np.array_equal(moved.target_products, whole.target_products[:, order])
    few = compute_gram(values[[3, 150]], target)
    assert np.array_equal(few.products, whole.products[np.ix_([3, 150], [3, 150])])


def test_a_single_lane_sums_like_a_full_tile(rng):
    rows, tile = rng.normal(size=(5, 43)), rng.normal(size=(43, TILE_FEATURES))
    full, one = np.empty((5, TILE_FEATURES)), np.empty((5, 1))
    compute_products(rows, tile, full)
    compute_products(rows, np.ascontiguousarray(tile[:, 77:78]), one)
    assert np.array_equal(full[:, 77:78], one)
    np.testing.assert_allclose(full, rows @ tile, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-100, 1e100, 1e-310, 1e307])
def test_scale_does_not_matter(scale, rng):
    values = rng.uniform(-1, 1, (4, 50))
    np.testing.assert_allclose(normalize_rows(values * scale), normalize_rows(values), atol=1e-12)


def test_a_power_of_two_changes_no_bit(rng):
    values = rng.normal(size=(4, 50))
    assert np.array_equal(normalize_rows(np.ldexp(values, 500)), normalize_rows(values))


def test_a_large_offset_costs_no_more_than_the_values_lost(rng):
    values = 1e9 + rng.uniform(size=97)
    exact = [Fraction(float(v)) for v in values]
    mean = sum(exact, Fraction(0)) / 97
    centered = np.array([float(v - mean) for v in exact])
    np.testing.assert_allclose(
        normalize_rows(values[None])[0], centered / np.linalg.norm(centered), atol=1e-14
    )


@pytest.mark.parametrize("value", [0.0, 0.1, 1e300, -1e-300, 1e8 / 3])
def test_a_constant_is_all_zeros(value, rng):
    values = np.vstack([np.full(37, value), rng.normal(size=37)])
    rows = normalize_rows(values)
    assert not rows[0].any()
    assert np.isclose(np.linalg.norm(rows[1]), 1.0)
    gram = compute_gram(values, rng.normal(size=37))
    assert not gram.products[0].any()
    assert gram.target_products[0, 0] == 0.0


def test_rounding_is_no_variation(rng):
    third = np.full(40, 1 / 3)
    assert not normalize_rows((third * (1 + rng.uniform(-2e-16, 2e-16, 40)))[None]).any()
    assert normalize_rows((third * (1 + rng.uniform(-1e-9, 1e-9, 40)))[None]).any()


def test_a_constant_target_is_refused():
    with pytest.raises(DataError, match="the target is constant"):
        compute_gram(np.eye(3), np.full(3, 0.1))
