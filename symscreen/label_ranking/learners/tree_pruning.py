"""Weakest-link pruning of a consensus ranking tree (Clémençon et al. 2018, appendix, eq. 52).

The pruning path merges pairs of sibling leaves, always the pair whose merging increases the dispersion the
least, down to the root. The pruned tree is the tree on this path that minimises γ̂_T + λ·#T; λ may be
selected by cross-validation. As in `symscreen.statistics.crit_tree`, γ̂ is Σ p̂(1 − p̂) without the factor ½
of the text, so λ is twice the λ of the text. The prediction of a leaf is the consensus of its training rows
(eq. 38).
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from symscreen.label_ranking.base import take_rows
from symscreen.label_ranking.consensus.distances import kendall_distance
from symscreen.label_ranking.consensus.median import compute_median_rankings
from symscreen.statistics.crit_tree import find_leaves, grow_tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Integers, Values
    from symscreen.label_ranking.base import EncodedTrainingData
    from symscreen.statistics.crit_tree import TreeNodes


# penalised dispersions that differ by less than this share of the root's dispersion are equal
_RELATIVE_TOLERANCE = 1e-12


class PruningPath(NamedTuple):
    """The trees obtained by merging sibling leaves one pair after the other."""

    merged_nodes: Integers  # (s,): nodes that become leaves, in order
    dispersion: Values  # (s + 1,): γ̂ of each tree
    n_leaves: Integers  # (s + 1,): number of leaves #T of each tree, descending to 1


def build_pruning_path(nodes: TreeNodes) -> PruningPath:
    """Merge sibling leaves, always those whose merging increases the dispersion the least.

    Parameters
    ----------
    nodes : TreeNodes
        Unpruned tree.

    Returns
    -------
    PruningPath
        If two pairs have the same cost, the one whose parent has the larger index is merged first.

    Examples
    --------
    >>> from symscreen.statistics.crit_tree import RankingSample, grow_tree
    >>> signs, observed = np.array([[-1], [1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    >>> path = build_pruning_path(grow_tree(RankingSample(np.array([[0.0, 1.0]]), np.array([0]), signs,
    ...     observed, np.ones(2))))
    >>> path.merged_nodes.tolist(), path.dispersion.tolist(), path.n_leaves.tolist()
    ([0], [0.0, 0.25], [2, 1])
    """
    is_leaf = nodes.feature < 0
    parents = find_parents(nodes)
    candidates = [
        (float(nodes.decrease[node]), -int(node))
        for node in np.flatnonzero(~is_leaf)
        if is_leaf[nodes.left[node]] and is_leaf[nodes.right[node]]
    ]
    heapq.heapify(candidates)
    merged, is_closed = [], is_leaf.copy()
    while candidates:
        node = -heapq.heappop(candidates)[1]
        merged.append(node)
        is_closed[node] = True
        parent = parents[node]
        if parent >= 0 and is_closed[nodes.left[parent]] and is_closed[nodes.right[parent]]:
            heapq.heappush(candidates, (float(nodes.decrease[parent]), -int(parent)))
    order = np.array(merged, dtype=np.int64)
    rises = np.concatenate(([nodes.dispersion[is_leaf].sum()], nodes.decrease[order]))
    leaves = int(is_leaf.sum()) - np.arange(order.size + 1)
    return PruningPath(order, np.cumsum(rises) / nodes.weight[0], leaves)


def find_parents(nodes: TreeNodes) -> Integers:
    """Find the parent of every node; −1 for the root.

    Parameters
    ----------
    nodes : TreeNodes
        Tree of N nodes.

    Returns
    -------
    int64 array, shape (N,)
    """
    parents = np.full(len(nodes.feature), -1, dtype=np.int64)
    inner_nodes = np.flatnonzero(nodes.feature >= 0)
    parents[nodes.left[inner_nodes]] = inner_nodes
    parents[nodes.right[inner_nodes]] = inner_nodes
    return parents


def compute_penalties(path: PruningPath) -> Values:
    """Compute one penalty for each tree that is optimal for some λ.

    Parameters
    ----------
    path : PruningPath
        Pruning path of the tree.

    Returns
    -------
    float64 array
        Ascending from 0, for which nothing is merged. Then the geometric means of neighbouring penalties at
        which the optimal tree changes (Breiman et al. 1984, section 11.5), and finally the last of these
        penalties, at which the root alone is optimal.

    Examples
    --------
    >>> path = PruningPath(np.array([1, 0]), np.array([0.0, 1.0, 5.0]), np.array([3, 2, 1]))
    >>> compute_penalties(path).tolist()
    [0.0, 2.0, 4.0]
    """
    changes = []
    stage, last = 0, path.merged_nodes.size
    while stage < last:
        later = np.arange(stage + 1, last + 1)
        slopes = (path.dispersion[later] - path.dispersion[stage]) / (later - stage)
        stage = int(later[np.flatnonzero(slopes <= slopes.min() * (1.0 + _RELATIVE_TOLERANCE))[-1]])
        changes.append(float(slopes.min()))
    change_penalties = np.array(changes)
    return np.concatenate(
        ([0.0], np.sqrt(change_penalties[:-1] * change_penalties[1:]), change_penalties[-1:])
    )


def find_optimal_leaves(nodes: TreeNodes, path: PruningPath, penalty: float) -> Flags:
    """Find the leaves of the tree on a pruning path that minimises γ̂_T + λ·#T.

    Parameters
    ----------
    nodes : TreeNodes
        Tree of N nodes.
    path : PruningPath
        Pruning path of this tree.
    penalty : float
        Penalty λ ≥ 0.

    Returns
    -------
    bool array, shape (N,)
        True at the leaves of the pruned tree. Among equally good trees the smallest is selected.
    """
    # minimiser of γ̂_T + λ·#T on the path                                                            (52)
    penalised = path.dispersion + penalty * path.n_leaves
    stage = int(
        np.flatnonzero(penalised <= penalised.min() + _RELATIVE_TOLERANCE * abs(path.dispersion[-1]))[-1]
    )
    is_closed = nodes.feature < 0
    is_closed[path.merged_nodes[:stage]] = True
    parents = find_parents(nodes)
    # Nodes are merged from the leaves up: a node with a closed parent is inside a merged cell.
    return np.asarray(is_closed & ~((parents >= 0) & is_closed[parents]))


def prune_tree(nodes: TreeNodes, is_leaf: Flags) -> TreeNodes:
    """Remove the nodes below given leaves.

    Parameters
    ----------
    nodes : TreeNodes
        Tree of N nodes.
    is_leaf : bool array, shape (N,)
        Leaves of the pruned tree, as returned by `find_optimal_leaves`.

    Returns
    -------
    TreeNodes
        Renumbered nodes; parents come before their children.
    """
    is_kept = np.zeros(is_leaf.size, dtype=np.bool_)
    front = np.zeros(1, dtype=np.int64)
    while front.size:
        is_kept[front] = True
        inner_nodes = front[~is_leaf[front]]
        front = np.concatenate((nodes.left[inner_nodes], nodes.right[inner_nodes]))
    new_indices = np.cumsum(is_kept) - 1
    pruned = nodes._replace(
        feature=np.where(is_leaf, -1, nodes.feature),
        threshold=np.where(is_leaf, np.nan, nodes.threshold),
        goes_left=nodes.goes_left & ~is_leaf[:, None],
        left=np.where(is_leaf, -1, new_indices[nodes.left]),
        right=np.where(is_leaf, -1, new_indices[nodes.right]),
        decrease=np.where(is_leaf, 0.0, nodes.decrease),
    )
    return type(nodes)._make(column[is_kept] for column in pruned)


def compute_node_rankings(nodes: TreeNodes, node_indices: NDArray[np.int64], n_labels: int) -> Values:
    """Compute the pseudo-empirical median of the rows in some nodes of a tree (eq. 38).

    Parameters
    ----------
    nodes : TreeNodes
        Tree of N nodes.
    node_indices : int64 array
        Indices of the nodes.
    n_labels : int
        Number of labels k.

    Returns
    -------
    float64 array, shape (N, k)
        Ranks 1 to k; NaN at all other nodes. If no row of a node ranks a pair, the nearest ancestor with such
        rows determines its order.
    """
    differences, pair_weights = nodes.sign_sums[node_indices], nodes.pair_weights[node_indices]
    ancestors, parents = node_indices, find_parents(nodes)
    while (pair_weights <= 0.0).any() and (ancestors >= 0).any():
        ancestors = np.where(ancestors >= 0, parents[ancestors], -1)
        is_unobserved = (pair_weights <= 0.0) & (ancestors >= 0)[:, None]
        differences = np.where(is_unobserved, nodes.sign_sums[ancestors], differences)
        pair_weights = np.where(is_unobserved, nodes.pair_weights[ancestors], pair_weights)
    rankings = np.full((len(nodes.feature), n_labels), np.nan)
    rankings[node_indices] = compute_median_rankings(differences, pair_weights, n_labels)
    return rankings


_RISK_TOLERANCE = 1e-12  # risks that differ by less are equal


def cross_validate_penalties(
    training: EncodedTrainingData, penalties: Values, limits: Mapping[str, Any], folds: int, seed: int
) -> Values:
    """Estimate the risk of the pruned trees for each penalty by cross-validation.

    Parameters
    ----------
    training : EncodedTrainingData
        Training data of n rows.
    penalties : float64 array, shape (s,)
        Penalties λ.
    limits : mapping
        Arguments of `grow_tree`.
    folds : int
        Number of folds, from 2 to n.
    seed : int
        Random seed of the assignment of rows to folds.

    Returns
    -------
    float64 array, shape (s,)
        Weighted mean Kendall distance between held-out rankings and their predictions.
    """
    weights = training.sample.weights
    total = np.zeros(penalties.size)
    for training_rows, held_out_rows in KFold(folds, shuffle=True, random_state=seed).split(training.ranks):
        distances = _compute_held_out_distances(training, training_rows, held_out_rows, penalties, limits)
        total += (distances * weights[held_out_rows]).sum(axis=1)
    return np.asarray(total / weights.sum())


def select_penalty(penalties: Values, risks: Values) -> float:
    """Select the penalty with the smallest risk; among equal risks the largest, which has the smallest tree.

    Parameters
    ----------
    penalties : float64 array, shape (s,)
        Penalties in ascending order.
    risks : float64 array, shape (s,)
        Estimated risks.

    Returns
    -------
    float

    Examples
    --------
    >>> select_penalty(np.array([0.0, 0.1, 0.2]), np.array([1.5, 1.0, 1.0]))
    0.2
    """
    return float(penalties[np.flatnonzero(risks <= risks.min() + _RISK_TOLERANCE)[-1]])


def _compute_held_out_distances(
    training: EncodedTrainingData,
    training_rows: Integers,
    held_out_rows: Integers,
    penalties: Values,
    limits: Mapping[str, Any],
) -> Values:
    """Compute the distances of held-out rankings to their predictions, shape (penalties, rows)."""
    nodes = grow_tree(take_rows(training.sample, training_rows), **limits)
    path, parents = build_pruning_path(nodes), find_parents(nodes)
    leaf_masks = np.array([find_optimal_leaves(nodes, path, penalty) for penalty in penalties])
    rankings = compute_node_rankings(nodes, np.flatnonzero(leaf_masks.any(axis=0)), training.ranks.shape[1])
    unpruned_leaves = find_leaves(nodes, training.sample.columns[:, held_out_rows])
    leaf_indices = np.empty((penalties.size, held_out_rows.size), dtype=np.int64)
    for row, is_leaf in enumerate(leaf_masks):
        nodes_of_rows = unpruned_leaves
        while not is_leaf[nodes_of_rows].all():
            nodes_of_rows = np.where(is_leaf[nodes_of_rows], nodes_of_rows, parents[nodes_of_rows])
        leaf_indices[row] = nodes_of_rows
    # Most penalties assign a row to the same leaf as the previous one: compute each distance once.
    distinct, inverse = np.unique(
        leaf_indices * held_out_rows.size + np.arange(held_out_rows.size), return_inverse=True
    )
    distances = kendall_distance(
        training.ranks[held_out_rows[distinct % held_out_rows.size]], rankings[distinct // held_out_rows.size]
    )
    return np.asarray(distances[inverse].reshape(leaf_indices.shape))
