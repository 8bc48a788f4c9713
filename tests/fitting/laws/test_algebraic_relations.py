from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symscreen.expressions.traversal import collect_operator_names, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.algebraic_relations import find_algebraic_relations, solve_sparsely
from symscreen.fitting.laws.law import LawData, build_law_data
from symscreen.grammar import load_grammar
from symscreen.units import Units, parse_unit

STANDARD = load_grammar("standard")


def make_data(rng, formula, names, *, units=None, target_unit=None, noise=0.0, n=600):
    columns = {name: rng.uniform(1.0, 4.0, n) for name in names.split()}
    target = evaluate_expression(parse_expression(formula), columns)
    target = target + noise * np.sqrt((target**2).mean()) * rng.standard_normal(n)
    known = None
    if units is not None:
        parsed = {name: parse_unit(unit) for name, unit in zip(names.split(), units, strict=True)}
        known = Units(parsed, target=parse_unit(target_unit))
    return build_law_data(columns, target, STANDARD, units=known)


def compute_share(law, data):
    """Return RSS/TSS with the best outer coefficients."""
    values = np.array([evaluate_expression(term, data.columns) for term in law.terms])
    values = np.vstack([values, *([np.ones(len(data.target))] if law.has_intercept else [])]).T
    left = data.target - values @ np.linalg.lstsq(values, data.target, rcond=None)[0]
    return float(left @ left) / float(((data.target - data.target.mean()) ** 2).sum())


