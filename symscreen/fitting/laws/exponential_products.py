"""Write products of exponentials as one exponential of a sum, with one number for each addend.

The search finds exp(−0.4·z)·exp(0.9·(x − z/3)) for exp(0.9·x − 0.7·z), because two exponents are free in a
product of powers. Only the numbers of the sum are simple.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, TypeGuard

from symscreen.expressions.tree import Call, Constant, apply_operator
from symscreen.fitting.laws.common_factors import collect_powers, is_sum
from symscreen.fitting.laws.law_selection import format_shape
from symscreen.fitting.laws.power_expressions import build_power_product
from symscreen.fitting.laws.refinement import count_fitted_constants
from symscreen.fitting.laws.sum_laws import build_weighted_sum
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import Law, LawData


def merge_exponentials(laws: Sequence[Law], data: LawData) -> list[Law]:
    """Return the laws with products of exponentials, rewritten; other laws are left out.

    If laws differ in fitted constants only, the first is kept.
    """
    merged: dict[str, Law] = {}
    for law in laws:
        terms = tuple(map(merge_exponentials_of_term, law.terms))
        if terms != law.terms:
            n_more = sum(map(count_fitted_constants, terms)) - sum(map(count_fitted_constants, law.terms))
            changed = replace(law, terms=terms, n_constants=max(law.n_constants + n_more, 0))
            if data.allows(changed):
                merged.setdefault(format_shape(changed), changed)
    return list(merged.values())


def merge_exponentials_of_term(term: Expression) -> Expression:
    """Write the exponentials among the factors of a term as one.

    A single exponential only changes if its argument is a multiple of a sum, as in exp(0.9·(x − 7·z/9)).
    Constant addends are left out, since the coefficient of the term contains them.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(merge_exponentials_of_term(parse_expression("w*exp(2*(x - z/4))/sqrt(exp(z + 1))")))
    w*exp(2.0*x - 1.0*z)
    """
    powers = collect_powers(term)
    exponentials = {base: power for base, power in powers.items() if _is_exponential(base)}
    if not exponentials or (len(exponentials) == 1 and not _is_scaled_sum(next(iter(exponentials)))):
        return term
    numbers: defaultdict[Expression, float] = defaultdict(float)
    for base, power in exponentials.items():
        for addend, number in _iterate_addends(base.arguments[0], float(power)):
            numbers[addend] += number
    used = {addend: number for addend, number in numbers.items() if number}
    if not used:
        return term  # nothing of the exponentials would be left
    rest = [(base, power) for base, power in powers.items() if base not in exponentials]
    plain = {place for place, number in enumerate(used.values()) if number == 1.0}
    exponent = build_weighted_sum(list(used), list(used.values()), plain)
    return build_power_product([*rest, (apply_operator(OPERATORS["exp"], exponent), Fraction(1))])


def _is_exponential(base: Expression) -> TypeGuard[Call]:
    """Return whether a formula is an exponential."""
    return isinstance(base, Call) and base.operator.name == "exp"


def _is_scaled_sum(exponential: Call) -> bool:
    """Return whether the argument of an exponential is a number times a sum."""
    argument = exponential.arguments[0]
    if not isinstance(argument, Call) or argument.operator.name not in {"mul", "div"}:
        return False
    left, right = argument.arguments
    return (is_sum(left) and isinstance(right, Constant)) or (
        argument.operator.name == "mul" and is_sum(right) and isinstance(left, Constant)
    )


def _iterate_addends(expression: Expression, number: float) -> Iterator[tuple[Expression, float]]:
    """Yield the addends of number·expression that are not constant, with their numbers."""
    if isinstance(expression, Constant):
        return
    name = expression.operator.name if isinstance(expression, Call) else ""
    parts = expression.arguments if isinstance(expression, Call) else ()
    if name in {"add", "sub"}:
        yield from _iterate_addends(parts[0], number)
        yield from _iterate_addends(parts[1], number if name == "add" else -number)
    elif name == "neg":
        yield from _iterate_addends(parts[0], -number)
    elif name == "mul" and isinstance(parts[0], Constant):
        yield from _iterate_addends(parts[1], number * parts[0].value)
    elif name == "mul" and isinstance(parts[1], Constant):
        yield from _iterate_addends(parts[0], number * parts[1].value)
    elif name == "div" and isinstance(parts[1], Constant) and parts[1].value:
        yield from _iterate_addends(parts[0], number / parts[1].value)
    else:
        yield expression, number
