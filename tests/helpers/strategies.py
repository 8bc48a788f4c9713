"""Hypothesis strategies that several test files draw from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from symscreen.expressions.tree import Call, Column, Constant, Expression, apply_operator
from symscreen.grammar.builtin_operators import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

UNARY = [operator for operator in OPERATORS.values() if operator.arity == 1]
BINARY = [operator for operator in OPERATORS.values() if operator.arity == 2]

names = st.one_of(
    st.sampled_from(
        ["x", "y", "a b", "lambda", "sin", "pi", "N", "`", "λ", "=x", "", "e\u0301", "x²", "1", "\n"]
    ),
    st.text(max_size=8),
)
numbers = st.one_of(
    st.integers(-9, 9),
    st.floats(allow_nan=False, allow_infinity=False).map(
        lambda v: int(v) if v.is_integer() and abs(v) < 1e15 else v
    ),
)


def expressions(columns: st.SearchStrategy[str] = names) -> st.SearchStrategy[Expression]:
    """Draw trees of any of the shipped operators over columns and numbers."""
    leaves = st.one_of(columns.map(Column), numbers.map(Constant))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(apply_operator, st.sampled_from(UNARY), inner),
            st.builds(apply_operator, st.sampled_from(BINARY), inner, inner),
        ),
        max_leaves=12,
    )


def put_in(expression: Expression, parts: Mapping[str, Expression]) -> Expression:
    """Put expressions in the place of columns."""
    match expression:
        case Column(name):
            return parts[name]
        case Call(operator, arguments):
            return apply_operator(operator, *(put_in(argument, parts) for argument in arguments))
        case _:
            return expression
