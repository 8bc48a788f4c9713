from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from symscreen.expressions.traversal import (
    collect_columns,
    collect_operator_names,
    compute_complexity,
    evaluate_expression,
    iterate_constants,
)
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.fitted_laws import fit_laws
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.power_products import find_power_products
from symscreen.grammar import load_grammar

LAWS = [
    "q*v*b/p",
    "m*r*v*sin(t)",
    "m/sqrt(1 - v**2/c**2)",
    "sqrt(a/b)",
    "1/(a*b**2)",
    "a*b**3/c**2",
    "exp(-a**2/2)",
    "a*exp(-b/c)",
    "a*(b + c)/d",
    "sqrt(a*(b - a)*c)",
]


def make_data(formula, rng, n=300, noise=0.0, grammar=None, pool_limit=5000):
    """Inputs between 1 and 2, but 3 to 5 for b and c, and an exact law with a factor 2.5."""
    names = sorted(collect_columns(parse_expression(formula)))
    columns = {name: rng.uniform(3, 5, n) if name in "bc" else rng.uniform(1, 2, n) for name in names}
    target = 2.5 * evaluate_expression(parse_expression(formula), columns)
    target = target + noise * np.sqrt(np.mean(target**2)) * rng.normal(size=n)
    return build_law_data(
        columns, target, grammar or load_grammar("basic").add_operators(["sin", "cos"]), pool_limit=pool_limit
    )


def list_operators(law):
    """Names of the operators of a law."""
    return collect_operator_names(*law.terms)


def compute_share(law, data):
    """RSS/TSS of y = c·term on all rows."""
    (term,) = law.terms
    values = evaluate_expression(term, data.columns)
    residuals = data.target - values * (values @ data.target) / (values @ values)
    return (residuals**2).sum() / ((data.target - data.target.mean()) ** 2).sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "pool_limit"),
    [
        *((law, 5000) for law in LAWS[:3]),
        *((law, 5000) for law in LAWS[3:]),
        (LAWS[2], 50_000),
    ],
)
def test_the_first_law_is_the_planted_one(formula, pool_limit, rng):
    data = make_data(formula, rng, pool_limit=pool_limit)
    law = find_power_products(data)[0]
    assert compute_share(law, data) < 1e-20
    assert not law.has_intercept


@pytest.mark.slow
@pytest.mark.parametrize("formula", [LAWS[1], *(law for law in (LAWS[2], LAWS[-1]))])
def test_with_noise_the_planted_law_is_among_the_candidates(formula, rng):
    data = make_data(formula, rng, n=1000, noise=0.01)
    truth = evaluate_expression(parse_expression(formula), data.columns)
    laws = find_power_products(data)
    values = [evaluate_expression(law.terms[0], data.columns) for law in laws if not law.n_constants]
    assert any(np.ptp(each / truth) < 1e-9 * np.abs(each / truth).max() for each in values)


@pytest.mark.slow
def test_the_order_of_rows_has_no_effect(rng):
    data = make_data("m*r*v*sin(t)", rng, noise=0.05)
    order = rng.permutation(len(data.target))
    shuffled = build_law_data(
        {name: values[order] for name, values in data.columns.items()},
        data.target[order],
        data.grammar,
        pool_limit=data.pool_limit,
    )
    assert [str(law.terms[0]) for law in find_power_products(shuffled)] == [
        str(law.terms[0]) for law in find_power_products(data)
    ]


def test_a_grammar_without_products_has_no_power_products(rng):
    grammar = load_grammar("basic").override(binary=["add", "sub"])
    assert find_power_products(make_data("q*v*b/p", rng, grammar=grammar)) == []


