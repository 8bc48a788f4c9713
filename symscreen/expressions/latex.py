"""Format expressions as LaTeX for math mode, for LaTeX with amsmath, MathJax and KaTeX.

The tree is printed without reordering or simplification, so that the formula is recognizable.
"""

from __future__ import annotations

import math
import re

import numpy as np

from symscreen.errors import OptionError
from symscreen.expressions.tree import Call, Column, Constant, Expression
from symscreen.grammar.custom_operators import to_plain_number
from symscreen.messages import escape_control_chars, quote_value

# Precedences as in `symscreen.grammar.operator.Notation`.
_SUM_PRECEDENCE, _PRODUCT_PRECEDENCE, _CALL_PRECEDENCE, _ATOM_PRECEDENCE = 10, 20, 45, 50
_ANY_PRECEDENCE = 0  # for arguments enclosed by the notation itself
_MAX_DIGITS = 17  # significant digits that determine a double

# By operator name: template, precedence of the result, minimum precedence of each argument.
_OPERATOR_NOTATIONS: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "neg": ("-%s", _PRODUCT_PRECEDENCE, (_PRODUCT_PRECEDENCE,)),
    "div": (r"\frac{%s}{%s}", _CALL_PRECEDENCE, (_ANY_PRECEDENCE, _ANY_PRECEDENCE)),
    "inv": (r"\frac{1}{%s}", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "exp": (r"\mathrm{e}^{%s}", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "sqrt": (r"\sqrt{%s}", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "cbrt": (r"\sqrt[3]{%s}", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "abs": (r"\left|%s\right|", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "absdiff": (r"\left|%s - %s\right|", _CALL_PRECEDENCE, (_ANY_PRECEDENCE, _PRODUCT_PRECEDENCE)),
    "floor": (r"\left\lfloor %s\right\rfloor", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "square": ("%s^{2}", _CALL_PRECEDENCE, (_ATOM_PRECEDENCE,)),
    "cube": ("%s^{3}", _CALL_PRECEDENCE, (_ATOM_PRECEDENCE,)),
    "pow": ("%s^{%s}", _CALL_PRECEDENCE, (_ATOM_PRECEDENCE, _ANY_PRECEDENCE)),
}
_SUM_NOTATIONS = {"add": (" + ", _SUM_PRECEDENCE), "sub": (" - ", _PRODUCT_PRECEDENCE)}
_FUNCTION_NAMES = {
    "log": r"\ln",
    "asin": r"\arcsin",
    "acos": r"\arccos",
    "atan": r"\arctan",
    "asinh": r"\operatorname{arsinh}",
    **{name: rf"\{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "min", "max")},
}
_ESCAPES = {
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


def to_latex(expression: Expression, digits: int = 4) -> str:
    r"""Format an expression as LaTeX, without dollar signs.

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

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_latex(parse_expression("2.5*x1**3 - sin(t)**2/`flow rate`")))
    2.5\,x_{1}^{3} - \frac{\sin^{2}\left(t\right)}{\mathrm{flow\ rate}}
    """
    check_digits(digits)
    return _format_expression(expression, digits)[0]


def check_digits(digits: int) -> None:
    """Check that a number of significant digits is an integer from 1 to 17.

    Parameters
    ----------
    digits : int
        The number of digits.

    Raises
    ------
    OptionError
        If it is not.
    """
    if isinstance(digits, bool) or not isinstance(digits, int | np.integer):
        raise OptionError(f"digits is {quote_value(digits)}; give an integer from 1 to {_MAX_DIGITS}")
    if not 1 <= digits <= _MAX_DIGITS:
        raise OptionError(f"numbers cannot be rounded to {digits} digits; give 1 to {_MAX_DIGITS}")


def format_column_latex(name: str) -> str:
    r"""Format the name of a column: a letter with a number as subscript, any other name upright and escaped.

    Parameters
    ----------
    name : str
        Any text; control characters are written as Python escapes.

    Returns
    -------
    str

    Examples
    --------
    >>> print(format_column_latex("x"), format_column_latex("x12"), format_column_latex("50 %"))
    x x_{12} \mathrm{50\ \%}
    """
    if match := re.fullmatch(r"([A-Za-z])([0-9]*)", name):
        letter, number = match.groups()
        return f"{letter}_{{{number}}}" if number else letter
    return _format_upright(r"\mathrm", name) if name else r"\langle\rangle"


def _format_upright(command: str, name: str) -> str:
    """Escape a name and pass it to a LaTeX command."""
    escaped = "".join(_ESCAPES.get(character, character) for character in escape_control_chars(name))
    return f"{command}{{{escaped}}}"


def round_significant(value: float, digits: int) -> float:
    """Round a number to significant digits.

    Parameters
    ----------
    value : float
        A finite number.
    digits : int
        Significant digits, from 1 to 17.

    Returns
    -------
    int or float
        An `int` if the result is an integer below 10¹⁵; the unchanged value if rounding would overflow.

    Raises
    ------
    OptionError
        If `digits` is out of range.

    Examples
    --------
    >>> round_significant(2.0149, 3), round_significant(-0.000123456, 2), round_significant(9.9996, 4)
    (2.01, -0.00012, 10)
    """
    check_digits(digits)
    rounded = float(f"{value:.{digits}g}")
    return value if math.isinf(rounded) else to_plain_number(rounded)


def _format_expression(expression: Expression, digits: int) -> tuple[str, int]:
    """Return the LaTeX text of an expression and its precedence."""
    if isinstance(expression, Column):
        return format_column_latex(expression.name), _ATOM_PRECEDENCE
    if isinstance(expression, Constant):
        return _format_number(round_if_fitted(expression, digits))
    return _format_call(expression, digits)


def _format_call(expression: Call, digits: int) -> tuple[str, int]:
    """Return the LaTeX text of a call and its precedence."""
    name, arguments = expression.operator.name, expression.arguments
    if name in _SUM_NOTATIONS:
        return _format_sum(expression, digits), _SUM_PRECEDENCE
    if name == "mul":
        return _format_product(arguments[0], arguments[1], digits), _PRODUCT_PRECEDENCE
    if name not in _OPERATOR_NOTATIONS:
        return _format_function(expression, "", digits), _CALL_PRECEDENCE
    template, precedence, min_precedences = _OPERATOR_NOTATIONS[name]
    if name in {"square", "cube"} and (inner := _get_unary_call(arguments[0])) is not None:
        power = template.removeprefix("%s")
        return _format_function(inner, power, digits), _CALL_PRECEDENCE  # sin²(x)
    starts_with_argument = template.startswith("%s")
    parts = [
        _format_argument(argument, minimum, digits, is_leading=starts_with_argument and index == 0)
        for index, (argument, minimum) in enumerate(zip(arguments, min_precedences, strict=True))
    ]
    return template % tuple(parts), precedence


def _format_argument(expression: Expression, min_precedence: int, digits: int, *, is_leading: bool) -> str:
    """Format an argument, in parentheses if its precedence is too low or it starts with a sign."""
    text, precedence = _format_expression(expression, digits)
    needs_parentheses = precedence < min_precedence or (
        min_precedence != _ANY_PRECEDENCE and text.startswith("-") and not is_leading
    )
    return rf"\left({text}\right)" if needs_parentheses else text


def _format_sum(expression: Expression, digits: int) -> str:
    """Format a chain of terms with a loop, because recursion would be as deep as the chain is long."""
    text = ""
    while isinstance(expression, Call) and expression.operator.name in _SUM_NOTATIONS:
        sign, min_precedence = _SUM_NOTATIONS[expression.operator.name]
        expression, term = expression.arguments
        text = sign + _format_argument(term, min_precedence, digits, is_leading=False) + text
    return _format_expression(expression, digits)[0] + text


def _format_product(left: Expression, right: Expression, digits: int) -> str:
    """Format a product, with a dot before a number."""
    first = _format_argument(left, _PRODUCT_PRECEDENCE, digits, is_leading=True)
    second = _format_argument(right, _PRODUCT_PRECEDENCE, digits, is_leading=False)
    # Without the dot, two adjacent numbers would look like one.
    return first + (r" \cdot " if second[0].isdecimal() else r"\,") + second


def _get_unary_call(expression: Expression) -> Call | None:
    """Return the expression if it is formatted as a function of one argument, else None."""
    if isinstance(expression, Call) and len(expression.arguments) == 1:
        return None if expression.operator.name in _OPERATOR_NOTATIONS else expression
    return None


def _format_function(expression: Call, power: str, digits: int) -> str:
    """Format a call as a function, with a power after its name."""
    name = expression.operator.name
    function = _FUNCTION_NAMES.get(name) or _format_upright(r"\operatorname", name)
    arguments = ", ".join(_format_expression(argument, digits)[0] for argument in expression.arguments)
    return rf"{function}{power}\left({arguments}\right)"


def round_if_fitted(constant: Constant, digits: int) -> float:
    """Return the value of a constant, rounded to significant digits if it was fitted and is not an integer.

    Parameters
    ----------
    constant : Constant
        The constant.
    digits : int
        Significant digits, from 1 to 17.

    Returns
    -------
    int or float
    """
    exact = not constant.fitted or isinstance(constant.value, int)
    return constant.value if exact else round_significant(constant.value, digits)


def _format_number(value: float) -> tuple[str, int]:
    """Return the LaTeX text of a number and its precedence."""
    if value == math.pi:
        return r"\pi", _ATOM_PRECEDENCE
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return str(value), _ATOM_PRECEDENCE if value >= 0 else _PRODUCT_PRECEDENCE
    mantissa, exponent = np.format_float_scientific(value, trim="-").split("e")
    factor = {"1": "", "-1": "-"}.get(mantissa, rf"{mantissa} \times ")
    return f"{factor}10^{{{int(exponent)}}}", _PRODUCT_PRECEDENCE
