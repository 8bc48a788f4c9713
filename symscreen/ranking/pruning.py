"""Weakest-link pruning of a consensus ranking tree (Clémençon et al. 2018, appendix, eq. 52).

Of all pairs of sibling leaves the one is merged whose merging raises the dispersion the least, and again,
down to the root. Of the trees on this path the one is taken that minimises γ̂_T + λ·#T. As in
`symscreen.statistics.crit` γ̂ is Σ p̂(1 − p̂) without the ½ that the text prints: λ is twice the text's.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.crit import Nodes

    Flags = NDArray[np.bool_]
    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["Path", "ends_at", "parents_of", "path_of", "penalties_of", "pruned"]

_ALIKE = 1e-12  # of the root's dispersion: penalised dispersions that differ by less are one


class Path(NamedTuple):
    """The trees that are left as siblings are merged one after the other."""

    merged: Whole  # (s,): the nodes that become leaves, in this order
    dispersion: Values  # (s + 1,): γ̂ of the tree before, between and after
    leaves: Whole  # (s + 1,): #T, from all leaves down to 1


def path_of(nodes: Nodes) -> Path:
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
    >>> from symscreen.statistics.crit import Sample, grow
    >>> signs, shown = np.array([[-1], [1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    >>> path = path_of(grow(Sample(np.array([[0.0, 1.0]]), np.array([0]), signs, shown, np.ones(2))))
    >>> path.merged.tolist(), path.dispersion.tolist(), path.leaves.tolist()
    ([0], [0.0, 0.25], [2, 1])
    """
    leaf = nodes.feature < 0
    parents = parents_of(nodes)
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
    return Path(order, np.cumsum(rises) / nodes.weight[0], leaves)


def parents_of(nodes: Nodes) -> Whole:
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


def penalties_of(path: Path) -> Values:
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
    stage, last = 0, path.merged.size
    while stage < last:
        later = np.arange(stage + 1, last + 1)
        slopes = (path.dispersion[later] - path.dispersion[stage]) / (later - stage)
        stage = int(later[np.flatnonzero(slopes <= slopes.min() * (1.0 + _ALIKE))[-1]])
        changes.append(float(slopes.min()))
    known = np.array(changes)
    return np.concatenate(([0.0], np.sqrt(known[:-1] * known[1:]), known[-1:]))


def ends_at(nodes: Nodes, path: Path, penalty: float) -> Flags:
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
    penalised = path.dispersion + penalty * path.leaves
    stage = int(np.flatnonzero(penalised <= penalised.min() + _ALIKE * abs(path.dispersion[-1]))[-1])
    closed = nodes.feature < 0
    closed[path.merged[:stage]] = True
    parents = parents_of(nodes)
    # merging goes from the leaves up: whose parent is closed is inside a merged cell
    return np.asarray(closed & ~((parents >= 0) & closed[parents]))


def pruned(nodes: Nodes, ends: Flags) -> Nodes:
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
    kept = np.zeros(ends.size, dtype=np.bool_)
    front = np.zeros(1, dtype=np.int64)
    while front.size:
        kept[front] = True
        inside = front[~ends[front]]
        front = np.concatenate((nodes.left[inside], nodes.right[inside]))
    numbers = np.cumsum(kept) - 1
    left = nodes._replace(
        feature=np.where(ends, -1, nodes.feature),
        threshold=np.where(ends, np.nan, nodes.threshold),
        goes_left=nodes.goes_left & ~ends[:, None],
        left=np.where(ends, -1, numbers[nodes.left]),
        right=np.where(ends, -1, numbers[nodes.right]),
        decrease=np.where(ends, 0.0, nodes.decrease),
    )
    return type(nodes)._make(column[kept] for column in left)
