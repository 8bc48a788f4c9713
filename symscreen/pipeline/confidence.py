"""Intervals of what a screen shows: a standard error of T0, and intervals of T0 and of Γ = 1 − T0/Δ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.response.kinds import numeric
from symscreen.statistics.t0_interval import t0_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.pipeline.grouping import Grouping
    from symscreen.pipeline.rounds import Round
    from symscreen.response.kinds import AnyResponse
    from symscreen.screeners import AnyScreener

    Values = NDArray[np.float64]

__all__ = ["COLUMNS", "level_of", "with_intervals"]

COLUMNS = ("t0_se", "t0_low", "t0_high", "gamma", "gamma_low", "gamma_high")

_LEVEL = 0.95
_VALUES_AT_A_TIME = 1 << 20
_METHOD = (
    "jackknife; T0 on the scale of its logarithm, gamma on that of Fisher's z; Student's t; "
    "where few pairs disagree at least Fay and Feuer's gamma interval"
)
_BEFORE = ("p_value", "q_value", "p_family")


def level_of(
    asked: float | None, screeners: Sequence[AnyScreener], response: AnyResponse, rounds: int
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
    if asked is None or asked is False:
        return None
    level = _LEVEL if asked is True else asked
    if not isinstance(level, float | np.floating) or not 0.0 < level < 1.0:
        raise OptionError(f"intervals is {asked!r}; give their level, a share between 0 and 1 such as 0.95")
    numeric(response, "--intervals")
    if all(one.name != "t0" for one in screeners):
        names = ",".join(one.name for one in screeners)
        raise OptionError(f"--intervals are of T0, which does not score here: add it, --screener {names},t0")
    if rounds != 1:
        raise OptionError(
            f"--intervals cannot be had with --rounds {rounds}: rounds after the first screen what was "
            "fitted to the response; leave one of them out"
        )
    return float(level)


def with_intervals(
    found: Round, level: float, grouping: Grouping | None = None
) -> tuple[Round, dict[str, Any]]:
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
    kept, response = found.screened.kept, numeric(found.response, "--intervals")
    figures = np.full((len(COLUMNS), len(kept)), np.nan)
    for places, values in _blocks(found.space, kept.number, found.shown):
        own = t0_interval(values, response, level, None if grouping is None else grouping.unit)
        figures[:, places] = (own.error, own.low, own.high, own.gamma, own.gamma_low, own.gamma_high)
    columns = found.screened.columns
    first = {name: columns[name] for name in _BEFORE if name in columns}
    columns = first | dict(zip(COLUMNS, figures, strict=True)) | columns
    record = {"level": level, "method": _METHOD}
    if grouping is not None:
        record |= {"groups": grouping.column, "units": grouping.units}
    return replace(found, screened=replace(found.screened, columns=columns)), record


def _blocks(
    space: Space, numbers: NDArray[np.int64], shown: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], Values]]:
    """Compute features again, some at a time: a ranking of all of them may be long."""
    step = max(1, _VALUES_AT_A_TIME // max(1, space.rows))
    for start in range(0, len(shown), step):
        places = shown[start : start + step]
        yield places, space.values(numbers[places])
