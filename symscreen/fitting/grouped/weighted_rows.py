"""Weight the rows of groups where the errors grow with the target.

The rule is that of `symscreen.fitting.growing_errors`, for formulas whose constants differ from group to
group.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.fitting.fit_verdict import VERDICT_LEVEL
from symscreen.fitting.grouped.constant_fit import estimate_constants
from symscreen.fitting.grouped.form_choice import describe_form, find_pareto_front, is_exact
from symscreen.fitting.growing_errors import MAX_WEIGHINGS, order_rivals
from symscreen.fitting.lack_of_fit import compute_lack_of_fit
from symscreen.linear_models.row_weights import build_row_weights
from symscreen.statistics.inference.error_scale import ErrorScale, estimate_error_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symscreen._typing import Values
    from symscreen.fitting.grouped.grouped_model import GroupedModel
    from symscreen.fitting.grouped.grouped_rows import GroupedRows


class WeightedChoice(NamedTuple):
    """The models that were fitted with weights for a standard deviation of errors.

    Parameters
    ----------
    scale : ErrorScale
        The standard deviation σ.
    mean_weight : float
        Mean of 1/σ² over the rows, which the weights are divided by.
    rows : GroupedRows
        The rows with the weights.
    models : list of GroupedModel
        The models, best first.
    selected : GroupedModel
        The selected one.
    """

    scale: ErrorScale
    mean_weight: float
    rows: GroupedRows
    models: list[GroupedModel]
    selected: GroupedModel


def weigh_grouped_rows(
    models: Sequence[GroupedModel],
    selected: GroupedModel,
    rows: GroupedRows,
    criterion: str,
    fit_with: Callable[[GroupedRows], tuple[list[GroupedModel], GroupedModel]],
) -> WeightedChoice | None:
    """Compare models again with weights if the errors of one of them grow with its predictions.

    Parameters
    ----------
    models : sequence of GroupedModel
        Models that were fitted to the rows without weights.
    selected : GroupedModel
        The best of them.
    rows : GroupedRows
        The rows without weights.
    criterion : {"ebic", "bic", "aic"}
        What scores the models.
    fit_with : callable
        Returns the models fitted to weighted rows, best first, and the selected one.

    Returns
    -------
    WeightedChoice or None
        None if the errors do not grow, or the selected model is an approximation.
    """
    choice: WeightedChoice | None = None
    front = [each for each in find_pareto_front(models, selected) if each.terms and each is not selected]
    tested = [selected, *order_rivals(front, selected.complexity)]
    current = rows
    for _ in range(MAX_WEIGHINGS):
        if not tested[0].terms or is_exact(tested[0], current):
            break
        estimated = _estimate_error_scale(tested, current)
        if estimated is None:
            break
        scale, predictions = estimated
        trials = []
        for each in scale.list_variants(predictions):
            weights = each.compute_weights(predictions)
            row_weights = build_row_weights(weights)
            if row_weights is not None:
                weighted = replace(rows, row_weights=row_weights)
                trials.append(WeightedChoice(each, float(weights.mean()), weighted, *fit_with(weighted)))
        if not trials:
            break
        previous = tested[0]
        choice = min(trials, key=lambda each: _compute_likelihood_score(each, criterion))
        current, tested = choice.rows, [choice.selected]
        if describe_form(choice.selected) == describe_form(previous):
            break
    return choice


def _compute_likelihood_score(choice: WeightedChoice, criterion: str) -> float:
    """Compute the criterion with the likelihood of errors of these weights, which differ between choices."""
    rows = choice.rows
    assert rows.row_weights is not None  # noqa: S101  # the rows of a choice have weights
    score = choice.selected.compute_score(rows, criterion)
    return float(score + rows.n * np.log(rows.total_square) - np.log(rows.row_weights.weights).sum())


def _estimate_error_scale(
    models: Sequence[GroupedModel], rows: GroupedRows
) -> tuple[ErrorScale, Values] | None:
    """Estimate how errors grow, from the first model that shows it, with its predictions, shape (n,).

    None if no model shows it, or if this model or the first one is an approximation: their residuals are not
    errors.
    """
    first = _predict_rows(models[0], rows)
    for model in models:
        predictions = first if model is models[0] else _predict_rows(model, rows)
        if predictions is None or first is None or not np.isfinite(predictions).all():
            continue
        scale = estimate_error_scale(predictions, rows.target - predictions, n_tests=len(models))
        if scale is not None:
            tested = (first,) if model is models[0] else (first, predictions)
            p_values = [compute_grouped_lack_of_fit(rows.target - each, rows) for each in tested]
            return (scale, predictions) if min(p_values) >= VERDICT_LEVEL else None
    return None


def _predict_rows(model: GroupedModel, rows: GroupedRows) -> Values | None:
    """Predict the target with the estimates of a model, shape (n,); None if there are none."""
    estimates = estimate_constants(model, rows)
    if estimates is None:
        return None
    roots = rows.scale(np.ones(rows.n))
    return np.asarray(rows.target - estimates.residuals / roots)


def compute_grouped_lack_of_fit(residuals: Values, rows: GroupedRows) -> float:
    """Compute the p-value of the test of lack of fit; the groups are an input of it."""
    codes = rows.spread(np.arange(rows.n_groups, dtype=np.float64))
    return compute_lack_of_fit([*rows.columns.values(), codes], residuals, rows.row_weights)
