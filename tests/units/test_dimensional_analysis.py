from __future__ import annotations

import pytest
from helpers.requirements import require

from symscreen.errors import FormulaError
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.custom_operators import define_operator
from symscreen.units import (
    Units,
    check_formula_units,
    compute_dimensions,
    compute_unit,
    find_unit_violation,
    parse_unit,
)

require("pint")

GAUSS = {"gauss": define_operator("gauss", "exp(-x**2)", OPERATORS)}
UNITS = {"x": "mm", "t": "s", "m": "g", "a b": "m"}


@pytest.fixture
def units():
    return Units({name: parse_unit(text) for name, text in UNITS.items()})


@pytest.mark.parametrize(
    ("formula", "unit"),
    [
        ("x", "m"),
        ("k", "1"),
        ("3", "1"),
        ("x + `a b`", "m"),
        ("sqrt(x)/t", "m**(1/2)/s"),
        ("cbrt(x*x)", "m**(2/3)"),
        ("m*x**2/t**2", "kg*m**2/s**2"),
        ("sin(x/`a b`)", "1"),
        ("x**0.5*x**1.5", "m**2"),
        ("x**0.3333333333333333", "m**(1/3)"),
        ("k**k", "1"),
        ("2**k", "1"),
        ("x**(-1)", "1/m"),
        ("abs(x - `a b`)", "m"),
        ("gauss(x/`a b`)", "1"),
        ("1 + k", "1"),
    ],
)
def test_units_of_formulas(units, formula, unit):
    tree = parse_expression(formula, OPERATORS | GAUSS)
    assert compute_unit(tree, units) == unit
    assert find_unit_violation(tree, units) is None


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("x + t", "x + t: add requires equal units, but x is in m and t is in s"),
        ("x + 1", "x + 1: add requires equal units, but x is in m and 1 is a pure number"),
        ("k*exp(x*t)", "exp(x*t): exp takes a pure number, but x*t is in m*s"),
        ("(x + t) - t", "x + t: add requires equal units, but x is in m and t is in s"),
        ("k**t", "k**t: an exponent must be a pure number, but t is in s"),
        ("x**k", "x**k: a base with a unit needs a number such as 2 or 0.5 as its exponent, and x is in m"),
        ("gauss(`a b`)", "gauss(`a b`): gauss is exp(-x**2), which has no unit if `a b` is in m"),
        (
            "x**0.12345",
            "x**0.12345: a base with a unit needs a number such as 2 or 0.5 as its exponent, and x is in m",
        ),
        (
            "x**99999999",
            "x**99999999: a base with a unit needs a number such as 2 or 0.5 as its exponent, and x is in m",
        ),
    ],
)
def test_what_breaks_a_rule_is_named(units, formula, told):
    tree = parse_expression(formula, OPERATORS | GAUSS)
    assert find_unit_violation(tree, units) == told
    assert compute_unit(tree, units) is None


def test_roots_and_powers_stay_exact(units):
    tree = parse_expression("x")
    for _ in range(8):
        tree = parse_expression("sqrt(x)").__class__(OPERATORS["sqrt"], (tree,))
    for _ in range(8):
        tree = tree.__class__(OPERATORS["square"], (tree,))
    assert compute_unit(tree, units) == "m"
    deep = parse_expression("x")
    for _ in range(40):
        deep = tree.__class__(OPERATORS["cube"], (deep,))
    assert not compute_dimensions(deep, units).valid  # beyond what is counted, and not wrapped around
    assert "too large or too fine" in find_unit_violation(deep, units)


def test_formulas_of_ones_own_are_checked(units):
    with pytest.raises(FormulaError, match="also='x \\+ t' has no unit: x \\+ t: add requires equal units"):
        check_formula_units([parse_expression("x"), parse_expression("x + t")], units)
    asked = Units(units.columns, parse_unit("mJ"))
    check_formula_units([parse_expression("m*x**2/t**2")], asked)
    with pytest.raises(FormulaError, match="'x' is in m, but target_units='mJ' requires kg\\*m"):
        check_formula_units([parse_expression("x")], asked)
