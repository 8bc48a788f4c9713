"""Which oracle partitions one split on a feature attains (paper 003, Corollary 4).

Which of two maps has pre-images where the other has none: p_{1>2} (paper 003, Propositions 8 and 9).
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

__all__ = [
    "AttainableSplit",
    "PreferenceExtremes",
    "PreferenceStep",
    "compute_preference",
    "compute_preference_steps",
    "count_preimages",
    "find_attainable_splits",
    "find_extreme_preferences",
]


@dataclass(frozen=True, slots=True)
class AttainableSplit:
    """A split on a feature that parts the rows at one place of the order of their responses.

    Parameters
    ----------
    low : int
        How many rows have the smaller responses: the split is P* of size `low`, and P** of size n − `low`.
    threshold : float
        C, an observed value: rows with z ≤ C are on one side.
    rising : bool
        Whether the smaller responses are on the side z ≤ C.
    loss : float
        Of eq. (10), in the response's squared unit.
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
        A feature.
    y : array_like, shape (n,)
        The responses; n ≥ 2.

    Returns
    -------
    tuple of Attained
        By the number of rows with the smaller responses; empty where no split of z parts the responses into
        smaller and larger ones. The best of all partitions is attained where one has the loss of
        ``oracle_partition(y)``, which is computed alike.

    Raises
    ------
    TableError
        If z and y are not two finite columns of one length.

    Notes
    -----
    Luo and Li (2024), Corollary 4, for every size at once, and for falling features too, since the loss does
    not know left from right. A feature with the order of y, or the reverse, attains all n − 1 of them, hence
    the best. Each single split of it gives one of the two partitions of its size, not always the better:
    Example 4 says of any observed splitting value what holds of the best one.

    The text of Example 3 has a slip: it attains the oracle partition with z = x², but all its x are positive
    and x² keeps their order; z = (x − ½)² is meant, and does it.

    Examples
    --------
    >>> x = np.array([0.1, 0.3, 0.5, 0.6, 0.9])
    >>> y = [5.0, 2.1, 1.0, 2.0, 4.0]
    >>> find_attainable_splits(x**2, y)
    (Attained(low=4, threshold=0.010000000000000002, rising=False, loss=4.7075),)
    >>> [found.low for found in find_attainable_splits((x - 0.5) ** 2, y)]
    [1, 2, 3]
    """
    response = check_target(y)
    feature = check_column(z, "z", response.size)
    rows = np.lexsort((response, feature))
    feature, along = feature[rows], response[rows]
    splits = feature[:-1] < feature[1:]
    # the left side holds the smaller responses where none there is above any on the right
    rising = np.maximum.accumulate(along)[:-1] <= np.minimum.accumulate(along[::-1])[-2::-1]
    falling = np.minimum.accumulate(along)[:-1] >= np.maximum.accumulate(along[::-1])[-2::-1]
    losses = compute_cut_losses(np.sort(response))
    found: dict[int, AttainableSplit] = {}
    for place in np.flatnonzero(splits & (rising | falling)):
        up = bool(rising[place])
        low = int(place) + 1 if up else response.size - 1 - int(place)
        found.setdefault(low, AttainableSplit(low, float(feature[place]), up, float(losses[low - 1])))
    return tuple(found[low] for low in sorted(found))


@dataclass(frozen=True, slots=True)
class PreferenceStep:
    """A stretch of splitting values on which the preference is one number.

    Parameters
    ----------
    cuts : Interval
        The values C.
    preference : float
        p_{1>2} of eq. (14), in [−1, 1].
    undecided : float
        P of the intervals on which both maps have a pre-image, in [0, 1]: there (14) does not apply.
    """

    thresholds: Interval
    preference: float
    undecided: float


@dataclass(frozen=True, slots=True)
class PreferenceExtremes:
    """The largest and the smallest preference, and the splitting values that give them.

    Parameters
    ----------
    largest, smallest : float
        Of p_{1>2} over C.
    largest_at, smallest_at : tuple of Interval
        Where they are attained, ascending.
    """

    max_preference: float
    max_thresholds: tuple[Interval, ...]
    min_preference: float
    min_thresholds: tuple[Interval, ...]


def count_preimages(
    first: PiecewiseMonotone, second: PiecewiseMonotone, thresholds: tuple[float, float]
) -> NDArray[np.int64]:
    """Count the pre-images of two splitting values on the refined monotonic intervals.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        θ1 and θ2, of one domain.
    cuts : tuple of float
        (C1, C2).

    Returns
    -------
    int64 array, shape (2, intervals)
        0 or 1: the tables of Figure 3, one row a map.

    Raises
    ------
    OptionError
        If the domains differ, or a value is NaN.

    Notes
    -----
    Luo and Li (2024), Corollary 6 and Figure 3. On an interval where neither map has a pre-image neither
    splits its rows, and the ratio is 1 (Proposition 8 (i)); where one has, its ratio is the larger (ii). Both
    hold with means over the rows of that interval. For the ratio (9) of the whole node they settle something
    only where one of the maps has no pre-image at all: it does not split, and no split is worse
    (Proposition 7).

    Examples
    --------
    >>> from symscreen.trees import PiecewiseMonotone
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x + 1.2])
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> count_preimages(line, bump, (1.3, 0.5)).tolist()
    [[1, 0], [1, 1]]
    """
    levels = [check_threshold(cut) for cut in thresholds]
    intervals = refine_intervals(first, second)
    return np.array(
        [
            [level in values for values in _compute_images(transform, intervals)]
            for transform, level in zip((first, second), levels, strict=True)
        ],
        dtype=np.int64,
    )


def compute_preference(
    first: PiecewiseMonotone,
    second: PiecewiseMonotone,
    thresholds: float | tuple[float, float],
    cdf: Cdf | None = None,
) -> float:
    """Compute p_{1>2}, by how much one map has pre-images where another has none.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        θ1 and θ2, of one domain.
    cuts : float or tuple of float
        C for both, or (C1, C2).
    cdf : callable, optional
        The distribution function of the input, continuous; by default uniform on the domain.

    Returns
    -------
    float
        In [−1, 1]: P of the intervals where only θ1 has a pre-image less P of those where only θ2 has one.

    Raises
    ------
    OptionError
        If the domains differ, a value is NaN, or the distribution function is none.

    Notes
    -----
    Luo and Li (2024), Proposition 9, eq. (14). The text calls it a probability; it is a difference of two.
    Intervals on which both have a pre-image, which the proposition excludes, count for neither. It knows
    nothing of the response: which map a tree takes on data is decided by (9).

    Three slips in Example 7 (θ1 = x + 1.2, θ2 = −4x² + 4x, x uniform on [0, 1]): for C in (0, 1) its table
    has 1, and (14) gives −1, as its own text needs when it calls this the minimum; C = 0, which is in none of
    its columns, gives −1 too; and for C in [1, 1.2) it has 0, which (14) gives in (1, 1.2) only: at C = 1 θ2
    has its top as a pre-image, and p is −½ (−1 with closed intervals, which count the top twice).

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
    """Compute p_{1>2} for every splitting value C = C1 = C2: a step function.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        θ1 and θ2, of one domain.
    cdf : callable, optional
        The distribution function of the input, continuous; by default uniform on the domain.

    Returns
    -------
    tuple of Plateau
        Ascending, from −∞ to ∞ without a gap.

    Raises
    ------
    OptionError
        If the domains differ, or the distribution function is none.

    Notes
    -----
    Luo and Li (2024), eq. (14), as in the table of Example 7. It steps only where C is a value of a map at
    an end of a refined interval, so that it is known from one C on each side of and at each of these.

    Examples
    --------
    >>> from symscreen.trees import PiecewiseMonotone
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x + 1.2])
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> for plateau in compute_preference_steps(line, bump):
    ...     print(plateau.cuts, plateau.preference)
    (-inf, 0) 0.0
    [0, 1) -1.0
    [1, 1] -0.5
    (1, 1.2) 0.0
    [1.2, 2.2] 0.5
    (2.2, inf) 0.0
    """
    intervals = refine_intervals(first, second)
    ours, theirs = _compute_images(first, intervals), _compute_images(second, intervals)
    measures = _compute_measures(intervals, cdf)
    parts = []
    for cuts, level in _split_line({end for values in ours + theirs for end in (values.low, values.high)}):
        one = np.array([level in values for values in ours])
        two = np.array([level in values for values in theirs])
        parts.append((cuts, _compare_measures(one, two, measures)))
    return tuple(PreferenceStep(cuts, *figures) for cuts, figures in merge_adjacent(parts))


