from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.factor_products import find_factor_products, list_binomials, list_scaled_waves
from symscreen.fitting.laws.fitted_laws import fit_laws
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.grammar import load_grammar

GRAMMAR = load_grammar("standard")

LAWS = [
    "(t - u*x/c**2)/sqrt(1 - u**2/c**2)",
    "x*sqrt(1 - u**2/c**2)/(1 + u/c*cos(t))",
    "x*(c**2 + u*t)/(c**2 - u**2)",
]


def make_data(text, noise, rng, n=250):
    columns = {name: rng.uniform(1, 2, n) for name in "tux"} | {"c": rng.uniform(3, 6, n)}
    target = evaluate_expression(parse_expression(text), columns)
    target = target + noise * target.std() * rng.normal(size=n)
    return build_law_data(columns, target, GRAMMAR, pool_limit=2000)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        LAWS[0],
        "x*sin(c*t/2)**2/sin(t/2)**2",
        *(each for each in [LAWS[2], "x*cos(u/2)*sin(2*c*t)/(1 + t*u)"]),
    ],
)
def test_products_of_two_or_three_factors_are_found_exactly(text, rng):
    data = make_data(text, 0.0, rng)
    laws = find_factor_products(data)
    assert fit_laws(laws[:1], data.columns, data.target)[0].unexplained_share == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("text", LAWS[1:2])
def test_with_noise_the_planted_law_is_among_the_candidates(text, rng):
    data = make_data(text, 0.02, rng)
    truth = evaluate_expression(parse_expression(text), data.columns)
    ratios = [evaluate_expression(law.terms[0], data.columns) / truth for law in find_factor_products(data)]
    assert any(np.ptp(ratio) < 1e-9 * abs(ratio).max() for ratio in ratios)


@pytest.mark.slow
def test_the_order_of_rows_and_columns_and_the_number_of_threads_have_no_effect(rng):
    data = make_data(LAWS[0], 0.02, rng, n=100)
    order = rng.permutation(100)
    names = sorted(data.columns, reverse=True)
    shuffled = build_law_data(
        {name: data.columns[name][order] for name in names},
        data.target[order],
        GRAMMAR,
        pool_limit=2000,
        jobs=2,
    )
    first, second = (
        [(str(law.terms[0]), law.search_size) for law in find_factor_products(each)]
        for each in (data, shuffled)
    )
    assert first == second


def test_binomials_are_sums_and_differences_of_products_simplest_first(rng):
    data = make_data(LAWS[0], 0.0, rng, n=60)
    names = compute_log_scale(data.columns, data.target).names
    texts = [str(each) for each in list_binomials(data, names)]
    assert texts[:2] == ["1 + c", "1 - c"]
    assert {"u**2 + c**2", "u**2 - c**2", "c + u*cos(t)"} <= set(texts)
    assert len(texts) == len(set(texts))


def test_waves_have_multiples_of_single_inputs_products_and_quotients(rng):
    data = make_data(LAWS[0], 0.0, rng, n=60)
    texts = [
        str(each) for each in list_scaled_waves(data, compute_log_scale(data.columns, data.target).names)
    ]
    assert texts[:3] == ["sin(c/2)", "cos(c/2)", "sin(2*c)"]
    assert {"cos(c*t/2)", "sin(2*pi*(t/c))", "cos(pi*(c/t))"} <= set(texts)
    assert len(texts) == len(set(texts)) == 4 * 2 * (4 + 3 * 6)


def test_few_rows_and_grammars_without_sums_give_no_law(rng):
    assert find_factor_products(make_data(LAWS[0], 0.0, rng, n=30)) == []
    data = make_data(LAWS[0], 0.0, rng)
    products = replace(GRAMMAR, binary=tuple(each for each in GRAMMAR.binary if each.name in {"mul", "div"}))
    assert find_factor_products(build_law_data(data.columns, data.target, products)) == []


def test_one_input_with_few_values_gives_no_triples_and_no_failure():
    rng = np.random.default_rng(0)
    columns = {"x": rng.integers(1, 5, 500).astype(float)}
    data = build_law_data(columns, np.exp(2.0 * rng.normal(size=500)), load_grammar("standard"))
    assert isinstance(find_factor_products(data), list)
