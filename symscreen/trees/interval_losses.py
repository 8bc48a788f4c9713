"""Losses of two features on the intervals on which both are monotone (Luo and Li 2024, Proposition 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from symscreen.trees.decisions import (
    RELATIVE_TOLERANCE,
    check_column,
    check_target,
    check_threshold,
    compute_squared_deviation,
)
from symscreen.trees.preference import Interval, PiecewiseMonotone, count_preimages, refine_intervals

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from symscreen._typing import Flags, Values

    PreimageCase = Literal["i", "ii", "iii"]


@dataclass(frozen=True, slots=True)
class IntervalComparison:
    """Two decision rules on one refined interval I.

    Parameters
    ----------
    interval : Interval
        I.
    n_rows : int
        Number of rows in I.
    preimages : tuple of int
        Number of pre-images, 0 or 1, of C1 under θ1 and of C2 under θ2.
    case : {"i", "ii", "iii"}
        Part of Proposition 8: no pre-image, one, or two.
    losses : tuple of float
        Loss of each rule on the rows of I, in squared units of the target.
    log_ratio : float
        log τ on I: the second loss minus the first. Positive if the first rule is better.
    preferred : int or None
        Index of the rule with the smaller loss, 0 or 1. None if the losses agree to 12 digits of the loss
        without a split.
    """

    interval: Interval
    n_rows: int
    preimages: tuple[int, int]
    case: PreimageCase
    losses: tuple[float, float]
    log_ratio: float
    preferred: int | None


def compare_interval_losses(
    first: PiecewiseMonotone,
    second: PiecewiseMonotone,
    thresholds: tuple[float, float],
    x: ArrayLike,
    y: ArrayLike,
) -> tuple[IntervalComparison, ...]:
    """Compare the rules θ1(x) ≤ C1 and θ2(x) ≤ C2 by their losses on each refined interval.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        Maps θ1 and θ2 with the same domain.
    thresholds : tuple of float
        Thresholds (C1, C2).
    x : array_like, shape (n,)
        Input values, within the domain.
    y : array_like, shape (n,)
        Target values; n ≥ 2.

    Returns
    -------
    tuple of IntervalComparison
        One for each interval of `refine_intervals`, ascending; also for intervals without rows.

    Raises
    ------
    DataError
        If x and y are not finite columns of the same length, or x leaves the domain.
    OptionError
        If the domains differ, or a threshold is NaN.

    Notes
    -----
    Luo and Li (2024), Proposition 8. In case (i) neither rule splits the rows of I, and the ratio is 1. In
    case (ii) the rule with a pre-image has the larger ratio, by Proposition 7; the ratio is 1 if all rows of
    I are on one side, or both sides have the same mean. In case (iii) the rule of the smaller loss

        Σ (y_i − μ_L)²·1(θ(x_i) ≤ C) + Σ (y_i − μ_R)²·1(θ(x_i) > C)

    is preferred. The statement prints sums over all n rows; the proof restricts them, and the means, to the
    rows of I, as here. For a falling map θ(x) ≤ C means x ≥ θ⁻¹(C), which exchanges the two sides and does
    not change the loss. The losses of the intervals do not add up to that of the node (eq. 5), which has two
    means for all intervals.

    Examples
    --------
    On [0, 1/2) both maps rise and have a pre-image. The second map cuts at x = 0.15, between the two groups.

    >>> from symscreen.trees import PiecewiseMonotone
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x + 1.2])
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> x, y = [0.1, 0.2, 0.3, 0.6, 0.9], [1.0, 5.0, 6.0, 3.0, 4.0]
    >>> for found in compare_interval_losses(line, bump, (1.45, 0.51), x, y):
    ...     print(found.interval, found.case, found.losses, found.preferred)
    [0, 0.5) iii (8.0, 0.5) 1
    [0.5, 1] ii (0.5, 0.0) 1
    """
    target = check_target(y)
    inputs = check_column(x, "x", target.size)
    preimages = count_preimages(first, second, thresholds)
    rules = [
        transform(inputs) <= check_threshold(threshold)
        for transform, threshold in zip((first, second), thresholds, strict=True)
    ]
    return tuple(
        _compare_rules(interval, counts, _find_rows(interval, inputs), rules, target)
        for interval, counts in zip(refine_intervals(first, second), preimages.T.tolist(), strict=True)
    )


def _find_rows(interval: Interval, x: Values) -> Flags:
    """Mark the inputs (n,) in a refined interval, which contains its start, and its end if it is the last."""
    return np.asarray(
        (x >= interval.low) & ((x < interval.high) | (interval.includes_high & (x == interval.high)))
    )


def _compare_rules(
    interval: Interval, counts: list[int], is_inside: Flags, rules: list[Flags], target: Values
) -> IntervalComparison:
    """Compare two rules on the rows of one interval; every array has shape (n,)."""
    y = target[is_inside]
    one, two = (_compute_loss(y, rule[is_inside]) for rule in rules)
    tolerance = RELATIVE_TOLERANCE * compute_squared_deviation(np.sort(y))
    preferred = None if abs(two - one) <= tolerance else int(two < one)
    case: PreimageCase = "i" if sum(counts) == 0 else "ii" if sum(counts) == 1 else "iii"
    return IntervalComparison(
        interval, int(is_inside.sum()), (counts[0], counts[1]), case, (one, two), two - one, preferred
    )


def _compute_loss(y: Values, is_left: Flags) -> float:
    """Compute the loss of a rule; the order of the rows has no effect."""
    return sum(compute_squared_deviation(np.sort(y[side])) for side in (is_left, ~is_left))
