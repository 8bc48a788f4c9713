from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.dimensionless_groups import find_laws_of_groups
from symscreen.fitting.laws.group_products import find_group_products, list_products
from symscreen.fitting.laws.law import build_law_data
from symscreen.grammar import load_grammar
from symscreen.units import Units, compute_unit, parse_unit

DIODE = {"i": "A", "q": "C", "u": "V", "k": "J/K", "t": "K"}


def make_data(rng, formula, units, target_unit, noise=0.0, n=250):
    columns = {name: rng.uniform(1, 2, n) for name in units}
    target = evaluate_expression(parse_expression(formula), columns)
    target = target + noise * np.sqrt((target**2).mean()) * rng.normal(size=n)
    parsed = {name: parse_unit(text) for name, text in units.items()}
    given = Units(parsed, target=None if target_unit is None else parse_unit(target_unit))
    return build_law_data(columns, target, load_grammar("standard"), units=given)


def test_products_have_the_unit_of_the_target(rng):
    data = make_data(rng, "i*(exp(q*u/(k*t)) - 1)", DIODE, "A")
    products = list_products(data, tuple(data.columns))
    assert products[0] == [(name, int(name == "i")) for name in data.columns]
    assert len(products) > 4


@pytest.mark.slow
def test_without_the_unit_of_the_target_there_are_none(rng):
    data = make_data(rng, "i*(exp(q*u/(k*t)) - 1)", DIODE, None)
    assert list_products(data, tuple(data.columns)) == []
    assert find_group_products(data.pool, data, tuple(data.columns)) == []


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_law_is_found_in_noise_that_free_exponents_do_not_withstand(noise, rng):
    data = make_data(rng, "i*(exp(q*u/(k*t)) - 1)", DIODE, "A", noise=noise)
    truth = evaluate_expression(parse_expression("i*(exp(q*u/(k*t)) - 1)"), data.columns)
    values = [evaluate_expression(law.terms[0], data.columns) for law in find_laws_of_groups(data)]
    assert any(np.allclose(each / truth, (each / truth)[0], rtol=1e-9) for each in values)


@pytest.mark.slow
def test_all_laws_have_the_unit_of_the_target(rng):
    data = make_data(rng, "i*(exp(q*u/(k*t)) - 1)", DIODE, "A", noise=0.05)
    laws = find_laws_of_groups(data)
    assert laws
    assert {compute_unit(law.terms[0], data.units) for law in laws} == {"A"}
