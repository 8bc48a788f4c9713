"""Pairwise probabilities of rankings (Clémençon et al., section 2.1): p_ij = Pr[Σ(i) < Σ(j)].

A pair that was never seen is NaN and tells nothing: where an order is sought it counts as even.

What pairwise probabilities tell: transitivity, margin, dispersion, and what a ranking costs.

Clémençon et al., sections 2.1 and 2.3, with p_ij = Pr[Σ(i) < Σ(j)]. A pair that was never seen counts as even
where an order is sought, and costs nothing.

The least-squares projection of pairwise probabilities onto the set T′ (Clémençon et al., eq. 11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.targets.ranking_ranks import to_float_array, to_mid_ranks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values


__all__ = [
    "EVEN_TOLERANCE",
    "Pairwise",
    "PairwiseProbabilities",
    "TransitiveProjection",
    "check_weights",
    "compute_distance_lower_bound",
    "compute_excess_risk",
    "compute_expected_distance",
    "compute_preferences",
    "dispersion",
    "estimate_pairwise_probabilities",
    "is_transitive",
    "margin",
    "project_transitive",
    "to_probability_array",
    "to_probability_matrix",
]

_MAX_WEIGHT = 1e100  # weight
EVEN_TOLERANCE = 1e-12  # a probability this close to ½ is ½: what is left of it is rounding of weights


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
    pair_weights: NDArray[np.float64]


def estimate_pairwise_probabilities(
    ranks: ArrayLike, weights: ArrayLike | None = None
) -> PairwiseProbabilities:
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
    >>> found = estimate_pairwise_probabilities([[1, 2, 3], [2, 1, np.nan]])
    >>> found.p.tolist()
    [[0.5, 0.5, 1.0], [0.5, 0.5, 1.0], [0.0, 0.0, 0.5]]
    >>> found.seen.tolist()
    [[2.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]]
    """
    known = to_mid_ranks(ranks)
    n, k = known.shape
    weight = check_weights(weights, n)[:, None]
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


def to_probability_array(p: Pairwise) -> NDArray[np.float64]:
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
    try:
        matrix = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise DataError(
            f"pairwise probabilities are no matrix of numbers ({fault}): take those of pairwise_probabilities"
        ) from None
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or not matrix.size:
        raise DataError(f"pairwise probabilities have shape {matrix.shape}: a square matrix is needed")
    if (matrix < -EVEN_TOLERANCE).any() or (matrix > 1.0 + EVEN_TOLERANCE).any():
        raise DataError("pairwise probabilities leave [0, 1]: p[i, j] is the share that places i before j")
    off = np.abs(matrix + np.swapaxes(matrix, -1, -2) - 1.0) > 1e-9
    if (off & ~np.eye(matrix.shape[-1], dtype=bool)).any():
        raise DataError(
            "pairwise probabilities p[i, j] and p[j, i] do not sum to 1: let ties count ½ for both"
        )
    return matrix


def to_probability_matrix(p: Pairwise) -> NDArray[np.float64]:
    """Take the matrix out of pairwise probabilities where there must be one.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        p_ij; NaN for pairs never seen.

    Returns
    -------
    float64 array, shape (k, k)
        The same matrix.

    Raises
    ------
    TableError
        As `to_probability_array`, and if it is a stack of matrices.
    """
    matrix = to_probability_array(p)
    if matrix.ndim != 2:
        raise DataError(
            f"pairwise probabilities of shape {matrix.shape} are a stack of matrices, and one is needed: "
            "take them one by one"
        )
    return matrix


