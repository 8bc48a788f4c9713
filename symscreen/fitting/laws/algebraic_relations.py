"""Find algebraic relations that hold without error: equations of degree one or two in the target.

Let z = y/C with a power product C of inputs that only multiply the target. A relation of degree one,
Σ aⱼ·Dⱼ·z = Σ bₖ·Tₖ, is a quotient of sums. One of degree two, z² − 2·Σ aⱼ·Tⱼ·z = Σ bₖ·Sₖ, is a sum of up to
two terms and a root, such as q·V + √((p − q·A)²·c² + m²·c⁴). D, T and S are monomials of the inputs, times
waves of one angle. With units, they have the units that the relation needs.

All terms T (or S) are projected out of z and of its products D·z (or of z² and the products T·z). A relation
holds where what is left is zero or linearly dependent, so no subset of the terms has to be tried. One
regression on all terms then gives the coefficients. Few of them are not zero. So a law may have many terms.
Noise hides such relations: the search only finds laws without error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Call, Constant, apply_operator
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.law_selection import (
    list_operator_names,
    select_laws,
    select_spread_rows,
)
from symscreen.fitting.laws.monomial_dictionary import (
    MonomialDictionary,
    build_monomials,
    build_polynomial,
    build_waves,
    walk_exponents_of_unit,
)
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers
from symscreen.fitting.laws.quotient_laws import build_quotient_law
from symscreen.fitting.laws.sum_laws import build_sum_law, build_weighted_sum, is_usable
from symscreen.fitting.laws.target_scales import (
    IDENTITY,
    SQUARE,
    build_response,
    find_factored_powers,
)
from symscreen.fitting.laws.unit_dictionaries import restrict_factor
from symscreen.fitting.laws.unit_lattice import build_unit_lattice
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import LawData
    from symscreen.fitting.laws.monomial_dictionary import Exponents
    from symscreen.fitting.laws.target_scales import Powers, Response
    from symscreen.fitting.laws.unit_lattice import UnitLattice
    from symscreen.units import Units


_SIZES = (24, 80, 320)  # terms of a dictionary, smallest first
_MAX_ROWS = 600
_MAX_ANGLES = 12  # dictionaries with waves
_MAX_MULTIPLIERS = 72  # terms D or T that z is multiplied by
_MAX_SETS = 4  # of products whose relations are solved
_MAX_TERMS = 10  # terms of a relation
_MAX_TERMS_PER_INPUT = 3  # of a quotient with more than two terms D: with more, any smooth function is one
_MAX_USED_SHARE = 0.5  # of the terms of a dictionary, beyond four: smooth functions are combinations of all
_MIN_SPARE_ROWS = 1.5  # rows for each term of a dictionary
_EXACT = 1e-10  # relative norm of what is left of a relation
_MIN_LEFT = 1e-8  # relative norm of what is left of z or of a product, above which it is not rounding
_MIN_OWN = 1e-12  # the part of a term that those before it do not explain, relative to the term
_MAX_ANGLE = 1e-4  # between directions that agree
_MAX_ROUNDING = 1e-9  # part of a product that those before it do not explain, if it is rounding
_SAME_NUMBER = 1e-8  # relative difference of equal numbers
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class _Plan:
    """A power product C, and the terms of the relations of z = y/C, with their values on the rows.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (m,)
        The inputs.
    response : Response
        The target y and the power product C.
    target : float64 array, shape (m,)
        Values of z.
    terms, divisors, squares : (MonomialDictionary, float64 array)
        The terms T, D and S, with values, shape (q, m).
    """

    columns: Mapping[str, Values]
    response: Response
    target: Values
    terms: tuple[MonomialDictionary, Values]
    divisors: tuple[MonomialDictionary, Values]
    squares: tuple[MonomialDictionary, Values]


def find_algebraic_relations(data: LawData) -> list[Law]:
    """Find laws y = C·P/Q and y = C·(Σ aⱼ·Tⱼ ± √S) without error, whose sums may have up to ten terms.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. ``mul``, ``div`` and ``add`` must be among its operators, else there are
        no laws of this form.

    Returns
    -------
    list of Law
        Only those that fit all rows up to rounding; simplest first.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.fitting.laws.refinement import refine_law
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> columns = dict(zip("abcd", rng.uniform(1, 5, (4, 600))))
    >>> a, b, c, d = columns.values()
    >>> data = LawData(columns, a * b + np.sqrt((c - d) ** 2 + b**2 * c), load_grammar("basic"))
    >>> for term in refine_law(find_algebraic_relations(data)[0], data).terms:
    ...     print(term)
    a*b
    sqrt(c**2 + d**2 + b**2*c - 2*c*d)
    """
    operators = list_operator_names(data.grammar)
    if not {"mul", "div", "add"} <= operators:
        return []
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        rows = select_spread_rows(data, _MAX_ROWS)
        found: list[tuple[float, Law]] = []
        for size in _SIZES:
            for plan in _list_plans(data, operators, rows, size):
                laws = _find_all_quotients(plan)
                if "sqrt" in operators:
                    squared = None if laws else _square_target(plan, data)
                    if squared is not None:
                        laws = _find_all_quotients(squared)
                    laws += _find_roots(plan)
                found += [(0.0, law) for law in laws]
            found = [(share, law) for share, law in found if data.allows(law)]
            if found:
                break
    return select_laws(found, 1)


def _list_plans(
    data: LawData, operators: frozenset[str], rows: NDArray[np.int64], size: int
) -> Iterator[_Plan]:
    """Yield the power products and dictionaries that are combined."""
    columns = {name: values[rows] for name, values in data.columns.items()}
    if len(rows) < _MIN_SPARE_ROWS * size:
        return
    names = tuple(columns)
    factored: list[dict[str, Fraction]] = []
    for is_exact in (True, False):
        found = find_factored_powers(data.columns, data.target, is_exact=is_exact)
        powers = {name: power for name, power in found.items() if power}
        if len(powers) < len(columns) and powers not in factored:
            factored.append(powers)
    if {} not in factored:
        factored.append({})
    choices = [(powers, tuple(name for name in names if name not in powers)) for powers in factored]
    choices += [({name: Fraction(1)}, names) for name in _find_sign_inputs(data)]
    whole = operators - {"sqrt"}
    for place, (chosen, inputs) in enumerate(choices):
        dictionaries = [
            build_monomials(inputs, whole, logs=False, limit=size),
            build_polynomial(inputs, limit=size),
        ]
        if not place:
            # with tangents, there would be nearly as many terms as rows, and no relation would be clear
            waves = build_waves(inputs, whole, limit=size // 4, has_tangents=False)
            usable = [each for each in waves if data.lattice is None or _has_angle(each, data.lattice)]
            dictionaries += [varied for each in usable[:_MAX_ANGLES] for varied in _vary_squares(each)]
        for dictionary in dictionaries:
            plan = _build_plan(data, columns, data.target[rows], chosen, dictionary)
            if plan is not None:
                yield plan


def _find_sign_inputs(data: LawData) -> list[str]:
    """Find the inputs that change their sign together with the target, or against it.

    Such an input is a factor outside of the root in y = x·√(P/Q), where x also occurs inside.
    """
    signs = np.sign(data.target)
    return [
        name
        for name, values in data.columns.items()
        if values.min() < 0.0 < values.max()
        and abs(float(np.sign(values) @ signs)) == np.count_nonzero(signs)
    ]


def _has_angle(waves: MonomialDictionary, lattice: UnitLattice) -> bool:
    """Return whether the angle of the waves is a pure number."""
    return all(factor is None or lattice.has_unit(factor) for _, factor in waves.terms)


def _vary_squares(waves: MonomialDictionary) -> list[MonomialDictionary]:
    """Give the square of a wave as many monomials as 1; once with sin² and once with cos²."""
    plain = [term for term in waves.terms if not _is_square(term[1])]
    exponents = [powers for powers, factor in plain if factor is None]
    functions = {factor for _, factor in plain if factor is not None}
    varied = []
    for function in sorted(functions, key=str):
        square = apply_operator(OPERATORS["square"], function)
        varied.append(MonomialDictionary(waves.inputs, (*plain, *((powers, square) for powers in exponents))))
    return varied


def _is_square(factor: Expression | None) -> bool:
    """Return whether a factor is a square."""
    return isinstance(factor, Call) and factor.operator.name == "square"


def _build_plan(
    data: LawData,
    columns: dict[str, Values],
    target: Values,
    powers: Powers,
    dictionary: MonomialDictionary,
) -> _Plan | None:
    """Evaluate the terms of a plan, with units those that the relations need; None if z is undefined."""
    terms = divisors = squares = dictionary
    if data.units is not None and data.units.target is not None:
        inputs = tuple(name for name in dictionary.inputs if (columns[name] != 0.0).all())
        restricted = restrict_factor(IDENTITY, powers, inputs, data.units)
        if restricted is None:
            return None
        powers, unit = restricted
        terms, divisors, squares = (
            _restrict_terms(dictionary, multiple * unit, data.units) for multiple in (1.0, 0.0, 2.0)
        )
    response = build_response(IDENTITY, powers, columns, target)
    if response is None:
        return None
    z = target / response.factor
    if not np.isfinite(z).all() or not z.any():
        return None
    evaluated = [_evaluate(each, columns) for each in (terms, divisors, squares)]
    return _Plan(columns, response, z, *evaluated) if all(len(each) for each, _ in evaluated) else None


def _square_target(plan: _Plan, data: LawData) -> _Plan | None:
    """Return the plan for z², whose quotients are laws y = C·√(P/Q).

    There is none if z changes its sign, with units, or with waves.
    """
    has_waves = any(factor is not None for _, factor in plan.terms[0].terms)
    if data.units is not None or has_waves or plan.target.min() * plan.target.max() <= 0.0:
        return None
    target = plan.target * plan.response.factor
    response = build_response(SQUARE, plan.response.powers, plan.columns, target)
    return None if response is None else replace(plan, response=response, target=plan.target**2)


def _restrict_terms(dictionary: MonomialDictionary, unit: Values, units: Units) -> MonomialDictionary:
    """Give each factor as many monomials as before, but those with which it has a unit."""
    lattice = build_unit_lattice(units, dictionary.inputs)
    counts: dict[Expression | None, int] = {}
    for _, factor in dictionary.terms:
        counts[factor] = counts.get(factor, 0) + 1
    terms: list[tuple[Exponents, Expression | None]] = []
    for factor, count in counts.items():
        own = np.zeros_like(unit) if factor is None else lattice.compute_unit(factor)
        if own is not None:
            terms += [(powers, factor) for powers in walk_exponents_of_unit(lattice, unit - own, count)]
    return MonomialDictionary(dictionary.inputs, tuple(terms))


def _evaluate(
    dictionary: MonomialDictionary, columns: dict[str, Values]
) -> tuple[MonomialDictionary, Values]:
    """Evaluate the terms that are defined in all rows."""
    values = dictionary.evaluate(columns)
    kept = np.flatnonzero(np.isfinite(values).all(axis=1) & (np.abs(values).max(axis=1) > 0.0)).tolist()
    return dictionary.take(kept), values[kept]


def _find_all_quotients(plan: _Plan) -> list[Law]:
    """Find relations of degree one, with more than two terms D only if there are none with fewer."""
    return _find_quotients(plan) or _find_long_quotients(plan)


def _find_quotients(plan: _Plan) -> list[Law]:
    """Find relations of degree one, with up to two terms D."""
    terms, values = plan.terms
    divisors, divisor_values = plan.divisors
    varying = np.flatnonzero(np.ptp(divisor_values, axis=1) > 0.0)[:_MAX_MULTIPLIERS]
    laws = []
    for chosen in _find_dependent(plan.target, divisor_values[varying] * plan.target, values):
        lower = varying[list(chosen)]
        solved = solve_sparsely(
            plan.target, np.vstack([-divisor_values[lower] * plan.target, values]), len(lower)
        )
        if solved is None:
            continue
        places, numbers = solved
        upper = [place - len(lower) for place in places[len(lower) :]]
        denominator = 1.0 + numbers[: len(lower)] @ divisor_values[lower]
        if not upper or denominator.min() * denominator.max() <= 0.0:
            continue
        n_laws = float(comb(len(terms), len(upper)) * comb(len(varying), len(lower)))
        above, coefficients = terms.take(upper), np.r_[numbers[len(lower) :], numbers[: len(lower)]]
        law = (
            build_quotient_law(plan.response, above, divisors.take(lower.tolist()), coefficients, n_laws)
            if len(lower)
            else build_sum_law(plan.response, _list_expressions(above), coefficients, n_laws)
        )
        if law is not None:
            laws.append(law)
    return laws


def _find_long_quotients(plan: _Plan) -> list[Law]:
    """Find the relation of degree one with the simplest terms D, of which one becomes 1.

    In the order of the terms D, the first product D·z that depends on those before it and on the terms T has
    a relation. It is the only one of these products, so its coefficients are determined.
    """
    terms, values = plan.terms
    divisors, divisor_values = plan.divisors
    products = divisor_values[:_MAX_MULTIPLIERS] * plan.target
    last = _find_first_dependent(_project(products, _find_basis(values))[0])
    if last is None:
        return []
    solved = solve_sparsely(products[last], np.vstack([-products[:last], values]), 0)
    if solved is None or not all(map(is_usable, solved[1].tolist())):
        return []
    below = [place for place in solved[0] if place < last]
    above = [place - last for place in solved[0] if place >= last]
    exponents, factor = divisors.terms[last]
    limit = min(_MAX_TERMS - 1, _MAX_TERMS_PER_INPUT * len(plan.columns))
    if not above or not below or factor is not None or len(solved[0]) > limit:
        return []
    numbers = np.r_[solved[1][len(below) :], solved[1][: len(below)]]
    denominator = divisor_values[last] + numbers[len(above) :] @ divisor_values[below]
    if denominator.min() * denominator.max() <= 0.0:
        return []
    n_laws = float(comb(len(terms), len(above)) * comb(len(products), len(below) + 1))
    upper, lower = (_divide(each, exponents) for each in (terms.take(above), divisors.take(below)))
    law = build_quotient_law(plan.response, upper, lower, numbers, n_laws)
    return [] if law is None else [law]


def _find_first_dependent(directions: Values) -> int | None:
    """Return the first of unit vectors, shape (p, m), that depends on those before it, up to rounding.

    If none does, the first one that nearly depends on them is returned.
    """
    basis = np.empty((0, directions.shape[1]))
    nearly: int | None = None
    for place, direction in enumerate(directions):
        remainder = direction - (direction @ basis.T) @ basis
        remainder = remainder - (remainder @ basis.T) @ basis
        size = float(np.linalg.norm(remainder))
        if size <= _MAX_ANGLE and not (place and direction.any()):
            return None
        if size <= _MAX_ROUNDING:
            return place
        if size <= _MAX_ANGLE and nearly is None:
            nearly = place
        basis = np.vstack([basis, remainder / size])
    return nearly


def _divide(dictionary: MonomialDictionary, exponents: Exponents) -> MonomialDictionary:
    """Divide the terms of a dictionary by a monomial."""
    terms = [
        (tuple(a - b for a, b in zip(own, exponents, strict=True)), factor)
        for own, factor in dictionary.terms
    ]
    return MonomialDictionary(dictionary.inputs, tuple(terms))


def _find_roots(plan: _Plan) -> list[Law]:
    """Find relations of degree two, y = C·(Σ aⱼ·Tⱼ ± √S), with up to two terms T."""
    squares, values = plan.squares
    products = plan.terms[1][:_MAX_MULTIPLIERS]
    laws = []
    for chosen in _find_dependent(plan.target**2, products * plan.target, values):
        outer = products[list(chosen)]
        sizes = np.empty(0)
        if chosen:
            solved = solve_sparsely(
                plan.target**2, np.vstack([2.0 * outer * plan.target, values]), len(outer)
            )
            if solved is None:
                continue
            sizes = solved[1][: len(outer)]
        remainder = plan.target - sizes @ outer
        solved = solve_sparsely(remainder**2, values, 0)
        if solved is None or len(solved[0]) < 2 or not all(map(is_usable, solved[1].tolist())):
            continue
        size = float(sizes[0]) if chosen else 0.0
        root = _build_root(plan, remainder, squares.take(solved[0]), solved[1], size)
        n_laws = float(comb(len(squares), len(solved[0])) * len(products) ** len(chosen))
        if root is not None:
            laws.append(_build_root_law(plan, chosen, root, n_laws))
    return laws


@dataclass(frozen=True, eq=False)
class _Root:
    """The root ±b·f·√S, where one term of S has the coefficient 1.

    Parameters
    ----------
    is_positive : bool
        Whether the sign is that of the coefficient of T.
    factor : Expression or None
        The factor f, whose square all terms of S have; None for 1.
    squares : MonomialDictionary
        The terms of S.
    numbers : list of float
        Their coefficients.
    lead : int
        The term whose coefficient is 1.
    has_size : bool
        Whether b is the size of the coefficient of T.
    """

    is_positive: bool
    factor: Expression | None
    squares: MonomialDictionary
    numbers: list[float]
    lead: int
    has_size: bool


def _build_root(
    plan: _Plan, root_values: Values, squares: MonomialDictionary, numbers: Values, size: float
) -> _Root | None:
    """Take a square that all terms share out of a root, and divide by the coefficient of one term.

    It is that of T², where S has this coefficient, so that a·T and the root have the same one. None if the
    root has both signs, or no coefficient is positive.
    """
    shared = {factor for _, factor in squares.terms}
    square = next(iter(shared)) if len(shared) == 1 else None
    factor, signs = None, root_values
    if isinstance(square, Call) and square.operator.name == "square":
        factor = square.arguments[0]
        squares = MonomialDictionary(squares.inputs, tuple((each, None) for each, _ in squares.terms))
        signs = root_values * evaluate_expression(factor, plan.columns)
    largest, smallest = float(signs.max()), float(signs.min())
    if not (numbers > 0.0).any() or min(largest, -smallest) > _EXACT * max(largest, -smallest):
        return None
    is_lead = np.abs(numbers - size**2) <= _SAME_NUMBER * size**2
    lead = int(np.argmax(is_lead if is_lead.any() else numbers > 0.0))
    scaled = (numbers / numbers[lead]).tolist()
    return _Root((largest > -smallest) == (size >= 0.0), factor, squares, scaled, lead, bool(is_lead.any()))


def _build_root_law(plan: _Plan, outer: Sequence[int], root: _Root, n_laws: float) -> Law:
    """Write y = C·(Σ aⱼ·Tⱼ ± √S) as a law; as y = a·C·T·(1 ± √(S/T²)) if S has the term a²·T² of one T."""
    dictionary = plan.terms[0]
    exponents, outer_factor = dictionary.terms[outer[0]] if len(outer) == 1 else ((), None)
    powers = list_column_powers(plan.response.powers.items())
    factors: list[tuple[Expression, Fraction]] = []
    if root.factor is not None:
        factors.append((root.factor, Fraction(1)))
    is_common = (
        root.has_size
        and len(outer) == 1
        and outer_factor is None
        and root.squares.terms[root.lead] == (tuple(2 * power for power in exponents), None)
    )
    shift = [-2 * power for power in exponents] if is_common else [Fraction(0)] * len(root.squares.inputs)
    inner = build_weighted_sum(root.squares.multiply(shift), root.numbers, {root.lead})
    factors.append((apply_operator(OPERATORS["sqrt"], inner), Fraction(1)))
    terms: tuple[Expression, ...] = (build_power_product([*powers, *factors]),)
    if is_common:
        name = "add" if root.is_positive else "sub"
        both = apply_operator(OPERATORS[name], Constant(1), build_power_product(factors))
        own = list_column_powers(zip(dictionary.inputs, exponents, strict=True))
        terms = (build_power_product([*powers, *own, (both, Fraction(1))]),)
    else:
        outside = (build_power_product([*powers, (dictionary.build_term(k), Fraction(1))]) for k in outer)
        terms = (*outside, *terms)
    return Law(terms, has_intercept=False, search_size=n_laws, n_constants=len(root.numbers) - 1)


def _list_expressions(dictionary: MonomialDictionary) -> list[Expression]:
    """Return the expressions of all terms."""
    return [dictionary.build_term(index) for index in range(len(dictionary))]


def _find_dependent(target: Values, products: Values, terms: Values) -> list[tuple[int, ...]]:
    """Find the smallest sets of up to two products that give the target together with the terms.

    Parameters
    ----------
    target : float64 array, shape (m,)
        The target, z or z².
    products : float64 array, shape (p, m)
        Products of z.
    terms : float64 array, shape (q, m)
        The terms.

    Returns
    -------
    list of tuple of int
        Sets of products of equal size, which is the smallest possible.
    """
    basis = _find_basis(terms)
    if len(target) < _MIN_SPARE_ROWS * basis.shape[1]:
        return []
    remainder, size = _project(target[None], basis)
    if size[0] <= _EXACT:
        return [()]
    if size[0] <= _MIN_LEFT:
        return []
    directions, sizes = _project(products, basis)
    usable = np.flatnonzero(sizes > _MIN_LEFT)
    directions = directions[usable]
    matches = _find_parallel(remainder[0], directions)
    if matches:
        return [(int(usable[k]),) for k in matches[:_MAX_SETS]]
    pairs: set[tuple[int, ...]] = set()
    for place, direction in enumerate(directions):
        others = directions[place + 1 :]
        rest = _normalize(others - np.outer(others @ direction, direction))
        own = _normalize((remainder[0] - (remainder[0] @ direction) * direction)[None])[0]
        pairs |= {(int(usable[place]), int(usable[place + 1 + k])) for k in _find_parallel(own, rest)}
    return sorted(pairs)[:_MAX_SETS]


def _find_parallel(direction: Values, others: Values) -> list[int]:
    """Return the places of unit vectors that agree with a direction up to sign."""
    if not len(others):
        return []
    differences = np.linalg.norm(others - np.outer(others @ direction, direction), axis=1)
    return np.flatnonzero((differences <= _MAX_ANGLE) & others.any(axis=1)).tolist()


def _find_basis(terms: Values) -> Values:
    """Return an orthonormal basis of the terms, shape (m, r)."""
    q, r = np.linalg.qr(_normalize(terms).T)
    return np.asarray(q[:, np.abs(np.diag(r)) > _MIN_OWN])


def _project(rows: Values, basis: Values) -> tuple[Values, Values]:
    """Project a basis out of rows; return unit vectors, and the norms relative to those of the rows."""
    remainders = _normalize(rows)
    for _ in range(2):
        remainders = remainders - (remainders @ basis) @ basis.T
    return _normalize(remainders), np.linalg.norm(remainders, axis=1)


def _normalize(rows: Values) -> Values:
    """Divide rows by their norms."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _TINY))


