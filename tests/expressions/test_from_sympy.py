from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from helpers.strategies import expressions
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from symscreen.errors import FormulaError
from symscreen.evaluation.mp_evaluation import MODERATE_ROWS, draw_rows
from symscreen.expressions.printing import to_text
from symscreen.expressions.sympy_conversion import (
    build_exact_form,
    build_number,
    build_operator_form,
    from_sympy,
    recover_fraction,
)
from symscreen.expressions.traversal import collect_columns, evaluate_expression, iterate_constants
from symscreen.expressions.tree import Call, Column, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_operator

ROUND = [
    "x - y", "x*y/2", "-x - y", "-2*x/3", "x**(1/3)", "x**2.5", "1/x**2", "1/(3*x)", "x**y", "2**x", "pi*x",
    "exp(1)*x", "max(x, min(y, 2))", "sqrt(x)*log(y)", "tan(x)/cosh(y)", "abs(x)*sign(y)", "erf(x - y)",
    "floor(-x)", "1/(1 + 0.5*x**2)", "x*0.043278", "cbrt(x)", "tan(x + pi/2)", "asin(x)/atan(y)", "0.1*x",
]  # fmt: skip


def there_and_back(expression):
    symbols = {name: sympy.Symbol(name) for name in collect_columns(expression)}
    form = build_exact_form(expression, symbols)
    return from_sympy(form, {symbol: Column(name) for name, symbol in symbols.items()})


def values(expression):
    rows = {name: draw_rows(name)[: MODERATE_ROWS[2].stop] for name in ("x", "y")}
    return evaluate_expression(expression, rows)


@pytest.mark.parametrize("text", ROUND)
def test_a_formula_keeps_its_values_through_sympy(text):
    expression = parse_expression(text)
    back = there_and_back(expression)
    np.testing.assert_allclose(values(back), values(expression), rtol=1e-12)
    assert parse_expression(to_text(back)) == back


@settings(max_examples=80, deadline=None)
@given(expression=expressions(st.sampled_from("xy")))
@example(parse_expression("17179869185 - (x + 17179869185)"))
@example(parse_expression("atan(tan(20478130839))"))  # sympy: 20478130839 - 6518391497*pi
@example(parse_expression("x + asin(sin(3.3668809427494854e109))"))
@example(
    parse_expression(
        "x + abs(sqrt(cbrt(7) + 2*sqrt(cbrt(7)*sqrt(3)) + sqrt(3)) - cbrt(7)**0.5 - sqrt(sqrt(3)))"
    )
)
def test_random_formulas_keep_their_values_where_both_have_some(expression):
    before = values(expression)
    assume(np.isfinite(before).sum() > 10)
    try:
        back = there_and_back(expression)
    except (FormulaError, ArithmeticError, TypeError, ValueError):
        return
    after = values(back)
    both = np.isfinite(before) & np.isfinite(after)
    assert both.any()
    # Rounding of floor, of large exponents and of differences of large constants is not tested here.
    constants = [*iterate_constants(expression), *iterate_constants(back)]
    largest = max((abs(float(each.value)) for each in constants), default=0.0)
    atol = max(1e-6, 4.0 * np.finfo(float).eps * largest)
    assert (np.isclose(before[both], after[both], rtol=1e-6, atol=atol)).mean() > 0.8


def test_numbers_that_cancel_are_left_as_they_are():
    form = build_exact_form(parse_expression("max(sqrt(5 + 2*sqrt(6)), sqrt(2) + sqrt(3))"), {})
    assert {str(each) for each in form.args} == {"sqrt(2) + sqrt(3)", "sqrt(2*sqrt(6) + 5)"}
    assert build_exact_form(parse_expression("max(sqrt(5), sqrt(2) + sqrt(3))"), {}) == sympy.sqrt(
        2
    ) + sympy.sqrt(3)
    assert str(build_exact_form(parse_expression("abs(2 - sqrt(2))"), {})) == "2 - sqrt(2)"


def test_names_are_nothing_but_symbols():
    odd = ["N", "E", "I", "lambda", "x1 + x2", "", "a`b", "S", "pi"]
    for name in odd:
        expression = Call(OPERATORS["add"], (Call(OPERATORS["square"], (Column(name),)), Column("y")))
        assert set(collect_columns(there_and_back(expression))) == {name, "y"}


@pytest.mark.parametrize(
    "form", [sympy.I, sympy.zoo, sympy.gamma(2.5 * sympy.Symbol("x")), sympy.Symbol("z")]
)
def test_what_has_no_name_is_refused(form):
    with pytest.raises(FormulaError, match="does not exist in the formula notation"):
        from_sympy(form, {sympy.Symbol("x"): Column("x")})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("3", "3"),
        ("-7/2", "-7/2"),
        ("1/3", "1/3"),
        ("0.05", "1/20"),
        ("0.043278", "0.043278"),
        ("1/300", "1/300"),
    ],
)
def test_numbers_are_written_exactly(value, text):
    assert to_text(build_number(Fraction(value))) == text


@pytest.mark.parametrize(
    ("value", "fraction"),
    [
        (0.1, "1/10"),
        (0.1 + 0.2, "3/10"),
        (1 / 3, "1/3"),
        (-10 / 3, "-10/3"),
        (1e-300, "1e-300"),
        (3.141592653589793, "3.141592653589793"),
        (0.3000000000000010, "0.300000000000001"),
        (5.0, "5"),
    ],
)
def test_a_double_stands_for_the_fraction_that_was_meant(value, fraction):
    assert recover_fraction(value) == Fraction(fraction)


@settings(max_examples=200, deadline=None)
@given(value=st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
def test_a_double_stands_for_a_fraction_beside_it(value):
    # numbers below 2.2e-308 have fewer digits
    near = max(Fraction(1, 2**50) * abs(Fraction(value)), Fraction(math.ulp(value)))
    assert abs(recover_fraction(value) - Fraction(value)) <= near


def test_no_floating_point_number_is_left():
    own = define_operator("own", "0.1*x/3 + 0.2 + 0.1", OPERATORS)
    (x,), body = build_operator_form(own)
    assert sympy.expand(body - x / 30 - sympy.Rational(3, 10)) == 0
    form = build_exact_form(Call(own, (parse_expression("0.7*z"),)), {"z": sympy.Symbol("z")})
    assert not form.atoms(sympy.Float)
    assert form == sympy.Rational(7, 300) * sympy.Symbol("z") + sympy.Rational(3, 10)


@pytest.mark.parametrize("text", ["9**9**9*x", "x + 0.5**(9**9)", "x/2**(9**9 + 0.5)"])
def test_towers_of_powers_are_refused(text):
    with pytest.raises(OverflowError):
        build_exact_form(parse_expression(text), {"x": sympy.Symbol("x")})


@pytest.mark.parametrize("text", ["x + 2**100", "x*2**0.5", "x/3**2.5", "x*0.5**30"])
def test_powers_of_numbers_are_not(text):
    assert build_exact_form(parse_expression(text), {"x": sympy.Symbol("x")}).free_symbols == {
        sympy.Symbol("x")
    }
