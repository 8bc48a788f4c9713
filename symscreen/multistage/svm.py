"""One weighted SVM with a drift and coefficients that are not negative, for inputs given as a matrix."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from symscreen.errors import OptionError, TableError
from symscreen.multistage.descent import Terms, solve_groups
from symscreen.multistage.losses import loss_code

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Values = NDArray[np.float64]

__all__ = ["Solution", "drifted_svm", "svm_objective"]


@dataclass(frozen=True, eq=False)
class Solution:
    """What `drifted_svm` found.

    Parameters
    ----------
    coefficients : float64 array, shape (d,)
        β ≥ 0.
    duals : float64 array, shape (N,)
        γ; give them as `start` to go on from here.
    objective : float
        P(β).
    gap : float
        P(β) exceeds its minimum by at most this (of the ψ-loss: the last tangent's minimum).
    sweeps : int
        Over the terms.
    converged : bool
        Whether the gap is within the tolerance.
    """

    coefficients: Values
    duals: Values
    objective: float
    gap: float
    sweeps: int
    converged: bool


def drifted_svm(
    x: ArrayLike,
    y: ArrayLike,
    cost: ArrayLike,
    drift: ArrayLike,
    *,
    loss: str = "hinge",
    tolerance: float = 1e-6,
    max_sweeps: int = 100_000,
    start: Values | None = None,
) -> Solution:
    """Minimise P(β) = ½‖β‖² + Σ_e c_e · V(y_e · (x_eᵀβ + d_e)) over β ≥ 0, by dual coordinate descent.

    Parameters
    ----------
    x : array-like, shape (N, d)
        Inputs.
    y : array-like, shape (N,)
        Signs, −1 or +1.
    cost : array-like, shape (N,)
        c_e ≥ 0.
    drift : array-like, shape (N,)
        Fixed offsets d_e.
    loss : {"hinge", "psi", "logistic"}
        V. The ψ-loss is not convex: what is found is where its tangents lead from β = 0.
    tolerance : float
        The duality gap, as a share of the objective, at which descent stops.
    max_sweeps : int
        At most so many over all terms.
    start : float64 array, shape (N,), optional
        Duals to begin with; 0 otherwise.

    Returns
    -------
    Solution
        The same bytes for the same input.

    Raises
    ------
    TableError
        If shapes do not fit, a number is not finite, a sign is none, or a cost is negative.
    OptionError
        If an option has no meaning.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met; `gap` says by how much the objective may exceed its minimum.

    Notes ----- Sweeps grow with costs: of 100 terms with 8 normal inputs, the hinge loss needs some hundreds
    at costs of 1 and tens of thousands at 10; at 100 and more, 100,000 often leave a gap of 1e-5 to 1e-3 of
    the objective.

    Hsieh, Chang, Lin, Keerthi and Sundararajan (2008) for the descent; Yu, Huang and Lin (2011) for the
    logistic loss. A block of `MonotoneChainRecommender` is such a problem with c_e = w_e/(2 λ n).

    Examples
    --------
    >>> found = drifted_svm([[1.0, 0.0], [0.0, 1.0]], [1, -1], [1.0, 1.0], [0.5, 0.0])
    >>> found.coefficients.tolist(), found.objective  # ½ · 0.5² + 0 + max(0, 1 + 0)
    ([0.5, 0.0], 1.125)
    """
    terms, drifts = _terms(x, y, cost, drift)
    if not 0 < tolerance < 1 or max_sweeps < 1:
        raise OptionError(
            f"tolerance {tolerance!r} and max_sweeps {max_sweeps!r}: give a share in (0, 1) and at least 1"
        )
    n, d = terms.left.shape
    gamma = np.zeros(n) if start is None else np.array(start, dtype=np.float64)
    if gamma.shape != (n,) or not np.isfinite(gamma).all():
        raise TableError(
            f"start has shape {gamma.shape}, or holds NaN: give one finite dual for each of the {n} terms"
        )
    coefficients, told = np.zeros((1, d)), np.empty((1, 3))
    solve_groups(
        terms,
        np.array([0, n]),
        (0, 1),
        loss_code(loss),
        tolerance,
        max_sweeps,
        coefficients,
        drifts.copy(),  # what β = 0 fits
        gamma,
        np.empty(n),
        np.empty(n),
        told,
    )
    objective, gap, sweeps = told[0].tolist()
    converged = bool(gap <= tolerance * objective or sweeps < max_sweeps)
    if not converged:
        warnings.warn(
            f"after {sweeps:.0f} sweeps the gap is {gap:.3g}, {gap / objective:.1e} of the objective: "
            "give more max_sweeps, a larger tolerance or smaller costs",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Solution(coefficients[0], gamma, objective, gap, int(sweeps), converged)


def svm_objective(
    coefficients: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    cost: ArrayLike,
    drift: ArrayLike,
    *,
    loss: str = "hinge",
) -> float:
    """Compute P(β) as it is defined.

    Parameters
    ----------
    coefficients : array-like, shape (d,)
        β.
    x, y, cost, drift, loss
        As for `drifted_svm`.

    Returns
    -------
    float
        P(β) ≥ 0.

    Examples
    --------
    >>> svm_objective([0.5, 0.0], [[1.0, 0.0], [0.0, 1.0]], [1, -1], [1.0, 1.0], [0.5, 0.0])
    1.125
    """
    from symscreen.multistage.losses import losses_of

    terms, drifts = _terms(x, y, cost, drift)
    beta = np.asarray(coefficients, dtype=np.float64)
    margins = terms.y * (terms.left @ beta + drifts)
    return float(0.5 * (beta * beta).sum() + (terms.cost * losses_of(margins, loss_code(loss))).sum())


def _terms(x: Any, y: Any, cost: Any, drift: Any) -> tuple[Terms, Values]:
    left = np.ascontiguousarray(x, dtype=np.float64)
    signs, costs, drifts = (np.asarray(one, dtype=np.float64) for one in (y, cost, drift))
    if left.ndim != 2 or {signs.shape, costs.shape, drifts.shape} != {left.shape[:1]}:
        raise TableError(
            f"x, y, cost and drift have shapes {left.shape}, {signs.shape}, {costs.shape}, {drifts.shape}: "
            "give (N, d) and three times (N,)"
        )
    if not all(np.isfinite(one).all() for one in (left, signs, costs, drifts)):
        raise TableError("x, y, cost or drift holds NaN or an infinite number: drop such terms")
    for wrong, words in ((np.abs(signs) != 1, "y must be −1 or +1"), (costs < 0, "costs must be ≥ 0")):
        if wrong.any():
            raise TableError(f"term {int(np.flatnonzero(wrong)[0])}: {words}")
    n = len(left)
    terms = Terms(
        left,
        np.empty((0, 0)),
        (left * left).sum(axis=1),
        np.empty(0),
        np.arange(n, dtype=np.int32),
        np.empty(0, dtype=np.int32),
        signs.astype(np.int8),
        costs,
    )
    return terms, drifts
