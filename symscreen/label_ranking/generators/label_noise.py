"""Noise on label scores, observation mechanisms and measures of noise (Fotakis et al. 2022).

Noise has mean zero on [−b, b]; with b = ¼, scores in [¼, ¾] stay in [0, 1]. A mechanism M determines which
part of a ranking is observed (Definitions 2.4 and C.1). Any function of (inputs, noisy scores, generator) is
a mechanism. The two mechanisms of this module draw independent coins with probabilities that may depend on
the inputs. `inconsistency` and `kendall_gap` compare observed with noiseless rankings (Definition 2.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from symscreen.errors import OptionError
from symscreen.label_ranking.consensus.distances import kendall_tau
from symscreen.label_ranking.generators.rank_models import rank_by_score
from symscreen.targets.ranking_ranks import to_mid_ranks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values
    from symscreen.label_ranking.generators.input_dependent import NoiseSampler, ObservationMechanism

    Probabilities = ArrayLike | Callable[[NDArray[np.float64]], NDArray[np.float64]]


_DEFAULT_BOUND = 0.25  # keeps scores in [¼, ¾] within [0, 1]


def make_truncated_gaussian_noise(sd: float, bound: float = _DEFAULT_BOUND) -> NoiseSampler:
    """Make a sampler of Gaussian noise with mean zero, truncated to [−bound, bound].

    Parameters
    ----------
    sd : float
        Standard deviation before truncation, at least 0; 0 gives no noise.
    bound : float
        Positive bound.

    Returns
    -------
    callable
        Value for `RankingOracle.noise_sampler`. Noise is drawn by inversion: the same generator state gives
        the same quantiles for every `sd`.

    Raises
    ------
    OptionError
        If `sd` is negative or `bound` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> noise = make_truncated_gaussian_noise(0.2)((1000, 5), np.random.default_rng(0))
    >>> bool(np.abs(noise).max() <= 0.25)
    True
    """
    if not (math.isfinite(sd) and sd >= 0.0):
        raise OptionError(f"the standard deviation of the noise is {sd!r}; it must be at least 0")
    _check_bound(bound)
    return _TruncatedGaussianNoise(sd, bound)


@dataclass(frozen=True)
class _TruncatedGaussianNoise:
    """A sampler of truncated Gaussian noise that can be pickled."""

    sd: float
    bound: float

    def __call__(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noise of the given shape."""
        u = rng.random(shape)
        if self.sd == 0.0:
            return np.zeros(shape)
        lower_tail = ndtr(-self.bound / self.sd)
        noise = self.sd * ndtri(lower_tail + u * (1.0 - 2.0 * lower_tail))
        return np.asarray(np.clip(noise, -self.bound, self.bound))


def make_uniform_noise(bound: float = _DEFAULT_BOUND) -> NoiseSampler:
    """Make a sampler of uniform noise on [−bound, bound], the limit of the truncated Gaussian for large `sd`.

    Parameters
    ----------
    bound : float
        Positive bound.

    Returns
    -------
    callable
        Value for `RankingOracle.noise_sampler`.

    Raises
    ------
    OptionError
        If `bound` is not positive.
    """
    _check_bound(bound)
    return _UniformNoise(bound)


