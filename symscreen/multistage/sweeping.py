"""One sweep of dual coordinate descent: every coordinate is put where the dual is largest along it.

Each sweep visits the terms in another order, which takes a tenth of the sweeps that a fixed one does. The
orders come from a generator of their own, that begins anew for each problem: results do not depend on how
problems are spread over threads.

An input may be a product, x_e = vec(l_e r_eᵀ) of a left and a right row, as where β is a matrix; rows are
looked up by number, so that terms which share one hold it once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.compiled import kernel
from symscreen.multistage.losses import LOGISTIC

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Places = NDArray[np.int32]

__all__ = ["Terms", "dot", "input_of", "shuffle", "sweep"]

_EDGE = 1e-12  # of a logistic dual's box: its optimum is inside, and the logarithm needs it there


class Terms(NamedTuple):
    """The terms of one or more problems, those of a problem side by side.

    `left` (·, K) and `right` (·, p) hold the rows of inputs, `left_norms` and `right_norms` their squared
    norms; `lefts` and `rights` (N,) say which rows a term has. Where p = 0, `rights` may be empty. `y` are
    the signs, int8, and `cost` the c_e.
    """

    left: Values
    right: Values
    left_norms: Values
    right_norms: Values
    lefts: Places
    rights: Places
    y: NDArray[np.int8]
    cost: Values


@kernel
def dot(one: Values, two: Values) -> float:
    """Sum products in four lanes: one fixed order, whatever the processor."""
    a = b = c = d = 0.0
    size = one.size
    whole = size - size % 4
    for k in range(0, whole, 4):
        a += one[k] * two[k]
        b += one[k + 1] * two[k + 1]
        c += one[k + 2] * two[k + 2]
        d += one[k + 3] * two[k + 3]
    for k in range(whole, size):
        a += one[k] * two[k]
    return (a + b) + (c + d)


@kernel
def input_of(terms: Terms, e: int, room: Values) -> tuple[Values, float]:
    """Return x_e and its squared norm: a left row, or its products with a right one."""
    at = terms.lefts[e]
    p = terms.right.shape[1]
    if p == 0:
        return terms.left[at], terms.left_norms[at]
    other = terms.rights[e]
    for k in range(terms.left.shape[1]):
        for j in range(p):
            room[k * p + j] = terms.left[at, k] * terms.right[other, j]
    return room, terms.left_norms[at] * terms.right_norms[other]


@kernel
def _best_hinge(gamma: float, slope: float, curvature: float, low: float, high: float) -> float:
    """Maximise −½Q(z − γ)² − G(z − γ) over the box."""
    if curvature > 0.0:
        return min(max(gamma - slope / curvature, low), high)
    return high if slope < 0.0 else low


@kernel
def _best_logistic(gamma: float, slope: float, curvature: float, cost: float) -> float:
    """Find the root of G + Q(z − γ) + log(z/(c − z)) in (0, c), which grows with z, by Newton steps."""
    low, high = _EDGE * cost, cost - _EDGE * cost
    z = min(max(gamma, low), high)
    for _ in range(50):
        value = slope + curvature * (z - gamma) + np.log(z / (cost - z))
        if value > 0.0:
            high = z
        else:
            low = z
        step = value / (curvature + cost / (z * (cost - z)))
        following = float(z - step)
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - z) <= 1e-14 * cost:
            return following
        z = following
    return z


@kernel
def shuffle(order: Places, state: NDArray[np.uint64]) -> None:
    """Shuffle by Fisher and Yates, with the linear congruential generator of Knuth's MMIX."""
    for last in range(order.size - 1, 0, -1):
        state[0] = state[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = int((state[0] >> np.uint64(33)) % np.uint64(last + 1))
        kept = order[last]
        order[last] = order[other]
        order[other] = kept


@kernel
def sweep(
    terms: Terms,
    span: tuple[int, int],
    drift: Values,
    low: Values,
    gamma: Values,
    theta: Values,
    beta: Values,
    room: Values,
    loss: int,
    order: Places,
    run: int,
) -> float:
    """Visit every term once, run by run; return the largest violation of optimality that was met."""
    worst = 0.0
    for at in order:
        for e in range(span[0] + at * run, min(span[0] + (at + 1) * run, span[1])):
            cost, y, before = terms.cost[e], terms.y[e], gamma[e]
            if cost <= 0.0:
                continue
            x, curvature = input_of(terms, e, room)
            u = y * (dot(beta, x) + drift[e])
            if loss == LOGISTIC:
                after = _best_logistic(before, u, curvature, cost)
                violation = abs(after - before) / cost
            else:
                bottom, slope = low[e], u - 1.0  # the slope of −D
                after = _best_hinge(before, slope, curvature, bottom, bottom + cost)
                violation = 0.0 if after == before else abs(slope)
            worst = max(worst, violation)
            if after != before:
                gamma[e] = after
                step = (after - before) * y
                for k in range(theta.size):
                    theta[k] += step * x[k]
                    beta[k] = max(theta[k], 0.0)
    return worst
