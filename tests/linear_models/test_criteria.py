from __future__ import annotations

from math import log

import numpy as np
import pytest
from scipy.stats import norm

from symscreen.linear_models.model_criteria import (
    compute_criterion,
    compute_rounding_floor,
    compute_search_penalty,
)


def _likelihood(rss, n):
    """The log-likelihood at its maximum over the coefficients and σ²."""
    return norm.logpdf(np.sqrt(rss / n), scale=np.sqrt(rss / n)) * n


@pytest.mark.parametrize(("criterion", "each"), [("bic", np.log(25)), ("aic", 2.0)])
def test_bic_and_aic_are_those_of_the_likelihood_up_to_a_constant(criterion, each):
    n, rss = 25, np.array([1.0, 0.6, 0.5, 0.49])
    # −2 ln L + p · each, p the coefficients with the intercept
    direct = [-2 * _likelihood(one, n) + each * (size + 1) for size, one in enumerate(rss)]
    values = compute_criterion(criterion, rss, n, np.nan, 1e-24)
    assert np.diff(values) == pytest.approx(np.diff(direct))


def test_cp_of_the_model_that_gives_the_noise_is_its_number_of_coefficients():
    n, rss = 30, np.array([1.0, 0.5, 0.4, 0.38])
    noise = 0.38 / (n - 4)
    values = compute_criterion("cp", rss, n, noise, 1e-24)
    assert values[-1] == pytest.approx(4.0)
    assert values[1] == pytest.approx(0.5 / noise - 30 + 4)


@pytest.mark.parametrize("criterion", ["cp", "bic", "aic"])
def test_an_exact_fit_is_not_improved_by_more_terms(criterion):
    rss = np.array([1.0, 0.3, 1e-28, 1e-30, 1e-33, 0.0])
    values = compute_criterion(criterion, rss, 40, 1e-24 / 30, 1e-24)
    assert np.argmin(values) == 2
    assert np.isfinite(values).all()


def test_the_floor_grows_with_the_offset():
    assert compute_rounding_floor(1.0, 1.0) == 1e-24
    assert compute_rounding_floor(1e9, 1.0) > 1e-12


@pytest.mark.parametrize("n", [12, 20, 50])
def test_the_best_of_many_noise_columns_gains_about_the_search_penalty(rng, n):
    n_columns, gains = 1000, []
    for _ in range(100):
        target, columns = rng.normal(size=n), rng.normal(size=(n_columns, n))
        target -= target.mean()
        columns -= columns.mean(axis=1, keepdims=True)
        r2 = (columns @ target) ** 2 / ((columns**2).sum(axis=1) * (target @ target))
        gains.append(-n * log(1.0 - r2.max()))
    penalty = compute_search_penalty(log(n_columns), n, 2)
    assert 0.75 * penalty < np.median(gains) < 1.1 * penalty
    assert np.mean(np.array(gains) > penalty + log(n)) < 0.2


def test_the_search_penalty_of_many_rows_is_that_of_the_extended_bic():
    assert compute_search_penalty(log(500.0), 10**7, 6) == pytest.approx(2.0 * log(500.0), rel=1e-6)


def test_the_search_penalty_is_finite_without_degrees_of_freedom():
    assert compute_search_penalty(log(500.0), 4, 6) == pytest.approx(8.0 * log(500.0))
