"""Improve noisy products y = c · A · B by exchanging one factor at a time.

The best products of a search on the scale of logarithms often have one right factor. If A is fixed,
y = c · A · B is a least-squares problem with one coefficient for each formula B of the pool. All of them cost
two matrix products. The errors are those of y, so rows in which the target is smaller than its noise do no
harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.expressions.tree import apply_operator
from symscreen.fitting.laws.common_factors import collect_powers
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.pair_search import rank_law
from symscreen.fitting.laws.power_expressions import build_power_product
from symscreen.fitting.laws.power_products import compute_share_without_intercept
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import LawData
    from symscreen.fitting.laws.pair_search import RankedLaw


_N_LAWS = 10  # best products whose factors are fixed
_N_PARTNERS = 3  # formulas that are fitted on all rows for each fixed factor
_N_ROUNDS = 3
_BLOCK_VALUES = 1_000_000  # values of the pool that are compared together
_MIN_UNEXPLAINED = 1e-12  # smallest unexplained share of the target's sum of squares; less is rounding


def exchange_factors(laws: Iterable[RankedLaw], data: LawData) -> list[RankedLaw]:
    """Find products A · B with a factor A of a known product and a formula B of the pool.

    Parameters
    ----------
    laws : iterable of RankedLaw
        Known laws. Those with one product as their term count.
    data : LawData
        Inputs, target and grammar.

    Returns
    -------
    list of RankedLaw
        New laws. Their factors are fixed in turn, until the best law stays the same.
    """
    found: list[RankedLaw] = []
    best = _select_products(laws)
    tried: set[tuple[int, int]] = set()
    for _ in range(_N_ROUNDS):
        factors = {compute_key(factor): factor for law in best for factor in _list_factors(law.law.terms[0])}
        found += _find_partners([each for key, each in factors.items() if key not in tried], data)
        tried.update(factors)
        previous, best = best, _select_products([*best, *found])
        if best[:1] == previous[:1]:
            break
    return found


def _select_products(laws: Iterable[RankedLaw]) -> list[RankedLaw]:
    """Return the best laws with one term and no intercept, each formula once."""
    products = [each for each in laws if len(each.law.terms) == 1 and not each.law.has_intercept]
    best: dict[tuple[int, int], RankedLaw] = {}
    for each in sorted(products, key=lambda law: law[:2]):
        best.setdefault(compute_key(each.law.terms[0]), each)
    return list(best.values())[:_N_LAWS]


def _list_factors(term: Expression) -> list[Expression]:
    """List the powers that a product consists of."""
    return [build_power_product([power]) for power in collect_powers(term).items()]


def _find_partners(factors: Iterable[Expression], data: LawData) -> list[RankedLaw]:
    """Find the formulas B of the pool that fit best in y = c · factor · B, for each factor."""
    evaluated = [(factor, evaluate_expression(factor, data.columns)) for factor in factors]
    used = [(factor, values) for factor, values in evaluated if np.isfinite(values).all() and values.any()]
    if not used or data.is_over:
        return []
    gains = _compute_gains(np.array([values[data.pool_rows] for _, values in used]), data)
    return [law for (factor, _), own in zip(used, gains, strict=True) for law in _fit_best(factor, own, data)]


def _fit_best(factor: Expression, gains: Values, data: LawData) -> list[RankedLaw]:
    """Fit the products of a factor and the formulas of largest gains, shape (q,), on all rows."""
    counts = np.bincount(data.pool.complexity).astype(np.float64)
    n_simpler, n_pairs = np.cumsum(counts)[data.pool.complexity], np.cumsum(np.convolve(counts, counts)) / 2.0
    found = []
    for index in _rank_gains(gains, n_simpler, data).tolist():
        term = apply_operator(OPERATORS["mul"], factor, data.pool.build_expression(index))
        fitted = evaluate_expression(term, data.columns)
        if not np.isfinite(fitted).all() or not fitted.any():
            continue
        complexity = compute_complexity(factor) + int(data.pool.complexity[index])
        size = float(n_pairs[min(complexity, len(n_pairs) - 1)])
        law = Law((term,), has_intercept=False, search_size=size)
        if data.allows(law):
            found.append(rank_law(compute_share_without_intercept(fitted, data.target), law, len(fitted)))
    return found


def _compute_gains(factors: Values, data: LawData) -> Values:
    """Compute by how much each formula B reduces Σy² in y = c · factor · B on the rows of the pool.

    The factors have the shape (f, m), and the gains (f, q).
    """
    scaled = factors / np.maximum(np.abs(factors).max(axis=1, keepdims=True), np.finfo(float).tiny)
    products, squares = scaled * data.target[data.pool_rows], scaled**2
    pool = data.pool.values
    gains = np.zeros((len(factors), len(pool)))
    step = max(1, _BLOCK_VALUES // pool.shape[1])
    for start in range(0, len(pool), step):
        block = pool[start : start + step]
        block = block / np.maximum(np.abs(block).max(axis=1, keepdims=True), np.finfo(float).tiny)
        covariances, norms = products @ block.T, squares @ (block * block).T
        gains[:, start : start + step] = covariances**2 / np.where(norms > 0.0, norms, np.inf)
    return gains


def _rank_gains(gains: Values, n_simpler: Values, data: LawData) -> NDArray[np.int64]:
    """Return the formulas with the smallest n·log(RSS)/2 + log N, best first."""
    total = float((data.target[data.pool_rows] ** 2).sum())
    unexplained = np.maximum(1.0 - gains / total, _MIN_UNEXPLAINED)
    scores = len(data.target) * np.log(unexplained) / 2.0 + np.log(n_simpler)
    return np.argsort(scores.round(6), kind="stable")[:_N_PARTNERS]
