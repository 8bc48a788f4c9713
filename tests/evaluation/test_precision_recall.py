from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc, precision_recall_curve, roc_curve

import symscreen
from symscreen.errors import DataError, OptionError
from symscreen.evaluation.precision_recall import (
    average_precision,
    compute_expected_average_precision,
    compute_first_correct_rank,
    compute_grouped_recall,
    compute_precision_at,
    compute_precision_recall_curve,
    compute_recall_at,
    group_ties,
    pr_auc,
    roc_auc,
)

# few levels, so that there are ties; NaN and infinity for features that were not found
levels = st.sampled_from([-np.inf, -1.0, 0.0, -0.0, 0.5, 1e-300, np.nan, np.inf])
rankings = st.lists(st.tuples(levels, st.booleans()), min_size=1, max_size=9)
small = st.lists(st.tuples(st.sampled_from([0.0, 1.0, np.nan]), st.booleans()), min_size=1, max_size=5)


def apart(ranking):
    loss, correct = zip(*ranking, strict=True)
    return np.array(loss), np.array(correct)


def seen(loss):
    """Replace NaN by infinity."""
    return [np.inf if np.isnan(v) else v for v in loss]


def precision_among(loss, correct, threshold):
    inside = [c for v, c in zip(seen(loss), correct, strict=True) if v <= threshold]
    return Fraction(sum(map(int, inside)), len(inside))


def average_precision_by_definition(loss, correct):
    """Compute the mean over the correct features of the precision among all features not worse."""
    own = [precision_among(loss, correct, v) for v, c in zip(seen(loss), correct, strict=True) if c]
    return sum(own, Fraction(0)) / len(own)


def trapezoid_by_definition(loss, correct):
    total = int(np.sum(correct))
    area, last_recall, last_precision = Fraction(0), Fraction(0), Fraction(1)
    for threshold in sorted(set(seen(loss))):
        hits = sum(bool(c) for v, c in zip(seen(loss), correct, strict=True) if v <= threshold)
        recall, precision = Fraction(hits, total), precision_among(loss, correct, threshold)
        area += (recall - last_recall) * (last_precision + precision) / 2
        last_recall, last_precision = recall, precision
    return area


def roc_by_pairs(loss, correct):
    loss = seen(loss)
    pairs = [(loss[i], loss[j]) for i in np.flatnonzero(correct) for j in np.flatnonzero(~correct)]
    return sum(Fraction(int(a < b)) + Fraction(int(a == b), 2) for a, b in pairs) / len(pairs)


def orders(loss):
    """Yield every order of the features by ascending loss."""
    loss = seen(loss)
    for order in permutations(range(len(loss))):
        if all(loss[a] <= loss[b] for a, b in pairwise(order)):
            yield list(order)


def middle_ranks(loss):
    loss = seen(loss)
    return [sum(w < v for w in loss) + Fraction(sum(w == v for w in loss) + 1, 2) for v in loss]


@settings(max_examples=80)
@given(rankings)
def test_every_figure_is_its_definition(ranking):
    loss, correct = apart(ranking)
    if not correct.any():
        return
    assert average_precision(loss, correct) == pytest.approx(
        float(average_precision_by_definition(loss, correct))
    )
    assert pr_auc(loss, correct) == pytest.approx(float(trapezoid_by_definition(loss, correct)))
    assert compute_first_correct_rank(loss, correct) == float(
        min(r for r, c in zip(middle_ranks(loss), correct, strict=True) if c)
    )
    if not correct.all():
        assert roc_auc(loss, correct) == pytest.approx(float(roc_by_pairs(loss, correct)))


@settings(max_examples=60)
@given(small, st.integers(1, 7))
def test_recall_at_is_the_mean_over_all_orders_of_the_tied(ranking, k):
    loss, correct = apart(ranking)
    found = [sum(correct[i] for i in order[:k]) for order in orders(loss)]
    if correct.any():
        assert compute_recall_at(loss, correct, k) == pytest.approx(np.mean(found) / correct.sum())


