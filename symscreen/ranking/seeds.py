"""Seeds for the parts of a learner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.utils import check_random_state

if TYPE_CHECKING:
    import numpy as np

__all__ = ["fresh_seeds"]


def fresh_seeds(random_state: int | np.random.RandomState | None, count: int) -> list[int]:
    """Draw seeds for the parts of a learner, each the same whatever the others are.

    Parameters
    ----------
    random_state : int, RandomState or None
        As scikit-learn's; None is drawn afresh.
    count : int
        How many.

    Returns
    -------
    list of int
        From 0 to 2³¹ − 2.

    Examples
    --------
    >>> fresh_seeds(0, 2) == fresh_seeds(0, 3)[:2], len(set(fresh_seeds(0, 3)))
    (True, 3)
    """
    return [int(seed) for seed in check_random_state(random_state).randint(2**31 - 1, size=count)]
