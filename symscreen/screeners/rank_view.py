"""The rank view of features, which is all that trees are shown of them.

Trees split where values change, so a feature matters to them by its ranks alone, and the mirrored feature
offers the same splits. Programs are less pure: stochtree draws a split evenly between the least and the
largest *value* in a node, and takes the larger of that and zero for the largest. On mid-ranks, all positive,
every cut between two neighbours is as likely as any other, and members of a rank class are one and the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["rank_view"]


def rank_view(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn features into mid-ranks that are the same for all members of a rank class.

    Parameters
    ----------
    values : float64 array, shape (q, n), C-contiguous
        One row a feature; finite.

    Returns
    -------
    float64 array, shape (n, q), C-contiguous
        One column a feature, as learners want it; mid-ranks from 1 to n. Of the ranks R and the mirrored
        ranks n + 1 − R, those whose first row off the middle lies below it.

    Examples
    --------
    >>> rank_view(np.array([[0.0, 5.0, 5.0], [0.0, -1.0, -1.0]])).T.tolist()
    [[1.0, 2.5, 2.5], [1.0, 2.5, 2.5]]
    """
    n = values.shape[1]
    centred = order_features(values).doubled_ranks.astype(np.int64) - (n + 1)
    first = np.argmax(centred != 0, axis=1)
    turn = np.where(centred[np.arange(len(centred)), first] > 0, -1, 1)
    return np.ascontiguousarray((centred * turn[:, None] + (n + 1)).T / 2.0)
