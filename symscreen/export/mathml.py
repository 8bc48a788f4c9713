"""Formulas as presentation MathML, which browsers typeset by themselves: no script, no fonts, no pictures.

A tree is printed as it stands, with the parentheses of `symscreen.export.latex`. All text is escaped, so a
column may have any name.
"""

from __future__ import annotations

import math
import re
from html import escape

import numpy as np

from symscreen.errors import printable
from symscreen.export.latex import check_digits, shown_number
from symscreen.expression import Apply, Column, Constant, Expression

__all__ = ["mathml_body", "to_mathml"]

# how tightly a formula holds together, as in `symscreen.grammar.operator.Notation`
_SUM, _PRODUCT, _CALL, _ATOM = 10, 20, 45, 50
_ANY = 0  # an argument that the notation itself encloses

# name: the notation, how tightly it binds, how tightly each argument must
_NOTATIONS: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "neg": ("<mrow><mo>−</mo>{}</mrow>", _PRODUCT, (_PRODUCT,)),
    "div": ("<mfrac>{}{}</mfrac>", _CALL, (_ANY, _ANY)),
    "inv": ("<mfrac><mn>1</mn>{}</mfrac>", _CALL, (_ANY,)),
    "exp": ("<msup><mi mathvariant='normal'>e</mi>{}</msup>", _CALL, (_ANY,)),
    "sqrt": ("<msqrt>{}</msqrt>", _CALL, (_ANY,)),
    "cbrt": ("<mroot>{}<mn>3</mn></mroot>", _CALL, (_ANY,)),
    "abs": ("<mrow><mo fence='true'>|</mo>{}<mo fence='true'>|</mo></mrow>", _CALL, (_ANY,)),
    "absdiff": (
        "<mrow><mo fence='true'>|</mo>{}<mo>−</mo>{}<mo fence='true'>|</mo></mrow>",
        _CALL,
        (_ANY, _PRODUCT),
    ),
    "floor": ("<mrow><mo>⌊</mo>{}<mo>⌋</mo></mrow>", _CALL, (_ANY,)),
    "square": ("<msup>{}<mn>2</mn></msup>", _CALL, (_ATOM,)),
    "cube": ("<msup>{}<mn>3</mn></msup>", _CALL, (_ATOM,)),
    "pow": ("<msup>{}{}</msup>", _CALL, (_ATOM, _ANY)),
}
_SUMS = {"add": ("<mo>+</mo>", _SUM), "sub": ("<mo>−</mo>", _PRODUCT)}
_FUNCTIONS = {"log": "ln", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arsinh"}
_POWERS = {"square": "2", "cube": "3"}
_APPLIED = "<mo>\u2061</mo>"  # function application: no mark, but a screen reader's "of"
_TIMES = "<mo>\u2062</mo>"  # invisible times
_FIRST_MARK = re.compile(r"(?:<(?:mrow|msup)>)*<m[no]>(.)")


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
    >>> from symscreen.expression import parse
    >>> print(to_mathml(parse("x1/`a<b`")))
    <math><mfrac><msub><mi>x</mi><mn>1</mn></msub><mtext>a&lt;b</mtext></mfrac></math>
    """
    return f"<math>{mathml_body(expression, digits)}</math>"


def mathml_body(expression: Expression, digits: int = 4) -> str:
    """Print an expression as what stands inside ``<math>``; see `to_mathml`."""
    check_digits(digits)
    return _mathml(expression, digits)[0]


def _mathml(expression: Expression, digits: int) -> tuple[str, int]:
    """Return the markup, one element, and how tightly it binds."""
    if isinstance(expression, Column):
        return _column(expression.name), _ATOM
    if isinstance(expression, Constant):
        return _number(shown_number(expression, digits))
    return _applied(expression, digits)


def _column(name: str) -> str:
    if match := re.fullmatch(r"([A-Za-z])([0-9]*)", name):
        letter, number = match.groups()
        return f"<msub><mi>{letter}</mi><mn>{number}</mn></msub>" if number else f"<mi>{letter}</mi>"
    # a browser drops spaces at the ends of a text
    return (
        f"<mtext>{escape(printable(name)).replace(' ', chr(0xA0))}</mtext>" if name else "<mtext>⟨⟩</mtext>"
    )


def _applied(expression: Apply, digits: int) -> tuple[str, int]:
    name, arguments = expression.operator.name, expression.arguments
    if name in _SUMS:
        return _sum(expression, digits), _SUM
    if name == "mul":
        return _product(arguments[0], arguments[1], digits), _PRODUCT
    if name not in _NOTATIONS:
        return _call(expression, "", digits), _CALL
    if name in _POWERS and (inner := _called(arguments[0])) is not None:
        return _call(inner, _POWERS[name], digits), _CALL  # sin²(x), as people write it
    template, binds, needs = _NOTATIONS[name]
    leads = name in {"square", "cube", "pow", "absdiff"}
    parts = [
        _argument(argument, need, digits, leads=leads and place == 0)
        for place, (argument, need) in enumerate(zip(arguments, needs, strict=True))
    ]
    return template.format(*parts), binds


def _argument(expression: Expression, need: int, digits: int, *, leads: bool) -> str:
    markup, binds = _mathml(expression, digits)
    loose = binds < need or (need != _ANY and not leads and _first(markup) == "−")
    return _in_parentheses(markup) if loose else markup


def _in_parentheses(markup: str) -> str:
    return f"<mrow><mo>(</mo>{markup}<mo>)</mo></mrow>"


def _first(markup: str) -> str:
    """Return the sign or digit that an element begins with, if it begins with one."""
    match = _FIRST_MARK.match(markup)
    return match[1] if match else ""


def _sum(expression: Expression, digits: int) -> str:
    """Print a chain of terms without a recursion as deep as it is long."""
    markup = ""
    while isinstance(expression, Apply) and expression.operator.name in _SUMS:
        mark, need = _SUMS[expression.operator.name]
        expression, term = expression.arguments
        markup = mark + _argument(term, need, digits, leads=False) + markup
    return f"<mrow>{_mathml(expression, digits)[0]}{markup}</mrow>"


def _product(left: Expression, right: Expression, digits: int) -> str:
    first = _argument(left, _PRODUCT, digits, leads=True)
    second = _argument(right, _PRODUCT, digits, leads=False)
    # two numbers, or two names, side by side would read as one
    apart = _first(second).isdecimal() or "<mtext>" in first + second
    return f"<mrow>{first}{'<mo>⋅</mo>' if apart else _TIMES}{second}</mrow>"


def _called(expression: Expression) -> Apply | None:
    """Return an expression that is printed as a function's call with one argument."""
    if isinstance(expression, Apply) and len(expression.arguments) == 1:
        return None if expression.operator.name in _NOTATIONS else expression
    return None


def _call(expression: Apply, power: str, digits: int) -> str:
    name = expression.operator.name
    function = f"<mi mathvariant='normal'>{escape(_FUNCTIONS.get(name, printable(name)))}</mi>"
    if power:
        function = f"<msup>{function}<mn>{power}</mn></msup>"
    arguments = "<mo>,</mo>".join(_mathml(argument, digits)[0] for argument in expression.arguments)
    return f"<mrow>{function}{_APPLIED}{_in_parentheses(arguments)}</mrow>"


def _number(value: float) -> tuple[str, int]:
    if value == math.pi:
        return "<mi>π</mi>", _ATOM
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return _signed(f"<mn>{abs(value)}</mn>", value), _ATOM if value >= 0 else _PRODUCT
    mantissa, exponent = np.format_float_scientific(abs(value), trim="-").split("e")
    power = f"<mn>{abs(int(exponent))}</mn>"
    power = f"<msup><mn>10</mn>{_signed(power, int(exponent))}</msup>"
    factor = "" if mantissa == "1" else f"<mn>{mantissa}</mn><mo>×</mo>"
    return _signed(f"<mrow>{factor}{power}</mrow>" if factor else power, value), _PRODUCT


def _signed(markup: str, value: float) -> str:
    return f"<mrow><mo>−</mo>{markup}</mrow>" if value < 0 else markup
