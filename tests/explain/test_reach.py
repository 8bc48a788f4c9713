from __future__ import annotations

import itertools

import pytest
from helpers.expansion_oracles import problems
from hypothesis import given, settings

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import expand
from symscreen.explain.missing import find_missing_requirements, is_reachable
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar


@settings(max_examples=40)
@given(problems(rules=False))
def test_every_feature_of_a_space_is_reached_by_its_layers(problem):
    space = expand(*problem.arguments, options=SpaceOptions())
    layers = problem.grammar.resolve_layers(problem.layers)
    for number in space.numbers[::7].tolist():
        formula = space.build_expression(number)
        assert is_reachable(formula, layers, problem.grammar.constants, problem.pool_kind), str(formula)


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
    grammar = load_grammar("basic").add_operators(["sin", "cos"])
    asked = parse_expression(formula)
    missing = find_missing_requirements(asked, grammar, grammar.resolve_layers("b"), "cumulative")
    assert not missing.operators
    assert missing.layers == layers
    for shorter in map("".join, itertools.product("ub", repeat=len(layers) - 1)):
        assert not shorter or not is_reachable(asked, grammar.resolve_layers(shorter), (), "cumulative")


def test_layers_that_begin_as_the_users_are_preferred():
    grammar = load_grammar("basic").add_operators(["sin", "cos"])
    either = parse_expression("sin(x)*y")  # ub alone
    assert (
        find_missing_requirements(either, grammar, grammar.resolve_layers("u"), "cumulative").layers == "ub"
    )
    both = parse_expression("sin(x)*exp(y*z)")
    found = [
        find_missing_requirements(both, grammar, grammar.resolve_layers(own), "cumulative").layers
        for own in "ub"
    ]
    assert found == ["bub", "bub"]
