"""Formulas written out for other languages: definitions in place of their names, constants computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import GrammarError, OutputError
from symscreen.export.definitions import definitions_of, operators_from
from symscreen.expression import Apply, Column, Constant, parse, to_text
from symscreen.grammar import OPERATORS
from symscreen.grammar.define import finite_or_nan, plain_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from symscreen.expression import Expression
    from symscreen.grammar import Operator

__all__ = ["computed_constants", "in_shipped_operators", "inside_out", "shown"]

_MOST_PARTS = 20_000


def inside_out(expression: Expression) -> Iterator[Expression]:
    """Yield everything inside an expression and then it itself: arguments before what they are given to.

    Examples
    --------
    >>> [str(part) for part in inside_out(parse("1/(x + 2)"))]
    ['x', '2', 'x + 2', '1/(x + 2)']
    """
    # no recursion: a model is a sum as deep as it has terms
    waiting, seen = [expression], []
    while waiting:
        part = waiting.pop()
        seen.append(part)
        if isinstance(part, Apply):
            waiting.extend(part.arguments)
    return reversed(seen)


def in_shipped_operators(
    expressions: Sequence[Expression], operators: Mapping[str, Operator] = OPERATORS
) -> tuple[Expression, ...]:
    """Put the definition of each operator that does not ship in its place.

    Parameters
    ----------
    expressions : sequence of Expression
        The formulas.
    operators : mapping of str to Operator
        The grammar's operators; needed where a definition calls others.

    Returns
    -------
    tuple of Expression
        Of the same values.

    Raises
    ------
    OutputError
        If an operator is not defined by a formula, or a formula comes to more than 20,000 parts.

    Examples
    --------
    >>> from symscreen.grammar.define import define_operator
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> print(*in_shipped_operators([Apply(gauss, (Column("a b"),))]))
    exp(-`a b`**2)
    """
    try:
        definitions = definitions_of(expressions, operators)
        known = operators_from(definitions, {})
    except GrammarError as error:
        raise OutputError(f"this cannot be written out: {error}") from None
    bodies: dict[str, Expression] = {}
    for name, definition in definitions.items():
        body = parse(str(definition["formula"]), known, names=("x", "y"))
        bodies[name] = _written_out(body, bodies)
    return tuple(_written_out(expression, bodies) for expression in expressions)


def _written_out(expression: Expression, bodies: Mapping[str, Expression]) -> Expression:
    def one(applied: Apply) -> Expression:
        name = applied.operator.name
        if name == "id":
            return applied.arguments[0]
        body = bodies.get(name)
        if body is None:
            return applied
        given = dict(zip(("x", "y"), applied.arguments, strict=False))
        if sum(_parts_with(body, {key: _size(part) for key, part in given.items()})) > _MOST_PARTS:
            raise OutputError(
                f"{name!r} comes to more than {_MOST_PARTS:,} parts, written out; no language reads such"
            )
        return _rebuilt(body, lambda applied: applied, given)

    return _rebuilt(expression, one)


def _size(expression: Expression) -> int:
    return sum(1 for _ in inside_out(expression))


def _parts_with(body: Expression, sizes: Mapping[str, int]) -> Iterator[int]:
    return (sizes[part.name] if isinstance(part, Column) else 1 for part in inside_out(body))


def computed_constants(expression: Expression) -> Expression:
    """Compute every part that holds no column, so that no language has to.

    Raises
    ------
    OutputError
        If such a part is undefined: the formula then has no value anywhere.

    Examples
    --------
    >>> print(computed_constants(parse("x**(1/2 + 2*3)")))
    x**6.5
    """

    def one(applied: Apply) -> Expression:
        numbers = [part.value for part in applied.arguments if isinstance(part, Constant)]
        if len(numbers) < len(applied.arguments):
            return applied
        with np.errstate(all="ignore"):
            arrays = (np.array([number], dtype=np.float64) for number in numbers)
            value = float(finite_or_nan(applied.operator.numeric(*arrays))[0])
        if np.isnan(value):
            raise OutputError(
                f"the formula {shown(expression)} has no value in any row: {shown(applied)} is undefined"
            )
        return Constant(plain_number(value))

    return _rebuilt(expression, one)


def shown(expression: Expression) -> str:
    """Return the start of a formula's text in quotes, for messages."""
    text = to_text(expression)
    return repr(text if len(text) <= 60 else text[:60] + "…")


def _rebuilt(
    expression: Expression,
    one: Callable[[Apply], Expression],
    columns: Mapping[str, Expression] | None = None,
) -> Expression:
    """Rebuild a tree from its leaves up, `one` saying what becomes of each application."""
    done: list[Expression] = []
    for part in inside_out(expression):
        match part:
            case Apply(operator, arguments):
                own = tuple(done[-len(arguments) :])
                del done[-len(arguments) :]
                done.append(one(Apply(operator, own)))
            case Column(name) if columns is not None:
                done.append(columns[name])
            case _:
                done.append(part)
    return done[0]
