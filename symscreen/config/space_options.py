"""Which space is grown: the grammar, its layers, what cuts keep, what a fit searches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from symscreen.config.parsing import check_positive_int, parse_names
from symscreen.errors import OptionError
from symscreen.grammar import Grammar, load_grammar
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.config.screen_options import SpaceOptions
    from symscreen.grammar import Layer


_DEFAULT_SCHEDULE = ("u", "b", "ub", "bu", "bub", "ubb")
_POOL_SIZE_PATTERN = re.compile(r"\s*(?:([ub])\s*:)?\s*(\d{1,18})\s*", re.ASCII)


def parse_pool_sizes(pool_size: int | str | Mapping[str, int] | None) -> dict[str, int] | None:
    """Read how many features a cut keeps after each kind of layer.

    Parameters
    ----------
    pool_size : int, str, mapping or None
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
    >>> parse_pool_sizes("u:50, b:200"), parse_pool_sizes(7)
    ({'u': 50, 'b': 200}, {'u': 7, 'b': 7})
    """
    if pool_size is None:
        return None
    if isinstance(pool_size, str):
        found: dict[str, int] = {}
        for part in pool_size.split(","):
            match = _POOL_SIZE_PATTERN.fullmatch(part)
            if match is None or set(match[1] or "ub") & set(found):
                raise OptionError(f"pool_size is {pool_size!r}; write 200, or u:50,b:200")
            found |= dict.fromkeys(match[1] or "ub", int(match[2]))
        pool_size = found
    if not isinstance(pool_size, Mapping):
        pool_size = dict.fromkeys("ub", check_positive_int("pool_size", pool_size, ", or u:50,b:200"))
    for kind in pool_size:
        if kind not in {"u", "b"}:
            raise OptionError(f"pool_size names {kind!r}: layers are of the kinds u and b")
    return {
        kind: check_positive_int(f"pool_size for {kind} layers", number) for kind, number in pool_size.items()
    }


def read_grammar(options: SpaceOptions) -> tuple[Grammar, tuple[Layer, ...]]:
    """Load the grammar, unless it is given as one, and change it as the options say; read its layers."""
    given = options.operators
    grammar = (given if isinstance(given, Grammar) else load_grammar(given)).override(
        unary=None if options.unary is None else parse_names(options.unary),
        binary=None if options.binary is None else parse_names(options.binary),
        max_complexity=options.max_complexity,
    )
    return grammar, grammar.resolve_layers(options.layers)


def format_unused_rule_notices(grammar: Grammar, layers: Sequence[Layer], names: Sequence[str]) -> list[str]:
    """Tell of column rules that keep an operator from every column, as a misspelt name does."""
    used = {operator.name for layer in layers for operator in layer.operators}
    return [
        f"the grammar lets {operator} touch only columns that the table lacks{suggest(min(columns), names)}"
        for operator, columns in grammar.columns.items()
        if operator in used and columns.isdisjoint(names) and columns
    ]


def build_layer_schedule(grammar: Grammar, layers: str | None) -> tuple[tuple[Layer, ...], ...]:
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
        A space follows its prefixes.
    """
    if layers is not None:
        asked = grammar.resolve_layers(layers)
        return tuple(asked[:depth] for depth in range(1, len(asked) + 1))
    has = {"u": bool(grammar.unary), "b": bool(grammar.binary)}
    fitting = [kinds for kinds in _DEFAULT_SCHEDULE if all(has[kind] for kind in kinds)]
    return tuple(grammar.resolve_layers(kinds) for kinds in fitting)
