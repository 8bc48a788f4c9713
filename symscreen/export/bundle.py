"""Save, load and apply models and features as bundles: JSON files that need no grammar file.

A bundle stores each formula twice: as text in symscreen's notation, and as a JSON tree for other programs.
It also stores the required inputs, the domains on which the formulas are defined, the definitions and costs
of operators that are not built in, and a digest. The reader checks every key and type, and that the text,
the tree, the domains and the digest agree. No text is evaluated as code.
"""

from __future__ import annotations

import hashlib
import json
import os
import reprlib
import sys
import warnings
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from symscreen._atomic_io import check_writable, write_atomically
from symscreen._limits import MAX_JSON_BYTES
from symscreen.data import FilledColumn, LevelIndicator, MissingIndicator, TimeColumn
from symscreen.data.documents import FiniteNumber, convert_document, format_place, parse_document
from symscreen.errors import FormulaError, GrammarError, InputError, OptionError, OutputError
from symscreen.export.operator_definitions import (
    build_operators,
    collect_changed_costs,
    collect_definitions,
    inline_definitions,
)
from symscreen.expressions.grouped_formula import GroupConstant, GroupedFormula, predict_model
from symscreen.expressions.linear_formula import Formula, SharedFormula, evaluate_formulas
from symscreen.expressions.printing import to_text
from symscreen.expressions.system_formula import SystemFormula
from symscreen.expressions.traversal import (
    check_numbers,
    collect_indicators,
    collect_inputs,
    compute_key,
    define_columns,
    fold_expression,
    iterate_calls,
)
from symscreen.expressions.tree import Constant, Expression, parse_expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.operator import Domain
from symscreen.messages import escape_control_chars, name_option, suggest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    import pandas as pd

    from symscreen.data import DerivedColumn
    from symscreen.export.prediction_band import PredictionBand
    from symscreen.expressions.input_ranges import InputRanges
    from symscreen.grammar import Operator

    SavedFormulas: TypeAlias = Formula | SharedFormula | GroupedFormula | SystemFormula | Sequence[Expression]


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


BundleFormulas = Formula | SharedFormula | GroupedFormula | SystemFormula | tuple[Expression, ...]

BUNDLE_FORMAT = 3
_MAX_DEFINITIONS = 400  # operators per bundle
_Cost = Annotated[int, Meta(ge=0, le=1000, description="an integer from 0 to 1000")]
_Texts = Annotated[list[str], Meta(description="a list of texts")]
_Range = Annotated[
    list[FiniteNumber], Meta(min_length=2, max_length=2, description="a list of two finite numbers")
]
_Numbers = Annotated[list[FiniteNumber], Meta(description="a list of finite numbers")]


class _Kind(Struct):
    """The kind of a bundle, which says what else it contains."""

    kind: str


class _OperatorDefinition(Struct, forbid_unknown_fields=True):
    """The definition of an operator that is not built in."""

    formula: str
    cost: _Cost


class _StoredFormula(Struct, forbid_unknown_fields=True, kw_only=True):
    """A formula as text and as tree."""

    expression: str
    tree: Any


class _Term(_StoredFormula, forbid_unknown_fields=True, kw_only=True):
    """A term of a model."""

    coefficient: FiniteNumber


class _SharedTerm(_StoredFormula, forbid_unknown_fields=True, kw_only=True):
    """A term of the models of several targets."""

    coefficients: _Numbers


class _StoredConstant(Struct, forbid_unknown_fields=True, kw_only=True):
    """A constant with a value for each group."""

    symbol: str
    values: _Numbers


class _StoredIndicator(Struct, forbid_unknown_fields=True):
    """How an input is computed from another column.

    The input depends on a level of the column, on what fills its missing values, on an operator of time, or
    else on where the column is missing.
    """

    column: str
    level: Annotated[str | FiniteNumber | None, Meta(description="a text or a number")] = None
    gated_column: str | None = None
    fill: FiniteNumber | None = None
    operator: str | None = None
    time: str | None = None
    trajectory: str | None = None


class _Document(Struct, forbid_unknown_fields=True, kw_only=True):
    """What every bundle contains."""

    format: int
    symscreen: str
    kind: str
    inputs: _Texts
    domains: Any
    define: dict[str, _OperatorDefinition]
    costs: dict[str, _Cost]
    digest: str
    indicators: dict[str, _StoredIndicator] = {}
    record: dict[str, Any] = {}


