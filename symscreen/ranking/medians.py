"""Many medians at once, from the pair sums of many groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.label_ranking import pair_places
from symscreen.ranking.consensus import copeland, median_ranking
from symscreen.ranking.pairwise import preferences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["medians_of"]

_AT_ONCE = 4_000_000  # numbers in the matrices of one part: 32 MB


def medians_of(differences: Values, seen: Values, k: int) -> Values:
    """Compute the pseudo-empirical median of each of m groups of rows (Clémençon et al., section 2.1).

    Parameters
    ----------
    differences : float64 array, shape (m, k(k − 1)/2)
        Σ w·sgn(rank_i − rank_j) over a group's rows, pairs in the order of `pair_places`.
    seen : float64 array, shape (m, k(k − 1)/2)
        Σ w over the rows that show the pair.
    k : int
        The number of labels.

    Returns
    -------
    float64 array, shape (m, k)
        Ranks 1 to k, each as `median_ranking` finds it.

    Examples
    --------
    >>> medians_of(np.array([[-1.0, -3.0, 1.0]]), np.full((1, 3), 3.0), 3).tolist()
    [[1.0, 3.0, 2.0]]
    """
    found = np.ones((len(differences), k))
    part = max(_AT_ONCE // (k * k), 1)
    for start in range(0, len(found) if k > 1 else 0, part):
        stop = start + part
        found[start:stop] = _medians(differences[start:stop], seen[start:stop], k)
    return found


def _medians(differences: Values, seen: Values, k: int) -> Values:
    p = _probabilities(differences, seen, k)
    found = copeland(p)
    wins = np.sort((preferences(p) > 0).sum(axis=2), axis=1)
    cyclic = np.flatnonzero((wins != np.arange(k)).any(axis=1))
    if cyclic.size:
        distinct, which = np.unique(p[cyclic].reshape(cyclic.size, -1), axis=0, return_inverse=True)
        solved = [median_ranking(one.reshape(k, k)).ranking for one in distinct]
        found[cyclic] = np.array(solved)[which.reshape(-1)]
    return found


def _probabilities(differences: Values, seen: Values, k: int) -> Values:
    """Fill in p_ij = (1 − D/S)/2; what was never seen is even, which moves no median."""
    first, second = pair_places(k)
    shares = np.divide(differences, seen, out=np.zeros(differences.shape), where=seen > 0)
    p = np.full((len(differences), k, k), 0.5)
    p[:, first, second] = (1.0 - shares) / 2.0
    p[:, second, first] = 1.0 - p[:, first, second]
    return p