@dataclass(frozen=True)
class _UniformNoise:
    """A sampler of uniform noise that can be pickled."""

    bound: float

    def __call__(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw noise of the given shape."""
        return rng.uniform(-self.bound, self.bound, shape)


def _check_bound(bound: float) -> None:
    """Check that the bound is finite and positive."""
    if not (math.isfinite(bound) and bound > 0.0):
        raise OptionError(f"the bound of the noise is {bound!r}; it must be positive")


def make_survivor_mechanism(q: Probabilities) -> ObservationMechanism:
    """Make a mechanism that observes the order of a random subset of labels, the survivors (Definition 2.4).

    The ranks of the survivors among all labels are not observed.

    Parameters
    ----------
    q : float, array_like of shape (k,), or callable
        Survival probability of each label. A callable maps inputs, shape (n, d), to probabilities, shape (n,
        k).

    Returns
    -------
    callable
        Value for `RankingOracle.mechanism`. Rows without survivors are drawn again, so every row contains at
        least one label.

    Raises
    ------
    OptionError
        On a call, if a probability is not in [0, 1], or all probabilities of a row are 0.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[0.4, 0.9, 0.7, 0.8, 0.1]])
    >>> make_survivor_mechanism([1.0, 0.0, 1.0, 0.0, 1.0])(np.zeros((1, 1)), y, np.random.default_rng(0))
    array([[ 2., nan,  1., nan,  3.]])
    """
    return _SurvivorMechanism(q)


@dataclass(frozen=True, eq=False)
class _SurvivorMechanism:
    """A mechanism with survivors that can be pickled."""

    q: Probabilities

    def __call__(self, x: Values, y: Values, rng: np.random.Generator) -> Values:
        """Draw the observed ranks, shape (n, k)."""
        p = _broadcast_probabilities(self.q, x, (y.shape[0], y.shape[1]))
        if not p.any(axis=1).all():
            raise OptionError("all survival probabilities of a row are 0; at least one must be positive")
        survives = rng.random(p.shape) < p
        while not (has_survivor := survives.any(axis=1)).all():
            survives[~has_survivor] = rng.random((int((~has_survivor).sum()), p.shape[1])) < p[~has_survivor]
        return to_mid_ranks(np.where(survives, rank_by_score(y), np.nan))


def make_bucket_mechanism(p: Probabilities) -> ObservationMechanism:
    """Make a mechanism that observes a bucket order (Definition C.1).

    Neighbours in the ranking are tied unless a bucket boundary is drawn between them.

    Parameters
    ----------
    p : float, array_like of shape (k − 1,), or callable
        Probability of a boundary after each position of the ranking. A callable maps inputs, shape (n, d), to
        probabilities, shape (n, k − 1). With all probabilities 1 the complete ranking is observed.

    Returns
    -------
    callable
        Value for `RankingOracle.mechanism`. It returns mid-ranks.

    Raises
    ------
    OptionError
        On a call, if a probability is not in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[0.2, 0.4, 0.1, 0.3, 0.5]])  # e > b > d > a > c
    >>> # observed order: e = b > d > a = c
    >>> make_bucket_mechanism([0, 1, 1, 0])(np.zeros((1, 1)), y, np.random.default_rng(0))
    array([[4.5, 1.5, 4.5, 3. , 1.5]])
    """
    return _BucketMechanism(p)


@dataclass(frozen=True, eq=False)
class _BucketMechanism:
    """A mechanism with buckets that can be pickled."""

    p: Probabilities

    def __call__(self, x: Values, y: Values, rng: np.random.Generator) -> Values:
        """Draw the observed ranks, shape (n, k)."""
        boundaries = _broadcast_probabilities(self.p, x, (y.shape[0], y.shape[1] - 1))
        bucket = np.zeros(y.shape, dtype=np.int64)
        bucket[:, 1:] = np.cumsum(rng.random(boundaries.shape) < boundaries, axis=1)
        positions = rank_by_score(y).astype(np.int64) - 1
        return to_mid_ranks(np.take_along_axis(bucket, positions, axis=1))


def _broadcast_probabilities(
    probabilities: Probabilities, x: NDArray[np.float64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Evaluate, check and broadcast probabilities to the given shape."""
    values = np.asarray(probabilities(x) if callable(probabilities) else probabilities, dtype=np.float64)
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise OptionError(
            f"probabilities range from {values.min():g} to {values.max():g}; they must be in [0, 1]"
        )
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise OptionError(
            f"probabilities of shape {values.shape} do not match {shape[0]} rows of {shape[1]}; give one "
            f"number, {shape[1]} numbers, or a function of the inputs"
        ) from None


def inconsistency(sigma: ArrayLike, h: ArrayLike) -> float:
    """Compute the α-inconsistency Pr[σ ≠ h(x)]: the share of rows in which noise changed the ranking.

    Parameters
    ----------
    sigma, h : array_like, shape (n, k)
        Observed and noiseless ranks; complete.

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
    """Compute the β-kτ gap E kτ(σ, h(x)): the mean Kendall coefficient of observed and noiseless rankings.

    Parameters
    ----------
    sigma, h : array_like, shape (n, k)
        Observed and noiseless ranks; complete.

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
