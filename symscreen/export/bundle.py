"""Formulas as trees of plain values, and where they are defined: what other programs read in a bundle.

The text of a bundle into what it holds: every key and type is checked, and no text is run.

Saved models and saved features: one JSON file that needs no grammar file and is never run as code.
"""

from __future__ import annotations

import hashlib
import json
import math
import reprlib
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen._atomic_io import check_writable, write_atomically
from symscreen._limits import MAX_JSON_BYTES
from symscreen.errors import (
    FormulaError,
    GrammarError,
    InputError,
    OutputError,
    escape_control_chars,
    suggest,
)
from symscreen.export.operator_definitions import (
    build_operators,
    collect_changed_costs,
    collect_definitions,
    inline_definitions,
    iterate_postorder,
)
from symscreen.expressions.linear_formula import Formula, SharedFormula
from symscreen.expressions.traversal import check_numbers, collect_inputs
from symscreen.expressions.tree import (
    Call,
    Column,
    Constant,
    Expression,
    compute_key,
    parse_expression,
    to_text,
)
from symscreen.grammar import OPERATORS
from symscreen.grammar.operator import Domain

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from symscreen.grammar import Operator


__all__ = [
    "BUNDLE_FORMAT",
    "Bundle",
    "BundleFormulas",
    "collect_domains",
    "compute_bundle_digest",
    "format_bundle",
    "load_bundle",
    "parse_bundle",
    "parse_bundle_formulas",
    "read_bundle",
    "save_bundle",
    "to_json_tree",
]


def to_json_tree(expression: Expression) -> Any:
    """Return a formula as JSON has it.

    Parameters
    ----------
    expression : Expression
        The formula.

    Returns
    -------
    dict, float or list
        A column is ``{"column": name}``, a number itself, an operator a list of its name and its arguments.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> to_json_tree(parse_expression("x1 - 2*sin(`a b`)"))
    ['sub', {'column': 'x1'}, ['mul', 2, ['sin', {'column': 'a b'}]]]
    """
    done: list[Any] = []
    for part in iterate_postorder(expression):
        match part:
            case Column(name):
                done.append({"column": name})
            case Constant(value):
                done.append(value)
            case Call(operator, arguments):
                own = done[-len(arguments) :]
                del done[-len(arguments) :]
                done.append([operator.name, *own])
    return done[0]


def collect_domains(
    expressions: Sequence[Expression], operators: Mapping[str, Operator] = OPERATORS
) -> dict[str, list[str]]:
    """Say what has to hold for formulas to be defined, definitions written out.

    Parameters
    ----------
    expressions : sequence of Expression
        The formulas.
    operators : mapping of str to Operator
        The grammar's operators; needed where a definition calls others.

    Returns
    -------
    dict of str to list of str
        What stands in an argument, as text, and where it may lie: ``nonzero``, ``nonnegative``, ``positive``
        or ``unit`` ([−1, 1]). Powers are not among them, nor that no step may overflow.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> collect_domains([parse_expression("log(x1 - x2)/x2"), parse_expression("1/x1")])
    {'x1': ['nonzero'], 'x1 - x2': ['positive'], 'x2': ['nonzero']}
    """
    found: dict[str, set[str]] = {}
    for expression in inline_definitions(expressions, operators):
        for part in iterate_postorder(expression):
            if isinstance(part, Call):
                for argument, domain in zip(part.arguments, part.operator.domain, strict=True):
                    if domain is not Domain.REAL and not isinstance(argument, Constant):
                        found.setdefault(to_text(argument), set()).add(domain.value)
    return {text: sorted(found[text]) for text in sorted(found)}


BundleFormulas = Formula | SharedFormula | tuple[Expression, ...]

BUNDLE_FORMAT = 2  # 1 had neither trees nor domains nor a digest; it is still read
_MAX_DEFINITIONS = 400
_MAX_COST = 1000

