from __future__ import annotations

import numpy as np

from symscreen.config.screen_options import SpaceOptions
from symscreen.evaluation import find_affine_copies, find_affine_copies_in_space
from symscreen.expansion import expand
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar


def _space(columns):
    grammar = load_grammar("strogatz")
    values = np.array(list(columns.values()))
    return expand(
        tuple(columns), values, grammar, grammar.resolve_layers("ub"), "cumulative", options=SpaceOptions()
    )


def test_every_copy_is_found_and_little_else(rng):
    columns = {"x1": rng.normal(size=60), "x2": rng.normal(size=60)}
    space = _space(columns)
    numbers = [number for block in space.evaluate_range(0, space.total) for number in block.numbers.tolist()]
    wanted = [parse_expression("3 - 2*x1*x2"), parse_expression("cos(x1)/x2")]
    found = find_affine_copies_in_space(space, wanted, columns).tolist()
    expressions = [space.build_expression(number) for number in numbers]
    copies = np.any([find_affine_copies(expressions, one) for one in wanted], axis=0)
    assert [number for number, copy in zip(numbers, copies, strict=True) if copy] == found
    assert 2 <= len(found) < len(numbers) / 20


def test_a_formula_that_the_rows_do_not_define_or_do_not_vary_has_no_copies(rng):
    columns = {"x1": rng.normal(size=60), "x2": rng.normal(size=60)}
    wanted = [parse_expression("log(x1)"), parse_expression("x1 - x1")]
    assert find_affine_copies_in_space(_space(columns), wanted, columns).size == 0


def test_what_agrees_on_the_rows_alone_is_found_too(rng):
    columns = {"x1": rng.uniform(1.0, 2.0, 60), "x2": rng.uniform(1.0, 2.0, 60)}
    space = _space(columns)
    found = [
        space.build_expression(number)
        for number in find_affine_copies_in_space(space, [parse_expression("abs(x1)")], columns).tolist()
    ]
    assert parse_expression("x1") in found
    assert not find_affine_copies(found, parse_expression("abs(x1)")).any()
