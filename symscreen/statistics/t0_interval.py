"""A standard error and an interval for T0 of a feature, by leaving out one row, or one group, at a time.

T0 is a U-statistic with the kernel |y_i − y_j| (1 − s_ij), Gini's mean difference Δ one with |y_i − y_j|, and
row i's own part of either is a sum over j that sorting gives for all rows at once::

    T0 without row i = (n(n−1) T0 − 2 Σ_j |y_i − y_j| (1 − s_ij)) / ((n−1)(n−2))

so that the jackknife costs O(n log n). Without a group the pairs inside of it, taken away twice, come back.
Intervals are taken where the distribution is less skewed: of T0 on the scale of its logarithm, of the Gini
correlation Γ = 1 − T0/Δ (Schechtman and Yitzhaki 1987) on that of Fisher's z = artanh Γ, both with Student's
t of as many degrees as there are rows or groups, less one. Where all but a few pairs agree, or all but a few
disagree, leaving out tells too little: see `symscreen.statistics.few_disagree`.

Of −θ, Γ is −Γ and its interval the mirror image. T0 is 2Δ − T0, and Δ is itself estimated: the interval of a
falling feature's T0 must allow for it, and is wider than the mirror image of that of its negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.statistics.few_disagree import rests_on_few, share_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen.response import Response

    Rows = NDArray[np.int64]
    Values = NDArray[np.float64]

__all__ = ["FEWEST", "T0Intervals", "t0_interval"]

FEWEST = 4  # rows or groups


@dataclass(frozen=True, eq=False)
class T0Intervals:
    """Standard errors and intervals of a block of features, each an array of shape (m,).

    Parameters
    ----------
    error : float64 array
        The standard error of T0, in the response's unit.
    low, high : float64 array
        The interval of T0, in the response's unit; for falling features it holds the error of Δ, too.
    gamma, gamma_low, gamma_high : float64 array
        Γ = 1 − T0/Δ in [−1, 1], and its interval: of −θ the mirror image.
    """

    error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gamma: NDArray[np.float64]
    gamma_low: NDArray[np.float64]
    gamma_high: NDArray[np.float64]


def t0_interval(
    values: NDArray[np.float64],
    response: Response,
    level: float = 0.95,
    groups: NDArray[np.int64] | None = None,
) -> T0Intervals:
    """Compute intervals for T0 and Γ of a few features.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature a row, in the order of the response's rows; finite.
    response : Response
        n ≥ 4 rows, drawn independently of each other, or in groups.
    level : float
        The share of intervals that shall hold the truth, in (0, 1). They are of a feature chosen beforehand;
        of one chosen as the best of many they are too hopeful.
    groups : int64 array, shape (n,), optional
        The number of each row's group, from 0 up without gaps: groups are drawn independently of each other,
        the rows of one need not be. At least 4 of them.

    Returns
    -------
    T0Intervals

    Raises
    ------
    OptionError
        If the level is not between 0 and 1, or there are fewer than four rows or groups.

    Examples
    --------
    >>> from symscreen.response import Response
    >>> y = Response(np.arange(20.0))
    >>> found = t0_interval(np.array([np.roll(y.values, 1), y.values]), y)
    >>> bool(0 < found.low[0] < found.high[0]), found.low[1].tolist(), round(float(found.gamma_low[1]), 2)
    (True, 0.0, 0.69)
    """
    from scipy.special import stdtrit  # not at the top: it would slow every start

    if not 0.0 < level < 1.0:
        raise OptionError(
            f"the level of an interval is {level:g}: it is a share between 0 and 1, such as 0.95"
        )
    n = response.n
    if n < FEWEST:
        raise OptionError(f"an interval needs at least {FEWEST} rows: the response {response.name!r} has {n}")
    units = n if groups is None else int(groups.max()) + 1
    if units < FEWEST:
        raise OptionError(f"an interval by groups needs at least {FEWEST} of them: there are {units}")
    centred, exponent = response.centred
    y = centred[response.group]
    members = [] if groups is None else [np.flatnonzero(groups == one) for one in range(units)]
    reach = float(stdtrit(units - 1.0, 0.5 + 0.5 * level))
    delta = _without(_signed(y, y), _inside(y, y, members), members)
    rows = []
    for theta in values:
        concordant = _without(_signed(theta, y), _inside(theta, y, members), members)
        rows.append(_of_one(concordant, delta, level, reach))
    table = np.array(rows, dtype=np.float64).reshape(-1, 6).T
    in_unit = np.ldexp(table[:3], exponent)
    return T0Intervals(*in_unit, *table[3:])


def _of_one(
    concordant: tuple[float, Values], spread: tuple[float, Values], level: float, reach: float
) -> tuple[float, ...]:
    (delta, delta_without), (agreeing, agreeing_without) = spread, concordant
    nothing = 1e-12 * delta  # the accuracy of T0
    t0_without = np.maximum(delta_without - agreeing_without, 0.0)
    t0 = max(delta - agreeing, 0.0)
    # of rows without which the response is constant all depends
    known = delta_without > nothing
    without = np.divide(t0_without, delta_without, out=np.zeros_like(t0_without), where=known)
    share = 0.0 if t0 <= nothing else 2.0 if 2.0 * delta - t0 <= nothing else t0 / delta
    error, of_share = _error(t0_without), _error(without)
    if rests_on_few(min(share, 2.0 - share), of_share):
        rare, units = min(share, 2.0 - share), len(without)
        low, high = share_bounds(rare, of_share, units, level, reach)
        if share > 1.0:
            low, high = 2.0 - high, 2.0 - low
        of_delta = _error(np.log(delta_without)) if known.all() else _error(delta_without) / delta
        stretch = math.exp(min(reach * of_delta, 300.0))
        error = 0.0 if share == 0.0 else error
        return error, low * delta / stretch, high * delta * stretch, 1.0 - share, 1.0 - high, 1.0 - low
    of_log, of_z = _error(np.log(t0_without)), _error(0.5 * np.log((2.0 - without) / without))
    z = math.atanh(1.0 - share)
    ends = math.tanh(z - reach * of_z), math.tanh(z + reach * of_z)
    return error, t0 * math.exp(-reach * of_log), t0 * math.exp(reach * of_log), 1.0 - share, *ends


def _inside(key: Values, y: Values, members: Sequence[Rows]) -> Values:
    """Sum what `_signed` gives within each group alone."""
    return np.array([_signed(key[own], y[own]).sum() for own in members])


def _signed(key: Values, y: Values) -> Values:
    """Return Σ_j (y_i − y_j) sign(key_i − key_j) for each row i."""
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    below = np.searchsorted(ascending, key, side="left")
    at_most = np.searchsorted(ascending, key, side="right")
    sums = np.concatenate(([0.0], np.cumsum(y[order])))
    return np.asarray(y * (below - (len(y) - at_most)) - (sums[below] - (sums[-1] - sums[at_most])))


def _without(parts: Values, inside: Values, members: Sequence[Rows]) -> tuple[float, Values]:
    """Return a U-statistic of pairs, and those without each row, or each group."""
    n = float(len(parts))
    total = float(parts.sum())
    of_all = total / (n * (n - 1.0))
    if not members:
        return of_all, (total - 2.0 * parts) / ((n - 1.0) * (n - 2.0))
    left = n - np.array([len(own) for own in members], dtype=np.float64)
    sums = np.array([parts[own].sum() for own in members])
    return of_all, (total - 2.0 * sums + inside) / (left * (left - 1.0))


def _error(without: Values) -> float:
    n = len(without)
    return math.sqrt((n - 1.0) / n * float(((without - without.mean()) ** 2).sum()))
