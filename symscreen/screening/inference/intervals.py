"""Intervals of what a screen shows: a standard error of T0, and intervals of T0 and of Γ = 1 − T0/Δ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.statistics.inference.t0_interval import compute_t0_intervals
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expansion import Space
    from symscreen.screeners import AnyScreener
    from symscreen.screening.preparation import RowGroups
    from symscreen.screening.residual_rounds import RoundResult
    from symscreen.targets.registry import Target


__all__ = ["INTERVAL_COLUMNS", "add_intervals", "parse_confidence_level"]

INTERVAL_COLUMNS = ("t0_se", "t0_low", "t0_high", "gamma", "gamma_low", "gamma_high")

_DEFAULT_LEVEL = 0.95
_BLOCK_VALUES = 1 << 20
_METHOD = (
    "jackknife; T0 on the scale of its logarithm, gamma on that of Fisher's z; Student's t; "
    "where few pairs disagree at least Fay and Feuer's gamma interval"
)
_ERROR_CONTROL_COLUMNS = ("p_value", "q_value", "p_family")


def parse_confidence_level(
    intervals: float | None, screeners: Sequence[AnyScreener], target: Target, rounds: int
) -> float | None:
    """Read the option `intervals`, or refuse it where it has no meaning.

    Parameters
    ----------
    asked : bool, float or None
        True for 95 %, False or None for no intervals, else the level.
    screeners : sequence of Screener or JointScreener
        Of the screen.
    response : Response, RankingResponse or StagesResponse
        Of the screen.
    rounds : int
        Of the screen.

    Returns
    -------
    float or None
        Between 0 and 1; None for no intervals.

    Raises
    ------
    OptionError
        If the level is not between 0 and 1, t0 is not among the screeners, the response is not numeric, or
        there are several rounds.
    """
    if intervals is None or intervals is False:
        return None
    level = _DEFAULT_LEVEL if intervals is True else intervals
    if not isinstance(level, float | np.floating) or not 0.0 < level < 1.0:
        raise OptionError(
            f"intervals is {intervals!r}; give their level, a share between 0 and 1 such as 0.95"
        )
    require_numeric_target(target, "--intervals")
    if all(one.name != "t0" for one in screeners):
        names = ",".join(one.name for one in screeners)
        raise OptionError(f"--intervals are of T0, which does not score here: add it, --screener {names},t0")
    if rounds != 1:
        raise OptionError(
            f"--intervals cannot be had with --rounds {rounds}: rounds after the first screen what was "
            "fitted to the response; leave one of them out"
        )
    return float(level)


def add_intervals(
    round_result: RoundResult, level: float, row_groups: RowGroups | None = None
) -> tuple[RoundResult, dict[str, Any]]:
    """Add intervals to the features that a round shows.

    Parameters
    ----------
    found : Round
        What was found, against a numeric response.
    level : float
        The share of intervals that shall hold the truth, of features chosen beforehand.
    grouping : Grouping, optional
        Rows that belong together, and are left out together.

    Returns
    -------
    Round
        With the columns `COLUMNS`, behind those of error control; NaN for features that are not shown. They
        are of the features' values alone, so nothing depends on threads or chunks.
    dict
        For the record.
    """
    kept, response = (
        round_result.scoring_result.features,
        require_numeric_target(round_result.target, "--intervals"),
    )
    figures = np.full((len(INTERVAL_COLUMNS), len(kept)), np.nan)
    for places, values in _iterate_feature_blocks(
        round_result.space, kept.number, round_result.shown_indices
    ):
        own = compute_t0_intervals(
            values, response, level, None if row_groups is None else row_groups.group_ids
        )
        figures[:, places] = (own.error, own.low, own.high, own.gamma, own.gamma_low, own.gamma_high)
    columns = round_result.scoring_result.extra_columns
    first = {name: columns[name] for name in _ERROR_CONTROL_COLUMNS if name in columns}
    columns = first | dict(zip(INTERVAL_COLUMNS, figures, strict=True)) | columns
    record = {"level": level, "method": _METHOD}
    if row_groups is not None:
        record |= {"groups": row_groups.column, "units": row_groups.n_groups}
    return replace(
        round_result, scoring_result=replace(round_result.scoring_result, extra_columns=columns)
    ), record


def _iterate_feature_blocks(
    space: Space, numbers: NDArray[np.int64], shown_indices: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], Values]]:
    """Compute features again, some at a time: a ranking of all of them may be long."""
    step = max(1, _BLOCK_VALUES // max(1, space.n_rows))
    for start in range(0, len(shown_indices), step):
        places = shown_indices[start : start + step]
        yield places, space.compute_values(numbers[places])
