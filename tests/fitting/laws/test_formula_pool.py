"""A pool of formulas contains every value that a plain enumeration reaches, and follows the rules."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from symscreen.expressions.traversal import compute_complexity, evaluate_expression, iterate_calls
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.fitting.laws import formula_pool
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.grammar import OPERATORS, Grammar, load_grammar
from symscreen.units import Units, compute_dimensions, parse_unit


def make_grammar(unary, binary, **rules):
    operators = [tuple(OPERATORS[name] for name in names.split()) for names in (unary, binary)]
    return Grammar("test", OPERATORS, *operators, **rules)


def make_columns(rng, names="uv", n=40):
    return {name: rng.uniform(0.5, 4.0, n) for name in names}


def varies(values):
    return np.isfinite(values).all() and np.ptp(values) > 1e-9 * np.abs(values).max()


def enumerate_formulas(columns, grammar, max_complexity):
    """Apply every operator to all formulas that vary, without merging equal ones; lists by complexity."""
    formulas = {1: [Column(name) for name in columns] + [Constant(value) for value in grammar.constants]}
    for complexity in range(2, max_complexity + 1):
        calls = [
            apply_operator(operator, argument)
            for operator in grammar.unary
            for argument in formulas.get(complexity - operator.cost, [])
            if not isinstance(argument, Constant)
        ]
        for operator in grammar.binary:
            for left_complexity in range(1, complexity - operator.cost):
                calls += [
                    apply_operator(operator, left, right)
                    for left in formulas[left_complexity]
                    for right in formulas[complexity - operator.cost - left_complexity]
                ]
        formulas[complexity] = [call for call in calls if is_enumerated(call, columns)]
    return formulas


def is_enumerated(call, columns):
    """Return whether a formula varies, and is not the rounding of a difference such as u - 1/(1/u)."""
    values = evaluate_expression(call, columns)
    largest = max(np.abs(evaluate_expression(argument, columns)).max() for argument in call.arguments)
    is_rounding = call.operator.name in {"add", "sub"} and np.abs(values).max() < 1e-9 * largest
    return varies(values) and not is_rounding


def find_equal(values, wanted):
    """Return the indices of the rows of values that are equal up to rounding."""
    return np.flatnonzero((np.abs(values - wanted) <= 1e-9 * np.abs(wanted).max()).all(axis=1))


@pytest.mark.parametrize(
    ("unary", "binary", "constants", "max_complexity"),
    [
        ("square exp sin", "add sub mul div", (1, 2), 4),
        ("sqrt log inv", "add sub", (), 5),
        ("", "mul div", (2,), 5),
        ("cos cube", "", (1,), 6),
    ],
)
def test_every_value_of_an_enumeration_is_in_the_pool_by_the_simplest_formula(
    rng, unary, binary, constants, max_complexity
):
    columns = make_columns(rng)
    grammar = make_grammar(unary, binary, constants=constants, max_complexity=max_complexity)
    pool = grow_formula_pool(columns, grammar, 100_000)
    expected = enumerate_formulas(columns, grammar, max_complexity)
    reached = set()
    for complexity, formulas in expected.items():
        for formula in formulas:
            (index,) = find_equal(pool.values, evaluate_expression(formula, columns))
            assert pool.complexity[index] <= complexity
            reached.add(int(index))
    assert reached == set(range(len(pool)))


def test_values_and_complexities_are_those_of_the_expressions(rng):
    columns = make_columns(rng)
    pool = grow_formula_pool(columns, load_grammar("standard"), 2000)
    assert len(pool) == 2000
    assert (np.diff(pool.complexity) >= 0).all()
    for index in range(len(pool)):
        expression = pool.build_expression(index)
        assert compute_complexity(expression) == pool.complexity[index]
        assert evaluate_expression(expression, columns).tolist() == pool.values[index].tolist()


def test_equal_values_are_in_the_pool_once(rng):
    pool = grow_formula_pool(make_columns(rng), load_grammar("standard"), 2000)
    for index in range(len(pool)):
        assert find_equal(pool.values, pool.values[index]).tolist() == [index]


def test_formulas_are_finite_and_vary_on_the_rows(rng):
    columns = {"u": np.r_[0.0, -1.0, rng.normal(size=40)], "v": np.r_[1.0, 1.0, rng.normal(size=40)]}
    pool = grow_formula_pool(columns, load_grammar("standard"), 3000)
    is_constant = [
        isinstance(pool.build_expression(index), Constant) for index in range(len(pool.leaves))
    ] + [False] * (len(pool) - len(pool.leaves))
    assert np.isfinite(pool.values).all()
    assert (np.ptp(pool.values, axis=1)[~np.array(is_constant)] > 0.0).all()
    texts = {str(pool.build_expression(index)) for index in range(len(pool))}
    assert "1/u" not in texts
    assert "sqrt(v)" not in texts


def test_the_rules_of_the_grammar_hold_in_every_formula(rng):
    columns = make_columns(rng, "uvw")
    grammar = make_grammar(
        "square exp sin log",
        "add sub mul div",
        constants=(1,),
        forbid={"exp": frozenset({"log", "exp"}), "div": frozenset({"div"})},
        forbid_within={"sin": frozenset({"sin", "exp"})},
        columns={"log": frozenset({"w"})},
    )
    pool = grow_formula_pool(columns, grammar, 4000)
    calls = [call for index in range(len(pool)) for call in iterate_calls(pool.build_expression(index))]
    assert {call.operator.name for call in calls} == {each.name for each in (*grammar.unary, *grammar.binary)}
    for call in calls:
        inside = [argument for argument in call.arguments if isinstance(argument, Call)]
        names = {argument.operator.name for argument in inside}
        assert not names & grammar.forbid.get(call.operator.name, frozenset())
        deep = {each.operator.name for argument in inside for each in iterate_calls(argument)}
        assert not deep & grammar.forbid_within.get(call.operator.name, frozenset())
        if call.operator.name == "log":
            assert call.arguments == (Column("w"),)


def test_the_limit_of_complexity_holds_and_all_simpler_formulas_are_there(rng):
    columns = make_columns(rng)
    grammar = load_grammar("standard")
    free = grow_formula_pool(columns, grammar, 3000)
    limited = grow_formula_pool(columns, dataclasses.replace(grammar, max_complexity=4), 3000)
    n = int((free.complexity <= 4).sum())
    assert n < 3000
    assert len(limited) == n
    assert limited.values.tolist() == free.values[:n].tolist()


def test_a_smaller_pool_is_the_beginning_of_a_larger_one(rng):
    columns = make_columns(rng)
    large = grow_formula_pool(columns, load_grammar("basic").add_operators(["sin", "cos"]), 1500)
    for limit in (1, 2, 3, 40, 700):
        small = grow_formula_pool(columns, load_grammar("basic").add_operators(["sin", "cos"]), limit)
        n = max(limit, len(small.leaves))
        assert small.values.tolist() == large.values[:n].tolist()
        assert [str(small.build_expression(index)) for index in range(n)] == [
            str(large.build_expression(index)) for index in range(n)
        ]


def test_growth_ends_where_nothing_new_appears(rng):
    pool = grow_formula_pool(make_columns(rng), make_grammar("neg", ""), 1000)
    assert [str(pool.build_expression(index)) for index in range(len(pool))] == ["u", "v", "-u", "-v"]


def test_the_size_of_batches_has_no_effect(rng, monkeypatch):
    columns = make_columns(rng)
    pool = grow_formula_pool(columns, load_grammar("standard"), 2000)
    monkeypatch.setattr(formula_pool, "_BATCH_FORMULAS", 7)
    again = grow_formula_pool(columns, load_grammar("standard"), 2000)
    assert pool.values.tolist() == again.values.tolist()
    assert pool.left.tolist() == again.left.tolist()


def test_the_number_of_formulas_is_exact_where_the_pool_is_complete_and_grows_beyond(rng):
    columns = {"x": rng.uniform(1, 2, 60), "y": rng.uniform(1, 2, 60)}
    small, large = (
        grow_formula_pool(columns, load_grammar("basic").add_operators(["sin", "cos"]), limit)
        for limit in (600, 20_000)
    )
    complete = int(small.complexity[-1]) - 1
    for size in range(1, complete + 1):
        assert small.estimate_count(size) == large.estimate_count(size) == (large.complexity <= size).sum()
    counts = [small.estimate_count(size) for size in range(1, complete + 5)]
    assert counts == sorted(counts)
    exact = large.estimate_count(complete + 1)
    assert exact / 4 < small.estimate_count(complete + 1) < exact * 4


def test_with_units_the_pool_has_the_formulas_that_have_a_unit_and_knows_it(rng):
    columns = make_columns(rng, "uvx")
    units = Units({"u": parse_unit("m/s"), "v": parse_unit("m/s"), "x": parse_unit("kg")})
    grammar = dataclasses.replace(load_grammar("standard"), max_complexity=4)
    free = grow_formula_pool(columns, grammar, 100_000)
    pruned = grow_formula_pool(columns, grammar, 100_000, units)
    for index in range(len(pruned)):
        dimensions = compute_dimensions(pruned.build_expression(index), units)
        assert dimensions.valid
        np.testing.assert_array_equal(dimensions.exponents, pruned.exponents[index])
    n_with_unit = 0
    for index in range(len(free)):
        if compute_dimensions(free.build_expression(index), units).valid:
            assert len(find_equal(pruned.values, free.values[index]))
            n_with_unit += 1
    assert 50 < n_with_unit < len(free) / 2


def test_with_units_only_formulas_of_the_given_unit_count(rng):
    units = Units({"u": parse_unit("m"), "v": parse_unit("m")})
    pool = grow_formula_pool(
        make_columns(rng), load_grammar("basic").add_operators(["sin", "cos"]), 500, units
    )
    metre, second = np.array([1.0]), np.array([7.0])
    for complexity in (1, 2, 3):
        expected = (pool.complexity <= complexity) & (pool.units == metre).all(axis=1)
        assert pool.estimate_count(complexity, metre) == expected.sum()
    assert pool.estimate_count(3, second) == 1.0
    assert pool.estimate_count(30, metre) < pool.estimate_count(30)
