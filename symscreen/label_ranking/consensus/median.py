"""Labels sorted by a number that each has: predicted positions, scores, counts of wins.

Consensus of rankings: Copeland, Borda, and the pseudo-empirical median (Clémençon et al., section 2).

Many medians at once, from the pair sums of many groups of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError, suggest
from symscreen.label_ranking.consensus.kemeny import find_kemeny_median
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    PairwiseProbabilities,
    compute_distance_lower_bound,
    compute_expected_distance,
    compute_preferences,
    estimate_pairwise_probabilities,
    is_transitive,
    to_probability_array,
    to_probability_matrix,
)
from symscreen.targets.ranking_ranks import list_label_pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Ranks, Values
    from symscreen.label_ranking.consensus.pairwise_probabilities import Pairwise


__all__ = [
    "MedianRanking",
    "compute_median_rankings",
    "find_median_ranking",
    "rank_by_borda",
    "rank_by_copeland",
    "rank_by_pairwise_borda",
    "rank_by_position",
]

_POSITION_DECIMALS = 12  # beyond is rounding, which must break no tie


def rank_by_position(positions: Values) -> Values:
    """Sort labels by the positions predicted for them.

    Parameters
    ----------
    positions : float64 array, shape (..., k)
        What is smallest comes first.

    Returns
    -------
    float64 array, shape (..., k)
        Ranks 1 to k. Positions that agree to 12 digits are tied; of tied labels the one with the smaller
        index comes first.

    Examples
    --------
    >>> rank_by_position(np.array([[0.4, 0.9, 0.4], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, 3.0, 2.0], [3.0, 2.0, 1.0]]
    """
    order = np.argsort(np.round(positions, _POSITION_DECIMALS), axis=-1, kind="stable")
    return np.argsort(order, axis=-1).astype(np.float64) + 1.0


_METHODS = ("auto", "copeland", "kemeny", "borda")
_BOUND_TOLERANCE = 1e-9  # a loss this close to its bound attains it


@dataclass(frozen=True, eq=False)
class MedianRanking:
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
    lower_bound: float


def rank_by_copeland(p: Pairwise) -> Ranks:
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
    >>> rank_by_copeland(np.array([[0.5, 0.2, 0.6], [0.8, 0.5, 0.9], [0.4, 0.1, 0.5]])).tolist()
    [2.0, 1.0, 3.0]
    """
    return rank_by_position(-compute_preferences(p).sum(axis=-1, dtype=np.float64))


def rank_by_borda(ranks: ArrayLike, weights: ArrayLike | None = None) -> Ranks:
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
    >>> rank_by_borda([[1, 2, 3], [1, 3, 2], [3, 1, 2]]).tolist()
    [1.0, 2.0, 3.0]
    """
    return rank_by_pairwise_borda(estimate_pairwise_probabilities(ranks, weights))


def rank_by_pairwise_borda(p: Pairwise) -> Ranks:
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
    >>> rank_by_pairwise_borda(np.array([[0.5, 0.2, 0.6], [0.8, 0.5, 0.9], [0.4, 0.1, 0.5]])).tolist()
    [2.0, 1.0, 3.0]
    """
    return rank_by_position(-np.nansum(to_probability_array(p) - 0.5, axis=-1))


def find_median_ranking(p: Pairwise, *, method: str = "auto") -> MedianRanking:
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
        indices; which of several Kemeny medians is taken, `find_kemeny_median` tells.

    Raises
    ------
    TableError
        If p is no square matrix of probabilities, or a stack of them.
    OptionError
        If the method is unknown, or is "kemeny" and the integer program passes its bound on work.

    Examples
    --------
    >>> rows = [[1, 2, 3], [1, 2, 3], [2, 1, 3]]
    >>> found = find_median_ranking(estimate_pairwise_probabilities(rows))
    >>> found.ranking.tolist(), found.method, round(found.loss, 6), found.certified
    ([1.0, 2.0, 3.0], 'copeland', 0.333333, True)
    """
    if method not in _METHODS:
        raise OptionError(f"the consensus method is {method!r}{suggest(str(method), _METHODS)}")
    pairs = p if isinstance(p, PairwiseProbabilities) else _to_probabilities(p)
    if method == "copeland" or (method == "auto" and is_transitive(pairs)):
        return _build_median(pairs, rank_by_copeland(pairs), "copeland")
    if method == "borda":
        return _build_median(pairs, rank_by_pairwise_borda(pairs), "borda")
    try:
        ranking = find_kemeny_median(pairs)
    except OptionError:  # the bound on work of the integer program
        if method == "kemeny":
            raise
        return _build_median(pairs, rank_by_pairwise_borda(pairs), "borda")
    return _build_median(pairs, ranking, "kemeny", exact=True)


def _to_probabilities(p: NDArray[np.float64]) -> PairwiseProbabilities:
    """Check a plain array once, not in every function it passes through."""
    matrix = to_probability_matrix(p)
    return PairwiseProbabilities(matrix, (~np.isnan(matrix)).astype(np.float64))


def _build_median(
    pairs: PairwiseProbabilities, ranking: Ranks, method: str, *, exact: bool = False
) -> MedianRanking:
    loss, bound = compute_expected_distance(pairs, ranking), compute_distance_lower_bound(pairs)
    return MedianRanking(ranking, method, loss, exact or loss <= bound + _BOUND_TOLERANCE, bound)


_MAX_BLOCK_ELEMENTS = 4_000_000  # numbers in the matrices of one part: 32 MB


def compute_median_rankings(differences: Values, pair_weights: Values, n_labels: int) -> Values:
    """Compute the pseudo-empirical median of each of m groups of rows (Clémençon et al., section 2.1).

    Parameters
    ----------
    differences : float64 array, shape (m, k(k − 1)/2)
        Σ w·sgn(rank_i − rank_j) over a group's rows, pairs in the order of `list_label_pairs`.
    seen : float64 array, shape (m, k(k − 1)/2)
        Σ w over the rows that show the pair.
    k : int
        The number of labels.

    Returns
    -------
    float64 array, shape (m, k)
        Ranks 1 to k, each as `find_median_ranking` finds it.

    Examples
    --------
    >>> compute_median_rankings(np.array([[-1.0, -3.0, 1.0]]), np.full((1, 3), 3.0), 3).tolist()
    [[1.0, 3.0, 2.0]]
    """
    found = np.ones((len(differences), n_labels))
    part = max(_MAX_BLOCK_ELEMENTS // (n_labels * n_labels), 1)
    for start in range(0, len(found) if n_labels > 1 else 0, part):
        stop = start + part
        found[start:stop] = _compute_block_medians(
            differences[start:stop], pair_weights[start:stop], n_labels
        )
    return found


def _compute_block_medians(differences: Values, pair_weights: Values, n_labels: int) -> Values:
    p = _compute_probabilities(differences, pair_weights, n_labels)
    found = rank_by_copeland(p)
    wins = np.sort((compute_preferences(p) > 0).sum(axis=2), axis=1)
    cyclic = np.flatnonzero((wins != np.arange(n_labels)).any(axis=1))
    if cyclic.size:
        distinct, which = np.unique(p[cyclic].reshape(cyclic.size, -1), axis=0, return_inverse=True)
        solved = [find_median_ranking(one.reshape(n_labels, n_labels)).ranking for one in distinct]
        found[cyclic] = np.array(solved)[which.reshape(-1)]
    return found


def _compute_probabilities(differences: Values, pair_weights: Values, n_labels: int) -> Values:
    """Fill in p_ij = (1 − D/S)/2; what was never seen is even, which moves no median."""
    first, second = list_label_pairs(n_labels)
    shares = np.divide(differences, pair_weights, out=np.zeros(differences.shape), where=pair_weights > 0)
    p = np.full((len(differences), n_labels, n_labels), 0.5)
    p[:, first, second] = (1.0 - shares) / 2.0
    p[:, second, first] = 1.0 - p[:, first, second]
    return p
