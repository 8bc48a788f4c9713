"""Write expressions as text, with one printer that knows the precedence rules of every language.

A `Printer` combines the parts of an expression from the leaves to the root and adds parentheses by the
precedences of a `Notation`. The formula notation, LaTeX and MathML are here, programming languages in
`symscreen.export`. The tree is printed without reordering or simplification, so that a formula is
recognizable.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import numpy as np

from symscreen.data.time_operators import split_time_column
from symscreen.errors import OptionError
from symscreen.expressions.operator_notations import find_notation
from symscreen.expressions.traversal import fold_expression
from symscreen.expressions.tree import Call, Column, Constant
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.custom_operators import to_plain_number
from symscreen.grammar.operator import Precedence
from symscreen.grammar.parser import find_constant_name, quote_column
from symscreen.messages import escape_control_chars, quote

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from symscreen.expressions.tree import Expression
    from symscreen.grammar.operator import Notation

_OPERATOR_NAMES = frozenset(OPERATORS)
_RESERVED = -1  # a precedence below every minimum

_MAX_DIGITS = 17  # significant digits that determine a double

_SHORT_NAME = re.compile(r"([A-Za-z])([0-9]*)")  # a letter with a number as subscript
_LATEX_ESCAPES = {
    " ": r"\ ",
    "\\": r"\text{\textbackslash}",
    "~": r"\text{\textasciitilde}",
    "^": r"\text{\textasciicircum}",
    # In math mode, these are a minus sign and primes.
    "-": r"\text{-}",
    "'": r"\text{'}",
    "`": r"\text{`}",
    '"': r"\text{''}",
    **{mark: rf"\{mark}" for mark in "{}$&#_%"},
    # Without braces, these are spaced like operators.
    **{mark: f"{{{mark}}}" for mark in "+*/=<>|:;,!?()[]@"},
}


@dataclass(slots=True)  # not frozen, which would double the time to create one
class PrintedText:
    """The text of an expression, its precedence, and whether it starts with a minus sign."""

    text: str
    precedence: int = Precedence.ATOM
    is_signed: bool = False


TextT = TypeVar("TextT", bound=PrintedText)


class Printer(ABC, Generic[TextT]):
    """Writes expressions in one language; subclasses write columns, numbers and calls.

    Attributes
    ----------
    parentheses : str
        Format string of a text in parentheses.
    """

    parentheses: ClassVar[str] = "({})"

    def write(self, expression: Expression) -> str:
        """Write an expression."""
        return self.print_expression(expression).text

    def print_expression(self, expression: Expression) -> TextT:
        """Write an expression and keep what its text needs in a larger one."""
        return fold_expression(
            expression, column=self.write_column, number=self.write_number, call=self.write_call
        )

    @abstractmethod
    def write_column(self, name: str) -> TextT:
        """Write the name of a column."""

    @abstractmethod
    def write_number(self, constant: Constant) -> TextT:
        """Write a number."""

    @abstractmethod
    def write_call(self, call: Call, arguments: Sequence[TextT]) -> TextT:
        """Write a call of an operator, given the texts of its arguments."""

    def format_arguments(self, notation: Notation, arguments: Sequence[PrintedText]) -> list[str]:
        """Enclose arguments in parentheses if they bind too loosely, or start with a sign inside a text."""
        texts, is_leading = [], notation.starts_with_argument
        for argument, minimum in zip(arguments, notation.argument_precedences, strict=False):
            needs_parentheses = argument.precedence < minimum or (
                argument.is_signed and not is_leading and minimum > 0
            )
            texts.append(self.parentheses.format(argument.text) if needs_parentheses else argument.text)
            is_leading = False
        return texts


class _FormulaPrinter(Printer[PrintedText]):
    """Writes the formula notation, which `symscreen.grammar.parser` parses."""

    @staticmethod
    @lru_cache(maxsize=4096)  # formulas repeat the names of a few columns
    def write_column(name: str) -> PrintedText:
        parts = split_time_column(name)
        if parts is None:
            return PrintedText(quote_column(name, _OPERATOR_NAMES))
        operator, column = parts
        return PrintedText(f"{operator}({quote_column(column, _OPERATOR_NAMES)})")

    def write_number(self, constant: Constant) -> PrintedText:
        name = find_constant_name(constant.value)
        if name is not None:
            return PrintedText(name)
        text = str(constant.value)
        precedence = Precedence.PREFIX if constant.value < 0 else Precedence.ATOM
        return PrintedText(text, precedence, text.startswith("-"))

    def write_call(self, call: Call, arguments: Sequence[PrintedText]) -> PrintedText:
        operator, notation = call.operator, call.operator.notation
        if not notation.template:
            texts = [argument.text for argument in arguments]
            # abs(a - b) is parsed as absdiff, abs((a - b)) as abs of a difference.
            first = call.arguments[0]
            if operator.name == "abs" and isinstance(first, Call) and first.operator.name == "sub":
                texts[0] = f"({texts[0]})"
            return PrintedText(f"{operator.name}({', '.join(texts)})")
        # A number that would be parsed as part of a short form needs parentheses: −2, x**2, 1/x.
        for index, argument in enumerate(call.arguments):
            if (
                isinstance(argument, Constant)
                and notation.is_reserved_literal(index, argument.value)
                and find_constant_name(argument.value) is None
            ):
                arguments[index].precedence = _RESERVED
        text = notation.template.format(*self.format_arguments(notation, arguments))
        return PrintedText(text, notation.precedence, text.startswith("-"))


def to_text(expression: Expression) -> str:
    """Format an expression in the formula notation; `parse_expression` converts it back to the same tree.

    Examples
    --------
    >>> from symscreen.expressions.tree import Column
    >>> x = Column("x")
    >>> to_text(Call(OPERATORS["pow"], (x, Constant(2)))), to_text(Call(OPERATORS["square"], (x,)))
    ('x**(2)', 'x**2')
    """
    return _FORMULA_PRINTER.write(expression)


_FORMULA_PRINTER = _FormulaPrinter()


class _ReadablePrinter(_FormulaPrinter):
    """Writes the formula notation with some names as they are, such as a[material]."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = names

    def write_column(self, name: str) -> PrintedText:  # type: ignore[override]  # a static method there
        return PrintedText(name) if name in self.names else _FormulaPrinter.write_column(name)


