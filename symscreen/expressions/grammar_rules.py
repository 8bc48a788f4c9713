"""Check formulas against the rules of a grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symscreen.expressions.traversal import (
    collect_columns,
    collect_operator_names,
    compute_complexity,
    iterate_calls,
)
from symscreen.expressions.tree import Call, Constant

if TYPE_CHECKING:
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Grammar


# operators that only abbreviate others: x**2 is x*x, and 1/x a quotient
_ABBREVIATIONS = {"square": "mul", "cube": "mul", "inv": "div", "neg": "sub"}

_POWER_OPERATORS = frozenset({"mul", "exp", "log"})


def find_forbidding_rule(expression: Expression, grammar: Grammar) -> str:
    """Return the rule that forbids to apply a formula's outermost operator to its arguments.

    Parameters
    ----------
    expression : Expression
        The formula. Its parts are assumed to be allowed.
    grammar : Grammar
        The rules.

    Returns
    -------
    str
        The rule as in a grammar file. Empty if no rule applies.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.grammar import load_grammar
    >>> find_forbidding_rule(parse_expression("log(exp(x))"), load_grammar("basic"))
    '[forbid] log: exp'
    """
    if not isinstance(expression, Call):
        return ""
    name = expression.operator.name
    argument_operators = [
        argument.operator.name for argument in expression.arguments if isinstance(argument, Call)
    ]
    for inner in argument_operators:
        if inner in grammar.forbid.get(name, ()):
            return f"[forbid] {name}: {inner}"
    inner_operators = collect_operator_names(*expression.arguments)
    for inner in sorted(inner_operators & grammar.forbid_within.get(name, frozenset())):
        return f"[forbid_within] {name}: {inner}"
    if name in grammar.columns:
        for column in sorted(collect_columns(expression) - grammar.columns[name]):
            return f"[columns] {name}: not {column}"
    return ""


def is_expressible(expression: Expression, grammar: Grammar) -> bool:
    """Return whether a formula, as it is written, has only a grammar's operators and obeys its rules.

    Parameters
    ----------
    expression : Expression
        The formula. It may have any constants.
    grammar : Grammar
        Operators, rules and maximum complexity. Powers with whole exponents, 1/x and −x are allowed as
        abbreviations if the grammar has products, quotients and differences, and powers with other fixed
        exponents if it has products, exponentials and logarithms: x**0.6 is exp(0.6*log(x)).

    Returns
    -------
    bool

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.grammar import load_grammar
    >>> [is_expressible(parse_expression(text), load_grammar("basic")) for text in ("x**4", "x**y", "tan(x)")]
    [True, False, False]
    """
    if grammar.max_complexity is not None and compute_complexity(expression) > grammar.max_complexity:
        return False
    names = {operator.name for operator in (*grammar.unary, *grammar.binary)}
    names |= {name for name, full_name in _ABBREVIATIONS.items() if full_name in names}
    return all(
        (
            call.operator.name in names
            or ("mul" in names and _is_whole_power(call))
            or (names >= _POWER_OPERATORS and _has_fixed_exponent(call))
        )
        and not find_forbidding_rule(call, grammar)
        for call in iterate_calls(expression)
    )


def _has_fixed_exponent(call: Call) -> bool:
    """Return whether a call raises a formula to a number, such as 0.6 or 2/3."""
    return call.operator.name == "pow" and not collect_columns(call.arguments[1])


def _is_whole_power(call: Call) -> bool:
    """Return whether a call raises a formula to a positive integer."""
    if call.operator.name != "pow":
        return False
    exponent = call.arguments[1]
    return isinstance(exponent, Constant) and exponent.value > 0 and float(exponent.value).is_integer()