class _ModelDocument(_Document, forbid_unknown_fields=True, kw_only=True):
    """A model."""

    target: str
    intercept: FiniteNumber
    terms: list[_Term]


class _ModelsDocument(_Document, forbid_unknown_fields=True, kw_only=True):
    """The models of several targets."""

    targets: _Texts
    intercepts: _Numbers
    terms: list[_SharedTerm]


class _SystemDocument(_ModelsDocument, forbid_unknown_fields=True, kw_only=True):
    """Differential equations; the targets are their left sides."""

    time: str
    states: _Texts
    order: int
    trajectory: str | None


class _GroupedDocument(_ModelDocument, forbid_unknown_fields=True, kw_only=True):
    """A model whose constants differ from group to group; they stand in its terms as columns."""

    column: str
    groups: _Texts
    constants: list[_StoredConstant]


class _FeaturesDocument(_Document, forbid_unknown_fields=True, kw_only=True):
    """Features."""

    features: list[_StoredFormula]


_AnyDocument = _ModelDocument | _ModelsDocument | _GroupedDocument | _FeaturesDocument
_DOCUMENTS: dict[str, type[_AnyDocument]] = {
    "model": _ModelDocument,
    "models": _ModelsDocument,
    "grouped model": _GroupedDocument,
    "system": _SystemDocument,
    "features": _FeaturesDocument,
}


@dataclass(frozen=True, eq=False)
class Bundle:
    """The contents of a bundle.

    Parameters
    ----------
    formulas : Formula, SharedFormula, GroupedFormula, SystemFormula or tuple of Expression
        A model, the models of several targets, a model with constants by group, differential equations, or
        features.
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
    ...     "record": {}, "format": 3})
    True
    """
    ignored = {"format", "symscreen", "digest", "record"}
    digested = {key: value for key, value in content.items() if key not in ignored}
    text = json.dumps(digested, sort_keys=True, separators=(",", ":"))  # ASCII for all names
    return hashlib.sha256(text.encode()).hexdigest()


def parse_bundle(text: str | bytes, source_name: str) -> Bundle:
    """Parse the text of a bundle.

    Parameters
    ----------
    text : str or bytes
        JSON, as `symscreen.export.format_bundle` writes it.
    source_name : str
        The name of the source in messages.

    Raises
    ------
    FormulaError
        If any part of the text was changed after it was written.

    Examples
    --------
    >>> parse_bundle('{"format": 3, "symscreen": "0.1.0"}', "m.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: m.json, kind: missing; the file was cut or changed after it was saved
    """
    content = parse_document(text, source_name, "a bundle", MAX_JSON_BYTES, FormulaError, is_json=True)
    if not isinstance(content, dict) or "format" not in content:
        raise FormulaError(f"{source_name}: JSON, but not a bundle; give a file that symscreen saved")
    version = content["format"]
    if type(version) is int and version > BUNDLE_FORMAT:
        raise _make_error(
            source_name,
            "format",
            f"format {reprlib.repr(version)} is newer than symscreen {metadata.version('symscreen')}; "
            "update symscreen",
        )
    if type(version) is not int or version != BUNDLE_FORMAT:
        raise _make_error(
            source_name,
            "format",
            f"expected {BUNDLE_FORMAT}, found {reprlib.repr(version)}; save them again",
        )
    kind = convert_document(content, _Kind, source_name, FormulaError).kind
    if kind not in _DOCUMENTS:
        raise _make_error(source_name, "kind", f"{reprlib.repr(kind)} is unknown{suggest(kind, _DOCUMENTS)}")
    document = convert_document(content, _DOCUMENTS[kind], source_name, FormulaError)
    if len(document.define) > _MAX_DEFINITIONS:
        raise _make_error(
            source_name, "define", f"{len(document.define)} operators; the limit is {_MAX_DEFINITIONS}"
        )
    with _name_place(source_name, "define"):
        operators = build_operators(
            {name: {"formula": each.formula, "cost": each.cost} for name, each in document.define.items()},
            document.costs,
        )
    indicators = _build_indicators(document, source_name)
    formulas = _build_formulas(document, operators, indicators, source_name)
    expressions = _get_expressions(formulas)
    if tuple(document.inputs) != _get_inputs(formulas):
        required = reprlib.repr(list(_get_inputs(formulas)))
        found = reprlib.repr(document.inputs)
        raise _make_error(
            source_name, "inputs", f"expected the inputs of the formulas, {required}, found {found}"
        )
    with _name_place(source_name, "domains"):
        domains = collect_domains(expressions, operators)
    if not _is_same_json(document.domains, domains):
        found = reprlib.repr(document.domains)
        raise _make_error(source_name, "domains", f"expected the domains of the formulas, found {found}")
    if document.digest != compute_bundle_digest(content):
        raise _make_error(
            source_name, "digest", "the formulas were changed after they were saved; save them again"
        )
    return Bundle(formulas, operators, document.record)


