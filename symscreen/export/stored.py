"""The text of a bundle into what it holds: every key and type is checked, and no text is run."""

from __future__ import annotations

import hashlib
import json
import math
import reprlib
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from symscreen.errors import FormulaError, InputError, nearest, printable
from symscreen.export.definitions import operators_from
from symscreen.export.formula import Formula
from symscreen.export.parts import inputs_of
from symscreen.export.shared_formula import SharedFormula
from symscreen.export.trees import domains_of, tree_of
from symscreen.expression import Expression, parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.grammar import Operator

__all__ = ["FORMAT", "Bundle", "Thing", "bundle_from", "digest_of", "whole_bundle_from"]

Thing = Formula | SharedFormula | tuple[Expression, ...]

FORMAT = 2  # 1 had neither trees nor domains nor a digest; it is still read
_MOST_DEFINED = 400
_MOST_COST = 1000

_COMMON = ("format", "symscreen", "kind", "inputs", "define", "costs", "record")
_KEYS = {
    "model": (*_COMMON, "target", "intercept", "terms"),
    "models": (*_COMMON, "targets", "intercepts", "terms"),
    "features": (*_COMMON, "features"),
}
_SINCE_2 = ("domains", "digest")


@dataclass(frozen=True, eq=False)
class Bundle:
    """All that a bundle holds.

    Parameters
    ----------
    thing : Formula, SharedFormula or tuple of Expression
        The model, the models of several targets, or the features.
    operators : dict of str to Operator
        Those that its formulas and definitions may call.
    record : dict
        How it was made, as far as that was told.
    """

    thing: Thing
    operators: dict[str, Operator]
    record: dict[str, Any]


def digest_of(content: Mapping[str, Any]) -> str:
    """Return the digest of what a bundle's formulas are: all but the versions and the record.

    Parameters
    ----------
    content : mapping
        What stands in the file.

    Returns
    -------
    str
        SHA-256 in hexadecimal, of JSON with sorted keys and no spaces.

    Examples
    --------
    >>> digest_of({"kind": "features"}) == digest_of({"kind": "features", "record": {}, "format": 2})
    True
    """
    left_out = {"format", "symscreen", "digest", "record"}
    told = {key: value for key, value in content.items() if key not in left_out}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"))  # ASCII, whatever the names
    return hashlib.sha256(text.encode()).hexdigest()


def bundle_from(text: str, where: str) -> Thing:
    """Build the model or the features that a bundle's text holds.

    Parameters
    ----------
    text : str
        JSON, as `symscreen.export.bundle_as_json` writes it.
    where : str
        The source, as messages name it.

    Returns
    -------
    Formula, SharedFormula or tuple of Expression

    Raises
    ------
    FormulaError
        If anything in it is not as it was written.

    Examples
    --------
    >>> bundle_from('{"format": 1, "symscreen": "0.1.0"}', "m.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: m.json, kind: missing; the file was cut or changed after it was saved
    """
    return whole_bundle_from(text, where).thing


def whole_bundle_from(text: str, where: str) -> Bundle:
    """Build all that a bundle's text holds; parameters and errors are those of `bundle_from`.

    Examples
    --------
    >>> whole_bundle_from("[]", "m.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: m.json: JSON, but not a bundle; give a file that symscreen saved to be
    applied
    """
    part = _Part(where, "", _parsed(text, where))
    _check_format(part)
    trees = part.content["format"] > 1
    kind = part.text("kind")
    if kind not in _KEYS:
        raise part.wrong("kind", f"{kind!r} is unknown{nearest(kind, _KEYS)}")
    part.only((*_KEYS[kind], *(_SINCE_2 if trees else ())))
    record = part.part("record").content if "record" in part.content else {}
    operators = _operators(part)
    thing: Thing
    if kind == "models":
        thing = _models(part, operators)
    else:
        thing = _features(part, operators, trees) if kind == "features" else _model(part, operators, trees)
    if trees:
        _check_rest(part, thing if isinstance(thing, tuple) else thing.terms, operators)
    return Bundle(thing, operators, record)


