from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.errors import DataError, OptionError
from symscreen.evaluation.precision_recall import (
    average_precision,
    compute_expected_average_precision,
    pr_auc,
    roc_auc,
)
from symscreen.evaluation.selection import (
    aip,
    compute_paper_auc,
    draw_paper_scores,
    score_choice,
    select_top_features,
)

losses = st.lists(st.sampled_from([0.0, 1.0, 2.0, np.inf, np.nan]), min_size=3, max_size=6)
AREAS = {"roc": roc_auc, "pr": pr_auc, "ap": average_precision}


def choices(loss, size):
    """Yield every set of first features of an order by ascending loss."""
    loss = [np.inf if np.isnan(v) else v for v in loss]
    return [
        frozenset(order[:size])
        for order in permutations(range(len(loss)))
        if list(np.take(loss, order)) == sorted(loss)
    ]


@settings(max_examples=60)
@given(losses, st.integers(1, 3))
def test_a_feature_is_chosen_as_often_as_over_all_orders_of_the_tied(loss, size):
    sets = choices(loss, size)
    often = [Fraction(sum(i in one for one in sets), len(sets)) for i in range(len(loss))]
    assert select_top_features(np.array(loss), size).tolist() == pytest.approx([float(v) for v in often])


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=3, max_size=40), st.randoms())
def test_exactly_three_are_chosen_whatever_the_order_of_the_features(loss, random):
    chosen = select_top_features(np.array(loss))
    assert abs(chosen.sum() - 3.0) < 1e-12
    order = list(range(len(loss)))
    random.shuffle(order)
    assert select_top_features(np.array(loss)[order]).tolist() == chosen[order].tolist()


def test_a_method_that_finds_one_fills_the_rest_from_what_it_did_not_find():
    assert select_top_features(np.array([np.nan, 0.2, np.inf, np.nan, np.nan])).tolist() == [
        0.5,
        1.0,
        0.5,
        0.5,
        0.5,
    ]


def test_losses_beyond_the_selected_decide_who_fills_up():
    # one feature is selected; one of the others precedes the rest, which tie
    assert select_top_features(np.array([7.0, 0.0, 3.0, 7.0])).tolist() == [0.5, 1.0, 1.0, 0.5]


@pytest.mark.parametrize("size", [0, 4, 2.0, True])
def test_more_features_than_there_are_cannot_be_chosen(size):
    with pytest.raises(OptionError, match="from 1 to 3"):
        select_top_features(np.zeros(3), size)


def test_aip_is_the_summed_frequency_of_the_correct_over_the_size(rng):
    correct = np.arange(10) < 4
    picks = [rng.permutation(10)[:3] for _ in range(7)]
    chosen = np.array([np.isin(np.arange(10), pick).astype(float) for pick in picks])
    frequency = [sum(j in pick for pick in picks) / 7 for j in range(10)]
    assert aip(chosen, correct) == pytest.approx(sum(frequency[:4]) / 3)
    assert aip(chosen, correct) == pytest.approx(np.mean([aip(row, correct) for row in chosen]))
    assert aip(np.array([1.0, 1.0, 0.0]), np.array([True, False, True])) == 0.5
    assert aip(chosen, ~correct) == pytest.approx(1 - aip(chosen, correct))


def test_a_choice_at_random_has_the_share_as_its_aip(rng):
    correct = np.arange(42) < 20
    chosen = np.array([select_top_features(rng.uniform(size=42)) for _ in range(2000)])
    shares = (chosen * correct).sum(axis=1) / 3
    error = shares.std(ddof=1) / np.sqrt(len(shares))
    assert abs(aip(chosen, correct) - 20 / 42) < 4 * error < 0.03
    assert aip(select_top_features(np.zeros(42)), correct) == pytest.approx(20 / 42)


