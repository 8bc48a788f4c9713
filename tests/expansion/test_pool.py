from __future__ import annotations

from functools import partial

import numpy as np
from expansion.brute_force import INSIDE, problems
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.expansion import expand
from symscreen.expansion.nodes import bits_of, expression_of, structure_of
from symscreen.expansion.pool import first_pool
from symscreen.expression import Apply, apply, columns_of, complexity, evaluate, key
from symscreen.grammar import Domain, load_grammar


def started(problem):
    layers = problem.grammar.parsed_layers(problem.layers)
    return first_pool(structure_of(problem.names, problem.grammar, layers), problem.grammar, problem.columns)


def expressions(pool):
    return [expression_of(pool.structure, pool.all_nodes, int(member)) for member in pool.members]


def operators_in(expression):
    if not isinstance(expression, Apply):
        return frozenset()
    return frozenset({expression.operator.name}).union(*map(operators_in, expression.arguments))


@given(problems())
def test_the_first_pool_holds_constants_and_inputs_with_their_values(problem):
    pool = started(problem)
    assert len(pool) == len(problem.grammar.constants) + len(problem.names)
    assert pool.constants.tolist() == list(range(len(problem.grammar.constants)))
    assert pool.features.tolist() == list(range(len(problem.grammar.constants), len(pool)))
    values = [evaluate(expression, problem.by_name) for expression in expressions(pool)]
    assert (pool.values == values).all()
    assert (pool.scale == np.abs(values).max(axis=1)).all()
    assert not pool.tried


@settings(max_examples=60)
@given(problems())
def test_a_grown_pool_knows_of_each_member_what_its_tree_tells(problem):
    pool = expand(*problem.arguments).pool
    bits = partial(bits_of, structure=pool.structure)
    for place, tree in enumerate(expressions(pool)):
        assert tuple(pool.nodes.keys[place].tolist()) == key(tree)
        assert pool.nodes.complexity[place] == complexity(tree)
        assert pool.nodes.inside[place] == bits(operators_in(tree))
        columns, rules = columns_of(tree), problem.grammar.columns
        allowed = {one.name for one in pool.structure.operators if columns <= rules.get(one.name, columns)}
        assert pool.nodes.allowed[place] & bits(frozenset(allowed)) == bits(frozenset(allowed))
        assert (pool.values[place] == evaluate(tree, problem.by_name)).all()


@settings(max_examples=60)
@given(problems(), st.data())
def test_applied_nodes_are_those_of_the_trees(problem, data):
    pool = expand(*problem.arguments).pool
    if not len(pool):
        return
    place, code = st.integers(0, len(pool) - 1), st.integers(0, len(pool.structure.operators) - 1)
    drawn = data.draw(st.lists(st.tuples(code, place, place), max_size=20))
    codes, left, right = np.array(drawn, dtype=np.int64).reshape(-1, 3).T
    arity = np.array([operator.arity for operator in pool.structure.operators])[codes]
    nodes = pool.applied(codes, left, np.where(arity == 1, left, right), layer=9)
    grown = pool.grown(np.arange(len(pool)), nodes, None, {})
    trees = expressions(pool)
    for node, (operator_code, first, second) in enumerate(drawn):
        operator = pool.structure.operators[operator_code]
        tree = apply(operator, *(trees[first], trees[second])[: operator.arity])
        assert expressions(grown)[len(pool) + node] == tree
        assert tuple(nodes.keys[node].tolist()) == key(tree)
        assert nodes.complexity[node] == complexity(tree)
        assert nodes.inside[node] == bits_of(operators_in(tree), pool.structure)
        assert nodes.layer[node] == (pool.nodes.layer[first] if operator.name == "id" else 9)


@given(problems())
def test_members_are_defined_where_all_their_values_are(problem):
    pool = started(problem)
    found = pool.defined(pool.structure.operators)
    for operator in pool.structure.operators:
        partial_domain = any(domain is not Domain.REAL for domain in operator.domain)
        assert (operator.name in found) == partial_domain
        for domain, flags in zip(operator.domain, found.get(operator.name, ()), strict=False):
            assert flags.tolist() == [bool(INSIDE[domain](values).all()) for values in pool.values]


def test_nothing_is_known_of_domains_without_values():
    grammar = load_grammar("basic")
    structure = structure_of(["x"], grammar, grammar.parsed_layers("ub"))
    assert first_pool(structure, grammar, None).defined(structure.operators) == {}
