"""A block whose rows are put in another order, with its sorting kept: one sort serves several responses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.compiled import kernel
from symscreen.statistics.order import Ordered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Rows = NDArray[np.int32]
    Values = NDArray[np.float64]

__all__ = ["moved"]


def moved(ordered: Ordered, rows: NDArray[np.int32], places: NDArray[np.int32]) -> Ordered:
    """Put the rows of a block in another order.

    Parameters
    ----------
    ordered : Ordered
        m features over n rows.
    rows : int32 array, shape (n,)
        Which row stands at each place of the new order.
    places : int32 array, shape (n,)
        Where each row stands there: the inverse.

    Returns
    -------
    Ordered
        What `order_features` would give for the values in that order, without sorting all of them again:
        only tied rows are put in order.

    Examples
    --------
    >>> from symscreen.statistics.order import order_features
    >>> block = order_features(np.array([[0.5, -1.0, 0.5, 0.0]]))
    >>> new = moved(block, np.array([2, 3, 0, 1], np.int32), np.array([2, 3, 0, 1], np.int32))
    >>> new.values.tolist(), new.order.tolist()
    ([[0.5, 0.0, 0.5, -1.0]], [[3, 1, 0, 2]])
    """
    values = np.ascontiguousarray(ordered.values[:, rows])
    order = np.empty_like(ordered.order)
    _relabel(ordered.order, ordered.values, ordered.tied, places, order)
    return Ordered(values, (order, ordered.tied))


@kernel
def _relabel(order: Rows, values: Values, tied: Flags, places: Rows, out: Rows) -> None:
    m, n = order.shape
    for f in range(m):
        rows, own = order[f], out[f]
        for k in range(n):
            own[k] = places[np.uint32(rows[k])]
        if not tied[f]:
            continue
        start = 0
        for k in range(1, n + 1):
            if k == n or values[f, rows[k]] != values[f, rows[start]]:
                if k - start > 1:
                    own[start:k] = np.sort(own[start:k])
                start = k
