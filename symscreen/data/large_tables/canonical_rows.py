"""The canonical order of the rows of a table whose columns are read one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._typing import Integers, Values


def sort_rows(
    columns: Mapping[str, Values], names: Sequence[str], first_key: Values, rows: Integers
) -> Integers:
    """Sort rows by a first key, and break ties by columns, which are read only as far as rows tie.

    Parameters
    ----------
    columns : mapping of str to float64 array, each of shape (m,)
        The columns; each is read when it is needed.
    names : sequence of str
        The columns that break ties, in order of precedence.
    first_key : float64 array, shape (n,)
        The first key of the rows, usually the target.
    rows : int64 array, shape (n,)
        Indices of the rows in the columns.

    Returns
    -------
    int64 array, shape (n,)
        The order of `symscreen.targets.base.sort_canonically`: stable, so that equal rows keep their order.

    Examples
    --------
    >>> ties = {"a": np.array([2.0, 1.0, 0.0])}
    >>> sort_rows(ties, ["a"], np.array([5.0, 5.0, 7.0]), np.arange(3)).tolist()
    [1, 0, 2]
    """
    order = np.argsort(first_key, kind="stable")
    ordered_key = first_key[order]
    starts = np.ones(len(order), dtype=np.bool_)  # whether a row differs from the one before it
    starts[1:] = ordered_key[1:] != ordered_key[:-1]
    del ordered_key
    for name in names:
        if starts.all():
            break
        is_tied = ~starts
        is_tied[:-1] |= is_tied[1:]  # the first row of a group is tied, too
        tied = np.flatnonzero(is_tied)
        groups = np.cumsum(starts)[tied]
        keys = columns[name][rows[order[tied]]]
        within = np.lexsort((keys, groups))
        order[tied] = order[tied[within]]
        keys = keys[within]
        starts[tied[1:]] |= (keys[1:] != keys[:-1]) | (groups[1:] != groups[:-1])
    return order
