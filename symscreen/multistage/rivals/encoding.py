"""Rows of a table as rivals see them: one-hot levels and scaled numbers of a user, and of an item beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.multistage.features import Coded, Side

    Whole = NDArray[np.int64]

__all__ = ["Rows", "one_hot"]


class Rows(NamedTuple):
    """R rows.

    `x` is a CSR matrix (R, D), `user` and `item` are int64 arrays (R,): places among the names of training,
    −1 for one that is new.
    """

    x: Any
    user: Whole
    item: Whole

    def taken(self, which: NDArray[Any]) -> Rows:
        """Take some rows, by numbers or by a mask."""
        return Rows(self.x[which], self.user[which], self.item[which])


def one_hot(side: Side, coded: Coded) -> Any:
    """Write users, or items, as numbers: 0 or 1 for each level, then the numerical features.

    Parameters
    ----------
    side : Side
        What training told: how many levels each variable has.
    coded : Coded
        Of n users or items.

    Returns
    -------
    CSR matrix, shape (n, Σ L_h + p)
        In [0, 1]; a level that training did not show has no column.

    Examples
    --------
    >>> from symscreen.multistage.features import learn_side
    >>> two, three = (np.array(list(one), dtype=object) for one in ("ba", "abc"))
    >>> side, _ = learn_side("user", two, None, called="user", by_name=True, ignore_extra=False)
    >>> one_hot(side, side.code(three, None)).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    """
    from scipy.sparse import csr_array, hstack

    n = len(coded.levels)
    parts = []
    for h, known in enumerate(side.known):
        rows = np.flatnonzero(coded.levels[:, h] >= 0)
        cells = (rows, coded.levels[rows, h])
        parts.append(csr_array((np.ones(len(rows)), cells), shape=(n, len(known))))
    return hstack([*parts, csr_array(coded.numeric)], format="csr")
