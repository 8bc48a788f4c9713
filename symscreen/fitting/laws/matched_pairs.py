"""Meet in the middle: laws made of two formulas A and B of a pool.

Sums y = c₀ + c₁·A + c₂·B: the intercept and y are projected out of every formula. What is left of A and of
B then has the same direction up to sign exactly when the law holds, because c₁·A + c₂·B has nothing left. So
all pairs cost a sort of the directions. Affine copies are merged first, since they have the same direction
without y already. A simple third term C can be projected out too.

Products y = c · Π xᵢ^aᵢ · A^p · B^q are sums on the scale of logarithms, where the inputs' logarithms are
projected out too; see `symscreen.fitting.laws.power_products`.

If no law is exact, all pairs are ranked by how much they explain; see `symscreen.fitting.laws.pair_ranking`.
The best ones are fitted on all rows, on the scale of y.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import log
from typing import TYPE_CHECKING, Protocol

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.fitting.laws.direction_groups import N_DIRECTIONS, find_sums, project_formulas
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.pair_ranking import rank_pairs
from symscreen.fitting.laws.power_products import compute_log_scale, fit_power_product, round_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.direction_groups import Projections
    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.law import LawData


_BLOCK_VALUES = 1_000_000  # values of the pool that are transformed together
_MAX_CACHED_VALUES = 20_000_000  # of formulas on all rows
_MAX_PAIRS = 100  # exact pairs of each kind that are fitted on all rows
_MAX_GROUP = 60  # formulas of equal direction, simplest first, that are paired
_N_RANKED = 200  # pairs of each kind that are fitted on all rows if none is exact
_N_RANKED_PRODUCTS = 60  # their fit is an iteration
_MAX_LAWS = 60  # laws of each kind that are returned
_N_THIRD_TERMS = 40  # formulas, simplest first, that are tried as a third term
_EXACT_SHARE = 1e-16  # RSS/TSS up to which a law is exact
_MIN_SHARE = 1e-20  # stands for the RSS/TSS of an exact law
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
        At most 60 of each kind, best first: sums of one or two formulas, sums of two formulas and a simple
        third term, and products of powers of two formulas and the inputs. If there are exact laws, these are
        the simplest ones. Otherwise they are the laws with the smallest n·log(RSS)/2 + k·log(n)/2 + log N
        on the scale of y, with k coefficients and search size N; there are none with a third term then.

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
    searches = [search for search in (_prepare_sums(data), _prepare_products(data)) if search is not None]
    laws = [law for search in searches for law in search.find_exact_laws()]
    if not laws:
        # powers of inputs whose exponents are not simple, such as x^(3/8), are formulas of the pool
        plain = _prepare_products(data, with_inputs=False)
        laws = [] if plain is None else plain.find_plain_laws()
    return laws or [law for search in searches for law in search.find_best_laws()]


class _Fit(Protocol):
    """Fits a law on all rows."""

    def __call__(self, indices: Sequence[int], n_choices: float) -> tuple[float, Law] | None:
        """Return RSS/TSS and the law with some formulas of the pool, or None if there is none."""


@dataclass(frozen=True, eq=False)
class _PairSearch:
    """A scale on which the law is a sum of formulas.

    Parameters
    ----------
    pool : FormulaPool
        The formulas.
    transform : callable
        Maps values of formulas, shape (b, m), to the formulas that can be used, shape (b,), and to their
        values on the scale.
    response : float64 array, shape (m,)
        The target on the scale.
    nuisance : float64 array, shape (m, r)
        Columns that the law may contain besides.
    thirds : int64 array, shape (k,)
        Formulas that are tried as a third term.
    n_ranked : int
        Number of pairs that are fitted on all rows if none is exact.
    n : int
        Number of all rows.
    fit : callable
        Fits a law on all rows.
    """

    pool: FormulaPool
    transform: Callable[[Values], tuple[NDArray[np.bool_], Values]]
    response: Values
    nuisance: Values
    thirds: NDArray[np.int64]
    n_ranked: int
    n: int
    fit: _Fit

    @lockfree_cached_property
    def formulas(self) -> Projections:
        """Formulas of different directions. The vectors are the response and the third terms."""
        thirds = self.pool.values[self.thirds]
        vectors = np.vstack([self.response, thirds / np.abs(thirds).max(axis=1, keepdims=True)])
        blocks = self.iterate_blocks(np.arange(len(self.pool)))
        return project_formulas(blocks, self.nuisance, vectors.T).merge_copies()

    def iterate_blocks(self, indices: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Values]]:
        """Yield formulas and their values on the scale."""
        step = max(1, _BLOCK_VALUES // len(self.response))
        for start in range(0, len(indices), step):
            block = indices[start : start + step]
            is_usable, values = self.transform(self.pool.values[block])
            yield block[is_usable], values

    def find_exact_laws(self) -> list[Law]:
        """Find exact laws by equal directions."""
        formulas = self.formulas
        if formulas.products[N_DIRECTIONS, N_DIRECTIONS] <= _EXACT_SHARE:
            return []
        zeros = formulas.remove(N_DIRECTIONS).find_zeros()
        singles = [(index,) for index in zeros[:_MAX_PAIRS].tolist()]
        laws = self._fit_laws([*singles, *self._find_pairs()[:_MAX_PAIRS]], is_exact=True)
        if laws:
            return laws
        triples = [
            (*pair, third)
            for place, third in enumerate(self.thirds.tolist())
            for pair in self._find_pairs(N_DIRECTIONS + 1 + place)[:_MAX_PAIRS]
        ]
        return self._fit_laws(self._sort(triples)[:_MAX_PAIRS], is_exact=True)

    def find_plain_laws(self) -> list[Law]:
        """Find exact laws whose coefficients on the scale are 1 or −1."""
        blocks = self.iterate_blocks(np.arange(len(self.pool)))
        pairs: list[tuple[int, ...]] = [*find_sums(blocks, self.response, self.nuisance)]
        return self._fit_laws(self._sort(pairs)[:_MAX_PAIRS], is_exact=True)

    def find_best_laws(self) -> list[Law]:
        """Find the laws that explain most, as far as their number is worth it."""
        blocks = self.iterate_blocks(self.formulas.indices)
        singles, pairs = rank_pairs(blocks, self.response, self.nuisance, self.pool.complexity, self.n_ranked)
        return self._fit_laws([*((index,) for index in singles[: self.n_ranked // 10]), *pairs])

    def _find_pairs(self, third: int | None = None) -> list[tuple[int, ...]]:
        """Find the pairs of formulas with equal directions, simplest first.

        Parameters
        ----------
        third : int, optional
            The vector that is a third term.
        """
        formulas = self.formulas
        without = formulas if third is None else formulas.remove(third, N_DIRECTIONS)
        if without.products[N_DIRECTIONS, N_DIRECTIONS] <= _EXACT_SHARE:
            return []
        groups = without.remove(N_DIRECTIONS).group()
        is_copy = np.zeros(len(formulas.indices), dtype=bool)
        if third is not None and groups:
            # formulas that differ by a multiple of the third term agree without the response
            members = np.sort(np.concatenate(groups))
            for copies in without.take(members).group():
                is_copy[members[copies[1:]]] = True
        pairs: list[tuple[int, ...]] = []
        for group in groups:
            indices = formulas.indices[group[~is_copy[group]][:_MAX_GROUP]]
            pairs += combinations(indices.tolist(), 2)
        return self._sort(pairs)

    def _sort(self, laws: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Sort lists of formulas by complexity."""
        return sorted(laws, key=lambda law: (int(self.pool.complexity[list(law)].sum()), law))

    def _fit_laws(self, candidates: Sequence[tuple[int, ...]], *, is_exact: bool = False) -> list[Law]:
        """Fit laws on all rows, and rank them."""
        counts = np.bincount(self.pool.complexity).astype(np.float64)
        singles, pairs = np.cumsum(counts), np.cumsum(np.convolve(counts, counts)) / 2.0
        found: dict[frozenset[tuple[int, int]], tuple[float, int, Law]] = {}
        for indices in candidates:
            complexity = int(self.pool.complexity[list(indices[:2])].sum())
            n_choices = float((singles if len(indices) == 1 else pairs)[complexity])
            fitted = self.fit(indices, n_choices * (len(self.thirds) if len(indices) == 3 else 1))
            if fitted is None or (is_exact and fitted[0] > _EXACT_SHARE):
                continue
            share, law = fitted
            share = _MIN_SHARE if share <= _EXACT_SHARE else round_share(share)
            n_parameters = len(law.terms) + law.has_intercept + law.n_constants
            score = self.n * log(share) / 2.0 + n_parameters * log(self.n) / 2.0 + log(law.search_size)
            key = frozenset(map(compute_key, law.terms))
            found.setdefault(key, (score, sum(map(compute_complexity, law.terms)), law))
        ranked = sorted(found.values(), key=lambda each: each[:2])
        return [law for _, _, law in ranked[:_MAX_LAWS]]


