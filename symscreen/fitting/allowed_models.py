"""The models of a search that may be selected: safe, determined by the rows, and better than chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.fitting.coefficients import evaluate_terms, get_targets, is_identifiable
from symscreen.fitting.model_selection import ScoredModel, explains_rows, score_models, select_model
from symscreen.fitting.subset_search import compute_rounding_share
from symscreen.fitting.term_safety import select_safe_models

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.fitting.model_selection import Criterion
    from symscreen.fitting.search_stages import FitTask
    from symscreen.fitting.subset_search import ModelSearchResult


_MAX_REFUSED = 500  # best models that may fail the tests; then there is no law


def score_allowed_models(
    found: ModelSearchResult, task: FitTask, search_rows: Dataset, criterion: Criterion
) -> list[ScoredModel]:
    """Score the models of a search, without unsafe ones if these must be left out."""
    models = score_models(found, task.count_rows(search_rows), criterion, len(get_targets(search_rows)))
    if task.options.unsafe == "drop":
        return select_safe_models(models, found.terms.expressions, task)
    return models


def select_identifiable_model(
    search_result: ModelSearchResult,
    candidates: Sequence[ScoredModel],
    cv_errors: Sequence[float | None] | None,
    dataset: Dataset,
    search_target: Values | None = None,
) -> ScoredModel:
    """Select the best model whose coefficients the rows determine; the mean always qualifies.

    With the target of the search, shape (n,), the model must also explain more than a few rows, and more than
    errors of unequal variances would. If the 500 best models do not, the mean is selected.
    """
    mean = next((model for model in candidates if not model.term_indices), None)
    n_refused = 0
    while candidates and n_refused < _MAX_REFUSED:
        model = (
            select_model(candidates)
            if cv_errors is None
            else _select_by_error(candidates, cv_errors, np.array([*get_targets(dataset).values()]))
        )
        members = list(model.term_indices)
        expressions = [search_result.terms.expressions[index] for index in members]
        if is_identifiable(evaluate_terms(expressions, dataset)):
            if mean is None or search_target is None:
                return model
            terms = search_result.terms
            n_constants = int(terms.n_constants[members].sum())
            if explains_rows(model, mean, terms.values[members], search_target, n_constants):
                return model
            n_refused += 1
        candidates = [other for other in candidates if other is not model]
    if mean is not None:
        return mean
    return ScoredModel((), 1.0, 0, 0.0)


def compute_target_scales(targets: Values) -> Values:
    """Return the divisors of squared errors, shape (K,): the variance of each of several targets, or 1."""
    return np.asarray(targets.var(axis=1)) if len(targets) > 1 else np.ones(1)


def _select_by_error(
    candidates: Sequence[ScoredModel], cv_errors: Sequence[float | None], targets: Values
) -> ScoredModel:
    """Return the best model of the size with the lowest error; of sizes that are exact, the smallest."""
    variance = np.mean(targets.var(axis=1) / compute_target_scales(targets))
    rounding = compute_rounding_share(targets) * float(variance)
    floored_errors = [np.inf if error is None else max(error, rounding) for error in cv_errors]
    sizes = np.argsort(floored_errors, kind="stable").tolist()
    return min(candidates, key=lambda model: sizes.index(len(model.term_indices)))
