"""What pairwise probabilities tell: transitivity, margin, dispersion, and what a ranking costs.

Clémençon et al., sections 2.1 and 2.3, with p_ij = Pr[Σ(i) < Σ(j)]. A pair that was never seen counts as even
where an order is sought, and costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import TableError
from symscreen.label_ranking import numbers_of
from symscreen.ranking.probabilities import (
    PairwiseProbabilities,
    matrix_of,
    one_matrix,
    pairwise_probabilities,
    preferences,
    weights_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from symscreen.ranking.probabilities import Pairwise

__all__ = [
    "PairwiseProbabilities",
    "dispersion",
    "excess_risk",
    "expected_distance",
    "lower_bound",
    "margin",
    "pairwise_probabilities",
    "preferences",
    "transitive",
]


def transitive(p: Pairwise) -> bool:
    """Test whether p is strictly stochastically transitive (Clémençon et al., Definition 1).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities.

    Returns
    -------
    bool
        True where no pair is even or unseen and the majorities have no cycle: then the Copeland ranking is
        the one Kemeny median.

    Examples
    --------
    >>> transitive(pairwise_probabilities([[1, 2, 3], [2, 3, 1], [3, 1, 2]]))
    False
    """
    wins = (preferences(one_matrix(p)) > 0).sum(axis=-1)
    # majorities of all pairs have no cycle if and only if the labels win k − 1, k − 2, …, 0 times
    return bool((np.sort(wins) == np.arange(wins.size)).all())


def margin(p: Pairwise) -> float:
    """Compute the margin h = min_{i<j} |p_ij − ½| of the low-noise condition (Clémençon et al., eq. 8).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; a pair never seen counts as even.

    Returns
    -------
    float
        From 0 to ½; ½ for a single label.

    Examples
    --------
    >>> margin(pairwise_probabilities([[1, 2, 3], [1, 2, 3], [1, 3, 2], [1, 2, 3]]))
    0.25
    """
    above = _above(p)
    return float(np.abs(np.where(np.isnan(above), 0.5, above) - 0.5).min(initial=0.5))


def dispersion(p: Pairwise) -> float:
    """Compute the dispersion γ̂ = Σ_{i<j} p_ij (1 − p_ij) (Clémençon et al., Remark 2).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; pairs never seen add nothing.

    Returns
    -------
    float
        From 0 to k(k − 1)/8, and at most the loss of the median. Where p is that of complete rankings, the
        loss is at most twice it; where these have no ties, it is half the expected distance of two of them,
        drawn independently. Of incomplete ones neither holds: a cycle of certain majorities has dispersion 0,
        and every ranking a loss of at least 1. The ½ of eq. (35) in the text is a slip.

    Examples
    --------
    >>> dispersion(pairwise_probabilities([[1, 2], [2, 1]]))
    0.25
    """
    above = _above(p)
    return float(np.nansum(above * (1.0 - above)))


def lower_bound(p: Pairwise) -> float:
    """Bound the expected distance of every ranking from below by Σ_{i<j} min(p_ij, 1 − p_ij) (eq. 6).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; pairs never seen add nothing.

    Returns
    -------
    float
        ≥ 0. A ranking that attains it is a Kemeny median; one does where p is stochastically transitive.

    Examples
    --------
    >>> lower_bound(pairwise_probabilities([[1, 2, 3], [2, 3, 1], [3, 1, 2]])).__round__(9)
    1.0
    """
    above = _above(p)
    return float(np.nansum(np.minimum(above, 1.0 - above)))


def expected_distance(p: Pairwise, ranking: ArrayLike) -> float:
    """Compute L_P(σ), the expected Kendall distance of a ranking (Clémençon et al., eq. 3).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; pairs never seen add nothing.
    ranking : array-like, shape (k,)
        Complete and without ties.

    Returns
    -------
    float
        ≥ 0. Of complete rows, with ties or not, the weighted mean of `kendall_distance` to the ranking. Of
        incomplete ones every pair counts alike, however seldom it was seen.

    Raises
    ------
    TableError
        If the ranking is incomplete, has ties, or ranks another number of labels.

    Examples
    --------
    >>> expected_distance(pairwise_probabilities([[1, 2, 3], [3, 2, 1]]), [1, 2, 3])
    1.5
    """
    matrix = one_matrix(p)
    order = _order(ranking, len(matrix))
    return float(np.nansum(np.tril(matrix[np.ix_(order, order)], -1)))


def excess_risk(p: Pairwise, rankings: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Compute the excess R(s) − R* of predicted rankings where the probabilities are known (eq. 13).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k) or (n, k, k)
        p_ij(x), for all rows or for each.
    rankings : array-like, shape (k,) or (n, k)
        The predictions s(x), complete and without ties.
    weights : array-like, shape (n,), optional
        One a row; else each is 1.

    Returns
    -------
    float
        The mean over rows of 2 Σ_{i<j} |p_ij(x) − ½| · 1{s(x) orders i and j against the majority}; ≥ 0.
        Where p(x) has cycles it is the excess over the lower bound, that nothing may attain.

    Raises
    ------
    TableError
        If predictions are incomplete or have ties, or shapes do not match.

    Notes
    -----
    Equation (13) of the text lacks the factor 2 that stands below eq. (6): a pair ordered wrongly costs
    max(p, 1 − p) instead of min(p, 1 − p), and these differ by 2|p − ½|.

    Examples
    --------
    >>> p = np.array([[0.5, 0.9], [0.1, 0.5]])
    >>> round(excess_risk(p, [[1, 2], [2, 1]]), 9)
    0.4
    """
    matrix = matrix_of(p)
    predicted = np.atleast_2d(numbers_of(rankings))
    shape = (len(predicted), matrix.shape[-1])
    if predicted.ndim != 2 or predicted.shape != shape or (matrix.ndim == 3 and 1 != len(matrix) != shape[0]):
        raise TableError(
            f"predictions of shape {np.shape(rankings)} do not match probabilities of shape {matrix.shape}: "
            "give one ranking for each matrix, or one matrix for all"
        )
    _refuse_ties(predicted)
    wrong = predicted[:, :, None] > predicted[:, None, :]  # i after j, which costs 2(p_ij − ½) if positive
    lost = np.nansum(np.where(wrong, np.maximum(2.0 * matrix - 1.0, 0.0), 0.0), axis=(1, 2))
    weight = weights_of(weights, shape[0])
    return float((weight * lost).sum() / weight.sum())


def _above(p: Pairwise) -> NDArray[np.float64]:
    matrix = one_matrix(p)
    return matrix[np.triu_indices(len(matrix), 1)]


def _order(ranking: ArrayLike, k: int) -> NDArray[np.int64]:
    """List the labels from the most preferred; refuse what is no complete ranking without ties."""
    ranks = numbers_of(ranking)
    if ranks.shape != (k,):
        raise TableError(f"a ranking of shape {ranks.shape} was given for {k} labels: give {k} ranks")
    _refuse_ties(ranks[None, :])
    return np.argsort(ranks, kind="stable").astype(np.int64)


def _refuse_ties(rankings: NDArray[np.float64]) -> None:
    """Refuse what leaves labels out or ties them, for the distance is then not told by pairs alone."""
    apart = (np.diff(np.sort(rankings, axis=1), axis=1) > 0).all(axis=1) & ~np.isnan(rankings).any(axis=1)
    if not apart.all():
        raise TableError(
            f"row {int((~apart).argmax())} of the rankings, {rankings[(~apart).argmax()].tolist()}, ties "
            "labels or leaves some out: rank every label, and none alike, to compare with probabilities"
        )
