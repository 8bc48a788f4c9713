"""One tree for the position of one label: what the trees and forests of Fotakis et al. are made of."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.statistics.honest import halves, honest_values
from symscreen.statistics.level_splits import grow_level_tree, level_tree_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Grower = Callable[..., "PositionTree"]
    PositionTree = Callable[[Values], Values]

__all__ = ["GROWERS", "breiman_tree", "level_tree"]


def breiman_tree(
    rows: Values, y: Values, rng: np.random.Generator, *, honest: bool, max_depth: int | None, min_leaf: int
) -> PositionTree:
    """Grow a tree by Breiman's criterion, cell by cell (Fotakis et al., Algorithm 10).

    Parameters
    ----------
    rows : float64 array, shape (n, d)
        Features.
    y : float64 array, shape (n,)
        The label's positions.
    rng : numpy Generator
        Draws the halves, and which of equally good directions is taken.
    honest : bool
        h: shape the tree by one half of the rows, value it by the other.
    max_depth : int, optional
        Cells are not cut more often than this.
    min_leaf : int
        Every cell holds at least so many shaping rows.

    Returns
    -------
    callable
        From features, shape (m, d), to predicted positions, shape (m,).

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0]])
    >>> options = {"honest": False, "max_depth": None, "min_leaf": 1}
    >>> breiman_tree(rows, np.array([0.5, 1.0]), np.random.default_rng(0), **options)(rows).tolist()
    [0.5, 1.0]
    """
    from sklearn.tree import DecisionTreeRegressor

    seed = int(rng.integers(2**31 - 1))
    tree = DecisionTreeRegressor(max_depth=max_depth, min_samples_leaf=min_leaf, random_state=seed)
    if not honest:
        return tree.fit(rows, y).predict  # type: ignore[no-any-return]
    shaping, valuing = halves(len(rows), rng)
    tree.fit(rows[shaping], y[shaping])  # its gain, of squared error, is that of eq. (12)
    values = honest_values(tree, rows[valuing], y[valuing])
    return partial(_valued, tree, values)


def level_tree(
    rows: Values, y: Values, rng: np.random.Generator, *, honest: bool, max_depth: int | None, min_leaf: int
) -> PositionTree:
    """Grow a tree by level splits, all cells in one direction (Fotakis et al., Algorithm 9).

    Parameters
    ----------
    rows, y, rng, honest, max_depth
        As of `breiman_tree`; nothing but the halves is drawn.
    min_leaf : int
        A cell is cut where both parts hold at least so many valuing rows.

    Returns
    -------
    callable
        From features, shape (m, d), to predicted positions, shape (m,).

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0]])
    >>> options = {"honest": False, "max_depth": None, "min_leaf": 1}
    >>> level_tree(rows, np.array([0.5, 1.0]), np.random.default_rng(0), **options)(rows).tolist()
    [0.5, 1.0]
    """
    shaping, valuing = halves(len(rows), rng) if honest else (np.arange(len(rows)),) * 2
    tree = grow_level_tree(
        rows[shaping], y[shaping], rows[valuing], y[valuing], max_levels=max_depth, min_leaf=min_leaf
    )
    return partial(level_tree_values, tree)


def _valued(tree: Any, values: Values, rows: Values) -> Values:
    return np.asarray(values[tree.apply(rows)])


GROWERS: dict[str, Grower] = {"breiman": breiman_tree, "level": level_tree}
