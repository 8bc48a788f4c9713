"""An interval of the disagreeing share where it rests on few rows, or on none.

Leaving out rows tells how a sum of many parts varies. Where a feature agrees with the response but for a few
rows, it has seen a few events at most, and none of those that did not happen: with no pair in disagreement it
would say that there can be none. Two things stand in:

- the gamma interval of Fay and Feuer (1997) for a weighted sum of rare events, an estimate s of variance v:
  from below s²/v events, from above one event more, of the weight w of one pair of rows in disagreement with
  all;
- without any, the exact bound. Of n rows ⌊n/2⌋ pairs can be formed that share no row, and none of them is
  seen to disagree with a chance of (1 − p)^⌊n/2⌋: so p ≤ 1 − α^(1/⌊n/2⌋).

The bound is one of how many pairs disagree. Of their share of Gini's mean difference it is one as far as
pairs disagree no more often the farther their responses are apart.

A standard error and an interval for T0 of a feature, by leaving out one row, or one group, at a time.

T0 is a U-statistic with the kernel |y_i − y_j| (1 − s_ij), Gini's mean difference Δ one with |y_i − y_j|, and
row i's own part of either is a sum over j that sorting gives for all rows at once::

    T0 without row i = (n(n−1) T0 − 2 Σ_j |y_i − y_j| (1 − s_ij)) / ((n−1)(n−2))

so that the jackknife costs O(n log n). Without a group the pairs inside of it, taken away twice, come back.
Intervals are taken where the distribution is less skewed: of T0 on the scale of its logarithm, of the Gini
correlation Γ = 1 − T0/Δ (Schechtman and Yitzhaki 1987) on that of Fisher's z = artanh Γ, both with Student's
t of as many degrees as there are rows or groups, less one. Where all but a few pairs agree, or all but a few
disagree, leaving out tells too little: see `symscreen.statistics.inference.t0_interval`.

Of −θ, Γ is −Γ and its interval the mirror image. T0 is 2Δ − T0, and Δ is itself estimated: the interval of a
falling feature's T0 must allow for it, and is wider than the mirror image of that of its negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.targets import NumericTarget

    Rows = NDArray[np.int64]

__all__ = [
    "MIN_UNITS",
    "T0Intervals",
    "compute_rare_event_interval",
    "compute_t0_intervals",
    "has_few_events",
]

_MAX_RARE_EVENTS = 10.0  # events; of more the jackknife tells enough


def has_few_events(share: float, standard_error: float) -> bool:
    """Say whether a share rests on so few events that a standard error tells little.

    Parameters
    ----------
    share : float
        Of pairs in disagreement, by weight; not negative.
    error : float
        Its standard error.

    Returns
    -------
    bool
        Whether share² / error² is below 10: for N rare events of one weight it is N.

    Examples
    --------
    >>> has_few_events(0.0, 0.0), has_few_events(0.3, 0.03)
    (True, False)
    """
    return share == 0.0 or share * share < _MAX_RARE_EVENTS * standard_error * standard_error


def compute_rare_event_interval(
    share: float, standard_error: float, n_units: int, level: float, n_standard_errors: float
) -> tuple[float, float]:
    """Bound a share that rests on few events.

    Parameters
    ----------
    share : float
        Of pairs in disagreement, by weight; in [0, 2).
    error : float
        Its standard error.
    units : int
        How many rows, or groups of rows, are independent: at least 2.
    level : float
        Of the interval, in (0, 1).
    reach : float
        So many standard errors are in half of it; above 0.

    Returns
    -------
    tuple of float
        The wider of Fay and Feuer's interval and one on the scale of Fisher's z; in [0, 2].

    Examples
    --------
    >>> low, high = compute_rare_event_interval(0.0, 0.0, units=200, level=0.95, reach=2.0)
    >>> low, round(high, 4), round(1 - 0.025 ** (1 / 100), 4)
    (0.0, 0.0362, 0.0362)
    >>> [round(end, 4) for end in compute_rare_event_interval(0.01, 0.01, units=200, level=0.95, reach=2.0)]
    [0.0003, 0.0723]
    """
    from scipy.special import gammaincinv  # not at the top: it would slow every start

    alpha = 0.5 - 0.5 * level  # on either side
    w = 1.0 / (n_units // 2)
    if share == 0.0:
        return 0.0, -math.expm1(w * math.log(alpha))
    v = standard_error * standard_error
    low = share * float(gammaincinv(share * share / v, alpha)) / (share * share / v)
    more, scale = share + w, (v + w * w) / (share + w)
    high = scale * float(gammaincinv(more / scale, 1.0 - alpha))
    # z = artanh(1 − share) has the derivative −1/(share (2 − share))
    half = min(n_standard_errors * standard_error / (share * (2.0 - share)), 300.0)
    odds = share / (2.0 - share)
    below, above = odds * math.exp(-2.0 * half), odds * math.exp(2.0 * half)
    return min(low, 2.0 * below / (1.0 + below)), min(2.0, max(high, 2.0 * above / (1.0 + above)))


MIN_UNITS = 4  # rows or groups


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


def compute_t0_intervals(
    values: NDArray[np.float64],
    target: NumericTarget,
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
    >>> from symscreen.targets import NumericTarget
    >>> y = NumericTarget(np.arange(20.0))
    >>> found = t0_interval(np.array([np.roll(y.values, 1), y.values]), y)
    >>> bool(0 < found.low[0] < found.high[0]), found.low[1].tolist(), round(float(found.gamma_low[1]), 2)
    (True, 0.0, 0.69)
    """
    from scipy.special import stdtrit  # not at the top: it would slow every start

    if not 0.0 < level < 1.0:
        raise OptionError(
            f"the level of an interval is {level:g}: it is a share between 0 and 1, such as 0.95"
        )
    n = target.n
    if n < MIN_UNITS:
        raise OptionError(
            f"an interval needs at least {MIN_UNITS} rows: the response {target.name!r} has {n}"
        )
    units = n if groups is None else int(groups.max()) + 1
    if units < MIN_UNITS:
        raise OptionError(f"an interval by groups needs at least {MIN_UNITS} of them: there are {units}")
    centred, exponent = target.centered_values
    y = centred[target.tie_groups]
    members = [] if groups is None else [np.flatnonzero(groups == one) for one in range(units)]
    reach = float(stdtrit(units - 1.0, 0.5 + 0.5 * level))
    delta = _compute_leave_one_out(_compute_signed_sums(y, y), _sum_within_groups(y, y, members), members)
    rows = []
    for theta in values:
        concordant = _compute_leave_one_out(
            _compute_signed_sums(theta, y), _sum_within_groups(theta, y, members), members
        )
        rows.append(_compute_interval(concordant, delta, level, reach))
    table = np.array(rows, dtype=np.float64).reshape(-1, 6).T
    in_unit = np.ldexp(table[:3], exponent)
    return T0Intervals(*in_unit, *table[3:])


