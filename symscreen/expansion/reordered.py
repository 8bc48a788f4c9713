"""The same space over the same rows in another order, for a response that puts them in another order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from symscreen.expansion.space import Space

__all__ = ["with_rows"]


def with_rows(space: Space, rows: NDArray[np.int64]) -> Space:
    """Put the rows of a space that is grown into another order.

    Parameters
    ----------
    space : Space
        With values.
    rows : int64 array, shape (n,)
        A permutation: the first row of the new space is row ``rows[0]`` of the old one.

    Returns
    -------
    Space
        The same features with the same numbers, to the bit those of a space grown over rows in this order.
    """
    pool = space.pool
    moved = replace(
        pool,
        values=None if pool.values is None else pool.values[:, rows],
        columns=None if pool.columns is None else pool.columns[:, rows],
        orders=None,  # those of the old rows
    )
    return replace(space, pool=moved, given=replace(space.given, values=space.given.values[:, rows]))