def compute_preferences(p: Pairwise) -> NDArray[np.int8]:
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
    >>> compute_preferences(np.array([[0.5, 0.7], [0.3, 0.5]])).tolist()
    [[0, 1], [-1, 0]]
    """
    away = to_probability_array(p) - 0.5
    signs = (away > EVEN_TOLERANCE).astype(np.int8) - (away < -EVEN_TOLERANCE).astype(np.int8)
    signs[..., np.eye(signs.shape[-1], dtype=bool)] = 0
    return signs


def check_weights(weights: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Check weights of rows.

    Parameters
    ----------
    weights : array-like, shape (n,), or None
        None: each is 1.
    n : int
        The number of rows.

    Returns
    -------
    float64 array, shape (n,)
        Finite, ≥ 0, not all 0, the largest from 1e-100 to 1e100.

    Raises
    ------
    OptionError
        If they are anything else.
    """
    if weights is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise OptionError(f"weights are no numbers ({fault}): give one number ≥ 0 a row") from None
    if weight.shape != (n_rows,):
        raise OptionError(
            f"weights of shape {weight.shape} were given for {n_rows} rankings: give one finite number ≥ 0 "
            "a row"
        )
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(bad.argmax())
        raise OptionError(
            f"the weight of row {row} is {weight[row]:g}: weights must be finite and at least 0"
        )
    if not weight.any():
        raise OptionError("all weights are zero: nothing is left to learn from")
    if not 1.0 / _MAX_WEIGHT <= weight.max() <= _MAX_WEIGHT:
        raise OptionError(
            f"the largest weight is {weight.max():g}, and sums of squares of such numbers leave the range of "
            "floats: only ratios of weights count, so divide all by the largest"
        )
    return weight


def is_transitive(p: Pairwise) -> bool:
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
    >>> is_transitive(estimate_pairwise_probabilities([[1, 2, 3], [2, 3, 1], [3, 1, 2]]))
    False
    """
    wins = (compute_preferences(to_probability_matrix(p)) > 0).sum(axis=-1)
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
    >>> margin(estimate_pairwise_probabilities([[1, 2, 3], [1, 2, 3], [1, 3, 2], [1, 2, 3]]))
    0.25
    """
    above = _take_upper_triangle(p)
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
    >>> dispersion(estimate_pairwise_probabilities([[1, 2], [2, 1]]))
    0.25
    """
    above = _take_upper_triangle(p)
    return float(np.nansum(above * (1.0 - above)))


def compute_distance_lower_bound(p: Pairwise) -> float:
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
    >>> compute_distance_lower_bound(estimate_pairwise_probabilities([[1, 2, 3], [2, 3, 1], [3, 1,
    ...     2]])).__round__(9)
    1.0
    """
    above = _take_upper_triangle(p)
    return float(np.nansum(np.minimum(above, 1.0 - above)))


def compute_expected_distance(p: Pairwise, ranking: ArrayLike) -> float:
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
    >>> compute_expected_distance(estimate_pairwise_probabilities([[1, 2, 3], [3, 2, 1]]), [1, 2, 3])
    1.5
    """
    matrix = to_probability_matrix(p)
    order = _sort_labels(ranking, len(matrix))
    return float(np.nansum(np.tril(matrix[np.ix_(order, order)], -1)))


def compute_excess_risk(p: Pairwise, rankings: ArrayLike, weights: ArrayLike | None = None) -> float:
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
    >>> round(compute_excess_risk(p, [[1, 2], [2, 1]]), 9)
    0.4
    """
    matrix = to_probability_array(p)
    predicted = np.atleast_2d(to_float_array(rankings))
    shape = (len(predicted), matrix.shape[-1])
    if predicted.ndim != 2 or predicted.shape != shape or (matrix.ndim == 3 and 1 != len(matrix) != shape[0]):
        raise DataError(
            f"predictions of shape {np.shape(rankings)} do not match probabilities of shape {matrix.shape}: "
            "give one ranking for each matrix, or one matrix for all"
        )
    _check_no_ties(predicted)
    wrong = predicted[:, :, None] > predicted[:, None, :]  # i after j, which costs 2(p_ij − ½) if positive
    lost = np.nansum(np.where(wrong, np.maximum(2.0 * matrix - 1.0, 0.0), 0.0), axis=(1, 2))
    weight = check_weights(weights, shape[0])
    return float((weight * lost).sum() / weight.sum())


def _take_upper_triangle(p: Pairwise) -> NDArray[np.float64]:
    matrix = to_probability_matrix(p)
    return matrix[np.triu_indices(len(matrix), 1)]


def _sort_labels(ranking: ArrayLike, n_labels: int) -> NDArray[np.int64]:
    """List the labels from the most preferred; refuse what is no complete ranking without ties."""
    ranks = to_float_array(ranking)
    if ranks.shape != (n_labels,):
        raise DataError(
            f"a ranking of shape {ranks.shape} was given for {n_labels} labels: give {n_labels} ranks"
        )
    _check_no_ties(ranks[None, :])
    return np.argsort(ranks, kind="stable").astype(np.int64)


