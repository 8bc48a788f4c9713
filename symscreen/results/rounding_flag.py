"""Whether rounding errors affect the score of a feature so much that it is marked."""

from __future__ import annotations

import math

_FLAGGED_SCORE_SHARE = 1e-3  # error of a score that is flagged, relative to the scale of the score
_FLAGGED_ROW_SHARE = 0.01  # share of uncertain rows that is flagged


def is_rounding_flagged(n_uncertain_rows: float, score_error: float, *, n: int, scale: float) -> bool:
    """Return whether a feature is flagged because rounding errors affect its score noticeably.

    Parameters
    ----------
    n_uncertain_rows, score_error : float
        See `NumericalErrorEstimate`; NaN if unknown.
    n : int
        Number of rows.
    scale : float
        Scale of the first screener's score: Δ for T0, 1 for a coefficient.

    Returns
    -------
    bool
        Whether the score may change by more than a thousandth of its scale. If that is unknown, whether more
        than a hundredth of the rows are uncertain.

    Examples
    --------
    >>> is_rounding_flagged(40, 1e-5, n=100, scale=1.0)
    False
    >>> is_rounding_flagged(40, float("nan"), n=100, scale=1.0)
    True
    """
    if not n_uncertain_rows > 0:  # 0 or NaN
        return False
    if math.isnan(score_error):
        return n_uncertain_rows > _FLAGGED_ROW_SHARE * n
    return score_error > _FLAGGED_SCORE_SHARE * scale