@pytest.mark.slow
def test_the_limit_of_complexity_and_the_rules_hold(rng):
    for limit in (4, 5):
        grammar = load_grammar("basic").override(max_complexity=limit)
        laws = find_power_products(make_data("a*b/c", rng, grammar=grammar))
        assert all(compute_complexity(law.terms[0]) <= limit for law in laws)
        assert any(str(law.terms[0]) == "a*b/c" for law in laws) == (limit == 5)
    no_roots = load_grammar("basic").override(unary=["square"])
    laws = find_power_products(make_data("sqrt(a/b)", rng, grammar=no_roots))
    assert all("sqrt" not in str(law.terms[0]) for law in laws)


@pytest.mark.slow
def test_terms_without_the_right_unit_are_left_out(rng):
    data = make_data("q*v*b/p", rng)
    refused = replace(data, is_allowed=lambda term: "p" not in str(term))
    assert all("p" not in str(law.terms[0]) for law in find_power_products(refused))


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_exponents_may_be_any_numbers(noise, rng):
    reynolds, prandtl = rng.uniform(1e4, 1e5, 300), rng.uniform(0.7, 100.0, 300)
    y = 0.023 * reynolds**0.8 * prandtl**0.4 * (1.0 + noise * rng.normal(size=300))
    data = build_law_data({"P": prandtl, "R": reynolds}, y, load_grammar("standard"))
    (law,) = (
        each
        for each in find_power_products(data)
        if each.n_constants == 2 and set(list_operators(each)) == {"mul", "pow"}
    )
    found = [float(number.value) for number in iterate_constants(law.terms[0]) if number.fitted]
    assert found == pytest.approx([0.4, 0.8], abs=1e-9 if noise == 0.0 else 0.01)


def test_a_formula_may_be_multiplied_by_any_power_of_an_input(rng):
    stress, temperature = rng.uniform([[40.0], [773.0]], [[160.0], [973.0]], (2, 100))
    rate = 2e-3 * stress**4.43 * np.exp(-190e3 / 8.314 / temperature)
    data = build_law_data({"s": stress, "T": temperature}, rate, load_grammar("physics"))
    (best, *_) = fit_laws(find_power_products(data), data.columns, data.target)
    assert best.unexplained_share < 1e-20


def test_large_exponents_negative_inputs_and_grammars_without_logarithms_have_no_real_powers(rng):
    x = rng.uniform(1.0, 2.0, 300)
    cases = [(x, x**8.3, "standard"), (-x, x**1.3, "standard"), (x, x**1.3, "ablation")]
    for values, y, grammar in cases:
        laws = find_power_products(build_law_data({"x": values}, y, load_grammar(grammar)))
        assert not any("pow" in list_operators(law) and law.n_constants for law in laws)


def test_a_factor_does_not_keep_inputs_from_having_cube_roots(rng):
    data = make_data("a*(2 - d)*(m/c)**(1/3)", rng, grammar=load_grammar("standard"))
    laws = find_power_products(data)
    assert any("(m/c)**(1/3)" in str(law.terms[0]) and compute_share(law, data) < 1e-20 for law in laws)


def test_without_exponentials_and_logarithms_there_are_no_cube_roots(rng):
    grammar = load_grammar("basic").override(unary=["square", "sqrt", "inv"])
    laws = find_power_products(make_data("a*(2 - d)*(m/c)**(1/3)", rng, grammar=grammar))
    assert not any("1/3" in str(law.terms[0]) for law in laws)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_an_exponent_of_an_input_that_varies_little_may_be_zero(seed):
    rng = np.random.default_rng(seed)
    a, temperature = rng.uniform(0.5, 5.0, 80), rng.uniform(290.0, 350.0, 80)
    y = 3e6 * a**2 * np.exp(-6014.0 / temperature) * (1.0 + 0.02 * rng.normal(size=80))
    laws = find_power_products(build_law_data({"a": a, "T": temperature}, y, load_grammar("physics")))
    shapes = {re.sub(r"[0-9.]{5,}", "c", str(law.terms[0])) for law in laws}
    assert shapes & {"a**2*exp(-c/T)", "a**2*exp(-c*(1/T))"}
