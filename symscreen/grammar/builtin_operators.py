"""The built-in operators, with one record for each.

`CORE_OPERATORS` (``id`` … ``absdiff``) is the stable core set. `EXTRA_OPERATORS` are needed less often and
can be used in grammars, definitions and formulas in the same way. `OPERATORS` contains both.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.grammar import error_propagation as ro
from symscreen.grammar import fingerprint as fp
from symscreen.grammar import interval_bounds as ib
from symscreen.grammar.operator import Domain, Monotonicity, Notation, Operator, Precedence, UnitRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from symscreen._typing import Residues, Values


_SAME, _LIKE, _PURE = UnitRule("same"), UnitRule("like"), UnitRule("pure")

_MAX_POWER_BITS = 1 << 12  # largest number of bits of the integers in an expanded power
_hash_sin, _hash_cos = fp.make_odd_hash("sin"), fp.make_even_hash("cos")
_hash_asin = fp.make_odd_hash("asin")
_HALF = fp.encode_number(0.5)[:1]
_HALF_PI = fp.multiply(_HALF, fp.encode_number(math.pi)[:1])

_SUM, _PRODUCT, _PREFIX, _POWER, _ATOM = (
    Precedence.SUM, Precedence.PRODUCT, Precedence.PREFIX, Precedence.POWER, Precedence.ATOM
)  # fmt: skip
_INCREASING, _FROM_ZERO = Monotonicity.INCREASING, Monotonicity.INCREASING_FROM_ZERO


def _make_sympy_builder(name: str) -> Callable[..., Any]:
    """Return a function that calls a sympy function, which is imported at the first call."""

    def build(*arguments: Any) -> Any:
        import sympy
        from sympy.core.parameters import global_parameters

        # Max and Min ignore `sympy.evaluate(False)` unless it is passed on.
        return getattr(sympy, name)(*arguments, evaluate=global_parameters.evaluate)

    return build


def _build_real_cbrt(a: Any) -> Any:
    """Build the real cube root; sympy's own is complex for negative numbers."""
    import sympy

    return sympy.sign(a) * sympy.cbrt(sympy.Abs(a))


def _compute_cube(a: Values) -> Values:
    """Return a·a·a, 22 times faster than a**3."""
    return a * a * a


def _compute_erf(a: Values) -> Values:
    """Return the error function of each element."""
    return np.asarray(np.vectorize(math.erf, otypes=[np.float64])(a))


def _compute_power(a: Values, b: Values) -> Values:
    """Return a^b, NaN if a or b is NaN (numpy has nan**0 = 1 and 1**nan = 1)."""
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.power(a, b))


def _build_sympy_power(base: Any, exponent: Any) -> Any:
    """Build a power; reject one that sympy would expand to a number of more than 4,096 bits (``9**9**9``)."""
    import sympy
    from sympy.core.parameters import global_parameters

    exponent = sympy.Integer(exponent) if isinstance(exponent, int) else exponent
    simplified = global_parameters.evaluate  # inside `sympy.evaluate(False)` sympy expands nothing
    if simplified and exponent.is_Rational and _bound_bits(base) * abs(exponent) > _MAX_POWER_BITS:
        raise OverflowError(f"a power of more than {_MAX_POWER_BITS} bits")
    return sympy.Pow(base, exponent)


def _bound_bits(form: Any) -> int:
    """Return an upper bound on the bits of the numbers that a power of a sympy form expands to."""
    if form.is_Rational:
        return int(max(abs(form.p), form.q).bit_length())
    if form.is_Pow and form.exp.is_Rational:
        return int(_bound_bits(form.base) * max(1, math.ceil(abs(form.exp))))
    return sum(map(_bound_bits, form.args))


def _make_symmetric_hash(name: str) -> Callable[[Residues, Residues], Residues]:
    """Return the fingerprint of a function with f(a, b) = f(b, a)."""
    compute_hash = fp.make_opaque_hash(name)
    return lambda a, b: compute_hash(fp.add(a, b), fp.multiply(a, b))