def find_extreme_preferences(
    first: PiecewiseMonotone, second: PiecewiseMonotone, cdf: Cdf | None = None
) -> PreferenceExtremes:
    """Find the splitting values that favour one map, and those that favour the other, most.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        θ1 and θ2, of one domain.
    cdf : callable, optional
        The distribution function of the input, continuous; by default uniform on the domain.

    Returns
    -------
    Extremes

    Raises
    ------
    OptionError
        If the domains differ, or the distribution function is none.

    Notes
    -----
    Luo and Li (2024), after Proposition 9 and in Example 7.

    Examples
    --------
    >>> from symscreen.trees import PiecewiseMonotone
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x + 1.2])
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> found = find_extreme_preferences(line, bump)
    >>> found.largest, str(found.max_thresholds[0]), found.min_preference, str(found.min_thresholds[0])
    (0.5, '[1.2, 2.2]', -1.0, '[0, 1)')
    """
    steps = merge_adjacent(
        (one.thresholds, one.preference) for one in compute_preference_steps(first, second, cdf)
    )
    largest, smallest = max(p for _, p in steps), min(p for _, p in steps)
    return PreferenceExtremes(
        largest,
        tuple(cuts for cuts, p in steps if p == largest),
        smallest,
        tuple(cuts for cuts, p in steps if p == smallest),
    )


