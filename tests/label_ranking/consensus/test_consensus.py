from __future__ import annotations

import numpy as np
import pytest
from helpers.ranking_cases import all_losses, rankings, weights_for
from hypothesis import assume, given
from hypothesis import strategies as st

from symscreen.errors import OptionError
from symscreen.label_ranking.consensus.median import (
    find_median_ranking,
    rank_by_borda,
    rank_by_copeland,
    rank_by_pairwise_borda,
    solve_kemeny_by_subsets,
)
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    compute_distance_lower_bound,
    compute_expected_distance,
    estimate_pairwise_probabilities,
    is_transitive,
)

CYCLE = [[1, 2, 3], [3, 1, 2], [2, 3, 1]]


@st.composite
def transitive_probabilities(draw, most_labels=7):
    """Draw a strictly transitive matrix: a hidden order and the distance of each pair from ½."""
    k = draw(st.integers(1, most_labels))
    order = np.array(draw(st.permutations(range(k))))
    away = st.floats(1e-6, 0.5)
    p = np.full((k, k), 0.5)
    for place, i in enumerate(order):
        for j in order[place + 1 :]:
            p[i, j] = 0.5 + draw(away)
            p[j, i] = 1.0 - p[i, j]
    return p


@pytest.mark.slow
@given(transitive_probabilities())
def test_copeland_is_kemeny_where_the_matrix_is_strictly_transitive(p):
    median = find_median_ranking(p)
    assert is_transitive(p)
    assert rank_by_copeland(p).tolist() == solve_kemeny_by_subsets(p).tolist() == median.ranking.tolist()
    assert (median.method, median.certified) == ("copeland", True)


@pytest.mark.slow
@given(rankings(most_rows=9, least_labels=2), st.data())
def test_copeland_is_kemeny_where_rows_happen_to_be_strictly_transitive(rows, data):
    p = estimate_pairwise_probabilities(rows, weights_for(data.draw, len(rows)))
    assume(is_transitive(p))
    losses = all_losses(p.p)
    assert tuple(rank_by_copeland(p)) == min(losses, key=losses.__getitem__)
    # eq. (7)
    assert rank_by_copeland(p).tolist() == [
        1 + sum(p.p[i, j] < 0.5 for j in range(len(p.p))) for i in range(len(p.p))
    ]


@given(rankings(most_labels=5))
def test_the_median_is_exact_and_says_so(rows):
    p = estimate_pairwise_probabilities(rows)
    median = find_median_ranking(p)
    assert median.certified
    assert median.loss == pytest.approx(min(all_losses(p.p).values()), abs=1e-9)
    assert median.lower_bound == compute_distance_lower_bound(p)
    assert sorted(median.ranking) == list(range(1, rows.shape[1] + 1))


@given(rankings(most_labels=5))
def test_a_certificate_is_never_false(rows):
    p = estimate_pairwise_probabilities(rows)
    least = min(all_losses(p.p).values())
    for method in ("copeland", "borda", "kemeny"):
        median = find_median_ranking(p, method=method)
        assert (median.method, median.loss) == (method, compute_expected_distance(p, median.ranking))
        assert not median.certified or median.loss <= least + 1e-9


def test_a_cycle_is_solved_exactly_though_it_misses_its_bound():
    median = find_median_ranking(estimate_pairwise_probabilities(CYCLE))
    assert median.ranking.tolist() == [1, 2, 3]
    assert (median.method, median.certified) == ("kemeny", True)
    assert (median.loss, median.lower_bound) == (pytest.approx(4 / 3), pytest.approx(1.0))
    assert not find_median_ranking(estimate_pairwise_probabilities(CYCLE), method="borda").certified


def test_ties_go_to_the_smaller_label():
    even = np.full((4, 4), 0.5)
    for method in ("auto", "copeland", "borda", "kemeny"):
        assert find_median_ranking(even, method=method).ranking.tolist() == [1, 2, 3, 4]


@given(rankings(most_labels=5, missing=False))
def test_the_pseudo_empirical_median_is_copeland_if_majorities_are_transitive_and_else_borda(
    rows,
):
    # Clémençon, Korba and Sibony (2018), section 2.1
    from scipy.stats import rankdata

    p = estimate_pairwise_probabilities(rows)
    median = find_median_ranking(p, method="pseudo_empirical")
    if is_transitive(p):
        assert median.method == "copeland"
        assert median.ranking.tolist() == rank_by_copeland(p).tolist()
    else:
        assert median.method == "borda"
        means = np.round(rankdata(rows, axis=1).mean(axis=0), 9)
        assert np.argsort(median.ranking).tolist() == np.argsort(means, kind="stable").tolist()
    assert median.loss >= find_median_ranking(p).loss - 1e-9


def test_the_pseudo_empirical_median_may_lose_to_the_kemeny_median():
    # majorities 0 > 1 > 2 > 0; the mean ranks put 1 first
    p = np.array([[0.5, 0.6, 0.45], [0.4, 0.5, 1.0], [0.55, 0.0, 0.5]])
    exact, approximate = find_median_ranking(p), find_median_ranking(p, method="pseudo_empirical")
    assert (exact.ranking.tolist(), exact.method, exact.certified) == ([1, 2, 3], "kemeny", True)
    assert (approximate.ranking.tolist(), approximate.method) == ([2, 1, 3], "borda")
    assert not approximate.certified
    assert approximate.loss - exact.loss == pytest.approx(0.2)


def test_pairs_never_seen_leave_the_order_to_the_others():
    median = find_median_ranking(estimate_pairwise_probabilities([[np.nan, 2, 1], [2, np.nan, 1]]))
    assert (median.ranking.tolist(), median.loss, median.certified) == ([2, 3, 1], 0.0, True)


@given(rankings(missing=False), st.data())
def test_borda_sorts_complete_rankings_by_mean_rank(rows, data):
    from scipy.stats import rankdata

    weights = weights_for(data.draw, len(rows))
    means = np.average(rankdata(rows, axis=1), axis=0, weights=weights)
    order = np.argsort(np.round(means, 9), kind="stable")
    assert np.argsort(rank_by_borda(rows, weights)).tolist() == order.tolist()


def test_many_matrices_are_ranked_at_once():
    p = np.stack([estimate_pairwise_probabilities(rows).p for rows in (CYCLE, [[1, 2, 3]], [[3, 1, 2]])])
    assert rank_by_copeland(p).tolist() == [rank_by_copeland(one).tolist() for one in p]
    assert rank_by_pairwise_borda(p).tolist() == [rank_by_pairwise_borda(one).tolist() for one in p]


def test_borda_takes_over_where_an_exact_median_is_out_of_reach(monkeypatch):
    monkeypatch.setattr("symscreen.label_ranking.consensus.median._MAX_PROGRAM_LABELS", 2)
    monkeypatch.setattr("symscreen.label_ranking.consensus.median.MAX_SUBSET_LABELS", 2)
    p = estimate_pairwise_probabilities(CYCLE)
    median = find_median_ranking(p)
    assert (median.method, median.certified, median.ranking.tolist()) == ("borda", False, [1, 2, 3])
    with pytest.raises(OptionError, match="majority cycles connect 3 labels"):
        find_median_ranking(p, method="kemeny")


def test_an_unknown_method_is_refused():
    with pytest.raises(OptionError, match=r"unknown consensus method 'kemny'; did you mean 'kemeny'\?"):
        find_median_ranking(np.full((2, 2), 0.5), method="kemny")
