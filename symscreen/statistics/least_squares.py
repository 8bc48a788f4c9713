"""What a few features leave unexplained, by orthogonalising the columns themselves.

Closed forms on inner products lose digits with the square of the condition number; orthogonalised columns
lose them with the condition number alone, and what an exact formula leaves comes out at rounding level. Each
column is made orthogonal to those before it twice, which is enough (Giraud, Langou and Rozložník 2005,
Computers and Mathematics with Applications 50, 1069-1075).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.gram import DETERMINANT, PIVOT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["by_fit", "unexplained_shares"]


def unexplained_shares(
    columns: NDArray[np.float64], target: NDArray[np.float64], members: NDArray[np.int64]
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
    >>> unexplained_shares(columns, target, np.array([[0], [1]])).round(6).tolist()
    [0.25, 0.25]
    """
    shares = np.empty(len(members))
    targets = np.ascontiguousarray(np.atleast_2d(target))
    _unexplained(columns, targets, np.ascontiguousarray(members), PIVOT, DETERMINANT, shares)
    return shares


def by_fit(unexplained: NDArray[np.float64], *keys: NDArray[np.int64]) -> NDArray[np.int64]:
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
    >>> by_fit(np.array([0.5, 1e-30, 0.0]), np.array([0, 1, 2])).tolist()
    [1, 2, 0]
    """
    return np.lexsort((*reversed(keys), np.sqrt(unexplained).round(12)))


@kernel
def _unexplained(
    columns: Values, targets: Values, members: Whole, pivot: float, determinant: float, shares: Values
) -> None:
    k, size = members.shape
    n = targets.shape[1]
    basis = np.empty((size, n))
    residual = np.empty(n)
    for model in range(k):
        shares[model] = np.inf
        if _orthonormal(columns, members[model], pivot, determinant, basis):
            shares[model] = 0.0
            for target in targets:
                residual[:] = target
                for s in range(size):
                    _remove(basis[s], residual)
                shares[model] += _inner(residual, residual)


@kernel
def _orthonormal(columns: Values, chosen: Whole, pivot: float, determinant: float, basis: Values) -> bool:
    product = 1.0
    for s in range(chosen.size):
        basis[s] = columns[chosen[s]]
        for _ in range(2):
            for before in range(s):
                _remove(basis[before], basis[s])
        share = _inner(basis[s], basis[s])
        product *= share
        if share < pivot or product < determinant:
            return False
        basis[s] /= math.sqrt(share)
    return True


@kernel
def _remove(unit: Values, vector: Values) -> None:
    along = _inner(unit, vector)
    for r in range(unit.size):
        vector[r] -= along * unit[r]


@kernel
def _inner(a: Values, b: Values) -> float:
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
