from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.input_sums import find_laws_of_input_sums
from symscreen.fitting.laws.law import build_law_data
from symscreen.grammar import load_grammar
from symscreen.units import Units, parse_unit

STANDARD = load_grammar("standard")


def make_data(formula, rng, n=200, **options):
    names = collect_columns(parse_expression(formula))
    columns = {name: rng.uniform(1, 3, n) for name in [*sorted(names), "other"]}
    target = evaluate_expression(parse_expression(formula), columns)
    grammar = options.pop("grammar", STANDARD)
    return build_law_data(columns, target, grammar, pool_limit=2000, **options)


def has_planted_law(laws, data):
    ratios = [evaluate_expression(law.terms[0], data.columns) / data.target for law in laws]
    return any(np.ptp(ratio) < 1e-9 * np.abs(ratio).max() for ratio in ratios)


@pytest.mark.slow
@pytest.mark.parametrize(
    "formula",
    [
        "a*sin((u - v)*t/2)**2/(u - v)**2",
        "a*tanh((u + v)/(b*t))",
    ],
)
def test_a_planted_law_of_a_sum_or_difference_is_found(formula, rng):
    data = make_data(formula, rng)
    laws = find_laws_of_input_sums(data)
    assert has_planted_law(laws, data)
    assert all(collect_columns(law.terms[0]) <= set(data.columns) for law in laws)


@pytest.mark.slow
def test_an_input_with_the_name_of_the_sum_is_no_obstacle(rng):
    data = make_data("sum*tanh((u - v)*t)", rng)
    assert has_planted_law(find_laws_of_input_sums(data), data)


@pytest.mark.slow
def test_only_inputs_of_the_same_unit_are_added(rng):
    columns = {"u": "m", "v": "m", "w": "m", "a": "kg", "other": "kg"}
    units = Units({name: parse_unit(unit) for name, unit in columns.items()}, target=parse_unit("kg"))
    data = make_data("a*tanh((u - v)/w)", rng, units=units)
    laws = find_laws_of_input_sums(data)
    assert has_planted_law(laws, data)
    lattice = data.lattice
    assert all(lattice.has_unit(law.terms[0]) for law in laws)


def test_there_are_no_such_laws_without_sums_or_products_or_with_few_rows(rng):
    formula = "a*tanh((u - v)*t)"
    products = load_grammar("basic").override(binary=["mul", "div"])
    sums = load_grammar("basic").override(binary=["add", "sub"])
    assert find_laws_of_input_sums(make_data(formula, rng, grammar=products)) == []
    assert find_laws_of_input_sums(make_data(formula, rng, grammar=sums)) == []
    assert find_laws_of_input_sums(make_data(formula, rng, n=40)) == []
