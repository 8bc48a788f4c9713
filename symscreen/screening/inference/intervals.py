"""Confidence intervals for the features that a screen shows: T0 with its standard error, and Γ = 1 − T0/Δ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.messages import name_option
from symscreen.statistics.inference.t0_interval import compute_t0_intervals
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.screeners import AnyScreener
    from symscreen.screening.preparation import RowGroups
    from symscreen.screening.residual_rounds import RoundResult
    from symscreen.targets import Target


INTERVAL_COLUMNS = ("t0_se", "t0_low", "t0_high", "gamma", "gamma_low", "gamma_high")

_DEFAULT_LEVEL = 0.95  # confidence level
_BLOCK_VALUES = 1 << 20  # feature values computed at a time
_METHOD = (
    "jackknife; T0 on the scale of its logarithm, gamma on that of Fisher's z; Student's t; "
    "where few pairs disagree at least Fay and Feuer's gamma interval"
)
_ERROR_CONTROL_COLUMNS = ("p_value", "q_value", "p_family")


def parse_confidence_level(
    intervals: float | None, screeners: Sequence[AnyScreener], target: Target, rounds: int
) -> float | None:
    """Parse the option `intervals`.

    Parameters
    ----------
    intervals : bool, float or None
        True for 95 %, False or None for no intervals, else the confidence level.
    screeners : sequence of Screener or JointScreener
        The screeners of the screen.
    target : Target
        The target of the screen.
    rounds : int
        The number of rounds of the screen.

    Returns
    -------
    float or None
        The confidence level, in (0, 1); None for no intervals.

    Raises
    ------
    OptionError
        If the level is not between 0 and 1, t0 is not among the screeners, the target is not numeric, or
        there are several rounds.
    """
    if intervals is None or intervals is False:
        return None
    level = _DEFAULT_LEVEL if intervals is True else intervals
    if not isinstance(level, float | np.floating) or not 0.0 < level < 1.0:
        raise OptionError(
            f"intervals is {intervals!r}; give a confidence level between 0 and 1, such as 0.95"
        )
    require_numeric_target(target, name_option("intervals"))
    if all(screener.name != "t0" for screener in screeners):
        names = ",".join([*(screener.name for screener in screeners), "t0"])
        raise OptionError(
            f"{name_option('intervals')} requires the screener t0; add it: {name_option('screener', names)}"
        )
    if rounds != 1:
        raise OptionError(
            f"{name_option('intervals')} cannot be combined with {name_option('rounds', rounds)}: later "
            "rounds screen residuals that were fitted to the target; leave one of them out"
        )
    return float(level)


def add_intervals(
    round_result: RoundResult, level: float, row_groups: RowGroups | None = None
) -> tuple[RoundResult, dict[str, Any]]:
    """Add confidence intervals to the features that a round shows.

    Parameters
    ----------
    round_result : RoundResult
        The result of a round with a numeric target.
    level : float
        Confidence level, in (0, 1). It holds for features that were chosen before the target was seen.
    row_groups : RowGroups, optional
        Groups of rows; the jackknife leaves out whole groups.

    Returns
    -------
    round_result : RoundResult
        The result with the columns `INTERVAL_COLUMNS`, after those of error control; NaN for features that
        are not shown. The values do not depend on threads or chunks.
    record : dict
        The level, the method and the groups, for the record.
    """
    scoring_result = round_result.scoring_result
    target = require_numeric_target(round_result.target, name_option("intervals"))
    group_ids = None if row_groups is None else row_groups.group_ids
    bounds = np.full((len(INTERVAL_COLUMNS), len(scoring_result.features)), np.nan)
    step = max(1, _BLOCK_VALUES // max(1, round_result.space.n_rows))
    for start in range(0, len(round_result.shown_indices), step):
        indices = round_result.shown_indices[start : start + step]
        values = round_result.space.compute_values(scoring_result.features.number[indices])
        t0 = compute_t0_intervals(values, target, level, group_ids)
        bounds[:, indices] = (t0.error, t0.low, t0.high, t0.gamma, t0.gamma_low, t0.gamma_high)
    columns = scoring_result.extra_columns
    first = {name: columns[name] for name in _ERROR_CONTROL_COLUMNS if name in columns}
    columns = first | dict(zip(INTERVAL_COLUMNS, bounds, strict=True)) | columns
    record: dict[str, Any] = {"level": level, "method": _METHOD}
    if row_groups is not None:
        record |= {"groups": row_groups.column, "units": row_groups.n_groups}
    return replace(round_result, scoring_result=replace(scoring_result, extra_columns=columns)), record
