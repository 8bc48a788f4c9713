from __future__ import annotations

import numpy as np
import pytest
from helpers.ranking_settings import some_rankings

from symscreen.label_ranking.learners.consensus_tree import (
    ConsensusRankingTree,
    build_pruning_path,
    compute_penalties,
    find_optimal_leaves,
    find_parents,
    prune_tree,
)
from symscreen.statistics.crit_tree import find_leaves


@pytest.fixture
def tree(rng):
    x, y = rng.normal(size=(150, 3)), some_rankings(rng, 150, 4)
    return ConsensusRankingTree(max_depth=6).fit(x, y), x


def by_definition(nodes):
    """Merge the cheapest siblings one pair after the other by searching all pairs each time."""
    leaves, order, sums = set(np.flatnonzero(nodes.feature < 0).tolist()), [], []
    inside = set(np.flatnonzero(nodes.feature >= 0).tolist())
    while True:
        sums.append(sum(nodes.dispersion[leaf] for leaf in leaves) / nodes.weight[0])
        pairs = [node for node in inside if {nodes.left[node], nodes.right[node]} <= leaves]
        if not pairs:
            return order, sums
        rises = {
            node: nodes.dispersion[node] - nodes.dispersion[[nodes.left[node], nodes.right[node]]].sum()
            for node in pairs
        }
        node = min(rises, key=lambda one: (round(rises[one], 9), -one))
        order.append(node)
        leaves = leaves - {nodes.left[node], nodes.right[node]} | {node}
        inside.remove(node)


def test_the_path_merges_what_costs_least(tree):
    path = build_pruning_path(tree[0].tree_)
    order, sums = by_definition(tree[0].tree_)
    assert path.dispersion == pytest.approx(sums)
    assert sorted(path.merged_nodes.tolist()) == sorted(order)
    assert path.n_leaves.tolist() == list(range(len(order) + 1, 0, -1))


def test_a_penalty_takes_the_best_tree_of_the_path(tree):
    nodes = tree[0].tree_
    path = build_pruning_path(nodes)
    for penalty in (0.0, 1e-3, 5e-3, 0.02, 1.0):
        cut = prune_tree(nodes, find_optimal_leaves(nodes, path, penalty))
        leaf = cut.feature < 0
        value = cut.dispersion[leaf].sum() / cut.weight[0] + penalty * leaf.sum()
        assert value == pytest.approx((path.dispersion + penalty * path.n_leaves).min())


def test_every_tree_that_is_best_at_some_penalty_has_one(tree):
    nodes = tree[0].tree_
    path = build_pruning_path(nodes)
    penalties = compute_penalties(path)
    assert (np.diff(penalties) > 0).all()
    fine = np.linspace(0.0, penalties[-1] * 1.1, 3000)
    best = {int(find_optimal_leaves(nodes, path, penalty).sum()) for penalty in fine}
    assert best <= {int(find_optimal_leaves(nodes, path, penalty).sum()) for penalty in penalties}


def test_a_pruned_tree_sends_rows_where_the_whole_one_did(tree):
    model, x = tree
    nodes, path, parents = model.tree_, build_pruning_path(model.tree_), find_parents(model.tree_)
    ends = find_optimal_leaves(nodes, path, 5e-3)
    assert 1 < ends.sum() < (nodes.feature < 0).sum()
    cut = prune_tree(nodes, ends)
    before, after = find_leaves(nodes, x.T), find_leaves(cut, x.T)
    kept = {}
    for node, leaf in zip(before, after, strict=True):
        at = node
        while not ends[at]:
            at = parents[at]
        assert kept.setdefault(at, leaf) == leaf
        assert nodes.dispersion[at] == cut.dispersion[leaf]
    assert len(set(kept.values())) == len(kept) == ends.sum()


def test_rows_that_agree_make_one_leaf_whatever_their_weights(rng):
    # rounding errors may make the dispersion of such rows negative
    for _ in range(100):
        weights = rng.choice([0.1, 0.2, 0.3], 5)
        tree = ConsensusRankingTree().fit(np.arange(5.0)[:, None], [[1, 2]] * 5, sample_weight=weights)
        assert tree.predict([[2.0]]).tolist() == [[1.0, 2.0]]
