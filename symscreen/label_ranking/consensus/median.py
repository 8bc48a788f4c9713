"""Consensus of rankings: Copeland, Borda and the pseudo-empirical median (Clémençon et al., section 2).

`find_median_ranking` uses the Copeland ranking if the pairwise probabilities are strictly transitive, else an
exact Kemeny median, else the Borda ranking. `compute_median_rankings` computes the medians of many groups of
rows from their pair sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
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
from symscreen.messages import suggest
from symscreen.targets.ranking_ranks import list_label_pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Ranks, Values
    from symscreen.label_ranking.consensus.pairwise_probabilities import Pairwise


_POSITION_DECIMALS = 12  # further digits are rounding errors, which must not break ties


def rank_by_position(positions: Values) -> Values:
    """Sort labels by their predicted positions.

    Parameters
    ----------
    positions : float64 array, shape (..., k)
        The label with the smallest value comes first.

    Returns
    -------
    float64 array, shape (..., k)
        Ranks 1 to k. Positions that agree to 12 decimals are tied; tied labels are sorted by their index.

    Examples
    --------
    >>> rank_by_position(np.array([[0.4, 0.9, 0.4], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, 3.0, 2.0], [3.0, 2.0, 1.0]]
    """
    order = np.argsort(np.round(positions, _POSITION_DECIMALS), axis=-1, kind="stable")
    return np.argsort(order, axis=-1).astype(np.float64) + 1.0


_METHODS = ("auto", "copeland", "kemeny", "borda")
_BOUND_TOLERANCE = 1e-9  # a loss within this distance of the lower bound attains it


@dataclass(frozen=True, eq=False)
class MedianRanking:
    """A consensus ranking with its loss.

    Parameters
    ----------
    ranking : float64 array, shape (k,)
        Ranks 1 to k.
    method : {"copeland", "kemeny", "borda"}
        Method that computed it.
    loss : float
        Expected Kendall distance L_P.
    certified : bool
        Whether the ranking is proven to be optimal: it attains the lower bound of eq. (6), or an exact search
        found it.
    lower_bound : float
        Lower bound of eq. (6). The loss exceeds the minimum by at most `loss` − `lower_bound`.
    """

    ranking: Ranks
    method: str
    loss: float
    certified: bool
    lower_bound: float


def rank_by_copeland(p: Pairwise) -> Ranks:
    """Rank labels by the number of labels preferred to them (Clémençon et al., eq. 7).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (..., k, k)
        Pairwise probabilities.

    Returns
    -------
    float64 array, shape (..., k)
        Ranks 1 to k in ascending order of Σ_j (1{p_ij < ½} + ½ · 1{p_ij = ½}); ties are sorted by index. If p
        is strictly transitive, this is 1 + Σ_j 1{p_ij < ½}, the only Kemeny median.

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
        Rankings. Mean ranks of incomplete rankings are not comparable, so the probabilities of the observed
        pairs are used. For complete rankings both definitions agree.
    weights : array-like, shape (n,), optional
        Non-negative row weights.

    Returns
    -------
    float64 array, shape (k,)
        Ranks 1 to k; ties are sorted by index.

    Raises
    ------
    DataError
        If the rankings are invalid.
    OptionError
        If the weights are invalid.

    Examples
    --------
    >>> rank_by_borda([[1, 2, 3], [1, 3, 2], [3, 1, 2]]).tolist()
    [1.0, 2.0, 3.0]
    """
    return rank_by_pairwise_borda(estimate_pairwise_probabilities(ranks, weights))


def rank_by_pairwise_borda(p: Pairwise) -> Ranks:
    """Rank labels by Σ_j (p_ij − ½), the pairwise form of the Borda count.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (..., k, k)
        Pairwise probabilities. An unobserved pair counts as ½.

    Returns
    -------
    float64 array, shape (..., k)
        Ranks 1 to k; ties are sorted by index.

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
        "auto" uses Copeland if p is strictly transitive, which is then the only Kemeny median. Otherwise it
        finds an exact Kemeny median, and falls back to Borda if the majority cycles connect too many labels.

    Returns
    -------
    MedianRanking
        Copeland and Borda sort labels with equal counts by index. `find_kemeny_median` describes the choice
        among several Kemeny medians.

    Raises
    ------
    DataError
        If p is not a square matrix of probabilities.
    OptionError
        If the method is unknown, or is "kemeny" and the integer program exceeds its node limit.

    Examples
    --------
    >>> rows = [[1, 2, 3], [1, 2, 3], [2, 1, 3]]
    >>> median = find_median_ranking(estimate_pairwise_probabilities(rows))
    >>> median.ranking.tolist(), median.method, round(median.loss, 6), median.certified
    ([1.0, 2.0, 3.0], 'copeland', 0.333333, True)
    """
    if method not in _METHODS:
        raise OptionError(f"unknown consensus method {method!r}{suggest(str(method), _METHODS)}")
    pairs = p if isinstance(p, PairwiseProbabilities) else _to_probabilities(p)
    if method == "copeland" or (method == "auto" and is_transitive(pairs)):
        return _build_median(pairs, rank_by_copeland(pairs), "copeland")
    if method == "borda":
        return _build_median(pairs, rank_by_pairwise_borda(pairs), "borda")
    try:
        ranking = find_kemeny_median(pairs)
    except OptionError:  # too many labels, or node limit of the integer program
        if method == "kemeny":
            raise
        return _build_median(pairs, rank_by_pairwise_borda(pairs), "borda")
    return _build_median(pairs, ranking, "kemeny", exact=True)


def _to_probabilities(p: NDArray[np.float64]) -> PairwiseProbabilities:
    """Check a plain (k, k) array once, so that the called functions need not repeat it."""
    matrix = to_probability_matrix(p)
    return PairwiseProbabilities(matrix, (~np.isnan(matrix)).astype(np.float64))


def _build_median(
    pairs: PairwiseProbabilities, ranking: Ranks, method: str, *, exact: bool = False
) -> MedianRanking:
    """Compute loss and lower bound of a ranking of shape (k,)."""
    loss, bound = compute_expected_distance(pairs, ranking), compute_distance_lower_bound(pairs)
    return MedianRanking(ranking, method, loss, exact or loss <= bound + _BOUND_TOLERANCE, bound)


_MAX_BLOCK_ELEMENTS = 4_000_000  # float64 elements of the matrices of one block: 32 MB


def compute_median_rankings(differences: Values, pair_weights: Values, n_labels: int) -> Values:
    """Compute the pseudo-empirical median of each of m groups of rows (Clémençon et al., section 2.1).

    Parameters
    ----------
    differences : float64 array, shape (m, k(k − 1)/2)
        Σ w·sgn(rank_i − rank_j) over the rows of a group; pairs in the order of `list_label_pairs`.
    pair_weights : float64 array, shape (m, k(k − 1)/2)
        Σ w over the rows that rank both labels.
    n_labels : int
        Number of labels k.

    Returns
    -------
    float64 array, shape (m, k)
        Ranks 1 to k, as computed by `find_median_ranking`.

    Examples
    --------
    >>> compute_median_rankings(np.array([[-1.0, -3.0, 1.0]]), np.full((1, 3), 3.0), 3).tolist()
    [[1.0, 3.0, 2.0]]
    """
    medians = np.ones((len(differences), n_labels))
    block_size = max(_MAX_BLOCK_ELEMENTS // (n_labels * n_labels), 1)
    for start in range(0, len(medians) if n_labels > 1 else 0, block_size):
        stop = start + block_size
        medians[start:stop] = _compute_block_medians(
            differences[start:stop], pair_weights[start:stop], n_labels
        )
    return medians


def _compute_block_medians(differences: Values, pair_weights: Values, n_labels: int) -> Values:
    """Compute the medians of a block of groups, shape (m, n_labels)."""
    p = _compute_probabilities(differences, pair_weights, n_labels)
    medians = rank_by_copeland(p)
    wins = np.sort((compute_preferences(p) > 0).sum(axis=2), axis=1)
    cyclic = np.flatnonzero((wins != np.arange(n_labels)).any(axis=1))
    if cyclic.size:
        distinct, which = np.unique(p[cyclic].reshape(cyclic.size, -1), axis=0, return_inverse=True)
        solutions = [find_median_ranking(matrix.reshape(n_labels, n_labels)).ranking for matrix in distinct]
        medians[cyclic] = np.array(solutions)[which.reshape(-1)]
    return medians


def _compute_probabilities(differences: Values, pair_weights: Values, n_labels: int) -> Values:
    """Compute p_ij = (1 − D/S)/2, shape (m, k, k); an unobserved pair is ½."""
    first, second = list_label_pairs(n_labels)
    shares = np.divide(differences, pair_weights, out=np.zeros(differences.shape), where=pair_weights > 0)
    p = np.full((len(differences), n_labels, n_labels), 0.5)
    p[:, first, second] = (1.0 - shares) / 2.0
    p[:, second, first] = 1.0 - p[:, first, second]
    return p
