"""Piecewise monotone maps of an interval (Luo and Li 2024, section 3.2).

This module represents intervals with or without their end points and maps that are continuous and strictly
monotone between breakpoints. It refines the monotonic intervals of two maps (Definition 5) and finds
pre-images of a value (Corollary 6). `build_interpolator` constructs a feature that has the order of any
target (Example 5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.trees._column_checks import check_column, check_threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from symscreen._typing import Values


Label = TypeVar("Label")


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


_CHECK_POINTS = 129  # equally spaced points at which the monotonicity of a piece is checked


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
    continues in the same direction. Thus each piece attains every value between its end values.

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
            before, after = (
                self.evaluate_piece(index - 1, breakpoint_)[0],
                self.evaluate_piece(index, breakpoint_)[0],
            )
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
    second_values = [
        value for interval in second.intervals for value in compute_end_values(second, interval)[1:]
    ]
    first_values = [
        value for interval in first.intervals for value in compute_end_values(first, interval)[1:]
    ]
    return replace(
        first, constant=first.constant + max(second_values) - min(first_values) + 1.0
    )  # C0 = sup θ2 − inf θ1 + 1


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
        return (
            float(end_values[t] if t in end_values else transform.evaluate_piece(index, np.array([t]))[0])
            - level
        )

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
