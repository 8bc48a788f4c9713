"""Fit the models of a search again with row weights.

Many measurements have a relative error. Least squares then follows the few largest rows, and a search over
many formulas finds some that fit the errors of these rows. If the residuals of a law show such errors, the
candidates are compared again with weights 1/σ², where σ = a + b·|prediction|.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.coefficients import estimate_coefficients

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from symscreen._typing import Values
    from symscreen.fitting.model_selection import ScoredModel
    from symscreen.fitting.subset_search import ModelSearchResult
    from symscreen.linear_models.row_weights import RowWeights


def weigh_models(
    found: ModelSearchResult, models: Iterable[ScoredModel], target: Values, row_weights: RowWeights
) -> ModelSearchResult:
    """Fit some models of a search again with row weights.

    Parameters
    ----------
    found : ModelSearchResult
        Result of the search.
    models : iterable of ScoredModel
        Its models; the mean among them has no terms and is skipped.
    target : float64 array, shape (n,)
        The target.
    row_weights : RowWeights
        Weights of the rows.

    Returns
    -------
    ModelSearchResult
        The same terms, with these models alone and their weighted shares.
    """
    shares: Mapping[tuple[int, ...], float] = {
        model.term_indices: estimate_coefficients(
            found.terms.values[list(model.term_indices)],
            target,
            has_intercept=model.has_intercept,
            row_weights=row_weights,
        ).unexplained_share
        for model in models
        if model.term_indices
    }
    finite = {members: min(share, 1.0) for members, share in shares.items() if np.isfinite(share)}
    return replace(found, models=finite)
