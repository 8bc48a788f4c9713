"""Render formulas as source text in other languages.

`build_export_job` prepares formulas: definitions are inlined, constants are folded, and the required data
columns are collected. `render_expression` writes an expression bottom-up with the templates of a `Language`,
and guards it so that overflow gives an undefined value instead of an infinity. Inputs that are derived from
categorical columns (`LevelIndicator`) are computed in the target language from the original columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from symscreen.data import NO_INDICATORS, FilledColumn, LevelIndicator, MissingIndicator, TimeColumn
from symscreen.errors import FormulaError, OutputError
from symscreen.export.operator_definitions import (
    fold_constants,
    inline_definitions,
    quote_formula,
)
from symscreen.expressions.grouped_formula import GroupedFormula
from symscreen.expressions.linear_formula import Formula, SharedFormula
from symscreen.expressions.operator_notations import OPERATOR_NOTATIONS, find_notation
from symscreen.expressions.printing import PrintedText, Printer, to_text
from symscreen.expressions.traversal import (
    check_numbers,
    collect_indicators,
    collect_inputs,
    collect_operator_names,
)
from symscreen.expressions.tree import Expression
from symscreen.grammar import OPERATORS
from symscreen.grammar.operator import Precedence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symscreen.data import DerivedColumn
    from symscreen.expressions.tree import Call, Constant
    from symscreen.grammar import Operator
    from symscreen.grammar.operator import Notation

    Formulas = Expression | Formula | SharedFormula | GroupedFormula | Sequence[Expression]

_MAX_CHARACTERS = 1_000_000  # length of one formula
_SMALL_NUMBER_BOUND = 1e300  # a sum of 1e8 numbers below this magnitude is finite


def keep_level_indicators(indicators: Mapping[str, DerivedColumn]) -> dict[str, LevelIndicator]:
    """Keep the definitions of inputs that are derived from categorical columns.

    Other languages compute formulas of complete rows: they neither fill missing values nor mark them.
    """
    return {name: each for name, each in indicators.items() if isinstance(each, LevelIndicator)}


def build_indicators_from_record(record: Mapping[str, Any]) -> dict[str, DerivedColumn]:
    """Find the inputs of a screen that are derived from other columns.

    Parameters
    ----------
    record : mapping
        The record of a result (`ScreenResult.record`).

    Returns
    -------
    dict of str to DerivedColumn
        The definition of each derived input; empty if no input is derived.

    Raises
    ------
    FormulaError
        If the record was changed, or the name of an input is ambiguous.

    Examples
    --------
    >>> options = {"categorical": ["c"], "categorical_as": "gate", "levels": {"c": ["p", "q"]}}
    >>> build_indicators_from_record({"options": options, "data": {"inputs": ["x", "x·1[c = p]"]}})
    {'x·1[c = p]': LevelIndicator(column='c', level='p', gated_column='x', fill=None)}
    """
    options = record.get("options", {})
    imputation = options.get("imputation") or {}
    try:
        filled = {
            name: FilledColumn(name, float(fill)) for name, fill in imputation.get("filled", {}).items()
        }
        marked = [MissingIndicator(name) for name in imputation.get("marked", [])]
        definitions: dict[str, DerivedColumn] = {**filled, **{each.name: each for each in marked}}
        definitions |= {
            name: TimeColumn(each["column"], each["operator"], options["time"], options.get("trajectory"))
            for name, each in options.get("time_columns", {}).items()
        }
        if not options.get("categorical"):
            return definitions
        inputs = record["data"]["inputs"]
        is_gated = options["categorical_as"] != "onehot"
        indicators = _name_indicators(options["levels"], inputs, inputs if is_gated else (None,))
        fills: dict[str | None, float] = {name: each.fill for name, each in filled.items()}
        return definitions | {
            name: replace(each, fill=fills.get(each.gated_column)) for name, each in indicators.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormulaError(
            f"the record's derived columns cannot be read ({error}); run the screen again"
        ) from None


def _name_indicators(
    levels: Mapping[str, Sequence[str | float]], inputs: Sequence[str], gated_columns: Sequence[str | None]
) -> dict[str, LevelIndicator]:
    """Find the inputs that are named as a level of a categorical column, which gates one of the columns."""
    used, found = frozenset(inputs), dict[str, LevelIndicator]()
    for column, column_levels in levels.items():
        for level, gated_column in product(column_levels, gated_columns):
            indicator = LevelIndicator(column, level, gated_column)
            if indicator.name in found:
                raise ValueError(f"{indicator.name!r} can be read in several ways")
            if indicator.name in used:
                found[indicator.name] = indicator
    return {name: found[name] for name in inputs if name in found}


def find_column_types(inputs: Sequence[str], indicators: Mapping[str, LevelIndicator]) -> dict[str, type]:
    """Find the type of each data column that the inputs of formulas need.

    Parameters
    ----------
    inputs : sequence of str
        Names of the inputs.
    indicators : mapping of str to LevelIndicator
        The inputs that are derived from categorical columns.

    Returns
    -------
    dict of str to type
        `str` for a categorical column of texts, `float` for every other column.

    Raises
    ------
    OutputError
        If a column would need both types.
    """
    types: dict[str, type] = {}
    for name in inputs:
        indicator = indicators.get(name)
        if indicator is None:
            input_types: dict[str, type] = {name: float}
        else:
            input_types = {indicator.column: str if isinstance(indicator.level, str) else float}
            if indicator.gated_column is not None:
                input_types[indicator.gated_column] = float
        for column, column_type in input_types.items():
            if types.setdefault(column, column_type) is not column_type:
                raise OutputError(f"the column {column!r} is used both as numbers and as categories of texts")
    return types


@dataclass(frozen=True, eq=False, slots=True)
class Language:
    """How formulas are written in one language.

    Parameters
    ----------
    title : str
        The name of the language in messages.
    dialects : tuple of str
        Keys of the operator templates, in order of preference.
    format_number : callable
        Writes a finite number. It raises ValueError with the reason if the language cannot represent it.
    guard_template : str
        Format string that turns an infinite value ``{0}`` into an undefined one; empty if the language has no
        infinities.
    has_finite_inputs : bool
        Whether inputs are guarded before the formula uses them.
    propagates_nan : bool
        Whether NaN (or its substitute) stays undefined in comparisons, so that only infinities need a guard.
    max_characters : int
        Maximum length of a formula.
    notations : mapping of str to Notation
        Notations of operators that differ from those of the dialects.
    """

    title: str
    dialects: tuple[str, ...]
    format_number: Callable[[float], str]
    guard_template: str
    has_finite_inputs: bool
    propagates_nan: bool = True
    max_characters: int = _MAX_CHARACTERS
    notations: Mapping[str, Notation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExportJob:
    """Formulas that are ready to be written.

    Parameters
    ----------
    function_names : tuple of str
        Function names for languages with functions: ``model`` or ``feature``; ``feature_1``, ``feature_2``, …
        for several features; ``model_1``, ``model_2``, … for the models of several targets.
    labels : tuple of str
        Labels for comments: the target of a model, the text of a feature.
    expressions : tuple of Expression
        The formulas, with definitions inlined and constants folded.
    inputs : tuple of str
        Inputs of the formulas, in alphabetical order.
    indicators : dict of str to LevelIndicator
        The inputs that are derived from categorical columns.
    columns : dict of str to type
        The required data columns in alphabetical order: `str` for a categorical column of texts, else
        `float`.
    names : dict of str to str
        The user's name of each data column.
    """

    function_names: tuple[str, ...]
    labels: tuple[str, ...]
    expressions: tuple[Expression, ...]
    inputs: tuple[str, ...]
    indicators: dict[str, LevelIndicator]
    columns: dict[str, type]
    names: dict[str, str]

    def select_helpers(self, helpers: Mapping[str, str]) -> list[str]:
        """Select the helper functions that the source needs.

        Parameters
        ----------
        helpers : mapping of str to str
            Source of a helper by the name of its operator. ``words`` and ``numbers`` are for indicators of
            levels.
        """
        required = collect_operator_names(*self.expressions) | {
            "words" if isinstance(indicator.level, str) else "numbers"
            for indicator in self.indicators.values()
        }
        return [text for name, text in helpers.items() if name in required]


class ExportOptions(TypedDict, total=False):
    """What each writer of a format accepts besides the formulas.

    Parameters
    ----------
    names : mapping of str to str, optional
        Names of the columns in the target language, if they differ.
    operators : mapping of str to Operator
        The operators of the grammar. They are needed if the definition of one operator calls another.
    indicators : mapping of str to DerivedColumn
        Inputs that are derived from categorical columns. The source computes them from the original columns.
    """

    names: Mapping[str, str] | None
    operators: Mapping[str, Operator]
    indicators: Mapping[str, DerivedColumn]


def build_export_job(formulas: Formulas, **options: Unpack[ExportOptions]) -> ExportJob:
    """Prepare formulas to be written.

    Parameters
    ----------
    formulas : Expression, Formula, SharedFormula or sequence of Expression
        One feature, a model, models of several targets, or several features.
    **options
        See `ExportOptions`.

    Raises
    ------
    OutputError
        If there are no formulas, a number is not finite, a formula is undefined in every row, or an operator
        is not defined by a formula.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> build_export_job([parse_expression("x2/2"), parse_expression("x1**(1 + 1)")]).function_names
    ('feature_1', 'feature_2')
    """
    expressions: tuple[Expression, ...]
    labels: tuple[str, ...]
    functions: tuple[str, ...]
    if isinstance(formulas, Formula):
        functions, labels, expressions = ("model",), (formulas.target,), (formulas.expression,)
    elif isinstance(formulas, SharedFormula):
        labels, expressions = formulas.targets, tuple(formula.expression for formula in formulas.formulas)
        functions = tuple(f"model_{number}" for number in range(1, len(labels) + 1))
    elif isinstance(formulas, GroupedFormula):
        raise OutputError(
            "constants that differ by group cannot be written: give the formula of one group, "
            f"get_formula({formulas.groups[0]!r})"
        )
    else:
        is_single = isinstance(formulas, Expression)
        expressions = (formulas,) if isinstance(formulas, Expression) else tuple(formulas)
        if not expressions:
            raise OutputError("there are no formulas to write")
        numbers = range(1, len(expressions) + 1)
        functions = ("feature",) if is_single else tuple(f"feature_{number}" for number in numbers)
        labels = tuple(map(to_text, expressions))
    check_numbers(expressions)
    folded = tuple(map(fold_constants, inline_definitions(expressions, options.get("operators", OPERATORS))))
    inputs = collect_inputs(folded)
    known = keep_level_indicators({**collect_indicators(folded), **options.get("indicators", NO_INDICATORS)})
    indicators = {name: known[name] for name in inputs if name in known}
    columns = dict(sorted(find_column_types(inputs, indicators).items()))
    names = {name: (options.get("names") or {}).get(name, name) for name in columns}
    return ExportJob(functions, labels, folded, inputs, indicators, columns, names)


def render_expression(expression: Expression, language: Language, inputs: Mapping[str, str]) -> str:
    """Write a formula so that its value is undefined instead of infinite.

    Parameters
    ----------
    expression : Expression
        The formula, with definitions inlined and constants folded.
    language : Language
        The target language.
    inputs : mapping of str to str
        The text for each input column.

    Returns
    -------
    str

    Raises
    ------
    OutputError
        If the language has no form for an operator or a number, or the text becomes too long.
    """
    return _SourcePrinter(language, inputs).write(expression)


@dataclass(slots=True)
class _SourceText(PrintedText):
    """A text that is certainly finite, or small in magnitude, or neither."""

    is_finite: bool = False
    is_small: bool = False


class _SourcePrinter(Printer[_SourceText]):
    """Writes formulas of a programming language, with guards against overflow."""

    def __init__(self, language: Language, inputs: Mapping[str, str]) -> None:
        self.language, self.inputs = language, inputs

    def write(self, expression: Expression) -> str:
        return self._add_guard(self.print_expression(expression)).text

    def write_column(self, name: str) -> _SourceText:
        return _SourceText(self.inputs[name], is_finite=self.language.has_finite_inputs)

    def write_number(self, constant: Constant) -> _SourceText:
        value = constant.value
        try:
            text = self.language.format_number(float(value))
        except ValueError as error:
            raise OutputError(
                f"the number {value!r} cannot be written in {self.language.title}: {error}"
            ) from None
        precedence = Precedence.SIGN if text.startswith("-") else Precedence.ATOM
        return _SourceText(text, precedence, is_finite=True, is_small=abs(value) < _SMALL_NUMBER_BOUND)

    def write_call(self, call: Call, arguments: Sequence[_SourceText]) -> _SourceText:
        name, language = call.operator.name, self.language
        notation = language.notations.get(name) or find_notation(name, *language.dialects, "")
        if notation is None:
            raise OutputError(
                f"{quote_formula(call)} cannot be written in {language.title}, which has no {name}; choose "
                "another format, or leave the operator out of the grammar"
            )
        row = OPERATOR_NOTATIONS[name]
        guarded = [
            self._add_guard(argument) if absorbs else argument
            for argument, absorbs in zip(arguments, row.absorbs_nonfinite, strict=False)
        ]
        text = notation.template.format(*self.format_arguments(notation, guarded))
        # A template that is not a call, such as CASE … END, gets its own parentheses.
        text = _check_length(f"({text})" if notation.precedence == Precedence.ANY else text, language)
        is_small = row.is_bounded or (
            row.preserves_bounds and all(argument.is_small for argument in arguments)
        )
        return _SourceText(
            text, notation.precedence or Precedence.ATOM, is_small=is_small and language.propagates_nan
        )

    def _add_guard(self, printed: _SourceText) -> _SourceText:
        """Make a text undefined where it is infinite."""
        template = self.language.guard_template
        if printed.is_finite or printed.is_small or not template:
            return printed
        return _SourceText(_check_length(template.format(printed.text), self.language))


def _check_length(text: str, language: Language) -> str:
    if len(text) > language.max_characters:
        raise OutputError(
            f"the formula has {len(text):,} characters in {language.title}; the limit is "
            f"{language.max_characters:,}"
        )
    return text


def make_identifiers(
    names: Sequence[str], reserved: Iterable[str], *, max_length: int = 60
) -> dict[str, str]:
    """Make a distinct identifier, valid in any language, for each name. A valid name is kept unchanged.

    Parameters
    ----------
    names : sequence of str
        Any texts.
    reserved : iterable of str
        Names that must not be used, compared without case.
    max_length : int
        Maximum number of characters taken from a name.

    Returns
    -------
    dict of str to str
        Identifiers of ASCII letters, digits and underscores. They are distinct even if case is ignored.

    Examples
    --------
    >>> make_identifiers(["x1", "flow rate", "flow-rate", "for", "λ", "X1"], reserved=["for"])
    {'x1': 'x1', 'flow rate': 'flow_rate', 'flow-rate': 'flow_rate_2', 'for': 'for_2', 'λ': 'x', 'X1': 'X1_2'}
    """
    used, identifiers = {name.lower() for name in reserved}, {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:max_length] or "x"
        # A name in capitals may be a macro in C, except for names such as T or X1.
        may_be_macro = plain.isupper() and re.fullmatch(r"[A-Z][0-9]*", plain) is None
        base = f"x_{plain}" if may_be_macro or not plain[0].isalpha() else plain
        identifier, count = base, 1
        while identifier.lower() in used:
            count += 1
            identifier = f"{base}_{count}"
        used.add(identifier.lower())
        identifiers[name] = identifier
    return identifiers


def make_parameter_names(job: ExportJob, reserved: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Make identifiers for the parameters of a function and for the indicators that its body computes.

    Parameters
    ----------
    job : ExportJob
        The formulas to write.
    reserved : iterable of str
        Names that must not be used.

    Returns
    -------
    columns : dict of str to str
        The parameter of each data column.
    inputs : dict of str to str
        The identifier of each input of the formulas: a parameter, or a local variable of the body.
    """
    derived = {name: f"\0{name}" for name in job.indicators}  # distinct from a data column of the same name
    identifiers = make_identifiers([*job.names.values(), *derived.values()], reserved)
    columns = {name: identifiers[user_name] for name, user_name in job.names.items()}
    inputs = {name: identifiers[derived[name]] if name in derived else columns[name] for name in job.inputs}
    return columns, inputs


