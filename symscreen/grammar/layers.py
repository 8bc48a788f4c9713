"""The two notations of ``--layers``: ``ubb``, and ``u[sin,square] b[add,sub]`` with a list per layer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from symscreen.errors import GrammarError, OptionError, nearest
from symscreen.grammar.operator import meant_by

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.grammar.operator import Operator

__all__ = ["Layer", "named_operators", "parse_layers"]

_LAYER = re.compile(r"([ub])(?:\s*\[([^\[\]]*)\])?[\s,]*")
_WORD = {1: "unary", 2: "binary"}
_MAX_LAYERS = 50


@dataclass(frozen=True, slots=True)
class Layer:
    """One application of operators of one arity to the whole pool.

    Parameters
    ----------
    kind : {"u", "b"}
        Unary or binary.
    operators : tuple of Operator
        The operators applied.
    """

    kind: Literal["u", "b"]
    operators: tuple[Operator, ...]

    def __str__(self) -> str:
        return f"{self.kind}[{','.join(operator.name for operator in self.operators)}]"


def named_operators(
    names: Sequence[str], arity: int, operators: Mapping[str, Operator], where: str
) -> tuple[Operator, ...]:
    """Look up operators of one arity by name, each once; a family's name means all of its operators.

    Parameters
    ----------
    names : sequence of str
        As the user wrote them.
    arity : {1, 2}
        The number of arguments they must take.
    operators : mapping
        Those that exist.
    where : str
        For the message: ``--unary``, or a grammar's file and key.

    Raises
    ------
    GrammarError
        If a name is unknown, given twice, or of the other arity.
    """
    found: dict[str, Operator] = {}
    for name in map(str.strip, names):
        meant = meant_by(name, operators)
        if not meant:
            same = [known.name for known in operators.values() if known.arity == arity]
            raise GrammarError(f"{where}: there is no {_WORD[arity]} operator {name!r}{nearest(name, same)}")
        if meant[0].arity != arity:
            other = _WORD[meant[0].arity]
            raise GrammarError(f"{where}: {name!r} is a {other} operator; list it under {other}")
        for operator in meant:
            if operator.name in found:
                raise GrammarError(f"{where}: {operator.name!r} is listed twice")
            found[operator.name] = operator
    return tuple(found.values())


def parse_layers(
    text: str,
    unary: tuple[Operator, ...],
    binary: tuple[Operator, ...],
    operators: Mapping[str, Operator],
) -> tuple[Layer, ...]:
    """Read layers in either notation.

    Parameters
    ----------
    text : str
        ``ub``, or ``u[sin,square] b[add,sub]``; the two may be mixed.
    unary, binary : tuple of Operator
        What a ``u`` and a ``b`` without a list stand for.
    operators : mapping
        The operators that a list may name.

    Returns
    -------
    tuple of Layer

    Raises
    ------
    OptionError
        If the text does not parse, is empty, or a layer would have no operator.
    GrammarError
        If a list names an unknown operator.

    Examples
    --------
    >>> from symscreen.grammar.built_in import BUILT_IN
    >>> sin, add = BUILT_IN["sin"], BUILT_IN["add"]
    >>> [str(layer) for layer in parse_layers("u b[sub,mul]", (sin,), (add,), BUILT_IN)]
    ['u[sin]', 'b[sub,mul]']
    """
    layers: list[Layer] = []
    place, text = 0, text.strip()
    while place < len(text):
        match = _LAYER.match(text, place)
        if match is None:
            raise OptionError(
                f"layers, character {place + 1}: expected u or b, as in 'ub' or 'u[sin,square] b[add,sub]', "
                f"found {text[place : place + 20]!r}"
            )
        kind: Literal["u", "b"] = "u" if match[1] == "u" else "b"
        arity, chosen = (1, unary) if kind == "u" else (2, binary)
        if match[2] is not None:
            where = f"layer {len(layers) + 1} ({kind})"
            chosen = named_operators(match[2].split(","), arity, operators, where)
        if not chosen:
            word = _WORD[arity]
            raise OptionError(
                f"layer {len(layers) + 1} is {kind!r} but there are no {word} operators; give --{word}"
            )
        layers.append(Layer(kind, chosen))
        place = match.end()
    if len(layers) > _MAX_LAYERS:
        raise OptionError(f"layers asks for {len(layers)} layers; at most {_MAX_LAYERS} are grown")
    if not layers:
        raise OptionError("layers is empty; give for instance --layers ub")
    return tuple(layers)
