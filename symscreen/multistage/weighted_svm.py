"""Dual coordinate descent for a weighted SVM with fixed offsets and non-negative coefficients.

For terms e with inputs x_e, signs y_e = ±1, costs c_e ≥ 0 and fixed offsets d_e it minimises::

    P(β) = ½‖β‖² + Σ_e c_e · V(y_e · (x_eᵀβ + d_e))   over β ≥ 0

Each term has one dual variable γ_e. With θ = Σ_e γ_e y_e x_e and β = max(θ, 0), the dual is maximised
coordinate by coordinate::

    hinge     D(γ) = Σ_e γ_e (1 − y_e d_e) − ½‖max(θ, 0)‖²,           0 ≤ γ_e ≤ c_e
    logistic  D(γ) = Σ_e [c_e H(γ_e/c_e) − γ_e y_e d_e] − ½‖max(θ, 0)‖²,  H(p) = −p log p − (1−p) log(1−p)

The duality gap P(β) − D(γ) bounds the distance of P(β) from its minimum. The ψ-loss is the hinge minus
max(0, −u). The second part is replaced by its tangent at the previous β: a term with u < 0 then has the box
−c_e ≤ γ_e ≤ 0. This surrogate lies above P and touches it at the previous β. Minimising a sequence of
surrogates never increases P (difference of convex functions).

If the solver stops before the tolerance is met, it takes the best point on the line between the previous and
the last coefficients, so P never increases. `symscreen.multistage._kernels` has the sweeps.
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
    compute_losses,
    get_input,
    get_loss_code,
    shuffle,
    sweep,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values

    Offsets = NDArray[np.int64]


_FIRST_GAP_CHECK_VIOLATION = 0.1  # compute the gap once the largest violation, in margin units, is below this
_MAX_SWEEPS_BETWEEN_GAP_CHECKS = 8
_MAX_TANGENT_ROUNDS = 50  # surrogates per problem with the ψ-loss
_BISECTION_STEPS = 30  # of the line search between the old and the new coefficients
_LARGE_PROBLEM_TERMS = 1 << 16  # larger problems visit runs of adjacent terms, for memory locality
_RUN_LENGTH = 16  # terms per run in a large problem


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
    """Write the fitted values; return P(β), the surrogate (P itself except for the ψ-loss) and D(γ)."""
    penalty = 0.5 * compute_dot_product(beta, beta)
    primal, surrogate, dual = penalty, penalty, -penalty
    for e in range(span[0], span[1]):
        cost, y = terms.cost[e], terms.y[e]
        x, _ = get_input(terms, e, workspace)
        f = compute_dot_product(beta, x) + offsets[e]
        fitted[e] = f
        primal += cost * compute_loss(y * f, loss)
        if loss == LOGISTIC:
            dual -= gamma[e] * y * offsets[e]
            for share in (gamma[e], cost - gamma[e]):
                if share > 0.0:
                    dual -= share * np.log(share / cost)
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
    """Sweep until the relative gap is within `tolerance`; return P(β), the gap and the number of sweeps."""
    check_violation, n_sweeps, n_unchecked = _FIRST_GAP_CHECK_VIOLATION, 0, 0
    run_length = _RUN_LENGTH if span[1] - span[0] > _LARGE_PROBLEM_TERMS else 1
    order = np.arange((span[1] - span[0] + run_length - 1) // run_length).astype(np.int32)
    state = np.array([span[1] - span[0]], dtype=np.uint64)
    while True:
        shuffle(order, state)
        worst = sweep(terms, span, offsets, low, gamma, theta, beta, workspace, loss, order, run_length)
        n_sweeps += 1
        n_unchecked += 1
        if (
            run_length == 1
            and worst > check_violation
            and n_unchecked < _MAX_SWEEPS_BETWEEN_GAP_CHECKS
            and n_sweeps < max_sweeps
        ):
            continue  # large problems (longer runs) check every time: their largest violation says little
        primal, surrogate, dual = _compute_bounds(
            terms, span, offsets, low, gamma, beta, workspace, loss, fitted
        )
        if surrogate - dual <= tolerance * abs(surrogate) or n_sweeps >= max_sweeps or worst == 0.0:
            return primal, surrogate - dual, n_sweeps
        check_violation, n_unchecked = min(check_violation, worst) / 4.0, 0


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
    """Compute the offsets d_e = f_e − x_eᵀβ and θ from the fitted values f and the duals; return P(β)."""
    primal = 0.5 * compute_dot_product(beta, beta)
    theta[:] = 0.0
    for e in range(span[0], span[1]):
        x, _ = get_input(terms, e, workspace)
        offsets[e] = fitted[e] - compute_dot_product(beta, x)
        primal += terms.cost[e] * compute_loss(terms.y[e] * fitted[e], loss)
        signed_dual = gamma[e] * terms.y[e]
        if signed_dual != 0.0:
            for k in range(theta.size):
                theta[k] += signed_dual * x[k]
    return float(primal)


@compile_kernel
def _set_boxes(
    terms: SvmTerms, span: tuple[int, int], fitted: Values, loss: int, low: Values, gamma: Values
) -> bool:
    """Set the lower bounds of the duals and clip the duals to their boxes; return whether any changed."""
    changed = False
    for e in range(span[0], span[1]):
        is_linearised = loss == PSI and terms.y[e] * fitted[e] < 0.0
        low[e] = -terms.cost[e] if is_linearised else 0.0
        clipped = min(max(gamma[e], low[e]), low[e] + terms.cost[e])
        changed = changed or clipped != gamma[e]
        gamma[e] = clipped
    return changed


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
    """Find s in [0, 1], from the old to the new coefficients, where the derivative of P changes sign."""
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
    """Solve the problems of the groups `groups[0]` to `groups[1] − 1`, independently of each other.

    Parameters
    ----------
    terms : SvmTerms
        N terms. The terms of group g are ``starts[g]`` to ``starts[g + 1] − 1``.
    starts : int64 array, shape (G + 1,)
        First term of each group, and N.
    groups : (int, int)
        First group, and one past the last group.
    loss : int
        `HINGE`, `PSI` or `LOGISTIC` of `symscreen.multistage._kernels`.
    tolerance : float
        A group is solved when its duality gap is at most this fraction of its objective.
    max_sweeps : int
        Maximum number of sweeps over a group (for the ψ-loss: per surrogate).
    coefficients : float64 array, shape (G, K) or (G, K·p)
        Initial coefficients ≥ 0. Updated in place, and only where the objective decreases.
    fitted : float64 array, shape (N,)
        Fitted values x_eᵀβ + d_e. Updated in place with the coefficients.
    gamma : float64 array, shape (N,)
        Initial duals. Updated in place.
    offsets, low : float64 arrays, shape (N,)
        Workspace for the offsets d_e and the lower bounds of the duals. Overwritten.
    diagnostics : float64 array, shape (G, 3)
        Output: the objective, the duality gap and the number of sweeps of each group.
    """
    size = coefficients.shape[1]
    theta, beta, workspace = np.empty(size), np.empty(size), np.empty(size)
    for g in range(groups[0], groups[1]):
        span = (starts[g], starts[g + 1])
        _set_boxes(terms, span, fitted, loss, low, gamma)
        best = _initialise(terms, span, fitted, gamma, theta, coefficients[g], workspace, loss, offsets)
        diagnostics[g, 2] = 0.0
        for _ in range(_MAX_TANGENT_ROUNDS):
            np.maximum(theta, 0.0, beta)
            fitted_before = fitted[span[0] : span[1]].copy()
            primal, gap, n_sweeps = _minimise(
                terms, span, offsets, low, gamma, theta, beta, workspace, loss, tolerance, max_sweeps, fitted
            )
            if primal > best or gap > tolerance * primal:
                old, fitted_after = coefficients[g], fitted[span[0] : span[1]]
                step = _search_line(terms, span, old, beta, fitted_before, fitted_after, loss)
                beta[:] = old + step * (beta - old)
                line_primal, _, _ = _compute_bounds(
                    terms, span, offsets, low, gamma, beta, workspace, loss, fitted
                )
                gap += line_primal - primal if loss != PSI else 0.0
                primal = line_primal
            diagnostics[g, 1], diagnostics[g, 2] = gap, diagnostics[g, 2] + n_sweeps
            decrease = best - primal
            if decrease > 0.0:
                best = primal
                coefficients[g] = beta
            else:
                fitted[span[0] : span[1]] = fitted_before
            if loss != PSI or decrease <= tolerance * best:
                break
            if _set_boxes(terms, span, fitted, loss, low, gamma):
                theta[:] = 0.0
                for e in range(span[0], span[1]):
                    x, _ = get_input(terms, e, workspace)
                    for k in range(size):
                        theta[k] += gamma[e] * terms.y[e] * x[k]
        diagnostics[g, 0] = best


@dataclass(frozen=True, eq=False)
class SvmSolution:
    """Result of `solve_offset_svm`.

    Parameters
    ----------
    coefficients : float64 array, shape (d,)
        Coefficients β ≥ 0.
    duals : float64 array, shape (N,)
        Dual variables γ. Pass them as `initial_duals` to continue from this solution.
    objective : float
        P(β).
    gap : float
        Upper bound of P(β) minus its minimum. For the ψ-loss, minus the minimum of the last surrogate.
    n_sweeps : int
        Number of sweeps over the terms.
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
        Costs c_e ≥ 0.
    offsets : array-like, shape (N,)
        Fixed offsets d_e.
    loss : {"hinge", "psi", "logistic"}
        Loss V. The ψ-loss is not convex: the result is the limit of its surrogates from β = 0.
    tolerance : float
        Duality gap at which to stop, as a fraction of the objective, in (0, 1).
    max_sweeps : int
        Maximum number of sweeps over the terms, at least 1.
    initial_duals : float64 array, shape (N,), optional
        Duals to start from. Default: zeros.

    Returns
    -------
    SvmSolution
        The solution. Identical input gives identical bytes.

    Raises
    ------
    DataError
        If shapes do not match, a number is not finite, a sign is not ±1 or a cost is negative.
    OptionError
        If an option is out of range.

    Warns
    -----
    ConvergenceWarning
        If the tolerance was not met. `gap` bounds the excess of the objective over its minimum.

    Notes
    -----
    The number of sweeps grows with the costs. With 100 terms and 8 normal inputs, the hinge loss needs a few
    hundred sweeps at costs of 1 and tens of thousands at costs of 10. At costs of 100 and more, 100,000
    sweeps often leave a gap of 1e-5 to 1e-3 of the objective.

    The descent follows Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), the logistic loss Yu, Huang and
    Lin (2011). A block of `MonotoneChainRecommender` is such a problem with c_e = w_e/(2 λ n).

    Examples
    --------
    >>> solution = solve_offset_svm([[1.0, 0.0], [0.0, 1.0]], [1, -1], [1.0, 1.0], [0.5, 0.0])
    >>> solution.coefficients.tolist(), solution.objective  # ½ · 0.5² + 0 + max(0, 1 + 0)
    ([0.5, 0.0], 1.125)
    """
    terms, fixed_offsets = _build_terms(x, y, cost, offsets)
    if not 0 < tolerance < 1 or max_sweeps < 1:
        raise OptionError(
            f"tolerance {tolerance!r} and max_sweeps {max_sweeps!r}: give a share in (0, 1) and at least 1"
        )
    n, d = terms.left.shape
    gamma = np.zeros(n) if initial_duals is None else np.array(initial_duals, dtype=np.float64)
    if gamma.shape != (n,) or not np.isfinite(gamma).all():
        raise DataError(
            f"initial_duals has shape {gamma.shape} or holds NaN: "
            f"give one finite dual for each of the {n} terms"
        )
    coefficients, diagnostics = np.zeros((1, d)), np.empty((1, 3))
    solve_groups(
        terms,
        np.array([0, n]),
        (0, 1),
        get_loss_code(loss),
        tolerance,
        max_sweeps,
        coefficients,
        fixed_offsets.copy(),  # the fitted values of β = 0
        gamma,
        np.empty(n),
        np.empty(n),
        diagnostics,
    )
    objective, gap, n_sweeps = diagnostics[0].tolist()
    converged = bool(gap <= tolerance * objective or n_sweeps < max_sweeps)
    if not converged:
        warnings.warn(
            f"after {n_sweeps:.0f} sweeps the gap is {gap:.3g}, {gap / objective:.1e} of the objective: "
            "increase max_sweeps or tolerance, or use smaller costs",
            ConvergenceWarning,
            stacklevel=2,
        )
    return SvmSolution(coefficients[0], gamma, objective, gap, int(n_sweeps), converged)


def compute_svm_objective(
    coefficients: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    cost: ArrayLike,
    offsets: ArrayLike,
    *,
    loss: str = "hinge",
) -> float:
    """Compute the objective P(β) from its definition.

    Parameters
    ----------
    coefficients : array-like, shape (d,)
        Coefficients β.
    x, y, cost, offsets, loss
        See `solve_offset_svm`.

    Returns
    -------
    float
        P(β) ≥ 0.

    Examples
    --------
    >>> compute_svm_objective([0.5, 0.0], [[1.0, 0.0], [0.0, 1.0]], [1, -1], [1.0, 1.0], [0.5, 0.0])
    1.125
    """
    terms, fixed_offsets = _build_terms(x, y, cost, offsets)
    beta = np.asarray(coefficients, dtype=np.float64)
    margins = terms.y * (terms.left @ beta + fixed_offsets)
    return float(
        0.5 * (beta * beta).sum() + (terms.cost * compute_losses(margins, get_loss_code(loss))).sum()
    )


def _build_terms(x: Any, y: Any, cost: Any, offsets: Any) -> tuple[SvmTerms, Values]:
    """Validate x (N, d), y, cost and offsets (N,); return them as one problem and as float64 offsets."""
    left = np.ascontiguousarray(x, dtype=np.float64)
    signs, costs, fixed_offsets = (np.asarray(array, dtype=np.float64) for array in (y, cost, offsets))
    if left.ndim != 2 or {signs.shape, costs.shape, fixed_offsets.shape} != {left.shape[:1]}:
        raise DataError(
            f"x, y, cost and offsets have shapes {left.shape}, {signs.shape}, {costs.shape}, "
            f"{fixed_offsets.shape}: give (N, d) for x and (N,) for the others"
        )
    if not all(np.isfinite(array).all() for array in (left, signs, costs, fixed_offsets)):
        raise DataError("x, y, cost or offsets holds NaN or an infinite number: drop such terms")
    for is_wrong, problem in ((np.abs(signs) != 1, "y must be −1 or +1"), (costs < 0, "costs must be ≥ 0")):
        if is_wrong.any():
            raise DataError(f"term {int(np.flatnonzero(is_wrong)[0])}: {problem}")
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
    return terms, fixed_offsets