def paper_orders(loss, size):
    """Yield every order of the paper's scores: the selected features, then the rest, each in any order."""
    for first in choices(loss, size):
        rest = sorted(set(range(len(loss))) - first)
        for front, back in product(permutations(sorted(first)), permutations(rest)):
            yield [*front, *back]


@pytest.mark.slow
@pytest.mark.parametrize("area", ["roc", "pr", "ap"])
@pytest.mark.parametrize(
    ("loss", "correct", "size"),
    [
        ([0, 1, 2, 3, 4], [1, 0, 0, 1, 0], 2),
        ([0, 1, 1, 1, 4], [1, 0, 0, 1, 1], 2),
        ([0, 0, 0, 0], [1, 0, 0, 1], 3),
        ([0, 1, 1, np.nan], [0, 0, 0, 1], 3),
        ([0, 1, 2, 3], [1, 1, 1, 0], 1),
        ([0, 1, 2], [1, 1, 0], 3),
        ([0, 1, 2], [1, 1, 1], 2),
    ],
)
def test_the_expectation_is_the_mean_over_all_scores_and_truths(loss, correct, size, area):
    chosen, good = select_top_features(np.array(loss, dtype=float), size), np.array(correct, dtype=bool)
    places = np.arange(len(loss))

    @cache
    def compute_area(truths):
        """Compute the area for which features, from the first to the last, are correct."""
        return AREAS[area](places, np.array(truths))

    every, one = [], []
    for order in paper_orders(loss, size):
        every.append(compute_area(tuple(good[order])))
        one += [compute_area(tuple(feature == true for feature in order)) for true in np.flatnonzero(good)]
    assert compute_paper_auc(chosen, good, truth="all", area=area) == pytest.approx(
        np.mean(every), nan_ok=True
    )
    assert compute_paper_auc(chosen, good, truth="one", area=area) == pytest.approx(np.mean(one))


@pytest.mark.slow
@pytest.mark.parametrize("area", ["roc", "pr", "ap"])
@pytest.mark.parametrize("truth", ["one", "all"])
def test_the_draws_scatter_about_the_expectation(truth, area):
    chosen, good = (
        select_top_features(np.array([0, 1, 1, 1, 1, 2, 2, 3, 3, 3.0])),
        np.array([1, 1, 1, 0, 0, 0, 1, 0, 0, 0]) > 0,
    )
    singles = [
        compute_paper_auc(chosen, good, truth=truth, area=area, draws=1, seed=seed) for seed in range(80)
    ]
    error = np.std(singles, ddof=1) / np.sqrt(len(singles))
    assert abs(np.mean(singles) - compute_paper_auc(chosen, good, truth=truth, area=area)) < 4 * error


def test_draws_are_those_of_their_seed():
    chosen, good = select_top_features(np.arange(12.0)), np.arange(12) % 2 == 0
    areas = [compute_paper_auc(chosen, good, draws=3, seed=seed) for seed in (1, 1, 2)]
    assert areas[0] == areas[1] != areas[2]


def test_the_paper_s_scores_put_the_chosen_first_and_are_otherwise_random(rng):
    chosen = select_top_features(np.array([5.0, 0.0, 1.0, 1.0, 1.0, 5.0, 5.0]))
    first = np.zeros(7)
    orders = set()
    for _ in range(600):
        scores = draw_paper_scores(chosen, rng)
        order = np.argsort(-scores)
        assert 1 in order[:3]
        assert set(order[:3]) <= {1, 2, 3, 4}
        assert 0.0 <= scores.min() < scores.max() < 1.0
        first[order[:3]] += 1
        orders.add(tuple(order))
    assert np.abs(first[2:5] / 600 - 2 / 3).max() < 0.1
    assert len(orders) > 300  # of 3 · 3! · 4! = 432


