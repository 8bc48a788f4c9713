"""What formulas need to know of operators beyond those that ship: definitions and costs, out and in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symscreen.errors import FormulaError, GrammarError, nearest
from symscreen.export.parts import parts_of
from symscreen.expression import Apply
from symscreen.grammar import OPERATORS
from symscreen.grammar import fingerprint as fp
from symscreen.grammar.define import define_operator
from symscreen.grammar.formula import parse_formula, quote_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from symscreen.expression import Expression
    from symscreen.grammar import Operator
    from symscreen.grammar.formula import Syntax

__all__ = ["costs_of", "definitions_of", "operators_from"]


def costs_of(expressions: Iterable[Expression]) -> dict[str, int]:
    """Collect the costs of shipped operators that a grammar has changed.

    Examples
    --------
    >>> from symscreen.expression import Column, apply
    >>> costs_of([apply(replace(OPERATORS["sin"], cost=3), apply(OPERATORS["cos"], Column("x")))])
    {'sin': 3}
    """
    return {
        operator.name: operator.cost
        for operator in _operators_in(expressions)
        if _ships(operator) and operator.cost != OPERATORS[operator.name].cost
    }


def definitions_of(
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
    >>> from symscreen.expression import Column, apply
    >>> gauss = define_operator("gauss", "exp(-x**2)", OPERATORS)
    >>> definitions_of([apply(gauss, Column("a"))])
    {'gauss': {'formula': 'exp(-x**2)', 'cost': 3}}
    """
    used: dict[str, Operator] = {}
    for operator in _operators_in(expressions):
        if not _alike(used.setdefault(operator.name, operator), operator):
            raise GrammarError(f"two operators are called {operator.name!r}; give one of them another name")
    known = {**operators, **used}
    ordered: dict[str, Operator] = {}
    for operator in used.values():
        _collect(operator, known, ordered, ())
    definitions: dict[str, dict[str, str | int]] = {
        name: {"formula": operator.summary, "cost": operator.cost} for name, operator in ordered.items()
    }
    rebuilt = operators_from(definitions, {})
    for name, operator in ordered.items():
        if not _alike(rebuilt[name], operator):
            raise GrammarError(f"the operator {name!r} is not what its formula {operator.summary!r} says")
    return definitions


def operators_from(
    definitions: Mapping[str, Mapping[str, str | int]], costs: Mapping[str, int]
) -> dict[str, Operator]:
    """Build the operators that formulas of a bundle may call.

    Parameters
    ----------
    definitions : mapping of str to mapping
        As `definitions_of` gives them: each may call those before it.
    costs : mapping of str to int
        As `costs_of` gives them.

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
    >>> built = operators_from({"gauss": {"formula": "exp(-x**2)", "cost": 2}}, {"exp": 5})
    >>> built["gauss"].cost, built["exp"].cost, built["sin"].cost
    (2, 5, 1)
    """
    operators = dict(OPERATORS)
    for name, cost in costs.items():
        if name not in OPERATORS:
            raise GrammarError(f"there is no operator {name!r}{nearest(name, OPERATORS)}")
        operators[name] = replace(OPERATORS[name], cost=cost)
    for name, definition in definitions.items():
        if quote_column(name) != name:
            raise GrammarError(f"{name!r} is no operator's name: plain identifiers are, such as sinpi")
        if name in operators:
            raise GrammarError(f"the operator {name!r} is defined twice, or ships")
        formula, cost = str(definition["formula"]), int(definition["cost"])
        operators[name] = define_operator(name, formula, operators, cost=cost)
    return operators


def _operators_in(expressions: Iterable[Expression]) -> Iterator[Operator]:
    for expression in expressions:
        for part in parts_of(expression):
            if isinstance(part, Apply):
                yield part.operator


def _ships(operator: Operator) -> bool:
    shipped = OPERATORS.get(operator.name)
    return shipped is not None and replace(shipped, cost=operator.cost) == operator


def _alike(one: Operator, other: Operator) -> bool:
    """Whether two operators are the same function at the same cost; its parts may have been built twice."""
    if (one.arity, one.cost) != (other.arity, other.cost):
        return False
    arguments = [fp.of_column(name) for name in ("x", "y")[: one.arity]]
    return bool((one.key(*arguments) == other.key(*arguments)).all())


def _collect(
    operator: Operator, known: Mapping[str, Operator], ordered: dict[str, Operator], inside: tuple[str, ...]
) -> None:
    """Put an operator behind those that its formula calls."""
    if operator.name in ordered or _ships(operator):
        return
    if operator.name in OPERATORS:
        raise GrammarError(f"the operator {operator.name!r} is not the one that ships; give it another name")
    try:
        called = _calls(parse_formula(operator.summary))
    except FormulaError:
        raise GrammarError(
            f"the operator {operator.name!r} is not defined by a formula, so no file can hold it"
        ) from None
    if operator.family is not None:
        known = {**operator.family.operators, **known}
    for name in dict.fromkeys(called):
        if name not in known or name in inside:
            raise GrammarError(
                f"the operator {operator.name!r} calls {name!r}, which is not known here; "
                "give the operators of its grammar"
            )
        _collect(known[name], known, ordered, (*inside, operator.name))
    ordered[operator.name] = operator


def _calls(tree: Syntax) -> Iterator[str]:
    if tree.kind == "call":
        yield str(tree.value)
        for argument in tree.arguments:
            yield from _calls(argument)
