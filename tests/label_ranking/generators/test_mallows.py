from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from helpers.all_rankings import every_ranking, fits
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.label_ranking.generators import (
    compute_mallows_mean_distance,
    compute_mallows_probability,
    draw_mallows,
)


def discordant(a, b):
    return sum((a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in combinations(range(len(a)), 2))


def by_definition(center, theta):
    """Compute exp(−θ d) over its sum by enumerating all rankings."""
    rankings = every_ranking(len(center))
    weights = np.array([np.exp(-theta * discordant(each, center)) for each in rankings])
    return rankings, weights / weights.sum()


centers = st.integers(1, 4).flatmap(lambda k: st.permutations(range(1, k + 1)))
spreads = st.one_of(st.just(0.0), st.floats(1e-6, 6.0))


@given(center=centers, theta=spreads)
def test_the_probability_is_the_definitions(center, theta):
    rankings, expected = by_definition(center, theta)
    np.testing.assert_allclose(compute_mallows_probability(rankings, center, theta), expected, rtol=1e-12)


@given(center=centers, theta=spreads)
def test_the_mean_distance_is_the_definitions(center, theta):
    rankings, probabilities = by_definition(center, theta)
    mean = sum(p * discordant(each, center) for p, each in zip(probabilities, rankings, strict=True))
    assert compute_mallows_mean_distance(theta, len(center)) == pytest.approx(mean, rel=1e-12, abs=1e-15)


@given(center=centers, theta=st.sampled_from([0.0, 0.3, 1.0, 2.0]), seed=st.integers(0, 99))
def test_a_sample_has_these_probabilities(center, theta, seed):
    sample = draw_mallows(center, theta, 4000, np.random.default_rng(seed))
    rankings, probabilities = by_definition(center, theta)
    assert fits(sample, rankings, probabilities) > 1e-5


def test_a_wrong_spread_would_be_seen(rng):
    sample = draw_mallows([2, 4, 1, 3], 1.0, 4000, rng)
    rankings, _ = by_definition([2, 4, 1, 3], 1.0)
    assert fits(sample, rankings, compute_mallows_probability(rankings, [2, 4, 1, 3], 1.15)) < 1e-5


def test_each_row_has_its_own_center(rng):
    centers = np.array([rng.permutation(6) + 1.0 for _ in range(300)])
    np.testing.assert_array_equal(draw_mallows(centers, np.inf, 300, rng), centers)
    alone = draw_mallows(centers[0], 0.7, 300, np.random.default_rng(5))
    repeated = draw_mallows(np.repeat(centers[:1], 300, axis=0), 0.7, 300, np.random.default_rng(5))
    np.testing.assert_array_equal(alone, repeated)


def test_the_mean_distance_of_many_labels_is_met(rng):
    sample = draw_mallows(np.arange(1, 13), 0.4, 4000, rng)
    distances = np.array([discordant(each, np.arange(1, 13)) for each in sample[:1000]])
    error = distances.std() / np.sqrt(distances.size)
    assert abs(distances.mean() - compute_mallows_mean_distance(0.4, 12)) < 4.5 * error


@pytest.mark.parametrize("theta", [-0.1, np.nan])
def test_no_negative_spread(theta, rng):
    with pytest.raises(OptionError, match=r"theta is .*: give a number ≥ 0"):
        draw_mallows([1, 2], theta, 3, rng)


def test_a_center_without_ties_for_each_row_or_for_all(rng):
    with pytest.raises(OptionError, match="ties"):
        draw_mallows([1, 1, 3], 1.0, 3, rng)
    with pytest.raises(OptionError, match="2 centers for 3 rankings"):
        draw_mallows([[1, 2], [2, 1]], 1.0, 3, rng)
