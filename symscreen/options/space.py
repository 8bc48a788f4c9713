"""Which space is grown: the grammar, its layers, what cuts keep, what a fit searches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from symscreen.errors import OptionError, nearest
from symscreen.grammar import Grammar, load_grammar
from symscreen.options.values import at_least_1, list_of_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from symscreen.grammar import Layer
    from symscreen.options.values import Names

__all__ = ["idle_rules", "read_grammar", "read_keep", "read_schedule"]

_SCHEDULE = ("u", "b", "ub", "bu", "bub", "ubb")
_KEEP = re.compile(r"\s*(?:([ub])\s*:)?\s*(\d{1,18})\s*", re.ASCII)


def read_keep(keep: int | str | Mapping[str, int] | None) -> dict[str, int] | None:
    """Read how many features a cut keeps after each kind of layer.

    Parameters
    ----------
    keep : int, str, mapping or None
        ``200``, ``"u:50,b:200"``, ``{"u": 50, "b": 200}``; a kind that is not named is not cut.

    Returns
    -------
    dict of str to int, or None

    Raises
    ------
    OptionError
        If it cannot be read.

    Examples
    --------
    >>> read_keep("u:50, b:200"), read_keep(7)
    ({'u': 50, 'b': 200}, {'u': 7, 'b': 7})
    """
    if keep is None:
        return None
    if isinstance(keep, str):
        found: dict[str, int] = {}
        for part in keep.split(","):
            match = _KEEP.fullmatch(part)
            if match is None or set(match[1] or "ub") & set(found):
                raise OptionError(f"keep is {keep!r}; write 200, or u:50,b:200")
            found |= dict.fromkeys(match[1] or "ub", int(match[2]))
        keep = found
    if not isinstance(keep, Mapping):
        keep = dict.fromkeys("ub", at_least_1("keep", keep, ", or u:50,b:200"))
    for kind in keep:
        if kind not in {"u", "b"}:
            raise OptionError(f"keep names {kind!r}: layers are of the kinds u and b")
    return {kind: at_least_1(f"keep for {kind} layers", number) for kind, number in keep.items()}


def read_grammar(
    operators: str | Path | Grammar,
    layers: str | None,
    unary: Names | None,
    binary: Names | None,
    max_complexity: int | None,
) -> tuple[Grammar, tuple[Layer, ...]]:
    """Load a grammar, unless it is given as one, and alter it as the options say.

    Returns
    -------
    Grammar
    tuple of Layer
        The layers asked for, else the grammar's own.
    """
    grammar = operators if isinstance(operators, Grammar) else load_grammar(operators)
    grammar = grammar.altered(
        unary=None if unary is None else list_of_names(unary),
        binary=None if binary is None else list_of_names(binary),
        max_complexity=max_complexity,
    )
    return grammar, grammar.parsed_layers(layers)


def idle_rules(grammar: Grammar, layers: Sequence[Layer], names: Sequence[str]) -> list[str]:
    """Tell of column rules that keep an operator from every column, as a misspelt name does."""
    used = {operator.name for layer in layers for operator in layer.operators}
    return [
        f"the grammar lets {operator} touch only columns that the table lacks{nearest(min(columns), names)}"
        for operator, columns in grammar.columns.items()
        if operator in used and columns.isdisjoint(names) and columns
    ]


def read_schedule(grammar: Grammar, layers: str | None) -> tuple[tuple[Layer, ...], ...]:
    """Return the spaces that a fit searches, as their layers.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    layers : str or None
        What the user asked for: its prefixes and itself. None for `_SCHEDULE`, as far as the grammar has
        operators for it.

    Returns
    -------
    tuple of tuple of Layer
        A space comes behind its prefixes.
    """
    if layers is not None:
        asked = grammar.parsed_layers(layers)
        return tuple(asked[:depth] for depth in range(1, len(asked) + 1))
    has = {"u": bool(grammar.unary), "b": bool(grammar.binary)}
    fitting = [kinds for kinds in _SCHEDULE if all(has[kind] for kind in kinds)]
    return tuple(grammar.parsed_layers(kinds) for kinds in fitting)
