"""Sufficient statistics of least squares: inner products of centred features of norm 1.

With unit features z_k and the unit target y, the products C = Z Zᵀ and c = Z y say all that least squares of
any subset S needs: R² = c_Sᵀ C_S⁻¹ c_S. Of K targets, each of norm 1/√K, Σ_t c_tSᵀ C_S⁻¹ c_tS is the mean R².

Sums are taken by kernels of our own, over the rows in one fixed order, many features side by side: a product
depends on its two columns alone, not on where they stand, how many others there are, or on threads.

What a few features leave unexplained, by orthogonalising the columns themselves.

Closed forms on inner products lose digits with the square of the condition number; orthogonalised columns
lose them with the condition number alone, and what an exact formula leaves comes out at rounding level. Each
column is made orthogonal to those before it twice, which is enough (Giraud, Langou and Rozložník 2005,
Computers and Mathematics with Applications 50, 1069-1075).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values


__all__ = [
    "MIN_DETERMINANT",
    "MIN_PIVOT",
    "TILE_FEATURES",
    "GramMatrix",
    "argsort_models",
    "compute_gram",
    "compute_products",
    "compute_unexplained_shares",
    "fill_normalized_tile",
    "normalize_rows",
    "normalize_target",
]

MIN_PIVOT = 1e-10
"""The least share of a feature's variance that the features before it in a subset must leave unexplained."""

MIN_DETERMINANT = 1e-13
"""The least determinant of a subset's correlation matrix: C is good to about 1e-15, and says little below."""

TILE_FEATURES = 128
"""Features side by side in a tile: many enough to fill vectors, few enough for the second-level cache."""

_CONSTANT_TOLERANCE = 1e-13  # a spread this small beside the largest magnitude is rounding


@dataclass(frozen=True, eq=False)
class GramMatrix:
    """Inner products of q features and a target, or K targets, over n rows, all centred and of norm 1.

    Parameters
    ----------
    columns : float64 array, shape (q, n), C-contiguous
        One row a feature: mean 0, norm 1; all zeros where a feature is constant.
    target : float64 array, shape (n,) or (K, n)
        Mean 0, norm 1; of K targets each has the norm 1/√K, so that all together have the norm 1.
    products : float64 array, shape (q, q)
        C = Z Zᵀ, the features' correlations; exactly symmetric.
    with_target : float64 array, shape (q,) or (K, q)
        c = Z y, the correlations with the target; of K targets each is divided by √K.
    """

    columns: NDArray[np.float64]
    target: NDArray[np.float64]
    products: NDArray[np.float64]
    target_products: NDArray[np.float64]

    @property
    def strength(self) -> NDArray[np.float64]:
        """|c| of each feature, over all targets √Σ_t c_t²; shape (q,)."""
        if self.target_products.ndim == 1:
            return np.abs(self.target_products)
        return np.asarray(np.sqrt((self.target_products * self.target_products).sum(axis=0)))

    @property
    def strength_order(self) -> NDArray[np.int64]:
        """Number the features from the largest |c| down, equals by number; shape (q,).

        A scan in this order has a high bar early, and its arithmetic does not follow the order in which the
        features came.
        """
        return np.argsort(-self.strength, kind="stable")


def compute_gram(values: NDArray[np.float64], target: NDArray[np.float64]) -> GramMatrix:
    """Centre and scale features and target, and take all inner products.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One row a feature; finite, any scale.
    target : float64 array, shape (n,) or (K, n)
        The response, or a residual, or K responses; finite, none constant.

    Returns
    -------
    Gram
        The same to the bit in any order of the features, their order apart.

    Raises
    ------
    TableError
        If the target is constant.

    Examples
    --------
    >>> compute_gram(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), np.array([1.0, 2.0,
    ...     3.0])).products.round(6)
    array([[ 1. , -0.5],
           [-0.5,  1. ]])
    """
    aim = normalize_target(target)
    if not aim.any(axis=-1).all():
        raise DataError("the target is constant: there is nothing to explain; give one that varies")
    columns = normalize_rows(values)
    q = len(columns)
    targets = np.atleast_2d(aim)
    correlations, with_target = np.empty((q, q)), np.empty((q, len(targets)))
    for start in range(0, q, TILE_FEATURES):
        tile = np.ascontiguousarray(columns[start : start + TILE_FEATURES].T)
        stop = start + tile.shape[1]
        block = np.empty((stop, stop - start))
        compute_products(columns[:stop], tile, block)
        correlations[:stop, start:stop] = block
        correlations[start:stop, :stop] = block.T
    compute_products(columns, np.ascontiguousarray(targets.T), with_target)
    return GramMatrix(
        columns,
        aim,
        correlations,
        with_target[:, 0] if aim.ndim == 1 else np.ascontiguousarray(with_target.T),
    )


