from __future__ import annotations

import numpy as np
import pytest
from helpers.expansion_oracles import problems
from hypothesis import given, settings

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import CandidateStatus, expand
from symscreen.expressions.grammar_rules import find_forbidding_rule, is_expressible
from symscreen.expressions.tree import parse_expression
from symscreen.grammar import load_grammar


@settings(max_examples=40)
@given(problems())
def test_a_rule_is_named_for_the_forbidden_and_for_no_others(problem):
    space = expand(*problem.arguments, options=SpaceOptions())
    for candidate in range(0, space.candidates.total, 5):
        formula = space.build_expression(space.n_materialized + candidate)
        forbidden = space.statuses[candidate] == CandidateStatus.FORBIDDEN
        by_identity = space.pool.symbols.operators[
            space.candidates.locate(np.array([candidate]))[0][0]
        ].name == "id"  # fmt: skip
        if not by_identity:  # an `id` leaves no trace in the formula
            assert bool(find_forbidding_rule(formula, problem.grammar)) == forbidden, str(formula)


@pytest.mark.parametrize(
    ("power", "is_allowed"), [("x**0.6", True), ("x**(2/3)", True), ("x**z", False), ("x**(z/3)", False)]
)
def test_powers_need_exponents_that_are_numbers(power, is_allowed):
    assert is_expressible(parse_expression(power), load_grammar("standard")) == is_allowed
