"""The Plackett–Luce model of rankings: labels are chosen one after the other, by weight (Plackett 1975)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.label_ranking import as_rankings
from symscreen.ranking.generators.by_score import ranks_by_score
from symscreen.ranking.generators.drawing import check_drawing

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["plackett_luce", "plackett_luce_probability"]


def plackett_luce(weights: ArrayLike, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw rankings from the Plackett–Luce model, exactly.

    Parameters
    ----------
    weights : array_like, shape (k,) or (n, k)
        w, positive; only their ratios matter.
    n : int
        Rankings wanted.
    rng : numpy.random.Generator
        What draws them: n·k numbers.

    Returns
    -------
    float64 array, shape (n, k)
        Ranks 1 … k.

    Raises
    ------
    OptionError
        If a weight is not positive and finite, their number of rows is not 1 or n, `n` is no number of rows
        or `rng` no generator.

    Notes
    -----
    log w plus independent Gumbel noise, sorted, has this distribution (Yellott 1977).

    Examples
    --------
    >>> import numpy as np
    >>> plackett_luce([1.0, 1e12, 1e-12], 2, np.random.default_rng(0))
    array([[2., 1., 3.],
           [2., 1., 3.]])
    """
    check_drawing(rng, n)
    w = _checked(weights, n)
    return ranks_by_score(np.log(w) + rng.gumbel(size=w.shape))


def plackett_luce_probability(ranks: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """Compute the probability of rankings under the Plackett–Luce model.

    Parameters
    ----------
    ranks : array_like, shape (n, k)
        Complete, without ties.
    weights : array_like, shape (k,) or (n, k)
        As for `plackett_luce`.

    Returns
    -------
    float64 array, shape (n,)
        Π_t w_t / (w_t + … + w_k), labels in the ranking's order.

    Raises
    ------
    OptionError
        As `plackett_luce`.

    Examples
    --------
    >>> plackett_luce_probability([[1, 2], [2, 1]], [3.0, 1.0])
    array([0.75, 0.25])
    """
    given = as_rankings(ranks, complete=True)
    w = np.take_along_axis(_checked(weights, len(given)), np.argsort(given, axis=1, kind="stable"), axis=1)
    left = np.cumsum(w[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.prod(w / left, axis=1))


def _checked(weights: ArrayLike, n: int) -> NDArray[np.float64]:
    w = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    if not (np.isfinite(w) & (w > 0.0)).all():
        raise OptionError("a weight of a Plackett–Luce model must be positive and finite")
    if len(w) not in {1, n}:
        raise OptionError(f"{len(w)} rows of weights for {n} rankings; give one for all, or one each")
    return np.broadcast_to(w, (n, w.shape[1]))