def _build_indicators(document: _AnyDocument, source_name: str) -> dict[str, DerivedColumn]:
    """Build the definitions of the inputs that are computed from other columns."""
    with _name_place(source_name, "indicators"):
        indicators = {name: _build_indicator(each) for name, each in document.indicators.items()}
    for name, indicator in indicators.items():
        if name not in document.inputs or indicator.name != name:
            raise _make_error(
                source_name, "indicators", f"{reprlib.repr(name)} is not the input that it defines"
            )
    return indicators


def _build_indicator(stored: _StoredIndicator) -> DerivedColumn:
    """Build the definition of an input."""
    if stored.level is not None:
        return LevelIndicator(stored.column, stored.level, stored.gated_column)
    if stored.operator is not None:
        if stored.time is None:
            raise FormulaError(f"the operator {reprlib.repr(stored.operator)} has no time")
        return TimeColumn(stored.column, stored.operator, stored.time, stored.trajectory)
    return (
        MissingIndicator(stored.column) if stored.fill is None else FilledColumn(stored.column, stored.fill)
    )


def _build_formulas(
    document: _AnyDocument,
    operators: dict[str, Operator],
    indicators: Mapping[str, DerivedColumn],
    source_name: str,
) -> BundleFormulas:
    """Parse the formulas of a bundle."""

    def parse(stored: Sequence[_StoredFormula], key: str) -> tuple[Expression, ...]:
        parsed = _parse_formulas(stored, key, operators, source_name)
        return tuple(define_columns(expression, indicators) for expression in parsed)

    if isinstance(document, _FeaturesDocument):
        if not document.features:
            raise _make_error(source_name, "features", "the list is empty")
        return parse(document.features, "features")
    terms = parse(document.terms, "terms")
    if isinstance(document, _ModelsDocument):
        for index, term in enumerate(document.terms):
            if len(term.coefficients) != len(document.targets):
                raise _make_error(
                    source_name,
                    f"terms[{index}].coefficients",
                    f"expected {len(document.targets)} numbers, one per target, found "
                    f"{len(term.coefficients)}",
                )
        coefficients = tuple(
            tuple(term.coefficients[index] for term in document.terms)
            for index in range(len(document.targets))
        )
        with _name_place(source_name, "targets"):
            models = SharedFormula(tuple(document.targets), tuple(document.intercepts), coefficients, terms)
        if not isinstance(document, _SystemDocument):
            return models
        with _name_place(source_name, "states"):
            return SystemFormula(
                models, document.time, tuple(document.states), document.order, document.trajectory
            )
    with _name_place(source_name, "terms"):
        formula = Formula(
            document.target, document.intercept, tuple(term.coefficient for term in document.terms), terms
        )
    if not isinstance(document, _GroupedDocument):
        return formula
    constants = tuple(
        GroupConstant(each.symbol, document.column, tuple(each.values)) for each in document.constants
    )
    with _name_place(source_name, "constants"):
        return GroupedFormula(formula, document.column, tuple(document.groups), constants)


def _parse_formulas(
    stored: Sequence[_StoredFormula], key: str, operators: dict[str, Operator], source_name: str
) -> tuple[Expression, ...]:
    """Parse the texts of formulas and check that their trees, which are for other programs, agree."""
    expressions = []
    for index, formula in enumerate(stored):
        with _name_place(source_name, f"{key}[{index}].expression"):
            expression = parse_expression(formula.expression, operators)
        if not _is_same_json(formula.tree, to_json_tree(expression)):
            raise _make_error(
                source_name,
                f"{key}[{index}].tree",
                "the tree and the expression differ; one was changed",
            )
        expressions.append(expression)
    return tuple(expressions)


