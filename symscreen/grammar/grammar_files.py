"""Load grammars from TOML files. Errors give the file, the key, the reason and similar names.

Files are read in bounded time and memory, because they may come from other people.
"""

from __future__ import annotations

import reprlib
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen._resources import find_resource_folder
from symscreen.data.files import read_regular_file
from symscreen.errors import FormulaError, GrammarError, InputError
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.custom_operators import define_family, define_operator
from symscreen.grammar.grammar import Grammar, parse_layers, resolve_operators
from symscreen.grammar.operator import find_operators_by_name
from symscreen.grammar.parser import quote_column
from symscreen.messages import suggest
from symscreen.plugins import get_plugin, list_available_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symscreen.grammar.operator import Operator


_MAX_DOTS = 200  # dots per line of a TOML file
_KEYS = ("description", "unary", "binary", "constants", "layers", "max_complexity", "costs", "forbid",
         "forbid_within", "columns", "define")  # fmt: skip
_MAX_BYTES = 100_000  # of a grammar file
_MAX_DEFINITIONS = 200  # operators defined in a grammar file
_MAX_INTEGER = 1000  # of a cost or a complexity
_MAX_CONSTANT = 10**15  # exclusive; of a constant


def parse_bounded_toml(data: bytes) -> dict[str, Any]:
    """Parse TOML.

    Parameters
    ----------
    data : bytes
        UTF-8 text, with or without a byte order mark. The caller limits its size.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the text is not TOML, is nested too deeply, or has a line with more than 200 dots.

    Examples
    --------
    >>> parse_bounded_toml(b'length = "mm"')
    {'length': 'mm'}
    >>> parse_bounded_toml(b"a." * 999 + b"a = 1")
    Traceback (most recent call last):
    ...
    ValueError: a line has more than 200 dots
    """
    # The memory that tomllib uses grows quadratically with the length of a dotted key.
    if any(line.count(b".") > _MAX_DOTS for line in data.splitlines()):
        raise ValueError(f"a line has more than {_MAX_DOTS} dots")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def list_grammar_names() -> tuple[str, ...]:
    """Return the names of the shipped grammars.

    Examples
    --------
    >>> list_grammar_names()
    ('ablation', 'basic', 'physics', 'strogatz')
    """
    return tuple(sorted(path.stem for path in find_resource_folder("operators").glob("*.toml")))


def load_grammar(source: str | Path = "basic") -> Grammar:
    """Load a grammar by name or from a TOML file.

    Parameters
    ----------
    source : str or Path
        Name of a grammar that is shipped or provided by a plugin, or path of a file with the suffix
        ``.toml``.

    Returns
    -------
    Grammar

    Raises
    ------
    GrammarError
        If there is no such grammar, or the file is not valid. The message gives the file, the key, the reason
        and similar names.

    Examples
    --------
    >>> ablation = load_grammar("ablation")
    >>> [operator.name for operator in ablation.unary + ablation.binary]
    ['id', 'cube', 'add', 'mul']
    """
    path = Path(source)
    if path.suffix != ".toml":
        if str(source) not in list_grammar_names():
            return _load_plugin_grammar(str(source))
        path = find_resource_folder("operators") / f"{source}.toml"
    return _build_grammar(str(source), _TomlSection(str(path), _read_content(path)))


def _load_plugin_grammar(name: str) -> Grammar:
    """Load a grammar provided by a plugin."""
    plugin = get_plugin(name, "grammar", list_grammar_names())
    if plugin is None:
        suggestion = suggest(name, list_available_names("grammar", list_grammar_names()))
        raise GrammarError(f"there is no grammar {name!r}{suggestion} (the name of a file ends with .toml)")
    source = plugin.load()
    location = f"the grammar {name!r} of {plugin.origin}"
    if isinstance(source, Path):
        return _build_grammar(name, _TomlSection(location, _read_content(source)))
    if isinstance(source, str):
        return _build_grammar(name, _TomlSection(location, _parse_content(source.encode(), location)))
    raise plugin.build_error(f"is of type {type(source).__name__}, not the Path of a TOML file or its text")


