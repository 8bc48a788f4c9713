"""What formulas need to know of operators beyond those that ship: definitions and costs, out and in.

Formulas written out for other languages: definitions in place of their names, constants computed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import FormulaError, GrammarError, OutputError, suggest
from symscreen.expressions.traversal import iterate_preorder
from symscreen.expressions.tree import Call, Column, Constant, parse_expression, to_text
from symscreen.grammar import OPERATORS
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.custom_operators import define_operator, replace_infinities, to_plain_number
from symscreen.grammar.parser import parse_formula, quote_column

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator
    from symscreen.grammar.parser import SyntaxNode


__all__ = [
    "build_operators",
    "collect_changed_costs",
    "collect_definitions",
    "fold_constants",
    "inline_definitions",
    "iterate_postorder",
    "quote_formula",
]


def collect_changed_costs(expressions: Iterable[Expression]) -> dict[str, int]:
    """Collect the costs of shipped operators that a grammar has changed.

    Examples
    --------
    >>> from symscreen.expressions.tree import Column, apply
    >>> collect_changed_costs([apply(replace(OPERATORS["sin"], cost=3), apply(OPERATORS["cos"],
    ...     Column("x")))])
    {'sin': 3}
    """
    return {
        operator.name: operator.cost
        for operator in _iterate_operators(expressions)
        if _is_shipped(operator) and operator.cost != OPERATORS[operator.name].cost
    }


def collect_definitions(
    expressions: Iterable[Expression], operators: Mapping[str, Operator] = OPERATORS
) -> dict[str, dict[str, str | int]]:
    """Collect the definitions that make formulas readable without the grammar that they came from.

    Parameters
    ----------
    expressions : iterable of Expression
        The formulas.
    operators : mapping, optional
        The grammar's operators, where a definition calls others that stand in none of the formulas.

    Returns
    -------
    dict of str to dict
        Formula and cost of each operator that does not ship, after those that it calls.

    Raises
    ------
    GrammarError
        If two operators share a name, one is not what its formula says, or calls one that is not known.

    Examples
    --------
    >>> from symscreen.expressions.tree import Column, apply
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> collect_definitions([apply(gauss, Column("a"))])
    {'gauss': {'formula': 'exp(-x**2)', 'cost': 3}}
    """
    used: dict[str, Operator] = {}
    for operator in _iterate_operators(expressions):
        if not _is_same_operator(used.setdefault(operator.name, operator), operator):
            raise GrammarError(f"two operators are called {operator.name!r}; give one of them another name")
    known = {**operators, **used}
    ordered: dict[str, Operator] = {}
    for operator in used.values():
        _add_after_dependencies(operator, known, ordered, ())
    definitions: dict[str, dict[str, str | int]] = {
        name: {"formula": operator.summary, "cost": operator.cost} for name, operator in ordered.items()
    }
    rebuilt = build_operators(definitions, {})
    for name, operator in ordered.items():
        if not _is_same_operator(rebuilt[name], operator):
            raise GrammarError(f"the operator {name!r} is not what its formula {operator.summary!r} says")
    return definitions


def build_operators(
    definitions: Mapping[str, Mapping[str, str | int]], costs: Mapping[str, int]
) -> dict[str, Operator]:
    """Build the operators that formulas of a bundle may call.

    Parameters
    ----------
    definitions : mapping of str to mapping
        As `collect_definitions` gives them: each may call those before it.
    costs : mapping of str to int
        As `collect_changed_costs` gives them.

    Returns
    -------
    dict of str to Operator
        Those that ship among them.

    Raises
    ------
    GrammarError
        If a name is not a plain identifier, is taken or unknown, or a definition is not a good one.
    FormulaError
        If a definition does not parse.

    Examples
    --------
    >>> built = build_operators({"gauss": {"formula": "exp(-x**2)", "cost": 2}}, {"exp": 5})
    >>> built["gauss"].cost, built["exp"].cost, built["sin"].cost
    (2, 5, 1)
    """
    operators = dict(OPERATORS)
    for name, cost in costs.items():
        if name not in OPERATORS:
            raise GrammarError(f"there is no operator {name!r}{suggest(name, OPERATORS)}")
        operators[name] = replace(OPERATORS[name], cost=cost)
    for name, definition in definitions.items():
        if quote_column(name) != name:
            raise GrammarError(f"{name!r} is no operator's name: plain identifiers are, such as sinpi")
        if name in operators:
            raise GrammarError(f"the operator {name!r} is defined twice, or ships")
        formula, cost = str(definition["formula"]), int(definition["cost"])
        operators[name] = define_operator(name, formula, operators, cost=cost)
    return operators


def _iterate_operators(expressions: Iterable[Expression]) -> Iterator[Operator]:
    for expression in expressions:
        for part in iterate_preorder(expression):
            if isinstance(part, Call):
                yield part.operator


def _is_shipped(operator: Operator) -> bool:
    shipped = OPERATORS.get(operator.name)
    return shipped is not None and replace(shipped, cost=operator.cost) == operator


def _is_same_operator(first: Operator, second: Operator) -> bool:
    """Whether two operators are the same function at the same cost; its parts may have been built twice."""
    if (first.arity, first.cost) != (second.arity, second.cost):
        return False
    arguments = [fp.encode_column(name) for name in ("x", "y")[: first.arity]]
    return bool((first.compute_fingerprint(*arguments) == second.compute_fingerprint(*arguments)).all())


def _add_after_dependencies(
    operator: Operator,
    known_operators: Mapping[str, Operator],
    ordered: dict[str, Operator],
    callers: tuple[str, ...],
) -> None:
    """Put an operator behind those that its formula calls."""
    if operator.name in ordered or _is_shipped(operator):
        return
    if operator.name in OPERATORS:
        raise GrammarError(f"the operator {operator.name!r} is not the one that ships; give it another name")
    try:
        called = _iterate_called_names(parse_formula(operator.summary))
    except FormulaError:
        raise GrammarError(
            f"the operator {operator.name!r} is not defined by a formula, so no file can hold it"
        ) from None
    if operator.family is not None:
        known_operators = {**operator.family.operators, **known_operators}
    for name in dict.fromkeys(called):
        if name not in known_operators or name in callers:
            raise GrammarError(
                f"the operator {operator.name!r} calls {name!r}, which is not known here; "
                "give the operators of its grammar"
            )
        _add_after_dependencies(known_operators[name], known_operators, ordered, (*callers, operator.name))
    ordered[operator.name] = operator


def _iterate_called_names(tree: SyntaxNode) -> Iterator[str]:
    if tree.kind == "call":
        yield str(tree.value)
        for argument in tree.arguments:
            yield from _iterate_called_names(argument)


_MAX_NODES = 20_000


def iterate_postorder(expression: Expression) -> Iterator[Expression]:
    """Yield everything inside an expression and then it itself: arguments before what they are given to.

    Examples
    --------
    >>> [str(part) for part in iterate_postorder(parse_expression("1/(x + 2)"))]
    ['x', '2', 'x + 2', '1/(x + 2)']
    """
    # no recursion: a model is a sum as deep as it has terms
    waiting, seen = [expression], []
    while waiting:
        part = waiting.pop()
        seen.append(part)
        if isinstance(part, Call):
            waiting.extend(part.arguments)
    return reversed(seen)


def inline_definitions(
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
    >>> from symscreen.grammar.custom_operators import define_operator
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> print(*inline_definitions([Call(gauss, (Column("a b"),))]))
    exp(-`a b`**2)
    """
    try:
        definitions = collect_definitions(expressions, operators)
        known = build_operators(definitions, {})
    except GrammarError as error:
        raise OutputError(f"this cannot be written out: {error}") from None
    bodies: dict[str, Expression] = {}
    for name, definition in definitions.items():
        body = parse_expression(str(definition["formula"]), known, column_names=("x", "y"))
        bodies[name] = _inline_bodies(body, bodies)
    return tuple(_inline_bodies(expression, bodies) for expression in expressions)


