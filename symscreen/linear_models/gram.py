"""Sufficient statistics of least squares: inner products of centred features with norm 1.

With unit features z_k and the unit target y, the products C = Z Zᵀ and c = Z y determine the least-squares
fit of every subset S: R² = c_Sᵀ C_S⁻¹ c_S. With K targets of norm 1/√K each, Σ_t c_tSᵀ C_S⁻¹ c_tS is the mean
R².

The sums are computed by our own kernels over the rows in one fixed order, for many features in parallel. A
product therefore depends only on its two columns, not on their position, the number of other columns or the
number of threads.

Closed forms on inner products lose digits with the square of the condition number. Orthogonalised columns
lose them with the condition number only, so the residual of an exact formula is at rounding level. Each
column is orthogonalised twice against those before it, which is enough (Giraud, Langou and Rozložník 2005,
Computers and Mathematics with Applications 50, 1069-1075).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError
from symscreen.linear_models._kernels import compute_products, fill_normalized_tile, fill_unexplained_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray


MIN_PIVOT = 1e-10
"""Minimum share of a feature's variance that is unexplained by the features before it in a subset."""

MIN_DETERMINANT = 1e-13
"""Minimum determinant of a subset's correlation matrix, whose entries are accurate to about 1e-15."""

TILE_FEATURES = 128
"""Features per tile: enough to fill vector registers, few enough for the second-level cache."""


@dataclass(frozen=True, eq=False)
class GramMatrix:
    """Inner products of q features and K targets over n rows, all centred.

    Parameters
    ----------
    columns : float64 array, shape (q, n), C-contiguous
        One feature per row with mean 0 and norm 1; all zeros if a feature is constant.
    target : float64 array, shape (K, n)
        Mean 0, norm 1/√K, so that the norm of all together is 1.
    products : float64 array, shape (q, q)
        C = Z Zᵀ, the correlations of the features; exactly symmetric.
    target_products : float64 array, shape (K, q)
        c = Z y, the correlations with each target, divided by √K.
    """

    columns: NDArray[np.float64]
    target: NDArray[np.float64]
    products: NDArray[np.float64]
    target_products: NDArray[np.float64]

    @property
    def strength(self) -> NDArray[np.float64]:
        """√Σ_t c_t² of each feature, shape (q,)."""
        return np.asarray(np.sqrt((self.target_products * self.target_products).sum(axis=0)))

    @property
    def strength_order(self) -> NDArray[np.int64]:
        """Feature indices by descending strength, ties by index; shape (q,).

        A scan in this order soon has a high threshold, and its arithmetic does not depend on the order of the
        features.
        """
        return np.argsort(-self.strength, kind="stable")


def compute_gram(values: NDArray[np.float64], target: NDArray[np.float64]) -> GramMatrix:
    """Normalise features and target, and compute all inner products.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One feature per row; finite, any scale.
    target : float64 array, shape (n,) or (K, n)
        The target, a residual, or K targets; finite, none constant.

    Returns
    -------
    GramMatrix
        Identical to the bit for any order of the features, up to this order.

    Raises
    ------
    DataError
        If a target is constant.

    Examples
    --------
    >>> compute_gram(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), np.array([1.0, 2.0,
    ...     3.0])).products.round(6)
    array([[ 1. , -0.5],
           [-0.5,  1. ]])
    """
    normalized_target = normalize_target(target)
    if not normalized_target.any(axis=-1).all():
        raise DataError("the target is constant: there is nothing to explain; use a target that varies")
    columns = normalize_rows(values)
    q = len(columns)
    correlations, with_target = np.empty((q, q)), np.empty((q, len(normalized_target)))
    for start in range(0, q, TILE_FEATURES):
        tile = np.ascontiguousarray(columns[start : start + TILE_FEATURES].T)
        stop = start + tile.shape[1]
        block = np.empty((stop, stop - start))
        compute_products(columns[:stop], tile, block)
        correlations[:stop, start:stop] = block
        correlations[start:stop, :stop] = block.T
    compute_products(columns, np.ascontiguousarray(normalized_target.T), with_target)
    return GramMatrix(columns, normalized_target, correlations, np.ascontiguousarray(with_target.T))


