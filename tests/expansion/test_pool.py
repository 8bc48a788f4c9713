from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from helpers.expansion_oracles import INSIDE, problems
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import expand
from symscreen.expansion.nodes import build_expression, build_operator_mask, build_symbol_table
from symscreen.expansion.pool import NODE_BYTES, build_first_pool
from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    compute_key,
    evaluate_expression,
)
from symscreen.expressions.tree import Call, apply_operator
from symscreen.grammar import Domain, load_grammar


def started(problem):
    layers = problem.grammar.resolve_layers(problem.layers)
    return build_first_pool(
        build_symbol_table(problem.names, problem.grammar, layers), problem.grammar, problem.columns
    )


def expressions(pool):
    return [build_expression(pool.symbols, pool.all_nodes, int(member)) for member in pool.member_nodes]


def operators_in(expression):
    if not isinstance(expression, Call):
        return frozenset()
    return frozenset({expression.operator.name}).union(*map(operators_in, expression.arguments))


@pytest.mark.slow
@given(problems())
def test_the_first_pool_holds_constants_and_inputs_with_their_values(problem):
    pool = started(problem)
    assert len(pool) == len(problem.grammar.constants) + len(problem.names)
    assert pool.constant_indices.tolist() == list(range(len(problem.grammar.constants)))
    assert pool.feature_indices.tolist() == list(range(len(problem.grammar.constants), len(pool)))
    values = [evaluate_expression(expression, problem.by_name) for expression in expressions(pool)]
    assert (pool.values == values).all()
    assert (pool.max_abs == np.abs(values).max(axis=1)).all()
    assert not pool.applied_counts


@settings(max_examples=60)
@given(problems())
def test_a_grown_pool_knows_of_each_member_what_its_tree_tells(problem):
    pool = expand(*problem.arguments, options=SpaceOptions()).pool
    bits = partial(build_operator_mask, symbols=pool.symbols)
    for place, tree in enumerate(expressions(pool)):
        assert tuple(pool.nodes.keys[place].tolist()) == compute_key(tree)
        assert pool.nodes.complexity[place] == compute_complexity(tree)
        assert pool.nodes.operator_mask[place] == bits(operators_in(tree))
        columns, rules = collect_columns(tree), problem.grammar.columns
        allowed = {one.name for one in pool.symbols.operators if columns <= rules.get(one.name, columns)}
        assert pool.nodes.allowed_mask[place] & bits(frozenset(allowed)) == bits(frozenset(allowed))
        assert (pool.values[place] == evaluate_expression(tree, problem.by_name)).all()


@settings(max_examples=60)
@given(problems(), st.data())
def test_applied_nodes_are_those_of_the_trees(problem, data):
    pool = expand(*problem.arguments, options=SpaceOptions()).pool
    if not len(pool):
        return
    place, code = st.integers(0, len(pool) - 1), st.integers(0, len(pool.symbols.operators) - 1)
    drawn = data.draw(st.lists(st.tuples(code, place, place), max_size=20))
    codes, left, right = np.array(drawn, dtype=np.int64).reshape(-1, 3).T
    arity = np.array([operator.arity for operator in pool.symbols.operators])[codes]
    nodes = pool.apply_operators(codes, left, np.where(arity == 1, left, right), layer=9)
    grown = pool.extend(np.arange(len(pool)), nodes, None, {})
    trees = expressions(pool)
    for node, (operator_code, first, second) in enumerate(drawn):
        operator = pool.symbols.operators[operator_code]
        tree = apply_operator(operator, *(trees[first], trees[second])[: operator.arity])
        assert expressions(grown)[len(pool) + node] == tree
        assert tuple(nodes.keys[node].tolist()) == compute_key(tree)
        assert nodes.complexity[node] == compute_complexity(tree)
        assert nodes.operator_mask[node] == build_operator_mask(operators_in(tree), pool.symbols)
        assert nodes.layer[node] == (pool.nodes.layer[first] if operator.name == "id" else 9)


@pytest.mark.slow
@given(problems())
def test_members_are_defined_where_all_their_values_are(problem):
    pool = started(problem)
    found = pool.compute_domain_masks(pool.symbols.operators)
    for operator in pool.symbols.operators:
        partial_domain = any(domain is not Domain.REAL for domain in operator.domain)
        assert (operator.name in found) == partial_domain
        for domain, flags in zip(operator.domain, found.get(operator.name, ()), strict=False):
            assert flags.tolist() == [bool(INSIDE[domain](values).all()) for values in pool.values]


def test_nothing_is_known_of_domains_without_values():
    grammar = load_grammar("basic")
    structure = build_symbol_table(["x"], grammar, grammar.resolve_layers("ub"))
    assert build_first_pool(structure, grammar, None).compute_domain_masks(structure.operators) == {}


def test_new_features_need_memory_for_their_values_if_the_pool_holds_values():
    columns = np.arange(1.0, 61.0).reshape(2, 30)
    problem = ["a", "b"], load_grammar("basic")
    layers = problem[1].resolve_layers("b")
    pools = {
        rows: build_first_pool(build_symbol_table(problem[0], problem[1], layers), problem[1], given)
        for rows, given in ((30, columns), (0, None))
    }
    for rows, pool in pools.items():
        assert pool.estimate_bytes(0) == len(pool) * NODE_BYTES
        assert pool.estimate_bytes(7) - pool.estimate_bytes(0) == 7 * (8 * rows + NODE_BYTES)
