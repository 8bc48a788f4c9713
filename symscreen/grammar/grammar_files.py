"""TOML that somebody else wrote, read in bounded time and memory.

Grammar files: TOML in, `Grammar` out; a bad file is told by file, key, what is wrong and what is near.
"""

from __future__ import annotations

import reprlib
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen._resources import find_resource_folder
from symscreen.data.files import read_regular_file
from symscreen.errors import FormulaError, GrammarError, InputError, suggest
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.custom_operators import define_family, define_operator
from symscreen.grammar.grammar import Grammar, parse_layers, resolve_operators
from symscreen.grammar.operator import find_operators_by_name
from symscreen.grammar.parser import quote_column
from symscreen.plugins import get_plugin, list_available_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symscreen.grammar.operator import Operator


__all__ = ["list_grammar_names", "load_grammar", "parse_bounded_toml"]

_MAX_DOTS = 200


def parse_bounded_toml(data: bytes) -> dict[str, Any]:
    """Read TOML.

    Parameters
    ----------
    data : bytes
        UTF-8, with or without a byte order mark; how long it may be, the caller says.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If it is no TOML, nested too deeply, or has a line with more than 200 dots.

    Examples
    --------
    >>> parse_bounded_toml(b'length = "mm"')
    {'length': 'mm'}
    >>> parse_bounded_toml(b"a." * 999 + b"a = 1")
    Traceback (most recent call last):
    ...
    ValueError: a line has more than 200 dots
    """
    # tomllib takes memory that grows as the square of the length of a dotted key
    if any(line.count(b".") > _MAX_DOTS for line in data.splitlines()):
        raise ValueError(f"a line has more than {_MAX_DOTS} dots")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


_KEYS = ("description", "unary", "binary", "constants", "layers", "max_complexity", "costs", "forbid",
         "forbid_within", "columns", "define")  # fmt: skip
_MAX_BYTES = 100_000
_MAX_DEFINITIONS = 200
_MAX_INTEGER = 1000


