"""Standard errors and confidence intervals of T0 by the jackknife over rows or groups.

T0 is a U-statistic with the kernel |y_i − y_j| (1 − s_ij), and Gini's mean difference Δ is one with the
kernel |y_i − y_j|. Sorting gives the sum over j of row i for all rows at once::

    T0 without row i = (n(n−1) T0 − 2 Σ_j |y_i − y_j| (1 − s_ij)) / ((n−1)(n−2))

so the jackknife costs O(n log n). If a group is left out, the pairs inside the group are subtracted twice and
must be added once. Intervals are computed on a less skewed scale: log T0 for T0, and Fisher's z = artanh Γ
for the Gini correlation Γ = 1 − T0/Δ (Schechtman and Yitzhaki 1987). Both use Student's t with the number of
rows or groups less one as degrees of freedom.

For −θ, Γ changes its sign and its interval is mirrored. T0 becomes 2Δ − T0, and Δ is itself estimated: the
interval of a falling feature's T0 includes the error of Δ, and is wider than the mirrored interval of −θ.

The jackknife is unreliable if all pairs but a few agree, or all but a few disagree. If no pair disagrees, it
would conclude that none can. The share of disagreeing pairs is then bounded by two other intervals:

- the gamma interval of Fay and Feuer (1997) for a weighted sum of rare events. An estimate s with variance v
has
  s²/v events for the lower bound, and one event more for the upper one, with the weight of one of the ⌊n/2⌋
  disjoint pairs of rows;
- without any disagreeing pair, the exact bound. n rows form ⌊n/2⌋ pairs that share no row, and the
probability
  that none of them disagrees is (1 − p)^⌊n/2⌋, so p ≤ 1 − α^(1/⌊n/2⌋).

The exact bound is one for the share of pairs that disagree. It holds for their share of Gini's mean
difference if pairs with a larger difference of the target do not disagree more often.
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
    from symscreen.statistics.ranks.sorted_values import SortedValues

    Rows = NDArray[np.int64]


_MAX_RARE_EVENTS = 10.0  # events; with more the jackknife is reliable
MIN_UNITS = 4  # rows or groups


def has_few_events(share: float, standard_error: float) -> bool:
    """Return whether a share rests on so few events that its standard error is unreliable.

    Parameters
    ----------
    share : float
        The weighted share of disagreeing pairs, not negative.
    standard_error : float
        Its standard error.

    Returns
    -------
    bool
        Whether share² / standard_error² is below 10. For N rare events of equal weight it is N.

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
        The weighted share of disagreeing pairs, in [0, 2).
    standard_error : float
        Its standard error.
    n_units : int
        Number of independent rows, or groups of rows, at least 2.
    level : float
        The confidence level, in (0, 1).
    n_standard_errors : float
        Half the width of a normal interval in standard errors, positive.

    Returns
    -------
    tuple of float
        The union of Fay and Feuer's interval and one on the scale of Fisher's z, within [0, 2].

    Examples
    --------
    >>> low, high = compute_rare_event_interval(0.0, 0.0, n_units=200, level=0.95, n_standard_errors=2.0)
    >>> low, round(high, 4), round(1 - 0.025 ** (1 / 100), 4)
    (0.0, 0.0362, 0.0362)
    >>> bounds = compute_rare_event_interval(0.01, 0.01, n_units=200, level=0.95, n_standard_errors=2.0)
    >>> [round(bound, 4) for bound in bounds]
    [0.0003, 0.0723]
    """
    from scipy.special import gammaincinv  # imported here to keep start-up fast

    alpha = 0.5 - 0.5 * level  # probability in each tail
    w = 1.0 / (n_units // 2)
    if share == 0.0:
        return 0.0, -math.expm1(w * math.log(alpha))
    v = standard_error * standard_error
    low = share * float(gammaincinv(share * share / v, alpha)) / (share * share / v)
    next_share, scale = share + w, (v + w * w) / (share + w)
    high = scale * float(gammaincinv(next_share / scale, 1.0 - alpha))
    # The derivative of z = artanh(1 − share) is −1/(share (2 − share)).
    half = min(n_standard_errors * standard_error / (share * (2.0 - share)), 300.0)
    odds = share / (2.0 - share)
    below, above = odds * math.exp(-2.0 * half), odds * math.exp(2.0 * half)
    return min(low, 2.0 * below / (1.0 + below)), min(2.0, max(high, 2.0 * above / (1.0 + above)))


@dataclass(frozen=True, eq=False)
class T0Intervals:
    """Standard errors and intervals of a block of features, each an array of shape (m,).

    Parameters
    ----------
    error : float64 array
        The standard error of T0, in the target's unit.
    low, high : float64 array
        The interval of T0, in the target's unit. For falling features it includes the error of Δ.
    gini, gini_low, gini_high : float64 array
        Γ = 1 − T0/Δ in [−1, 1] and its interval, which is mirrored for −θ.
    """

    error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    gini: NDArray[np.float64]
    gini_low: NDArray[np.float64]
    gini_high: NDArray[np.float64]


def compute_t0_intervals(
    values: NDArray[np.float64],
    target: SortedValues,
    level: float = 0.95,
    groups: NDArray[np.int64] | None = None,
) -> T0Intervals:
    """Compute intervals for T0 and Γ of a few features.

    Parameters
    ----------
    values : float64 array, shape (m, n)
        One feature per row, in the order of the target's rows; finite.
    target : SortedValues
        n ≥ 4 rows that are independent, or independent between groups.
    level : float
        The coverage probability, in (0, 1). It holds for a feature that was chosen in advance. For the best
        of many features the intervals are too optimistic.
    groups : int64 array, shape (n,), optional
        The group index of each row, 0 … G − 1 without gaps, G ≥ 4. Groups are independent; rows within a
        group need not be.

    Returns
    -------
    T0Intervals

    Raises
    ------
    OptionError
        If the level is not between 0 and 1, or there are fewer than four rows or groups.

    Examples
    --------
    >>> from symscreen.statistics.ranks.sorted_values import SortedValues
    >>> y = SortedValues(np.arange(20.0))
    >>> intervals = compute_t0_intervals(np.array([np.roll(y.values, 1), y.values]), y)
    >>> low, high, gini_low = intervals.low, intervals.high, intervals.gini_low
    >>> bool(0 < low[0] < high[0]), low[1].tolist(), round(float(gini_low[1]), 2)
    (True, 0.0, 0.69)
    """
    from scipy.special import stdtrit  # imported here to keep start-up fast

    if not 0.0 < level < 1.0:
        raise OptionError(f"the level of an interval must be between 0 and 1, such as 0.95: it is {level:g}")
    n = target.n
    if n < MIN_UNITS:
        raise OptionError(f"an interval needs at least {MIN_UNITS} rows: the target has {n}")
    n_units = n if groups is None else int(groups.max()) + 1
    if n_units < MIN_UNITS:
        raise OptionError(f"an interval by groups needs at least {MIN_UNITS} groups: there are {n_units}")
    centered, exponent = target.centered_values
    y = centered[target.tie_groups]
    group_rows = [] if groups is None else [np.flatnonzero(groups == group) for group in range(n_units)]
    t_quantile = float(stdtrit(n_units - 1.0, 0.5 + 0.5 * level))
    delta = _compute_leave_one_out(
        _compute_signed_sums(y, y), _sum_within_groups(y, y, group_rows), group_rows
    )
    rows = []
    for theta in values:
        concordant = _compute_leave_one_out(
            _compute_signed_sums(theta, y), _sum_within_groups(theta, y, group_rows), group_rows
        )
        rows.append(_compute_interval(concordant, delta, level, t_quantile))
    table = np.array(rows, dtype=np.float64).reshape(-1, 6).T
    in_unit = np.ldexp(table[:3], exponent)
    return T0Intervals(*in_unit, *table[3:])


def _compute_interval(
    concordant: tuple[float, Values], gini_difference: tuple[float, Values], level: float, t_quantile: float
) -> tuple[float, ...]:
    """Compute the six fields of `T0Intervals` for one feature."""
    (delta, delta_without), (concordance, concordance_without) = gini_difference, concordant
    precision = 1e-12 * delta  # the numerical error of T0
    t0_without = np.maximum(delta_without - concordance_without, 0.0)
    t0 = max(delta - concordance, 0.0)
    # Leaving out a row may make the target constant: then the share is undefined.
    is_defined = delta_without > precision
    share_without = np.divide(t0_without, delta_without, out=np.zeros_like(t0_without), where=is_defined)
    share = 0.0 if t0 <= precision else 2.0 if 2.0 * delta - t0 <= precision else t0 / delta
    error, share_error = _compute_jackknife_error(t0_without), _compute_jackknife_error(share_without)
    if has_few_events(min(share, 2.0 - share), share_error):
        rare_share, n_units = min(share, 2.0 - share), len(share_without)
        low, high = compute_rare_event_interval(rare_share, share_error, n_units, level, t_quantile)
        if share > 1.0:
            low, high = 2.0 - high, 2.0 - low
        relative_delta_error = (
            _compute_jackknife_error(np.log(delta_without))
            if is_defined.all()
            else _compute_jackknife_error(delta_without) / delta
        )
        stretch = math.exp(min(t_quantile * relative_delta_error, 300.0))
        error = 0.0 if share == 0.0 else error
        return error, low * delta / stretch, high * delta * stretch, 1.0 - share, 1.0 - high, 1.0 - low
    log_error = _compute_jackknife_error(np.log(t0_without))
    z_error = _compute_jackknife_error(0.5 * np.log((2.0 - share_without) / share_without))
    z = math.atanh(1.0 - share)
    gini_bounds = math.tanh(z - t_quantile * z_error), math.tanh(z + t_quantile * z_error)
    return (
        error,
        t0 * math.exp(-t_quantile * log_error),
        t0 * math.exp(t_quantile * log_error),
        1.0 - share,
        *gini_bounds,
    )


def _sum_within_groups(key: Values, y: Values, group_rows: Sequence[Rows]) -> Values:
    """Sum the result of `_compute_signed_sums` within each group; shape (groups,)."""
    return np.array([_compute_signed_sums(key[rows], y[rows]).sum() for rows in group_rows])


def _compute_signed_sums(key: Values, y: Values) -> Values:
    """Compute Σ_j (y_i − y_j) sign(key_i − key_j) for each row i; shapes (n,)."""
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    n_below = np.searchsorted(ascending, key, side="left")
    n_at_most = np.searchsorted(ascending, key, side="right")
    sums = np.concatenate(([0.0], np.cumsum(y[order])))
    return np.asarray(y * (n_below - (len(y) - n_at_most)) - (sums[n_below] - (sums[-1] - sums[n_at_most])))


def _compute_leave_one_out(
    row_sums: Values, within_group_sums: Values, group_rows: Sequence[Rows]
) -> tuple[float, Values]:
    """Compute a U-statistic of pairs, and its values without each row or group."""
    n = float(len(row_sums))
    total = float(row_sums.sum())
    statistic = total / (n * (n - 1.0))
    if not group_rows:
        return statistic, (total - 2.0 * row_sums) / ((n - 1.0) * (n - 2.0))
    n_remaining = n - np.array([len(rows) for rows in group_rows], dtype=np.float64)
    sums = np.array([row_sums[rows].sum() for rows in group_rows])
    return statistic, (total - 2.0 * sums + within_group_sums) / (n_remaining * (n_remaining - 1.0))


def _compute_jackknife_error(leave_one_out: Values) -> float:
    """Compute the jackknife standard error from the leave-one-out values, shape (units,)."""
    n = len(leave_one_out)

    return math.sqrt((n - 1.0) / n * float(((leave_one_out - leave_one_out.mean()) ** 2).sum()))
