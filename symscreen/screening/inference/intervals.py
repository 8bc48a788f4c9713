"""Confidence intervals for the features that a screen shows: T0 with its standard error, and Γ = 1 − T0/Δ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.messages import name_option
from symscreen.screening.scoring.block_scoring import iterate_values
from symscreen.statistics.inference.t0_interval import compute_t0_intervals
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.config.screen_options import ScreenOptions
    from symscreen.screeners import AnyScreener
    from symscreen.screening.residual_rounds import RoundResult
    from symscreen.screening.task import ScreeningTask
    from symscreen.targets import Target


INTERVAL_COLUMNS = ("t0_se", "t0_low", "t0_high", "gini_low", "gini_high")

_METHOD = (
    "jackknife; T0 on the scale of its logarithm, the Gini correlation on that of Fisher's z; Student's t; "
    "where few pairs disagree at least Fay and Feuer's gamma interval"
)
_ERROR_CONTROL_COLUMNS = ("p_value", "q_value", "p_is_bound", "p_family")


def check_intervals(options: ScreenOptions, screeners: Sequence[AnyScreener], target: Target) -> None:
    """Refuse intervals unless the target is numeric and T0 is among the screeners.

    Raises
    ------
    OptionError
        If intervals are requested, and the target is not numeric or T0 is missing.
    """
    if options.intervals is None:
        return
    require_numeric_target(target, name_option("intervals"))
    if all(screener.name != "t0" for screener in screeners):
        names = ",".join([*(screener.name for screener in screeners), "t0"])
        raise OptionError(
            f"{name_option('intervals')} requires the screener t0; add it: {name_option('screener', names)}"
        )


def add_intervals(task: ScreeningTask, round_result: RoundResult) -> tuple[RoundResult, dict[str, Any]]:
    """Add confidence intervals to the features that a round shows.

    The level holds for features that were chosen before the target was seen. With groups of rows, the
    jackknife leaves out whole groups.

    Returns
    -------
    round_result : RoundResult
        The result with the columns `INTERVAL_COLUMNS`, after those of error control; NaN for features that
        are not shown. The values do not depend on threads or chunks.
    record : dict
        The level, the method and the groups, for the record.
    """
    level, row_groups = float(task.options.intervals or 0.0), task.row_groups
    scoring_result = round_result.scoring_result
    target = require_numeric_target(round_result.dataset.target, name_option("intervals"))
    group_ids = None if row_groups is None else row_groups.group_ids
    bounds = np.full((len(INTERVAL_COLUMNS), len(scoring_result.features)), np.nan)
    shown = round_result.shown_indices
    for part, values in iterate_values(round_result.space, scoring_result.features.number[shown]):
        t0 = compute_t0_intervals(values, target, level, group_ids)
        bounds[:, shown[part]] = (t0.error, t0.low, t0.high, t0.gini_low, t0.gini_high)
    columns = scoring_result.extra_columns
    first = {name: columns[name] for name in _ERROR_CONTROL_COLUMNS if name in columns}
    columns = first | dict(zip(INTERVAL_COLUMNS, bounds, strict=True)) | columns
    record: dict[str, Any] = {"level": level, "method": _METHOD}
    if row_groups is not None:
        record |= {"groups": row_groups.column, "units": row_groups.n_groups}
    return replace(round_result, scoring_result=replace(scoring_result, extra_columns=columns)), record
