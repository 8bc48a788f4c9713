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
the last ones is taken, so that P never rises. The sweeps themselves: `symscreen.multistage.sweeping`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.multistage.losses import LOGISTIC, PSI, loss_of
from symscreen.multistage.sweeping import Terms, dot, input_of, shuffle, sweep

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Starts = NDArray[np.int64]

__all__ = ["Terms", "solve_groups"]

_FIRST_LOOK = 0.1  # a largest violation, in units of the margin, at which the duality gap is first computed
_LOOK_AFTER = 8  # sweeps at the latest
_ROUNDS = 50  # of the ψ-loss's tangents at most
_HALVINGS = 30  # of the line between old and new coefficients
_LARGE = 1 << 16  # terms: of more, runs that lie side by side are visited together, for the memory's sake
_RUN = 16


@kernel
def _bounds(
    terms: Terms,
    span: tuple[int, int],
    drift: Values,
    low: Values,
    gamma: Values,
    beta: Values,
    room: Values,
    loss: int,
    fitted: Values,
) -> tuple[float, float, float]:
    """Write the fitted values; return P(β), what the sweeps minimise (other for the ψ-loss), and D(γ)."""
    half = 0.5 * dot(beta, beta)
    primal, surrogate, dual = half, half, -half
    for e in range(span[0], span[1]):
        cost, y = terms.cost[e], terms.y[e]
        x, _ = input_of(terms, e, room)
        f = dot(beta, x) + drift[e]
        fitted[e] = f
        primal += cost * loss_of(y * f, loss)
        if loss == LOGISTIC:
            dual -= gamma[e] * y * drift[e]
            for part in (gamma[e], cost - gamma[e]):
                if part > 0.0:
                    dual -= part * np.log(part / cost)
        else:
            surrogate += cost * max(0.0, 1.0 - y * f) - low[e] * y * f
            dual += gamma[e] * (1.0 - y * drift[e]) - low[e]
    return primal, (primal if loss == LOGISTIC else surrogate), dual


@kernel
def _minimise(
    terms: Terms,
    span: tuple[int, int],
    drift: Values,
    low: Values,
    gamma: Values,
    theta: Values,
    beta: Values,
    room: Values,
    loss: int,
    tolerance: float,
    most: int,
    fitted: Values,
) -> tuple[float, float, int]:
    """Sweep until the gap is small; return P(β), the gap and the number of sweeps."""
    look, sweeps, since = _FIRST_LOOK, 0, 0
    run = _RUN if span[1] - span[0] > _LARGE else 1
    order = np.arange((span[1] - span[0] + run - 1) // run).astype(np.int32)
    state = np.array([span[1] - span[0]], dtype=np.uint64)
    while True:
        shuffle(order, state)
        worst = sweep(terms, span, drift, low, gamma, theta, beta, room, loss, order, run)
        sweeps += 1
        since += 1
        if run == 1 and worst > look and since < _LOOK_AFTER and sweeps < most:
            continue  # of many terms the worst tells little
        primal, surrogate, dual = _bounds(terms, span, drift, low, gamma, beta, room, loss, fitted)
        if surrogate - dual <= tolerance * abs(surrogate) or sweeps >= most or worst == 0.0:
            return primal, surrogate - dual, sweeps
        look, since = min(look, worst) / 4.0, 0


@kernel
def _start(
    terms: Terms,
    span: tuple[int, int],
    fitted: Values,
    gamma: Values,
    theta: Values,
    beta: Values,
    room: Values,
    loss: int,
    drift: Values,
) -> float:
    """Take β out of the fitted values, which leaves the drifts; sum θ; return P(β)."""
    primal = 0.5 * dot(beta, beta)
    theta[:] = 0.0
    for e in range(span[0], span[1]):
        x, _ = input_of(terms, e, room)
        drift[e] = fitted[e] - dot(beta, x)
        primal += terms.cost[e] * loss_of(terms.y[e] * fitted[e], loss)
        part = gamma[e] * terms.y[e]
        if part != 0.0:
            for k in range(theta.size):
                theta[k] += part * x[k]
    return float(primal)


@kernel
def _boxes(
    terms: Terms, span: tuple[int, int], fitted: Values, loss: int, low: Values, gamma: Values
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


@kernel
def _between(
    terms: Terms, span: tuple[int, int], old: Values, new: Values, before: Values, after: Values, loss: int
) -> float:
    """Find where between old (0) and new coefficients (1) the derivative of P changes its sign."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        s = 0.5 * (low + high)
        slope = 0.0
        for k in range(old.size):
            slope += (new[k] - old[k]) * (old[k] + s * (new[k] - old[k]))
        for e in range(span[0], span[1]):
            change = after[e - span[0]] - before[e - span[0]]
            u = terms.y[e] * (before[e - span[0]] + s * change)
            if loss == LOGISTIC:
                slope -= terms.cost[e] * terms.y[e] * change / (1.0 + np.exp(u))
            elif u < 1.0 and (loss != PSI or u > 0.0):
                slope -= terms.cost[e] * terms.y[e] * change
        low, high = (low, s) if slope > 0.0 else (s, high)
    return float(low)


@kernel
def solve_groups(
    terms: Terms,
    starts: Starts,
    groups: tuple[int, int],
    loss: int,
    tolerance: float,
    most: int,
    coefficients: Values,
    fitted: Values,
    gamma: Values,
    drift: Values,
    low: Values,
    told: Values,
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
        See `symscreen.multistage.losses`.
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
        _boxes(terms, span, fitted, loss, low, gamma)
        best = _start(terms, span, fitted, gamma, theta, coefficients[g], room, loss, drift)
        told[g, 2] = 0.0
        for _ in range(_ROUNDS):
            np.maximum(theta, 0.0, beta)
            before = fitted[span[0] : span[1]].copy()
            primal, gap, sweeps = _minimise(
                terms, span, drift, low, gamma, theta, beta, room, loss, tolerance, most, fitted
            )
            if primal > best or gap > tolerance * primal:
                mine, after = coefficients[g], fitted[span[0] : span[1]]
                s = _between(terms, span, mine, beta, before, after, loss)
                beta[:] = mine + s * (beta - mine)
                taken, _, _ = _bounds(terms, span, drift, low, gamma, beta, room, loss, fitted)
                gap += taken - primal if loss != PSI else 0.0
                primal = taken
            told[g, 1], told[g, 2] = gap, told[g, 2] + sweeps
            fell = best - primal
            if fell > 0.0:
                best = primal
                coefficients[g] = beta
            else:
                fitted[span[0] : span[1]] = before
            if loss != PSI or fell <= tolerance * best:
                break
            if _boxes(terms, span, fitted, loss, low, gamma):
                theta[:] = 0.0
                for e in range(span[0], span[1]):
                    x, _ = input_of(terms, e, room)
                    for k in range(size):
                        theta[k] += gamma[e] * terms.y[e] * x[k]
        told[g, 0] = best
