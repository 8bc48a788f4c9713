"""Intervals of the line, with or without their ends.

Piecewise monotone maps, their refined intervals and pre-images (paper 003, §3.2).

A feature that has the order of any response: the interpolating polynomial (paper 003, Example 5).
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


__all__ = [
    "Interval",
    "PiecewiseMonotone",
    "build_interpolator",
    "find_preimages",
    "merge_adjacent",
    "refine_intervals",
    "shift_above",
]

Label = TypeVar("Label")


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers between two ends.

    Parameters
    ----------
    low, high : float
        The ends, low ≤ high; they may be infinite.
    with_low, with_high : bool
        Whether the ends belong to it.

    Examples
    --------
    >>> half = Interval(0.0, 0.5, with_low=True, with_high=False)
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
    """Join neighbouring intervals that carry the same label.

    Parameters
    ----------
    parts : iterable of (Interval, label)
        Ascending, without overlap.

    Returns
    -------
    list of (Interval, label)
        Ascending; no two that touch have one label.

    Examples
    --------
    >>> point = Interval(1.0, 1.0, with_low=True, with_high=True)
    >>> after = Interval(1.0, 2.0, with_low=False, with_high=False)
    >>> [(str(interval), label) for interval, label in joined([(point, "a"), (after, "a")])]
    [('[1, 2)', 'a')]
    """
    done: list[tuple[Interval, Label]] = []
    for interval, label in parts:
        if done:
            before, same = done[-1]
            touch = before.high == interval.low and before.includes_high != interval.includes_low
            if touch and same == label:
                done[-1] = (
                    Interval(before.low, interval.high, before.includes_low, interval.includes_high),
                    label,
                )
                continue
        done.append((interval, label))
    return done


_CHECK_POINTS = 129  # points at which a piece's monotony is checked


@dataclass(frozen=True)
class PiecewiseMonotone:
    """A map θ of an interval that is continuous and strictly monotone between its breakpoints.

    Parameters
    ----------
    breakpoints : sequence of float
        Ascending and finite: the start of the domain, each place where the map turns or jumps, and the end.
        None to spare: a place through which the map goes on as before is refused.
    pieces : sequence of callable
        One function for each interval between breakpoints, or one for all: an array in, an array of the same
        shape out, defined on the interval with both its ends.
    constant : float
        Added to every value.

    Raises
    ------
    OptionError
        If the breakpoints do not ascend, the pieces do not fit them, or one is not strictly monotone (as far
        as 129 points of it tell).

    Notes
    -----
    Luo and Li (2024), §3.2, take the partition with the fewest intervals, on all of R; here the domain is a
    bounded interval, the support of the inputs, as in their Example 7. Their examples write closed intervals
    and their text asks for disjoint ones: an interval here has its start, and only the last has its end, so
    that a value at a breakpoint is counted once. A jump is a breakpoint even where the map goes on in the
    same direction, so that each piece attains every value between its ends.

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
        # frozen: the tuples replace what may be a list that changes later
        object.__setattr__(self, "breakpoints", tuple(ends.tolist()))
        object.__setattr__(self, "pieces", tuple(self.pieces))
        if len(self.pieces) not in {1, ends.size - 1}:
            raise OptionError(
                f"{len(self.pieces)} pieces were given for {ends.size - 1} intervals; give one each, or one"
            )
        self._check_turns([self._find_direction(place) for place in range(ends.size - 1)])

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The monotonic intervals, ascending; only the last has its right end."""
        return _build_intervals(self.breakpoints)

    def __call__(self, x: ArrayLike) -> Values:
        """Compute θ(x) for numbers of the domain.

        Parameters
        ----------
        x : array_like
            Any shape.

        Returns
        -------
        float64 array, of the shape of x

        Raises
        ------
        TableError
            If a number is outside the domain.
        """
        numbers = np.asarray(x, dtype=np.float64)
        low, high = self.breakpoints[0], self.breakpoints[-1]
        if not ((numbers >= low) & (numbers <= high)).all():
            raise DataError(f"the map is defined on [{low:g}, {high:g}], and x leaves it")
        place = np.clip(
            np.searchsorted(self.breakpoints, numbers, side="right"), 1, len(self.breakpoints) - 1
        )
        values = np.empty(numbers.shape)
        for piece in range(len(self.breakpoints) - 1):
            here = place == piece + 1
            values[here] = self.evaluate_piece(piece, numbers[here])
        return values

    def evaluate_piece(self, index: int, x: Values) -> Values:
        """Compute one piece's values, at its right end too, where the map itself may jump.

        Parameters
        ----------
        place : int
            Of the interval, from 0.
        x : float64 array
            Numbers of the closed interval.

        Returns
        -------
        float64 array, of the shape of x
        """
        piece = self.pieces[index if len(self.pieces) > 1 else 0]
        return np.asarray(piece(x), dtype=np.float64) + self.constant

    def _find_direction(self, index: int) -> int:
        low, high = self.breakpoints[index : index + 2]
        values = self.evaluate_piece(index, np.linspace(low, high, _CHECK_POINTS))
        if values.shape != (_CHECK_POINTS,) or not np.isfinite(values).all():
            raise OptionError(
                f"the piece on [{low:g}, {high:g}] must give an array of finite values for an array"
            )
        steps = np.sign(np.diff(values))
        if abs(steps.sum()) < _CHECK_POINTS - 1:
            raise OptionError(
                f"the piece on [{low:g}, {high:g}] is not strictly monotone; add the places where it turns "
                "or jumps to the breakpoints"
            )
        return int(steps[0])

    def _check_turns(self, directions: Sequence[int]) -> None:
        for place in range(1, len(directions)):
            at = np.array([self.breakpoints[place]])
            before, after = self.evaluate_piece(place - 1, at)[0], self.evaluate_piece(place, at)[0]
            if directions[place - 1] == directions[place] and np.isclose(before, after, rtol=1e-12, atol=0):
                raise OptionError(
                    f"the map goes on through the breakpoint {at[0]:g} as before; leave that breakpoint out"
                )


def refine_intervals(first: PiecewiseMonotone, second: PiecewiseMonotone) -> tuple[Interval, ...]:
    """Cut the domain of two maps into intervals on which both are monotone.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        θ1 and θ2, of one domain.

    Returns
    -------
    tuple of Interval
        I_{1∩2}, ascending; only the last has its right end.

    Raises
    ------
    OptionError
        If the domains differ.

    Notes
    -----
    Luo and Li (2024), Definition 5: I_{1∩2} = {I1 ∩ I2 : I1 ∈ I_1, I2 ∈ I_2}, empty ones left out.

    Examples
    --------
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x])
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> [str(interval) for interval in refine_intervals(line, bump)]
    ['[0, 0.5)', '[0.5, 1]']
    """
    domains = [(one.breakpoints[0], one.breakpoints[-1]) for one in (first, second)]
    if domains[0] != domains[1]:
        raise OptionError(f"the maps are defined on {domains[0]} and {domains[1]}; give both one domain")
    return _build_intervals(sorted({*first.breakpoints, *second.breakpoints}))


def find_preimages(
    transform: PiecewiseMonotone, value: float, intervals: Sequence[Interval] | None = None
) -> Values:
    """Find where a map takes a value, on each of the intervals on which it is monotone.

    Parameters
    ----------
    transform : PiecewiseMonotone
        θ.
    value : float
        C.
    intervals : sequence of Interval, optional
        Refined ones, each within a monotonic interval of θ; by default θ's own.

    Returns
    -------
    float64 array, shape (intervals,)
        The t ∈ I with θ(t) = C, to 1e-15 of the domain's size; NaN where there is none. There cannot be two.

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
    found = []
    for interval in transform.intervals if intervals is None else intervals:
        place, start, stop = compute_end_values(transform, interval)
        if level not in compute_image(interval, start, stop):
            found.append(np.nan)
        elif level in {start, stop}:
            found.append(interval.low if level == start else interval.high)
        else:
            found.append(_solve_preimage(transform, place, interval, level))
    return np.array(found, dtype=np.float64)