def _make_unary(
    name: str,
    numeric: Callable[[Values], Values],
    symbolic: Callable[..., Any],
    fingerprint: Callable[[Residues], Residues],
    summary: str,
    **fields: Any,
) -> Operator:
    """Create a unary operator, by default of pure numbers and defined everywhere."""
    fields.setdefault("domain", (Domain.REAL,))
    fields.setdefault("units", _PURE)
    return Operator(name, 1, numeric, symbolic, fingerprint, summary=summary, **fields)


def _make_binary(
    name: str,
    numeric: Callable[[Values, Values], Values],
    symbolic: Callable[..., Any],
    fingerprint: Callable[[Residues, Residues], Residues],
    summary: str,
    **fields: Any,
) -> Operator:
    """Create a binary operator, by default defined everywhere."""
    fields.setdefault("domain", (Domain.REAL, Domain.REAL))
    return Operator(name, 2, numeric, symbolic, fingerprint, summary=summary, **fields)


def _index_by_name(operators: Iterable[Operator]) -> dict[str, Operator]:
    """Return operators by name."""
    return {operator.name: operator for operator in operators}


CORE_OPERATORS: dict[str, Operator] = _index_by_name([
    _make_unary("id", lambda a: a, lambda a: a, lambda a: a, "x itself", cost=0, units=_SAME,
        monotone=_INCREASING, rounding=ro.copy_error, bounds=ib.bound_identity),
    _make_unary("neg", np.negative, lambda a: -a, fp.negate, "−x", units=_SAME,
        monotone=Monotonicity.DECREASING, notation=Notation("-{}", _PREFIX, (_POWER,), (None,)),
        rounding=ro.copy_error, bounds=ib.bound_negation),
    _make_unary("abs", np.abs, _make_sympy_builder("Abs"), fp.make_even_hash("abs"), "|x|", units=_SAME,
        monotone=_FROM_ZERO, rounding=ro.copy_error, bounds=ib.bound_magnitude),
    _make_unary("square", np.square, lambda a: _build_sympy_power(a, 2), lambda a: fp.multiply(a, a), "x²",
        units=UnitRule("power", Fraction(2)), monotone=_FROM_ZERO,
        notation=Notation("{}**2", _POWER, (_ATOM,)), rounding=ro.bound_square_error,
        bounds=ib.bound_square),
    _make_unary("cube", _compute_cube, lambda a: _build_sympy_power(a, 3),
        lambda a: fp.multiply(fp.multiply(a, a), a), "x³", units=UnitRule("power", Fraction(3)),
        monotone=_INCREASING, notation=Notation("{}**3", _POWER, (_ATOM,)), rounding=ro.bound_cube_error,
        bounds=ib.make_increasing_rule(_compute_cube, exact_at=0.0)),
    _make_unary("sqrt", np.sqrt, _make_sympy_builder("sqrt"), lambda a: fp.raise_to_power(a, _HALF), "√x",
        domain=(Domain.NONNEGATIVE,), units=UnitRule("power", Fraction(1, 2)), monotone=_INCREASING,
        rounding=ro.bound_sqrt_error, bounds=ib.bound_sqrt),
    _make_unary("cbrt", np.cbrt, _build_real_cbrt, fp.make_odd_hash("cbrt"), "the real cube root of x",
        units=UnitRule("power", Fraction(1, 3)), monotone=_INCREASING,
        rounding=ro.make_monotone_rule(np.cbrt, exact_at=0.0),
        bounds=ib.make_increasing_rule(np.cbrt, exact_at=0.0)),
    _make_unary("inv", np.reciprocal, lambda a: 1 / a, fp.invert, "1/x", domain=(Domain.NONZERO,),
        units=UnitRule("power", Fraction(-1)), monotone=Monotonicity.DECREASING_EACH_SIDE,
        notation=Notation("1/{}", _PRODUCT, (_POWER,)), rounding=ro.bound_inverse_error,
        bounds=ib.bound_inverse),
    _make_unary("exp", np.exp, _make_sympy_builder("exp"), fp.make_opaque_hash("exp"), "eˣ",
        monotone=_INCREASING, rounding=ro.make_monotone_rule(np.exp, exact_at=0.0),
        bounds=ib.make_increasing_rule(np.exp, least=0.0, exact_at=0.0)),
    _make_unary("log", np.log, _make_sympy_builder("log"), fp.make_opaque_hash("log"),
        "the natural logarithm of x", domain=(Domain.POSITIVE,), monotone=_INCREASING,
        rounding=ro.make_monotone_rule(np.log, exact_at=1.0),
        bounds=ib.make_increasing_rule(np.log, domain=(0.0, np.inf), is_open=True, exact_at=1.0)),
    _make_unary("sin", np.sin, _make_sympy_builder("sin"), _hash_sin, "the sine of x in radians",
        rounding=ro.bound_sin_cos_error, bounds=ib.bound_sin),
    _make_unary("cos", np.cos, _make_sympy_builder("cos"), _hash_cos, "the cosine of x in radians",
        rounding=ro.bound_sin_cos_error, bounds=ib.bound_cos),
    _make_unary("tan", np.tan, _make_sympy_builder("tan"), lambda a: fp.divide(_hash_sin(a), _hash_cos(a)),
        "the tangent of x in radians", rounding=ro.bound_tan_error, bounds=ib.bound_tan),
    _make_unary("tanh", np.tanh, _make_sympy_builder("tanh"), fp.make_odd_hash("tanh"),
        "the hyperbolic tangent of x", monotone=_INCREASING,
        rounding=ro.make_monotone_rule(np.tanh, exact_at=0.0),
        bounds=ib.make_increasing_rule(np.tanh, least=-1.0, most=1.0, exact_at=0.0)),
    _make_binary("add", np.add, lambda a, b: a + b, fp.add, "x + y", units=_LIKE, commutative=True,
        cancels=True, notation=Notation("{} + {}", _SUM, (_SUM, _PRODUCT)), rounding=ro.bound_sum_error,
        bounds=ib.bound_sum),
    _make_binary("sub", np.subtract, lambda a, b: a - b, fp.subtract, "x − y", units=_LIKE, cancels=True,
        notation=Notation("{} - {}", _SUM, (_SUM, _PRODUCT)), rounding=ro.bound_difference_error,
        bounds=ib.bound_difference),
    _make_binary("mul", np.multiply, lambda a, b: a * b, fp.multiply, "x · y", units=UnitRule("product"),
        commutative=True, notation=Notation("{}*{}", _PRODUCT, (_PRODUCT, _POWER)),
        rounding=ro.bound_product_error, bounds=ib.bound_product),
    _make_binary("div", np.divide, lambda a, b: a / b, fp.multiply, "x / y",
        domain=(Domain.REAL, Domain.NONZERO), units=UnitRule("quotient"), prepare_right=fp.invert,
        notation=Notation("{}/{}", _PRODUCT, (_PRODUCT, _POWER), ((1,), ())),
        rounding=ro.bound_quotient_error, bounds=ib.bound_quotient),
    _make_binary("pow", _compute_power, _build_sympy_power, fp.raise_to_power, "x to the power of y",
        units=UnitRule("exponent"), notation=Notation("{}**{}", _POWER, (_ATOM, _POWER), ((), (2, 3))),
        rounding=ro.bound_power_error, bounds=ib.bound_power),
    _make_binary("absdiff", lambda a, b: np.abs(a - b), lambda a, b: _make_sympy_builder("Abs")(a - b),
        lambda a, b: CORE_OPERATORS["abs"].fingerprint(fp.subtract(a, b)), "|x − y|", units=_LIKE,
        commutative=True, cancels=True, notation=Notation("abs({} - {})", _ATOM, (_SUM, _PRODUCT)),
        rounding=ro.bound_absdiff_error, bounds=ib.bound_absdiff),
])  # fmt: skip

