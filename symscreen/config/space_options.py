"""Which space is grown: the grammar, its layers, what pruning keeps, what a fit searches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symscreen.config.parsing import split_names
from symscreen.grammar import Grammar, load_grammar
from symscreen.messages import suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.config.screen_options import FitOptions, SpaceOptions
    from symscreen.grammar import Layer


_DEFAULT_SCHEDULE = ("u", "b", "ub", "bu", "bub", "ubb")
_FIT_GRAMMAR = "standard"  # default of a fit
_NARROW_GRAMMARS = {_FIT_GRAMMAR: "basic"}  # by grammar: fewer operators, for larger spaces
_NARROW_WAVES = ("sin", "cos")  # a law may have waves


def read_grammar(options: SpaceOptions) -> tuple[Grammar, tuple[Layer, ...]]:
    """Load the grammar, unless it is given as one, and change it as the options say; read its layers."""
    given = options.operators
    grammar = (
        (given if isinstance(given, Grammar) else load_grammar(given))
        .override(
            unary=None if options.unary is None else split_names(options.unary),
            binary=None if options.binary is None else split_names(options.binary),
            max_complexity=options.max_complexity,
        )
        .add_operators(split_names(options.with_operators))
    )
    return grammar, grammar.resolve_layers(options.layers)


def choose_default_grammar(options: FitOptions) -> FitOptions:
    """Set the grammar of a fit where none is given; where operators or a preset are, it is that of screens.

    Examples
    --------
    >>> from symscreen.config.screen_options import FitOptions
    >>> choose_default_grammar(FitOptions()).operators
    'standard'
    >>> choose_default_grammar(FitOptions(unary="sin")).operators
    'basic'
    """
    if options.operators is not None:
        return options
    is_changed = not (options.unary is None and options.binary is None and options.preset is None)
    return replace(options, operators=_NARROW_GRAMMARS[_FIT_GRAMMAR] if is_changed else _FIT_GRAMMAR)


def find_narrow_grammar(options: FitOptions) -> Grammar | None:
    """Return a grammar of fewer operators for the large spaces of the default schedule.

    It is None where the user gives layers or operators, or the grammar has no narrower one.
    """
    if not (options.layers is None and options.unary is None and options.binary is None):
        return None
    name = _NARROW_GRAMMARS.get(str(options.operators))
    if name is None:
        return None
    narrow = load_grammar(name).override(max_complexity=options.max_complexity)
    added = [*_NARROW_WAVES, *split_names(options.with_operators)]
    return replace(narrow.add_operators(added), max_range={})


def format_unused_rule_notices(grammar: Grammar, layers: Sequence[Layer], names: Sequence[str]) -> list[str]:
    """Return notices of column rules that exclude every column of the table, as a misspelt name does."""
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
        What the user asked for: its prefixes and itself. None for `_DEFAULT_SCHEDULE`, as far as the grammar
        has operators for it.

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
