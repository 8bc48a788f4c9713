from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.fitting.laws.dimensionless_groups import find_laws_of_groups
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.power_products import find_power_products
from symscreen.fitting.laws.search import _DIMENSIONLESS_GROUPS, _STAGES, list_law_stages
from symscreen.grammar import load_grammar
from symscreen.units import Units, parse_unit

STANDARD = load_grammar("standard")


PENDULUM = {"m": "kg", "g": "m/s**2", "l": "m", "w": "1/s", "t": "s"}
DECAY = {"m": "kg", "v": "m/s", "k": "1/s", "l": "m", "a": "m"}
CHARGE = {"q": "A*s", "e": "V/m", "b": "T", "v": "m/s", "angle": "1"}


def make_data(formula, units, rng, n=300, noise=0.0):
    columns = {name: rng.uniform(1, 3, n) for name in units}
    target = evaluate_expression(parse_expression(formula), columns)
    target += noise * np.sqrt(np.mean(target**2)) * rng.normal(size=n)
    parsed = Units({name: parse_unit(text) for name, text in units.items()})
    return build_law_data(columns, target, STANDARD, units=parsed, pool_limit=2000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formula", "units", "noise"),
    [
        ("m*g*l*(2 + cos(w*t))", PENDULUM, 0.05),
        ("q*(e + b*v*sin(angle))", CHARGE, 0.0),
        ("m*v*sin(k*l/v + l/a)", DECAY, 0.05),
        ("m*v*(1 + cos(k*l/v)*l/a)", DECAY, 0.05),
    ],
)
def test_a_function_of_groups_is_found_that_power_products_without_units_do_not_find(
    formula, units, noise, rng
):
    data = make_data(formula, units, rng, noise=noise)
    truth = evaluate_expression(parse_expression(formula), data.columns)

    def is_true(law):
        ratio = evaluate_expression(law.terms[0], data.columns) / truth
        return np.ptp(ratio) < 1e-9 * abs(ratio.mean())

    assert is_true(find_laws_of_groups(data)[0])
    unitless = build_law_data(data.columns, data.target, STANDARD, pool_limit=data.pool_limit)
    assert not any(map(is_true, find_power_products(unitless)))


def test_without_units_no_law_of_groups_is_searched(rng):
    data = make_data("m*v", {"m": "kg", "v": "m/s"}, rng)
    unitless = build_law_data(data.columns, data.target, STANDARD)
    assert find_laws_of_groups(unitless) == []
    assert list_law_stages(unitless) == tuple(enumerate(_STAGES))


def test_the_search_for_laws_of_groups_leaves_the_places_of_the_others(rng):
    data = make_data("m*v", {"m": "kg", "v": "m/s"}, rng)
    stages = list_law_stages(data)
    assert stages[1] == (0, _DIMENSIONLESS_GROUPS)
    assert stages[:1] + stages[2:] == tuple(enumerate(_STAGES))


def test_inputs_that_are_all_pure_numbers_have_no_groups_of_their_own(rng):
    assert find_laws_of_groups(make_data("a*b + a", {"a": "1", "b": "1"}, rng)) == []