EXTRA_OPERATORS: dict[str, Operator] = _index_by_name([
    _make_unary("sinh", np.sinh, _make_sympy_builder("sinh"), fp.make_odd_hash("sinh"),
        "the hyperbolic sine of x", monotone=_INCREASING,
        rounding=ro.make_monotone_rule(np.sinh, exact_at=0.0),
        bounds=ib.make_increasing_rule(np.sinh, exact_at=0.0)),
    _make_unary("cosh", np.cosh, _make_sympy_builder("cosh"), fp.make_even_hash("cosh"),
        "the hyperbolic cosine of x", monotone=_FROM_ZERO, rounding=ro.make_even_rule(np.cosh),
        bounds=ib.bound_cosh),
    _make_unary("asin", np.arcsin, _make_sympy_builder("asin"), _hash_asin,
        "the inverse sine of x", domain=(Domain.UNIT,), monotone=_INCREASING,
        rounding=ro.make_monotone_rule(np.arcsin, exact_at=0.0),
        bounds=ib.make_increasing_rule(np.arcsin, domain=(-1.0, 1.0), exact_at=0.0)),
    _make_unary("acos", np.arccos, _make_sympy_builder("acos"),
        lambda a: fp.subtract(_HALF_PI, _hash_asin(a)), "the inverse cosine of x", domain=(Domain.UNIT,),
        monotone=Monotonicity.DECREASING, rounding=ro.make_monotone_rule(np.arccos, exact_at=1.0),
        bounds=ib.bound_acos),
    _make_unary("atan", np.arctan, _make_sympy_builder("atan"), fp.make_odd_hash("atan"),
        "the inverse tangent of x", monotone=_INCREASING,
        rounding=ro.make_monotone_rule(np.arctan, exact_at=0.0),
        bounds=ib.make_increasing_rule(np.arctan, exact_at=0.0)),
    _make_unary("asinh", np.arcsinh, _make_sympy_builder("asinh"), fp.make_odd_hash("asinh"),
        "the inverse hyperbolic sine of x", monotone=_INCREASING,
        rounding=ro.make_monotone_rule(np.arcsinh, exact_at=0.0),
        bounds=ib.make_increasing_rule(np.arcsinh, exact_at=0.0)),
    _make_unary("erf", _compute_erf, _make_sympy_builder("erf"), fp.make_odd_hash("erf"),
        "the error function of x", monotone=_INCREASING,
        rounding=ro.make_monotone_rule(_compute_erf, exact_at=0.0),
        bounds=ib.make_increasing_rule(_compute_erf, least=-1.0, most=1.0, exact_at=0.0)),
    _make_unary("sign", np.sign, _make_sympy_builder("sign"), fp.make_odd_hash("sign"), "−1, 0 or 1",
        rounding=ro.bound_sign_error, bounds=ib.bound_sign, continuous=False),
    _make_unary("floor", np.floor, _make_sympy_builder("floor"), fp.make_opaque_hash("floor"),
        "the largest integer up to x", rounding=ro.bound_floor_error, bounds=ib.bound_floor,
        continuous=False),
    _make_binary("min", np.minimum, _make_sympy_builder("Min"), _make_symmetric_hash("min"),
        "the smaller of x and y", units=_LIKE, commutative=True, rounding=ro.make_min_max_rule(larger=False),
        bounds=ib.bound_minimum),
    _make_binary("max", np.maximum, _make_sympy_builder("Max"), _make_symmetric_hash("max"),
        "the larger of x and y", units=_LIKE, commutative=True, rounding=ro.make_min_max_rule(larger=True),
        bounds=ib.bound_maximum),
])  # fmt: skip

OPERATORS: dict[str, Operator] = CORE_OPERATORS | EXTRA_OPERATORS
