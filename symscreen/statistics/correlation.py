"""Spearman's and Pearson's correlation of each feature with the response."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.response import Response
    from symscreen.statistics.order import Ordered

__all__ = ["correlations", "pearson_of", "spearman_of"]


_EXACT_ROWS = 2_000_000


def spearman_of(ordered: Ordered, response: Response) -> NDArray[np.float64]:
    """Compute Spearman's ρ: Pearson's correlation of the mid-ranks.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows, none constant.
    response : Response
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1]; exactly the negative for mirrored ranks, since its sums are whole numbers.
    """
    n = response.n
    # sums of whole numbers within ±n³: exact up to two million rows, beyond them in floats
    number = np.int64 if n <= _EXACT_ROWS else np.float64
    theirs = (ordered.doubled_ranks.astype(np.int64) - (n + 1)).astype(number)
    ours = (response.doubled_ranks - (n + 1)).astype(number)
    covariance = (theirs * ours).sum(axis=1).astype(np.float64)
    spread = np.sqrt((theirs * theirs).sum(axis=1).astype(np.float64)) * np.sqrt(float((ours * ours).sum()))
    return np.asarray(np.clip(covariance / spread, -1.0, 1.0))


def pearson_of(ordered: Ordered, response: Response) -> NDArray[np.float64]:
    """Compute Pearson's correlation of each feature of a block with the response.

    Parameters
    ----------
    ordered : Ordered
        m features over the response's n rows, none constant.
    response : Response
        The response.

    Returns
    -------
    float64 array, shape (m,)
        In [−1, 1].
    """
    centred, _ = response.centred
    return correlations(ordered.values, centred[response.group])


def correlations(values: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute Pearson's correlation of each row of a block with one target.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        Finite; any scale, for each row is first brought near 1 by a power of two.
    target : float64 array, shape (n,)
        Finite and of moderate size.

    Returns
    -------
    float64 array, shape (m,)
        0 where a row is constant.

    Examples
    --------
    >>> correlations(np.array([[1e300, 2e300, 3e300]]), np.array([1.0, 2.0, 4.0])).round(4).tolist()
    [0.982]
    """
    _, exponents = np.frexp(np.abs(values).max(axis=1))
    small = np.ldexp(values, -exponents[:, None])
    small = small - small.mean(axis=1, keepdims=True)
    aim = target - target.mean()
    # not a dot product: BLAS may split the sum by its own threads
    spread = np.sqrt((small * small).sum(axis=1)) * np.sqrt((aim * aim).sum())
    covariance = (small * aim).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = covariance / spread
    return np.clip(np.where(spread > 0, r, 0.0), -1.0, 1.0)
