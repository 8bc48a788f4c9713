from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from helpers.expansion_oracles import problems
from hypothesis import given
from hypothesis import strategies as st

from symscreen.errors import GrammarError
from symscreen.expansion.nodes import (
    COLUMN,
    CONSTANT,
    FeatureMetadata,
    NodeArray,
    build_expression,
    build_operator_mask,
    build_symbol_table,
    make_leaf_nodes,
    rank_features,
    sort_features,
)
from symscreen.expressions.traversal import compute_complexity, compute_key
from symscreen.expressions.tree import Call, Column, Constant
from symscreen.grammar import OPERATORS, load_grammar, parse_layers

GRAMMAR = load_grammar("basic")


def made(problem):
    structure = build_symbol_table(
        problem.names, problem.grammar, problem.grammar.resolve_layers(problem.layers)
    )
    return structure, make_leaf_nodes(structure, problem.grammar)


def numbered(size, start=0):
    """Nodes of which every entry tells its place."""
    places = np.arange(start, start + size)
    shapes = {
        field.name: np.stack([places, places], axis=1) if field.name == "keys" else places
        for field in fields(NodeArray)
    }
    return NodeArray(**shapes)


def first_entries(nodes, field):
    array = getattr(nodes, field.name)
    return array[:, 0] if array.ndim == 2 else array


@given(problems())
def test_leaves_are_the_constants_and_behind_them_the_inputs(problem):
    structure, nodes = made(problem)
    expressions = [build_expression(structure, nodes, node) for node in range(len(nodes))]
    assert expressions == [*map(Constant, problem.grammar.constants), *map(Column, problem.names)]
    assert nodes.operator.tolist() == [CONSTANT] * len(structure.constants) + [COLUMN] * len(
        structure.input_names
    )
    assert nodes.keys.tolist() == [list(compute_key(expression)) for expression in expressions]
    assert nodes.complexity.tolist() == [compute_complexity(expression) for expression in expressions]
    assert not nodes.layer.any()
    assert not nodes.operator_mask.any()


@given(problems())
def test_leaves_know_the_operators_that_may_touch_them(problem):
    structure, nodes = made(problem)
    leaf_names = [None] * len(structure.constants) + list(structure.input_names)
    for allowed, name in zip(nodes.allowed_mask.tolist(), leaf_names, strict=True):
        for code, operator in enumerate(structure.operators):
            columns = problem.grammar.columns.get(operator.name, {name})
            assert bool(allowed >> code & 1) == (name is None or name in columns)


def test_operators_of_all_layers_are_collected_once():
    layers = parse_layers("u[sin] b[add,mul] u[cos,sin]", (), (), OPERATORS)
    structure = build_symbol_table(["x"], GRAMMAR, layers)
    assert [operator.name for operator in structure.operators] == ["sin", "add", "mul", "cos"]
    assert [structure.get_code(operator) for operator in structure.operators] == [0, 1, 2, 3]


def test_sixty_four_operators_are_tracked_and_no_more():
    many = tuple(replace(OPERATORS["sin"], name=f"sin{place}") for place in range(65))
    structure = build_symbol_table(["x"], GRAMMAR, parse_layers("u", many[:64], (), {}))
    assert make_leaf_nodes(structure, GRAMMAR).allowed_mask.tolist() == [2**64 - 1]
    assert build_operator_mask(frozenset({"sin63", "sin0", "none"}), structure) == 2**63 + 1
    barred = replace(GRAMMAR, columns={"sin63": frozenset()})
    assert make_leaf_nodes(structure, barred).allowed_mask.tolist() == [2**63 - 1]
    with pytest.raises(GrammarError, match=r"^the layers use 65 operators; at most 64 can be tracked$"):
        build_symbol_table(["x"], GRAMMAR, parse_layers("u", many, (), {}))


def test_expressions_are_built_from_arguments_in_order():
    structure = build_symbol_table(
        ["x", "a b"], replace(GRAMMAR, constants=(2,)), parse_layers("u[sin] b[div]", (), (), OPERATORS)
    )
    grown = replace(
        numbered(5),
        operator=np.array([CONSTANT, COLUMN, COLUMN, 1, 0]),
        left=np.array([0, 0, 1, 2, 3]),
        right=np.array([0, 0, 1, 0, 3]),
    )
    quotient = Call(OPERATORS["div"], (Column("a b"), Constant(2)))
    assert build_expression(structure, grown, 4) == Call(OPERATORS["sin"], (quotient,))


@given(st.lists(st.integers(0, 9)), st.integers(0, 5))
def test_taking_and_joining_keep_all_arrays_together(places, more):
    nodes = numbered(10).take(np.array(places, dtype=np.int64)).concatenate(numbered(more, start=20))
    expected = places + list(range(20, 20 + more))
    assert len(nodes) == len(expected)
    for field in fields(NodeArray):
        assert list(first_entries(nodes, field)) == expected
    features = nodes.metadata
    assert type(features) is FeatureMetadata
    assert features.take(np.arange(len(nodes))).concatenate(features).layer.tolist() == expected * 2


@given(st.lists(st.integers(0, 9), unique=True))
def test_replacing_puts_others_in_some_places(places):
    expected = list(range(10))
    for rank, place in enumerate(places):
        expected[place] = 50 + rank
    nodes = numbered(10).replace_at(np.array(places, dtype=np.int64), numbered(len(places), start=50))
    for field in fields(NodeArray):
        assert list(first_entries(nodes, field)) == expected


@given(
    st.lists(
        st.tuples(st.integers(-2, 2), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2**64 - 1)),
        max_size=30,
        unique_by=lambda feature: feature[2:],
    ),
    st.randoms(use_true_random=False),
)
def test_features_have_one_order_whatever_order_they_come_in(features, random):
    def sort(features):
        scores, complexity, *words = np.array(features, dtype=object).reshape(-1, 4).T
        keys = np.array(words, dtype=np.uint64).T.reshape(-1, 2)
        criteria = scores.astype(float), complexity.astype(int)
        ranks = rank_features(keys, *criteria)
        assert sorted(zip(ranks.tolist(), features, strict=True)) == list(enumerate(sorted(features)))
        return [features[index] for index in sort_features(keys, *criteria).tolist()]

    shuffled = random.sample(features, len(features))
    assert sort(features) == sort(shuffled) == sorted(features)