@settings(max_examples=60)
@given(rankings)
def test_the_curve_is_that_of_scikit_learn_without_its_extra_point(ranking):
    loss, correct = apart(ranking)
    if not correct.any():
        return
    curve = compute_precision_recall_curve(loss, correct)
    finite = np.clip(np.nan_to_num(loss, nan=9.0), -9.0, 9.0)
    precision, recall, thresholds = precision_recall_curve(correct, -finite)
    assert curve.precision.tolist() == precision[::-1][1:].tolist()
    assert curve.recall.tolist() == recall[::-1][1:].tolist()
    assert np.clip(curve.thresholds, -9.0, 9.0).tolist() == (-thresholds[::-1]).tolist()
    assert pr_auc(loss, correct) == pytest.approx(auc(recall, precision))
    if not correct.all():
        fpr, tpr, _ = roc_curve(correct, -finite)
        assert roc_auc(loss, correct) == pytest.approx(auc(fpr, tpr))


def all_figures(loss, correct):
    curve = compute_precision_recall_curve(loss, correct)
    return [
        average_precision(loss, correct),
        pr_auc(loss, correct),
        roc_auc(loss, correct),
        compute_recall_at(loss, correct, 2),
        compute_first_correct_rank(loss, correct),
        *curve.recall,
        *curve.precision,
        *curve.thresholds,
    ]


@settings(max_examples=40)
@given(rankings, st.randoms())
def test_the_order_of_the_features_does_not_change_a_bit(ranking, random):
    before = all_figures(*apart(ranking))
    random.shuffle(ranking)
    np.testing.assert_array_equal(all_figures(*apart(ranking)), before)


@settings(max_examples=40)
@given(rankings)
def test_only_the_order_of_the_losses_counts(ranking):
    loss, correct = apart(ranking)
    other = np.arctan(np.sign(loss) * np.abs(loss) ** 0.01) * 1e-6
    np.testing.assert_array_equal(
        all_figures(loss, correct)[:5], all_figures(np.where(loss == np.inf, np.nan, other), correct)[:5]
    )


@pytest.mark.parametrize("q", [0, 1, 4])
def test_without_a_correct_feature_every_figure_is_undefined(q):
    loss, none = np.arange(q) * 1.0, np.zeros(q, dtype=bool)
    figures = [
        average_precision,
        pr_auc,
        roc_auc,
        compute_first_correct_rank,
        lambda a, b: compute_recall_at(a, b, 3),
    ]
    assert all(np.isnan(figure(loss, none)) for figure in figures)
    curve = compute_precision_recall_curve(loss, none)
    assert np.isnan(curve.recall).all()
    assert curve.precision.tolist() == [0.0] * q == [0.0 * v for v in curve.thresholds]


def test_where_all_are_correct_only_the_roc_curve_is_undefined():
    loss, every = np.array([3.0, 1.0, 1.0, np.nan]), np.ones(4, dtype=bool)
    assert average_precision(loss, every) == pr_auc(loss, every) == 1.0
    assert np.isnan(roc_auc(loss, every))
    assert compute_recall_at(loss, every, 1) == 0.25
    assert compute_first_correct_rank(loss, every) == 1.5


def test_what_was_never_found_is_last_and_tied():
    loss, correct = np.array([np.nan, 1e300, np.inf]), np.array([True, False, False])
    assert average_precision(loss, correct) == pytest.approx(1 / 3)
    assert roc_auc(loss, correct) == 0.25
    assert compute_first_correct_rank(loss, correct) == 2.5
    assert compute_recall_at(loss, correct, 2) == 0.5


def test_losses_tie_only_where_they_are_equal():
    nearly = np.array([0.3, 0.1 + 0.2])
    assert group_ties(nearly, nearly > 0)[1].tolist() == [0, 1]
    assert group_ties(np.array([0.0, -0.0]), nearly > 0)[1].tolist() == [0, 0]


def test_all_tied_has_exactly_the_share_as_its_average_precision():
    for q, c in [(24, 12), (42, 20), (1001, 7)]:
        correct = np.arange(q) < c
        assert average_precision(np.zeros(q), correct) == c / q
        assert pr_auc(np.zeros(q), correct) == (1 + c / q) / 2
        assert roc_auc(np.zeros(q), correct) == 0.5
        assert compute_first_correct_rank(np.zeros(q), correct) == (q + 1) / 2


@pytest.mark.parametrize(("q", "c"), [(1, 1), (2, 1), (5, 1), (5, 3), (6, 2), (4, 4)])
def test_what_chance_scores_is_the_mean_over_all_orders(q, c):
    correct = np.arange(q) < c
    places = np.arange(1, q + 1)
    means = [
        np.mean((np.cumsum(correct[list(order)]) / places)[correct[list(order)]])
        for order in permutations(range(q))
    ]
    assert compute_expected_average_precision(q, c) == pytest.approx(np.mean(means))


