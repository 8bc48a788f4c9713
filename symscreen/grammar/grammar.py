"""The two notations of ``--layers``: ``ubb``, and ``u[sin,square] b[add,sub]`` with a list per layer.

A grammar: a named set of operators with the rules by which formulas may be built.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from symscreen.errors import GrammarError, OptionError, suggest
from symscreen.grammar.operator import find_operators_by_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.grammar.operator import Operator


__all__ = ["Grammar", "Layer", "parse_layers", "resolve_operators"]

_LAYER_PATTERN = re.compile(r"([ub])(?:\s*\[([^\[\]]*)\])?[\s,]*")
_ARITY_NAMES = {1: "unary", 2: "binary"}
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


def resolve_operators(
    names: Sequence[str], arity: int, operators: Mapping[str, Operator], location: str
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
        meant = find_operators_by_name(name, operators)
        if not meant:
            same = [known.name for known in operators.values() if known.arity == arity]
            raise GrammarError(
                f"{location}: there is no {_ARITY_NAMES[arity]} operator {name!r}{suggest(name, same)}"
            )
        if meant[0].arity != arity:
            other = _ARITY_NAMES[meant[0].arity]
            raise GrammarError(f"{location}: {name!r} is a {other} operator; list it under {other}")
        for operator in meant:
            if operator.name in found:
                raise GrammarError(f"{location}: {operator.name!r} is listed twice")
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
    >>> from symscreen.grammar.builtin_operators import CORE_OPERATORS
    >>> sin, add = CORE_OPERATORS["sin"], CORE_OPERATORS["add"]
    >>> [str(layer) for layer in parse_layers("u b[sub,mul]", (sin,), (add,), CORE_OPERATORS)]
    ['u[sin]', 'b[sub,mul]']
    """
    layers: list[Layer] = []
    place, text = 0, text.strip()
    while place < len(text):
        match = _LAYER_PATTERN.match(text, place)
        if match is None:
            raise OptionError(
                f"layers, character {place + 1}: expected u or b, as in 'ub' or 'u[sin,square] b[add,sub]', "
                f"found {text[place : place + 20]!r}"
            )
        kind: Literal["u", "b"] = "u" if match[1] == "u" else "b"
        arity, chosen = (1, unary) if kind == "u" else (2, binary)
        if match[2] is not None:
            where = f"layer {len(layers) + 1} ({kind})"
            chosen = resolve_operators(match[2].split(","), arity, operators, where)
        if not chosen:
            word = _ARITY_NAMES[arity]
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


@dataclass(frozen=True, eq=False)
class Grammar:
    """Operators and rules.

    Parameters
    ----------
    name : str
        The grammar's name, or the path of its file.
    operators : mapping of str to Operator
        All that layers and formulas may name, with this grammar's costs: what ships and what it defines.
    unary, binary : tuple of Operator
        What ``u`` and ``b`` stand for.
    description : str
        One line.
    layers : str
        The default of ``--layers``.
    constants : tuple of int
        Numbers that stand in every pool beside the features.
    max_complexity : int or None
        The highest complexity of a feature.
    forbid : mapping of str to frozenset of str
        Outer operator to those that may not stand directly inside it.
    forbid_within : mapping of str to frozenset of str
        Outer operator to those that may not stand anywhere inside it.
    columns : mapping of str to frozenset of str
        Operator to the only columns that it may touch.
    """

    name: str
    operators: Mapping[str, Operator]
    unary: tuple[Operator, ...]
    binary: tuple[Operator, ...]
    description: str = ""
    layers: str = "ub"
    constants: tuple[int, ...] = ()
    max_complexity: int | None = None
    forbid: Mapping[str, frozenset[str]] = field(default_factory=dict)
    forbid_within: Mapping[str, frozenset[str]] = field(default_factory=dict)
    columns: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        unary, binary = (" ".join(one.name for one in each) or "none" for each in (self.unary, self.binary))
        return f"<Grammar {self.name}: unary {unary}; binary {binary}; layers {self.layers}>"

    def override(
        self,
        *,
        unary: Sequence[str] | None = None,
        binary: Sequence[str] | None = None,
        max_complexity: int | None = None,
    ) -> Grammar:
        """Return this grammar with other operator lists or another cap; its rules stay.

        Raises
        ------
        GrammarError
            If an operator is unknown, of the other arity, or listed twice.
        OptionError
            If the cap is below 1.
        """
        if max_complexity is not None and max_complexity < 1:
            raise OptionError(f"max_complexity is {max_complexity}; a single column already has complexity 1")
        return replace(
            self,
            unary=self.unary if unary is None else resolve_operators(unary, 1, self.operators, "--unary"),
            binary=self.binary
            if binary is None
            else resolve_operators(binary, 2, self.operators, "--binary"),
            max_complexity=self.max_complexity if max_complexity is None else max_complexity,
        )

    def resolve_layers(self, text: str | None = None) -> tuple[Layer, ...]:
        """Read ``--layers`` with this grammar's operators; None stands for its own default."""
        return parse_layers(self.layers if text is None else text, self.unary, self.binary, self.operators)
