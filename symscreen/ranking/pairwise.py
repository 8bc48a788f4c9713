"""Pairwise probabilities of rankings, and what they alone tell: order, margin, dispersion, risk.

Clémençon et al., section 2.1: p_ij = Pr[Σ(i) < Σ(j)], the probability that label i is preferred to label j.
A pair that was never seen tells nothing: it counts as even where an order is sought, and costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from symscreen.errors import OptionError, TableError
from symscreen.label_ranking import as_rankings

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "EVEN",
    "Pairwise",
    "PairwiseProbabilities",
    "dispersion",
    "excess_risk",
    "expected_distance",
    "lower_bound",
    "margin",
    "matrix_of",
    "pairwise_probabilities",
    "preferences",
    "transitive",
]

EVEN = 1e-12  # a probability this close to ½ is ½: what is left of it is rounding of weights


@dataclass(frozen=True, eq=False)
class PairwiseProbabilities:
    """How often each label was preferred to each other one.

    Parameters
    ----------
    p : float64 array, shape (k, k)
        p_ij, the share of the rows showing both that place i before j, ties counting ½; p_ij + p_ji = 1 and
        p_ii = ½. NaN for a pair that no row shows.
    seen : float64 array, shape (k, k)
        The weight of the rows that show both labels; on the diagonal of those that show the label.
    """

    p: NDArray[np.float64]
    seen: NDArray[np.float64]


if TYPE_CHECKING:
    Pairwise: TypeAlias = PairwiseProbabilities | NDArray[np.float64]


def pairwise_probabilities(ranks: ArrayLike, weights: ArrayLike | None = None) -> PairwiseProbabilities:
    """Estimate p_ij by the share of rows that place i before j (Clémençon et al., below eq. 8).

    Parameters
    ----------
    ranks : array-like, shape (n, k)
        Rankings: complete, incomplete or with ties, which count ½. Labels that are missing are taken to be
        missing at random: each pair is judged by the rows that show both.
    weights : array-like, shape (n,), optional
        One weight a row, ≥ 0 and not all 0; else each is 1.

    Returns
    -------
    PairwiseProbabilities
        Up to rounding of the weights independent of the order of the rows.

    Raises
    ------
    TableError
        If the rankings are none.
    OptionError
        If the weights are not one finite number ≥ 0 a row, or are all 0.

    Examples
    --------
    >>> found = pairwise_probabilities([[1, 2, 3], [2, 1, np.nan]])
    >>> found.p.tolist()
    [[0.5, 0.5, 1.0], [0.5, 0.5, 1.0], [0.0, 0.0, 0.5]]
    >>> found.seen.tolist()
    [[2.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]]
    """
    known = as_rankings(ranks)
    n, k = known.shape
    weight = _weights(weights, n)[:, None]
    p, seen = np.full((k, k), 0.5), np.zeros((k, k))
    shown = weight * ~np.isnan(known)
    seen[np.diag_indices(k)] = shown.sum(axis=0)
    for i in range(k - 1):  # by first label: memory stays (n, k), and sums go down the rows, one by one
        one, later = known[:, i : i + 1], known[:, i + 1 :]
        both = (shown[:, i + 1 :] * ~np.isnan(one)).sum(axis=0)
        before = (weight * ((one < later) + 0.5 * (one == later))).sum(axis=0)
        p[i, i + 1 :] = np.divide(before, both, out=np.full(both.shape, np.nan), where=both > 0)
        p[i + 1 :, i] = 1.0 - p[i, i + 1 :]
        seen[i, i + 1 :] = seen[i + 1 :, i] = both
    return PairwiseProbabilities(p, seen)


def matrix_of(p: Pairwise) -> NDArray[np.float64]:
    """Take the matrix out of pairwise probabilities, and check it.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (..., k, k)
        p_ij; NaN for pairs never seen.

    Returns
    -------
    float64 array, shape (..., k, k)
        The same matrix.

    Raises
    ------
    TableError
        If it is not square, leaves [0, 1], or p_ij + p_ji ≠ 1 for some pair.
    """
    if isinstance(p, PairwiseProbabilities):
        return p.p
    matrix = np.asarray(p, dtype=np.float64)
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or not matrix.size:
        raise TableError(f"pairwise probabilities have shape {matrix.shape}: a square matrix is needed")
    if (matrix < -EVEN).any() or (matrix > 1.0 + EVEN).any():
        raise TableError("pairwise probabilities leave [0, 1]: p[i, j] is the share that places i before j")
    off = np.abs(matrix + np.swapaxes(matrix, -1, -2) - 1.0) > 1e-9
    if (off & ~np.eye(matrix.shape[-1], dtype=bool)).any():
        raise TableError(
            "pairwise probabilities p[i, j] and p[j, i] do not sum to 1: let ties count ½ for both"
        )
    return matrix


def preferences(p: Pairwise) -> NDArray[np.int8]:
    """Tell for every pair which label is preferred by most: the sign of p_ij − ½.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (..., k, k)
        Pairwise probabilities.

    Returns
    -------
    int8 array, shape (..., k, k)
        1 where p_ij > ½, −1 where p_ij < ½, 0 where the pair is even or was never seen.

    Examples
    --------
    >>> preferences(np.array([[0.5, 0.7], [0.3, 0.5]])).tolist()
    [[0, 1], [-1, 0]]
    """
    away = matrix_of(p) - 0.5
    signs = (away > EVEN).astype(np.int8) - (away < -EVEN).astype(np.int8)
    signs[..., np.eye(signs.shape[-1], dtype=bool)] = 0
    return signs


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
    wins = (preferences(p) > 0).sum(axis=-1)
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
        From 0 to k(k − 1)/8: half the expected distance of two independent rankings. At most the loss of the
        median, which is at most twice it. The ½ of eq. (35) in the text is a slip.

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
    matrix = matrix_of(p)
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
    predicted = np.atleast_2d(np.asarray(rankings, dtype=np.float64))
    shape = (len(predicted), matrix.shape[-1])
    if predicted.ndim != 2 or predicted.shape != shape or (matrix.ndim == 3 and 1 != len(matrix) != shape[0]):
        raise TableError(
            f"predictions of shape {np.shape(rankings)} do not match probabilities of shape {matrix.shape}: "
            "give one ranking for each matrix, or one matrix for all"
        )
    for row in predicted:
        _order(row, shape[1])
    wrong = predicted[:, :, None] > predicted[:, None, :]  # i after j, which costs 2(p_ij − ½) if positive
    lost = np.nansum(np.where(wrong, np.maximum(2.0 * matrix - 1.0, 0.0), 0.0), axis=(1, 2))
    weight = _weights(weights, shape[0])
    return float((weight * lost).sum() / weight.sum())


def _above(p: Pairwise) -> NDArray[np.float64]:
    matrix = matrix_of(p)
    return matrix[np.triu_indices(len(matrix), 1)]


def _order(ranking: ArrayLike, k: int) -> NDArray[np.int64]:
    """List the labels from the most preferred; refuse what is no complete ranking without ties."""
    ranks = np.asarray(ranking, dtype=np.float64)
    order = np.argsort(ranks, kind="stable")
    if ranks.shape != (k,) or not (np.diff(ranks[order]) > 0).all() or np.isnan(ranks).any():
        raise TableError(
            f"{ranks.tolist()} is no complete ranking of {k} labels without ties: its expected distance is "
            "not told by pairs alone; rank every label, and none alike"
        )
    return order.astype(np.int64)


def _weights(weights: ArrayLike | None, n: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n)
    weight = np.asarray(weights, dtype=np.float64)
    if weight.shape != (n,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise OptionError(
            f"weights of shape {weight.shape} were given for {n} rankings: give one finite number ≥ 0 a row, "
            "not all of them 0"
        )
    return weight
