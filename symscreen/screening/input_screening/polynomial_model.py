"""A ridge regression on polynomials of the selected inputs: the part they explain, and the rest.

Its terms are products of polynomials of ranks, by total degree, of at most three inputs each. The marginal
likelihood of the data chooses the penalty (Bishop 2006, Pattern Recognition and Machine Learning, eq. 3.86),
so that a model of many terms does not fit noise.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values

_TERM_SHARE = 0.35  # largest number of terms, as a share of the rows
_MAX_TERMS = 500
_MAX_FACTORS = 3  # inputs in a term
_DECAY = 0.7  # factor between the prior standard deviations of coefficients of successive degrees
_PENALTIES = np.logspace(-6.0, 4.0, 41)  # penalties that are tried, relative to the number of rows


class TargetModel(NamedTuple):
    """What a model leaves of the target and what it explains, both of shape (n,)."""

    residual: Values
    fitted: Values


def list_terms(n_inputs: int, n_rows: int, degree: int) -> list[tuple[int, ...]]:
    """List terms by total degree; a term names an input once for each degree that it has in it.

    Where the products of a degree would be too many, only powers of single inputs follow.

    Examples
    --------
    >>> list_terms(2, 100, 2)
    [(0,), (1,), (0, 0), (0, 1), (1, 1)]
    >>> list_terms(2, 12, 3)
    [(0,), (1,), (0, 0), (1, 1)]
    """
    limit = min(int(_TERM_SHARE * n_rows), _MAX_TERMS)
    terms: list[tuple[int, ...]] = []
    for total in range(1, degree + 1):
        powers = [(each,) * total for each in range(n_inputs)]
        if _count_products(n_inputs, total) <= limit - len(terms):
            layer = [
                term
                for term in combinations_with_replacement(range(n_inputs), total)
                if len(set(term)) <= _MAX_FACTORS
            ]
        else:
            layer = powers
        if len(layer) > limit - len(terms):
            break
        terms += layer
    return terms


def _count_products(n_inputs: int, total: int) -> int:
    """Count the products of a total degree, or more of them than any model has."""
    from math import comb

    return sum(
        comb(n_inputs, factors) * comb(total - 1, factors - 1)
        for factors in range(1, min(_MAX_FACTORS, total) + 1)
    )


def fit_polynomials(polynomials: Values, targets: Sequence[Values]) -> list[TargetModel]:
    """Fit each target (n,) by polynomials of the selected inputs, shape (k, degree, n)."""
    n_inputs, degree, n = polynomials.shape
    if not n_inputs:
        return [TargetModel(target - target.mean(), np.zeros(n)) for target in targets]
    design = _build_design(polynomials, list_terms(n_inputs, n, degree))
    left, sizes, _ = np.linalg.svd(design, full_matrices=False)
    return [_fit_target(left, sizes, target - target.mean()) for target in targets]


def _build_design(polynomials: Values, terms: Sequence[tuple[int, ...]]) -> Values:
    """Compute the terms, centred and scaled by their prior standard deviations: shape (n, terms)."""
    design = np.empty((len(terms), polynomials.shape[2]))
    for row, term in zip(design, terms, strict=True):
        factors = [polynomials[index, term.count(index) - 1] for index in sorted(set(term))]
        row[:] = _DECAY ** (len(term) - 1) * np.prod(factors, axis=0)
    design -= design.mean(axis=1, keepdims=True)
    return np.ascontiguousarray(design.T)


def _fit_target(left: Values, sizes: Values, centered: Values) -> TargetModel:
    """Choose the penalty by marginal likelihood, and fit a centred target (n,)."""
    n = len(centered)
    scores = left.T @ centered
    outside = max(float(centered @ centered - scores @ scores), 0.0)
    penalties = _PENALTIES * n
    growth = 1.0 + sizes[None] ** 2 / penalties[:, None]  # variance of each direction over that of the noise
    errors = (scores[None] ** 2 / growth).sum(axis=1) + outside
    with np.errstate(divide="ignore"):  # without noise the error may be 0, and the likelihood infinite
        likelihood = -0.5 * (n * np.log(errors) + np.log(growth).sum(axis=1))
    penalty = float(penalties[int(np.argmax(likelihood))])
    fitted = left @ (scores * (sizes**2 / (sizes**2 + penalty)))
    return TargetModel(centered - fitted, fitted)
