"""Column screeners for multi-output targets: the mean or the maximum of the losses of the outputs.

Each feature is sorted once. Outputs have different units, so their losses are combined, from 0 for a perfect
feature to about 1 under independence. For T0 the loss is min(T0, 2Δ − T0)/Δ with Δ of the output; for a
coefficient it is 1 − |r|.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.screeners.column.t0 import T0
from symscreen.statistics.ranks.sorted_block import permute_block_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.screeners.base import Screener, Sign
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.multioutput import MultiOutputTarget

    Scores = NDArray[np.float64]


TargetAggregation = Literal["mean", "worst"]


def make_multioutput_screener(screener: Screener, aggregate: TargetAggregation) -> Screener:
    """Make a screener for multi-output targets from one for numeric targets.

    Parameters
    ----------
    screener : Screener
        A screener for numeric targets.
    aggregate : {"mean", "worst"}
        Whether the loss is the mean or the maximum over the outputs.

    Returns
    -------
    Screener
        A screener with the same name for `MultiOutputTarget`. If the best score of the original is 0, as for
        T0, the score is the combined loss; otherwise it is 1 − loss. It has no sign.

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
        """Compute 1 − loss, combined over the outputs; shape (m,)."""
        statistics = _compute_statistics(screener, ordered, multioutput_target)
        losses = [
            screener.loss(output_statistics, target, "free")
            for output_statistics, target in zip(statistics, multioutput_target.outputs, strict=True)
        ]
        if aggregate == "worst":
            return np.asarray(1.0 - np.max(losses, axis=0))
        total = np.zeros(len(losses[0]))
        for output_losses in losses:  # one by one: numpy sums one feature in a different order than several
            total += output_losses
        return np.asarray(1.0 - total / len(losses))

    def compute_loss(statistics: Scores, target: object, sign: Sign) -> Scores:
        """Return the combined loss, shape (m,)."""
        del target, sign
        return 1.0 - statistics

    def compute_score(statistics: Scores, target: object) -> Scores:
        """Return the combined loss, or 1 − loss; shape (m,)."""
        del target
        return 1.0 - statistics if lower_is_better else statistics

    return replace(
        screener,
        statistic=compute_statistic,
        loss=compute_loss,
        score=compute_score,
        is_pairwise=False,
        is_target_tie_invariant=False,
        target_types=("several",),
        null_distribution=None,
        rank_weights=None,
    )


def _compute_statistics(
    screener: Screener, ordered: SortedBlock, multioutput_target: MultiOutputTarget
) -> list[Scores]:
    """Compute the screener's statistic for each output, shapes (m,)."""
    if screener.statistic is T0.statistic:
        return list(multioutput_target.compute_ranking_metrics(ordered))
    outputs = zip(
        multioutput_target.outputs,
        multioutput_target.sort_order,
        multioutput_target.sorted_positions,
        strict=True,
    )
    return [
        screener.statistic(permute_block_rows(ordered, rows, positions), target)
        for target, rows, positions in outputs
    ]
