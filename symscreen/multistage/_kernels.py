"""Losses V of a margin u = y·f, and their sums.

- hinge: V(u) = max(0, 1 − u);
- psi: V(u) = min(1, max(0, 1 − u)) (Shen et al. 2003), the hinge cut off at 1: not convex;
- logistic: V(u) = log(1 + exp(−u)).

One sweep of dual coordinate descent: every coordinate is put where the dual is largest along it.

Each sweep visits the terms in another order, which takes a tenth of the sweeps that a fixed one does. The
orders come from a generator of their own, that begins anew for each problem: results do not depend on how
problems are spread over threads.

An input may be a product, x_e = vec(l_e r_eᵀ) of a left and a right row, as where β is a matrix; rows are
looked up by number, so that terms which share one hold it once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.errors import OptionError, suggest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values

    Indices = NDArray[np.int32]

__all__ = [
    "HINGE",
    "LOGISTIC",
    "LOSS_CODES",
    "PSI",
    "SvmTerms",
    "compute_dot_product",
    "compute_loss",
    "compute_losses",
    "get_input",
    "get_loss_code",
    "shuffle",
    "sweep",
]

HINGE, PSI, LOGISTIC = 0, 1, 2
LOSS_CODES = {"hinge": HINGE, "psi": PSI, "logistic": LOGISTIC}


def get_loss_code(name: str) -> int:
    """Find the number by which kernels know a loss.

    Parameters
    ----------
    name : {"hinge", "psi", "logistic"}
        Of the loss.

    Returns
    -------
    int
        `HINGE`, `PSI` or `LOGISTIC`.

    Raises
    ------
    OptionError
        If there is none of that name.

    Examples
    --------
    >>> get_loss_code("psi") == PSI
    True
    """
    if not isinstance(name, str) or name not in LOSS_CODES:
        raise OptionError(f"loss is {name!r}{suggest(str(name), LOSS_CODES)}")
    return LOSS_CODES[name]


@compile_kernel
def compute_loss(u: float, loss: int) -> float:
    """Return V(u) at one margin."""
    if loss == LOGISTIC:
        return max(-u, 0.0) + float(np.log1p(np.exp(-abs(u))))
    if loss == PSI:
        return min(1.0, max(0.0, 1.0 - u))
    return max(0.0, 1.0 - u)


def compute_losses(margins: Values, loss: int) -> Values:
    """Return V(u) of many margins.

    Parameters
    ----------
    margins : float64 array
        u = y·f.
    loss : int
        `HINGE`, `PSI` or `LOGISTIC`.

    Returns
    -------
    float64 array
        Of the same shape, ≥ 0.

    Examples
    --------
    >>> compute_losses(np.array([-2.0, 0.5, 3.0]), HINGE).tolist(), compute_losses(np.array([-2.0, 0.5]),
    ...     PSI).tolist()
    ([3.0, 0.5, 0.0], [1.0, 0.5])
    """
    if loss == LOGISTIC:
        return np.asarray(np.logaddexp(0.0, -margins), dtype=np.float64)
    hinge = np.maximum(0.0, 1.0 - margins)
    return np.minimum(hinge, 1.0) if loss == PSI else hinge


_LOGISTIC_BOX_MARGIN = (
    1e-12  # of a logistic dual's box: its optimum is inside, and the logarithm needs it there
)


class SvmTerms(NamedTuple):
    """The terms of one or more problems, those of a problem side by side.

    `left` (·, K) and `right` (·, p) hold the rows of inputs, `left_norms` and `right_norms` their squared
    norms; `lefts` and `rights` (N,) say which rows a term has. Where p = 0, `rights` may be empty. `y` are
    the signs, int8, and `cost` the c_e.
    """

    left: Values
    right: Values
    left_norms: Values
    right_norms: Values
    left_index: Indices
    right_index: Indices
    y: NDArray[np.int8]
    cost: Values


@compile_kernel
def compute_dot_product(left: Values, right: Values) -> float:
    """Sum products in four lanes: one fixed order, whatever the processor."""
    a = b = c = d = 0.0
    size = left.size
    whole = size - size % 4
    for k in range(0, whole, 4):
        a += left[k] * right[k]
        b += left[k + 1] * right[k + 1]
        c += left[k + 2] * right[k + 2]
        d += left[k + 3] * right[k + 3]
    for k in range(whole, size):
        a += left[k] * right[k]
    return (a + b) + (c + d)


@compile_kernel
def get_input(terms: SvmTerms, e: int, workspace: Values) -> tuple[Values, float]:
    """Return x_e and its squared norm: a left row, or its products with a right one."""
    at = terms.left_index[e]
    p = terms.right.shape[1]
    if p == 0:
        return terms.left[at], terms.left_norms[at]
    other = terms.right_index[e]
    for k in range(terms.left.shape[1]):
        for j in range(p):
            workspace[k * p + j] = terms.left[at, k] * terms.right[other, j]
    return workspace, terms.left_norms[at] * terms.right_norms[other]


@compile_kernel
def _maximise_hinge_dual(gamma: float, slope: float, curvature: float, low: float, high: float) -> float:
    """Maximise −½Q(z − γ)² − G(z − γ) over the box."""
    if curvature > 0.0:
        return min(max(gamma - slope / curvature, low), high)
    return high if slope < 0.0 else low


@compile_kernel
def _maximise_logistic_dual(gamma: float, slope: float, curvature: float, cost: float) -> float:
    """Find the root of G + Q(z − γ) + log(z/(c − z)) in (0, c), which grows with z, by Newton steps."""
    low, high = _LOGISTIC_BOX_MARGIN * cost, cost - _LOGISTIC_BOX_MARGIN * cost
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


@compile_kernel
def shuffle(order: Indices, state: NDArray[np.uint64]) -> None:
    """Shuffle by Fisher and Yates, with the linear congruential generator of Knuth's MMIX."""
    for last in range(order.size - 1, 0, -1):
        state[0] = state[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        other = int((state[0] >> np.uint64(33)) % np.uint64(last + 1))
        kept = order[last]
        order[last] = order[other]
        order[other] = kept


@compile_kernel
def sweep(
    terms: SvmTerms,
    span: tuple[int, int],
    offsets: Values,
    low: Values,
    gamma: Values,
    theta: Values,
    beta: Values,
    workspace: Values,
    loss: int,
    order: Indices,
    run_length: int,
) -> float:
    """Visit every term once, run by run; return the largest violation of optimality that was met."""
    worst = 0.0
    for at in order:
        for e in range(span[0] + at * run_length, min(span[0] + (at + 1) * run_length, span[1])):
            cost, y, before = terms.cost[e], terms.y[e], gamma[e]
            if cost <= 0.0:
                continue
            x, curvature = get_input(terms, e, workspace)
            u = y * (compute_dot_product(beta, x) + offsets[e])
            if loss == LOGISTIC:
                after = _maximise_logistic_dual(before, u, curvature, cost)
                violation = abs(after - before) / cost
            else:
                bottom, slope = low[e], u - 1.0  # the slope of −D
                after = _maximise_hinge_dual(before, slope, curvature, bottom, bottom + cost)
                violation = 0.0 if after == before else abs(slope)
            worst = max(worst, violation)
            if after != before:
                gamma[e] = after
                step = (after - before) * y
                for k in range(theta.size):
                    theta[k] += step * x[k]
                    beta[k] = max(theta[k], 0.0)
    return worst
