from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from symscreen.fitting.laws.target_scales import (
    IDENTITY,
    SCALES,
    build_response,
    find_factored_powers,
    find_most_factors,
)

POINTS = np.linspace(0.2, 0.9, 15)


@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: scale.inverse_name)
def test_inverse_and_derivatives_of_a_scale_agree(scale):
    values = scale.transform(POINTS)
    np.testing.assert_allclose(scale.inverse(values), POINTS, rtol=1e-12)
    step = 1e-6
    slopes = (scale.transform(POINTS + step) - scale.transform(POINTS - step)) / (2 * step)
    np.testing.assert_allclose(scale.derivative(POINTS), np.abs(slopes), rtol=1e-6)
    np.testing.assert_allclose(scale.inverse_derivative(values) * slopes, 1.0, rtol=1e-6)


@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: scale.inverse_name)
def test_weighted_errors_of_a_response_are_errors_of_the_target(rng, scale):
    x = rng.uniform(0.5, 0.8, 50)
    errors = 1e-7 * rng.normal(size=50)
    truth = build_response(scale, {"x": Fraction(1)}, {"x": x}, POINTS.mean() * x)
    noisy = build_response(scale, {"x": Fraction(1)}, {"x": x}, POINTS.mean() * x + errors)
    changes = np.abs((noisy.values - truth.values) * truth.weights)
    np.testing.assert_allclose(changes, np.abs(errors), rtol=1e-4)


def test_an_expanded_response_equals_the_response_to_first_order(rng):
    scale = next(scale for scale in SCALES if scale.inverse_name == "inv")
    smooth = rng.uniform(1, 2, 50)
    target = smooth + 1e-5 * rng.normal(size=50)
    expanded = build_response(scale, {}, {}, target, smooth)
    np.testing.assert_allclose(expanded.values, 1 / target, atol=1e-9)


def test_a_response_that_is_undefined_in_many_rows_is_left_out(rng):
    scale = next(scale for scale in SCALES if scale.inverse_name == "exp")
    target = rng.normal(size=100)
    assert build_response(scale, {}, {}, target) is None
    assert build_response(IDENTITY, {}, {}, target) is not None


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_factors_are_found_and_other_inputs_are_not(rng, noise):
    a, b, c, d = rng.uniform(1, 3, (4, 800))
    target = a**2 * np.sqrt(b) * (c + d) * (1 + noise * rng.normal(size=800))
    powers = find_factored_powers({"a": a, "b": b, "c": c, "d": d}, target)
    assert powers == {"a": Fraction(2), "b": Fraction(1, 2)}


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_factors_of_a_wave_that_is_far_from_quadratic_are_found(rng, noise):
    p, r, t = rng.uniform(1, 3, (3, 800))
    target = p * np.sqrt(1 + 3 * np.cos(2 * t) ** 2) / r**3 * (1 + noise * rng.normal(size=800))
    powers = find_factored_powers({"p": p, "r": r, "t": t}, target)
    assert powers == {"p": Fraction(1), "r": Fraction(-3)}


def test_the_sample_with_the_most_factors_decides(rng):
    a, b, c = rng.uniform(1, 3, (3, 800))
    one = {"a": a, "b": b, "c": c}, a * (b + c)
    two = {"a": a, "b": b, "c": c}, a * c * (b + 1)
    assert find_most_factors(one, two) == {"a": Fraction(1), "c": Fraction(1)}
    assert find_most_factors(one, one) == find_factored_powers(*one) == {"a": Fraction(1)}
    assert find_most_factors(({"a": a, "b": b}, a + b)) == {}


def test_an_input_without_effect_has_the_power_zero(rng):
    a, b, c = rng.uniform(1, 3, (3, 800))
    assert find_factored_powers({"a": a, "b": b, "c": c}, a + b) == {"c": Fraction(0)}
