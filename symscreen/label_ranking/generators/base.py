"""Common parts of the ranking generators: ranking by scores and checks of the arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.label_ranking.base import is_integer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def rank_by_score(scores: ArrayLike) -> NDArray[np.float64]:
    """Sort labels by their scores in descending order: argsort of Fotakis et al. (2022), Definition 1.1.

    Parameters
    ----------
    scores : array_like, shape (n, k)
        Score of each label in each row; no NaN.

    Returns
    -------
    float64 array, shape (n, k)
        Ranks 1 … k; 1 for the highest score. Labels with equal scores are sorted by index.

    Examples
    --------
    >>> rank_by_score([[0.2, 0.4, 0.1, 0.3, 0.5]])
    array([[4., 2., 5., 3., 1.]])
    """
    values = np.asarray(scores, dtype=np.float64)
    orders = np.argsort(-values, axis=1, kind="stable")
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, orders, np.arange(1.0, values.shape[1] + 1.0)[np.newaxis], axis=1)
    return ranks


def check_sampling_args(rng: Any, n: Any = 0) -> None:
    """Check the random generator and the number of rows.

    Parameters
    ----------
    rng : numpy.random.Generator
        Random generator. A seed is rejected because it would give the same draws at each call.
    n : int
        Number of rows, at least 0.

    Raises
    ------
    OptionError
        If an argument is invalid.

    Examples
    --------
    >>> check_sampling_args(np.random.default_rng(0), 3)
    >>> check_sampling_args(0)
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: rng is 0: give a numpy generator, numpy.random.default_rng(0)
    """
    if not is_integer(n) or n < 0:
        raise OptionError(f"n is {n!r}: give an integer number of rows ≥ 0")
    if not isinstance(rng, np.random.Generator):
        seed = rng if is_integer(rng) else 0
        raise OptionError(f"rng is {rng!r}: give a numpy generator, numpy.random.default_rng({seed})")
