"""Grammar files: TOML in, `Grammar` out; a bad file is told by file, key, what is wrong and what is near."""

from __future__ import annotations

import reprlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen.errors import FormulaError, GrammarError, InputError, nearest
from symscreen.grammar.built_in import OPERATORS
from symscreen.grammar.define import define_family, define_operator
from symscreen.grammar.formula import quote_column
from symscreen.grammar.grammar import Grammar
from symscreen.grammar.layers import named_operators, parse_layers
from symscreen.grammar.operator import meant_by
from symscreen.grammar.toml import bounded_toml
from symscreen.plugins import plugin_named, usable
from symscreen.shipped import shipped_folder
from symscreen.table.plain import plain_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symscreen.grammar.operator import Operator

__all__ = ["grammar_names", "load_grammar"]

_KEYS = ("description", "unary", "binary", "constants", "layers", "max_complexity", "costs", "forbid",
         "forbid_within", "columns", "define")  # fmt: skip
_MAX_BYTES = 100_000
_MAX_DEFINED = 200
_MAX_NUMBER = 1000


def grammar_names() -> tuple[str, ...]:
    """Name the grammars that ship.

    Examples
    --------
    >>> grammar_names()
    ('ablation', 'basic', 'physics', 'strogatz')
    """
    return tuple(sorted(path.stem for path in shipped_folder("operators").glob("*.toml")))


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
        if str(source) not in grammar_names():
            return _of_another_package(str(source))
        path = shipped_folder("operators") / f"{source}.toml"
    return _grammar(str(source), _Reader(str(path), _content(path)))


def _of_another_package(name: str) -> Grammar:
    plugin = plugin_named(name, "grammar", grammar_names())
    if plugin is None:
        known = nearest(name, usable("grammar", grammar_names()))
        raise GrammarError(f"there is no grammar {name!r}{known} (a file's name ends in .toml)")
    source = plugin.load()
    where = f"the grammar {name!r} of {plugin.origin}"
    if isinstance(source, Path):
        return _grammar(name, _Reader(where, _content(source)))
    if isinstance(source, str):
        return _grammar(name, _Reader(where, _read(source.encode(), where)))
    raise plugin.broken(f"is of type {type(source).__name__}, not the Path of a TOML file or its text")