def _read_content(path: Path) -> dict[str, Any]:
    """Read and parse a grammar file."""
    try:
        data = read_regular_file(path, _MAX_BYTES)
    except (OSError, ValueError) as error:
        # ValueError: a pipe, or a path that contains a null character.
        raise GrammarError(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from None
    return _parse_content(data, path)


def _parse_content(data: bytes, path: Path | str) -> dict[str, Any]:
    """Parse the content of a grammar file."""
    if len(data) > _MAX_BYTES:
        raise GrammarError(f"{path}: larger than {_MAX_BYTES} bytes; this is not a grammar")
    try:
        return parse_bounded_toml(data)
    except UnicodeDecodeError:
        raise GrammarError(f"{path}: not UTF-8 text") from None
    except ValueError as error:
        raise GrammarError(f"{path}: not valid TOML: {error}") from None


class _TomlSection:
    """Typed access to a table of a TOML file. Every error gives the file and the key."""

    def __init__(self, file: str, content: dict[str, Any], prefix: str = "") -> None:
        self.file, self.content, self.prefix = file, content, prefix

    def locate(self, key: str) -> str:
        """Return the file and the full key, for messages."""
        path = f"{self.prefix}{key}"
        return f"{self.file}, {path if path.isprintable() else repr(path)}"

    def build_error(self, key: str, reason: str) -> GrammarError:
        """Build an error about a key."""
        return GrammarError(f"{self.locate(key)}: {reason}")

    def build_unexpected_error(self, key: str, expected: str) -> GrammarError:
        """Build an error about the type or range of a value."""
        return self.build_error(key, f"expected {expected}, found {reprlib.repr(self.content[key])}")

    def check_keys(self, keys: tuple[str, ...]) -> None:
        """Check that the table has only the given keys."""
        for key in self.content:
            if key not in keys:
                raise self.build_error(key, f"this key is unknown{suggest(key, keys)}")

    def check_operator_names(self, key: str, names: Iterable[str], operators: Sequence[str]) -> None:
        """Check that all names are operators."""
        for name in names:
            if name not in operators:
                raise self.build_error(key, f"there is no operator {name!r}{suggest(name, operators)}")

    def get_text(self, key: str, default: str) -> str:
        """Return a text, or the default if the key is missing."""
        value = self.content.get(key, default)
        if not isinstance(value, str):
            raise self.build_unexpected_error(key, "a text")
        return value

    def get_integer(self, key: str, minimum: int) -> int | None:
        """Return an integer of at least `minimum`, or None if the key is missing."""
        value = self.content.get(key)
        if value is not None and not (_is_integer(value) and minimum <= value <= _MAX_INTEGER):
            raise self.build_unexpected_error(key, f"an integer from {minimum} to {_MAX_INTEGER}")
        return value

    def get_texts(self, key: str) -> list[str]:
        """Return a list of texts, empty if the key is missing."""
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.build_unexpected_error(key, 'a list of names such as ["sin", "exp"]')
        return value

    def get_integers(self, key: str) -> tuple[int, ...]:
        """Return distinct, nonzero integers, empty if the key is missing."""
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(map(_is_integer, value)):
            raise self.build_unexpected_error(key, "a list of integers such as [1, 2]")
        if invalid := [number for number in value if number == 0 or abs(number) >= _MAX_CONSTANT]:
            raise self.build_error(
                key, f"{invalid[0]} is not allowed; give integers other than 0, below 10^15"
            )
        if len(set(value)) < len(value):
            raise self.build_error(key, "a number is listed twice")
        return tuple(value)

    def get_starts(self, key: str) -> list[float]:
        """Return the starting values of a parameter."""
        value = self.content[key]
        starts = value if isinstance(value, list) else [value]
        if not starts or not all(_is_integer(item) or isinstance(item, float) for item in starts):
            raise self.build_unexpected_error(
                key, "a starting value, or a list of starting values such as [0.1, 1, 10]"
            )
        return starts

    def get_section(self, key: str) -> _TomlSection:
        """Return a subtable, empty if the key is missing."""
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            raise self.build_unexpected_error(key, f"a table, [{self.prefix}{key}]")
        return _TomlSection(self.file, value, f"{self.prefix}{key}.")


def _is_integer(value: object) -> bool:
    """Check for an integer that is not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def _build_grammar(name: str, reader: _TomlSection) -> Grammar:
    """Build a grammar from the content of its file."""
    reader.check_keys(_KEYS)
    operators = _collect_operators(reader)
    unary = resolve_operators(reader.get_texts("unary"), 1, operators, reader.locate("unary"))
    binary = resolve_operators(reader.get_texts("binary"), 2, operators, reader.locate("binary"))
    if not unary and not binary:
        raise reader.build_error("unary", "the grammar lists no operator; give unary = […] or binary = […]")
    layers = reader.get_text("layers", "ub" if unary and binary else "u" if unary else "b")
    try:
        parse_layers(layers, unary, binary, operators)
    except InputError as error:
        raise reader.build_error("layers", error.template) from None
    return Grammar(
        name=name,
        operators=operators,
        unary=unary,
        binary=binary,
        description=reader.get_text("description", ""),
        layers=layers,
        constants=reader.get_integers("constants"),
        max_complexity=reader.get_integer("max_complexity", 1),
        forbid=_read_nesting_rules(reader.get_section("forbid"), operators),
        forbid_within=_read_nesting_rules(reader.get_section("forbid_within"), operators),
        columns=_read_rules(reader.get_section("columns"), operators),
    )


def _collect_operators(reader: _TomlSection) -> dict[str, Operator]:
    """Return the built-in and the defined operators; a definition may call those above it."""
    costs, definitions = reader.get_section("costs"), reader.get_section("define")
    if len(definitions.content) > _MAX_DEFINITIONS:
        raise reader.build_error(
            "define", f"{len(definitions.content)} operators; at most {_MAX_DEFINITIONS} are allowed"
        )
    for name in costs.content:
        costs.check_operator_names(name, [name], [*OPERATORS, *definitions.content])
        if name == "id":
            raise costs.build_error(name, "id does not change a formula and always costs 0")
    operators = {name: _set_cost(operator, costs) for name, operator in OPERATORS.items()}
    for name in definitions.content:
        for operator in _define_operators(name, definitions, operators):
            operators[operator.name] = _set_cost(operator, costs)
    return operators


def _set_cost(operator: Operator, costs: _TomlSection) -> Operator:
    """Return the operator with the cost given in the file, if any."""
    cost = costs.get_integer(operator.family.name if operator.family else operator.name, 0)
    return operator if cost is None else replace(operator, cost=cost)


def _expand_families(names: Iterable[str], operators: Mapping[str, Operator]) -> list[str]:
    """Replace the names of families by those of their operators; unknown names are kept."""
    return [
        operator_name
        for name in names
        for operator_name in (
            [operator.name for operator in find_operators_by_name(name, operators)] or [name]
        )
    ]


def _define_operators(
    name: str, definitions: _TomlSection, operators: Mapping[str, Operator]
) -> tuple[Operator, ...]:
    """Build the operator or the family of one definition."""
    if quote_column(name) != name:
        raise definitions.build_error(name, "an operator's name must be a plain identifier such as sinpi")
    if name in operators:
        raise definitions.build_error(name, "this name is in use; choose another")
    definition = definitions.get_section(name)
    definition.check_keys(("formula", "cost", "parameters"))
    formula, cost = definition.get_text("formula", ""), definition.get_integer("cost", 0)
    if not formula:
        raise definition.build_error("formula", 'missing; give for instance formula = "sin(pi*x)"')
    parameters = definition.get_section("parameters")
    starts = {parameter: parameters.get_starts(parameter) for parameter in parameters.content}
    try:
        if starts:
            # A copy, because later definitions add operators.
            return define_family(name, formula, starts, dict(operators), cost=cost)
        return (define_operator(name, formula, operators, cost=cost),)
    except FormulaError as error:
        raise definition.build_error("formula", error.template) from None
    except GrammarError as error:
        raise definition.build_error("parameters" if starts else "formula", error.template) from None


def _read_rules(reader: _TomlSection, operators: Mapping[str, Operator]) -> dict[str, frozenset[str]]:
    """Read rules by operator; a rule for a family applies to each of its operators."""
    rules: dict[str, frozenset[str]] = {}
    for name in reader.content:
        reader.check_operator_names(name, [name], _list_rule_names(operators))
        for operator_name in _expand_families([name], operators):
            rules[operator_name] = rules.get(operator_name, frozenset()) | frozenset(reader.get_texts(name))
    return rules


def _read_nesting_rules(reader: _TomlSection, operators: Mapping[str, Operator]) -> dict[str, frozenset[str]]:
    """Read rules whose values are operators too."""
    rules = _read_rules(reader, operators)
    for name in reader.content:
        reader.check_operator_names(name, reader.get_texts(name), _list_rule_names(operators))
    return {outer: frozenset(_expand_families(inner, operators)) for outer, inner in rules.items()}


def _list_rule_names(operators: Mapping[str, Operator]) -> list[str]:
    """Return the names that rules may use: operators and families."""
    families = dict.fromkeys(operator.family.name for operator in operators.values() if operator.family)
    return list(dict.fromkeys((*operators, *families)))
