"""Convert operators and expressions to exact sympy forms, and sympy forms back to expressions.

In an exact form every number is the fraction that was written, without floating-point numbers. The way back
traverses the sympy tree; no text is printed or parsed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import FormulaError
from symscreen.expressions.traversal import fold_expression
from symscreen.expressions.tree import Constant, apply_operator
from symscreen.grammar.builtin_operators import OPERATORS
from symscreen.grammar.custom_operators import to_plain_number, to_sympy_number
from symscreen.grammar.parser import find_constant_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.expressions.tree import Call, Expression
    from symscreen.grammar.operator import Operator


# largest relative difference of a double and its fraction: about 4 units in the last place
_RELATIVE_TOLERANCE = Fraction(1, 2**51)
_MAX_DENOMINATOR = 10_000  # largest denominator of a fraction recovered from a double
# largest denominator of a number that is not written as a decimal where that is exact
_MAX_PLAIN_DENOMINATOR = 100
_MAX_EXACT_INTEGER = 10**15  # numerators and denominators of exact numbers are below this


_MAX_EVALUATED_POWER = 100  # largest power in a part of an argument whose sign sympy looks for
_MAX_SYMPY_NODES = 20_000  # largest number of nodes in the sympy form of an expression
_ALGEBRAIC_OPERATORS = frozenset({"add", "sub", "mul", "div", "neg", "inv", "square", "cube", "pow", "sqrt"})
_MAX_NESTING = 6  # largest depth of nested non-algebraic functions that sympy simplifies quickly
_CANCELLATION = 1e-12  # relative size of a sum of numbers below which rounding may decide its sign
_OVERFLOWING = object()  # stands for the value of an expression with a number beyond double precision

_RECIPROCAL_OPERATORS = {"cot": "tan", "sec": "cos", "csc": "sin", "coth": "tanh"}
_FOLD_OPERATORS = {"Max": "max", "Min": "min"}
_POWER_OPERATORS = {1: "id", 2: "square", 3: "cube"}


def to_sympy(expression: Expression) -> Any:
    """Convert an expression to sympy. A column becomes a `sympy.Symbol` of the same name.

    sympy simplifies while it builds a form, which may not terminate for huge numbers (``9**9**9``) or deeply
    nested functions. Such expressions are converted without simplification.

    Parameters
    ----------
    expression : Expression
        The expression.

    Returns
    -------
    sympy expression

    Raises
    ------
    FormulaError
        If the form has more than 20,000 nodes.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> to_sympy(parse_expression("x*x + `a b`"))
    a b + x**2
    >>> to_sympy(parse_expression("9**9**9*x"))
    9**(9**9)*x
    """
    import sympy

    if _is_quickly_simplified(expression):
        try:
            return _build_sympy(expression)
        except OverflowError:
            pass  # a power is too large, so nothing that contains it can be simplified either
    with sympy.evaluate(False):  # noqa: FBT003  # the signature of sympy
        return _build_sympy(expression)


def _build_sympy(expression: Expression) -> Any:
    """Convert an expression to sympy in the current mode of simplification."""
    import sympy

    def build_call(call: Call, arguments: list[Any]) -> Any:
        form = _apply_symbolic(call, arguments)
        if _count_nodes(form, {}) > _MAX_SYMPY_NODES:
            raise FormulaError(
                f"its sympy form has more than {_MAX_SYMPY_NODES} nodes, because some operators repeat their "
                "argument: use a shorter formula"
            )
        return form

    return fold_expression(
        expression,
        column=sympy.Symbol,
        number=lambda constant: to_sympy_number(constant.value),
        call=build_call,
    )


def _apply_symbolic(call: Call, arguments: list[Any]) -> Any:
    """Apply the sympy form of an operator; a call that sympy cannot simplify stays as it is."""
    import sympy
    from sympy.core.parameters import global_parameters

    is_evaluated = global_parameters.evaluate
    is_function = call.operator.name not in _ALGEBRAIC_OPERATORS
    if is_evaluated and is_function and (_cancels(arguments) or any(map(_has_large_power, arguments))):
        # to find a sign, sympy would compute a minimal polynomial, which may not end for nested roots, or
        # multiply out a power
        with sympy.evaluate(False):  # noqa: FBT003  # the signature of sympy
            return call.operator.symbolic(*arguments)
    try:
        return call.operator.symbolic(*arguments)
    except FormulaError:  # is a ValueError, too
        raise
    except (AttributeError, TypeError, ValueError):
        # sympy could not compare two numbers, as in asin(sin(1e109)) and max(x, 1/0)
        with sympy.evaluate(False):  # noqa: FBT003  # the signature of sympy
            return call.operator.symbolic(*arguments)


def _has_large_power(argument: Any) -> bool:
    """Return whether a form has a large integer power of something that is not a number."""
    import sympy

    return any(
        power.exp.is_Integer and abs(power.exp) > _MAX_EVALUATED_POWER and not power.base.is_number
        for power in argument.atoms(sympy.Pow)
    )


def _cancels(arguments: Sequence[Any]) -> bool:
    """Return whether irrational numbers are equal, or their sum is 0, up to rounding."""
    if not all(each.is_number for each in arguments) or all(each.is_Rational for each in arguments):
        return False
    first, *others = arguments
    parts = [*first.as_ordered_terms(), *(-term for other in others for term in other.as_ordered_terms())]
    try:
        values = [complex(part.evalf(17)) for part in parts]
    except (OverflowError, TypeError):  # an infinity, or beyond double precision
        return False
    return len(values) > 1 and abs(sum(values)) <= _CANCELLATION * sum(map(abs, values))


def _count_nodes(form: Any, counts: dict[int, int]) -> int:
    """Count the nodes of a sympy form; shared parts are traversed once but counted each time."""
    if id(form) not in counts:
        counts[id(form)] = 1 + sum(_count_nodes(argument, counts) for argument in form.args)
    return counts[id(form)]


def _is_quickly_simplified(expression: Expression) -> bool:
    """Return whether sympy simplifies an expression quickly: finite numbers, few nested functions."""

    def measure_call(call: Call, measured: list[tuple[int, Any]]) -> tuple[int, Any]:
        """Return the nesting depth of non-algebraic functions, and the value (None if there are columns)."""
        operator, values = call.operator, [value for _, value in measured]
        depth = max(argument_depth for argument_depth, _ in measured) + (
            0 if operator.name in _ALGEBRAIC_OPERATORS else operator.n_primitives
        )
        if any(value is _OVERFLOWING for value in values):
            return depth, _OVERFLOWING
        if any(value is None for value in values):
            return depth, None
        if operator.name in {"div", "inv"} and not values[-1].any():
            return depth, None  # sympy evaluates a pole quickly
        value = operator.numeric(*values)
        return depth, value if np.isfinite(value).all() else _OVERFLOWING

    with np.errstate(all="ignore"):
        depth, value = fold_expression(
            expression,
            column=lambda _: (0, None),
            number=lambda constant: (0, np.array([float(constant.value)])),
            call=measure_call,
        )
    return depth <= _MAX_NESTING and value is not _OVERFLOWING


def recover_fraction(value: float) -> Fraction:
    """Return the fraction that a computed double most likely represents.

    Parameters
    ----------
    value : float
        A finite number.

    Returns
    -------
    Fraction
        A decimal of 15 digits or a fraction with a denominator up to 10⁴, if one lies within 4 units in the
        last place; otherwise the shortest decimal that is parsed as `value`.

    Examples
    --------
    >>> recover_fraction(0.1 + 0.2), recover_fraction(10 / 3), recover_fraction(3.141592653589793)
    (Fraction(3, 10), Fraction(10, 3), Fraction(3141592653589793, 1000000000000000))
    """
    shortest = Fraction(repr(float(value)))
    for candidate in (Fraction(f"{value:.15g}"), shortest.limit_denominator(_MAX_DENOMINATOR)):
        if abs(candidate - shortest) <= _RELATIVE_TOLERANCE * abs(shortest):
            return candidate
    return shortest


@lru_cache(maxsize=1024)
def build_operator_form(operator: Operator) -> tuple[tuple[Any, ...], Any]:
    """Return the exact sympy form of an operator, and the symbols of its arguments.

    Parameters
    ----------
    operator : Operator
        A built-in or custom operator.

    Returns
    -------
    arguments : tuple of sympy.Symbol
        One symbol per argument, without assumptions, so that sympy does not simplify √x² to x.
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
    """Build the exact sympy form of an expression; π remains π.

    Parameters
    ----------
    expression : Expression
        The expression.
    symbols : mapping of str to sympy expression
        Replacement for each column.

    Returns
    -------
    sympy expression

    Raises
    ------
    OverflowError
        If it contains a number of more than 4,096 bits.

    Examples
    --------
    >>> import sympy
    >>> from symscreen.expressions.tree import parse_expression
    >>> build_exact_form(parse_expression("0.05*`a b`**2 + pi"), {"a b": sympy.Symbol("u")})
    u**2/20 + pi
    """
    import sympy

    def build_call(call: Call, arguments: list[Any]) -> Any:
        form = _replace_floats(_apply_symbolic(call, arguments))
        # A huge number is kept as a power here, but the next operator would expand it.
        if form.is_Pow and form.base.is_Rational and form.exp.is_Rational and abs(form.exp) > 1:
            raise OverflowError
        return form

    return fold_expression(
        expression,
        column=symbols.__getitem__,
        number=lambda constant: (
            sympy.pi if constant.value == math.pi else _to_rational(Fraction(str(constant.value)))
        ),
        call=build_call,
    )


