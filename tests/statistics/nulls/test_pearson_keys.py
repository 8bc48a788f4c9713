"""Encoded p-values of Pearson's r, against the incomplete beta function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from symscreen.statistics.inference.p_value_counts import encode_p_values
from symscreen.statistics.nulls.correlation_nulls import PearsonNull
from symscreen.statistics.nulls.pearson_keys import encode_correlations

ROWS = (3, 4, 5, 6, 9, 30, 100, 442, 2_000, 50_000, 3_000_000)


def draw_correlations(rng, n_rows):
    """Draw correlations of all sizes, with −1, 0, 1 and numbers near them."""
    scales = (0.5, 0.05, 3.0 / np.sqrt(n_rows), 1e-8)
    drawn = [np.clip(scale * rng.normal(size=4000), -1.0, 1.0) for scale in scales]
    edges = np.array([0.0, -0.0, 1.0, -1.0, 1.0 - 1e-16, 1e-300, 0.9999, -0.9999, 1e-9, -1e-9])
    return np.concatenate([*drawn, rng.uniform(-1.0, 1.0, 4000), edges])


@pytest.mark.parametrize("sign", ["free", "positive"])
@pytest.mark.parametrize("n_rows", ROWS)
def test_keys_are_those_of_the_exact_p_values(rng, n_rows, sign):
    r, null = draw_correlations(rng, n_rows), PearsonNull(n_rows)
    exact = encode_p_values(null(None, r, sign))
    keys, is_decided = encode_correlations(r, np.zeros(len(r)), n_rows, sign)
    assert (keys[is_decided] == exact[is_decided]).all()
    assert null.encode(r, sign).tolist() == exact.tolist()


@pytest.mark.parametrize("n_rows", [30, 442, 50_000])
def test_nearly_all_keys_are_decided(rng, n_rows):
    r = np.clip(rng.normal(size=20_000) / np.sqrt(n_rows), -0.99, 0.99)
    for sign in ("free", "positive"):
        assert encode_correlations(r, np.zeros(len(r)), n_rows, sign)[1].mean() > 0.999
    assert not encode_correlations(r, np.zeros(len(r)), 4, "free")[1].any()


@settings(max_examples=30)
@given(
    n_rows=st.sampled_from(ROWS),
    exponent=st.integers(-14, -3),
    sign=st.sampled_from(["free", "positive"]),
    seed=st.integers(0, 1000),
)
def test_a_decided_key_is_that_of_every_correlation_within_the_error(n_rows, exponent, sign, seed):
    rng = np.random.default_rng(seed)
    r = rng.uniform(-0.999, 0.999, 500) * np.where(rng.random(500) < 0.5, 1.0, 3.0 / np.sqrt(n_rows + 9))
    errors = np.full(500, 10.0**exponent)
    keys, is_decided = encode_correlations(r, errors, n_rows, sign)
    for shift in (-1.0, -0.3, 0.7, 1.0):
        moved = np.clip(r + shift * errors, -1.0, 1.0)
        exact = encode_p_values(PearsonNull(n_rows)(None, moved, sign))
        assert (keys[is_decided] == exact[is_decided]).all()


def test_p_values_are_those_of_students_t(rng):
    r = rng.uniform(-0.9, 0.9, 50)
    statistic = r * np.sqrt(40.0 / (1.0 - r * r))
    keys = PearsonNull(42).encode(r, "positive")
    assert keys.tolist() == encode_p_values(student.sf(statistic, 40)).tolist()
