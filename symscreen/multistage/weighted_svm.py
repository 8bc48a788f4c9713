"""Dual coordinate descent for a weighted SVM with a drift and coefficients that are not negative.

For terms e with inputs x_e, signs y_e = ±1, costs c_e ≥ 0 and fixed offsets ("drifts") d_e it minimises::

    P(β) = ½‖β‖² + Σ_e c_e · V(y_e · (x_eᵀβ + d_e))   over β ≥ 0

With one number γ_e a term, θ = Σ_e γ_e y_e x_e and β = max(θ, 0), coordinate by coordinate, the dual is
maximised::

    hinge     D(γ) = Σ_e γ_e (1 − y_e d_e) − ½‖max(θ, 0)‖²,           0 ≤ γ_e ≤ c_e
    logistic  D(γ) = Σ_e [c_e H(γ_e/c_e) − γ_e y_e d_e] − ½‖max(θ, 0)‖²,  H(p) = −p log p − (1−p) log(1−p)

P(β) − D(γ) bounds how far β is from optimal. The ψ-loss is the hinge less max(0, −u), which is replaced by
its tangent at the β before: a term with u < 0 has the box −c_e ≤ γ_e ≤ 0, and the surrogate, which lies above
P and touches it there, is minimised again and again (difference of convex functions: P never rises).

Where a problem is given up before its tolerance is met, the best point between the coefficients before and
the last ones is taken, so that P never rises. The sweeps themselves: `symscreen.multistage._kernels`.

One weighted SVM with a drift and coefficients that are not negative, for inputs given as a matrix.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from symscreen._numba import compile_kernel
from symscreen.errors import DataError, OptionError
from symscreen.multistage._kernels import (
    LOGISTIC,
    PSI,
    SvmTerms,
    compute_dot_product,
    compute_loss,
    get_input,
    get_loss_code,
    shuffle,
    sweep,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values

    Offsets = NDArray[np.int64]

__all__ = ["SvmSolution", "SvmTerms", "compute_svm_objective", "solve_groups", "solve_offset_svm"]

_FIRST_GAP_CHECK_VIOLATION = (
    0.1  # a largest violation, in units of the margin, at which the duality gap is first computed
)
_MAX_SWEEPS_BETWEEN_GAP_CHECKS = 8  # sweeps at the latest
_MAX_TANGENT_ROUNDS = 50  # of the ψ-loss's tangents at most
_BISECTION_STEPS = 30  # of the line between old and new coefficients
_LARGE_PROBLEM_TERMS = (
    1 << 16
)  # terms: of more, runs that lie side by side are visited together, for the memory's sake
_RUN_LENGTH = 16


@compile_kernel
def _compute_bounds(
    terms: SvmTerms,
    span: tuple[int, int],
    offsets: Values,
    low: Values,
    gamma: Values,
    beta: Values,
    workspace: Values,
    loss: int,
    fitted: Values,
) -> tuple[float, float, float]:
    """Write the fitted values; return P(β), what the sweeps minimise (other for the ψ-loss), and D(γ)."""
    half = 0.5 * compute_dot_product(beta, beta)
    primal, surrogate, dual = half, half, -half
    for e in range(span[0], span[1]):
        cost, y = terms.cost[e], terms.y[e]
        x, _ = get_input(terms, e, workspace)
        f = compute_dot_product(beta, x) + offsets[e]
        fitted[e] = f
        primal += cost * compute_loss(y * f, loss)
        if loss == LOGISTIC:
            dual -= gamma[e] * y * offsets[e]
            for part in (gamma[e], cost - gamma[e]):
                if part > 0.0:
                    dual -= part * np.log(part / cost)
        else:
            surrogate += cost * max(0.0, 1.0 - y * f) - low[e] * y * f
            dual += gamma[e] * (1.0 - y * offsets[e]) - low[e]
    return primal, (primal if loss == LOGISTIC else surrogate), dual


@compile_kernel
def _minimise(
    terms: SvmTerms,
    span: tuple[int, int],
    offsets: Values,
    low: Values,
    gamma: Values,
    theta: Values,
    beta: Values,
    workspace: Values,
    loss: int,
    tolerance: float,
    max_sweeps: int,
    fitted: Values,
) -> tuple[float, float, int]:
    """Sweep until the gap is small; return P(β), the gap and the number of sweeps."""
    look, sweeps, since = _FIRST_GAP_CHECK_VIOLATION, 0, 0
    run = _RUN_LENGTH if span[1] - span[0] > _LARGE_PROBLEM_TERMS else 1
    order = np.arange((span[1] - span[0] + run - 1) // run).astype(np.int32)
    state = np.array([span[1] - span[0]], dtype=np.uint64)
    while True:
        shuffle(order, state)
        worst = sweep(terms, span, offsets, low, gamma, theta, beta, workspace, loss, order, run)
        sweeps += 1
        since += 1
        if run == 1 and worst > look and since < _MAX_SWEEPS_BETWEEN_GAP_CHECKS and sweeps < max_sweeps:
            continue  # of many terms the worst tells little
        primal, surrogate, dual = _compute_bounds(
            terms, span, offsets, low, gamma, beta, workspace, loss, fitted
        )
        if surrogate - dual <= tolerance * abs(surrogate) or sweeps >= max_sweeps or worst == 0.0:
            return primal, surrogate - dual, sweeps
        look, since = min(look, worst) / 4.0, 0


@compile_kernel
def _initialise(
    terms: SvmTerms,
    span: tuple[int, int],
    fitted: Values,
    gamma: Values,
    theta: Values,
    beta: Values,
    workspace: Values,
    loss: int,
    offsets: Values,
) -> float:
    """Take β out of the fitted values, which leaves the drifts; sum θ; return P(β)."""
    primal = 0.5 * compute_dot_product(beta, beta)
    theta[:] = 0.0
    for e in range(span[0], span[1]):
        x, _ = get_input(terms, e, workspace)
        offsets[e] = fitted[e] - compute_dot_product(beta, x)
        primal += terms.cost[e] * compute_loss(terms.y[e] * fitted[e], loss)
        part = gamma[e] * terms.y[e]
        if part != 0.0:
            for k in range(theta.size):
                theta[k] += part * x[k]
    return float(primal)


@compile_kernel
def _set_boxes(
    terms: SvmTerms, span: tuple[int, int], fitted: Values, loss: int, low: Values, gamma: Values
) -> bool:
    """Set the lower ends of the boxes and put the duals into them; say whether a dual had to move."""
    moved = False
    for e in range(span[0], span[1]):
        tangent = loss == PSI and terms.y[e] * fitted[e] < 0.0
        low[e] = -terms.cost[e] if tangent else 0.0
        inside = min(max(gamma[e], low[e]), low[e] + terms.cost[e])
        moved = moved or inside != gamma[e]
        gamma[e] = inside
    return moved


@compile_kernel
def _search_line(
    terms: SvmTerms,
    span: tuple[int, int],
    old: Values,
    new: Values,
    fitted_old: Values,
    fitted_new: Values,
    loss: int,
) -> float:
    """Find where between old (0) and new coefficients (1) the derivative of P changes its sign."""
    low, high = 0.0, 1.0
    for _ in range(_BISECTION_STEPS):
        s = 0.5 * (low + high)
        slope = 0.0
        for k in range(old.size):
            slope += (new[k] - old[k]) * (old[k] + s * (new[k] - old[k]))
        for e in range(span[0], span[1]):
            change = fitted_new[e - span[0]] - fitted_old[e - span[0]]
            u = terms.y[e] * (fitted_old[e - span[0]] + s * change)
            if loss == LOGISTIC:
                slope -= terms.cost[e] * terms.y[e] * change / (1.0 + np.exp(u))
            elif u < 1.0 and (loss != PSI or u > 0.0):
                slope -= terms.cost[e] * terms.y[e] * change
        low, high = (low, s) if slope > 0.0 else (s, high)
    return float(low)


@compile_kernel
def solve_groups(
    terms: SvmTerms,
    starts: Offsets,
    groups: tuple[int, int],
    loss: int,
    tolerance: float,
    max_sweeps: int,
    coefficients: Values,
    fitted: Values,
    gamma: Values,
    offsets: Values,
    low: Values,
    diagnostics: Values,
) -> None:
    """Solve the problems of some groups of terms, each on its own.

    Parameters
    ----------
    terms : Terms
        N of them; group g has those from ``starts[g]`` to ``starts[g + 1]``.
    starts : int64 array, shape (G + 1,)
        Where groups begin.
    groups : (int, int)
        The first group, and the one after the last.
    loss : int
        See `symscreen.multistage._kernels`.
    tolerance : float
        A group is solved when its duality gap is at most this share of its objective.
    most : int
        Sweeps over a group, at most, a round.
    coefficients : float64 array, shape (G, K) or (G, K·p)
        Where to start, ≥ 0; changed in place, and only where the objective falls.
    fitted : float64 array, shape (N,)
        x_eᵀβ + d_e; changed in place along with the coefficients.
    gamma : float64 array, shape (N,)
        Duals, to start from and to return.
    drift, low : float64 arrays, shape (N,)
        Room: the offsets d_e and the lower ends of boxes are written here.
    told : float64 array, shape (G, 3)
        The objective, the duality gap and the number of sweeps of each group are written here.
    """
    size = coefficients.shape[1]
    theta, beta, room = np.empty(size), np.empty(size), np.empty(size)
    for g in range(groups[0], groups[1]):
        span = (starts[g], starts[g + 1])
        _set_boxes(terms, span, fitted, loss, low, gamma)
        best = _initialise(terms, span, fitted, gamma, theta, coefficients[g], room, loss, offsets)
        diagnostics[g, 2] = 0.0
        for _ in range(_MAX_TANGENT_ROUNDS):
            np.maximum(theta, 0.0, beta)
            before = fitted[span[0] : span[1]].copy()
            primal, gap, sweeps = _minimise(
                terms, span, offsets, low, gamma, theta, beta, room, loss, tolerance, max_sweeps, fitted
            )
            if primal > best or gap > tolerance * primal:
                mine, after = coefficients[g], fitted[span[0] : span[1]]
                s = _search_line(terms, span, mine, beta, before, after, loss)
                beta[:] = mine + s * (beta - mine)
                taken, _, _ = _compute_bounds(terms, span, offsets, low, gamma, beta, room, loss, fitted)
                gap += taken - primal if loss != PSI else 0.0
                primal = taken
            diagnostics[g, 1], diagnostics[g, 2] = gap, diagnostics[g, 2] + sweeps
            fell = best - primal
            if fell > 0.0:
                best = primal
                coefficients[g] = beta
            else:
                fitted[span[0] : span[1]] = before
            if loss != PSI or fell <= tolerance * best:
                break
            if _set_boxes(terms, span, fitted, loss, low, gamma):
                theta[:] = 0.0
                for e in range(span[0], span[1]):
                    x, _ = get_input(terms, e, room)
                    for k in range(size):
                        theta[k] += gamma[e] * terms.y[e] * x[k]
        diagnostics[g, 0] = best


@dataclass(frozen=True, eq=False)
class SvmSolution:
    """What `solve_offset_svm` found.

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
    n_sweeps: int
    converged: bool


