"""T0, Spearman's ρ and Pearson's r of weighted rows.

With row weights w_i, S_i(θ) is the weight of the rows with a smaller θ than row i, minus that of the rows
with a larger θ. For integer weights it is 2 R_i − (n + 1), where R are the mid-ranks if each row is repeated
w_i times. One sort gives::

    Δ − T0(θ) = Σ_{i≠j} w_i w_j |y_i − y_j| s_ij / D = 2/D · Σ_i w_i y_i S_i(θ),    D = Σ_{i≠j} w_i w_j
    ρ(θ) = Σ_i w_i S_i(y) S_i(θ) / √(Σ_i w_i S_i(y)² · Σ_i w_i S_i(θ)²)

with s_ij = sign(θ_i − θ_j)·sign(y_i − y_j) and Δ = Σ_{i≠j} w_i w_j |y_i − y_j| / D. Equal weights give the T0
of Luo and Li (2024, eq. 18). Copies of a row do not differ in y, so T0/Δ, which orders the features, equals
that of repeated rows; T0 and Δ are those of repeated rows times (W² − W)/D, W = Σ w_i.

The weights below and above a row are summed from opposite ends. S is therefore as accurate for a row with
nearly all the weight as for the others, and exactly the negative for mirrored ranks. T0 is accurate to about
10⁻¹⁴·Δ for any weights, because Σ_{i≠j} w_i w_j |y_i − y_j| ≥ W Σ_i w_i |y_i − ȳ|.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.ranks._kernels import (
    fill_weighted_pearson,
    fill_weighted_ranks,
    fill_weighted_spearman,
    fill_weighted_sums,
)

if TYPE_CHECKING:
    from symscreen._typing import Flags, Rows, Values
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import WeightedValues


def compute_weighted_ranking_metric(ordered: SortedBlock, target: WeightedValues) -> Values:
    """Compute Δ − T0(θ) of each feature of a block.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows.
    target : WeightedValues
        The target.

    Returns
    -------
    float64 array, shape (m,)
        In [−Δ, Δ], in the target's unit; exactly the negative for mirrored ranks.
    """
    centered, exponent = target.centered_values
    sums = np.empty(len(ordered.order))
    fill_weighted_sums(
        ordered.order, ordered.values, ordered.tied, target.weights, target.weights * centered, sums
    )
    return np.asarray(np.ldexp(2.0 / target.pair_weight_sum * sums, exponent))


def compute_weighted_gini_mean_difference(target: WeightedValues) -> float:
    """Compute Δ, the mean of |y_i − y_j| over pairs of distinct rows with weights w_i w_j.

    Parameters
    ----------
    target : WeightedValues
        The target.

    Returns
    -------
    float
        Δ > 0, in the target's unit.
    """
    centered, exponent = target.centered_values
    sums = np.empty(1)
    fill_weighted_sums(*_build_target_block(target), target.weights, target.weights * centered, sums)
    return float(np.ldexp(2.0 / target.pair_weight_sum * sums[0], exponent))


def compute_weighted_spearman(ordered: SortedBlock, target: WeightedValues) -> Values:
    """Compute Spearman's ρ: the weighted Pearson correlation of the weighted mid-ranks.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows; none is constant.
    target : WeightedValues
        The target.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]; exactly the negative for mirrored ranks.
    """
    rows, values, tied = _build_target_block(target)
    target_ranks = np.empty(values.size)
    fill_weighted_ranks(rows[0], values[0], bool(tied[0]), target.weights, target_ranks)
    target_ranks /= target.weight_sum  # keeps squares far from overflow
    spread = float(np.sqrt((target.weights * target_ranks * target_ranks).sum()))
    out = np.empty(len(ordered.order))
    weighted_target = target.weights * target_ranks
    fill_weighted_spearman(
        ordered.order,
        ordered.values,
        ordered.tied,
        target.weights,
        target.weight_sum,
        weighted_target,
        spread,
        out,
    )
    return out


def compute_weighted_pearson(ordered: SortedBlock, target: WeightedValues) -> Values:
    """Compute Pearson's correlation with weighted means.

    Parameters
    ----------
    ordered : SortedBlock
        m features over the target's n rows; only their values are used.
    target : WeightedValues
        The target.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]; 0 for a constant feature.
    """
    centered, _ = target.centered_values
    weights = target.weights / target.weight_sum
    spread = float(np.sqrt((weights * centered * centered).sum()))
    # Scaling by a power of two is exact and keeps squares from overflow and underflow.
    _, exponent = np.frexp(np.abs(ordered.values).max(axis=1, initial=0.0))
    scaled = np.ldexp(ordered.values, -exponent[:, None])
    out = np.empty(len(scaled))
    fill_weighted_pearson(np.ascontiguousarray(scaled), weights, weights * centered, spread, out)
    return out


def _build_target_block(target: WeightedValues) -> tuple[Rows, Values, Flags]:
    """Return order, values and ties of the target as a block of one feature."""
    values = target.sorted_values
    rows = np.arange(values.n, dtype=np.int32)[None, :]
    return rows, values.values[None, :], np.array([not values.is_untied])
