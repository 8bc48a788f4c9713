"""Consensus of rankings: Copeland, Borda, and the pseudo-empirical median (Clémençon et al., section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError, nearest
from symscreen.ranking.kemeny import kemeny_median
from symscreen.ranking.pairwise import expected_distance, lower_bound, transitive
from symscreen.ranking.probabilities import (
    PairwiseProbabilities,
    matrix_of,
    one_matrix,
    pairwise_probabilities,
    preferences,
)
from symscreen.ranking.sorting import ranks_of_positions

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from symscreen.ranking.probabilities import Pairwise

    Ranks = NDArray[np.float64]

__all__ = ["Median", "borda", "borda_of_pairs", "copeland", "median_ranking"]

_METHODS = ("auto", "copeland", "kemeny", "borda")
_CERTAIN = 1e-9  # a loss this close to its bound attains it


@dataclass(frozen=True, eq=False)
class Median:
    """A consensus ranking and how good it is.

    Parameters
    ----------
    ranking : float64 array, shape (k,)
        Ranks 1 to k.
    method : {"copeland", "kemeny", "borda"}
        How it was found.
    loss : float
        L_P of it: the expected Kendall distance.
    certified : bool
        Whether no ranking has a smaller loss: it attains the lower bound of eq. (6), or the search that
        found it was exact.
    bound : float
        The lower bound of eq. (6): the loss exceeds the least possible one by at most the difference.
    """

    ranking: Ranks
    method: str
    loss: float
    certified: bool
    bound: float


def copeland(p: Pairwise) -> Ranks:
    """Rank labels by how many others are preferred to them (Clémençon et al., eq. 7).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (..., k, k)
        Pairwise probabilities.

    Returns
    -------
    float64 array, shape (..., k)
        Ranks 1 to k, in ascending order of Σ_j (1{p_ij < ½} + ½ · 1{p_ij = ½}); ties by the smaller index.
        Where p is strictly transitive this is 1 + Σ_j 1{p_ij < ½}, the one Kemeny median.

    Examples
    --------
    >>> copeland(np.array([[0.5, 0.2, 0.6], [0.8, 0.5, 0.9], [0.4, 0.1, 0.5]])).tolist()
    [2.0, 1.0, 3.0]
    """
    return ranks_of_positions(-preferences(p).sum(axis=-1, dtype=np.float64))


def borda(ranks: ArrayLike, weights: ArrayLike | None = None) -> Ranks:
    """Rank labels by their mean rank, the Borda count.

    Parameters
    ----------
    ranks : array-like, shape (n, k)
        Rankings. Where labels are missing mean ranks cannot be compared, and the probabilities of the pairs
        seen take their place: for complete rankings the two agree.
    weights : array-like, shape (n,), optional
        ≥ 0, one a row.

    Returns
    -------
    float64 array, shape (k,)
        Ranks 1 to k; ties by the smaller index.

    Raises
    ------
    TableError
        If the rankings are none.
    OptionError
        If the weights are none.

    Examples
    --------
    >>> borda([[1, 2, 3], [1, 3, 2], [3, 1, 2]]).tolist()
    [1.0, 2.0, 3.0]
    """
    return borda_of_pairs(pairwise_probabilities(ranks, weights))


def borda_of_pairs(p: Pairwise) -> Ranks:
    """Rank labels by Σ_j (p_ij − ½), the Borda count told by pairs.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (..., k, k)
        Pairwise probabilities; pairs never seen count as even.

    Returns
    -------
    float64 array, shape (..., k)
        Ranks 1 to k; ties by the smaller index.

    Examples
    --------
    >>> borda_of_pairs(np.array([[0.5, 0.2, 0.6], [0.8, 0.5, 0.9], [0.4, 0.1, 0.5]])).tolist()
    [2.0, 1.0, 3.0]
    """
    return ranks_of_positions(-np.nansum(matrix_of(p) - 0.5, axis=-1))


def median_ranking(p: Pairwise, *, method: str = "auto") -> Median:
    """Find the pseudo-empirical median of rankings.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities.
    method : {"auto", "copeland", "kemeny", "borda"}
        "auto": Copeland where p is strictly transitive, which is the one Kemeny median; else an exact Kemeny
        median; else, where cycles run through too many labels for that, Borda's. The others are that method
        and no other.

    Returns
    -------
    Median
        Of rankings that are as good Copeland and Borda put labels of the same count in the order of their
        indices; which of several Kemeny medians is taken, `kemeny_median` tells.

    Raises
    ------
    TableError
        If p is no square matrix of probabilities, or a stack of them.
    OptionError
        If the method is unknown, or is "kemeny" and the integer program passes its bound on work.

    Examples
    --------
    >>> rows = [[1, 2, 3], [1, 2, 3], [2, 1, 3]]
    >>> found = median_ranking(pairwise_probabilities(rows))
    >>> found.ranking.tolist(), found.method, round(found.loss, 6), found.certified
    ([1.0, 2.0, 3.0], 'copeland', 0.333333, True)
    """
    if method not in _METHODS:
        raise OptionError(f"the consensus method is {method!r}{nearest(str(method), _METHODS)}")
    pairs = p if isinstance(p, PairwiseProbabilities) else _checked(p)
    if method == "copeland" or (method == "auto" and transitive(pairs)):
        return _judged(pairs, copeland(pairs), "copeland")
    if method == "borda":
        return _judged(pairs, borda_of_pairs(pairs), "borda")
    try:
        ranking = kemeny_median(pairs)
    except OptionError:  # the bound on work of the integer program
        if method == "kemeny":
            raise
        return _judged(pairs, borda_of_pairs(pairs), "borda")
    return _judged(pairs, ranking, "kemeny", exact=True)


def _checked(p: NDArray[np.float64]) -> PairwiseProbabilities:
    """Check a plain array once, not in every function it passes through."""
    matrix = one_matrix(p)
    return PairwiseProbabilities(matrix, (~np.isnan(matrix)).astype(np.float64))


def _judged(pairs: PairwiseProbabilities, ranking: Ranks, method: str, *, exact: bool = False) -> Median:
    loss, bound = expected_distance(pairs, ranking), lower_bound(pairs)
    return Median(ranking, method, loss, exact or loss <= bound + _CERTAIN, bound)
