from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from symscreen.errors import DataError
from symscreen.trees import compare_transformed_correlations


def normal_grid(rho, size=60):
    """Return x, y and weights that integrate polynomials of a bivariate normal distribution exactly."""
    nodes, masses = np.polynomial.hermite_e.hermegauss(size)
    x, e = (grid.ravel() for grid in np.meshgrid(nodes, nodes))
    return x, rho * x + np.sqrt(1 - rho**2) * e, np.outer(masses, masses).ravel()


@pytest.mark.parametrize("rho", [-0.9, 0.0, 0.3, 0.8])
@pytest.mark.parametrize(
    ("transform", "with_input"),
    [
        (lambda x: x**3, 3 / np.sqrt(15)),
        (np.exp, 1 / np.sqrt(np.e - 1)),
        (lambda x: x**2, 0.0),
        (lambda x: -2 * x + 7, -1.0),
    ],
)
def test_it_holds_for_normal_inputs_and_targets(rho, transform, with_input):
    x, y, weights = normal_grid(rho)
    found = compare_transformed_correlations(transform(x), x, y, weights)
    assert found.of_input == pytest.approx(rho, abs=1e-9)
    assert found.with_input == pytest.approx(with_input, abs=1e-9)
    assert found.direct == pytest.approx(rho * with_input, abs=1e-9)
    assert found.excess == pytest.approx(0.0, abs=1e-9)


@given(
    st.lists(
        st.tuples(st.integers(-9, 9), st.integers(0, 9), st.integers(-9, 9)),
        min_size=3,
        max_size=10,
        unique_by=lambda drawn: drawn[0],
    )
)
def test_it_holds_where_the_conditional_mean_is_linear_whatever_the_noise(points):
    x, noise, transformed = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    assume(np.ptp(transformed) > 0)
    # at each x the target is one of two values about the line, with a spread of its own
    y = np.concatenate([3 * x - 1 + noise, 3 * x - 1 - noise])
    found = compare_transformed_correlations(np.tile(transformed, 2), np.tile(x, 2), y)
    assert found.excess == pytest.approx(0.0, abs=1e-9)
    assert abs(found.direct) <= abs(found.of_input) + 1e-9


def test_it_does_not_hold_where_the_conditional_mean_is_not_linear():
    x = np.linspace(-1.0, 1.0, 41)
    found = compare_transformed_correlations(x**2, x, x**2)
    assert found.direct == pytest.approx(1.0)
    assert found.of_input == pytest.approx(0.0, abs=1e-12)
    assert found.product == pytest.approx(0.0, abs=1e-12)
    assert found.excess == pytest.approx(1.0)


def test_no_transformation_exceeds_the_correlation_ratio(rng):
    x = np.repeat(np.arange(6.0), 20)
    y = np.sin(2 * x) + rng.normal(size=120)
    means = np.repeat(y.reshape(6, 20).mean(axis=1), 20)
    ratio = np.sqrt(means.var() / y.var())
    assert compare_transformed_correlations(means, x, y).direct == pytest.approx(ratio)
    for _ in range(50):
        other = compare_transformed_correlations(np.repeat(rng.normal(size=6), 20), x, y)
        assert abs(other.direct) <= ratio + 1e-12


def test_the_excess_is_the_covariance_with_the_residual(rng):
    x = rng.exponential(size=200)
    y, z = np.log(x) + rng.normal(size=200), np.sqrt(x)
    residual = y - np.polyval(np.polyfit(x, y, 1), x)
    found = compare_transformed_correlations(z, x, y)
    assert found.excess == pytest.approx(np.cov(z, residual, ddof=0)[0, 1] / (z.std() * y.std()), abs=1e-9)
    assert found.direct == pytest.approx(np.corrcoef(z, y)[0, 1])
    assert found.with_input == pytest.approx(np.corrcoef(z, x)[0, 1])


def test_rounding_does_not_lead_beyond_one(rng):
    columns = rng.normal(size=(60, 7))
    found = [compare_transformed_correlations(sign * y, y, y) for y in columns for sign in (1, -1)]
    assert max(each.direct for each in found) <= 1.0
    assert min(each.direct for each in found) >= -1.0
    assert max(each.of_input for each in found) <= 1.0


def test_weights_count_rows_and_their_order_has_no_effect(rng):
    x, y, counts = rng.normal(size=20), rng.normal(size=20), rng.integers(0, 4, 20)
    weighted = compare_transformed_correlations(x**2, x, y, counts)
    repeated = compare_transformed_correlations(*(np.repeat(each, counts) for each in (x**2, x, y)))
    assert weighted.direct == pytest.approx(repeated.direct)
    hidden = np.where(counts == 0, 1e250, x)  # a row of weight 0 is not read
    assert compare_transformed_correlations(x**2, hidden, y, counts) == weighted
    order = rng.permutation(20)
    assert compare_transformed_correlations(x[order] ** 2, x[order], y[order], counts[order]) == weighted


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_of_the_input_has_no_effect(unit):
    x, y = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0])
    found = compare_transformed_correlations(unit * x**2, unit * x, y)
    plain = compare_transformed_correlations(x**2, x, y)
    assert found.direct == pytest.approx(plain.direct)
    assert found.with_input == pytest.approx(plain.with_input)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1.0, 1.0], [0.0, 1.0], [0.0, 1.0]), "transformed is constant"),
        (([0.0, 0.0], [0.0, 1.0], [0.0, 1.0]), "transformed is constant"),
        (([1.0, 2.0], [3.0, 3.0], [0.0, 1.0]), "x is constant"),
        (([1.0, 2.0], [0.0, 1.0], [0.1, 0.1]), "y is constant"),
        (([1.0, 2.0, 3.0], [0.0, 1.0, 1.0], [0.0, 1.0, 2.0], [1.0, 0.0, 0.0]), "is constant"),
        (([1.0, 2.0], [0.0, 1.0], [0.0, 1.0], [1.0, -1.0]), "must not be negative"),
        (([1.0, 2.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]), "one must be positive"),
        (([1.0, 2.0, 3.0], [0.0, 1.0], [0.0, 1.0]), "transformed has 3 rows"),
        (([1.0, np.nan], [0.0, 1.0], [0.0, 1.0]), "NaN"),
    ],
)
def test_columns_without_a_correlation_are_refused(arguments, said):
    with pytest.raises(DataError, match=said):
        compare_transformed_correlations(*arguments)
