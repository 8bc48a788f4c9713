"""Choose the space that is grown: the grammar, its layers, what pruning keeps, and what a fit searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen.config.parsing import split_names
from symscreen.data.time_operators import parse_time_operator
from symscreen.errors import OptionError
from symscreen.grammar import OPERATORS, Grammar, list_grammar_names, load_grammar
from symscreen.messages import name_option, quote, suggest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Names
    from symscreen.config.fit_options import FitOptions
    from symscreen.config.screen_options import SpaceOptions
    from symscreen.grammar import Layer


_DEFAULT_SCHEDULE = ("u", "b", "ub", "bu", "bub", "ubb")
_FIT_GRAMMAR = "standard"  # default grammar of a fit
_NARROW_GRAMMARS = {_FIT_GRAMMAR: "basic"}  # by grammar: one with fewer operators, for larger spaces
_NARROW_WAVES = ("sin", "cos")  # waves that a narrow grammar keeps, because a law may have them


def split_operators(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Replace a list of operators, ``operators=["add", "sin"]``, by those of one and of two arguments.

    Parameters
    ----------
    keywords : mapping of str to object
        Options by name, as the user gave them.

    Returns
    -------
    dict of str to object
        The options with `unary` and `binary` instead of the list.

    Raises
    ------
    OptionError
        If the list has an unknown operator, or `unary` or `binary` is given, too.

    Examples
    --------
    >>> split_operators({"operators": ["add", "sin"], "top": 5})
    {'top': 5, 'unary': ['sin'], 'binary': ['add']}
    >>> split_operators({"operators": "physics"})
    {'operators': 'physics'}
    """
    names = _list_operators(keywords.get("operators"))
    if names is None:
        return dict(keywords)
    for name in names:
        if name not in OPERATORS and parse_time_operator(name) is None:
            raise OptionError(
                f"{name_option('operators')} lists {quote(name)}, which is not an operator"
                f"{suggest(name, OPERATORS)}"
            )
    for kind in ("unary", "binary"):
        if keywords.get(kind) is not None:
            raise OptionError(
                f"{name_option('operators')} lists operators, and {name_option(kind)} is given, too: give "
                "the list alone, or the name of a grammar"
            )
    others = {name: value for name, value in keywords.items() if name not in {"operators", "unary", "binary"}}
    kinds = {
        kind: [name for name in names if _get_arity(name) == arity]
        for kind, arity in (("unary", 1), ("binary", 2))
    }
    return {**others, **kinds}


def _get_arity(name: str) -> int:
    """Return the number of arguments of an operator; operators of time have one."""
    return OPERATORS[name].arity if name in OPERATORS else 1


def _list_operators(given: Any) -> list[str] | None:
    """Return the operators of a list or of a text such as ``add,sin``; None if a grammar is given."""
    if isinstance(given, str):
        names = split_names(given)
        is_list = len(names) > 1 or (names[0] in OPERATORS and names[0] not in list_grammar_names())
        return names if is_list and not given.endswith(".toml") else None
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        return None
    members = sorted(given, key=str) if isinstance(given, AbstractSet) else list(given)
    if not members or not all(isinstance(each, str) for each in members):
        raise OptionError(
            f"operators is {quote(given)}; give the name of a grammar, a TOML file, or a list of operators, "
            "such as ['add', 'log']"
        )
    return [str(each).strip() for each in members]


def read_grammar(options: SpaceOptions) -> tuple[Grammar, tuple[Layer, ...]]:
    """Load the grammar, unless it is given as one, and change it as the options say; read its layers."""
    grammar = read_operators(options.operators, options.unary, options.binary)
    grammar = grammar.override(max_complexity=options.max_complexity)
    grammar = grammar.add_operators(split_names(options.with_operators))
    return grammar, grammar.resolve_layers(get_layers(options))


def read_operators(given: object, unary: Names | None, binary: Names | None) -> Grammar:
    """Load a grammar, unless it is given as one, and replace its operators by those that are given."""
    if not isinstance(given, Grammar):
        given = load_grammar(given if isinstance(given, Path) else str(given))
    return given.override(
        unary=None if unary is None else split_names(unary),
        binary=None if binary is None else split_names(binary),
    )


def get_layers(options: SpaceOptions) -> str | None:
    """Return the layers as a text, which `read_layers` made of a number; None if they are not given."""
    return None if options.layers is None else str(options.layers)


def choose_default_grammar(options: FitOptions) -> FitOptions:
    """Set the grammar of a fit where none is given; where operators or a preset are, it is that of screens.

    Examples
    --------
    >>> from symscreen.config.fit_options import FitOptions
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
