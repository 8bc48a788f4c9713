"""A column screener against several targets at once: one sort of each feature, the targets' mean or worst.

Targets have units of their own, so what is joined is the loss by each, from 0, the best there can be, to
about 1 under independence: of T0 it is min(T0, 2Δ − T0)/Δ with the target's own Δ, of a coefficient 1 − |r|.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.screeners.column.t0 import T0
from symscreen.statistics.ranks.sorted_block import permute_block_rows
from symscreen.statistics.ranks.t0 import compute_multioutput_ranking_metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.screeners.base import Screener, Sign
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.multioutput import MultiOutputTarget

    Scores = NDArray[np.float64]

__all__ = ["TargetAggregation", "make_multioutput_screener"]

TargetAggregation = Literal["mean", "worst"]


def make_multioutput_screener(screener: Screener, across: TargetAggregation) -> Screener:
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
        Of the same name, for a `MultiOutputTarget`. Where the best score of the given one is 0, as T0's is,
        the score is the joint loss; else one less the loss. It has no sign.

    Examples
    --------
    >>> from symscreen.screeners.column.t0 import T0
    >>> from symscreen.targets.multioutput import build_multi_output_target
    >>> from symscreen.statistics.ranks.sorted_block import sort_block
    >>> y = build_multi_output_target({"a": np.array([1.0, 2.0, 3.0]), "b": np.array([3.0, 1.0, 2.0])})
    >>> block = sort_block(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]]))
    >>> mean, worst = make_multioutput_screener(T0, "mean"), make_multioutput_screener(T0, "worst")
    >>> mean.score(mean.statistic(block, y), y).tolist(), worst.score(worst.statistic(block, y), y).tolist()
    ([0.25, 0.25], [0.5, 0.5])
    """
    lower_is_better = float(screener.loss_from_score(np.zeros(1), 1.0, "free")[0]) == 0.0

    def compute_statistic(ordered: SortedBlock, multioutput_target: MultiOutputTarget) -> Scores:
        found = _compute_statistics(screener, ordered, multioutput_target)
        losses = [
            screener.loss(own, target, "free")
            for own, target in zip(found, multioutput_target.outputs, strict=True)
        ]
        if across == "worst":
            return np.asarray(1.0 - np.max(losses, axis=0))
        total = np.zeros(len(losses[0]))
        for each in losses:  # one by one: numpy sums a single feature in another order than several
            total += each
        return np.asarray(1.0 - total / len(losses))

    def compute_loss(statistics: Scores, target: object, sign: Sign) -> Scores:
        del target, sign
        return 1.0 - statistics

    def compute_score(statistics: Scores, target: object) -> Scores:
        del target
        return 1.0 - statistics if lower_is_better else statistics

    return replace(
        screener,
        statistic=compute_statistic,
        loss=compute_loss,
        score=compute_score,
        is_pairwise=False,
        target_types=("several",),
        null_distribution=None,
        rank_weights=None,
    )


def _compute_statistics(
    screener: Screener, ordered: SortedBlock, multioutput_target: MultiOutputTarget
) -> list[Scores]:
    """Compute the screener's statistic by each target."""
    if screener.statistic is T0.statistic:
        return list(compute_multioutput_ranking_metrics(ordered, multioutput_target))
    asked = zip(
        multioutput_target.outputs,
        multioutput_target.sort_order,
        multioutput_target.sorted_positions,
        strict=True,
    )
    return [
        screener.statistic(permute_block_rows(ordered, rows, places), target)
        for target, rows, places in asked
    ]
