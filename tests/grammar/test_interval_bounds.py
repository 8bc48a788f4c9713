"""Bounds of operators over intervals, against random points, mpmath's intervals and exact values."""

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symscreen.grammar import OPERATORS, Operator, UnitRule
from symscreen.grammar.custom_operators import define_family, define_operator
from symscreen.grammar.interval_bounds import (
    LARGEST_MAGNITUDE,
    Hazard,
    bound_number,
    make_bounds_propagator,
    make_intervals,
)

ends = st.one_of(
    st.floats(-3, 3),
    st.integers(-4, 4).map(float),
    st.builds(lambda m, e: m * 10.0**e, st.floats(-10, 10), st.integers(-12, 12)),
    st.builds(lambda m, e: m * 10.0**e, st.floats(-10, 10), st.integers(-300, 300)),
)
intervals = st.tuples(ends, ends).map(sorted)


def bound(operator, *arguments):
    ends_of = [(np.array([float(low)]), np.array([float(high)])) for low, high in arguments]
    return make_bounds_propagator(operator)(*(make_intervals(*each) for each in ends_of))


def draw_points(low, high, rng, n=40):
    """Draw points of an interval, its ends, and 0 and integers in it."""
    inside = low + rng.uniform(size=n) * (high / 2 - low / 2) * 2
    more = np.clip([low, high, 0.0, 1.0, -1.0, np.floor(high), np.ceil(low)], low, high)
    return np.clip(np.concatenate([inside, more]), low, high)


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=60)
@given(intervals, intervals, st.integers(0, 10**6))
def test_every_value_of_a_point_lies_within_the_bounds(name, first, second, seed):
    operator, rng = OPERATORS[name], np.random.default_rng(seed)
    arguments = [first, second][: operator.arity]
    found = bound(operator, *arguments)
    if found.hazard[0] != Hazard.NONE:
        assert (found.low[0], found.high[0]) == (-np.inf, np.inf)
        return
    points = [rng.permutation(draw_points(*each, rng)) for each in arguments]
    with np.errstate(all="ignore"):
        values = operator.numeric(*points)
    assert np.isfinite(values).all()
    assert (values >= found.low[0]).all()
    assert (values <= found.high[0]).all()
    assert np.abs(values).max() <= LARGEST_MAGNITUDE


IV = {
    "neg": lambda a: -a,
    "abs": abs,
    "square": lambda a: a**2,
    "cube": lambda a: a**3,
    "sqrt": mpmath.iv.sqrt,
    "inv": lambda a: 1 / a,
    "exp": mpmath.iv.exp,
    "log": mpmath.iv.log,
    "sin": mpmath.iv.sin,
    "cos": mpmath.iv.cos,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "absdiff": lambda a, b: abs(a - b),
}
moderate = st.tuples(st.floats(-20, 20), st.floats(-20, 20)).map(sorted)


@pytest.mark.slow
@pytest.mark.parametrize("name", IV)
@settings(max_examples=60)
@given(moderate, moderate)
@example([0.0, 4.0], [0.5, 2.0])
@example([2.0, 2.0], [3.0, 3.0])
def test_bounds_are_those_of_mpmath_up_to_rounding(name, first, second):
    arguments = [first, second][: OPERATORS[name].arity]
    found = bound(OPERATORS[name], *arguments)
    if found.hazard[0] != Hazard.NONE:
        return
    exact = IV[name](*(mpmath.iv.mpf(each) for each in arguments))
    low, high = float(mpmath.mpf(exact.a)), float(mpmath.mpf(exact.b))
    slack = 1e-13 * max(abs(low), abs(high), 1e-290)
    # mpmath's own bounds are rounded outwards, by one unit in the last place of 53 bits
    assert found.low[0] <= low + slack
    assert found.high[0] >= high - slack
    # sharp: no wider than the true range by more than rounding
    assert found.low[0] >= low - slack - 1e-300
    assert found.high[0] <= high + slack + 1e-300


