"""Places that are spread evenly over a sequence, so that a few stand for all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def select_spread_places(n: int, limit: int) -> NDArray[np.int64]:
    """Select places of a sequence at about equal distances.

    Parameters
    ----------
    n : int
        Length of the sequence, at least 0.
    limit : int
        Largest number of places, at least 0.

    Returns
    -------
    int64 array, shape (min(n, limit),)
        Places from 0 to n − 1 in ascending order; the first and the last one are among them if `limit` is at
        least 2.

    Examples
    --------
    >>> select_spread_places(10, 4).tolist(), select_spread_places(3, 4).tolist()
    ([0, 3, 6, 9], [0, 1, 2])
    """
    return np.unique(np.linspace(0, n - 1, min(n, limit)).astype(np.int64))