def _is_same_json(first: object, second: object) -> bool:
    """Return whether JSON values have the same type and value; in Python, 1, 1.0 and True are equal."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)


def _make_error(source_name: str, key: str, reason: str) -> FormulaError:
    return FormulaError(f"{format_place(source_name, key)}: {escape_control_chars(reason)}")


@contextmanager
def _name_place(source_name: str, key: str) -> Iterator[None]:
    """Add the place in the bundle to errors about formulas and operators."""
    try:
        yield
    except InputError as error:
        raise _make_error(source_name, key, str(error)) from None


def save_bundle(
    formulas: SavedFormulas,
    path: str | os.PathLike[str],
    *,
    operators: Mapping[str, Operator] = OPERATORS,
    record: Mapping[str, Any] | None = None,
    force: bool = False,
) -> None:
    """Save a model or features to a file. The file is written completely or not at all.

    Parameters
    ----------
    formulas : Formula, SharedFormula, GroupedFormula, SystemFormula or sequence of Expression
        A model, models of several targets, a model with constants by group, or at least one feature, such as
        ``ScreenResult.expressions``.
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
    formulas: SavedFormulas,
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
            "inputs": list(_get_inputs(formulas)),
            "domains": collect_domains(expressions, operators),
            "define": collect_definitions(expressions, operators),
            "costs": dict(sorted(collect_changed_costs(expressions).items())),
            **_to_json_indicators(expressions),
        }
        content |= {
            "digest": compute_bundle_digest(content),
            **({} if record is None else {"record": dict(record)}),
        }
        text = _format_json(content)
        if len(text) > MAX_JSON_BYTES // 4:  # a character takes at most four bytes in UTF-8
            raise OutputError(
                f"the bundle cannot be saved: {len(expressions)} formulas are too many for one file"
            )
        reread = parse_bundle(text, "the bundle").formulas
    except (FormulaError, GrammarError) as error:
        raise OutputError(f"cannot be saved: {error}") from None

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
    Formula, SharedFormula, GroupedFormula, SystemFormula or tuple of Expression
        A model, models of several targets, a model with constants by group, differential equations, or
        features. User-defined operators are rebuilt from their definitions.

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

    Raises
    ------
    FormulaError
        If the file cannot be read, or does not hold a bundle.

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
    return parse_bundle(data, source_name)


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read(MAX_JSON_BYTES + 1)
    with Path(path).open("rb") as file:
        return file.read(MAX_JSON_BYTES + 1)


def _get_expressions(formulas: SavedFormulas) -> tuple[Expression, ...]:
    if isinstance(formulas, Formula | SharedFormula | GroupedFormula | SystemFormula):
        return formulas.terms
    return tuple(formulas)


def _get_inputs(formulas: SavedFormulas) -> tuple[str, ...]:
    """Return the names of the columns that formulas are computed from, sorted."""
    if isinstance(formulas, GroupedFormula):
        return tuple(sorted({formulas.column, *formulas.inputs}))
    return collect_inputs(_get_expressions(formulas))


def _to_json_content(formulas: SavedFormulas) -> dict[str, Any]:
    if isinstance(formulas, GroupedFormula):
        return {
            **_to_json_content(formulas.form),
            "kind": "grouped model",
            "column": formulas.column,
            "groups": list(formulas.groups),
            "constants": [
                {"symbol": each.symbol, "values": list(each.values)} for each in formulas.constants
            ],
        }
    if isinstance(formulas, SystemFormula):
        return {
            **_to_json_content(formulas.rates),
            "kind": "system",
            "time": formulas.time,
            "states": list(formulas.states),
            "order": formulas.order,
            "trajectory": formulas.trajectory,
        }
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


def _to_json_indicators(expressions: Sequence[Expression]) -> dict[str, Any]:
    """Return the entry of the inputs that are computed from other columns, if there are any."""
    indicators = sorted(collect_indicators(expressions).items())
    return {"indicators": {name: asdict(indicator) for name, indicator in indicators}} if indicators else {}


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


