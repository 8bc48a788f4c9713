"""The exact null distribution of ξ for a response of two values: that of the number of runs.

With n₀ rows of the lower value and n₁ of the upper, |r_{k+1} − r_k| is n₁ between unlike rows and 0
between like ones, so that Q = Σ |r_{k+1} − r_k| counts runs: Q = n₁ (R − 1). Over all orders (Wald and
Wolfowitz 1940, equation 11)::

    P(R = 2j)     = 2 C(n₀−1, j−1) C(n₁−1, j−1) / C(n, n₁)
    P(R = 2j + 1) = [C(n₀−1, j) C(n₁−1, j−1) + C(n₀−1, j−1) C(n₁−1, j)] / C(n, n₁)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Whole = NDArray[np.int64]

__all__ = ["run_law"]

_LEAST = -700.0  # of a logarithm: what is rarer has no float64


def run_law(lower: int, upper: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Compute how likely each number of runs is in a random order of two kinds of rows.

    Parameters
    ----------
    lower, upper : int
        n₀ and n₁, each at least 1.

    Returns
    -------
    runs : int64 array, shape (k,)
        Ascending; numbers rarer than 1e-304 are left out.
    chance : float64 array, shape (k,)
        Of each, > 0.

    Examples
    --------
    >>> runs, chance = run_law(2, 2)
    >>> runs.tolist(), (6 * chance).round(12).tolist()
    ([2, 3, 4], [2.0, 2.0, 2.0])
    """
    few, many = sorted((lower, upper))
    runs = np.arange(2, min(2 * few + 1, lower + upper) + 1)
    j = runs // 2
    odd = runs % 2 == 1
    with np.errstate(divide="ignore"):  # the logarithm of 0 ways
        log_even = np.log(2.0) + _log_ways(few - 1, j - 1) + _log_ways(many - 1, j - 1)
        log_odd = np.logaddexp(
            _log_ways(few - 1, j) + _log_ways(many - 1, j - 1),
            _log_ways(few - 1, j - 1) + _log_ways(many - 1, j),
        )
    logs = np.where(odd, log_odd, log_even) - float(_log_ways(lower + upper, np.array([few]))[0])
    met = logs > _LEAST
    return runs[met], np.exp(logs[met])


def _log_ways(n: int, k: Whole) -> Values:
    """Return log C(n, k), −∞ where there are none."""
    from scipy.special import gammaln  # not at the top: it would slow every start

    inside = np.clip(k, 0, n)
    logs = gammaln(n + 1.0) - gammaln(inside + 1.0) - gammaln(n - inside + 1.0)
    return np.where(k == inside, logs, -np.inf)
