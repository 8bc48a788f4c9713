from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from helpers.tree_cases import columns, two_columns
from hypothesis import given
from hypothesis import strategies as st

import symscreen
from symscreen.errors import DataError, OptionError
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference
from symscreen.targets import NumericTarget
from symscreen.trees import compute_ranking_metric, compute_ranking_regret, compute_regret_bound, rank_rows


def _metric(r, means):
    """Compute eq. (15), pair by pair."""
    n = len(r)
    total = sum(means[r[i]] - means[r[j]] for i in range(n - 1) for j in range(i + 1, n))
    return 2 / (n * (n - 1)) * total


@given(columns(), st.randoms(use_true_random=False))
def test_the_metric_is_the_pair_sum(means, random):
    r = random.sample(range(len(means)), len(means))
    assert compute_ranking_metric(r, means) == pytest.approx(_metric(r, means), abs=1e-12)


@given(columns(most=6))
def test_no_permutation_beats_the_bayes_rank(means):
    best = compute_ranking_metric(rank_rows(means), means)
    assert best == pytest.approx(max(_metric(r, means) for r in permutations(range(len(means)))), abs=1e-12)


@given(st.integers(2, 40).flatmap(lambda n: st.tuples(columns(n, n, unique=True), st.permutations(range(n)))))
def test_without_ties_and_noise_it_is_gini_less_t0(pair):
    # section 5: T(r_θ) = Δ − T0(θ)
    y, theta = pair
    delta = compute_gini_mean_difference(NumericTarget(np.sort(y)))
    found = compute_ranking_metric(rank_rows(theta), y)
    assert found == pytest.approx(delta - symscreen.t0(np.array(theta, dtype=float), y), abs=1e-11)
    assert compute_ranking_metric(rank_rows(y), y) == pytest.approx(delta, abs=1e-11)


@given(two_columns(most=6))
def test_with_ties_the_regret_is_the_mean_over_all_ways_to_break_them(pair):
    scores, means = pair
    if len(set(means)) < 2:
        with pytest.raises(DataError, match="constant"):
            compute_ranking_regret(scores, means)
        return
    ways = [
        _metric(r, means)
        for r in permutations(range(len(means)))
        if all(scores[a] >= scores[b] for a, b in pairwise(r))
    ]
    best = _metric(rank_rows(means), means)
    assert compute_ranking_regret(scores, means) == pytest.approx(best - np.mean(ways), abs=1e-11)


@pytest.mark.slow
@given(two_columns())
def test_an_increasing_map_of_the_scores_has_the_same_regret(pair):
    scores, means = pair
    if len(set(means)) > 1:
        assert compute_ranking_regret(scores**3 + scores, means) == compute_ranking_regret(scores, means)


@given(two_columns())
def test_the_error_of_the_scores_bounds_the_regret(pair):
    # eq. (30), (38) and the sharper bound by the mean absolute error
    scores, means = pair
    if len(set(means)) > 1:
        regret = compute_ranking_regret(scores, means)
        absolute = 4 * np.abs(scores - means).mean()
        assert regret <= absolute + 1e-9
        assert absolute <= compute_regret_bound(scores, means) + 1e-9


def test_the_bound_is_eq_30():
    assert compute_regret_bound([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 5.0]) == pytest.approx(
        4 / np.sqrt(4) * np.sqrt(28)
    )


def test_a_ranking_holds_the_highest_first():
    assert rank_rows([1.0, 3.0, 3.0, 2.0]).tolist() == [1, 2, 3, 0]
    assert compute_ranking_metric([1, 2, 0], [1.0, 9.0, 5.0]) > 0


@pytest.mark.parametrize("r", [[1, 2, 3], [0, 0, 1], [0, 1], [0.0, 1.0, 2.0], [[0], [1], [2]], []])
def test_a_ranking_must_be_a_permutation(r):
    with pytest.raises(OptionError, match="count from 0"):
        compute_ranking_metric(r, [1.0, 2.0, 3.0])
