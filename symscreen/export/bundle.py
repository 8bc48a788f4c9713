"""Save and load models and features as bundles: JSON files that need no grammar file and are never executed.

A bundle stores each formula twice: as text in symscreen's notation, and as a JSON tree for other programs.
It also stores the required inputs, the domains on which the formulas are defined, the definitions and costs
of operators that are not built in, and a digest. The reader checks every key and type, and that the text,
the tree, the domains and the digest agree. No text is evaluated as code.
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
from symscreen.errors import FormulaError, GrammarError, InputError, OutputError
from symscreen.export.operator_definitions import (
    build_operators,
    collect_changed_costs,
    collect_definitions,
    inline_definitions,
)
from symscreen.expressions.linear_formula import Formula, SharedFormula
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import (
    check_numbers,
    collect_inputs,
    compute_key,
    fold_expression,
    iterate_calls,
)
from symscreen.expressions.tree import Constant, Expression, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.operator import Domain
from symscreen.messages import escape_control_chars, suggest

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from symscreen.grammar import Operator


def to_json_tree(expression: Expression) -> Any:
    """Convert a formula to a JSON tree.

    Parameters
    ----------
    expression : Expression
        The formula.

    Returns
    -------
    dict, float or list
        A column is ``{"column": name}``, a constant is a number, and an operator application is a list of the
        operator's name and its arguments.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> to_json_tree(parse_expression("x1 - 2*sin(`a b`)"))
    ['sub', {'column': 'x1'}, ['mul', 2, ['sin', {'column': 'a b'}]]]
    """
    return fold_expression(
        expression,
        column=lambda name: {"column": name},
        number=lambda constant: constant.value,
        call=lambda call, arguments: [call.operator.name, *arguments],
    )


def collect_domains(
    expressions: Sequence[Expression], operators: Mapping[str, Operator] = OPERATORS
) -> dict[str, list[str]]:
    """Collect the conditions under which formulas are defined, with definitions inlined.

    Parameters
    ----------
    expressions : sequence of Expression
        The formulas.
    operators : mapping of str to Operator
        The operators of the grammar. They are needed if the definition of one operator calls another.

    Returns
    -------
    dict of str to list of str
        Maps the text of an argument to the domains it must lie in: ``nonzero``, ``nonnegative``, ``positive``
        or ``unit`` ([−1, 1]). Conditions on powers and the absence of overflow are not included.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> collect_domains([parse_expression("log(x1 - x2)/x2"), parse_expression("1/x1")])
    {'x1': ['nonzero'], 'x1 - x2': ['positive'], 'x2': ['nonzero']}
    """
    domains: dict[str, set[str]] = {}
    for expression in inline_definitions(expressions, operators):
        for call in iterate_calls(expression):
            for argument, domain in zip(call.arguments, call.operator.domain, strict=True):
                if domain is not Domain.REAL and not isinstance(argument, Constant):
                    domains.setdefault(to_text(argument), set()).add(domain.value)
    return {text: sorted(domains[text]) for text in sorted(domains)}


BundleFormulas = Formula | SharedFormula | tuple[Expression, ...]

BUNDLE_FORMAT = 2  # format 1 had no trees, domains or digest; it can still be read
_MAX_DEFINITIONS = 400  # operators per bundle
_MAX_COST = 1000  # cost of one operator

_COMMON_KEYS = ("format", "symscreen", "kind", "inputs", "define", "costs", "record")
_KEYS_BY_KIND = {
    "model": (*_COMMON_KEYS, "target", "intercept", "terms"),
    "models": (*_COMMON_KEYS, "targets", "intercepts", "terms"),
    "features": (*_COMMON_KEYS, "features"),
}
_KEYS_SINCE_FORMAT_2 = ("domains", "digest")


@dataclass(frozen=True, eq=False)
class Bundle:
    """The contents of a bundle.

    Parameters
    ----------
    formulas : Formula, SharedFormula or tuple of Expression
        A model, the models of several targets, or features.
    operators : dict of str to Operator
        The operators that the formulas and definitions may call.
    record : dict
        The record of how the formulas were made; empty if none was saved.
    """

    formulas: BundleFormulas
    operators: dict[str, Operator]
    record: dict[str, Any]


def compute_bundle_digest(content: Mapping[str, Any]) -> str:
    """Compute the digest of the formulas of a bundle. It ignores the versions and the record.

    Parameters
    ----------
    content : mapping
        The JSON object of the bundle.

    Returns
    -------
    str
        Hexadecimal SHA-256 of the compact JSON with sorted keys.

    Examples
    --------
    >>> compute_bundle_digest({"kind": "features"}) == compute_bundle_digest({"kind": "features",
    ...     "record": {}, "format": 2})
    True
    """
    ignored = {"format", "symscreen", "digest", "record"}
    digested = {key: value for key, value in content.items() if key not in ignored}
    text = json.dumps(digested, sort_keys=True, separators=(",", ":"))  # ASCII for all names
    return hashlib.sha256(text.encode()).hexdigest()


def parse_bundle_formulas(text: str, source_name: str) -> BundleFormulas:
    """Parse the text of a bundle and return its formulas.

    Parameters
    ----------
    text : str
        JSON, as `symscreen.export.format_bundle` writes it.
    source_name : str
        The name of the source in messages.

    Returns
    -------
    Formula, SharedFormula or tuple of Expression

    Raises
    ------
    FormulaError
        If any part of the text was changed after it was written.

    Examples
    --------
    >>> parse_bundle_formulas('{"format": 1, "symscreen": "0.1.0"}', "m.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: m.json, kind: missing; the file was cut or changed after it was saved
    """
    return parse_bundle(text, source_name).formulas


def parse_bundle(text: str, source_name: str) -> Bundle:
    """Parse the text of a bundle. See `parse_bundle_formulas` for the parameters and errors.

    Examples
    --------
    >>> parse_bundle("[]", "m.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: m.json: JSON, but not a bundle; give a file that symscreen saved
    """
    root = _JsonObject(source_name, "", _parse_json(text, source_name))
    _check_format(root)
    has_trees = root.content["format"] > 1
    kind = root.get_text("kind")
    if kind not in _KEYS_BY_KIND:
        raise root.make_error("kind", f"{kind!r} is unknown{suggest(kind, _KEYS_BY_KIND)}")
    root.reject_unknown_keys((*_KEYS_BY_KIND[kind], *(_KEYS_SINCE_FORMAT_2 if has_trees else ())))
    record = root.get_object("record").content if "record" in root.content else {}
    operators = _parse_operators(root)
    formulas: BundleFormulas
    if kind == "models":
        formulas = _parse_models(root, operators)
    elif kind == "features":
        formulas = _parse_features(root, operators, has_trees=has_trees)
    else:
        formulas = _parse_model(root, operators, has_trees=has_trees)
    if has_trees:
        _check_domains_and_digest(
            root, formulas if isinstance(formulas, tuple) else formulas.terms, operators
        )
    return Bundle(formulas, operators, record)


def _parse_features(
    part: _JsonObject, operators: dict[str, Operator], *, has_trees: bool
) -> tuple[Expression, ...]:
    if has_trees:
        features = tuple(_parse_stored_formula(item, (), operators) for item in part.get_objects("features"))
    else:
        features = tuple(
            _parse_expression(part, f"features[{index}]", text, operators)
            for index, text in enumerate(part.get_texts("features"))
        )
    if not features:
        raise part.make_error("features", "the list is empty")
    _check_inputs(part, features)
    return features


def _parse_model(part: _JsonObject, operators: dict[str, Operator], *, has_trees: bool) -> Formula:
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
    term_coefficients = [term.get_numbers("coefficients") for term in terms]
    for term, row in zip(terms, term_coefficients, strict=True):
        if len(row) != len(targets):
            raise term.make_error(
                "coefficients", f"expected {len(targets)} numbers, one per target, found {len(row)}"
            )
    coefficients = tuple(tuple(row[target] for row in term_coefficients) for target in range(len(targets)))
    try:
        return SharedFormula(targets, intercepts, coefficients, expressions)
    except FormulaError as error:
        raise part.make_error("targets", str(error)) from None


def _parse_stored_formula(
    part: _JsonObject, extra_keys: tuple[str, ...], operators: dict[str, Operator]
) -> Expression:
    """Parse the text of a formula and check that its tree, which is for other programs, agrees."""
    part.reject_unknown_keys((*extra_keys, "expression", "tree"))
    expression = _parse_expression(part, "expression", part.get_text("expression"), operators)
    if _is_same_json(part.get_value("tree"), to_json_tree(expression)):
        return expression
    raise part.make_error("tree", "the tree and the expression differ: one of them was changed")


def _is_same_json(first: object, second: object) -> bool:
    """Compare JSON values by type and value; in Python, 1, 1.0 and True are equal."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _check_domains_and_digest(
    part: _JsonObject, expressions: Sequence[Expression], operators: dict[str, Operator]
) -> None:
    try:
        domains = collect_domains(expressions, operators)
    except InputError as error:
        raise part.make_error("domains", escape_control_chars(str(error))) from None
    if not _is_same_json(part.get_value("domains"), domains):
        raise part.make_mismatch_error("domains", part.content["domains"], "the domains of the formulas")
    if part.get_text("digest") != compute_bundle_digest(part.content):
        raise part.make_error("digest", "the formulas were changed after they were saved; save them again")


def _parse_json(text: str, source_name: str) -> dict[str, Any]:
    try:
        content = json.loads(text, parse_constant=_reject_constant, object_pairs_hook=_reject_duplicate_keys)
    except RecursionError:
        raise FormulaError(f"{source_name}: nested too deeply; this is not a bundle") from None
    except ValueError as error:
        raise FormulaError(
            f"{source_name}: not the JSON of a bundle: {escape_control_chars(str(error))}"
        ) from None
    if not isinstance(content, dict) or "format" not in content:
        raise FormulaError(f"{source_name}: JSON, but not a bundle; give a file that symscreen saved")
    return content


def _reject_constant(text: str) -> float:
    raise ValueError(f"{text} is not a finite number")


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("an object contains a key twice")
    return content


def _check_format(part: _JsonObject) -> None:
    version = part.content["format"]
    if _is_integer(version) and version > BUNDLE_FORMAT:
        raise part.make_error(
            "format",
            f"format {reprlib.repr(version)} is newer than symscreen {metadata.version('symscreen')}; "
            "update symscreen",
        )
    if not _is_integer(version) or not 1 <= version <= BUNDLE_FORMAT:
        raise part.make_mismatch_error("format", version, f"1 or {BUNDLE_FORMAT}")
    part.get_text("symscreen")


def _parse_operators(part: _JsonObject) -> dict[str, Operator]:
    definitions, costs = part.get_object("define"), part.get_object("costs")
    if len(definitions.content) > _MAX_DEFINITIONS:
        raise part.make_error(
            "define", f"{len(definitions.content)} operators; the limit is {_MAX_DEFINITIONS}"
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
    """Check that the stored list of inputs is the one that the formulas need."""
    if tuple(part.get_texts("inputs")) != collect_inputs(expressions):
        required = reprlib.repr(list(collect_inputs(expressions)))
        raise part.make_mismatch_error(
            "inputs", part.content["inputs"], f"the inputs of the formulas, {required}"
        )


@dataclass(frozen=True, slots=True)
class _JsonObject:
    """Typed access to a JSON object of the file. Every error names the file and the key."""

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
                raise self.make_error(key, f"unknown key{suggest(key, keys)}")

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
            number = float(value)  # type: ignore[arg-type]  # a float or an integer, checked above
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.make_mismatch_error(key, value, "a finite number")
        return number

    def get_cost(self, key: str) -> int:
        value = self.get_value(key)
        if not _is_integer(value) or not 0 <= value <= _MAX_COST:
            raise self.make_mismatch_error(key, value, f"an integer from 0 to {_MAX_COST}")
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
            _JsonObject(self.file_name, f"{self.key_prefix}{key}[{index}].", item)
            for index, item in enumerate(value)
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
    """Save a model or features to a file. The file is written completely or not at all.

    Parameters
    ----------
    formulas : Formula, SharedFormula or sequence of Expression
        A model, models of several targets, or at least one feature, such as ``ScreenResult.expressions``.
    path : str or path
        The file name; ``-`` is standard output.
    operators : mapping of str to Operator
        The operators of the grammar. They are needed if the definition of one operator calls another.
    record : mapping, optional
        A record of how the formulas were made, stored unchanged. It must be valid JSON with text keys.
    force : bool
        Whether to overwrite an existing file.

    Raises
    ------
    OutputError
        If the file exists and `force` is false, if it cannot be written, or if it could not be read back: a
        formula is too long, an operator is not defined by a formula, or the record is not valid JSON.

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
    text = format_bundle(formulas, operators=operators, record=record)
    write_atomically(Path(path), text.encode(), force=force)


def format_bundle(
    formulas: Formula | SharedFormula | Sequence[Expression],
    *,
    operators: Mapping[str, Operator] = OPERATORS,
    record: Mapping[str, Any] | None = None,
) -> str:
    """Return the text of a bundle. Equal formulas give identical text.

    Parameters
    ----------
    formulas, operators, record
        See `save_bundle`.

    Returns
    -------
    str
        JSON with the versions of the format and of symscreen, the kind, the formulas as texts and trees,
        their inputs and domains, the definitions and costs of operators that are not built in, a digest, and
        the record.

    Raises
    ------
    OutputError
        If the text could not be read back.
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
        reread = parse_bundle(text, "the bundle").formulas
    except (FormulaError, GrammarError) as error:
        raise OutputError(f"cannot be saved: {error}") from None

    if len(text) > MAX_JSON_BYTES // 4:  # a character takes at most four bytes in UTF-8
        raise OutputError(
            f"the bundle cannot be saved: {len(expressions)} formulas are too many for one file"
        )
    pairs = zip(expressions, _get_expressions(reread), strict=True)
    if any(compute_key(expression) != compute_key(other) for expression, other in pairs):
        raise OutputError(
            "the bundle cannot be saved: the text of a formula reads back as a different formula"
        )
    return text


def load_bundle(path: str | os.PathLike[str]) -> BundleFormulas:
    """Load the formulas of a bundle that `save_bundle` wrote.

    Parameters
    ----------
    path : str or path
        The file name; ``-`` is standard input.

    Returns
    -------
    Formula, SharedFormula or tuple of Expression
        A model, models of several targets, or features. User-defined operators are rebuilt from their
        definitions.

    Raises
    ------
    FormulaError
        If the file cannot be read or is not a valid bundle; the message names the place.

    Examples
    --------
    >>> load_bundle("absent.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: absent.json: there is no such file; check its name and its folder
    """
    return read_bundle(path).formulas


def read_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Read a bundle with its operators and its record.

    See `load_bundle` for the parameters and errors.

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
    source_name = "standard input" if str(path) == "-" else escape_control_chars(str(path))
    try:
        data = _read_bytes(path)
    except FileNotFoundError:
        raise FormulaError(f"{source_name}: there is no such file; check its name and its folder") from None
    except (OSError, ValueError) as error:
        # A path with a null character raises a ValueError.
        reason = getattr(error, "strerror", None) or error
        raise FormulaError(f"{source_name}: cannot be read ({reason})") from None
    if len(data) > MAX_JSON_BYTES:
        raise FormulaError(f"{source_name}: larger than {MAX_JSON_BYTES // 10**6} MB; this is not a bundle")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormulaError(f"{source_name}: not UTF-8 text; give a JSON file that symscreen saved") from None
    return parse_bundle(text, source_name)


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
        # A name may contain a lone surrogate, which UTF-8 cannot encode, or terminal control characters.
        is_printable = all(character.isprintable() or character == "\n" for character in text)
        return text if is_printable else _format_json_lines(content, escaped=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise OutputError(f"the bundle cannot be saved: the record is not valid JSON ({error})") from None


def _format_json_lines(content: Mapping[str, Any], *, escaped: bool) -> str:
    """Write each formula on one line, so that large files stay small and can be compared line by line."""

    def format_value(value: Any, indent: int | None = None) -> str:
        return json.dumps(value, ensure_ascii=escaped, indent=indent, allow_nan=False)

    lines = []
    for key, value in content.items():
        if key in {"features", "terms"} and value:
            rows = ",\n".join(f"    {format_value(item)}" for item in value)
            lines.append(f"  {format_value(key)}: [\n{rows}\n  ]")
        else:
            lines.append(f"  {format_value(key)}: {format_value(value, 2).replace(chr(10), chr(10) + '  ')}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
