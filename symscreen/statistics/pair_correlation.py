"""How far a feature goes along with rankings: Pearson's correlation with the pairs of labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.correlation import correlations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.ranking_response import RankingResponse

__all__ = ["pair_correlations"]


def pair_correlations(values: NDArray[np.float64], response: RankingResponse) -> NDArray[np.float64]:
    """Compute the mean of |Pearson's correlation| with the signs of the pairs of labels.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row; finite.
    response : RankingResponse
        The response. A pair is judged by the rows that count for it, and weighs as many as they are; a
        feature that is constant there has the correlation 0.

    Returns
    -------
    float64 array, shape (m,)
        In [0, 1].

    Examples
    --------
    >>> from symscreen.label_ranking import read_rankings
    >>> from symscreen.ranking_response import RankingResponse
    >>> y = RankingResponse(read_rankings(["a>b", "a>b", "b>a", "b>a"]))
    >>> pair_correlations(np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0]]), y).tolist()
    [1.0, 0.0]
    """
    signs, counted, _ = response.pairs
    found = np.empty((len(counted), len(values)))
    for place, own in enumerate(signs):
        rows = np.flatnonzero(own)
        part = values if len(rows) == response.n else values[:, rows]
        found[place] = counted[place] * np.abs(correlations(part, own[rows].astype(np.float64)))
    found.sort(axis=0)  # so that the order of the labels does not matter
    total = np.zeros(len(values))
    for each in found:  # one by one: numpy sums a single feature in another order than several
        total += each
    return np.asarray(total / float(counted.sum()))
