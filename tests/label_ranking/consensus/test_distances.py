from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from helpers.ranking_cases import distance_by_definition, rankings, signs_by_pair
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata, spearmanr

from symscreen.errors import DataError, OptionError
from symscreen.label_ranking.consensus.distances import (
    d2,
    footrule,
    kendall_distance,
    kendall_tau,
    kendall_tau_b,
    mean_kendall_tau,
    order_list_tau,
)
from symscreen.targets.ranking_ranks import to_mid_ranks, to_orders

PAGE = Path(__file__).resolve().parents[3] / "docs" / "rankings.md"


@st.composite
def couples(draw, **kinds):
    """Draw two arrays of rankings with the same shape."""
    a = draw(rankings(**kinds))
    order = draw(st.permutations(range(a.shape[1])))
    return a, a[::-1][:, order]


def _shared(x, y):
    both = ~np.isnan(x + y)
    return x[both], y[both]


@given(couples())
def test_the_distance_is_its_definition(couple):
    a, b = couple
    assert kendall_distance(a, b).tolist() == [
        distance_by_definition(x, y) for x, y in zip(a, b, strict=True)
    ]


@given(couples())
def test_tau_compares_the_pairs_that_neither_ties(couple):
    a, b = couple
    for x, y, tau in zip(a, b, kendall_tau(a, b), strict=True):
        products = [s * t for s, t in zip(signs_by_pair(x), signs_by_pair(y), strict=True) if s and t]
        assert np.isnan(tau) if not products else tau == sum(products) / len(products)


@given(couples())
def test_tau_b_is_scipys_over_the_labels_that_both_show(couple):
    a, b = couple
    for x, y, tau in zip(a, b, kendall_tau_b(a, b), strict=True):
        one, two = _shared(x, y)
        if len(set(one.tolist())) < 2 or len(set(two.tolist())) < 2:
            assert np.isnan(tau)
        else:
            assert tau == pytest.approx(kendalltau(one, two).statistic, abs=1e-12)


@pytest.mark.slow
@given(couples())
def test_footrule_and_d2_rank_anew_what_both_show(couple):
    a, b = couple
    for x, y, sizes, squares in zip(a, b, footrule(a, b), d2(a, b), strict=True):
        one, two = _shared(x, y)
        apart = rankdata(one) - rankdata(two) if one.size else np.zeros(0)
        assert sizes == np.abs(apart).sum()
        assert squares == (apart**2).sum()


@given(couples(ties=False, missing=False, least_labels=2))
def test_coefficients_of_complete_rankings_are_the_distances_rescaled(couple):
    a, b = couple
    k = a.shape[1]
    assert np.allclose(kendall_tau(a, b), 1 - 4 * kendall_distance(a, b) / (k * (k - 1)))
    rho = [spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)]
    assert np.allclose(1 - 6 * d2(a, b) / (k * (k * k - 1)), rho)


@pytest.mark.slow
@given(couples(missing=False))
def test_distances_are_symmetric_and_zero_only_for_the_same(couple):
    a, b = couple
    same = (to_mid_ranks(a) == to_mid_ranks(b)).all(axis=1)
    for distance in (kendall_distance, footrule, d2):
        assert np.array_equal(distance(a, b), distance(b, a))
        assert np.array_equal(distance(a, b) == 0, same)


@given(couples(missing=False), st.data())
def test_the_triangle_inequality_holds_for_complete_rankings(couple, data):
    a, c = couple
    b = data.draw(rankings(least_labels=a.shape[1], most_labels=a.shape[1], missing=False))[:1]
    for distance in (kendall_distance, footrule):
        assert (distance(a, c) <= distance(a, b) + distance(b, c)).all()


def test_one_ranking_is_compared_with_all_rows():
    rows = np.array(list(permutations([1.0, 2.0, 3.0])))
    center = [2.0, 1.0, 3.0]
    for measure in (kendall_distance, kendall_tau, kendall_tau_b, footrule, d2, order_list_tau):
        repeated = np.tile(center, (len(rows), 1))
        assert np.array_equal(measure(rows, center), measure(rows, repeated))
        assert np.array_equal(measure(center, rows), measure(repeated, rows))


def test_only_the_order_counts():
    a, b = [[0, 10, 20]], [[-5.0, 3.0, 2.5]]
    assert footrule(a, b).tolist() == [2.0]
    assert d2(a, b).tolist() == [2.0]


@given(couples(ties=False, missing=False, least_labels=2))
def test_the_published_variant_is_scipys_tau_of_the_order_lists(couple):
    a, b = couple
    lists = zip(to_orders(a), to_orders(b), strict=True)
    assert np.allclose(order_list_tau(a, b), [kendalltau(x, y).statistic for x, y in lists])


def test_the_published_variant_differs_from_kendalls_tau_as_the_page_on_rankings_says():
    a, b = [[2, 1, 3]], [2, 3, 1]
    found = [
        Fraction(float(measure(a, b)[0])).limit_denominator(9) for measure in (order_list_tau, kendall_tau)
    ]
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    sentence = f"for 2, 1, 3 and 2, 3, 1 it is {found[0]}, where τ is {found[1]}.".replace("-", "−")
    assert sentence in text


def test_the_published_variant_has_no_place_for_ties_and_gaps():
    with pytest.raises(DataError, match=r"row 0 .* has ties, for which no order list exists"):
        order_list_tau([[1, 1, 2]], [1, 2, 3])
    with pytest.raises(DataError, match="lacks 1 of 3 labels"):
        order_list_tau([[1, 2, 3]], [1, np.nan, 3])


def test_the_mean_leaves_out_rows_that_tell_nothing():
    rows, weights = [[1, 2, 3], [3, 2, 1], [np.nan, 1, np.nan]], [3.0, 1.0, 9.0]
    assert mean_kendall_tau(rows, [1, 2, 3], weights) == 0.5
    assert np.isnan(mean_kendall_tau([[1.0]], [[1.0]]))
    with pytest.raises(OptionError, match="the weight of row 1 is -1: weights must be finite"):
        mean_kendall_tau(rows, [1, 2, 3], [1.0, -1.0, 1.0])


@pytest.mark.parametrize(("a", "b"), [(np.ones((2, 3)), np.ones((3, 3))), (np.ones((2, 3)), np.ones(4))])
def test_rankings_that_do_not_match_are_refused(a, b):
    with pytest.raises(DataError, match="cannot be compared"):
        kendall_tau(a, b)
