"""Grammars: named sets of operators, with layers and rules that restrict the formulas.

Layers are written as ``ubb``, or with a list of operators per layer as ``u[sin,square] b[add,sub]``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from symscreen.data.time_operators import parse_time_operator
from symscreen.errors import GrammarError, OptionError
from symscreen.grammar.operator import find_operators_by_name
from symscreen.messages import name_option, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.data.time_operators import TimeOperator
    from symscreen.grammar.operator import Operator


_LAYER_PATTERN = re.compile(r"([ub])(?:\s*\[([^\[\]]*)\])?[\s,]*")
_ARITY_NAMES = {1: "unary", 2: "binary"}
_MAX_LAYERS = 50
_MAX_EXCERPT_CHARS = 20  # characters of a text that a message quotes


@dataclass(frozen=True, slots=True)
class Layer:
    """The application of operators of one arity to the whole pool.

    Parameters
    ----------
    kind : {"u", "b"}
        Unary or binary.
    operators : tuple of Operator
        The operators to apply.
    """

    kind: Literal["u", "b"]
    operators: tuple[Operator, ...]

    def __str__(self) -> str:
        return f"{self.kind}[{','.join(operator.name for operator in self.operators)}]"


def resolve_operators(
    names: Sequence[str], arity: int, operators: Mapping[str, Operator], location: str
) -> tuple[Operator, ...]:
    """Find operators of one arity by name. The name of a family selects all of its operators.

    Parameters
    ----------
    names : sequence of str
        Names as written by the user.
    arity : {1, 2}
        Required number of arguments.
    operators : mapping of str to Operator
        The available operators.
    location : str
        Source of the names, for messages: a reference to an option, or a file and a key.

    Returns
    -------
    tuple of Operator

    Raises
    ------
    GrammarError
        If a name is unknown or repeated, or the operator has another arity.
    """
    resolved: dict[str, Operator] = {}
    for name in map(str.strip, names):
        matches = find_operators_by_name(name, operators)
        if not matches and parse_time_operator(name) is not None:
            raise GrammarError(
                f"{location}: {name} acts on columns, before the first layer: name it in "
                f"{name_option('unary')} or {name_option('with_operators')}"
            )
        if not matches:
            same_arity = [candidate.name for candidate in operators.values() if candidate.arity == arity]
            raise GrammarError(
                f"{location}: there is no {_ARITY_NAMES[arity]} operator {name!r}{suggest(name, same_arity)}"
            )
        if matches[0].arity != arity:
            other_arity = _ARITY_NAMES[matches[0].arity]
            raise GrammarError(
                f"{location}: {name!r} is a {other_arity} operator; list it under {other_arity}"
            )
        for operator in matches:
            if operator.name in resolved:
                raise GrammarError(f"{location}: {operator.name!r} is listed twice")
            resolved[operator.name] = operator
    return tuple(resolved.values())


def split_time_operators(names: Sequence[str], location: str) -> tuple[list[str], tuple[TimeOperator, ...]]:
    """Split names of unary operators into those of layers and the operators of time.

    Where only operators of time are named, a layer of unary operators changes nothing: it has `id`.

    Raises
    ------
    GrammarError
        If an operator of time is listed twice.

    Examples
    --------
    >>> split_time_operators(["sin", "lag1"], "unary")
    (['sin'], (TimeOperator(name='lag1', kind='lag', n_before=1),))
    >>> split_time_operators(["diff"], "unary")[0]
    ['id']
    """
    others, found = [], []
    for name in map(str.strip, names):
        operator = parse_time_operator(name)
        if operator is None:
            others.append(name)
        elif operator in found:
            raise GrammarError(f"{location}: {name!r} is listed twice")
        else:
            found.append(operator)
    return (others or ["id"] if found else others), tuple(found)


def parse_layers(
    text: str,
    unary: tuple[Operator, ...],
    binary: tuple[Operator, ...],
    operators: Mapping[str, Operator],
) -> tuple[Layer, ...]:
    """Parse layers.

    Parameters
    ----------
    text : str
        Layers such as ``ub`` or ``u[sin,square] b[add,sub]``; the two notations can be mixed.
    unary, binary : tuple of Operator
        Operators of a layer ``u`` or ``b`` without a list.
    operators : mapping of str to Operator
        Operators that a list may name.

    Returns
    -------
    tuple of Layer
        1 to 50 layers.

    Raises
    ------
    OptionError
        If the text cannot be parsed, is empty or has too many layers, or a layer has no operators.
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
    position, text = 0, text.strip()
    while position < len(text):
        match = _LAYER_PATTERN.match(text, position)
        if match is None:
            raise OptionError(
                f"layers, character {position + 1}: expected u or b, as in 'ub' or 'u[sin,square] "
                f"b[add,sub]', found {text[position : position + _MAX_EXCERPT_CHARS]!r}"
            )
        kind: Literal["u", "b"] = "u" if match[1] == "u" else "b"
        arity, layer_operators = (1, unary) if kind == "u" else (2, binary)
        if match[2] is not None:
            location = f"layer {len(layers) + 1} ({kind})"
            layer_operators = resolve_operators(match[2].split(","), arity, operators, location)
        if not layer_operators:
            arity_name = _ARITY_NAMES[arity]
            raise OptionError(
                f"layer {len(layers) + 1} is {kind!r} but there are no {arity_name} operators; give "
                f"{name_option(arity_name)}"
            )
        layers.append(Layer(kind, layer_operators))
        position = match.end()
    if len(layers) > _MAX_LAYERS:
        raise OptionError(f"layers has {len(layers)} layers; at most {_MAX_LAYERS} are supported")
    if not layers:
        raise OptionError(f"layers is empty; give for instance {name_option('layers', 'ub')}")
    return tuple(layers)


