"""The screeners there are, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.screeners.bart import BART
from symscreen.screeners.correlation import KENDALL, PEARSON, SPEARMAN
from symscreen.screeners.crit import CRIT
from symscreen.screeners.dependence import XI
from symscreen.screeners.divergence import T0
from symscreen.screeners.forest import FOREST
from symscreen.screeners.lasso import LASSO
from symscreen.screeners.nonconvex import MCP, SCAD
from symscreen.screeners.stepwise import STEPWISE

if TYPE_CHECKING:
    from symscreen.screeners.base import Screener
    from symscreen.screeners.joint import JointScreener

__all__ = ["SCREENERS"]

_ALL: tuple[Screener | JointScreener, ...] = (
    T0,
    XI,
    KENDALL,
    SPEARMAN,
    PEARSON,
    LASSO,
    SCAD,
    MCP,
    STEPWISE,
    BART,
    CRIT,
    FOREST,
)

SCREENERS: dict[str, Screener | JointScreener] = {one.name: one for one in _ALL}
