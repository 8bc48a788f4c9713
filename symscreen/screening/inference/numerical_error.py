"""Numerical error of scores: how far floating point rounding may have changed the score of a feature.

The score of a rank statistic is certain if the order of the rows is, in spite of rounding. The score of a
statistic of values is certain if the rounding error is small compared with the spread of the values. The
features that a screen shows get columns with the number of uncertain rows and a bound on the error of the
score.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion.feature_values import (
    compute_decimal_error,
    compute_error_bound,
    compute_exact_value_ids,
)
from symscreen.expressions.traversal import collect_columns
from symscreen.results.rounding_flag import is_rounding_flagged
from symscreen.screeners import SCREENERS, Screener
from symscreen.screening.scoring.block_scoring import iterate_values
from symscreen.statistics.inference.order_uncertainty import find_order_uncertainty
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.screeners import AnyScreener
    from symscreen.screening.residual_rounds import RoundResult
    from symscreen.screening.task import ScreeningTask
    from symscreen.statistics.inference.order_uncertainty import OrderUncertainty
    from symscreen.targets import Target


MAX_ERROR_SHARE_OF_STD = 1e-9  # rounding error of safe values, relative to their standard deviation

NUMERICAL_ERROR_COLUMNS = ("uncertain_rows", "score_error")

_MAX_FEATURES = 1000  # features examined per round
_MAX_FEATURES_OF_FULL_RANKING = 100  # this number for a ranking of all features, which may itself be fast


@dataclass(frozen=True, slots=True)
class NumericalErrorEstimate:
    """The possible effect of rounding on a feature.

    Parameters
    ----------
    n_uncertain_rows : int
        Number of rows whose order or weight is decided by rounding.
    score_error : float
        Bound on the difference between the first screener's score and that of exact arithmetic; NaN if no
        bound is known.
    """

    n_uncertain_rows: int
    score_error: float


def estimate_numerical_error(
    expression: Expression,
    values: Values,
    columns: Mapping[str, Values],
    target: Target,
    screeners: Sequence[AnyScreener],
    *,
    decimal_errors: Mapping[str, Values] | None = None,
) -> NumericalErrorEstimate:
    """Estimate how far rounding affects the scores of a feature.

    Parameters
    ----------
    expression : Expression
        The feature.
    values : float64 array, shape (n,)
        The values that were scored.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name, taken as exact.
    target : Target
        The target, n rows.
    screeners : sequence of Screener or JointScreener
        The screeners; the first one ranks.
    decimal_errors : mapping of str to float64 array, shape (n,), optional
        `compute_decimal_error` of each input, if it is already known.

    Returns
    -------
    NumericalErrorEstimate
        For screeners of ranks a row is uncertain if its order relative to other rows is, or if values that
        are equal in decimal notation do not tie. For screeners of values a row is uncertain if its error may
        exceed 1e-9 of the standard deviation of the values.
    """
    bound = compute_error_bound(expression, columns)
    error = bound.error + np.abs(values - bound.values)
    uncertain, order_uncertainty = np.zeros(len(values), dtype=np.bool_), None
    rank_screeners = [screener for screener in screeners if screener.equivalence == "ranks"]
    if rank_screeners:
        is_invariant = all(
            isinstance(screener, Screener) and screener.is_target_tie_invariant for screener in rank_screeners
        )
        groups = target.tie_groups if is_invariant else None
        order_uncertainty = find_order_uncertainty(
            values,
            error,
            lambda rows: compute_exact_value_ids(
                expression, {name: column[rows] for name, column in columns.items()}
            ),
            groups,
            _bound_decimal_error(expression, error, columns, decimal_errors),
        )
        uncertain |= order_uncertainty.is_uncertain
    if any(screener.equivalence == "affine" for screener in screeners):
        uncertain |= error > MAX_ERROR_SHARE_OF_STD * _compute_std(values)
    score_error = _bound_score_error(values, error, order_uncertainty, target, screeners[0])
    return NumericalErrorEstimate(int(uncertain.sum()), score_error)


def _bound_decimal_error(
    expression: Expression,
    error: Values,
    columns: Mapping[str, Values],
    decimal_errors: Mapping[str, Values] | None,
) -> Values | None:
    """Bound the distance of values (n,) from those of the decimal inputs; None if all decimals are exact."""
    if decimal_errors is None:
        decimal_errors = {name: compute_decimal_error(column) for name, column in columns.items()}
    if not any(errors.any() for errors in decimal_errors.values()):
        return None
    return error + compute_error_bound(expression, columns, decimal_errors).error


def _compute_std(values: Values) -> float:
    """Compute the standard deviation of values (n,), scaled so that large values do not overflow."""
    largest = float(np.abs(values).max()) or 1.0
    return largest * float(np.std(values / largest))


def _bound_score_error(
    values: Values,
    error: Values,
    order_uncertainty: OrderUncertainty | None,
    target: Target,
    ranking_screener: AnyScreener,
) -> float:
    """Bound the error of the ranking screener's score; NaN if no bound is known."""
    if ranking_screener is SCREENERS["pearson"]:
        std = _compute_std(values)
        share = float(np.sqrt(np.mean((error / std) ** 2))) if std > 0 else np.inf
        # If the difference of two vectors is η times the length of one, their angle is at most
        # arcsin η ≤ πη/2.
        return min(2.0, 2.0 * share)
    if (
        order_uncertainty is None
        or not isinstance(ranking_screener, Screener)
        or ranking_screener.equivalence != "ranks"
    ):
        return float("nan")
    if not order_uncertainty.is_uncertain.any():
        return 0.0
    score = _compute_score(ranking_screener, values, target)
    # If every uncertain row is a tie, the exact order is known.
    if not (order_uncertainty.is_uncertain & ~order_uncertainty.is_tied).any():
        return abs(_compute_score(ranking_screener, order_uncertainty.run.astype(np.float64), target) - score)
    if ranking_screener is not SCREENERS["t0"]:
        return float("nan")
    lowest, largest = target.bound_t0(order_uncertainty)
    return max(score - lowest, largest - score)


