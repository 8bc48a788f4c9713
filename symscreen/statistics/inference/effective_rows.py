"""Effective number of rows whose neighbours in time are alike: independent rows that would tell as much."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Integers, Values


def estimate_effective_rows(x: Values, y: Values, runs: Sequence[Integers]) -> float:
    """Estimate the number of independent rows for which a rank correlation varies as much by chance.

    Parameters
    ----------
    x, y : float64 array, shape (n,)
        Ranks of a feature and of the target, not constant.
    runs : sequence of int64 array
        The rows of each run in the order of time, n in all.

    Returns
    -------
    float
        n / (1 + 2 Σ_k (1 − k/n) r_x(k) r_y(k)), in [1, n], with the autocorrelations r at the distance k
        (Bartlett 1935, Some aspects of the time-correlation problem in regard to tests of significance, eq.
        12). The sum ends where r_x(k) r_y(k) is not positive, because later terms are noise.

    Examples
    --------
    >>> import numpy as np
    >>> places = np.arange(40.0)
    >>> alternating = (-1.0) ** places
    >>> estimate_effective_rows(alternating, places, [np.arange(40)])
    40.0
    """
    n = len(x)
    longest = max((len(run) for run in runs), default=0)
    (x_series, y_series) = ([(values - values.mean())[run] for run in runs] for values in (x, y))
    x_square, y_square = (sum(float(part @ part) for part in series) for series in (x_series, y_series))
    total = 0.0
    for k in range(1, longest):
        products = [
            sum(float(part[:-k] @ part[k:]) for part in series if len(part) > k) / square
            for series, square in ((x_series, x_square), (y_series, y_square))
        ]
        if min(products) <= 0.0:
            break
        total += (1.0 - k / n) * products[0] * products[1]
    return max(1.0, n / (1.0 + 2.0 * total))
