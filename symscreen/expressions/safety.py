"""Prove that a formula is defined and bounded on a box: the ranges that its inputs may take.

A formula is safe on a box if every step of it has a finite value at every point of the box. Interval
arithmetic proves it (`symscreen.grammar.interval_bounds`): the whole box is one interval for each input.
Where an input occurs more than once, intervals of formulas are wider than the values; the box is then divided
into smaller ones until they prove the formula safe, or their number reaches a limit.

A formula is proved unsafe by a point at which its computed value is undefined, or by two points between which
a denominator changes its sign. A formula for which neither proof is found counts as unsafe.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import (
    collect_columns,
    evaluate_expression,
    fold_expression,
    iterate_calls,
    iterate_postorder,
)
from symscreen.expressions.tree import Call, Column, Constant
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.interval_bounds import (
    LARGEST_MAGNITUDE,
    Hazard,
    Intervals,
    bound_number,
    make_bounds_propagator,
    make_intervals,
)
from symscreen.grammar.operator import Domain, Monotonicity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen._typing import Flags, Values
    from symscreen.expressions.tree import Expression
    from symscreen.grammar.operator import Operator

    Box = Mapping[str, Sequence[float]]  # by input: the lowest and the highest value
    Points = dict[str, Values]


NOT_PROVED = "not proved safe"
# The reasons in the order of reports. Tables and records name them in these words.
UNSAFE_REASONS: dict[Hazard, str] = {
    Hazard.POLE: "pole",
    Hazard.UNDEFINED: "undefined",
    Hazard.OVERFLOW: "overflow",
}
_MAX_BOXES = 4096  # largest number of smaller boxes that are tried for one step of a formula
_MAX_DIVISIONS = 24  # largest number of times that a box is halved
_MAX_CORNER_INPUTS = 6  # largest number of inputs for which all combinations of ends are tried as points
_N_SAMPLE_POINTS = 64  # number of points inside the box that are tried
_MAX_MIDPOINTS = 256  # largest number of unproved boxes whose middle is tried as a point
_N_BISECTION_POINTS = 1024  # number of points on a line between two signs of a denominator
_N_BISECTIONS = 4
_STRICTLY_MONOTONE = {
    Monotonicity.INCREASING,
    Monotonicity.DECREASING,
    Monotonicity.INCREASING_FROM_ZERO,
}


@dataclass(frozen=True, slots=True)
class Safety:
    """Whether a formula is defined and bounded on a box.

    Parameters
    ----------
    hazard : Hazard
        What may happen; `Hazard.NONE` for a formula that is proved safe.
    is_proved : bool
        Whether the statement is proved: that the formula is safe, or that it is unsafe at `point`.
    part : Expression or None
        The first step that is not proved safe.
    point : mapping of str to float, or None
        Values of the inputs at which the part has no finite value, up to rounding.
    """

    hazard: Hazard
    is_proved: bool
    part: Expression | None = None
    point: Mapping[str, float] | None = None

    @property
    def is_safe(self) -> bool:
        """Whether the formula is proved safe."""
        return self.hazard == Hazard.NONE

    @property
    def reason(self) -> str:
        """Why the formula is unsafe, in the words of tables and records; empty for a safe one."""
        if self.is_safe:
            return ""
        return UNSAFE_REASONS.get(self.hazard, NOT_PROVED) if self.is_proved else NOT_PROVED


_SAFE = Safety(Hazard.NONE, is_proved=True)


def analyze_safety(expression: Expression, box: Box) -> Safety:
    """Find out whether a formula is defined and bounded on a box.

    Parameters
    ----------
    expression : Expression
        The formula.
    box : mapping of str to sequence of two floats
        The lowest and the highest value of each input.

    Returns
    -------
    Safety

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> box = {"x": (0.5, 2.0), "y": (1.0, 3.0)}
    >>> analyze_safety(parse_expression("log(x) + x/y"), box).is_safe
    True
    >>> pole = analyze_safety(parse_expression("exp(x)/(x - y)"), box)
    >>> pole.reason, pole.is_proved
    ('pole', True)
    """
    return SafetyAnalysis(box).analyze(expression)


@dataclass(eq=False)
class SafetyAnalysis:
    """The safety of many formulas on one box; what formulas share is analyzed once.

    Parameters
    ----------
    box : mapping of str to sequence of two floats
        The lowest and the highest value of each input.
    """

    box: Box
    _found: dict[Expression, tuple[Safety, Intervals]] = field(default_factory=dict, repr=False)

    def analyze(self, expression: Expression) -> Safety:
        """Find out whether a formula is safe; see `analyze_safety`."""
        for part in iterate_postorder(expression):
            if part not in self._found:
                self._found[part] = self._analyze_step(part)
            safety, _ = self._found[part]
            if not safety.is_safe:
                return safety
        return self._found[expression][0]

    def _analyze_step(self, part: Expression) -> tuple[Safety, Intervals]:
        """Analyze a formula whose arguments are safe; also return its values on the box, shape (1,)."""
        if isinstance(part, Column):
            return _analyze_column(part, self.box)
        if isinstance(part, Constant):
            return _analyze_number(part)
        bounds = _apply(part, [self._found[argument][1] for argument in part.arguments])
        return (_SAFE, bounds) if bounds.hazard[0] == Hazard.NONE else _search_proof(part, self.box, bounds)


def _analyze_column(column: Column, box: Box) -> tuple[Safety, Intervals]:
    """Analyze an input, which is safe unless its values are too large."""
    low, high = map(float, box[column.name])
    bounds = make_intervals(np.array([low]), np.array([high]))
    if max(abs(low), abs(high)) <= LARGEST_MAGNITUDE:
        return _SAFE, bounds
    point = {column.name: low if abs(low) >= abs(high) else high}
    return Safety(Hazard.OVERFLOW, is_proved=True, part=column, point=point), bounds


def _analyze_number(number: Constant) -> tuple[Safety, Intervals]:
    """Analyze a number of a formula, which is safe unless it is too large."""
    bounds = bound_number(number.value)
    if abs(number.value) <= LARGEST_MAGNITUDE:
        return _SAFE, bounds
    return Safety(Hazard.OVERFLOW, is_proved=True, part=number, point={}), bounds


def _search_proof(part: Call, box: Box, bounds: Intervals) -> tuple[Safety, Intervals]:
    """Prove a formula unsafe by a point, or safe by division of the box, where its arguments are safe."""
    names = sorted(collect_columns(part))
    lows = np.array([float(box[name][0]) for name in names])
    highs = np.array([float(box[name][1]) for name in names])
    points = _list_points(lows, highs)
    point = _find_unsafe_point(part, dict(zip(names, points, strict=True)))
    if point is None:
        divided = _divide_box(part, names, lows, highs)
        if isinstance(divided, Intervals):
            return _SAFE, divided
        more = np.concatenate([points, divided], axis=1)
        point = _find_unsafe_point(part, dict(zip(names, more, strict=True)))
    hazard = Hazard(int(bounds.hazard[0]))
    if point is None:
        return Safety(hazard, is_proved=False, part=part), bounds
    at_point = _evaluate_intervals(part, {name: np.array([value]) for name, value in point.items()})
    hazard = Hazard(int(at_point.hazard[0])) or hazard
    return Safety(hazard, is_proved=True, part=part, point=point), bounds


def _apply(call: Call, arguments: list[Intervals]) -> Intervals:
    """Apply the operator of a call to intervals; a product of two equal factors is a square."""
    if call.operator.name == "mul" and call.arguments[0] == call.arguments[1]:
        return make_bounds_propagator(OPERATORS["square"])(arguments[0])
    return make_bounds_propagator(call.operator)(*arguments)


def _evaluate_intervals(expression: Expression, low: Points, high: Points | None = None) -> Intervals:
    """Bound an expression on boxes with the given ends, shape (q,) for each input, or at points."""
    high = low if high is None else high
    return fold_expression(
        expression,
        column=lambda name: make_intervals(low[name], high[name]),
        number=lambda constant: bound_number(constant.value),
        call=_apply,
    )


def _divide_box(part: Call, names: list[str], low: Values, high: Values) -> Intervals | Values:
    """Halve a box, shape (d,), until a formula is safe on all parts.

    Returns
    -------
    Intervals or float64 array, shape (d, m)
        The values on the whole box, if the formula is safe; else midpoints of boxes that are not proved.
    """
    divided = _find_divided_inputs(part, names)
    lows, highs, n_boxes, found = low[:, None], high[:, None], 1, list[Intervals]()
    width = np.where(high > low, high - low, 1.0)
    for _ in range(_MAX_DIVISIONS):
        n_boxes += 2 * lows.shape[1]
        if not divided or n_boxes > _MAX_BOXES:
            break
        lows, highs = _halve(lows, highs, divided, width)
        bounds = _evaluate_intervals(
            part, dict(zip(names, lows, strict=True)), dict(zip(names, highs, strict=True))
        )
        is_open = bounds.hazard != Hazard.NONE
        found.append(Intervals(bounds.low[~is_open], bounds.high[~is_open], bounds.hazard[~is_open]))
        lows, highs = lows[:, is_open], highs[:, is_open]
        if not lows.size:
            least, most = (np.concatenate([getattr(each, end) for each in found]) for end in ("low", "high"))
            return make_intervals(least.min(keepdims=True), most.max(keepdims=True))
    return np.asarray((lows[:, :_MAX_MIDPOINTS] + highs[:, :_MAX_MIDPOINTS]) / 2)


def _find_divided_inputs(part: Expression, names: list[str]) -> list[int]:
    """Return the indices of the inputs that occur more than once: only these make intervals too wide.

    The definition of an operator may use its argument more than once, so all inputs of one count.
    """
    if any(call.operator.called_operators for call in iterate_calls(part)):
        return list(range(len(names)))
    counts = Counter(each.name for each in iterate_postorder(part) if isinstance(each, Column))
    return [index for index, name in enumerate(names) if counts[name] > 1]


def _halve(lows: Values, highs: Values, divided: list[int], width: Values) -> tuple[Values, Values]:
    """Halve boxes, shape (d, q), along the input that is widest compared with the whole box."""
    shares = (highs - lows)[divided] / width[divided][:, None]
    longest = np.array(divided)[shares.argmax(axis=0)]
    boxes = np.arange(lows.shape[1])
    middle = (lows[longest, boxes] + highs[longest, boxes]) / 2
    lower_highs, upper_lows = highs.copy(), lows.copy()
    lower_highs[longest, boxes] = upper_lows[longest, boxes] = middle
    return np.concatenate([lows, upper_lows], axis=1), np.concatenate([lower_highs, highs], axis=1)


def _list_points(low: Values, high: Values) -> Values:
    """List points of a box: the middle, that nearest to 0, corners, and others; shape (d, m)."""
    d, n_free = len(low), min(len(low), _MAX_CORNER_INPUTS)
    bits = (np.arange(1 << n_free) >> np.arange(n_free)[:, None]) & 1
    corners = np.where(np.resize(bits, (d, 1 << n_free)) == 1, high[:, None], low[:, None])
    # a lattice whose points fill the box evenly (Niederreiter 1992, Kronecker sequences)
    steps = np.sqrt(_list_primes(d))[:, None] * np.arange(1, _N_SAMPLE_POINTS + 1)
    inside = low[:, None] + np.modf(steps)[0] * (high - low)[:, None]
    middle, nearest = (low + high)[:, None] / 2, np.clip(0.0, low, high)[:, None]
    points = np.concatenate([middle, nearest, corners, inside], axis=1)
    return np.asarray(np.clip(points, low[:, None], high[:, None]))


def _list_primes(n: int) -> Values:
    """List the first n primes as floats."""
    primes: list[int] = []
    number = 2
    while len(primes) < n:
        if all(number % prime for prime in primes):
            primes.append(number)
        number += 1
    return np.array(primes, dtype=np.float64)


def _find_unsafe_point(part: Call, points: Points) -> dict[str, float] | None:
    """Find a point, among some or between two of them, at which a step of a formula has no finite value."""
    values = evaluate_expression(part, points or {"": np.zeros(1)})
    is_unsafe = ~(np.abs(values) <= LARGEST_MAGNITUDE)
    if is_unsafe.any():
        index = int(is_unsafe.argmax())
        return {name: float(column[index]) for name, column in points.items()}
    for argument, domain in zip(part.arguments if points else (), part.operator.domain, strict=False):
        if domain is Domain.NONZERO:
            for factor in _iterate_zero_sources(argument):
                point = _find_sign_change(factor, points)
                if point is not None:
                    return point
    return None


def _iterate_zero_sources(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and parts of it that are 0 only where it is 0, too."""
    stack = [expression]
    while stack:
        part = stack.pop()
        yield part
        if not isinstance(part, Call):
            continue
        operator = part.operator
        if operator.name == "mul":
            stack += part.arguments
        elif operator.name == "div" or _is_zero_at_zero_alone(operator):
            stack.append(part.arguments[0])


