from __future__ import annotations

from itertools import permutations
from math import fsum

import numpy as np
import pytest
from helpers.statistic_oracles import gini_by_definition, t0_by_definition
from hypothesis import given
from hypothesis import strategies as st

import symscreen
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference, compute_t0
from symscreen.targets import NumericTarget

floats = st.floats(-1e3, 1e3)
few = st.integers(-2, 2).map(float)
near = st.integers(0, 6).map(lambda k: 1.0 + k * np.finfo(float).eps)
offsets = st.sampled_from([0.0, 1.0, 1e6, 1e8, -1e8])


@st.composite
def pairs(draw):
    n = draw(st.integers(2, 25))
    theta = draw(st.lists(floats | few | near, min_size=n, max_size=n))
    y = draw(st.lists(floats | few, min_size=n, max_size=n) | st.lists(near, min_size=n, max_size=n))
    y = np.array(y) + draw(offsets)
    if np.ptp(y) == 0:
        y[0] += 1.0
    return np.array(theta), y


@pytest.mark.slow
@given(pairs())
def test_equals_the_definition_over_all_pairs(pair):
    theta, y = pair
    tolerance = 1e-12 * float(gini_by_definition(y))
    assert abs(symscreen.t0(theta, y) - float(t0_by_definition(theta, y))) <= tolerance


def test_equals_the_definition_for_adjacent_floats_at_an_offset():
    step = np.spacing(1e8)
    y = 1e8 + step * np.array([3, 0, 1, 1, 7, 2, 5, 4])
    theta = np.array([0.1, 0.2, 0.2, 0.3, 0.9, 0.4, 0.4, 0.4])
    exact = float(t0_by_definition(theta, y))
    assert abs(symscreen.t0(theta, y) - exact) <= 1e-12 * float(gini_by_definition(y))


@pytest.mark.slow
@given(pairs())
def test_a_mirrored_feature_has_the_mirrored_score(pair):
    theta, y = pair
    rows = np.argsort(y, kind="stable")
    target = NumericTarget(y[rows])
    up, down = compute_t0(sort_block(np.stack([theta, -theta])[:, rows]), target)
    delta = compute_gini_mean_difference(target)
    assert abs(up + down - 2 * delta) <= 1e-12 * delta


@given(pairs(), st.randoms())
def test_the_order_of_the_rows_does_not_change_a_bit(pair, random):
    theta, y = pair
    shuffled = list(range(len(y)))
    random.shuffle(shuffled)
    assert symscreen.t0(theta[shuffled], y[shuffled]) == symscreen.t0(theta, y)


@given(pairs())
def test_gini_mean_difference_is_its_definition(pair):
    y = np.sort(pair[1])
    exact = float(gini_by_definition(y))
    assert abs(compute_gini_mean_difference(NumericTarget(y)) - exact) <= 1e-12 * exact


def test_the_response_itself_scores_exactly_zero(rng):
    y = rng.lognormal(0, 3, 500)
    assert symscreen.t0(y, y) == 0.0
    assert symscreen.t0(np.exp(np.tanh(y / 1e3)), y) == 0.0


def test_independence_scores_delta_on_average(rng):
    y = np.sort(rng.normal(size=200))
    scores = compute_t0(sort_block(rng.normal(size=(4000, 200))), NumericTarget(y))
    delta = compute_gini_mean_difference(NumericTarget(y))
    error = scores.std() / np.sqrt(len(scores))
    assert abs(scores.mean() - delta) < 4 * error


def test_permutation_variance_is_that_of_a_linear_rank_statistic():
    # Var Σ y_i R_i = Σ(y − ȳ)² Σ(R − R̄)² / (n − 1) over permutations, exactly, with ties
    y, theta = np.array([0.0, 1.0, 1.0, 5.0, 7.0]), np.array([1.0, 1.0, 2.0, 3.0, 3.0])
    scores = [symscreen.t0(np.array(order), y) for order in permutations(theta)]
    ranks = np.array([1.5, 1.5, 3.0, 4.5, 4.5])
    variance = ((y - y.mean()) ** 2).sum() * ((ranks - ranks.mean()) ** 2).sum() / 4
    assert np.isclose(np.var(scores), (4 / 20) ** 2 * variance, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e300, 7e307])
def test_extreme_responses_neither_overflow_nor_vanish(size, rng):
    y = rng.uniform(-0.5, 0.5, 40)
    theta = rng.normal(size=40)
    assert np.isclose(symscreen.t0(theta, y * size) / size, symscreen.t0(theta, y), rtol=1e-12)


def test_many_rows_stay_accurate(rng):
    n = 200_001
    y = np.sort(rng.normal(size=n)) + 1e8
    ranks = rng.permutation(n)
    exact = 4 / (n * (n - 1)) * fsum((y - 1e8) * (np.arange(n) - ranks))
    delta = compute_gini_mean_difference(NumericTarget(y))
    assert abs(symscreen.t0(ranks.astype(float), y) - exact) <= 1e-12 * delta


def test_columns_are_scored_one_by_one(rng):
    features, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    scores = symscreen.t0(features, y)
    assert scores.tolist() == [symscreen.t0(features[:, k], y) for k in range(4)]


@pytest.mark.parametrize(
    ("features", "y", "message"),
    [
        ([1, 2], [1, 2, 3], r"Z has shape \(2,\) and y \(3,\)"),
        ([[1], [2]], [[1], [2]], r"y has shape \(2, 1\); it must have one dimension"),
        ([1, np.nan], [1, 2], "Z contains NaN or infinity"),
        ([1, 2], [1, np.inf], "holds NaN or infinity"),
        ([1, 2], [3, 3], r"constant \(3 in all 2 rows\)"),
        ([1], [3], "at least 2 rows"),
    ],
)
def test_bad_arrays_are_told(features, y, message):
    with pytest.raises(symscreen.SymscreenError, match=message):
        symscreen.t0(features, y)
