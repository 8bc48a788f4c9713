"""The T0 screener: concordant divergence (Luo and Li 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.screeners.base import Screener, compute_sign_direction
from symscreen.statistics.nulls.t0_null import build_t0_null
from symscreen.statistics.ranks.t0 import (
    compute_binary_ranking_metric,
    compute_gini_mean_difference,
    compute_ranking_metric,
    compute_survival_ranking_metric,
)
from symscreen.statistics.ranks.weighted_ranks import compute_weighted_ranking_metric
from symscreen.targets import NumericTarget
from symscreen.targets.survival import SurvivalTarget
from symscreen.targets.weighted import WeightedTarget

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.screeners.base import Sign
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.registry import BinaryDecomposableTarget, Target


__all__ = ["T0"]


def _compute_metric(
    ordered: SortedBlock, target: NumericTarget | BinaryDecomposableTarget | SurvivalTarget | WeightedTarget
) -> NDArray[np.float64]:
    if isinstance(target, NumericTarget):
        return compute_ranking_metric(ordered, target)
    if isinstance(target, WeightedTarget):
        return compute_weighted_ranking_metric(ordered, target)
    if isinstance(target, SurvivalTarget):
        return compute_survival_ranking_metric(ordered, target)
    return compute_binary_ranking_metric(ordered, target.binary_targets)  # a sign-free mean: never negative


def _compute_loss(metric: NDArray[np.float64], target: Target, sign: Sign) -> NDArray[np.float64]:
    # T0 = Δ − metric in [0, 2Δ], in units of Δ; a free sign takes min(T0, 2Δ − T0)
    scaled = metric / compute_gini_mean_difference(target)
    return 1.0 - (np.abs(scaled) if sign == "free" else scaled)


def _compute_score(metric: NDArray[np.float64], target: Target) -> NDArray[np.float64]:
    return compute_gini_mean_difference(target) - metric


def _compute_loss_from_score(t0: NDArray[np.float64], scale: float, sign: Sign) -> NDArray[np.float64]:
    # T0 / Δ in [0, 2]; a free sign takes min(T0, 2Δ − T0)
    share = t0 / scale
    return np.minimum(share, 2.0 - share) if sign == "free" else share


def _compute_rank_weights(target: NumericTarget) -> NDArray[np.float64]:
    centred, _ = target.centered_values
    return centred[target.tie_groups]


T0 = Screener(
    name="t0",
    scope="column",
    statistic=_compute_metric,
    score=_compute_score,
    loss=_compute_loss,
    loss_from_score=_compute_loss_from_score,
    direction=compute_sign_direction,
    equivalence="ranks",
    summary="concordant divergence T0 in [0, 2Δ], lower is better; Δ under independence; against a "
    "ranking, stages or classes, the mean of min(T0, 2Δ − T0) over pairs of labels or stages, or classes; "
    "of survival the share of comparable pairs that are discordant, doubled",
    assumes="the response rises or falls with the feature",
    fails="where the relation turns, as |x| does about 0; use xi there",
    cost="O(n log n) a feature",
    source="Luo and Li 2024, eq. 18",
    is_pairwise=True,
    target_types=("numeric", "ranking", "stages", "classes", "survival", "weighted"),
    null_distribution=build_t0_null,
    rank_weights=_compute_rank_weights,
)
