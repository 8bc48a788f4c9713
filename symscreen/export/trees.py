"""Formulas as trees of plain values, and where they are defined: what other programs read in a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.export.expanded import in_shipped_operators, inside_out
from symscreen.expression import Apply, Column, Constant, to_text
from symscreen.grammar import OPERATORS
from symscreen.grammar.operator import Domain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.expression import Expression
    from symscreen.grammar import Operator

__all__ = ["domains_of", "tree_of"]


def tree_of(expression: Expression) -> Any:
    """Return a formula as JSON has it.

    Parameters
    ----------
    expression : Expression
        The formula.

    Returns
    -------
    dict, float or list
        A column is ``{"column": name}``, a number itself, an operator a list of its name and its arguments.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> tree_of(parse("x1 - 2*sin(`a b`)"))
    ['sub', {'column': 'x1'}, ['mul', 2, ['sin', {'column': 'a b'}]]]
    """
    done: list[Any] = []
    for part in inside_out(expression):
        match part:
            case Column(name):
                done.append({"column": name})
            case Constant(value):
                done.append(value)
            case Apply(operator, arguments):
                own = done[-len(arguments) :]
                del done[-len(arguments) :]
                done.append([operator.name, *own])
    return done[0]


def domains_of(
    expressions: Sequence[Expression], operators: Mapping[str, Operator] = OPERATORS
) -> dict[str, list[str]]:
    """Say what has to hold for formulas to be defined, definitions written out.

    Parameters
    ----------
    expressions : sequence of Expression
        The formulas.
    operators : mapping of str to Operator
        The grammar's operators; needed where a definition calls others.

    Returns
    -------
    dict of str to list of str
        What stands in an argument, as text, and where it may lie: ``nonzero``, ``nonnegative``, ``positive``
        or ``unit`` ([−1, 1]). Powers are not among them, nor that no step may overflow.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> domains_of([parse("log(x1 - x2)/x2"), parse("1/x1")])
    {'x1': ['nonzero'], 'x1 - x2': ['positive'], 'x2': ['nonzero']}
    """
    found: dict[str, set[str]] = {}
    for expression in in_shipped_operators(expressions, operators):
        for part in inside_out(expression):
            if isinstance(part, Apply):
                for argument, domain in zip(part.arguments, part.operator.domain, strict=True):
                    if domain is not Domain.REAL and not isinstance(argument, Constant):
                        found.setdefault(to_text(argument), set()).add(domain.value)
    return {text: sorted(found[text]) for text in sorted(found)}
