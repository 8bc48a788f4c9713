"""Operator definitions in exports: collect, rebuild and inline them, and fold constants.

A bundle stores the definitions and costs of operators that are not built in (`collect_definitions`,
`collect_changed_costs`, `build_operators`). Source text in other languages contains only built-in operators:
`inline_definitions` replaces each call of a defined operator by its definition, and `fold_constants` computes
subexpressions without columns.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import FormulaError, GrammarError, OutputError
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import (
    fold_expression,
    iterate_preorder,
    rebuild_expression,
)
from symscreen.expressions.tree import Call, Constant, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.custom_operators import define_operator, replace_infinities, to_plain_number
from symscreen.grammar.parser import parse_formula, quote_column
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator
    from symscreen.grammar.parser import SyntaxNode

_MAX_NODES = 20_000  # nodes of one definition after inlining


def collect_changed_costs(expressions: Iterable[Expression]) -> dict[str, int]:
    """Collect the costs of built-in operators that a grammar has changed.

    Examples
    --------
    >>> from symscreen.expressions.tree import Column
    >>> inner = Call(OPERATORS["cos"], (Column("x"),))
    >>> collect_changed_costs([Call(replace(OPERATORS["sin"], cost=3), (inner,))])
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
    """Collect the definitions that are needed to read formulas without their grammar.

    Parameters
    ----------
    expressions : iterable of Expression
        The formulas.
    operators : mapping of str to Operator
        The operators of the grammar. They are needed if a definition calls operators that occur in no
        formula.

    Returns
    -------
    dict of str to dict
        Formula and cost of each operator that is not built in. Each definition follows those that it calls.

    Raises
    ------
    GrammarError
        If two operators share a name, an operator differs from its formula, or it calls an unknown operator.

    Examples
    --------
    >>> from symscreen.expressions.tree import Column
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> collect_definitions([Call(gauss, (Column("a"),))])
    {'gauss': {'formula': 'exp(-x**2)', 'cost': 3}}
    """
    used: dict[str, Operator] = {}
    for operator in _iterate_operators(expressions):
        if not _is_same_operator(used.setdefault(operator.name, operator), operator):
            raise GrammarError(f"two operators are named {operator.name!r}; rename one of them")
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
            raise GrammarError(f"the operator {name!r} differs from its formula {operator.summary!r}")
    return definitions


