"""Regularisation paths of least squares with the non-convex penalties SCAD and MCP, by coordinate descent.

For features z with mean 0 and mean square 1 and a centred target, a point of the path is a local minimum of::

    Q(b) = 1/(2n) · ‖y − Σ_j b_j z_j‖² + Σ_j p(|b_j|)

The penalty p has the slope of the LASSO's at 0 and is constant beyond γλ, so large coefficients are not
shrunk. Its derivative at t ≥ 0 is::

    SCAD, γ > 2   p'(t) = λ                   t ≤ λ          Fan and Li 2001, eq. 2.7
                        = (γλ − t)/(γ − 1)    λ < t ≤ γλ
                        = 0                   t > γλ
    MCP, γ > 1    p'(t) = λ − t/γ             t ≤ γλ         Zhang 2010, eq. 2.1
                        = 0                   t > γλ

Q has several local minima if features are highly correlated. The path determines which of them is found: λ
decreases, each fit starts from the last, and coordinates are updated in the order of the features (Breheny
and Huang 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.linear_models._kernels import ENTRY_SLACK, descend_coordinates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values


NonconvexPenalty = Literal["scad", "mcp"]

# Largest change of a coefficient in the last sweep, relative to the target's root mean square.
_TOLERANCE = 1e-11
_SWEEPS_PER_NEWTON_STEP = 500  # most fits need fewer sweeps and never take a Newton step
_MAX_NEWTON_STEPS = 200  # largest number of Newton steps per λ; then the fit has not converged
_MIN_PIVOT = 1e-12  # smallest pivot of a Newton step with correct digits


@dataclass(frozen=True, eq=False)
class NonconvexPath:
    """Fits along a sequence of penalties.

    Parameters
    ----------
    coefficients : float64 array, shape (s, q)
        Coefficients of the standardised features, one row per λ; exactly zero for features not in the model.
    converged : bool array, shape (s,)
        Whether each fit is a local minimum to the tolerance. Otherwise it is the last iterate.
    """

    coefficients: Values
    converged: NDArray[np.bool_]


def compute_lambda_sequence(features: Values, target: Values, n_lambdas: int = 100) -> Values:
    """Compute the penalties of a path, equidistant in log λ.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each with mean 0 and mean square 1, or all zeros.
    target : float64 array, shape (n,)
        The target, with mean 0.
    n_lambdas : int
        Number of penalties.

    Returns
    -------
    float64 array, shape (n_lambdas,)
        From max_j |z_j·y|/n, the smallest λ at which no feature enters, down to 1/1000 of it if n > q,
        otherwise 1/20.

    Examples
    --------
    >>> compute_lambda_sequence(np.array([[-1.0, 1.0, -1.0, 1.0]]), np.array([-2.0, 2.0, 0.0, 0.0]),
    ...     4).tolist()
    [1.0, 0.1, 0.01, 0.001]
    """
    q, n = features.shape
    largest = np.abs(_compute_inner_products(features, target)).max()
    return np.asarray(largest * np.geomspace(1.0, 1e-3 if n > q else 0.05, n_lambdas))


def fit_nonconvex_path(
    features: Values, target: Values, lambdas: Values, penalty: NonconvexPenalty, gamma: float
) -> NonconvexPath:
    """Fit the path of SCAD or MCP by warm-started coordinate descent over the active features.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each with mean 0 and mean square 1, or all zeros.
    target : float64 array, shape (n,)
        The target, with mean 0, far from overflow.
    lambdas : float64 array, shape (s,)
        Penalties ≥ 0 in descending order.
    penalty : {"scad", "mcp"}
        The penalty.
    gamma : float
        γ, above 2 for SCAD and above 1 for MCP: the penalty is constant beyond γλ.

    Returns
    -------
    NonconvexPath
        If a fit takes Newton steps, its last bits may depend on the number of BLAS threads.

    Examples
    --------
    >>> z, y = np.array([[-1.0, 1.0, -1.0, 1.0]]), np.array([-2.0, 2.0, 0.0, 0.0])
    >>> path = fit_nonconvex_path(z, y, np.array([0.75, 0.5, 0.25]), "mcp", 3.0)
    >>> path.coefficients.ravel().round(6).tolist()
    [0.375, 0.75, 1.0]
    """
    q, n = features.shape
    scad = penalty == "scad"
    tolerance = _TOLERANCE * np.sqrt((target * target).sum() / n)
    b = np.zeros(q)
    products = _compute_inner_products(features, target)
    is_active = np.zeros(q, dtype=np.bool_)
    gram = np.zeros((0, 0))
    path = np.zeros((lambdas.size, q))
    converged = np.zeros(lambdas.size, dtype=np.bool_)
    for step, lam in enumerate(lambdas):
        while True:
            active_b, converged[step] = _find_minimum(
                gram, products[is_active], b[is_active], lam, gamma, scad, tolerance
            )
            b[is_active] = active_b
            products = _compute_inner_products(
                features, target - np.einsum("k,kn->n", active_b, features[is_active])
            )
            violating = (np.abs(products) > lam + ENTRY_SLACK * tolerance) & ~is_active
            if not violating.any():
                break
            gram = _extend_gram(gram, features, is_active, is_active | violating)
            is_active |= violating
        path[step] = b
    return NonconvexPath(path, converged)


def _compute_inner_products(features: Values, residual: Values) -> Values:
    """Compute z_j·r/n, shape (q,); not a matrix product, whose sums the threads of BLAS may split."""
    return np.asarray(np.einsum("qn,n->q", features, residual) / residual.size)


def _extend_gram(
    gram: Values, features: Values, old_mask: NDArray[np.bool_], new_mask: NDArray[np.bool_]
) -> Values:
    """Extend the Gram matrix z_j·z_k/n from the features of one mask to those of another."""
    rows = features[new_mask]
    known = old_mask[new_mask]
    grown = np.empty((len(rows), len(rows)))
    grown[np.ix_(known, known)] = gram
    for i in np.flatnonzero(~known):
        grown[i] = grown[:, i] = _compute_inner_products(rows, rows[i])
    return grown


def _find_minimum(
    gram: Values, products: Values, b: Values, lam: float, gamma: float, scad: bool, tolerance: float
) -> tuple[Values, bool]:
    """Find a minimum over the active features from b, shape (k,), and z_j·r/n; both are changed in place."""
    for attempt in range(_MAX_NEWTON_STEPS):
        if attempt > 0:
            b, products = _take_newton_step(gram, products, b, lam, gamma, scad)
        if descend_coordinates(gram, products, b, lam, gamma, scad, tolerance, _SWEEPS_PER_NEWTON_STEP):
            return b, True
    return b, False


def _take_newton_step(
    gram: Values, products: Values, b: Values, lam: float, gamma: float, scad: bool
) -> tuple[Values, Values]:
    """Move to the minimum of the quadratic that equals Q near b, or as far as Q equals that quadratic.

    Coordinate descent is slow if features have correlations near 1. Once no coefficient changes between
    pieces of the penalty, the minimum is the solution of a linear system.
    """
    active = np.flatnonzero(b)
    size, sign = np.abs(b[active]), np.sign(b[active])
    # The pieces of p'(t) = height − bend·t between their borders.
    if scad:
        borders = np.array([0.0, lam, gamma * lam, np.inf])
        heights = np.array([lam, gamma * lam / (gamma - 1.0), 0.0])
        bends = np.array([0.0, 1.0 / (gamma - 1.0), 0.0])
    else:
        borders = np.array([0.0, gamma * lam, np.inf])
        heights, bends = np.array([lam, 0.0]), np.array([1.0 / gamma, 0.0])
    piece = np.searchsorted(borders[1:-1], size)
    curvature = gram[np.ix_(active, active)] - np.diag(bends[piece])
    slope = sign * (heights[piece] - bends[piece] * size) - products[active]
    try:
        pivots = np.diagonal(np.linalg.cholesky(curvature))
    except np.linalg.LinAlgError:  # not convex, so without a minimum
        return b, products
    if pivots.min(initial=1.0) ** 2 < _MIN_PIVOT:
        return b, products
    step = np.linalg.solve(curvature, -slope)
    border = np.where(sign * step > 0.0, borders[piece + 1], borders[piece])
    with np.errstate(divide="ignore", invalid="ignore"):
        max_share = np.where(step == 0.0, np.inf, (border - size) / (sign * step))
    share = min(1.0, max_share.min(initial=1.0))
    moved = b.copy()
    # Coefficients that reach a border are set to it exactly, in particular to 0.
    moved[active] = np.where(max_share <= share, sign * border, b[active] + share * step)
    return moved, products - gram @ (moved - b)