class _SumFit:
    """Fits sums of formulas with free coefficients on all rows."""

    def __init__(self, data: LawData) -> None:
        self.data = data
        self.centred = data.target - data.target.mean()
        self.spread = float(np.linalg.norm(self.centred))
        self.terms: dict[int, tuple[Expression, Values]] = {}

    def __call__(self, indices: Sequence[int], n_choices: float) -> tuple[float, Law] | None:
        """Fit a sum; None if a term is not finite or has no effect."""
        terms = [self._evaluate(index) for index in indices]
        values = np.column_stack([values for _, values in terms])
        if not np.isfinite(values).all():
            return None
        values = values / np.abs(values).max(axis=0)
        centred = values - values.mean(axis=0)
        q, r = np.linalg.qr(centred)
        if np.abs(np.diag(r)).min() <= _MIN_PART * np.linalg.norm(values):
            return None
        coefficients = np.linalg.solve(r, q.T @ self.centred)
        residuals = self.centred - centred @ coefficients
        square = float(residuals @ residuals)
        if (np.abs(coefficients) * np.linalg.norm(centred, axis=0) < _MIN_PART * self.spread).any():
            return None
        law = Law(
            tuple(term for term, _ in terms),
            has_intercept=self._needs_intercept(values, coefficients, square),
            search_size=n_choices,
        )
        return (min(square / self.spread**2, 1.0), law) if self.data.allows(law) else None

    def _needs_intercept(self, values: Values, coefficients: Values, square: float) -> bool:
        """Return whether the intercept is not rounding, and lowers the Bayesian information criterion."""
        n, target = len(values), self.data.target
        intercept = float(target.mean() - values.mean(axis=0) @ coefficients)
        if abs(intercept) <= _MIN_PART * float(np.abs(values * coefficients).max()):
            return False
        q, _ = np.linalg.qr(values)
        residuals = target - q @ (q.T @ target)
        return bool(float(residuals @ residuals) > square * float(n) ** (1.0 / n))

    def _evaluate(self, index: int) -> tuple[Expression, Values]:
        """Return a formula of the pool and its values on all rows."""
        if len(self.terms) * len(self.data.target) > _MAX_CACHED_VALUES:
            self.terms.clear()
        if index not in self.terms:
            expression = self.data.pool.build_expression(index)
            self.terms[index] = (expression, evaluate_expression(expression, self.data.columns))
        return self.terms[index]


