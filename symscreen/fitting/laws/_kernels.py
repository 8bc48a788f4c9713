"""Compiled kernels of the searches for laws: the best pairs of formulas, and exponents on the scale of y."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Integers, Values

    Singles = NDArray[np.float32]


N_LEADING = 16
"""Number of leading coordinates, which are compared for all pairs."""

N_MIDDLE = 48
"""Number of coordinates after which the comparison of a pair may end."""

_BLOCK = 512  # pairs that are compared together
_ROUNDING = 2e-6  # more than the rounding of an inner product in single precision
_KEY_ROUNDING = 1e-5
_MIN_DISTANCE = 1e-14  # squared distance of directions that is rounding
_MAX_EXPONENT = 600.0


@compile_kernel
def scan_pairs(
    coordinates: Singles,
    leading: Singles,
    tails: Singles,
    cotangents: Singles,
    starts: Integers,
    complexities: Integers,
    penalties: Values,
    n_rows: int,
    block_start: int,
    block_stop: int,
    budget: int,
    scores: Values,
    pairs: Integers,
) -> int:
    """Find the pairs of formulas of a block with formulas before them that have the best scores.

    A formula A is a unit vector a, and cot φ, where φ is its angle to the response y. The rest of a is in the
    direction α. A pair explains R²/(1 − R²) = F = (u² + v² − 2·c·u·v)/(1 − c²), where u and v are the
    cotangents and c = α·β. Its score is n·log(1 + F)/2 minus a penalty for its complexity.

    A pair with F > L has u² + v² − 2·c·u·v − L·(1 − c²) > 0. The left side is convex in c, so the pair is
    left out if it is negative at both bounds of c.

    The formulas are sorted by class; a class has one complexity and similar cotangents. Within a class, they
    are sorted by the size of their first coordinate, which differs between two formulas by no more than the
    distance of their directions.

    Parameters
    ----------
    coordinates : float32 array, shape (q, m)
        Directions α, m ≥ N_MIDDLE.
    leading : float32 array, shape (N_LEADING, q)
        Their first coordinates.
    tails : float32 array, shape (2, q)
        Norms of the coordinates after the first N_LEADING and after the first N_MIDDLE.
    cotangents : float32 array, shape (q,)
        Cotangents of the angles to the response.
    starts : int64 array, shape (k + 1,)
        Where each class begins.
    complexities : int64 array, shape (k,)
        Complexity of each class, in ascending order.
    penalties : float64 array
        Penalties by the complexity of a pair.
    n_rows : int
        n.
    block_start, block_stop : int
        Where the block begins and ends.
    budget : int
        Maximum number of pairs that are compared in more than the leading coordinates.
    scores : float64 array, shape (t,)
        Initially the score that must be exceeded; on return the best scores.
    pairs : int64 array, shape (t, 2)
        Initially −1; on return the pairs of the best scores.

    Returns
    -------
    int
        What is left of the budget; −1 if the search ended before all pairs were compared.
    """
    keys = np.abs(leading[0])
    largest = _find_largest(cotangents, starts)
    worst = int(np.argmin(scores))
    limits = _compute_limits(scores[worst], penalties, n_rows)
    excess = np.empty(_BLOCK, np.float32)
    for own_class in range(len(starts) - 1):
        block_of_class = max(starts[own_class], block_start), min(starts[own_class + 1], block_stop)
        for first in range(block_of_class[0], block_of_class[1]):
            for other_class in range(own_class + 1):
                complexity = complexities[own_class] + complexities[other_class]
                start, stop = starts[other_class], min(first, starts[other_class + 1])
                radius = _bound_distance(abs(cotangents[first]) + largest[other_class], limits[complexity])
                if radius < 1.0 and start < stop:
                    window = keys[start:stop]
                    stop = start + np.searchsorted(window, keys[first] + radius)
                    start += np.searchsorted(window, keys[first] - radius)
                while start < stop:
                    size = min(_BLOCK, stop - start)
                    _compute_excess(
                        leading, tails, cotangents, first, start, limits[complexity], excess[:size]
                    )
                    for place in range(size):
                        if excess[place] < 0.0:
                            continue
                        if budget == 0:
                            return -1
                        budget -= 1
                        explained = _explain(
                            coordinates, tails, cotangents, first, start + place, limits[complexity]
                        )
                        if explained <= limits[complexity]:
                            continue
                        scores[worst] = 0.5 * n_rows * math.log1p(explained) - penalties[complexity]
                        pairs[worst, 0], pairs[worst, 1] = first, start + place
                        worst = int(np.argmin(scores))
                        limits = _compute_limits(scores[worst], penalties, n_rows)
                    start += size
    return budget


@compile_kernel
def _find_largest(cotangents: Singles, starts: Integers) -> Values:
    """Return the largest size of a cotangent in each class."""
    largest = np.zeros(len(starts) - 1)
    for each in range(len(largest)):
        largest[each] = np.abs(cotangents[starts[each] : starts[each + 1]]).max()
    return largest


@compile_kernel
def _compute_limits(score: float, penalties: Values, n_rows: int) -> Values:
    """Return the F of each complexity that gives a score."""
    exponents = 2.0 * (score + penalties) / n_rows
    return np.maximum(np.exp(np.minimum(exponents, _MAX_EXPONENT)) - 1.0, 1e-300)


@compile_kernel
def _bound_distance(sum_of_cotangents: float, limit: float) -> float:
    """Return a bound of the distance of two directions whose F exceeds the limit; 2 if there is none."""
    part = sum_of_cotangents**2 / limit  # at least 1 − c²
    return math.sqrt(2.0 * (1.0 - math.sqrt(1.0 - part))) + _KEY_ROUNDING if part < 1.0 else 2.0


@compile_kernel
def _compute_excess(
    leading: Singles,
    tails: Singles,
    cotangents: Singles,
    first: int,
    start: int,
    limit: float,
    excess: Singles,
) -> None:
    """Compute the larger u² + v² − 2·c·u·v − L·(1 − c²) at both bounds of c, for a formula and a block."""
    u, tail = cotangents[first], tails[0, first]
    bound = np.float32(min(limit * (1.0 - _ROUNDING), 1e30))
    excess[:] = 0.0
    for place in range(leading.shape[0]):
        own = leading[place, first]
        row = leading[place, start : start + len(excess)]
        for k in range(len(excess)):
            excess[k] += own * row[k]
    for k in range(len(excess)):
        v = cotangents[start + k]
        rest = tail * tails[0, start + k] + np.float32(_ROUNDING)
        high, low = excess[k] + rest, excess[k] - rest
        squares = u * u + v * v - bound
        product = np.float32(2.0) * u * v
        excess[k] = max(
            squares - high * product + bound * high * high, squares - low * product + bound * low * low
        )


@compile_kernel
def _explain(
    coordinates: Singles, tails: Singles, cotangents: Singles, first: int, second: int, limit: float
) -> float:
    """Compute F of a pair in double precision, or −1 if it is certain not to exceed the limit."""
    u, v = float(cotangents[first]), float(cotangents[second])
    c = 0.0
    for k in range(N_MIDDLE):
        c += float(coordinates[first, k]) * float(coordinates[second, k])
    rest = float(tails[1, first]) * float(tails[1, second]) + _ROUNDING
    high, low = c + rest, c - rest
    squares, product = u * u + v * v - limit, 2.0 * u * v
    if (
        squares - high * product + limit * high * high < 0.0
        and squares - low * product + limit * low * low < 0.0
    ):
        return -1.0
    sign = 1.0 if c >= 0.0 else -1.0
    distance = 0.0
    for k in range(coordinates.shape[1]):
        difference = float(coordinates[first, k]) - sign * float(coordinates[second, k])
        distance += difference * difference
    missing = max(0.5 * distance, _MIN_DISTANCE)  # 1 − |c|, without cancellation
    numerator = (u - sign * v) ** 2 + missing * sign * product
    return numerator / (missing * (2.0 - missing))


@compile_kernel
def fit_exponential(
    design: Values,
    offset: Values,
    signs: Values,
    target: Values,
    parameters: Values,
    residuals: Values,
    max_steps: int,
    tolerance: float,
) -> bool:
    """Minimise Σ (y − s·exp(o + X b))² by Gauss-Newton steps, which are halved until the square decreases.

    Parameters
    ----------
    design : float64 array, shape (n, k)
        X.
    offset, signs, target : float64 array, shape (n,)
        o, s and y.
    parameters : float64 array, shape (k,)
        b: the start, and then the result.
    residuals : float64 array, shape (n,)
        Overwritten by y − s·exp(o + X b).
    max_steps : int
        Maximum number of steps, and of halvings of each.
    tolerance : float
        Relative decrease of the square at which the fit ends.

    Returns
    -------
    bool
        False if the square is infinite or the parameters are not determined.
    """
    k = len(parameters)
    step, trial = np.empty(k), np.empty(k)
    gram, norms = np.empty((k, k)), np.empty(k)
    trial_residuals = np.empty(len(target))
    square = _compute_exponential_residuals(design, offset, signs, target, parameters, residuals)
    for _ in range(max_steps):
        if not math.isfinite(square):
            return False
        if not _compute_exponential_step(design, target, residuals, gram, norms, step):
            return False
        previous = square
        for _ in range(max_steps):
            for j in range(k):
                trial[j] = parameters[j] + step[j]
            trial_square = _compute_exponential_residuals(
                design, offset, signs, target, trial, trial_residuals
            )
            if trial_square < square:
                square = trial_square
                parameters[:] = trial
                residuals[:] = trial_residuals
                break
            step *= 0.5
        if square >= previous * (1.0 - tolerance):
            break
    return True


@compile_kernel
def _compute_exponential_residuals(
    design: Values, offset: Values, signs: Values, target: Values, parameters: Values, residuals: Values
) -> float:
    """Write y − s·exp(o + X b), and return the sum of squares."""
    square = 0.0
    for i in range(len(target)):
        exponent = offset[i]
        for j in range(len(parameters)):
            exponent += design[i, j] * parameters[j]
        residuals[i] = target[i] - signs[i] * math.exp(exponent)
        square += residuals[i] * residuals[i]
    return square


@compile_kernel
def _compute_exponential_step(
    design: Values, target: Values, residuals: Values, gram: Values, norms: Values, step: Values
) -> bool:
    """Write the Gauss-Newton step, shape (k,), from the normal equations; return False if there is none.

    The derivatives are X times the predictions. They are scaled to norm 1; the Cholesky factor of their
    inner products overwrites `gram`.
    """
    k = len(step)
    gram[:] = 0.0
    step[:] = 0.0
    for i in range(len(target)):
        prediction = target[i] - residuals[i]
        for j in range(k):
            own = design[i, j] * prediction
            step[j] += own * residuals[i]
            for other in range(j + 1):
                gram[j, other] += own * design[i, other] * prediction
    for j in range(k):
        norms[j] = math.sqrt(gram[j, j])
        if not 0.0 < norms[j] < math.inf:
            return False
        step[j] /= norms[j]
        for other in range(j + 1):
            gram[j, other] /= norms[j] * norms[other]
    if not _solve_in_place(gram, step):
        return False
    step /= norms
    return True


@compile_kernel
def _solve_in_place(gram: Values, vector: Values) -> bool:
    """Solve G x = v for the lower triangle of G, shape (k, k), by Cholesky's method; both are overwritten.

    Return False if G is not positive definite.
    """
    k = len(vector)
    for j in range(k):
        for other in range(j + 1):
            rest = gram[j, other]
            for inner in range(other):
                rest -= gram[j, inner] * gram[other, inner]
            if other < j:
                gram[j, other] = rest / gram[other, other]
            elif rest > 0.0:
                gram[j, j] = math.sqrt(rest)
            else:
                return False
        for inner in range(j):
            vector[j] -= gram[j, inner] * vector[inner]
        vector[j] /= gram[j, j]
    for j in range(k - 1, -1, -1):
        for below in range(j + 1, k):
            vector[j] -= gram[below, j] * vector[below]
        vector[j] /= gram[j, j]
    return True
