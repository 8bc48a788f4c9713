"""How far rounding decides what a ranking says of a feature: unsafe rows, and how far its score may be off.

A score of ranks is safe where the order of the rows is certain, whatever rounding did. A score of values is
where rounding is small beside what the values vary by.

What rounding may have done to the features that a screen shows: the columns of unsafe ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.expansion.feature_values import (
    compute_decimal_error,
    compute_error_bound,
    compute_exact_value_ids,
)
from symscreen.expressions.tree import collect_columns
from symscreen.results.screen_result import is_flagged
from symscreen.screeners import SCREENERS, Screener
from symscreen.statistics.inference.order_uncertainty import compute_t0_bounds, find_order_uncertainty
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.statistics.ranks.t0 import compute_gini_mean_difference
from symscreen.targets import NumericTarget

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.screeners import AnyScreener
    from symscreen.screening.residual_rounds import RoundResult, ScreenConfig
    from symscreen.statistics.inference.order_uncertainty import OrderUncertainty
    from symscreen.targets.registry import Target


__all__ = [
    "MAX_ERROR_SHARE_OF_STD",
    "NUMERICAL_ERROR_COLUMNS",
    "NumericalErrorEstimate",
    "estimate_numerical_error",
    "flag_numerical_errors",
]

MAX_ERROR_SHARE_OF_STD = (
    1e-9  # of the standard deviation of the values: what a score of values takes for certain
)
_TARGET_TIE_INVARIANT_SCREENERS = (SCREENERS["t0"], SCREENERS["xi"])


@dataclass(frozen=True, slots=True)
class NumericalErrorEstimate:
    """What rounding may have done to a feature.

    Parameters
    ----------
    rows : int
        In how many rows rounding decides where the row stands, or what it weighs.
    by : float
        How far the first screener's score may be from that of exact arithmetic; NaN where no bound is known.
    """

    n_unsafe_rows: int
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
    """Find out how far rounding decides the scores of a feature.

    Parameters
    ----------
    expression : Expression
        The feature.
    values : float64 array, shape (n,)
        As they were scored.
    columns : mapping of str to float64 array, shape (n,)
        The inputs by name, taken as exact.
    response : AnyResponse
        What was scored against.
    screeners : sequence of Screener or JointScreener
        Those asked for; the first ranks.
    written : mapping of str to float64 array, shape (n,), optional
        `as_written` of each input, where it is known already.

    Returns
    -------
    Safety
        Of screeners that see ranks a row is unsafe where its order among the others is not certain, or equal
        numbers, as they are written, do not tie; of those that see values, where its error may exceed 1e-9 of
        the values' standard deviation.
    """
    bound = compute_error_bound(expression, columns)
    error = bound.error + np.abs(values - bound.values)
    unsafe, doubt = np.zeros(len(values), dtype=np.bool_), None
    by_rank = [one for one in screeners if one.equivalence == "ranks"]
    if by_rank:
        # to T0 and ξ rows of one response are alike; other scores are changed by ties among them
        alike = isinstance(target, NumericTarget) and all(
            one in _TARGET_TIE_INVARIANT_SCREENERS for one in by_rank
        )
        group = target.tie_groups if alike and isinstance(target, NumericTarget) else None
        doubt = find_order_uncertainty(
            values,
            error,
            lambda rows: compute_exact_value_ids(
                expression, {name: own[rows] for name, own in columns.items()}
            ),
            group,
            _bound_decimal_error(expression, error, columns, decimal_errors),
        )
        unsafe |= doubt.is_uncertain
    if any(one.equivalence == "affine" for one in screeners):
        unsafe |= error > MAX_ERROR_SHARE_OF_STD * _compute_std(values)
    return NumericalErrorEstimate(
        int(unsafe.sum()), _bound_score_error(values, error, doubt, target, screeners[0])
    )


def _bound_decimal_error(
    expression: Expression,
    error: Values,
    columns: Mapping[str, Values],
    decimal_errors: Mapping[str, Values] | None,
) -> Values | None:
    """Bound how far values are from those that the decimals of the inputs give; None where there are none."""
    if decimal_errors is None:
        decimal_errors = {name: compute_decimal_error(column) for name, column in columns.items()}
    if not any(own.any() for own in decimal_errors.values()):
        return None
    return error + compute_error_bound(expression, columns, decimal_errors).error


def _compute_std(values: Values) -> float:
    """Compute the standard deviation; numbers near overflow are made smaller first."""
    largest = float(np.abs(values).max()) or 1.0
    return largest * float(np.std(values / largest))


def _bound_score_error(
    values: Values,
    error: Values,
    order_uncertainty: OrderUncertainty | None,
    target: Target,
    ranking_screener: AnyScreener,
) -> float:
    """Bound how far the first screener's score may be off."""
    if ranking_screener is SCREENERS["pearson"]:
        spread = _compute_std(values)
        share = float(np.sqrt(np.mean((error / spread) ** 2))) if spread > 0 else np.inf
        # two vectors whose difference is η of one of them stand at an angle of at most arcsin η ≤ πη/2
        return min(2.0, 2.0 * share)
    if (
        order_uncertainty is None
        or not isinstance(ranking_screener, Screener)
        or ranking_screener.equivalence != "ranks"
    ):
        return float("nan")
    unsettled = order_uncertainty.is_uncertain & ~order_uncertainty.is_tied
    if not order_uncertainty.is_uncertain.any():
        return 0.0
    own = _compute_score(ranking_screener, values, target)
    if not unsettled.any():  # the exact order is known, with its ties
        return abs(_compute_score(ranking_screener, order_uncertainty.run.astype(np.float64), target) - own)
    if ranking_screener is not SCREENERS["t0"] or not isinstance(target, NumericTarget):
        return float("nan")
    least, largest = compute_t0_bounds(order_uncertainty, target)
    return max(own - least, largest - own)


