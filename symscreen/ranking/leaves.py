"""The consensus of the rows in the leaves of a tree (Clémençon et al. 2018, eq. 38)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.ranking.medians import medians_of
from symscreen.ranking.pruning import parents_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.crit import Nodes

    Values = NDArray[np.float64]

__all__ = ["rankings_at"]


def rankings_at(nodes: Nodes, places: NDArray[np.int64], k: int) -> Values:
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
    differences, seen = nodes.differences[places], nodes.seen[places]
    above, parents = places, parents_of(nodes)
    while (seen <= 0.0).any() and (above >= 0).any():
        above = np.where(above >= 0, parents[above], -1)
        unseen = (seen <= 0.0) & (above >= 0)[:, None]
        differences = np.where(unseen, nodes.differences[above], differences)
        seen = np.where(unseen, nodes.seen[above], seen)
    found = np.full((len(nodes.feature), k), np.nan)
    found[places] = medians_of(differences, seen, k)
    return found
