from __future__ import annotations

import numpy as np
import pytest

from symscreen.statistics.inference.error_scale import ErrorScale, estimate_error_scale


@pytest.mark.parametrize(("constant", "proportional"), [(0.0, 0.02), (0.5, 0.1), (0.05, 0.3)])
def test_the_parts_of_the_standard_deviation_are_estimated(constant, proportional, rng):
    predictions = rng.uniform(-30, 50, 4000)
    deviations = constant + proportional * np.abs(predictions)
    scale = estimate_error_scale(predictions, deviations * rng.normal(size=4000))
    assert scale.proportional == pytest.approx(proportional, rel=0.06)
    assert scale.constant == pytest.approx(
        constant, abs=0.02 * np.abs(predictions).mean() * proportional + 0.05
    )


def test_equal_errors_are_weighted_in_at_most_one_table_of_a_thousand(rng):
    n_weighted = sum(
        estimate_error_scale(rng.lognormal(0, 1, n), rng.standard_t(4, n)) is not None
        for n in (40, 60, 200, 1000)
        for _ in range(1000)
    )
    assert n_weighted <= 11  # of 4,000; more have a probability of 0.001


def test_relative_errors_are_found_in_most_small_tables(rng):
    predictions = rng.uniform(1, 10, (200, 60))
    scales = [estimate_error_scale(each, 0.02 * each * rng.normal(size=60)) for each in predictions]
    assert sum(scale is not None for scale in scales) >= 150


def test_errors_that_shrink_or_are_few_are_not_weighted(rng):
    predictions = rng.uniform(1, 50, 500)
    errors = rng.normal(size=500)
    assert estimate_error_scale(predictions, errors / predictions) is None
    assert estimate_error_scale(predictions[:29], predictions[:29] * errors[:29]) is None
    assert estimate_error_scale(np.ones(500), errors) is None
    assert estimate_error_scale(predictions, np.zeros(500)) is None


def test_the_weights_are_inverse_variances_with_a_bound_near_zero():
    scale = ErrorScale(1.0, 0.5)
    assert scale.compute_weights(np.array([0.0, -2.0, 6.0])).tolist() == pytest.approx([1.0, 0.25, 0.0625])
    weights = ErrorScale(0.0, 1.0).compute_weights(np.array([0.0, 1.0, 1.0]))
    assert np.isfinite(weights).all()


def test_more_tests_of_one_table_need_clearer_errors(rng):
    predictions = rng.uniform(1, 10, (200, 60))
    tables = [(each, 0.02 * each * rng.normal(size=60)) for each in predictions]
    n_found = [
        sum(estimate_error_scale(*table, n_tests=n_tests) is not None for table in tables)
        for n_tests in (1, 10, 100)
    ]
    assert n_found[0] > n_found[1] > n_found[2]


def test_a_raised_constant_is_a_thousandth_of_the_mean_deviation_at_least(rng):
    predictions = rng.normal(size=50)
    raised = ErrorScale(0.0, 0.5).raise_constant(predictions)
    assert raised.constant == pytest.approx(5e-4 * np.abs(predictions).mean())
    assert (raised.compute_deviations(np.zeros(3)) > 0.0).all()
    assert ErrorScale(1.0, 0.5).raise_constant(predictions) == ErrorScale(1.0, 0.5)


def test_a_scale_without_its_constant_has_the_same_mean(rng):
    predictions, scale = rng.normal(size=50), ErrorScale(0.3, 0.2)
    dropped = scale.drop_constant(predictions)
    means = [each.compute_deviations(predictions).mean() for each in (scale, dropped)]
    assert dropped.constant == 0.0
    assert means[0] == pytest.approx(means[1])
