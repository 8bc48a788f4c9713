"""Choose how laws are written, and what they cost in the criterion of a model.

The searches find values, not forms. A sum with simple ratios of its coefficients is also written as one term.
Common factors are moved out of sums, and numbers into roots where they become simpler there.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import log, prod
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import (
    compute_complexity,
    evaluate_expression,
    iterate_constants,
    rebuild_expression,
)
from symscreen.expressions.tree import Call, Column, Constant, apply_operator
from symscreen.fitting.coefficients import estimate_coefficients
from symscreen.fitting.laws.common_factors import (
    collect_powers,
    is_sum,
    move_common_factors,
    negate_term,
    sort_powers,
)
from symscreen.fitting.laws.power_expressions import build_power_product, invert_quotients
from symscreen.fitting.laws.simple_numbers import find_simple_numbers, measure_number, write_number
from symscreen.fitting.laws.sum_laws import build_weighted_sum, is_usable
from symscreen.grammar import OPERATORS
from symscreen.linear_models.model_criteria import EXACT_SHARE, compute_search_penalty

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.fitted_laws import FittedLaw
    from symscreen.fitting.laws.law import Law, LawData


_MAX_MERGED = 3  # largest number of sums of a stage that are also written as one term
_ROUNDING = 1e-10  # relative error of a coefficient up to which only rounding disturbs it
_MULTIPLES = (2, 4, 8)  # factors that doubling a multiple may find
_UNKNOWN_NUMBER = 52.0  # bits of a number that is not simple


def merge_terms(fitted: Sequence[FittedLaw], data: LawData) -> list[Law]:
    """Write the best sums without an intercept as one term, c·(f₁ + b₂·f₂ + …).

    Each is written with fitted constants b, and with the simplest numbers near them, so that the criterion
    decides. I₁ + I₂ + 2·√(I₁·I₂)·cos δ then has one coefficient rather than three.
    """
    sums = [each for each in fitted if len(each.law.terms) > 1 and not each.law.has_intercept]
    laws = []
    for each in sorted(sums, key=lambda each: compute_law_score(each, len(data.target)))[:_MAX_MERGED]:
        estimates = estimate_coefficients(
            each.values, data.target, has_intercept=False, row_weights=data.row_weights
        )
        coefficients = estimates.coefficients[1:]
        if not all(map(is_usable, coefficients.tolist())):
            continue
        lead = next((k for k, value in enumerate(coefficients.tolist()) if value > 0.0), 0)
        law, numbers = limit_search_size(each.law, data), (coefficients / coefficients[lead]).tolist()
        n_constants = law.n_constants + len(numbers) - 1
        merged = [
            replace(law, terms=(build_weighted_sum(law.terms, numbers, {lead}),), n_constants=n_constants)
        ]
        errors = ((estimates.high - estimates.low)[1:] / np.abs(coefficients)).tolist()
        simple = [
            find_simple_numbers(number, abs(number) * (error + errors[lead]), keep=1)
            for number, error in zip(numbers, errors, strict=True)
            if np.isfinite(error + errors[lead]) and error + errors[lead] > 0.0
        ]
        if len(simple) == len(numbers) and all(simple):
            chosen = [1.0 if k == lead else each[0] for k, each in enumerate(simple)]
            term = write_simple_sum(law.terms, chosen)
            n_numbers = 2.0 ** sum(map(measure_number, chosen))
            merged.append(replace(law, terms=(term,), search_size=law.search_size * n_numbers))
        laws += [each for each in merged if data.allows(each)]
    return laws


def write_simple_sum(terms: Sequence[Expression], numbers: Sequence[float]) -> Expression:
    """Build Σ numberₖ·termₖ with plain numbers, positive terms first; the first positive one starts.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(write_simple_sum([parse_expression("x"), parse_expression("y")], [-2.0, 1.0]))
    y - 2*x
    """
    order = sorted(range(len(terms)), key=lambda k: (numbers[k] < 0.0, k))
    total: Expression | None = None
    for k in order:
        number = numbers[k] if total is None else abs(numbers[k])
        part = terms[k]
        if part == Constant(1):
            part = write_number(number)
        elif measure_number(number) or number < 0.0:
            part = apply_operator(OPERATORS["mul"], write_number(number), part)
        name = "add" if numbers[k] > 0.0 else "sub"
        total = part if total is None else apply_operator(OPERATORS[name], total, part)
    assert total is not None  # noqa: S101  # there are terms
    return total


def simplify_law(fitted: FittedLaw, data: LawData) -> FittedLaw:
    """Write the terms of a law in their simplest form, a single one with a positive coefficient."""
    law = fitted.law
    terms = [move_common_factors(term, data.columns) for term in law.terms]
    values = fitted.values
    if len(terms) == 1 and not law.has_intercept:
        if float(values[0] @ data.target) < 0.0:
            negated = negate_term(terms[0])
            if negated is not None:
                terms, values = [negated], -values
        terms = [move_coefficient_into_root(terms[0], *_estimate_coefficient(values[0], data))]
        values = np.array([evaluate_expression(terms[0], data.columns)])
    simplified = replace(law, terms=tuple(terms))
    return replace(fitted, law=simplified, values=values) if data.allows(simplified) else fitted


def write_power_terms(law: Law, data: LawData) -> Law:
    """Write terms such as sqrt((2*sqrt(x))**3) as one product of powers without a number, x**0.75.

    The coefficient of the term takes the number. A term stays as it is if the product is not simpler, or if
    the grammar does not allow it.
    """
    terms = tuple(map(_write_power_term, law.terms))
    if terms == law.terms:
        return law
    changed = replace(law, terms=terms)
    return changed if data.allows(changed) else law


def _write_power_term(term: Expression) -> Expression:
    """Write a product of powers of columns without its number, if this is simpler.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(_write_power_term(parse_expression("sqrt((2*sqrt(x))**3)")))
    x**0.75
    >>> print(_write_power_term(parse_expression("exp(2*x)*y")))
    exp(2*x)*y
    """
    factors = collect_powers(term)
    powers: dict[Expression, Fraction] = {
        base: power for base, power in factors.items() if not isinstance(base, Constant)
    }
    if not powers or not all(isinstance(base, Column) for base in powers):
        return term
    product = build_power_product(sort_powers(powers))
    return product if compute_complexity(product) < compute_complexity(term) else term


def write_readable_terms(law: Law, data: LawData) -> Law:
    """Write x + x as 2*x, 1/(2*(a/b)) as b/(2*a), and x*y**(-2.5) as x/y**2.5 in the terms of a law.

    The law stays as it is if the grammar does not allow the result.
    """
    if all(operator.name != "mul" for operator in data.grammar.binary):
        return law
    changed = replace(law, terms=tuple(invert_quotients(_write_readable(term)) for term in law.terms))
    return changed if data.allows(changed) else law


def _write_readable(term: Expression) -> Expression:
    """Write sums of equal parts as multiples, and powers with negative exponents as quotients.

    A quotient of the number 1 becomes the operator 1/x, which is printed without parentheses.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(_write_readable(parse_expression("sin((x + x) + (x + x)) + y/(z + z)")))
    sin(4*x) + y/(2*z)
    >>> print(_write_readable(parse_expression("x*y**(-1.5) + exp(-1*(a/b)**(-0.7))")))
    x/y**1.5 + exp(-(b/a)**0.7)
    >>> print(_write_readable(parse_expression("sin((1)/x)")))
    sin(1/x)
    """

    def build_call(call: Call, arguments: list[Expression]) -> Expression:
        name, first = call.operator.name, arguments[0]
        if name == "add" and first == arguments[1]:
            return _double(first)
        if name == "mul":
            divisor = _invert_power(arguments[1])
            if divisor is not None:
                return apply_operator(OPERATORS["div"], first, divisor)
            if first == Constant(-1):
                return apply_operator(OPERATORS["neg"], arguments[1])
        if name == "div" and first == Constant(1):
            return apply_operator(OPERATORS["inv"], arguments[1])
        if name == "pow" and isinstance(first, Call) and first.operator.name == "div":
            exponent = _negate_negative(arguments[1])
            if exponent is not None:
                return _raise(apply_operator(first.operator, *reversed(first.arguments)), exponent)
        return apply_operator(call.operator, *arguments)

    return rebuild_expression(term, call=build_call)


def _double(expression: Expression) -> Expression:
    """Build 2·x, or twice the multiple."""
    factor, rest = 2, expression
    if isinstance(expression, Call) and expression.operator.name == "mul":
        number, other = expression.arguments
        if isinstance(number, Constant) and not number.fitted and number.value in _MULTIPLES:
            factor, rest = 2 * int(number.value), other
    return apply_operator(OPERATORS["mul"], Constant(factor), rest)


def _invert_power(expression: Expression) -> Expression | None:
    """Return x^a for x^−a with a number a > 0; None for other expressions."""
    if not isinstance(expression, Call) or expression.operator.name != "pow":
        return None
    exponent = _negate_negative(expression.arguments[1])
    return None if exponent is None else _raise(expression.arguments[0], exponent)


def _negate_negative(exponent: Expression) -> Constant | None:
    """Return a for the number −a < 0; None for other expressions."""
    if isinstance(exponent, Constant) and exponent.value < 0.0:
        return replace(exponent, value=-exponent.value)
    return None


def _raise(base: Expression, exponent: Constant) -> Expression:
    """Raise a base to a positive number; squares, cubes and square roots have operators of their own."""
    if not exponent.fitted and exponent.value in {0.5, 1.0, 2.0, 3.0}:
        return build_power_product([(base, Fraction(exponent.value))])
    return apply_operator(OPERATORS["pow"], base, exponent)


def _estimate_coefficient(values: Values, data: LawData) -> tuple[float, float]:
    """Return the coefficient of the only term of a law, and its standard error, at least that of rounding."""
    estimates = estimate_coefficients(
        values[None], data.target, has_intercept=False, row_weights=data.row_weights
    )
    coefficient = float(estimates.coefficients[1])
    error = float(estimates.high[1] - estimates.low[1]) / 4.0
    smallest = _ROUNDING * abs(coefficient)
    return coefficient, max(error, smallest) if np.isfinite(error) else smallest


def move_coefficient_into_root(term: Expression, coefficient: float, error: float) -> Expression:
    """Write c·√(a·u ± b·v) as √(c²·a·u ± c²·b·v) if the numbers become simpler.

    Parameters
    ----------
    term : Expression
        A product of powers with at most one square root of a sum.
    coefficient : float
        Its coefficient c.
    error : float
        Standard error of c, positive.

    Returns
    -------
    Expression
        The term with other numbers under the root, for which the coefficient is ±1 up to twice its error; or
        the term itself, if no numbers are simpler than its numbers and c.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(move_coefficient_into_root(parse_expression("sqrt(0.5 + x/y)"), 2.0**0.5, 1e-9))
    sqrt(1 + 2*(x/y))
    """
    powers = collect_powers(term)
    roots = [base for base, power in powers.items() if abs(power) == Fraction(1, 2) and is_sum(base)]
    if len(roots) != 1:
        return term
    (root,) = roots
    parts = [collect_powers(part) for part in root.arguments]
    if any(number.fitted for number in iterate_constants(root)):
        return term
    numbers = [_compute_number(part) for part in parts]
    if root.operator.name == "sub":
        numbers[1] = -numbers[1]
    factor = abs(coefficient) ** float(1 / powers[root])
    relative_error = 4.0 * error / abs(coefficient)  # twice the error, of the square of c
    outer = find_simple_numbers(coefficient, 2.0 * error, keep=1)
    cost = sum(map(measure_number, numbers)) + (measure_number(outer[0]) if outer else _UNKNOWN_NUMBER)
    best = None
    for lead in numbers:
        for simple in find_simple_numbers(factor * lead, relative_error * abs(factor * lead)):
            scaled = [number * simple / lead for number in numbers]
            own = sum(map(measure_number, scaled))
            if own < cost:
                best, cost = scaled, own
    if best is None:
        return term
    rests = [
        build_power_product(
            sort_powers({base: power for base, power in part.items() if not isinstance(base, Constant)})
        )
        for part in parts
    ]
    changed = {base: power for base, power in powers.items() if base != root}
    changed[write_simple_sum(rests, best)] = powers[root]
    return build_power_product(sort_powers(changed))


def _compute_number(powers: Mapping[Expression, Fraction]) -> float:
    """Compute the product of the numbers among the factors of a product."""
    numbers = [
        float(base.value) ** float(power) for base, power in powers.items() if isinstance(base, Constant)
    ]
    return prod(numbers, start=1.0)


def compute_law_score(fitted: FittedLaw, n: int) -> float:
    """Return the EBIC of a law: with its share alone, forms with too many constants would be the best."""
    law = fitted.law
    n_parameters = len(law.terms) + law.has_intercept + law.n_constants
    penalty = n_parameters * log(n) + compute_search_penalty(log(law.search_size), n, n_parameters)
    return n * log(max(fitted.unexplained_share, EXACT_SHARE)) + penalty


def limit_search_size(law: Law, data: LawData) -> Law:
    """Limit the cost of a law to the number of formulas whose terms and numbers are not more complex.

    So a law is as probable as its form is simple, and this does not depend on the stage that finds it.
    """
    n_formulas = 1.0
    known = data.known_numbers
    unit = data.target_unit
    for term in law.terms:
        n_formulas *= data.pool.estimate_count(compute_complexity(term), unit)
        for number in iterate_constants(term):
            if not number.fitted and abs(float(number.value)) not in known:
                n_formulas *= 2.0 ** measure_number(float(number.value))
    return replace(law, search_size=min(law.search_size, n_formulas))
