from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symscreen.statistics._kernels import RELATIVE_GAIN_TOLERANCE
from symscreen.statistics.crit_tree import RankingSample, compute_importances, find_leaves, grow_tree


def sample_of(columns, ranks, weights=None, categories=None):
    """Make a sample by the definition: ranks with NaN for what is missing."""
    columns, ranks = np.asarray(columns, dtype=float), np.asarray(ranks, dtype=float)
    first, second = np.triu_indices(ranks.shape[1], 1)
    gaps = ranks[:, first] - ranks[:, second]
    shown = ~np.isnan(gaps)
    signs = np.where(shown, np.sign(np.where(shown, gaps, 0.0)), 0).astype(np.int8)
    shown = np.empty((0, first.size), dtype=bool) if shown.all() else shown
    weights = np.ones(len(ranks)) if weights is None else np.asarray(weights, dtype=float)
    kinds = np.zeros(len(columns)) if categories is None else np.asarray(categories)
    return RankingSample(columns, kinds.astype(np.int64), signs, shown, weights)


def dispersion(ranks, weights):
    """Sum S·p(1 − p) over pairs of labels, by the rows that order both."""
    total = 0.0
    for i in range(1, ranks.shape[1]):
        own, others = ranks[:, [i]], ranks[:, :i]
        seen = weights @ ~np.isnan(own + others)
        before = weights @ ((own < others) + (own == others) / 2)
        total += (before * (1 - before / np.where(seen > 0, seen, 1.0))).sum()
    return total


def all_splits(column, is_category):
    values = np.unique(column)
    if is_category:
        for choice in product([False, True], repeat=len(values) - 1):
            if any(choice):
                yield np.isin(column, values[:-1][list(choice)])
    else:
        for value in values[:-1]:
            yield column <= value


def brute(sample, ranks, leaf=1):
    """The least dispersion that a split leaves."""
    best = np.inf
    for column, kind in zip(sample.columns, sample.categories, strict=True):
        for left in all_splits(column, kind > 0):
            if min(left.sum(), (~left).sum()) >= leaf:
                loss = dispersion(ranks[left], sample.weights[left])
                best = min(best, loss + dispersion(ranks[~left], sample.weights[~left]))
    return best


def check_root(sample, ranks, leaf=1):
    nodes = grow_tree(sample, max_depth=1, min_leaf=leaf)
    whole, best = dispersion(ranks, sample.weights), brute(sample, ranks, leaf)
    assert nodes.dispersion[0] == pytest.approx(whole, abs=1e-9)
    if best > whole - 1e-9:
        assert len(nodes.feature) == 1
        return
    assert nodes.dispersion[1:].sum() == pytest.approx(best, abs=1e-9)
    assert nodes.decrease[0] == pytest.approx(whole - best, abs=1e-9)
    feature = nodes.feature[0]
    column = sample.columns[feature]
    if sample.categories[feature]:
        left = nodes.goes_left[0, column.astype(int)]
    else:
        left = column <= nodes.threshold[0]
        assert nodes.threshold[0] in column
    assert nodes.dispersion[1] == pytest.approx(dispersion(ranks[left], sample.weights[left]), abs=1e-9)
    assert nodes.n_rows[1:].tolist() == [left.sum(), (~left).sum()]
    assert nodes.n_rows[1:].min() >= leaf


def rankings(rng, n, k, *, ties=False, missing=False):
    ranks = rng.permuted(np.tile(np.arange(1.0, k + 1), (n, 1)), axis=1)
    if ties:
        ranks = np.ceil(ranks / 2)
    if missing:
        ranks[rng.random((n, k)) < 0.35] = np.nan
    return ranks


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("leaf", [1, 4])
def test_the_split_is_the_best_of_all(rng, ties, missing, weighted, leaf):
    for _ in range(8):
        n, k = int(rng.integers(2, 25)), int(rng.integers(2, 6))
        columns = np.stack([rng.normal(size=n), rng.integers(0, 4, n), rng.integers(0, 2, n)])
        ranks = rankings(rng, n, k, ties=ties, missing=missing)
        weights = rng.uniform(0.1, 3.0, n) if weighted else None
        check_root(sample_of(columns, ranks, weights), ranks, leaf)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [False, True])
def test_up_to_ten_categories_every_subset_is_tried(rng, missing):
    for count in (2, 3, 7, 10):
        for leaf in (1, 5):
            column = rng.integers(0, count, 40).astype(float)
            ranks = rankings(rng, 40, 4, ties=True, missing=missing)
            weights = rng.uniform(0.5, 2.0, 40)
            check_root(sample_of([column], ranks, weights, [count]), ranks, leaf)


@pytest.mark.slow
def test_with_two_labels_any_number_of_categories_is_split_at_its_best(rng):
    for _ in range(4):
        column = rng.integers(0, 11, 60).astype(float)
        ranks = rankings(rng, 60, 2, missing=True)
        check_root(sample_of([column], ranks, rng.uniform(0.5, 2.0, 60), [11]), ranks)


def test_many_categories_are_cut_along_the_axis_that_parts_them(rng):
    column = np.repeat(np.arange(30.0), 20)
    better = rng.random(30) < 0.5
    orders = np.where(better[:, None], [1.0, 2.0, 3.0, 4.0], [3.0, 4.0, 1.0, 2.0])
    ranks = orders[column.astype(int)]
    noisy = rng.random(len(ranks)) < 0.3
    ranks[noisy] = rankings(rng, int(noisy.sum()), 4)
    nodes = grow_tree(sample_of([column], ranks, None, [30]), max_depth=1)
    left = nodes.goes_left[0, :30]
    assert (left == better).all() or (left == ~better).all()