@pytest.mark.parametrize(("q", "c"), [(24, 12), (42, 20), (30, 1)])
def test_a_choice_at_random_scores_the_diagonal(q, c):
    correct = np.arange(q) < c
    random = np.full(q, 3 / q)
    harmonic = sum(1 / r for r in range(1, q + 1))
    for truth in ("one", "all"):
        assert compute_paper_auc(random, correct, truth=truth) == pytest.approx(0.5)
    assert compute_paper_auc(random, correct, truth="all", area="ap") == pytest.approx(
        compute_expected_average_precision(q, c)
    )
    assert compute_paper_auc(random, correct, truth="one", area="ap") == pytest.approx(harmonic / q)


def test_the_documented_formula_and_what_the_best_choice_scores():
    q, s = 24, 3
    correct = np.arange(q) < 12
    for m in range(4):
        chosen = np.zeros(q)
        chosen[[*range(m), *range(23, 20 + m, -1)]] = 1.0
        u = m / 12
        expected = u * (q - (s + 1) / 2) / (q - 1) + (1 - u) * (q - s - 1) / 2 / (q - 1)
        assert compute_paper_auc(chosen, correct) == pytest.approx(expected)
    assert compute_paper_auc(chosen, correct) == pytest.approx(0.565, abs=5e-4)
    assert compute_paper_auc(chosen, correct, truth="all") == 0.625
    # depends only on the number of correct features selected: AIP on another scale
    scores = [
        compute_paper_auc(np.isin(np.arange(6), pick) * 1.0, np.arange(6) < 3, truth="all")
        for pick in combinations(range(6), 3)
    ]
    shares = [aip(np.isin(np.arange(6), pick) * 1.0, np.arange(6) < 3) for pick in combinations(range(6), 3)]
    assert len(set(zip(np.round(scores, 12), np.round(shares, 12), strict=True))) == 4
    assert np.corrcoef(scores, shares)[0, 1] == pytest.approx(1.0)


def test_one_call_scores_a_choice_by_either_protocol():
    loss, correct = np.array([3.0, 0.0, 1.0, 1.0, 1.0]), np.array([True, True, False, True, False])
    chosen = select_top_features(loss, 2)
    assert score_choice(loss, correct, size=2) == aip(chosen, correct)
    assert score_choice(loss, correct, size=2, protocol="paper") == compute_paper_auc(chosen, correct)
    assert score_choice(loss, correct, size=2, protocol="paper", truth="all") == compute_paper_auc(
        chosen, correct, truth="all"
    )


def test_without_a_correct_feature_the_paper_s_area_is_undefined_and_aip_is_0():
    chosen, none = select_top_features(np.arange(5.0)), np.zeros(5, dtype=bool)
    assert aip(chosen, none) == 0.0
    for truth, draws in [("one", None), ("all", None), ("one", 2)]:
        assert np.isnan(compute_paper_auc(chosen, none, truth=truth, draws=draws))
    assert np.isnan(compute_paper_auc(chosen, ~none, truth="all"))
    assert compute_paper_auc(chosen, ~none, truth="one") == pytest.approx(0.5)


def test_what_cannot_be_scored_is_refused():
    correct = np.arange(4) < 2
    with pytest.raises(DataError, match="per feature"):
        aip(np.ones(3), correct)
    with pytest.raises(OptionError, match="same integer number"):
        aip(np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]]), correct)
    for wrong in ([0.5, 0.25, 0.25, 1.0], [1.5, 0.5, 0.0, 0.0], [1.0, np.nan, 1.0, 1.0]):
        with pytest.raises(OptionError, match="selection"):
            compute_paper_auc(np.array(wrong), correct)
    for options in ({"truth": "al"}, {"area": "rok"}):
        with pytest.raises(OptionError, match="did you mean"):
            compute_paper_auc(np.ones(4), correct, **options)
    with pytest.raises(OptionError, match="at least 1"):
        compute_paper_auc(np.ones(4), correct, draws=0)
    with pytest.raises(OptionError, match="did you mean 'paper'"):
        score_choice(np.zeros(4), correct, protocol="papers")
