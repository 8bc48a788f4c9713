"""Weakest-link pruning of a consensus ranking tree (Clémençon et al. 2018, appendix, eq. 52).

Of all pairs of sibling leaves the one is merged whose merging raises the dispersion the least, and again,
down to the root. Of the trees on this path the one is taken that minimises γ̂_T + λ·#T. As in
`symscreen.statistics.crit_tree` γ̂ is Σ p̂(1 − p̂) without the ½ that the text prints: λ is twice the text's.

The consensus of the rows in the leaves of a tree (Clémençon et al. 2018, eq. 38).

The penalty λ of a pruned tree, chosen by cross-validation.
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


__all__ = [
    "PruningPath",
    "build_pruning_path",
    "compute_node_rankings",
    "compute_penalties",
    "cross_validate_penalties",
    "find_optimal_leaves",
    "find_parents",
    "prune_tree",
    "select_penalty",
]

_RELATIVE_TOLERANCE = 1e-12  # of the root's dispersion: penalised dispersions that differ by less are one


class PruningPath(NamedTuple):
    """The trees that are left as siblings are merged one after the other."""

    merged_nodes: Integers  # (s,): the nodes that become leaves, in this order
    dispersion: Values  # (s + 1,): γ̂ of the tree before, between and after
    n_leaves: Integers  # (s + 1,): #T, from all leaves down to 1


def build_pruning_path(nodes: TreeNodes) -> PruningPath:
    """Merge sibling leaves, always those whose merging costs least.

    Parameters
    ----------
    nodes : Nodes
        A tree.

    Returns
    -------
    Path
        Of two pairs that cost the same the one of the later node goes first.

    Examples
    --------
    >>> from symscreen.statistics.crit_tree import RankingSample, grow_tree
    >>> signs, shown = np.array([[-1], [1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    >>> path = build_pruning_path(grow_tree(RankingSample(np.array([[0.0, 1.0]]), np.array([0]), signs,
    ...     shown, np.ones(2))))
    >>> path.merged.tolist(), path.dispersion.tolist(), path.n_leaves.tolist()
    ([0], [0.0, 0.25], [2, 1])
    """
    leaf = nodes.feature < 0
    parents = find_parents(nodes)
    ready = [
        (float(nodes.decrease[node]), -int(node))
        for node in np.flatnonzero(~leaf)
        if leaf[nodes.left[node]] and leaf[nodes.right[node]]
    ]
    heapq.heapify(ready)
    merged, still = [], leaf.copy()
    while ready:
        node = -heapq.heappop(ready)[1]
        merged.append(node)
        still[node] = True
        parent = parents[node]
        if parent >= 0 and still[nodes.left[parent]] and still[nodes.right[parent]]:
            heapq.heappush(ready, (float(nodes.decrease[parent]), -int(parent)))
    order = np.array(merged, dtype=np.int64)
    rises = np.concatenate(([nodes.dispersion[leaf].sum()], nodes.decrease[order]))
    leaves = int(leaf.sum()) - np.arange(order.size + 1)
    return PruningPath(order, np.cumsum(rises) / nodes.weight[0], leaves)


def find_parents(nodes: TreeNodes) -> Integers:
    """List the parent of every node; −1 for the root.

    Parameters
    ----------
    nodes : Nodes
        A tree of N nodes.

    Returns
    -------
    int64 array, shape (N,)
    """
    parents = np.full(len(nodes.feature), -1, dtype=np.int64)
    inside = np.flatnonzero(nodes.feature >= 0)
    parents[nodes.left[inside]] = inside
    parents[nodes.right[inside]] = inside
    return parents


def compute_penalties(path: PruningPath) -> Values:
    """List one penalty for each tree that is best at some λ.

    Parameters
    ----------
    path : Path
        Of the tree to be pruned.

    Returns
    -------
    float64 array
        Ascending from 0, at which nothing is merged; then the geometric means of neighbouring penalties at
        which the best tree changes (Breiman et al. 1984, section 11.5), and the last of these, at which the
        root alone is as good.

    Examples
    --------
    >>> penalties_of(Path(np.array([1, 0]), np.array([0.0, 1.0, 5.0]), np.array([3, 2, 1]))).tolist()
    [0.0, 2.0, 4.0]
    """
    changes = []
    stage, last = 0, path.merged_nodes.size
    while stage < last:
        later = np.arange(stage + 1, last + 1)
        slopes = (path.dispersion[later] - path.dispersion[stage]) / (later - stage)
        stage = int(later[np.flatnonzero(slopes <= slopes.min() * (1.0 + _RELATIVE_TOLERANCE))[-1]])
        changes.append(float(slopes.min()))
    known = np.array(changes)
    return np.concatenate(([0.0], np.sqrt(known[:-1] * known[1:]), known[-1:]))


def find_optimal_leaves(nodes: TreeNodes, path: PruningPath, penalty: float) -> Flags:
    """Find the leaves of the tree on a path that minimises γ̂_T + λ·#T; of equal ones the smallest.

    Parameters
    ----------
    nodes : Nodes
        A tree of N nodes.
    path : Path
        Its own.
    penalty : float
        λ ≥ 0.

    Returns
    -------
    bool array, shape (N,)
        True at the leaves of the pruned tree.
    """
    # the minimiser of γ̂_T + λ·#T on the path                                                            (52)
    penalised = path.dispersion + penalty * path.n_leaves
    stage = int(
        np.flatnonzero(penalised <= penalised.min() + _RELATIVE_TOLERANCE * abs(path.dispersion[-1]))[-1]
    )
    closed = nodes.feature < 0
    closed[path.merged_nodes[:stage]] = True
    parents = find_parents(nodes)
    # merging goes from the leaves up: whose parent is closed is inside a merged cell
    return np.asarray(closed & ~((parents >= 0) & closed[parents]))


def prune_tree(nodes: TreeNodes, is_leaf: Flags) -> TreeNodes:
    """Cut a tree below some of its nodes.

    Parameters
    ----------
    nodes : Nodes
        A tree of N nodes.
    ends : bool array, shape (N,)
        The leaves of the pruned tree, as `ends_at` finds them.

    Returns
    -------
    Nodes
        Renumbered; parents still come before their children.
    """
    kept = np.zeros(is_leaf.size, dtype=np.bool_)
    front = np.zeros(1, dtype=np.int64)
    while front.size:
        kept[front] = True
        inside = front[~is_leaf[front]]
        front = np.concatenate((nodes.left[inside], nodes.right[inside]))
    numbers = np.cumsum(kept) - 1
    left = nodes._replace(
        feature=np.where(is_leaf, -1, nodes.feature),
        threshold=np.where(is_leaf, np.nan, nodes.threshold),
        goes_left=nodes.goes_left & ~is_leaf[:, None],
        left=np.where(is_leaf, -1, numbers[nodes.left]),
        right=np.where(is_leaf, -1, numbers[nodes.right]),
        decrease=np.where(is_leaf, 0.0, nodes.decrease),
    )
    return type(nodes)._make(column[kept] for column in left)


def compute_node_rankings(nodes: TreeNodes, node_indices: NDArray[np.int64], n_labels: int) -> Values:
    """Compute the pseudo-empirical median in some nodes of a tree.

    Parameters
    ----------
    nodes : Nodes
        A tree of N nodes.
    places : int64 array
        Which of them.
    k : int
        The number of labels.

    Returns
    -------
    float64 array, shape (N, k)
        Ranks 1 to k; NaN at the other nodes. A pair that no row of a node shows is judged by the nearest node
        above that has rows which do.
    """
    differences, seen = nodes.sign_sums[node_indices], nodes.pair_weights[node_indices]
    above, parents = node_indices, find_parents(nodes)
    while (seen <= 0.0).any() and (above >= 0).any():
        above = np.where(above >= 0, parents[above], -1)
        unseen = (seen <= 0.0) & (above >= 0)[:, None]
        differences = np.where(unseen, nodes.sign_sums[above], differences)
        seen = np.where(unseen, nodes.pair_weights[above], seen)
    found = np.full((len(nodes.feature), n_labels), np.nan)
    found[node_indices] = compute_median_rankings(differences, seen, n_labels)
    return found


_RISK_TOLERANCE = 1e-12  # risks that differ by less are one


def cross_validate_penalties(
    training: EncodedTrainingData, penalties: Values, limits: Mapping[str, Any], folds: int, seed: int
) -> Values:
    """Estimate the risk of the trees that penalties choose, by rows that did not grow them.

    Parameters
    ----------
    training : Training
        n rows.
    penalties : float64 array, shape (s,)
        λ.
    limits : mapping
        Arguments of `grow`.
    folds : int
        Into how many parts the rows are dealt, from 2 to n.
    seed : int
        Of the deal.

    Returns
    -------
    float64 array, shape (s,)
        The weighted mean Kendall distance of held-out rankings to their predictions.
    """
    weights = training.sample.weights
    total = np.zeros(penalties.size)
    for kept, held in KFold(folds, shuffle=True, random_state=seed).split(training.ranks):
        distances = _compute_held_out_distances(training, kept, held, penalties, limits)
        total += (distances * weights[held]).sum(axis=1)
    return np.asarray(total / weights.sum())


def select_penalty(penalties: Values, risks: Values) -> float:
    """Take the penalty of the least risk; of those as good the largest, whose tree is the smallest.

    Parameters
    ----------
    penalties : float64 array, shape (s,)
        Ascending.
    risks : float64 array, shape (s,)
        Of each.

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
    """Return the distance of each held-out ranking to its prediction, one row a penalty."""
    nodes = grow_tree(take_rows(training.sample, training_rows), **limits)
    path, parents = build_pruning_path(nodes), find_parents(nodes)
    ends = np.array([find_optimal_leaves(nodes, path, penalty) for penalty in penalties])
    rankings = compute_node_rankings(nodes, np.flatnonzero(ends.any(axis=0)), training.ranks.shape[1])
    deepest = find_leaves(nodes, training.sample.columns[:, held_out_rows])
    cells = np.empty((penalties.size, held_out_rows.size), dtype=np.int64)
    for row, end in enumerate(ends):
        at = deepest
        while not end[at].all():
            at = np.where(end[at], at, parents[at])
        cells[row] = at
    # most penalties leave a row where the one before did: each distance is computed once
    met, which = np.unique(cells * held_out_rows.size + np.arange(held_out_rows.size), return_inverse=True)
    known = kendall_distance(
        training.ranks[held_out_rows[met % held_out_rows.size]], rankings[met // held_out_rows.size]
    )
    return np.asarray(known[which].reshape(cells.shape))