def _inline_bodies(expression: Expression, bodies: Mapping[str, Expression]) -> Expression:
    def inline_call(call: Call) -> Expression:
        name = call.operator.name
        if name == "id":
            return call.arguments[0]
        body = bodies.get(name)
        if body is None:
            return call
        given = dict(zip(("x", "y"), call.arguments, strict=False))
        if (
            sum(_iterate_node_counts(body, {key: _count_nodes(part) for key, part in given.items()}))
            > _MAX_NODES
        ):
            raise OutputError(
                f"{name!r} comes to more than {_MAX_NODES:,} parts, written out; no language reads such"
            )
        return _rebuild(body, lambda applied: applied, given)

    return _rebuild(expression, inline_call)


def _count_nodes(expression: Expression) -> int:
    return sum(1 for _ in iterate_postorder(expression))


def _iterate_node_counts(body: Expression, sizes: Mapping[str, int]) -> Iterator[int]:
    return (sizes[part.name] if isinstance(part, Column) else 1 for part in iterate_postorder(body))


def fold_constants(expression: Expression) -> Expression:
    """Compute every part that holds no column, so that no language has to.

    Raises
    ------
    OutputError
        If such a part is undefined: the formula then has no value anywhere.

    Examples
    --------
    >>> print(fold_constants(parse_expression("x**(1/2 + 2*3)")))
    x**6.5
    """

    def fold_call(call: Call) -> Expression:
        numbers = [part.value for part in call.arguments if isinstance(part, Constant)]
        if len(numbers) < len(call.arguments):
            return call
        with np.errstate(all="ignore"):
            arrays = (np.array([number], dtype=np.float64) for number in numbers)
            value = float(replace_infinities(call.operator.numeric(*arrays))[0])
        if np.isnan(value):
            raise OutputError(
                f"the formula {quote_formula(expression)} has no value in any row: {quote_formula(call)} is "
                "undefined"
            )
        return Constant(to_plain_number(value))

    return _rebuild(expression, fold_call)


def quote_formula(expression: Expression) -> str:
    """Return the start of a formula's text in quotes, for messages."""
    text = to_text(expression)
    return repr(text if len(text) <= 60 else text[:60] + "…")


def _rebuild(
    expression: Expression,
    transform_call: Callable[[Call], Expression],
    substitutions: Mapping[str, Expression] | None = None,
) -> Expression:
    """Rebuild a tree from its leaves up, `one` saying what becomes of each application."""
    done: list[Expression] = []
    for part in iterate_postorder(expression):
        match part:
            case Call(operator, arguments):
                own = tuple(done[-len(arguments) :])
                del done[-len(arguments) :]
                done.append(transform_call(Call(operator, own)))
            case Column(name) if substitutions is not None:
                done.append(substitutions[name])
            case _:
                done.append(part)
    return done[0]
