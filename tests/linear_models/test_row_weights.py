"""Row weights as a linear map of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.linear_models.gram import compute_gram, compute_unexplained_shares
from symscreen.linear_models.row_weights import (
    build_row_weights,
    center_rows,
    count_effective_rows,
    rotate_rows,
    scale_rows,
)

WEIGHTS = st.lists(st.floats(1e-6, 1e6), min_size=4, max_size=30).filter(lambda w: len(set(w)) > 1)


@given(WEIGHTS, st.integers(0, 1 << 30))
def test_the_map_keeps_weighted_products_and_means(weights, seed):
    row_weights = build_row_weights(np.array(weights))
    w = row_weights.weights
    x = np.random.default_rng(seed).normal(size=(3, len(w)))
    mapped = row_weights.rotate(x)
    np.testing.assert_allclose(mapped @ mapped.T, (x * w) @ x.T, atol=1e-9 * w.max())
    np.testing.assert_allclose(mapped.mean(axis=1), (x * w).mean(axis=1), atol=1e-10)
    np.testing.assert_allclose(row_weights.rotate(np.ones(len(w))), 1.0, atol=1e-10)


def test_weights_that_are_nearly_equal_lose_no_digits(rng):
    x = rng.normal(size=(2, 50))
    for size in (1e-15, 1e-9, 1e-3):
        row_weights = build_row_weights(1.0 + size * rng.uniform(size=50))
        if row_weights is not None:
            mapped = row_weights.rotate(x)
            np.testing.assert_allclose(mapped @ mapped.T, (x * row_weights.weights) @ x.T, rtol=1e-13)


def test_a_plain_fit_of_mapped_columns_is_the_weighted_fit(rng):
    x, y, weights = rng.normal(size=(3, 40)), rng.normal(size=40), rng.uniform(0.1, 5.0, 40)
    row_weights = build_row_weights(weights)
    gram = compute_gram(row_weights.rotate(x), row_weights.rotate(y))
    share = compute_unexplained_shares(gram.columns, gram.target, np.array([[0, 1, 2]]))[0]
    design = np.column_stack([np.ones(40), x.T]) * np.sqrt(weights)[:, None]
    residuals = np.sqrt(weights) * y - design @ np.linalg.lstsq(design, np.sqrt(weights) * y, rcond=None)[0]
    centered = y - np.average(y, weights=weights)
    assert share == pytest.approx((residuals @ residuals) / (weights @ centered**2))
    np.testing.assert_allclose((center_rows(y, row_weights) ** 2).sum(), row_weights.weights @ centered**2)


def test_a_row_is_mapped_the_same_in_any_block(rng):
    x, row_weights = rng.normal(size=(20, 101)), build_row_weights(rng.uniform(0.1, 5.0, 101))
    whole = row_weights.rotate(x)
    for row in range(20):
        np.testing.assert_array_equal(row_weights.rotate(x[row]), whole[row])
        np.testing.assert_array_equal(row_weights.rotate(x[row : row + 3])[0], whole[row])


def test_equal_weights_are_none_and_only_ratios_matter(rng):
    assert build_row_weights(np.full(5, 0.3)) is None
    weights = rng.uniform(0.1, 5.0, 9)
    for factor in (2.0, 2.0**900):
        np.testing.assert_array_equal(
            build_row_weights(weights).weights, build_row_weights(factor * weights).weights
        )
    x = rng.normal(size=9)
    assert scale_rows(x, None) is x
    assert rotate_rows(x, None) is x


@given(WEIGHTS)
def test_the_effective_rows_are_at_most_the_rows_and_at_least_one(weights):
    row_weights = build_row_weights(np.array(weights))
    w = np.array(weights) / max(weights)
    n_effective = count_effective_rows(len(weights), row_weights)
    assert n_effective == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert 1 - 1e-9 <= n_effective <= len(weights) + 1e-9
