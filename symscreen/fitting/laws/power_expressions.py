"""Build expressions of power products, such as x**2*sqrt(y)/z."""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING

from symscreen.expressions.traversal import rebuild_expression
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symscreen.expressions.tree import Expression


_POWERS = {2: "square", 3: "cube"}


def build_power_product(powers: Sequence[tuple[Expression, Fraction]]) -> Expression:
    """Build the product of powers as one fraction, with one root for all factors that have it.

    Parameters
    ----------
    powers : sequence of (Expression, Fraction)
        Bases and exponents. Denominators of 2 and 3 give roots, and others give powers such as x**0.75.

    Returns
    -------
    Expression
        The number 1 if there are no powers.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from symscreen.expressions.tree import Column
    >>> x, y = Column("x"), Column("y")
    >>> print(build_power_product([(x, Fraction(3, 2)), (y, Fraction(1, 2)), (x, Fraction(-2))]))
    x*sqrt(x*y)/x**2
    >>> print(build_power_product([(x, Fraction(1, 2)), (y, Fraction(-1, 2))]))
    sqrt(x/y)
    >>> print(build_power_product([(x, Fraction(3, 2)), (y, Fraction(-1, 2))]))
    x*sqrt(x)/sqrt(y)
    >>> print(build_power_product([(x, Fraction(3, 4)), (y, Fraction(-1, 3))]))
    x**0.75/cbrt(y)
    """
    above = [(base, power) for base, power in powers if power > 0]
    below = [(base, -power) for base, power in powers if power < 0]
    root = None
    # a quotient under one root, unless a power such as x^(3/2) would be torn apart
    is_plain = all(power.denominator != 2 or abs(power) == Fraction(1, 2) for _, power in powers)
    if is_plain and _list_root_bases(above) and _list_root_bases(below):
        quotient = _divide(_multiply(_list_root_bases(above)), _multiply(_list_root_bases(below)))
        root = apply_operator(OPERATORS["sqrt"], quotient)
        above, below = _drop_roots(above), _drop_roots(below)
    numerator, denominator = _build_factors(above), _build_factors(below)
    if root is not None:
        numerator = root if numerator is None else apply_operator(OPERATORS["mul"], numerator, root)
    if denominator is None:
        return Constant(1) if numerator is None else numerator
    if numerator is None:
        return apply_operator(OPERATORS["inv"], denominator)
    return _divide(numerator, denominator)


def list_column_powers(exponents: Iterable[tuple[str, Fraction | int]]) -> list[tuple[Column, Fraction]]:
    """Return the columns with exponents other than 0, as `build_power_product` takes them.

    Examples
    --------
    >>> print(build_power_product(list_column_powers(zip("xyz", [1, 0, -2]))))
    x/z**2
    """
    return [(Column(name), Fraction(power)) for name, power in exponents if power]


def normalize_exponents(exponents: Sequence[int]) -> tuple[int, ...]:
    """Divide exponents, not all 0, by their greatest common divisor; the first one that is not 0 is positive.

    Examples
    --------
    >>> normalize_exponents([0, -2, 4])
    (0, 1, -2)
    """
    divisor = gcd(*exponents)
    if next(filter(None, exponents)) < 0:
        divisor = -divisor
    return tuple(power // divisor for power in exponents)


def _list_root_bases(powers: Sequence[tuple[Expression, Fraction]]) -> list[Expression]:
    """Return the bases whose exponents have a half."""
    return [base for base, power in powers if power.denominator == 2]


def _drop_roots(powers: Sequence[tuple[Expression, Fraction]]) -> list[tuple[Expression, Fraction]]:
    """Return the factors without square roots."""
    return [(base, power) for base, power in powers if power.denominator != 2]


def _divide(above: Expression, below: Expression) -> Expression:
    """Build a quotient."""
    return apply_operator(OPERATORS["div"], above, below)


def _build_factors(powers: Sequence[tuple[Expression, Fraction]]) -> Expression | None:
    """Build the product of positive powers, or None if there are none."""
    factors = []
    for base, power in powers:
        whole, rest = divmod(power.numerator, power.denominator)
        if power.denominator > 3:
            factors.append(apply_operator(OPERATORS["pow"], base, _write_fraction(power)))
            continue
        if whole:
            factors.append(_raise(base, whole))
        if rest and power.denominator == 3:
            factors.append(apply_operator(OPERATORS["cbrt"], _raise(base, rest)))
    under_root = _list_root_bases(powers)
    if under_root:
        factors.append(apply_operator(OPERATORS["sqrt"], _multiply(under_root)))
    return _multiply(factors) if factors else None


def _write_fraction(power: Fraction) -> Expression:
    """Write a fraction as a decimal of at most three digits, or as a quotient."""
    if 1000 % power.denominator == 0:
        return Constant(float(power))
    return _divide(Constant(power.numerator), Constant(power.denominator))


def _raise(base: Expression, power: int) -> Expression:
    """Raise a base to a positive integer power."""
    if power == 1:
        return base
    if power in _POWERS:
        return apply_operator(OPERATORS[_POWERS[power]], base)
    return apply_operator(OPERATORS["pow"], base, Constant(power))


def _multiply(factors: Sequence[Expression]) -> Expression:
    """Multiply factors from left to right."""
    product = factors[0]
    for factor in factors[1:]:
        product = apply_operator(OPERATORS["mul"], product, factor)
    return product


def invert_quotients(expression: Expression) -> Expression:
    """Replace quotients below a fraction bar everywhere in a formula.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(invert_quotients(parse_expression("exp(1/(a/b)) + x/(a/b)")))
    exp(b/a) + x*b/a
    >>> print(invert_quotients(parse_expression("asin(1/(2*(d/(n*w))))")))
    asin(n*w/(2*d))
    """

    def rebuild(call: Call, arguments: list[Expression]) -> Expression:
        if call.operator.name in {"inv", "div"}:
            above, below = _split_quotient(arguments[-1])
            if below:
                numerator = _multiply([*arguments[:-1], *below])
                return _divide(numerator, _multiply(above)) if above else numerator
        return apply_operator(call.operator, *arguments)

    return rebuild_expression(expression, call=rebuild)


def _split_quotient(expression: Expression) -> tuple[list[Expression], list[Expression]]:
    """Split products and quotients into factors above and below the fraction bar, without the number 1."""
    if not isinstance(expression, Call) or expression.operator.name not in {"mul", "div"}:
        is_one = isinstance(expression, Constant) and not expression.fitted and expression.value == 1
        return ([] if is_one else [expression]), []
    (above, below), (other_above, other_below) = map(_split_quotient, expression.arguments)
    if expression.operator.name == "div":
        other_above, other_below = other_below, other_above
    if not below and not other_below:
        return [expression], []
    return [*above, *other_above], [*below, *other_below]
