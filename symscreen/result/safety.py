"""How far rounding decides what a ranking says of a feature: unsafe rows, and how far its score may be off.

A score of ranks is safe where the order of the rows is certain, whatever rounding did. A score of values is
where rounding is small beside what the values vary by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expansion.rounding import as_written, identity_of_rows, rounding_bound
from symscreen.response import Response
from symscreen.screeners import SCREENERS, Screener
from symscreen.statistics.certain import doubt_of, t0_range
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.expression import Expression
    from symscreen.response.kinds import AnyResponse
    from symscreen.screeners import AnyScreener
    from symscreen.statistics.certain import Doubt

    Values = NDArray[np.float64]

__all__ = ["MOST_OF_SPREAD", "Safety", "marked", "safety_of"]

MOST_OF_SPREAD = 1e-9  # of the standard deviation of the values: what a score of values takes for certain
_RESPONSES_ALIKE = (SCREENERS["t0"], SCREENERS["xi"])
_MOVED = 1e-3  # of the scale of the score
_SHARE = 0.01  # of the rows


@dataclass(frozen=True, slots=True)
class Safety:
    """What rounding may have done to a feature.

    Parameters
    ----------
    rows : int
        In how many rows rounding decides where the row stands, or what it weighs.
    by : float
        How far the first screener's score may be from that of exact arithmetic; NaN where no bound is known.
    """

    rows: int
    by: float


def safety_of(
    expression: Expression,
    values: Values,
    columns: Mapping[str, Values],
    response: AnyResponse,
    screeners: Sequence[AnyScreener],
    *,
    written: Mapping[str, Values] | None = None,
) -> Safety:
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
    bound = rounding_bound(expression, columns)
    error = bound.error + np.abs(values - bound.values)
    unsafe, doubt = np.zeros(len(values), dtype=np.bool_), None
    by_rank = [one for one in screeners if one.blind_to == "ranks"]
    if by_rank:
        # to T0 and ξ rows of one response are alike; other scores are changed by ties among them
        alike = isinstance(response, Response) and all(one in _RESPONSES_ALIKE for one in by_rank)
        group = response.group if alike and isinstance(response, Response) else None
        doubt = doubt_of(
            values,
            error,
            lambda rows: identity_of_rows(expression, {name: own[rows] for name, own in columns.items()}),
            group,
            _reach(expression, error, columns, written),
        )
        unsafe |= doubt.unsafe
    if any(one.blind_to == "affine" for one in screeners):
        unsafe |= error > MOST_OF_SPREAD * _spread(values)
    return Safety(int(unsafe.sum()), _moved(values, error, doubt, response, screeners[0]))


def _reach(
    expression: Expression, error: Values, columns: Mapping[str, Values], written: Mapping[str, Values] | None
) -> Values | None:
    """Bound how far values are from those that the decimals of the inputs give; None where there are none."""
    if written is None:
        written = {name: as_written(column) for name, column in columns.items()}
    if not any(own.any() for own in written.values()):
        return None
    return error + rounding_bound(expression, columns, written).error


def _spread(values: Values) -> float:
    """Compute the standard deviation; numbers near overflow are made smaller first."""
    largest = float(np.abs(values).max()) or 1.0
    return largest * float(np.std(values / largest))


def _moved(
    values: Values, error: Values, doubt: Doubt | None, response: AnyResponse, first: AnyScreener
) -> float:
    """Bound how far the first screener's score may be off."""
    if first is SCREENERS["pearson"]:
        spread = _spread(values)
        share = float(np.sqrt(np.mean((error / spread) ** 2))) if spread > 0 else np.inf
        # two vectors whose difference is η of one of them stand at an angle of at most arcsin η ≤ πη/2
        return min(2.0, 2.0 * share)
    if doubt is None or not isinstance(first, Screener) or first.blind_to != "ranks":
        return float("nan")
    unsettled = doubt.unsafe & ~doubt.tie
    if not doubt.unsafe.any():
        return 0.0
    own = _score(first, values, response)
    if not unsettled.any():  # the exact order is known, with its ties
        return abs(_score(first, doubt.run.astype(np.float64), response) - own)
    if first is not SCREENERS["t0"] or not isinstance(response, Response):
        return float("nan")
    least, largest = t0_range(doubt, response)
    return max(own - least, largest - own)


def _score(screener: Screener, values: Values, response: AnyResponse) -> float:
    ordered = order_features(values[None, :])
    return float(screener.score(screener.statistic(ordered, response), response)[0])


def marked(rows: float, by: float, *, n: int, scale: float) -> bool:
    """Say whether a feature is marked as unsafe where people read: rounding decides more than a little.

    Parameters
    ----------
    rows, by : float
        As of `Safety`; NaN where they are not known.
    n : int
        The rows there are.
    scale : float
        Of the first screener's score: Δ of T0, 1 of a coefficient.

    Returns
    -------
    bool
        Whether the score may move by more than a thousandth of its scale, or where that is not known, whether
        more than a hundredth of the rows are unsafe.

    Examples
    --------
    >>> marked(40, 1e-5, n=100, scale=1.0), marked(40, float("nan"), n=100, scale=1.0)
    (False, True)
    """
    if not rows > 0:
        return False
    return by > _MOVED * scale if by == by else rows > _SHARE * n  # noqa: PLR0124  # not NaN
