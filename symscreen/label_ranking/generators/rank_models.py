"""The Mallows model of rankings: Pr(σ) = exp(−θ d(σ, σ0)) / Z, d Kendall's distance (Mallows 1957).

The Plackett–Luce model of rankings: labels are chosen one after the other, by weight (Plackett 1975).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.label_ranking.consensus.distances import kendall_distance
from symscreen.label_ranking.generators.base import check_sampling_args, rank_by_score
from symscreen.label_ranking.learners.consensus_tree import is_real
from symscreen.targets.ranking_ranks import to_mid_ranks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


__all__ = [
    "compute_mallows_mean_distance",
    "compute_mallows_probability",
    "compute_plackett_luce_probability",
    "draw_mallows",
    "draw_plackett_luce",
]


def draw_mallows(center: ArrayLike, theta: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
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
    >>> draw_mallows([2, 1, 3], 50.0, 2, np.random.default_rng(0))
    array([[2., 1., 3.],
           [2., 1., 3.]])
    """
    check_sampling_args(rng, n)
    centers = _check_centers(center, n)
    k = centers.shape[1]
    u = rng.random((n, k))
    place = np.zeros(
        (n, k), dtype=np.int64
    )  # of the label that the center has in place t, among those inserted
    for t in range(k):
        at = t - _invert_insertion_distribution(u[:, t], _check_theta(theta), t)
        place[:, :t] += place[:, :t] >= at[:, np.newaxis]
        place[:, t] = at
    return np.asarray(np.take_along_axis(place, centers.astype(np.int64) - 1, axis=1) + 1.0, dtype=np.float64)


def compute_mallows_probability(ranks: ArrayLike, center: ArrayLike, theta: float) -> NDArray[np.float64]:
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
    >>> compute_mallows_probability([[1, 2], [2, 1]], [1, 2], 0.0)
    array([0.5, 0.5])
    """
    given = to_mid_ranks(ranks, require_complete=True)
    log_z = sum(
        math.log(_compute_insertion_weights(_check_theta(theta), t).sum()) for t in range(given.shape[1])
    )
    distance = kendall_distance(given, _check_centers(center, len(given)))
    return np.asarray(np.exp(-theta * distance - log_z))


def compute_mallows_mean_distance(theta: float, k: int) -> float:
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
    >>> compute_mallows_mean_distance(0.0, 5)
    5.0
    """
    shares = [_compute_insertion_weights(_check_theta(theta), t) for t in range(k)]
    return float(sum((weights * np.arange(weights.size)).sum() / weights.sum() for weights in shares))


def _check_theta(theta: float) -> float:
    if not is_real(theta) or not theta >= 0.0:
        raise OptionError(f"θ = {theta!r} of a Mallows model must be 0 or more")
    return float(theta)


def _compute_insertion_weights(theta: float, t: int) -> NDArray[np.float64]:
    """Give exp(−θv) for v = 0 … t: of passing v labels; θ may be infinite."""
    return np.concatenate([[1.0], np.exp(-theta * np.arange(1.0, t + 1.0))])


def _invert_insertion_distribution(u: NDArray[np.float64], theta: float, t: int) -> NDArray[np.int64]:
    """Invert the distribution of the number of labels passed, at uniform u; shape (n,)."""
    cumulated = np.cumsum(_compute_insertion_weights(theta, t))
    return np.asarray(np.searchsorted(cumulated[:-1] / cumulated[-1], u, side="right"), dtype=np.int64)


def _check_centers(center: ArrayLike, n: int) -> NDArray[np.float64]:
    given = np.asarray(center, dtype=np.float64)
    centers = to_mid_ranks(np.atleast_2d(given), require_complete=True)
    if not (np.sort(centers, axis=1) == np.arange(1.0, centers.shape[1] + 1.0)).all():
        raise OptionError("the center of a Mallows model has ties; give every label a rank of its own")
    if len(centers) not in {1, n}:
        raise OptionError(f"{len(centers)} centers for {n} rankings; give one for all, or one each")
    return np.broadcast_to(centers, (n, centers.shape[1]))


def draw_plackett_luce(weights: ArrayLike, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
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
    >>> draw_plackett_luce([1.0, 1e12, 1e-12], 2, np.random.default_rng(0))
    array([[2., 1., 3.],
           [2., 1., 3.]])
    """
    check_sampling_args(rng, n)
    w = _check_label_weights(weights, n)
    return rank_by_score(np.log(w) + rng.gumbel(size=w.shape))


def compute_plackett_luce_probability(ranks: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """Compute the probability of rankings under the Plackett–Luce model.

    Parameters
    ----------
    ranks : array_like, shape (n, k)
        Complete, without ties.
    weights : array_like, shape (k,) or (n, k)
        As for `draw_plackett_luce`.

    Returns
    -------
    float64 array, shape (n,)
        Π_t w_t / (w_t + … + w_k), labels in the ranking's order.

    Raises
    ------
    OptionError
        As `draw_plackett_luce`.

    Examples
    --------
    >>> compute_plackett_luce_probability([[1, 2], [2, 1]], [3.0, 1.0])
    array([0.75, 0.25])
    """
    given = to_mid_ranks(ranks, require_complete=True)
    w = np.take_along_axis(
        _check_label_weights(weights, len(given)), np.argsort(given, axis=1, kind="stable"), axis=1
    )
    left = np.cumsum(w[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.prod(w / left, axis=1))


def _check_label_weights(weights: ArrayLike, n: int) -> NDArray[np.float64]:
    w = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    if not (np.isfinite(w) & (w > 0.0)).all():
        raise OptionError("a weight of a Plackett–Luce model must be positive and finite")
    if len(w) not in {1, n}:
        raise OptionError(f"{len(w)} rows of weights for {n} rankings; give one for all, or one each")
    return np.broadcast_to(w, (n, w.shape[1]))
