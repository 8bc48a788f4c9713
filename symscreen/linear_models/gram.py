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

from symscreen._numba import compile_kernel
from symscreen.errors import DataError
from symscreen.statistics.column_arithmetic import compute_simd_dot

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values


MIN_PIVOT = 1e-10
"""Minimum share of a feature's variance that is unexplained by the features before it in a subset."""

MIN_DETERMINANT = 1e-13
"""Minimum determinant of a subset's correlation matrix, whose entries are accurate to about 1e-15."""

TILE_FEATURES = 128
"""Features per tile: enough to fill vector registers, few enough for the second-level cache."""

_CONSTANT_TOLERANCE = 1e-13  # a smaller ratio of the deviation to the largest magnitude is rounding


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
    tile = np.empty((values.shape[1], TILE_FEATURES))
    for start in range(0, len(values), TILE_FEATURES):
        block = values[start : start + TILE_FEATURES]
        fill_normalized_tile(block, tile)
        rows[start : start + TILE_FEATURES] = tile[:, : len(block)].T
    return rows


@compile_kernel
def fill_normalized_tile(values: Values, tile: Values) -> Values:
    """Write normalised features into the columns of a tile.

    Parameters
    ----------
    values : float64 array, shape (w, n)
        One feature per row; finite.
    tile : float64 array, shape (n, lanes), lanes ≥ w
        Overwritten: one feature per column; zeros for constant features, and in the remaining columns.

    Returns
    -------
    float64 array, shape (lanes,)
        The squared norms: 1, or 0 for columns of zeros.
    """
    w = len(values)
    tile[:, w:] = 0.0
    _fill_transposed(values, tile)
    largest, squares = np.zeros(tile.shape[1]), np.zeros(tile.shape[1])
    _scale_columns(tile, largest)
    # Twice: the first mean is rounded on the scale of the values, the second on that of their deviations.
    _center_columns(tile)
    _center_columns(tile)
    _normalize_columns(tile, largest, squares)
    return squares


@compile_kernel
def compute_products(rows: Values, tile: Values, out: Values) -> None:
    """Compute the inner products of features with those of a tile.

    Parameters
    ----------
    rows : float64 array, shape (s, n)
        One feature per row.
    tile : float64 array, shape (n, lanes)
        One feature per column.
    out : float64 array, shape (s, lanes)
        Overwritten. Each product is a sum over n in one order, for any s and lanes.
    """
    s, n = rows.shape
    out[:] = 0.0
    n_blocked = n - n % 8
    for r in range(0, n_blocked, 8):
        x0, x1, x2, x3 = tile[r], tile[r + 1], tile[r + 2], tile[r + 3]
        x4, x5, x6, x7 = tile[r + 4], tile[r + 5], tile[r + 6], tile[r + 7]
        for a in range(s):
            z, sums = rows[a, r : r + 8], out[a]
            z0, z1, z2, z3, z4, z5, z6, z7 = z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7]
            for f in range(sums.size):
                low = (z0 * x0[f] + z1 * x1[f]) + (z2 * x2[f] + z3 * x3[f])
                high = (z4 * x4[f] + z5 * x5[f]) + (z6 * x6[f] + z7 * x7[f])
                sums[f] += low + high
    for r in range(n_blocked, n):
        for a in range(s):
            for f in range(out.shape[1]):
                out[a, f] += rows[a, r] * tile[r, f]


@compile_kernel
def _fill_transposed(values: Values, tile: Values) -> None:
    """Write values, shape (w, n), as columns of the tile."""
    w, n = values.shape
    for start in range(
        0, n, 8
    ):  # eight rows at a time: these lines of the tile stay in the first-level cache
        for f in range(w):
            for r in range(start, min(start + 8, n)):
                tile[r, f] = values[f, r]


@compile_kernel
def _scale_columns(tile: Values, max_magnitudes: Values) -> None:
    """Scale each column near 1 by a power of two; write its largest magnitude, shape (lanes,)."""
    n, lanes = tile.shape
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            max_magnitudes[f] = max(max_magnitudes[f], abs(row[f]))
    factor = np.empty(lanes)
    for f in range(lanes):
        # A power of two does not round, and squares of numbers near 1 neither overflow nor underflow.
        _, exponent = math.frexp(max_magnitudes[f])
        factor[f] = math.ldexp(1.0, -max(exponent, -1000))
        max_magnitudes[f] *= factor[f]
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            row[f] *= factor[f]


@compile_kernel
def _center_columns(tile: Values) -> None:
    """Subtract the mean of each column."""
    n, lanes = tile.shape
    mean = np.zeros(lanes)
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            mean[f] += row[f]
    mean /= n
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            row[f] -= mean[f]


@compile_kernel
def _normalize_columns(tile: Values, max_magnitudes: Values, squared_norms: Values) -> None:
    """Scale each column to norm 1, or to zeros; write its squared norm, shape (lanes,)."""
    n, lanes = tile.shape
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            squared_norms[f] += row[f] * row[f]
    factor = np.empty(lanes)
    for f in range(lanes):
        varies = squared_norms[f] > n * (_CONSTANT_TOLERANCE * max_magnitudes[f]) ** 2
        factor[f] = 1.0 / math.sqrt(squared_norms[f]) if varies else 0.0
        squared_norms[f] = 1.0 if varies else 0.0
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            row[f] *= factor[f]


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
    _fill_unexplained_shares(
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


@compile_kernel
def _fill_unexplained_shares(
    columns: Values,
    targets: Values,
    models: Integers,
    min_pivot: float,
    min_determinant: float,
    shares: Values,
) -> None:
    """Write the unexplained share of each model, shape (k,); infinite if its features are collinear."""
    k, size = models.shape
    n = targets.shape[1]
    basis = np.empty((size, n))
    residual = np.empty(n)
    for model in range(k):
        shares[model] = np.inf
        if _fill_orthonormal_basis(columns, models[model], min_pivot, min_determinant, basis):
            shares[model] = 0.0
            for target in targets:
                residual[:] = target
                for s in range(size):
                    _project_out(basis[s], residual)
                shares[model] += _compute_inner_product(residual, residual)


@compile_kernel
def _fill_orthonormal_basis(
    columns: Values, model: Integers, min_pivot: float, min_determinant: float, basis: Values
) -> bool:
    """Write an orthonormal basis of a model's columns, shape (s, n); return False if they are collinear."""
    product = 1.0
    for s in range(model.size):
        basis[s] = columns[model[s]]
        for _ in range(2):
            for previous in range(s):
                _project_out(basis[previous], basis[s])
        share = _compute_inner_product(basis[s], basis[s])
        product *= share
        if share < min_pivot or product < min_determinant:
            return False
        basis[s] /= math.sqrt(share)
    return True


@compile_kernel
def _project_out(unit: Values, vector: Values) -> None:
    """Project a unit vector, shape (n,), out of another vector, in place."""
    along = _compute_inner_product(unit, vector)
    for r in range(unit.size):
        vector[r] -= along * unit[r]


@compile_kernel
def _compute_inner_product(a: Values, b: Values) -> float:
    """Compute the inner product of two arrays of shape (n,)."""
    return float(compute_simd_dot(a, b, 0, a.size))
