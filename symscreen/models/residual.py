"""What the best model of a few of the features found so far leaves unexplained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.statistics.exhaustive import best_models
from symscreen.statistics.gram import gram_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["residual_of"]

_EXPLAINED = 1e-24
"""A share left unexplained that is rounding: (1e-12)², of the response's own digits."""


def residual_of(
    values: NDArray[np.float64], target: NDArray[np.float64], size: int, jobs: int = 1
) -> tuple[NDArray[np.float64], NDArray[np.int32]] | None:
    """Fit the best model of a size by least squares and return what it leaves.

    Parameters
    ----------
    values : float64 array, shape (q, n)
        The features found.
    target : float64 array, shape (n,)
        The response.
    size : int
        Features in the model, 1 to 4; fewer where there are fewer.
    jobs : int
        Threads.

    Returns
    -------
    residual : float64 array, shape (n,)
        Of mean 0.
    members : int32 array, shape (size,)
        The features of the model.
        None instead of both where nothing is left to explain: a residual of rounding alone ranks nothing.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(5, 40))
    >>> residual, members = residual_of(x, 3 * x[2] + 0.1 * x[4], size=1)
    >>> members.tolist(), round(float(np.corrcoef(residual, x[4])[0, 1]), 1)
    ([2], 1.0)
    """
    gram = gram_of(values, target)
    for terms in range(min(size, len(values)), 0, -1):
        members, unexplained = best_models(gram, terms, keep=1, jobs=jobs)
        if len(members):
            if unexplained[0] < _EXPLAINED:
                return None
            # orthonormal columns: near copies among the features cost no digits
            basis, _ = np.linalg.qr(gram.columns[members[0]].T)
            left = gram.target - basis @ (basis.T @ gram.target)
            left = left - basis @ (basis.T @ left)
            scale = float(np.abs(target - target.mean()).max())
            return left / np.abs(gram.target).max() * scale, members[0]
    return None
