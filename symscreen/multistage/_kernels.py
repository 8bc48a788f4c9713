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
from symscreen.errors import OptionError
from symscreen.messages import suggest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values

    Indices = NDArray[np.int32]  # indices of terms, or of rows of inputs


HINGE, PSI, LOGISTIC = 0, 1, 2
LOSS_CODES = {"hinge": HINGE, "psi": PSI, "logistic": LOGISTIC}


def get_loss_code(name: str) -> int:
    """Look up the integer code of a loss.

    Parameters
    ----------
    name : {"hinge", "psi", "logistic"}
        Name of the loss.

    Returns
    -------
    int
        `HINGE`, `PSI` or `LOGISTIC`.

    Raises
    ------
    OptionError
        If the name is unknown.

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


# Relative distance that logistic duals keep from the ends of [0, c]: the optimum is in the interior, and its
# logarithm is undefined at the ends.
_LOGISTIC_BOX_MARGIN = 1e-12


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
def _maximise_hinge_dual(gamma: float, slope: float, curvature: float, low: float, high: float) -> float:
    """Maximise −½Q(z − γ)² − G(z − γ) over low ≤ z ≤ high."""
    if curvature > 0.0:
        return min(max(gamma - slope / curvature, low), high)
    return high if slope < 0.0 else low


@compile_kernel
def _maximise_logistic_dual(gamma: float, slope: float, curvature: float, cost: float) -> float:
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
    """Visit every term once, in runs of `run_length`, and return the largest optimality violation found."""
    worst = 0.0
    for run in order:
        for e in range(span[0] + run * run_length, min(span[0] + (run + 1) * run_length, span[1])):
            cost, y, old_gamma = terms.cost[e], terms.y[e], gamma[e]
            if cost <= 0.0:
                continue
            x, curvature = get_input(terms, e, workspace)
            u = y * (compute_dot_product(beta, x) + offsets[e])
            if loss == LOGISTIC:
                new_gamma = _maximise_logistic_dual(old_gamma, u, curvature, cost)
                violation = abs(new_gamma - old_gamma) / cost
            else:
                lower, slope = low[e], u - 1.0  # the slope of −D
                new_gamma = _maximise_hinge_dual(old_gamma, slope, curvature, lower, lower + cost)
                violation = 0.0 if new_gamma == old_gamma else abs(slope)
            worst = max(worst, violation)
            if new_gamma != old_gamma:
                gamma[e] = new_gamma
                step = (new_gamma - old_gamma) * y
                for k in range(theta.size):
                    theta[k] += step * x[k]
                    beta[k] = max(theta[k], 0.0)
    return worst
