from __future__ import annotations

import numpy as np
import pytest
from helpers.expansion_oracles import is_useful, problems
from helpers.strategies import expressions
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.config.screen_options import SpaceOptions
from symscreen.errors import FormulaError
from symscreen.expansion import CandidateStatus, expand
from symscreen.expansion.space import evaluate_user_formulas
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar

NONE_KNOWN = np.zeros((0, 2), dtype=np.uint64)
GRAMMAR = load_grammar("ablation")
COLUMNS = {"x1": np.array([-1.0, 0.0, 0.5, 2.0]), "x2": np.array([1.0, 3.0, 3.0, 4.0]), "a b": np.arange(4.0)}


def space_of(layers, *also, pool_kind="cumulative", columns=COLUMNS):
    formulas = [parse_expression(text) for text in also]
    values = np.array(list(columns.values()))
    return expand(
        list(columns),
        values,
        GRAMMAR,
        GRAMMAR.resolve_layers(layers),
        pool_kind,
        also=formulas,
        options=SpaceOptions(),
    )


def formulas_of(space):
    return [
        to_text(space.build_expression(int(n)))
        for block in space.evaluate_range(0, space.total)
        for n in block.numbers
    ]


@given(st.lists(expressions(st.sampled_from(list(COLUMNS))), max_size=6))
def test_each_formula_is_kept_once_or_refused(drawn):
    first = {}
    for expression in drawn:
        first.setdefault(compute_key(expression), expression)
    counted = evaluate_user_formulas(drawn, None, NONE_KNOWN)
    assert counted.expressions == tuple(first.values())
    assert counted.values.shape == (len(first), 0)
    if any(not is_useful(one, COLUMNS) for one in first.values()):
        with pytest.raises(
            FormulaError, match=r"^also=.* is (undefined in \d of 4 rows|constant on these data)$"
        ):
            evaluate_user_formulas(drawn, COLUMNS, NONE_KNOWN)
        return
    found = evaluate_user_formulas(drawn, COLUMNS, NONE_KNOWN)
    assert found.expressions == tuple(first.values())
    for row, expression in zip(found.values, found.expressions, strict=True):
        assert row.tobytes() == evaluate_expression(expression, COLUMNS).tobytes()
        assert np.isfinite(row).all()
        assert np.ptp(row) > 0
    assert found.metadata.keys.tolist() == [list(one) for one in first]
    assert found.metadata.complexity.tolist() == [compute_complexity(one) for one in first.values()]
    assert found.metadata.layer.tolist() == [0] * len(first)


@pytest.mark.slow
@settings(max_examples=60)
@given(problems())
def test_given_formulas_join_and_nothing_is_counted_twice(problem):
    without = expand(*problem.arguments, options=SpaceOptions())
    space = expand(*problem.arguments, also=problem.also, options=SpaceOptions())
    base = {compute_key(without.build_expression(place)) for place in range(len(without.pool_indices))}
    joining = {compute_key(formula) for formula in problem.also} - base
    assert {compute_key(formula) for formula in space.user_formulas.expressions} == joining
    keys = [tuple(one) for one in space.get_metadata(_streamed(space)).keys.tolist()]
    assert len(set(keys)) == len(keys)
    alone = {tuple(one) for one in without.get_metadata(_streamed(without)).keys.tolist()}
    assert alone | joining == set(keys)


def _streamed(space):
    blocks = [block.numbers for block in space.evaluate_range(0, space.total)]
    return np.concatenate([np.zeros(0, dtype=np.int64), *blocks])


def test_a_formula_of_the_last_layer_is_scored_once_as_the_user_wrote_it():
    space = space_of("b", "x2 + x1")
    found = formulas_of(space)
    assert "x2 + x1" in found
    assert "x1 + x2" not in found
    assert space.size == space_of("b").size
    assert space.layer_counts[-1].n_excluded == {CandidateStatus.DUPLICATE: 1}


def test_a_formula_of_the_pool_is_not_added():
    space = space_of("bu", "x2", "x1*x2", "x2*x1 + x1 - x1")
    assert space.user_formulas.expressions == ()
    assert formulas_of(space) == formulas_of(space_of("bu"))


def test_a_strict_space_has_nothing_of_the_pool():
    space = space_of("bu", "x2", "x2/1", "x1*x2", pool_kind="strict")
    # x1·x2 is id(x1·x2) of the last layer
    assert formulas_of(space)[:2] == ["x2", "x1*x2"]
    assert space.size == space_of("bu", pool_kind="strict").size + 1


def test_a_formula_of_other_operators_joins():
    space = space_of("u", "sin(x1) - `a b`/7")
    assert space.n_materialized == 4
    assert space.size == space_of("u").size + 1
    assert space.layer_counts[-1].n_features == space.size


def test_an_input_that_was_left_out_may_be_given():
    columns = {**COLUMNS, "copy": COLUMNS["x1"]}
    space = space_of("u", "copy", "copy + x2", columns=columns)
    assert formulas_of(space)[3:5] == ["copy", "copy + x2"]


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("1/x1", "is undefined in 1 of 4 rows"),
        ("log(x1)", "is undefined in 2 of 4 rows"),
        ("exp(exp(x2**2))", "is undefined in 3 of 4 rows"),
        ("1/(1/x1)*x2", "is undefined in 1 of 4 rows"),
        ("x2 - x2", "is constant on these data"),
        ("2 + 3", "is constant on these data"),
        ("sin(`a b`)**2 + cos(`a b`)**2", "is constant on these data"),
        ("log(x2/7) + log(7/x2)", "is constant on these data"),
        ("abs(log(x2/7) - (log(x2) - log(7)))", "is constant on these data"),
    ],
)
def test_formulas_of_no_use_are_refused(formula, why):
    with pytest.raises(FormulaError) as caught:
        space_of("u", "x1 + x2", formula)
    assert str(caught.value) == f"also={to_text(parse_expression(formula))!r} {why}"


def test_a_message_has_one_line_whatever_the_column_is_called():
    columns = {"a\nb": np.array([1.0, 2.0, 3.0]), "x": np.array([0.0, 1.0, 2.0])}
    with pytest.raises(FormulaError, match=r"is undefined in 1 of 3 rows") as caught:
        space_of("u", "`a\nb`/x", columns=columns)
    assert len(str(caught.value).splitlines()) == 1
