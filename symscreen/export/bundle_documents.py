"""Write models and features as bundles, which are documents in JSON, and parse and check such documents.

A bundle stores each formula twice: as text in symscreen's notation, and as a JSON tree for other programs.
It also stores the required inputs, the domains on which the formulas are defined, the definitions and costs
of operators that are not built in, and a digest. The reader checks every key and type, and that the text,
the tree, the domains and the digest agree. No text is evaluated as code.
"""

from __future__ import annotations

import hashlib
import json
import reprlib
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from symscreen._limits import MAX_JSON_BYTES
from symscreen.data import FilledColumn, LevelIndicator, MissingIndicator, TimeColumn
from symscreen.data.documents import FiniteNumber, convert_document, format_place, parse_document
from symscreen.errors import FormulaError, GrammarError, InputError, OutputError
from symscreen.export.operator_definitions import (
    build_operators,
    collect_changed_costs,
    collect_definitions,
    inline_definitions,
)
from symscreen.expressions.grouped_formula import GroupConstant, GroupedFormula
from symscreen.expressions.linear_formula import Formula, SharedFormula
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
from symscreen.messages import escape_control_chars, suggest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import TypeAlias

    from symscreen.data import DerivedColumn
    from symscreen.grammar import Operator

    SavedFormulas: TypeAlias = Formula | SharedFormula | GroupedFormula | SystemFormula | Sequence[Expression]


BundleFormulas = Formula | SharedFormula | GroupedFormula | SystemFormula | tuple[Expression, ...]

BUNDLE_FORMAT = 3
_MAX_DEFINITIONS = 400  # operators per bundle
_Cost = Annotated[int, Meta(ge=0, le=1000, description="an integer from 0 to 1000")]
_Texts = Annotated[list[str], Meta(description="a list of texts")]
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
        return LevelIndicator(stored.column, stored.level, stored.gated_column, stored.fill)
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
        See `symscreen.export.save_bundle`.

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
    # documents of levels that are not filled stay as they were
    indicators = {
        name: {key: value for key, value in asdict(indicator).items() if key != "fill" or value is not None}
        for name, indicator in sorted(collect_indicators(expressions).items())
    }
    return {"indicators": indicators} if indicators else {}


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
