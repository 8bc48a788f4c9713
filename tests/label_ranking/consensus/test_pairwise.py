from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from helpers.all_rankings import every_ranking
from helpers.ranking_cases import all_losses, loss_by_definition, rankings, weights_for
from helpers.ranking_settings import some_rankings
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.consensus.distances import kendall_distance
from symscreen.label_ranking.consensus.median import find_kemeny_median, find_median_ranking
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    compute_distance_lower_bound,
    compute_excess_risk,
    compute_expected_distance,
    dispersion,
    estimate_pairwise_probabilities,
    is_transitive,
    margin,
    project_transitive,
)


@given(rankings(missing=False), st.data())
def test_the_expected_distance_is_the_mean_distance_of_complete_rows(rows, data):
    weights = weights_for(data.draw, len(rows))
    ranking = data.draw(st.permutations(range(1, rows.shape[1] + 1)))
    mean = np.average(kendall_distance(rows, ranking), weights=weights)
    assert compute_expected_distance(
        estimate_pairwise_probabilities(rows, weights), ranking
    ) == pytest.approx(mean, abs=1e-9)


@pytest.mark.slow
@given(rankings(), st.data())
def test_the_expected_distance_of_incomplete_rows_sums_over_pairs(rows, data):
    p = estimate_pairwise_probabilities(rows)
    ranking = data.draw(st.permutations(range(1, rows.shape[1] + 1)))
    assert compute_expected_distance(p, ranking) == pytest.approx(loss_by_definition(p.p, ranking), abs=1e-9)


@given(rankings(missing=False))
def test_the_dispersion_is_half_the_mean_distance_of_two_draws(rows):
    # Rows without ties only: two rows with the same tie have distance 0, but two draws from p differ.
    untied = np.argsort(np.argsort(rows, axis=1, kind="stable"), axis=1)
    both = np.mean([kendall_distance(untied, row).mean() for row in untied])
    assert dispersion(estimate_pairwise_probabilities(untied)) == pytest.approx(both / 2, abs=1e-9)


@given(rankings(most_labels=5))
def test_no_ranking_costs_less_than_the_lower_bound_nor_the_best_more_than_twice_the_dispersion(rows):
    p = estimate_pairwise_probabilities(rows)
    least = min(all_losses(p.p).values())
    assert compute_distance_lower_bound(p) <= least + 1e-9
    assert dispersion(p) <= least + 1e-9
    assert least <= 2 * dispersion(p) + 1e-9 or not is_transitive(p)


@pytest.mark.slow
@given(rankings(most_labels=5))
def test_transitive_is_its_definition(rows):
    p = estimate_pairwise_probabilities(rows).p
    k = len(p)
    wins = np.nan_to_num(p, nan=0.5) > 0.5
    decided = all(wins[i, j] or wins[j, i] for i in range(k) for j in range(i))
    chains = all(wins[i, m] for i, j, m in permutations(range(k), 3) if wins[i, j] and wins[j, m])
    assert is_transitive(p) == (decided and chains)


@pytest.mark.slow
@given(rankings(most_labels=5))
def test_the_margin_is_the_least_distance_from_even(rows):
    p = np.nan_to_num(estimate_pairwise_probabilities(rows).p, nan=0.5)
    k = len(p)
    assert margin(p) == min([abs(p[j, i] - 0.5) for i in range(k) for j in range(i)], default=0.5)
    assert margin(estimate_pairwise_probabilities(rows)) == margin(p)


@pytest.mark.slow
@given(rankings(most_labels=5), st.data())
def test_the_excess_is_what_a_ranking_costs_beyond_the_bound(rows, data):
    p = estimate_pairwise_probabilities(rows)
    ranking = data.draw(st.permutations(range(1, rows.shape[1] + 1)))
    assert compute_excess_risk(p, ranking) == pytest.approx(
        compute_expected_distance(p, ranking) - compute_distance_lower_bound(p), abs=1e-9
    )


def test_the_excess_risk_is_the_mean_over_rows():
    sure, torn = np.array([[0.5, 1.0], [0.0, 0.5]]), np.array([[0.5, 0.4], [0.6, 0.5]])
    predictions = [[1, 2], [1, 2]]
    assert compute_excess_risk(np.stack([sure, torn]), predictions) == pytest.approx(0.1)
    assert compute_excess_risk(np.stack([sure, torn]), predictions, weights=[1, 3]) == pytest.approx(0.15)
    assert compute_excess_risk(torn, predictions) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("ranking", "words"),
    [
        ([1, 1, 2], "ties or missing labels"),
        ([1, 2, np.nan], "ties or missing labels"),
        ([1, 2], "the ranking has shape \\(2,\\), but there are 3 labels"),
    ],
)
def test_the_cost_needs_a_complete_ranking(ranking, words):
    with pytest.raises(DataError, match=words):
        compute_expected_distance(np.full((3, 3), 0.5), ranking)


def test_predictions_that_do_not_match_are_refused():
    with pytest.raises(DataError, match="do not match probabilities of shape"):
        compute_excess_risk(np.full((3, 2, 2), 0.5), [[1, 2], [2, 1]])
    with pytest.raises(DataError, match="row 1 of the rankings"):
        compute_excess_risk(np.full((2, 2), 0.5), [[1, 2], [1, 1]])


@pytest.mark.parametrize(
    "what",
    [dispersion, compute_distance_lower_bound, margin, is_transitive, find_median_ranking,
    find_kemeny_median, project_transitive,
     lambda p: compute_expected_distance(p, [1, 2, 3])],
)  # fmt: skip
def test_a_stack_of_matrices_is_refused(what):
    stack = np.full((2, 3, 3), 0.5)
    with pytest.raises(DataError, match=r"of shape \(2, 3, 3\) are a stack of matrices: pass one matrix"):
        what(stack)
    what(stack[0])
    with pytest.raises(DataError, match="pairwise probabilities must be a matrix of numbers"):
        what([[0.5], [0.5, 0.5]])


@pytest.mark.parametrize("method", [None, ["kemeny"], "kemmeny"])
def test_an_unknown_method_is_refused(method):
    with pytest.raises(OptionError, match="unknown consensus method"):
        find_median_ranking(np.full((2, 2), 0.5), method=method)


def test_ragged_rankings_are_refused_by_distances():
    with pytest.raises(DataError, match="different lengths"):
        kendall_distance([[1, 2], [1]], [1, 2])


def test_the_loss_of_the_median_is_within_twice_the_dispersion_of_complete_rows_only(rng):
    for _ in range(20):
        rows = np.ceil(some_rankings(rng, int(rng.integers(1, 6)), 4) / rng.integers(1, 3))
        p = estimate_pairwise_probabilities(rows)
        loss = min(compute_expected_distance(p, one) for one in every_ranking(4))
        assert dispersion(p) - 1e-12 <= loss <= 2.0 * dispersion(p) + 1e-12
    rows = some_rankings(rng, 6, 4)
    drawn_twice = np.mean([kendall_distance(one, two) for one in rows for two in rows])
    assert dispersion(estimate_pairwise_probabilities(rows)) == pytest.approx(drawn_twice / 2.0)
    cycle = estimate_pairwise_probabilities([[1, 2, np.nan], [np.nan, 1, 2], [2, np.nan, 1]])
    assert dispersion(cycle) == 0.0
    assert min(compute_expected_distance(cycle, one) for one in every_ranking(3)) == 1.0
