"""Columns that categories come to, in other languages: computed there from the columns that the data have.

Formulas as source in other languages: the one walk over a tree, and what each language tells it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symscreen.errors import FormulaError, OutputError
from symscreen.export.operator_definitions import (
    fold_constants,
    inline_definitions,
    iterate_postorder,
    quote_formula,
)
from symscreen.export.operator_templates import ANY, ATOM, OPERATOR_TEMPLATES, SIGN
from symscreen.expressions.linear_formula import Formula, SharedFormula
from symscreen.expressions.traversal import check_numbers, collect_inputs
from symscreen.expressions.tree import Call, Column, Constant, to_text
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symscreen.export.operator_templates import Template
    from symscreen.expressions.tree import Expression
    from symscreen.grammar import Operator

    Formulas = Expression | Formula | SharedFormula | Sequence[Expression]

__all__ = [
    "NO_INDICATORS",
    "ExportJob",
    "Language",
    "LevelIndicator",
    "build_export_job",
    "build_indicators_from_record",
    "collect_operator_names",
    "escape_comment",
    "find_column_types",
    "find_level_kinds",
    "find_required_columns",
    "make_identifiers",
    "make_parameter_names",
    "render_expression",
]


@dataclass(frozen=True, slots=True)
class LevelIndicator:
    """What a derived column is: ``1[column = level]``, times another column where one is let pass.

    Parameters
    ----------
    column : str
        The column of categories.
    level : str or float
        A text exactly, or a number.
    passes : str or None
        The column of numbers that the level lets pass; None for 1 and 0.
    """

    column: str
    level: str | float
    gated_column: str | None = None


NO_INDICATORS: dict[str, LevelIndicator] = {}


def build_indicators_from_record(record: Mapping[str, Any]) -> dict[str, LevelIndicator]:
    """Tell which inputs of a screen came of categories, and how they are computed.

    Parameters
    ----------
    record : mapping
        As `ScreenResult.record` has it.

    Returns
    -------
    dict of str to Gate
        Empty where no column was categorical.

    Raises
    ------
    FormulaError
        If the record was changed, or an input can be read in two ways.

    Examples
    --------
    >>> options = {"categorical": ["c"], "categorical_as": "gate", "levels": {"c": ["p", "q"]}}
    >>> build_indicators_from_record({"options": options, "data": {"inputs": ["x", "x·1[c = p]"]}})
    {'x·1[c = p]': Gate(column='c', level='p', passes='x')}
    """
    options = record.get("options", {})
    if not options.get("categorical"):
        return {}
    try:
        levels, inputs = options["levels"], record["data"]["inputs"]
        titles = {
            f"{column} = {level if isinstance(level, str) else _format_level(level)}": (column, level)
            for column, each in levels.items()
            for level in each
        }
        gates = {
            name: gate
            for name in inputs
            if (gate := _parse_indicator(name, titles, options["categorical_as"]))
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormulaError(
            f"the record's levels of categories cannot be read ({error}); screen again"
        ) from None
    return gates


def _format_level(level: float) -> str:
    """Write a number as the names of derived columns have it."""
    return f"{level:g}" if float(f"{level:g}") == level else repr(float(level))


def _parse_indicator(
    name: str, titles: Mapping[str, tuple[str, str | float]], encoding: str
) -> LevelIndicator | None:
    if encoding == "onehot":
        return LevelIndicator(*titles[name]) if name in titles else None
    found = [
        LevelIndicator(column, level, name.removesuffix(f"·1[{title}]"))
        for title, (column, level) in titles.items()
        if name.endswith(f"·1[{title}]")
    ]
    if len(found) > 1:
        raise ValueError(f"{name!r} can be read in {len(found)} ways")
    return found[0] if found else None


def find_required_columns(inputs: Sequence[str], indicators: Mapping[str, LevelIndicator]) -> tuple[str, ...]:
    """Name the columns of the data that inputs of formulas need, in the order of their names.

    Parameters
    ----------
    inputs : sequence of str
        What formulas name.
    gates : mapping of str to Gate
        Which of them are derived.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> find_required_columns(["b", "x·1[c = p]"], {"x·1[c = p]": LevelIndicator("c", "p", "x")})
    ('b', 'c', 'x')
    """
    needed: set[str] = set()
    for name in inputs:
        gate = indicators.get(name)
        needed |= (
            {name}
            if gate is None
            else {gate.column}
            if gate.gated_column is None
            else {gate.column, gate.gated_column}
        )
    return tuple(sorted(needed))


def find_column_types(inputs: Sequence[str], indicators: Mapping[str, LevelIndicator]) -> dict[str, type]:
    """Tell what each column of the data holds: texts where its levels are such, else numbers.

    Parameters
    ----------
    inputs, gates
        As of `find_required_columns`.

    Returns
    -------
    dict of str to type
        `str` or `float`, for each needed column.

    Raises
    ------
    OutputError
        If a column would have to hold both.
    """
    kinds: dict[str, type] = {}
    for name in inputs:
        gate = indicators.get(name)
        own = {name: float} if gate is None else {gate.column: str if isinstance(gate.level, str) else float}
        if gate is not None and gate.gated_column is not None:
            own[gate.gated_column] = float
        for column, kind in own.items():
            if kinds.setdefault(column, kind) is not kind:
                raise OutputError(
                    f"the column {column!r} is asked for as a number and as a category of words"
                )
    return kinds


def find_level_kinds(indicators: Mapping[str, LevelIndicator]) -> frozenset[str]:
    """Tell what kinds of levels there are, ``words`` or ``numbers``: which helpers a source needs."""
    return frozenset("words" if isinstance(gate.level, str) else "numbers" for gate in indicators.values())


_MAX_CHARACTERS = 1_000_000
_SMALL_NUMBER_BOUND = 1e300  # so many of them add up to a finite number


@dataclass(frozen=True, slots=True)
class Language:
    """What the writer must know of a language.

    Parameters
    ----------
    title : str
        As people call it.
    dialects : tuple of str
        Where to look for an operator in the table of spellings, the first one first.
    number : callable
        A finite number as text; it raises ValueError, with the reason, where there is none.
    guard : str
        Makes an infinity undefined, with ``{0}`` for the value; empty where there are no infinities.
    finite_inputs : bool
        Whether inputs are guarded before the formula sees them.
    nan_lasts : bool
        Whether NaN, or what stands for it, goes through comparisons as undefined, so that only infinities
        need the guard.
    most : int
        The most letters of a formula.
    """

    title: str
    dialects: tuple[str, ...]
    format_number: Callable[[float], str]
    guard_template: str
    has_finite_inputs: bool
    propagates_nan: bool = True
    max_characters: int = _MAX_CHARACTERS


@dataclass(frozen=True, slots=True)
class ExportJob:
    """Formulas to be written.

    Parameters
    ----------
    functions : tuple of str
        What languages with functions call them: ``model``, ``feature``, or ``feature_1``, ``feature_2``, …;
        of the models of several targets ``model_1``, ``model_2``, …
    labels : tuple of str
        What people call them: a model's target, a feature's text.
    expressions : tuple of Expression
        In shipped operators only, constants computed.
    inputs : tuple of str
        What they name, in the order of the names.
    gates : dict of str to Gate
        Which inputs came of categories.
    columns : dict of str to type
        The columns of the data that the inputs are or come of, in the order of their names: `str` for one of
        categories that are words, else `float`.
    """

    function_names: tuple[str, ...]
    labels: tuple[str, ...]
    expressions: tuple[Expression, ...]
    inputs: tuple[str, ...]
    indicators: dict[str, LevelIndicator]
    columns: dict[str, type]


def build_export_job(
    formulas: Formulas,
    operators: Mapping[str, Operator] = OPERATORS,
    indicators: Mapping[str, LevelIndicator] = NO_INDICATORS,
) -> ExportJob:
    """Make ready what is to be written.

    Parameters
    ----------
    formulas : Expression, Formula, SharedFormula or sequence of Expression
        One feature, a model, models of several targets, or several features.
    operators : mapping of str to Operator
        The grammar's operators; needed where a definition calls others.
    gates : mapping of str to Gate
        Which columns came of categories.

    Returns
    -------
    Task

    Raises
    ------
    OutputError
        If there are none, a number is not finite, a formula has no value in any row, or an operator is not
        defined by a formula.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> build_export_job([parse_expression("x2/2"), parse_expression("x1**(1 + 1)")]).function_names
    ('feature_1', 'feature_2')
    """
    if isinstance(formulas, Formula):
        return _build_job(("model",), (formulas.target,), (formulas.expression,), operators, indicators)
    if isinstance(formulas, SharedFormula):
        models = tuple(f"model_{place + 1}" for place in range(len(formulas.targets)))
        sides = tuple(one.expression for one in formulas.formulas)
        return _build_job(models, formulas.targets, sides, operators, indicators)
    if isinstance(formulas, (Column, Constant, Call)):
        return _build_job(("feature",), (to_text(formulas),), (formulas,), operators, indicators)
    given = tuple(formulas)
    if not given:
        raise OutputError("there are no formulas to write")
    functions = tuple(f"feature_{place + 1}" for place in range(len(given)))
    return _build_job(functions, tuple(map(to_text, given)), given, operators, indicators)


def _build_job(
    function_names: tuple[str, ...],
    labels: tuple[str, ...],
    expressions: tuple[Expression, ...],
    operators: Mapping[str, Operator],
    indicators: Mapping[str, LevelIndicator],
) -> ExportJob:
    check_numbers(expressions)
    plain = tuple(map(fold_constants, inline_definitions(expressions, operators)))
    inputs = collect_inputs(plain)
    used = {name: indicators[name] for name in inputs if name in indicators}
    return ExportJob(
        function_names, labels, plain, inputs, used, dict(sorted(find_column_types(inputs, used).items()))
    )


def render_expression(expression: Expression, language: Language, inputs: Mapping[str, str]) -> str:
    """Write a formula so that its value, too, is undefined rather than infinite.

    Parameters
    ----------
    expression : Expression
        In shipped operators only, constants computed.
    language : Language
        The language.
    inputs : mapping of str to str
        How each column is written there.

    Returns
    -------
    str

    Raises
    ------
    OutputError
        If the language has no form for an operator or a number, or the text becomes too long.
    """
    done: list[_RenderedText] = []
    for part in iterate_postorder(expression):
        match part:
            case Column(name):
                done.append(_RenderedText(inputs[name], ATOM, is_finite=language.has_finite_inputs))
            case Constant(value):
                done.append(_render_number(value, language))
            case Call(_, arguments):
                texts = done[-len(arguments) :]
                del done[-len(arguments) :]
                done.append(_render_call(part, texts, language))
    return done[0].add_guard(language)


@dataclass(frozen=True, slots=True)
class _RenderedText:
    """What is written so far: how tightly it binds, whether it is surely finite, and even small."""

    text: str
    precedence: int
    is_finite: bool = False
    is_small: bool = False

    def add_guard(self, language: Language) -> str:
        if self.is_finite or self.is_small or not language.guard_template:
            return self.text
        return _check_length(language.guard_template.format(self.text), language)


def _render_number(value: float, language: Language) -> _RenderedText:
    try:
        text = language.format_number(float(value))
    except ValueError as error:
        raise OutputError(f"the number {value!r} cannot be written in {language.title}: {error}") from None
    return _RenderedText(
        text,
        SIGN if text.startswith("-") else ATOM,
        is_finite=True,
        is_small=abs(value) < _SMALL_NUMBER_BOUND,
    )


def _render_call(call: Call, texts: Sequence[_RenderedText], language: Language) -> _RenderedText:
    spelling = _find_template(call, language)
    row = OPERATOR_TEMPLATES[call.operator.name]
    parts = []
    for each, need, forgets in zip(texts, spelling.min_precedences, row.absorbs_nonfinite, strict=False):
        own = each.add_guard(language) if forgets else each.text
        loose = own == each.text and each.precedence < need
        parts.append(f"({own})" if loose else own)
    text = spelling.text.format(*parts)
    # what is no call, such as CASE … END, stands in parentheses of its own
    text = _check_length(f"({text})" if spelling.precedence == ANY else text, language)
    small = row.is_bounded or (row.preserves_bounds and all(each.is_small for each in texts))
    return _RenderedText(text, spelling.precedence or ATOM, is_small=small and language.propagates_nan)


def _find_template(call: Call, language: Language) -> Template:
    name = call.operator.name
    row = OPERATOR_TEMPLATES.get(name)
    if row is not None:
        for dialect in (*language.dialects, ""):
            if dialect in row.by_dialect:
                return row.by_dialect[dialect]
    raise OutputError(
        f"{quote_formula(call)} cannot be written in {language.title}, which has no {name}; take "
        "another target, or keep the operator out of the grammar"
    )


def _check_length(text: str, language: Language) -> str:
    if len(text) > language.max_characters:
        raise OutputError(
            f"the formula comes to {len(text):,} letters in {language.title}; at most "
            f"{language.max_characters:,} are "
            "read"
        )
    return text


def collect_operator_names(expressions: Iterable[Expression]) -> frozenset[str]:
    """Name the operators that formulas apply.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> sorted(collect_operator_names([parse_expression("sin(x)/2"), parse_expression("-x")]))
    ['div', 'neg', 'sin']
    """
    parts = (part for expression in expressions for part in iterate_postorder(expression))
    return frozenset(part.operator.name for part in parts if isinstance(part, Call))


def make_identifiers(
    names: Sequence[str], reserved: Iterable[str], *, max_length: int = 60
) -> dict[str, str]:
    """Give each column an identifier that any language reads: its own name where that is one.

    Parameters
    ----------
    names : sequence of str
        Any texts.
    taken : iterable of str
        What means something else.
    most : int
        The most letters.

    Returns
    -------
    dict of str to str
        ASCII letters, digits and low lines, no two alike, even where case does not count.

    Examples
    --------
    >>> make_identifiers(["x1", "flow rate", "flow-rate", "for", "λ", "X1"], taken=["for"])
    {'x1': 'x1', 'flow rate': 'flow_rate', 'flow-rate': 'flow_rate_2', 'for': 'for_2', 'λ': 'x', 'X1': 'X1_2'}
    """
    used, given = {name.lower() for name in reserved}, {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:max_length] or "x"
        # a name all in capitals may be a macro, other than T or X1
        macro = plain.isupper() and re.fullmatch(r"[A-Z][0-9]*", plain) is None
        base = f"x_{plain}" if macro or not plain[0].isalpha() else plain
        own, count = base, 1
        while own.lower() in used:
            count += 1
            own = f"{base}_{count}"
        used.add(own.lower())
        given[name] = own
    return given


def make_parameter_names(
    job: ExportJob, column_names: Sequence[str], reserved: Iterable[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Give identifiers to the parameters of a function, and to what its body computes of categories.

    Parameters
    ----------
    task : Task
        What is written.
    called : sequence of str
        What its columns are called, in their order.
    taken : iterable of str
        What means something else.

    Returns
    -------
    columns : dict of str to str
        The parameters: the identifier of each column of the data.
    inputs : dict of str to str
        The identifier of each input of the formulas: its parameter, or a variable of the body.
    """
    derived = {name: f"\0{name}" for name in job.indicators}  # apart from columns of that name
    made = make_identifiers([*column_names, *derived.values()], reserved)
    columns = {name: made[other] for name, other in zip(job.columns, column_names, strict=True)}
    return columns, {name: made[derived[name]] if name in derived else columns[name] for name in job.inputs}


def escape_comment(text: str) -> str:
    r"""Write a user's text so that it can stand in a comment of any language and never leave it.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        Printable ASCII on one line, without what ends a comment or joins lines.

    Examples
    --------
    >>> print(escape_comment("λ*/ system()\n"))
    \u03bb*\u002f system()\u000a
    """
    plain = "".join(
        mark if " " <= mark <= "~" and mark != "\\" else f"\\u{ord(mark):04x}" for mark in text[:200]
    )
    # a C comment ends in */, and ??/ joins lines
    for pair in ("*/", "/*", "??"):
        plain = plain.replace(pair, f"{pair[0]}\\u{ord(pair[1]):04x}")
    return plain + ("..." if len(text) > 200 else "")
