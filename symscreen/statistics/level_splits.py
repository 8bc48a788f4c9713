"""Regression trees that split all cells of a level in one direction, and honest cell values.

Fotakis et al., Algorithm 9 (level splits) and Algorithm 10 (honest values). The paper's inputs are binary and
a direction is a feature. As an extension for numeric inputs, a direction is a feature with a threshold: rows
with x_i ≤ c go left.

Honest trees use two halves of the rows. The first half chooses the directions. The second half decides which
cells are split (a cell with at most one of its rows is not) and which value each cell predicts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.statistics._kernels import find_best_split

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values

    Indices = NDArray[np.int64]


# Both are relative to Σy².
_TIE_TOLERANCE = 1e-10  # gains that differ by less are tied: the first feature and the lowest threshold win
_PURITY_TOLERANCE = 1e-12  # a smaller residual sum of squares counts as 0


@dataclass(frozen=True, eq=False)
class LevelTree:
    """A tree grown by level splits.

    Parameters
    ----------
    features : int64 array, shape (levels,)
        The feature that each level splits on.
    thresholds : float64 array, shape (levels,)
        The threshold of each level. Rows with x ≤ the threshold go left.
    levels : int64 array, shape (nodes,)
        The level at which each node is split; −1 for a leaf.
    left_children : int64 array, shape (nodes,)
        The left child of each node; the right child is the next node. −1 for a leaf.
    values : float64 array, shape (nodes,)
        The mean target of the node's rows.
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
    split_rows : float64 array, shape (n, d)
        The rows that choose the directions.
    split_y : float64 array, shape (n,)
        The target of these rows.
    estimation_rows : float64 array, shape (m, d)
        The rows V that decide which cells are split and give the cells their values. Pass `split_rows` again
        for a tree without honesty.
    estimation_y : float64 array, shape (m,)
        The target of these rows.
    max_levels : int, optional
        log t: the maximum number of levels. By default levels are added until the target is constant in
        every cell of `split_rows`, or until no direction splits a cell.
    min_leaf : int
        Minimum number of estimation rows in each child of a split (1 in the paper).

    Returns
    -------
    LevelTree
        Each level's direction maximises V_n(S ∪ {i}) (eq. 9) among those that split a cell of `split_rows`.

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
    centered = split_y - split_y.mean()
    squares = float(centered @ centered)
    cells = np.zeros(len(split_rows), dtype=np.int64)
    features: list[int] = []
    thresholds: list[float] = []
    nodes = _LevelTreeNodes(estimation_rows, min_leaf)
    while max_levels is None or len(features) < max_levels:
        if (
            squares - _compute_explained(cells, centered) <= _PURITY_TOLERANCE * squares
            or not nodes.can_split()
        ):
            break
        feature, threshold = find_best_split(columns, order, cells, centered, _TIE_TOLERANCE * squares)
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
    """Predict with a tree of level splits.

    Parameters
    ----------
    tree : LevelTree
        The fitted tree.
    rows : float64 array, shape (m, d)
        The features of the rows to predict.

    Returns
    -------
    float64 array, shape (m,)
        f⁽ⁿ⁾(x): the value of the leaf that contains x.
    """
    nodes = np.zeros(len(rows), dtype=np.int64)
    for level, (feature, threshold) in enumerate(zip(tree.features, tree.thresholds, strict=True)):
        is_split = tree.levels[nodes] == level
        children = tree.left_children[nodes[is_split]] + (rows[is_split, feature] > threshold)
        nodes[is_split] = children
    return np.asarray(tree.values[nodes])