def solve_sparsely(target: Values, rows: Values, n_needed: int) -> tuple[list[int], Values] | None:
    """Find few rows whose combination is the target, from the coefficients of the combination of all.

    Parameters
    ----------
    target : float64 array, shape (m,)
        The target, a combination of the rows up to rounding.
    rows : float64 array, shape (q, m)
        The rows.
    n_needed : int
        Number of rows, from the first on, that are always used.

    Returns
    -------
    list of int
        The rows, at most ten, in their order.
    float64 array
        Their coefficients.

    None is returned if more are needed.
    """
    norms = np.linalg.norm(rows, axis=1)
    design, size = (rows / norms[:, None]).T, np.linalg.norm(target)
    contributions = np.abs(np.linalg.lstsq(design, target, rcond=1e-14)[0])
    contributions[:n_needed] = np.inf
    order = np.argsort(-contributions, kind="stable")
    limit = min(_MAX_TERMS, max(4, int(_MAX_USED_SHARE * len(rows))), len(rows))
    for count in range(max(n_needed, 1), limit + 1):
        places = np.sort(order[:count])
        numbers = np.linalg.lstsq(design[:, places], target, rcond=None)[0]
        if np.linalg.norm(design[:, places] @ numbers - target) <= _EXACT * size:
            return places.tolist(), numbers / norms[places]
    return None
