"""The pairs of labels, in one fixed order, and how each row orders them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ranks = NDArray[np.float64]

__all__ = ["pair_places", "pair_signs", "pairs_shown"]


def pair_places(k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the pairs (i, j) of k labels with i < j, in the order of every array over pairs.

    Parameters
    ----------
    k : int
        The number of labels, ≥ 1.

    Returns
    -------
    first, second : int64 arrays, shape (k(k − 1)/2,)
        i and j: (0, 1), (0, 2), …, (0, k − 1), (1, 2), …

    Examples
    --------
    >>> first, second = pair_places(3)
    >>> first.tolist(), second.tolist()
    ([0, 0, 1], [1, 2, 2])
    """
    first, second = np.triu_indices(k, 1)
    return first.astype(np.int64), second.astype(np.int64)


def pair_signs(ranks: Ranks) -> NDArray[np.int8]:
    """Tell of every row and pair i < j the sign of σ(i) − σ(j).

    Parameters
    ----------
    ranks : float64 array, shape (n, k)
        Rankings, as `as_rankings` returns them.

    Returns
    -------
    int8 array, shape (n, k(k − 1)/2)
        −1 where i is preferred, 1 where j is, 0 where they are tied and also where the row does not show
        both: `pairs_shown` tells these two apart. Columns in the order of `pair_places`.

    Examples
    --------
    >>> pair_signs(np.array([[1.0, 2.0, 3.0], [1.5, 1.5, np.nan]])).tolist()
    [[-1, -1, -1], [0, 0, 0]]
    """
    n, k = ranks.shape
    signs = np.empty((n, k * (k - 1) // 2), dtype=np.int8)
    start = 0
    for i in range(k - 1):  # by first label: nothing larger than the answer is held
        later, one = ranks[:, i + 1 :], ranks[:, i : i + 1]
        stop = start + k - 1 - i
        signs[:, start:stop] = (one > later).astype(np.int8) - (one < later).astype(np.int8)
        start = stop
    return signs


def pairs_shown(ranks: Ranks) -> NDArray[np.bool_]:
    """Tell of every row and pair i < j whether the row shows both labels.

    Parameters
    ----------
    ranks : float64 array, shape (n, k)
        Rankings, as `as_rankings` returns them.

    Returns
    -------
    bool array, shape (n, k(k − 1)/2)
        In the order of `pair_places`; True also for tied labels.

    Examples
    --------
    >>> pairs_shown(np.array([[1.0, 2.0, 3.0], [1.5, 1.5, np.nan]])).tolist()
    [[True, True, True], [True, False, False]]
    """
    first, second = pair_places(ranks.shape[1])
    shown = ~np.isnan(ranks)
    return np.asarray(shown[:, first] & shown[:, second])
