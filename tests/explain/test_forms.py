from __future__ import annotations

import pytest
from helpers.strategies import expressions
from hypothesis import given, settings
from hypothesis import strategies as st

from symscreen.explain.feature_lookup import build_equivalent_forms
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_key
from symscreen.expressions.tree import parse_expression


@settings(max_examples=30)
@given(expressions(st.sampled_from(["x", "y", "a b"])))
def test_other_forms_are_equal_and_written_otherwise(formula):
    for form in build_equivalent_forms(formula):
        assert compute_key(form) == compute_key(formula)
        assert form != formula


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9*x",
        "(x + y)**99",
        "x**(y)",
        "exp(1e9*x)",
        "((x**3)**3)**3",
        " + ".join(f"x{i}" for i in range(30)),
    ],
)
def test_what_could_take_long_is_left_alone(text):
    assert build_equivalent_forms(parse_expression(text)) == []


def test_a_sum_is_factored_and_a_product_expanded():
    assert "a*(b + c)" in map(to_text, build_equivalent_forms(parse_expression("a*b + a*c")))
    assert "a*b + a*c" in map(to_text, build_equivalent_forms(parse_expression("a*(b + c)")))
