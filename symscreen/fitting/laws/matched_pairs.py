"""Find laws that are made of two formulas A and B of a pool, by meeting in the middle.

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

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import compute_key, evaluate_expression
from symscreen.fitting.laws.factor_exchange import exchange_factors
from symscreen.fitting.laws.matched_products import prepare_products
from symscreen.fitting.laws.matched_sums import prepare_sums
from symscreen.fitting.laws.pair_search import PairSearch
from symscreen.fitting.laws.parallel import map_in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from symscreen._typing import Values
    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.fitting.laws.pair_search import RankedLaw


_MIN_SIGNAL = 2.0  # targets that are smaller by this factor of the noise have wrong logarithms
_MIN_NOISY_ROWS = 0.2  # share of such rows from which on products are searched about predictions
_N_STEPS = 3  # repetitions at most
_MAX_SHARE = 0.5  # RSS/TSS of a law whose predictions are worth a repetition
_MAX_RELATIVE_ERROR = 1e-6  # median error of an exact law, relative to the target


def find_matched_pairs(data: LawData) -> list[Law]:
    """Find laws with two formulas of the pool: sums, y = c₀ + c₁·A + c₂·B, and power products.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar.

    Returns
    -------
    list of Law
        At most 60 of each kind, best first. The kinds are sums of one or two formulas, sums of two formulas
        and a simple third term, products of powers of two formulas, and those with powers of the inputs. If
        there are exact laws, these are the simplest ones. Otherwise they are the laws with the smallest
        n·log(RSS)/2 + k·log(n)/2 + log N·n/(n − k) on the scale of y, with k coefficients and search size N;
        there are none with a third term then.

    Examples
    --------
    >>> import numpy as np
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> columns = dict(zip("uvx", rng.uniform(1, 5, (3, 200))))
    >>> u, v, x = columns.values()
    >>> target = 3 + 2 * np.exp(u - v) - 5 * np.sqrt(u + x)
    >>> data = LawData(columns, target, load_grammar("basic"), pool_limit=5000)
    >>> for term in find_matched_pairs(data)[0].terms:
    ...     print(term)
    sqrt(u + x)
    exp(u - v)
    """
    searches = [search for search in (prepare_sums(data), prepare_products(data)) if search is not None]

    def find_in_all(find: Callable[[PairSearch], list[RankedLaw]]) -> list[RankedLaw]:
        """Return the laws that a method finds in all searches, which run at the same time."""
        return [law for laws in map_in_threads(find, searches, data.jobs) for law in laws]

    laws = _keep_exact(find_in_all(PairSearch.find_exact_laws), data)
    if not laws:  # the next two kinds of laws are searched at the same time, and the simpler kind comes first
        finds = (partial(_find_plain_products, data), partial(find_in_all, PairSearch.find_exact_triples))
        plain, triples = map_in_threads(lambda find: find(), finds, data.jobs)
        laws = _keep_exact(plain, data) or _keep_exact(triples, data)
    if not laws and not data.is_over:
        laws = find_in_all(PairSearch.find_best_laws)
        laws += _find_noisy_products(data, laws)
    best: dict[frozenset[tuple[int, int]], Law] = {}
    for _, _, _, law in sorted(laws, key=_get_order):
        best.setdefault(frozenset(map(compute_key, law.terms)), law)
    return list(best.values())


def _keep_exact(found: Iterable[RankedLaw], data: LawData) -> list[RankedLaw]:
    """Keep the laws that are exact relative to the target in most rows, not only where it is largest.

    They are fitted with the weights 1/|y|.
    """
    used = data.target != 0.0
    kept = []
    for each in found:
        values = [evaluate_expression(term, data.columns)[used] for term in each.law.terms]
        if each.law.has_intercept:
            values.append(np.ones(int(used.sum())))
        design = np.array(values) / np.abs(data.target[used])
        design /= np.abs(design).max(axis=1, keepdims=True)
        signs = np.sign(data.target[used])
        coefficients = np.linalg.lstsq(design.T, signs, rcond=None)[0]
        if np.median(np.abs(signs - coefficients @ design)) <= _MAX_RELATIVE_ERROR:
            kept.append(each)
    return kept


def _find_plain_products(data: LawData) -> list[RankedLaw]:
    """Find exact products A · B and quotients.

    Powers of inputs whose exponents are not simple, such as x^(3/8), are formulas of the pool.
    """
    search = prepare_products(data, with_inputs=False, noise=None)
    return [] if search is None else search.find_plain_laws()


def _find_noisy_products(data: LawData, laws: Sequence[RankedLaw]) -> list[RankedLaw]:
    """Find products without further factors; the error of the best law so far is a bound of the noise.

    Where much of the target is smaller than its noise, the search is repeated about the best predictions:
    steps of the Gauss–Newton method, each over all pairs. Then the factors of the best products are
    exchanged.
    """
    noise = min((law.share for law in laws), default=0.0) ** 0.5 * float(data.target.std())
    search = prepare_products(data, with_inputs=False, noise=noise)
    if search is None:
        return []
    found = search.find_best_laws()
    best = min([*laws, *found], key=_get_order, default=None)
    if np.mean(np.abs(data.target) <= _MIN_SIGNAL * noise) < _MIN_NOISY_ROWS:
        return found
    for _ in range(_N_STEPS):
        if best is None or best.share > _MAX_SHARE or data.is_over:
            break
        search = prepare_products(data, with_inputs=False, prediction=_predict(best.law, data))
        further = [] if search is None else search.find_best_laws()
        found += further
        previous, best = best, min([best, *further], key=_get_order)
        if best is previous:
            break
    return [*found, *exchange_factors([*laws, *found], data)]


def _get_order(law: RankedLaw) -> tuple[float, int]:
    """Return what orders laws: the score, then the complexity."""
    return law[:2]


def _predict(law: Law, data: LawData) -> Values:
    """Return the predictions of a law with the best coefficients, shape (n,)."""
    values = [evaluate_expression(term, data.columns) for term in law.terms]
    design = np.column_stack([*values, np.ones((len(data.target), int(law.has_intercept)))])
    return np.asarray(design @ np.linalg.lstsq(design, data.target, rcond=None)[0])
