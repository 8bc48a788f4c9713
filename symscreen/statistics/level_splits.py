"""Regression trees that cut all cells of a level in one direction (Fotakis et al., Algorithm 9).

The paper's inputs are binary, and a direction is a feature. For numeric inputs, our extension, a direction is
a feature with a threshold: rows with x_i ≤ c go left.

Honest values for the cells of a tree, by rows that did not shape it (Fotakis et al., Algorithm 10).

The half of the rows that shapes the tree decides where cells are cut; the other half decides whether they are
(a cell that holds one of its rows or none is not), and what is predicted in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values

    Indices = NDArray[np.int64]

__all__ = [
    "LevelTree",
    "compute_honest_values",
    "grow_level_tree",
    "predict_level_tree",
    "split_rows_in_half",
]

_TIE_TOLERANCE = (
    1e-10  # of Σy²: gains this close are ties, and the first feature and the lowest threshold win
)
_PURITY_TOLERANCE = 1e-12  # of Σy²


@dataclass(frozen=True, eq=False)
class LevelTree:
    """A tree grown by level splits.

    Parameters
    ----------
    features : int64 array, shape (levels,)
        The direction of each level.
    thresholds : float64 array, shape (levels,)
        Rows with x ≤ the threshold go left.
    level : int64 array, shape (nodes,)
        At which level the node is cut; −1 for a leaf.
    left : int64 array, shape (nodes,)
        The left child; the right one is the next node. −1 for a leaf.
    values : float64 array, shape (nodes,)
        The mean response of the node's rows.
    """

    features: Indices
    thresholds: Values
    levels: Indices
    left_children: Indices
    values: Values


def grow_level_tree(
    split_rows: Values,
    split_y: Values,
    estimation_rows: Values,
    estimation_y: Values,
    *,
    max_levels: int | None = None,
    min_leaf: int = 1,
) -> LevelTree:
    """Grow a tree by level splits.

    Parameters
    ----------
    shaping : float64 array, shape (n, d)
        The rows that choose directions.
    shaping_y : float64 array, shape (n,)
        Their responses.
    valuing : float64 array, shape (m, d)
        The rows V that decide which cells are cut, and value them; the same as `shaping` without honesty.
    valuing_y : float64 array, shape (m,)
        Their responses.
    max_levels : int, optional
        log t: at most so many levels. By default levels are added until the shaping rows of every cell have
        one response, or no direction cuts a cell.
    min_leaf : int
        A cell is cut where both children hold at least so many valuing rows (1 in the paper).

    Returns
    -------
    LevelTree
        Each level's direction maximises V_n(S ∪ {i}) (eq. 9), among those that cut a cell of shaping rows.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> y = np.array([0.0, 1.0, 4.0, 5.0])
    >>> tree = grow_level_tree(rows, y, rows, y)
    >>> tree.features.tolist(), predict_level_tree(tree, rows).tolist()
    ([0, 1], [0.0, 1.0, 4.0, 5.0])
    """
    columns = np.ascontiguousarray(split_rows.T)
    order = np.argsort(columns, axis=1, kind="stable")
    centred = split_y - split_y.mean()
    squares = float(centred @ centred)
    cells = np.zeros(len(split_rows), dtype=np.int64)
    features: list[int] = []
    thresholds: list[float] = []
    nodes = _LevelTreeNodes(estimation_rows, min_leaf)
    while max_levels is None or len(features) < max_levels:
        if (
            squares - _compute_explained(cells, centred) <= _PURITY_TOLERANCE * squares
            or not nodes.can_split()
        ):
            break
        feature, threshold = _find_best_split(columns, order, cells, centred, _TIE_TOLERANCE * squares)
        if feature < 0:
            break
        nodes.split_cells(len(features), feature, threshold)
        features.append(feature)
        thresholds.append(threshold)
        _, cells = np.unique(2 * cells + (columns[feature] > threshold), return_inverse=True)
    level, left = np.array(nodes.levels), np.array(nodes.left_children)
    return LevelTree(
        np.array(features, dtype=np.int64),
        np.array(thresholds),
        level,
        left,
        _compute_node_means(level, left, nodes.row_nodes, estimation_y),
    )


def predict_level_tree(tree: LevelTree, rows: Values) -> Values:
    """Predict by a tree grown by level splits.

    Parameters
    ----------
    tree : LevelTree
        The tree.
    rows : float64 array, shape (m, d)
        Features.

    Returns
    -------
    float64 array, shape (m,)
        f⁽ⁿ⁾(x): the value of the cell that x is in.
    """
    place = np.zeros(len(rows), dtype=np.int64)
    for level, (feature, threshold) in enumerate(zip(tree.features, tree.thresholds, strict=True)):
        moving = tree.levels[place] == level
        below = tree.left_children[place[moving]] + (rows[moving, feature] > threshold)
        place[moving] = below
    return np.asarray(tree.values[place])


class _LevelTreeNodes:
    """The cells of the partition P as they are cut, and where the valuing rows are."""

    def __init__(self, rows: Values, min_leaf: int) -> None:
        self._rows, self._min_leaf = rows, min_leaf
        self.row_nodes = np.zeros(len(rows), dtype=np.int64)
        self.levels, self.left_children = [-1], [-1]

    def can_split(self) -> bool:
        """Say whether some cell holds enough rows for two."""
        return bool(np.bincount(self.row_nodes).max() >= 2 * self._min_leaf)

    def split_cells(self, level: int, feature: int, threshold: float) -> None:
        """Cut every cell of which both parts hold enough rows."""
        above = self._rows[:, feature] > threshold
        held = np.bincount(self.row_nodes, minlength=len(self.levels))
        held_above = np.bincount(self.row_nodes[above], minlength=len(self.levels))
        enough = (held_above >= self._min_leaf) & (held - held_above >= self._min_leaf)
        below = np.full(len(self.levels), -1, dtype=np.int64)
        for node in np.flatnonzero(enough).tolist():
            below[node] = len(self.levels)
            self.levels[node], self.left_children[node] = level, len(self.levels)
            self.levels += [-1, -1]
            self.left_children += [-1, -1]
        moving = below[self.row_nodes] >= 0
        self.row_nodes[moving] = below[self.row_nodes[moving]] + above[moving]


def _compute_node_means(levels: Indices, left_children: Indices, row_nodes: Indices, y: Values) -> Values:
    held = np.bincount(row_nodes, minlength=len(levels)).astype(np.float64)
    sums = np.bincount(row_nodes, weights=y, minlength=len(levels))
    for node in np.flatnonzero(left_children >= 0)[::-1]:  # a parent's number is smaller than its children's
        held[node] = held[left_children[node]] + held[left_children[node] + 1]
        sums[node] = sums[left_children[node]] + sums[left_children[node] + 1]
    return np.asarray(sums / held)


def _compute_explained(cells: Indices, centred: Values) -> float:
    """Compute n V_n(S): Σ over cells of (Σ y)²/N (eq. 9), of centred responses."""
    sums = np.bincount(cells, weights=centred)
    return float((sums * sums / np.bincount(cells)).sum())


@compile_kernel
def _find_best_split(
    columns: Values, order: Indices, cells: Indices, y: Values, tie_tolerance: float
) -> tuple[int, float]:
    """Find the direction (i, c) that maximises V_n(S ∪ {i}); the feature is −1 where none cuts a cell.

    Going through the rows in ascending order, each moves from the right to the left part of its own cell, and
    only that cell's two terms change: every feature costs O(n), whatever the number of cells.
    """
    d, n = columns.shape
    groups = cells.max() + 1
    held, sums = np.zeros(groups), np.zeros(groups)
    for row in range(n):
        held[cells[row]] += 1.0
        sums[cells[row]] += y[row]
    whole = 0.0
    for cell in range(groups):
        whole += sums[cell] * sums[cell] / held[cell]
    best, feature, threshold = -np.inf, -1, 0.0
    left_held, left_sums = np.empty(groups), np.empty(groups)
    for i in range(d):
        left_held[:] = 0.0
        left_sums[:] = 0.0
        explained, divided = whole, 0
        for at in range(n - 1):
            row = order[i, at]
            cell = cells[row]
            explained -= _compute_explained_part(left_sums[cell], left_held[cell])
            explained -= _compute_explained_part(sums[cell] - left_sums[cell], held[cell] - left_held[cell])
            if left_held[cell] == 0.0:
                divided += 1
            left_held[cell] += 1.0
            left_sums[cell] += y[row]
            if left_held[cell] == held[cell]:
                divided -= 1
            explained += _compute_explained_part(left_sums[cell], left_held[cell])
            explained += _compute_explained_part(sums[cell] - left_sums[cell], held[cell] - left_held[cell])
            here, after = columns[i, row], columns[i, order[i, at + 1]]
            if after > here and divided > 0 and explained > best + tie_tolerance:
                best, feature = explained, i
                threshold = here + (after - here) / 2.0
                if not here <= threshold < after:  # the two are neighbours, or their gap overflows
                    threshold = here
    return feature, threshold


@compile_kernel
def _compute_explained_part(total: float, n_rows: float) -> float:
    return total * total / n_rows if n_rows > 0.0 else 0.0


def split_rows_in_half(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split rows at random in half: D_{n/2} and D′_{n/2} of Algorithms 9 and 10.

    Parameters
    ----------
    n : int
        How many rows there are.
    rng : numpy Generator
        Draws the halves.

    Returns
    -------
    shaping, valuing : int64 arrays
        Ascending; of an odd number of rows the first half holds one more. A single row is in both.

    Examples
    --------
    >>> [len(half) for half in split_rows_in_half(5, np.random.default_rng(0))]
    [3, 2]
    """
    if n == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    drawn = rng.permutation(n)
    return np.sort(drawn[: (n + 1) // 2]), np.sort(drawn[(n + 1) // 2 :])


def compute_honest_values(tree: Any, rows: Values, target: Values) -> Values:
    """Value the nodes of a grown tree by rows that did not shape it.

    Parameters
    ----------
    tree : sklearn.tree.DecisionTreeRegressor
        Fitted on other rows.
    rows : float64 array, shape (m, d)
        The half that values, V of Algorithm 10.
    targets : float64 array, shape (m,)
        Its responses.

    Returns
    -------
    float64 array, shape (nodes,)
        What is predicted for a row that comes to the node. A node below one that holds at most one of the
        rows (|V ∩ A| ≤ 1, which Algorithm 10 does not cut) has that one's value; a node that holds none of
        the rows has its parent's.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> compute_honest_values(tree, np.array([[0.0], [0.1], [1.0]]), np.array([3.0, 5.0,
    ...     9.0])).round(2).tolist()
    [5.67, 4.0, 9.0]
    """
    path = tree.decision_path(rows)
    held = np.asarray(path.sum(axis=0)).ravel()
    sums = np.asarray(path.T @ target).ravel()
    left, right = tree.tree_.children_left, tree.tree_.children_right
    values: Values = np.divide(sums, held, out=np.full(len(held), target.mean()), where=held > 0)
    closed = held <= 1
    for node in np.flatnonzero(left >= 0).tolist():  # a parent's number is smaller than its children's
        for child in (left[node], right[node]):
            if closed[node] or held[child] == 0:
                values[child] = values[node]
                closed[child] = True
    return values
