from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from symscreen.fitting import estimate_coefficients


def _ols(values, y, level):
    """Return coefficients and half-widths by the normal equations."""
    design = np.vstack([np.ones(y.size), values]).T
    inverse = np.linalg.inv(design.T @ design)
    own = inverse @ design.T @ y
    freedom = y.size - design.shape[1]
    variance = ((y - design @ own) ** 2).sum() / freedom
    return own, stats.t.ppf(0.5 + level / 2, freedom) * np.sqrt(np.diag(inverse) * variance)


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_estimates_are_those_of_least_squares(rng, k, level):
    values, y = rng.normal(size=(k, 30)) + 2, rng.normal(size=30) + 5
    found = estimate_coefficients(values, y, level)
    own, half = _ols(values, y, level)
    np.testing.assert_allclose(found.coefficients, own, rtol=1e-10)
    np.testing.assert_allclose(found.low, own - half, rtol=1e-10)
    np.testing.assert_allclose(found.high, own + half, rtol=1e-10)
    left = y - own[0] - own[1:] @ values
    assert found.unexplained_share == pytest.approx((left @ left) / ((y - y.mean()) @ (y - y.mean())))
    assert found.residual_std == pytest.approx(np.sqrt(left @ left / (29 - k)))
    assert (found.level, found.n_rows) == (level, 30)


@pytest.mark.slow
def test_intervals_cover_as_often_as_they_say(rng):
    # fixed terms, normal noise: 3 × 2000 intervals at 90 %; five standard errors of a share of 2000
    values, truth = rng.uniform(0, 1, (2, 20)), np.array([1.0, -2.0, 3.0])
    covered = np.zeros(3)
    for _ in range(2000):
        y = truth[0] + truth[1:] @ values + rng.normal(0, 0.7, 20)
        found = estimate_coefficients(values, y, 0.9)
        covered += (found.low <= truth) & (truth <= found.high)
    assert np.abs(covered / 2000 - 0.9).max() < 5 * np.sqrt(0.9 * 0.1 / 2000)


@pytest.mark.parametrize("exponent", [-900, -332, 332, 900])
def test_the_scale_of_the_response_changes_nothing_else(rng, exponent):
    values = rng.normal(size=(2, 25))
    y = 1 + values[0] + rng.normal(size=25)
    one, other = estimate_coefficients(values, y), estimate_coefficients(values, np.ldexp(y, exponent))
    assert other.coefficients.tobytes() == np.ldexp(one.coefficients, exponent).tobytes()
    assert other.low.tobytes() == np.ldexp(one.low, exponent).tobytes()
    assert (other.unexplained_share, other.n_rows) == (one.unexplained_share, one.n_rows)


@pytest.mark.parametrize("exponent", [-900, -332, 332, 900])
def test_the_scale_of_a_term_changes_its_coefficient_alone(rng, exponent):
    values = rng.normal(size=(2, 25))
    y = 1 + values[0] + rng.normal(size=25)
    scaled = values.copy()
    scaled[1] = np.ldexp(values[1], exponent)
    one, other = estimate_coefficients(values, y), estimate_coefficients(scaled, y)
    np.testing.assert_allclose(other.coefficients[:2], one.coefficients[:2], rtol=1e-12)
    np.testing.assert_allclose(np.ldexp(other.high[2], exponent), one.high[2], rtol=1e-12)
    assert other.unexplained_share == pytest.approx(one.unexplained_share, rel=1e-12)


def test_an_exact_formula_comes_out_to_the_last_digits(rng):
    values = rng.uniform(0.5, 2.0, (3, 50)) ** np.array([[1], [3], [9]])
    found = estimate_coefficients(values, 3 - 2 * values[0] + 0.5 * values[1] + values[2] / 8)
    np.testing.assert_allclose(found.coefficients, [3, -2, 0.5, 0.125], rtol=1e-12)
    assert found.unexplained_share < 1e-28


def test_without_a_degree_of_freedom_there_is_no_interval(rng):
    found = estimate_coefficients(rng.normal(size=(2, 3)), rng.normal(size=3))
    assert np.isnan(found.low).all()
    assert np.isnan(found.high).all()
    assert np.isnan(found.residual_std)
    assert found.unexplained_share < 1e-20
