"""Laws that were fitted to the rows, with what the choice of a model needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.expressions.traversal import compute_complexity, compute_key, evaluate_expression
from symscreen.fitting.coefficients import estimate_coefficients, is_identifiable
from symscreen.fitting.feature_dictionary import TermDictionary
from symscreen.fitting.subset_search import compute_rounding_share
from symscreen.linear_models.model_criteria import EXACT_SHARE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.fitting.laws.law import Law
    from symscreen.fitting.subset_search import ModelSearchResult
    from symscreen.linear_models.row_weights import RowWeights


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

    @property
    def is_exact(self) -> bool:
        """Whether the law leaves nothing but rounding."""
        return self.unexplained_share <= EXACT_SHARE

    @lockfree_cached_property
    def term_keys(self) -> list[tuple[int, int]]:
        """Canonical keys of the terms."""
        return [compute_key(term) for term in self.law.terms]


def fit_laws(
    laws: Sequence[Law],
    columns: Mapping[str, Values],
    target: Values,
    row_weights: RowWeights | None = None,
) -> list[FittedLaw]:
    """Fit the coefficients of laws; laws that the rows do not determine are left out.

    So are laws with a coefficient that is too large for a number, since their terms are nearly 0 everywhere.

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
            with np.errstate(over="ignore"):
                estimates = estimate_coefficients(
                    values, target, has_intercept=law.has_intercept, row_weights=row_weights
                )
            share = estimates.unexplained_share
            if np.isfinite(estimates.coefficients).all():
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
        np.array([key for each in fitted for key in each.term_keys], dtype=np.uint64).reshape(-1, 2),
        n_constants,
    )


def add_laws(found: ModelSearchResult, laws: Sequence[FittedLaw]) -> ModelSearchResult:
    """Add laws to the models of a search; their terms are not merged with affine copies."""
    if not laws:
        return found
    models, stages = dict(found.models), dict(found.stages)
    without_intercept = set(found.models_without_intercept)
    start = len(found.terms)
    for fitted in laws:
        members = tuple(range(start, start + len(fitted.values)))
        models[members], stages[members] = fitted.unexplained_share, fitted.law.stage
        if not fitted.law.has_intercept:
            without_intercept.add(members)
        start += len(members)
    return replace(
        found,
        terms=found.terms.concatenate(build_law_dictionary(laws)),
        models=models,
        n_models=found.n_models + len(laws),
        models_without_intercept=frozenset(without_intercept),
        stages=stages,
    )
