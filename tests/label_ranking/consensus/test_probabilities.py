from __future__ import annotations

import numpy as np
import pytest
from helpers.ranking_cases import rankings, weights_for
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    PairwiseProbabilities,
    compute_preferences,
    estimate_pairwise_probabilities,
    to_probability_array,
)


@pytest.mark.slow
@given(rankings(), st.data())
def test_each_is_the_share_of_the_rows_that_show_both(rows, data):
    weights = weights_for(data.draw, len(rows))
    found = estimate_pairwise_probabilities(rows, weights)
    k = rows.shape[1]
    for i, j in ((i, j) for i in range(k) for j in range(k) if i != j):
        one, two = rows[:, i], rows[:, j]
        both = ~np.isnan(one + two)
        seen = weights[both].sum()
        before = (weights * (one < two) + weights * (one == two) / 2)[both].sum()
        assert found.pair_weights[i, j] == pytest.approx(seen)
        assert found.p[i, j] == pytest.approx(before / seen if seen else np.nan, nan_ok=True)
    assert (np.diag(found.p) == 0.5).all()
    assert np.allclose(np.diag(found.pair_weights), (weights[:, None] * ~np.isnan(rows)).sum(axis=0))


@given(rankings(), st.data())
def test_a_weight_is_a_number_of_copies(rows, data):
    copies = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)).filter(any))
    weighted, repeated = (
        estimate_pairwise_probabilities(rows, copies),
        estimate_pairwise_probabilities(np.repeat(rows, copies, 0)),
    )
    assert np.array_equal(weighted.p, repeated.p, equal_nan=True)
    assert np.array_equal(weighted.pair_weights, repeated.pair_weights)


@given(rankings(), st.randoms())
def test_the_order_of_the_rows_does_not_change_a_bit(rows, random):
    shuffled = rows.tolist()
    random.shuffle(shuffled)
    assert np.array_equal(
        estimate_pairwise_probabilities(shuffled).p, estimate_pairwise_probabilities(rows).p, equal_nan=True
    )


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0], "have shape \\(1,\\), but there are 2 rankings"),
        ([[1.0, 1.0]], "there are 2 rankings: give one finite number ≥ 0 per row"),
        ([1.0, -1.0], "the weight of row 1 is -1: weights must be finite and at least 0"),
        ([1.0, np.nan], "the weight of row 1 is nan"),
        ([0.0, 0.0], "all weights are zero"),
        ([1e308, 1e308], "the largest weight is 1e\\+308.*divide all by the largest"),
        ([1e-300, 0.0], "the largest weight is 1e-300"),
        (["a", "b"], "weights must be numbers"),
    ],
)
def test_invalid_weights_are_rejected(weights, words):
    with pytest.raises(OptionError, match=words):
        estimate_pairwise_probabilities([[1, 2], [2, 1]], weights)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.zeros((2, 3)), "must be a square matrix"),
        (np.array([[0.5, 1.2], [-0.2, 0.5]]), "must be in \\[0, 1\\]"),
        (np.array([[0.5, 0.7], [0.7, 0.5]]), "do not sum to 1"),
    ],
)
def test_invalid_matrices_are_rejected(matrix, words):
    with pytest.raises(DataError, match=words):
        to_probability_array(matrix)


def test_preferences_are_blind_to_rounding_and_to_what_was_not_seen():
    hair = 0.5 + 1e-15
    p = np.array([[0.5, hair, np.nan], [1 - hair, 0.5, 0.6], [np.nan, 0.4, 0.5]])
    assert compute_preferences(p).tolist() == [[0, 0, 0], [0, 0, 1], [0, -1, 0]]
    assert (
        compute_preferences(PairwiseProbabilities(p, p)).tolist()
        == compute_preferences(np.stack([p, p]))[1].tolist()
    )
