"""The Mallows model of rankings: Pr(σ) = exp(−θ d(σ, σ0)) / Z, d Kendall's distance (Mallows 1957)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.label_ranking import as_rankings
from symscreen.ranking.distances import kendall_distance
from symscreen.ranking.generators.drawing import check_drawing
from symscreen.ranking.growing import is_real

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["mallows", "mallows_mean_distance", "mallows_probability"]


def mallows(center: ArrayLike, theta: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw rankings from the Mallows model, exactly, by repeated insertion (Doignon and others 2004).

    Parameters
    ----------
    center : array_like, shape (k,) or (n, k)
        σ0, the mode: one for all rows or one each; complete ranks without ties.
    theta : float
        θ ≥ 0, the larger the closer to the center; 0 gives all rankings the same probability.
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
        If `theta` is negative or not a number, `center` has ties or the wrong number of rows, `n` is no
        number of rows or `rng` no generator.

    Notes
    -----
    Labels are inserted in the center's order: that of place t goes before v of the t − 1 that are there, with
    probability exp(−θv)/(1 + exp(−θ) + … + exp(−θ(t − 1))). The distance is the sum of all v.

    Examples
    --------
    >>> import numpy as np
    >>> mallows([2, 1, 3], 50.0, 2, np.random.default_rng(0))
    array([[2., 1., 3.],
           [2., 1., 3.]])
    """
    check_drawing(rng, n)
    centers = _centers(center, n)
    k = centers.shape[1]
    u = rng.random((n, k))
    place = np.zeros(
        (n, k), dtype=np.int64
    )  # of the label that the center has in place t, among those inserted
    for t in range(k):
        at = t - _passed(u[:, t], _checked(theta), t)
        place[:, :t] += place[:, :t] >= at[:, np.newaxis]
        place[:, t] = at
    return np.asarray(np.take_along_axis(place, centers.astype(np.int64) - 1, axis=1) + 1.0, dtype=np.float64)


def mallows_probability(ranks: ArrayLike, center: ArrayLike, theta: float) -> NDArray[np.float64]:
    """Compute the probability of rankings under the Mallows model.

    Parameters
    ----------
    ranks : array_like, shape (n, k)
        Complete, without ties.
    center : array_like, shape (k,) or (n, k)
        σ0.
    theta : float
        θ ≥ 0.

    Returns
    -------
    float64 array, shape (n,)
        With Z = Π_{t ≤ k} (1 + exp(−θ) + … + exp(−θ(t − 1))), which depends on k and θ alone.

    Raises
    ------
    OptionError
        As `mallows`.

    Examples
    --------
    >>> mallows_probability([[1, 2], [2, 1]], [1, 2], 0.0)
    array([0.5, 0.5])
    """
    given = as_rankings(ranks, complete=True)
    log_z = sum(math.log(_weights(_checked(theta), t).sum()) for t in range(given.shape[1]))
    distance = kendall_distance(given, _centers(center, len(given)))
    return np.asarray(np.exp(-theta * distance - log_z))


def mallows_mean_distance(theta: float, k: int) -> float:
    """Compute the expected distance of a ranking from the center, E d(σ, σ0).

    Parameters
    ----------
    theta : float
        θ ≥ 0.
    k : int
        Labels.

    Returns
    -------
    float
        From k(k − 1)/4 at θ = 0 down to 0. No rule has a smaller risk on such rankings.

    Raises
    ------
    OptionError
        If `theta` is negative or not a number.

    Examples
    --------
    >>> mallows_mean_distance(0.0, 5)
    5.0
    """
    shares = [_weights(_checked(theta), t) for t in range(k)]
    return float(sum((weights * np.arange(weights.size)).sum() / weights.sum() for weights in shares))


def _checked(theta: float) -> float:
    if not is_real(theta) or not theta >= 0.0:
        raise OptionError(f"θ = {theta!r} of a Mallows model must be 0 or more")
    return float(theta)


def _weights(theta: float, t: int) -> NDArray[np.float64]:
    """Give exp(−θv) for v = 0 … t: of passing v labels; θ may be infinite."""
    return np.concatenate([[1.0], np.exp(-theta * np.arange(1.0, t + 1.0))])


def _passed(u: NDArray[np.float64], theta: float, t: int) -> NDArray[np.int64]:
    """Invert the distribution of the number of labels passed, at uniform u; shape (n,)."""
    cumulated = np.cumsum(_weights(theta, t))
    return np.asarray(np.searchsorted(cumulated[:-1] / cumulated[-1], u, side="right"), dtype=np.int64)


def _centers(center: ArrayLike, n: int) -> NDArray[np.float64]:
    given = np.asarray(center, dtype=np.float64)
    centers = as_rankings(np.atleast_2d(given), complete=True)
    if not (np.sort(centers, axis=1) == np.arange(1.0, centers.shape[1] + 1.0)).all():
        raise OptionError("the center of a Mallows model has ties; give every label a rank of its own")
    if len(centers) not in {1, n}:
        raise OptionError(f"{len(centers)} centers for {n} rankings; give one for all, or one each")
    return np.broadcast_to(centers, (n, centers.shape[1]))
