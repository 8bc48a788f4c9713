r"""Formulas as LaTeX, for the math mode of LaTeX (with amsmath), MathJax and KaTeX.

A tree is printed as it stands: nothing is reordered or simplified, so that the reader finds the formula
that was fitted.
"""

from __future__ import annotations

import math
import re

import numpy as np

from symscreen.errors import OptionError, printable, quoted
from symscreen.expression import Apply, Column, Constant, Expression
from symscreen.grammar.define import plain_number

__all__ = ["check_digits", "column_latex", "rounded_number", "shown_number", "to_latex"]

# how tightly a text holds together, as in `symscreen.grammar.operator.Notation`
_SUM, _PRODUCT, _CALL, _ATOM = 10, 20, 45, 50
_ANY = 0  # an argument that the notation itself encloses

# name: the notation, how tightly it binds, how tightly each argument must
_NOTATIONS: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "neg": ("-%s", _PRODUCT, (_PRODUCT,)),
    "div": (r"\frac{%s}{%s}", _CALL, (_ANY, _ANY)),
    "inv": (r"\frac{1}{%s}", _CALL, (_ANY,)),
    "exp": (r"\mathrm{e}^{%s}", _CALL, (_ANY,)),
    "sqrt": (r"\sqrt{%s}", _CALL, (_ANY,)),
    "cbrt": (r"\sqrt[3]{%s}", _CALL, (_ANY,)),
    "abs": (r"\left|%s\right|", _CALL, (_ANY,)),
    "absdiff": (r"\left|%s - %s\right|", _CALL, (_ANY, _PRODUCT)),
    "floor": (r"\left\lfloor %s\right\rfloor", _CALL, (_ANY,)),
    "square": ("%s^{2}", _CALL, (_ATOM,)),
    "cube": ("%s^{3}", _CALL, (_ATOM,)),
    "pow": ("%s^{%s}", _CALL, (_ATOM, _ANY)),
}
_SUMS = {"add": (" + ", _SUM), "sub": (" - ", _PRODUCT)}
_FUNCTIONS = {
    "log": r"\ln",
    "asin": r"\arcsin",
    "acos": r"\arccos",
    "atan": r"\arctan",
    "asinh": r"\operatorname{arsinh}",
    **{name: rf"\{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "min", "max")},
}
_MARKS = {
    " ": r"\ ",
    "\\": r"\text{\textbackslash}",
    "~": r"\text{\textasciitilde}",
    "^": r"\text{\textasciicircum}",
    # bare, these are a minus sign and primes in math mode
    "-": r"\text{-}",
    "'": r"\text{'}",
    "`": r"\text{`}",
    '"': r"\text{''}",
    **{mark: rf"\{mark}" for mark in "{}$&#_%"},
    # in braces, or they would be spaced like operators
    **{mark: f"{{{mark}}}" for mark in "+*/=<>|:;,!?()[]@"},
}


def to_latex(expression: Expression, digits: int = 4) -> str:
    r"""Print an expression as LaTeX, without dollar signs.

    Parameters
    ----------
    expression : Expression
        The formula.
    digits : int
        The significant digits of fitted numbers, from 1 to 17. All others are exact: those of operators and
        units, and whole ones.

    Returns
    -------
    str

    Examples
    --------
    >>> from symscreen.expression import parse
    >>> print(to_latex(parse("2.5*x1**3 - sin(t)**2/`flow rate`")))
    2.5\,x_{1}^{3} - \frac{\sin^{2}\left(t\right)}{\mathrm{flow\ rate}}
    """
    check_digits(digits)
    return _latex(expression, digits)[0]


def check_digits(digits: int) -> None:
    """Refuse digits that numbers cannot be rounded to."""
    if isinstance(digits, bool) or not isinstance(digits, int | np.integer):
        raise OptionError(f"digits is {quoted(digits)}; give a whole number from 1 to 17")
    if not 1 <= digits <= 17:
        raise OptionError(f"numbers cannot be rounded to {digits} digits; give 1 to 17")


def column_latex(name: str) -> str:
    r"""Write a column's name: a letter with a number as a subscript, else upright and escaped.

    Parameters
    ----------
    name : str
        Any text; control characters are shown as Python writes them.

    Returns
    -------
    str

    Examples
    --------
    >>> print(column_latex("x"), column_latex("x12"), column_latex("50 %"))
    x x_{12} \mathrm{50\ \%}
    """
    if match := re.fullmatch(r"([A-Za-z])([0-9]*)", name):
        letter, number = match.groups()
        return f"{letter}_{{{number}}}" if number else letter
    return _upright(r"\mathrm", name) if name else r"\langle\rangle"


def _upright(command: str, name: str) -> str:
    return f"{command}{{{''.join(_MARKS.get(mark, mark) for mark in printable(name))}}}"


def rounded_number(value: float, digits: int) -> float:
    """Round a number to significant digits; whole where the result is.

    Parameters
    ----------
    value : float
        Finite.
    digits : int
        From 1 to 17.

    Returns
    -------
    int or float
        An `int` where it is whole and below 10¹⁵; the value itself where rounding would overflow.

    Raises
    ------
    OptionError
        If the digits are out of range.

    Examples
    --------
    >>> rounded_number(2.0149, 3), rounded_number(-0.000123456, 2), rounded_number(9.9996, 4)
    (2.01, -0.00012, 10)
    """
    check_digits(digits)
    rounded = float(f"{value:.{digits}g}")
    return value if math.isinf(rounded) else plain_number(rounded)


def _latex(expression: Expression, digits: int) -> tuple[str, int]:
    """Return the text and how tightly it binds."""
    if isinstance(expression, Column):
        return column_latex(expression.name), _ATOM
    if isinstance(expression, Constant):
        return _number(shown_number(expression, digits))
    return _applied(expression, digits)


def _applied(expression: Apply, digits: int) -> tuple[str, int]:
    name, arguments = expression.operator.name, expression.arguments
    if name in _SUMS:
        return _sum(expression, digits), _SUM
    if name == "mul":
        return _product(arguments[0], arguments[1], digits), _PRODUCT
    if name not in _NOTATIONS:
        return _call(expression, "", digits), _CALL
    template, binds, needs = _NOTATIONS[name]
    if name in {"square", "cube"} and (inner := _called(arguments[0])) is not None:
        return _call(inner, template.removeprefix("%s"), digits), _CALL  # sin²(x), as people write it
    leads = template.startswith("%s")
    parts = [
        _argument(argument, need, digits, leads=leads and place == 0)
        for place, (argument, need) in enumerate(zip(arguments, needs, strict=True))
    ]
    return template % tuple(parts), binds


def _argument(expression: Expression, need: int, digits: int, *, leads: bool) -> str:
    text, binds = _latex(expression, digits)
    loose = binds < need or (need != _ANY and text.startswith("-") and not leads)
    return rf"\left({text}\right)" if loose else text


def _sum(expression: Expression, digits: int) -> str:
    """Print a chain of terms without a recursion as deep as it is long."""
    text = ""
    while isinstance(expression, Apply) and expression.operator.name in _SUMS:
        mark, need = _SUMS[expression.operator.name]
        expression, term = expression.arguments
        text = mark + _argument(term, need, digits, leads=False) + text
    return _latex(expression, digits)[0] + text


def _product(left: Expression, right: Expression, digits: int) -> str:
    first = _argument(left, _PRODUCT, digits, leads=True)
    second = _argument(right, _PRODUCT, digits, leads=False)
    # two numbers side by side would read as one
    return first + (r" \cdot " if second[0].isdecimal() else r"\,") + second


def _called(expression: Expression) -> Apply | None:
    """Return an expression that is printed as a function's call with one argument."""
    if isinstance(expression, Apply) and len(expression.arguments) == 1:
        return None if expression.operator.name in _NOTATIONS else expression
    return None


def _call(expression: Apply, power: str, digits: int) -> str:
    name = expression.operator.name
    function = _FUNCTIONS.get(name) or _upright(r"\operatorname", name)
    arguments = ", ".join(_latex(argument, digits)[0] for argument in expression.arguments)
    return rf"{function}{power}\left({arguments}\right)"


def shown_number(constant: Constant, digits: int) -> float:
    """Round a number if it was fitted; any other is exact."""
    exact = not constant.fitted or isinstance(constant.value, int)
    return constant.value if exact else rounded_number(constant.value, digits)


def _number(value: float) -> tuple[str, int]:
    if value == math.pi:
        return r"\pi", _ATOM
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return str(value), _ATOM if value >= 0 else _PRODUCT
    mantissa, exponent = np.format_float_scientific(value, trim="-").split("e")
    factor = {"1": "", "-1": "-"}.get(mantissa, rf"{mantissa} \times ")
    return f"{factor}10^{{{int(exponent)}}}", _PRODUCT
