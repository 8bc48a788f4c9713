from __future__ import annotations

import numpy as np
import pytest

from symscreen.expressions.printing import to_latex, to_mathml, to_text
from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    compute_key,
    evaluate_expression,
    fold_expression,
    iterate_postorder,
    iterate_preorder,
    rebuild_expression,
)
from symscreen.expressions.tree import Call, Column, Constant, parse_expression
from symscreen.grammar import OPERATORS

DEPTH = 10_000


@pytest.fixture
def deep():
    """A tree of 10,000 levels."""
    expression = Column("x")
    for _ in range(DEPTH):
        expression = Call(OPERATORS["sin"], (expression,))
    return expression


@pytest.mark.slow
def test_deep_trees_are_traversed_without_recursion(deep):
    assert compute_complexity(deep) == DEPTH + 1
    assert collect_columns(deep) == {"x"}
    assert len(compute_key(deep)) == 2
    values = evaluate_expression(deep, {"x": np.array([0.0, np.nan])})
    assert values[0] == 0.0
    assert np.isnan(values[1])
    renamed = rebuild_expression(deep, column=lambda column: Column(f"{column.name}1"))
    assert sum(1 for _ in iterate_preorder(renamed)) == DEPTH + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("write", "start"), [(to_text, "sin(sin("), (to_latex, r"\sin\left("), (to_mathml, "<math><mrow>")]
)
def test_deep_trees_are_written_without_recursion(deep, write, start):
    assert write(deep).startswith(start)


def test_parts_come_in_the_order_of_the_text():
    expression = parse_expression("1/(x + y) - sin(2)")
    assert list(map(str, iterate_postorder(expression))) == [
        "x", "y", "x + y", "1/(x + y)", "2", "sin(2)", "1/(x + y) - sin(2)",
    ]  # fmt: skip
    assert list(map(str, iterate_preorder(expression))) == [
        "1/(x + y) - sin(2)", "1/(x + y)", "x + y", "x", "y", "sin(2)", "2",
    ]  # fmt: skip


def test_a_fold_combines_arguments_from_left_to_right():
    text = fold_expression(
        parse_expression("(x - 2)/y"),
        column=str,
        number=lambda constant: str(constant.value),
        call=lambda call, arguments: f"({call.operator.name} {' '.join(arguments)})",
    )
    assert text == "(div (sub x 2) y)"


def test_a_rebuilt_expression_replaces_columns_and_numbers():
    rebuilt = rebuild_expression(
        parse_expression("x*2 + y"),
        column=lambda column: parse_expression("a/b") if column.name == "x" else column,
        number=lambda constant: Constant(constant.value + 1),
    )
    assert rebuilt == parse_expression("a/b*3 + y")
