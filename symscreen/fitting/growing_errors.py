"""Compare the models of a search again with row weights where the errors grow with the target.

Many measurements have a relative error. Least squares then follows the few largest rows, and a search over
many formulas finds some that fit the errors of these rows. If the residuals of a law show such errors, the
candidates are compared again with weights 1/σ², where σ = a + b·|prediction|.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np

from symscreen.fitting.allowed_models import score_allowed_models, select_identifiable_model
from symscreen.fitting.coefficients import estimate_coefficients, evaluate_terms, get_targets
from symscreen.fitting.fit_verdict import VERDICT_LEVEL, compute_residual_p_value
from symscreen.fitting.laws.law_selection import format_shape
from symscreen.fitting.model_selection import find_pareto_front, score_models
from symscreen.fitting.search_stages import build_law, refine_models
from symscreen.linear_models.model_criteria import EXACT_SHARE
from symscreen.messages import Message, name_option
from symscreen.statistics.inference.error_scale import ErrorScale, estimate_error_scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.fitting.model_selection import Criterion, ScoredModel
    from symscreen.fitting.search_stages import FitTask
    from symscreen.fitting.subset_search import ModelSearchResult
    from symscreen.linear_models.row_weights import RowWeights


_MAX_WEIGHED_MODELS = 500  # models that are compared again with weights
_MAX_REFINED_MODELS = 30  # best models with weights whose constants inside terms are fitted again
_MAX_REFINED_PER_COMPLEXITY = 3  # the same, for each complexity
_MAX_LARGER_MODELS = 4  # models more complex than the best one whose errors are tested for growth
MAX_WEIGHINGS = 3
"""Largest number of times that the weights are estimated."""


class _HasComplexity(Protocol):
    """A model with a complexity."""

    @property
    def complexity(self) -> int: ...


_AnyModel = TypeVar("_AnyModel", bound=_HasComplexity)


class _Candidates(NamedTuple):
    """The rows and the models of a search that are compared with weights, and the criterion."""

    search_rows: Dataset
    found: ModelSearchResult
    models: list[ScoredModel]
    criterion: Criterion


class ModelComparison(NamedTuple):
    """Models of a search, compared with weights for a standard deviation of errors.

    Parameters
    ----------
    scale : ErrorScale
        The standard deviation.
    task : FitTask
        The task with the weights.
    found : ModelSearchResult
        The models with constants that were fitted with the weights.
    scored : list of ScoredModel
        Their scores, best first.
    selected : ScoredModel
        The selected one.
    score : float
        Its criterion with the likelihood of these errors, which is comparable between weights.
    """

    scale: ErrorScale
    task: FitTask
    found: ModelSearchResult
    scored: list[ScoredModel]
    selected: ScoredModel
    score: float


def weigh_growing_errors(
    task: FitTask,
    search_rows: Dataset,
    found: ModelSearchResult,
    models: Sequence[ScoredModel],
    criterion: Criterion,
) -> ModelComparison | None:
    """Compare the best models again with weights if the errors of the best one grow with its predictions.

    Returns
    -------
    ModelComparison or None
        None without growing errors, with several targets, with weights of the user, or where another method
        than a criterion selects the model.
    """
    options, targets = task.options, get_targets(search_rows)
    if len(targets) > 1 or task.source_weights is not None or options.preset or options.criterion == "cv":
        return None
    (target,) = targets.values()
    unique = {
        model.term_indices: model for model in [*models[:_MAX_WEIGHED_MODELS], *find_pareto_front(models)]
    }
    candidates = _Candidates(search_rows, found, list(unique.values()), criterion)
    weighted: ModelComparison | None = None
    result = found
    selected = select_identifiable_model(found, models, None, search_rows, target)
    form = _format_form(found, selected)
    front = [
        model for model in find_pareto_front(models) if model.term_indices not in {(), selected.term_indices}
    ]
    rivals = order_rivals(front, selected.complexity)
    for _ in range(MAX_WEIGHINGS):
        if not selected.term_indices or selected.is_exact:
            break
        estimated = _estimate_error_scale(task, search_rows, result, [selected, *rivals])
        if estimated is None:
            break
        rivals = []
        scale, predictions = estimated
        variants = scale.list_variants(predictions)
        comparisons = [_compare_with_weights(task, candidates, each, predictions) for each in variants]
        usable = [each for each in comparisons if each is not None]
        if not usable:
            break
        weighted = min(usable, key=lambda each: each.score)
        task, result, selected = weighted.task, weighted.found, weighted.selected
        previous_form, form = form, _format_form(result, selected)
        if form == previous_form:
            break
    return weighted


def order_rivals(front: Sequence[_AnyModel], complexity: int) -> list[_AnyModel]:
    """Order the rivals of a model for the test whether errors grow: simpler ones, then some larger ones.

    A formula that fits the errors of few rows hides how they grow, and a simpler one shows it. So does a
    formula that is wrong where the target is small, and a more complex one shows it.

    Parameters
    ----------
    front : sequence of models
        The other models of the Pareto front, simplest first.
    complexity : int
        Complexity of the model.

    Returns
    -------
    list of models
        Those that are not more complex, the most complex first, and four that are.
    """
    simpler = [each for each in reversed(front) if each.complexity <= complexity]
    return [*simpler, *[each for each in front if each.complexity > complexity][:_MAX_LARGER_MODELS]]


def _compare_with_weights(
    task: FitTask, candidates: _Candidates, scale: ErrorScale, predictions: Values
) -> ModelComparison | None:
    """Compare models again with the weights of a scale at predictions, shape (n,); None if they are equal."""
    search_rows, criterion = candidates.search_rows, candidates.criterion
    (target,) = get_targets(search_rows).values()
    source_weights = np.ones(int(task.dataset.source_rows.max()) + 1)
    source_weights[task.dataset.source_rows] = scale.compute_weights(predictions)
    task = replace(task, source_weights=source_weights, has_estimated_weights=True)
    row_weights = task.get_row_weights(search_rows)
    if row_weights is None:
        return None
    result = weigh_models(candidates.found, candidates.models, target, row_weights)
    n_rows = task.count_rows(search_rows)
    scored = score_models(result, n_rows, criterion)
    result = refine_models(replace(task, dataset=search_rows), result, _select_refined(scored))
    scored = score_allowed_models(result, task, search_rows, criterion)
    selected = select_identifiable_model(result, scored, None, search_rows, target)
    # the likelihood of normal errors with these standard deviations in place of that of equal errors
    weights = row_weights.weights
    total = float(weights @ (target - weights @ target / weights.sum()) ** 2)
    share = max(selected.unexplained_share, EXACT_SHARE)
    penalty = selected.score - n_rows * np.log(share)
    score = len(target) * np.log(share * total) - float(np.log(weights).sum()) + penalty
    return ModelComparison(scale, task, result, scored, selected, float(score))


def _select_refined(scored: Sequence[ScoredModel]) -> list[ScoredModel]:
    """Select the models whose constants are fitted again: the best ones, and the best of each complexity.

    The constants of a simple law may be far from the best ones with weights, and its score is then poor.
    """
    n_of_complexity: dict[int, int] = {}
    selected = list(scored[:_MAX_REFINED_MODELS])
    for model in scored:
        n_of_complexity[model.complexity] = n_of_complexity.get(model.complexity, 0) + 1
        is_known = any(model is each for each in selected)
        if n_of_complexity[model.complexity] <= _MAX_REFINED_PER_COMPLEXITY and not is_known:
            selected.append(model)
    return selected


def _estimate_error_scale(
    task: FitTask, search_rows: Dataset, found: ModelSearchResult, models: Sequence[ScoredModel]
) -> tuple[ErrorScale, Values] | None:
    """Estimate how errors grow, from the first model that shows it.

    Returns
    -------
    tuple or None
        The standard deviation of the errors, and the predictions of the model for all rows of the task,
        shape (n,). None if no model shows growing errors. None also if this model or the first one is an
        approximation: their residuals are not errors.
    """
    (target,) = get_targets(search_rows).values()
    row_weights = task.get_row_weights(search_rows)
    own = np.isin(task.dataset.source_rows, search_rows.source_rows)

    def predict(model: ScoredModel) -> Values:
        terms = [found.terms.expressions[index] for index in model.term_indices]
        estimates = estimate_coefficients(
            evaluate_terms(terms, search_rows),
            target,
            has_intercept=model.has_intercept,
            row_weights=row_weights,
        )
        intercept, *coefficients = estimates.coefficients
        return np.asarray(intercept + np.array(coefficients) @ evaluate_terms(terms, task.dataset))

    first = predict(models[0])
    for model in models:
        predictions = first if model is models[0] else predict(model)
        scale = estimate_error_scale(predictions[own], target - predictions[own], n_tests=len(models))
        if scale is not None and np.isfinite(predictions).all():
            for tested in (first,) if model is models[0] else (first, predictions):
                p_value = compute_residual_p_value(
                    target - tested[own], search_rows, task.grammar, row_weights
                )
                if p_value < VERDICT_LEVEL:
                    return None
            return scale, predictions
    return None


def _format_form(found: ModelSearchResult, model: ScoredModel) -> str:
    """Return a text that is equal for models that differ in fitted numbers only."""
    return format_shape(build_law(found, model))


def format_error_scale(scale: ErrorScale, *, takes_weights: bool = True) -> str:
    """Say that rows are weighted and, if the fit takes weights, how to decide otherwise."""
    deviation = f"{scale.proportional:.2g}*|prediction|"
    if scale.constant > 0.0:
        deviation = f"{scale.constant:.2g} + {deviation}"
    text = (
        f"the errors grow with the target, with a standard deviation of about {deviation}; rows are weighted "
        "by 1/variance, also in R2 and the criterion"
    )
    return Message(f"{text}; {name_option('weights')} replaces these weights" if takes_weights else text)


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