LAWS = [
    pytest.param("a*b/c + 2*a/b - 3*c**2 + b*c/2 - a**2*c", "a b c", id="sum of five"),
    pytest.param("(a + 2*b*c - c**2 + 3*a/b)/(1 + a*c)", "a b c", id="quotient of sums"),
    pytest.param("(a*b + c)/(1 + 2*a/b + 3*c)", "a b c", id="two terms below"),
    pytest.param("(a - b)/(a + b + c/d**2)", "a b c d", id="three terms below"),
    pytest.param("a*(a*b - 2*c)/(b*a**2 + 2*a*c + 3*c + d)", "a b c d", id="four terms below"),
    pytest.param("a + b + sqrt((a - b)**2 + 4*c**2)", "a b c", id="two terms and root"),
    pytest.param("a*b + sqrt((c - d)**2 + b**2*c)", "a b c d", id="term and root"),
    pytest.param("a*b - sqrt((c - d)**2 + a**2*b**2/9)", "a b c d", id="term less root"),
    pytest.param("a*(1 - cos(b)*sqrt(1 + 2*c/a))", "a b c", id="wave times root"),
    pytest.param("a/c + c/a - sin(b)**2 + 2*a*c*cos(b)", "a b c", id="square of a wave"),
    pytest.param("d/c*(d/c + c/d - sin(b)**2)", "b c d", id="Klein and Nishina"),
    pytest.param("d/((a**2 - b**2)**2 + b**2*c**2)", "a b c d", id="resonance"),
    pytest.param("d/sqrt((a**2 - b**2)**2 + (a*c)**2)", "a b c d", id="amplitude of a driven oscillation"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("formula", "names"), LAWS)
def test_a_law_with_many_terms_is_found_without_noise(rng, formula, names):
    data = make_data(rng, formula, names)
    laws = find_algebraic_relations(data)
    assert laws
    assert all(compute_share(law, data) < 1e-18 for law in laws)


@pytest.mark.slow
def test_units_reach_terms_of_many_inputs(rng):
    data = make_data(
        rng,
        "(p**2 + m**2*w**2*x**2*(1 + a*x/y))/(2*m)",
        "p m w x a y",
        units=["kg*m/s", "kg", "1/s", "m", "1", "m"],
        target_unit="J",
    )
    laws = find_algebraic_relations(data)
    assert {str(term) for term in laws[0].terms} == {"p**2/m", "m*w**2*x**2", "a*m*w**2*x**3/y"}
    assert find_algebraic_relations(replace(data, units=None)) == []


def test_a_root_with_units_is_found(rng):
    data = make_data(
        rng,
        "q*v + sqrt((p - q*b)**2*c**2 + m**2*c**4)",
        "q v p b c m",
        units=["C", "V", "kg*m/s", "kg*m/s/C", "m/s", "kg"],
        target_unit="J",
    )
    (first, *_) = find_algebraic_relations(data)
    assert compute_share(first, data) < 1e-18
    assert str(first.terms[0]) == "q*v"


@pytest.mark.parametrize("function", [np.exp, np.arctan, np.log1p, np.tanh])
def test_a_smooth_function_is_no_relation(rng, function):
    columns = {name: rng.uniform(1.0, 2.0, 400) for name in "ab"}
    data = LawData(columns, function(columns["a"] * columns["b"] / 2.0) + 0.1, load_grammar("basic"))
    assert find_algebraic_relations(data) == []


@pytest.mark.slow
def test_noise_hides_a_relation_and_none_is_made_up(rng):
    assert find_algebraic_relations(make_data(rng, "(a*b + c)/(1 + 2*a/b)", "a b c", noise=0.001)) == []


def test_few_rows_give_no_relation(rng):
    assert find_algebraic_relations(make_data(rng, "a*b + c", "a b c", n=30)) == []


@pytest.mark.slow
def test_the_limits_of_the_grammar_hold(rng):
    data = make_data(rng, "a*b + sqrt((c - d)**2 + b**2*c)", "a b c d")
    without_roots = load_grammar("basic").override(unary=["sin"])
    assert find_algebraic_relations(replace(data, grammar=without_roots)) == []
    without_products = load_grammar("basic").override(binary=["add"])
    assert find_algebraic_relations(replace(data, grammar=without_products)) == []
    laws = find_algebraic_relations(replace(data, grammar=load_grammar("basic").override(unary=["sqrt"])))
    assert laws
    for law in laws:
        assert collect_operator_names(*law.terms) <= {
            "sqrt",
            "square",
            "cube",
            "pow",
            "inv",
            "add",
            "sub",
            "mul",
            "div",
        }


@pytest.mark.slow
def test_the_order_of_rows_has_no_effect(rng):
    data = make_data(rng, "(a + 2*b*c - c**2 + 3*a/b)/(1 + a*c)", "a b c")
    order = rng.permutation(len(data.target))
    shuffled = build_law_data(
        {name: values[order] for name, values in data.columns.items()}, data.target[order], STANDARD
    )
    first, second = find_algebraic_relations(data), find_algebraic_relations(shuffled)
    assert [list(map(str, law.terms)) for law in first] == [list(map(str, law.terms)) for law in second]


def test_the_rows_of_a_sparse_combination_are_found(rng):
    rows = rng.standard_normal((40, 100))
    places, numbers = solve_sparsely(2.0 * rows[3] - 0.5 * rows[17] + rows[30], rows, 0)
    assert places == [3, 17, 30]
    np.testing.assert_allclose(numbers, [2.0, -0.5, 1.0])
    assert solve_sparsely(rows[:12].sum(axis=0), rows, 0) is None


def test_an_input_with_the_sign_of_the_target_is_a_factor_of_a_root(rng):
    r, n = rng.uniform(-0.9, 0.9, 500), rng.uniform(5.0, 60.0, 500)
    data = build_law_data({"n": n, "r": r}, r * np.sqrt((n - 2.0) / (1.0 - r**2)), STANDARD)
    assert compute_share(find_algebraic_relations(data)[0], data) < 1e-18
    opposite = build_law_data({"n": n, "r": r}, -r * np.sqrt((n - 2.0) / (1.0 - r**2)), STANDARD)
    assert compute_share(find_algebraic_relations(opposite)[0], opposite) < 1e-18