def test_chance_scores_more_than_the_share_by_what_is_documented():
    for q, c, excess in [(24, 12, 0.06), (100_000, 50_000, 6e-5), (1_000_000, 1, 13e-6)]:
        above = compute_expected_average_precision(q, c) - c / q
        assert above == pytest.approx(excess, rel=0.1)
        harmonic = (1 / np.arange(1, q + 1)).sum()
        assert above == pytest.approx((harmonic - 1) / (q - 1) * (1 - c / q), rel=1e-6)


@pytest.mark.slow
def test_a_random_order_has_the_share_as_its_average_precision_within_error(rng):
    q, share, repeats = 20_000, 0.3, 40
    correct = np.arange(q) < share * q
    random = np.array([average_precision(rng.uniform(size=q), correct) for _ in range(repeats)])
    error = random.std(ddof=1) / np.sqrt(repeats)
    assert error < 0.001
    assert abs(random.mean() - share) < 4 * error + 2e-4
    # an order with little information is distinguished from chance
    hint = [average_precision(rng.uniform(size=q) - 0.02 * correct, correct) for _ in range(repeats)]
    assert np.mean(hint) - share > 8 * error


@pytest.mark.slow
def test_a_random_order_of_few_features_scores_what_chance_does_and_not_the_share(rng):
    correct = np.arange(24) < 12
    random = np.array([average_precision(rng.uniform(size=24), correct) for _ in range(800)])
    error = random.std(ddof=1) / np.sqrt(random.size)
    assert abs(random.mean() - compute_expected_average_precision(24, 12)) < 4 * error
    assert random.mean() - 0.5 > 8 * error


def test_a_wrong_truth_scores_near_the_share_and_the_right_one_far_above(rng):
    y = rng.normal(size=80)
    related = y + rng.normal(0, 0.5, (30, 80))
    features = np.concatenate((related, rng.normal(size=(570, 80))))
    loss = symscreen.t0(features.T, y)
    right = np.arange(600) < 30
    assert average_precision(loss, right) > 0.99
    # thirty others, independent of y
    wrong = [average_precision(loss, np.isin(np.arange(600), s + np.arange(30))) for s in range(30, 600, 30)]
    assert abs(np.mean(wrong) - 0.05) < 0.02
    assert max(wrong) < 0.15


def test_columns_that_do_not_match_are_refused():
    for loss, correct in [(np.zeros(3), np.zeros(2, bool)), (np.zeros((2, 2)), np.zeros((2, 2), bool))]:
        with pytest.raises(DataError, match="one value of each per feature"):
            compute_precision_recall_curve(loss, correct)


@pytest.mark.parametrize("k", [0, -1, 2.5, True])
def test_recall_needs_a_positive_integer(k):
    with pytest.raises(OptionError, match="integer ≥ 1"):
        compute_recall_at(np.zeros(3), np.ones(3, bool), k)


def test_recall_looks_at_no_more_features_than_there_are():
    assert compute_grouped_recall(np.array([2, 1]), np.array([1, 1]), 100) == 1.0


@pytest.mark.parametrize(("q", "c"), [(0, 0), (3, 4), (3, -1)])
def test_more_correct_features_than_features_are_refused(q, c):
    with pytest.raises(OptionError, match="correct of"):
        compute_expected_average_precision(q, c)


def test_the_precision_at_a_recall_is_that_of_the_first_group_that_reaches_it():
    curve = compute_precision_recall_curve(
        np.array([0.0, 1.0, 1.0, 2.0, 3.0]), np.array([False, True, True, False, True])
    )
    assert (
        compute_precision_at(curve, np.array([1e-9, 1 / 3, 2 / 3, 0.67, 1.0])).tolist()
        == [2 / 3] * 3 + [0.6] * 2
    )
    assert (
        np.isnan(
            compute_precision_at(compute_precision_recall_curve(np.zeros(2), np.zeros(2, bool)), np.ones(3))
        ).tolist()
        == [True] * 3
    )
    for outside in (0.0, 1.1, np.nan):
        with pytest.raises(OptionError, match="outside"):
            compute_precision_at(curve, np.array([outside]))


@pytest.mark.slow
def test_scikit_learn_is_imported_only_where_a_figure_is_computed():
    script = (
        "import sys, symscreen.evaluation.precision_recall, symscreen.evaluation.truncated_rankings\n"
        "import symscreen.evaluation.selection, symscreen.evaluation.selection\n"
        "assert not {'sklearn', 'matplotlib'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
