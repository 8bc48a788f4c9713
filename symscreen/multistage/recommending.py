"""Which items may be recommended to a user, and what training told of him and them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.multistage.features import indexed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.multistage.features import Side

    Whole = NDArray[np.int64]
    Outcomes = NDArray[np.int8]

__all__ = ["candidate_items", "told_of_user"]


def candidate_items(items: Side, features: pd.DataFrame | None) -> NDArray[np.object_]:
    """List the items of training, and those of a table of features.

    Parameters
    ----------
    items : Side
        Of training.
    features : data frame or None
        Of new items, with a column called as in training, or the names as index.

    Returns
    -------
    object array
        Names, sorted: the order of rows of `features` makes no difference.

    Raises
    ------
    TableError
        If the table of features has no names.
    """
    import pandas as pd

    if features is None:
        return items.names
    more = indexed(features, items.kind, items.called).index.to_numpy(dtype=object)
    _, found = pd.factorize(np.concatenate([items.names, more]), sort=True)
    return np.asarray(found, dtype=object)


def told_of_user(
    seen: tuple[Whole, Whole, Outcomes], user: int, stage: int, items: NDArray[np.int64]
) -> Outcomes:
    """Say what training told of a user, some items and a stage.

    Parameters
    ----------
    seen : (int64 array, int64 array, int8 array), shapes (R,), (R,), (R, T + 1)
        Users, sorted; items; outcomes Y.
    user : int
        His place among those of training; below 0 for a new one.
    stage : int
        Its number.
    items : int64 array, shape (m,)
        Their places among those of training; below 0 for new ones.

    Returns
    -------
    int8 array, shape (m,)
        +1 reached; −1 not reached, or a stage before it was not (Y_t = −1 ⇒ Y_{t+1} = −1); 0 not told. Where
        rows differ, reached once is reached.

    Examples
    --------
    >>> seen = np.array([0, 0]), np.array([0, 1]), np.array([[1, -1, 0], [1, 1, 0]], dtype=np.int8)
    >>> told_of_user(seen, 0, 2, np.array([0, 1, -1])).tolist()
    [-1, 0, 0]
    """
    found = np.zeros(len(items), dtype=np.int8)
    if user < 0:
        return found
    mine = slice(*np.searchsorted(seen[0], (user, user + 1)))
    met, outcomes = seen[1][mine], seen[2][mine]
    found[np.isin(items, met[(outcomes[:, : stage + 1] == -1).any(axis=1)])] = -1
    found[np.isin(items, met[outcomes[:, stage] == 1])] = 1
    return found
