"""What disturbs scores: noise of mean zero on [−b, b], b = ¼ where scores in [¼, ¾] are to stay in [0, 1].

What of a ranking is shown: the mechanisms M of Fotakis and others (2022), definitions 2.4 and C.1.

Any function of (inputs, noisy scores, generator) is a mechanism. These two draw their coins independently,
with probabilities that may depend on the inputs.

How far observed rankings are from the noiseless ones: Fotakis and others (2022), definition 2.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from symscreen.errors import OptionError
from symscreen.label_ranking.consensus.distances import kendall_tau
from symscreen.label_ranking.generators.base import rank_by_score
from symscreen.targets.ranking_ranks import to_mid_ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from symscreen.label_ranking.generators.input_dependent import NoiseSampler, ObservationMechanism

    Probabilities = ArrayLike | Callable[[NDArray[np.float64]], NDArray[np.float64]]

__all__ = [
    "inconsistency",
    "kendall_gap",
    "make_bucket_mechanism",
    "make_survivor_mechanism",
    "make_truncated_gaussian_noise",
    "make_uniform_noise",
]

_DEFAULT_BOUND = 0.25


def make_truncated_gaussian_noise(sd: float, bound: float = _DEFAULT_BOUND) -> NoiseSampler:
    """Give Gaussian noise of mean zero, truncated to [−bound, bound].

    Parameters
    ----------
    sd : float
        The standard deviation before the truncation; 0 gives no noise.
    bound : float
        Positive.

    Returns
    -------
    callable
        For `RankingOracle.noise_sampler`. Drawn by inversion: one generator gives the same quantiles at
        every `sd`.

    Raises
    ------
    OptionError
        If `sd` is negative or `bound` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = make_truncated_gaussian_noise(0.2)((1000, 5), np.random.default_rng(0))
    >>> bool(np.abs(drawn).max() <= 0.25)
    True
    """
    if not (math.isfinite(sd) and sd >= 0.0):
        raise OptionError(f"the standard deviation {sd!r} of noise must be 0 or more")
    return _TruncatedGaussianNoise(sd, _check_bound(bound))


def make_uniform_noise(bound: float = _DEFAULT_BOUND) -> NoiseSampler:
    """Give uniform noise on [−bound, bound]: what the truncated Gaussian tends to as its deviation grows.

    Parameters
    ----------
    bound : float
        Positive.

    Returns
    -------
    callable
        For `RankingOracle.noise_sampler`.

    Raises
    ------
    OptionError
        If `bound` is not positive.
    """
    return _UniformNoise(_check_bound(bound))


def _check_bound(bound: float) -> float:
    if not (math.isfinite(bound) and bound > 0.0):
        raise OptionError(f"the bound {bound!r} of noise must be positive")
    return bound


@dataclass(frozen=True)
class _TruncatedGaussianNoise:
    sd: float
    bound: float

    def __call__(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        u = rng.random(shape)
        if self.sd == 0.0:
            return np.zeros(shape)
        below = ndtr(-self.bound / self.sd)
        drawn = self.sd * ndtri(below + u * (1.0 - 2.0 * below))
        return np.asarray(np.clip(drawn, -self.bound, self.bound))


@dataclass(frozen=True)
class _UniformNoise:
    bound: float

    def __call__(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.uniform(-self.bound, self.bound, shape)


def make_survivor_mechanism(q: Probabilities) -> ObservationMechanism:
    """Show the order of the labels that survive; where they stood among all is not shown (definition 2.4).

    Parameters
    ----------
    q : float, array_like of shape (k,), or callable
        Probability of each label's survival; a callable takes the inputs, shape (n, d), to shape (n, k).

    Returns
    -------
    callable
        For `RankingOracle.mechanism`. A row that would lose all its labels tosses its coins again, so that
        every row shows at least one.

    Raises
    ------
    OptionError
        When it draws: if a probability is not in [0, 1], or a row has none above 0.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[0.4, 0.9, 0.7, 0.8, 0.1]])
    >>> make_survivor_mechanism([1.0, 0.0, 1.0, 0.0, 1.0])(np.zeros((1, 1)), y, np.random.default_rng(0))
    array([[ 2., nan,  1., nan,  3.]])
    """
    return _SurvivorMechanism(q)


def make_bucket_mechanism(p: Probabilities) -> ObservationMechanism:
    """Show a bucket order: neighbours in the ranking are tied unless a border falls between (definition C.1).

    Parameters
    ----------
    p : float, array_like of shape (k − 1,), or callable
        Probability of a border after each position of the ranking; a callable takes the inputs, shape (n, d),
        to shape (n, k − 1). All 1 shows the complete ranking.

    Returns
    -------
    callable
        For `RankingOracle.mechanism`: ranks with ties, as mid-ranks.

    Raises
    ------
    OptionError
        When it draws: if a probability is not in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[0.2, 0.4, 0.1, 0.3, 0.5]])  # e > b > d > a > c
    # e = b > d > a = c
    >>> make_bucket_mechanism([0, 1, 1, 0])(np.zeros((1, 1)), y, np.random.default_rng(0))
    array([[4.5, 1.5, 4.5, 3. , 1.5]])
    """
    return _BucketMechanism(p)


@dataclass(frozen=True, eq=False)
class _SurvivorMechanism:
    q: Probabilities

    def __call__(
        self, x: NDArray[np.float64], y: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        q = _broadcast_probabilities(self.q, x, (y.shape[0], y.shape[1]))
        if not q.any(axis=1).all():
            raise OptionError("a row in which no label can survive has no ranking to show; raise q")
        coins = rng.random(q.shape) < q
        while not (shown := coins.any(axis=1)).all():
            coins[~shown] = rng.random((int((~shown).sum()), q.shape[1])) < q[~shown]
        return to_mid_ranks(np.where(coins, rank_by_score(y), np.nan))


@dataclass(frozen=True, eq=False)
class _BucketMechanism:
    p: Probabilities

    def __call__(
        self, x: NDArray[np.float64], y: NDArray[np.float64], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        p = _broadcast_probabilities(self.p, x, (y.shape[0], y.shape[1] - 1))
        bucket = np.zeros(y.shape, dtype=np.int64)
        bucket[:, 1:] = np.cumsum(rng.random(p.shape) < p, axis=1)
        places = rank_by_score(y).astype(np.int64) - 1
        return to_mid_ranks(np.take_along_axis(bucket, places, axis=1))


def _broadcast_probabilities(
    probabilities: Probabilities, x: NDArray[np.float64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    values = np.asarray(probabilities(x) if callable(probabilities) else probabilities, dtype=np.float64)
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise OptionError(f"probabilities from {values.min():g} to {values.max():g}: give them in [0, 1]")
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise OptionError(
            f"probabilities of shape {values.shape} do not fit {shape[0]} rows of {shape[1]}; give one "
            f"number, {shape[1]} of them, or a function of the inputs"
        ) from None


def inconsistency(sigma: ArrayLike, h: ArrayLike) -> float:
    """Compute the α-inconsistency: the share of rows whose ranking is not the noiseless one, Pr[σ ≠ h(x)].

    Parameters
    ----------
    sigma, h : array_like, shape (n, k)
        Observed and noiseless ranks, complete.

    Returns
    -------
    float
        α in [0, 1].

    Examples
    --------
    >>> inconsistency([[1, 2, 3], [2, 1, 3]], [[1, 2, 3], [1, 2, 3]])
    0.5
    """
    observed, noiseless = to_mid_ranks(sigma, require_complete=True), to_mid_ranks(h, require_complete=True)
    return float((observed != noiseless).any(axis=1).mean())


def kendall_gap(sigma: ArrayLike, h: ArrayLike) -> float:
    """Compute the β-kτ gap: the mean Kendall coefficient of observed and noiseless rankings, E kτ(σ, h(x)).

    Parameters
    ----------
    sigma, h : array_like, shape (n, k)
        Observed and noiseless ranks, complete.

    Returns
    -------
    float
        β in [−1, 1]; 1 without noise.

    Examples
    --------
    >>> kendall_gap([[1, 2, 3], [3, 2, 1]], [[1, 2, 3], [1, 2, 3]])
    0.0
    """
    observed, noiseless = to_mid_ranks(sigma, require_complete=True), to_mid_ranks(h, require_complete=True)
    return float(np.mean(kendall_tau(observed, noiseless)))
