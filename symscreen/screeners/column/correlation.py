"""Correlation screeners: Kendall, Spearman and Pearson."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.screeners.base import Screener, compute_correlation_loss, compute_sign_direction
from symscreen.statistics.nulls.correlation_nulls import (
    build_pearson_null,
    build_spearman_null,
)
from symscreen.statistics.nulls.kendall_null import build_kendall_null
from symscreen.statistics.ranks.correlations import compute_kendall
from symscreen.targets.registry import list_types_with_method

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import NumericTarget


def _compute_rank_weights(target: NumericTarget) -> NDArray[np.float64]:
    """Return twice the ranks of the target, shape (n,)."""
    return target.doubled_ranks.astype(np.float64)


def _compute_spearman(ordered: SortedBlock, target: Any) -> NDArray[np.float64]:
    """Compute Spearman's ρ of each feature, shape (m,)."""
    rho: NDArray[np.float64] = target.compute_spearman(ordered)
    return rho


def _compute_pearson(ordered: SortedBlock, target: Any) -> NDArray[np.float64]:
    """Compute Pearson's r of each feature, shape (m,)."""
    r: NDArray[np.float64] = target.compute_pearson(ordered)
    return r


KENDALL = Screener(
    name="kendall",
    scope="column",
    statistic=compute_kendall,
    loss=compute_correlation_loss,
    direction=compute_sign_direction,
    equivalence="ranks",
    summary="Kendall's τ-b in [−1, 1], corrected for ties in both",
    assumes="the target rises or falls with the feature",
    fails="for non-monotone relations; it counts pairs regardless of the size of their difference",
    cost="O(n log n) per feature, five times T0",
    source="Kendall 1945, Biometrika 33, 239-251; Knight 1966",
    target_types=("numeric",),
    null_distribution=build_kendall_null,
)
SPEARMAN = Screener(
    name="spearman",
    scope="column",
    statistic=_compute_spearman,
    loss=compute_correlation_loss,
    direction=compute_sign_direction,
    equivalence="ranks",
    summary="Spearman's ρ in [−1, 1], Pearson's correlation of the mid-ranks",
    assumes="the target rises or falls with the feature",
    fails="for non-monotone relations",
    cost="O(n log n) per feature",
    source="Spearman 1904, Am. J. Psychol. 15, 72-101",
    target_types=list_types_with_method("compute_spearman"),
    null_distribution=build_spearman_null,
    rank_weights=_compute_rank_weights,
)
PEARSON = Screener(
    name="pearson",
    scope="column",
    statistic=_compute_pearson,
    loss=compute_correlation_loss,
    direction=compute_sign_direction,
    equivalence="affine",
    summary="Pearson's correlation in [−1, 1]",
    assumes="the target is linear in the feature",
    fails="with outliers, and for features that are correct only up to a nonlinear function",
    cost="O(n log n) per feature, because rows are sorted for any ranking screener",
    source="Pearson 1895, Proc. R. Soc. 58, 240-242",
    target_types=list_types_with_method("compute_pearson"),
    null_distribution=build_pearson_null,
)
