"""Dictionaries of simple terms: monomials of the inputs, times waves, logarithms or squared differences."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from heapq import heappop, heappush
from itertools import combinations, combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import collect_columns, evaluate_expression
from symscreen.expressions.tree import Call, Column, apply_operator
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.unit_lattice import UnitLattice

    Exponents = tuple[Fraction, ...]


_MAX_MONOMIALS = 240  # default limit of the number of terms of a dictionary that has monomials alone
_MAX_LISTED_MONOMIALS = 20_000  # number of monomials among which those with a unit are chosen
_MAX_WAVE_MONOMIALS = 80  # number of monomials that are multiplied by each wave
_MAX_SQUARED_WAVE_MONOMIALS = 20  # number of monomials that are also multiplied by the square of a wave
_MAX_DIFFERENCE_COLUMNS = 100
_MAX_LOGARITHM_MONOMIALS = 60  # number of monomials that are multiplied by a logarithm
_MAX_POLYNOMIAL_TERMS = 90  # allows degree 6 with three inputs, 4 with four, and 3 with six
_MAX_DEGREE = 6
# Costs of exponents by their absolute value, in quarters of the cost of a factor.
_EXPONENT_COSTS = {
    Fraction(1): 4,
    Fraction(2): 5,
    Fraction(1, 2): 9,
    Fraction(3): 9,
    Fraction(4): 10,
}
_OTHER_COST = 14  # cost of all other exponents
_NEGATIVE_COST = 1  # additional cost of a negative exponent
_MAX_POWER = 4  # largest absolute value of an exponent
_WAVES = ("sin", "cos")


@dataclass(frozen=True, eq=False)
class MonomialDictionary:
    """Terms Π xᵢ^aᵢ · f with a factor f.

    Parameters
    ----------
    inputs : tuple of str
        The inputs of the monomials.
    terms : tuple of (tuple of Fraction, Expression or None)
        The exponents of the inputs, and the factor f or None for 1.
    """

    inputs: tuple[str, ...]
    terms: tuple[tuple[Exponents, Expression | None], ...]

    def __len__(self) -> int:
        return len(self.terms)

    def take(self, indices: Sequence[int]) -> MonomialDictionary:
        """Return the dictionary of some of the terms."""
        return MonomialDictionary(self.inputs, tuple(self.terms[index] for index in indices))

    def multiply(self, shift: Sequence[Fraction]) -> list[Expression]:
        """Build the expressions of all terms, each times a power product of the inputs."""
        terms = tuple(
            (tuple(a + b for a, b in zip(exponents, shift, strict=True)), factor)
            for exponents, factor in self.terms
        )
        dictionary = MonomialDictionary(self.inputs, terms)
        return [dictionary.build_term(index) for index in range(len(terms))]

    def build_term(self, index: int) -> Expression:
        """Build the expression of a term; the number 1 for the constant term."""
        exponents, factor = self.terms[index]
        columns = list_column_powers(zip(self.inputs, exponents, strict=True))
        powers: list[tuple[Expression, Fraction]] = [*columns]
        if isinstance(factor, Call) and factor.operator.name == "inv":
            powers.append((factor.arguments[0], Fraction(-1)))
        elif factor is not None:
            powers.append((factor, Fraction(1)))
        return build_power_product(powers)

    def evaluate(self, columns: Mapping[str, Values]) -> Values:
        """Evaluate all terms, shape (q, n); values are not finite where a term is undefined."""
        n = len(next(iter(columns.values())))
        values = np.ones((len(self.terms), n))
        powers: dict[tuple[str, Fraction], Values] = {}
        factors: dict[Expression, Values] = {}
        with np.errstate(all="ignore"):
            for index, (exponents, factor) in enumerate(self.terms):
                for name, exponent in zip(self.inputs, exponents, strict=True):
                    if exponent:
                        if (name, exponent) not in powers:
                            powers[name, exponent] = columns[name] ** float(exponent)
                        values[index] *= powers[name, exponent]
                if factor is not None:
                    if factor not in factors:
                        factors[factor] = evaluate_expression(factor, columns)
                    values[index] *= factors[factor]
        return values


@lru_cache(maxsize=256)
def list_monomial_exponents(n_inputs: int, limit: int, *, has_roots: bool) -> tuple[Exponents, ...]:
    """List the exponents of the simplest monomials, at most `limit`, the constant first.

    Monomials that are equally simple are all in the list or all left out, so the order of the inputs has no
    effect.

    Examples
    --------
    >>> [tuple(map(int, exponents)) for exponents in list_monomial_exponents(2, 7, has_roots=False)]
    [(0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (0, -1), (-1, 0)]
    """
    costs = {
        sign * exponent: cost + (_NEGATIVE_COST if sign < 0 else 0)
        for exponent, cost in _EXPONENT_COSTS.items()
        if has_roots or exponent.denominator == 1
        for sign in (1, -1)
    }
    found: list[Exponents] = []
    for cost in range(n_inputs * max(costs.values()) + 1):
        new = sorted(_iterate_exponents(n_inputs, cost, costs), reverse=True)
        if len(found) + len(new) > limit:
            break
        found += new
    return tuple(found)


def _iterate_exponents(n_inputs: int, cost: int, costs: Mapping[Fraction, int]) -> Iterator[Exponents]:
    """Yield all exponents of a cost."""
    if n_inputs == 0:
        if cost == 0:
            yield ()
        return
    for rest in _iterate_exponents(n_inputs - 1, cost, costs):
        yield (Fraction(0), *rest)
    for exponent, own in costs.items():
        if own <= cost:
            for rest in _iterate_exponents(n_inputs - 1, cost - own, costs):
                yield (exponent, *rest)


def build_monomials(
    inputs: Sequence[str], operators: frozenset[str], *, logs: bool, limit: int = _MAX_MONOMIALS
) -> MonomialDictionary:
    """Build the dictionary of monomials; on request with the logarithm of each input."""
    exponents = list_monomial_exponents(len(inputs), limit, has_roots="sqrt" in operators)
    terms: list[tuple[Exponents, Expression | None]] = [(each, None) for each in exponents]
    if logs:
        terms += _list_logarithms(inputs)
    return MonomialDictionary(tuple(inputs), tuple(terms))


def build_polynomial(inputs: Sequence[str], *, limit: int = _MAX_POLYNOMIAL_TERMS) -> MonomialDictionary:
    """Build the dictionary of all products of inputs up to a degree, the largest with at most `limit` terms.

    Examples
    --------
    >>> terms = build_polynomial(("a", "b"), limit=6).terms
    >>> [tuple(map(int, exponents)) for exponents, _ in terms]
    [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]
    """
    degree = max(
        (each for each in range(1, _MAX_DEGREE + 1) if comb(len(inputs) + each, each) <= limit), default=0
    )
    exponents = (
        tuple(Fraction(chosen.count(place)) for place in range(len(inputs)))
        for total in range(degree + 1)
        for chosen in combinations_with_replacement(range(len(inputs)), total)
    )
    return MonomialDictionary(tuple(inputs), tuple((each, None) for each in exponents))


def list_exponents_of_unit(
    lattice: UnitLattice, unit: Values, limit: int, *, has_roots: bool
) -> tuple[Exponents, ...]:
    """List the exponents of the simplest monomials with a unit, at most `limit`, among the 20,000 simplest.

    If monomials are equally simple, all of them are in the list or none.
    """
    listed = list_monomial_exponents(len(lattice.names), _MAX_LISTED_MONOMIALS, has_roots=has_roots)
    exponents = _convert_exponents(len(lattice.names), has_roots=has_roots)
    has_unit = lattice.select_unit(exponents, unit)
    places = np.flatnonzero(has_unit)
    if len(places) > limit:
        costs = [_measure_exponents(listed[place]) for place in places[: limit + 1].tolist()]
        places = places[: next(k for k, cost in enumerate(costs) if cost == costs[-1])]
    return tuple(listed[place] for place in places.tolist())


def walk_exponents_of_unit(lattice: UnitLattice, unit: Values, limit: int) -> list[Exponents]:
    """List the exponents of the simplest monomials with a unit, at most `limit`, with powers up to ±4.

    The list is a best-first walk from the product with the smallest powers. Each step multiplies by a
    dimensionless group or divides by it. Unlike `list_exponents_of_unit`, this reaches monomials of many
    inputs. If monomials are equally simple, all of them are in the list or none.
    """
    simplest = lattice.find_simplest_powers(unit)
    if simplest is None:
        return []
    steps = [[sign * power for power in group] for group in lattice.groups for sign in (1, -1)]
    heap, known = [_rank_exponents(tuple(simplest))], {tuple(simplest)}
    walked: list[tuple[int, Exponents]] = []
    while heap and (len(walked) <= limit or heap[0][0] == walked[-1][0]):
        cost, _, powers = heappop(heap)
        if max(map(abs, powers)) <= _MAX_POWER:
            walked.append((cost, powers))
        for step in steps:
            moved = tuple(a + b for a, b in zip(powers, step, strict=True))
            if moved not in known and max(map(abs, moved)) <= _MAX_POWER + 1:
                known.add(moved)
                heappush(heap, _rank_exponents(moved))
    if len(walked) > limit:
        walked = [each for each in walked if each[0] < walked[limit][0]]
    return [powers for _, powers in sorted(walked, key=lambda each: _rank_exponents(each[1]))]


def _rank_exponents(powers: Exponents) -> tuple[int, list[Fraction], Exponents]:
    """Return the cost of a monomial, and what orders monomials of equal cost."""
    cost = sum(
        _EXPONENT_COSTS.get(abs(power), _OTHER_COST) + (_NEGATIVE_COST if power < 0 else 0)
        for power in powers
        if power
    )
    return cost, [-power for power in powers], powers


@lru_cache(maxsize=16)
def _convert_exponents(n_inputs: int, *, has_roots: bool) -> Values:
    """Return the exponents of the 20,000 simplest monomials as numbers, shape (m, k)."""
    listed = list_monomial_exponents(n_inputs, _MAX_LISTED_MONOMIALS, has_roots=has_roots)
    return np.array(listed, dtype=np.float64).reshape(len(listed), n_inputs)


def _measure_exponents(exponents: Exponents) -> int:
    """Return the cost of a monomial that orders the list, in quarters of a factor."""
    return sum(
        _EXPONENT_COSTS[abs(power)] + (_NEGATIVE_COST if power < 0 else 0) for power in exponents if power
    )


def _list_logarithms(inputs: Sequence[str]) -> list[tuple[Exponents, Expression | None]]:
    """Return the logarithm of each input as a term."""
    zero = (Fraction(0),) * len(inputs)
    return [(zero, apply_operator(OPERATORS["log"], Column(name))) for name in inputs]


def build_squared_differences(
    inputs: Sequence[str], operators: frozenset[str], *, logs: bool
) -> MonomialDictionary | None:
    """Build the dictionary of powers with all (xᵢ − xⱼ)²; None if there are not enough inputs."""
    if len(inputs) < 3 or "sub" not in operators:
        return None
    exponents = list_monomial_exponents(len(inputs), _MAX_DIFFERENCE_COLUMNS, has_roots=False)
    differences = [
        apply_operator(OPERATORS["square"], apply_operator(OPERATORS["sub"], Column(first), Column(second)))
        for first, second in combinations(inputs, 2)
    ]
    few = list_monomial_exponents(
        len(inputs), max(1, _MAX_DIFFERENCE_COLUMNS // len(differences)), has_roots=False
    )
    # products of two inputs are left out, because they are sums of squares
    terms: list[tuple[Exponents, Expression | None]] = [
        (each, None) for each in exponents if sum(power != 0 for power in each) < 2
    ]
    terms += [(each, difference) for difference in differences for each in few]
    if logs:
        terms += _list_logarithms(inputs)
    return MonomialDictionary(tuple(inputs), tuple(terms))


def _list_tangents(angle: Expression, operators: frozenset[str]) -> list[Expression]:
    """Return tan u and 1/cos² u, as far as the grammar has the operators."""
    tangents = []
    if "tan" in operators:
        tangents.append(apply_operator(OPERATORS["tan"], angle))
    if "cos" in operators:
        square = apply_operator(OPERATORS["square"], apply_operator(OPERATORS["cos"], angle))
        tangents.append(apply_operator(OPERATORS["inv"], square))
    return tangents


def build_waves(
    inputs: Sequence[str],
    operators: frozenset[str],
    *,
    limit: int = _MAX_WAVE_MONOMIALS,
    has_tangents: bool = True,
) -> list[MonomialDictionary]:
    """Build a dictionary for each angle u: monomials of the other inputs times 1, sin u, cos u and sin² u.

    The angle u is an input, or a difference, sum or product of two inputs. If it is an input, tan u and
    1/cos² u are factors, too, on request.
    """
    waves = [OPERATORS[name] for name in _WAVES if name in operators]
    if not waves:
        return []
    angles: list[Expression] = [Column(name) for name in inputs]
    angles += [
        apply_operator(OPERATORS[name], Column(first), Column(second))
        for first, second in combinations(inputs, 2)
        for name in ("sub", "add", "mul")
        if name in operators
    ]
    dictionaries = []
    for angle in angles:
        used = collect_columns(angle)
        others = tuple(name for name in inputs if name not in used)
        factors: list[Expression | None] = [None, *(apply_operator(wave, angle) for wave in waves)]
        square = apply_operator(OPERATORS["square"], apply_operator(waves[0], angle))
        exponents = list_monomial_exponents(len(others), limit, has_roots="sqrt" in operators)
        terms = [(each, factor) for factor in factors for each in exponents]
        few = list_monomial_exponents(len(others), _MAX_SQUARED_WAVE_MONOMIALS, has_roots=False)
        terms += [(each, square) for each in few if each in exponents]
        if has_tangents and isinstance(angle, Column):
            terms += [(each, factor) for factor in _list_tangents(angle, operators) for each in exponents]
        dictionaries.append(MonomialDictionary(others, tuple(terms)))
    return dictionaries


def build_logarithms(
    inputs: Sequence[str], operators: frozenset[str], *, limit: int = _MAX_LOGARITHM_MONOMIALS
) -> list[MonomialDictionary]:
    """Build a dictionary for each input or quotient u of two: monomials times 1 and log u."""
    if not {"log", "div"} <= operators:
        return []
    arguments: list[Expression] = [Column(name) for name in inputs]
    arguments += [
        apply_operator(OPERATORS["div"], Column(first), Column(second))
        for first, second in combinations(inputs, 2)
    ]
    exponents = list_monomial_exponents(len(inputs), limit, has_roots="sqrt" in operators)
    logarithms = [apply_operator(OPERATORS["log"], argument) for argument in arguments]
    return [
        MonomialDictionary(
            tuple(inputs), tuple((each, factor) for factor in (None, logarithm) for each in exponents)
        )
        for logarithm in logarithms
    ]
