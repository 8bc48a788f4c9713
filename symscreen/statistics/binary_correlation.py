"""How far a feature goes along with several binary responses: Pearson's correlation with each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.correlation import correlations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response.binary import BinaryResponses

__all__ = ["binary_correlations"]


def binary_correlations(values: NDArray[np.float64], responses: BinaryResponses) -> NDArray[np.float64]:
    """Compute the mean of |Pearson's correlation| with the signs of the responses.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row; finite.
    responses : BinaryResponses
        Of these n rows. Each is judged by the rows that count for it, and weighs as many as they are, times
        what such a row weighs; a feature that is constant there has the correlation 0.

    Returns
    -------
    float64 array, shape (m,)
        In [0, 1].

    Examples
    --------
    >>> from symscreen.response.binary import binary_responses
    >>> y = binary_responses(np.array([[-1, -1, 1, 1]], dtype=np.int8))
    >>> binary_correlations(np.array([[0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 0.0]]), y).tolist()
    [1.0, 0.0]
    """
    weights = responses.weights * responses.counted
    found = np.empty((len(weights), len(values)))
    for place, own in enumerate(responses.signs):
        rows = np.flatnonzero(own)
        part = values if len(rows) == responses.n else values[:, rows]
        found[place] = weights[place] * np.abs(correlations(part, own[rows].astype(np.float64)))
    found.sort(axis=0)  # so that the order of the responses does not matter
    total = np.zeros(len(values))
    for each in found:  # one by one: numpy sums a single feature in another order than several
        total += each
    return np.asarray(total / math.fsum(weights))