def normalize_target(target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre a target and scale it to norm 1; of K targets each to the norm 1/√K.

    So scaled, what a model leaves of all targets is the mean of the shares that it leaves of each, whatever
    their units; and each is worth as much as another.

    Parameters
    ----------
    target : float64 array, shape (n,) or (K, n)
        Finite, any scale.

    Returns
    -------
    float64 array, shape (n,) or (K, n)
        Zeros where a target is constant.

    Examples
    --------
    >>> normalize_target(np.array([[1.0, 2.0, 3.0], [0.0, 500.0, 1000.0]])).round(3).tolist()
    [[-0.5, 0.0, 0.5], [-0.5, 0.0, 0.5]]
    """
    aim = normalize_rows(np.atleast_2d(target))
    return aim[0] if target.ndim == 1 else aim / math.sqrt(len(aim))


def normalize_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre features and scale them to norm 1.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One row a feature; finite, any scale.

    Returns
    -------
    float64 array, shape (q, n)
        Zeros where a feature is constant: where its root mean square deviation is rounding, at most 1e-13 of
        its largest magnitude.

    Examples
    --------
    >>> normalize_rows(np.array([[1e200, 3e200], [0.1, 0.1]])).round(3).tolist()
    [[-0.707, 0.707], [0.0, 0.0]]
    """
    rows = np.empty(values.shape)
    tile = np.empty((values.shape[1], TILE_FEATURES))
    for start in range(0, len(values), TILE_FEATURES):
        here = values[start : start + TILE_FEATURES]
        fill_normalized_tile(here, tile)
        rows[start : start + TILE_FEATURES] = tile[:, : len(here)].T
    return rows


@compile_kernel
def fill_normalized_tile(values: Values, tile: Values) -> Values:
    """Write features, centred and of norm 1, side by side into a tile.

    Parameters
    ----------
    values : float64 array, shape (w, n)
        One row a feature; finite.
    tile : float64 array, shape (n, lanes), lanes ≥ w
        Changed in place: one column a feature; zeros where a feature is constant, and beyond the features.

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
    # twice: the first mean is rounded in the unit of the values, the second in that of their spread
    _center_columns(tile)
    _center_columns(tile)
    _normalize_columns(tile, largest, squares)
    return squares


@compile_kernel
def compute_products(rows: Values, tile: Values, out: Values) -> None:
    """Take the inner products of features with the features of a tile.

    Parameters
    ----------
    rows : float64 array, shape (s, n)
        One row a feature.
    tile : float64 array, shape (n, lanes)
        One column a feature.
    out : float64 array, shape (s, lanes)
        Changed in place; each a sum over n in one order, whatever s and lanes.
    """
    s, n = rows.shape
    out[:] = 0.0
    whole = n - n % 8
    for r in range(0, whole, 8):
        x0, x1, x2, x3 = tile[r], tile[r + 1], tile[r + 2], tile[r + 3]
        x4, x5, x6, x7 = tile[r + 4], tile[r + 5], tile[r + 6], tile[r + 7]
        for a in range(s):
            z, to = rows[a, r : r + 8], out[a]
            z0, z1, z2, z3, z4, z5, z6, z7 = z[0], z[1], z[2], z[3], z[4], z[5], z[6], z[7]
            for f in range(to.size):
                near = (z0 * x0[f] + z1 * x1[f]) + (z2 * x2[f] + z3 * x3[f])
                far = (z4 * x4[f] + z5 * x5[f]) + (z6 * x6[f] + z7 * x7[f])
                to[f] += near + far
    for r in range(whole, n):
        for a in range(s):
            for f in range(out.shape[1]):
                out[a, f] += rows[a, r] * tile[r, f]


@compile_kernel
def _fill_transposed(values: Values, tile: Values) -> None:
    w, n = values.shape
    for start in range(0, n, 8):  # eight rows at a time: a tile's lines stay in the nearest cache
        for f in range(w):
            for r in range(start, min(start + 8, n)):
                tile[r, f] = values[f, r]


@compile_kernel
def _scale_columns(tile: Values, max_magnitudes: Values) -> None:
    """Bring each column near 1 by a power of two; leave its largest magnitude."""
    n, lanes = tile.shape
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            max_magnitudes[f] = max(max_magnitudes[f], abs(row[f]))
    factor = np.empty(lanes)
    for f in range(lanes):
        # a power of two rounds nothing, and near 1 squares neither overflow nor vanish
        _, exponent = math.frexp(max_magnitudes[f])
        factor[f] = math.ldexp(1.0, -max(exponent, -1000))
        max_magnitudes[f] *= factor[f]
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            row[f] *= factor[f]


@compile_kernel
def _center_columns(tile: Values) -> None:
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
    """Bring each column to norm 1, or to zeros; leave its squared norm."""
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
    """Compute RSS/‖y‖² of each of several models.

    Parameters
    ----------
    columns : float64 array, shape (q, n)
        Features of mean 0 and norm 1.
    target : float64 array, shape (n,) or (K, n)
        Of mean 0 and norm 1; of K targets the squares of the norms sum to 1.
    members : int64 array, shape (k, s)
        The features of each model, in the order in which they are made orthogonal.

    Returns
    -------
    float64 array, shape (k,)
        1 − R² in [0, 1], to about 1e-16·√(1 − R²), of several targets their sum, weighed by their squared
        norms; infinite where the features are collinear: the share of a
        feature that those before it leave is below `PIVOT`, or the product of these shares, which is the
        determinant of the correlation matrix, below `DETERMINANT`.

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
    """Order models by what they leave unexplained.

    Parameters
    ----------
    unexplained : float64 array, shape (k,)
        RSS/‖y‖² of each model.
    *keys : int64 arrays, shape (k,)
        What decides between equals, the first before the second.

    Returns
    -------
    int64 array, shape (k,)
        Numbers of the models, best first. Equal are those whose residual norms agree to 12 decimals of ‖y‖:
        finer differences are rounding, so that all that is left by exact formulas counts as nothing.

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
    product = 1.0
    for s in range(model.size):
        basis[s] = columns[model[s]]
        for _ in range(2):
            for before in range(s):
                _project_out(basis[before], basis[s])
        share = _compute_inner_product(basis[s], basis[s])
        product *= share
        if share < min_pivot or product < min_determinant:
            return False
        basis[s] /= math.sqrt(share)
    return True


@compile_kernel
def _project_out(unit: Values, vector: Values) -> None:
    along = _compute_inner_product(unit, vector)
    for r in range(unit.size):
        vector[r] -= along * unit[r]


@compile_kernel
def _compute_inner_product(a: Values, b: Values) -> float:
    even = a.size - a.size % 8
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for r in range(0, even, 8):  # eight sums run side by side; their order is fixed
        s0 += a[r] * b[r]
        s1 += a[r + 1] * b[r + 1]
        s2 += a[r + 2] * b[r + 2]
        s3 += a[r + 3] * b[r + 3]
        s4 += a[r + 4] * b[r + 4]
        s5 += a[r + 5] * b[r + 5]
        s6 += a[r + 6] * b[r + 6]
        s7 += a[r + 7] * b[r + 7]
    for r in range(even, a.size):
        s0 += a[r] * b[r]
    return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))