def _prepare_sums(data: LawData) -> _PairSearch | None:
    """Prepare the search for sums; None if there are too few rows."""
    pool, target = data.pool, data.target[data.pool_rows]
    if len(target) < N_DIRECTIONS + 4:
        return None
    varies = np.ptp(pool.values[: 2 * _N_THIRD_TERMS], axis=1) > 0.0
    return _PairSearch(
        pool,
        lambda values: (np.ones(len(values), dtype=bool), values),
        target / np.abs(target).max(),
        np.ones((len(target), 1)),
        np.flatnonzero(varies)[:_N_THIRD_TERMS],
        _N_RANKED,
        len(data.target),
        _SumFit(data),
    )


def _prepare_products(data: LawData, *, with_inputs: bool = True) -> _PairSearch | None:
    """Prepare the search for products; None if there are too few rows, or no products in the grammar."""
    scale = compute_log_scale(data.columns, data.target)
    if not with_inputs:
        scale = replace(scale, design=scale.design[:, :1], names=())
    rows = scale.take(data.pool_rows)
    has_products = {"mul", "div"} <= {operator.name for operator in data.grammar.binary}
    is_used = rows.weights > 0.0
    if not has_products or is_used.sum() < rows.design.shape[1] + N_DIRECTIONS + 3:
        return None

    def take_logarithms(values: Values) -> tuple[NDArray[np.bool_], Values]:
        is_usable = ((values != 0.0) | ~is_used).all(axis=1)
        magnitudes = np.where(is_used, np.abs(values[is_usable]), 1.0)
        return is_usable, np.log(magnitudes) * rows.weights

    def fit(indices: Sequence[int], n_choices: float) -> tuple[float, Law] | None:
        formulas = [data.pool.build_expression(index) for index in indices]
        fitted = fit_power_product(formulas, n_choices, data, scale)
        return fitted if fitted is not None and data.allows(fitted[1]) else None

    return _PairSearch(
        data.pool,
        take_logarithms,
        rows.target * rows.weights,
        rows.design * rows.weights[:, None],
        np.arange(0),
        _N_RANKED_PRODUCTS,
        len(data.target),
        fit,
    )
