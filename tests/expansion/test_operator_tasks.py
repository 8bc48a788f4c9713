"""Keys and tie-break ranks of the candidates of an operator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import expand
from symscreen.expressions.printing import to_text
from symscreen.grammar import OPERATORS, Grammar

# with this cost, x - y is as complex as x + (-y)
COSTED = OPERATORS | {"sub": replace(OPERATORS["sub"], cost=2)}


@pytest.mark.parametrize("names", [("add", "sub"), ("sub", "add")])
@pytest.mark.parametrize(
    ("forbidden", "kept"), [("add", "x - y"), ("neg", "x - y"), ("sub", "x + (-y)"), (None, None)]
)
def test_of_equally_complex_equals_the_one_with_more_successors_is_kept_and_then_the_first(
    names, forbidden, kept, rng
):
    rules = {} if forbidden is None else {"exp": frozenset({forbidden})}
    unary, binary = ([COSTED[name] for name in each] for each in (("neg", "exp"), names))
    grammar = Grammar("costed", COSTED, tuple(unary), tuple(binary), forbid_within=rules)
    layers = grammar.resolve_layers("ubu")
    space = expand(["x", "y"], rng.uniform(1.0, 2.0, (2, 20)), grammar, layers, options=SpaceOptions())
    texts = {to_text(space.build_expression(number)) for number in range(space.n_materialized)}
    expected = kept or {"add": "x + (-y)", "sub": "x - y"}[names[0]]
    assert texts & {"x - y", "x + (-y)"} == {expected}