def apply_bundle(
    bundle: str | os.PathLike[str] | Bundle | SavedFormulas,
    rows: Any,
    *,
    clip: bool = False,
) -> pd.DataFrame:
    """Compute the predictions of a saved model, or the values of saved features, for new rows.

    Parameters
    ----------
    bundle : path, Bundle, Formula, SharedFormula, GroupedFormula or sequence of Expression
        The bundle file, or the object that `read_bundle` or `load_bundle` returned.
    rows : path, pandas.DataFrame, dict of columns, or array of shape (m, d)
        New data with the inputs of the formulas. The columns of an array are named x1 … xd.
    clip : bool
        Whether to move inputs outside of the box to its nearest end, instead of a warning. Only the file of
        what a screen or a fit saved has the box.

    Returns
    -------
    pandas.DataFrame, shape (m, k)
        One column per target (models) or per feature, named after the target or the feature's text. A model
        of y with a prediction band has the columns ``y_low`` and ``y_high``, too. The index is that of `rows`
        if `rows` is a frame. Values are NaN where a formula is undefined or an input is missing.

    Raises
    ------
    FormulaError
        If the file is not a bundle.
    DataError
        If the rows cannot be read, or an input is missing or not numeric.
    OptionError
        If `clip` is given and the bundle has no box, or if it holds differential equations.

    Warns
    -----
    ExtrapolationWarning
        If inputs of a model that a fit saved are outside the range of its training rows, or inputs of
        features that a screen saved are outside of their box. Only the file has the ranges, the object that
        `load_bundle` returned does not.
    UserWarning
        If the result contains NaN; the message gives the counts.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> apply_bundle(Formula("y", 1.0, (2.0,), (parse_expression("x**2"),)), {"x": [1.0, 2.0]})
         y
    0  3.0
    1  9.0
    """
    import pandas as pd

    from symscreen.export.prediction_band import read_prediction_band  # that module reads bundles

    ranges: InputRanges | None = None
    box: InputRanges | None = None
    band: PredictionBand | None = None
    if isinstance(bundle, (str, os.PathLike, Bundle)):
        source_name = "the bundle" if isinstance(bundle, Bundle) else str(bundle)
        loaded = bundle if isinstance(bundle, Bundle) else read_bundle(bundle)
        formulas: SavedFormulas = loaded.formulas
        ranges = _read_input_ranges(loaded.record, "input_ranges", source_name)
        box = _read_input_ranges(loaded.record, "box", source_name)
        band = read_prediction_band(loaded.record, source_name)
    else:
        formulas = bundle
    if clip and box is None:
        raise OptionError(
            f"{name_option('clip')} needs the box of the inputs, and the bundle has none: save it again"
        )
    if isinstance(formulas, SystemFormula):
        raise OptionError(
            "the bundle holds differential equations, which are integrated: use "
            "symscreen.dynamics.integrate_runs, or symscreen apply"
        )
    index = rows.index if isinstance(rows, pd.DataFrame) else None
    if isinstance(formulas, Formula | SharedFormula | GroupedFormula):
        predictions = predict_model(
            formulas, rows, stacklevel=3, input_ranges=ranges, clip_box=box if clip else None
        )
        if isinstance(formulas, SharedFormula):
            return pd.DataFrame(predictions, columns=list(formulas.targets), index=index)
        columns = {formulas.target: predictions}
        if band is not None and isinstance(formulas, Formula):
            limits = band.compute_limits(
                formulas,
                predictions,
                rows,
                stacklevel=3,
                input_ranges=ranges,
                clip_box=box if clip else None,
            )
            columns |= {
                f"{formulas.target}_{end}": limits[:, place] for place, end in enumerate(("low", "high"))
            }
        return pd.DataFrame(columns, index=index)
    values = evaluate_formulas(formulas, rows, box=box, clip=clip, stacklevel=3)
    names = [to_text(feature) for feature in formulas]
    nan_counts = np.isnan(values).sum(axis=1)
    if nan_counts.any():
        worst_index = int(nan_counts.argmax())
        warnings.warn(
            f"{np.count_nonzero(nan_counts)} of {len(names)} features are undefined in some of the "
            f"{values.shape[1]} rows and NaN there; {names[worst_index]!r} in {nan_counts[worst_index]}",
            stacklevel=2,
        )
    return pd.DataFrame(values.T, columns=names, index=index)


def _read_input_ranges(record: Mapping[str, Any], key: str, source_name: str) -> InputRanges | None:
    """Return ranges of the inputs in the record of a screen or a fit; None if the record has none."""
    ranges = record.get(key)
    if ranges is None:
        return None
    place = format_place(escape_control_chars(source_name), f"record.{key}")
    return convert_document(ranges, dict[str, _Range], place, FormulaError)
