"""The scale of logarithms, and its linear approximation about predictions."""

from __future__ import annotations

import numpy as np

from symscreen.fitting.laws.log_scale import compute_log_scale, linearize_log_scale


def test_about_the_target_itself_the_linear_scale_is_the_scale(rng):
    x = rng.uniform(1.0, 2.0, 50)
    target = rng.normal(size=50)
    scale = compute_log_scale({"x": x}, target)
    linear = linearize_log_scale(scale, target, target)
    is_used = linear.weights > 0.0
    assert is_used.mean() > 0.9
    np.testing.assert_allclose(linear.target[is_used], scale.target[is_used])
    np.testing.assert_allclose(linear.weights[is_used], scale.weights[is_used])


def test_about_the_law_the_weighted_errors_are_those_of_the_target(rng):
    law, noise = np.exp(rng.uniform(-6.0, 6.0, 80)), rng.normal(size=80)
    scale = compute_log_scale({"x": np.sqrt(law)}, law + noise)
    linear = linearize_log_scale(scale, law + noise, law)
    is_used = linear.weights > 0.0
    errors = (linear.target - np.log(law)) * linear.weights * law.max()
    np.testing.assert_allclose(errors[is_used], noise[is_used], atol=1e-9)


def test_rows_without_a_prediction_have_no_weight():
    scale = compute_log_scale({"x": np.ones(3)}, np.array([1.0, 2.0, 0.0]))
    linear = linearize_log_scale(scale, np.array([1.0, 2.0, 0.0]), np.array([0.0, 4.0, 1e-9]))
    assert linear.weights.tolist() == [0.0, 1.0, 0.0]
    assert linear.target.tolist() == [0.0, np.log(4.0) - 0.5, 0.0]
