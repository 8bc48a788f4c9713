"""Statistics of rows that weigh differently, against the definition and against repeated rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from symscreen.errors import DataError
from symscreen.statistics.ranks.correlations import compute_pearson, compute_spearman
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference, compute_ranking_metric, compute_t0
from symscreen.statistics.ranks.weighted_ranks import (
    compute_weighted_gini_mean_difference,
    compute_weighted_pearson,
    compute_weighted_ranking_metric,
    compute_weighted_spearman,
)
from symscreen.targets import NumericTarget
from symscreen.targets.weighted import MAX_WEIGHT_RATIO, WeightedTarget, normalize_weights


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
    return sort_block(np.repeat(theta, many, axis=1)), NumericTarget(np.repeat(y, many))


@pytest.mark.parametrize("decimals", [0, 8])
def test_t0_is_the_definition_with_weights(rng, decimals):
    y = np.sort(np.round(rng.normal(size=25), decimals))
    theta = np.round(y + rng.normal(size=(6, 25)), decimals)
    w = rng.uniform(0.1, 3.0, 25)
    target = WeightedTarget(NumericTarget(y), normalize_weights(w))
    found = compute_weighted_gini_mean_difference(target) - compute_weighted_ranking_metric(
        sort_block(theta), target
    )
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
    target = WeightedTarget(NumericTarget(y), normalize_weights(w))
    ordered, (many, plain) = sort_block(theta), _repeated(theta, y, w)
    share = compute_weighted_ranking_metric(ordered, target) / compute_weighted_gini_mean_difference(target)
    assert share == pytest.approx(
        compute_ranking_metric(many, plain) / compute_gini_mean_difference(plain), abs=1e-12
    )
    factor = (w.sum() ** 2 - (w**2).sum()) / (plain.n * (plain.n - 1.0))
    t0 = compute_weighted_gini_mean_difference(target) - compute_weighted_ranking_metric(ordered, target)
    assert t0 * factor == pytest.approx(compute_t0(many, plain), abs=1e-11)
    assert compute_weighted_spearman(ordered, target) == pytest.approx(
        compute_spearman(many, plain), abs=1e-12
    )
    assert compute_weighted_pearson(ordered, target) == pytest.approx(compute_pearson(many, plain), abs=1e-12)


def test_weights_that_are_equal_are_none(rng):
    y, theta = np.sort(rng.normal(size=30)), rng.normal(size=(4, 30))
    plain, ordered = NumericTarget(y), sort_block(theta)
    target = WeightedTarget(plain, normalize_weights(np.full(30, 0.7)))
    assert compute_weighted_gini_mean_difference(target) == pytest.approx(
        compute_gini_mean_difference(plain), rel=1e-13
    )
    assert compute_weighted_ranking_metric(ordered, target) == pytest.approx(
        compute_ranking_metric(ordered, plain), rel=1e-12
    )
    assert compute_weighted_spearman(ordered, target) == pytest.approx(
        compute_spearman(ordered, plain), rel=1e-12
    )
    assert compute_weighted_pearson(ordered, target) == pytest.approx(
        compute_pearson(ordered, plain), rel=1e-12
    )


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_mirrored_ranks_are_exactly_the_negative_at_any_scale(rng, scale):
    y, theta = np.sort(rng.normal(size=40)), np.round(rng.normal(size=(5, 40)), 1)
    target = WeightedTarget(NumericTarget(y * scale), normalize_weights(rng.exponential(size=40)))
    near = WeightedTarget(NumericTarget(y), target.weights)
    one, other = sort_block(theta * scale), sort_block(-theta)
    for statistic in (compute_weighted_ranking_metric, compute_weighted_spearman):
        assert np.array_equal(statistic(one, near), -statistic(other, near))
    assert compute_weighted_pearson(one, target) == pytest.approx(
        -compute_weighted_pearson(other, near), rel=1e-12
    )
    assert compute_weighted_ranking_metric(one, target) == pytest.approx(
        scale * compute_weighted_ranking_metric(one, near), rel=1e-12
    )


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
    target, ordered = WeightedTarget(NumericTarget(y), normalize_weights(w)), sort_block(theta[None])
    scale = compute_weighted_gini_mean_difference(target)
    t0 = scale - compute_weighted_ranking_metric(ordered, target)[0]
    return (
        scale,
        t0,
        compute_weighted_spearman(ordered, target)[0],
        compute_weighted_pearson(ordered, target)[0],
    )


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
    assert normalize_weights(np.array([6.0, 9.0, 300.0])).tolist() == [2.0, 3.0, 100.0]
    some = np.array([0.1, 0.25, 1e-3, 7.0])
    found = normalize_weights(some)
    assert np.array_equal(found * 8.0, some)
    assert np.array_equal(found, normalize_weights(8.0 * some))
    assert normalize_weights(np.array([1e-310, 3e-308])).max() == np.frexp(3e-308)[0]


def test_other_weights_are_refused():
    plain = NumericTarget(np.array([1.0, 2.0, 3.0]))
    for weights in (
        [1.0, 2.0],
        [1.0, -0.5, 2.0],
        [0.0, 1.0, 1.0],
        [1.0, 1.0, np.inf],
        [3.0 * MAX_WEIGHT_RATIO, 2.0, 3.0],
    ):
        with pytest.raises(DataError, match="must be one positive number per row, the largest"):
            WeightedTarget(plain, np.array(weights))