@pytest.mark.parametrize(
    ("name", "arguments", "hazard"),
    [
        ("inv", [(-1, 1)], Hazard.POLE),
        ("inv", [(0, 1)], Hazard.POLE),
        ("inv", [(1e-200, 1)], Hazard.OVERFLOW),
        ("div", [(0, 1), (-1, 2)], Hazard.POLE),
        ("div", [(0, 1), (1, 2)], Hazard.NONE),
        ("log", [(0, 1)], Hazard.UNDEFINED),
        ("log", [(1e-300, 1)], Hazard.NONE),
        ("sqrt", [(0, 1)], Hazard.NONE),
        ("sqrt", [(-1e-300, 1)], Hazard.UNDEFINED),
        ("exp", [(0, 347)], Hazard.OVERFLOW),
        ("exp", [(-1000, 346)], Hazard.NONE),
        ("tan", [(1, 2)], Hazard.POLE),
        ("tan", [(-1.5, 1.5)], Hazard.NONE),
        ("asin", [(-1, 1)], Hazard.NONE),
        ("asin", [(-1, 1.001)], Hazard.UNDEFINED),
        ("acos", [(-1.001, 0)], Hazard.UNDEFINED),
        ("pow", [(-1, 1), (2, 2)], Hazard.NONE),
        ("pow", [(-1, 1), (-2, -2)], Hazard.POLE),
        ("pow", [(-2, -1), (-3, -3)], Hazard.NONE),
        ("pow", [(-1, 1), (0.5, 0.5)], Hazard.UNDEFINED),
        ("pow", [(-1, 1), (1, 2)], Hazard.UNDEFINED),
        ("pow", [(0, 1), (0, 2)], Hazard.NONE),
        ("pow", [(0, 1), (-0.5, 2)], Hazard.POLE),
        ("mul", [(0, 1e100), (0, 1e100)], Hazard.OVERFLOW),
    ],
)
def test_the_hazard_says_what_may_be_undefined(name, arguments, hazard):
    assert bound(OPERATORS[name], *arguments).hazard[0] == hazard


@pytest.mark.parametrize(
    ("name", "argument", "expected"),
    [
        ("sin", (0.0, 2.0), (0.0, 1.0)),
        ("sin", (3.0, 6.0), (-1.0, 0.1411)),
        ("cos", (-1.0, 0.5), (0.5403, 1.0)),
        ("cos", (1e15, 1e15 + 1), (-1.0, 1.0)),
        ("square", (-3.0, 2.0), (0.0, 9.0)),
        ("cosh", (-1.0, 0.5), (1.0, 1.5431)),
        ("floor", (-0.5, 2.5), (-1.0, 2.0)),
        ("sign", (-0.5, 2.5), (-1.0, 1.0)),
        ("inv", (-2.0, -1.0), (-1.0, -0.5)),
    ],
)
def test_bounds_are_sharp(name, argument, expected):
    found = bound(OPERATORS[name], argument)
    assert (found.low[0], found.high[0]) == pytest.approx(expected, abs=1e-4)


def test_a_difference_of_exact_ends_is_exact_so_that_roots_of_it_are_defined():
    assert bound(OPERATORS["sub"], (1.0, 1.0), (0.0, 1.0)).low[0] == 0.0
    assert bound(OPERATORS["sub"], (1.0, 1.0), (0.1, 0.1)).low[0] < 1.0 - 0.1


def test_a_hazard_of_an_argument_is_one_of_the_value():
    undefined = bound(OPERATORS["log"], (-1.0, 1.0))
    sine = make_bounds_propagator(OPERATORS["sin"])(undefined)
    assert sine.hazard[0] == Hazard.UNDEFINED
    number = make_bounds_propagator(OPERATORS["add"])(bound_number(3), undefined)
    assert number.hazard[0] == Hazard.UNDEFINED


def test_an_operator_without_a_rule_is_never_safe():
    operator = Operator(
        "odd", 1, np.sin, lambda a: a, lambda a: a, domain=(), units=UnitRule("pure"), summary="of a program"
    )
    assert bound(operator, (0.0, 1.0)).hazard[0] == Hazard.UNKNOWN
    assert make_bounds_propagator(operator)(bound_number(1.0)).hazard[0] == Hazard.UNKNOWN


def test_a_defined_operator_has_the_bounds_of_its_formula():
    gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    found = bound(gauss, (-1.0, 2.0))
    assert (found.low[0], found.high[0]) == pytest.approx((np.exp(-4.0), 1.0))
    (shifted,) = define_family("shifted", "1/(x + b)", {"b": [1]}, OPERATORS)
    assert bound(shifted, (-2.0, 0.0)).hazard[0] == Hazard.POLE
    assert bound(shifted, (0.0, 1.0)).hazard[0] == Hazard.NONE
    assert not define_operator("steps", "floor(x)/2", OPERATORS).continuous
    assert gauss.continuous


CUSTOM = [
    define_operator("bell", "exp(-x**2)", OPERATORS),
    define_operator("share", "x/(1 + abs(x))", OPERATORS),
    define_operator("root", "sqrt(x**2 + y**2)", OPERATORS),
    define_operator("beats", "sin(pi*x)*cos(y)", OPERATORS),
]


@settings(max_examples=40)
@given(st.sampled_from(CUSTOM), intervals, intervals, st.integers(0, 10**6))
def test_values_of_defined_operators_lie_within_the_bounds(operator, first, second, seed):
    rng, arguments = np.random.default_rng(seed), [first, second][: operator.arity]
    found = bound(operator, *arguments)
    if found.hazard[0] != Hazard.NONE:
        return
    with np.errstate(all="ignore"):
        values = operator.numeric(*(draw_points(*each, rng) for each in arguments))
    assert ((values >= found.low[0]) & (values <= found.high[0])).all()


@pytest.mark.parametrize("name", OPERATORS)
def test_every_built_in_operator_has_bounds(name):
    assert OPERATORS[name].bounds is not None