def _compute_score(screener: Screener, values: Values, target: Target) -> float:
    ordered = sort_block(values[None, :])
    return float(screener.score(screener.statistic(ordered, target), target)[0])


NUMERICAL_ERROR_COLUMNS = ("unsafe_rows", "unsafe_by")

_MAX_FEATURES, _MAX_FEATURES_OF_FULL_RANKING = (
    1000,
    100,
)  # features looked at; of a ranking of all, which may cost little itself
_BLOCK_VALUES = 1 << 20


def flag_numerical_errors(
    round_results: Sequence[RoundResult], dataset: Dataset, config: ScreenConfig
) -> tuple[list[RoundResult], dict[str, Any]]:
    """Say of the features that rounds show how far rounding decides their scores.

    Parameters
    ----------
    found : sequence of Round
        What was found.
    table : Table
        The data.
    job : Job
        What was done.

    Returns
    -------
    list of Round
        With the columns `COLUMNS`, where any feature is unsafe; of the first 1,000 of each round, or 100 of a
        ranking of all features, and missing for others. They are of the features alone, so that nothing
        depends on threads or chunks.
    dict
        For the record: ``rounding``, or nothing where all is safe.
    """
    safeties = [list(_estimate_numerical_errors(each, dataset, config)) for each in round_results]
    unsafe = sum(one.n_unsafe_rows > 0 for own in safeties for one in own)
    if not unsafe:
        return list(round_results), {}
    first = config.scoring.screeners[0]
    scale = compute_gini_mean_difference(dataset.target) if first.name == "t0" else 1.0
    some = sum(
        is_flagged(one.n_unsafe_rows, one.score_error, n=dataset.target.n, scale=scale)
        for own in safeties
        for one in own
    )
    told = {"looked_at": sum(map(len, safeties)), "unsafe": unsafe, "marked": some}
    return [
        _add_numerical_error_columns(each, own) for each, own in zip(round_results, safeties, strict=True)
    ], {"rounding": told}


def _estimate_numerical_errors(
    round_result: RoundResult, dataset: Dataset, config: ScreenConfig
) -> Iterator[NumericalErrorEstimate]:
    """Look at the features of a round, the best first."""
    columns = dict(zip(dataset.names, round_result.inputs, strict=True))
    written = {name: compute_decimal_error(column) for name, column in columns.items()}
    most = _MAX_FEATURES_OF_FULL_RANKING if config.scoring.limit is None else _MAX_FEATURES
    numbers = round_result.scoring_result.features.number[round_result.shown_indices[:most]]
    step = max(1, _BLOCK_VALUES // max(1, round_result.space.n_rows))
    for start in range(0, len(numbers), step):
        some = numbers[start : start + step]
        for number, values in zip(some.tolist(), round_result.space.compute_values(some), strict=True):
            expression = round_result.space.build_expression(number)
            own = {name: columns[name] for name in collect_columns(expression)}
            yield estimate_numerical_error(
                expression,
                values,
                own,
                round_result.target,
                config.scoring.screeners,
                decimal_errors={name: written[name] for name in own},
            )


def _add_numerical_error_columns(
    round_result: RoundResult, numerical_errors: Sequence[NumericalErrorEstimate]
) -> RoundResult:
    import pandas as pd

    places = round_result.shown_indices[: len(numerical_errors)]
    rows, by = np.full((2, len(round_result.scoring_result.features)), np.nan)
    rows[places], by[places] = (
        [one.n_unsafe_rows for one in numerical_errors],
        [one.score_error for one in numerical_errors],
    )
    whole = pd.array(rows, dtype="Float64").astype("Int64")
    columns = round_result.scoring_result.extra_columns | dict(
        zip(NUMERICAL_ERROR_COLUMNS, (whole, by), strict=True)
    )
    return replace(round_result, scoring_result=replace(round_result.scoring_result, extra_columns=columns))
