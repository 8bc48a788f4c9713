"""Power products with an intercept are found with any number of inputs, and never made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symscreen.fitting.laws.fitted_laws import fit_laws
from symscreen.fitting.laws.law import build_law_data
from symscreen.fitting.laws.shifted_products import find_shifted_products
from symscreen.grammar import load_grammar
from symscreen.units import Units, parse_unit

STANDARD = load_grammar("standard")


def draw_columns(rng, n_inputs=3, n=150):
    return {name: rng.uniform(1.0, 4.0, n) for name in "abcdefghijkl"[:n_inputs]}


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize(
    ("compute", "formula"),
    [
        (lambda a, b, _: 5.0 + 3.0 * a / np.sqrt(b), "a/sqrt(b)"),
        (lambda a, b, c: -40.0 + a**2 * b / c, "a**2*b/c"),
        (lambda a, b, c: 9.0 - 2.0 * np.sqrt(a * b / c), "sqrt(a*b/c)"),
        (lambda a, b, c: 1.0 + 0.5 / (a * b * c), "1/(a*b*c)"),
    ],
)
def test_the_planted_law_is_found(compute, formula, noise, rng):
    columns = draw_columns(rng)
    target = compute(*columns.values())
    target = target + noise * target.std() * rng.normal(size=150)
    data = build_law_data(columns, target, STANDARD)
    (law,) = find_shifted_products(data)
    assert str(law.terms[0]) == formula
    assert law.has_intercept
    (fitted,) = fit_laws([law], data.columns, data.target)
    assert fitted.unexplained_share <= 1.3 * noise**2


def test_twelve_inputs_are_no_obstacle(rng):
    columns = draw_columns(rng, n_inputs=12)
    target = 7.0 + columns["b"] * columns["k"] ** 2 + 0.1 * rng.normal(size=150)
    (law,) = find_shifted_products(build_law_data(columns, target, STANDARD))
    assert str(law.terms[0]) == "b*k**2"


def test_without_an_intercept_there_is_no_law(rng):
    columns = draw_columns(rng)
    target = columns["a"] * columns["b"] / columns["c"]
    assert find_shifted_products(build_law_data(columns, target, STANDARD)) == []
    noisy = target + 0.1 * rng.normal(size=150)
    assert find_shifted_products(build_law_data(columns, noisy, STANDARD)) == []


def test_columns_that_are_not_positive_take_no_part(rng):
    columns = draw_columns(rng)
    columns["d"] = rng.normal(size=150)
    target = 5.0 + columns["a"] * columns["b"]
    (law,) = find_shifted_products(build_law_data(columns, target, STANDARD))
    assert str(law.terms[0]) == "a*b"
    only_signed = {"d": columns["d"]}
    assert find_shifted_products(build_law_data(only_signed, target, STANDARD)) == []


def test_with_units_the_product_has_the_unit_of_the_target(rng):
    columns = draw_columns(rng)
    target = 20.0 + 2.0 * columns["a"] * columns["b"] ** 2 + 0.2 * rng.normal(size=150)
    units = {"a": parse_unit("kg"), "b": parse_unit("m/s"), "c": parse_unit("m/s")}
    data = build_law_data(columns, target, STANDARD, units=Units(units, target=parse_unit("J")))
    (law,) = find_shifted_products(data)
    assert str(law.terms[0]) == "a*b**2"


def test_the_order_of_rows_and_columns_has_no_effect(rng):
    columns = draw_columns(rng)
    target = 5.0 + columns["a"] / columns["c"] + 0.1 * rng.normal(size=150)
    order = rng.permutation(150)
    shuffled = {name: columns[name][order] for name in reversed(columns)}
    first, second = (
        find_shifted_products(build_law_data(*each, STANDARD))
        for each in ((columns, target), (shuffled, target[order]))
    )
    assert [str(law.terms[0]) for law in first] == [str(law.terms[0]) for law in second] == ["a/c"]


def test_inputs_of_all_magnitudes_overflow_in_silence(rng):
    columns = draw_columns(rng) | {"d": 10.0 ** rng.uniform(-200.0, 200.0, 150)}
    find_shifted_products(build_law_data(columns, columns["a"] + np.log(columns["d"]), STANDARD))


def test_without_quotients_in_the_grammar_or_without_variation_there_is_no_law(rng):
    columns = draw_columns(rng)
    target = 5.0 + columns["a"] / columns["c"]
    without = replace(STANDARD, binary=tuple(each for each in STANDARD.binary if each.name != "div"))
    assert find_shifted_products(build_law_data(columns, target, without)) == []
    constant = {name: np.ones(150) for name in columns}
    assert find_shifted_products(build_law_data(constant, target, STANDARD)) == []
