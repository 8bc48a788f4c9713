"""A column screener against several targets at once: one sort of each feature, the targets' mean or worst.

Targets have units of their own, so what is joined is the loss by each, from 0, the best there can be, to
about 1 under independence: of T0 it is min(T0, 2Δ − T0)/Δ with the target's own Δ, of a coefficient 1 − |r|.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.screeners.divergence import T0
from symscreen.statistics.moved import moved
from symscreen.statistics.several_t0 import ranking_metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response.several import SeveralResponse
    from symscreen.screeners.base import Screener, Sign
    from symscreen.statistics.order import Ordered

    Scores = NDArray[np.float64]

__all__ = ["Across", "across_targets"]

Across = Literal["mean", "worst"]


def across_targets(screener: Screener, across: Across) -> Screener:
    """Make a screener of several targets of one that takes a single one.

    Parameters
    ----------
    screener : Screener
        It takes numbers.
    across : {"mean", "worst"}
        Whether the loss is the targets' mean, or the largest.

    Returns
    -------
    Screener
        Of the same name, for a `SeveralResponse`. Where the best score of the given one is 0, as T0's is, the
        score is the joint loss; else one less the loss. It has no sign.

    Examples
    --------
    >>> from symscreen.screeners.divergence import T0
    >>> from symscreen.response.several import several_of
    >>> from symscreen.statistics.order import order_features
    >>> y = several_of({"a": np.array([1.0, 2.0, 3.0]), "b": np.array([3.0, 1.0, 2.0])})
    >>> block = order_features(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]]))
    >>> mean, worst = across_targets(T0, "mean"), across_targets(T0, "worst")
    >>> mean.score(mean.statistic(block, y), y).tolist(), worst.score(worst.statistic(block, y), y).tolist()
    ([0.25, 0.25], [0.5, 0.5])
    """
    lower_is_better = float(screener.loss_of_score(np.zeros(1), 1.0, "free")[0]) == 0.0

    def statistic(ordered: Ordered, response: SeveralResponse) -> Scores:
        found = _statistics(screener, ordered, response)
        losses = [
            screener.loss(own, target, "free") for own, target in zip(found, response.targets, strict=True)
        ]
        if across == "worst":
            return np.asarray(1.0 - np.max(losses, axis=0))
        total = np.zeros(len(losses[0]))
        for each in losses:  # one by one: numpy sums a single feature in another order than several
            total += each
        return np.asarray(1.0 - total / len(losses))

    def loss(statistics: Scores, response: object, sign: Sign) -> Scores:
        del response, sign
        return 1.0 - statistics

    def score(statistics: Scores, response: object) -> Scores:
        del response
        return 1.0 - statistics if lower_is_better else statistics

    return replace(
        screener,
        statistic=statistic,
        loss=loss,
        score=score,
        by_pairs=False,
        accepts=("several",),
        null=None,
        weights=None,
    )


def _statistics(screener: Screener, ordered: Ordered, response: SeveralResponse) -> list[Scores]:
    """Compute the screener's statistic by each target."""
    if screener.statistic is T0.statistic:
        return list(ranking_metrics(ordered, response))
    asked = zip(response.targets, response.rows, response.places, strict=True)
    return [screener.statistic(moved(ordered, rows, places), target) for target, rows, places in asked]
