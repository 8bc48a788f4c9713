"""Find quotients of short sums, y = C·g(P/Q), by multiplying the denominator out.

With Q = 1 + Σ qⱼ·Nⱼ, the law t(y/C)·Q = P is linear in all coefficients: t = Σ pᵢ·Mᵢ − Σ qⱼ·t·Nⱼ. Any
denominator has this form after both sums are divided by one of its terms. Each product t·N is combined with
all subsets of up to three terms M, and with all pairs of terms of both kinds. So (m₁r₁ + m₂r₂)/(m₁ + m₂),
(u + v)/(1 + uv/c²) and d·(1 − a²)/(1 + a·cos θ) are found from three coefficients each.

The products t·N contain the noise of y. With noise the search is therefore repeated with t(ŷ)·N, where ŷ is a
smooth approximation. The best laws are fitted on the scale of y, where their coefficients have no bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.laws.forward_selection import build_gram, select_forward
from symscreen.fitting.laws.gauss_newton import improve_fit, solve_least_squares
from symscreen.fitting.laws.law_selection import (
    FITTED_EXACT_SHARE,
    PLAIN_OPERATORS,
    list_operator_names,
    round_share,
    select_laws,
    select_spread_rows,
)
from symscreen.fitting.laws.monomial_dictionary import (
    MonomialDictionary,
    build_monomials,
    build_waves,
)
from symscreen.fitting.laws.quotient_laws import build_quotient_law
from symscreen.fitting.laws.target_scales import (
    SCALES,
    build_response,
    find_most_factors,
    predict_target,
)
from symscreen.fitting.laws.unit_dictionaries import restrict_dictionary, restrict_factor
from symscreen.linear_models.exhaustive_subsets import search_core_subsets
from symscreen.linear_models.gram import compute_gram
from symscreen.statistics.spread_places import select_spread_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Flags, Values
    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.fitting.laws.target_scales import Powers, Response, TargetScale
    from symscreen.units import Units


_SCALE_NAMES = frozenset({"id", "sqrt", "asin", "acos"})
_WAVE_SCALE_NAMES = frozenset({"id", "acos"})
_MAX_RANKING_ROWS = 400
_MAX_FIT_ROWS = 2000
_MAX_CONSTANTS = 4  # largest number of coefficients of P and Q together
_MAX_MONOMIALS = 240
_MAX_WAVE_MONOMIALS = 16
_N_DEEP_PLANS = 4  # number of plans that are searched with three terms besides a product
_N_CORE = 56  # number of terms; every three of them are combined with each product
_KEPT_PRODUCTS = 25  # number of products that are kept for each size
_FINALISTS_PER_SIZE = 30
_N_SIZES = 3
_N_SMOOTHING_TERMS = 16
# smallest |Q| relative to its largest value, because a law has no pole between the rows
_MIN_DENOMINATOR = 1e-3
_NEGLIGIBLE = 1e-10  # contribution of a term, relative to the largest


@dataclass(frozen=True, eq=False)
class _Problem:
    """A linear problem on the ranking rows: terms M and products −t·N explain the weighted response.

    Parameters
    ----------
    place : int
        Place of its scale, power product and dictionary in the list of combinations.
    response : Response
        The response.
    indices : int64 array, shape (q,)
        The terms M and N, as indices of the dictionary.
    values : float64 array, shape (q, n)
        Values of these terms.
    term_places : int64 array, shape (p,)
        The terms M, as places in `indices`.
    divisor_places : int64 array, shape (r,)
        The terms N, as places in `indices`.
    weighted, products : float64 arrays, shapes (q, n) and (r, n)
        The terms and the products −t·N, with weights.
    target : float64 array, shape (n,)
        The response with weights.
    """

    place: int
    response: Response
    indices: NDArray[np.int64]
    values: Values
    term_places: NDArray[np.int64]
    divisor_places: NDArray[np.int64]
    weighted: Values
    products: Values
    target: Values


@dataclass(frozen=True, eq=False)
class _FittedQuotient:
    """The terms of P and Q, as indices of a dictionary, and the RSS on the scale of y on the ranking rows."""

    square: float
    place: int
    upper: tuple[int, ...]
    lower: tuple[int, ...]


def search_rational_forms(data: LawData) -> Iterator[list[Law]]:
    """Search laws y = C·g(P/Q) with sums P and Q of simple terms, and up to four terms besides the 1.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. ``mul``, ``div`` and ``add`` must be among its operators, else there are
        no laws of this form.

    Yields
    ------
    list of Law
        At most 60, best first. Each law is one term, whose inner constants are marked as fitted. If no law is
        exact, the best of both searches follow once the search has been repeated with a smooth target.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.fitting.laws.refinement import refine_law
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> u, v, c = rng.uniform(1, 5, (3, 200))
    >>> data = LawData({"c": c, "u": u, "v": v}, (u + v) / (1 + u * v / c**2), load_grammar("basic"))
    >>> (laws,) = search_rational_forms(data)
    >>> print(refine_law(laws[0], data).terms[0])
    (u + v)/(1 + u*v/c**2)
    """
    operators = list_operator_names(data.grammar)
    if not {"mul", "div", "add"} <= operators or len(data.target) <= 4 * _MAX_CONSTANTS:
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        search = _QuotientSearch(data, operators)
        found = search.find_laws(None)
    yield select_laws(found, _N_SIZES)
    if found and min(share for share, _ in found) <= FITTED_EXACT_SHARE:
        return
    with threadpool_limits(1):
        found += search.find_laws(search.smooth_target())
    yield select_laws(found, _N_SIZES)


class _QuotientSearch:
    """The search of one problem: its rows and the scales, power products and dictionaries to combine."""

    def __init__(self, data: LawData, operators: frozenset[str]) -> None:
        self.data, self.operators = data, operators
        rows = select_spread_rows(data, _MAX_FIT_ROWS)
        self.columns = {name: values[rows] for name, values in data.columns.items()}
        self.target = data.target[rows]
        self.ranking_rows = select_spread_places(len(rows), _MAX_RANKING_ROWS)
        centered = self.target - self.target.mean()
        self.total = float(centered @ centered)
        self.plans = list(self._list_plans())
        # flags of the terms of a plan that may be terms M and N; without units, all may be
        self.roles: list[tuple[Flags, Flags]] = [
            (np.ones(len(dictionary), dtype=bool),) * 2 for _, _, dictionary in self.plans
        ]
        if data.units is not None and data.units.target is not None:
            self._restrict_plans(data.units)
        self.search_size = 0.0

    def _list_plans(self) -> Iterator[tuple[TargetScale, Powers, MonomialDictionary]]:
        """Yield the scales, power products and dictionaries that are combined."""
        factored = find_most_factors((self.columns, self.target), (self.data.columns, self.data.target))
        names = tuple(self.columns)
        rest = tuple(name for name in names if name not in factored)
        choices: list[tuple[Powers, tuple[str, ...]]] = [({}, names)]
        if factored and rest:
            choices.append(({name: power for name, power in factored.items() if power}, rest))
        whole = self.operators - {"sqrt"}
        scales = [
            scale
            for scale in SCALES
            if scale.inverse_name in _SCALE_NAMES and set(scale.operators) - PLAIN_OPERATORS <= self.operators
        ]
        for powers, inputs in choices:
            monomials = build_monomials(inputs, whole, logs=False, limit=_MAX_MONOMIALS)
            for scale in scales:
                yield scale, powers, monomials
        powers, inputs = choices[-1]
        for waves in build_waves(inputs, whole, limit=_MAX_WAVE_MONOMIALS):
            for scale in scales:
                if scale.inverse_name in _WAVE_SCALE_NAMES:
                    yield scale, powers, waves

    def _restrict_plans(self, units: Units) -> None:
        """Keep terms M with the unit of P, and terms N that are pure numbers."""
        plans, self.plans, self.roles = self.plans, [], []
        for scale, powers, dictionary in plans:
            inputs = tuple(name for name in dictionary.inputs if (self.columns[name] != 0.0).all())
            restricted = restrict_factor(scale, powers, inputs, units)
            if restricted is None:
                continue
            factor, unit = restricted
            upper = restrict_dictionary(dictionary, unit, units, has_roots=False).terms
            lower = restrict_dictionary(dictionary, np.zeros_like(unit), units, has_roots=False).terms
            terms = tuple(dict.fromkeys([*upper, *lower]))
            above, below = set(upper), set(lower)
            if upper and lower:
                self.plans.append((scale, factor, MonomialDictionary(dictionary.inputs, terms)))
                self.roles.append(
                    (np.array([term in above for term in terms]), np.array([term in below for term in terms]))
                )

    def smooth_target(self) -> Values:
        """Approximate the target by forward selection of many monomials, shape (n,)."""
        evaluated = self._evaluate(0, None, slice(None)) if self.plans else None
        if evaluated is None:
            return self.target
        values = evaluated[1]
        members = select_forward(build_gram(values, self.target), (), _N_SMOOTHING_TERMS)
        solution = solve_least_squares(values[members], self.target)
        return self.target if solution is None else solution @ values[members]

    def find_laws(self, smooth: Values | None) -> list[tuple[float, Law]]:
        """Search all problems with few terms, then the best with more; return rounded shares and laws."""
        self.search_size = 0.0
        problems = [
            problem
            for place in range(len(self.plans))
            if (problem := self._build_problem(place, smooth)) is not None
        ]
        quotients = []
        ranked = []
        for number, problem in enumerate(problems):
            found = self._search_pairs(problem)
            quotients += found
            ranked.append((min((quotient.square for quotient in found), default=np.inf), number))
        for _, number in sorted(ranked)[:_N_DEEP_PLANS]:
            quotients += self._search_triples(problems[number])
        quotients.sort(key=lambda quotient: quotient.square)
        counts: dict[int, int] = {}
        laws = []
        for quotient in quotients:
            size = len(quotient.upper) + len(quotient.lower)
            counts[size] = counts.get(size, 0) + 1
            if counts[size] <= _FINALISTS_PER_SIZE:
                fitted = self._fit_law(quotient)
                if fitted is not None:
                    laws.append(fitted)
        return laws

    def _evaluate(
        self, place: int, smooth: Values | None, rows: slice | NDArray[np.int64]
    ) -> tuple[Response, Values, NDArray[np.int64]] | None:
        """Build the response and the usable terms of a plan on some rows; None if they are undefined."""
        scale, powers, dictionary = self.plans[place]
        columns = {name: values[rows] for name, values in self.columns.items()}
        response = build_response(
            scale, powers, columns, self.target[rows], None if smooth is None else smooth[rows]
        )
        if response is None:
            return None
        values = dictionary.evaluate(columns)
        indices = np.flatnonzero(np.isfinite(values).all(axis=1) & (np.abs(values).max(axis=1) > 0.0))
        return (response, values[indices], indices) if len(indices) > _MAX_CONSTANTS else None

    def _build_problem(self, place: int, smooth: Values | None) -> _Problem | None:
        """Build a problem on the ranking rows; None if it is undefined."""
        evaluated = self._evaluate(place, smooth, self.ranking_rows)
        if evaluated is None:
            return None
        response, values, indices = evaluated
        center = self.target if smooth is None else smooth
        with np.errstate(all="ignore"):
            transformed = response.scale.transform(center[self.ranking_rows] / response.factor)
        transformed = np.where(np.isfinite(transformed), transformed, 0.0)
        weighted = values * response.weights
        products = -weighted * transformed
        is_term, may_divide = (role[indices] for role in self.roles[place])
        is_divisor = may_divide & (np.ptp(values, axis=1) > 0.0) & (np.abs(products).max(axis=1) > 0.0)
        terms, places = np.flatnonzero(is_term), np.flatnonzero(is_divisor)
        target = response.values * response.weights
        if not len(terms) or not len(places) or not target.any():
            return None
        return _Problem(place, response, indices, values, terms, places, weighted, products[places], target)

    def _search_pairs(self, problem: _Problem) -> list[_FittedQuotient]:
        """Combine each product t·N with all subsets of up to two terms M."""
        p, r = len(problem.term_places), len(problem.products)
        self.search_size += r * (comb(p, 2) + p)
        return self._search_subsets(problem, problem.term_places, np.arange(0), (1, 2) if p > 1 else (1,))

    def _search_triples(self, problem: _Problem) -> list[_FittedQuotient]:
        """Combine each product with three terms M, or with a term M and another product."""
        gram = build_gram(problem.weighted[problem.term_places], problem.target)
        forward = select_forward(gram, (), _N_CORE)
        chosen = list(dict.fromkeys([*forward, *gram.strength_order.tolist()]))[:_N_CORE]
        shortlist = problem.term_places[chosen]
        m, r = len(shortlist), len(problem.products)
        self.search_size += r * comb(m, 3) + m * comb(r, 2)
        triples = self._search_subsets(problem, shortlist, np.arange(0), (3,)) if m >= _N_SIZES else []
        return [*triples, *self._search_subsets(problem, shortlist, np.arange(r), (2,))]

    def _search_subsets(
        self,
        problem: _Problem,
        terms: NDArray[np.int64],
        divisors: NDArray[np.int64],
        sizes: tuple[int, ...],
    ) -> list[_FittedQuotient]:
        """Combine each product with all subsets of the given terms M and products."""
        core_rows = np.vstack([problem.weighted[terms], problem.products[divisors]])
        # followed by their negatives, all rows have mean 0, so that centring has no effect
        core = compute_gram(_mirror(core_rows), _mirror(problem.target))
        quotients = []
        for models in search_core_subsets(_mirror(problem.products), core, sizes=sizes, keep=_KEPT_PRODUCTS):
            for feature, subset in zip(models.features.tolist(), models.subsets.tolist(), strict=True):
                upper = [int(terms[k]) for k in subset if k < len(terms)]
                lower = {feature, *(int(divisors[k - len(terms)]) for k in subset if k >= len(terms))}
                if upper and len(upper) + len(lower) == len(subset) + 1:
                    quotients.append(self._evaluate_quotient(problem, upper, sorted(lower)))
        return quotients

    def _evaluate_quotient(
        self, problem: _Problem, upper: Sequence[int], lower: Sequence[int]
    ) -> _FittedQuotient:
        """Evaluate the linear fit of a quotient on the scale of y."""
        divisor_places = problem.divisor_places[lower]
        square = np.inf
        rows = np.vstack([problem.weighted[upper], problem.products[lower]])
        solution = solve_least_squares(rows, problem.target)
        if solution is not None:
            ratio = _divide(solution, problem.values[upper], problem.values[divisor_places])
            residuals = self.target[self.ranking_rows] - predict_target(problem.response, ratio)
            square = float(residuals @ residuals)
        return _FittedQuotient(
            square if np.isfinite(square) else np.inf,
            problem.place,
            tuple(problem.indices[upper].tolist()),
            tuple(problem.indices[divisor_places].tolist()),
        )

    def _fit_law(self, quotient: _FittedQuotient) -> tuple[float, Law] | None:
        """Fit a quotient on the scale of y; return the rounded share RSS/TSS and the law."""
        scale, powers, dictionary = self.plans[quotient.place]
        response = build_response(scale, powers, self.columns, self.target)
        values = dictionary.take((*quotient.upper, *quotient.lower)).evaluate(self.columns)
        if response is None or not np.isfinite(values).all():
            return None
        terms, divisors = values[: len(quotient.upper)], values[len(quotient.upper) :]
        products = -divisors * np.where(response.weights > 0.0, response.values, 0.0)
        start = solve_least_squares(
            np.vstack([terms, products]) * response.weights, response.values * response.weights
        )
        if start is None:
            return None

        def differentiate(b: Values) -> Values:
            ratio, divisor = _divide(b, terms, divisors), 1.0 + b[len(terms) :] @ divisors
            slope = response.factor * response.scale.inverse_derivative(ratio) / divisor
            return np.vstack([slope * terms, -slope * ratio * divisors])

        solution, square = improve_fit(
            lambda b: predict_target(response, _divide(b, terms, divisors)), differentiate, start, self.target
        )
        if not np.isfinite(square) or not _is_regular(solution, terms, divisors):
            return None
        law = build_quotient_law(
            response,
            dictionary.take(quotient.upper),
            dictionary.take(quotient.lower),
            solution,
            self.search_size,
        )
        if law is None or not self.data.allows(law):
            return None
        return round_share(square / self.total), law


def _is_regular(coefficients: Values, terms: Values, divisors: Values) -> bool:
    """Return whether Q has no zero between the rows, and each term contributes more than rounding."""
    upper, lower = coefficients[: len(terms)], coefficients[len(terms) :]
    divisor = 1.0 + lower @ divisors
    if divisor.min() * divisor.max() <= 0.0:
        return False
    above, below = (
        np.abs(numbers[:, None] * values).max(axis=1)
        for numbers, values in ((upper, terms), (lower, divisors))
    )
    return bool(
        np.abs(divisor).min() >= _MIN_DENOMINATOR * np.abs(divisor).max()
        and above.min() >= _NEGLIGIBLE * above.max()
        and below.min() >= _NEGLIGIBLE
    )


def _divide(coefficients: Values, terms: Values, divisors: Values) -> Values:
    """Return P/Q, shape (n,); NaN where Q is 0."""
    k = len(terms)
    with np.errstate(all="ignore"):
        return np.asarray((coefficients[:k] @ terms) / (1.0 + coefficients[k:] @ divisors))


def _mirror(rows: Values) -> Values:
    """Append the negative of each row along the last axis."""
    return np.concatenate([rows, -rows], axis=-1)
