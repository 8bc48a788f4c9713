"""Which layers reach a formula: from its tree, without growing anything."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Literal

from symscreen.expression import Apply, Column, Constant
from symscreen.grammar import OPERATORS
from symscreen.grammar.layers import Layer
from symscreen.whereabouts.parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.expansion import PoolKind
    from symscreen.expression import Expression
    from symscreen.grammar import Grammar, Operator

__all__ = ["Missing", "missing_for", "pools_with", "reached"]

_LONGEST = 8


@dataclass(frozen=True, slots=True)
class Missing:
    """What a space would have to be grown with.

    Parameters
    ----------
    operators : tuple of str
        Operators that neither the grammar's lists nor the layers name.
    constants : tuple of float
        Numbers that the grammar does not put into the pool.
    layers : str
        The shortest layers that reach the formula with them; empty where more than eight are needed.
    """

    operators: tuple[str, ...]
    constants: tuple[float, ...]
    layers: str


def pools_with(
    expression: Expression, layers: Sequence[Layer], constants: Sequence[float], pool_kind: PoolKind
) -> set[int]:
    """Say after how many layers a formula, as it is written, is in the pool.

    Parameters
    ----------
    expression : Expression
        The formula.
    layers : sequence of Layer
        What is applied, in this order.
    constants : sequence of float
        Numbers that stand in every pool.
    pool_kind : {"cumulative", "strict"}
        As in `expand`.

    Returns
    -------
    set of int
        Out of 0 … the number of layers. Rules, domains and caps are not looked at.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> from symscreen.grammar import load_grammar
    >>> layers = load_grammar("basic").parsed_layers("ubb")
    >>> pools_with(parse("x + sin(y)"), layers, (), "cumulative")
    {2, 3}
    >>> pools_with(parse("x"), layers, (), "strict")
    {0}
    """
    count = len(layers)
    if isinstance(expression, Constant):
        return set(range(count + 1)) if expression.value in constants else set()
    if isinstance(expression, Column):
        found = {0}
    else:
        arguments = (pools_with(each, layers, constants, pool_kind) for each in expression.arguments)
        before = reduce(set[int].intersection, arguments)
        name = expression.operator.name
        found = {at + 1 for at in before if at < count and _has(layers[at], name)}
    if pool_kind == "cumulative":
        return set(range(min(found), count + 1)) if found else found
    for at in range(count):
        if at in found and _has(layers[at], "id"):
            found.add(at + 1)
    return found


def _has(layer: Layer, name: str) -> bool:
    return any(operator.name == name for operator in layer.operators)


def reached(
    expression: Expression, layers: Sequence[Layer], constants: Sequence[float], pool_kind: PoolKind
) -> bool:
    """Say whether a formula, as it is written, is made by some layers; see `pools_with`."""
    return len(layers) in pools_with(expression, layers, constants, pool_kind)


def missing_for(
    expression: Expression, grammar: Grammar, layers: Sequence[Layer], pool_kind: PoolKind
) -> Missing:
    """Say what a space would have to be grown with to hold a formula as it is written.

    Parameters
    ----------
    expression : Expression
        The formula.
    grammar : Grammar
        What there is.
    layers : sequence of Layer
        What is applied.
    pool_kind : {"cumulative", "strict"}
        As in `expand`.

    Returns
    -------
    Missing

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> from symscreen.grammar import load_grammar
    >>> basic = load_grammar("basic")
    >>> missing_for(parse("tanh(x + 3*y)"), basic, basic.parsed_layers("u"), "cumulative")
    Missing(operators=('tanh',), constants=(3,), layers='bbu')
    """
    known = {one.name: one for one in (*grammar.unary, *grammar.binary)}
    known |= {one.name: one for layer in layers for one in layer.operators}
    parts = list(parts_of(expression))
    used = {part.operator.name: part.operator for part in parts if isinstance(part, Apply)}
    numbers = {part.value: None for part in parts if isinstance(part, Constant)}
    lacking = tuple(sorted(used.keys() - known.keys()))
    constants = tuple(value for value in numbers if value not in grammar.constants)
    written = "".join(layer.kind for layer in layers)
    operators = list((known | used).values())
    if pool_kind == "strict" and "id" not in known and not _shortest(expression, operators, pool_kind, ""):
        lacking, operators = (*lacking, "id"), [*operators, OPERATORS["id"]]
    return Missing(lacking, constants, _shortest(expression, operators, pool_kind, written))


def _shortest(
    expression: Expression, operators: Sequence[Operator], pool_kind: PoolKind, written: str
) -> str:
    """Return the shortest layers that reach a formula; of several, those that begin as the user's do."""
    by_kind: dict[str, Layer] = {
        kind: Layer(kind, tuple(one for one in operators if one.arity == arity))
        for kind, arity in _ARITY.items()
    }
    numbers = [part.value for part in parts_of(expression) if isinstance(part, Constant)]
    for length in range(1, _LONGEST + 1):
        found = [
            kinds
            for kinds in product("ub", repeat=length)
            if reached(expression, [by_kind[kind] for kind in kinds], numbers, pool_kind)
        ]
        if found:
            return min(map("".join, found), key=lambda kinds: (-_in_common(kinds, written), kinds))
    return ""


_ARITY: dict[Literal["u", "b"], int] = {"u": 1, "b": 2}


def _in_common(one: str, other: str) -> int:
    """Count the letters with which both begin."""
    same = [a == b for a, b in zip(one, other, strict=False)]
    return same.index(False) if False in same else len(same)
