"""How far the screeners of a screen agree: their ranks of the same features, compared in pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ScreenerComparison:
    """Ranks of the same q features by several screeners.

    Parameters
    ----------
    ranks : dict of str to float64 array, shape (q,)
        For each screener, one plus the number of features with a smaller loss. NaN if the screener did not
        score the feature.
    worst_ranks : dict of str to float64 array, shape (q,)
        The same with tied features counted as better: the largest rank that a tied feature can have.
    """

    ranks: dict[str, NDArray[np.float64]]
    worst_ranks: dict[str, NDArray[np.float64]]


def compare_screeners(losses: dict[str, NDArray[np.float64]]) -> ScreenerComparison:
    """Rank features by the losses of each screener.

    Parameters
    ----------
    losses : dict of str to float64 array, shape (q,)
        Losses of each screener; smaller is better. NaN if the screener did not score the feature.

    Returns
    -------
    ScreenerComparison

    Examples
    --------
    >>> compare_screeners({"a": np.array([0.1, 0.5, 0.1])}).ranks["a"].tolist()
    [1.0, 3.0, 1.0]
    """
    ranks: dict[str, NDArray[np.float64]] = {}
    worst_ranks: dict[str, NDArray[np.float64]] = {}
    for name, loss in losses.items():
        scored = np.sort(loss[~np.isnan(loss)])
        nan_mask = np.where(np.isnan(loss), np.nan, 0.0)
        ranks[name] = nan_mask + np.searchsorted(scored, loss, side="left").astype(np.float64) + 1.0
        worst_ranks[name] = nan_mask + np.searchsorted(scored, loss, side="right").astype(np.float64)
    return ScreenerComparison(ranks, worst_ranks)


def compute_agreement(comparison: ScreenerComparison, top: int) -> pd.DataFrame:
    """Compute the agreement of each pair of screeners.

    Parameters
    ----------
    comparison : ScreenerComparison
        Ranks by each screener.
    top : int
        K, the number of best features whose overlap is computed. At most half of the common features are
        used, because the overlap of all features is always complete.

    Returns
    -------
    pandas.DataFrame
        One row per pair of screeners: ``first``, ``second``, ``features`` (number of features that both
        scored), ``kendall`` (τ-b of their ranks; NaN if a screener ties all of them), ``top`` (K),
        ``overlap`` (of the features that are certainly among the best K of one or both screeners, the share
        that both have in common; NaN if ties leave none).

    Examples
    --------
    >>> ranks = compare_screeners({"a": np.array([0.1, 0.2, 0.3]), "b": np.array([1.0, 2.0, 3.0])})
    >>> compute_agreement(ranks, top=2)[["kendall", "top", "overlap"]].to_numpy().tolist()
    [[1.0, 1.0, 1.0]]
    """
    import pandas as pd

    rows = []
    for first, second in combinations(comparison.ranks, 2):
        first_ranks, second_ranks = comparison.ranks[first], comparison.ranks[second]
        is_common = ~np.isnan(first_ranks) & ~np.isnan(second_ranks)
        n_common = int(is_common.sum())
        k = max(1, min(top, n_common // 2))
        top_k = [(comparison.worst_ranks[name] <= k) & is_common for name in (first, second)]
        n_either = int((top_k[0] | top_k[1]).sum())
        overlap = int((top_k[0] & top_k[1]).sum()) / n_either if n_either else np.nan
        kendall = _compute_kendall(first_ranks[is_common], second_ranks[is_common])
        rows.append((first, second, n_common, kendall, k, overlap))
    return pd.DataFrame(rows, columns=["first", "second", "features", "kendall", "top", "overlap"])


def _compute_kendall(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Compute Kendall's τ-b of two arrays of shape (m,); NaN if one is constant."""
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    from scipy.stats import kendalltau

    return float(kendalltau(a, b).statistic)
