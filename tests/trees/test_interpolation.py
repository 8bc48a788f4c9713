from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symscreen
from symscreen.errors import DataError
from symscreen.trees import build_interpolator, find_attainable_splits, find_best_split, find_oracle_partition


@pytest.mark.parametrize("n", [1, 2, 10, 200, 1500])
@pytest.mark.parametrize("spread", [1.0, 1e-8, 1e8])
def test_it_passes_through_every_point(rng, n, spread):
    x, y = spread * rng.lognormal(size=n), rng.normal(size=n)
    assert build_interpolator(x, y)(x).tolist() == y.tolist()


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=7))
def test_it_is_the_polynomial_of_degree_n_less_one(coefficients):
    n = len(coefficients)
    x = np.cos(np.pi * (np.arange(n) + 0.5) / n)
    between = np.linspace(-1, 1, 41)
    found = build_interpolator(x, np.polyval(coefficients, x))(between)
    np.testing.assert_allclose(found, np.polyval(coefficients, between), atol=1e-10)


def test_trees_and_t0_are_misled_by_it(rng):
    # Example 5: y is independent of x
    x, y = rng.uniform(size=80), rng.normal(size=80)
    feature = build_interpolator(x, y)(x)
    assert symscreen.t0(feature, y) == 0.0
    assert len(find_attainable_splits(feature, y)) == 79
    found = find_best_split(np.column_stack([x, feature]), y)
    assert found.feature == 1
    assert found.loss == pytest.approx(find_oracle_partition(y).loss, rel=1e-12)


def test_it_takes_any_shape():
    line = build_interpolator([0.0, 1.0], [1.0, 3.0])
    assert float(line(0.5)) == 2.0
    np.testing.assert_allclose(line([[0.25], [2.0]]), [[1.5], [5.0]])


@pytest.mark.parametrize(
    ("x", "y", "said"), [([1.0, 1.0], [1.0, 2.0], "ties"), ([1.0], [1.0, 2.0], "rows"), ([], [], "no rows")]
)
def test_what_has_no_interpolator_is_refused(x, y, said):
    with pytest.raises(DataError, match=said):
        build_interpolator(x, y)
