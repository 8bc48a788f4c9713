"""The ξ screener: dependence of any shape (Chatterjee 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.response.classes import ClassesResponse
from symscreen.screeners.base import Screener
from symscreen.statistics.classes_xi import classes_xi
from symscreen.statistics.xi import xi_of
from symscreen.statistics.xi_null import xi_null

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response
    from symscreen.screeners.base import Sign
    from symscreen.statistics.order import Ordered

__all__ = ["XI"]


def _xi(ordered: Ordered, response: Response | ClassesResponse) -> NDArray[np.float64]:
    if isinstance(response, ClassesResponse):
        return classes_xi(ordered, response)
    return xi_of(ordered, response)


def _loss(xi: NDArray[np.float64], response: object, sign: Sign) -> NDArray[np.float64]:
    del response, sign  # ξ has no sign
    return 1.0 - xi


def _loss_of_score(xi: NDArray[np.float64], scale: float, sign: Sign) -> NDArray[np.float64]:
    del scale, sign
    return 1.0 - xi


def _direction(xi: NDArray[np.float64]) -> NDArray[np.int8]:
    return np.zeros(len(xi), dtype=np.int8)


XI = Screener(
    name="xi",
    sees="column",
    statistic=_xi,
    loss=_loss,
    loss_of_score=_loss_of_score,
    direction=_direction,
    blind_to="ranks",
    summary="Chatterjee's ξ, near 1 where the response is a function of the feature, near 0 if independent; "
    "against classes the mean over one and the rest",
    assumes="the response is a function of the feature, of any shape, plus noise",
    fails="under noise it has less power than T0 for rising or falling relations; ties in θ are averaged",
    cost="O(n log n) a feature",
    source="Chatterjee 2021, J. Am. Stat. Assoc. 116, 2009-2022",
    accepts=("numeric", "classes"),
    null=xi_null,
)
