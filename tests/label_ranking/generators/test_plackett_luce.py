from __future__ import annotations

import numpy as np
import pytest
from helpers.all_rankings import every_ranking, fits
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.label_ranking.generators import compute_plackett_luce_probability, draw_plackett_luce


def by_choices(weights):
    """Compute the probability of selecting the labels one after the other by weight."""
    rankings = every_ranking(len(weights))
    probabilities = []
    for ranks in rankings:
        left, probability = list(range(len(weights))), 1.0
        for label in np.argsort(ranks):
            probability *= weights[label] / sum(weights[each] for each in left)
            left.remove(label)
        probabilities.append(probability)
    return rankings, np.array(probabilities)


some_weights = st.lists(st.floats(0.05, 20.0), min_size=1, max_size=4)


@given(weights=some_weights)
def test_the_probability_is_that_of_choices(weights):
    rankings, expected = by_choices(weights)
    found = compute_plackett_luce_probability(rankings, weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert found.sum() == pytest.approx(1.0)


@given(weights=some_weights, seed=st.integers(0, 99))
def test_a_sample_has_these_probabilities(weights, seed):
    sample = draw_plackett_luce(weights, 4000, np.random.default_rng(seed))
    assert fits(sample, *by_choices(weights)) > 1e-5


def test_each_row_has_its_own_weights(rng):
    weights = np.exp(40.0 * np.array([rng.permutation(5) for _ in range(200)]))
    np.testing.assert_array_equal(draw_plackett_luce(weights, 200, rng), 5.0 - np.log(weights).round() / 40.0)


@pytest.mark.parametrize("weights", [[1.0, 0.0], [1.0, -2.0], [1.0, np.inf], [np.nan, 1.0]])
def test_weights_are_positive(weights, rng):
    with pytest.raises(OptionError, match="positive and finite"):
        draw_plackett_luce(weights, 3, rng)


def test_one_row_of_weights_or_one_each(rng):
    with pytest.raises(OptionError, match="2 rows of weights for 3"):
        draw_plackett_luce([[1.0, 2.0], [2.0, 1.0]], 3, rng)
