"""Traverse expressions: their parts, inputs and numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from symscreen.errors import FormulaError
from symscreen.expressions.tree import Call, Constant, collect_columns, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from symscreen.expressions.tree import Expression


def iterate_preorder(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all its subexpressions, parents before children.

    Parameters
    ----------
    expression : Expression
        The expression.

    Yields
    ------
    Expression

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> [str(part) for part in iterate_preorder(parse_expression("1/(x + 2)"))]
    ['1/(x + 2)', 'x + 2', 'x', '2']
    """
    yield expression
    if isinstance(expression, Call):
        for argument in expression.arguments:
            yield from iterate_preorder(argument)


def collect_inputs(expressions: Iterable[Expression]) -> tuple[str, ...]:
    """Return the names of all columns in the expressions, sorted.

    Parameters
    ----------
    expressions : iterable of Expression
        The expressions.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> collect_inputs([parse_expression("x1 - cos(x2)"), parse_expression("x1**2")])
    ('x1', 'x2')
    """
    return tuple(sorted(frozenset().union(*map(collect_columns, expressions))))


def check_numbers(expressions: Iterable[Expression]) -> None:
    """Check that all numbers in the expressions are finite, as the formula notation requires.

    Parameters
    ----------
    expressions : iterable of Expression
        The expressions.

    Raises
    ------
    FormulaError
        If a number is infinite or NaN.

    Examples
    --------
    >>> check_numbers((Constant(math.inf),))
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: the formula 'inf' holds the number inf; only finite ones can be written
    """
    for expression in expressions:
        for part in iterate_preorder(expression):
            if isinstance(part, Constant) and not math.isfinite(part.value):
                raise FormulaError(
                    f"the formula {to_text(expression)!r} holds the number {part.value}; "
                    "only finite ones can be written"
                )
