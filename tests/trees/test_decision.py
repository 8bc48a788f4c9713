from __future__ import annotations

import numpy as np
import pytest
from helpers.tree_cases import loss, two_columns
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import DataError, OptionError
from symscreen.trees import (
    compute_decision_ratio,
    compute_log_decision_ratio,
    compute_split_loss,
    compute_split_means,
    find_best_split,
    find_oracle_partition,
)


@given(two_columns(), st.integers(-31, 31))
def test_the_loss_is_that_of_the_partition(pair, threshold):
    z, y = pair
    expected = loss(y, set(np.flatnonzero(z <= threshold)))
    assert compute_split_loss(z, y, threshold) == pytest.approx(expected, abs=1e-9)


@given(two_columns(), st.integers(-31, 31))
def test_the_means_minimise_the_loss(pair, threshold):
    z, y = pair
    left, right = compute_split_means(z, y, threshold)
    at = [
        np.where(z <= threshold, left + a, right + b) for a, b in ((0, 0), (0.1, 0), (0, 0.1), (-0.1, -0.1))
    ]
    losses = [np.nansum((y - each) ** 2) for each in at]
    assert losses[0] == min(losses)


@given(two_columns(), st.integers(-31, 31))
def test_no_split_is_worse_than_none_and_only_equal_means_are_as_bad(pair, threshold):
    # Proposition 7
    z, y = pair
    whole = y.size * y.var()
    split = compute_split_loss(z, y, threshold)
    left, right = compute_split_means(z, y, threshold)
    assert split <= whole + 1e-9
    assert (split == pytest.approx(whole, abs=1e-9)) == (left == right or np.isnan(left + right))


def test_the_right_mean_is_that_of_the_right_side():
    # eq. (8) prints ≤ in place of >, which gives the left mean twice
    assert compute_split_means([1.0, 2.0, 3.0], [1.0, 3.0, 10.0], 2.0) == (2.0, 10.0)


@given(
    st.integers(2, 8).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(-9, 9), min_size=n, max_size=n)] * 4)
    )
)
def test_the_best_split_is_the_best_of_all(columns):
    *features, y = np.array(columns, dtype=float)
    rules = [(k, c) for k, z in enumerate(features) for c in sorted(set(z))[:-1]]
    if not rules:
        with pytest.raises(DataError, match="every feature is constant"):
            find_best_split(np.column_stack(features), y)
        return
    losses = [loss(y, set(np.flatnonzero(features[k] <= c))) for k, c in rules]
    first = next(rule for rule, found in zip(rules, losses, strict=True) if found <= min(losses) + 1e-9)
    found = find_best_split(np.column_stack(features), y)
    assert (found.feature, found.threshold) == first
    assert found.loss == pytest.approx(min(losses), abs=1e-9)
    assert found.means == compute_split_means(features[found.feature], y, found.threshold)


def test_the_best_split_is_that_of_a_stump(rng):
    from sklearn.tree import DecisionTreeRegressor

    for _ in range(5):
        table = rng.normal(size=(60, 4))
        y = np.sin(2 * table[:, 1]) + 0.3 * rng.normal(size=60)
        stump = DecisionTreeRegressor(max_depth=1).fit(table, y).tree_
        found = find_best_split(table, y)
        assert found.feature == stump.feature[0]
        left = table[:, found.feature] <= found.threshold
        assert (left == (table[:, found.feature] <= stump.threshold[0])).all()
        assert found.loss == pytest.approx((stump.impurity[1:] * stump.n_node_samples[1:]).sum())


def test_the_best_split_does_not_know_the_order_of_the_rows(rng):
    table, y = rng.integers(0, 5, (40, 3)).astype(float), rng.normal(size=40)
    rows = rng.permutation(40)
    found, again = find_best_split(table, y), find_best_split(table[rows], y[rows])
    assert (found.feature, found.threshold, found.loss) == (again.feature, again.threshold, again.loss)


def test_copies_and_mirrors_of_a_feature_lose_to_the_first(rng):
    x, y = rng.normal(size=50), rng.normal(size=50)
    for copy in (x**3, np.exp(x), -x):
        assert find_best_split(np.column_stack([x, copy]), y).feature == 0
        assert find_best_split(np.column_stack([copy, x]), y).feature == 0


def test_one_partition_by_two_features_is_a_tie_though_sums_round_apart(rng):
    for _ in range(20):
        x, y = rng.normal(size=60), rng.normal(size=60)
        same = np.where(x <= find_best_split(x, y).threshold, 0.0, 1.0)
        assert find_best_split(np.column_stack([x, same]), y).feature == 0
        assert find_best_split(np.column_stack([same, x]), y).feature == 0


def test_of_equal_losses_of_one_feature_the_smallest_value_is_taken(rng):
    for _ in range(20):
        away = np.append(0.01 * rng.normal(size=11), 5.0)
        y = np.sort(
            np.concatenate([0.1 - away, 0.1 + away])
        )  # separating the first or the last row has the same loss
        assert find_best_split(np.arange(24.0), y).threshold == 0.0
        assert len(find_oracle_partition(y).low) == 1


@given(two_columns())
def test_the_best_split_has_the_highest_ratio_against_any_other(pair):
    z, y = pair
    if len(set(z)) > 1:
        best = find_best_split(z, y)
        for c in z:
            assert compute_log_decision_ratio((z, best.threshold), (z, c), y) >= -1e-9


def test_the_ratio_is_eq_9():
    z, y = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])
    expected = np.exp(-loss(y, {0, 1})) / np.exp(-loss(y, {0}))
    assert compute_decision_ratio((z, 2.0), (z, 1.0), y) == pytest.approx(expected, rel=1e-14)
    assert compute_decision_ratio((z, 1.0), (z, 2.0), y) == pytest.approx(1 / expected, rel=1e-14)


def test_where_the_ratio_overflows_its_logarithm_does_not():
    z, y = [1.0, 2.0, 3.0], [0.0, 0.0, 1e6]
    assert compute_decision_ratio((z, 2.0), (z, 1.0), y) == np.inf
    assert compute_decision_ratio((z, 1.0), (z, 2.0), y) == 0.0
    assert compute_log_decision_ratio((z, 2.0), (z, 1.0), y) == 5e11


def test_an_increasing_map_of_the_feature_changes_no_ratio(rng):
    # remark on multi-way scale invariance in section 3.1
    x, z, y = rng.normal(size=(3, 30))
    one = compute_log_decision_ratio((x, x[3]), (z, z[5]), y)
    assert compute_log_decision_ratio((np.exp(x), np.exp(x[3])), (5 * z, 5 * z[5]), y) == one


def test_what_cannot_be_split_is_refused():
    with pytest.raises(OptionError, match="NaN"):
        compute_split_loss([1.0, 2.0], [1.0, 2.0], np.nan)
    with pytest.raises(DataError, match="rows"):
        compute_split_means([1.0, 2.0, 3.0], [1.0, 2.0], 1.0)
