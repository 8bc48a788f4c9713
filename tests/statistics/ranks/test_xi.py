from __future__ import annotations

import numpy as np
import pytest
from helpers.statistic_oracles import xi_by_adjacency, xi_by_permutations
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chatterjeexi

import symscreen
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.xi import compute_xi
from symscreen.targets import NumericTarget

levels = st.lists(st.integers(0, 3), min_size=6, max_size=6)


@pytest.mark.parametrize("n", [2, 5, 40, 400])
@pytest.mark.parametrize("levels", [None, 3])
def test_equals_scipy_where_the_feature_has_no_ties(n, levels, rng):
    theta = rng.normal(size=n)
    y = rng.normal(size=n) if levels is None else np.resize(np.arange(levels), n).astype(float)
    assert abs(symscreen.xi(theta, y) - chatterjeexi(theta, y).statistic) < 1e-10


@settings(max_examples=60)
@given(levels, levels.filter(lambda y: len(set(y)) > 1))
def test_ties_are_averaged_over_every_way_to_break_them(theta, y):
    expected = xi_by_permutations(theta, y)
    assert abs(symscreen.xi(theta, y) - expected) < 1e-12
    assert abs(xi_by_adjacency(theta, y) - expected) < 1e-12


@given(st.lists(st.integers(0, 9), min_size=12, max_size=12), st.randoms())
def test_the_order_of_the_rows_does_not_change_a_bit(theta, random):
    y = [(7 * k) % 5 for k in range(12)]
    rows = list(range(12))
    random.shuffle(rows)
    again = symscreen.xi([theta[r] for r in rows], [y[r] for r in rows])
    assert again == symscreen.xi(theta, y)


@given(st.lists(st.integers(0, 9), min_size=15, max_size=15))
def test_mirrored_ranks_score_alike_to_the_last_bit(theta):
    y = NumericTarget(np.repeat([0.0, 1.0, 4.0, 5.0, 9.0], 3))
    block = np.array([theta, [-v for v in theta]], dtype=float)
    up, down = compute_xi(sort_block(block), y)
    assert up == down


def test_null_mean_and_variance_are_those_of_the_limit(rng):
    # under independence √n·ξ has mean near 0 and variance near 2/5
    n = 400
    scores = np.sqrt(n) * compute_xi(
        sort_block(rng.normal(size=(4000, n))), NumericTarget(np.arange(n) * 1.0)
    )
    assert abs(scores.mean()) < 0.1
    assert abs(scores.var() - 0.4) < 0.04


@pytest.mark.slow
def test_many_rows_do_not_overflow(rng):
    n = 4_200_000
    y = np.arange(n, dtype=float)
    assert abs(symscreen.xi(rng.permutation(n).astype(float), y)) < 0.01
    assert abs(symscreen.xi(rng.integers(0, 2, n).astype(float), y)) < 0.01
