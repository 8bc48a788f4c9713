"""Published figures of the multistage recommender (Dai, Shen and Pan): what the text tells of tables 2 and 3.

The tables themselves are not at hand; the text gives improvements of the overall error over each rival, in
per cent of the rival's error, and ranges.
"""

from __future__ import annotations

import math

__all__ = ["IMPROVEMENTS", "REPLICATIONS", "implied_errors"]

IMPROVEMENTS = {"GradBoost": 0.43, "OSVM": 0.22, "SVM": 0.20, "DeepNN": 0.13, "SVD": math.nan}
REPLICATIONS = 50


def implied_errors(rivals: dict[str, float]) -> dict[str, float]:
    """Compute the error that the published improvements ask of the recommender, given those of the rivals.

    Parameters
    ----------
    rivals : dict of str to float
        Overall errors.

    Returns
    -------
    dict of str to float
        (1 − improvement) · error; NaN for a rival without a published improvement. Where data are as in the
        paper, they agree.

    Examples
    --------
    >>> implied_errors({"GradBoost": 0.3, "SVM": 0.2})
    {'GradBoost': 0.171, 'SVM': 0.16000000000000003}
    """
    return {name: (1.0 - IMPROVEMENTS[name]) * error for name, error in rivals.items()}