@dataclass(frozen=True, eq=False)
class Grammar:
    """A set of operators, with layers and rules.

    Parameters
    ----------
    name : str
        Name of the grammar, or path of its file.
    operators : mapping of str to Operator
        All operators that layers and formulas may use, built-in and defined, with the grammar's costs.
    unary, binary : tuple of Operator
        Operators of a layer ``u`` or ``b`` without a list.
    description : str
        One line.
    layers : str
        Default of the option `layers`.
    constants : tuple of float
        Numbers that are in every pool in addition to the features: integers, and π.
    max_complexity : int or None
        Maximum complexity of a feature.
    forbid : mapping of str to frozenset of str
        For an outer operator, the operators that must not be its direct arguments.
    forbid_within : mapping of str to frozenset of str
        For an outer operator, the operators that must not occur anywhere inside it.
    columns : mapping of str to frozenset of str
        For an operator, the only columns that it may be applied to.
    max_range : mapping of str to float
        For an operator, the largest difference of two values, in the rows, that an argument may have.
    time_operators : tuple of TimeOperator
        Operators of time, which act on columns before the first layer.
    """

    name: str
    operators: Mapping[str, Operator]
    unary: tuple[Operator, ...]
    binary: tuple[Operator, ...]
    description: str = ""
    layers: str = "ub"
    constants: tuple[float, ...] = ()
    max_complexity: int | None = None
    forbid: Mapping[str, frozenset[str]] = field(default_factory=dict)
    forbid_within: Mapping[str, frozenset[str]] = field(default_factory=dict)
    columns: Mapping[str, frozenset[str]] = field(default_factory=dict)
    max_range: Mapping[str, float] = field(default_factory=dict)
    time_operators: tuple[TimeOperator, ...] = ()

    def __repr__(self) -> str:
        unary, binary = (
            " ".join(operator.name for operator in operators) or "none"
            for operators in (self.unary, self.binary)
        )
        return f"<Grammar {self.name}: unary {unary}; binary {binary}; layers {self.layers}>"

    def override(
        self,
        *,
        unary: Sequence[str] | None = None,
        binary: Sequence[str] | None = None,
        max_complexity: int | None = None,
    ) -> Grammar:
        """Return this grammar with other operator lists or another complexity limit. The rules are kept.

        Parameters
        ----------
        unary, binary : sequence of str, optional
            Names of the operators; None keeps the current ones. The unary ones may contain operators of time,
            such as ``lag1``. The default layers of a kind without operators are left out.
        max_complexity : int, optional
            Maximum complexity, ≥ 1; None keeps the current one.

        Returns
        -------
        Grammar

        Raises
        ------
        GrammarError
            If an operator is unknown, has another arity or is repeated.
        OptionError
            If the limit is below 1.
        """
        if max_complexity is not None and max_complexity < 1:
            raise OptionError(f"max_complexity is {max_complexity}; a single column already has complexity 1")
        time_operators = self.time_operators
        if unary is not None:
            unary, time_operators = split_time_operators(unary, name_option("unary"))
        return replace(
            self,
            time_operators=time_operators,
            unary=self.unary
            if unary is None
            else resolve_operators(unary, 1, self.operators, name_option("unary")),
            binary=self.binary
            if binary is None
            else resolve_operators(binary, 2, self.operators, name_option("binary")),
            layers=_drop_empty_layers(self.layers, unary, binary),
            max_complexity=self.max_complexity if max_complexity is None else max_complexity,
        )

    def add_operators(self, names: Sequence[str]) -> Grammar:
        """Return this grammar with more operators, unary or binary, in layers without a list.

        Parameters
        ----------
        names : sequence of str
            Names of operators or families. Those that layers have already stay where they are.

        Returns
        -------
        Grammar

        Raises
        ------
        GrammarError
            If an operator is unknown.
        """
        lists = {1: list(self.unary), 2: list(self.binary)}
        time_operators = list(self.time_operators)
        for name in map(str.strip, names):
            time_operator = parse_time_operator(name)
            if time_operator is not None:
                time_operators += [] if time_operator in time_operators else [time_operator]
                continue
            matches = find_operators_by_name(name, self.operators)
            if not matches:
                raise GrammarError(
                    f"{name_option('with_operators')}: there is no operator {name!r}"
                    f"{suggest(name, self.operators)}"
                )
            for operator in matches:
                if operator not in lists[operator.arity]:
                    lists[operator.arity].append(operator)
        return replace(
            self, unary=tuple(lists[1]), binary=tuple(lists[2]), time_operators=tuple(time_operators)
        )

    def resolve_layers(self, text: str | None = None) -> tuple[Layer, ...]:
        """Parse layers with the operators of this grammar; None selects the grammar's default layers."""
        return parse_layers(self.layers if text is None else text, self.unary, self.binary, self.operators)


def _drop_empty_layers(layers: str, unary: Sequence[str] | None, binary: Sequence[str] | None) -> str:
    """Remove the layers that would have no operators from a default such as ``ub``; keep one at least."""
    kinds = (("u", unary), ("b", binary))
    empty = [kind for kind, names in kinds if names is not None and len(names) == 0]
    kept = "".join(letter for letter in layers if letter not in empty)
    return kept if empty and kept.strip() and not layers.strip("ub ") else layers
