"""Names of the stages of a search; `symscreen.fitting.laws.search` has those of the searches for laws."""

from __future__ import annotations

SUBSETS = "subsets"
"""All small subsets of the features of spaces."""

LASSO_SUBSETS = "LASSO subsets"
"""All subsets of the features that the LASSO selects."""

PATHS = "paths"
"""Longer models along greedy and LASSO paths."""

GUESSES = "guesses"
"""Formulas of the user, fitted as laws."""

DEEP_POOL = "deep pool"
"""Laws with formulas of the deep pool, see `symscreen.fitting.laws.deep_pool`."""

CROSS_VALIDATION = "cross-validation"
"""The search is repeated without each fold."""


def name_layer_stage(kinds: str, suffix: str = "") -> str:
    """Return the name of the stage that searches one space.

    Parameters
    ----------
    kinds : str
        Kinds of the layers of the space, such as ``"ub"``.
    suffix : str
        What follows the kinds.

    Returns
    -------
    str

    Examples
    --------
    >>> name_layer_stage("ub", " of basic")
    'layers ub of basic'
    """
    return f"layers {kinds}{suffix}"