def compute_end_values(transform: PiecewiseMonotone, interval: Interval) -> tuple[int, float, float]:
    """Compute what a map approaches at the ends of an interval on which it is monotone.

    Parameters
    ----------
    transform : PiecewiseMonotone
        θ.
    interval : Interval
        Within one of its monotonic intervals.

    Returns
    -------
    place : int
        Of that monotonic interval.
    start, stop : float
        θ at the lower and at the upper end, the latter as a limit from below.

    Raises
    ------
    OptionError
        If the interval is not within a monotonic interval.
    """
    for place, own in enumerate(transform.intervals):
        if own.low <= interval.low and interval.high <= own.high:
            start, stop = transform.evaluate_piece(place, np.array([interval.low, interval.high]))
            return place, float(start), float(stop)
    raise OptionError(f"the map is not monotone on {interval}; give intervals from refined_intervals")


def compute_image(interval: Interval, start: float, stop: float) -> Interval:
    """Say which values a map takes on an interval, from its values at the ends.

    Parameters
    ----------
    interval : Interval
        On which the map is continuous and strictly monotone.
    start, stop : float
        The map at its lower and upper end.

    Returns
    -------
    Interval

    Examples
    --------
    >>> print(compute_image(Interval(0.0, 0.5, with_low=True, with_high=False), 3.0, 1.0))
    (1, 3]
    """
    if start < stop:
        return Interval(start, stop, interval.includes_low, interval.includes_high)
    return Interval(stop, start, interval.includes_high, interval.includes_low)


