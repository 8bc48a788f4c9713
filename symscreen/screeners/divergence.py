"""The T0 screener: concordant divergence (Luo and Li 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.response import Response
from symscreen.response.survival import SurvivalResponse
from symscreen.response.weighted import WeightedResponse
from symscreen.screeners.base import Screener, by_sign
from symscreen.statistics.binary_t0 import binary_metric
from symscreen.statistics.survival_t0 import survival_metric
from symscreen.statistics.t0 import gini_mean_difference, ranking_metric
from symscreen.statistics.t0_null import t0_null
from symscreen.statistics.weighted import weighted_metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response.kinds import AnyResponse, PairsResponse
    from symscreen.screeners.base import Sign
    from symscreen.statistics.order import Ordered

__all__ = ["T0"]


def _metric(
    ordered: Ordered, response: Response | PairsResponse | SurvivalResponse | WeightedResponse
) -> NDArray[np.float64]:
    if isinstance(response, Response):
        return ranking_metric(ordered, response)
    if isinstance(response, WeightedResponse):
        return weighted_metric(ordered, response)
    if isinstance(response, SurvivalResponse):
        return survival_metric(ordered, response)
    return binary_metric(ordered, response.binary)  # a sign-free mean: never negative


def _loss(metric: NDArray[np.float64], response: AnyResponse, sign: Sign) -> NDArray[np.float64]:
    # T0 = Δ − metric in [0, 2Δ], in units of Δ; a free sign takes min(T0, 2Δ − T0)
    scaled = metric / gini_mean_difference(response)
    return 1.0 - (np.abs(scaled) if sign == "free" else scaled)


def _score(metric: NDArray[np.float64], response: AnyResponse) -> NDArray[np.float64]:
    return gini_mean_difference(response) - metric


def _loss_of_score(t0: NDArray[np.float64], scale: float, sign: Sign) -> NDArray[np.float64]:
    # T0 / Δ in [0, 2]; a free sign takes min(T0, 2Δ − T0)
    share = t0 / scale
    return np.minimum(share, 2.0 - share) if sign == "free" else share


def _weights(response: Response) -> NDArray[np.float64]:
    centred, _ = response.centred
    return centred[response.group]


T0 = Screener(
    name="t0",
    sees="column",
    statistic=_metric,
    score=_score,
    loss=_loss,
    loss_of_score=_loss_of_score,
    direction=by_sign,
    blind_to="ranks",
    summary="concordant divergence T0 in [0, 2Δ], lower is better; Δ under independence; against a "
    "ranking, stages or classes, the mean of min(T0, 2Δ − T0) over pairs of labels or stages, or classes; "
    "of survival the share of comparable pairs that are discordant, doubled",
    assumes="the response rises or falls with the feature",
    fails="where the relation turns, as |x| does about 0; use xi there",
    cost="O(n log n) a feature",
    source="Luo and Li 2024, eq. 18",
    by_pairs=True,
    accepts=("numeric", "ranking", "stages", "classes", "survival", "weighted"),
    null=t0_null,
    weights=_weights,
)
