"""Why a fit missed the truth: the search never met it, or the data speak for another formula."""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

import numpy as np

from symscreen import datasets
from symscreen.evaluation import like_one_of, read_truth
from symscreen.experiments.strogatz_recovery import GRAMMAR, recovered
from symscreen.expression import evaluate
from symscreen.grammar import load_grammar
from symscreen.models import estimates_of
from symscreen.options import read_schedule
from symscreen.pipeline.growth import Growth, grown
from symscreen.table import read_table

if TYPE_CHECKING:
    import pandas as pd

    from symscreen.expression import Expression

__all__ = ["BARE_MENTION", "truth_criterion", "verdict"]

BARE_MENTION = 2.0
"""Points of the criterion within which `symscreen.fit` takes the simpler model."""


def verdict(chosen: float, truth: float) -> str:
    """Say what stopped a fit.

    Parameters
    ----------
    chosen, truth : float
        EBIC of the model chosen, and of the truth's terms with coefficients fitted to the same rows.

    Returns
    -------
    str
        ``data`` where the truth is worse by more than 2 points, ``tie`` where the two are within 2, and
        ``search`` where the truth is better by more, so that it would have been chosen had it been met.

    Examples
    --------
    >>> verdict(-10.0, -3.0), verdict(-10.0, -11.0), verdict(-10.0, -13.0)
    ('data', 'tie', 'search')
    """
    if truth > chosen + BARE_MENTION:
        return "data"
    return "tie" if truth >= chosen - BARE_MENTION else "search"


def truth_criterion(system: str, frame: pd.DataFrame, layers: str | None) -> float:
    """Compute the criterion of the truth's own terms on a table with noise.

    Parameters
    ----------
    system : str
        Whose truth.
    frame : pandas.DataFrame
        Its table with noise.
    layers : str or None
        What was searched, as of `symscreen.fit`.

    Returns
    -------
    float
        EBIC = n·log(1 − R²) + (k + 1)·log n + 2·Σ_j log p_j, k terms, p_j the size of the first space of the
        search that holds term j (`symscreen.models.candidates_in`); infinite where none does.
    """
    prices = _priced_terms(system, layers)
    rows = {name: frame[name].to_numpy() for name in frame.columns.drop("target")}
    values = np.array([evaluate(term, rows) for term, _ in prices])
    share = estimates_of(values, frame["target"].to_numpy()).share
    searched = 2 * sum(log(price) for _, price in prices)
    return len(frame) * log(share) + (len(prices) + 1) * log(len(frame)) + searched


@lru_cache(maxsize=64)
def _priced_terms(system: str, layers: str | None) -> tuple[tuple[Expression, float], ...]:
    """Return the truth as the search writes it, each term with the size of the first space that holds it."""
    data = datasets.strogatz(system)
    clean = recovered(system, data.frame, layers)
    terms = clean.formula.terms if clean.structure else read_truth(data.truth).terms
    table = read_table(data.frame, target="target", inputs=None, exclude=(), missing="refuse", y=None)
    columns = dict(zip(table.names, table.columns, strict=True))
    grammar = load_grammar(GRAMMAR)
    prices: dict[int, float] = {}
    for space_layers in read_schedule(grammar, layers):
        if len(prices) == len(terms):
            break
        growth = Growth(grammar, "cumulative", (), None, None, None)
        space, _ = grown(table, growth, space_layers)
        for place, term in enumerate(terms):
            if place not in prices and len(like_one_of(space, [term], columns)):
                prices[place] = float(space.size)
    return tuple((term, prices.get(place, float("inf"))) for place, term in enumerate(terms))
