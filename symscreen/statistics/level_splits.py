"""Regression trees that cut all cells of a level in one direction (Fotakis et al., Algorithm 9).

The paper's inputs are binary, and a direction is a feature. For numeric inputs, our extension, a direction is
a feature with a threshold: rows with x_i ≤ c go left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.int64]
    Values = NDArray[np.float64]

__all__ = ["LevelTree", "grow_level_tree", "level_tree_values"]

_SAME = 1e-10  # of Σy²: gains this close are ties, and the first feature and the lowest threshold win
_PURE = 1e-12  # of Σy²


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

    features: Places
    thresholds: Values
    level: Places
    left: Places
    values: Values


def grow_level_tree(
    shaping: Values,
    shaping_y: Values,
    valuing: Values,
    valuing_y: Values,
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
    >>> tree.features.tolist(), level_tree_values(tree, rows).tolist()
    ([0, 1], [0.0, 1.0, 4.0, 5.0])
    """
    columns = np.ascontiguousarray(shaping.T)
    order = np.argsort(columns, axis=1, kind="stable")
    centred = shaping_y - shaping_y.mean()
    squares = float(centred @ centred)
    cells = np.zeros(len(shaping), dtype=np.int64)
    features: list[int] = []
    thresholds: list[float] = []
    nodes = _Nodes(valuing, min_leaf)
    while max_levels is None or len(features) < max_levels:
        if squares - _explained(cells, centred) <= _PURE * squares or not nodes.open():
            break
        feature, threshold = _best_direction(columns, order, cells, centred, _SAME * squares)
        if feature < 0:
            break
        nodes.cut(len(features), feature, threshold)
        features.append(feature)
        thresholds.append(threshold)
        _, cells = np.unique(2 * cells + (columns[feature] > threshold), return_inverse=True)
    level, left = np.array(nodes.level), np.array(nodes.left)
    return LevelTree(
        np.array(features, dtype=np.int64),
        np.array(thresholds),
        level,
        left,
        _means(level, left, nodes.place, valuing_y),
    )


def level_tree_values(tree: LevelTree, rows: Values) -> Values:
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
        moving = tree.level[place] == level
        below = tree.left[place[moving]] + (rows[moving, feature] > threshold)
        place[moving] = below
    return np.asarray(tree.values[place])


class _Nodes:
    """The cells of the partition P as they are cut, and where the valuing rows are."""

    def __init__(self, rows: Values, min_leaf: int) -> None:
        self._rows, self._min_leaf = rows, min_leaf
        self.place = np.zeros(len(rows), dtype=np.int64)
        self.level, self.left = [-1], [-1]

    def open(self) -> bool:
        """Say whether some cell holds enough rows for two."""
        return bool(np.bincount(self.place).max() >= 2 * self._min_leaf)

    def cut(self, level: int, feature: int, threshold: float) -> None:
        """Cut every cell of which both parts hold enough rows."""
        above = self._rows[:, feature] > threshold
        held = np.bincount(self.place, minlength=len(self.level))
        held_above = np.bincount(self.place[above], minlength=len(self.level))
        enough = (held_above >= self._min_leaf) & (held - held_above >= self._min_leaf)
        below = np.full(len(self.level), -1, dtype=np.int64)
        for node in np.flatnonzero(enough).tolist():
            below[node] = len(self.level)
            self.level[node], self.left[node] = level, len(self.level)
            self.level += [-1, -1]
            self.left += [-1, -1]
        moving = below[self.place] >= 0
        self.place[moving] = below[self.place[moving]] + above[moving]


def _means(level: Places, left: Places, place: Places, y: Values) -> Values:
    held = np.bincount(place, minlength=len(level)).astype(np.float64)
    sums = np.bincount(place, weights=y, minlength=len(level))
    for node in np.flatnonzero(left >= 0)[::-1]:  # a parent's number is smaller than its children's
        held[node] = held[left[node]] + held[left[node] + 1]
        sums[node] = sums[left[node]] + sums[left[node] + 1]
    return np.asarray(sums / held)


def _explained(cells: Places, centred: Values) -> float:
    """Compute n V_n(S): Σ over cells of (Σ y)²/N (eq. 9), of centred responses."""
    sums = np.bincount(cells, weights=centred)
    return float((sums * sums / np.bincount(cells)).sum())


@kernel
def _best_direction(
    columns: Values, order: Places, cells: Places, y: Values, same: float
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
            explained -= _part(left_sums[cell], left_held[cell])
            explained -= _part(sums[cell] - left_sums[cell], held[cell] - left_held[cell])
            if left_held[cell] == 0.0:
                divided += 1
            left_held[cell] += 1.0
            left_sums[cell] += y[row]
            if left_held[cell] == held[cell]:
                divided -= 1
            explained += _part(left_sums[cell], left_held[cell])
            explained += _part(sums[cell] - left_sums[cell], held[cell] - left_held[cell])
            here, after = columns[i, row], columns[i, order[i, at + 1]]
            if after > here and divided > 0 and explained > best + same:
                best, feature = explained, i
                threshold = here + (after - here) / 2.0
                if not here <= threshold < after:  # the two are neighbours, or their gap overflows
                    threshold = here
    return feature, threshold


@kernel
def _part(total: float, held: float) -> float:
    return total * total / held if held > 0.0 else 0.0
