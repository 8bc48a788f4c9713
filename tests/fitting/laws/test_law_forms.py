from __future__ import annotations

from dataclasses import replace
from math import pi, sqrt

import numpy as np
import pytest

import symscreen
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.law import Law, build_law_data
from symscreen.fitting.laws.law_forms import (
    move_coefficient_into_root,
    write_readable_terms,
    write_simple_sum,
)
from symscreen.grammar import load_grammar


@pytest.mark.parametrize(
    ("term", "coefficient", "form"),
    [
        ("sqrt(0.5 + x/y)", sqrt(2), "sqrt(1 + 2*(x/y))"),
        ("z/sqrt(0.5 + x/y)", sqrt(1 / 2), "z/sqrt(1 + 2*(x/y))"),
        ("sqrt(x*y - 3*z**2/(8*pi))", sqrt(8 * pi / 3), "sqrt(8*pi/3*(x*y) - z**2)"),
        ("sqrt(x**2 + y**2)", 3.0, "sqrt(x**2 + y**2)"),
        ("sqrt(x**2 + y**2)", 1.2345, "sqrt(x**2 + y**2)"),
        ("sqrt(0.5 + x/y)*sqrt(0.5 + z)", sqrt(2), "sqrt(0.5 + x/y)*sqrt(0.5 + z)"),
        ("x*y", sqrt(2), "x*y"),
    ],
)
def test_a_coefficient_moves_into_a_root_where_the_numbers_become_simpler(term, coefficient, form):
    moved = move_coefficient_into_root(parse_expression(term), coefficient, 1e-9)
    assert str(moved) == form


@pytest.mark.parametrize("coefficient", [sqrt(2), 0.7, 3.0, sqrt(5 / 3)])
def test_the_moved_coefficient_leaves_the_values_as_they_are(coefficient, rng):
    columns = dict(zip("xyz", rng.uniform(1, 2, (3, 50)), strict=True))
    for text in ("z*sqrt(0.2*x - y/50)", "x/sqrt(3*y + z/7)", "sqrt(y**2 + 5)"):
        term = parse_expression(text)
        moved = evaluate_expression(move_coefficient_into_root(term, coefficient, 1e-12), columns)
        ratio = moved / evaluate_expression(term, columns)
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-12)
        assert ratio[0] == pytest.approx(coefficient) or ratio[0] == 1.0


@pytest.mark.slow
def test_fit_writes_simple_numbers_under_a_root(rng, change_effort, run_only_stages):
    change_effort("quick", pool_formulas=1000)
    run_only_stages("single index")
    w, x, y, z = rng.uniform(1, 3, (4, 150))
    target = w * np.sqrt(1 + 2 * x**2 / (y * z))
    result = symscreen.fit({"w": w, "x": x, "y": y, "z": z}, target, effort="quick", jobs=1)
    assert result.formula.text == "w*sqrt(2*x**2/(y*z) + 1)"


def test_a_sum_begins_with_a_positive_term():
    terms = [parse_expression(text) for text in ("1", "x", "y")]
    assert str(write_simple_sum(terms, [-0.5, -1.0, 2.0])) == "2*y - 0.5 - x"


def make_law_data(operators, rng):
    return build_law_data({"x": rng.uniform(1, 2, 50)}, rng.normal(size=50), operators, pool_limit=100)


@pytest.mark.parametrize(
    ("term", "form"),
    [
        ("sin(x + x)", "sin(2*x)"),
        ("x/(y + (y + y))", "x/(y + 2*y)"),
        ("((x + x) + (x + x)) + ((x + x) + (x + x))", "8*x"),
        ("3*x + 3*x", "2*(3*x)"),
        ("x*x - x", "x*x - x"),
    ],
)
def test_sums_of_equal_parts_are_multiples_with_the_same_values(term, form, rng):
    law = Law((parse_expression(term),), has_intercept=False, search_size=1.0)
    (changed,) = write_readable_terms(
        law, make_law_data(load_grammar("basic").add_operators(["sin", "cos"]), rng)
    ).terms
    assert str(changed) == form
    columns = dict(zip("xy", rng.normal(size=(2, 20)), strict=True))
    assert (
        evaluate_expression(changed, columns).tobytes()
        == evaluate_expression(law.terms[0], columns).tobytes()
    )


@pytest.mark.parametrize(
    ("term", "form"),
    [
        ("asin(1/(x/y + x/y))", "asin(y/(2*x))"),
        ("x*y**(-1.5)", "x/y**1.5"),
        ("exp(-1*(x/y)**(-0.7))", "exp(-(y/x)**0.7)"),
        ("(x/y)**(-2)", "(y/x)**2"),
        ("x**(-1.5)", "x**(-1.5)"),
        ("x**y", "x**y"),
        ("y/(3*(x/2))", "y*2/(3*x)"),
    ],
)
def test_negative_powers_and_quotients_below_a_bar_are_plain_quotients(term, form, rng):
    law = Law((parse_expression(term),), has_intercept=False, search_size=1.0)
    data = replace(make_law_data(load_grammar("standard").add_operators(["asin"]), rng), is_allowed=None)
    (changed,) = write_readable_terms(law, data).terms
    columns = dict(zip("xy", rng.uniform(1.0, 2.0, (2, 20)), strict=True))
    values, expected = (evaluate_expression(each, columns) for each in (changed, law.terms[0]))
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert str(changed) == form


def test_without_products_in_the_grammar_sums_of_equal_parts_stay(rng):
    law = Law((parse_expression("sin(x + x)"),), has_intercept=False, search_size=1.0)
    basic = load_grammar("basic").add_operators(["sin", "cos"])
    sums = replace(basic, binary=tuple(each for each in basic.binary if each.name == "add"))
    assert write_readable_terms(law, make_law_data(sums, rng)) is law
