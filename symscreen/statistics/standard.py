"""Features on one scale: centred, with mean square 1, as glmnet and ncvreg standardise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Standardised", "standardised"]


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
        intercepts : float64 array, shape (…)
        """
        own = coefficients / self.scales
        return own, self.mean - (own * self.centres).sum(axis=-1)


def standardised(values: NDArray[np.float64], target: NDArray[np.float64]) -> Standardised:
    """Centre and scale features; centre the response.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        One row a feature.
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
    centres = values.mean(axis=1)
    centred = values - centres[:, None]
    size = np.abs(centred).max(axis=1, initial=0.0)
    size[size == 0.0] = 1.0
    # near 1 before squaring, so that neither 1e200 overflows nor 1e-200 vanishes
    near = centred / size[:, None]
    spread = np.sqrt((near * near).mean(axis=1))
    spread[spread == 0.0] = 1.0
    mean = float(target.mean())
    return Standardised(near / spread[:, None], target - mean, centres, size * spread, mean)