def _compute_images(transform: PiecewiseMonotone, intervals: Sequence[Interval]) -> list[Interval]:
    return [compute_image(interval, *compute_end_values(transform, interval)[1:]) for interval in intervals]


def _compute_measures(intervals: Sequence[Interval], cdf: Cdf | None) -> NDArray[np.float64]:
    ends = np.array([intervals[0].low, *(interval.high for interval in intervals)])
    if cdf is None:
        return np.asarray(np.diff(ends) / (ends[-1] - ends[0]))
    below = np.array([float(cdf(float(end))) for end in ends])
    if not ((below >= 0) & (below <= 1)).all() or (np.diff(below) < 0).any():
        raise OptionError(
            f"the distribution function takes {below.tolist()} at {ends.tolist()}; it must rise within [0, 1]"
        )
    return np.diff(below)


def _compare_measures(
    in_first: NDArray[np.bool_], in_second: NDArray[np.bool_], measures: NDArray[np.float64]
) -> tuple[float, float]:
    """Return p_{1>2} and the share that is undecided, to 12 digits: equal sums shall be equal numbers."""
    # p_{1>2} = P(∪ I_1^i) − P(∪ I_2^j)                                                                   (14)
    difference = measures[in_first & ~in_second].sum() - measures[in_second & ~in_first].sum()
    return round(float(difference), 12) + 0.0, round(float(measures[in_first & in_second].sum()), 12)


def _split_line(breakpoints: set[float]) -> list[tuple[Interval, float]]:
    """Cut the line at some values; return each stretch and each value, with a number within."""
    values = sorted(breakpoints)
    found = [
        (
            Interval(-np.inf, values[0], includes_low=False, includes_high=False),
            values[0] - abs(values[0]) - 1,
        )
    ]
    for value, following in zip(values, [*values[1:], np.inf], strict=True):
        found.append((Interval(value, value, includes_low=True, includes_high=True), value))
        within = value + abs(value) + 1 if np.isinf(following) else value / 2 + following / 2
        found.append((Interval(value, following, includes_low=False, includes_high=False), within))
    return found
