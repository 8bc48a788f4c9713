"""Run the searches for laws, cheapest first, and fit what they find on the scale of the target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.fitting.coefficients import estimate_coefficients, is_identifiable
from symscreen.fitting.feature_dictionary import TermDictionary
from symscreen.fitting.laws.matched_pairs import find_matched_pairs
from symscreen.fitting.laws.power_products import find_power_products
from symscreen.fitting.laws.rational_forms import find_rational_forms
from symscreen.fitting.laws.refinement import refine_law
from symscreen.fitting.laws.single_index import find_single_index_laws
from symscreen.fitting.laws.transformed_sums import find_transformed_sums
from symscreen.fitting.subset_search import EXACT_SHARE, compute_rounding_share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.law import Law, LawData


_STAGES: tuple[Callable[[LawData], list[Law]], ...] = (
    find_power_products,
    find_single_index_laws,
    find_transformed_sums,
    find_rational_forms,
    find_matched_pairs,
)


_N_REFINED = 8  # laws of each search whose inner constants are fitted again


@dataclass(frozen=True, eq=False)
class FittedLaw:
    """A law with its error.

    Parameters
    ----------
    law : Law
        The law.
    values : float64 array, shape (k, n)
        Values of its terms.
    unexplained_share : float
        1 − R² with the best coefficients; 0 if it is rounding.
    """

    law: Law
    values: Values
    unexplained_share: float


def find_laws(data: LawData) -> list[Law]:
    """Find candidates for the law behind a target; the stages end once a law is exact.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar.

    Returns
    -------
    list of Law
        In the order of the stages.
    """
    found: list[Law] = []
    for stage in _STAGES:
        laws = stage(data)
        fitted = fit_laws(laws, data.columns, data.target)
        refined = refine_best_laws(fitted, data)
        found += [_limit_search_size(law, data.pool) for law in (*refined, *laws)]
        fitted += fit_laws(refined, data.columns, data.target)
        if any(each.unexplained_share <= EXACT_SHARE for each in fitted):
            break
    return _merge_equal_laws(found)


def _merge_equal_laws(laws: Sequence[Law]) -> list[Law]:
    """Keep one of equal laws, with the smallest search size: the cheapest search would have been enough."""
    merged: dict[tuple[frozenset[str], bool], Law] = {}
    for law in laws:
        key = (frozenset(map(str, law.terms)), law.has_intercept)
        known = merged.get(key)
        merged[key] = (
            law if known is None else replace(known, search_size=min(known.search_size, law.search_size))
        )
    return list(merged.values())


def refine_best_laws(fitted: Sequence[FittedLaw], data: LawData) -> list[Law]:
    """Fit the constants inside the best laws on the scale of y, and make them simple numbers if possible."""
    with_constants = [each for each in fitted if each.law.n_constants]
    best = sorted(with_constants, key=lambda each: each.unexplained_share)[:_N_REFINED]
    refined = (refine_law(each.law, data) for each in best)
    return [law for law in refined if law is not None and data.allows(law)]


def _limit_search_size(law: Law, pool: FormulaPool) -> Law:
    """Limit the cost of a law that the pool contains to the number of formulas that are not more complex."""
    complexity = sum(map(compute_complexity, law.terms))
    if len(law.terms) > 1 or law.n_constants or complexity >= pool.complexity[-1]:
        return law
    n_formulas = float((pool.complexity <= complexity).sum())
    return replace(law, search_size=min(law.search_size, n_formulas))


def fit_laws(laws: Sequence[Law], columns: Mapping[str, Values], target: Values) -> list[FittedLaw]:
    """Fit the coefficients of laws; laws that the rows do not determine are left out.

    Parameters
    ----------
    laws : sequence of Law
        The laws.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name.
    target : float64 array, shape (n,)
        The target.

    Returns
    -------
    list of FittedLaw
        In the same order.
    """
    rounding = compute_rounding_share(target)
    fitted = []
    for law in laws:
        values = np.array([evaluate_expression(term, columns) for term in law.terms])
        if is_identifiable(values):
            estimates = estimate_coefficients(values, target, has_intercept=law.has_intercept)
            share = estimates.unexplained_share
            fitted.append(FittedLaw(law, values, 0.0 if share <= rounding else min(share, 1.0)))
    return fitted


def build_law_dictionary(fitted: Sequence[FittedLaw]) -> TermDictionary:
    """Build a dictionary of the terms of laws, in their order; at least one law.

    The cost of the choice of a law is spread evenly over its terms.
    """
    terms = [term for each in fitted for term in each.law.terms]
    n_terms = [len(each.law.terms) for each in fitted]
    search_sizes = np.repeat([each.law.search_size ** (1 / len(each.law.terms)) for each in fitted], n_terms)
    n_constants = np.zeros(len(terms), dtype=np.int64)
    n_constants[np.cumsum([0, *n_terms[:-1]])] = [each.law.n_constants for each in fitted]
    return TermDictionary(
        tuple(terms),
        np.concatenate([each.values for each in fitted]),
        np.array([compute_complexity(term) for term in terms], dtype=np.int64),
        search_sizes,
        np.array([compute_key(term) for term in terms], dtype=np.uint64).reshape(-1, 2),
        n_constants,
    )
