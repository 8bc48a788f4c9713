"""What data can find: how often a planted formula is among the best, by the size of the noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Power"]


@dataclass(frozen=True, eq=False)
class Power:
    """What data can find.

    Parameters
    ----------
    table : pandas.DataFrame
        One row a noise ratio, ascending: ``noise_ratio``, ``repeats``, ``found`` (in how many of them the
        feature's class was among the best K), ``probability``, its Wilson interval at 95 % ``low`` and
        ``high``, ``median_rank`` and ``mean_rank`` of the class.
    truth, feature : str
        What was planted, and what was looked for.
    held_as : str
        The member of the feature's class that the space holds, the closest to it; empty where cuts make the
        space depend on the response.
    relation : str
        How that member is related to the feature: see `symscreen.pipeline.membership.RELATIONS`.
    top : int
        K.
    features : int or None
        How many features the space has, at most; None where it depends on the response.
    rows : int
        How many rows there are.
    screener : str
        Who ranks.
    lost_at : tuple of float, or None
        Between which noise ratios the probability falls below one half; twice the same number where it can
        be interpolated on the logarithm of the ratio, and twice 0 where it is not found even without noise.
        None where it does not fall below it.
    notices : tuple of str
        For people.
    """

    table: pd.DataFrame
    truth: str
    feature: str
    held_as: str
    relation: str
    top: int
    features: int | None
    rows: int
    screener: str
    lost_at: tuple[float, float] | None
    notices: tuple[str, ...]