def list_grammar_names() -> tuple[str, ...]:
    """Name the grammars that ship.

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
        The name of a shipped grammar or of one that another package brings, or the path of a file that ends
        in ``.toml``.

    Returns
    -------
    Grammar

    Raises
    ------
    GrammarError
        If there is no such grammar, or the file is not a good one: with the file, the key, what is wrong
        and the nearest valid names.

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
    plugin = get_plugin(name, "grammar", list_grammar_names())
    if plugin is None:
        known = suggest(name, list_available_names("grammar", list_grammar_names()))
        raise GrammarError(f"there is no grammar {name!r}{known} (a file's name ends in .toml)")
    source = plugin.load()
    where = f"the grammar {name!r} of {plugin.origin}"
    if isinstance(source, Path):
        return _build_grammar(name, _TomlSection(where, _read_content(source)))
    if isinstance(source, str):
        return _build_grammar(name, _TomlSection(where, _parse_content(source.encode(), where)))
    raise plugin.build_error(f"is of type {type(source).__name__}, not the Path of a TOML file or its text")


def _read_content(path: Path) -> dict[str, Any]:
    try:
        data = read_regular_file(path, _MAX_BYTES)
    except (OSError, ValueError) as error:
        # a ValueError is a pipe, or a path with a null character inside
        raise GrammarError(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from None
    return _parse_content(data, path)


def _parse_content(data: bytes, path: Path | str) -> dict[str, Any]:
    if len(data) > _MAX_BYTES:
        raise GrammarError(f"{path}: larger than {_MAX_BYTES} bytes; this is no grammar")
    try:
        return parse_bounded_toml(data)
    except UnicodeDecodeError:
        raise GrammarError(f"{path}: not UTF-8 text") from None
    except ValueError as error:
        raise GrammarError(f"{path}: not valid TOML: {error}") from None


class _TomlSection:
    """Typed access to a table of a TOML file; every complaint names the file and the key."""

    def __init__(self, file: str, content: dict[str, Any], prefix: str = "") -> None:
        self.file, self.content, self.prefix = file, content, prefix

    def locate(self, key: str) -> str:
        path = f"{self.prefix}{key}"
        return f"{self.file}, {path if path.isprintable() else repr(path)}"

    def build_error(self, key: str, reason: str) -> GrammarError:
        return GrammarError(f"{self.locate(key)}: {reason}")

    def build_unexpected_error(self, key: str, expected: str) -> GrammarError:
        return self.build_error(key, f"expected {expected}, found {reprlib.repr(self.content[key])}")

    def check_keys(self, keys: tuple[str, ...]) -> None:
        for key in self.content:
            if key not in keys:
                raise self.build_error(key, f"this key has no meaning{suggest(key, keys)}")

    def check_operator_names(self, key: str, names: Iterable[str], operators: Sequence[str]) -> None:
        for name in names:
            if name not in operators:
                raise self.build_error(key, f"there is no operator {name!r}{suggest(name, operators)}")

    def get_text(self, key: str, default: str) -> str:
        value = self.content.get(key, default)
        if not isinstance(value, str):
            raise self.build_unexpected_error(key, "a text")
        return value

    def get_integer(self, key: str, minimum: int) -> int | None:
        value = self.content.get(key)
        if value is not None and not (_is_integer(value) and minimum <= value <= _MAX_INTEGER):
            raise self.build_unexpected_error(key, f"a whole number from {minimum} to {_MAX_INTEGER}")
        return value

    def get_texts(self, key: str) -> list[str]:
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.build_unexpected_error(key, 'a list of names such as ["sin", "exp"]')
        return value

    def get_integers(self, key: str) -> tuple[int, ...]:
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(map(_is_integer, value)):
            raise self.build_unexpected_error(key, "a list of whole numbers such as [1, 2]")
        if bad := [v for v in value if v == 0 or abs(v) >= 10**15]:
            raise self.build_error(
                key, f"{bad[0]} is no useful constant; give whole numbers other than 0, below 10^15"
            )
        if len(set(value)) < len(value):
            raise self.build_error(key, "a number is listed twice")
        return tuple(value)

    def get_starts(self, key: str) -> list[float]:
        value = self.content[key]
        starts = value if isinstance(value, list) else [value]
        if not starts or not all(_is_integer(item) or isinstance(item, float) for item in starts):
            raise self.build_unexpected_error(
                key, "a number to start from, or a list of such as [0.1, 1, 10]"
            )
        return starts

    def get_section(self, key: str) -> _TomlSection:
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            raise self.build_unexpected_error(key, f"a table, [{self.prefix}{key}]")
        return _TomlSection(self.file, value, f"{self.prefix}{key}.")


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _build_grammar(name: str, reader: _TomlSection) -> Grammar:
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
        raise reader.build_error("layers", str(error)) from None
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
    """Collect what ships and what the file defines; a definition may call those above it."""
    costs, definitions = reader.get_section("costs"), reader.get_section("define")
    if len(definitions.content) > _MAX_DEFINITIONS:
        raise reader.build_error(
            "define", f"{len(definitions.content)} operators; at most {_MAX_DEFINITIONS} are read"
        )
    for name in costs.content:
        costs.check_operator_names(name, [name], [*OPERATORS, *definitions.content])
        if name == "id":
            raise costs.build_error(name, "id leaves a formula as it is and costs nothing")
    operators = {name: _set_cost(operator, costs) for name, operator in OPERATORS.items()}
    for name in definitions.content:
        for operator in _define_operators(name, definitions, operators):
            operators[operator.name] = _set_cost(operator, costs)
    return operators


def _set_cost(operator: Operator, costs: _TomlSection) -> Operator:
    cost = costs.get_integer(operator.family.name if operator.family else operator.name, 0)
    return operator if cost is None else replace(operator, cost=cost)


def _expand_families(names: Iterable[str], operators: Mapping[str, Operator]) -> list[str]:
    """Put all operators of a family in the place of its name; what is neither stays, to be refused."""
    return [
        one
        for name in names
        for one in ([operator.name for operator in find_operators_by_name(name, operators)] or [name])
    ]


def _define_operators(
    name: str, definitions: _TomlSection, operators: Mapping[str, Operator]
) -> tuple[Operator, ...]:
    if quote_column(name) != name:
        raise definitions.build_error(name, "an operator's name must be a plain identifier such as sinpi")
    if name in operators:
        raise definitions.build_error(name, "this name is taken; choose another")
    definition = definitions.get_section(name)
    definition.check_keys(("formula", "cost", "parameters"))
    formula, cost = definition.get_text("formula", ""), definition.get_integer("cost", 0)
    if not formula:
        raise definition.build_error("formula", 'missing; give for instance formula = "sin(pi*x)"')
    parameters = definition.get_section("parameters")
    starts = {parameter: parameters.get_starts(parameter) for parameter in parameters.content}
    try:
        if starts:
            # a copy: what later definitions add is none of this one's
            return define_family(name, formula, starts, dict(operators), cost=cost)
        return (define_operator(name, formula, operators, cost=cost),)
    except FormulaError as error:
        raise definition.build_error("formula", str(error)) from None
    except GrammarError as error:
        raise definition.build_error("parameters" if starts else "formula", str(error)) from None


def _read_rules(reader: _TomlSection, operators: Mapping[str, Operator]) -> dict[str, frozenset[str]]:
    """Read rules by operator; what is said of a family holds for each of its operators."""
    rules: dict[str, frozenset[str]] = {}
    for name in reader.content:
        reader.check_operator_names(name, [name], _list_rule_names(operators))
        for one in _expand_families([name], operators):
            rules[one] = rules.get(one, frozenset()) | frozenset(reader.get_texts(name))
    return rules


def _read_nesting_rules(reader: _TomlSection, operators: Mapping[str, Operator]) -> dict[str, frozenset[str]]:
    rules = _read_rules(reader, operators)
    for name in reader.content:
        reader.check_operator_names(name, reader.get_texts(name), _list_rule_names(operators))
    return {outer: frozenset(_expand_families(inner, operators)) for outer, inner in rules.items()}


def _list_rule_names(operators: Mapping[str, Operator]) -> list[str]:
    """Name all that a rule may speak of: operators and families."""
    families = dict.fromkeys(one.family.name for one in operators.values() if one.family)
    return list(dict.fromkeys((*operators, *families)))
