"""Features on one scale: centred, with mean square 1, as glmnet and ncvreg standardise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Standardised", "standardised"]

_SMALLEST, _LARGEST = 5e-324, np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class Standardised:
    """Features and response, centred and scaled.

    Parameters
    ----------
    features : float64 array, shape (q, n), C-contiguous
        Each of mean 0 and mean square 1; all zeros where a feature is constant.
    target : float64 array, shape (n,)
        Of mean 0, on its own scale.
    centres, scales : float64 arrays, shape (q,)
        z = (feature − centre) / scale; the scale of a constant feature is 1.
    mean : float
        The response's mean.
    """

    features: NDArray[np.float64]
    target: NDArray[np.float64]
    centres: NDArray[np.float64]
    scales: NDArray[np.float64]
    mean: float

    def raw(self, coefficients: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bring coefficients back to the features' own scale.

        Parameters
        ----------
        coefficients : float64 array, shape (…, q)
            For the standardised features.

        Returns
        -------
        coefficients : float64 array, shape (…, q)
            Infinite where a feature is so small that its coefficient leaves float64.
        intercepts : float64 array, shape (…)
        """
        with np.errstate(over="ignore"):
            own = coefficients / self.scales
        # centre / scale first: it is of moderate size where the coefficient on its own is not
        return own, self.mean - (coefficients * (self.centres / self.scales)).sum(axis=-1)


def standardised(values: NDArray[np.float64], target: NDArray[np.float64]) -> Standardised:
    """Centre and scale features; centre the response.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One row a feature, finite, of any size.
    target : float64 array, shape (n,)
        The response.

    Returns
    -------
    Standardised

    Examples
    --------
    >>> standardised(np.array([[1.0, 3.0]]), np.array([5.0, 7.0])).features.tolist()
    [[-1.0, 1.0]]
    """
    centred, centres, exponents = _centred(values)
    size = np.abs(centred).max(axis=1, initial=0.0)
    constant = size == 0.0
    size[constant] = 1.0
    # near 1 before squaring: a feature of 1e8 ± 1e-8 has squares of 1e-32 times its own size
    near = centred / size[:, None]
    spread = np.sqrt((near * near).mean(axis=1))
    spread[constant] = 1.0
    # a number even where rounding would take it to 0 or beyond float64
    with np.errstate(over="ignore"):
        scales = np.clip(np.ldexp(size * spread, exponents), _SMALLEST, _LARGEST)
    scales[constant] = 1.0
    aim, mean, exponent = _centred(target[None])
    return Standardised(
        near / spread[:, None], np.ldexp(aim[0], exponent[0]), centres, scales, float(mean[0])
    )


def _centred(
    values: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]]:
    """Return (values − centre)·2^−exponent, the centres, and the exponents, so that no sum overflows."""
    exponents = np.frexp(np.abs(values).max(axis=1, initial=0.0))[1]
    small = np.ldexp(values, -exponents[:, None])
    # the mean is sought from the first row on, so that a constant is centred to exactly zero
    start = small[:, 0].copy()
    small -= start[:, None]
    shift = small.mean(axis=1)
    small -= shift[:, None]
    return small, np.ldexp(start + shift, exponents), exponents
