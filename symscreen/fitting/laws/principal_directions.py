"""Propose products θ for single-index laws y = M(x)·h(θ) from the curvature of log|y|.

In the logarithms u of the inputs, log|y| of such a law is a linear function plus a function of b·u, where b
are the exponents of θ. Its Hessian is a multiple of b·bᵀ in every row. A quadratic regression estimates the
average Hessian, and b is its principal direction (Li 1992, principal Hessian directions, Journal of the
American Statistical Association 87, 1025–1039). The regression takes milliseconds however many inputs θ has,
and noise disturbs it little, because all rows are used at once.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.laws.power_expressions import normalize_exponents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symscreen._typing import Values
    from symscreen.fitting.laws.log_scale import LogScale


_N_DIRECTIONS = 2  # number of principal directions of each regression
_MULTIPLES = (1, 2, 3, 4)  # largest exponents to which a direction is scaled before it is rounded
_MIN_ROWS_PER_TERM = 3
# largest weight, relative to the median, in the regression in which small targets count, too
_MAX_WEIGHT = 1.0


def propose_indices(scale: LogScale) -> list[tuple[int, ...]]:
    """Propose exponents of θ from the average Hessian of log|y|.

    Parameters
    ----------
    scale : LogScale
        The logarithms of the target and of k inputs.

    Returns
    -------
    list of tuple of int, each of length k
        Exponents without a common divisor, where at least two are not 0, and the first of these is positive.
        Empty with fewer than three rows for each term of the regression.

    Examples
    --------
    >>> from symscreen.fitting.laws.log_scale import compute_log_scale
    >>> rng = np.random.default_rng(0)
    >>> columns = dict(zip("abcdef", rng.uniform(1, 5, (6, 2000))))
    >>> a, b, c, d, e, f = columns.values()
    >>> target = f * (1 + a * b / (c * d * e**2)) * rng.normal(1, 0.05, 2000)
    >>> (1, 1, -1, -1, -2, 0) in propose_indices(compute_log_scale(columns, target))
    True
    """
    proposals: dict[tuple[int, ...], None] = {}
    median = float(np.median(scale.weights))
    for weights in (scale.weights, np.minimum(scale.weights, _MAX_WEIGHT * median)):
        hessian = estimate_hessian(scale, weights)
        if hessian is None:
            continue
        sizes, directions = np.linalg.eigh(hessian)
        for place in np.argsort(-np.abs(sizes), kind="stable")[:_N_DIRECTIONS]:
            proposals.update(dict.fromkeys(_round_direction(directions[:, place])))
    return list(proposals)


def estimate_hessian(scale: LogScale, weights: Values) -> Values | None:
    """Estimate the average Hessian of log|y| in the logarithms of the inputs by a quadratic regression.

    Parameters
    ----------
    scale : LogScale
        The logarithms of the target and of k inputs.
    weights : float64 array, shape (n,)
        Factors of the residuals.

    Returns
    -------
    float64 array, shape (k, k), or None
        None if there are too few rows or all weights are 0.
    """
    logs = scale.design[:, 1:]
    k = logs.shape[1]
    rows, columns = np.triu_indices(k)
    if k < 2 or not weights.any() or len(logs) < _MIN_ROWS_PER_TERM * (1 + k + len(rows)):
        return None
    logs = logs - np.average(logs, axis=0, weights=weights**2)
    design = np.column_stack([np.ones(len(logs)), logs, logs[:, rows] * logs[:, columns]])
    solution = np.linalg.lstsq(design * weights[:, None], scale.target * weights, rcond=None)[0]
    hessian = np.zeros((k, k))
    np.add.at(hessian, (rows, columns), solution[1 + k :])
    return hessian + hessian.T


def _round_direction(direction: Values) -> Iterator[tuple[int, ...]]:
    """Yield the directions in integers whose largest exponent is 1, 2, 3 and 4."""
    for multiple in _MULTIPLES:
        powers = np.rint(direction / np.abs(direction).max() * multiple).astype(np.int64).tolist()
        if sum(map(bool, powers)) > 1:
            yield normalize_exponents(powers)


def count_indices(powers: Sequence[int]) -> float:
    """Return the number of products θ that are not more complex: those with no larger sum of |exponents|.

    Examples
    --------
    >>> count_indices((1, -1))  # x, y, x*y, x/y, x**2 and y**2
    6.0
    """
    k, size = len(powers), sum(map(abs, powers))
    vectors = sum(2**place * comb(k, place) * comb(size, place) for place in range(1, min(k, size) + 1))
    return float(vectors) / 2.0
