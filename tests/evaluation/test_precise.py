from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from helpers.strategies import UNARY
from hypothesis import example, given, settings
from hypothesis import strategies as st

from symscreen.evaluation.mp_evaluation import (
    DIGITS,
    bound_numerical_error,
    build_graph,
    compute_node_values,
    compute_precise_value,
    draw_rows,
)
from symscreen.expressions.tree import Call, Column, apply_operator, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_family, define_operator


def value_of(expression, row=0, x=None):
    graph = build_graph([expression])
    draw = draw_rows if x is None else lambda _: np.array([x])
    return compute_precise_value(graph, int(graph.roots[0]), row, {}, draw)


@settings(max_examples=80, deadline=None)
@given(
    outer=st.sampled_from(list(OPERATORS.values())),
    inner=st.sampled_from(UNARY),
    row=st.integers(0, 71),
)
@example(outer=OPERATORS["asin"], inner=OPERATORS["erf"], row=27)
def test_double_precision_agrees_where_it_has_a_value(outer, inner, row):
    x, y = Column("x"), Column("y")
    expression = (
        apply_operator(outer, apply_operator(inner, x))
        if outer.arity == 1
        else apply_operator(outer, apply_operator(inner, x), y)
    )
    graph = build_graph([expression])
    double = compute_node_values(graph, draw_rows)[graph.roots[0], row]
    pair = compute_precise_value(graph, int(graph.roots[0]), row, {})
    if np.isfinite(double):
        assert pair is not None
        # Rounding an argument of magnitude 30 changes sin, exp and pow by this amount. Near 1 it changes
        # asin and acos by the root of the rounding.
        tolerance = 1e-7 if outer.name in {"asin", "acos"} else 1e-11
        assert abs(float(pair[0]) - double) <= tolerance * max(1.0, float(pair[1]))


@pytest.mark.parametrize(
    "text",
    ["log(x)", "sqrt(x)", "x**0.5", "asin(x)", "1/(x + 2)", "log(0*x)", "sqrt(log(x))*0", "floor(sqrt(x))"],
)
def test_what_is_not_a_real_number_has_no_value(text):
    assert value_of(parse_expression(text), x=-2.0) is None


@pytest.mark.parametrize("text", ["(-2)**x", "x**(1 + 1)", "cbrt(x)", "x**-3", "abs(x)**0.3", "2**x"])
def test_powers_are_real_where_double_precision_has_them(text):
    with np.errstate(all="ignore"):
        expected = value_of(parse_expression(text), x=-3.0)
    assert expected is not None
    graph = build_graph([parse_expression(text)])
    values = compute_node_values(graph, lambda _: np.full(96, -3.0))[graph.roots[0]]
    assert float(expected[0]) == pytest.approx(values[0], rel=1e-15)


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("cosh(x)**2 - sinh(x)**2 - 1", 350.0),
        ("(x + 1e300) - 1e300 - x", 3.0),
        ("sin(x)**2 + cos(x)**2 - 1", 1e300),
        ("sin(x + pi) + sin(x)", 1e5),
        ("log(exp(x)) - x", 700.0),
        ("0.1*x + 0.2*x - 0.3*x", 7.0),
        ("tanh(x) - 1 + 2/(exp(2*x) + 1)", 300.0),
    ],
)
def test_what_cancels_is_noise_beside_its_peak(text, x):
    value, peak = value_of(parse_expression(text), x=x)
    assert abs(value) <= bound_numerical_error(peak)
    assert bound_numerical_error(peak) < 1e-50


@pytest.mark.parametrize("text", ["exp(-200)*x", "1e-300*x", "(1 + 1e-40*sin(x)) - 1", "exp(-x**2)"])
def test_small_values_are_not_noise(text):
    value, peak = value_of(parse_expression(text), x=12.0)
    assert abs(value) > bound_numerical_error(peak)


def test_the_precision_of_other_users_of_mpmath_is_left_alone():
    before = mpmath.mp.dps
    value_of(parse_expression("exp(x)"), x=1.0)
    assert mpmath.mp.dps == before
    with mpmath.workdps(DIGITS):
        e = mpmath.mpf(value_of(parse_expression("exp(x)"), x=1.0)[0]._mpf_)
        assert abs(e - mpmath.e) < mpmath.mpf(10) ** (2 - DIGITS)


@pytest.mark.parametrize(
    ("formula", "meaning"),
    [
        ("0.1*x/3 + pi", "x/30 + pi"),
        ("cosh(x)**2 - sinh(x)**2 + x", "x + 1"),
        # sympy converts these to functions that are not named after an operator
        ("abs(exp(sqrt(x)))", "exp(sqrt(x))"),
        ("tan(x + pi/2)", "-cos(x)/sin(x)"),
        ("max(x, 0.1 + 0.2)*exp(1)", "max(x, 0.3)*exp(1)"),
    ],
)
def test_an_operator_of_the_users_is_what_it_stands_for(formula, meaning):
    own = define_operator("own", formula, OPERATORS)
    value, peak = value_of(Call(own, (Column("x"),)), x=250.25)
    expected, _ = value_of(parse_expression(meaning), x=250.25)
    assert abs(value - expected) <= bound_numerical_error(peak)


def test_an_operator_with_parameters_has_the_values_of_its_own():
    _, second = define_family("wave", "sin(a*x)", {"a": [0.1, 0.7]}, OPERATORS)
    value, peak = value_of(Call(second, (Column("x"),)), x=3.0)
    expected, _ = value_of(parse_expression("sin(0.7*x)"), x=3.0)
    assert abs(value - expected) <= bound_numerical_error(peak)
    assert float(value) == pytest.approx(math.sin(2.1))
