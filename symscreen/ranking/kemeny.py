"""The exact Kemeny median: min_σ L_P(σ) (Clémençon et al., eq. 3).

Labels are first parted by the majorities' cycles: a pair from two parts is ordered by its majority at no
loss, so each part can be solved for itself. A small part is solved by dynamic programming over its subsets, a
larger one as an integer program over pairs whose triangles are added as they are violated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.errors import OptionError
from symscreen.ranking.kemeny_program import order_by_program
from symscreen.ranking.probabilities import one_matrix, preferences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.ranking.probabilities import Pairwise

    Values = NDArray[np.float64]
    Places = NDArray[np.int64]

__all__ = ["SUBSETS", "cycles_of", "kemeny_by_subsets", "kemeny_median"]

SUBSETS = 14  # labels of one part, up to which all its subsets are gone through
_LARGEST = 20  # labels whose subsets are gone through if asked for: 2^20 losses are 8 MB
_DIGITS = 12  # of costs: beyond is rounding of weights, which depends on the order of rows
_ALIKE = 1e-10  # losses this close are one: their order is rounding


def kemeny_median(p: Pairwise) -> Values:
    """Find an exact Kemeny median.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; pairs never seen cost nothing either way.

    Returns
    -------
    float64 array, shape (k,)
        Ranks 1 to k. Of several medians the one is taken that lists parts with the smallest label first where
        no majority orders them, and inside a part of up to 14 labels the smallest label first, place by
        place.

    Raises
    ------
    OptionError
        If one net of cycles joins more than 60 labels, or the integer program passes its bound on work.

    Examples
    --------
    >>> cycle = np.array([[0.5, 0.9, 0.4], [0.1, 0.5, 0.8], [0.6, 0.2, 0.5]])
    >>> kemeny_median(cycle).tolist()
    [1.0, 2.0, 3.0]
    """
    matrix = one_matrix(p)
    parts = cycles_of(p)
    order = np.concatenate([part[_order_within(matrix[np.ix_(part, part)])] for part in parts])
    ranks = np.empty(len(matrix))
    ranks[order] = np.arange(1.0, len(matrix) + 1.0)
    return ranks


def cycles_of(p: Pairwise) -> list[Places]:
    """Part the labels into those that cycles of strict majorities join.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities.

    Returns
    -------
    list of int64 arrays
        The strongly connected parts of the relation p_ij > ½, each ascending, in an order in which no label
        comes after one that it is preferred to in another part; of parts that could come next the one with
        the smallest label does.

    Examples
    --------
    >>> cycles_of(np.array([[0.5, 0.2], [0.8, 0.5]]))
    [array([1]), array([0])]
    """
    wins = preferences(one_matrix(p)) > 0
    reach = wins | np.eye(len(wins), dtype=bool)
    for middle in range(len(wins)):  # Warshall's closure
        reach |= reach[:, middle, None] & reach[None, middle, :]
    mutual = reach & reach.T
    firsts = mutual.argmax(axis=1)  # the smallest label of each label's part
    waiting = sorted(set(firsts.tolist()))
    parts = []
    while waiting:
        free = next(one for one in waiting if not any(reach[other, one] for other in waiting if other != one))
        parts.append(np.flatnonzero(firsts == free).astype(np.int64))
        waiting.remove(free)
    return parts


def kemeny_by_subsets(p: Pairwise) -> Values:
    """Find the Kemeny median by dynamic programming over subsets of labels, O(2^k k²) compiled.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities, k ≤ 20.

    Returns
    -------
    float64 array, shape (k,)
        Ranks 1 to k; of several medians the one with the smallest label first, place by place.

    Raises
    ------
    OptionError
        If k > 20.

    Examples
    --------
    >>> kemeny_by_subsets(np.full((3, 3), 0.5)).tolist()
    [1.0, 2.0, 3.0]
    """
    costs = _costs(p)
    if len(costs) > _LARGEST:
        raise OptionError(
            f"{len(costs)} labels have too many subsets to go through: up to {_LARGEST} can be, "
            "and kemeny_median solves larger ones as an integer program"
        )
    order = np.empty(len(costs), dtype=np.int64)
    _best_order(costs, _ALIKE, order)
    return _ranks(order)


def _order_within(matrix: Values) -> Places:
    if len(matrix) == 1:
        return np.zeros(1, dtype=np.int64)
    if len(matrix) > SUBSETS:
        return order_by_program(_costs(matrix))
    return np.argsort(kemeny_by_subsets(matrix)).astype(np.int64)


def _costs(p: Pairwise) -> Values:
    """Tell what placing i before j costs, p_ji; shape (k, k), 0 on the diagonal and for pairs never seen."""
    costs = np.asarray(np.round(np.nan_to_num(one_matrix(p).T, nan=0.0), _DIGITS), dtype=np.float64)
    np.fill_diagonal(costs, 0.0)
    return costs


def _ranks(order: Places) -> Values:
    ranks = np.empty(order.size)
    ranks[order] = np.arange(1.0, order.size + 1.0)
    return ranks


@kernel
def _best_order(costs: Values, alike: float, order: Places) -> None:
    """Fill in the order of least cost; `costs[i, j]` is that of placing i before j."""
    k = costs.shape[0]
    least = np.empty(1 << k)  # of ordering the labels of each set after one another
    least[0] = 0.0
    for members in range(1, 1 << k):
        best = np.inf
        for i in range(k):
            if members >> i & 1:
                rest = members & ~(1 << i)
                loss = least[rest]
                for j in range(k):
                    if rest >> j & 1:
                        loss += costs[i, j]
                best = min(best, loss)
        least[members] = best
    members = (1 << k) - 1
    for place in range(k):
        for i in range(k):
            if members >> i & 1:
                rest = members & ~(1 << i)
                loss = least[rest]
                for j in range(k):
                    if rest >> j & 1:
                        loss += costs[i, j]
                if loss <= least[members] + alike:
                    order[place] = i
                    members = rest
                    break
