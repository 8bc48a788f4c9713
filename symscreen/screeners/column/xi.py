"""The ξ screener: dependence of any shape (Chatterjee 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.screeners.base import Screener
from symscreen.statistics.nulls.xi_null import build_xi_null
from symscreen.targets.registry import list_types_with_method

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.screeners.base import Sign
    from symscreen.statistics.ranks.sorted_block import SortedBlock


def _compute_xi(ordered: SortedBlock, target: Any) -> NDArray[np.float64]:
    """Compute ξ of each feature, shape (m,)."""
    xi: NDArray[np.float64] = target.compute_xi(ordered)
    return xi


def _compute_loss(xi: NDArray[np.float64], target: object, sign: Sign) -> NDArray[np.float64]:
    """Compute the loss 1 − ξ, shape (m,)."""
    del target, sign  # ξ has no sign
    return 1.0 - xi


def _compute_loss_from_score(xi: NDArray[np.float64], scale: float, sign: Sign) -> NDArray[np.float64]:
    """Compute the loss 1 − ξ from the score, shape (m,)."""
    del scale, sign
    return 1.0 - xi


def _compute_direction(xi: NDArray[np.float64]) -> NDArray[np.int8]:
    """Return 0: ξ has no direction."""
    return np.zeros(len(xi), dtype=np.int8)


XI = Screener(
    name="xi",
    scope="column",
    statistic=_compute_xi,
    loss=_compute_loss,
    loss_from_score=_compute_loss_from_score,
    direction=_compute_direction,
    equivalence="ranks",
    summary="Chatterjee's ξ, near 1 if the target is a function of the feature, near 0 under independence; "
    "for classes the mean over one-vs-rest",
    assumes="the target is a function of the feature, of any shape, plus noise",
    fails="with noise it has less power than T0 for monotone relations; where the target varies among rows "
    "tied in the feature, the mean over their orders draws ξ to 0 and the p-value is only an upper bound",
    cost="O(n log n) per feature",
    source="Chatterjee 2021, J. Am. Stat. Assoc. 116, 2009-2022",
    target_types=list_types_with_method("compute_xi"),
    is_target_tie_invariant=True,
    null_distribution=build_xi_null,
)
