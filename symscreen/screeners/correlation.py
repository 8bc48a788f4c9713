"""The correlation screeners: Kendall, Spearman, Pearson."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.response.weighted import WeightedResponse
from symscreen.screeners.base import Screener, by_magnitude, by_sign
from symscreen.statistics.coefficient_nulls import kendall_null, pearson_null, spearman_null
from symscreen.statistics.correlation import pearson_of, spearman_of
from symscreen.statistics.kendall import kendall_of
from symscreen.statistics.weighted import weighted_pearson, weighted_spearman

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response
    from symscreen.statistics.order import Ordered

__all__ = ["KENDALL", "PEARSON", "SPEARMAN"]


def _ranks(response: Response) -> NDArray[np.float64]:
    return response.doubled_ranks.astype(np.float64)


def _spearman(ordered: Ordered, response: Response | WeightedResponse) -> NDArray[np.float64]:
    if isinstance(response, WeightedResponse):
        return weighted_spearman(ordered, response)
    return spearman_of(ordered, response)


def _pearson(ordered: Ordered, response: Response | WeightedResponse) -> NDArray[np.float64]:
    if isinstance(response, WeightedResponse):
        return weighted_pearson(ordered, response)
    return pearson_of(ordered, response)


KENDALL = Screener(
    name="kendall",
    sees="column",
    statistic=kendall_of,
    loss=by_magnitude,
    direction=by_sign,
    blind_to="ranks",
    summary="Kendall's τ-b in [−1, 1], corrected for ties in both",
    assumes="the response rises or falls with the feature",
    fails="where the relation turns; it counts pairs and does not weigh how far they lie apart",
    cost="O(n log n) a feature, five times T0",
    source="Kendall 1945, Biometrika 33, 239-251; Knight 1966",
    null=kendall_null,
)
SPEARMAN = Screener(
    name="spearman",
    sees="column",
    statistic=_spearman,
    loss=by_magnitude,
    direction=by_sign,
    blind_to="ranks",
    summary="Spearman's ρ in [−1, 1], Pearson's correlation of the mid-ranks",
    assumes="the response rises or falls with the feature",
    fails="where the relation turns",
    cost="O(n log n) a feature",
    source="Spearman 1904, Am. J. Psychol. 15, 72-101",
    accepts=("numeric", "weighted"),
    null=spearman_null,
    weights=_ranks,
)
PEARSON = Screener(
    name="pearson",
    sees="column",
    statistic=_pearson,
    loss=by_magnitude,
    direction=by_sign,
    blind_to="affine",
    summary="Pearson's correlation in [−1, 1]",
    assumes="the response is linear in the feature",
    fails="with outliers, and where the feature is right only up to a curve",
    cost="O(n log n) a feature, for the rows are put in order whichever screener ranks",
    source="Pearson 1895, Proc. R. Soc. 58, 240-242",
    accepts=("numeric", "weighted"),
    null=pearson_null,
)
