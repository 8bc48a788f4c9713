from __future__ import annotations

import itertools

import pytest
from expansion.brute_force import problems
from hypothesis import given, settings

from symscreen.expansion import expand
from symscreen.expression import parse
from symscreen.grammar import load_grammar
from symscreen.whereabouts.reach import missing_for, reached


@settings(max_examples=40)
@given(problems(rules=False))
def test_every_feature_of_a_space_is_reached_by_its_layers(problem):
    space = expand(*problem.arguments)
    layers = problem.grammar.parsed_layers(problem.layers)
    for number in space.numbers[::7].tolist():
        formula = space.expression(number)
        assert reached(formula, layers, problem.grammar.constants, problem.pool_kind), str(formula)


@pytest.mark.parametrize(
    ("formula", "layers"),
    [
        ("x*y", "b"),
        ("exp(x*y) + z", "bub"),
        ("sin(x) + y*z", "bub"),
        ("sin(x)*cos(y) - exp(z*x)", "bubb"),
    ],
)
def test_the_layers_named_are_the_shortest_that_reach(formula, layers):
    grammar = load_grammar("basic")
    asked = parse(formula)
    missing = missing_for(asked, grammar, grammar.parsed_layers("b"), "cumulative")
    assert not missing.operators
    assert missing.layers == layers
    for shorter in map("".join, itertools.product("ub", repeat=len(layers) - 1)):
        assert not shorter or not reached(asked, grammar.parsed_layers(shorter), (), "cumulative")


def test_layers_that_begin_as_the_users_are_preferred():
    grammar = load_grammar("basic")
    either = parse("sin(x)*y")  # ub alone
    assert missing_for(either, grammar, grammar.parsed_layers("u"), "cumulative").layers == "ub"
    both = parse("sin(x)*exp(y*z)")
    found = [missing_for(both, grammar, grammar.parsed_layers(own), "cumulative").layers for own in "ub"]
    assert found == ["bub", "bub"]
