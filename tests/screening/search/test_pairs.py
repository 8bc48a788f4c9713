from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.screening.search.subsamples import UNDEFINED, count_doubled_discordance, draw_pairs
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference, compute_t0
from symscreen.targets import NumericTarget

whole = st.integers(-4, 4).map(float)


def chances(response: NumericTarget) -> np.ndarray:
    """The probability of each pair (low, high), by the definition."""
    gaps = np.triu(np.abs(response.values[:, None] - response.values))
    return gaps / gaps.sum()


@pytest.mark.slow
@given(st.lists(st.tuples(whole, whole), min_size=2, max_size=12))
def test_t0_is_twice_delta_times_the_chance_of_a_discordant_pair(rows):
    y, z = np.array(sorted(rows)).T.copy()  # contiguous as in a screen: kernels for others would be compiled
    if y[0] == y[-1]:
        return
    response = NumericTarget(y)
    probabilities = chances(response)
    low, high = np.nonzero(probabilities)
    discordant = count_doubled_discordance(np.column_stack([z[low], z[high]]))  # one pair a row
    chance = float((probabilities[low, high] * discordant).sum()) / 2.0
    t0 = compute_t0(sort_block(np.array([z])), response)[0]
    assert t0 == pytest.approx(2.0 * compute_gini_mean_difference(response) * chance, abs=1e-12)


@pytest.mark.parametrize(
    "y", [[0.0, 0.0, 1.0], [-5.0, 0.1, 0.2, 0.2, 0.2, 9.0, 9.0], [1e9, 1e9 + 1, 1e9 + 4], [1e-9, 2e-9, 1e6]]
)
def test_pairs_are_drawn_in_proportion_to_their_gap(rng, y):
    response, count = NumericTarget(np.array(y)), 40_000
    pairs = draw_pairs(response, count, rng)
    drawn = np.zeros((len(y), len(y)))
    np.add.at(drawn, (pairs.low, pairs.high), 1.0)
    expected = chances(response) * count
    assert (drawn[expected == 0] == 0).all()  # rows that tie never pair, and the lower row stands first
    assert (np.abs(drawn - expected) <= 5.0 * np.sqrt(expected) + 1.0).all()


def test_first_rows_are_stratified_over_the_response(rng):
    response = NumericTarget(np.sort(rng.normal(size=200)))
    gaps = np.abs(response.values[:, None] - response.values).sum(axis=1)
    expected = 400 * (gaps / gaps.sum())
    means = []
    for _ in range(200):
        pairs = draw_pairs(response, 400, rng)
        means.append((pairs.low + pairs.high).mean())
    # free draws would spread by the standard deviation of a pair's rows over the root of 400
    free = np.sqrt(2.0 * ((expected / 400) * (np.arange(200) - 99.5) ** 2).sum() / 400)
    assert np.std(means) < 0.9 * free


def test_pairs_do_not_depend_on_the_response_s_unit_or_origin(rng):
    y = np.sort(rng.integers(0, 50, 40).astype(float))
    seed = 5
    one = draw_pairs(NumericTarget(y), 300, np.random.default_rng(seed))
    other = draw_pairs(NumericTarget(y * 8.0 + 1024.0), 300, np.random.default_rng(seed))
    assert (one.low == other.low).all()
    assert (one.high == other.high).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 3, 4, 7])
def test_a_value_that_is_not_finite_makes_a_feature_undefined(bad, place):
    values = np.arange(16.0).reshape(2, 8)
    values[1, place] = bad
    assert count_doubled_discordance(values).tolist() == [0, UNDEFINED]


@given(st.lists(st.tuples(whole, whole), min_size=1, max_size=9))
def test_the_count_is_that_of_a_loop(pairs):
    low, high = np.array(pairs).T
    expected = sum(2 if a > b else int(a == b) for a, b in pairs)
    assert count_doubled_discordance(np.concatenate((low, high))[None]).tolist() == [expected]
