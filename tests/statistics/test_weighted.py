"""Statistics of rows that weigh differently, against the definition and against repeated rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from symscreen.errors import TableError
from symscreen.response import Response
from symscreen.response.weighted import LARGEST_RATIO, WeightedResponse, scaled_weights
from symscreen.statistics.correlation import pearson_of, spearman_of
from symscreen.statistics.order import order_features
from symscreen.statistics.t0 import gini_mean_difference, ranking_metric, t0_of
from symscreen.statistics.weighted import (
    weighted_gini_difference,
    weighted_metric,
    weighted_pearson,
    weighted_spearman,
)


def _by_definition(theta, y, w):
    """Luo and Li (2024, eq. 18), each ordered pair of distinct rows with its weight."""
    total = below = 0.0
    for i in range(len(y)):
        for j in range(len(y)):
            if i != j:
                against = (theta[i] >= theta[j]) * (y[i] < y[j]) + (theta[i] < theta[j]) * (y[i] >= y[j])
                total += w[i] * w[j] * 2 * abs(y[i] - y[j]) * against
                below += w[i] * w[j]
    return total / below


def _repeated(theta, y, w):
    many = w.astype(int)
    return order_features(np.repeat(theta, many, axis=1)), Response(np.repeat(y, many))


@pytest.mark.parametrize("decimals", [0, 8])
def test_t0_is_the_definition_with_weights(rng, decimals):
    y = np.sort(np.round(rng.normal(size=25), decimals))
    theta = np.round(y + rng.normal(size=(6, 25)), decimals)
    w = rng.uniform(0.1, 3.0, 25)
    response = WeightedResponse(Response(y), scaled_weights(w))
    found = weighted_gini_difference(response) - weighted_metric(order_features(theta), response)
    assert found == pytest.approx([_by_definition(each, y, w) for each in theta], rel=1e-11)


@settings(max_examples=30, deadline=None)
@given(
    y=arrays(np.float64, 12, elements=st.integers(-4, 4)),
    theta=arrays(np.float64, (3, 12), elements=st.integers(-3, 3)),
    w=arrays(np.float64, 12, elements=st.integers(1, 5)),
)
def test_whole_weights_are_repeated_rows(y, theta, w):
    if np.ptp(y) == 0 or (np.ptp(theta, axis=1) == 0).any():
        return
    y = np.sort(y)
    response = WeightedResponse(Response(y), scaled_weights(w))
    ordered, (many, plain) = order_features(theta), _repeated(theta, y, w)
    share = weighted_metric(ordered, response) / weighted_gini_difference(response)
    assert share == pytest.approx(ranking_metric(many, plain) / gini_mean_difference(plain), abs=1e-12)
    factor = (w.sum() ** 2 - (w**2).sum()) / (plain.n * (plain.n - 1.0))
    t0 = weighted_gini_difference(response) - weighted_metric(ordered, response)
    assert t0 * factor == pytest.approx(t0_of(many, plain), abs=1e-11)
    assert weighted_spearman(ordered, response) == pytest.approx(spearman_of(many, plain), abs=1e-12)
    assert weighted_pearson(ordered, response) == pytest.approx(pearson_of(many, plain), abs=1e-12)


def test_weights_that_are_equal_are_none(rng):
    y, theta = np.sort(rng.normal(size=30)), rng.normal(size=(4, 30))
    plain, ordered = Response(y), order_features(theta)
    response = WeightedResponse(plain, scaled_weights(np.full(30, 0.7)))
    assert weighted_gini_difference(response) == pytest.approx(gini_mean_difference(plain), rel=1e-13)
    assert weighted_metric(ordered, response) == pytest.approx(ranking_metric(ordered, plain), rel=1e-12)
    assert weighted_spearman(ordered, response) == pytest.approx(spearman_of(ordered, plain), rel=1e-12)
    assert weighted_pearson(ordered, response) == pytest.approx(pearson_of(ordered, plain), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_mirrored_ranks_are_exactly_the_negative_at_any_scale(rng, scale):
    y, theta = np.sort(rng.normal(size=40)), np.round(rng.normal(size=(5, 40)), 1)
    response = WeightedResponse(Response(y * scale), scaled_weights(rng.exponential(size=40)))
    near = WeightedResponse(Response(y), response.weights)
    one, other = order_features(theta * scale), order_features(-theta)
    for statistic in (weighted_metric, weighted_spearman):
        assert np.array_equal(statistic(one, near), -statistic(other, near))
    assert weighted_pearson(one, response) == pytest.approx(-weighted_pearson(other, near), rel=1e-12)
    assert weighted_metric(one, response) == pytest.approx(scale * weighted_metric(one, near), rel=1e-12)


def _exactly(theta, y, w):
    """Δ and, of a feature, T0, Spearman's ρ and Pearson's r, from sums without any rounding."""
    theta, y, w = ([Fraction(float(one)) for one in some] for some in (theta, y, w))
    n, total = range(len(y)), sum(w)
    pairs = sum(w[i] * w[j] for i in n for j in n if i != j)
    scale = sum(w[i] * w[j] * abs(y[i] - y[j]) for i in n for j in n)
    agree = sum(
        w[i] * w[j] * (y[i] - y[j]) * ((theta[i] > theta[j]) - (theta[i] < theta[j])) for i in n for j in n
    )
    ranks = [[sum(w[j] * ((z[i] > z[j]) - (z[i] < z[j])) for j in n) for i in n] for z in (theta, y)]
    values = [[z[i] - sum(w[j] * z[j] for j in n) / total for i in n] for z in (theta, y)]
    correlations = []
    for one, other in (ranks, values):
        spreads = sum(w[i] * one[i] ** 2 for i in n) * sum(w[i] * other[i] ** 2 for i in n)
        correlations.append(float(sum(w[i] * one[i] * other[i] for i in n)) / float(spreads) ** 0.5)
    return float(scale / pairs), float((scale - agree) / pairs), *correlations


def _found(theta, y, w):
    response, ordered = WeightedResponse(Response(y), scaled_weights(w)), order_features(theta[None])
    scale = weighted_gini_difference(response)
    t0 = scale - weighted_metric(ordered, response)[0]
    return scale, t0, weighted_spearman(ordered, response)[0], weighted_pearson(ordered, response)[0]


@pytest.mark.parametrize("power", [0, 3, 6, 9, 12, 15, 17])
@pytest.mark.parametrize("heavy", [1, 2])
@pytest.mark.parametrize("decimals", [0, 8])
def test_rows_may_weigh_nearly_all(rng, power, heavy, decimals):
    y = np.sort(np.round(3.0 + rng.normal(size=9), decimals))
    theta = np.round(y + rng.normal(size=9), decimals)
    w = rng.uniform(0.1, 1.0, 9)
    w[rng.permutation(9)[:heavy]] *= 10.0**power
    scale, *others = _found(theta, y, w)
    exact, *known = _exactly(theta, y, w)
    assert scale == pytest.approx(exact, rel=1e-13)
    assert others == pytest.approx(known, abs=1e-12 * max(1.0, exact))


@pytest.mark.parametrize("power", [3, 12, 17])
def test_rows_may_weigh_nearly_all_where_values_are_far_from_0(rng, power):
    y, theta, w = np.sort(1e6 + rng.normal(size=9)), 2e6 + rng.normal(size=9), rng.uniform(0.1, 1.0, 9)
    w[rng.integers(9)] *= 10.0**power
    scale, *others = _found(theta, y, w)
    exact, *known = _exactly(theta, y, w)
    assert scale == pytest.approx(exact, rel=1e-12)
    assert others == pytest.approx(known, abs=1e-12 * max(1.0, exact))


@pytest.mark.parametrize("power", [3, 6, 9, 12])
def test_responses_far_off_may_weigh_little(rng, power):
    y, theta, w = np.sort(rng.normal(size=9)), rng.normal(size=9), rng.uniform(0.1, 1.0, 9)
    y[8], w[8] = 10.0**power, 10.0**-power
    scale, t0, *_ = _found(theta, y, w)
    exact, known, *_ = _exactly(theta, y, w)
    assert scale == pytest.approx(exact, rel=1e-13)
    assert t0 == pytest.approx(known, abs=1e-13 * exact)


@pytest.mark.parametrize("heaviest", [1e14, 1e15])
def test_whole_and_broken_weights_beside_one_that_is_large(heaviest):
    y, theta = np.arange(6.0), np.array([2.5, 2.0, 1.0, 3.0, 5.0, 4.0])
    w = np.array([heaviest, 0.3, 0.7, 0.3, 0.3, 20.0])
    assert _found(theta, y, w)[1] == pytest.approx(_exactly(theta, y, w)[1], rel=1e-12)


def test_scaled_weights_keep_ratios():
    assert scaled_weights(np.array([6.0, 9.0, 300.0])).tolist() == [2.0, 3.0, 100.0]
    some = np.array([0.1, 0.25, 1e-3, 7.0])
    found = scaled_weights(some)
    assert np.array_equal(found * 8.0, some)
    assert np.array_equal(found, scaled_weights(8.0 * some))
    assert scaled_weights(np.array([1e-310, 3e-308])).max() == np.frexp(3e-308)[0]


def test_other_weights_are_refused():
    plain = Response(np.array([1.0, 2.0, 3.0]))
    for weights in (
        [1.0, 2.0],
        [1.0, -0.5, 2.0],
        [0.0, 1.0, 1.0],
        [1.0, 1.0, np.inf],
        [3.0 * LARGEST_RATIO, 2.0, 3.0],
    ):
        with pytest.raises(TableError, match="no positive numbers, one a row, of which"):
            WeightedResponse(plain, np.array(weights))