def _compute_interval(
    concordance: tuple[float, Values], gini_difference: tuple[float, Values], level: float, t_quantile: float
) -> tuple[float, ...]:
    (delta, delta_without), (agreeing, agreeing_without) = gini_difference, concordance
    nothing = 1e-12 * delta  # the accuracy of T0
    t0_without = np.maximum(delta_without - agreeing_without, 0.0)
    t0 = max(delta - agreeing, 0.0)
    # of rows without which the response is constant all depends
    known = delta_without > nothing
    without = np.divide(t0_without, delta_without, out=np.zeros_like(t0_without), where=known)
    share = 0.0 if t0 <= nothing else 2.0 if 2.0 * delta - t0 <= nothing else t0 / delta
    error, of_share = _compute_jackknife_error(t0_without), _compute_jackknife_error(without)
    if has_few_events(min(share, 2.0 - share), of_share):
        rare, units = min(share, 2.0 - share), len(without)
        low, high = compute_rare_event_interval(rare, of_share, units, level, t_quantile)
        if share > 1.0:
            low, high = 2.0 - high, 2.0 - low
        of_delta = (
            _compute_jackknife_error(np.log(delta_without))
            if known.all()
            else _compute_jackknife_error(delta_without) / delta
        )
        stretch = math.exp(min(t_quantile * of_delta, 300.0))
        error = 0.0 if share == 0.0 else error
        return error, low * delta / stretch, high * delta * stretch, 1.0 - share, 1.0 - high, 1.0 - low
    of_log, of_z = (
        _compute_jackknife_error(np.log(t0_without)),
        _compute_jackknife_error(0.5 * np.log((2.0 - without) / without)),
    )
    z = math.atanh(1.0 - share)
    ends = math.tanh(z - t_quantile * of_z), math.tanh(z + t_quantile * of_z)
    return error, t0 * math.exp(-t_quantile * of_log), t0 * math.exp(t_quantile * of_log), 1.0 - share, *ends


def _sum_within_groups(key: Values, y: Values, group_rows: Sequence[Rows]) -> Values:
    """Sum what `_signed` gives within each group alone."""
    return np.array([_compute_signed_sums(key[own], y[own]).sum() for own in group_rows])


def _compute_signed_sums(key: Values, y: Values) -> Values:
    """Return Σ_j (y_i − y_j) sign(key_i − key_j) for each row i."""
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    below = np.searchsorted(ascending, key, side="left")
    at_most = np.searchsorted(ascending, key, side="right")
    sums = np.concatenate(([0.0], np.cumsum(y[order])))
    return np.asarray(y * (below - (len(y) - at_most)) - (sums[below] - (sums[-1] - sums[at_most])))


def _compute_leave_one_out(
    row_sums: Values, within_group_sums: Values, group_rows: Sequence[Rows]
) -> tuple[float, Values]:
    """Return a U-statistic of pairs, and those without each row, or each group."""
    n = float(len(row_sums))
    total = float(row_sums.sum())
    of_all = total / (n * (n - 1.0))
    if not group_rows:
        return of_all, (total - 2.0 * row_sums) / ((n - 1.0) * (n - 2.0))
    left = n - np.array([len(own) for own in group_rows], dtype=np.float64)
    sums = np.array([row_sums[own].sum() for own in group_rows])
    return of_all, (total - 2.0 * sums + within_group_sums) / (left * (left - 1.0))


def _compute_jackknife_error(leave_one_out: Values) -> float:
    n = len(leave_one_out)
    return math.sqrt((n - 1.0) / n * float(((leave_one_out - leave_one_out.mean()) ** 2).sum()))