def to_readable_text(expression: Expression, names: Collection[str] = ()) -> str:
    """Format an expression as `to_text` does, but without backticks around the given names of columns.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> to_readable_text(parse_expression("`a[ore]`*`b c`"), {"a[ore]"})
    'a[ore]*`b c`'
    """
    return _ReadablePrinter(names).write(expression)


def check_digits(digits: int) -> None:
    """Check that a number of significant digits is an integer from 1 to 17.

    Raises
    ------
    OptionError
        If it is not such an integer.
    """
    if isinstance(digits, bool) or not isinstance(digits, int | np.integer):
        raise OptionError(f"digits is {quote(digits)}; give an integer from 1 to {_MAX_DIGITS}")
    if not 1 <= digits <= _MAX_DIGITS:
        raise OptionError(f"numbers cannot be rounded to {digits} digits; give 1 to {_MAX_DIGITS}")


def round_significant(value: float, digits: int) -> float:
    """Round a finite number to 1 to 17 significant digits.

    The result is an `int` if it is an integer below 10¹⁵. A number that would overflow is not rounded.

    Examples
    --------
    >>> round_significant(2.0149, 3), round_significant(-0.000123456, 2), round_significant(9.9996, 4)
    (2.01, -0.00012, 10)
    """
    check_digits(digits)
    rounded = float(f"{value:.{digits}g}")
    return value if math.isinf(rounded) else to_plain_number(rounded)


def round_if_fitted(constant: Constant, digits: int) -> float:
    """Return the value of a constant, rounded if it was fitted and is not an integer."""
    exact = not constant.fitted or isinstance(constant.value, int)
    return constant.value if exact else round_significant(constant.value, digits)


@dataclass(slots=True)
class _PrintedFunction(PrintedText):
    """A function of one argument, whose power is written after its name: sin²(x)."""

    name: str = ""
    argument: str = ""