def _features(part: _Part, operators: dict[str, Operator], trees: bool) -> tuple[Expression, ...]:  # noqa: FBT001
    if trees:
        listed = part.parts("features")
        features = tuple(_formula(one, (), operators) for one in listed)
    else:
        features = tuple(
            _expression(part, f"features[{place}]", feature, operators)
            for place, feature in enumerate(part.texts("features"))
        )
    if not features:
        raise part.wrong("features", "there are none")
    _check_inputs(part, features)
    return features


def _model(part: _Part, operators: dict[str, Operator], trees: bool) -> Formula:  # noqa: FBT001
    terms = part.parts("terms")
    if trees:
        expressions = tuple(_formula(term, ("coefficient",), operators) for term in terms)
    else:
        for term in terms:
            term.only(("coefficient", "expression"))
        expressions = tuple(
            _expression(term, "expression", term.text("expression"), operators) for term in terms
        )
    _check_inputs(part, expressions)
    coefficients = tuple(term.number("coefficient") for term in terms)
    try:
        return Formula(part.text("target"), part.number("intercept"), coefficients, expressions)
    except FormulaError as error:
        raise part.wrong("terms", str(error)) from None


def _models(part: _Part, operators: dict[str, Operator]) -> SharedFormula:
    terms = part.parts("terms")
    expressions = tuple(_formula(term, ("coefficients",), operators) for term in terms)
    _check_inputs(part, expressions)
    targets, intercepts = tuple(part.texts("targets")), part.numbers("intercepts")
    columns = [term.numbers("coefficients") for term in terms]
    for term, column in zip(terms, columns, strict=True):
        if len(column) != len(targets):
            raise term.wrong("coefficients", f"{len(column)} numbers for {len(targets)} targets")
    coefficients = tuple(tuple(column[place] for column in columns) for place in range(len(targets)))
    try:
        return SharedFormula(targets, intercepts, coefficients, expressions)
    except FormulaError as error:
        raise part.wrong("targets", str(error)) from None


def _formula(part: _Part, beside: tuple[str, ...], operators: dict[str, Operator]) -> Expression:
    """Read a formula's text; its tree, which is for other programs, must be the same formula."""
    part.only((*beside, "expression", "tree"))
    expression = _expression(part, "expression", part.text("expression"), operators)
    if _same_json(part.value("tree"), tree_of(expression)):
        return expression
    raise part.wrong("tree", "not the tree of the expression beside it: one of the two was changed")


def _same_json(one: object, other: object) -> bool:
    # for Python 1, 1.0 and True are equal
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _check_rest(part: _Part, expressions: Sequence[Expression], operators: dict[str, Operator]) -> None:
    try:
        domains = domains_of(expressions, operators)
    except InputError as error:
        raise part.wrong("domains", printable(str(error))) from None
    if not _same_json(part.value("domains"), domains):
        raise part.unexpected("domains", part.content["domains"], "those of its formulas")
    if part.text("digest") != digest_of(part.content):
        raise part.wrong("digest", "the formulas are not those that were saved; save them again")


def _parsed(text: str, where: str) -> dict[str, Any]:
    try:
        content = json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
    except RecursionError:
        raise FormulaError(f"{where}: nested too deeply; this is no bundle") from None
    except ValueError as error:
        raise FormulaError(f"{where}: not the JSON of a bundle: {printable(str(error))}") from None
    if not isinstance(content, dict) or "format" not in content:
        raise FormulaError(f"{where}: JSON, but not a bundle; give a file that symscreen saved to be applied")
    return content


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no finite number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return content


