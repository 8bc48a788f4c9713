"""Format expressions as presentation MathML, which browsers render without scripts, fonts or images.

The tree is printed without reordering, with the same parentheses as in `symscreen.expressions.latex`. All
text is escaped, so a column may have any name.
"""

from __future__ import annotations

import math
import re
from html import escape

import numpy as np

from symscreen.expressions.latex import check_digits, round_if_fitted
from symscreen.expressions.tree import Call, Column, Constant, Expression
from symscreen.messages import escape_control_chars

# Precedences as in `symscreen.grammar.operator.Notation`.
_SUM_PRECEDENCE, _PRODUCT_PRECEDENCE, _CALL_PRECEDENCE, _ATOM_PRECEDENCE = 10, 20, 45, 50
_ANY_PRECEDENCE = 0  # for arguments enclosed by the notation itself

# By operator name: template, precedence of the result, minimum precedence of each argument.
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
_FUNCTION_APPLICATION = "<mo>\u2061</mo>"  # invisible; screen readers say "of"
_INVISIBLE_TIMES = "<mo>\u2062</mo>"  # invisible
_FIRST_CHARACTER = re.compile(r"(?:<(?:mrow|msup)>)*<m[no]>(.)")


def to_mathml(expression: Expression, digits: int = 4) -> str:
    """Format an expression as a ``<math>`` element.

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
    """Format an expression as the content of a ``<math>`` element, see `to_mathml`.

    Parameters
    ----------
    expression : Expression
        The expression.
    digits : int
        Significant digits of fitted numbers, from 1 to 17.

    Returns
    -------
    str
    """
    check_digits(digits)
    return _format_expression(expression, digits)[0]


def _format_expression(expression: Expression, digits: int) -> tuple[str, int]:
    """Return the markup of an expression, a single element, and its precedence."""
    if isinstance(expression, Column):
        return _format_column(expression.name), _ATOM_PRECEDENCE
    if isinstance(expression, Constant):
        return _format_number(round_if_fitted(expression, digits))
    return _format_call(expression, digits)


def _format_column(name: str) -> str:
    """Format the name of a column: a letter with a number as subscript, any other name as text."""
    if match := re.fullmatch(r"([A-Za-z])([0-9]*)", name):
        letter, number = match.groups()
        return f"<msub><mi>{letter}</mi><mn>{number}</mn></msub>" if number else f"<mi>{letter}</mi>"
    # Non-breaking spaces, because browsers drop leading and trailing spaces.
    text = escape(escape_control_chars(name)).replace(" ", chr(0xA0))
    return f"<mtext>{text or '⟨⟩'}</mtext>"


def _format_call(expression: Call, digits: int) -> tuple[str, int]:
    """Return the markup of a call and its precedence."""
    name, arguments = expression.operator.name, expression.arguments
    if name in _SUM_NOTATIONS:
        return _format_sum(expression, digits), _SUM_PRECEDENCE
    if name == "mul":
        return _format_product(arguments[0], arguments[1], digits), _PRODUCT_PRECEDENCE
    if name not in _OPERATOR_NOTATIONS:
        return _format_function(expression, "", digits), _CALL_PRECEDENCE
    if name in _POWERS and (inner := _get_unary_call(arguments[0])) is not None:
        return _format_function(inner, _POWERS[name], digits), _CALL_PRECEDENCE  # sin²(x)
    template, precedence, min_precedences = _OPERATOR_NOTATIONS[name]
    starts_with_argument = name in {"square", "cube", "pow", "absdiff"}
    parts = [
        _format_argument(argument, minimum, digits, is_leading=starts_with_argument and index == 0)
        for index, (argument, minimum) in enumerate(zip(arguments, min_precedences, strict=True))
    ]
    return template.format(*parts), precedence


def _format_argument(expression: Expression, min_precedence: int, digits: int, *, is_leading: bool) -> str:
    """Format an argument, in parentheses if its precedence is too low or it starts with a sign."""
    markup, precedence = _format_expression(expression, digits)
    needs_parentheses = precedence < min_precedence or (
        min_precedence != _ANY_PRECEDENCE and not is_leading and _find_first_character(markup) == "−"
    )
    return _parenthesize(markup) if needs_parentheses else markup


def _parenthesize(markup: str) -> str:
    """Enclose an element in parentheses."""
    return f"<mrow><mo>(</mo>{markup}<mo>)</mo></mrow>"


def _find_first_character(markup: str) -> str:
    """Return the sign or the first digit at the start of an element; empty if it starts with neither."""
    match = _FIRST_CHARACTER.match(markup)
    return match[1] if match else ""


def _format_sum(expression: Expression, digits: int) -> str:
    """Format a chain of terms with a loop, because recursion would be as deep as the chain is long."""
    markup = ""
    while isinstance(expression, Call) and expression.operator.name in _SUM_NOTATIONS:
        sign, min_precedence = _SUM_NOTATIONS[expression.operator.name]
        expression, term = expression.arguments
        markup = sign + _format_argument(term, min_precedence, digits, is_leading=False) + markup
    return f"<mrow>{_format_expression(expression, digits)[0]}{markup}</mrow>"


def _format_product(left: Expression, right: Expression, digits: int) -> str:
    """Format a product, with a dot between numbers or names."""
    first = _format_argument(left, _PRODUCT_PRECEDENCE, digits, is_leading=True)
    second = _format_argument(right, _PRODUCT_PRECEDENCE, digits, is_leading=False)
    # Without the dot, two adjacent numbers or names would look like one.
    needs_dot = _find_first_character(second).isdecimal() or "<mtext>" in first + second
    return f"<mrow>{first}{'<mo>⋅</mo>' if needs_dot else _INVISIBLE_TIMES}{second}</mrow>"


def _get_unary_call(expression: Expression) -> Call | None:
    """Return the expression if it is formatted as a function of one argument, else None."""
    if isinstance(expression, Call) and len(expression.arguments) == 1:
        return None if expression.operator.name in _OPERATOR_NOTATIONS else expression
    return None


def _format_function(expression: Call, power: str, digits: int) -> str:
    """Format a call as a function, with a power after its name unless it is empty."""
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
    """Return the markup of a number and its precedence."""
    if value == math.pi:
        return "<mi>π</mi>", _ATOM_PRECEDENCE
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        precedence = _ATOM_PRECEDENCE if value >= 0 else _PRODUCT_PRECEDENCE
        return _add_sign(f"<mn>{abs(value)}</mn>", value), precedence
    mantissa, exponent = np.format_float_scientific(abs(value), trim="-").split("e")
    power = f"<mn>{abs(int(exponent))}</mn>"
    power = f"<msup><mn>10</mn>{_add_sign(power, int(exponent))}</msup>"
    factor = "" if mantissa == "1" else f"<mn>{mantissa}</mn><mo>×</mo>"
    return _add_sign(f"<mrow>{factor}{power}</mrow>" if factor else power, value), _PRODUCT_PRECEDENCE


def _add_sign(markup: str, value: float) -> str:
    """Prepend a minus sign if the value is negative."""
    return f"<mrow><mo>−</mo>{markup}</mrow>" if value < 0 else markup
