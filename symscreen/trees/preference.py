"""Piecewise monotone maps, and which of two features a tree prefers (Luo and Li 2024, section 3).

`PiecewiseMonotone` is a map that is continuous and strictly monotone between breakpoints. Two maps are
compared on the intervals on which both are monotone: p_{1>2} of eq. (14) is the measure of the intervals on
which only the first map has a pre-image minus that of the second (Propositions 8 and 9).
`find_attainable_splits` lists the oracle partitions that a single split on a feature attains (Corollary 4).
`build_interpolator` builds a feature that has the order of the target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.trees.decisions import check_column, check_target, check_threshold, compute_cut_losses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values

    Cdf = Callable[[float], float]


Label = TypeVar("Label")

_CHECK_POINTS = 129  # equally spaced points at which the monotonicity of a piece is checked


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers between two end points.

    Parameters
    ----------
    low, high : float
        End points, low ≤ high; they may be infinite.
    includes_low, includes_high : bool
        Whether the interval contains its end points.

    Examples
    --------
    >>> half = Interval(0.0, 0.5, includes_low=True, includes_high=False)
    >>> str(half), 0.0 in half, 0.5 in half
    ('[0, 0.5)', True, False)
    """

    low: float
    high: float
    includes_low: bool
    includes_high: bool

    def __contains__(self, number: float) -> bool:
        return (
            self.low < number < self.high
            or (self.includes_low and number == self.low)
            or (self.includes_high and number == self.high)
        )

    def __str__(self) -> str:
        left, right = "[" if self.includes_low else "(", "]" if self.includes_high else ")"
        return f"{left}{self.low:g}, {self.high:g}{right}"


def merge_adjacent(parts: Iterable[tuple[Interval, Label]]) -> list[tuple[Interval, Label]]:
    """Merge neighbouring intervals that have the same label.

    Parameters
    ----------
    parts : iterable of (Interval, label)
        Ascending intervals that do not overlap.

    Returns
    -------
    list of (Interval, label)
        Ascending intervals. Intervals that touch have different labels.

    Examples
    --------
    >>> point = Interval(1.0, 1.0, includes_low=True, includes_high=True)
    >>> after = Interval(1.0, 2.0, includes_low=False, includes_high=False)
    >>> [(str(interval), label) for interval, label in merge_adjacent([(point, "a"), (after, "a")])]
    [('[1, 2)', 'a')]
    """
    merged: list[tuple[Interval, Label]] = []
    for interval, label in parts:
        if merged:
            previous, previous_label = merged[-1]
            is_touching = previous.high == interval.low and previous.includes_high != interval.includes_low
            if is_touching and previous_label == label:
                merged[-1] = (
                    Interval(previous.low, interval.high, previous.includes_low, interval.includes_high),
                    label,
                )
                continue
        merged.append((interval, label))
    return merged