def _content(path: Path) -> dict[str, Any]:
    try:
        data = plain_bytes(path, _MAX_BYTES)
    except (OSError, ValueError) as error:
        # a ValueError is a pipe, or a path with a null character inside
        raise GrammarError(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from None
    return _read(data, path)


def _read(data: bytes, path: Path | str) -> dict[str, Any]:
    if len(data) > _MAX_BYTES:
        raise GrammarError(f"{path}: larger than {_MAX_BYTES} bytes; this is no grammar")
    try:
        return bounded_toml(data)
    except UnicodeDecodeError:
        raise GrammarError(f"{path}: not UTF-8 text") from None
    except ValueError as error:
        raise GrammarError(f"{path}: not valid TOML: {error}") from None


class _Reader:
    """Typed access to a table of a TOML file; every complaint names the file and the key."""

    def __init__(self, file: str, content: dict[str, Any], prefix: str = "") -> None:
        self.file, self.content, self.prefix = file, content, prefix

    def where(self, key: str) -> str:
        path = f"{self.prefix}{key}"
        return f"{self.file}, {path if path.isprintable() else repr(path)}"

    def wrong(self, key: str, why: str) -> GrammarError:
        return GrammarError(f"{self.where(key)}: {why}")

    def unexpected(self, key: str, expected: str) -> GrammarError:
        return self.wrong(key, f"expected {expected}, found {reprlib.repr(self.content[key])}")

    def only(self, keys: tuple[str, ...]) -> None:
        for key in self.content:
            if key not in keys:
                raise self.wrong(key, f"this key has no meaning{nearest(key, keys)}")

    def known(self, key: str, names: Iterable[str], operators: Sequence[str]) -> None:
        for name in names:
            if name not in operators:
                raise self.wrong(key, f"there is no operator {name!r}{nearest(name, operators)}")

    def text(self, key: str, default: str) -> str:
        value = self.content.get(key, default)
        if not isinstance(value, str):
            raise self.unexpected(key, "a text")
        return value

    def number(self, key: str, least: int) -> int | None:
        value = self.content.get(key)
        if value is not None and not (_whole(value) and least <= value <= _MAX_NUMBER):
            raise self.unexpected(key, f"a whole number from {least} to {_MAX_NUMBER}")
        return value

    def texts(self, key: str) -> list[str]:
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.unexpected(key, 'a list of names such as ["sin", "exp"]')
        return value

    def integers(self, key: str) -> tuple[int, ...]:
        value = self.content.get(key, [])
        if not isinstance(value, list) or not all(map(_whole, value)):
            raise self.unexpected(key, "a list of whole numbers such as [1, 2]")
        if bad := [v for v in value if v == 0 or abs(v) >= 10**15]:
            raise self.wrong(
                key, f"{bad[0]} is no useful constant; give whole numbers other than 0, below 10^15"
            )
        if len(set(value)) < len(value):
            raise self.wrong(key, "a number is listed twice")
        return tuple(value)

    def starts(self, key: str) -> list[float]:
        value = self.content[key]
        starts = value if isinstance(value, list) else [value]
        if not starts or not all(_whole(item) or isinstance(item, float) for item in starts):
            raise self.unexpected(key, "a number to start from, or a list of such as [0.1, 1, 10]")
        return starts

    def table(self, key: str) -> _Reader:
        value = self.content.get(key, {})
        if not isinstance(value, dict):
            raise self.unexpected(key, f"a table, [{self.prefix}{key}]")
        return _Reader(self.file, value, f"{self.prefix}{key}.")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _grammar(name: str, reader: _Reader) -> Grammar:
    reader.only(_KEYS)
    operators = _operators(reader)
    unary = named_operators(reader.texts("unary"), 1, operators, reader.where("unary"))
    binary = named_operators(reader.texts("binary"), 2, operators, reader.where("binary"))
    if not unary and not binary:
        raise reader.wrong("unary", "the grammar lists no operator; give unary = […] or binary = […]")
    layers = reader.text("layers", "ub" if unary and binary else "u" if unary else "b")
    try:
        parse_layers(layers, unary, binary, operators)
    except InputError as error:
        raise reader.wrong("layers", str(error)) from None
    return Grammar(
        name=name,
        operators=operators,
        unary=unary,
        binary=binary,
        description=reader.text("description", ""),
        layers=layers,
        constants=reader.integers("constants"),
        max_complexity=reader.number("max_complexity", 1),
        forbid=_nestings(reader.table("forbid"), operators),
        forbid_within=_nestings(reader.table("forbid_within"), operators),
        columns=_rules(reader.table("columns"), operators),
    )


def _operators(reader: _Reader) -> dict[str, Operator]:
    """Collect what ships and what the file defines; a definition may call those above it."""
    costs, definitions = reader.table("costs"), reader.table("define")
    if len(definitions.content) > _MAX_DEFINED:
        raise reader.wrong("define", f"{len(definitions.content)} operators; at most {_MAX_DEFINED} are read")
    for name in costs.content:
        costs.known(name, [name], [*OPERATORS, *definitions.content])
        if name == "id":
            raise costs.wrong(name, "id leaves a formula as it is and costs nothing")
    operators = {name: _costing(operator, costs) for name, operator in OPERATORS.items()}
    for name in definitions.content:
        for operator in _defined(name, definitions, operators):
            operators[operator.name] = _costing(operator, costs)
    return operators


def _costing(operator: Operator, costs: _Reader) -> Operator:
    cost = costs.number(operator.family.name if operator.family else operator.name, 0)
    return operator if cost is None else replace(operator, cost=cost)


def _spelt_out(names: Iterable[str], operators: Mapping[str, Operator]) -> list[str]:
    """Put all operators of a family in the place of its name; what is neither stays, to be refused."""
    return [
        one for name in names for one in ([operator.name for operator in meant_by(name, operators)] or [name])
    ]


def _defined(name: str, definitions: _Reader, operators: Mapping[str, Operator]) -> tuple[Operator, ...]:
    if quote_column(name) != name:
        raise definitions.wrong(name, "an operator's name must be a plain identifier such as sinpi")
    if name in operators:
        raise definitions.wrong(name, "this name is taken; choose another")
    definition = definitions.table(name)
    definition.only(("formula", "cost", "parameters"))
    formula, cost = definition.text("formula", ""), definition.number("cost", 0)
    if not formula:
        raise definition.wrong("formula", 'missing; give for instance formula = "sin(pi*x)"')
    parameters = definition.table("parameters")
    starts = {parameter: parameters.starts(parameter) for parameter in parameters.content}
    try:
        if starts:
            # a copy: what later definitions add is none of this one's
            return define_family(name, formula, starts, dict(operators), cost=cost)
        return (define_operator(name, formula, operators, cost=cost),)
    except FormulaError as error:
        raise definition.wrong("formula", str(error)) from None
    except GrammarError as error:
        raise definition.wrong("parameters" if starts else "formula", str(error)) from None


def _rules(reader: _Reader, operators: Mapping[str, Operator]) -> dict[str, frozenset[str]]:
    """Read rules by operator; what is said of a family holds for each of its operators."""
    rules: dict[str, frozenset[str]] = {}
    for name in reader.content:
        reader.known(name, [name], _names(operators))
        for one in _spelt_out([name], operators):
            rules[one] = rules.get(one, frozenset()) | frozenset(reader.texts(name))
    return rules


def _nestings(reader: _Reader, operators: Mapping[str, Operator]) -> dict[str, frozenset[str]]:
    rules = _rules(reader, operators)
    for name in reader.content:
        reader.known(name, reader.texts(name), _names(operators))
    return {outer: frozenset(_spelt_out(inner, operators)) for outer, inner in rules.items()}


def _names(operators: Mapping[str, Operator]) -> list[str]:
    """Name all that a rule may speak of: operators and families."""
    families = dict.fromkeys(one.family.name for one in operators.values() if one.family)
    return list(dict.fromkeys((*operators, *families)))