def _check_no_ties(rankings: NDArray[np.float64]) -> None:
    """Refuse what leaves labels out or ties them, for the distance is then not told by pairs alone."""
    apart = (np.diff(np.sort(rankings, axis=1), axis=1) > 0).all(axis=1) & ~np.isnan(rankings).any(axis=1)
    if not apart.all():
        raise DataError(
            f"row {int((~apart).argmax())} of the rankings, {rankings[(~apart).argmax()].tolist()}, ties "
            "labels or leaves some out: rank every label, and none alike, to compare with probabilities"
        )


@dataclass(frozen=True, eq=False)
class TransitiveProjection:
    """The point of T′ nearest to pairwise probabilities.

    Parameters
    ----------
    p : float64 array, shape (k, k)
        p′_ij = ½ + u_i − u_j. Entries may leave [0, 1]: T′ is a plane, and the projection is onto all of it.
    scores : float64 array, shape (k,)
        u, of mean 0: larger is preferred. For complete rankings Borda's, up to scale and shift.
    residual : float
        Σ_{i<j} (p′_ij − p_ij)², over the pairs seen and with the weights used.
    """

    p: Values
    scores: Values
    residual: float


def project_transitive(p: Pairwise, *, weighted: bool = False) -> TransitiveProjection:
    """Project pairwise probabilities onto T′ (Clémençon et al., eq. 11).

    T′ holds what satisfies (p_ij − ½) + (p_jl − ½) + (p_li − ½) = 0 for all i, j, l: differences of scores.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; pairs never seen stand in no square.
    weighted : bool
        Weight each pair by the rows that show it, as Jiang et al. (2011) do; needs a PairwiseProbabilities.
        Else all pairs seen count alike, as in eq. (11).

    Returns
    -------
    Projection
        Its order is a consensus that no cycle disturbs.

    Raises
    ------
    TableError
        If no chain of pairs seen joins some labels: their scores cannot be compared.
    OptionError
        If weights are asked for and `p` is a plain array.

    Examples
    --------
    >>> found = projection(np.array([[0.5, 0.9, 0.4], [0.1, 0.5, 0.8], [0.6, 0.2, 0.5]]))
    >>> found.scores.round(6).tolist(), round(found.residual, 6)
    ([0.1, -0.033333, -0.066667], 0.213333)
    """
    matrix = to_probability_matrix(p)
    weight = (~np.isnan(matrix)).astype(np.float64)
    if weighted:
        if not isinstance(p, PairwiseProbabilities):
            raise OptionError("a plain array tells no weights: give what pairwise_probabilities returns")
        weight = p.pair_weights.copy()
    np.fill_diagonal(weight, 0.0)
    away = np.where(weight > 0, matrix - 0.5, 0.0)
    scores = _solve_scores(weight, away)
    fitted = 0.5 + scores[:, None] - scores[None, :]
    squares = np.where(weight > 0, weight * (fitted - 0.5 - away) ** 2, 0.0)
    return TransitiveProjection(fitted, scores, float(squares.sum() / 2.0))


def _solve_scores(weights: Values, deviations: Values) -> Values:
    """Solve Σ_j w_ij (u_i − u_j) = Σ_j w_ij (p_ij − ½) for every i, with Σ u = 0."""
    k = len(weights)
    pulls = (weights * deviations).sum(axis=1)
    off = weights[~np.eye(k, dtype=bool)]
    if k == 1 or off.min() == off.max() > 0:  # all pairs alike: Borda's scores
        return np.asarray(pulls / (k * off.max(initial=1e-300)))
    _check_connected(weights > 0)
    scale = weights.max()
    laplacian = (np.diag(weights.sum(axis=1)) - weights) / scale
    return np.asarray(np.linalg.solve(laplacian + 1.0 / k, pulls / scale), dtype=np.float64)


def _check_connected(is_compared: NDArray[np.bool_]) -> None:
    joined = np.zeros(len(is_compared), dtype=bool)
    joined[0] = True
    while True:
        wider = joined | is_compared[joined].any(axis=0)
        if (wider == joined).all():
            break
        joined = wider
    if not joined.all():
        raise DataError(
            f"no chain of pairs that rows show together joins label 0 with label {int((~joined).argmax())}: "
            "their scores cannot be compared; project the groups of labels apart, or find rows that join them"
        )


if TYPE_CHECKING:
    Pairwise: TypeAlias = PairwiseProbabilities | NDArray[np.float64]