def build_operators(
    definitions: Mapping[str, Mapping[str, str | int]], costs: Mapping[str, int]
) -> dict[str, Operator]:
    """Build the operators that the formulas of a bundle may call.

    Parameters
    ----------
    definitions : mapping of str to mapping
        Formulas and costs, as `collect_definitions` returns them. Each may call those before it.
    costs : mapping of str to int
        Costs of built-in operators, as `collect_changed_costs` returns them.

    Returns
    -------
    dict of str to Operator
        The defined operators and all built-in operators.

    Raises
    ------
    GrammarError
        If a name is not a plain identifier, is taken or unknown, or a definition is invalid.
    FormulaError
        If a definition cannot be parsed.

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
            raise GrammarError(f"{name!r} is not an operator name; use a plain identifier, such as sinpi")
        if name in operators:
            raise GrammarError(f"the operator {name!r} is built in or defined twice")
        formula, cost = str(definition["formula"]), int(definition["cost"])
        operators[name] = define_operator(name, formula, operators, cost=cost)
    return operators


def _iterate_operators(expressions: Iterable[Expression]) -> Iterator[Operator]:
    for expression in expressions:
        for node in iterate_preorder(expression):
            if isinstance(node, Call):
                yield node.operator


def _is_shipped(operator: Operator) -> bool:
    shipped = OPERATORS.get(operator.name)
    return shipped is not None and replace(shipped, cost=operator.cost) == operator


def _is_same_operator(first: Operator, second: Operator) -> bool:
    """Return whether two operators, which may be different objects, are one function at one cost."""
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
    """Add an operator to `ordered`, after the operators that its formula calls."""
    if operator.name in ordered or _is_shipped(operator):
        return
    if operator.name in OPERATORS:
        raise GrammarError(f"the operator {operator.name!r} differs from the built-in one; rename it")
    try:
        called = _iterate_called_names(parse_formula(operator.summary))
    except FormulaError:
        raise GrammarError(
            f"the operator {operator.name!r} is not defined by a formula, so it cannot be saved"
        ) from None
    if operator.family is not None:
        known_operators = {**operator.family.operators, **known_operators}
    for name in dict.fromkeys(called):
        if name not in known_operators or name in callers:
            raise GrammarError(
                f"the operator {operator.name!r} calls {name!r}, which is unknown; "
                "pass the operators of its grammar"
            )
        _add_after_dependencies(known_operators[name], known_operators, ordered, (*callers, operator.name))
    ordered[operator.name] = operator


def _iterate_called_names(tree: SyntaxNode) -> Iterator[str]:
    if tree.kind == "call":
        yield str(tree.value)
        for argument in tree.arguments:
            yield from _iterate_called_names(argument)


def inline_definitions(
    expressions: Sequence[Expression], operators: Mapping[str, Operator] = OPERATORS
) -> tuple[Expression, ...]:
    """Replace each operator that is not built in by its definition.

    Parameters
    ----------
    expressions : sequence of Expression
        The formulas.
    operators : mapping of str to Operator
        The operators of the grammar. They are needed if the definition of one operator calls another.

    Returns
    -------
    tuple of Expression
        Formulas with the same values.

    Raises
    ------
    OutputError
        If an operator is not defined by a formula, or a formula would have more than 20,000 nodes.

    Examples
    --------
    >>> from symscreen.grammar.custom_operators import define_operator
    >>> from symscreen.expressions.tree import Column
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> print(*inline_definitions([Call(gauss, (Column("a b"),))]))
    exp(-`a b`**2)
    """
    try:
        definitions = collect_definitions(expressions, operators)
        known = build_operators(definitions, {})
    except GrammarError as error:
        raise OutputError(f"the formulas cannot be exported: {error}") from None
    bodies: dict[str, Expression] = {}
    for name, definition in definitions.items():
        body = parse_expression(str(definition["formula"]), known, column_names=("x", "y"))
        bodies[name] = _inline_bodies(body, bodies)
    return tuple(_inline_bodies(expression, bodies) for expression in expressions)


def _inline_bodies(expression: Expression, bodies: Mapping[str, Expression]) -> Expression:
    """Replace each call of an operator in `bodies` by its body, and drop the operator ``id``."""

    def inline_call(call: Call, operands: list[Expression]) -> Expression:
        name = call.operator.name
        if name == "id":
            return operands[0]
        body = bodies.get(name)
        if body is None:
            return Call(call.operator, tuple(operands))
        arguments = dict(zip(("x", "y"), operands, strict=False))
        if _count_nodes(body, {key: _count_nodes(part) for key, part in arguments.items()}) > _MAX_NODES:
            raise OutputError(
                f"{name!r} has more than {_MAX_NODES:,} parts after inlining; no language can read it"
            )
        return rebuild_expression(body, column=lambda column: arguments[column.name])

    return rebuild_expression(expression, call=inline_call)


def _count_nodes(expression: Expression, column_sizes: Mapping[str, int] = MappingProxyType({})) -> int:
    """Count the nodes of an expression; a column counts as the size of the expression that replaces it."""
    return fold_expression(
        expression,
        column=lambda name: column_sizes.get(name, 1),
        number=lambda _: 1,
        call=lambda _, sizes: 1 + sum(sizes),
    )


def fold_constants(expression: Expression) -> Expression:
    """Compute every subexpression without columns, so that no target language has to.

    Raises
    ------
    OutputError
        If such a subexpression is undefined, so that the formula is undefined everywhere.

    Examples
    --------
    >>> print(fold_constants(parse_expression("x**(1/2 + 2*3)")))
    x**6.5
    """

    def fold_call(call: Call, operands: list[Expression]) -> Expression:
        call = Call(call.operator, tuple(operands))
        numbers = [part.value for part in operands if isinstance(part, Constant)]
        if len(numbers) < len(operands):
            return call
        with np.errstate(all="ignore"):
            arrays = (np.array([number], dtype=np.float64) for number in numbers)
            value = float(replace_infinities(call.operator.numeric(*arrays))[0])
        if np.isnan(value):
            raise OutputError(
                f"the formula {quote_formula(expression)} is undefined in every row, because "
                f"{quote_formula(call)} is undefined"
            )
        return Constant(to_plain_number(value))

    return rebuild_expression(expression, call=fold_call)


def quote_formula(expression: Expression) -> str:
    """Quote a formula's text for a message; at most 60 characters are shown."""
    text = to_text(expression)
    return repr(text if len(text) <= 60 else text[:60] + "…")
