"""Write a quotient of two sums that was fitted in a scale of the target as a law."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symscreen.expressions.traversal import compute_complexity
from symscreen.expressions.tree import apply_operator
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.monomial_dictionary import MonomialDictionary
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers
from symscreen.fitting.laws.sum_laws import build_weighted_sum, is_usable
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.target_scales import Response


_SCALED_BY_FIRST = frozenset({"id", "sqrt"})  # g(b·S) = g(b)·g(S)


@dataclass(frozen=True, eq=False)
class _Quotient:
    """Two sums with coefficients; those of the terms in `lead` and of the first term below are 1."""

    upper: MonomialDictionary
    upper_numbers: Sequence[float]
    lead: set[int]
    lower: MonomialDictionary
    lower_numbers: Sequence[float]

    def build(self, shift: Sequence[Fraction]) -> list[tuple[Expression, Fraction]]:
        """Build both sums times a power product, as factors with exponents."""
        numerator = build_weighted_sum(self.upper.multiply(shift), self.upper_numbers, self.lead)
        denominator = build_weighted_sum(self.lower.multiply(shift), self.lower_numbers, {0})
        return [(numerator, Fraction(1)), (denominator, Fraction(-1))]


def build_quotient_law(
    response: Response,
    upper: MonomialDictionary,
    lower: MonomialDictionary,
    coefficients: Values,
    search_size: float,
) -> Law | None:
    """Write y = C·g(Σ pᵢ·Mᵢ/(1 + Σ qⱼ·Nⱼ)) as a law.

    Both sums are multiplied by powers of the inputs if that makes the law simpler: (r + s·m/n)/(1 + m/n)
    becomes (n·r + m·s)/(n + m).

    Parameters
    ----------
    response : Response
        The scale and C.
    upper, lower : MonomialDictionary
        The terms M and N, with the same inputs.
    coefficients : float64 array, shape (k,)
        The coefficients p, followed by q.
    search_size : float
        Number of laws that were considered.

    Returns
    -------
    Law or None
        None if a coefficient is 0 or not finite.
    """
    numbers = [float(value) for value in coefficients]
    if not all(map(is_usable, numbers)):
        return None
    p, q = numbers[: len(upper)], numbers[len(upper) :]
    lead: set[int] = set()
    if response.scale.inverse_name in _SCALED_BY_FIRST:
        first = next((k for k, number in enumerate(p) if number > 0.0), 0)
        p, lead = [number / p[first] for number in p], {first}
    zero = (Fraction(0),) * len(upper.inputs)
    with_one = MonomialDictionary(lower.inputs, ((zero, None), *lower.terms))
    quotient = _Quotient(upper, p, lead, with_one, [1.0, *q])
    term = _build_simplest(response, quotient, zero)
    n_constants = len(numbers) - len(lead)
    return Law((term,), has_intercept=False, search_size=search_size, n_constants=n_constants)


def _build_simplest(response: Response, quotient: _Quotient, zero: tuple[Fraction, ...]) -> Expression:
    """Write the law with the power products, input by input, that make it simplest."""
    shift = zero
    best = _build_term(response, quotient.build(shift))
    for place in range(len(zero)):
        terms = (*quotient.upper.terms, *quotient.lower.terms)
        trial = (*shift[:place], -min(exponents[place] for exponents, _ in terms), *shift[place + 1 :])
        term = _build_term(response, quotient.build(trial))
        if compute_complexity(term) < compute_complexity(best):
            best, shift = term, trial
    return best


def _build_term(response: Response, factors: Sequence[tuple[Expression, Fraction]]) -> Expression:
    """Write C·g(P/Q)."""
    powers = list_column_powers(response.powers.items())
    if response.scale.inverse_name == "id":
        return build_power_product([*powers, *factors])
    value = build_power_product(factors)
    for name in response.scale.operators:
        value = apply_operator(OPERATORS[name], value)
    return build_power_product([*powers, (value, Fraction(1))])
