"""Random permutations of rows that leave groups together: groups change places, rows change theirs inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[np.int64]

__all__ = ["exchanged", "shuffled_rows"]


def shuffled_rows(groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw a permutation of rows: groups of one size trade places, and the rows of each are shuffled.

    Parameters
    ----------
    groups : int64 array, shape (n,)
        The number of each row's group, from 0 up without gaps.
    rng : Generator
        Where it is drawn from.

    Returns
    -------
    int64 array, shape (n,)
        For each row the one whose response it gets, uniform over all that keep rows of one group in one
        group. These permutations are a group in the algebraic sense, so the test is exact wherever rows
        within a group are exchangeable, and groups of one size are; a group with a size of its own stays
        where it is.

    Examples
    --------
    >>> groups = np.array([0, 1, 0, 1, 2])
    >>> drawn = shuffled_rows(groups, np.random.default_rng(1))
    >>> groups[drawn].tolist(), int(drawn[4])
    ([1, 0, 1, 0, 2], 4)
    """
    sizes = np.bincount(groups)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    places = np.argsort(groups, kind="stable")
    mixed = rng.permutation(len(groups))
    rows = mixed[np.argsort(groups[mixed], kind="stable")]  # group by group, in a random order in each
    drawn = np.empty_like(places)
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        within = np.arange(size)
        to = (starts[alike][:, None] + within).ravel()
        since = (starts[rng.permutation(alike)][:, None] + within).ravel()
        drawn[places[to]] = rows[since]
    return drawn


def exchanged(groups: NDArray[np.int64]) -> int:
    """Count the groups that share their size with another, and so can trade places.

    Examples
    --------
    >>> exchanged(np.array([0, 1, 0, 1, 2]))
    2
    """
    sizes = np.bincount(groups)
    return int((np.bincount(sizes)[sizes] > 1).sum())
