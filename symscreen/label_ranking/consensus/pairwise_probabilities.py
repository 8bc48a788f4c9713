"""Pairwise probabilities p_ij = Pr[Σ(i) < Σ(j)] of rankings (Clémençon et al., sections 2.1 to 2.3).

This module estimates the probabilities and computes statistics from them: transitivity, margin, dispersion
and the expected distance of a ranking. It also projects them onto the transitive set T′ (eq. 11). An
unobserved pair is NaN. Where an order is computed, it counts as ½; where a loss is computed, it adds nothing.
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


_MAX_WEIGHT = 1e100  # largest row weight; its inverse is the smallest
EVEN_TOLERANCE = 1e-12  # a probability within this distance of ½ is ½: the rest is rounding of weights


@dataclass(frozen=True, eq=False)
class PairwiseProbabilities:
    """Shares of rows that prefer each label to each other label.

    Parameters
    ----------
    p : float64 array, shape (k, k)
        p_ij, the share of the rows that place i before j among the rows that rank both; ties count ½.
        p_ij + p_ji = 1 and p_ii = ½. NaN for an unobserved pair.
    pair_weights : float64 array, shape (k, k)
        Total weight of the rows that rank both labels; on the diagonal, of the rows that rank the label.
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
        Rankings: complete, incomplete or with ties, which count ½. Missing labels are assumed to be missing
        at random: each pair is estimated from the rows that rank both labels.
    weights : array-like, shape (n,), optional
        Non-negative row weights, not all 0. By default all weights are 1.

    Returns
    -------
    PairwiseProbabilities
        Independent of the order of the rows, except for rounding errors of the weights.

    Raises
    ------
    DataError
        If the rankings are invalid.
    OptionError
        If the weights are not one finite non-negative number per row, or are all 0.

    Examples
    --------
    >>> pairs = estimate_pairwise_probabilities([[1, 2, 3], [2, 1, np.nan]])
    >>> pairs.p.tolist()
    [[0.5, 0.5, 1.0], [0.5, 0.5, 1.0], [0.0, 0.0, 0.5]]
    >>> pairs.pair_weights.tolist()
    [[2.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]]
    """
    mid_ranks = to_mid_ranks(ranks)
    n, k = mid_ranks.shape
    row_weights = check_weights(weights, n)[:, None]
    p, pair_weights = np.full((k, k), 0.5), np.zeros((k, k))
    label_weights = row_weights * ~np.isnan(mid_ranks)
    pair_weights[np.diag_indices(k)] = label_weights.sum(axis=0)
    for i in range(k - 1):  # one label at a time: memory stays (n, k), and rows are summed in order
        label_ranks, later_ranks = mid_ranks[:, i : i + 1], mid_ranks[:, i + 1 :]
        both_weights = (label_weights[:, i + 1 :] * ~np.isnan(label_ranks)).sum(axis=0)
        before_weights = (
            row_weights * ((label_ranks < later_ranks) + 0.5 * (label_ranks == later_ranks))
        ).sum(axis=0)
        p[i, i + 1 :] = np.divide(
            before_weights, both_weights, out=np.full(both_weights.shape, np.nan), where=both_weights > 0
        )
        p[i + 1 :, i] = 1.0 - p[i, i + 1 :]
        pair_weights[i, i + 1 :] = pair_weights[i + 1 :, i] = both_weights
    return PairwiseProbabilities(p, pair_weights)


def to_probability_array(p: Pairwise) -> NDArray[np.float64]:
    """Return the matrix of pairwise probabilities after checking it.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (..., k, k)
        p_ij; NaN for unobserved pairs.

    Returns
    -------
    float64 array, shape (..., k, k)

    Raises
    ------
    DataError
        If the matrix is not square, has values outside [0, 1], or p_ij + p_ji ≠ 1 for a pair.
    """
    if isinstance(p, PairwiseProbabilities):
        return p.p
    try:
        matrix = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"pairwise probabilities must be a matrix of numbers ({error}): "
            "use estimate_pairwise_probabilities"
        ) from None
    if matrix.ndim < 2 or matrix.shape[-1] != matrix.shape[-2] or not matrix.size:
        raise DataError(f"pairwise probabilities have shape {matrix.shape}: they must be a square matrix")
    if (matrix < -EVEN_TOLERANCE).any() or (matrix > 1.0 + EVEN_TOLERANCE).any():
        raise DataError(
            "pairwise probabilities must be in [0, 1]: p[i, j] is the share of rows that place i before j"
        )
    is_inconsistent = np.abs(matrix + np.swapaxes(matrix, -1, -2) - 1.0) > 1e-9
    if (is_inconsistent & ~np.eye(matrix.shape[-1], dtype=bool)).any():
        raise DataError(
            "pairwise probabilities p[i, j] and p[j, i] do not sum to 1: let ties count ½ for both"
        )
    return matrix


def to_probability_matrix(p: Pairwise) -> NDArray[np.float64]:
    """Return the single matrix of pairwise probabilities after checking it.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        p_ij; NaN for unobserved pairs.

    Returns
    -------
    float64 array, shape (k, k)

    Raises
    ------
    DataError
        If the matrix is invalid (see `to_probability_array`) or a stack of matrices.
    """
    matrix = to_probability_array(p)
    if matrix.ndim != 2:
        raise DataError(
            f"pairwise probabilities of shape {matrix.shape} are a stack of matrices: pass "
            "one matrix at a time"
        )
    return matrix


def compute_preferences(p: Pairwise) -> NDArray[np.int8]:
    """Compute the majority preference of every pair: the sign of p_ij − ½.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (..., k, k)
        Pairwise probabilities.

    Returns
    -------
    int8 array, shape (..., k, k)
        1 if p_ij > ½, −1 if p_ij < ½, and 0 if the pair is even or unobserved.

    Examples
    --------
    >>> compute_preferences(np.array([[0.5, 0.7], [0.3, 0.5]])).tolist()
    [[0, 1], [-1, 0]]
    """
    deviations = to_probability_array(p) - 0.5
    signs = (deviations > EVEN_TOLERANCE).astype(np.int8) - (deviations < -EVEN_TOLERANCE).astype(np.int8)
    signs[..., np.eye(signs.shape[-1], dtype=bool)] = 0
    return signs


def check_weights(weights: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    """Convert row weights to float64 and check them.

    Parameters
    ----------
    weights : array-like, shape (n,), or None
        Row weights; None for weights 1.
    n_rows : int
        Number of rows n.

    Returns
    -------
    float64 array, shape (n,)
        Finite non-negative weights; the largest is between 1e-100 and 1e100.

    Raises
    ------
    OptionError
        If the weights are invalid.
    """
    if weights is None:
        return np.ones(n_rows)
    try:
        row_weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"weights must be numbers ({error}): give one number ≥ 0 per row") from None
    if row_weights.shape != (n_rows,):
        raise OptionError(
            f"weights have shape {row_weights.shape}, but there are {n_rows} rankings: give one finite "
            "number ≥ 0 per row"
        )
    is_invalid = ~np.isfinite(row_weights) | (row_weights < 0)
    if is_invalid.any():
        row = int(is_invalid.argmax())
        raise OptionError(
            f"the weight of row {row} is {row_weights[row]:g}: weights must be finite and at least 0"
        )
    if not row_weights.any():
        raise OptionError("all weights are zero: at least one must be positive")
    if not 1.0 / _MAX_WEIGHT <= row_weights.max() <= _MAX_WEIGHT:
        raise OptionError(
            f"the largest weight is {row_weights.max():g}, and sums of squares of such weights overflow or "
            "underflow: only ratios of weights matter, so divide all by the largest"
        )
    return row_weights


def is_transitive(p: Pairwise) -> bool:
    """Return whether p is strictly stochastically transitive (Clémençon et al., Definition 1).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities.

    Returns
    -------
    bool
        True if no pair is even or unobserved and the majorities have no cycle. In this case the Copeland
        ranking is the only Kemeny median.

    Examples
    --------
    >>> is_transitive(estimate_pairwise_probabilities([[1, 2, 3], [2, 3, 1], [3, 1, 2]]))
    False
    """
    wins = (compute_preferences(to_probability_matrix(p)) > 0).sum(axis=-1)
    # Strict majorities have no cycle if and only if the labels win k − 1, k − 2, …, 0 times.
    return bool((np.sort(wins) == np.arange(wins.size)).all())


def margin(p: Pairwise) -> float:
    """Compute the margin h = min_{i<j} |p_ij − ½| of the low-noise condition (Clémençon et al., eq. 8).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities. An unobserved pair counts as ½.

    Returns
    -------
    float
        From 0 to ½; ½ for a single label.

    Examples
    --------
    >>> margin(estimate_pairwise_probabilities([[1, 2, 3], [1, 2, 3], [1, 3, 2], [1, 2, 3]]))
    0.25
    """
    probabilities = _take_upper_triangle(p)
    return float(np.abs(np.where(np.isnan(probabilities), 0.5, probabilities) - 0.5).min(initial=0.5))


def dispersion(p: Pairwise) -> float:
    """Compute the dispersion γ̂ = Σ_{i<j} p_ij (1 − p_ij) (Clémençon et al., Remark 2).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; unobserved pairs are ignored.

    Returns
    -------
    float
        From 0 to k(k − 1)/8, and at most the loss of the median. For complete rankings the loss is at most
        twice the dispersion. For complete rankings without ties the dispersion is half the expected distance
        of two independently drawn rankings. Neither holds for incomplete rankings: a cycle of majorities with
        probability 1 has dispersion 0, but every ranking has a loss of at least 1. The factor ½ of eq. (35)
        in the text is an error.

    Examples
    --------
    >>> dispersion(estimate_pairwise_probabilities([[1, 2], [2, 1]]))
    0.25
    """
    probabilities = _take_upper_triangle(p)
    return float(np.nansum(probabilities * (1.0 - probabilities)))


def compute_distance_lower_bound(p: Pairwise) -> float:
    """Compute the lower bound Σ_{i<j} min(p_ij, 1 − p_ij) of the expected distance of any ranking (eq. 6).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; unobserved pairs are ignored.

    Returns
    -------
    float
        At least 0. A ranking that attains the bound is a Kemeny median. The bound is attained if p is
        stochastically transitive.

    Examples
    --------
    >>> compute_distance_lower_bound(estimate_pairwise_probabilities([[1, 2, 3], [2, 3, 1], [3, 1,
    ...     2]])).__round__(9)
    1.0
    """
    probabilities = _take_upper_triangle(p)
    return float(np.nansum(np.minimum(probabilities, 1.0 - probabilities)))


def compute_expected_distance(p: Pairwise, ranking: ArrayLike) -> float:
    """Compute the expected Kendall distance L_P(σ) of a ranking (Clémençon et al., eq. 3).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; unobserved pairs are ignored.
    ranking : array-like, shape (k,)
        Complete ranking without ties.

    Returns
    -------
    float
        At least 0. For complete rows, with or without ties, it is the weighted mean of `kendall_distance` to
        the ranking. For incomplete rows every pair has the same weight, regardless of how often it was
        observed.

    Raises
    ------
    DataError
        If the ranking is incomplete, has ties, or has a different number of labels.

    Examples
    --------
    >>> compute_expected_distance(estimate_pairwise_probabilities([[1, 2, 3], [3, 2, 1]]), [1, 2, 3])
    1.5
    """
    matrix = to_probability_matrix(p)
    order = _sort_labels(ranking, len(matrix))
    return float(np.nansum(np.tril(matrix[np.ix_(order, order)], -1)))


def compute_excess_risk(p: Pairwise, rankings: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Compute the excess risk R(s) − R* of predicted rankings for known probabilities (eq. 13).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k) or (n, k, k)
        p_ij(x), one matrix for all rows or one per row.
    rankings : array-like, shape (k,) or (n, k)
        Predictions s(x): complete rankings without ties.
    weights : array-like, shape (n,), optional
        Row weights. By default all weights are 1.

    Returns
    -------
    float
        Mean over rows of 2 Σ_{i<j} |p_ij(x) − ½| · 1{s(x) orders i and j against the majority}; at least 0.
        If p(x) has cycles, this is the excess over the lower bound, which is possibly not attainable.

    Raises
    ------
    DataError
        If predictions are incomplete or have ties, or the shapes do not match.

    Notes
    -----
    Equation (13) of the text lacks the factor 2 of the equation below eq. (6). A pair in the wrong order
    costs max(p, 1 − p) instead of min(p, 1 − p), a difference of 2|p − ½|.

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
    is_after = predicted[:, :, None] > predicted[:, None, :]  # i after j costs 2(p_ij − ½) if positive (13)
    row_losses = np.nansum(np.where(is_after, np.maximum(2.0 * matrix - 1.0, 0.0), 0.0), axis=(1, 2))
    row_weights = check_weights(weights, shape[0])
    return float((row_weights * row_losses).sum() / row_weights.sum())


def _take_upper_triangle(p: Pairwise) -> NDArray[np.float64]:
    """Return p_ij for i < j, shape (k(k − 1)/2,)."""
    matrix = to_probability_matrix(p)
    return matrix[np.triu_indices(len(matrix), 1)]


def _sort_labels(ranking: ArrayLike, n_labels: int) -> NDArray[np.int64]:
    """List the labels of a complete ranking without ties by descending preference, shape (k,)."""
    ranks = to_float_array(ranking)
    if ranks.shape != (n_labels,):
        raise DataError(
            f"the ranking has shape {ranks.shape}, but there are {n_labels} labels: give {n_labels} ranks"
        )
    _check_no_ties(ranks[None, :])
    return np.argsort(ranks, kind="stable").astype(np.int64)


def _check_no_ties(rankings: NDArray[np.float64]) -> None:
    """Raise `DataError` for ties or missing labels, for which p does not determine the distance."""
    is_strict = (np.diff(np.sort(rankings, axis=1), axis=1) > 0).all(axis=1) & ~np.isnan(rankings).any(axis=1)
    if not is_strict.all():
        raise DataError(
            f"row {int((~is_strict).argmax())} of the rankings, {rankings[(~is_strict).argmax()].tolist()}, "
            "has ties or missing labels: only complete rankings without ties are compared with probabilities"
        )


@dataclass(frozen=True, eq=False)
class TransitiveProjection:
    """The point of T′ nearest to given pairwise probabilities.

    Parameters
    ----------
    p : float64 array, shape (k, k)
        p′_ij = ½ + u_i − u_j. Entries may be outside [0, 1] because T′ is a whole plane.
    scores : float64 array, shape (k,)
        u with mean 0; larger scores are preferred. For complete rankings these are the Borda scores up to
        scale and shift.
    residual : float
        Σ_{i<j} (p′_ij − p_ij)² over the observed pairs, with the weights used.
    """

    p: Values
    scores: Values
    residual: float


def project_transitive(p: Pairwise, *, weighted: bool = False) -> TransitiveProjection:
    """Project pairwise probabilities onto T′ (Clémençon et al., eq. 11).

    T′ contains all p with (p_ij − ½) + (p_jl − ½) + (p_li − ½) = 0 for all i, j, l: differences of scores.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities; unobserved pairs are excluded from the sum of squares.
    weighted : bool
        Weight each pair by the rows that rank it, as Jiang et al. (2011) do; requires
        `PairwiseProbabilities`. By default all observed pairs have the same weight, as in eq. (11).

    Returns
    -------
    TransitiveProjection
        The order of its scores is a consensus without cycles.

    Raises
    ------
    DataError
        If the observed pairs do not connect all labels, so that their scores are not comparable.
    OptionError
        If `weighted` is True and `p` is a plain array.

    Examples
    --------
    >>> projection = project_transitive(np.array([[0.5, 0.9, 0.4], [0.1, 0.5, 0.8], [0.6, 0.2, 0.5]]))
    >>> projection.scores.round(6).tolist(), round(projection.residual, 6)
    ([0.1, -0.033333, -0.066667], 0.213333)
    """
    matrix = to_probability_matrix(p)
    pair_weights = (~np.isnan(matrix)).astype(np.float64)
    if weighted:
        if not isinstance(p, PairwiseProbabilities):
            raise OptionError(
                "a plain array has no pair weights: pass the result of estimate_pairwise_probabilities"
            )
        pair_weights = p.pair_weights.copy()
    np.fill_diagonal(pair_weights, 0.0)
    deviations = np.where(pair_weights > 0, matrix - 0.5, 0.0)
    scores = _solve_scores(pair_weights, deviations)
    fitted = 0.5 + scores[:, None] - scores[None, :]
    squares = np.where(pair_weights > 0, pair_weights * (fitted - 0.5 - deviations) ** 2, 0.0)
    return TransitiveProjection(fitted, scores, float(squares.sum() / 2.0))


def _solve_scores(weights: Values, deviations: Values) -> Values:
    """Solve Σ_j w_ij (u_i − u_j) = Σ_j w_ij (p_ij − ½) for all i with Σ u = 0; shape (k,)."""
    k = len(weights)
    weighted_sums = (weights * deviations).sum(axis=1)
    off_diagonal = weights[~np.eye(k, dtype=bool)]
    if k == 1 or off_diagonal.min() == off_diagonal.max() > 0:  # equal weights: Borda scores
        return np.asarray(weighted_sums / (k * off_diagonal.max(initial=1e-300)))
    _check_connected(weights > 0)
    scale = weights.max()
    laplacian = (np.diag(weights.sum(axis=1)) - weights) / scale
    return np.asarray(np.linalg.solve(laplacian + 1.0 / k, weighted_sums / scale), dtype=np.float64)


def _check_connected(is_compared: NDArray[np.bool_]) -> None:
    """Raise `DataError` unless the compared pairs, shape (k, k), connect all labels."""
    is_reached = np.zeros(len(is_compared), dtype=bool)
    is_reached[0] = True
    while True:
        is_reached_next = is_reached | is_compared[is_reached].any(axis=0)
        if (is_reached_next == is_reached).all():
            break
        is_reached = is_reached_next
    if not is_reached.all():
        raise DataError(
            f"the observed pairs do not connect label 0 with label {int((~is_reached).argmax())}: their "
            "scores are not comparable; project the groups of labels separately, or add connecting rows"
        )


if TYPE_CHECKING:
    Pairwise: TypeAlias = PairwiseProbabilities | NDArray[np.float64]
