import math

import numpy as np
import pytest
from helpers.exact_values import EXACT, exact_values
from helpers.strategies import expressions
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.expansion.feature_values import compute_error_bound
from symscreen.expressions.tree import Call, Column, parse_expression
from symscreen.grammar import OPERATORS, Domain, Operator, UnitRule
from symscreen.grammar.custom_operators import define_family, define_operator
from symscreen.grammar.error_propagation import BoundedValue, bound_number, make_error_propagator

wide = st.builds(
    lambda mantissa, exponent: mantissa * 10.0**exponent,
    st.floats(-10, 10, allow_subnormal=False),
    st.one_of(st.integers(-3, 3), st.integers(-150, 150), st.integers(-323, 307)),
)
ordinary = st.one_of(wide, st.integers(-4, 4).map(float), st.floats(-2, 2))


def assert_bounded(expression, columns):
    bound = compute_error_bound(expression, columns)
    for value, error, exact in zip(bound.values, bound.error, exact_values(expression, columns), strict=True):
        if math.isnan(value):
            continue
        if exact is None:
            assert error == math.inf
        else:
            assert abs(EXACT.mpf(float(value)) - exact) <= error


@pytest.mark.slow
@settings(max_examples=150)
@given(
    expressions(st.sampled_from(["a", "b"])),
    st.lists(ordinary, min_size=4, max_size=4),
    st.lists(ordinary, min_size=4, max_size=4),
)
def test_no_value_is_farther_from_the_exact_one_than_its_bound(expression, a, b):
    assert_bounded(expression, {"a": np.array(a), "b": np.array(b)})


@pytest.mark.slow
@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_carries_errors_of_its_arguments(name, rng):
    operator = OPERATORS[name]
    columns = {
        "a": rng.normal(size=12) * 10.0 ** rng.integers(-5, 5, 12),
        "b": rng.normal(size=12) * 10.0 ** rng.integers(-5, 5, 12),
        "k": rng.integers(-3, 4, 12).astype(float),
    }
    inner = [
        parse_expression("a*b - a"),
        parse_expression("sin(a)"),
        parse_expression("(a + b)**2"),
        parse_expression("k"),
        parse_expression("a/3"),
    ]
    for first in inner:
        if operator.arity == 1:
            assert_bounded(Call(operator, (first,)), columns)
        else:
            for second in inner:
                assert_bounded(Call(operator, (first, second)), columns)


@pytest.mark.parametrize(
    "formula",
    ["a*b - 3*a", "(a + b)**2", "a**3*b", "abs(a - b)", "sqrt(a*a*b*b)", "(a*b)/b", "max(a, b) - 0.5"],
)
def test_whole_numbers_stay_exact(formula, rng):
    columns = {"a": rng.integers(1, 1000, 50).astype(float), "b": rng.integers(1, 1000, 50).astype(float)}
    assert not compute_error_bound(parse_expression(formula), columns).error.any()


def test_denormal_numbers_lose_what_underflows():
    columns = {"a": np.array([3e-160, 5e-324]), "b": np.array([7e-163, 0.5])}
    bound = compute_error_bound(parse_expression("a*b"), columns)
    assert (bound.error > 0).all()
    assert_bounded(parse_expression("a*b/b"), columns)


@pytest.mark.parametrize(
    ("above", "below"),
    [
        (BoundedValue(np.array([3.8e-300]), np.zeros(1)), BoundedValue(np.array([4.6e210]), np.zeros(1))),
        (BoundedValue(np.array([5e-324]), np.zeros(1)), BoundedValue(np.array([3.4e11]), np.zeros(1))),
    ],
)
def test_a_quotient_that_vanishes_is_not_exact(above, below):
    quotient = make_error_propagator(OPERATORS["div"])(above, below)
    assert quotient.values[0] == 0
    assert quotient.error[0] >= 5e-324


