"""Sufficient statistics of least squares: inner products of centred features of norm 1.

With unit features z_k and the unit target y, the products C = Z Zᵀ and c = Z y say all that least squares of
any subset S needs: R² = c_Sᵀ C_S⁻¹ c_S. Of K targets, each of norm 1/√K, Σ_t c_tSᵀ C_S⁻¹ c_tS is the mean R².

Sums are taken by kernels of our own, over the rows in one fixed order, many features side by side: a product
depends on its two columns alone, not on where they stand, how many others there are, or on threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.errors import TableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = [
    "DETERMINANT",
    "LANES",
    "PIVOT",
    "Gram",
    "gram_of",
    "products",
    "unit_rows",
    "unit_target",
    "unit_tile",
]

PIVOT = 1e-10
"""The least share of a feature's variance that the features before it in a subset must leave unexplained."""

DETERMINANT = 1e-13
"""The least determinant of a subset's correlation matrix: C is good to about 1e-15, and says little below."""

LANES = 128
"""Features side by side in a tile: many enough to fill vectors, few enough for the second-level cache."""

_CONSTANT = 1e-13  # a spread this small beside the largest magnitude is rounding


@dataclass(frozen=True, eq=False)
class Gram:
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
    with_target: NDArray[np.float64]

    @property
    def strength(self) -> NDArray[np.float64]:
        """|c| of each feature, over all targets √Σ_t c_t²; shape (q,)."""
        if self.with_target.ndim == 1:
            return np.abs(self.with_target)
        return np.asarray(np.sqrt((self.with_target * self.with_target).sum(axis=0)))

    @property
    def strongest(self) -> NDArray[np.int64]:
        """Number the features from the largest |c| down, equals by number; shape (q,).

        A scan in this order has a high bar early, and its arithmetic does not follow the order in which the
        features came.
        """
        return np.argsort(-self.strength, kind="stable")


def gram_of(values: NDArray[np.float64], target: NDArray[np.float64]) -> Gram:
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
    >>> gram_of(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), np.array([1.0, 2.0, 3.0])).products.round(6)
    array([[ 1. , -0.5],
           [-0.5,  1. ]])
    """
    aim = unit_target(target)
    if not aim.any(axis=-1).all():
        raise TableError("the target is constant: there is nothing to explain; give one that varies")
    columns = unit_rows(values)
    q = len(columns)
    targets = np.atleast_2d(aim)
    correlations, with_target = np.empty((q, q)), np.empty((q, len(targets)))
    for start in range(0, q, LANES):
        tile = np.ascontiguousarray(columns[start : start + LANES].T)
        stop = start + tile.shape[1]
        block = np.empty((stop, stop - start))
        products(columns[:stop], tile, block)
        correlations[:stop, start:stop] = block
        correlations[start:stop, :stop] = block.T
    products(columns, np.ascontiguousarray(targets.T), with_target)
    return Gram(
        columns,
        aim,
        correlations,
        with_target[:, 0] if aim.ndim == 1 else np.ascontiguousarray(with_target.T),
    )


def unit_target(target: NDArray[np.float64]) -> NDArray[np.float64]:
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
    >>> unit_target(np.array([[1.0, 2.0, 3.0], [0.0, 500.0, 1000.0]])).round(3).tolist()
    [[-0.5, 0.0, 0.5], [-0.5, 0.0, 0.5]]
    """
    aim = unit_rows(np.atleast_2d(target))
    return aim[0] if target.ndim == 1 else aim / math.sqrt(len(aim))


def unit_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
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
    >>> unit_rows(np.array([[1e200, 3e200], [0.1, 0.1]])).round(3).tolist()
    [[-0.707, 0.707], [0.0, 0.0]]
    """
    rows = np.empty(values.shape)
    tile = np.empty((values.shape[1], LANES))
    for start in range(0, len(values), LANES):
        here = values[start : start + LANES]
        unit_tile(here, tile)
        rows[start : start + LANES] = tile[:, : len(here)].T
    return rows


@kernel
def unit_tile(values: Values, tile: Values) -> Values:
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
    _transpose(values, tile)
    largest, squares = np.zeros(tile.shape[1]), np.zeros(tile.shape[1])
    _scale(tile, largest)
    # twice: the first mean is rounded in the unit of the values, the second in that of their spread
    _centre(tile)
    _centre(tile)
    _normalise(tile, largest, squares)
    return squares


@kernel
def products(rows: Values, tile: Values, out: Values) -> None:
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


@kernel
def _transpose(values: Values, tile: Values) -> None:
    w, n = values.shape
    for start in range(0, n, 8):  # eight rows at a time: a tile's lines stay in the nearest cache
        for f in range(w):
            for r in range(start, min(start + 8, n)):
                tile[r, f] = values[f, r]


@kernel
def _scale(tile: Values, largest: Values) -> None:
    """Bring each column near 1 by a power of two; leave its largest magnitude."""
    n, lanes = tile.shape
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            largest[f] = max(largest[f], abs(row[f]))
    factor = np.empty(lanes)
    for f in range(lanes):
        # a power of two rounds nothing, and near 1 squares neither overflow nor vanish
        _, exponent = math.frexp(largest[f])
        factor[f] = math.ldexp(1.0, -max(exponent, -1000))
        largest[f] *= factor[f]
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            row[f] *= factor[f]


@kernel
def _centre(tile: Values) -> None:
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


@kernel
def _normalise(tile: Values, largest: Values, squares: Values) -> None:
    """Bring each column to norm 1, or to zeros; leave its squared norm."""
    n, lanes = tile.shape
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            squares[f] += row[f] * row[f]
    factor = np.empty(lanes)
    for f in range(lanes):
        varies = squares[f] > n * (_CONSTANT * largest[f]) ** 2
        factor[f] = 1.0 / math.sqrt(squares[f]) if varies else 0.0
        squares[f] = 1.0 if varies else 0.0
    for r in range(n):
        row = tile[r]
        for f in range(lanes):
            row[f] *= factor[f]
