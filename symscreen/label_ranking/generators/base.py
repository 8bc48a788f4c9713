"""From scores to rankings: what all generators end with.

What every generator is told: how many rows, and what draws them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.label_ranking.learners.consensus_tree import is_integer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


__all__ = ["check_sampling_args", "rank_by_score"]


def rank_by_score(scores: ArrayLike) -> NDArray[np.float64]:
    """Sort labels by their scores, the highest first: argsort of Fotakis and others (2022), definition 1.1.

    Parameters
    ----------
    scores : array_like, shape (n, k)
        Of each label in each row; no NaN.

    Returns
    -------
    float64 array, shape (n, k)
        Ranks 1 … k, 1 for the highest score; of equal scores the label that stands first comes first.

    Examples
    --------
    >>> rank_by_score([[0.2, 0.4, 0.1, 0.3, 0.5]])
    array([[4., 2., 5., 3., 1.]])
    """
    given = np.asarray(scores, dtype=np.float64)
    orders = np.argsort(-given, axis=1, kind="stable")
    ranks = np.empty(given.shape)
    np.put_along_axis(ranks, orders, np.arange(1.0, given.shape[1] + 1.0)[np.newaxis], axis=1)
    return ranks


def check_sampling_args(rng: Any, n: Any = 0) -> None:
    """Refuse what draws nothing, and numbers of rows that are none.

    Parameters
    ----------
    rng : numpy.random.Generator
        Anything else is refused: a seed would give the same draws at every call.
    n : int
        Rows wanted, ≥ 0.

    Raises
    ------
    OptionError
        If one of them is something else.

    Examples
    --------
    >>> check_sampling_args(np.random.default_rng(0), 3)
    >>> check_sampling_args(0)
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: rng is 0: give a numpy generator, numpy.random.default_rng(0)
    """
    if not is_integer(n) or n < 0:
        raise OptionError(f"n is {n!r}: give a whole number of rows of at least 0")
    if not isinstance(rng, np.random.Generator):
        seed = rng if is_integer(rng) else 0
        raise OptionError(f"rng is {rng!r}: give a numpy generator, numpy.random.default_rng({seed})")
