"""Criteria that choose among least-squares models of different sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["Criterion", "criterion_values", "rounding_floor"]

Criterion = Literal["cp", "bic", "aic"]

_ROUNDING = 1e-12  # rest of the response below which it is rounding
_EPS = float(np.finfo(np.float64).eps)


def rounding_floor(largest: float, spread: float) -> float:
    """Say below which share of its sum of squares a response's rest is nothing but rounding.

    Parameters
    ----------
    largest, spread : float
        The response's largest magnitude and its standard deviation.

    Returns
    -------
    float
        1e-24, or the square of eight roundings where an offset makes these larger.

    Examples
    --------
    >>> rounding_floor(2.0, 1.0)
    1e-24
    """
    return float(max(_ROUNDING, 8.0 * _EPS * largest / spread) ** 2)


def criterion_values(criterion: Criterion, rss: Values, n: int, noise: float, floor: float) -> Values:
    """Weigh RSS against size, for models of 0, 1, …, k features and an intercept.

    With p = k + 1 and RSS as a share of the response's sum of squares::

        BIC = n ln RSS + p ln n        (Schwarz 1978, up to a constant)
        AIC = n ln RSS + 2p            (Akaike 1974, up to a constant)
        Cp  = RSS / σ² − n + 2p        (Mallows 1973)

    Parameters
    ----------
    criterion : {"cp", "bic", "aic"}
    rss : float64 array, shape (k + 1,)
        By size, from 0.
    n : int
        Rows.
    noise : float
        σ² on the scale of `rss`: RSS of the largest model over its degrees of freedom. Only Cp needs it.
    floor : float
        RSS below it is rounding and counts as it: an exact fit is not improved by more terms.

    Returns
    -------
    float64 array, shape (k + 1,)
        The smaller, the better.

    Examples
    --------
    >>> criterion_values("cp", np.array([1.0, 0.2]), 10, 0.025, 1e-24).tolist()
    [32.0, 2.0]
    """
    at_least = np.maximum(rss, floor)
    terms = np.arange(1.0, rss.size + 1.0)
    if criterion == "cp":
        return at_least / noise - n + 2.0 * terms
    each = np.log(n) if criterion == "bic" else 2.0
    return np.asarray(n * np.log(at_least) + terms * each)
