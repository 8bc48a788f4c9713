from __future__ import annotations

import numpy as np
import pytest

import symscreen
from symscreen.expressions.traversal import compute_complexity, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.common_factors import collect_powers, move_common_factors, negate_term
from symscreen.fitting.laws.power_expressions import build_power_product


@pytest.fixture
def columns(rng):
    columns = dict(zip("abcdmuvx", rng.uniform(1, 2, (8, 40)), strict=True))
    return columns | {"c": columns["c"] + 2}


@pytest.mark.parametrize(
    ("term", "form"),
    [
        ("c*m*v/sqrt(c**2 - v**2)", "m*v/sqrt(1 - v**2/c**2)"),
        ("c**3*m/sqrt(c**2 - v**2)", "c**2*m/sqrt(1 - v**2/c**2)"),
        ("c*(x - u*v)/sqrt(c**2 - u**2)", "(x - u*v)/sqrt(1 - u**2/c**2)"),
        ("(u*x - c**2*v)/(c*sqrt(c**2 - u**2))", "(u*x/c**2 - v)/sqrt(1 - u**2/c**2)"),
        ("m*sqrt(c**2 - v**2)/(c + v*cos(d))", "m*sqrt(1 - v**2/c**2)/(1 + v*cos(d)/c)"),
        ("m*sqrt((c + v)/(c - v))", "m*sqrt((1 + v/c)/(1 - v/c))"),
        ("sqrt(c + v)*sqrt(m*(-(m/(v - c))))", "m*sqrt((1 + v/c)/(1 - v/c))"),
        ("c**2*m*(a**2*b**2/(c**2*m) + 1)/(d*b**2)", "(a**2 + c**2*m/b**2)/d"),
        ("a*b*(1/a + cos(d))", "b*(1 + a*cos(d))"),
        ("a*b/(a + b)", "a*b/(a + b)"),
        ("m*v/sqrt(1 - v**2/c**2)", "m*v/sqrt(1 - v**2/c**2)"),
        ("m/sqrt(1/v**2 - 1/c**2)", "m*v/sqrt(1 - v**2/c**2)"),
        ("sqrt(a*(c - 3*b**2*d/(8*m**2*a)))", "sqrt(a*c - 3*b**2*d/(8*m**2))"),
        ("sqrt(a**2 + b**2)", "sqrt(a**2 + b**2)"),
        ("sin(v/c)", "sin(v/c)"),
        ("a/sqrt(exp(b**2))", "a*exp(-(b**2/2))"),
        ("a*b/exp(c*d)**2", "a*b*exp(-(2*(c*d)))"),
        ("a*exp(b)", "a*exp(b)"),
        ("a/(exp(b) - 1)", "a/(exp(b) - 1)"),
        ("a*(1/v + 2*x/3)/(1/v + x/3)", "a*(3 + 2*v*x)/(3 + v*x)"),
        ("(1/2 + x/4)**2/(3/4 + a)**2", "(2 + x)**2/(3 + 4*a)**2"),
        ("(4 + 2*x)/(6 + 2*a)", "(2 + x)/(3 + a)"),
        ("(1/2 + x/4)/(3/4 + a)**2", "(1/2 + x/4)/(3/4 + a)**2"),
        ("(0.5 + x)/(0.25 + a)", "(0.5 + x)/(0.25 + a)"),
        ("m*sqrt(1 + 2/(c/v - 1))", "m*sqrt((1 + v/c)/(1 - v/c))"),
        ("m*(2/(1 - x) - 1)", "m*(x + 1)/(1 - x)"),
        ("m*(1 - 1/(1 + x))", "m/(1/x + 1)"),
        ("m*(1 + 3/(x - 1))", "m*(1 + 3/(x - 1))"),
        ("m*v**2 - m*c**2 + m*v*c", "m*(v**2 - c**2 + c*v)"),
        ("m*v + m*c + a", "m*v + m*c + a"),
        ("a/v + x/v - c/v**2", "(a + x - c/v)/v"),
    ],
)
def test_products_of_sums_are_written_in_their_simplest_form(term, form, columns):
    assert str(move_common_factors(parse_expression(term), columns)) == form


@pytest.mark.parametrize(
    "text", ["x*sqrt(a*b)/c**2", "a/(b/(c/d))", "x**4*sqrt(x)", "1/sqrt(x)", "2*x/(3*a)"]
)
def test_a_product_of_its_powers_has_the_same_values(text, columns):
    term = parse_expression(text)
    rebuilt = build_power_product(list(collect_powers(term).items()))
    np.testing.assert_allclose(evaluate_expression(rebuilt, columns), evaluate_expression(term, columns))


@pytest.mark.parametrize(
    "text", ["sqrt(x**2 + x*a)", "sqrt(x**2 - x*a)*a", "x*(a/x + 1)", "sqrt(a*x**2 + x**2)/x"]
)
def test_forms_with_other_values_are_refused(text, rng):
    columns = {"x": rng.uniform(-3, -2, 30), "a": rng.uniform(1, 2, 30)}  # √(x²) is not x here
    term = parse_expression(text)
    form = move_common_factors(term, columns)
    np.testing.assert_allclose(
        evaluate_expression(form, columns), evaluate_expression(term, columns), rtol=1e-9
    )
    assert compute_complexity(form) <= compute_complexity(term) + 1


@pytest.mark.slow
def test_fit_writes_the_relativistic_mass_with_a_quotient_of_speeds(rng):
    m, v, c = rng.uniform(1, 5, 300), rng.uniform(1, 2, 300), rng.uniform(3, 10, 300)
    result = symscreen.fit({"m": m, "v": v, "c": c, "y": m / np.sqrt(1 - v**2 / c**2)}, target="y")
    assert result.formula.text == "m/sqrt(1 - v**2/c**2)"


@pytest.mark.parametrize(
    ("term", "negated"),
    [
        ("a/(1 - exp(b))", "a/(exp(b) - 1)"),
        ("(a*x - b)/sqrt(1 - x)", "(b - a*x)/sqrt(1 - x)"),
        ("(a - b)**3*x", "x*(b - a)**3"),
        ("(a - b)**2", None),
        ("a*b", None),
    ],
)
def test_the_sign_of_a_product_goes_into_a_difference(term, negated):
    result = negate_term(parse_expression(term))
    assert (None if result is None else str(result)) == negated


@pytest.mark.slow
def test_fit_writes_a_law_with_a_positive_coefficient(rng):
    frame = {"a": rng.uniform(1, 3, 200), "b": rng.uniform(1, 3, 200)}
    result = symscreen.fit(frame | {"y": 2 * frame["a"] / np.expm1(frame["b"])}, target="y")
    assert result.formula.text == "2*a/(exp(b) - 1)"
