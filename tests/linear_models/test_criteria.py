from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from symscreen.linear_models.model_criteria import compute_criterion, compute_rounding_floor


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
