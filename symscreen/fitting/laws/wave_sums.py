"""Find laws y = M·sin(s) and y = M·cos(s) with an angle s that is a sum, such as a·sin(k·x − w·t + f).

A wave that turns more than once has no inverse, so no scale of y makes such a law linear. Instead, all simple
angles s are tried: sums and differences of inputs and of products of up to three inputs. Some have a number,
such as 2·π, and some a third input as a phase. Inputs alone have all numbers of a grid.

For an angle s and a factor M, the model y = M·(a·sin s + b·cos s) is a linear regression with two columns,
and a·sin s + b·cos s is a wave of s + f. The sums over rows that all of these regressions need are a few
matrix products. M is a simple product of powers, or such a product times exp(−u).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import atan2, pi
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import Constant, apply_operator
from symscreen.fitting.laws.exponent_lists import list_index_exponents
from symscreen.fitting.laws.gauss_newton import solve_least_squares
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.law_selection import list_operator_names, round_share, select_laws
from symscreen.fitting.laws.monomial_dictionary import list_exponents_of_unit, list_monomial_exponents
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers
from symscreen.fitting.laws.refinement import count_fitted_constants
from symscreen.fitting.laws.sum_laws import scale_term
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import LawData

_Exponents: TypeAlias = tuple[int, ...]  # of a product, one for each input
_Angle: TypeAlias = tuple[tuple[int, float], ...]  # the place of each product that is added, and its number
_Factor: TypeAlias = "list[tuple[Expression, Fraction]]"  # the parts of M and their exponents

_MIN_ROWS = 40
_MAX_COMPARED_ROWS = 200
_NUMBERS = (0.5, 2.0, 3.0, pi, 2.0 * pi)  # simple numbers that multiply products in an angle
_MAX_INPUTS = 3  # inputs in a product
_MAX_PRODUCTS = 300
_MAX_COST = 7  # cost of an angle: the number of its inputs, and more for numbers
_MAX_ANGLES = 80_000  # angles that are compared with few factors
_MAX_SIMPLE_ANGLES = 6_000  # simple angles that are compared with all factors
_N_BEST_ANGLES = 400  # other angles that are compared with all factors, the best with few factors
_N_SINGLE_NUMBERS = 40  # numbers of a grid for an angle of one product
_N_PAIR_NUMBERS = 24  # numbers of a grid for each of two inputs
_MAX_GRID_INPUTS = 4  # inputs up to which numbers of a grid are tried
_N_MONOMIALS = 120  # factors that are products of powers
_N_AT_ONCE = 1_000  # angles whose regressions are computed together
_N_FITTED = 8  # waves that are fitted on all rows
_N_SIZES = 3  # numbers of inner constants among which the laws are divided
_MAX_LEFT = 0.5  # largest share of Σ y² that a wave may leave
_MIN_DETERMINANT = 1e-6  # smallest determinant of the inner products of two columns of norm 1
_MIN_AMPLITUDE = 1e-6  # smaller one of a and b relative to the larger one, up to which it is rounding


@dataclass(frozen=True, eq=False)
class _Wave:
    """An angle and a factor by their places, and the share of Σ y² that the regression leaves."""

    share: float
    angle: int
    factor: int


def find_waves_of_sums(data: LawData) -> list[Law]:
    """Find the best laws y = c·M·w(s + f) with a wave w, an angle s that is a sum, and a number f.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. A wave, sums, differences, products and quotients must be among its
        operators, else there are no laws of this form.

    Returns
    -------
    list of Law
        Laws of one term, whose inner constants are marked as fitted, best first.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> a, k, t, w, x = np.random.default_rng(0).uniform(1, 5, (5, 200))
    >>> columns = {"a": a, "k": k, "t": t, "w": w, "x": x}
    >>> laws = find_waves_of_sums(LawData(columns, a * np.cos(k * x - w * t), load_grammar("standard")))
    >>> print(laws[0].terms[0])
    a*cos(k*x - t*w)
    """
    operators = list_operator_names(data.grammar)
    waves = [name for name in ("sin", "cos") if name in operators]
    if not waves or not operators >= {"mul", "div", "add", "sub"} or len(data.target) < _MIN_ROWS:
        return []
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return select_laws(list(_search_waves(data, waves)), _N_SIZES)


def _search_waves(data: LawData, waves: Sequence[str]) -> Iterator[tuple[float, Law]]:
    """Yield the laws of the best angles and factors, with the rounded shares that they leave."""
    products = _list_products(data)
    parts = [
        build_power_product(list_column_powers(zip(data.columns, each, strict=True))) for each in products
    ]
    angles = [*_list_angles(products, _MAX_ANGLES), *_list_grid_angles(parts, products, data)]
    factors = _list_factors(data)
    if not parts or not factors:
        return
    few = [factor for factor in factors if sum(abs(power) for _, power in factor) <= 1] or factors
    if "exp" in list_operator_names(data.grammar):
        decays = [apply_operator(OPERATORS["exp"], part) for part in parts[: _count_short(products)]]
        factors = factors + [[*factor, (decay, Fraction(-1))] for factor in few for decay in decays]
    promising = [angles[wave.angle] for wave in _compare_waves(parts, angles, few, data, _N_BEST_ANGLES)]
    chosen = [*dict.fromkeys([*_list_angles(products, _MAX_SIMPLE_ANGLES), *promising])]
    search_size = float(len(angles)) * len(factors) * len(waves)
    for wave in _compare_waves(parts, chosen, factors, data, _N_FITTED):
        if wave.share <= _MAX_LEFT:
            angle = _build_angle(parts, chosen[wave.angle])
            yield from _fit_wave(angle, factors[wave.factor], waves, search_size, data)


def _list_products(data: LawData) -> list[_Exponents]:
    """List the products of up to three inputs with exponents ±1, the simplest first, without 1/(a·b).

    With units, they are dimensionless. Of equally simple products, all are in the list or none.
    """
    k = len(data.columns)
    found: list[_Exponents] = []
    for total in range(1, _MAX_INPUTS + 1):
        new = []
        for each in list_index_exponents(k, total, total):
            if sum(map(abs, each)) == total and max(map(abs, each)) == 1:
                new += [each, tuple(-power for power in each)] if -1 in each else [each]
        if len(found) + len(new) > _MAX_PRODUCTS:
            break
        found += new
    if data.lattice is None:
        return found
    is_allowed = data.lattice.select_dimensionless(np.array(found, dtype=np.int64).reshape(-1, k)).tolist()
    return [each for each, allowed in zip(found, is_allowed, strict=True) if allowed]


def _count_short(products: Sequence[_Exponents]) -> int:
    """Count the products with fewer than three inputs."""
    return sum(sum(map(abs, product)) < _MAX_INPUTS for product in products)


def _list_angles(products: Sequence[_Exponents], limit: int) -> list[_Angle]:
    """List the simplest angles, at most `limit`; of equally simple ones, all or none."""
    costs = [sum(map(abs, exponents)) for exponents in products]
    found: list[_Angle] = []
    for cost in range(1, _MAX_COST + 1):
        new: list[_Angle] = []
        for angle in _iterate_angles(costs, cost):
            new.append(angle)
            if len(found) + len(new) > limit:
                return found
        found += new
    return found


def _iterate_angles(costs: Sequence[int], cost: int) -> Iterator[_Angle]:
    """Yield the angles of a cost, given the costs of the products.

    A number costs 1, and 2 if it multiplies one of two products only.
    """
    for place, own in enumerate(costs):
        if own == cost:
            yield ((place, 1.0),)
        elif own == cost - 1:
            yield from (((place, number),) for number in _NUMBERS)
    for first, second in combinations(range(len(costs)), 2):
        rest = cost - costs[first] - costs[second]
        for sign in (1.0, -1.0):
            if rest == 0:
                yield (first, 1.0), (second, sign)
            elif rest == 1:
                yield from (((first, number), (second, sign * number)) for number in _NUMBERS)
                for phase in _list_phases(first, second, costs):
                    yield (first, 1.0), (second, sign), (phase, 1.0)
                    yield (first, 1.0), (second, sign), (phase, -1.0)
            elif rest == 2:
                for number in _NUMBERS:
                    yield (first, number), (second, sign)
                    yield (first, 1.0), (second, sign * number)


def _list_phases(first: int, second: int, costs: Sequence[int]) -> list[int]:
    """Return the inputs that follow those among two products, so that no sum is listed twice."""
    last = max((place for place in (first, second) if costs[place] == 1), default=-1)
    return [place for place in range(last + 1, len(costs)) if costs[place] == 1]


def _list_grid_angles(
    parts: Sequence[Expression], products: Sequence[_Exponents], data: LawData
) -> Iterator[_Angle]:
    """Yield the multiples of each input or product of two, and sums of multiples of two inputs.

    The step of a number turns a wave by a quarter over the range of its product.
    """
    if len(data.columns) > _MAX_GRID_INPUTS:
        return
    n_short = _count_short(products)
    spans = [np.ptp(evaluate_expression(part, data.columns)) for part in parts[:n_short]]
    steps = [0.5 * pi / float(span) if np.isfinite(span) and span > 0.0 else 0.0 for span in spans]
    for place, step in enumerate(steps):
        yield from (((place, step * k),) for k in range(1, _N_SINGLE_NUMBERS + 1) if step)
    inputs = [place for place in range(n_short) if sum(map(abs, products[place])) == 1 and steps[place]]
    for first, second in combinations(inputs, 2):
        for j, k in product(range(1, _N_PAIR_NUMBERS + 1), repeat=2):
            for sign in (1.0, -1.0):
                yield (first, steps[first] * j), (second, sign * steps[second] * k)


def _list_factors(data: LawData) -> list[_Factor]:
    """List the simplest products of powers M, with units only those that have the unit of the target."""
    unit = data.target_unit
    if data.lattice is None or unit is None:
        exponents = list_monomial_exponents(len(data.columns), _N_MONOMIALS, has_roots=False)
    else:
        exponents = list_exponents_of_unit(data.lattice, unit, _N_MONOMIALS, has_roots=False)
    return [[*list_column_powers(zip(data.columns, each, strict=True))] for each in exponents]


def _build_angle(parts: Sequence[Expression], angle: _Angle) -> Expression:
    """Build an angle; numbers other than 1 are marked as fitted."""
    (place, number), *others = angle
    total = parts[place] if number == 1.0 else scale_term(number, parts[place])
    for place, number in others:
        size = abs(number)
        scaled = parts[place] if size == 1.0 else scale_term(size, parts[place])
        total = apply_operator(OPERATORS["sub" if number < 0.0 else "add"], total, scaled)
    return total


def _compare_waves(
    parts: Sequence[Expression],
    angles: Sequence[_Angle],
    factors: Sequence[_Factor],
    data: LawData,
    n_kept: int,
) -> list[_Wave]:
    """Return the best waves on some of the rows, at most one of each angle, best first."""
    rows = data.select_rows(_MAX_COMPARED_ROWS)
    columns = {name: values[rows] for name, values in data.columns.items()}
    addends = _evaluate_all(parts, columns)
    weights = _evaluate_all(list(map(build_power_product, factors)), columns)
    target = data.target[rows]
    best: list[_Wave] = []
    for start in range(0, len(angles), _N_AT_ONCE):
        values = _evaluate_angles(addends, angles[start : start + _N_AT_ONCE])
        shares = _compute_shares(values, weights, target)
        factor = np.argmin(shares, axis=0)
        least = shares[factor, np.arange(shares.shape[1])]
        best += [
            _Wave(float(least[place]), start + place, int(factor[place]))
            for place in np.argsort(least, kind="stable")[:n_kept].tolist()
            if np.isfinite(least[place])
        ]
    return sorted(best, key=lambda wave: (round_share(wave.share), wave.angle, wave.factor))[:n_kept]


def _evaluate_all(expressions: Sequence[Expression], columns: Mapping[str, Values]) -> Values:
    """Evaluate formulas, shape (q, n); values are not finite where one is undefined."""
    n = len(next(iter(columns.values())))
    return np.array([evaluate_expression(each, columns) * np.ones(n) for each in expressions]).reshape(-1, n)


def _evaluate_angles(addends: Values, angles: Sequence[_Angle]) -> Values:
    """Evaluate angles, shape (q, n), from the values of the products, shape (p, n)."""
    most = max(map(len, angles))
    nothing = ((len(addends), 0.0),)
    padded = [angle + nothing * (most - len(angle)) for angle in angles]
    rows = np.vstack([addends, np.zeros(addends.shape[1])])
    combined = np.zeros((len(angles), addends.shape[1]))
    for each in zip(*padded, strict=True):
        places, numbers = zip(*each, strict=True)
        combined += np.array(numbers)[:, None] * rows[list(places)]
    return combined


def _compute_shares(angles: Values, factors: Values, target: Values) -> Values:
    """Compute the shares of Σ y² that regressions on M·sin s and M·cos s leave, shape (m, q).

    Parameters
    ----------
    angles : float64 array, shape (q, n)
        Values of s.
    factors : float64 array, shape (m, n)
        Values of M. A factor or an angle that is not finite in some row has the share infinity.
    target : float64 array, shape (n,)
        The target.
    """
    is_finite = np.isfinite(angles).all(axis=1, keepdims=True)
    is_usable = np.isfinite(factors).all(axis=1, keepdims=True)
    angles, factors = np.where(is_finite, angles, 0.0), np.where(is_usable, factors, 0.0)
    for norm in (np.inf, 2):  # squares of values of at most 1 do not overflow
        norms = np.linalg.norm(factors, norm, axis=1, keepdims=True)
        factors = factors / np.where(norms > 0.0, norms, 1.0)
    sines, cosines = np.sin(angles), np.cos(angles)
    weighted, squared = factors * target, factors**2
    of_sine, of_cosine = weighted @ sines.T, weighted @ cosines.T
    sine_squares, mixed = squared @ (sines**2).T, squared @ (sines * cosines).T
    cosine_squares = squared @ (cosines**2).T
    determinant = sine_squares * cosine_squares - mixed**2
    with np.errstate(all="ignore"):
        explained = (
            of_sine**2 * cosine_squares - 2.0 * of_sine * of_cosine * mixed + of_cosine**2 * sine_squares
        ) / determinant
    shares = 1.0 - explained / float(target @ target)
    is_determined = determinant > _MIN_DETERMINANT * sine_squares * cosine_squares
    is_determined &= is_finite.T & is_usable & (norms > 0.0)
    return np.where(is_determined, shares, np.inf)


def _fit_wave(
    angle: Expression, factor: _Factor, waves: Sequence[str], search_size: float, data: LawData
) -> Iterator[tuple[float, Law]]:
    """Yield the laws M·sin s, M·cos s and M·w(s + f) with the rounded shares that they leave."""
    centered = data.target - data.target.mean()
    arguments = [(name, angle) for name in waves]
    phase = _estimate_phase(angle, factor, waves[0], data)
    if phase is not None:
        arguments.append((waves[0], apply_operator(OPERATORS["add"], angle, Constant(phase, fitted=True))))
    for name, argument in arguments:
        term = build_power_product([*factor, (apply_operator(OPERATORS[name], argument), Fraction(1))])
        values = evaluate_expression(term, data.columns)
        coefficient = solve_least_squares(values[None], data.target)
        law = Law(
            (term,), has_intercept=False, search_size=search_size, n_constants=count_fitted_constants(term)
        )
        if coefficient is not None and data.allows(law):
            residuals = data.target - coefficient[0] * values
            yield round_share(float(residuals @ residuals) / float(centered @ centered)), law


def _estimate_phase(angle: Expression, factor: _Factor, name: str, data: LawData) -> float | None:
    """Estimate f of M·w(s + f); None if the wave is a sine or a cosine of s alone."""
    values = evaluate_expression(angle, data.columns)
    scale = evaluate_expression(build_power_product(factor), data.columns)
    fitted = solve_least_squares(np.array([scale * np.sin(values), scale * np.cos(values)]), data.target)
    if fitted is None or np.abs(fitted).min() <= _MIN_AMPLITUDE * np.abs(fitted).max():
        return None
    sine, cosine = fitted.tolist()
    # a·sin s + b·cos s is C·sin(s + f) with tan f = b/a, and C·cos(s + f) with tan f = −a/b
    return atan2(cosine, sine) if name == "sin" else atan2(-sine, cosine)
