from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from symscreen.statistics.ranks import correlations
from symscreen.statistics.ranks.correlations import compute_correlations, compute_pearson, compute_spearman
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets import NumericTarget

columns = st.integers(3, 15).flatmap(
    lambda n: st.tuples(
        *(
            st.lists(st.integers(0, 5) | st.floats(-9, 9), min_size=n, max_size=n).filter(
                lambda v: np.ptp(v) > 1e-3
            )
            for _ in range(2)
        )
    )
)


def _scored(pair):
    theta, y = (np.array(column, dtype=float) for column in pair)
    rows = np.argsort(y, kind="stable")
    return theta, y, sort_block(np.stack([theta, -theta])[:, rows]), NumericTarget(y[rows])


@pytest.mark.slow
@given(columns)
def test_spearman_equals_scipy(pair):
    theta, y, ordered, target = _scored(pair)
    up, down = compute_spearman(ordered, target)
    assert abs(up - spearmanr(theta, y).statistic) < 1e-10
    assert down == -up


@pytest.mark.slow
@given(columns)
def test_pearson_equals_scipy(pair):
    theta, y, ordered, target = _scored(pair)
    assert abs(compute_pearson(ordered, target)[0] - pearsonr(theta, y).statistic) < 1e-10


@pytest.mark.parametrize("size", [1e-310, 1e-300, 1e300, 1e308])
def test_pearson_of_extreme_scales(size, rng):
    theta, y = rng.uniform(-1, 1, 30), rng.normal(size=30)
    there = compute_correlations(theta[None] * size, y)[0]
    assert abs(there - pearsonr(theta, y).statistic) < 1e-7


def test_a_constant_row_correlates_with_nothing():
    assert compute_correlations(np.ones((1, 4)), np.arange(4.0)).tolist() == [0.0]


def test_spearman_of_very_many_rows_is_computed_in_floating_point(monkeypatch, rng):
    y = np.sort(rng.integers(0, 9, 50).astype(float))
    ordered = sort_block(np.stack([rng.integers(0, 4, 50), rng.normal(size=50), -y]).astype(float))
    exact = compute_spearman(ordered, NumericTarget(y))
    monkeypatch.setattr(correlations, "_MAX_INT64_ROWS", 49)
    np.testing.assert_allclose(compute_spearman(ordered, NumericTarget(y)), exact, rtol=1e-14)