def solve_offset_svm(
    x: ArrayLike,
    y: ArrayLike,
    cost: ArrayLike,
    offsets: ArrayLike,
    *,
    loss: str = "hinge",
    tolerance: float = 1e-6,
    max_sweeps: int = 100_000,
    initial_duals: Values | None = None,
) -> SvmSolution:
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
    >>> found = solve_offset_svm([[1.0, 0.0], [0.0, 1.0]], [1, -1], [1.0, 1.0], [0.5, 0.0])
    >>> found.coefficients.tolist(), found.objective  # ½ · 0.5² + 0 + max(0, 1 + 0)
    ([0.5, 0.0], 1.125)
    """
    terms, drifts = _build_terms(x, y, cost, offsets)
    if not 0 < tolerance < 1 or max_sweeps < 1:
        raise OptionError(
            f"tolerance {tolerance!r} and max_sweeps {max_sweeps!r}: give a share in (0, 1) and at least 1"
        )
    n, d = terms.left.shape
    gamma = np.zeros(n) if initial_duals is None else np.array(initial_duals, dtype=np.float64)
    if gamma.shape != (n,) or not np.isfinite(gamma).all():
        raise DataError(
            f"start has shape {gamma.shape}, or holds NaN: give one finite dual for each of the {n} terms"
        )
    coefficients, told = np.zeros((1, d)), np.empty((1, 3))
    solve_groups(
        terms,
        np.array([0, n]),
        (0, 1),
        get_loss_code(loss),
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
    return SvmSolution(coefficients[0], gamma, objective, gap, int(sweeps), converged)


def compute_svm_objective(
    coefficients: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    cost: ArrayLike,
    offsets: ArrayLike,
    *,
    loss: str = "hinge",
) -> float:
    """Compute P(β) as it is defined.

    Parameters
    ----------
    coefficients : array-like, shape (d,)
        β.
    x, y, cost, drift, loss
        As for `solve_offset_svm`.

    Returns
    -------
    float
        P(β) ≥ 0.

    Examples
    --------
    >>> compute_svm_objective([0.5, 0.0], [[1.0, 0.0], [0.0, 1.0]], [1, -1], [1.0, 1.0], [0.5, 0.0])
    1.125
    """
    from symscreen.multistage._kernels import compute_losses

    terms, drifts = _build_terms(x, y, cost, offsets)
    beta = np.asarray(coefficients, dtype=np.float64)
    margins = terms.y * (terms.left @ beta + drifts)
    return float(
        0.5 * (beta * beta).sum() + (terms.cost * compute_losses(margins, get_loss_code(loss))).sum()
    )


def _build_terms(x: Any, y: Any, cost: Any, offsets: Any) -> tuple[SvmTerms, Values]:
    left = np.ascontiguousarray(x, dtype=np.float64)
    signs, costs, drifts = (np.asarray(one, dtype=np.float64) for one in (y, cost, offsets))
    if left.ndim != 2 or {signs.shape, costs.shape, drifts.shape} != {left.shape[:1]}:
        raise DataError(
            f"x, y, cost and drift have shapes {left.shape}, {signs.shape}, {costs.shape}, {drifts.shape}: "
            "give (N, d) and three times (N,)"
        )
    if not all(np.isfinite(one).all() for one in (left, signs, costs, drifts)):
        raise DataError("x, y, cost or drift holds NaN or an infinite number: drop such terms")
    for wrong, words in ((np.abs(signs) != 1, "y must be −1 or +1"), (costs < 0, "costs must be ≥ 0")):
        if wrong.any():
            raise DataError(f"term {int(np.flatnonzero(wrong)[0])}: {words}")
    n = len(left)
    terms = SvmTerms(
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
