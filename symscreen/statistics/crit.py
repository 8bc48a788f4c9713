"""CRIT, the consensus ranking tree (Clémençon et al. 2018, section 4.3), on plain arrays.

A node's dispersion is Σ_{i<j} S_ij·p̂_ij(1 − p̂_ij): S_ij the weight of the rows that show both labels, p̂_ij
the share of it that places i before j, ties counting half. Where rankings are complete S is the node's weight
W, and this is W·γ̂, as in eq. (35) without its factor ½. Where they are not, a pair counts for as much as it
is seen; so no split raises the dispersion, and pairs that nobody shows are worth nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.crit_growth import Limits, Nodes, grow_nodes
from symscreen.statistics.crit_scan import Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["Nodes", "Sample", "grow", "importances", "leaves_of"]


def grow(
    sample: Sample,
    *,
    max_depth: int | None = None,
    min_leaf: int = 1,
    min_decrease: float = 0.0,
    max_features: int | None = None,
    seed: int = 0,
) -> Nodes:
    """Grow a tree: every node is split where the dispersion of its children is least.

    Parameters
    ----------
    sample : Sample
        n ≥ 1 rows, d ≥ 1 features; nothing checks that shapes agree.
    max_depth : int, optional
        How many splits deep.
    min_leaf : int
        The fewest rows of a leaf, ≥ 1.
    min_decrease : float
        A split must lower the dispersion of the tree by at least this, relative to the weight of the sample.
    max_features : int, optional
        How many features that vary in the node are looked at, drawn anew for each; more where none of them
        gains anything. Default all.
    seed : int
        Of these draws.

    Returns
    -------
    Nodes
        Thresholds are values of the feature, so that growing features by increasing functions changes nothing
        else. Of splits that are as good, to 12 digits, the first feature and its smallest threshold are
        taken. A node is a leaf where no split gains anything.

    Notes
    -----
    Clémençon, Korba and Sibony (2018), eq. (36) and (37), exactly: all thresholds (but where a child
    would have less than 1e-9 of its parent's weight), all subsets of up to ten categories (more:
    `symscreen.statistics.crit_categories`). After one sort a feature the cost of a node is linear in its
    rows: O(n·d·k²) a level.

    Examples
    --------
    >>> signs = np.array([[-1], [-1], [1], [1]], dtype=np.int8)
    >>> everywhere = np.empty((0, 1), dtype=bool)
    >>> sample = Sample(np.array([[0.0, 1.0, 2.0, 3.0]]), np.array([0]), signs, everywhere, np.ones(4))
    >>> nodes = grow(sample)
    >>> nodes.threshold.tolist(), nodes.dispersion.tolist()
    ([1.0, nan, nan], [1.0, 0.0, 0.0])
    """
    d, n = sample.columns.shape
    depth = n if max_depth is None else min(max_depth, n)
    most = max(2 * (n // max(min_leaf, 1)) - 1, 1)
    if depth < most.bit_length():
        most = min(most, 2 ** (depth + 1) - 1)
    out = _room_for(most, sample.signs.shape[1], int(sample.categories.max(initial=0)) + 1)
    order = np.argsort(sample.columns, axis=1, kind="stable").astype(np.int32)
    looked_at = d if max_features is None else max_features
    limits = Limits(int(depth), int(min_leaf), float(min_decrease), int(looked_at), int(seed) % 2**62)
    count = grow_nodes(Sample(*map(np.ascontiguousarray, sample)), limits, order, out)
    return Nodes._make(column[:count].copy() for column in out)


def leaves_of(nodes: Nodes, columns: Values) -> Whole:
    """Find the leaf of each row.

    Parameters
    ----------
    nodes : Nodes
        A tree.
    columns : float64 array, shape (d, m)
        Of m rows; categories as codes, those never seen by the largest code of the tree, plus 1.

    Returns
    -------
    int64 array, shape (m,)
        Numbers of nodes.

    Examples
    --------
    >>> signs, shown = np.array([[-1], [1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    >>> nodes = grow(Sample(np.array([[0.0, 1.0]]), np.array([0]), signs, shown, np.ones(2)))
    >>> leaves_of(nodes, np.array([[-5.0, 0.5]])).tolist()
    [1, 2]
    """
    out = np.empty(columns.shape[1], dtype=np.int64)
    _descend(nodes, np.ascontiguousarray(columns), out)
    return out


def importances(nodes: Nodes, d: int) -> Values:
    """Sum the decrease of the dispersion over the splits on each feature.

    Parameters
    ----------
    nodes : Nodes
        A tree.
    d : int
        How many features there are.

    Returns
    -------
    float64 array, shape (d,)
        Relative to the weight of the sample: the sum is γ̂ of the root less that of the tree.

    Examples
    --------
    >>> signs, shown = np.array([[-1], [1]], dtype=np.int8), np.empty((0, 1), dtype=bool)
    >>> nodes = grow(Sample(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([0, 0]), signs, shown, np.ones(2)))
    >>> importances(nodes, 2).tolist()
    [0.0, 0.25]
    """
    inside = nodes.feature >= 0
    summed = np.bincount(nodes.feature[inside], weights=nodes.decrease[inside], minlength=d)
    return np.asarray(summed / nodes.weight[0], dtype=np.float64)


def _room_for(most: int, pairs: int, codes: int) -> Nodes:
    def whole() -> Whole:
        return np.empty(most, dtype=np.int64)

    def real(*shape: int) -> Values:
        return np.empty((most, *shape))

    return Nodes(
        feature=whole(),
        threshold=real(),
        goes_left=np.empty((most, codes), dtype=np.bool_),
        left=whole(),
        right=whole(),
        depth=whole(),
        rows=whole(),
        weight=real(),
        differences=real(pairs),
        seen=real(pairs),
        dispersion=real(),
        decrease=real(),
    )


@kernel
def _descend(nodes: Nodes, columns: Values, out: Whole) -> None:
    for row in range(out.size):
        node = 0
        while nodes.feature[node] >= 0:
            value = columns[nodes.feature[node], row]
            if np.isnan(nodes.threshold[node]):
                goes_left = nodes.goes_left[node, int(value)]
            else:
                goes_left = value <= nodes.threshold[node]
            node = nodes.left[node] if goes_left else nodes.right[node]
        out[row] = node