def _replace_floats(form: Any) -> Any:
    """Replace floats, which custom operators contain and sympy may have combined, by fractions."""
    import sympy

    floats = form.atoms(sympy.Float)
    fractions = {number: _to_rational(recover_fraction(float(number))) for number in floats}
    return form.xreplace(fractions) if fractions else form


def _to_rational(fraction: Fraction) -> Any:
    """Convert a fraction to sympy."""
    import sympy

    return sympy.Rational(fraction.numerator, fraction.denominator)


@cache
def _find_function_operators() -> dict[str, str]:
    """Return the operators whose sympy form is one function of their argument, by the function's name."""
    import sympy

    x = sympy.Dummy()
    unary = (operator for operator in OPERATORS.values() if operator.arity == 1)
    forms = {operator.name: operator.symbolic(x) for operator in unary}
    return {form.func.__name__: name for name, form in forms.items() if form.args == (x,)}


def from_sympy(form: Any, columns: Mapping[Any, Expression]) -> Expression:
    """Convert a sympy form to an expression of built-in operators.

    Parameters
    ----------
    form : sympy expression
        A form that is real for real inputs.
    columns : mapping of sympy.Symbol to Expression
        Replacement for each symbol.

    Returns
    -------
    Expression

    Raises
    ------
    FormulaError
        If the form contains a function, number or symbol that the formula notation does not have.

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
    """Convert a sympy number."""
    import sympy

    if form is sympy.pi:
        return Constant(math.pi)
    if form is sympy.E:
        return apply_operator(OPERATORS["exp"], Constant(1))
    if form.is_Rational:
        return build_number(Fraction(int(form.p), int(form.q)))
    if form.is_Float:
        return Constant(to_plain_number(float(form)))
    raise FormulaError(f"sympy's {form} does not exist in the formula notation")


def _convert_call(name: str, arguments: list[Expression]) -> Expression:
    """Convert a call of a sympy function."""
    if name in _FOLD_OPERATORS:
        return reduce(
            lambda left, right: apply_operator(OPERATORS[_FOLD_OPERATORS[name]], left, right), arguments
        )
    if name in {"re", "conjugate"}:  # the argument is real
        return arguments[0]
    if name == "ceiling":
        return _negate(apply_operator(OPERATORS["floor"], _negate(arguments[0])))
    if name in _RECIPROCAL_OPERATORS:
        return apply_operator(
            OPERATORS["inv"], apply_operator(OPERATORS[_RECIPROCAL_OPERATORS[name]], *arguments)
        )
    if name in _find_function_operators():
        return apply_operator(OPERATORS[_find_function_operators()[name]], *arguments)
    raise FormulaError(f"sympy's {name} does not exist in the formula notation")


def build_number(value: Fraction) -> Expression:
    """Build the expression of a fraction: an integer, p/q, or a decimal if that is exact and q is large.

    Parameters
    ----------
    value : Fraction
        Any fraction.

    Returns
    -------
    Expression
        Exact if numerator and denominator are below 10¹⁵ in magnitude.

    Examples
    --------
    >>> print(build_number(Fraction(-2)), build_number(Fraction(1, 3)), build_number(Fraction(21639,
    ...     500_000)))
    -2 1/3 0.043278
    """
    numerator, denominator = _split_fraction(value)
    return Constant(numerator) if denominator == 1 else _divide(Constant(numerator), Constant(denominator))


def _convert_sum(form: Any, columns: Mapping[Any, Expression]) -> Expression:
    """Convert a sum, starting with a term without a minus sign if there is one."""
    terms = [(term.could_extract_minus_sign(), term) for term in form.as_ordered_terms()]

    first_positive = next((index for index, (negative, _) in enumerate(terms) if not negative), 0)
    first, *others = terms[first_positive], *terms[:first_positive], *terms[first_positive + 1 :]
    total = from_sympy(first[1], columns)
    for negative, term in others:
        converted = from_sympy(-term if negative else term, columns)
        total = apply_operator(OPERATORS["sub" if negative else "add"], total, converted)
    return total


def _convert_product(form: Any, columns: Mapping[Any, Expression]) -> Expression:
    """Convert a product; factors with negative powers form the denominator."""
    coefficient, rest = form.as_coeff_Mul(rational=True)
    numerator, denominator = _split_fraction(Fraction(int(coefficient.p), int(coefficient.q)))
    upper_factors: list[Expression] = [] if abs(numerator) == 1 else [Constant(numerator)]
    lower_factors: list[Expression] = [] if denominator == 1 else [Constant(denominator)]
    for factor in rest.as_ordered_factors():
        if factor.is_Pow and factor.exp.is_Rational and factor.exp < 0:
            lower_factors.append(_convert_power(factor.base, -factor.exp, columns))
        else:
            upper_factors.append(from_sympy(factor, columns))
    upper_factors = upper_factors or [Constant(1)]
    if numerator == -1:
        upper_factors[0] = _negate(upper_factors[0])
    return (
        _divide(_multiply(upper_factors), _multiply(lower_factors))
        if lower_factors
        else _multiply(upper_factors)
    )


def _split_fraction(value: Fraction) -> tuple[float, int]:
    """Return the numerator and the denominator to write for a fraction, with denominator 1 for a decimal."""
    decimal = float(value)
    exact = max(abs(value.numerator), value.denominator) < _MAX_EXACT_INTEGER
    if exact and (value.denominator <= _MAX_PLAIN_DENOMINATOR or Fraction(str(decimal)) != value):
        return value.numerator, value.denominator
    return to_plain_number(decimal), 1


def _convert_power(base: Any, exponent: Any, columns: Mapping[Any, Expression]) -> Expression:
    """Convert a power."""
    converted_base = from_sympy(base, columns)
    if exponent.is_Rational and exponent < 0:
        return _divide(Constant(1), _convert_power(base, -exponent, columns))
    if exponent in _POWER_OPERATORS:
        return apply_operator(OPERATORS[_POWER_OPERATORS[int(exponent)]], converted_base)
    if exponent.is_Rational and exponent == Fraction(1, 2):
        return apply_operator(OPERATORS["sqrt"], converted_base)
    return apply_operator(OPERATORS["pow"], converted_base, from_sympy(exponent, columns))


def _multiply(factors: Sequence[Expression]) -> Expression:
    """Return the product of at least one factor."""
    return reduce(lambda left, right: apply_operator(OPERATORS["mul"], left, right), factors)


def _divide(numerator: Expression, denominator: Expression) -> Expression:
    """Return a quotient, written with ``inv`` if the numerator is 1."""
    if numerator == Constant(1):
        return apply_operator(OPERATORS["inv"], denominator)
    return apply_operator(OPERATORS["div"], numerator, denominator)


def _negate(expression: Expression) -> Expression:
    """Return the negative of an expression."""
    if isinstance(expression, Constant) and find_constant_name(expression.value) is None:
        return Constant(-expression.value)
    return apply_operator(OPERATORS["neg"], expression)