def _check_format(part: _Part) -> None:
    found = part.content["format"]
    if _whole(found) and found > FORMAT:
        own = metadata.version("symscreen")
        raise part.wrong("format", f"format {reprlib.repr(found)} came after symscreen {own}; update it")
    if not _whole(found) or not 1 <= found <= FORMAT:
        raise part.unexpected("format", found, f"1 or {FORMAT}")
    part.text("symscreen")


def _operators(part: _Part) -> dict[str, Operator]:
    definitions, costs = part.part("define"), part.part("costs")
    if len(definitions.content) > _MOST_DEFINED:
        raise part.wrong("define", f"{len(definitions.content)} operators; at most {_MOST_DEFINED} are read")
    for name in definitions.content:
        definition = definitions.part(name)
        definition.only(("formula", "cost"))
        definition.text("formula")
        definition.cost("cost")
    for name in costs.content:
        costs.cost(name)
    try:
        return operators_from(definitions.content, costs.content)
    except InputError as error:
        raise part.wrong("define", printable(str(error))) from None


def _expression(part: _Part, key: str, text: str, operators: dict[str, Operator]) -> Expression:
    try:
        return parse(text, operators)
    except FormulaError as error:
        raise part.wrong(key, printable(str(error))) from None


def _check_inputs(part: _Part, expressions: Sequence[Expression]) -> None:
    """Refuse a list that is not what the formulas need: one of the two was changed by hand."""
    if tuple(part.texts("inputs")) != inputs_of(expressions):
        needed = reprlib.repr(list(inputs_of(expressions)))
        raise part.unexpected("inputs", part.content["inputs"], f"those of its formulas, {needed}")


@dataclass(frozen=True, slots=True)
class _Part:
    """Typed access to an object of the file; every complaint names the file and the key."""

    file: str
    prefix: str
    content: dict[str, Any]

    def wrong(self, key: str, why: str) -> FormulaError:
        return FormulaError(f"{self.file}, {printable(self.prefix + key)}: {why}")

    def unexpected(self, key: str, found: object, expected: str) -> FormulaError:
        return self.wrong(key, f"expected {expected}, found {printable(reprlib.repr(found))}")

    def only(self, keys: tuple[str, ...]) -> None:
        for key in self.content:
            if key not in keys:
                raise self.wrong(key, f"this key has no meaning{nearest(key, keys)}")

    def value(self, key: str) -> Any:
        if key not in self.content:
            raise self.wrong(key, "missing; the file was cut or changed after it was saved")
        return self.content[key]

    def text(self, key: str) -> str:
        value = self.value(key)
        if not isinstance(value, str):
            raise self.unexpected(key, value, "a text")
        return value

    def number(self, key: str) -> float:
        return self._number(key, self.value(key))

    def numbers(self, key: str) -> tuple[float, ...]:
        values = self.value(key)
        if not isinstance(values, list):
            raise self.unexpected(key, values, "a list of numbers")
        return tuple(self._number(key, value) for value in values)

    def _number(self, key: str, value: object) -> float:
        if not (isinstance(value, float) or _whole(value)):
            raise self.unexpected(key, value, "a number")
        try:
            number = float(value)  # type: ignore[arg-type]  # one of both, as was just seen
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.unexpected(key, value, "a finite number")
        return number

    def cost(self, key: str) -> int:
        value = self.value(key)
        if not _whole(value) or not 0 <= value <= _MOST_COST:
            raise self.unexpected(key, value, f"a whole number from 0 to {_MOST_COST}")
        return int(value)

    def texts(self, key: str) -> list[str]:
        value = self.value(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.unexpected(key, value, "a list of texts")
        return value

    def part(self, key: str) -> _Part:
        value = self.value(key)
        if not isinstance(value, dict):
            raise self.unexpected(key, value, "an object")
        return _Part(self.file, f"{self.prefix}{key}.", value)

    def parts(self, key: str) -> list[_Part]:
        value = self.value(key)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.unexpected(key, value, "a list of objects")
        return [_Part(self.file, f"{self.prefix}{key}[{place}].", item) for place, item in enumerate(value)]


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
