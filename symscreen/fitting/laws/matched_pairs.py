"""Meet in the middle: laws made of two formulas A and B of a pool, for the cost of a sort.

Sums y = c₀ + c₁·A + c₂·B: the intercept and y are projected out of every formula. What is left of A and of
B then has the same direction up to sign exactly when the law holds, because c₁·A + c₂·B has nothing left. So
the pairs are found by sorting the directions. Affine copies are merged first, since they have the same
direction without y already. A simple third term C can be projected out too.

Products y = c · Π xᵢ^aᵢ · A^p · B^q are sums on the scale of logarithms, where the inputs' logarithms are
projected out too; see `symscreen.fitting.laws.power_products`.

Directions are compared in a few random projections with a constant seed. Each pair that agrees is fitted on
all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.power_products import compute_log_scale, fit_power_product

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.law import LawData


_N_DIRECTIONS = 6  # random directions in which formulas are compared
_BLOCK_VALUES = 1_000_000  # values of the pool that are projected together
_ROUNDING = 1e-15  # relative error of a value
_MAX_ERROR = 1e-7  # formulas whose directions are less exact are not compared
_MAX_PAIRS = 100  # pairs of each kind that are fitted on all rows
_MAX_GROUP = 60  # formulas of equal direction, simplest first, that are paired
_MAX_LAWS = 60  # laws of each kind that are returned
_N_THIRD_TERMS = 40  # formulas, simplest first, that are tried as a third term
_EXACT_SHARE = 1e-16  # RSS/TSS up to which a law is exact
_MIN_PART = 1e-9  # of the target's spread: smaller parts of a law are rounding


def find_matched_pairs(data: LawData) -> list[Law]:
    """Find laws with two formulas of the pool: sums, y = c₀ + c₁·A + c₂·B, and power products.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar.

    Returns
    -------
    list of Law
        The simplest exact laws of each kind, at most 60: sums of one or two formulas, sums of two formulas
        and a simple third term, and products of powers of two formulas and the inputs.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> columns = dict(zip("uvx", rng.uniform(1, 5, (3, 200))))
    >>> u, v, x = columns.values()
    >>> data = LawData(columns, 3 + 2 * np.exp(u - v) - 5 * np.sqrt(u + x), load_grammar("basic"))
    >>> for term in find_matched_pairs(data)[0].terms:
    ...     print(term)
    sqrt(u + x)
    exp(u - v)
    """
    return [*_find_sums(data), *_find_products(data)]


@dataclass(frozen=True, eq=False)
class _Projections:
    """Inner products of formulas with a few vectors that are orthogonal to some nuisance columns.

    Parameters
    ----------
    indices : int64 array, shape (q,)
        The formulas of the pool.
    values : float64 array, shape (k, q)
        Inner products of the vectors with the formulas, which are scaled to largest absolute value 1.
    products : float64 array, shape (k, k)
        Inner products of the vectors. The first ones are random directions.
    errors : float64 array, shape (q,)
        Bounds of the rounding of `values`.
    """

    indices: NDArray[np.int64]
    values: Values
    products: Values
    errors: Values

    def take(self, places: NDArray[np.int64]) -> _Projections:
        """Return some of the formulas."""
        return _Projections(self.indices[places], self.values[:, places], self.products, self.errors[places])

    def remove(self, vector: int, kept: int | None = None) -> _Projections:
        """Project a vector out of the formulas and of the other vectors, the random ones and the kept one."""
        vectors = np.r_[: _N_DIRECTIONS if kept is None else _N_DIRECTIONS + 1]
        vectors[_N_DIRECTIONS:] = kept or 0
        direction = self.products[vector, vectors] / self.products[vector, vector]
        return _Projections(
            self.indices,
            self.values[vectors] - direction[:, None] * self.values[vector],
            self.products[np.ix_(vectors, vectors)] - np.outer(self.products[vectors, vector], direction),
            self.errors,
        )

    @property
    def norms(self) -> Values:
        """Norms of the formulas in the random directions, shape (q,)."""
        return np.asarray(np.sqrt((self.values[:_N_DIRECTIONS] ** 2).sum(axis=0)))

    def group(self) -> list[NDArray[np.int64]]:
        """List the groups of two or more formulas with equal directions, each in ascending order."""
        norms = self.norms
        places = np.flatnonzero(self.errors < _MAX_ERROR * norms)
        errors = self.errors[places] / norms[places]
        key = np.abs(self.values[0, places] / norms[places])
        order = np.argsort(key, kind="stable")
        key, errors = key[order], errors[order]
        # most formulas have no neighbour within the errors
        is_near = key[1:] - errors[1:] <= np.maximum.accumulate(key + errors)[:-1]
        order = order[np.r_[is_near, False] | np.r_[False, is_near]]
        order.sort()
        places = places[order]
        if not len(places):
            return []
        directions = (self.values[:_N_DIRECTIONS, places] / norms[places]).T
        groups = _group_directions(directions, self.errors[places] / norms[places])
        order = np.argsort(groups, kind="stable")
        parts = np.split(places[order], np.flatnonzero(np.diff(groups[order])) + 1)
        return [part for part in parts if len(part) > 1]


def _group_directions(directions: Values, errors: Values) -> NDArray[np.int64]:
    """Group unit vectors that agree up to sign and errors; a group is named by its first member.

    Vectors of one group lie side by side when they are sorted by the size of their first coordinate, but
    others may lie between them. In each round, the first vector of a run of neighbours is compared with all
    of it; the rest of the run waits for the next round.
    """
    groups = np.arange(len(directions))
    key = np.abs(directions[:, 0])
    waiting = np.argsort(key, kind="stable")
    while len(waiting):
        reach = np.maximum.accumulate(key[waiting] + errors[waiting])
        is_start = np.r_[True, key[waiting[1:]] - errors[waiting[1:]] > reach[:-1]]
        runs = np.cumsum(is_start) - 1
        leaders = waiting[is_start][runs]
        products = (directions[waiting] * directions[leaders]).sum(axis=1)
        signs = np.where(products < 0.0, -1.0, 1.0)
        distances = np.abs(directions[waiting] - signs[:, None] * directions[leaders]).max(axis=1)
        is_equal = distances <= errors[waiting] + errors[leaders]
        members, member_runs = waiting[is_equal], runs[is_equal]
        first = np.full(int(runs[-1]) + 1, len(directions))
        np.minimum.at(first, member_runs, members)
        groups[members] = first[member_runs]
        waiting = waiting[~is_equal]
    return groups


def _project_pool(
    pool: FormulaPool,
    transform: Callable[[Values], tuple[NDArray[np.bool_], Values]],
    nuisance: Values,
    vectors: Values,
) -> _Projections:
    """Project the formulas of a pool on vectors.

    Parameters
    ----------
    pool : FormulaPool
        The formulas.
    transform : callable
        Maps values, shape (b, m), to the rows that can be used, shape (b,), and to their new values.
    nuisance : float64 array, shape (m, r)
        Columns that are projected out.
    vectors : float64 array, shape (m, k)
        Further vectors, beside the random directions.
    """
    basis = np.linalg.qr(nuisance)[0]
    random = np.random.default_rng(0).standard_normal((len(nuisance), _N_DIRECTIONS))
    directions = np.column_stack([random, vectors])
    for _ in range(2):  # once more, against the rounding of the first projection
        directions = directions - basis @ (basis.T @ directions)
    norms = np.linalg.norm(directions, axis=0)
    directions = directions / np.where(norms > 0.0, norms, 1.0)
    found = []
    step = max(1, _BLOCK_VALUES // len(nuisance))
    for start in range(0, len(pool), step):
        is_usable, values = transform(pool.values[start : start + step])
        sizes = np.maximum(values.max(axis=1), -values.min(axis=1))
        # the vectors are orthogonal to the nuisance columns, so that the formulas need not be projected
        products = directions.T @ values.T / np.where(sizes > 0.0, sizes, 1.0)
        found.append((start + np.flatnonzero(is_usable), products))
    indices = np.concatenate([part for part, _ in found])
    return _Projections(
        indices,
        np.concatenate([part for _, part in found], axis=1),
        directions.T @ directions,
        np.full(len(indices), _ROUNDING * np.sqrt(len(nuisance))),
    )


def _merge_copies(projections: _Projections) -> _Projections:
    """Keep the first of the formulas with equal directions, and none that is rounding."""
    is_kept = projections.errors < _MAX_ERROR * projections.norms
    for group in projections.group():
        is_kept[group[1:]] = False
    return projections.take(np.flatnonzero(is_kept))


def _find_pairs(
    pool: FormulaPool, projections: _Projections, response: int, third: int | None = None
) -> list[tuple[int, int]]:
    """Find the pairs of formulas that fit a response exactly, simplest first.

    Parameters
    ----------
    pool : FormulaPool
        The formulas.
    projections : _Projections
        Formulas of different directions.
    response : int
        The vector that is the response.
    third : int, optional
        The vector that is a third term.
    """
    without = projections if third is None else projections.remove(third, response)
    place = response if third is None else _N_DIRECTIONS
    if without.products[place, place] <= _EXACT_SHARE:
        return []
    groups = without.remove(place).group()
    is_copy = np.zeros(len(projections.indices), dtype=bool)
    if third is not None and groups:
        # formulas that differ by a multiple of the third term agree without the response
        members = np.sort(np.concatenate(groups))
        for copies in without.take(members).group():
            is_copy[members[copies[1:]]] = True
    pairs: list[tuple[int, int]] = []
    for group in groups:
        indices = projections.indices[group[~is_copy[group]][:_MAX_GROUP]]
        pairs += combinations(indices.tolist(), 2)
    pairs.sort(key=lambda pair: (int(pool.complexity[list(pair)].sum()), pair))
    return pairs


def _count_choices(pool: FormulaPool) -> tuple[Values, Values]:
    """Count formulas, and pairs of formulas, up to each complexity."""
    counts = np.bincount(pool.complexity).astype(np.float64)
    return np.cumsum(counts), np.cumsum(np.convolve(counts, counts)) / 2.0


def _find_sums(data: LawData) -> list[Law]:
    """Find exact sums of formulas of the pool."""
    pool, target = data.pool, data.target[data.pool_rows]
    m = len(target)
    if m < _N_DIRECTIONS + 4:
        return []

    def take_all(values: Values) -> tuple[NDArray[np.bool_], Values]:
        return np.ones(len(values), dtype=bool), values

    scaled = target / np.abs(target).max()
    thirds = _choose_third_terms(pool)
    simple = pool.values[thirds] / np.abs(pool.values[thirds]).max(axis=1, keepdims=True)
    vectors = np.column_stack([scaled, simple.T])
    projections = _project_pool(pool, take_all, np.ones((m, 1)), vectors)
    response = _N_DIRECTIONS
    merged = _merge_copies(projections)
    singles, pairs = _count_choices(pool)
    search = _SumSearch(data)
    for index in _find_single_fits(merged, response):
        search.add((index,), float(singles[pool.complexity[index]]))
    for pair in _find_pairs(pool, merged, response)[:_MAX_PAIRS]:
        search.add(pair, float(pairs[pool.complexity[list(pair)].sum()]))
    if search.laws:
        return search.get_best()
    triples = []
    for place, third in enumerate(thirds):
        found = _find_pairs(pool, merged, response, response + 1 + place)[:_MAX_PAIRS]
        triples += [(*pair, int(third)) for pair in found]
    triples.sort(key=lambda triple: (int(pool.complexity[list(triple)].sum()), triple))
    for triple in triples[:_MAX_PAIRS]:
        complexity = int(pool.complexity[list(triple[:2])].sum())
        search.add(triple, float(pairs[complexity]) * len(thirds))
    return search.get_best()


def _choose_third_terms(pool: FormulaPool) -> NDArray[np.int64]:
    """Choose the first formulas of the pool that vary."""
    varies = np.ptp(pool.values[: 2 * _N_THIRD_TERMS], axis=1) > 0.0
    return np.flatnonzero(varies)[:_N_THIRD_TERMS]


def _find_single_fits(projections: _Projections, response: int) -> list[int]:
    """Find the formulas that fit a response alone."""
    left = projections.remove(response)
    return [int(index) for index in left.indices[left.norms <= left.errors][:_MAX_PAIRS]]


class _SumSearch:
    """Collects exact sums, each fitted on all rows."""

    def __init__(self, data: LawData) -> None:
        self.data = data
        self.laws: dict[frozenset[tuple[int, int]], tuple[int, Law]] = {}
        self.centred = data.target - data.target.mean()
        self.spread = float(np.linalg.norm(self.centred))
        self.terms: dict[int, tuple[Expression, Values]] = {}

    def add(self, indices: tuple[int, ...], search_size: float) -> None:
        """Fit a sum and keep it if it is exact, without the parts that are zero."""
        terms = [self._evaluate(index) for index in indices]
        values = np.column_stack([values for _, values in terms])
        if not np.isfinite(values).all():
            return
        centred = values - values.mean(axis=0)
        norms = np.linalg.norm(centred, axis=0)
        if not norms.all():  # a constant
            return
        coefficients = np.linalg.lstsq(centred / norms, self.centred, rcond=None)[0]
        residuals = self.centred - (centred / norms) @ coefficients
        if float(residuals @ residuals) > _EXACT_SHARE * self.spread**2:
            return
        if (np.abs(coefficients) < _MIN_PART * self.spread).any():
            return
        intercept = float(self.data.target.mean() - values.mean(axis=0) @ (coefficients / norms))
        magnitude = float(np.abs(values * (coefficients / norms)).max())
        law = Law(
            tuple(term for term, _ in terms),
            has_intercept=abs(intercept) > _MIN_PART * magnitude,
            search_size=search_size,
        )
        if self.data.allows(law):
            key = frozenset(compute_key(term) for term in law.terms)
            self.laws.setdefault(key, (sum(map(compute_complexity, law.terms)), law))

    def get_best(self) -> list[Law]:
        """Return the laws, simplest first."""
        ranked = sorted(self.laws.values(), key=lambda pair: (len(pair[1].terms), pair[0]))
        return [law for _, law in ranked[:_MAX_LAWS]]

    def _evaluate(self, index: int) -> tuple[Expression, Values]:
        """Return a formula of the pool and its values on all rows."""
        if index not in self.terms:
            expression = self.data.pool.build_expression(index)
            self.terms[index] = (expression, evaluate_expression(expression, self.data.columns))
        return self.terms[index]


def _find_products(data: LawData) -> list[Law]:
    """Find exact products of powers of two formulas of the pool and the inputs."""
    scale = compute_log_scale(data.columns, data.target)
    rows = scale.take(data.pool_rows)
    n_nuisance = scale.design.shape[1]
    has_products = {"mul", "div"} <= {operator.name for operator in data.grammar.binary}
    weights = rows.weights
    if not has_products or (weights > 0.0).sum() < n_nuisance + _N_DIRECTIONS + 3:
        return []

    def take_logarithms(values: Values) -> tuple[NDArray[np.bool_], Values]:
        is_usable = ((values != 0.0) | (weights == 0.0)).all(axis=1)
        magnitudes = np.where(weights == 0.0, 1.0, np.abs(values[is_usable]))
        return is_usable, np.log(magnitudes) * weights

    pool = data.pool
    projections = _project_pool(
        pool, take_logarithms, rows.design * weights[:, None], (rows.target * weights)[:, None]
    )
    response = _N_DIRECTIONS
    if projections.products[response, response] == 0.0:
        return []
    _, pairs = _count_choices(pool)
    found: dict[tuple[int, int], tuple[int, Law]] = {}
    for pair in _find_pairs(pool, _merge_copies(projections), response)[:_MAX_PAIRS]:
        formulas = [pool.build_expression(index) for index in pair]
        fitted = fit_power_product(formulas, float(pairs[pool.complexity[list(pair)].sum()]), data, scale)
        if fitted is not None and fitted[0] <= _EXACT_SHARE and data.allows(fitted[1]):
            term = fitted[1].terms[0]
            found.setdefault(compute_key(term), (compute_complexity(term), fitted[1]))
    ranked = sorted(found.values(), key=lambda each: each[0])
    return [law for _, law in ranked[:_MAX_LAWS]]