def _is_zero_at_zero_alone(operator: Operator) -> bool:
    """Return whether a unary operator is 0 at 0 and nowhere else, as strictly monotone functions are."""
    return operator.monotone in _STRICTLY_MONOTONE and operator.numeric(np.zeros(1))[0] == 0.0


def _find_sign_change(expression: Expression, points: Points) -> dict[str, float] | None:
    """Find a point between two others at which a continuous expression is 0, by the signs of its values.

    The expression must be defined on the whole box, so that it is continuous there.
    """
    if not all(call.operator.continuous for call in iterate_calls(expression)):
        return None
    values = _evaluate_intervals(expression, points)
    signs = np.where(values.low > 0.0, 1, np.where(values.high < 0.0, -1, 0)) + np.zeros(
        len(next(iter(points.values()))), dtype=np.int64
    )
    if not ((signs > 0).any() and (signs < 0).any()):
        return None
    first, last = int((signs < 0).argmax()), int((signs > 0).argmax())
    ends = {name: (float(column[first]), float(column[last])) for name, column in points.items()}
    shares = np.linspace(0.0, 1.0, _N_BISECTION_POINTS)
    for _ in range(_N_BISECTIONS):
        line = {name: start + shares * (end - start) for name, (start, end) in ends.items()}
        is_positive: Flags = evaluate_expression(expression, line) > 0.0
        index = max(1, int(is_positive.argmax()))
        ends = {name: (float(column[index - 1]), float(column[index])) for name, column in line.items()}
    return {name: end for name, (_, end) in ends.items()}