@given(st.integers(0, 10**6))
def test_a_node_holds_what_its_children_hold(seed):
    rng = np.random.default_rng(seed)
    ranks = rankings(rng, 40, 4, missing=True)
    sample = sample_of(rng.integers(0, 5, (3, 40)), ranks, rng.uniform(0.5, 1.5, 40), [0, 5, 0])
    nodes = grow_tree(sample)
    for node in np.flatnonzero(nodes.feature >= 0):
        pair = [nodes.left[node], nodes.right[node]]
        assert nodes.n_rows[pair].sum() == nodes.n_rows[node]
        assert nodes.pair_weights[pair].sum(axis=0) == pytest.approx(nodes.pair_weights[node])
        assert nodes.sign_sums[pair].sum(axis=0) == pytest.approx(nodes.sign_sums[node], abs=1e-9)
        lost = nodes.dispersion[node] - nodes.dispersion[pair].sum()
        assert lost == pytest.approx(nodes.decrease[node], abs=1e-9)
        assert lost > 0
    leaves = find_leaves(nodes, sample.columns)
    assert np.bincount(leaves, minlength=len(nodes.feature))[nodes.feature < 0].tolist() == (
        nodes.n_rows[nodes.feature < 0].tolist()
    )
    gained = (nodes.dispersion[0] - nodes.dispersion[nodes.feature < 0].sum()) / nodes.weight[0]
    assert compute_importances(nodes, 3).sum() == pytest.approx(gained)


def test_increasing_functions_of_a_feature_change_nothing(rng):
    columns = rng.normal(size=(3, 60))
    ranks = rankings(rng, 60, 4)
    plain = grow_tree(sample_of(columns, ranks))
    bent = grow_tree(sample_of(np.exp(columns) ** 3, ranks))
    for name, value in plain._asdict().items():
        if name != "threshold":
            assert np.array_equal(value, getattr(bent, name)), name
    assert np.exp(plain.threshold) ** 3 == pytest.approx(bent.threshold, nan_ok=True)


def test_of_equal_splits_the_first_feature_and_the_smallest_threshold_are_taken():
    column = np.array([0.0, 1.0, 2.0, 3.0])
    ranks = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    nodes = grow_tree(sample_of([column, column], ranks), max_depth=1)
    assert (nodes.feature[0], nodes.threshold[0]) == (0, 0.0)


def test_nothing_is_split_that_gains_nothing():
    ranks = np.array([[1.0, 2.0], [2.0, 1.0], [2.0, 1.0], [1.0, 2.0]])
    assert len(grow_tree(sample_of([[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]], ranks)).feature) == 1
    assert len(grow_tree(sample_of([[0.0, 1.0, 2.0, 3.0]], ranks[[0, 0, 0, 0]])).feature) == 1
    assert len(grow_tree(sample_of([[7.0, 7.0, 7.0, 7.0]], ranks)).feature) == 1


def test_growth_keeps_to_its_limits(rng):
    sample = sample_of(rng.normal(size=(2, 80)), rankings(rng, 80, 3))
    assert grow_tree(sample, max_depth=2).depth.max() == 2
    assert len(grow_tree(sample, max_depth=0).feature) == 1
    assert grow_tree(sample, min_leaf=9).n_rows.min() >= 9
    few = grow_tree(sample, min_decrease=0.03)
    inside = few.feature >= 0
    assert 1 <= inside.sum() < (grow_tree(sample).feature >= 0).sum()
    assert few.decrease[inside].min() / 80 >= 0.03


def test_drawn_features_are_seeded_and_all_come_up(rng):
    sample = sample_of(rng.normal(size=(6, 50)), rankings(rng, 50, 3))
    first, again = grow_tree(sample, max_features=1, seed=5), grow_tree(sample, max_features=1, seed=5)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, again, strict=True))
    drawn = {int(grow_tree(sample, max_features=1, max_depth=1, seed=seed).feature[0]) for seed in range(60)}
    assert drawn == set(range(6))


def test_categories_not_in_the_node_go_to_the_heavier_child():
    column, ranks = [0.0, 0.0, 0.0, 2.0], [[2.0, 1.0], [2.0, 1.0], [2.0, 1.0], [1.0, 2.0]]
    nodes = grow_tree(sample_of([column], ranks, None, [3]))
    assert nodes.goes_left[0].tolist() == [True, True, False, True]
    assert find_leaves(nodes, np.array([[0.0, 1.0, 2.0, 3.0]])).tolist() == [1, 1, 2, 1]


@pytest.mark.parametrize("seed", range(6))
def test_a_gain_of_no_more_than_the_tolerance_does_not_end_the_search(seed):
    # The first feature's gain is 1e-12 of the rows' weight, to the last bit; the second parts the signs.
    a, b = float.fromhex("0x1.0893fd895a92ap-1"), float.fromhex("0x1.0893dadb98615p-1")
    assert 2.0 * (a - b) ** 2 / (a + b) == RELATIVE_GAIN_TOLERANCE * (a + b + b + a)
    columns = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0]])
    signs, no_gaps = np.array([[1], [-1], [1], [-1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    sample = RankingSample(columns, np.zeros(2, dtype=np.int64), signs, no_gaps, np.array([a, b, b, a]))
    assert grow_tree(sample, max_features=1, seed=seed).feature.tolist() == [1, -1, -1]