class _MathPrinter(Printer[PrintedText]):
    """Writes mathematical notation with rounded numbers.

    Attributes
    ----------
    language : str
        Key of the operator notations.
    function : str
        Format string of a function's name and its arguments in parentheses.
    separator : str
        Between the arguments of a function.
    start_pattern : re.Pattern
        Matches the start of a text; its group is the sign or digit that it starts with.
    minus : str
        The sign of a negative number, as that group.
    """

    language: ClassVar[str]
    function: ClassVar[str]
    separator: ClassVar[str]
    start_pattern: ClassVar[re.Pattern[str]]
    minus: ClassVar[str]

    def __init__(self, digits: int) -> None:
        check_digits(digits)
        self.digits = digits

    def write_number(self, constant: Constant) -> PrintedText:
        value = round_if_fitted(constant, self.digits)
        if value == math.pi:
            return PrintedText(self.format_pi())
        if value == 0 or 1e-4 <= abs(value) < 1e6:
            precedence = Precedence.ATOM if value >= 0 else Precedence.PRODUCT
            return self.build_printed(self.format_decimal(value), precedence)
        mantissa, exponent = np.format_float_scientific(abs(value), trim="-").split("e")
        text = self.format_scientific("-" if value < 0 else "", mantissa, int(exponent))
        return self.build_printed(text, Precedence.PRODUCT)

    def write_call(self, call: Call, arguments: Sequence[PrintedText]) -> PrintedText:
        name = call.operator.name
        notation = find_notation(name, self.language)
        if notation is None or "{0}" not in notation.template:
            function_name = self.format_function_name(name, notation.template if notation else "")
            enclosed = self.parentheses.format(self.separator.join(argument.text for argument in arguments))
            text = self.function.format(function_name, enclosed)
            if len(arguments) > 1:
                return PrintedText(text, Precedence.FUNCTION)
            return _PrintedFunction(text, Precedence.FUNCTION, name=function_name, argument=enclosed)
        first = arguments[0]
        if name in {"square", "cube"} and isinstance(first, _PrintedFunction):
            power = notation.template.format(first.name)
            return PrintedText(self.function.format(power, first.argument), Precedence.FUNCTION)
        texts = self.format_arguments(notation, arguments)
        if notation.precedence == first.precedence == Precedence.SUM:
            texts[0] = self.open_sum(texts[0])
        times = self.format_times(*texts) if name == "mul" else ""
        return self.build_printed(notation.template.format(*texts, times=times), notation.precedence)

    def build_printed(self, text: str, precedence: int) -> PrintedText:
        """Record whether a text starts with a sign."""
        return PrintedText(text, precedence, self.find_start(text) == self.minus)

    def find_start(self, text: str) -> str:
        """Return the sign or digit that a text starts with; empty if it starts with neither."""
        match = self.start_pattern.match(text)
        return match[1] if match else ""

    def open_sum(self, text: str) -> str:
        """Return the terms of a sum, to which others are added."""
        return text

    @abstractmethod
    def format_pi(self) -> str:
        """Write the number π."""

    @abstractmethod
    def format_decimal(self, value: float) -> str:
        """Write a number without an exponent."""

    @abstractmethod
    def format_scientific(self, sign: str, mantissa: str, exponent: int) -> str:
        """Write a number as mantissa and power of ten."""

    @abstractmethod
    def format_function_name(self, name: str, notation: str) -> str:
        """Write the name of a function; `notation` is that of the table, empty if it has none."""

    @abstractmethod
    def format_times(self, left: str, right: str) -> str:
        """Return what stands between two factors. Two adjacent numbers or names would look like one."""


class _LatexPrinter(_MathPrinter):
    parentheses = r"\left({}\right)"
    language, function, separator = "latex", "{}{}", ", "
    start_pattern, minus = re.compile("(.)"), "-"

    def __init__(self, digits: int, names: Mapping[str, str]) -> None:
        super().__init__(digits)
        self.names = names

    def write_column(self, name: str) -> PrintedText:
        parts = split_time_column(name)
        if parts is None or name in self.names:
            return PrintedText(self.names.get(name) or format_column_latex(name))
        operator, column = parts
        return PrintedText(rf"\mathrm{{{operator}}}\left({format_column_latex(column)}\right)")

    def format_pi(self) -> str:
        return r"\pi"

    def format_decimal(self, value: float) -> str:
        return str(value)

    def format_scientific(self, sign: str, mantissa: str, exponent: int) -> str:
        factor = "" if mantissa == "1" else rf"{mantissa} \times "
        return f"{sign}{factor}10^{{{exponent}}}"

    def format_function_name(self, name: str, notation: str) -> str:
        return notation or _format_upright(r"\operatorname", name)

    def format_times(self, left: str, right: str) -> str:
        del left
        return r" \cdot " if right[0].isdecimal() else r"\,"


def to_latex(expression: Expression, digits: int = 4, names: Mapping[str, str] | None = None) -> str:
    r"""Format an expression as LaTeX for math mode (amsmath, MathJax and KaTeX), without dollar signs.

    Parameters
    ----------
    expression : Expression
        The expression.
    digits : int
        Significant digits of fitted numbers, from 1 to 17. Integers and the numbers of operators and units
        are exact.
    names : mapping of str to str, optional
        How columns are written, by name; by default as `format_column_latex` writes them.

    Returns
    -------
    str

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_latex(parse_expression("2.5*x1**3 - sin(t)**2/`flow rate`")))
    2.5\,x_{1}^{3} - \frac{\sin^{2}\left(t\right)}{\mathrm{flow\ rate}}
    """
    return _LatexPrinter(digits, names or {}).write(expression)


