"""Formulas of doubles as exact numbers, to many digits: the reference of bounds on rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np

from symscreen.expressions.tree import Column, Constant

EXACT = mpmath.MPContext()
EXACT.dps = 1600  # 1e300 and a product of two 1e-320 are both there in a sum, with digits to spare
SAME = EXACT.mpf(10) ** -150


class NoValueError(ArithmeticError):
    """There is no real value."""


def _power(a, b):
    if EXACT.isint(b) and abs(b) < 10**6:
        return EXACT.power(a, int(b))
    if EXACT.isint(b) and a < 0:
        return EXACT.power(-a, b) * (-1 if int(b) % 2 else 1)
    if a < 0:
        raise NoValueError
    return EXACT.power(a, b)


FUNCTIONS = {
    "id": lambda a: a,
    "neg": lambda a: -a,
    "abs": abs,
    "square": lambda a: a * a,
    "cube": lambda a: a * a * a,
    "sqrt": EXACT.sqrt,
    "cbrt": lambda a: EXACT.sign(a) * EXACT.cbrt(abs(a)),
    "inv": lambda a: 1 / a,
    "log": EXACT.log,
    "asinh": EXACT.asinh,
    "sign": EXACT.sign,
    "floor": EXACT.floor,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": _power,
    "absdiff": lambda a, b: abs(a - b),
    "min": min,
    "max": max,
}


def exact_value(expression, columns, row):
    """Compute one row, or raise `NoValueError`, as where doubles overflow on the way."""
    return _pair(expression, columns, row)[1]


def _pair(expression, columns, row):
    if isinstance(expression, Column):
        value = columns[expression.name][row]
        return np.array([value]), EXACT.mpf(float(value))
    if isinstance(expression, Constant):
        value = expression.value
        fraction = Fraction(str(value))
        exact = EXACT.mpf(fraction.numerator) / fraction.denominator
        return np.array([float(value)]), +EXACT.pi if value == math.pi else exact
    pairs = [_pair(argument, columns, row) for argument in expression.arguments]
    operator = expression.operator
    with np.errstate(all="ignore"):
        double = operator.numeric(*(pair[0] for pair in pairs))
    if not np.isfinite(double).all():
        raise NoValueError
    try:
        exact = FUNCTIONS.get(operator.name, getattr(EXACT, operator.name, None))(
            *(pair[1] for pair in pairs)
        )
    except (ArithmeticError, ValueError):
        raise NoValueError from None
    if not isinstance(exact, EXACT.mpf) or not EXACT.isfinite(exact):
        raise NoValueError
    return double, exact


def exact_values(expression, columns):
    """Compute all rows; None where there is no value."""
    values = []
    for row in range(len(next(iter(columns.values())))):
        try:
            values.append(exact_value(expression, columns, row))
        except NoValueError:
            values.append(None)
    return values


def exact_ranks(values):
    """Number values in their order; those that differ after 150 digits only are one."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, last = [0.0] * len(values), None
    for place in order:
        own = values[place]
        same = last is not None and abs(own - last[1]) <= SAME * abs(own)
        last = (last[0] if same else (0 if last is None else last[0] + 1), own)
        ranks[place] = float(last[0])
    return ranks
