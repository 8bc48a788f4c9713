from __future__ import annotations

import numpy as np
import pytest
from helpers.ranking_cases import all_losses, rankings, weights_for
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.label_ranking.consensus.median import (
    MAX_SUBSET_LABELS,
    find_cycles,
    find_kemeny_median,
    solve_kemeny_by_subsets,
    solve_kemeny_program,
)
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    compute_expected_distance,
    estimate_pairwise_probabilities,
)


def _random(rng, k, n=5):
    """Compute pairwise probabilities of random rows, which have many cycles."""
    return estimate_pairwise_probabilities(
        rng.permuted(np.tile(np.arange(k), (n, 1)), axis=1), rng.uniform(size=n)
    )


def _circle(k):
    """Build probabilities in which each label beats the next (k − 1)/2 labels on a circle."""
    ahead = (np.arange(k)[None, :] - np.arange(k)[:, None]) % k
    return np.where(ahead == 0, 0.5, np.where(ahead <= k // 2, 0.6, 0.4))


@pytest.mark.slow
@given(rankings(most_labels=7, most_rows=7), st.data())
def test_no_ranking_of_all_has_a_smaller_loss(rows, data):
    p = estimate_pairwise_probabilities(rows, weights_for(data.draw, len(rows)))
    losses = all_losses(p.p)
    least = min(losses.values())
    for median in (find_kemeny_median(p), solve_kemeny_by_subsets(p)):
        assert losses[tuple(median)] == pytest.approx(least, abs=1e-9)


def test_no_ranking_of_seven_labels_has_a_smaller_loss(rng):
    for _ in range(4):
        p = _random(rng, 7)
        assert compute_expected_distance(p, find_kemeny_median(p)) == pytest.approx(
            min(all_losses(p.p).values()), abs=1e-9
        )


@given(rankings(most_labels=5))
def test_of_equal_medians_the_one_with_the_smallest_labels_first_is_taken(rows):
    p = estimate_pairwise_probabilities(rows)
    losses = all_losses(p.p)
    least = min(losses.values())
    orders = [np.argsort(ranks).tolist() for ranks, loss in losses.items() if loss <= least + 1e-9]
    assert np.argsort(solve_kemeny_by_subsets(p)).tolist() == min(orders)


@given(rankings(most_labels=6))
def test_cycles_join_labels_that_reach_each_other(rows):
    p = np.nan_to_num(estimate_pairwise_probabilities(rows).p, nan=0.5)
    parts = find_cycles(p)
    k = len(p)
    wins = p > 0.5
    reach = np.linalg.matrix_power(np.eye(k) + wins, k) > 0
    assert sorted(np.concatenate(parts).tolist()) == list(range(k))
    for place, part in enumerate(parts):
        assert reach[np.ix_(part, part)].all()
        for later in parts[place + 1 :]:
            assert not wins[np.ix_(later, part)].any()


@settings(max_examples=30)
@given(rankings(most_labels=7, most_rows=5))
def test_the_integer_program_finds_as_small_a_loss(rows):
    p = estimate_pairwise_probabilities(rows)
    median = 1.0 + np.argsort(solve_kemeny_program(np.nan_to_num(p.p.T)))
    assert compute_expected_distance(p, median) == pytest.approx(
        compute_expected_distance(p, solve_kemeny_by_subsets(p)), abs=1e-9
    )


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.4])
def test_long_cycles_are_solved_as_exactly(rng, spread):
    above = np.triu(np.clip(_circle(16) + rng.uniform(-spread, spread, (16, 16)), 0.0, 1.0), 1)
    p = above + np.tril(1.0 - above.T, -1) + np.eye(16) / 2
    exact = compute_expected_distance(p, solve_kemeny_by_subsets(p))
    assert len(max(find_cycles(p), key=len)) > MAX_SUBSET_LABELS
    assert compute_expected_distance(p, find_kemeny_median(p)) == pytest.approx(exact, abs=1e-9)


def test_parts_are_solved_apart(rng):
    inner = [_random(rng, 5).p for _ in range(8)]
    p = np.triu(np.full((40, 40), 0.9)) + np.tril(np.full((40, 40), 0.1), -1)
    for place, block in enumerate(inner):
        p[5 * place : 5 * place + 5, 5 * place : 5 * place + 5] = block
    least = sum(compute_expected_distance(block, solve_kemeny_by_subsets(block)) for block in inner)
    between = 0.1 * (40 * 39 / 2 - 8 * 10)
    assert compute_expected_distance(p, find_kemeny_median(p)) == pytest.approx(least + between, abs=1e-9)


def test_the_order_of_weighted_rows_does_not_change_the_median(rng):
    for k in (6, 16):
        rows = rng.permuted(np.tile(np.arange(k), (6, 1)), axis=1)
        weights, shuffle = rng.uniform(size=6), rng.permutation(6)
        one = find_kemeny_median(estimate_pairwise_probabilities(rows, weights))
        two = find_kemeny_median(estimate_pairwise_probabilities(rows[shuffle], weights[shuffle]))
        assert one.tolist() == two.tolist()


def test_what_is_too_long_is_refused():
    with pytest.raises(OptionError, match="21 labels have too many subsets"):
        solve_kemeny_by_subsets(np.full((21, 21), 0.5))
    with pytest.raises(OptionError, match=r"majority cycles connect 61 labels.*falls back to the Borda"):
        find_kemeny_median(_circle(61))


def test_a_program_that_passes_its_bound_on_work_says_so(monkeypatch):
    monkeypatch.setattr("symscreen.label_ranking.consensus.median._MAX_ROUNDS", 1)
    with pytest.raises(OptionError, match="no exact median of 15 labels"):
        solve_kemeny_program(_circle(15))
