"""With units, what is found has the unit of the target; units of pure numbers change nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.last_rounds import find_rational_forms, find_transformed_sums

import symscreen
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.effort import EFFORTS
from symscreen.fitting.laws.factor_products import find_factor_products
from symscreen.fitting.laws.input_sums import find_laws_of_input_sums
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.power_products import find_power_products
from symscreen.fitting.laws.search import _Stage, make_one_round_search
from symscreen.fitting.laws.single_index import find_single_index_laws
from symscreen.fitting.laws.transformed_sums import search_transformed_sums
from symscreen.grammar import load_grammar
from symscreen.units import Units, compute_unit, parse_unit

SEARCHES = (
    find_power_products,
    find_single_index_laws,
    find_factor_products,
    find_transformed_sums,
    find_rational_forms,
    find_laws_of_input_sums,
)
LENGTHS = {"a": "m", "b": "m", "angle": "1"}
MOTION = {"w": "rad/s", "v": "m/s", "c": "m/s", "angle": "1", "m": "kg"}


def make_data(rng, formula, units, target_unit, noise=0.0, n=150, *, has_units=True, pool_limit=2000):
    columns = {name: rng.uniform(1, 2, n) for name in units}
    if "c" in columns:
        columns["c"] += 2.0
    target = evaluate_expression(parse_expression(formula), columns)
    target = target + noise * np.sqrt((target**2).mean()) * rng.normal(size=n)
    parsed = Units(
        {name: parse_unit(text) for name, text in units.items()},
        target=None if target_unit is None else parse_unit(target_unit),
    )
    grammar = load_grammar("standard")
    return build_law_data(
        columns, target, grammar, pool_limit=pool_limit, units=parsed if has_units else None
    )


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES)
def test_units_of_pure_numbers_change_nothing(search, rng):
    formula, ones = "(x + z)*sin(z)/x", {"x": "1", "z": "1"}
    options = {"noise": 0.002, "n": 60, "pool_limit": 250}
    state = rng.bit_generator.state
    with_units = search(make_data(rng, formula, ones, "1", **options))
    rng.bit_generator.state = state
    without = search(make_data(rng, formula, ones, None, has_units=False, **options))
    assert with_units
    assert [(list(map(str, law.terms)), law.search_size) for law in with_units] == [
        (list(map(str, law.terms)), law.search_size) for law in without
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("search", "formula", "units", "target_unit"),
    [
        (find_power_products, "m*v**2*sin(angle)", MOTION, "J"),
        (find_single_index_laws, "m*c**2/sqrt(1 - v**2/c**2)", MOTION, "J"),
        (find_factor_products, "w*sqrt(1 - v**2/c**2)/(1 + v*cos(angle)/c)", MOTION, "1/s"),
        (find_transformed_sums, "sqrt(a**2 + b**2 - 2*a*b*cos(angle))", LENGTHS, "m"),
        (find_rational_forms, "(v + 2*c)/(1 + v/c)", {"v": "m/s", "c": "m/s"}, "m/s"),
        (find_laws_of_input_sums, "m*tanh((c - v)/c)", MOTION, "kg"),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_all_that_is_found_has_the_unit_of_the_target(search, formula, units, target_unit, noise, rng):
    data = make_data(rng, formula, units, target_unit, noise, n=150 if noise == 0.0 else 1000)
    laws = search(data)
    expected = parse_unit(target_unit).base
    assert laws
    for law in laws:
        assert {compute_unit(term, data.units) for term in law.terms} == {expected}
    if noise == 0.0:
        truth = data.target / np.abs(data.target).max()
        ratios = [
            evaluate_expression(law.terms[0], data.columns) / truth for law in laws if len(law.terms) == 1
        ]
        fixed = [ratio for ratio, law in zip(ratios, laws, strict=False) if not law.n_constants]
        assert any(np.ptp(ratio) <= 1e-6 * abs(ratio.mean()) for ratio in [*fixed, *ratios])


def test_the_units_decide_a_product_without_free_directions(rng):
    units = {"m": "kg", "v": "m/s", "q": "A*s"}
    (law,) = (
        law
        for law in find_power_products(make_data(rng, "m*v**2", units, "J", noise=0.5))
        if str(law.terms[0]) == "m*v**2"
    )
    assert law.search_size == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1])
def test_fit_with_units_finds_a_sum_with_simple_ratios(noise, rng, monkeypatch):
    small = replace(EFFORTS["default"], pool_formulas=500, layer_candidates=500, n_refined_laws=2)
    monkeypatch.setitem(EFFORTS, "default", small)
    # these two are enough for this sum, and the others take most of the time
    stages = (
        _Stage("power products", make_one_round_search(find_power_products)),
        _Stage("transformed sums", search_transformed_sums),
    )
    monkeypatch.setattr("symscreen.fitting.laws.search._STAGES", stages)
    first, second, angle = rng.uniform(1, 5, (3, 300))
    target = first + second + 2 * np.sqrt(first * second) * np.cos(angle)
    noisy = target + noise * np.sqrt((target**2).mean()) * rng.normal(size=300)
    table = {"first": first, "second": second, "angle": angle, "total": noisy}
    units = {"first": "W", "second": "W", "angle": "1", "total": "W"}
    options = {"units": units, "target_units": "W", "operators": "basic", "with_operators": "cos", "jobs": 1}
    result = symscreen.fit(table, target="total", quiet=True, **options)
    (term,) = result.formula.terms
    values = evaluate_expression(term, table)
    np.testing.assert_allclose(values / target, (values / target)[0], rtol=1e-9)
    assert result.formula.intercept == 0.0
