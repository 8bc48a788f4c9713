from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.linear_models.lasso_path import standardize_features


def test_features_have_mean_zero_and_mean_square_one(rng):
    values, target = rng.normal(3, 5, (6, 30)), rng.normal(2, 1, 30)
    put = standardize_features(values, target)
    assert np.allclose(put.features.mean(axis=1), 0, atol=1e-14)
    assert np.allclose((put.features**2).mean(axis=1), 1)
    assert np.allclose(put.features * put.scales[:, None] + put.centers[:, None], values)
    assert np.allclose(put.target + put.target_mean, target)
    assert abs(put.target.mean()) < 1e-14


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 40))
def test_a_constant_is_zero_whatever_its_value(value, n):
    put = standardize_features(np.full((1, n), value), np.full(n, value))
    assert not put.features.any()
    assert not put.target.any()
    assert (put.scales[0], put.centers[0], put.target_mean) == (1.0, value, value)


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e307])
def test_the_size_of_features_and_response_does_not_matter(size, rng):
    values, target = rng.uniform(-1, 1, (4, 30)), rng.uniform(-1, 1, 30)
    plain, put = standardize_features(values, target), standardize_features(values * size, target * size)
    tolerance = 1e-10 if size > 1e-300 else 1e-8
    assert np.allclose(put.features, plain.features, atol=tolerance)
    assert np.allclose(put.target / size, plain.target, atol=1e-10)
    assert np.allclose(put.scales / size, plain.scales, atol=tolerance)


def test_a_small_variation_on_a_large_offset_is_kept():
    steps = np.array([0.0, 1.0, 2.0, 5.0])
    put = standardize_features(1e8 + np.spacing(1e8) * steps[None], steps)
    assert np.allclose(put.features, standardize_features(steps[None], steps).features, atol=1e-12)


def test_coefficients_on_the_own_scale_predict_the_same(rng):
    values, target = rng.normal(3, 5, (6, 30)), rng.normal(2, 1, 30)
    put = standardize_features(values, target)
    coefficients = rng.normal(size=(7, 6))
    own, intercepts = put.unscale_coefficients(coefficients)
    assert np.allclose(own @ values + intercepts[:, None], coefficients @ put.features + put.target_mean)


def test_a_coefficient_too_large_for_a_number_leaves_the_intercept_finite():
    put = standardize_features(np.array([[1e-300, 3e-300]]), np.array([0.0, 1.0]))
    own, intercept = put.unscale_coefficients(np.array([1e20]))
    assert own.tolist() == [np.inf]
    assert np.isclose(intercept, -2e20)
