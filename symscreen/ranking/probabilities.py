"""Pairwise probabilities of rankings (Clémençon et al., section 2.1): p_ij = Pr[Σ(i) < Σ(j)].

A pair that was never seen is NaN and tells nothing: where an order is sought it counts as even.
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
    "matrix_of",
    "one_matrix",
    "pairwise_probabilities",
    "preferences",
    "weights_of",
]

_LARGEST = 1e100  # weight
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
    weight = weights_of(weights, n)[:, None]
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
    try:
        matrix = np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise TableError(
            f"pairwise probabilities are no matrix of numbers ({fault}): take those of pairwise_probabilities"
        ) from None
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


def one_matrix(p: Pairwise) -> NDArray[np.float64]:
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
        As `matrix_of`, and if it is a stack of matrices.
    """
    matrix = matrix_of(p)
    if matrix.ndim != 2:
        raise TableError(
            f"pairwise probabilities of shape {matrix.shape} are a stack of matrices, and one is needed: "
            "take them one by one"
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


def weights_of(weights: ArrayLike | None, n: int) -> NDArray[np.float64]:
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
        return np.ones(n)
    try:
        weight = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise OptionError(f"weights are no numbers ({fault}): give one number ≥ 0 a row") from None
    if weight.shape != (n,):
        raise OptionError(
            f"weights of shape {weight.shape} were given for {n} rankings: give one finite number ≥ 0 a row"
        )
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(bad.argmax())
        raise OptionError(
            f"the weight of row {row} is {weight[row]:g}: weights must be finite and at least 0"
        )
    if not weight.any():
        raise OptionError("all weights are zero: nothing is left to learn from")
    if not 1.0 / _LARGEST <= weight.max() <= _LARGEST:
        raise OptionError(
            f"the largest weight is {weight.max():g}, and sums of squares of such numbers leave the range of "
            "floats: only ratios of weights count, so divide all by the largest"
        )
    return weight
