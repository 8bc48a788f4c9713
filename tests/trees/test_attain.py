from __future__ import annotations

import numpy as np
import pytest
from helpers.tree_cases import two_columns
from hypothesis import given
from hypothesis import strategies as st

from symscreen.trees import compute_split_loss, find_attainable_splits, find_best_split, find_oracle_partition

FIGURE_2 = [
    ([0.1, 0.3, 0.5, 0.6, 0.9], [5.0, 2.1, 1.0, 2.0, 4.0]),
    ([0.1, 0.25, 0.5, 0.6, 0.9], [5.0, 3.9, 1.0, 2.0, 4.0]),
]


@given(two_columns())
def test_it_finds_every_split_into_smaller_and_larger_responses(pair):
    z, y = pair
    expected = set()
    for c in sorted(set(z))[:-1]:
        left, right = np.sort(y[z <= c]), np.sort(y[z > c])
        if left[-1] <= right[0]:
            expected.add(len(left))
        if left[0] >= right[-1]:
            expected.add(len(right))
    found = find_attainable_splits(z, y)
    assert [one.n_low for one in found] == sorted(expected)
    for one in found:
        assert one.threshold in z
        assert one.loss == pytest.approx(compute_split_loss(z, y, one.threshold), abs=1e-9)
        left = y[z <= one.threshold]
        smaller = left if one.is_rising else y[z > one.threshold]
        assert np.sort(smaller).tolist() == np.sort(y)[: one.n_low].tolist()


@given(two_columns(least=3))
def test_where_the_oracle_is_attained_the_best_split_finds_it(pair):
    # Corollary 4: a split is an oracle partition if and only if its loss is not larger
    z, y = pair
    if len(set(z)) > 1 and len(set(y)) > 1:
        oracle = find_oracle_partition(y).loss
        attained = any(one.loss == oracle for one in find_attainable_splits(z, y))
        assert attained == (find_best_split(z, y).loss <= oracle + 1e-9)


@pytest.mark.parametrize(("map_", "rising"), [(np.exp, True), (lambda x: x**3, True), (lambda x: -x, False)])
def test_a_monotone_feature_attains_all(rng, map_, rising):
    # Example 4
    y = rng.normal(size=30)
    found = find_attainable_splits(map_(y), y)
    assert [one.n_low for one in found] == list(range(1, 30))
    assert {one.is_rising for one in found} == {rising}
    assert find_oracle_partition(y).loss in {one.loss for one in found}


def test_a_single_split_on_a_monotone_feature_may_be_the_worse_of_the_two():
    # Example 4 states for any observed threshold what holds only for the best one
    y = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    assert compute_split_loss(y, y, 1.0) > find_oracle_partition(y, 2).loss
    assert min(one.loss for one in find_attainable_splits(y, y)) == find_oracle_partition(y).loss


@pytest.mark.parametrize(("x", "y"), FIGURE_2)
def test_the_square_of_example_3_is_of_x_less_one_half(x, y):
    x = np.array(x)
    best = find_oracle_partition(y).loss
    assert best not in {one.loss for one in find_attainable_splits(x, y)}
    assert find_attainable_splits(x**2, y) != ()
    assert [one.n_low for one in find_attainable_splits(x**2, y)] == [
        one.n_low for one in find_attainable_splits(x, y)
    ]
    assert best not in {one.loss for one in find_attainable_splits(x**2, y)}
    assert best in {one.loss for one in find_attainable_splits((x - 0.5) ** 2, y)}


@given(st.integers(2, 12))
def test_a_constant_feature_attains_nothing(n):
    assert find_attainable_splits(np.ones(n), np.arange(n)) == ()
