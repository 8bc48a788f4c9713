"""The null distribution of T0: Δ − T0 is proportional to the linear rank statistic Σ_i y_i R_i(θ)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.statistics.nulls.linear_rank_null import build_linear_rank_null

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from symscreen.screeners.base import Sign
    from symscreen.statistics.nulls.linear_rank_null import LinearRankNull
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.statistics.ranks.sorted_values import SortedValues


@dataclass(frozen=True, eq=False)
class T0Null:
    """P-values of Δ − T0 for one target; implements `NullDistribution` of `null_table`.

    Parameters
    ----------
    rank_null : LinearRankNull
        The distribution of Σ y_i R_i.
    scale : float
        The standard deviation of Δ − T0 of an untied feature over all permutations, in the target's unit.
    """

    rank_null: LinearRankNull
    scale: float

    def __call__(
        self, ordered: SortedBlock, statistics: NDArray[np.float64], sign: Sign
    ) -> NDArray[np.float64]:
        """Compute the p-values of a block."""
        return self.rank_null.compute_p_values(ordered, statistics / self.scale, sign)

    def find_bounds(self, ordered: SortedBlock) -> NDArray[np.bool_]:
        """Find the features whose p-values are upper bounds, shape (m,)."""
        return self.rank_null.find_bounds(ordered)


def build_t0_null(target: SortedValues, seed: int) -> T0Null:
    """Build the null distribution of T0 for a target.

    Parameters
    ----------
    target : SortedValues
        The target.
    seed : int
        The seed of the random permutations, not negative.

    Returns
    -------
    T0Null
    """
    centered, exponent = target.centered_values
    n = target.n
    squares = float((target.tie_group_sizes * centered * centered).sum())
    deviation = math.sqrt(squares * n * (n + 1.0) / 12.0)  # exact for Σ y_i R_i, with ties in y
    scale = math.ldexp(4.0 / (n * (n - 1.0)) * deviation, exponent)
    return T0Null(build_linear_rank_null(centered[target.tie_groups], seed), scale)
