"""Paths of least squares under the non-convex penalties SCAD and MCP, by coordinate descent.

For features z of mean 0 and mean square 1 and a centred response, a point of the path is a local minimum of::

    Q(b) = 1/(2n) · ‖y − Σ_j b_j z_j‖² + Σ_j p(|b_j|)

whose penalty p rises like the LASSO's at 0 and is flat beyond γλ, so that large coefficients are not shrunk.
Its derivative at t ≥ 0 is::

    SCAD, γ > 2   p'(t) = λ                   t ≤ λ          Fan and Li 2001, eq. 2.7
                        = (γλ − t)/(γ − 1)    λ < t ≤ γλ
                        = 0                   t > γλ
    MCP, γ > 1    p'(t) = λ − t/γ             t ≤ γλ         Zhang 2010, eq. 2.1
                        = 0                   t > γλ

Q has several local minima where features are highly correlated. Which of them is meant is fixed by the way
there: λ falls, each fit starts from the last, and coordinates are taken in the order of the features
(Breheny and Huang 2011).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values


__all__ = ["NonconvexPath", "compute_lambda_sequence", "fit_nonconvex_path"]

NonconvexPenalty = Literal["scad", "mcp"]

_TOLERANCE = 1e-11  # of the response's root mean square: no coefficient moves by more in the last sweep
_ENTRY_SLACK = (
    10.0  # tolerances by which |z_j·r|/n must exceed λ: a copy of a feature that is in reaches λ itself
)
_SWEEPS_PER_NEWTON_STEP = 500  # sweeps between two Newton steps: most fits need fewer and never take one
_MAX_NEWTON_STEPS = 200  # at one λ, before it is given up as not converged
_MIN_PIVOT = 1e-12  # a smaller pivot leaves no digits to a Newton step


@dataclass(frozen=True, eq=False)
class NonconvexPath:
    """Fits along a sequence of penalties.

    Parameters
    ----------
    coefficients : float64 array, shape (s, q)
        For the standardised features, one row a λ; exact zeros where a feature is left out.
    converged : bool array, shape (s,)
        Whether the fit at each λ is a local minimum to the tolerance; else it is the last iterate.
    """

    coefficients: Values
    converged: NDArray[np.bool_]


def compute_lambda_sequence(features: Values, target: Values, n_lambdas: int = 100) -> Values:
    """Lay out the penalties of a path, evenly in log λ.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each of mean 0 and mean square 1, or all zeros.
    target : float64 array, shape (n,)
        Of mean 0.
    steps : int
        How many.

    Returns
    -------
    float64 array, shape (steps,)
        From the least λ at which no feature enters, max_j |z_j·y|/n, down to a thousandth of it where n > q,
        to a twentieth where not.

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
    """Fit the path of SCAD or MCP by warm-started coordinate descent over the features that have entered.

    Parameters
    ----------
    features : float64 array, shape (q, n)
        Each of mean 0 and mean square 1, or all zeros.
    target : float64 array, shape (n,)
        Of mean 0 and moderate size.
    lambdas : float64 array, shape (s,)
        Penalties ≥ 0 from the largest down.
    penalty : {"scad", "mcp"}
        Which penalty.
    gamma : float
        γ, above 2 for SCAD, above 1 for MCP: where the penalty becomes flat.

    Returns
    -------
    NonconvexPath
        The last bits may follow the number of BLAS threads, where a fit takes Newton steps.

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
    entered = np.zeros(q, dtype=np.bool_)
    gram = np.zeros((0, 0))
    path = np.zeros((lambdas.size, q))
    converged = np.zeros(lambdas.size, dtype=np.bool_)
    for step, lam in enumerate(lambdas):
        while True:
            own, converged[step] = _find_minimum(
                gram, products[entered], b[entered], lam, gamma, scad, tolerance
            )
            b[entered] = own
            products = _compute_inner_products(
                features, target - np.einsum("k,kn->n", own, features[entered])
            )
            violating = (np.abs(products) > lam + _ENTRY_SLACK * tolerance) & ~entered
            if not violating.any():
                break
            gram = _extend_gram(gram, features, entered, entered | violating)
            entered |= violating
        path[step] = b
    return NonconvexPath(path, converged)


def _compute_inner_products(features: Values, residual: Values) -> Values:
    # z_j·r/n; not a matrix product, whose sums BLAS may split by its own threads
    return np.asarray(np.einsum("qn,n->q", features, residual) / residual.size)


def _extend_gram(
    gram: Values, features: Values, old_mask: NDArray[np.bool_], new_mask: NDArray[np.bool_]
) -> Values:
    """Extend the Gram matrix z_j·z_k/n of some features to more of them."""
    rows = features[new_mask]
    known = old_mask[new_mask]
    grown = np.empty((len(rows), len(rows)))
    grown[np.ix_(known, known)] = gram
    for place in np.flatnonzero(~known):
        grown[place] = grown[:, place] = _compute_inner_products(rows, rows[place])
    return grown


def _find_minimum(
    gram: Values, products: Values, b: Values, lam: float, gamma: float, scad: bool, tolerance: float
) -> tuple[Values, bool]:
    """Descend to a minimum over some features, from b and the products z_j·r/n there; both are changed."""
    for attempt in range(_MAX_NEWTON_STEPS):
        if attempt > 0:
            b, products = _take_newton_step(gram, products, b, lam, gamma, scad)
        if _descend_coordinates(gram, products, b, lam, gamma, scad, tolerance, _SWEEPS_PER_NEWTON_STEP):
            return b, True
    return b, False


@compile_kernel
def _apply_threshold(z: float, lam: float, gamma: float, scad: bool) -> float:
    """Minimise ½(z − b)² + p(|b|) over b."""
    size = abs(z)
    sign = 1.0 if z > 0.0 else -1.0
    if size <= lam:
        return 0.0
    if size > gamma * lam:
        return z
    if scad and size > 2.0 * lam:
        # Fan and Li 2001, eq. 2.8: b = {(γ − 1)z − sgn(z)γλ}/(γ − 2)
        return sign * ((gamma - 1.0) * size - gamma * lam) / (gamma - 2.0)
    if scad:
        return sign * (size - lam)
    # z − b = p'(b) = λ − b/γ, solved for b > 0
    return sign * (size - lam) / (1.0 - 1.0 / gamma)


@compile_kernel
def _descend_coordinates(
    gram: Values,
    products: Values,
    b: Values,
    lam: float,
    gamma: float,
    scad: bool,
    tolerance: float,
    max_sweeps: int,
) -> bool:
    for _ in range(max_sweeps):
        moved = 0.0
        for j in range(b.size):
            if b[j] == 0.0 and abs(products[j]) <= lam + _ENTRY_SLACK * tolerance:
                continue
            new = _apply_threshold(products[j] + b[j], lam, gamma, scad)
            change = new - b[j]
            if change != 0.0:
                b[j] = new
                for k in range(b.size):
                    products[k] -= change * gram[j, k]
                moved = max(moved, abs(change))
        if moved <= tolerance:
            return True
    return False


def _take_newton_step(
    gram: Values, products: Values, b: Values, lam: float, gamma: float, scad: bool
) -> tuple[Values, Values]:
    """Go to the minimum of the quadratic that Q is near b, or as far towards it as Q is that quadratic.

    Descent is slow along directions that features of correlation near 1 share; there, once no coefficient
    crosses from one piece of the penalty to the next any more, the minimum is a linear system away.
    """
    inside = np.flatnonzero(b)
    size, sign = np.abs(b[inside]), np.sign(b[inside])
    # the pieces of p'(t) = height − bend·t, by their borders
    if scad:
        borders = np.array([0.0, lam, gamma * lam, np.inf])
        heights = np.array([lam, gamma * lam / (gamma - 1.0), 0.0])
        bends = np.array([0.0, 1.0 / (gamma - 1.0), 0.0])
    else:
        borders = np.array([0.0, gamma * lam, np.inf])
        heights, bends = np.array([lam, 0.0]), np.array([1.0 / gamma, 0.0])
    piece = np.searchsorted(borders[1:-1], size)
    curvature = gram[np.ix_(inside, inside)] - np.diag(bends[piece])
    slope = sign * (heights[piece] - bends[piece] * size) - products[inside]
    try:
        pivots = np.diagonal(np.linalg.cholesky(curvature))
    except np.linalg.LinAlgError:  # not convex here: there is no minimum to go to
        return b, products
    if pivots.min(initial=1.0) ** 2 < _MIN_PIVOT:
        return b, products
    step = np.linalg.solve(curvature, -slope)
    border = np.where(sign * step > 0.0, borders[piece + 1], borders[piece])
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step == 0.0, np.inf, (border - size) / (sign * step))
    share = min(1.0, room.min(initial=1.0))
    moved = b.copy()
    # those that reach a border stand on it exactly: on 0, above all
    moved[inside] = np.where(room <= share, sign * border, b[inside] + share * step)
    return moved, products - gram @ (moved - b)
