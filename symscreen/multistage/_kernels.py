"""Compiled kernels of the weighted SVM solver: losses and one sweep of dual coordinate descent.

Losses V of a margin u = y·f:

- hinge: V(u) = max(0, 1 − u);
- psi: V(u) = min(1, max(0, 1 − u)) (Shen et al. 2003), the hinge truncated at 1, which is not convex;
- logistic: V(u) = log(1 + exp(−u)).

A sweep sets each dual variable in turn to the maximiser of the dual along its coordinate. Each sweep visits
the terms in a new random order, which needs about a tenth of the sweeps of a fixed order. Each problem seeds
its own generator, so the result does not depend on how problems are distributed over threads.

An input may be a product, x_e = vec(l_e r_eᵀ), of a left row and a right row; the blocks of a matrix β need
this. Rows are referenced by index, so terms that share a row store it once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values

    Offsets = NDArray[np.int64]
    Indices = NDArray[np.int32]  # indices of terms, or of rows of inputs


HINGE, PSI, LOGISTIC = 0, 1, 2
LOSS_CODES = {"hinge": HINGE, "psi": PSI, "logistic": LOGISTIC}

# Relative distance that logistic duals keep from the ends of [0, c]: the optimum is in the interior, and its
# logarithm is undefined at the ends.
_LOGISTIC_BOX_MARGIN = 1e-12

_FIRST_GAP_CHECK_VIOLATION = 0.1  # compute the gap once the largest violation, in margin units, is below this
_MAX_SWEEPS_BETWEEN_GAP_CHECKS = 8
_MAX_TANGENT_ROUNDS = 50  # surrogates per problem with the ψ-loss
_BISECTION_STEPS = 30  # steps of the line search between the old and the new coefficients
# number of terms above which runs of adjacent terms are visited, for memory locality
_LARGE_PROBLEM_TERMS = 1 << 16
_RUN_LENGTH = 16  # terms per run in a large problem


@compile_kernel
def compute_loss(u: float, loss: int) -> float:
    """Compute V(u) for one margin."""
    if loss == LOGISTIC:
        return max(-u, 0.0) + float(np.log1p(np.exp(-abs(u))))
    if loss == PSI:
        return min(1.0, max(0.0, 1.0 - u))
    return max(0.0, 1.0 - u)


def compute_losses(margins: Values, loss: int) -> Values:
    """Compute V(u) for an array of margins.

    Parameters
    ----------
    margins : float64 array
        Margins u = y·f, of any shape.
    loss : int
        `HINGE`, `PSI` or `LOGISTIC`.

    Returns
    -------
    float64 array
        Losses ≥ 0, of the shape of `margins`.

    Examples
    --------
    >>> compute_losses(np.array([-2.0, 0.5, 3.0]), HINGE).tolist()
    [3.0, 0.5, 0.0]
    >>> compute_losses(np.array([-2.0, 0.5]), PSI).tolist()
    [1.0, 0.5]
    """
    if loss == LOGISTIC:
        return np.asarray(np.logaddexp(0.0, -margins), dtype=np.float64)
    hinge = np.maximum(0.0, 1.0 - margins)
    return np.minimum(hinge, 1.0) if loss == PSI else hinge


class SvmTerms(NamedTuple):
    """The N terms of one or more SVM problems. The terms of a problem are contiguous.

    `left` (·, K) and `right` (·, p) hold the rows of the inputs; `left_norms` and `right_norms` hold their
    squared norms. `left_index` and `right_index` (N,) give the rows of each term. If p = 0, `right_index` may
    be empty and the left rows are the inputs. `y` (N,) holds the signs ±1 and `cost` (N,) the costs c_e.
    """

    left: Values
    right: Values
    left_norms: Values
    right_norms: Values
    left_index: Indices
    right_index: Indices
    y: NDArray[np.int8]
    cost: Values


class SvmState(NamedTuple):
    """State of a solver: arrays of the N terms, and of the coefficients of one problem."""

    offsets: Values  # d_e, (N,)
    low: Values  # lower bounds of the duals, (N,)
    gamma: Values  # duals, (N,)
    fitted: Values  # (N,)
    theta: Values  # Σ γ_e y_e x_e, whose positive part is β
    beta: Values
    workspace: Values  # products of a left row and a right row


@compile_kernel
def compute_dot_product(left: Values, right: Values) -> float:
    """Compute a dot product with four accumulators, in an order that is the same on every processor."""
    a = b = c = d = 0.0
    size = left.size
    unrolled_size = size - size % 4
    for k in range(0, unrolled_size, 4):
        a += left[k] * right[k]
        b += left[k + 1] * right[k + 1]
        c += left[k + 2] * right[k + 2]
        d += left[k + 3] * right[k + 3]
    for k in range(unrolled_size, size):
        a += left[k] * right[k]
    return (a + b) + (c + d)


@compile_kernel
def get_input(terms: SvmTerms, e: int, workspace: Values) -> tuple[Values, float]:
    """Return x_e and its squared norm: a left row, or the products of a left row and a right row."""
    left = terms.left_index[e]
    p = terms.right.shape[1]
    if p == 0:
        return terms.left[left], terms.left_norms[left]
    right = terms.right_index[e]
    for k in range(terms.left.shape[1]):
        for j in range(p):
            workspace[k * p + j] = terms.left[left, k] * terms.right[right, j]
    return workspace, terms.left_norms[left] * terms.right_norms[right]


@compile_kernel
def _maximize_hinge_dual(gamma: float, slope: float, curvature: float, low: float, high: float) -> float:
    """Maximise −½Q(z − γ)² − G(z − γ) over low ≤ z ≤ high."""
    if curvature > 0.0:
        return min(max(gamma - slope / curvature, low), high)
    return high if slope < 0.0 else low


@compile_kernel
def _maximize_logistic_dual(gamma: float, slope: float, curvature: float, cost: float) -> float:
    """Solve G + Q(z − γ) + log(z/(c − z)) = 0 for z in (0, c) by safeguarded Newton steps."""
    low, high = _LOGISTIC_BOX_MARGIN * cost, cost - _LOGISTIC_BOX_MARGIN * cost
    z = min(max(gamma, low), high)
    for _ in range(50):
        value = slope + curvature * (z - gamma) + np.log(z / (cost - z))
        if value > 0.0:
            high = z
        else:
            low = z
        step = value / (curvature + cost / (z * (cost - z)))
        next_z = float(z - step)
        if not low < next_z < high:
            next_z = 0.5 * (low + high)
        if abs(next_z - z) <= 1e-14 * cost:
            return next_z
        z = next_z
    return z


@compile_kernel
def shuffle(order: Indices, state: NDArray[np.uint64]) -> None:
    """Shuffle `order` in place: Fisher-Yates with Knuth's MMIX linear congruential generator."""
    for last in range(order.size - 1, 0, -1):
        state[0] = state[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = int((state[0] >> np.uint64(33)) % np.uint64(last + 1))
        swapped = order[last]
        order[last] = order[other]
        order[other] = swapped


@compile_kernel
def sweep(
    terms: SvmTerms, span: tuple[int, int], state: SvmState, loss: int, order: Indices, run_length: int
) -> float:
    """Visit every term once, in runs of `run_length`, and return the largest optimality violation found."""
    gamma, theta, beta = state.gamma, state.theta, state.beta
    worst = 0.0
    for run in order:
        for e in range(span[0] + run * run_length, min(span[0] + (run + 1) * run_length, span[1])):
            cost, y, old_gamma = terms.cost[e], terms.y[e], gamma[e]
            if cost <= 0.0:
                continue
            x, curvature = get_input(terms, e, state.workspace)
            u = y * (compute_dot_product(beta, x) + state.offsets[e])
            if loss == LOGISTIC:
                new_gamma = _maximize_logistic_dual(old_gamma, u, curvature, cost)
                violation = abs(new_gamma - old_gamma) / cost
            else:
                lower, slope = state.low[e], u - 1.0  # the slope of −D
                new_gamma = _maximize_hinge_dual(old_gamma, slope, curvature, lower, lower + cost)
                violation = 0.0 if new_gamma == old_gamma else abs(slope)
            worst = max(worst, violation)
            if new_gamma != old_gamma:
                gamma[e] = new_gamma
                step = (new_gamma - old_gamma) * y
                for k in range(theta.size):
                    theta[k] += step * x[k]
                    beta[k] = max(theta[k], 0.0)
    return worst


@compile_kernel
def _compute_bounds(
    terms: SvmTerms, span: tuple[int, int], state: SvmState, loss: int
) -> tuple[float, float, float]:
    """Write the fitted values; return P(β), the surrogate (P itself except for the ψ-loss) and D(γ)."""
    offsets, low, gamma, beta = state.offsets, state.low, state.gamma, state.beta
    penalty = 0.5 * compute_dot_product(beta, beta)
    primal, surrogate, dual = penalty, penalty, -penalty
    for e in range(span[0], span[1]):
        cost, y = terms.cost[e], terms.y[e]
        x, _ = get_input(terms, e, state.workspace)
        f = compute_dot_product(beta, x) + offsets[e]
        state.fitted[e] = f
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
def _minimize(
    terms: SvmTerms, span: tuple[int, int], state: SvmState, loss: int, tolerance: float, max_sweeps: int
) -> tuple[float, float, int]:
    """Sweep until the relative gap is within `tolerance`; return P(β), the gap and the number of sweeps."""
    check_violation, n_sweeps, n_unchecked = _FIRST_GAP_CHECK_VIOLATION, 0, 0
    run_length = _RUN_LENGTH if span[1] - span[0] > _LARGE_PROBLEM_TERMS else 1
    order = np.arange((span[1] - span[0] + run_length - 1) // run_length).astype(np.int32)
    shuffle_state = np.array([span[1] - span[0]], dtype=np.uint64)
    while True:
        shuffle(order, shuffle_state)
        worst = sweep(terms, span, state, loss, order, run_length)
        n_sweeps += 1
        n_unchecked += 1
        if (
            run_length == 1
            and worst > check_violation
            and n_unchecked < _MAX_SWEEPS_BETWEEN_GAP_CHECKS
            and n_sweeps < max_sweeps
        ):
            continue  # large problems (longer runs) check every time: their largest violation says little
        primal, surrogate, dual = _compute_bounds(terms, span, state, loss)
        if surrogate - dual <= tolerance * abs(surrogate) or n_sweeps >= max_sweeps or worst == 0.0:
            return primal, surrogate - dual, n_sweeps
        check_violation, n_unchecked = min(check_violation, worst) / 4.0, 0


@compile_kernel
def _initialize(terms: SvmTerms, span: tuple[int, int], state: SvmState, beta: Values, loss: int) -> float:
    """Compute the offsets d_e = f_e − x_eᵀβ and θ from the fitted values f and the duals; return P(β)."""
    primal, theta = 0.5 * compute_dot_product(beta, beta), state.theta
    theta[:] = 0.0
    for e in range(span[0], span[1]):
        x, _ = get_input(terms, e, state.workspace)
        state.offsets[e] = state.fitted[e] - compute_dot_product(beta, x)
        primal += terms.cost[e] * compute_loss(terms.y[e] * state.fitted[e], loss)
        signed_dual = state.gamma[e] * terms.y[e]
        if signed_dual != 0.0:
            for k in range(theta.size):
                theta[k] += signed_dual * x[k]
    return float(primal)


@compile_kernel
def _set_boxes(terms: SvmTerms, span: tuple[int, int], state: SvmState, loss: int) -> bool:
    """Set the lower bounds of the duals and clip the duals to their boxes; return whether any changed."""
    low, gamma = state.low, state.gamma
    changed = False
    for e in range(span[0], span[1]):
        is_linearized = loss == PSI and terms.y[e] * state.fitted[e] < 0.0
        low[e] = -terms.cost[e] if is_linearized else 0.0
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
    theta, beta = np.empty(size), np.empty(size)
    state = SvmState(offsets, low, gamma, fitted, theta, beta, np.empty(size))
    for g in range(groups[0], groups[1]):
        span = (starts[g], starts[g + 1])
        _set_boxes(terms, span, state, loss)
        best = _initialize(terms, span, state, coefficients[g], loss)
        diagnostics[g, 2] = 0.0
        for _ in range(_MAX_TANGENT_ROUNDS):
            np.maximum(theta, 0.0, beta)
            fitted_before = fitted[span[0] : span[1]].copy()
            primal, gap, n_sweeps = _minimize(terms, span, state, loss, tolerance, max_sweeps)
            if primal > best or gap > tolerance * primal:
                old, fitted_after = coefficients[g], fitted[span[0] : span[1]]
                step = _search_line(terms, span, old, beta, fitted_before, fitted_after, loss)
                for j in range(beta.size):
                    beta[j] = old[j] + step * (beta[j] - old[j])
                line_primal, _, _ = _compute_bounds(terms, span, state, loss)
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
            if _set_boxes(terms, span, state, loss):
                theta[:] = 0.0
                for e in range(span[0], span[1]):
                    x, _ = get_input(terms, e, state.workspace)
                    for k in range(size):
                        theta[k] += gamma[e] * terms.y[e] * x[k]
        diagnostics[g, 0] = best


@compile_kernel
def fill_scores(
    users: Values,
    items: Values,
    remaining_mass: Values,
    user_indices: NDArray[np.integer],
    item_indices: NDArray[np.integer],
    out: Values,
) -> None:
    """Write f_{t′,t}, eq. (8), to `out` (R, P) for the remaining masses (P, K) of P pairs."""
    for row in range(out.shape[0]):
        a, b = users[user_indices[row]], items[item_indices[row]]
        for p in range(out.shape[1]):
            total = 0.0
            for k in range(a.size):
                total += (a[k] * b[k]) * remaining_mass[p, k]
            out[row, p] = total
