"""What disturbs scores: noise of mean zero on [−b, b], b = ¼ where scores in [¼, ¾] are to stay in [0, 1]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, ndtri

from symscreen.errors import OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.ranking.generators.nonparametric import Noise

__all__ = ["truncated_gaussian", "uniform_noise"]

_BOUND = 0.25


def truncated_gaussian(sd: float, bound: float = _BOUND) -> Noise:
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
        For `Oracle.noise`. Drawn by inversion: one generator gives the same quantiles at every `sd`.

    Raises
    ------
    OptionError
        If `sd` is negative or `bound` is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = truncated_gaussian(0.2)((1000, 5), np.random.default_rng(0))
    >>> bool(np.abs(drawn).max() <= 0.25)
    True
    """
    if not (math.isfinite(sd) and sd >= 0.0):
        raise OptionError(f"the standard deviation {sd!r} of noise must be 0 or more")
    return _TruncatedGaussian(sd, _checked(bound))


def uniform_noise(bound: float = _BOUND) -> Noise:
    """Give uniform noise on [−bound, bound]: what the truncated Gaussian tends to as its deviation grows.

    Parameters
    ----------
    bound : float
        Positive.

    Returns
    -------
    callable
        For `Oracle.noise`.

    Raises
    ------
    OptionError
        If `bound` is not positive.
    """
    return _Uniform(_checked(bound))


def _checked(bound: float) -> float:
    if not (math.isfinite(bound) and bound > 0.0):
        raise OptionError(f"the bound {bound!r} of noise must be positive")
    return bound


@dataclass(frozen=True)
class _TruncatedGaussian:
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
class _Uniform:
    bound: float

    def __call__(self, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.uniform(-self.bound, self.bound, shape)
