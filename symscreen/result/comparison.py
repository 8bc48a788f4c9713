"""Many screeners over the same features: the rank that each gives, and how far they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["Comparison", "agreement", "compared"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The ranks that screeners give to the same features.

    Parameters
    ----------
    ranks : dict of str to float64 array, shape (q,)
        For each screener, how many features it puts before each, plus 1; NaN where it was not shown one.
    last : dict of str to float64 array, shape (q,)
        The same with ties counted before: the worst rank that a tied feature can have.
    """

    ranks: dict[str, NDArray[np.float64]]
    last: dict[str, NDArray[np.float64]]


def compared(losses: dict[str, NDArray[np.float64]]) -> Comparison:
    """Rank features by each screener's losses.

    Parameters
    ----------
    losses : dict of str to float64 array, shape (q,)
        Ascending is better; NaN where a screener was not shown a feature.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> compared({"a": np.array([0.1, 0.5, 0.1])}).ranks["a"].tolist()
    [1.0, 3.0, 1.0]
    """
    ranks: dict[str, NDArray[np.float64]] = {}
    last: dict[str, NDArray[np.float64]] = {}
    for name, loss in losses.items():
        known = np.sort(loss[~np.isnan(loss)])
        seen = np.where(np.isnan(loss), np.nan, 0.0)
        ranks[name] = seen + np.searchsorted(known, loss, side="left").astype(np.float64) + 1.0
        last[name] = seen + np.searchsorted(known, loss, side="right").astype(np.float64)
    return Comparison(ranks, last)


def agreement(comparison: Comparison, top: int) -> pd.DataFrame:
    """Say how far each two screeners agree.

    Parameters
    ----------
    comparison : Comparison
        Their ranks.
    top : int
        K, the size of the head of a ranking; of few features half of them, for all of them are always common.

    Returns
    -------
    pandas.DataFrame
        One row a pair of screeners: ``first``, ``second``, ``features`` (how many both ranked), ``kendall``
        (τ-b of the two rankings of these; NaN where one ties them all), ``top`` (K), ``overlap`` (of the
        features that one or the other has surely among its best K, the share that both have; NaN where ties
        leave none).

    Examples
    --------
    >>> ranks = compared({"a": np.array([0.1, 0.2, 0.3]), "b": np.array([1.0, 2.0, 3.0])})
    >>> agreement(ranks, top=2)[["kendall", "top", "overlap"]].to_numpy().tolist()
    [[1.0, 1.0, 1.0]]
    """
    import pandas as pd

    names = list(comparison.ranks)
    rows = []
    for place, first in enumerate(names):
        for second in names[place + 1 :]:
            a, b = comparison.ranks[first], comparison.ranks[second]
            both = ~np.isnan(a) & ~np.isnan(b)
            features = int(both.sum())
            best = max(1, min(top, features // 2))
            heads = [(comparison.last[name] <= best) & both for name in (first, second)]
            either = int((heads[0] | heads[1]).sum())
            overlap = int((heads[0] & heads[1]).sum()) / either if either else np.nan
            rows.append((first, second, features, _kendall(a[both], b[both]), best, overlap))
    return pd.DataFrame(rows, columns=["first", "second", "features", "kendall", "top", "overlap"])


def _kendall(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    from scipy.stats import kendalltau

    return float(kendalltau(a, b).statistic)