_COMMON_KEYS = ("format", "symscreen", "kind", "inputs", "define", "costs", "record")
_KEYS_BY_KIND = {
    "model": (*_COMMON_KEYS, "target", "intercept", "terms"),
    "models": (*_COMMON_KEYS, "targets", "intercepts", "terms"),
    "features": (*_COMMON_KEYS, "features"),
}
_KEYS_SINCE_FORMAT_2 = ("domains", "digest")


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

    formulas: BundleFormulas
    operators: dict[str, Operator]
    record: dict[str, Any]


def compute_bundle_digest(content: Mapping[str, Any]) -> str:
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
    >>> compute_bundle_digest({"kind": "features"}) == compute_bundle_digest({"kind": "features",
    ...     "record": {}, "format": 2})
    True
    """
    left_out = {"format", "symscreen", "digest", "record"}
    told = {key: value for key, value in content.items() if key not in left_out}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"))  # ASCII, whatever the names
    return hashlib.sha256(text.encode()).hexdigest()


def parse_bundle_formulas(text: str, source_name: str) -> BundleFormulas:
    """Build the model or the features that a bundle's text holds.

    Parameters
    ----------
    text : str
        JSON, as `symscreen.export.format_bundle` writes it.
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
    >>> parse_bundle_formulas('{"format": 1, "symscreen": "0.1.0"}', "m.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: m.json, kind: missing; the file was cut or changed after it was saved
    """
    return parse_bundle(text, source_name).formulas


def parse_bundle(text: str, source_name: str) -> Bundle:
    """Build all that a bundle's text holds; parameters and errors are those of `parse_bundle_formulas`.

    Examples
    --------
    >>> parse_bundle("[]", "m.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: m.json: JSON, but not a bundle; give a file that symscreen saved to be
    applied
    """
    part = _JsonObject(source_name, "", _parse_json(text, source_name))
    _check_format(part)
    trees = part.content["format"] > 1
    kind = part.get_text("kind")
    if kind not in _KEYS_BY_KIND:
        raise part.make_error("kind", f"{kind!r} is unknown{suggest(kind, _KEYS_BY_KIND)}")
    part.reject_unknown_keys((*_KEYS_BY_KIND[kind], *(_KEYS_SINCE_FORMAT_2 if trees else ())))
    record = part.get_object("record").content if "record" in part.content else {}
    operators = _parse_operators(part)
    thing: BundleFormulas
    if kind == "models":
        thing = _parse_models(part, operators)
    else:
        thing = (
            _parse_features(part, operators, trees)
            if kind == "features"
            else _parse_model(part, operators, trees)
        )
    if trees:
        _check_domains_and_digest(part, thing if isinstance(thing, tuple) else thing.terms, operators)
    return Bundle(thing, operators, record)


def _parse_features(
    part: _JsonObject, operators: dict[str, Operator], has_trees: bool
) -> tuple[Expression, ...]:
    if has_trees:
        listed = part.get_objects("features")
        features = tuple(_parse_stored_formula(one, (), operators) for one in listed)
    else:
        features = tuple(
            _parse_expression(part, f"features[{place}]", feature, operators)
            for place, feature in enumerate(part.get_texts("features"))
        )
    if not features:
        raise part.make_error("features", "there are none")
    _check_inputs(part, features)
    return features


def _parse_model(part: _JsonObject, operators: dict[str, Operator], has_trees: bool) -> Formula:  # noqa: FBT001
    terms = part.get_objects("terms")
    if has_trees:
        expressions = tuple(_parse_stored_formula(term, ("coefficient",), operators) for term in terms)
    else:
        for term in terms:
            term.reject_unknown_keys(("coefficient", "expression"))
        expressions = tuple(
            _parse_expression(term, "expression", term.get_text("expression"), operators) for term in terms
        )
    _check_inputs(part, expressions)
    coefficients = tuple(term.get_number("coefficient") for term in terms)
    try:
        return Formula(part.get_text("target"), part.get_number("intercept"), coefficients, expressions)
    except FormulaError as error:
        raise part.make_error("terms", str(error)) from None


def _parse_models(part: _JsonObject, operators: dict[str, Operator]) -> SharedFormula:
    terms = part.get_objects("terms")
    expressions = tuple(_parse_stored_formula(term, ("coefficients",), operators) for term in terms)
    _check_inputs(part, expressions)
    targets, intercepts = tuple(part.get_texts("targets")), part.get_numbers("intercepts")
    columns = [term.get_numbers("coefficients") for term in terms]
    for term, column in zip(terms, columns, strict=True):
        if len(column) != len(targets):
            raise term.make_error("coefficients", f"{len(column)} numbers for {len(targets)} targets")
    coefficients = tuple(tuple(column[place] for column in columns) for place in range(len(targets)))
    try:
        return SharedFormula(targets, intercepts, coefficients, expressions)
    except FormulaError as error:
        raise part.make_error("targets", str(error)) from None


def _parse_stored_formula(
    part: _JsonObject, extra_keys: tuple[str, ...], operators: dict[str, Operator]
) -> Expression:
    """Read a formula's text; its tree, which is for other programs, must be the same formula."""
    part.reject_unknown_keys((*extra_keys, "expression", "tree"))
    expression = _parse_expression(part, "expression", part.get_text("expression"), operators)
    if _is_same_json(part.get_value("tree"), to_json_tree(expression)):
        return expression
    raise part.make_error("tree", "not the tree of the expression beside it: one of the two was changed")


def _is_same_json(first: object, second: object) -> bool:
    # for Python 1, 1.0 and True are equal
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _check_domains_and_digest(
    part: _JsonObject, expressions: Sequence[Expression], operators: dict[str, Operator]
) -> None:
    try:
        domains = collect_domains(expressions, operators)
    except InputError as error:
        raise part.make_error("domains", escape_control_chars(str(error))) from None
    if not _is_same_json(part.get_value("domains"), domains):
        raise part.make_mismatch_error("domains", part.content["domains"], "those of its formulas")
    if part.get_text("digest") != compute_bundle_digest(part.content):
        raise part.make_error("digest", "the formulas are not those that were saved; save them again")


def _parse_json(text: str, source_name: str) -> dict[str, Any]:
    try:
        content = json.loads(text, parse_constant=_reject_constant, object_pairs_hook=_reject_duplicate_keys)
    except RecursionError:
        raise FormulaError(f"{source_name}: nested too deeply; this is no bundle") from None
    except ValueError as error:
        raise FormulaError(
            f"{source_name}: not the JSON of a bundle: {escape_control_chars(str(error))}"
        ) from None
    if not isinstance(content, dict) or "format" not in content:
        raise FormulaError(
            f"{source_name}: JSON, but not a bundle; give a file that symscreen saved to be applied"
        )
    return content


def _reject_constant(text: str) -> float:
    raise ValueError(f"{text} is no finite number")


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return content


def _check_format(part: _JsonObject) -> None:
    found = part.content["format"]
    if _is_integer(found) and found > BUNDLE_FORMAT:
        own = metadata.version("symscreen")
        raise part.make_error("format", f"format {reprlib.repr(found)} came after symscreen {own}; update it")
    if not _is_integer(found) or not 1 <= found <= BUNDLE_FORMAT:
        raise part.make_mismatch_error("format", found, f"1 or {BUNDLE_FORMAT}")
    part.get_text("symscreen")


def _parse_operators(part: _JsonObject) -> dict[str, Operator]:
    definitions, costs = part.get_object("define"), part.get_object("costs")
    if len(definitions.content) > _MAX_DEFINITIONS:
        raise part.make_error(
            "define", f"{len(definitions.content)} operators; at most {_MAX_DEFINITIONS} are read"
        )
    for name in definitions.content:
        definition = definitions.get_object(name)
        definition.reject_unknown_keys(("formula", "cost"))
        definition.get_text("formula")
        definition.get_cost("cost")
    for name in costs.content:
        costs.get_cost(name)
    try:
        return build_operators(definitions.content, costs.content)
    except InputError as error:
        raise part.make_error("define", escape_control_chars(str(error))) from None


def _parse_expression(part: _JsonObject, key: str, text: str, operators: dict[str, Operator]) -> Expression:
    try:
        return parse_expression(text, operators)
    except FormulaError as error:
        raise part.make_error(key, escape_control_chars(str(error))) from None


def _check_inputs(part: _JsonObject, expressions: Sequence[Expression]) -> None:
    """Refuse a list that is not what the formulas need: one of the two was changed by hand."""
    if tuple(part.get_texts("inputs")) != collect_inputs(expressions):
        needed = reprlib.repr(list(collect_inputs(expressions)))
        raise part.make_mismatch_error("inputs", part.content["inputs"], f"those of its formulas, {needed}")


@dataclass(frozen=True, slots=True)
class _JsonObject:
    """Typed access to an object of the file; every complaint names the file and the key."""

    file_name: str
    key_prefix: str
    content: dict[str, Any]

    def make_error(self, key: str, reason: str) -> FormulaError:
        return FormulaError(f"{self.file_name}, {escape_control_chars(self.key_prefix + key)}: {reason}")

    def make_mismatch_error(self, key: str, actual: object, expected: str) -> FormulaError:
        return self.make_error(
            key, f"expected {expected}, found {escape_control_chars(reprlib.repr(actual))}"
        )

    def reject_unknown_keys(self, keys: tuple[str, ...]) -> None:
        for key in self.content:
            if key not in keys:
                raise self.make_error(key, f"this key has no meaning{suggest(key, keys)}")

    def get_value(self, key: str) -> Any:
        if key not in self.content:
            raise self.make_error(key, "missing; the file was cut or changed after it was saved")
        return self.content[key]

    def get_text(self, key: str) -> str:
        value = self.get_value(key)
        if not isinstance(value, str):
            raise self.make_mismatch_error(key, value, "a text")
        return value

    def get_number(self, key: str) -> float:
        return self._check_number(key, self.get_value(key))

    def get_numbers(self, key: str) -> tuple[float, ...]:
        values = self.get_value(key)
        if not isinstance(values, list):
            raise self.make_mismatch_error(key, values, "a list of numbers")
        return tuple(self._check_number(key, value) for value in values)

    def _check_number(self, key: str, value: object) -> float:
        if not (isinstance(value, float) or _is_integer(value)):
            raise self.make_mismatch_error(key, value, "a number")
        try:
            number = float(value)  # type: ignore[arg-type]  # one of both, as was just seen
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.make_mismatch_error(key, value, "a finite number")
        return number

    def get_cost(self, key: str) -> int:
        value = self.get_value(key)
        if not _is_integer(value) or not 0 <= value <= _MAX_COST:
            raise self.make_mismatch_error(key, value, f"a whole number from 0 to {_MAX_COST}")
        return int(value)

    def get_texts(self, key: str) -> list[str]:
        value = self.get_value(key)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.make_mismatch_error(key, value, "a list of texts")
        return value

    def get_object(self, key: str) -> _JsonObject:
        value = self.get_value(key)
        if not isinstance(value, dict):
            raise self.make_mismatch_error(key, value, "an object")
        return _JsonObject(self.file_name, f"{self.key_prefix}{key}.", value)

    def get_objects(self, key: str) -> list[_JsonObject]:
        value = self.get_value(key)
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.make_mismatch_error(key, value, "a list of objects")
        return [
            _JsonObject(self.file_name, f"{self.key_prefix}{key}[{place}].", item)
            for place, item in enumerate(value)
        ]


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def save_bundle(
    formulas: Formula | SharedFormula | Sequence[Expression],
    path: str | os.PathLike[str],
    *,
    operators: Mapping[str, Operator] = OPERATORS,
    record: Mapping[str, Any] | None = None,
    force: bool = False,
) -> None:
    """Save a model or features, the whole file or nothing.

    Parameters
    ----------
    thing : Formula, SharedFormula or sequence of Expression
        A model, models of several targets, or features such as ``ScreenResult.expressions``; at least one.
    path : str or path
        The file's name; ``-`` is standard output.
    operators : mapping of str to Operator
        The grammar's operators; needed where a definition in it calls another one.
    record : mapping, optional
        How the thing was made, kept as it is: what JSON can hold, under text keys.
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    OutputError
        If the file exists and `force` is not given, cannot be written, or could not be read back: a formula
        is too long, an operator is not defined by a formula, the record holds other than plain values.

    Examples
    --------
    >>> import tempfile
    >>> from symscreen.expressions.tree import parse_expression
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_bundle(Formula("y", 1.0, (0.1,), (parse_expression("x**2"),)), Path(folder) / "m.json")
    ...     print(load_bundle(Path(folder) / "m.json").equation)
    y = 1 + 0.1*x**2
    """
    if str(path) == "-":
        sys.stdout.write(format_bundle(formulas, operators=operators, record=record))
        return
    check_writable(Path(path), force=force)
    write_atomically(
        Path(path), format_bundle(formulas, operators=operators, record=record).encode(), force=force
    )


def format_bundle(
    formulas: Formula | SharedFormula | Sequence[Expression],
    *,
    operators: Mapping[str, Operator] = OPERATORS,
    record: Mapping[str, Any] | None = None,
) -> str:
    """Return the text of a bundle; equal things give equal bytes.

    Parameters
    ----------
    thing, operators, record
        As for `save_bundle`.

    Returns
    -------
    str
        JSON with the format's and symscreen's versions, the kind, the formulas in the one notation and as
        trees, the inputs that they need, the domains of what stands in them, the definitions and costs of
        operators that do not ship so, and a digest of all that.

    Raises
    ------
    OutputError
        If it could not be read back.
    """
    expressions = _get_expressions(formulas)
    try:
        check_numbers(expressions)
        content = {
            "format": BUNDLE_FORMAT,
            "symscreen": metadata.version("symscreen"),
            **_to_json_content(formulas),
            "inputs": list(collect_inputs(expressions)),
            "domains": collect_domains(expressions, operators),
            "define": collect_definitions(expressions, operators),
            "costs": dict(sorted(collect_changed_costs(expressions).items())),
        }
        content |= {
            "digest": compute_bundle_digest(content),
            **({} if record is None else {"record": dict(record)}),
        }
        text = _format_json(content)
        back = parse_bundle(text, "the bundle").formulas
    except (FormulaError, GrammarError) as error:
        raise OutputError(f"this cannot be saved: {error}") from None
    returned = _get_expressions(back)
    if len(text) > MAX_JSON_BYTES // 4:  # UTF-8 takes four bytes for a character at most
        raise OutputError(f"this cannot be saved: {len(expressions)} formulas are too many for one file")
    if any(compute_key(one) != compute_key(other) for one, other in zip(expressions, returned, strict=True)):
        raise OutputError("this cannot be saved: a formula's text reads back as another formula")
    return text


def load_bundle(path: str | os.PathLike[str]) -> BundleFormulas:
    """Read what `save_bundle` wrote, and nothing else.

    Parameters
    ----------
    path : str or path
        The file's name; ``-`` is standard input.

    Returns
    -------
    Formula, SharedFormula or tuple of Expression
        A model, models of several targets, or features. Operators of users' own are built anew from their
        definitions.

    Raises
    ------
    FormulaError
        If the file cannot be read or is not such a bundle, in every part; the message says where.

    Examples
    --------
    >>> load_bundle("absent.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: absent.json: there is no such file; check its name and its folder
    """
    return read_bundle(path).formulas


def read_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Read what `save_bundle` wrote, with the operators that its formulas call and its record.

    Parameters and errors are those of `load_bundle`.

    Returns
    -------
    Bundle

    Examples
    --------
    >>> import tempfile
    >>> from symscreen.expressions.tree import parse_expression
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_bundle([parse_expression("x**2")], Path(folder) / "f.json", record={"seed": 3})
    ...     read_bundle(Path(folder) / "f.json").record
    {'seed': 3}
    """
    where = "standard input" if str(path) == "-" else escape_control_chars(str(path))
    try:
        data = _read_bytes(path)
    except FileNotFoundError:
        raise FormulaError(f"{where}: there is no such file; check its name and its folder") from None
    except (OSError, ValueError) as error:
        # a ValueError is a path with a null character inside
        reason = getattr(error, "strerror", None) or error
        raise FormulaError(f"{where}: cannot be read ({reason})") from None
    if len(data) > MAX_JSON_BYTES:
        raise FormulaError(
            f"{where}: larger than {MAX_JSON_BYTES // 10**6} MB; this is no bundle of formulas"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormulaError(f"{where}: not UTF-8 text; a bundle is the JSON file that was saved") from None
    return parse_bundle(text, where)


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read(MAX_JSON_BYTES + 1)
    with Path(path).open("rb") as file:
        return file.read(MAX_JSON_BYTES + 1)


def _get_expressions(formulas: Formula | SharedFormula | Sequence[Expression]) -> tuple[Expression, ...]:
    return formulas.terms if isinstance(formulas, Formula | SharedFormula) else tuple(formulas)


def _to_json_content(formulas: Formula | SharedFormula | Sequence[Expression]) -> dict[str, Any]:
    if isinstance(formulas, SharedFormula):
        columns = zip(*formulas.coefficients, strict=True) if formulas.terms else ()
        return {
            "kind": "models",
            "targets": list(formulas.targets),
            "intercepts": list(formulas.intercepts),
            "terms": [
                {"coefficients": list(column), **_to_json_formula(term)}
                for column, term in zip(columns, formulas.terms, strict=True)
            ],
        }
    if not isinstance(formulas, Formula):
        return {"kind": "features", "features": [_to_json_formula(feature) for feature in formulas]}
    return {
        "kind": "model",
        "target": formulas.target,
        "intercept": formulas.intercept,
        "terms": [
            {"coefficient": coefficient, **_to_json_formula(term)}
            for coefficient, term in zip(formulas.coefficients, formulas.terms, strict=True)
        ],
    }


def _to_json_formula(expression: Expression) -> dict[str, Any]:
    return {"expression": to_text(expression), "tree": to_json_tree(expression)}


def _format_json(content: Mapping[str, Any]) -> str:
    try:
        text = _format_json_lines(content, escaped=False)
        # a name may hold half of a surrogate pair, which UTF-8 cannot write, or what steers a terminal
        plain = all(mark.isprintable() or mark == "\n" for mark in text)
        return text if plain else _format_json_lines(content, escaped=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise OutputError(
            f"this cannot be saved: its record holds more than plain values ({error})"
        ) from None


def _format_json_lines(content: Mapping[str, Any], *, escaped: bool) -> str:
    """Write a line for each formula, that files of many stay small and can be compared line by line."""

    def format_value(value: Any, indent: int | None = None) -> str:
        return json.dumps(value, ensure_ascii=escaped, indent=indent, allow_nan=False)

    lines = []
    for key_, value in content.items():
        if key_ in {"features", "terms"} and value:
            rows = ",\n".join(f"    {format_value(one)}" for one in value)
            lines.append(f"  {format_value(key_)}: [\n{rows}\n  ]")
        else:
            lines.append(f"  {format_value(key_)}: {format_value(value, 2).replace(chr(10), chr(10) + '  ')}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
