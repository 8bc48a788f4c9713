"""Formulas as presentation MathML, which browsers typeset by themselves: no script, no fonts, no pictures.

A tree is printed as it stands, with the parentheses of `symscreen.expressions.latex`. All text is escaped,
so a column may have any name.
"""

from __future__ import annotations

import math
import re
from html import escape

import numpy as np

from symscreen.errors import escape_control_chars
from symscreen.expressions.latex import check_digits, round_if_fitted
from symscreen.expressions.tree import Call, Column, Constant, Expression

__all__ = ["format_mathml_body", "to_mathml"]

# how tightly a formula holds together, as in `symscreen.grammar.operator.Notation`
_SUM_PRECEDENCE, _PRODUCT_PRECEDENCE, _CALL_PRECEDENCE, _ATOM_PRECEDENCE = 10, 20, 45, 50
_ANY_PRECEDENCE = 0  # an argument that the notation itself encloses

# name: the notation, how tightly it binds, how tightly each argument must
_OPERATOR_NOTATIONS: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "neg": ("<mrow><mo>−</mo>{}</mrow>", _PRODUCT_PRECEDENCE, (_PRODUCT_PRECEDENCE,)),
    "div": ("<mfrac>{}{}</mfrac>", _CALL_PRECEDENCE, (_ANY_PRECEDENCE, _ANY_PRECEDENCE)),
    "inv": ("<mfrac><mn>1</mn>{}</mfrac>", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "exp": ("<msup><mi mathvariant='normal'>e</mi>{}</msup>", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "sqrt": ("<msqrt>{}</msqrt>", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "cbrt": ("<mroot>{}<mn>3</mn></mroot>", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "abs": (
        "<mrow><mo fence='true'>|</mo>{}<mo fence='true'>|</mo></mrow>",
        _CALL_PRECEDENCE,
        (_ANY_PRECEDENCE,),
    ),
    "absdiff": (
        "<mrow><mo fence='true'>|</mo>{}<mo>−</mo>{}<mo fence='true'>|</mo></mrow>",
        _CALL_PRECEDENCE,
        (_ANY_PRECEDENCE, _PRODUCT_PRECEDENCE),
    ),
    "floor": ("<mrow><mo>⌊</mo>{}<mo>⌋</mo></mrow>", _CALL_PRECEDENCE, (_ANY_PRECEDENCE,)),
    "square": ("<msup>{}<mn>2</mn></msup>", _CALL_PRECEDENCE, (_ATOM_PRECEDENCE,)),
    "cube": ("<msup>{}<mn>3</mn></msup>", _CALL_PRECEDENCE, (_ATOM_PRECEDENCE,)),
    "pow": ("<msup>{}{}</msup>", _CALL_PRECEDENCE, (_ATOM_PRECEDENCE, _ANY_PRECEDENCE)),
}
_SUM_NOTATIONS = {"add": ("<mo>+</mo>", _SUM_PRECEDENCE), "sub": ("<mo>−</mo>", _PRODUCT_PRECEDENCE)}
_FUNCTION_NAMES = {"log": "ln", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arsinh"}
_POWERS = {"square": "2", "cube": "3"}
_FUNCTION_APPLICATION = "<mo>\u2061</mo>"  # function application: no mark, but a screen reader's "of"
_INVISIBLE_TIMES = "<mo>\u2062</mo>"  # invisible times
_FIRST_CHARACTER = re.compile(r"(?:<(?:mrow|msup)>)*<m[no]>(.)")


def to_mathml(expression: Expression, digits: int = 4) -> str:
    """Print an expression as a ``<math>`` element.

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
        Well-formed as XML and as HTML; control characters of names are shown as Python writes them.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(to_mathml(parse_expression("x1/`a<b`")))
    <math><mfrac><msub><mi>x</mi><mn>1</mn></msub><mtext>a&lt;b</mtext></mfrac></math>
    """
    return f"<math>{format_mathml_body(expression, digits)}</math>"


def format_mathml_body(expression: Expression, digits: int = 4) -> str:
    """Print an expression as what stands inside ``<math>``; see `to_mathml`."""
    check_digits(digits)
    return _format_expression(expression, digits)[0]


def _format_expression(expression: Expression, digits: int) -> tuple[str, int]:
    """Return the markup, one element, and how tightly it binds."""
    if isinstance(expression, Column):
        return _format_column(expression.name), _ATOM_PRECEDENCE
    if isinstance(expression, Constant):
        return _format_number(round_if_fitted(expression, digits))
    return _format_call(expression, digits)


def _format_column(name: str) -> str:
    if match := re.fullmatch(r"([A-Za-z])([0-9]*)", name):
        letter, number = match.groups()
        return f"<msub><mi>{letter}</mi><mn>{number}</mn></msub>" if number else f"<mi>{letter}</mi>"
    # a browser drops spaces at the ends of a text
    return (
        f"<mtext>{escape(escape_control_chars(name)).replace(' ', chr(0xA0))}</mtext>"
        if name
        else "<mtext>⟨⟩</mtext>"
    )


def _format_call(expression: Call, digits: int) -> tuple[str, int]:
    name, arguments = expression.operator.name, expression.arguments
    if name in _SUM_NOTATIONS:
        return _format_sum(expression, digits), _SUM_PRECEDENCE
    if name == "mul":
        return _format_product(arguments[0], arguments[1], digits), _PRODUCT_PRECEDENCE
    if name not in _OPERATOR_NOTATIONS:
        return _format_function(expression, "", digits), _CALL_PRECEDENCE
    if name in _POWERS and (inner := _get_unary_call(arguments[0])) is not None:
        return _format_function(inner, _POWERS[name], digits), _CALL_PRECEDENCE  # sin²(x), as people write it
    template, binds, needs = _OPERATOR_NOTATIONS[name]
    leads = name in {"square", "cube", "pow", "absdiff"}
    parts = [
        _format_argument(argument, need, digits, is_leading=leads and place == 0)
        for place, (argument, need) in enumerate(zip(arguments, needs, strict=True))
    ]
    return template.format(*parts), binds


def _format_argument(expression: Expression, min_precedence: int, digits: int, *, is_leading: bool) -> str:
    markup, binds = _format_expression(expression, digits)
    loose = binds < min_precedence or (
        min_precedence != _ANY_PRECEDENCE and not is_leading and _find_first_character(markup) == "−"
    )
    return _parenthesize(markup) if loose else markup


def _parenthesize(markup: str) -> str:
    return f"<mrow><mo>(</mo>{markup}<mo>)</mo></mrow>"


def _find_first_character(markup: str) -> str:
    """Return the sign or digit that an element begins with, if it begins with one."""
    match = _FIRST_CHARACTER.match(markup)
    return match[1] if match else ""


def _format_sum(expression: Expression, digits: int) -> str:
    """Print a chain of terms without a recursion as deep as it is long."""
    markup = ""
    while isinstance(expression, Call) and expression.operator.name in _SUM_NOTATIONS:
        mark, need = _SUM_NOTATIONS[expression.operator.name]
        expression, term = expression.arguments
        markup = mark + _format_argument(term, need, digits, is_leading=False) + markup
    return f"<mrow>{_format_expression(expression, digits)[0]}{markup}</mrow>"


def _format_product(left: Expression, right: Expression, digits: int) -> str:
    first = _format_argument(left, _PRODUCT_PRECEDENCE, digits, is_leading=True)
    second = _format_argument(right, _PRODUCT_PRECEDENCE, digits, is_leading=False)
    # two numbers, or two names, side by side would read as one
    apart = _find_first_character(second).isdecimal() or "<mtext>" in first + second
    return f"<mrow>{first}{'<mo>⋅</mo>' if apart else _INVISIBLE_TIMES}{second}</mrow>"


def _get_unary_call(expression: Expression) -> Call | None:
    """Return an expression that is printed as a function's call with one argument."""
    if isinstance(expression, Call) and len(expression.arguments) == 1:
        return None if expression.operator.name in _OPERATOR_NOTATIONS else expression
    return None


def _format_function(expression: Call, power: str, digits: int) -> str:
    name = expression.operator.name
    function = (
        f"<mi mathvariant='normal'>{escape(_FUNCTION_NAMES.get(name, escape_control_chars(name)))}</mi>"
    )
    if power:
        function = f"<msup>{function}<mn>{power}</mn></msup>"
    arguments = "<mo>,</mo>".join(
        _format_expression(argument, digits)[0] for argument in expression.arguments
    )
    return f"<mrow>{function}{_FUNCTION_APPLICATION}{_parenthesize(arguments)}</mrow>"


def _format_number(value: float) -> tuple[str, int]:
    if value == math.pi:
        return "<mi>π</mi>", _ATOM_PRECEDENCE
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return _add_sign(
            f"<mn>{abs(value)}</mn>", value
        ), _ATOM_PRECEDENCE if value >= 0 else _PRODUCT_PRECEDENCE
    mantissa, exponent = np.format_float_scientific(abs(value), trim="-").split("e")
    power = f"<mn>{abs(int(exponent))}</mn>"
    power = f"<msup><mn>10</mn>{_add_sign(power, int(exponent))}</msup>"
    factor = "" if mantissa == "1" else f"<mn>{mantissa}</mn><mo>×</mo>"
    return _add_sign(f"<mrow>{factor}{power}</mrow>" if factor else power, value), _PRODUCT_PRECEDENCE


def _add_sign(markup: str, value: float) -> str:
    return f"<mrow><mo>−</mo>{markup}</mrow>" if value < 0 else markup
