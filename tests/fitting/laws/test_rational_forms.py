from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.last_rounds import find_rational_forms

from symscreen.expressions.traversal import (
    collect_operator_names,
    compute_complexity,
    evaluate_expression,
    iterate_constants,
)
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.law import LawData
from symscreen.fitting.laws.refinement import refine_law
from symscreen.grammar import load_grammar

GRAMMAR = load_grammar("basic").override(unary=["square", "sqrt", "inv", "sin", "cos", "acos"])


def make_data(rng, formula, names, *, noise=0.0, n=150, low=0.3, high=2.0, grammar=GRAMMAR):
    columns = {name: rng.uniform(low, high, n) for name in sorted(names.split())}
    target = evaluate_expression(parse_expression(formula), columns)
    assert np.isfinite(target).all()
    noisy = target + noise * np.sqrt((target**2).mean()) * rng.normal(size=n)
    return LawData(columns, noisy, grammar), target


def compute_share(law, data, target):
    """Return RSS/TSS of a target, with the best outer coefficient."""
    (term,) = law.terms
    values = evaluate_expression(term, data.columns)
    residuals = target - values * (values @ target) / (values @ values)
    return float(residuals @ residuals) / float(((target - target.mean()) ** 2).sum())


LAWS = [
    ("(m*r + n*s)/(m + n)", "m n r s"),
    ("(u + v)/(1 + u*v/c**2)", "c u v"),
    ("d*(1 - a**2/9)/(1 + a*cos(s - t)/3)", "a d s t"),
    ("w*sqrt((c + v/3)/(c - v/9))", "c v w"),
    ("a*b/(a + b + 1)", "a b"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "names"), LAWS)
def test_a_quotient_without_noise_is_found_exactly_and_first(rng, formula, names):
    data, target = make_data(rng, formula, names)
    assert compute_share(find_rational_forms(data)[0], data, target) < 1e-18


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "names"),
    [LAWS[4], *(pytest.param(*each, marks=pytest.mark.slow) for each in LAWS[2:4])],
)
def test_the_form_of_a_quotient_is_found_under_noise(rng, formula, names):
    data, target = make_data(rng, formula, names, noise=0.01, n=400)
    exact = replace(data, target=target)
    refined = (refine_law(law, exact) for law in find_rational_forms(data))
    assert any(compute_share(law, data, target) < 1e-18 for law in refined if law is not None)


@pytest.mark.slow
def test_an_inverse_wave_of_a_quotient_is_found(rng):
    data, target = make_data(rng, "acos((cos(t) - v/(3*c))/(1 - v/(3*c)*cos(t)))", "c t v", low=0.5, high=1.2)
    assert compute_share(find_rational_forms(data)[0], data, target) < 1e-18


@pytest.mark.slow
def test_a_quotient_is_written_without_quotients_inside(rng):
    data, _ = make_data(rng, "(m*r + n*s)/(m + n)", "m n r s")
    law = refine_law(find_rational_forms(data)[0], data)
    assert str(law.terms[0]) in {"(m*r + n*s)/(m + n)", "(n*s + m*r)/(n + m)"}
    assert law.n_constants == 0


@pytest.mark.slow
def test_laws_have_no_pole_between_the_rows(rng):
    grammar = load_grammar("basic").override(unary=["sin"])
    data, _ = make_data(rng, "(u + v)/(1 + u*v/c**2)", "c u v", noise=0.1, grammar=grammar)
    for law in find_rational_forms(data):
        assert np.isfinite(evaluate_expression(law.terms[0], data.columns)).all()
        marked = sum(constant.fitted for constant in iterate_constants(law.terms[0]))
        assert law.n_constants == marked


@pytest.mark.slow
def test_the_order_of_the_rows_has_no_effect(rng):
    data, _ = make_data(rng, "(u + v)/(1 + u*v)", "u v", noise=0.1, n=100)
    order = rng.permutation(len(data.target))
    columns = {name: values[order] for name, values in data.columns.items()}
    shuffled = LawData(columns, data.target[order], GRAMMAR)
    first, second = find_rational_forms(data), find_rational_forms(shuffled)
    assert [str(law.terms[0]) for law in first] == [str(law.terms[0]) for law in second]


def test_the_limits_of_the_grammar_hold(rng):
    grammar = load_grammar("basic").override(unary=["sin"], binary=["add", "mul", "div"], max_complexity=14)
    data, _ = make_data(rng, "a*b/(a + b + 1)", "a b", noise=0.05, grammar=grammar)
    laws = find_rational_forms(data)
    assert 0 < len(laws) <= 60
    assert all(compute_complexity(law.terms[0]) <= 14 for law in laws)
    used = collect_operator_names(*(law.terms[0] for law in laws))
    assert used <= {"sin", "add", "mul", "div", "square", "cube", "pow", "inv"}
    without = load_grammar("basic").override(unary=["sin"], binary=["add"])
    assert find_rational_forms(replace(data, grammar=without)) == []