def write_indicator(
    indicator: LevelIndicator,
    columns: Mapping[str, str],
    write_text: Callable[[str], str],
    times: str = "*",
) -> str:
    """Write ``1[column = level]`` with the helpers ``is_level`` and ``is_number``, times the gated column."""
    column = columns[indicator.column]
    if isinstance(indicator.level, str):
        test = f"is_level({column}, {write_text(indicator.level)})"
    else:
        test = f"is_number({column}, {float(indicator.level)!r})"
    return test if indicator.gated_column is None else f"{columns[indicator.gated_column]}{times}{test}"


def is_valid_text(text: str) -> bool:
    """Return whether a text has no null character and no half of a surrogate pair."""
    return not any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text)


def escape_comment(text: str) -> str:
    r"""Escape a user's text so that it stays inside a one-line comment of any language.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        At most 200 characters of the text, as printable ASCII on one line, without sequences that end a
        comment or join lines.

    Examples
    --------
    >>> print(escape_comment("λ*/ system()\n"))
    \u03bb*\u002f system()\u000a
    """
    plain = "".join(
        character if " " <= character <= "~" and character != "\\" else f"\\u{ord(character):04x}"
        for character in text[:200]
    )
    # In C, */ ends a comment, and the trigraph ??/ joins lines.
    for pair in ("*/", "/*", "??"):
        plain = plain.replace(pair, f"{pair[0]}\\u{ord(pair[1]):04x}")
    return plain + ("..." if len(text) > 200 else "")
