"""Search pairs of formulas of a pool on a scale on which the law is a sum.

Exact laws are pairs of equal directions, see `symscreen.fitting.laws.direction_groups`. If there are none,
all pairs are ranked by how much they explain, see `symscreen.fitting.laws.pair_ranking`. What is found is
fitted on all rows, on the scale of the target.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import log
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.fitting.laws.direction_groups import N_DIRECTIONS, find_sums, project_formulas
from symscreen.fitting.laws.law_selection import round_share
from symscreen.fitting.laws.pair_ranking import rank_pairs, rank_pairs_again
from symscreen.linear_models.model_criteria import compute_search_penalty

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.fitting.laws.direction_groups import FormulaBlock, Projections
    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.law import Law, LawData


_BLOCK_VALUES = 1_000_000  # values of the pool that are transformed together
_MAX_PAIRS = 100  # exact pairs that are fitted on all rows
_MAX_POOL_ERROR = 1e-7  # largest relative error of an exact law on the rows of the pool
_TINY = 1e-300
_MAX_GROUP = 60  # formulas of equal direction, simplest first, that are paired
_MAX_LAWS = 60  # laws that are returned
_N_RANKED_AGAIN = 5_000  # pairs that are ranked again on more rows
_MIN_POOL_ROWS = 200  # rows of the pool below which pairs are ranked again on more rows
_MAX_MORE_ROWS = 1_000
_N_COPIES = 2  # copies of a formula that are tried with a fixed coefficient
_MIN_WRONG_SHARE = 0.1  # RSS/TSS of a fit above which copies of its formulas are tried
_PLAIN_SIGNS = ((1, 1), (1, -1), (-1, 1))  # coefficients of two formulas
# RSS/TSS up to which a law of the pool is exact. It is larger than `EXACT_SHARE`, because inner products of
# directions have rounding errors of about 1e-16.
_POOL_EXACT_SHARE = 1e-16
_MIN_SHARE = 1e-20  # the RSS/TSS that an exact law is given


class RankedLaw(NamedTuple):
    """A law with what orders it."""

    score: float
    complexity: int
    share: float  # RSS/TSS
    law: Law


def rank_law(share: float, law: Law, n: int) -> RankedLaw:
    """Compute what orders a law that is fitted on n rows with the given RSS/TSS."""
    share = _MIN_SHARE if share <= _POOL_EXACT_SHARE else round_share(share)
    n_parameters = len(law.terms) + law.has_intercept + law.n_constants
    score = n * log(share) / 2.0 + n_parameters * log(n) / 2.0
    score += compute_search_penalty(log(law.search_size), n, n_parameters) / 2.0
    return RankedLaw(score, sum(map(compute_complexity, law.terms)), share, law)


class Fit(Protocol):
    """Fits laws on all rows."""

    def __call__(
        self, indices: Sequence[int], n_choices: float, signs: Sequence[int] | None = None
    ) -> tuple[float, Law] | None:
        """Return RSS/TSS and the law with some formulas of the pool, or None if there is none.

        With signs, the coefficients on the scale of the search are these signs.
        """


@dataclass(frozen=True, eq=False)
class MoreRows:
    """More rows on which the best pairs are ranked again, on the same scale.

    Parameters
    ----------
    columns : mapping of str to float64 array, shape (m,)
        The inputs.
    transform, response, nuisance
        See `PairSearch`.
    """

    columns: Mapping[str, Values]
    transform: Callable[[Values], tuple[NDArray[np.bool_], Values]]
    response: Values
    nuisance: Values


def select_more_rows(data: LawData) -> NDArray[np.int64] | None:
    """Return the rows on which pairs are ranked again; None if the pool has enough rows, or all."""
    if len(data.pool_rows) >= min(_MIN_POOL_ROWS, len(data.target)):
        return None
    return data.select_rows(_MAX_MORE_ROWS)


@dataclass(frozen=True, eq=False)
class _PoolBlocks:
    """Blocks of formulas of a pool; their values on the scale are computed when a block is taken.

    Parameters
    ----------
    pool, transform
        See `PairSearch`.
    parts : sequence of int64 array
        The formulas of each block.
    """

    pool: FormulaPool
    transform: Callable[[Values], tuple[NDArray[np.bool_], Values]]
    parts: Sequence[NDArray[np.int64]]

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, place: int) -> FormulaBlock:
        """Return the usable formulas of a block, and their values on the scale."""
        part = self.parts[place]
        is_usable, values = self.transform(self.pool.values[part])
        return part[is_usable], values


@dataclass(frozen=True, eq=False)
class PairSearch:
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
    has_copies : bool
        Whether copies of the formulas are tried with the coefficients 1 and −1, where the fit fails.
    max_ranked : int or None
        Maximum number of formulas, simplest first, whose pairs are ranked; None for all.
    more_rows : MoreRows or None
        Rows on which the best pairs are ranked again, if the pool has few rows.
    jobs : int
        Number of threads.
    """

    pool: FormulaPool
    transform: Callable[[Values], tuple[NDArray[np.bool_], Values]]
    response: Values
    nuisance: Values
    thirds: NDArray[np.int64]
    n_ranked: int
    n: int
    fit: Fit
    has_copies: bool = False
    max_ranked: int | None = None
    more_rows: MoreRows | None = None
    jobs: int = 1

    @lockfree_cached_property
    def merged(self) -> tuple[Projections, list[NDArray[np.int64]]]:
        """Formulas of different directions, and their copies; see `Projections.merge_copies`.

        The vectors are the response and the third terms.
        """
        thirds = self.pool.values[self.thirds]
        vectors = np.vstack([self.response, thirds / np.abs(thirds).max(axis=1, keepdims=True)])
        blocks = self.split_formulas(np.arange(len(self.pool)))
        return project_formulas(blocks, self.nuisance, vectors.T, self.jobs).merge_copies()

    @property
    def formulas(self) -> Projections:
        """Formulas of different directions."""
        return self.merged[0]

    @lockfree_cached_property
    def copies(self) -> dict[int, NDArray[np.int64]]:
        """All formulas with the direction of a formula, by this formula."""
        return {int(group[0]): group for group in self.merged[1]}

    def split_formulas(self, indices: NDArray[np.int64]) -> _PoolBlocks:
        """Split formulas into blocks."""
        step = max(1, _BLOCK_VALUES // len(self.response))
        parts = [indices[start : start + step] for start in range(0, len(indices), step)]
        return _PoolBlocks(self.pool, self.transform, parts)

    def find_exact_laws(self) -> list[RankedLaw]:
        """Find exact laws with one or two formulas by equal directions."""
        if self.formulas.products[N_DIRECTIONS, N_DIRECTIONS] <= _POOL_EXACT_SHARE:
            return []
        zeros = self.formulas.remove(N_DIRECTIONS).find_zeros()
        singles = [(index,) for index in zeros[:_MAX_PAIRS].tolist()]
        return self._fit_laws([*singles, *self._select_exact(self._find_pairs())], is_exact=True)

    def find_exact_triples(self) -> list[RankedLaw]:
        """Find exact laws with two formulas and a third term."""
        triples = [
            (*pair, third)
            for place, third in enumerate(self.thirds.tolist())
            for pair in self._find_pairs(N_DIRECTIONS + 1 + place)[:_MAX_PAIRS]
        ]
        return self._fit_laws(self._select_exact(self._sort(triples)), is_exact=True)

    def find_plain_laws(self) -> list[RankedLaw]:
        """Find exact laws whose coefficients on the scale are 1 or −1.

        Formulas with equal values on the scale may have different signs, such as u and √u². One of each
        pattern of signs is tried.
        """
        blocks = self.split_formulas(np.arange(len(self.pool)))
        found, copies = find_sums(blocks, self.response, self.nuisance, self.jobs)
        variants = {index: self._select_signs(group) for index, group in copies.items()}
        pairs: list[tuple[int, ...]] = []
        for first, second in found:
            pairs += product(variants[first], variants[second])
        return self._fit_laws(self._select_exact(self._sort(pairs)), is_exact=True, is_plain=True)

    def _select_signs(self, indices: NDArray[np.int64]) -> list[int]:
        """Return the first formula of each pattern of signs, up to a common sign."""
        chosen: dict[bytes, int] = {}
        for index in indices.tolist():
            is_positive = self.pool.values[index] > 0.0
            chosen.setdefault((is_positive == is_positive[0]).tobytes(), index)
        return list(chosen.values())

    def find_best_laws(self) -> list[RankedLaw]:
        """Find the laws that explain most, as far as their number is worth it."""
        if not len(self.formulas.indices):
            return []
        blocks = self.split_formulas(self.formulas.indices[: self.max_ranked])
        n_ranked = self.n_ranked if self.more_rows is None else _N_RANKED_AGAIN
        singles, pairs = rank_pairs(
            blocks, self.response, self.nuisance, self.pool.complexity, n_ranked, self.jobs
        )
        if self.more_rows is not None and pairs:
            pairs = self._rank_again(pairs, self.more_rows)
        return self._fit_laws([*((index,) for index in singles[: self.n_ranked // 10]), *pairs])

    def _rank_again(self, pairs: Sequence[tuple[int, int]], rows: MoreRows) -> list[tuple[int, int]]:
        """Rank pairs on more rows."""
        indices = np.unique(np.array(pairs, dtype=np.int64))
        expressions = [self.pool.build_expression(index) for index in indices.tolist()]
        values = np.array([evaluate_expression(each, rows.columns) for each in expressions])
        is_finite = np.isfinite(values).all(axis=1)
        is_usable, transformed = rows.transform(values[is_finite])
        block = indices[is_finite][is_usable], transformed
        return rank_pairs_again(
            pairs, block, rows.response, rows.nuisance, self.pool.complexity, self.n_ranked
        )

    def _find_pairs(self, third: int | None = None) -> list[tuple[int, ...]]:
        """Find the pairs of formulas with equal directions, simplest first.

        Parameters
        ----------
        third : int, optional
            The vector that is a third term.
        """
        formulas = self.formulas
        without = formulas if third is None else formulas.remove(third, N_DIRECTIONS)
        if without.products[N_DIRECTIONS, N_DIRECTIONS] <= _POOL_EXACT_SHARE:
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

    def _select_exact(self, candidates: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Return the first laws that fit the response on the rows of the pool.

        Others have equal directions by rounding: most of what is left of a formula with one very large value
        is this value.
        """
        selected: list[tuple[int, ...]] = []
        basis = np.linalg.qr(self.nuisance)[0]
        step = max(1, _BLOCK_VALUES // (4 * len(self.response)))
        for start in range(0, len(candidates), step):
            block = candidates[start : start + step]
            remainders = np.tile(self.response - basis @ (basis.T @ self.response), (len(block), 1))
            total = np.linalg.norm(remainders[0])
            directions: list[Values] = []
            for indices in zip(*block, strict=True):
                values = self.transform(self.pool.values[list(indices)])[1]
                values = values / np.maximum(np.abs(values).max(axis=1, keepdims=True), _TINY)
                for _ in range(2):
                    values -= (values @ basis) @ basis.T
                    for direction in directions:
                        values -= (values * direction).sum(axis=1, keepdims=True) * direction
                directions.append(values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), _TINY))
                remainders -= (remainders * directions[-1]).sum(axis=1, keepdims=True) * directions[-1]
            is_exact = np.linalg.norm(remainders, axis=1) <= _MAX_POOL_ERROR * total
            selected += [block[place] for place in np.flatnonzero(is_exact).tolist()]
            if len(selected) >= _MAX_PAIRS:
                break
        return selected[:_MAX_PAIRS]

    def _sort(self, laws: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Sort lists of formulas by complexity."""
        return sorted(laws, key=lambda law: (int(self.pool.complexity[list(law)].sum()), law))

    def _fit_laws(
        self, candidates: Sequence[tuple[int, ...]], *, is_exact: bool = False, is_plain: bool = False
    ) -> list[RankedLaw]:
        """Fit laws on all rows, and rank them.

        Plain laws have the coefficients 1 or −1 on the scale. They are also fitted with these.
        """
        counts = np.bincount(self.pool.complexity).astype(np.float64)
        singles, pairs = np.cumsum(counts), np.cumsum(np.convolve(counts, counts)) / 2.0
        found: dict[frozenset[tuple[int, int]], RankedLaw] = {}
        for indices in candidates:
            complexity = int(self.pool.complexity[list(indices[:2])].sum())
            n_choices = float((singles if len(indices) == 1 else pairs)[complexity])
            n_choices *= len(self.thirds) if len(indices) == 3 else 1
            fits = [self.fit(indices, n_choices)]
            if self.has_copies and not is_exact and (fits[0] is None or fits[0][0] > _MIN_WRONG_SHARE):
                fits += [self.fit(copies, n_choices, signs) for copies, signs in self._find_copies(indices)]
            if is_plain and (fits[0] is None or fits[0][0] > _POOL_EXACT_SHARE):
                fits += [self.fit(indices, n_choices, signs) for signs in _PLAIN_SIGNS]
            for fitted in fits:
                if fitted is not None and (fitted[0] <= _POOL_EXACT_SHARE or not is_exact):
                    law = rank_law(*fitted, self.n)
                    found.setdefault(frozenset(map(compute_key, law.law.terms)), law)
        return sorted(found.values(), key=lambda each: each[:2])[:_MAX_LAWS]

    def _find_copies(self, indices: Sequence[int]) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Find copies of formulas whose coefficients are closest to 1 or −1, and these signs."""
        m, r = self.nuisance.shape
        if m < r + len(indices):
            return []
        values = self.transform(self.pool.values[list(indices)])[1].T
        basis = np.linalg.qr(self.nuisance)[0]
        values = values - basis @ (basis.T @ values)
        coefficients = np.linalg.lstsq(values, self.response - basis @ (basis.T @ self.response), rcond=None)[
            0
        ]
        choices = []
        for index, column, coefficient in zip(indices, values.T, coefficients.tolist(), strict=True):
            copies = self.copies.get(index, np.array([index]))
            ratios = self.transform(self.pool.values[copies])[1] @ column / (column @ column)
            distances = np.abs(np.log(np.abs(ratios) / max(abs(coefficient), 1e-300))).round(6)
            chosen: dict[tuple[float, bytes], tuple[int, int]] = {}
            for place in np.lexsort((copies, distances)).tolist():
                is_positive = self.pool.values[copies[place]] > 0.0
                form = (float(distances[place]), (is_positive == is_positive[0]).tobytes())
                sign = 1 if ratios[place] * coefficient > 0.0 else -1
                chosen.setdefault(form, (int(copies[place]), sign))
                if len(chosen) == _N_COPIES:
                    break
            choices.append(chosen.values())
        return [
            (tuple(index for index, _ in each), tuple(sign for _, sign in each)) for each in product(*choices)
        ]
