"""Honest values for the cells of a tree, by rows that did not shape it (Fotakis et al., Algorithm 10).

The half of the rows that shapes the tree decides where cells are cut; the other half decides whether they are
(a cell that holds one of its rows or none is not), and what is predicted in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["halves", "honest_values"]


def halves(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    >>> [len(half) for half in halves(5, np.random.default_rng(0))]
    [3, 2]
    """
    if n == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    drawn = rng.permutation(n)
    return np.sort(drawn[: (n + 1) // 2]), np.sort(drawn[(n + 1) // 2 :])


def honest_values(tree: Any, rows: Values, targets: Values) -> Values:
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
    >>> honest_values(tree, np.array([[0.0], [0.1], [1.0]]), np.array([3.0, 5.0, 9.0])).round(2).tolist()
    [5.67, 4.0, 9.0]
    """
    path = tree.decision_path(rows)
    held = np.asarray(path.sum(axis=0)).ravel()
    sums = np.asarray(path.T @ targets).ravel()
    left, right = tree.tree_.children_left, tree.tree_.children_right
    values: Values = np.divide(sums, held, out=np.full(len(held), targets.mean()), where=held > 0)
    closed = held <= 1
    for node in np.flatnonzero(left >= 0).tolist():  # a parent's number is smaller than its children's
        for child in (left[node], right[node]):
            if closed[node] or held[child] == 0:
                values[child] = values[node]
                closed[child] = True
    return values
