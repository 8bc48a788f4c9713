"""What stands inside formulas."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from symscreen.errors import FormulaError
from symscreen.expression import Apply, Constant, columns_of, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from symscreen.expression import Expression

__all__ = ["check_numbers", "inputs_of", "parts_of"]


def parts_of(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and everything inside it.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> [str(part) for part in parts_of(parse("1/(x + 2)"))]
    ['1/(x + 2)', 'x + 2', 'x', '2']
    """
    yield expression
    if isinstance(expression, Apply):
        for argument in expression.arguments:
            yield from parts_of(argument)


def inputs_of(expressions: Iterable[Expression]) -> tuple[str, ...]:
    """Name the columns that formulas need, in the order of their names.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> inputs_of([parse("x1 - cos(x2)"), parse("x1**2")])
    ('x1', 'x2')
    """
    return tuple(sorted(frozenset().union(*map(columns_of, expressions))))


def check_numbers(expressions: Iterable[Expression]) -> None:
    """Refuse numbers that the one notation cannot write.

    Raises
    ------
    FormulaError
        If a number is infinite or none.

    Examples
    --------
    >>> check_numbers((Constant(math.inf),))
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: the formula 'inf' holds the number inf; only finite ones can be written
    """
    for expression in expressions:
        for part in parts_of(expression):
            if isinstance(part, Constant) and not math.isfinite(part.value):
                raise FormulaError(
                    f"the formula {to_text(expression)!r} holds the number {part.value}; "
                    "only finite ones can be written"
                )