def _compute_score(screener: Screener, values: Values, target: Target) -> float:
    """Compute a screener's score of one feature, shape (n,)."""
    block = sort_block(values[None, :])
    return float(screener.score(screener.statistic(block, target), target)[0])


def flag_numerical_errors(
    task: ScreeningTask, round_results: Sequence[RoundResult]
) -> tuple[list[RoundResult], dict[str, Any]]:
    """Flag the features shown in each round whose scores depend on rounding.

    Returns
    -------
    round_results : list of RoundResult
        The same rounds, with the columns `NUMERICAL_ERROR_COLUMNS` if rounding may change a score. Features
        that were not examined have missing values there.
    record : dict
        Numbers of features examined, uncertain and flagged; empty if all are safe.
    """
    estimates = [list(_estimate_numerical_errors(task, result)) for result in round_results]
    flat = [estimate for round_estimates in estimates for estimate in round_estimates]
    n_uncertain = sum(estimate.n_uncertain_rows > 0 for estimate in flat)
    if not n_uncertain:
        return list(round_results), {}
    scale = task.target.gini_mean_difference if task.screeners[0].name == "t0" else 1.0
    n_flagged = sum(
        is_rounding_flagged(estimate.n_uncertain_rows, estimate.score_error, n=task.target.n, scale=scale)
        for estimate in flat
    )
    record = {"looked_at": len(flat), "uncertain": n_uncertain, "marked": n_flagged}
    return list(map(_add_numerical_error_columns, round_results, estimates)), {"rounding": record}


def _estimate_numerical_errors(
    task: ScreeningTask, round_result: RoundResult
) -> Iterator[NumericalErrorEstimate]:
    """Yield the estimates of the features shown in a round, best first."""
    columns = round_result.dataset.columns_by_name
    compute_errors = cache(lambda name: compute_decimal_error(columns[name]))
    max_features = _MAX_FEATURES_OF_FULL_RANKING if task.limit is None else _MAX_FEATURES
    numbers = round_result.scoring_result.features.number[round_result.shown_indices[:max_features]]
    for part, block in iterate_values(round_result.space, numbers):
        for number, values in zip(numbers[part].tolist(), block, strict=True):
            expression = round_result.space.build_expression(number)
            names = collect_columns(expression)
            yield estimate_numerical_error(
                expression,
                values,
                {name: columns[name] for name in names},
                round_result.dataset.target,
                task.screeners,
                decimal_errors={name: compute_errors(name) for name in names},
            )


def _add_numerical_error_columns(
    round_result: RoundResult, numerical_errors: Sequence[NumericalErrorEstimate]
) -> RoundResult:
    """Add the columns of numerical error to the result of a round."""
    import pandas as pd

    indices = round_result.shown_indices[: len(numerical_errors)]
    n_rows, score_errors = np.full((2, len(round_result.scoring_result.features)), np.nan)
    n_rows[indices] = [estimate.n_uncertain_rows for estimate in numerical_errors]
    score_errors[indices] = [estimate.score_error for estimate in numerical_errors]
    values = (pd.array(n_rows, dtype="Float64").astype("Int64"), score_errors)
    return round_result.add_columns(dict(zip(NUMERICAL_ERROR_COLUMNS, values, strict=True)))