class _LevelTreeNodes:
    """The nodes of a growing tree, and the node of each estimation row."""

    def __init__(self, rows: Values, min_leaf: int) -> None:
        self._rows, self._min_leaf = rows, min_leaf
        self.row_nodes = np.zeros(len(rows), dtype=np.int64)
        self.levels, self.left_children = [-1], [-1]

    def can_split(self) -> bool:
        """Return whether a node holds enough rows for two children."""
        return bool(np.bincount(self.row_nodes).max() >= 2 * self._min_leaf)

    def split_cells(self, level: int, feature: int, threshold: float) -> None:
        """Split every leaf whose children would both hold at least `min_leaf` rows."""
        goes_right = self._rows[:, feature] > threshold
        n_rows = np.bincount(self.row_nodes, minlength=len(self.levels))
        n_right = np.bincount(self.row_nodes[goes_right], minlength=len(self.levels))
        is_allowed = (n_right >= self._min_leaf) & (n_rows - n_right >= self._min_leaf)
        left_child = np.full(len(self.levels), -1, dtype=np.int64)
        for node in np.flatnonzero(is_allowed).tolist():
            left_child[node] = len(self.levels)
            self.levels[node], self.left_children[node] = level, len(self.levels)
            self.levels += [-1, -1]
            self.left_children += [-1, -1]
        moves = left_child[self.row_nodes] >= 0
        self.row_nodes[moves] = left_child[self.row_nodes[moves]] + goes_right[moves]


def _compute_node_means(levels: Indices, left_children: Indices, row_nodes: Indices, y: Values) -> Values:
    """Average `y`, shape (m,), over the rows below each node; shape (nodes,)."""
    n_rows = np.bincount(row_nodes, minlength=len(levels)).astype(np.float64)
    sums = np.bincount(row_nodes, weights=y, minlength=len(levels))
    for node in np.flatnonzero(left_children >= 0)[::-1]:  # children have larger numbers than their parent
        n_rows[node] = n_rows[left_children[node]] + n_rows[left_children[node] + 1]
        sums[node] = sums[left_children[node]] + sums[left_children[node] + 1]
    return np.asarray(sums / n_rows)


def _compute_explained(cells: Indices, centered: Values) -> float:
    """Compute n V_n(S), the sum over cells of (Σ y)²/N (eq. 9), for a centred target of shape (n,)."""
    sums = np.bincount(cells, weights=centered)
    return float((sums * sums / np.bincount(cells)).sum())


def split_rows_in_half(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split rows into two random halves: D_{n/2} and D′_{n/2} of Algorithms 9 and 10.

    Parameters
    ----------
    n : int
        The number of rows, at least 1.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    split_rows, estimation_rows : int64 arrays
        Ascending row indices. If n is odd, the first half has one row more. A single row is in both.

    Examples
    --------
    >>> [len(half) for half in split_rows_in_half(5, np.random.default_rng(0))]
    [3, 2]
    """
    if n == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    shuffled = rng.permutation(n)
    return np.sort(shuffled[: (n + 1) // 2]), np.sort(shuffled[(n + 1) // 2 :])


def compute_honest_values(tree: Any, rows: Values, target: Values) -> Values:
    """Compute node values from rows that were not used to grow the tree.

    Parameters
    ----------
    tree : sklearn.tree.DecisionTreeRegressor
        A tree fitted on other rows.
    rows : float64 array, shape (m, d)
        The estimation rows, V of Algorithm 10.
    target : float64 array, shape (m,)
        The target of these rows.

    Returns
    -------
    float64 array, shape (nodes,)
        The prediction of each node. A node with at most one of the rows (|V ∩ A| ≤ 1) is not split by
        Algorithm 10, so all its descendants take its value. A node without rows takes its parent's value.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    >>> compute_honest_values(tree, np.array([[0.0], [0.1], [1.0]]), np.array([3.0, 5.0,
    ...     9.0])).round(2).tolist()
    [5.67, 4.0, 9.0]
    """
    path = tree.decision_path(rows)
    n_rows = np.asarray(path.sum(axis=0)).ravel()
    sums = np.asarray(path.T @ target).ravel()
    left, right = tree.tree_.children_left, tree.tree_.children_right
    values: Values = np.divide(sums, n_rows, out=np.full(len(n_rows), target.mean()), where=n_rows > 0)
    is_leaf = n_rows <= 1
    for node in np.flatnonzero(left >= 0).tolist():  # children have larger numbers than their parent
        for child in (left[node], right[node]):
            if is_leaf[node] or n_rows[child] == 0:
                values[child] = values[node]
                is_leaf[child] = True
    return values
