from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import sympy

from symscreen.grammar import OPERATORS, Domain, Operator, UnitRule, load_grammar
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.custom_operators import compose_form, define_family, define_operator
from symscreen.grammar.grammar_files import list_grammar_names

GAUSS = define_operator("gauss", "exp(-x**2)", OPERATORS)
NESTED = define_operator("nested", "gauss(x) + 2*y", {**OPERATORS, "gauss": GAUSS}, cost=7)
DECAY = define_family("decay", "exp(-a*x) + b", {"a": [0.1, 1], "b": [2]}, OPERATORS)


def _again(thing):
    return pickle.loads(pickle.dumps(thing))  # noqa: S301  # our own


@pytest.mark.parametrize("name", OPERATORS)
def test_a_shipped_operator_comes_back_as_itself(name):
    assert _again(OPERATORS[name]) is OPERATORS[name]
    assert copy.deepcopy(OPERATORS[name]) is OPERATORS[name]
    dearer = replace(OPERATORS[name], cost=9)
    assert _again(dearer) == dearer != OPERATORS[name]


@pytest.mark.parametrize("operator", [GAUSS, NESTED, *DECAY], ids=lambda one: one.name)
def test_a_defined_operator_is_made_again(operator, rng):
    again = _again(operator)
    assert again == operator
    assert hash(again) == hash(operator)
    assert (again.cost, again.n_primitives, again.summary) == (
        operator.cost,
        operator.n_primitives,
        operator.summary,
    )
    arguments = rng.normal(size=(operator.arity, 9))
    assert np.array_equal(again.numeric(*arguments), operator.numeric(*arguments))
    keys = [fp.encode_column(name) for name in ("x", "y")[: operator.arity]]
    assert np.array_equal(again.compute_fingerprint(*keys), operator.compute_fingerprint(*keys))
    symbols = sympy.symbols("x y")[: operator.arity]
    assert again.symbolic(*symbols) == operator.symbolic(*symbols)


def test_a_family_can_be_given_other_values_again(rng):
    family = _again(DECAY[1]).family
    assert family == DECAY[1].family
    values = rng.normal(size=5)
    compute = compose_form(family, lambda operator: operator.numeric, np.float64)
    assert np.allclose(compute(values, 3.0, 4.0), np.exp(-3.0 * values) + 4.0)


def test_equal_definitions_make_equal_operators():
    assert define_operator("gauss", "exp(-x**2)", OPERATORS) == GAUSS
    assert define_operator("gauss", "exp(-x**4)", {**OPERATORS}) != GAUSS
    other = {**OPERATORS, "exp": replace(OPERATORS["exp"], cost=5)}
    assert define_operator("gauss", "exp(-x**2)", other, cost=GAUSS.cost) != GAUSS


def test_one_that_a_program_made_travels_by_its_functions():
    made = Operator("own", 1, np.arctan, np.arctan, np.abs, (Domain.REAL,), UnitRule("pure"), "an own one")
    assert _again(made) == made
    impostor = replace(made, name="sin")
    assert _again(impostor) == impostor != OPERATORS["sin"]
    hidden = replace(made, numeric=lambda a: a)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(hidden)


@pytest.mark.parametrize("name", list_grammar_names())
def test_a_grammar_travels_whole(name):
    grammar = load_grammar(name)
    again = _again(grammar)
    assert vars(again) == vars(grammar)
    assert again.resolve_layers() == grammar.resolve_layers()


def test_reprs_are_one_short_line():
    assert repr(GAUSS) == "<Operator gauss(x): exp(-x**2)>"
    assert repr(load_grammar("ablation")) == "<Grammar ablation: unary id cube; binary add mul; layers bu>"