def shift_above(first: PiecewiseMonotone, second: PiecewiseMonotone) -> PiecewiseMonotone:
    """Lift a map above another, so that no value is taken by both.

    Parameters
    ----------
    first, second : PiecewiseMonotone
        θ1 and θ2.

    Returns
    -------
    PiecewiseMonotone
        θ1 + C0 with C0 = sup θ2 − inf θ1 + 1.

    Notes
    -----
    Luo and Li (2024), before Proposition 9: a constant changes no split, and without a value in common the
    case of two pre-images, in which (14) cannot decide, does not arise.

    Examples
    --------
    >>> bump = PiecewiseMonotone((0.0, 0.5, 1.0), [lambda x: -4 * x**2 + 4 * x])
    >>> line = PiecewiseMonotone((0.0, 1.0), [lambda x: x])
    >>> shift_above(line, bump)([0.0, 1.0])
    array([2., 3.])
    """
    theirs = [value for own in second.intervals for value in compute_end_values(second, own)[1:]]
    ours = [value for own in first.intervals for value in compute_end_values(first, own)[1:]]
    return replace(first, constant=first.constant + max(theirs) - min(ours) + 1.0)  # C0 = sup θ2 − inf θ1 + 1


def _build_intervals(breakpoints: Sequence[float]) -> tuple[Interval, ...]:
    last = len(breakpoints) - 2
    return tuple(
        Interval(breakpoints[j], breakpoints[j + 1], includes_low=True, includes_high=j == last)
        for j in range(last + 1)
    )


def _solve_preimage(transform: PiecewiseMonotone, index: int, interval: Interval, level: float) -> float:
    from scipy.optimize import brentq

    ends = np.array([interval.low, interval.high])
    known = dict(zip(ends.tolist(), transform.evaluate_piece(index, ends).tolist(), strict=True))

    def compute_excess(t: float) -> float:
        # at the ends the values that were compared before: computed one by one they may differ in a last bit
        return float(known[t] if t in known else transform.evaluate_piece(index, np.array([t]))[0]) - level

    t = brentq(compute_excess, *ends.tolist(), xtol=4 * np.finfo(np.float64).eps * np.abs(ends).max())
    # an end that does not belong to the interval is no pre-image, however near
    low = interval.low if interval.includes_low else np.nextafter(interval.low, interval.high)
    high = interval.high if interval.includes_high else np.nextafter(interval.high, interval.low)
    return float(np.clip(t, low, high))


def build_interpolator(x: ArrayLike, y: ArrayLike) -> Callable[[ArrayLike], Values]:
    """Build the polynomial through all points: a feature that every tree prefers, whatever y is.

    Parameters
    ----------
    x : array_like, shape (n,)
        An input, without ties.
    y : array_like, shape (n,)
        The responses.

    Returns
    -------
    callable
        The map g of x to g(x), any shape; at the points of `x` exactly y, so that g(x) has y's order.

    Raises
    ------
    TableError
        If x and y are not two finite columns of one length, or x has ties.

    Notes
    -----
    Luo and Li (2024), Example 5. n points need degree n − 1, not n as the text says; and such a feature
    minimises (10), where the text says that it maximises it. In the barycentric form (Berrut and Trefethen
    2004), which passes through the points at any n. Between equally spaced points a polynomial of high degree
    swings wildly: that is what makes it worthless, not the arithmetic.

    Examples
    --------
    Noise that has nothing to do with x is ordered without fault:

    >>> from symscreen import t0
    >>> rng = np.random.default_rng(0)
    >>> x, y = np.linspace(-1, 1, 60), rng.normal(size=60)
    >>> t0(build_interpolator(x, y)(x), y)
    0.0
    """
    from scipy.interpolate import BarycentricInterpolator

    response = check_column(y, "y")
    nodes = check_column(x, "x", response.size)
    if not nodes.size:
        raise DataError("x has no rows; give at least one point")
    if np.unique(nodes).size < nodes.size:
        raise DataError("x has ties: no function passes through two responses at one point; drop one of them")
    polynomial = BarycentricInterpolator(nodes, response, wi=_compute_barycentric_weights(nodes))

    def interpolate(points: ArrayLike) -> Values:
        return np.asarray(polynomial(np.asarray(points, dtype=np.float64)), dtype=np.float64)

    return interpolate


def _compute_barycentric_weights(nodes: Values) -> Values:
    """Compute w_j = 1/Π_{k ≠ j} (x_j − x_k), the largest scaled to 1: as products they leave float64."""
    apart = nodes[:, None] - nodes[None, :]
    np.fill_diagonal(apart, 1.0)
    logarithms = -np.log(np.abs(apart)).sum(axis=1)
    signs = np.where((apart < 0).sum(axis=1) % 2, -1.0, 1.0)
    with np.errstate(under="ignore"):
        return np.asarray(signs * np.exp(logarithms - logarithms.max()))