def format_column_latex(name: str, *, is_upright: bool = False) -> str:
    r"""Format the name of a column: a letter with a number as subscript, any other name upright and escaped.

    Control characters are written as Python escapes. With `is_upright`, every name is upright.

    Examples
    --------
    >>> print(format_column_latex("x"), format_column_latex("x12"), format_column_latex("50 %"))
    x x_{12} \mathrm{50\ \%}
    """
    if not is_upright and (match := _SHORT_NAME.fullmatch(name)):
        letter, number = match.groups()
        return f"{letter}_{{{number}}}" if number else letter
    return _format_upright(r"\mathrm", name) if name else r"\langle\rangle"


def _format_upright(command: str, name: str) -> str:
    """Escape a name and pass it to a LaTeX command."""
    escaped = "".join(_LATEX_ESCAPES.get(character, character) for character in escape_control_chars(name))
    return f"{command}{{{escaped}}}"


class _MathmlPrinter(_MathPrinter):
    parentheses = "<mrow><mo>(</mo>{}<mo>)</mo></mrow>"
    language, separator = "mathml", "<mo>,</mo>"
    function = "<mrow>{}<mo>\u2061</mo>{}</mrow>"  # function application: invisible; screen readers say "of"
    start_pattern, minus = re.compile(r"(?:<(?:mrow|msup)>)*<m[no]>(.)"), "−"

    def write_column(self, name: str) -> PrintedText:
        if parts := split_time_column(name):
            operator, column = parts
            argument = self.parentheses.format(self.write_column(column).text)
            return PrintedText(self.function.format(self.format_function_name(operator, ""), argument))
        if match := _SHORT_NAME.fullmatch(name):
            letter, number = match.groups()
            return PrintedText(
                f"<msub><mi>{letter}</mi><mn>{number}</mn></msub>" if number else f"<mi>{letter}</mi>"
            )
        # Non-breaking spaces, because browsers drop leading and trailing spaces.
        text = escape(escape_control_chars(name)).replace(" ", chr(0xA0))
        return PrintedText(f"<mtext>{text or '⟨⟩'}</mtext>")

    def format_pi(self) -> str:
        return "<mi>π</mi>"

    def format_decimal(self, value: float) -> str:
        return _add_sign_mathml(f"<mn>{abs(value)}</mn>", is_negative=value < 0)

    def format_scientific(self, sign: str, mantissa: str, exponent: int) -> str:
        power = _add_sign_mathml(f"<mn>{abs(exponent)}</mn>", is_negative=exponent < 0)
        text = f"<msup><mn>10</mn>{power}</msup>"
        if mantissa != "1":
            text = f"<mrow><mn>{mantissa}</mn><mo>×</mo>{text}</mrow>"
        return _add_sign_mathml(text, is_negative=bool(sign))

    def format_function_name(self, name: str, notation: str) -> str:
        return f"<mi mathvariant='normal'>{escape(notation or escape_control_chars(name))}</mi>"

    def format_times(self, left: str, right: str) -> str:
        needs_dot = self.find_start(right).isdecimal() or "<mtext>" in left + right
        return "<mo>⋅</mo>" if needs_dot else "<mo>\u2062</mo>"  # invisible times

    def open_sum(self, text: str) -> str:
        return text.removeprefix("<mrow>").removesuffix("</mrow>")


def _add_sign_mathml(markup: str, *, is_negative: bool) -> str:
    """Prepend a minus sign if a number is negative."""
    return f"<mrow><mo>−</mo>{markup}</mrow>" if is_negative else markup


def to_mathml(expression: Expression, digits: int = 4) -> str:
    """Format an expression as a ``<math>`` element, which browsers render without scripts or fonts.

    Parameters
    ----------
    expression : Expression
        The expression.
    digits : int
        Significant digits of fitted numbers, from 1 to 17. Integers and the numbers of operators and units
        are exact.

    Returns
    -------
    str
        Valid as XML and as HTML. Control characters in names are written as Python escapes.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_mathml(parse_expression("x1/`a<b`")))
    <math><mfrac><msub><mi>x</mi><mn>1</mn></msub><mtext>a&lt;b</mtext></mfrac></math>
    """
    return f"<math>{format_mathml_body(expression, digits)}</math>"


def format_mathml_body(expression: Expression, digits: int = 4) -> str:
    """Format an expression as the content of a ``<math>`` element, see `to_mathml`."""
    return _MathmlPrinter(digits).write(expression)


def format_equation_html(name: str, expression: Expression, digits: int = 6) -> str:
    """Typeset an equation, the name of a column on its left side, as MathML in a paragraph of its own.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(format_equation_html("y", parse_expression("x**2")))
    <p><math><mi>y</mi><mo>=</mo><msup><mi>x</mi><mn>2</mn></msup></math></p>
    """
    sides = format_mathml_body(Column(name)), format_mathml_body(expression, digits)
    return f"<p><math>{'<mo>=</mo>'.join(sides)}</math></p>"
