"""Write a sum that was fitted in a scale of the target as a law."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Flags, Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.target_scales import Response, TargetScale


_ONE = Constant(1)
# largest difference of an input's exponent in a product of exponentials from a multiple of 1/2
_EXPONENT_TOLERANCE = 0.05
_NEGLIGIBLE_CONTRIBUTION = 1e-10  # largest value of a negligible term, relative to the largest term
_SCALED_BY_FIRST = frozenset({"inv", "sqrt", "inverse sqrt", "square"})  # g(b·S) = g(b)·g(S)


def build_sum_law(
    response: Response, terms: Sequence[Expression], coefficients: Values, search_size: float
) -> Law | None:
    """Write y = C·g(Σ bₖ·termₖ) as a law.

    Where g(b·S) is g(b)·g(S), one of the coefficients becomes the outer one. The others are constants inside
    the term.

    Parameters
    ----------
    response : Response
        The scale and C.
    terms : sequence of Expression, length k
        The terms of the sum; the number 1 for the constant.
    coefficients : float64 array, shape (k,)
        The coefficients b.
    search_size : float
        Number of laws that were considered.

    Returns
    -------
    Law or None
        None if the law has no finite constants or no input.
    """
    numbers = [float(value) for value in coefficients]
    factor = list_column_powers(response.powers.items())
    if not all(map(is_usable, numbers)):
        return None
    if response.scale.inverse_name == "id":
        inputs = [term for term in terms if factor or term != _ONE]
        products = tuple(_multiply_powers(factor, term) for term in inputs)
        return Law(products, len(inputs) < len(terms), search_size) if products else None
    if all(term == _ONE for term in terms):
        return None
    if response.scale.inverse_name == "exp":
        return _build_exponential(factor, terms, numbers, search_size)
    return _build_function(response.scale, factor, terms, numbers, search_size)


def _build_function(
    scale: TargetScale,
    factor: Sequence[tuple[Column, Fraction]],
    terms: Sequence[Expression],
    numbers: Sequence[float],
    search_size: float,
) -> Law | None:
    """Write C·g(S); None if the law is a product in every scale, because S has one term only."""
    lead: set[int] = set()
    if scale.inverse_name in _SCALED_BY_FIRST:
        if len(terms) == 1:
            return None
        first = next((k for k, number in enumerate(numbers) if number > 0.0), 0)
        numbers, lead = [number / numbers[first] for number in numbers], {first}
    value = build_weighted_sum(terms, numbers, lead)
    for name in scale.operators:
        value = apply_operator(OPERATORS[name], value)
    return Law(
        (_multiply_powers(factor, value),),
        has_intercept=False,
        search_size=search_size,
        n_constants=len(terms) - len(lead),
    )


def is_usable(number: float) -> bool:
    """Return whether a coefficient is neither 0 nor so large that products may overflow."""
    return number != 0.0 and abs(number) < 1e100


def _build_exponential(
    factor: Sequence[tuple[Column, Fraction]],
    terms: Sequence[Expression],
    numbers: Sequence[float],
    search_size: float,
) -> Law | None:
    """Write C·exp(S); a multiple of a logarithm is a power, and a constant is the outer coefficient.

    The power of an input is a half or an integer, that of a formula may be any fitted number.
    """
    powers: list[tuple[Expression, Fraction]] = list(factor)
    rest: list[Expression] = []
    rest_numbers: list[float] = []
    n_powers = 0
    for term, number in zip(terms, numbers, strict=True):
        if isinstance(term, Call) and term.operator.name == "log":
            power = Fraction(round(2.0 * number), 2)
            base = term.arguments[0]
            if power and abs(number - float(power)) <= _EXPONENT_TOLERANCE:
                powers.append((base, power))
            elif isinstance(base, Call):
                raised = apply_operator(OPERATORS["pow"], base, Constant(abs(number), fitted=True))
                powers.append((raised, Fraction(1 if number > 0.0 else -1)))
                n_powers += 1
            else:
                return None
        elif term != _ONE:
            rest.append(term)
            rest_numbers.append(number)
    if rest:
        exponential = apply_operator(OPERATORS["exp"], build_weighted_sum(rest, rest_numbers, set()))
        powers.append((exponential, Fraction(1)))
    product = build_power_product(powers)
    return Law((product,), has_intercept=False, search_size=search_size, n_constants=len(rest) + n_powers)


def _multiply_powers(factor: Sequence[tuple[Column, Fraction]], value: Expression) -> Expression:
    """Multiply a power product by an expression; an inverse becomes a quotient."""
    if not factor:
        return value
    powers: list[tuple[Expression, Fraction]] = list(factor)
    if isinstance(value, Call) and value.operator.name == "inv":
        return build_power_product([*powers, (value.arguments[0], Fraction(-1))])
    return build_power_product(powers if value == _ONE else [*powers, (value, Fraction(1))])


def build_weighted_sum(terms: Sequence[Expression], numbers: Sequence[float], plain: set[int]) -> Expression:
    """Build Σ numberₖ·termₖ, positive terms first; those in `plain` have the number 1."""
    order = sorted(range(len(terms)), key=lambda k: (k not in plain, numbers[k] < 0.0, k))
    total: Expression | None = None
    for k in order:
        number = 1.0 if k in plain else numbers[k]
        name = "add"
        if total is not None and number < 0.0:
            name, number = "sub", -number
        scaled = terms[k] if k in plain else scale_term(number, terms[k])
        total = scaled if total is None else apply_operator(OPERATORS[name], total, scaled)
    return Constant(0) if total is None else total


def scale_term(number: float, term: Expression) -> Expression:
    """Multiply the first factor of a term by a fitted constant.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(scale_term(0.5, parse_expression("x*y/z")))
    0.5*x*y/z
    """
    constant = Constant(number, fitted=True)
    if term == _ONE:
        return constant
    match term:
        case Call(operator, (argument,)) if operator.name == "inv":
            return apply_operator(OPERATORS["div"], constant, argument)
        case Call(operator, (left, right)) if operator.name in {"mul", "div"}:
            return apply_operator(operator, scale_term(number, left), right)
    return apply_operator(OPERATORS["mul"], constant, term)


def find_rounding_terms(contributions: Values) -> Flags:
    """Find the terms whose contributions to a sum, shape (k, n), are as small as rounding errors."""
    norms = np.linalg.norm(contributions, axis=1)
    return np.asarray(norms <= _NEGLIGIBLE_CONTRIBUTION * norms.max())
