"""An order of rows that inputs cannot tell apart, which the names of labels do not decide.

What draws rows by their place (a forest's bootstrap) would follow the names of labels if equal inputs were
put into the order of the first label's ranks, and would follow whether ranks or scores were given. Rows are
compared under an order of the labels that comes from the rankings themselves.
"""

from __future__ import annotations

from itertools import groupby, islice, permutations, product
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["rows_by_content"]

_MOST_ORDERS = 720  # of labels that are alike in every group


def rows_by_content(groups: Whole, ranks: Values) -> Whole:
    """Order rows by their group, and inside a group by their rankings, whatever labels are called.

    Parameters
    ----------
    groups : int64 array, shape (n,)
        Which rows no input tells apart, numbered in the order of the groups.
    ranks : float64 array, shape (n, k)
        Rankings, as `as_rankings` writes them.

    Returns
    -------
    int64 array, shape (n,)
        Rows. Other names of the labels, another order of the rows and scores in place of ranks give the same
        rankings in the same places, up to a renaming of the labels and a reversal of all rankings. Where
        labels are alike in every group (the same ranks, each as often) all their orders are compared, up to
        720; beyond, names decide.

    Examples
    --------
    >>> ranks = np.array([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [1.0, 3.0, 2.0]])
    >>> one = ranks[rows_by_content(np.array([0, 0, 1]), ranks)]
    >>> renamed = ranks[:, [2, 0, 1]]
    >>> other = renamed[rows_by_content(np.array([0, 0, 1]), renamed)]
    >>> bool((other == one[:, [2, 0, 1]]).all())
    True
    """
    order = np.argsort(groups, kind="stable")
    if (np.diff(groups[order]) > 0).all():
        return order.astype(np.int64)  # inputs tell all rows apart
    missing = np.isnan(ranks)
    shown = (~missing).sum(axis=1, keepdims=True)
    forward, backward = np.where(missing, 0.0, ranks), np.where(missing, 0.0, shown + 1.0 - ranks)
    candidates = [
        _sorted(groups, own[:, labels])
        for own in (forward, backward)
        for labels in _label_orders(groups, own)
    ]
    return min(candidates, key=lambda found: found[0])[1]


def _sorted(groups: Whole, own: Values) -> tuple[bytes, Whole]:
    rows = np.lexsort((*own.T[::-1], groups)).astype(np.int64)
    return own[rows].tobytes(), rows


def _label_orders(groups: Whole, own: Values) -> Iterator[list[int]]:
    """Go through the orders of the labels by the ranks that each has in the groups."""
    told = [column[np.lexsort((column, groups))].tobytes() for column in own.T]
    places = sorted(range(len(told)), key=told.__getitem__)
    alike = [list(same) for _, same in groupby(places, key=told.__getitem__)]
    orders = product(*(islice(permutations(same), _MOST_ORDERS) for same in alike))
    return ([label for same in order for label in same] for order in islice(orders, _MOST_ORDERS))
