"""Replace the coefficients of a model by simple numbers that the data allow."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.coefficients import build_design
from symscreen.fitting.laws.simple_numbers import EVIDENT_LEVEL, find_simple_numbers, measure_number
from symscreen.linear_models.row_weights import center_rows, scale_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from symscreen._typing import Values
    from symscreen.fitting.coefficients import CoefficientEstimates
    from symscreen.linear_models.row_weights import RowWeights


_RELATIVE_TOLERANCE = 1e-12  # change of a prediction that is rounding, relative to the target's maximum
_MAX_DENOMINATOR = 12  # largest denominator of a simple fraction


def find_simplest_number(low: float, high: float) -> float:
    """Return the simplest number in an interval: the fewest significant digits, or a shorter fraction.

    Parameters
    ----------
    low, high : float
        Ends of the interval, low ≤ high.

    Returns
    -------
    float
        A number in [low, high]. The middle of the interval if it contains no simpler number.

    Examples
    --------
    >>> [find_simplest_number(*ends) for ends in ((1.93, 2.06), (0.3329, 0.3337), (0.0747, 0.0752))]
    [2.0, 0.3333333333333333, 0.075]
    """
    return _find_simplest(low, high)[1]


def _find_simplest(low: float, high: float) -> tuple[int, float]:
    """Return the number of digits (0 for zero) and the value of the simplest number in an interval."""
    middle = low / 2 + high / 2  # low + high might overflow
    if low <= 0.0 <= high or not np.isfinite(middle):
        return (0, 0.0) if low <= 0.0 <= high else (17, middle)
    # if any number with this many digits lies inside, the one closest to the middle does
    decimals = next(
        (digits for digits in range(1, 17) if low <= _round_to_digits(middle, digits) <= high), 17
    )
    for denominator in range(2, _MAX_DENOMINATOR + 1):
        if abs(middle) * denominator >= 10.0**decimals:
            break  # the numerator alone would have as many digits
        fraction = Fraction(round(middle * denominator), denominator)
        digits = len(str(abs(fraction.numerator))) + len(str(fraction.denominator))
        if low <= float(fraction) <= high and digits < decimals:
            return digits, float(fraction)
    return decimals, _round_to_digits(middle, decimals) if decimals < 17 else min(max(middle, low), high)


def _round_to_digits(number: float, digits: int) -> float:
    """Round a number to significant digits."""
    return float(f"{number:.{digits - 1}e}")


def snap_coefficients(
    estimates: CoefficientEstimates,
    values: Values,
    target: Values,
    row_weights: RowWeights | None = None,
    *,
    only_simple: bool = False,
) -> Values | None:
    """Replace each coefficient by the simplest number in its interval, if the data allow all of them.

    The coefficient with the shortest number is replaced first. The others are then estimated again with this
    coefficient fixed, and so on. For example, a slope has a smaller error once the intercept is known to be
    0. The distance that each number may have from its estimate is what the F test leaves after the earlier
    ones.

    A slope whose interval contains 0 is not changed. An intercept whose interval contains 0 becomes 0.

    Parameters
    ----------
    estimates : CoefficientEstimates
        Result of `estimate_coefficients` for the same terms and rows.
    values : float64 array, shape (k, n)
        Values of the terms.
    target : float64 array, shape (n,)
        Values of the target.
    row_weights : RowWeights, optional
        The weights that the estimates were computed with.
    only_simple : bool
        Whether to replace only coefficients near integers, simple fractions, roots and multiples of π, as
        constants inside laws are (`symscreen.fitting.laws.simple_numbers.find_simple_numbers`). The others
        stay estimates. The F test of all numbers decides, because with several coefficients the interval of
        one often misses its true value; a number that is hardly near by chance may be farther away.
        Otherwise, each becomes the shortest number in its interval.

    Returns
    -------
    float64 array, shape (k + 1,), or None
        The numbers. None if no such numbers fit together, or if the F test of all restrictions rejects them
        at the level of the intervals.
    """
    from scipy.special import fdtri

    find_number = _find_simple_number if only_simple else _find_shortest_number
    snapped, n_snapped = _snap_sequentially(
        estimates, values, target, row_weights, find_number, keeps_intervals=not only_simple
    )
    if snapped is None or not n_snapped:
        return None
    largest = np.abs(target).max()
    scaled_target, scaled_coefficients = target / largest, snapped / largest
    residuals = scaled_target - scaled_coefficients[0] - (scaled_coefficients[1:, None] * values).sum(axis=0)
    p = len(snapped)
    if np.abs(residuals).max() <= p * _RELATIVE_TOLERANCE:
        return snapped
    centered, residuals = center_rows(scaled_target, row_weights), scale_rows(residuals, row_weights)
    share = float((residuals * residuals).sum() / (centered * centered).sum())
    n_freedom = estimates.n_freedom
    if n_freedom <= 0 or (snapped == estimates.coefficients).all() or estimates.unexplained_share <= 0.0:
        return None
    statistic = (share - estimates.unexplained_share) / n_snapped / (estimates.unexplained_share / n_freedom)
    level = max(estimates.level, EVIDENT_LEVEL) if only_simple else estimates.level
    return snapped if statistic <= float(fdtri(n_snapped, n_freedom, level)) else None


def _snap_sequentially(
    estimates: CoefficientEstimates,
    values: Values,
    target: Values,
    row_weights: RowWeights | None,
    find_number: Callable[[float, float, float], tuple[float, float] | None],
    *,
    keeps_intervals: bool,
) -> tuple[Values | None, int]:
    """Choose numbers, shape (k + 1,), one by one, simplest first; None if one would leave its interval.

    Without `keeps_intervals`, a number may be outside the interval of its coefficient if the F test of
    all numbers allows it. The second result is the number of coefficients that were replaced.
    """
    from scipy.special import fdtri

    tolerance = (
        _RELATIVE_TOLERANCE * np.abs(target).max() / np.concatenate(([1.0], np.abs(values).max(axis=1)))
    )
    low = np.fmin(estimates.low, estimates.coefficients - tolerance)
    high = np.fmax(estimates.high, estimates.coefficients + tolerance)
    is_determined = (low > 0.0) | (high < 0.0)
    if not keeps_intervals:
        low, high = np.full_like(low, -np.inf), np.full_like(high, np.inf)
    design, norms = build_design(values, row_weights)
    first = 0 if estimates.has_intercept else 1
    inverse = np.linalg.inv(np.linalg.qr(design[:, first:])[1])
    # Σ of the coefficients of scaled columns, for residuals of variance 1; a missing intercept is certain
    covariance = np.pad(inverse @ inverse.T, (first, 0))
    coefficients = estimates.coefficients.copy()
    # terms are never dropped here, so only the intercept may become 0
    pending = [k for k in range(first, len(coefficients)) if k == 0 or is_determined[k]]
    n_freedom = estimates.n_freedom
    # F test of all m restrictions: Σ z² ≤ m·F, z being the change divided by its standard error, given the
    # earlier ones
    m = len(pending)
    remaining = m * float(fdtri(m, n_freedom, estimates.level)) if n_freedom > 0 else 0.0
    while pending:
        error = estimates.residual_std * np.sqrt(np.fmax(np.diag(covariance), 0.0)) / norms
        max_shift = np.fmax(error * np.sqrt(remaining), tolerance)
        ends = {
            k: (max(low[k], coefficients[k] - max_shift[k]), min(high[k], coefficients[k] + max_shift[k]))
            for k in pending
        }
        if any(start > stop for start, stop in ends.values()):
            return None, 0
        numbers = {k: find_number(*ends[k], float(error[k])) for k in pending}
        found = [(number[0], k, number[1]) for k, number in numbers.items() if number is not None]
        if not found:
            break
        _, k, snapped = min(found)
        pending.remove(k)
        shift = snapped - coefficients[k]
        if error[k] > 0.0:
            remaining = max(remaining - (shift / error[k]) ** 2, 0.0)
        # conditional normal distribution: given b_k = v, b has mean b + Σ_·k (v − b_k)/Σ_kk and covariance
        # Σ − Σ_·k Σ_k·/Σ_kk
        column = covariance[:, k] / covariance[k, k]
        coefficients[pending] += (column / norms * norms[k] * shift)[pending]
        covariance = covariance - np.outer(column, covariance[k])
        coefficients[k] = snapped
    return coefficients, m - len(pending)


def _find_shortest_number(low: float, high: float, _error: float) -> tuple[float, float]:
    """Return the length of the shortest number of an interval, and the number."""
    return _find_simplest(low, high)


def _find_simple_number(low: float, high: float, error: float) -> tuple[float, float] | None:
    """Return the cost in bits of the simplest number of an interval, and the number; None without one.

    A number outside is returned if it is evident for an estimate with this standard error.
    """
    numbers = find_simple_numbers((low + high) / 2.0, (high - low) / 2.0, keep=1, error=error)
    return (measure_number(numbers[0]), numbers[0]) if numbers else None
