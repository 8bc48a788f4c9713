"""T0, Spearman's ρ and Pearson's r of rows that weigh differently.

Of rows of weights w_i, S_i(θ) is the weight of the rows below row i in θ, less that of the rows above: for
whole weights it is 2 R_i − (n + 1), R the mid-ranks, where each row stands as often as it weighs. Hence, from
one sort::

    Δ − T0(θ) = Σ_{i≠j} w_i w_j |y_i − y_j| s_ij / D = 2/D · Σ_i w_i y_i S_i(θ),    D = Σ_{i≠j} w_i w_j
    ρ(θ) = Σ_i w_i S_i(y) S_i(θ) / √(Σ_i w_i S_i(y)² · Σ_i w_i S_i(θ)²)

with s_ij = sign(θ_i − θ_j)·sign(y_i − y_j) and Δ = Σ_{i≠j} w_i w_j |y_i − y_j| / D. Equal weights give the T0
of Luo and Li (2024, eq. 18). Copies of a row are at no distance from each other, so T0/Δ, which orders
features, is that of rows repeated as often as they weigh; T0 and Δ are theirs times (W² − W)/D, W = Σ w_i.

What is below a row and what is above are summed each from its own end: their difference S is then as exact
for a row that weighs nearly all as for the others, and of mirrored ranks it is exactly the negative. T0 is
known to some 10⁻¹⁴ of Δ, whatever the weights, for Σ_{i≠j} w_i w_j |y_i − y_j| ≥ W Σ_i w_i |y_i − ȳ|.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.statistics.column_arithmetic import compute_simd_dot

if TYPE_CHECKING:
    from symscreen._typing import Flags, Rows, Values
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.weighted import WeightedTarget


__all__ = [
    "compute_weighted_gini_mean_difference",
    "compute_weighted_pearson",
    "compute_weighted_ranking_metric",
    "compute_weighted_spearman",
]

_BLOCK_ROWS = 1024  # partial sums over this many rows keep the rounding error small at any n


def compute_weighted_ranking_metric(ordered: SortedBlock, target: WeightedTarget) -> Values:
    """Compute Δ − T0(θ) of each feature of a block.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows.
    response : WeightedResponse
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [−Δ, Δ], in the response's unit; of mirrored ranks exactly the negative.
    """
    centred, exponent = target.centered_values
    sums = np.empty(len(ordered.order))
    _fill_weighted_sums(
        ordered.order, ordered.values, ordered.tied, target.weights, target.weights * centred, sums
    )
    return np.asarray(np.ldexp(2.0 / target.pair_weight_sum * sums, exponent))


def compute_weighted_gini_mean_difference(target: WeightedTarget) -> float:
    """Compute Δ, the mean of |y_i − y_j| over pairs of distinct rows that weigh w_i w_j.

    Parameters
    ----------
    response : WeightedResponse
        The response.

    Returns
    -------
    float
        Δ > 0, in the response's unit.
    """
    centred, exponent = target.centered_values
    sums = np.empty(1)
    _fill_weighted_sums(*_build_target_block(target), target.weights, target.weights * centred, sums)
    return float(np.ldexp(2.0 / target.pair_weight_sum * sums[0], exponent))


def compute_weighted_spearman(ordered: SortedBlock, target: WeightedTarget) -> Values:
    """Compute Spearman's ρ, Pearson's correlation of the mid-ranks that weights come to.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows, none constant.
    response : WeightedResponse
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]; exactly the negative for mirrored ranks.
    """
    ours = np.empty(target.n)
    rows, values, tied = _build_target_block(target)
    _fill_weighted_ranks(rows[0], values[0], bool(tied[0]), target.weights, ours)
    ours /= target.weight_sum  # of moderate size
    spread = float(np.sqrt((target.weights * ours * ours).sum()))
    out = np.empty(len(ordered.order))
    aim = target.weights * ours
    _fill_weighted_spearman(
        ordered.order, ordered.values, ordered.tied, target.weights, target.weight_sum, aim, spread, out
    )
    return out


def compute_weighted_pearson(ordered: SortedBlock, target: WeightedTarget) -> Values:
    """Compute Pearson's correlation about weighted means.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows; only their values are used.
    response : WeightedResponse
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]; 0 where a feature is constant.
    """
    aim, _ = target.centered_values
    weights = target.weights / target.weight_sum
    spread = float(np.sqrt((weights * aim * aim).sum()))
    # by a power of two, which is exact, so that squares neither overflow nor vanish
    _, exponent = np.frexp(np.abs(ordered.values).max(axis=1, initial=0.0))
    near_1 = np.ldexp(ordered.values, -exponent[:, None])
    out = np.empty(len(near_1))
    _fill_weighted_pearson(np.ascontiguousarray(near_1), weights, weights * aim, spread, out)
    return out


def _build_target_block(target: WeightedTarget) -> tuple[Rows, Values, Flags]:
    """Return the response as a block of one feature in order."""
    rows = np.arange(target.n, dtype=np.int32)[None, :]
    return rows, target.values[None, :], np.array([not target.numeric_target.is_untied])


@compile_kernel
def _fill_weighted_sums(
    order: Rows, values: Values, tied: Flags, weights: Values, weighted_target: Values, out: Values
) -> None:
    m, n = order.shape
    standing = np.empty(n)
    for f in range(m):
        _fill_weighted_ranks(order[f], values[f], tied[f], weights, standing)
        out[f] = _compute_dot(weighted_target, standing)


@compile_kernel
def _fill_weighted_spearman(
    order: Rows,
    values: Values,
    tied: Flags,
    weights: Values,
    total_weight: float,
    weighted_target: Values,
    target_norm: float,
    out: Values,
) -> None:
    m, n = order.shape
    standing, weighted = np.empty(n), np.empty(n)
    for f in range(m):
        _fill_weighted_ranks(order[f], values[f], tied[f], weights, standing)
        for i in range(n):
            standing[i] /= total_weight
            weighted[i] = weights[i] * standing[i]
        own = target_norm * np.sqrt(_compute_dot(weighted, standing))
        out[f] = min(1.0, max(-1.0, _compute_dot(weighted_target, standing) / own)) if own > 0.0 else 0.0


@compile_kernel
def _fill_weighted_ranks(rows: Rows, z: Values, tied: bool, weights: Values, out: Values) -> None:
    """Write S of rows that stand in order."""
    n, start, stop = rows.size, 0, rows.size
    below = above = 0.0
    for k in range(1, n + 1):
        if k == n or not tied or z[rows[k]] != z[rows[start]]:
            own = 0.0
            for j in range(start, k):
                own += weights[rows[j]]
                out[rows[j]] = below
            below += own
            start = k
    for k in range(n - 1, -1, -1):
        if k == 0 or not tied or z[rows[k]] != z[rows[k - 1]]:
            own = 0.0
            for j in range(k, stop):
                own += weights[rows[j]]
                out[rows[j]] -= above
            above += own
            stop = k


@compile_kernel
def _fill_weighted_pearson(
    values: Values, weights: Values, weighted_target: Values, target_norm: float, out: Values
) -> None:
    m, n = values.shape
    away, weighted = np.empty(n), np.empty(n)
    for f in range(m):
        away[:] = values[f]
        for _ in range(2):  # once more: what rounding leaves of the mean counts W times
            away -= _compute_dot(away, weights)
        for i in range(n):
            weighted[i] = weights[i] * away[i]
        own = target_norm * np.sqrt(_compute_dot(weighted, away))
        out[f] = min(1.0, max(-1.0, _compute_dot(weighted_target, away) / own)) if own > 0.0 else 0.0


@compile_kernel
def _compute_dot(a: Values, b: Values) -> float:
    total = 0.0
    for start in range(0, a.size, _BLOCK_ROWS):
        total += compute_simd_dot(a, b, start, min(start + _BLOCK_ROWS, a.size))
    return total
