"""Operators and formulas as exact sympy forms: every number is the fraction that was written.

From a sympy form back to symscreen's own tree, by walking it; nothing is printed and read again.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, reduce
from typing import TYPE_CHECKING, Any

from symscreen.errors import FormulaError
from symscreen.expressions.tree import Column, Constant, apply_operator
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.custom_operators import to_plain_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.expressions.tree import Expression
    from symscreen.grammar.operator import Operator


__all__ = ["build_exact_form", "build_number", "build_operator_form", "from_sympy", "recover_fraction"]

_RELATIVE_TOLERANCE = Fraction(1, 2**51)
_MAX_DENOMINATOR = 10_000


def recover_fraction(value: float) -> Fraction:
    """Return the fraction that a computed double stands for.

    Parameters
    ----------
    value : float
        Finite.

    Returns
    -------
    Fraction
        A decimal of 15 digits, or a fraction with a denominator up to 10⁴, where one lies within 4 units in
        the last place; else the shortest decimal that reads back as `value`.

    Examples
    --------
    >>> as_written(0.1 + 0.2), as_written(10 / 3), as_written(3.141592653589793)
    (Fraction(3, 10), Fraction(10, 3), Fraction(3141592653589793, 1000000000000000))
    """
    shortest = Fraction(repr(float(value)))
    for simple in (Fraction(f"{value:.15g}"), shortest.limit_denominator(_MAX_DENOMINATOR)):
        if abs(simple - shortest) <= _RELATIVE_TOLERANCE * abs(shortest):
            return simple
    return shortest


@lru_cache(maxsize=1024)
def build_operator_form(operator: Operator) -> tuple[tuple[Any, ...], Any]:
    """Return an operator's sympy form, with the symbols that stand for its arguments.

    Parameters
    ----------
    operator : Operator
        Shipped or the user's own.

    Returns
    -------
    arguments : tuple of sympy.Symbol
        One for each argument. Nothing is assumed of them, so sympy does not take √x² for x.
    form : sympy expression
        Without floating-point numbers.

    Examples
    --------
    >>> from symscreen.grammar import OPERATORS
    >>> build_operator_form(OPERATORS["absdiff"])
    ((_x, _y), Abs(_x - _y))
    """
    import sympy

    arguments = tuple(sympy.Dummy(name) for name in "xy"[: operator.arity])
    return arguments, _replace_floats(operator.symbolic(*arguments))


def build_exact_form(expression: Expression, symbols: Mapping[str, Any]) -> Any:
    """Build a formula's sympy form without floating-point numbers; π stays π.

    Parameters
    ----------
    expression : Expression
        The formula.
    symbols : mapping of str to sympy expression
        What stands for each column.

    Returns
    -------
    sympy expression

    Raises
    ------
    OverflowError
        If it holds a number of more than 4,096 bits.

    Examples
    --------
    >>> import sympy
    >>> from symscreen.expressions.tree import parse_expression
    >>> build_exact_form(parse_expression("0.05*`a b`**2 + pi"), {"a b": sympy.Symbol("u")})
    u**2/20 + pi
    """
    import sympy

    if isinstance(expression, Column):
        return symbols[expression.name]
    if isinstance(expression, Constant):
        return sympy.pi if expression.value == math.pi else _to_rational(Fraction(str(expression.value)))
    filled = [build_exact_form(argument, symbols) for argument in expression.arguments]
    form = _replace_floats(expression.operator.symbolic(*filled))
    # an operator leaves a number of thousands of digits standing as a power; the next would work it out
    if form.is_Pow and form.base.is_Rational and form.exp.is_Rational and abs(form.exp) > 1:
        raise OverflowError
    return form


def _replace_floats(form: Any) -> Any:
    import sympy

    # a user's own operator brings its numbers as floats, and sympy may have reckoned with them already
    floats = form.atoms(sympy.Float)
    return (
        form.xreplace({one: _to_rational(recover_fraction(float(one))) for one in floats}) if floats else form
    )


def _to_rational(fraction: Fraction) -> Any:
    import sympy

    return sympy.Rational(fraction.numerator, fraction.denominator)


# a larger denominator is written as a decimal, where that is exact
_MAX_PLAIN_DENOMINATOR = 100
_MAX_EXACT_INTEGER = 10**15

_FUNCTION_OPERATORS = {"Abs": "abs"} | {
    name: name
    for name in ("exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cosh", "asin", "acos", "atan", "asinh",
                 "erf", "sign", "floor")
}  # fmt: skip
_RECIPROCAL_OPERATORS = {"cot": "tan", "sec": "cos", "csc": "sin", "coth": "tanh"}
_FOLD_OPERATORS = {"Max": "max", "Min": "min"}
_POWER_OPERATORS = {1: "id", 2: "square", 3: "cube"}


def from_sympy(form: Any, columns: Mapping[Any, Expression]) -> Expression:
    """Turn a sympy form into an expression of the shipped operators.

    Parameters
    ----------
    form : sympy expression
        Real where its inputs are.
    columns : mapping of sympy.Symbol to Expression
        What each symbol stands for.

    Returns
    -------
    Expression

    Raises
    ------
    FormulaError
        If it holds a function, number or symbol that symscreen has no name for.

    Examples
    --------
    >>> import sympy
    >>> from symscreen.expressions.tree import Column
    >>> N = sympy.Symbol("N")
    >>> print(from_sympy(1 - sympy.cos(N / 2) ** 2 / N**3, {N: Column("a b")}))
    1 - cos(`a b`/2)**2/`a b`**3
    """
    if form in columns:
        return columns[form]
    if form.is_Add:
        return _convert_sum(form, columns)
    if form.is_Mul:
        return _convert_product(form, columns)
    if form.is_Pow:
        return _convert_power(form.base, form.exp, columns)
    if form.args:
        return _convert_call(form.func.__name__, [from_sympy(argument, columns) for argument in form.args])
    return _convert_leaf(form)


def _convert_leaf(form: Any) -> Expression:
    import sympy

    if form is sympy.pi:
        return Constant(math.pi)
    if form is sympy.E:
        return apply_operator(OPERATORS["exp"], Constant(1))
    if form.is_Rational:
        return build_number(Fraction(int(form.p), int(form.q)))
    if form.is_Float:
        return Constant(to_plain_number(float(form)))
    raise FormulaError(f"sympy's {form} has no name in the one notation")


def _convert_call(name: str, arguments: list[Expression]) -> Expression:
    if name in _FOLD_OPERATORS:
        return reduce(
            lambda left, right: apply_operator(OPERATORS[_FOLD_OPERATORS[name]], left, right), arguments
        )
    if name in {"re", "conjugate"}:  # of a real number
        return arguments[0]
    if name == "ceiling":
        return _negate(apply_operator(OPERATORS["floor"], _negate(arguments[0])))
    if name in _RECIPROCAL_OPERATORS:
        return apply_operator(
            OPERATORS["inv"], apply_operator(OPERATORS[_RECIPROCAL_OPERATORS[name]], *arguments)
        )
    if name in _FUNCTION_OPERATORS:
        return apply_operator(OPERATORS[_FUNCTION_OPERATORS[name]], *arguments)
    raise FormulaError(f"sympy's {name} has no name in the one notation")


def build_number(value: Fraction) -> Expression:
    """Write a fraction: a whole number, p/q, or a decimal where that is exact and q is large.

    Parameters
    ----------
    value : Fraction
        Any.

    Returns
    -------
    Expression
        Equal to it, so long as numerator and denominator are below 10¹⁵.

    Examples
    --------
    >>> print(build_number(Fraction(-2)), build_number(Fraction(1, 3)), build_number(Fraction(21639,
    ...     500_000)))
    -2 1/3 0.043278
    """
    top, bottom = _split_fraction(value)
    return Constant(top) if bottom == 1 else _divide(Constant(top), Constant(bottom))


def _convert_sum(form: Any, columns: Mapping[Any, Expression]) -> Expression:
    terms = [(term.could_extract_minus_sign(), term) for term in form.as_ordered_terms()]
    # a sum does not begin with a minus where another term can lead it
    lead = next((place for place, (negative, _) in enumerate(terms) if not negative), 0)
    first, *others = terms[lead], *terms[:lead], *terms[lead + 1 :]
    total = from_sympy(first[1], columns)
    for negative, term in others:
        part = from_sympy(-term if negative else term, columns)
        total = apply_operator(OPERATORS["sub" if negative else "add"], total, part)
    return total


def _convert_product(form: Any, columns: Mapping[Any, Expression]) -> Expression:
    coefficient, rest = form.as_coeff_Mul(rational=True)
    top, bottom = _split_fraction(Fraction(int(coefficient.p), int(coefficient.q)))
    above: list[Expression] = [] if abs(top) == 1 else [Constant(top)]
    below: list[Expression] = [] if bottom == 1 else [Constant(bottom)]
    for factor in rest.as_ordered_factors():
        if factor.is_Pow and factor.exp.is_Rational and factor.exp < 0:
            below.append(_convert_power(factor.base, -factor.exp, columns))
        else:
            above.append(from_sympy(factor, columns))
    above = above or [Constant(1)]
    if top == -1:
        above[0] = _negate(above[0])
    return _divide(_multiply(above), _multiply(below)) if below else _multiply(above)


def _split_fraction(value: Fraction) -> tuple[float, int]:
    """Return what stands above and below the line of a number."""
    decimal = float(value)
    exact = max(abs(value.numerator), value.denominator) < _MAX_EXACT_INTEGER
    if exact and (value.denominator <= _MAX_PLAIN_DENOMINATOR or Fraction(str(decimal)) != value):
        return value.numerator, value.denominator
    return to_plain_number(decimal), 1


def _convert_power(base: Any, exponent: Any, columns: Mapping[Any, Expression]) -> Expression:
    below = from_sympy(base, columns)
    if exponent.is_Rational and exponent < 0:
        return _divide(Constant(1), _convert_power(base, -exponent, columns))
    if exponent in _POWER_OPERATORS:
        return apply_operator(OPERATORS[_POWER_OPERATORS[int(exponent)]], below)
    if exponent.is_Rational and exponent == Fraction(1, 2):
        return apply_operator(OPERATORS["sqrt"], below)
    return apply_operator(OPERATORS["pow"], below, from_sympy(exponent, columns))


def _multiply(factors: Sequence[Expression]) -> Expression:
    return reduce(lambda left, right: apply_operator(OPERATORS["mul"], left, right), factors)


def _divide(numerator: Expression, denominator: Expression) -> Expression:
    if numerator == Constant(1):
        return apply_operator(OPERATORS["inv"], denominator)
    return apply_operator(OPERATORS["div"], numerator, denominator)


def _negate(expression: Expression) -> Expression:
    if isinstance(expression, Constant):
        return Constant(-expression.value)
    return apply_operator(OPERATORS["neg"], expression)
