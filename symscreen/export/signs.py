"""Sums with their signs and coefficients merged as people write them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symscreen.expression import Apply, Constant, apply
from symscreen.grammar import OPERATORS
from symscreen.grammar.define import plain_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.expression import Expression

__all__ = ["sum_as_written"]

_ADD, _SUB, _MUL, _DIV, _INV, _NEG = (OPERATORS[name] for name in ("add", "sub", "mul", "div", "inv", "neg"))


def sum_as_written(
    intercept: float, coefficients: Sequence[float], terms: Sequence[Expression]
) -> Expression:
    """Build the tree of ``intercept + Σ coefficient · term``.

    Parameters
    ----------
    intercept : float
        Left out where it is 0 and there are terms.
    coefficients : sequence of float, length k
        1 is left out. Each multiplies the first factor of its term: ``2.5*x1/x2``, not ``2.5*(x1/x2)``.
    terms : sequence of Expression, length k
        What the coefficients multiply.

    Returns
    -------
    Expression
        Equal in value to the sum but for the last digits.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> print(sum_as_written(0.0, (-1.0, 2.5, -3.0), (parse("x*y"), parse("1/x"), parse("-sin(y)"))))
    -x*y + 2.5/x + 3*sin(y)
    """
    total: Expression | None = Constant(plain_number(intercept)) if intercept else None
    for coefficient, term in zip(coefficients, terms, strict=True):
        sign, plain = _unsigned(term)
        value = sign * coefficient
        scaled = _scaled(plain_number(abs(value)), plain)
        if total is None:
            total = _negated(scaled) if value < 0 else scaled
        else:
            total = Apply(_SUB if value < 0 else _ADD, (total, scaled))
    return Constant(0) if total is None else total


def _unsigned(expression: Expression) -> tuple[int, Expression]:
    """Take the sign off a term's first factor; no value changes by it."""
    match expression:
        case Constant(value) if value < 0:
            return -1, replace(expression, value=-value)
        case Apply(operator, (argument,)) if operator.name == "neg":
            sign, plain = _unsigned(argument)
            return -sign, plain
        case Apply(operator, (left, right)) if operator.name in {"mul", "div"}:
            sign, plain = _unsigned(left)
            if operator.name == "div" and plain == Constant(1):
                return sign, apply(_INV, right)
            return sign, apply(operator, plain, right)
    return 1, expression


def _scaled(factor: float, term: Expression) -> Expression:
    """Multiply a term's first factor by a number that is not negative."""
    if factor == 1:
        return term
    match term:
        case Apply(operator, (argument,)) if operator.name == "inv":
            return apply(_DIV, Constant(factor), argument)
        case Apply(operator, (left, right)) if operator.name in {"mul", "div"}:
            return apply(operator, _scaled(factor, left), right)
    return apply(_MUL, Constant(factor), term)


def _negated(term: Expression) -> Expression:
    """Put a minus sign before a term without one: ``-x*y`` rather than ``-(x*y)``."""
    match term:
        case Constant(value):
            return replace(term, value=-value)
        case Apply(operator, (argument,)) if operator.name == "inv":
            return apply(_DIV, Constant(-1), argument)
        case Apply(operator, (left, right)) if operator.name in {"mul", "div"}:
            return apply(operator, _negated(left), right)
    return apply(_NEG, term)
