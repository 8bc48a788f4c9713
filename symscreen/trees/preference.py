"""Which of two features a tree prefers (Luo and Li 2024, Corollary 4, Propositions 8 and 9).

`find_attainable_splits` lists the oracle partitions that a single split on a feature attains (Corollary 4).
The other functions compare two piecewise monotone maps by their pre-images: p_{1>2} of eq. (14) is the
measure of the intervals on which only the first map has a pre-image minus that of the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.trees._column_checks import check_column, check_target, check_threshold
from symscreen.trees.monotone_maps import (
    Interval,
    compute_end_values,
    compute_image,
    merge_adjacent,
    refine_intervals,
)
from symscreen.trees.partitions import compute_cut_losses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from symscreen.trees.monotone_maps import PiecewiseMonotone

    Cdf = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class AttainableSplit:
    """A split on a feature that separates the smaller from the larger target values.

    Parameters
    ----------
    n_low : int
        Number of rows with the smaller target values. The split is P* of size `n_low`, and P** of size
        n − `n_low`.
    threshold : float
        Threshold C, an observed value. Rows with z ≤ C are on one side.
    is_rising : bool
        Whether the smaller target values are on the side z ≤ C.
    loss : float
        Loss of eq. (10), in squared units of the target.
    """

    n_low: int
    threshold: float
    is_rising: bool
    loss: float


def find_attainable_splits(z: ArrayLike, y: ArrayLike) -> tuple[AttainableSplit, ...]:
    """List the partitions of Lemma 1 that a single split on a feature attains.

    Parameters
    ----------
    z : array_like, shape (n,)
        Feature values.
    y : array_like, shape (n,)
        Target values; n ≥ 2.

    Returns
    -------
    tuple of AttainableSplit
        Sorted by the number of rows with the smaller target values. Empty if no split of z separates smaller
        from larger target values. The best of all partitions is attained if one of the splits has the loss of
        ``find_oracle_partition(y)``; both losses are computed in the same way.

    Raises
    ------
    DataError
        If z and y are not finite columns of the same length.

    Notes
    -----
    Luo and Li (2024), Corollary 4, for every size at once. Falling features are included because the loss
    does not distinguish left from right. A feature with the order of y, or the reverse order, attains all n −
    1 partitions, hence the best one. Each single split of it gives one of the two partitions of its size, not
    always the better one: Example 4 states for any observed threshold what holds only for the best one.

    Example 3 of the text contains an error. It attains the oracle partition with z = x², but all its x are
    positive, and x² preserves their order. With z = (x − ½)² the statement is true.

    Examples
    --------
    >>> x = np.array([0.1, 0.3, 0.5, 0.6, 0.9])
    >>> y = [5.0, 2.1, 1.0, 2.0, 4.0]
    >>> find_attainable_splits(x**2, y)
    (AttainableSplit(n_low=4, threshold=0.010000000000000002, is_rising=False, loss=4.7075),)
    >>> [split.n_low for split in find_attainable_splits((x - 0.5) ** 2, y)]
    [1, 2, 3]
    """
    target = check_target(y)
    feature = check_column(z, "z", target.size)
    order = np.lexsort((target, feature))
    feature, sorted_target = feature[order], target[order]
    is_cut = feature[:-1] < feature[1:]
    # The split is rising if no target value on the left exceeds one on the right.
    rising = np.maximum.accumulate(sorted_target)[:-1] <= np.minimum.accumulate(sorted_target[::-1])[-2::-1]
    falling = np.minimum.accumulate(sorted_target)[:-1] >= np.maximum.accumulate(sorted_target[::-1])[-2::-1]
    losses = compute_cut_losses(np.sort(target))
    splits_by_size: dict[int, AttainableSplit] = {}
    for cut in np.flatnonzero(is_cut).tolist():
        sizes = {True: cut + 1, False: target.size - 1 - cut}
        for is_rising, n_low in sizes.items():
            if (rising if is_rising else falling)[cut]:
                split = AttainableSplit(n_low, float(feature[cut]), is_rising, float(losses[n_low - 1]))
                splits_by_size.setdefault(n_low, split)
    return tuple(splits_by_size[n_low] for n_low in sorted(splits_by_size))


@dataclass(frozen=True, slots=True)
class PreferenceStep:
    """A range of thresholds on which the preference is constant.

    Parameters
    ----------
    thresholds : Interval
        The thresholds C.
    preference : float
        p_{1>2} of eq. (14), in [−1, 1].
    undecided : float
        Probability, in [0, 1], of the intervals on which both maps have a pre-image. There eq. (14) does not
        apply.
    """

    thresholds: Interval
    preference: float
    undecided: float


@dataclass(frozen=True, slots=True)
class PreferenceExtremes:
    """The largest and the smallest preference, and the thresholds that give them.

    Parameters
    ----------
    max_preference, min_preference : float
        Largest and smallest p_{1>2} over C.
    max_thresholds, min_thresholds : tuple of Interval
        Thresholds at which they are attained, ascending.
    """

    max_preference: float
    max_thresholds: tuple[Interval, ...]
    min_preference: float
    min_thresholds: tuple[Interval, ...]


def count_preimages(
    first: PiecewiseMonotone, second: PiecewiseMonotone, thresholds: tuple[float, float]
) -> NDArray[np.int64]:
    """Count the pre-images of two thresholds on the refined monotonic intervals.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        Maps θ1 and θ2 with the same domain.
    thresholds : tuple of float
        Thresholds (C1, C2).

    Returns
    -------
    int64 array, shape (2, intervals)
        0 or 1: the tables of Figure 3, one row per map.

    Raises
    ------
    OptionError
        If the domains differ, or a threshold is NaN.

    Notes
    -----
    Luo and Li (2024), Corollary 6 and Figure 3. On an interval without a pre-image neither map splits the
    rows, and the ratio is 1 (Proposition 8 (i)). If one map has a pre-image, its ratio is larger (ii). Both
    statements refer to means over the rows of that interval. They decide the ratio (9) of the whole node only
    if one of the maps has no pre-image at all. That map does not split, and a split never increases the loss
    (Proposition 7).

    Examples
    --------
    >>> from symscreen.trees import PiecewiseMonotone
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x + 1.2])
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> count_preimages(line, bump, (1.3, 0.5)).tolist()
    [[1, 0], [1, 1]]
    """
    values = [check_threshold(threshold) for threshold in thresholds]
    intervals = refine_intervals(first, second)
    return np.array(
        [
            [value in image for image in _compute_images(transform, intervals)]
            for transform, value in zip((first, second), values, strict=True)
        ],
        dtype=np.int64,
    )


def compute_preference(
    first: PiecewiseMonotone,
    second: PiecewiseMonotone,
    thresholds: float | tuple[float, float],
    cdf: Cdf | None = None,
) -> float:
    """Compute p_{1>2}, which compares how often one map has a pre-image and the other has none.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        Maps θ1 and θ2 with the same domain.
    thresholds : float or tuple of float
        Threshold C of both maps, or (C1, C2).
    cdf : callable, optional
        Continuous distribution function of the input. By default uniform on the domain.

    Returns
    -------
    float
        In [−1, 1]: the probability of the intervals on which only θ1 has a pre-image, minus that of the
        intervals on which only θ2 has one.

    Raises
    ------
    OptionError
        If the domains differ, a threshold is NaN, or `cdf` is not a distribution function.

    Notes
    -----
    Luo and Li (2024), Proposition 9, eq. (14). The text calls p_{1>2} a probability; it is a difference of
    two. Intervals on which both maps have a pre-image are excluded by the proposition and count for neither.
    The preference does not use the target: eq. (9) decides which map a tree selects for given data.

    Example 7 (θ1 = x + 1.2, θ2 = −4x² + 4x, x uniform on [0, 1]) contains three errors. For C in (0, 1) its
    table prints 1, but eq. (14) gives −1, as the text requires when it calls this the minimum. C = 0, which
    is not in the table, gives −1 too. For C in [1, 1.2) the table prints 0, but eq. (14) gives 0 in (1, 1.2)
    only. At C = 1 the maximum of θ2 is a pre-image, and p is −½ (−1 for closed intervals, which count the
    maximum twice).

    Examples
    --------
    >>> from symscreen.trees import PiecewiseMonotone
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x + 1.2])
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> [compute_preference(line, bump, C) for C in (-1.0, 0.0, 0.5, 1.0, 1.1, 1.2, 1.7, 2.2, 3.0)]
    [0.0, -1.0, -1.0, -0.5, 0.0, 0.5, 0.5, 0.5, 0.0]
    """
    pair = thresholds if isinstance(thresholds, tuple) else (thresholds, thresholds)
    counts = count_preimages(first, second, pair)
    measures = _compute_measures(refine_intervals(first, second), cdf)
    return _compare_measures(counts[0].astype(np.bool_), counts[1].astype(np.bool_), measures)[0]


def compute_preference_steps(
    first: PiecewiseMonotone, second: PiecewiseMonotone, cdf: Cdf | None = None
) -> tuple[PreferenceStep, ...]:
    """Compute p_{1>2} as a step function of the threshold C = C1 = C2.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        Maps θ1 and θ2 with the same domain.
    cdf : callable, optional
        Continuous distribution function of the input. By default uniform on the domain.

    Returns
    -------
    tuple of PreferenceStep
        Ascending from −∞ to ∞ without gaps.

    Raises
    ------
    OptionError
        If the domains differ, or `cdf` is not a distribution function.

    Notes
    -----
    Luo and Li (2024), eq. (14), as in the table of Example 7. The preference changes only where C is the
    value of a map at an end of a refined interval. It is therefore evaluated at each of these values and once
    between neighbours.

    Examples
    --------
    >>> from symscreen.trees import PiecewiseMonotone
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x + 1.2])
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> for step in compute_preference_steps(line, bump):
    ...     print(step.thresholds, step.preference)
    (-inf, 0) 0.0
    [0, 1) -1.0
    [1, 1] -0.5
    (1, 1.2) 0.0
    [1.2, 2.2] 0.5
    (2.2, inf) 0.0
    """
    intervals = refine_intervals(first, second)
    first_images, second_images = _compute_images(first, intervals), _compute_images(second, intervals)
    measures = _compute_measures(intervals, cdf)
    parts = []
    for thresholds, value in _split_line(
        {end for image in first_images + second_images for end in (image.low, image.high)}
    ):
        in_first = np.array([value in image for image in first_images])
        in_second = np.array([value in image for image in second_images])
        parts.append((thresholds, _compare_measures(in_first, in_second, measures)))
    return tuple(
        PreferenceStep(thresholds, *preferences) for thresholds, preferences in merge_adjacent(parts)
    )


def find_extreme_preferences(
    first: PiecewiseMonotone, second: PiecewiseMonotone, cdf: Cdf | None = None
) -> PreferenceExtremes:
    """Find the thresholds with the largest and with the smallest preference for the first map.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        Maps θ1 and θ2 with the same domain.
    cdf : callable, optional
        Continuous distribution function of the input. By default uniform on the domain.

    Returns
    -------
    PreferenceExtremes

    Raises
    ------
    OptionError
        If the domains differ, or `cdf` is not a distribution function.

    Notes
    -----
    Luo and Li (2024), after Proposition 9 and in Example 7.

    Examples
    --------
    >>> from symscreen.trees import PiecewiseMonotone
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x + 1.2])
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> extremes = find_extreme_preferences(line, bump)
    >>> extremes.max_preference, str(extremes.max_thresholds[0])
    (0.5, '[1.2, 2.2]')
    >>> extremes.min_preference, str(extremes.min_thresholds[0])
    (-1.0, '[0, 1)')
    """
    steps = merge_adjacent(
        (step.thresholds, step.preference) for step in compute_preference_steps(first, second, cdf)
    )
    largest, smallest = max(p for _, p in steps), min(p for _, p in steps)
    return PreferenceExtremes(
        largest,
        tuple(thresholds for thresholds, p in steps if p == largest),
        smallest,
        tuple(thresholds for thresholds, p in steps if p == smallest),
    )


def _compute_images(transform: PiecewiseMonotone, intervals: Sequence[Interval]) -> list[Interval]:
    """Compute the image of each interval under a map."""
    return [compute_image(interval, *compute_end_values(transform, interval)[1:]) for interval in intervals]


def _compute_measures(intervals: Sequence[Interval], cdf: Cdf | None) -> NDArray[np.float64]:
    """Compute the probability of each interval, shape (intervals,)."""
    ends = np.array([intervals[0].low, *(interval.high for interval in intervals)])
    if cdf is None:
        return np.asarray(np.diff(ends) / (ends[-1] - ends[0]))
    probabilities = np.array([float(cdf(float(end))) for end in ends])
    if not ((probabilities >= 0) & (probabilities <= 1)).all() or (np.diff(probabilities) < 0).any():
        raise OptionError(
            f"the distribution function takes {probabilities.tolist()} at {ends.tolist()}; "
            "it must be non-decreasing with values in [0, 1]"
        )
    return np.diff(probabilities)


def _compare_measures(
    in_first: NDArray[np.bool_], in_second: NDArray[np.bool_], measures: NDArray[np.float64]
) -> tuple[float, float]:
    """Return p_{1>2} and the undecided share, rounded to 12 digits so that equal sums are equal numbers."""
    # p_{1>2} = P(∪ I_1^i) − P(∪ I_2^j)                                                                   (14)
    difference = measures[in_first & ~in_second].sum() - measures[in_second & ~in_first].sum()
    return round(float(difference), 12) + 0.0, round(float(measures[in_first & in_second].sum()), 12)


def _split_line(breakpoints: set[float]) -> list[tuple[Interval, float]]:
    """Split the real line at breakpoints; return each open interval and point with a number it contains."""
    values = sorted(breakpoints)
    parts = [
        (
            Interval(-np.inf, values[0], includes_low=False, includes_high=False),
            values[0] - abs(values[0]) - 1,
        )
    ]
    for value, next_value in zip(values, [*values[1:], np.inf], strict=True):
        parts.append((Interval(value, value, includes_low=True, includes_high=True), value))
        inner = value + abs(value) + 1 if np.isinf(next_value) else value / 2 + next_value / 2
        parts.append((Interval(value, next_value, includes_low=False, includes_high=False), inner))
    return parts