def normalize_target(target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre each of K targets and scale it to norm 1/√K.

    The unexplained share of all targets is then the mean of those of each target, for any units, and all
    targets have the same weight.

    Parameters
    ----------
    target : float64 array, shape (n,) or (K, n)
        Finite, any scale.

    Returns
    -------
    float64 array, shape (K, n)
        Zeros if a target is constant; K = 1 for a target of shape (n,).

    Examples
    --------
    >>> normalize_target(np.array([[1.0, 2.0, 3.0], [0.0, 500.0, 1000.0]])).round(3).tolist()
    [[-0.5, 0.0, 0.5], [-0.5, 0.0, 0.5]]
    """
    normalized = normalize_rows(np.atleast_2d(target))
    return normalized / math.sqrt(len(normalized))


def normalize_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre features and scale them to norm 1.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One feature per row; finite, any scale.

    Returns
    -------
    float64 array, shape (q, n)
        Zeros if a feature is constant, that is, if its root mean square deviation is at most 1e-13 of its
        largest magnitude.

    Examples
    --------
    >>> normalize_rows(np.array([[1e200, 3e200], [0.1, 0.1]])).round(3).tolist()
    [[-0.707, 0.707], [0.0, 0.0]]
    """
    rows = np.empty(values.shape)
    # few features need no full tile; whole vector registers keep the order of all sums
    n_lanes = min(TILE_FEATURES, -(-len(values) // 8) * 8)
    tile = np.empty((values.shape[1], n_lanes))
    for start in range(0, len(values), TILE_FEATURES):
        block = values[start : start + TILE_FEATURES]
        fill_normalized_tile(block, tile)
        rows[start : start + TILE_FEATURES] = tile[:, : len(block)].T
    return rows


def compute_unexplained_shares(
    columns: NDArray[np.float64], target: NDArray[np.float64], models: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Compute RSS/‖y‖² of several models.

    Parameters
    ----------
    columns : float64 array, shape (q, n)
        Features with mean 0 and norm 1.
    target : float64 array, shape (n,) or (K, n)
        Mean 0, norm 1; with K targets the squared norms sum to 1.
    models : int64 array, shape (k, s)
        The features of each model, in the order of orthogonalisation.

    Returns
    -------
    float64 array, shape (k,)
        1 − R² in [0, 1], accurate to about 1e-16·√(1 − R²); with K targets the sum, weighted by their squared
        norms. Infinite if the features are collinear: the share of a feature that those before it leave
        unexplained is below `MIN_PIVOT`, or the product of these shares, which is the determinant of the
        correlation matrix, is below `MIN_DETERMINANT`.

    Examples
    --------
    >>> columns = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]) / np.sqrt(2)
    >>> target = np.array([1.0, 1.0, -2.0]) / np.sqrt(6)
    >>> compute_unexplained_shares(columns, target, np.array([[0], [1]])).round(6).tolist()
    [0.25, 0.25]
    """
    shares = np.empty(len(models))
    targets = np.ascontiguousarray(np.atleast_2d(target))
    fill_unexplained_shares(
        columns, targets, np.ascontiguousarray(models), MIN_PIVOT, MIN_DETERMINANT, shares
    )
    return shares


def argsort_models(unexplained: NDArray[np.float64], *keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort models by their unexplained shares.

    Parameters
    ----------
    unexplained : float64 array, shape (k,)
        RSS/‖y‖² of each model.
    *keys : int64 arrays, shape (k,)
        Sort keys for ties, in order of precedence.

    Returns
    -------
    int64 array, shape (k,)
        Indices of the models, best first. Models whose residual norms agree to 12 decimals of ‖y‖ are tied:
        smaller differences are rounding errors, so all exact formulas are tied.

    Examples
    --------
    >>> argsort_models(np.array([0.5, 1e-30, 0.0]), np.array([0, 1, 2])).tolist()
    [1, 2, 0]
    """
    return np.lexsort((*reversed(keys), np.sqrt(unexplained).round(12)))