def test_the_bound_of_a_quotient_does_not_vanish_itself():
    above, below = (
        BoundedValue(np.array([5e-324]), np.zeros(1)),
        BoundedValue(np.array([5.4e-226]), np.array([5.4e-231])),
    )
    error = make_error_propagator(OPERATORS["div"])(above, below).error[0]
    least = EXACT.mpf(5.4e-226) - EXACT.mpf(5.4e-231)
    assert error >= EXACT.mpf(5e-324) / least - EXACT.mpf(5e-324) / EXACT.mpf(5.4e-226)


EXACT_AT = {"log": (1.0,), "acos": (1.0,), "exp": (0.0,), "cos": (0.0,), "cosh": (0.0,)}
EXACT_AT |= dict.fromkeys(("cbrt", "sin", "tan", "tanh", "sinh", "asin", "atan", "asinh", "erf"), (0.0,))


@pytest.mark.parametrize("name", EXACT_AT)
def test_a_value_that_every_library_has_exactly_is_exact(name):
    at = BoundedValue(np.array(EXACT_AT[name]), np.zeros(1))
    assert make_error_propagator(OPERATORS[name])(at).error[0] == 0
    near = BoundedValue(at.values + 1e-3 * (1 if name != "acos" else -1), np.zeros(1))
    assert make_error_propagator(OPERATORS[name])(near).error[0] > 0
    loose = BoundedValue(at.values, np.array([1e-9]))
    assert make_error_propagator(OPERATORS[name])(loose).error[0] > 0


def test_nothing_times_what_is_not_exact_is_nothing():
    nothing, loose = BoundedValue(np.zeros(1), np.zeros(1)), BoundedValue(np.array([3.0]), np.array([0.1]))
    assert make_error_propagator(OPERATORS["mul"])(nothing, loose).error[0] == 0
    assert make_error_propagator(OPERATORS["div"])(nothing, loose).error[0] == 0
    around = BoundedValue(np.array([0.05]), np.array([0.1]))
    assert make_error_propagator(OPERATORS["div"])(nothing, around).error[0] == math.inf


def test_an_operator_of_a_formula_carries_what_its_formula_does(rng):
    columns = {"x": rng.normal(size=40) * 1e8, "y": rng.normal(size=40)}
    noise = define_operator("noise", "sin(x*y) + 0.1*pi", OPERATORS)
    (decay,) = define_family("decay", "exp(-a*x)", {"a": [1e-7]}, OPERATORS)
    for operator, formula in ((noise, "sin(x*y) + 0.1*pi"), (decay, "exp(-0.0000001*x)")):
        own = Call(operator, tuple(Column(name) for name in "xy"[: operator.arity]))
        written = compute_error_bound(parse_expression(formula), columns)
        np.testing.assert_array_equal(compute_error_bound(own, columns).values, written.values)
        np.testing.assert_array_equal(compute_error_bound(own, columns).error, written.error)


def test_an_operator_without_a_rule_is_looked_at_by_differences():
    own = Operator("own", 1, np.sin, np.sin, np.sin, (Domain.REAL,), UnitRule("pure"), "an own one")
    two = Operator("two", 2, np.hypot, np.hypot, np.hypot, (Domain.REAL,) * 2, UnitRule("pure"), "another")
    a = BoundedValue(np.array([0.5, 1e17]), np.array([1e-10, 0.0]))
    error = make_error_propagator(own)(a).error
    assert 0.9e-10 < error[0] < 4e-10
    assert error[1] < 1e-14
    assert 0.9e-10 < make_error_propagator(two)(a, a).error[0] < 8e-10


def test_what_may_be_undefined_has_no_bound():
    near = BoundedValue(np.array([1e-20]), np.array([1e-19]))
    for name in ("sqrt", "log", "inv"):
        assert make_error_propagator(OPERATORS[name])(near).error[0] == math.inf
    assert (
        make_error_propagator(OPERATORS["tanh"])(make_error_propagator(OPERATORS["log"])(near)).error[0]
        == math.inf
    )


@pytest.mark.parametrize("value", [3, 0.5, 0.1, 1e300, math.pi])
def test_numbers_are_what_was_written(value):
    found = bound_number(value)
    exact = +EXACT.pi if value == math.pi else EXACT.mpf(str(value))
    assert abs(EXACT.mpf(float(found.values)) - exact) <= float(found.error) <= 1e-15 * value
