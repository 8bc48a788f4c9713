"""The rule of a grammar that bars a formula, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.expression import Apply, columns_of
from symscreen.whereabouts.parts import parts_of

if TYPE_CHECKING:
    from symscreen.expression import Expression
    from symscreen.grammar import Grammar

__all__ = ["barring_rule"]


def barring_rule(expression: Expression, grammar: Grammar) -> str:
    """Name the rule that keeps a formula's outermost operator from its arguments.

    Parameters
    ----------
    expression : Expression
        The formula; its parts are taken to be allowed.
    grammar : Grammar
        The rules.

    Returns
    -------
    str
        As a grammar's file has it; empty where no rule does.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> from symscreen.grammar import load_grammar
    >>> barring_rule(parse("log(exp(x))"), load_grammar("basic"))
    '[forbid] log: exp'
    """
    if not isinstance(expression, Apply):
        return ""
    name = expression.operator.name
    direct = [each.operator.name for each in expression.arguments if isinstance(each, Apply)]
    for inner in direct:
        if inner in grammar.forbid.get(name, ()):
            return f"[forbid] {name}: {inner}"
    inside = {
        part.operator.name
        for argument in expression.arguments
        for part in parts_of(argument)
        if isinstance(part, Apply)
    }
    for inner in sorted(inside & grammar.forbid_within.get(name, frozenset())):
        return f"[forbid_within] {name}: {inner}"
    if name in grammar.columns:
        for column in sorted(columns_of(expression) - grammar.columns[name]):
            return f"[columns] {name}: not {column}"
    return ""
