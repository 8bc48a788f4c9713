"""Labels sorted by a number that each has: predicted positions, scores, counts of wins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["ranks_of_positions"]

_DIGITS = 12  # beyond is rounding, which must break no tie


def ranks_of_positions(positions: Values) -> Values:
    """Sort labels by the positions predicted for them.

    Parameters
    ----------
    positions : float64 array, shape (..., k)
        What is smallest comes first.

    Returns
    -------
    float64 array, shape (..., k)
        Ranks 1 to k. Positions that agree to 12 digits are tied; of tied labels the one with the smaller
        index comes first.

    Examples
    --------
    >>> ranks_of_positions(np.array([[0.4, 0.9, 0.4], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, 3.0, 2.0], [3.0, 2.0, 1.0]]
    """
    order = np.argsort(np.round(positions, _DIGITS), axis=-1, kind="stable")
    return np.argsort(order, axis=-1).astype(np.float64) + 1.0
