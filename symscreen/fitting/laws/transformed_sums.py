"""Find laws that become a short sum of simple terms once the target is transformed.

A law y = C·g(S) with a sum S of up to four terms is linear in another scale: t(y/C) = S, where t is the
inverse of g. So 1/y finds 1/(1/a + n/b), y² finds √(a² + b² − 2ab·cos θ), and log y finds products of
exponentials. The terms come from dictionaries of monomials, and of monomials times waves of an angle or
squared differences. C is a power product that the data show to be a factor of y.

Each combination of a response t(y/C) and a dictionary is one weighted least-squares problem. An error δ of y
is an error t′(y)·δ of the response, so the weights 1/t′(y) make residuals comparable between responses.
Forward selection ranks all combinations. Then all subsets of up to three terms, and of four from the most
useful terms, are tried for the best combinations. The best subsets are fitted again on the scale of y.

With noise, t(y) is biased. If no law is exact, the search is therefore repeated with the linear expansion
t(ŷ) + t′(ŷ)·(y − ŷ) around a smooth approximation ŷ, as in the working response of generalised linear models
(McCullagh and Nelder 1989, Generalized Linear Models, section 2.5). Its error is proportional to that of y.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.fitting.laws.forward_selection import (
    build_gram,
    exchange_terms,
    find_best_pair,
    select_forward,
)
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
    build_logarithms,
    build_monomials,
    build_polynomial,
    build_squared_differences,
    build_waves,
)
from symscreen.fitting.laws.sum_laws import build_sum_law, find_rounding_terms
from symscreen.fitting.laws.target_scales import (
    IDENTITY,
    SCALES,
    build_response,
    find_most_factors,
    predict_target,
)
from symscreen.fitting.laws.unit_dictionaries import restrict_dictionary, restrict_factor
from symscreen.linear_models.exhaustive_subsets import find_best_models
from symscreen.linear_models.gram import GramMatrix
from symscreen.statistics.spread_places import select_spread_places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.fitting.laws.monomial_dictionary import MonomialDictionary
    from symscreen.fitting.laws.target_scales import Powers, Response, TargetScale
    from symscreen.units import Units


_MAX_TERMS = 4
_MAX_RANKING_ROWS = 400  # rows of the forward selection that ranks the combinations
_MAX_FIT_ROWS = 2000  # rows of the search over all subsets
_N_RANKED_AGAIN = 60  # combinations that are ranked again with the expansion
_N_COMBINATIONS = 12  # whose subsets are all tried
_N_SHORTLISTED = 72  # terms whose subsets of four are all tried
_KEPT_SUBSETS = 40  # of each size and problem
_N_EXCHANGED = 3  # subsets of four whose terms are exchanged for any others
_EVALUATED_SUBSETS = 15  # of these, on the scale of y
_FINALISTS_PER_SIZE = 25  # subsets of each size that are fitted on the scale of y
_N_SMOOTHING_TERMS = 16
_MAX_MONOMIALS = 2_400  # with the scales that are powers
_N_TRIED = 240  # terms whose subsets of three are all tried
_N_PLAIN_COMBINATIONS = 4  # combinations with monomials alone that are always among the best
_N_SMALL = 90  # terms of a small dictionary, whose subsets of four are all tried
_N_SMALL_COMBINATIONS = 3  # combinations with small dictionaries that are always among the best
_POWER_SCALES = frozenset({"id", "inv", "sqrt", "inverse sqrt"})
_INVERSE_WAVE_SCALES = frozenset({"asin", "acos"})
_SCALES_WITHOUT_FACTOR = frozenset({"id", "sqrt"})  # with waves and differences of all inputs


@dataclass(frozen=True, eq=False)
class _TermProblem:
    """A response and the terms that explain it, with the weighted problem scaled to norm 1.

    Parameters
    ----------
    response : Response
        The response.
    dictionary : MonomialDictionary
        The dictionary.
    values : float64 array, shape (q, n)
        Values of the terms that are defined in all rows.
    indices : int64 array, shape (q,)
        The indices of these terms in the dictionary.
    """

    response: Response
    dictionary: MonomialDictionary
    values: Values
    indices: NDArray[np.int64]

    def take(self, indices: NDArray[np.int64]) -> _TermProblem:
        """Return the problem with those of the terms that it has."""
        places = np.flatnonzero(np.isin(self.indices, indices))
        return _TermProblem(self.response, self.dictionary, self.values[places], self.indices[places])

    @lockfree_cached_property
    def total(self) -> float:
        """Weighted sum of squares of the response."""
        weighted = self.response.values * self.response.weights
        return float(weighted @ weighted)

    @lockfree_cached_property
    def gram(self) -> GramMatrix:
        """Inner products of the weighted terms and the weighted response, not centred."""
        weights = self.response.weights
        return build_gram(self.values * weights, self.response.values * weights)


@dataclass(frozen=True, eq=False)
class _Subset:
    """Terms of a problem, and the RSS on the scale of y of their weighted fit."""

    square: float
    problem: _TermProblem
    members: tuple[int, ...]


def search_transformed_sums(data: LawData) -> Iterator[list[Law]]:
    """Search laws y = C·g(S) with a sum S of up to four simple terms.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. ``mul``, ``div`` and ``add`` must be among its operators, else there are
        no laws of this form. Other operators are used if the grammar has them.

    Yields
    ------
    list of Law
        At most 60, best first. For g(S) = S each term has its own coefficient. Otherwise the law is one
        term, whose inner constants are marked as fitted. If no law is exact, the best of both searches follow
        once the search has been repeated with the expansion.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> a, b, n = rng.uniform(1, 5, (3, 200))
    >>> data = LawData({"a": a, "b": b, "n": n}, 1/(1/a + n/b), load_grammar("basic"))
    >>> (laws,) = search_transformed_sums(data)
    >>> len(laws[0].terms), laws[0].n_constants
    (1, 1)
    """
    operators = list_operator_names(data.grammar)
    if not {"mul", "div", "add"} <= operators or len(data.target) <= 2 * _MAX_TERMS:
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        search = _SumSearch(data, operators)
        ranked = search.rank_combinations(None, range(len(search.plans)))
        found = search.find_laws(None, ranked)
    yield select_laws(found, _MAX_TERMS)
    if found and min(share for share, _ in found) <= FITTED_EXACT_SHARE:
        return
    with threadpool_limits(1):
        smooth = search.smooth_target(ranked)
        again = search.rank_combinations(smooth, sorted(ranked[:_N_RANKED_AGAIN]))
        found += search.find_laws(smooth, again)
    yield select_laws(found, _MAX_TERMS)


class _SumSearch:
    """The search for one target: its rows, factors and dictionaries."""

    def __init__(self, data: LawData, operators: frozenset[str]) -> None:
        self.data, self.operators = data, operators
        rows = select_spread_rows(data, _MAX_FIT_ROWS)
        self.columns = {name: values[rows] for name, values in data.columns.items()}
        self.target = data.target[rows]
        # every k-th row of these, so that what is computed for the ranking is a part of what is fitted
        self.ranking_rows = select_spread_places(len(rows), _MAX_RANKING_ROWS)
        centered = self.target - self.target.mean()
        self.total = float(centered @ centered)
        self.values: dict[int, Values] = {}
        self.plans = list(self._list_plans())
        if data.units is not None and data.units.target is not None:
            self.plans = list(self._restrict_plans(data.units))
        self.search_sizes = np.zeros(_MAX_TERMS)  # number of laws with up to 1, 2, 3 and 4 terms

    def _list_plans(self) -> Iterator[tuple[TargetScale, Powers, MonomialDictionary]]:
        """Yield the scales, power products and dictionaries that are combined."""
        factored = find_most_factors((self.columns, self.target), (self.data.columns, self.data.target))
        names = tuple(self.columns)
        choices: list[tuple[Powers, tuple[str, ...]]] = [({}, names)]
        rest = tuple(name for name in names if name not in factored)
        if factored and rest:
            choices.append(({name: power for name, power in factored.items() if power}, rest))
        for powers, inputs in choices:
            # where a power product is proposed, fewer combinations with all inputs are enough
            is_last = inputs is choices[-1][1]
            for scale, dictionary in self._list_dictionaries(inputs, is_last=is_last):
                yield scale, powers, dictionary

    def _list_dictionaries(
        self, inputs: tuple[str, ...], *, is_last: bool
    ) -> Iterator[tuple[TargetScale, MonomialDictionary]]:
        """Yield scales and dictionaries of some inputs: monomials, polynomials, differences and waves."""
        available = [scale for scale in SCALES if set(scale.operators) - PLAIN_OPERATORS <= self.operators]
        has_log = "log" in self.operators
        plain = build_monomials(inputs, self.operators, logs=False)
        many = build_monomials(inputs, self.operators, logs=False, limit=_MAX_MONOMIALS)
        with_logs = build_monomials(inputs, self.operators, logs=has_log)
        for scale in available:
            if scale.inverse_name == "exp":  # the logarithms of the inputs make every C possible
                yield scale, with_logs
            else:
                yield scale, many if is_last and scale.inverse_name in _POWER_SCALES else plain
        differences = build_squared_differences(inputs, self.operators, logs=False)
        logs_too = build_squared_differences(inputs, self.operators, logs=has_log)
        polynomial = build_polynomial(inputs)
        waves = build_waves(inputs, self.operators)
        logarithms = build_logarithms(inputs, self.operators) if is_last else []
        for scale in available:
            if logs_too is not None and scale.inverse_name == "exp" and is_last:
                yield scale, logs_too
            if scale.inverse_name in _POWER_SCALES and is_last:
                yield scale, polynomial
            if scale is IDENTITY:
                yield from ((scale, each) for each in logarithms)
            if scale.inverse_name in (_POWER_SCALES if is_last else _SCALES_WITHOUT_FACTOR):
                yield from ((scale, each) for each in (differences, *waves) if each is not None)
            elif scale.inverse_name in _INVERSE_WAVE_SCALES and is_last:
                yield from ((scale, each) for each in waves)

    def _restrict_plans(self, units: Units) -> Iterator[tuple[TargetScale, Powers, MonomialDictionary]]:
        """Yield the plans with those terms that have the unit of their sum."""
        known: dict[tuple[int, bytes, bool], MonomialDictionary] = {}
        for scale, powers, dictionary in self.plans:
            inputs = tuple(name for name in dictionary.inputs if (self.columns[name] != 0.0).all())
            restricted = restrict_factor(scale, powers, inputs, units)
            if restricted is None:
                continue
            factor, unit = restricted
            keeps_constant = scale is IDENTITY and not powers
            key = (id(dictionary), unit.tobytes(), keeps_constant)
            if key not in known:
                known[key] = restrict_dictionary(
                    dictionary,
                    unit,
                    units,
                    has_roots="sqrt" in self.operators,
                    keeps_constant=keeps_constant,
                )
            if len(known[key]):
                yield scale, factor, known[key]

    def find_laws(self, smooth: Values | None, ranked: Sequence[int]) -> list[tuple[float, Law]]:
        """Search all subsets of the best combinations; return rounded shares and laws."""
        subsets: dict[int, list[_Subset]] = {size: [] for size in range(1, _MAX_TERMS + 1)}
        plain = [place for place in ranked if all(factor is None for _, factor in self.plans[place][2].terms)]
        few = [place for place in plain if len(self.plans[place][2]) <= _N_SMALL]
        chosen = [*ranked[: _N_COMBINATIONS - _N_PLAIN_COMBINATIONS], *plain[:_N_PLAIN_COMBINATIONS]]
        chosen += few[:_N_SMALL_COMBINATIONS]
        for place in dict.fromkeys(chosen):
            ranking = self._build_problem(place, smooth, self.ranking_rows)
            problem = self._build_problem(place, smooth, slice(None))
            if problem is not None and ranking is not None:
                if len(problem.indices) > _N_TRIED:
                    problem = problem.take(_list_useful_terms(ranking))
                for subset in _search_subsets(problem, self.target):
                    subsets[len(subset.members)].append(subset)
        found = []
        for candidates in subsets.values():
            candidates.sort(key=lambda subset: subset.square)
            for subset in candidates[:_FINALISTS_PER_SIZE]:
                fitted = self._fit_law(subset)
                if fitted is not None:
                    found.append(fitted)
        return found

    def smooth_target(self, ranked: Sequence[int]) -> Values:
        """Approximate the target by forward selection of many terms, shape (n,)."""
        best, square = self.target, np.inf
        places = [place for place in ranked if self.plans[place][0] is IDENTITY]
        for place in places[:2]:
            problem = self._build_problem(place, None, slice(None))
            if problem is None:
                continue
            members = select_forward(problem.gram, (), _N_SMOOTHING_TERMS)
            design = problem.values[members] * problem.response.weights
            solution = np.linalg.lstsq(
                design.T, problem.response.values * problem.response.weights, rcond=None
            )[0]
            smooth = problem.response.factor * (solution @ problem.values[members])
            residuals = self.target - smooth
            if float(residuals @ residuals) < square:
                best, square = smooth, float(residuals @ residuals)
        return best

    def rank_combinations(self, smooth: Values | None, places: Sequence[int]) -> list[int]:
        """Return combinations in the order of the squares that forward selection leaves.

        The target itself is transformed, or expanded around an approximation.
        """
        ranked = []
        for place in places:
            problem = self._build_problem(place, smooth, self.ranking_rows)
            if problem is None:
                continue
            if smooth is None:
                q = len(problem.indices)
                self.search_sizes += np.cumsum([comb(q, size) for size in range(1, _MAX_TERMS + 1)])
            ranked.append((_score_forward(problem, self.target[self.ranking_rows]), place))
        return [place for _, place in sorted(ranked)]

    def _build_problem(
        self, place: int, smooth: Values | None, rows: slice | NDArray[np.int64]
    ) -> _TermProblem | None:
        """Build a problem on some of the rows; None if its response is undefined."""
        scale, powers, dictionary = self.plans[place]
        columns = {name: values[rows] for name, values in self.columns.items()}
        response = build_response(
            scale, powers, columns, self.target[rows], None if smooth is None else smooth[rows]
        )
        if response is None or not (response.values * response.weights).any():
            return None
        if isinstance(rows, slice):
            values = dictionary.evaluate(columns)
        else:
            values = self._evaluate_for_ranking(dictionary, columns)
        is_usable = np.isfinite(values).all(axis=1) & (np.abs(values).max(axis=1) > 0.0)
        indices = np.flatnonzero(is_usable)
        return _TermProblem(response, dictionary, values[indices], indices) if len(indices) else None

    def _evaluate_for_ranking(self, dictionary: MonomialDictionary, columns: dict[str, Values]) -> Values:
        """Evaluate a dictionary on the rows of the ranking, once."""
        key = id(dictionary)
        if key not in self.values:
            self.values[key] = dictionary.evaluate(columns)
        return self.values[key]

    def _fit_law(self, subset: _Subset) -> tuple[float, Law] | None:
        """Fit a subset on the scale of y; return the rounded share RSS/TSS and the law."""
        problem = subset.problem
        terms = problem.values[list(subset.members)]
        fitted = _fit_on_target_scale(problem.response, terms, self.target)
        if fitted is None:
            return None
        coefficients, square = fitted
        if find_rounding_terms(terms * coefficients[:, None]).any():
            return None  # the law without these terms is a candidate, too
        expressions = [
            problem.dictionary.build_term(int(problem.indices[member])) for member in subset.members
        ]
        search_size = float(self.search_sizes[len(expressions) - 1])
        law = build_sum_law(problem.response, expressions, coefficients, search_size)
        if law is None or not self.data.allows(law):
            return None
        return round_share(square / self.total), law


def _score_forward(problem: _TermProblem, target: Values) -> float:
    """Return the sum of squares that the best subset of forward selection leaves on the scale of y."""
    gram = problem.gram
    first = int(np.argmax(np.abs(gram.target_products[0])))
    starts: list[tuple[int, ...]] = [(first,)]
    if len(gram.columns) >= 2:
        starts.append(find_best_pair(gram))
    return min(_compute_square(problem, select_forward(gram, start, _MAX_TERMS), target) for start in starts)


def _compute_square(problem: _TermProblem, members: Sequence[int], target: Values) -> float:
    """Return the RSS on the scale of y of the weighted fit in the scale of the response."""
    response, terms = problem.response, problem.values[list(members)]
    solution = solve_least_squares(terms * response.weights, response.values * response.weights)
    if solution is None:
        return np.inf
    residuals = target - predict_target(response, solution @ terms)
    with np.errstate(over="ignore"):  # predictions near a pole may be huge
        square = float(residuals @ residuals)
    return square if np.isfinite(square) else np.inf


def _list_useful_terms(problem: _TermProblem) -> NDArray[np.int64]:
    """Return the terms of forward selection, of the best pairs, and the strongest ones, as indices."""
    gram = problem.gram
    pairs = find_best_models(gram, 2, _N_TRIED)[0].ravel()[:_N_TRIED]
    forward = select_forward(gram, (), _N_TRIED // 4)
    exchanged = exchange_terms(gram, forward[:_MAX_TERMS])
    order = dict.fromkeys([*exchanged, *forward, *pairs.tolist(), *gram.strength_order.tolist()])
    return np.sort(problem.indices[list(order)[:_N_TRIED]])


def _search_subsets(problem: _TermProblem, target: Values) -> list[_Subset]:
    """Try all subsets of up to three terms, and of four from a shortlist; return the best of each size."""
    gram = problem.gram
    q = len(gram.columns)
    models: list[NDArray[np.int64]] = [
        find_best_models(gram, size, _KEPT_SUBSETS)[0].astype(np.int64) for size in range(1, min(3, q) + 1)
    ]
    best_first = np.concatenate([*(each.ravel() for each in reversed(models)), gram.strength_order])
    n_shortlisted = q if q <= _N_SMALL else _N_SHORTLISTED
    shortlist = np.array(list(dict.fromkeys(best_first.tolist()))[:n_shortlisted])
    if len(shortlist) >= _MAX_TERMS:
        part = GramMatrix(
            gram.columns[shortlist],
            gram.target,
            gram.products[np.ix_(shortlist, shortlist)],
            np.ascontiguousarray(gram.target_products[:, shortlist]),
        )
        largest = shortlist[find_best_models(part, _MAX_TERMS, _KEPT_SUBSETS)[0]]
        exchanged = [exchange_terms(gram, members) for members in largest[:_N_EXCHANGED].tolist()]
        models.append(np.array([*exchanged, *largest.tolist()], dtype=np.int64).reshape(-1, _MAX_TERMS))
    return [
        _Subset(_compute_square(problem, members, target), problem, members)
        for each in models
        for members in dict.fromkeys(tuple(sorted(row)) for row in each[:_EVALUATED_SUBSETS].tolist())
    ]


def _fit_on_target_scale(response: Response, terms: Values, target: Values) -> tuple[Values, float] | None:
    """Fit y = C·g(b·terms); return b and the RSS."""
    start = solve_least_squares(terms * response.weights, response.values * response.weights)
    if start is None:
        return None
    solution, square = improve_fit(
        lambda b: predict_target(response, b @ terms),
        lambda b: response.factor * response.scale.inverse_derivative(b @ terms) * terms,
        start,
        target,
    )
    return (solution, square) if np.isfinite(square) else None
