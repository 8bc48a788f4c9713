"""The operators that symscreen ships: one record each.

`BUILT_IN` are the names that stay (``id`` … ``absdiff``). `FURTHER` may be used in grammars, definitions and
formulas just the same; they are kept apart only because few spaces need them.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.grammar import fingerprint as fp
from symscreen.grammar import rounding as ro
from symscreen.grammar.operator import Domain, Monotone, Notation, Operator, UnitRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Residues = NDArray[np.uint64]

__all__ = ["BUILT_IN", "FURTHER", "OPERATORS"]

_SAME, _LIKE, _PURE = UnitRule("same"), UnitRule("like"), UnitRule("pure")


def _sympy(name: str) -> Callable[..., Any]:
    """Build with a sympy function that is imported only when a sympy form is asked for."""

    def build(*arguments: Any) -> Any:
        import sympy
        from sympy.core.parameters import global_parameters

        # Max and Min do not ask by themselves whether anything is to be simplified
        return getattr(sympy, name)(*arguments, evaluate=global_parameters.evaluate)

    return build


def _real_cbrt(a: Any) -> Any:
    import sympy

    # sympy's cbrt of a negative number is complex; the operator's is real
    return sympy.sign(a) * sympy.cbrt(sympy.Abs(a))


def _cube(a: Values) -> Values:
    return a * a * a  # 22 times faster than a**3 and the same as a product of three


def _erf(a: Values) -> Values:
    from math import erf

    return np.asarray(np.vectorize(erf, otypes=[np.float64])(a))


def _pow(a: Values, b: Values) -> Values:
    # numpy has nan**0 = 1 and 1**nan = 1; what is undefined inside stays undefined
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.power(a, b))


def _power(base: Any, exponent: Any) -> Any:
    """Raise in sympy; refuse what sympy would write out as a number of more than 4,096 bits (``9**9**9``)."""
    import sympy
    from sympy.core.parameters import global_parameters

    exponent = sympy.Integer(exponent) if isinstance(exponent, int) else exponent
    simplified = global_parameters.evaluate  # sympy writes nothing out inside `sympy.evaluate(False)`
    if simplified and exponent.is_Rational and _bits(base) * abs(exponent) > _MOST_BITS:
        raise OverflowError(f"a power of more than {_MOST_BITS} bits")
    return sympy.Pow(base, exponent)


def _bits(form: Any) -> int:
    """Bound the size of the numbers that a power of a sympy form would be written out with."""
    if form.is_Rational:
        return int(max(abs(form.p), form.q).bit_length())
    if form.is_Pow and form.exp.is_Rational:
        return int(_bits(form.base) * max(1, math.ceil(abs(form.exp))))
    return sum(map(_bits, form.args))


def _symmetric(name: str) -> Callable[[Residues, Residues], Residues]:
    mixed = fp.opaque(name)
    return lambda a, b: mixed(fp.add(a, b), fp.multiply(a, b))


_MOST_BITS = 1 << 12
_sin, _cos = fp.odd("sin"), fp.even("cos")
_HALF = fp.of_number(0.5)[:1]


def _unary(
    name: str,
    numeric: Callable[[Values], Values],
    symbolic: Callable[..., Any],
    fingerprint: Callable[[Residues], Residues],
    summary: str,
    **facts: Any,
) -> Operator:
    facts.setdefault("domain", (Domain.REAL,))
    facts.setdefault("units", _PURE)
    return Operator(name, 1, numeric, symbolic, fingerprint, summary=summary, **facts)


def _binary(
    name: str,
    numeric: Callable[[Values, Values], Values],
    symbolic: Callable[..., Any],
    fingerprint: Callable[[Residues, Residues], Residues],
    summary: str,
    **facts: Any,
) -> Operator:
    facts.setdefault("domain", (Domain.REAL, Domain.REAL))
    return Operator(name, 2, numeric, symbolic, fingerprint, summary=summary, **facts)


def _by_name(operators: Iterable[Operator]) -> dict[str, Operator]:
    return {operator.name: operator for operator in operators}


_UP, _FROM_ZERO = Monotone.INCREASING, Monotone.FROM_ZERO

BUILT_IN: dict[str, Operator] = _by_name([
    _unary("id", lambda a: a, lambda a: a, lambda a: a, "x itself", cost=0, units=_SAME, monotone=_UP,
           rounding=ro.exactly),
    _unary("neg", np.negative, lambda a: -a, fp.negate, "−x", units=_SAME, monotone=Monotone.DECREASING,
           notation=Notation("-{}", 30, (40,), (None,)), rounding=ro.exactly),
    _unary("abs", np.abs, _sympy("Abs"), fp.even("abs"), "|x|", units=_SAME, monotone=_FROM_ZERO,
           rounding=ro.exactly),
    _unary("square", np.square, lambda a: _power(a, 2), lambda a: fp.multiply(a, a), "x²",
           units=UnitRule("power", Fraction(2)), monotone=_FROM_ZERO, notation=Notation("{}**2", 40, (50,)),
           rounding=ro.of_square),
    _unary("cube", _cube, lambda a: _power(a, 3), lambda a: fp.multiply(fp.multiply(a, a), a), "x³",
           units=UnitRule("power", Fraction(3)), monotone=_UP, notation=Notation("{}**3", 40, (50,)),
           rounding=ro.of_cube),
    _unary("sqrt", np.sqrt, _sympy("sqrt"), lambda a: fp.power(a, _HALF), "√x", domain=(Domain.NONNEGATIVE,),
           units=UnitRule("power", Fraction(1, 2)), monotone=_UP, rounding=ro.of_sqrt),
    _unary("cbrt", np.cbrt, _real_cbrt, fp.odd("cbrt"), "the real cube root of x",
           units=UnitRule("power", Fraction(1, 3)), monotone=_UP,
           rounding=ro.of_monotone(np.cbrt, exact_at=0.0)),
    _unary("inv", np.reciprocal, lambda a: 1 / a, fp.inverse, "1/x", domain=(Domain.NONZERO,),
           units=UnitRule("power", Fraction(-1)), monotone=Monotone.BY_SIDE,
           notation=Notation("1/{}", 20, (40,)), rounding=ro.of_inv),
    _unary("exp", np.exp, _sympy("exp"), fp.opaque("exp"), "eˣ", monotone=_UP,
           rounding=ro.of_monotone(np.exp, exact_at=0.0)),
    _unary("log", np.log, _sympy("log"), fp.opaque("log"), "the natural logarithm of x",
           domain=(Domain.POSITIVE,), monotone=_UP, rounding=ro.of_monotone(np.log, exact_at=1.0)),
    _unary("sin", np.sin, _sympy("sin"), _sin, "the sine of x in radians", rounding=ro.of_wave),
    _unary("cos", np.cos, _sympy("cos"), _cos, "the cosine of x in radians", rounding=ro.of_wave),
    _unary("tan", np.tan, _sympy("tan"), lambda a: fp.divide(_sin(a), _cos(a)),
           "the tangent of x in radians", rounding=ro.of_tan),
    _unary("tanh", np.tanh, _sympy("tanh"), fp.odd("tanh"), "the hyperbolic tangent of x", monotone=_UP,
           rounding=ro.of_monotone(np.tanh, exact_at=0.0)),
    _binary("add", np.add, lambda a, b: a + b, fp.add, "x + y", units=_LIKE, commutative=True, cancels=True,
            notation=Notation("{} + {}", 10, (10, 20)), rounding=ro.of_add),
    _binary("sub", np.subtract, lambda a, b: a - b, fp.subtract, "x − y", units=_LIKE, cancels=True,
            notation=Notation("{} - {}", 10, (10, 20)), rounding=ro.of_sub),
    _binary("mul", np.multiply, lambda a, b: a * b, fp.multiply, "x · y", units=UnitRule("product"),
            commutative=True, notation=Notation("{}*{}", 20, (20, 40)), rounding=ro.of_mul),
    _binary("div", np.divide, lambda a, b: a / b, fp.multiply, "x / y", domain=(Domain.REAL, Domain.NONZERO),
            units=UnitRule("quotient"), prepare_right=fp.inverse,
            notation=Notation("{}/{}", 20, (20, 40), ((1,), ())), rounding=ro.of_div),
    _binary("pow", _pow, _power, fp.power, "x to the power of y", units=UnitRule("exponent"),
            notation=Notation("{}**{}", 40, (50, 40), ((), (2, 3))), rounding=ro.of_pow),
    _binary("absdiff", lambda a, b: np.abs(a - b), lambda a, b: _sympy("Abs")(a - b),
            lambda a, b: BUILT_IN["abs"].fingerprint(fp.subtract(a, b)), "|x − y|", units=_LIKE,
            commutative=True, cancels=True, notation=Notation("abs({} - {})", 50, (10, 20)),
            rounding=ro.of_absdiff),
])  # fmt: skip

FURTHER: dict[str, Operator] = _by_name([
    _unary("sinh", np.sinh, _sympy("sinh"), fp.odd("sinh"), "the hyperbolic sine of x", monotone=_UP,
           rounding=ro.of_monotone(np.sinh, exact_at=0.0)),
    _unary("cosh", np.cosh, _sympy("cosh"), fp.even("cosh"), "the hyperbolic cosine of x",
           monotone=_FROM_ZERO, rounding=ro.of_even(np.cosh)),
    _unary("asin", np.arcsin, _sympy("asin"), fp.odd("asin"), "the inverse sine of x", domain=(Domain.UNIT,),
           monotone=_UP, rounding=ro.of_monotone(np.arcsin, exact_at=0.0)),
    _unary("acos", np.arccos, _sympy("acos"), fp.opaque("acos"), "the inverse cosine of x",
           domain=(Domain.UNIT,), monotone=Monotone.DECREASING,
           rounding=ro.of_monotone(np.arccos, exact_at=1.0)),
    _unary("atan", np.arctan, _sympy("atan"), fp.odd("atan"), "the inverse tangent of x", monotone=_UP,
           rounding=ro.of_monotone(np.arctan, exact_at=0.0)),
    _unary("asinh", np.arcsinh, _sympy("asinh"), fp.odd("asinh"), "the inverse hyperbolic sine of x",
           monotone=_UP, rounding=ro.of_monotone(np.arcsinh, exact_at=0.0)),
    _unary("erf", _erf, _sympy("erf"), fp.odd("erf"), "the error function of x", monotone=_UP,
           rounding=ro.of_monotone(_erf, exact_at=0.0)),
    _unary("sign", np.sign, _sympy("sign"), fp.odd("sign"), "−1, 0 or 1", rounding=ro.of_sign),
    _unary("floor", np.floor, _sympy("floor"), fp.opaque("floor"), "the largest integer up to x",
           rounding=ro.of_floor),
    _binary("min", np.minimum, _sympy("Min"), _symmetric("min"), "the smaller of x and y", units=_LIKE,
            commutative=True, rounding=ro.of_choice(larger=False)),
    _binary("max", np.maximum, _sympy("Max"), _symmetric("max"), "the larger of x and y", units=_LIKE,
            commutative=True, rounding=ro.of_choice(larger=True)),
])  # fmt: skip

OPERATORS: dict[str, Operator] = BUILT_IN | FURTHER
