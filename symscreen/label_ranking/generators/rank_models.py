"""Rankings by scores, and the Mallows and the Plackett–Luce models of rankings.

The Mallows model is Pr(σ) = exp(−θ d(σ, σ0)) / Z with Kendall's distance d (Mallows 1957). In the
Plackett–Luce model labels are selected one after the other with probabilities proportional to their weights
(Plackett 1975).
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils._param_validation import Interval

from symscreen._parameters import check_parameters
from symscreen.errors import OptionError
from symscreen.label_ranking.consensus.distances import kendall_distance
from symscreen.targets.ranking_ranks import to_mid_ranks

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
    check_parameters({"n": (Interval(Integral, 0, None, closed="left"),)}, {"n": n})
    if not isinstance(rng, np.random.Generator):
        seed = rng if isinstance(rng, Integral) else 0
        raise OptionError(f"rng is {rng!r}: give a numpy generator, numpy.random.default_rng({seed})")


def draw_mallows(center: ArrayLike, theta: float, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw exact samples of the Mallows model by repeated insertion (Doignon et al. 2004).

    Parameters
    ----------
    center : array_like, shape (k,) or (n, k)
        Mode σ0, one for all rows or one per row: complete ranks without ties.
    theta : float
        Concentration θ ≥ 0. With 0 all rankings have the same probability.
    n : int
        Number of rankings.
    rng : numpy.random.Generator
        Random generator; n·k numbers are drawn.

    Returns
    -------
    float64 array, shape (n, k)
        Ranks 1 … k.

    Raises
    ------
    OptionError
        If `theta` is negative or NaN, `center` has ties or the wrong number of rows, or `n` or `rng` is
        invalid.

    Notes
    -----
    Labels are inserted in the order of the center. The label at position t is placed before the last v of the
    t − 1 inserted labels with probability exp(−θv)/(1 + exp(−θ) + … + exp(−θ(t − 1))). The distance is the
    sum of all v.

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
    # column t: position, among the inserted labels, of the label with rank t + 1 in the center
    positions = np.zeros((n, k), dtype=np.int64)
    for t in range(k):
        insertion = t - _invert_insertion_distribution(u[:, t], _check_theta(theta), t)
        positions[:, :t] += positions[:, :t] >= insertion[:, np.newaxis]
        positions[:, t] = insertion
    return np.asarray(
        np.take_along_axis(positions, centers.astype(np.int64) - 1, axis=1) + 1.0, dtype=np.float64
    )


def compute_mallows_probability(ranks: ArrayLike, center: ArrayLike, theta: float) -> NDArray[np.float64]:
    """Compute the probability of rankings under the Mallows model.

    Parameters
    ----------
    ranks : array_like, shape (n, k)
        Complete rankings without ties.
    center : array_like, shape (k,) or (n, k)
        Mode σ0.
    theta : float
        Concentration θ ≥ 0.

    Returns
    -------
    float64 array, shape (n,)
        exp(−θ d(σ, σ0))/Z with Z = Π_{t ≤ k} (1 + exp(−θ) + … + exp(−θ(t − 1))).

    Raises
    ------
    OptionError
        If `theta` is negative or NaN, or `center` has ties or the wrong number of rows.

    Examples
    --------
    >>> compute_mallows_probability([[1, 2], [2, 1]], [1, 2], 0.0)
    array([0.5, 0.5])
    """
    mid_ranks = to_mid_ranks(ranks, require_complete=True)
    log_z = sum(
        math.log(_compute_insertion_weights(_check_theta(theta), t).sum()) for t in range(mid_ranks.shape[1])
    )
    distance = kendall_distance(mid_ranks, _check_centers(center, len(mid_ranks)))
    return np.asarray(np.exp(-theta * distance - log_z))


def compute_mallows_mean_distance(theta: float, k: int) -> float:
    """Compute the expected distance of a ranking from the center, E d(σ, σ0).

    Parameters
    ----------
    theta : float
        Concentration θ ≥ 0.
    k : int
        Number of labels.

    Returns
    -------
    float
        Decreases from k(k − 1)/4 at θ = 0 to 0. It is the smallest possible risk of a predictor.

    Raises
    ------
    OptionError
        If `theta` is negative or NaN.

    Examples
    --------
    >>> compute_mallows_mean_distance(0.0, 5)
    5.0
    """
    shares = [_compute_insertion_weights(_check_theta(theta), t) for t in range(k)]
    return float(sum((weights * np.arange(weights.size)).sum() / weights.sum() for weights in shares))


def _check_theta(theta: float) -> float:
    """Check that θ is a non-negative number."""
    check_parameters({"theta": (Interval(Real, 0, np.inf, closed="both"),)}, {"theta": theta})
    return float(theta)


def _compute_insertion_weights(theta: float, t: int) -> NDArray[np.float64]:
    """Compute exp(−θv) for v = 0 … t, the weights of passing v labels, shape (t + 1,); θ may be infinite."""
    return np.concatenate([[1.0], np.exp(-theta * np.arange(1.0, t + 1.0))])


def _invert_insertion_distribution(u: NDArray[np.float64], theta: float, t: int) -> NDArray[np.int64]:
    """Invert the distribution of the number of labels passed at uniform u, shape (n,)."""
    cumulated = np.cumsum(_compute_insertion_weights(theta, t))
    return np.asarray(np.searchsorted(cumulated[:-1] / cumulated[-1], u, side="right"), dtype=np.int64)


def _check_centers(center: ArrayLike, n: int) -> NDArray[np.float64]:
    """Check the centers and broadcast them to shape (n, k)."""
    values = np.asarray(center, dtype=np.float64)
    centers = to_mid_ranks(np.atleast_2d(values), require_complete=True)
    if not (np.sort(centers, axis=1) == np.arange(1.0, centers.shape[1] + 1.0)).all():
        raise OptionError("the center of a Mallows model has ties; give every label a different rank")
    if len(centers) not in {1, n}:
        raise OptionError(f"{len(centers)} centers for {n} rankings; give one for all, or one per ranking")
    return np.broadcast_to(centers, (n, centers.shape[1]))


def draw_plackett_luce(weights: ArrayLike, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw exact samples of the Plackett–Luce model.

    Parameters
    ----------
    weights : array_like, shape (k,) or (n, k)
        Positive weights w; only their ratios matter.
    n : int
        Number of rankings.
    rng : numpy.random.Generator
        Random generator; n·k numbers are drawn.

    Returns
    -------
    float64 array, shape (n, k)
        Ranks 1 … k.

    Raises
    ------
    OptionError
        If a weight is not positive and finite, there are neither 1 nor n rows of weights, or `n` or `rng` is
        invalid.

    Notes
    -----
    The descending order of log w plus independent Gumbel noise has this distribution (Yellott 1977).

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
        Complete rankings without ties.
    weights : array_like, shape (k,) or (n, k)
        Positive weights; see `draw_plackett_luce`.

    Returns
    -------
    float64 array, shape (n,)
        Π_t w_t / (w_t + … + w_k), where t runs over the labels in the order of the ranking.

    Raises
    ------
    OptionError
        If a weight is not positive and finite, or there are neither 1 nor n rows of weights.

    Examples
    --------
    >>> compute_plackett_luce_probability([[1, 2], [2, 1]], [3.0, 1.0])
    array([0.75, 0.25])
    """
    mid_ranks = to_mid_ranks(ranks, require_complete=True)
    w = np.take_along_axis(
        _check_label_weights(weights, len(mid_ranks)), np.argsort(mid_ranks, axis=1, kind="stable"), axis=1
    )
    remaining = np.cumsum(w[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.prod(w / remaining, axis=1))


def _check_label_weights(weights: ArrayLike, n: int) -> NDArray[np.float64]:
    """Check label weights and broadcast them to shape (n, k)."""
    w = np.atleast_2d(np.asarray(weights, dtype=np.float64))
    if not (np.isfinite(w) & (w > 0.0)).all():
        raise OptionError("the weights of a Plackett–Luce model must be positive and finite")
    if len(w) not in {1, n}:
        raise OptionError(f"{len(w)} rows of weights for {n} rankings; give one for all, or one per ranking")
    return np.broadcast_to(w, (n, w.shape[1]))