@dataclass(frozen=True)
class PiecewiseMonotone:
    """A map θ of an interval that is continuous and strictly monotone between its breakpoints.

    Parameters
    ----------
    breakpoints : sequence of float
        Finite and ascending: the start of the domain, each point where the map turns or jumps, and the end. A
        breakpoint at which the map neither turns nor jumps is not allowed.
    pieces : sequence of callable
        One function per interval between breakpoints, or one function for all of them. A function maps an
        array to an array of the same shape and is defined on the closed interval.
    constant : float
        Constant added to every value.

    Raises
    ------
    OptionError
        If the breakpoints do not ascend, the number of pieces does not match, or a piece is not strictly
        monotone at 129 equally spaced points.

    Notes
    -----
    Luo and Li (2024), section 3.2, take the partition with the fewest intervals on all of R. Here the domain
    is a bounded interval, the support of the inputs, as in their Example 7. Their examples write closed
    intervals, but their text requires disjoint ones. Here an interval contains its start, and only the last
    one contains its end, so a value at a breakpoint counts once. A jump is a breakpoint even if the map
    continues in the same direction. So each piece attains every value between its end values.

    Examples
    --------
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> bump([0.0, 0.25, 0.5])
    array([0.  , 0.75, 1.  ])
    >>> [str(interval) for interval in bump.intervals]
    ['[0, 0.5)', '[0.5, 1]']
    """

    breakpoints: Sequence[float]
    pieces: Sequence[Callable[[Values], ArrayLike]]
    constant: float = 0.0

    def __post_init__(self) -> None:
        ends = np.asarray(self.breakpoints, dtype=np.float64)
        if ends.ndim != 1 or ends.size < 2 or not np.isfinite(ends).all() or (np.diff(ends) <= 0).any():
            raise OptionError(
                f"the breakpoints are {list(self.breakpoints)!r}; give at least two finite numbers, ascending"
            )
        # the dataclass is frozen: tuples replace lists that the caller may change later
        object.__setattr__(self, "breakpoints", tuple(ends.tolist()))
        object.__setattr__(self, "pieces", tuple(self.pieces))
        if len(self.pieces) not in {1, ends.size - 1}:
            raise OptionError(
                f"{len(self.pieces)} pieces were given for {ends.size - 1} intervals; "
                "give one per interval, or one"
            )
        self._check_turns([self._find_direction(index) for index in range(ends.size - 1)])

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The monotonic intervals, ascending; only the last one contains its right end."""
        return _build_intervals(self.breakpoints)

    def __call__(self, x: ArrayLike) -> Values:
        """Compute θ(x) for numbers of the domain.

        Parameters
        ----------
        x : array_like
            Numbers of the domain, in any shape.

        Returns
        -------
        float64 array, same shape as x

        Raises
        ------
        DataError
            If a number is outside the domain.
        """
        numbers = np.asarray(x, dtype=np.float64)
        low, high = self.breakpoints[0], self.breakpoints[-1]
        if not ((numbers >= low) & (numbers <= high)).all():
            raise DataError(f"x is outside the domain [{low:g}, {high:g}] of the map")
        piece_numbers = np.clip(
            np.searchsorted(self.breakpoints, numbers, side="right"), 1, len(self.breakpoints) - 1
        )
        values = np.empty(numbers.shape)
        for piece in range(len(self.breakpoints) - 1):
            is_in_piece = piece_numbers == piece + 1
            values[is_in_piece] = self.evaluate_piece(piece, numbers[is_in_piece])
        return values

    def evaluate_piece(self, index: int, x: Values) -> Values:
        """Evaluate one piece on its closed interval; at its right end the map itself may jump.

        Parameters
        ----------
        index : int
            Index of the interval, from 0.
        x : float64 array
            Numbers of the closed interval.

        Returns
        -------
        float64 array, same shape as x
        """
        piece = self.pieces[index if len(self.pieces) > 1 else 0]
        return np.asarray(piece(x), dtype=np.float64) + self.constant

    def _find_direction(self, index: int) -> int:
        """Check that a piece is strictly monotone; return 1 if it rises and −1 if it falls."""
        low, high = self.breakpoints[index : index + 2]
        values = self.evaluate_piece(index, np.linspace(low, high, _CHECK_POINTS))
        if values.shape != (_CHECK_POINTS,) or not np.isfinite(values).all():
            raise OptionError(
                f"the piece on [{low:g}, {high:g}] must map an array to an array of finite values"
            )
        steps = np.sign(np.diff(values))
        if abs(steps.sum()) < _CHECK_POINTS - 1:
            raise OptionError(
                f"the piece on [{low:g}, {high:g}] is not strictly monotone; add the points where it turns "
                "or jumps to the breakpoints"
            )
        return int(steps[0])

    def _check_turns(self, directions: Sequence[int]) -> None:
        """Raise `OptionError` for a breakpoint at which the map neither turns nor jumps."""
        for index in range(1, len(directions)):
            breakpoint_ = np.array([self.breakpoints[index]])
            before, after = (self.evaluate_piece(piece, breakpoint_)[0] for piece in (index - 1, index))
            if directions[index - 1] == directions[index] and np.isclose(before, after, rtol=1e-12, atol=0):
                raise OptionError(
                    f"the map neither turns nor jumps at the breakpoint {breakpoint_[0]:g}; remove it"
                )


def refine_intervals(first: PiecewiseMonotone, second: PiecewiseMonotone) -> tuple[Interval, ...]:
    """Split the domain of two maps into intervals on which both are monotone.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        Maps θ1 and θ2 with the same domain.

    Returns
    -------
    tuple of Interval
        I_{1∩2}, ascending; only the last interval contains its right end.

    Raises
    ------
    OptionError
        If the domains differ.

    Notes
    -----
    Luo and Li (2024), Definition 5: I_{1∩2} = {I1 ∩ I2 : I1 ∈ I_1, I2 ∈ I_2} without the empty intersections.

    Examples
    --------
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x])
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> [str(interval) for interval in refine_intervals(line, bump)]
    ['[0, 0.5)', '[0.5, 1]']
    """
    domains = [(transform.breakpoints[0], transform.breakpoints[-1]) for transform in (first, second)]
    if domains[0] != domains[1]:
        raise OptionError(f"the maps are defined on {domains[0]} and {domains[1]}; both need the same domain")
    return _build_intervals(sorted({*first.breakpoints, *second.breakpoints}))


def find_preimages(
    transform: PiecewiseMonotone, value: float, intervals: Sequence[Interval] | None = None
) -> Values:
    """Find the pre-image of a value on each interval on which a map is monotone.

    Parameters
    ----------
    transform : PiecewiseMonotone
        The map θ.
    value : float
        The value C.
    intervals : sequence of Interval, optional
        Refined intervals, each within a monotonic interval of θ. By default the monotonic intervals of θ.

    Returns
    -------
    float64 array, shape (intervals,)
        The t ∈ I with θ(t) = C, accurate to 1e-15 relative to the largest end point; NaN if there is none. A
        monotone map has at most one.

    Raises
    ------
    OptionError
        If C is NaN, or θ is not monotone on an interval.

    Notes
    -----
    Luo and Li (2024), Corollary 6.

    Examples
    --------
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> find_preimages(bump, 0.75).round(12).tolist(), find_preimages(bump, 2.0).tolist()
    ([0.25, 0.75], [nan, nan])
    """
    level = check_threshold(value)
    preimages = []
    for interval in transform.intervals if intervals is None else intervals:
        index, start, stop = compute_end_values(transform, interval)
        if level not in compute_image(interval, start, stop):
            preimages.append(np.nan)
        elif level in {start, stop}:
            preimages.append(interval.low if level == start else interval.high)
        else:
            preimages.append(_solve_preimage(transform, index, interval, level))
    return np.array(preimages, dtype=np.float64)


def compute_end_values(transform: PiecewiseMonotone, interval: Interval) -> tuple[int, float, float]:
    """Compute the limits of a map at the ends of an interval on which it is monotone.

    Parameters
    ----------
    transform : PiecewiseMonotone
        The map θ.
    interval : Interval
        An interval within one of the monotonic intervals of θ.

    Returns
    -------
    index : int
        Index of that monotonic interval.
    start, stop : float
        Value of θ at the lower end, and its limit from below at the upper end.

    Raises
    ------
    OptionError
        If the interval is not within a monotonic interval.
    """
    for index, piece_interval in enumerate(transform.intervals):
        if piece_interval.low <= interval.low and interval.high <= piece_interval.high:
            start, stop = transform.evaluate_piece(index, np.array([interval.low, interval.high]))
            return index, float(start), float(stop)
    raise OptionError(f"the map is not monotone on {interval}; give intervals from refine_intervals")


def compute_image(interval: Interval, start: float, stop: float) -> Interval:
    """Compute the image of an interval under a monotone map from the values at its ends.

    Parameters
    ----------
    interval : Interval
        An interval on which the map is continuous and strictly monotone.
    start, stop : float
        Values of the map at the lower and the upper end.

    Returns
    -------
    Interval

    Examples
    --------
    >>> print(compute_image(Interval(0.0, 0.5, includes_low=True, includes_high=False), 3.0, 1.0))
    (1, 3]
    """
    if start < stop:
        return Interval(start, stop, interval.includes_low, interval.includes_high)
    return Interval(stop, start, interval.includes_high, interval.includes_low)


def shift_above(first: PiecewiseMonotone, second: PiecewiseMonotone) -> PiecewiseMonotone:
    """Add a constant to one map so that all its values exceed those of another map.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        Maps θ1 and θ2.

    Returns
    -------
    PiecewiseMonotone
        θ1 + C0 with C0 = sup θ2 − inf θ1 + 1.

    Notes
    -----
    Luo and Li (2024), before Proposition 9. A constant does not change any split. Without a common value no
    interval has two pre-images, the case in which eq. (14) does not apply.

    Examples
    --------
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x])
    >>> shift_above(line, bump)([0.0, 1.0])
    array([2., 3.])
    """
    first_values, second_values = (
        [value for interval in theta.intervals for value in compute_end_values(theta, interval)[1:]]
        for theta in (first, second)
    )
    # C0 = sup θ2 − inf θ1 + 1
    return replace(first, constant=first.constant + max(second_values) - min(first_values) + 1.0)


def _build_intervals(breakpoints: Sequence[float]) -> tuple[Interval, ...]:
    """Build the intervals between breakpoints; only the last one contains its right end."""
    last = len(breakpoints) - 2
    return tuple(
        Interval(breakpoints[j], breakpoints[j + 1], includes_low=True, includes_high=j == last)
        for j in range(last + 1)
    )


def _solve_preimage(transform: PiecewiseMonotone, index: int, interval: Interval, level: float) -> float:
    """Solve θ(t) = level on an interval of one piece."""
    from scipy.optimize import brentq

    ends = np.array([interval.low, interval.high])
    end_values = dict(zip(ends.tolist(), transform.evaluate_piece(index, ends).tolist(), strict=True))

    def compute_excess(t: float) -> float:
        # Reuse the end values that were compared before: evaluated singly they may differ in the last bit.
        value = end_values[t] if t in end_values else transform.evaluate_piece(index, np.array([t]))[0]
        return float(value) - level

    t = brentq(compute_excess, *ends.tolist(), xtol=4 * np.finfo(np.float64).eps * np.abs(ends).max())
    # An end point outside the interval is not a pre-image.
    low = interval.low if interval.includes_low else np.nextafter(interval.low, interval.high)
    high = interval.high if interval.includes_high else np.nextafter(interval.high, interval.low)
    return float(np.clip(t, low, high))


def build_interpolator(x: ArrayLike, y: ArrayLike) -> Callable[[ArrayLike], Values]:
    """Build the polynomial through all points: a feature that has the order of y, for any y.

    Parameters
    ----------
    x : array_like, shape (n,)
        Input values without ties.
    y : array_like, shape (n,)
        Target values.

    Returns
    -------
    callable
        The polynomial g. It maps an array of any shape to an array of the same shape. At the points `x` it
        returns y exactly, so g(x) has the order of y.

    Raises
    ------
    DataError
        If x and y are not finite columns of the same length, or x has ties.

    Notes
    -----
    Luo and Li (2024), Example 5. The text contains two errors: n points need degree n − 1, not n, and such a
    feature minimises (10) rather than maximising it. The barycentric form (Berrut and Trefethen 2004) passes
    through the points for any n. Between equally spaced points a polynomial of high degree oscillates
    strongly. This is a property of the polynomial, not a numerical error.

    Examples
    --------
    Pure noise, unrelated to x, is ordered perfectly:

    >>> from symscreen import t0
    >>> rng = np.random.default_rng(0)
    >>> x, y = np.linspace(-1, 1, 60), rng.normal(size=60)
    >>> t0(build_interpolator(x, y)(x), y)
    0.0
    """
    from scipy.interpolate import BarycentricInterpolator

    target = check_column(y, "y")
    nodes = check_column(x, "x", target.size)
    if not nodes.size:
        raise DataError("x has no rows; give at least one point")
    if np.unique(nodes).size < nodes.size:
        raise DataError("x has ties: a function has one value at each point; drop one of the tied rows")
    polynomial = BarycentricInterpolator(nodes, target, wi=_compute_barycentric_weights(nodes))

    def interpolate(points: ArrayLike) -> Values:
        return np.asarray(polynomial(np.asarray(points, dtype=np.float64)), dtype=np.float64)

    return interpolate


def _compute_barycentric_weights(nodes: Values) -> Values:
    """Compute w_j = 1/Π_{k ≠ j} (x_j − x_k), scaled to maximum 1, shape (n,)."""
    differences = nodes[:, None] - nodes[None, :]
    np.fill_diagonal(differences, 1.0)
    logarithms = -np.log(np.abs(differences)).sum(axis=1)
    signs = np.where((differences < 0).sum(axis=1) % 2, -1.0, 1.0)
    # The products themselves overflow or underflow float64: exponentiate differences of logarithms.
    with np.errstate(under="ignore"):
        return np.asarray(signs * np.exp(logarithms - logarithms.max()))


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
    1 partitions, and so the best one. Each single split of it gives one of the two partitions of its size,
    not always the better one: Example 4 states for any observed threshold what holds only for the best one.

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
    rows, and the ratio is 1 (Proposition 8 (i)). If one map has a pre-image, its ratio is larger (ii). If
    both have one, the losses on the interval decide (iii); `compare_interval_losses` computes them. The
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
