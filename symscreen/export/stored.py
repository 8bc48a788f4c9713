"""The text of a bundle into what it holds: every key and type is checked, and no text is run."""

from __future__ import annotations

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
from symscreen.expression import parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from symscreen.expression import Expression
    from symscreen.grammar import Operator

__all__ = ["FORMAT", "MOST_BYTES", "bundle_from"]

FORMAT = 1
MOST_BYTES = 50_000_000
_MOST_DEFINED = 400
_MOST_COST = 1000

_COMMON = ("format", "symscreen", "kind", "inputs", "define", "costs", "record")
_KEYS = {"model": (*_COMMON, "target", "intercept", "terms"), "features": (*_COMMON, "features")}


def bundle_from(text: str, where: str) -> Formula | tuple[Expression, ...]:
    """Build the model or the features that a bundle's text holds.

    Parameters
    ----------
    text : str
        JSON, as `symscreen.export.bundle_as_json` writes it.
    where : str
        The source, as messages name it.

    Returns
    -------
    Formula or tuple of Expression

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
    part = _Part(where, "", _parsed(text, where))
    _check_format(part)
    kind = part.text("kind")
    if kind not in _KEYS:
        raise part.wrong("kind", f"{kind!r} is unknown{nearest(kind, _KEYS)}")
    part.only(_KEYS[kind])
    if "record" in part.content:
        part.part("record")
    operators = _operators(part)
    if kind == "features":
        features = tuple(
            _expression(part, f"features[{place}]", feature, operators)
            for place, feature in enumerate(part.texts("features"))
        )
        if not features:
            raise part.wrong("features", "there are none")
        _check_inputs(part, features)
        return features
    terms = part.parts("terms")
    for term in terms:
        term.only(("coefficient", "expression"))
    expressions = tuple(_expression(term, "expression", term.text("expression"), operators) for term in terms)
    _check_inputs(part, expressions)
    coefficients = tuple(term.number("coefficient") for term in terms)
    try:
        return Formula(part.text("target"), part.number("intercept"), coefficients, expressions)
    except FormulaError as error:
        raise part.wrong("terms", str(error)) from None


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
    if not _whole(found) or found != FORMAT:
        raise part.unexpected("format", found, str(FORMAT))
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


def _check_inputs(part: _Part, expressions: Iterable[Expression]) -> None:
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
        value = self.value(key)
        if not (isinstance(value, float) or _whole(value)):
            raise self.unexpected(key, value, "a number")
        try:
            number = float(value)
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
