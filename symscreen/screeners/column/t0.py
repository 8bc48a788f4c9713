"""The T0 screener: concordant divergence (Luo and Li 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.screeners.base import Screener, compute_sign_direction
from symscreen.statistics.nulls.t0_null import build_t0_null
from symscreen.targets.registry import list_types_with_method

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.screeners.base import Sign
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import NumericTarget, Target


def _compute_metric(ordered: SortedBlock, target: Any) -> NDArray[np.float64]:
    """Compute Δ − T0 of each feature, shape (m,); never negative for targets without a sign."""
    metric: NDArray[np.float64] = target.compute_ranking_metric(ordered)
    return metric


def _compute_loss(metric: NDArray[np.float64], target: Target, sign: Sign) -> NDArray[np.float64]:
    """Compute T0 / Δ, or min(T0, 2Δ − T0) / Δ if the sign is free, from Δ − T0, shape (m,)."""
    scaled = metric / target.gini_mean_difference
    return 1.0 - (np.abs(scaled) if sign == "free" else scaled)


def _compute_score(metric: NDArray[np.float64], target: Target) -> NDArray[np.float64]:
    """Compute T0 from Δ − T0, shape (m,)."""
    return target.gini_mean_difference - metric


def _compute_loss_from_score(t0: NDArray[np.float64], scale: float, sign: Sign) -> NDArray[np.float64]:
    """Compute the loss from T0, shape (m,)."""
    share = t0 / scale
    return np.minimum(share, 2.0 - share) if sign == "free" else share


def _compute_rank_weights(target: NumericTarget) -> NDArray[np.float64]:
    """Return the centred target, shape (n,)."""
    centered, _ = target.centered_values
    return centered[target.tie_groups]


T0 = Screener(
    name="t0",
    scope="column",
    statistic=_compute_metric,
    score=_compute_score,
    loss=_compute_loss,
    loss_from_score=_compute_loss_from_score,
    direction=compute_sign_direction,
    equivalence="ranks",
    summary="concordant divergence T0 in [0, 2Δ], lower is better, Δ under independence; for rankings, "
    "stages and classes the mean of min(T0, 2Δ − T0) over pairs of labels, stages or classes; for survival "
    "twice the share of discordant comparable pairs",
    assumes="the target rises or falls with the feature",
    fails="for non-monotone relations, such as |x| around 0; use xi for them",
    cost="O(n log n) per feature",
    source="Luo and Li 2024, eq. 18",
    is_pairwise=True,
    target_types=list_types_with_method("compute_ranking_metric"),
    is_target_tie_invariant=True,
    null_distribution=build_t0_null,
    rank_weights=_compute_rank_weights,
)
