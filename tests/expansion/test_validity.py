"""Statistics of features, and the rows in which their validity is proved."""

from __future__ import annotations

import numpy as np
import pytest

from symscreen.expansion import validity
from symscreen.expansion.validity import (
    compute_feature_stats,
    compute_projection,
    is_cancellation_noise,
)


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 140_000), (300, 1000)])
def test_extremes_are_those_of_every_row_whatever_is_processed_together(shape, rng):
    values = rng.normal(size=shape)
    stats = compute_feature_stats(values)
    np.testing.assert_array_equal(stats.low, values.min(axis=1))
    np.testing.assert_array_equal(stats.high, values.max(axis=1))
    np.testing.assert_array_equal(stats.min_abs, np.abs(values).min(axis=1))


def test_values_differ_from_the_one_with_the_smallest_terms_by_no_more_than_rounding():
    values = np.array([[1.0, 1000.0, 1.0], [1.0, 1000.0, 1.0], [1.0, 1000.0, 1.1]])
    scale = np.array([[1.0, 1e20, 2.0], [1.0, 1e15, 2.0], [1.0, 1e20, 2.0]])
    assert is_cancellation_noise(values, scale).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("members", "rows", "sampled"),
    [
        (10, 1000, 64),
        (1 << 14, 1000, 64),
        (1 << 16, 1000, 16),
        (1 << 20, 1000, 8),
        (10, 40, 40),
        (1 << 20, 5, 5),
    ],
)
def test_a_million_values_in_8_to_64_rows_are_sampled(members, rows, sampled):
    found = validity._select_sample_rows(members, rows)
    assert (len(found), found[0], found[-1]) == (sampled, 0, rows - 1)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (300, 400)])
def test_a_projection_is_the_weighted_mean_of_signs_and_logarithms(shape, order, rng):
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300, shape)
    values[rng.random(shape) < 0.2] = 0.0
    values[rng.random(shape) < 0.1] = -0.0
    n = shape[1]
    weights = (0.5 + np.modf(np.arange(1, n + 1) * 0.6180339887498949)[0]) / n
    logarithms = np.log(np.where(values == 0.0, 1.0, np.abs(values)))
    wanted = ((logarithms + np.sign(values)) * weights).sum(axis=1)
    assert compute_projection(np.asarray(values, order=order)).tolist() == wanted.tolist()
