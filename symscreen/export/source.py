"""Formulas as source in other languages: the one walk over a tree, and what each language tells it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.errors import OutputError
from symscreen.export.expanded import computed_constants, in_shipped_operators, inside_out, shown
from symscreen.export.formula import Formula
from symscreen.export.gates import NO_GATES, kinds_of
from symscreen.export.parts import check_numbers, inputs_of
from symscreen.export.spellings import ANY, ATOM, SIGN, SPELLINGS
from symscreen.expression import Apply, Column, Constant, to_text
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from symscreen.export.gates import Gate
    from symscreen.export.spellings import Spelling
    from symscreen.expression import Expression
    from symscreen.grammar import Operator

    Formulas = Expression | Formula | Sequence[Expression]

__all__ = ["Language", "Task", "comment", "identifiers", "operators_in", "parameters_of", "task_of", "whole"]

_MOST_LETTERS = 1_000_000
_SMALL = 1e300  # so many of them add up to a finite number


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
    number: Callable[[float], str]
    guard: str
    finite_inputs: bool
    nan_lasts: bool = True
    most: int = _MOST_LETTERS


@dataclass(frozen=True, slots=True)
class Task:
    """Formulas to be written.

    Parameters
    ----------
    functions : tuple of str
        What languages with functions call them: ``model``, ``feature``, or ``feature_1``, ``feature_2``, …
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

    functions: tuple[str, ...]
    labels: tuple[str, ...]
    expressions: tuple[Expression, ...]
    inputs: tuple[str, ...]
    gates: dict[str, Gate]
    columns: dict[str, type]


def task_of(
    formulas: Formulas, operators: Mapping[str, Operator] = OPERATORS, gates: Mapping[str, Gate] = NO_GATES
) -> Task:
    """Make ready what is to be written.

    Parameters
    ----------
    formulas : Expression, Formula or sequence of Expression
        One feature, a model, or several features.
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
    >>> from symscreen.expression import parse
    >>> task_of([parse("x2/2"), parse("x1**(1 + 1)")]).functions
    ('feature_1', 'feature_2')
    """
    if isinstance(formulas, Formula):
        return _task(("model",), (formulas.target,), (formulas.expression,), operators, gates)
    if isinstance(formulas, (Column, Constant, Apply)):
        return _task(("feature",), (to_text(formulas),), (formulas,), operators, gates)
    given = tuple(formulas)
    if not given:
        raise OutputError("there are no formulas to write")
    functions = tuple(f"feature_{place + 1}" for place in range(len(given)))
    return _task(functions, tuple(map(to_text, given)), given, operators, gates)


def _task(
    functions: tuple[str, ...],
    labels: tuple[str, ...],
    given: tuple[Expression, ...],
    operators: Mapping[str, Operator],
    gates: Mapping[str, Gate],
) -> Task:
    check_numbers(given)
    plain = tuple(map(computed_constants, in_shipped_operators(given, operators)))
    inputs = inputs_of(plain)
    used = {name: gates[name] for name in inputs if name in gates}
    return Task(functions, labels, plain, inputs, used, dict(sorted(kinds_of(inputs, used).items())))


def whole(expression: Expression, language: Language, inputs: Mapping[str, str]) -> str:
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
    done: list[_Text] = []
    for part in inside_out(expression):
        match part:
            case Column(name):
                done.append(_Text(inputs[name], ATOM, finite=language.finite_inputs))
            case Constant(value):
                done.append(_number(value, language))
            case Apply(_, arguments):
                texts = done[-len(arguments) :]
                del done[-len(arguments) :]
                done.append(_applied(part, texts, language))
    return done[0].guarded(language)


@dataclass(frozen=True, slots=True)
class _Text:
    """What is written so far: how tightly it binds, whether it is surely finite, and even small."""

    text: str
    binds: int
    finite: bool = False
    small: bool = False

    def guarded(self, language: Language) -> str:
        if self.finite or self.small or not language.guard:
            return self.text
        return _limited(language.guard.format(self.text), language)


def _number(value: float, language: Language) -> _Text:
    try:
        text = language.number(float(value))
    except ValueError as error:
        raise OutputError(f"the number {value!r} cannot be written in {language.title}: {error}") from None
    return _Text(text, SIGN if text.startswith("-") else ATOM, finite=True, small=abs(value) < _SMALL)


def _applied(applied: Apply, texts: Sequence[_Text], language: Language) -> _Text:
    spelling = _spelling(applied, language)
    row = SPELLINGS[applied.operator.name]
    parts = []
    for each, need, forgets in zip(texts, spelling.needs, row.forgets, strict=False):
        own = each.guarded(language) if forgets else each.text
        loose = own == each.text and each.binds < need
        parts.append(f"({own})" if loose else own)
    text = spelling.template.format(*parts)
    # what is no call, such as CASE … END, stands in parentheses of its own
    text = _limited(f"({text})" if spelling.binds == ANY else text, language)
    small = row.bounded or (row.keeps_bounds and all(each.small for each in texts))
    return _Text(text, spelling.binds or ATOM, small=small and language.nan_lasts)


def _spelling(applied: Apply, language: Language) -> Spelling:
    name = applied.operator.name
    row = SPELLINGS.get(name)
    if row is not None:
        for dialect in (*language.dialects, ""):
            if dialect in row.spellings:
                return row.spellings[dialect]
    raise OutputError(
        f"{shown(applied)} cannot be written in {language.title}, which has no {name}; take "
        "another target, or keep the operator out of the grammar"
    )


def _limited(text: str, language: Language) -> str:
    if len(text) > language.most:
        raise OutputError(
            f"the formula comes to {len(text):,} letters in {language.title}; at most {language.most:,} are "
            "read"
        )
    return text


def operators_in(expressions: Iterable[Expression]) -> frozenset[str]:
    """Name the operators that formulas apply.

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> sorted(operators_in([parse("sin(x)/2"), parse("-x")]))
    ['div', 'neg', 'sin']
    """
    parts = (part for expression in expressions for part in inside_out(expression))
    return frozenset(part.operator.name for part in parts if isinstance(part, Apply))


def identifiers(names: Sequence[str], taken: Iterable[str], *, most: int = 60) -> dict[str, str]:
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
    >>> identifiers(["x1", "flow rate", "flow-rate", "for", "λ", "X1"], taken=["for"])
    {'x1': 'x1', 'flow rate': 'flow_rate', 'flow-rate': 'flow_rate_2', 'for': 'for_2', 'λ': 'x', 'X1': 'X1_2'}
    """
    used, given = {name.lower() for name in taken}, {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:most] or "x"
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


def parameters_of(
    task: Task, called: Sequence[str], taken: Iterable[str]
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
    derived = {name: f"\0{name}" for name in task.gates}  # apart from columns of that name
    made = identifiers([*called, *derived.values()], taken)
    columns = {name: made[other] for name, other in zip(task.columns, called, strict=True)}
    return columns, {name: made[derived[name]] if name in derived else columns[name] for name in task.inputs}


def comment(text: str) -> str:
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
    >>> print(comment("λ*/ system()\n"))
    \u03bb*\u002f system()\u000a
    """
    plain = "".join(
        mark if " " <= mark <= "~" and mark != "\\" else f"\\u{ord(mark):04x}" for mark in text[:200]
    )
    # a C comment ends in */, and ??/ joins lines
    for pair in ("*/", "/*", "??"):
        plain = plain.replace(pair, f"{pair[0]}\\u{ord(pair[1]):04x}")
    return plain + ("..." if len(text) > 200 else "")
